"""Draws from a density: by inverse CDF on a grid, or by Langevin dynamics."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from ..seeding import given
from .method import Corner, corners, in_box, trapezoid_grid

AXIS_NODES = {1: 1000, 2: 100}


def sampling_grid(lo: Corner, hi: Corner, resolution: int | None = None) -> tuple[Tensor, Tensor]:
    """Trapezoid grid (nodes (P, d), log_w (P,)) for `sample_grid`.

    lo, hi: the box. resolution: nodes an axis, else 1000 in one dimension and 100 in two.
    Raises ValueError for three dimensions or more without a resolution, and as `trapezoid_grid`.
    """
    d = len(corners(lo, hi)[0])
    if resolution is None and d not in AXIS_NODES:
        raise ValueError(f"no default resolution in {d} dimensions; known: {sorted(AXIS_NODES)}")
    return trapezoid_grid(lo, hi, resolution if resolution is not None else AXIS_NODES[d])


def sample_grid(log_q: Tensor, nodes: Tensor, log_w: Tensor, n: int, generator: torch.Generator) -> Tensor:
    """`n` draws a row, (B, n, d), from the multilinear interpolant of a density on a trapezoid grid.

    log_q: (B, P) log density at the nodes, up to a constant a row. nodes (P, d), log_w (P,): of `trapezoid_grid`.
    The density picks a node by inverse CDF, and a triangular step of one grid width, folded at the box's faces, spreads
    it: a sum of tents is exactly the interpolant.
    Raises ValueError for n below 1 or a log density with NaN, +inf or nothing finite; TypeError without a generator.
    """
    if n < 1 or log_q.ndim != 2 or log_q.shape[1] != len(nodes):
        raise ValueError(f"need n >= 1 and log_q (B, {len(nodes)}), got n = {n} and log_q {tuple(log_q.shape)}")
    if torch.isnan(log_q).any() or not torch.isfinite(log_q.amax(-1)).all():
        raise ValueError("log_q must be free of NaN and +inf, and finite somewhere in each row")
    on = nodes.device
    cdf = torch.softmax(log_q.double() + log_w.double(), -1).cumsum(-1)
    draw = torch.rand(len(log_q), n, dtype=torch.float64, generator=given(generator)).to(on)
    chosen = torch.searchsorted(cdf, draw * cdf[:, -1:], right=True).clamp_max(len(nodes) - 1)
    low, high = nodes.amin(0), nodes.amax(0)
    width = torch.stack([(b - a) / (len(axis.unique()) - 1) for a, b, axis in zip(low, high, nodes.T, strict=True)])
    jitter = torch.rand(2, len(log_q), n, nodes.shape[1], dtype=torch.float64, generator=generator).to(on)
    z = nodes[chosen] + width * (jitter[0] - jitter[1]).to(nodes.dtype)
    z = low + (z - low).abs()
    return high - (high - z).abs()


def langevin(
    log_density: Callable[[Tensor], Tensor], start: Tensor, low: Sequence[float], high: Sequence[float],
    generator: torch.Generator, steps: int = 1000, epsilon: float = 1e-3,
) -> Tensor:  # fmt: skip
    """Draws by Langevin dynamics from a density on a box: the latents (n, d) that `start` (n, d) has moved to.

    log_density: (n, d) -> (n,), differentiable; its constant does not matter. low, high: corners of the box; a chain
    that leaves is reflected, which keeps the density (the paper does not say what happens at the edges). steps,
    epsilon: the paper's 1000 and 0.001. The draws follow the density only as far as the chains have mixed: on
    separated modes they keep the shares of `start`.
    Equation (langevin): $z \\leftarrow z + \\epsilon\\,\\nabla \\log q(z) + \\sqrt{2\\epsilon}\\,\\xi,\\ \\xi \\sim
    N(0, I)$ (from the paper)
    Raises ValueError for a start outside the box, steps below 1, epsilon not positive, or a gradient that is not
    finite; TypeError without a generator.
    """
    if steps < 1 or not epsilon > 0:
        raise ValueError(f"need steps >= 1 and epsilon > 0, got {steps} and {epsilon}")
    z = in_box(start, tuple(low), tuple(high), "a start").detach()
    a, b = start.new_tensor(low), start.new_tensor(high)
    for _ in range(steps):
        z.requires_grad_(True)
        value = log_density(z)
        (slope,) = torch.autograd.grad(value.sum(), z)
        if not (torch.isfinite(slope).all() and torch.isfinite(value).all()):
            raise ValueError("the log density or its gradient is not finite: Langevin dynamics cannot go on")
        noise = torch.randn(z.shape, generator=given(generator), dtype=z.dtype).to(z.device)
        z = z.detach() + epsilon * slope + math.sqrt(2 * epsilon) * noise
        inside = torch.remainder(z - a, 2 * (b - a))
        z = a + torch.minimum(inside, 2 * (b - a) - inside)
    return z
