"""A velocity network for points: a small MLP that can compute several replicas in one batched product."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import skip_init

from .initial import initialise_
from .interface import StackedModel, State, affine, positive

LOWEST, HIGHEST = 1.0, 100.0


def time_frequencies(fourier: int) -> Tensor:
    """Angular frequencies (fourier / 2,) of the sines and cosines of time, geometric from 1 to 100 (our choice).

    Raises ValueError for a number of features below 4 or odd.
    """
    if positive("fourier", fourier) < 4 or fourier % 2:
        raise ValueError(f"fourier must be even and 4 or more, got {fourier}")
    return LOWEST * (HIGHEST / LOWEST) ** torch.linspace(0, 1, fourier // 2)


def time_features(t: Tensor, frequencies: Tensor) -> Tensor:
    """Sines and cosines (..., F) of times t (...,) at `frequencies` (F / 2,) in radians a unit of time."""
    angles = t[..., None] * frequencies
    return torch.cat([angles.sin(), angles.cos()], -1)


class VelocityMLP(StackedModel):
    """SiLU layers on point, time features and prompt embedding: x (B, dim), t (B,), c (B,) -> v (B, dim)."""

    def __init__(
        self,
        dim: int = 2,
        prompts: int = 8,
        width: int = 128,
        depth: int = 4,
        fourier: int = 32,
        embed: int = 32,
        *,
        generator: torch.Generator,
    ):
        """dim: of a point. prompts: how many. width, depth: hidden layers. fourier: time features, sines and cosines
        together. embed: width of a prompt's embedding. generator: draws the initial weights.

        Raises ValueError for a size below 1 or an odd number of time features, TypeError without a generator.
        """
        super().__init__((dim,), prompts)
        sizes = [dim + fourier + positive("embed", embed), *[positive("width", width)] * positive("depth", depth), dim]
        self.register_buffer("frequencies", time_frequencies(fourier), persistent=False)
        self.prompt = skip_init(nn.Embedding, prompts, embed)
        self.layers = nn.ModuleList(skip_init(nn.Linear, *pair) for pair in itertools.pairwise(sizes))
        initialise_(self, generator)

    def stacked(self, parameters: State, buffers: State, x: Tensor, t: Tensor, c: Tensor) -> Tensor:
        """Velocities (S, n, dim) of S replicas at x (S, n, dim), t (S, n), c (S, n); parameters, buffers: (S, ...).

        A prompt reaches the first layer through its one-hot row, with embedding and layer multiplied out beforehand:
        the same function as looking its embedding up, without a gradient for the inputs.
        """
        features = time_features(t, buffers["frequencies"][:, None])
        first, cut = parameters["layers.0.weight"], x.shape[-1] + features.shape[-1]
        by_prompt = first[..., cut:] @ parameters["prompt.weight"].mT
        parameters = {**parameters, "layers.0.weight": torch.cat([first[..., :cut], by_prompt], -1)}
        h = affine(parameters, "layers.0", torch.cat([x, features, F.one_hot(c, self.prompts).to(x.dtype)], -1))
        for k in range(1, len(self.layers)):
            h = affine(parameters, f"layers.{k}", F.silu(h))
        return h
