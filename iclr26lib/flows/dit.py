"""A velocity network for small images: a transformer on patches, steered by adaptive layer norms."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import skip_init

from .initial import initialise_
from .interface import StackedModel, State, affine, positive
from .mlp import time_features, time_frequencies


def modulate(h: Tensor, shift: Tensor, scale: Tensor) -> Tensor:
    """Layer norm of tokens h (..., N, width), then scaled by 1 + scale and shifted, both (..., 1, width)."""
    return F.layer_norm(h, h.shape[-1:]) * (1 + scale) + shift


def attend(parameters: State, block: str, h: Tensor, heads: int) -> Tensor:
    """Self-attention of `block` in S replicas, all tokens to all: h (S, n, N, width) -> (S, n, N, width).

    parameters: (S, ...) by name. heads: a divisor of width.
    """
    rows = affine(parameters, f"{block}.qkv", h).flatten(0, 1).unflatten(-1, (3, heads, -1))
    q, k, v = rows.movedim(2, 0).transpose(2, 3)
    mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
    return affine(parameters, f"{block}.out", mixed.unflatten(0, h.shape[:2]))


def transform(parameters: State, block: str, h: Tensor, condition: Tensor, heads: int) -> Tensor:
    """One `block` of S replicas: tokens h (S, n, N, width) to the same, steered by conditions (S, n, width).

    parameters: (S, ...) by name. heads: of the attention. Scale, shift and gate of both halves come from the condition.
    """
    steer = affine(parameters, f"{block}.steer", condition)[..., None, :]
    shift_a, scale_a, gate_a, shift_m, scale_m, gate_m = steer.chunk(6, -1)
    h = h + gate_a * attend(parameters, block, modulate(h, shift_a, scale_a), heads)
    up = F.gelu(affine(parameters, f"{block}.up", modulate(h, shift_m, scale_m)), approximate="tanh")
    return h + gate_m * affine(parameters, f"{block}.down", up)


def grid_positions(side: int, width: int) -> Tensor:
    """Fixed positions (side^2, width) of a square of patches: sines and cosines of the row, then of the column.

    Raises ValueError unless width is a multiple of 4.
    """
    if width % 4:
        raise ValueError(f"width must be a multiple of 4, got {width}")
    frequencies = 10_000.0 ** -torch.linspace(0, 1, width // 4 + 1)[:-1]
    row, column = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
    return torch.cat([time_features(axis.flatten().float(), frequencies) for axis in (row, column)], -1)


class DiT(StackedModel):
    """Transformer on grey images: x (B, 1, size, size), t (B,), c (B,) -> v (B, 1, size, size). Starts at v = 0."""

    def __init__(
        self,
        size: int = 15,
        patch: int = 5,
        prompts: int = 7,
        width: int = 96,
        depth: int = 4,
        heads: int = 4,
        fourier: int = 64,
        *,
        generator: torch.Generator,
    ):
        """size: pixels a side, a multiple of `patch`. prompts: how many. width: of a token, a multiple of 4 and of
        `heads`. depth: blocks. fourier: time features. generator: draws the initial weights.

        Raises ValueError for sizes that do not fit, TypeError without a generator.
        """
        super().__init__((1, size, size), prompts)
        if size % positive("patch", patch) or positive("width", width) % positive("heads", heads):
            raise ValueError(f"patch {patch} must divide size {size}, and heads {heads} must divide width {width}")
        self.patch, self.side, self.heads = patch, size // patch, heads
        self.register_buffer("positions", grid_positions(self.side, width), persistent=False)
        self.register_buffer("frequencies", time_frequencies(fourier), persistent=False)
        self.embed, self.prompt = skip_init(nn.Linear, patch**2, width), skip_init(nn.Embedding, prompts, width)
        self.time = nn.Sequential(skip_init(nn.Linear, fourier, width), nn.SiLU(), skip_init(nn.Linear, width, width))
        self.blocks = nn.ModuleList(_block(width) for _ in range(positive("depth", depth)))
        self.steer, self.head = skip_init(nn.Linear, width, 2 * width), skip_init(nn.Linear, width, patch**2)
        self._initialise(generator)

    def _initialise(self, generator: torch.Generator) -> None:
        """Draw all weights; then close every gate and the head (adaLN-zero)."""
        initialise_(self, generator)
        for layer in (*(block["steer"] for block in self.blocks), self.steer, self.head):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)

    def stacked(self, parameters: State, buffers: State, x: Tensor, t: Tensor, c: Tensor) -> Tensor:
        """Velocities (S, n, 1, size, size) at x of that shape, t (S, n), c (S, n); parameters, buffers: (S, ...)."""
        features = time_features(t, buffers["frequencies"][:, None])
        time = affine(parameters, "time.2", F.silu(affine(parameters, "time.0", features)))
        condition = F.silu(time + F.one_hot(c, self.prompts).to(x.dtype) @ parameters["prompt.weight"])
        h = affine(parameters, "embed", self.patches(x)) + buffers["positions"][:, None]
        for k in range(len(self.blocks)):
            h = transform(parameters, f"blocks.{k}", h, condition, self.heads)
        shift, scale = affine(parameters, "steer", condition)[..., None, :].chunk(2, -1)
        return self.image(affine(parameters, "head", modulate(h, shift, scale)))

    def patches(self, x: Tensor) -> Tensor:
        """Images (S, n, 1, size, size) cut into rows of patches: (S, n, N, patch^2)."""
        cut = x.reshape(*x.shape[:2], self.side, self.patch, self.side, self.patch)
        return cut.transpose(3, 4).reshape(*x.shape[:2], self.side**2, self.patch**2)

    def image(self, tokens: Tensor) -> Tensor:
        """Patches (S, n, N, patch^2) put together again: (S, n, 1, size, size)."""
        cut = tokens.reshape(*tokens.shape[:2], self.side, self.side, self.patch, self.patch)
        return cut.transpose(3, 4).reshape(*tokens.shape[:2], *self.shape)


def _block(width: int) -> nn.ModuleDict:
    """The layers of one block, without values."""
    sizes = {"steer": (1, 6), "qkv": (1, 3), "out": (1, 1), "up": (1, 4), "down": (4, 1)}
    return nn.ModuleDict({name: skip_init(nn.Linear, i * width, o * width) for name, (i, o) in sizes.items()})
