"""Normalizing flows, the second peer: neural spline flow and RealNVP of `zuko` behind the common interface."""

from __future__ import annotations

import math

import torch
import zuko
from torch import Tensor, nn

from ..seeding import given
from .mdn import standardise_
from .method import in_box
from .model import Estimator

KINDS = ("nsf", "realnvp")
BASES = ("uniform", "normal")
SPLINE_BOUND = 5.0  # zuko's splines act on [-5, 5] and leave the rest alone
NORMAL_BOX = 3.0  # half width that the latent's box gets before a normal base
CHUNK = 1 << 17  # pairs (node, observation) that log_density computes at a time


def initialise_flow_(flow: nn.Module, generator: torch.Generator) -> nn.Module:
    """Draw weights and biases of all linear layers of `flow`, zuko's own too, from U(-1, 1)/sqrt(fan in), in place.

    generator: on the CPU. zuko itself would draw them, alike, from torch's global generator. Returns `flow`.
    Raises TypeError without a generator.
    """
    given(generator)
    for layer in flow.modules():
        if isinstance(layer, nn.Linear | zuko.nn.Linear):
            bound = layer.weight.shape[-1] ** -0.5
            for parameter in (layer.weight, layer.bias):
                parameter.data.copy_(bound * (2 * torch.rand(parameter.shape, generator=generator) - 1))
    return flow


class Flow(Estimator):
    """q(z; x) = the density of a base variable carried over by an invertible network conditioned on x."""

    def __init__(
        self,
        x_dim: int,
        d: int,
        kind: str = "nsf",
        *,
        low: tuple[float, ...],
        high: tuple[float, ...],
        generator: torch.Generator,
        transforms: int | None = None,
        hidden: tuple[int, ...] | None = None,
        bins: int = 16,
        base: str = "normal",
        x_stats: tuple[Tensor, Tensor] | None = None,
    ):
        """x_dim, d: widths of x and z. low, high: box of the latent.

        kind: "nsf", autoregressive rational-quadratic splines, or "realnvp", affine couplings (two dimensions or more:
        in one it would be a single Gaussian). transforms: layers, else 3 and 10. hidden: widths of their networks, else
        (128, 128) and (128,). bins: of the splines. RealNVP's 10 and (128,) are the paper's, the spline's numbers ours.
        base: "normal", z is scaled to +-3 and q leaks a little, or "uniform" on the box, for "nsf" only, which has
        exactly the box as its support. Normal unless said otherwise: it learned faster on ring and bands when we tried
        both. x_stats: mean and spread (x_dim,) that standardise x, else 0 and 1. generator: draws the weights.
        Raises ValueError for an unknown word, sizes below 1, a d that the box has not, one dimension or a uniform base
        for RealNVP; TypeError without a generator.
        """
        super().__init__(x_dim, low, high)
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {KINDS}, got {kind!r}")
        if base not in BASES or (kind == "realnvp" and (base == "uniform" or d < 2)):
            raise ValueError(
                f"base must be one of {BASES}, RealNVP needs a normal one and d >= 2; got {base!r}, d = {d}"
            )
        if d != self.d or min(*(hidden or (1,)), 1 if transforms is None else transforms, bins) < 1:
            raise ValueError(
                f"need d = {self.d} as the box has, and sizes >= 1, got {d}, {transforms}, {hidden}, {bins}"
            )
        self.kind, self.base = kind, base
        if kind == "nsf":
            self.flow = zuko.flows.NSF(d, x_dim, bins, transforms=transforms or 3, hidden_features=hidden or (128, 128))
        else:
            self.flow = zuko.flows.RealNVP(d, x_dim, transforms=transforms or 10, hidden_features=hidden or (128,))
        initialise_flow_(self.flow, generator)
        standardise_(self, x_stats)
        lower, upper = torch.tensor(self.low), torch.tensor(self.high)
        self.register_buffer("centre", (lower + upper) / 2)
        self.register_buffer("rate", (SPLINE_BOUND if base == "uniform" else NORMAL_BOX) * 2 / (upper - lower))

    def _transform(self, x: Tensor):
        return self.flow.transform((x - self.x_mean) / self.x_spread)

    def _log_density(self, z: Tensor, x: Tensor) -> Tensor:
        """log q (...) of z (..., d) given x (..., x_dim), leading dimensions alike.

        Equation (flow): $\\log q(z; x) = \\log p_0\\big(T_x(u)\\big)
        + \\log\\Big|\\det\\frac{\\partial T_x}{\\partial u}\\Big|
        + \\log\\Big|\\det\\frac{\\partial u}{\\partial z}\\Big|$

        Change of variables, standard; u is z scaled from its box to that of the transformations.
        """
        moved, log_slope = self._transform(x).call_and_ladj((z - self.centre) * self.rate)
        if log_slope.ndim == moved.ndim:  # one dimension: zuko keeps it
            log_slope = log_slope.sum(-1)
        if self.base == "uniform":
            log_base = -self.d * math.log(2 * SPLINE_BOUND)
        else:
            log_base = -0.5 * (moved**2).sum(-1) - self.d * 0.5 * math.log(2 * math.pi)
        return log_base + log_slope + self.rate.log().sum()

    def forward(self, z: Tensor, x: Tensor) -> Tensor:
        """-log q (B,) at z (B, d) given x (B, x_dim), without looking at values: `loss` and `log_prob` check them."""
        return -self._log_density(z, x)

    def log_prob(self, z: Tensor, x: Tensor) -> Tensor:
        """log q (B,) at z (B, d) in the box given x (B, x_dim). Raises ValueError as `check`."""
        self.check(x, z)
        return self._log_density(z.to(self.centre), x.to(self.centre))

    def log_density(self, nodes: Tensor, x: Tensor) -> Tensor:
        """log q at nodes (P, d) for each x (B, x_dim): (B, P), some rows at a time. With a normal base, nodes may
        lie outside of the box.

        Raises ValueError as `check`, and for nodes of another width or, with a uniform base, outside of the box.
        """
        self.check(x)
        if self.base == "uniform":
            in_box(nodes, self.low, self.high, "a node")
        if nodes.ndim != 2 or nodes.shape[1] != self.d:
            raise ValueError(f"nodes must be (P, {self.d}), got {tuple(nodes.shape)}")
        nodes, x = nodes.to(self.centre), x.to(self.centre)
        parts = x.split(max(1, CHUNK // len(nodes)))
        return torch.cat(
            [self._log_density(nodes.expand(len(p), -1, -1), p[:, None].expand(-1, len(nodes), -1)) for p in parts]
        )

    @torch.no_grad()
    def sample(self, x: Tensor, n: int, generator: torch.Generator) -> Tensor:
        """n draws (B, n, d) for each x (B, x_dim): base draws from the CPU, carried back through the flow.

        Raises ValueError as `check` or when n < 1, TypeError without a generator.
        """
        self.check(x)
        if n < 1:
            raise ValueError(f"n must be 1 or more, got {n}")
        shape = (len(x), n, self.d)
        if self.base == "uniform":
            start = SPLINE_BOUND * (2 * torch.rand(shape, generator=given(generator)) - 1)
        else:
            start = torch.randn(shape, generator=given(generator))
        x = x.to(self.centre)[:, None].expand(-1, n, -1)
        return self.centre + self._transform(x).inv(start.to(self.centre)) / self.rate
