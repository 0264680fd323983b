"""Basis functions of the latent: fixed ones on an interval, and the map that puts a network's outputs on the sphere."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .method import corners, in_box


def bspline_knots(lo: float, hi: float, K: int, degree: int = 2) -> Tensor:
    """Knots (K + degree + 1,), float64, of K B-splines: equally spaced, each end repeated `degree` further times.

    lo, hi: ends of the interval. The paper's knots with 14 breakpoints carry 15 functions; 14 functions have 13.
    Raises ValueError when K <= degree, degree < 0 or lo >= hi.
    """
    corners(lo, hi)
    if not K > degree >= 0:
        raise ValueError(f"B-splines need degree >= 0 and K > degree, got K = {K} and degree {degree}")
    inner = torch.linspace(lo, hi, K - degree + 1, dtype=torch.float64)
    return torch.cat([inner[:1].repeat(degree), inner, inner[-1:].repeat(degree)])


def bspline_basis(z: Tensor, lo: float, hi: float, K: int, degree: int = 2) -> Tensor:
    """The K B-splines of `bspline_knots` at z (...): (..., K) of z's dtype; rows sum to 1, the end `hi` included.

    Equation (bspline): $b^0_i = 1_{[t_i, t_{i+1})}$,
    $b^d_i(z) = \\frac{z - t_i}{t_{i+d} - t_i} b^{d-1}_i(z)
    + \\frac{t_{i+d+1} - z}{t_{i+d+1} - t_{i+1}} b^{d-1}_{i+1}(z)$, 0/0 := 0
    (the standard recursion; the printed one has slips)
    Raises ValueError when K <= degree or a point lies outside [lo, hi].
    """
    knots = bspline_knots(lo, hi, K, degree)
    in_box(z[..., None], (lo,), (hi,))
    return _recursion(z, knots.to(z), K, degree)


def _recursion(z: Tensor, t: Tensor, K: int, degree: int) -> Tensor:
    """Cox-de Boor without a look at values: z (...), knots t (K + degree + 1,) -> (..., K)."""
    z = z[..., None]
    above, below = z >= t[:-1], z < t[1:]
    index = torch.arange(len(t) - 1, device=z.device)
    b = ((above | (index <= degree)) & (below | (index >= K - 1)) & (t[:-1] < t[1:])).to(z.dtype)
    for d in range(1, degree + 1):
        left, right = t[d:-1] - t[: -d - 1], t[d + 1 :] - t[1:-d]
        up = torch.where(left > 0, (z - t[: -d - 1]) / left.clamp(min=torch.finfo(z.dtype).tiny), 0)
        down = torch.where(right > 0, (t[d + 1 :] - z) / right.clamp(min=torch.finfo(z.dtype).tiny), 0)
        b = up * b[..., :-1] + down * b[..., 1:]
    return b


def haar_basis(z: Tensor, lo: float, hi: float, levels: int) -> Tensor:
    """The Haar wavelets of `levels` levels at z (...): (..., 2**levels - 1), coarsest first; the end `hi` included.

    z is first mapped from [lo, hi] to [0, 1]. The constant is left out: it would not change the density.
    Equation (haar): $b_{2^j + k}(u) = 2^{j/2} H(2^j u - k)$, $H = 1$ on $[0, \\frac12)$, $-1$ on
    $[\\frac12, 1)$, else 0
    (from the paper)
    Raises ValueError for levels outside 1..16, or a point outside [lo, hi].
    """
    corners(lo, hi)
    if not 1 <= levels <= 16:
        raise ValueError(f"levels must lie in 1..16, got {levels}")
    in_box(z[..., None], (lo,), (hi,))
    return _haar(z, lo, hi, levels)


def _haar(z: Tensor, lo: float, hi: float, levels: int) -> Tensor:
    """`haar_basis` without a look at values. Half cells are counted in whole numbers, the last one closed."""
    half = torch.floor((z - lo) / (hi - lo) * 2**levels).clamp(0, 2**levels - 1).long()[..., None]
    columns = []
    for j in range(levels):
        at = half >> (levels - j - 1)  # which of the 2**(j+1) half cells of level j
        k = torch.arange(2**j, device=z.device)
        columns.append(2 ** (j / 2) * ((at == 2 * k).to(z.dtype) - (at == 2 * k + 1).to(z.dtype)))
    return torch.cat(columns, -1)


def stereographic(u: Tensor) -> Tensor:
    """Points u (..., K-1) of the plane, put on the unit sphere (..., K); u = 0 lands on the pole (0, ..., 0, 1).

    Equation (stereographic): $y = \\Big[\\frac{2u}{1 + \\|u\\|^2}, \\frac{1 - \\|u\\|^2}{1 + \\|u\\|^2}\\Big]$
    (from the paper)
    Raises ValueError when u has no last dimension of 1 or more.
    """
    if u.ndim == 0 or u.shape[-1] == 0:
        raise ValueError(f"u must be (..., K - 1) with K of 2 or more, got shape {tuple(u.shape)}")
    square = u.square().sum(-1, keepdim=True)
    return torch.cat([2 * u, 1 - square], -1) / (1 + square)


def _line(z: Tensor) -> Tensor:
    if z.shape[-1] != 1:
        raise ValueError(f"a basis of the line takes latents (..., 1), got {tuple(z.shape)}")
    return z[..., 0]


class BSplines(nn.Module):
    """The fixed basis of `bspline_basis` as a module: latents (..., 1) -> (..., K). It has buffers, no parameters."""

    def __init__(self, lo: float, hi: float, K: int, degree: int = 2):
        """lo, hi, K, degree: as `bspline_knots`, which raises ValueError."""
        super().__init__()
        self.K, self.degree = K, degree
        self.register_buffer("knots", bspline_knots(lo, hi, K, degree))

    def forward(self, z: Tensor) -> Tensor:
        """Basis at latents z (..., 1) in [lo, hi]: (..., K). It does not look at values; estimators check theirs.

        Raises ValueError for latents of another dimension.
        """
        return _recursion(_line(z), self.knots.to(z.dtype), self.K, self.degree)


class Haar(nn.Module):
    """The fixed basis of `haar_basis` as a module: latents (..., 1) -> (..., 2**levels - 1). It has no parameters."""

    def __init__(self, lo: float, hi: float, levels: int):
        """lo, hi: interval. levels: 1..16. Raises ValueError as `haar_basis`."""
        super().__init__()
        haar_basis(torch.tensor([float(lo)]), lo, hi, levels)
        self.lo, self.hi, self.levels, self.K = lo, hi, levels, 2**levels - 1

    def forward(self, z: Tensor) -> Tensor:
        """Basis at latents z (..., 1) in [lo, hi]: (..., K). It does not look at values; estimators check theirs.

        Raises ValueError for latents of another dimension.
        """
        return _haar(_line(z), self.lo, self.hi, self.levels)
