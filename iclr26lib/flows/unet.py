"""A convolutional velocity network for images: the U-Net of diffusers, in the terms of this package."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ..seeding import given
from .interface import VelocityModel, positive

MISSING = 'the U-Net needs diffusers, which is not installed: pip install "iclr26lib[dgpo]"'


class UNet(VelocityModel):
    """U-Net on grey images: x (B, 1, size, size), t (B,), c (B,) -> v (B, 1, size, size)."""

    vectorises = False  # torch.func.vmap has no rule for some of its layers

    def __init__(
        self,
        size: int = 32,
        prompts: int = 7,
        channels: Sequence[int] = (64, 128, 128),
        layers: int = 2,
        groups: int = 16,
        *,
        generator: torch.Generator,
    ):
        """size: pixels a side, divisible by 2^(levels - 1). channels: of each level; all but the first level attend.

        prompts: how many. layers: a level. groups: of the group norms, a divisor of all channels. generator: draws the
        initial weights. Raises ValueError for sizes that do not fit, TypeError without a generator, ImportError when
        diffusers is missing.
        """
        super().__init__((1, size, size), prompts)
        if not channels or size % 2 ** (len(channels) - 1):
            raise ValueError(f"{len(channels)} levels do not fit {size} pixels: each level but the last halves them")
        if any(positive("every number of channels", width) % positive("groups", groups) for width in channels):
            raise ValueError(f"groups {groups} must divide all channels {tuple(channels)}")
        attends = ["", *["Attn"] * (len(channels) - 1)]
        settings = {
            "sample_size": size, "in_channels": 1, "out_channels": 1, "block_out_channels": tuple(channels),
            "down_block_types": tuple(f"{kind}DownBlock2D" for kind in attends),
            "up_block_types": tuple(f"{kind}UpBlock2D" for kind in reversed(attends)),
            "layers_per_block": positive("layers", layers), "num_class_embeds": prompts, "norm_num_groups": groups,
        }  # fmt: skip
        self.network = _built(settings, generator)

    def forward(self, x: Tensor, t: Tensor, c: Tensor) -> Tensor:
        """Velocities (B, 1, size, size) at x (B, 1, size, size), t (B,), c (B,).

        Raises ValueError or TypeError for another batch.
        """
        self.check(x, t, c)
        return self.network(x, 1000 * t, class_labels=c, return_dict=False)[0]


def _built(settings: dict, generator: torch.Generator) -> torch.nn.Module:
    """The network of diffusers, whose constructor draws from torch's global generator: seeded, then put back."""
    given(generator)
    try:
        from diffusers import UNet2DModel
    except ImportError as error:
        raise ImportError(MISSING) from error
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(torch.randint(2**31, (), generator=generator).item())
        return UNet2DModel(**settings)
