"""Is a posterior as sure as it should be? PIT, CRPS and highest-density coverage, from densities on a grid."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from scipy import stats as scipy_stats
from torch import Tensor

from .. import stats


class GridCDF:
    """Densities on a one-dimensional grid, read as linear between nodes: distribution function and its integral, exact.

    log_q: (B, P) log densities, renormalised here. nodes: (P,) or (P, 1), ascending. Computes in float64.
    """

    def __init__(self, log_q: Tensor, nodes: Tensor):
        """Raises ValueError for shapes that do not fit, nodes that do not ascend, a log density NaN or +inf."""
        t = nodes.double().reshape(-1) if nodes.ndim == 1 or nodes.shape[1:] == (1,) else None
        if t is None or log_q.ndim != 2 or log_q.shape[1] != len(t) or len(t) < 2:
            raise ValueError(f"need log_q (B, P) and nodes (P,), P >= 2, got {log_q.shape} and {nodes.shape}")
        if not (t.diff() > 0).all():
            raise ValueError("nodes must ascend strictly")
        log_q = log_q.double()
        if log_q.isnan().any() or (log_q.amax(1).isinf()).any():
            raise ValueError("a row of log_q holds NaN or plus infinity, or is minus infinity everywhere")
        q, self.t, self.h = (log_q - log_q.amax(1, keepdim=True)).exp(), t, t.diff()
        self.q = q / (((q[:, 1:] + q[:, :-1]) / 2) @ self.h)[:, None]
        self.slope = self.q.diff(dim=1) / self.h
        q, h, s = self.q[:, :-1], self.h, self.slope
        self.F = self._from_zero(q * h + s * h**2 / 2)
        self.G = self._from_zero(self.F[:, :-1] * h + q * h**2 / 2 + s * h**3 / 6)

    @staticmethod
    def _from_zero(steps: Tensor) -> Tensor:
        return torch.nn.functional.pad(steps.cumsum(1), (1, 0))

    def at(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Distribution function and its integral from the first node, (B,) each, at z (B,) or (B, 1).

        Raises ValueError when z has another length or a value lies outside the nodes.
        """
        z = z.double().reshape(-1)
        if len(z) != len(self.q):
            raise ValueError(f"z must hold {len(self.q)} values, one a row, got {len(z)}")
        slack = 1e-6 * (self.t[-1] - self.t[0])
        outside = ~((z >= self.t[0] - slack) & (z <= self.t[-1] + slack))
        if outside.any():
            raise ValueError(f"z lies outside the nodes {self.t[0]:g}..{self.t[-1]:g}: {z[outside][0].item()}")
        z = z.clamp(self.t[0], self.t[-1])  # the rounding of a float32 latent at the edge; more was refused above
        z = z.clamp(self.t[0], self.t[-1])  # the rounding of a float32 latent at the edge; more was refused above
        cell = (torch.searchsorted(self.t, z, right=True) - 1).clamp(0, len(self.h) - 1)
        o, row = z - self.t[cell], torch.arange(len(z), device=z.device)
        F, G, q, s = (a[row, cell] for a in (self.F, self.G, self.q, self.slope))
        return F + q * o + s * o**2 / 2, G + F * o + q * o**2 / 2 + s * o**3 / 6

    def squared_upper(self) -> Tensor:
        """Integral of (1 - F)^2 over the grid, (B,): Gauss-Legendre with 3 points a cell, exact for its degree 4."""
        roots, weights = np.polynomial.legendre.leggauss(3)
        total = torch.zeros_like(self.q[:, 0])
        for root, weight in zip(roots, weights, strict=True):
            o = (1 + root) / 2 * self.h
            F = self.F[:, :-1] + self.q[:, :-1] * o + self.slope * o**2 / 2
            total = total + (weight / 2 * self.h * (1 - F) ** 2).sum(1)
        return total


def pit(log_q: Tensor, nodes: Tensor, z: Tensor) -> Tensor:
    """Probability integral transform: posterior mass below the true latent, (B,) float64; uniform when calibrated.

    Equation (pit): $u = \\int_a^z q(t; x)\\, dt$

    log_q: (B, P) log densities, renormalised on the nodes. nodes: (P,) or (P, 1), ascending. z: (B,) or (B, 1). Exact
    for a density that is linear between nodes; nothing is drawn. Standard, not from the paper.
    Raises ValueError as `GridCDF`, and for z outside the nodes.
    """
    return GridCDF(log_q, nodes).at(z)[0]


def crps(log_q: Tensor, nodes: Tensor, z: Tensor) -> Tensor:
    """Continuous ranked probability score, (B,) float64 in the unit of z; lower is better.

    Equation (crps): $\\int_a^b \\big(F(t) - 1\\{t \\ge z\\}\\big)^2 dt =
    \\int_a^b (1 - F)^2\\, dt + \\int_a^z (2F - 1)\\, dt$

    log_q, nodes, z: as in `pit`, with the same reading between nodes. Standard, not from the paper; the right side is
    our derivation. Raises ValueError as `pit`.
    """
    grid = GridCDF(log_q, nodes)
    upper, (_, G) = grid.squared_upper(), grid.at(z)
    return upper + 2 * G - (z.double().reshape(-1) - grid.t[0])


def hpd_level(log_q: Tensor, log_w: Tensor, log_q_true: Tensor) -> Tensor:
    """Mass of the region where the density exceeds that at the true latent, (B,) float64; uniform when calibrated.

    Equation (hpd): $u = \\int q(t; x)\\, 1\\{q(t; x) > q(z; x)\\}\\, dt$

    log_q: (B, P) log densities on a grid of any dimension. log_w: (P,) log quadrature weights. log_q_true: (B,) log
    density at the true latent, with the same normaliser as log_q. Standard, not from the paper.
    Raises ValueError for shapes that do not fit, and for NaN or plus infinity.
    """
    if log_q.ndim != 2 or log_w.shape != log_q.shape[1:] or log_q_true.shape != log_q.shape[:1]:
        raise ValueError(
            f"need log_q (B, P), log_w (P,), log_q_true (B,), got {log_q.shape}, {log_w.shape}, {log_q_true.shape}"
        )
    if log_q.isnan().any() or log_q_true.isnan().any() or log_q.amax(1).isinf().any():
        raise ValueError("log_q or log_q_true holds NaN or plus infinity, or a row of log_q is minus infinity")
    mass = torch.softmax(log_q.double() + log_w.double(), 1)
    return (mass * (log_q > log_q_true[:, None])).sum(1)


def coverage(levels: Tensor, nominal: Sequence[float] = (0.5, 0.8, 0.9, 0.95)) -> dict[float, stats.Interval]:
    """Share of `levels` (N,) at or below each nominal level, with its Wilson interval.

    levels: highest-density levels from `hpd_level`. nominal: in (0, 1). Raises ValueError for levels outside [0, 1], an
    empty list, or a nominal level out of range.
    """
    _unit(levels)
    if not all(0 < level < 1 for level in nominal):
        raise ValueError(f"nominal levels must lie in (0, 1), got {list(nominal)}")
    return {level: stats.proportion_interval(int((levels <= level).sum()), len(levels)) for level in nominal}


def ks_uniform(levels: Tensor) -> float:
    """p value of the Kolmogorov-Smirnov test that levels (N,) are uniform on [0, 1]: a check, not a claim.

    Raises ValueError for levels outside [0, 1] or an empty list.
    """
    return float(scipy_stats.kstest(_unit(levels), "uniform").pvalue)


def _unit(levels: Tensor) -> np.ndarray:
    values = levels.detach().cpu().double().numpy()
    if values.ndim != 1 or len(values) == 0 or not ((values >= -1e-9) & (values <= 1 + 1e-9)).all():
        raise ValueError(f"levels must be a non-empty list of numbers in [0, 1], got shape {values.shape}")
    return values
