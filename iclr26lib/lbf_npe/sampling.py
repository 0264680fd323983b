"""Draws from a density that is known on a grid."""

from __future__ import annotations

import torch
from torch import Tensor

from ..seeding import given
from .method import Corner, corners, trapezoid_grid

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
