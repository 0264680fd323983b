"""Initial weights drawn from a given generator, so that a seed means the same network everywhere."""

from __future__ import annotations

import torch
from torch import nn

from ..seeding import given


def initialise_(module: nn.Module, generator: torch.Generator) -> nn.Module:
    """Draw linear layers from U(-1, 1)/sqrt(fan in) and embeddings from N(0, 1), in place; returns `module`.

    generator: on the CPU, so that every device starts from the same numbers. Raises TypeError without a generator.
    """
    given(generator)
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            for parameter in (layer.weight, layer.bias):
                draw = torch.rand(parameter.shape, generator=generator) * 2 - 1
                parameter.data.copy_(draw / layer.in_features**0.5)
        elif isinstance(layer, nn.Embedding):
            layer.weight.data.copy_(torch.randn(layer.weight.shape, generator=generator))
    return module
