"""The method's core: an exponential family of the latent, its normaliser by quadrature, the fit for one observation.

log q(z; x) = f(x) . s(z) - log J(x) on a box of the latent, with the uniform base measure h = 1. A quadrature is a pair
(nodes (P, d), log_w (P,)) with logsumexp(log_w) = log of the box's volume.
Shapes: `...` nothing or more leading dimensions, B observations, P nodes, K basis functions, d latent dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from ..seeding import given

Corner = float | Sequence[float]
RIDGE = 1e-9


def corners(lo: Corner, hi: Corner) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The box [lo, hi] as two tuples of d floats; a number stands for one dimension.

    Raises ValueError unless lo < hi, both finite and of one length.
    """
    low, high = (tuple(map(float, (c,) if isinstance(c, (int, float)) else c)) for c in (lo, hi))
    fits = len(low) == len(high) > 0 and all(math.isfinite(b - a) and a < b for a, b in zip(low, high, strict=True))
    if not fits:
        raise ValueError(f"a box needs finite lo < hi in every dimension, got lo {low} and hi {high}")
    return low, high


def in_box(z: Tensor, low: tuple[float, ...], high: tuple[float, ...], name: str = "z") -> Tensor:
    """`z` (..., d), all of whose points lie in the box [low, high], up to rounding of its dtype.

    Raises ValueError with the first point outside, or with the shape when the last dimension is not d; TypeError for
    whole numbers.
    """
    if not z.is_floating_point():
        raise TypeError(f"{name} must be floating point, got {z.dtype}: use .float()")
    if z.shape[-1:] != (len(low),):
        raise ValueError(f"{name} must have {len(low)} numbers in its last dimension, got shape {tuple(z.shape)}")
    a, b = z.new_tensor(low), z.new_tensor(high)
    slack = 4 * torch.finfo(z.dtype).eps * (b - a)
    outside = ~((z >= a - slack) & (z <= b + slack)).all(-1)
    if outside.any():
        raise ValueError(f"{name} lies outside the support {list(low)}..{list(high)}: {z[outside][0].tolist()}")
    return z


def trapezoid_grid(lo: Corner, hi: Corner, n: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    """The trapezoid rule with n nodes an axis on the box [lo, hi]: nodes (n**d, d), log weights (n**d,), of `dtype`.

    lo, hi: numbers, or d of them. The last dimension runs fastest.
    Equation (trapezoid): $\\int_I g(z)\\,dz \\approx \\sum_p w_p\\,g(z_p)$, $w_p = \\prod_i \\delta_i\\,2^{-e_i}$,
    $e_i = 1$ at either end of axis $i$, else 0 (the paper names the rule)
    Raises ValueError for fewer than 2 nodes an axis, or a box without volume.
    """
    low, high = corners(lo, hi)
    if n < 2:
        raise ValueError(f"the trapezoid rule needs 2 nodes an axis or more, got {n}")
    axes, weights = [], []
    for a, b in zip(low, high, strict=True):
        axes.append(torch.linspace(a, b, n, dtype=torch.float64))
        step = torch.full((n,), math.log((b - a) / (n - 1)), dtype=torch.float64)
        step[[0, -1]] -= math.log(2)
        weights.append(step)
    nodes = torch.stack(torch.meshgrid(*axes, indexing="ij"), -1).reshape(-1, len(low))
    log_w = torch.stack(torch.meshgrid(*weights, indexing="ij"), -1).sum(-1).reshape(-1)
    return nodes.to(dtype), log_w.to(dtype)


def monte_carlo_log_weights(log_r: Tensor) -> Tensor:
    """Log weights (P,) that make P draws from a proposal r a quadrature of the box: -log r - log P.

    log_r: (P,) log density of the proposal at its draws; base measure h = 1. With these weights `log_normalizer` is the
    logarithm of an unbiased estimate of J, hence too low on average (Jensen).
    Equation (proposal): $\\log w_j = \\log h(\\tilde z_j) - \\log r(\\tilde z_j) - \\log P$ (from the paper)
    Raises ValueError for an empty or non-finite log_r.
    """
    if log_r.ndim != 1 or len(log_r) == 0 or not torch.isfinite(log_r).all():
        raise ValueError(f"log_r must be a non-empty vector of finite numbers, got shape {tuple(log_r.shape)}")
    return -log_r - math.log(len(log_r))


def monte_carlo_nodes(lo: Corner, hi: Corner, n: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """`n` uniform draws from the box [lo, hi], nodes (n, d) float32, and their log weights (n,).

    Raises ValueError for n below 1 or a box without volume, TypeError without a generator.
    """
    low, high = corners(lo, hi)
    if n < 1:
        raise ValueError(f"n must be 1 or more, got {n}")
    a, b = torch.tensor(low), torch.tensor(high)
    nodes = a + (b - a) * torch.rand(n, len(low), generator=given(generator))
    return nodes, monte_carlo_log_weights(torch.full((n,), -float((b - a).log().sum())))


def log_normalizer(f: Tensor, s_nodes: Tensor, log_w: Tensor) -> Tensor:
    """log J(x), shape (..., B), of natural parameters f (..., B, K) by a quadrature.

    s_nodes: (..., P, K) basis at the nodes. log_w: (..., P) log weights.
    Equation (normaliser): $\\log J(x) = \\log \\int_I e^{f(x)^\\top s(z)}\\,dz
    \\approx \\log \\sum_p e^{f(x)^\\top s(z_p) + \\log w_p}$ (from the paper)
    Raises ValueError for shapes that do not fit.
    """
    if f.shape[-1] != s_nodes.shape[-1] or s_nodes.shape[-2] != log_w.shape[-1]:
        raise ValueError(
            f"f (B, K), s_nodes (P, K) and log_w (P,) do not fit: got {tuple(f.shape)}, {tuple(s_nodes.shape)} "
            f"and {tuple(log_w.shape)}"
        )
    return torch.logsumexp(f @ s_nodes.mT + log_w[..., None, :], -1)


def lbf_nll(f: Tensor, s_z: Tensor, s_nodes: Tensor, log_w: Tensor) -> Tensor:
    """Negative log density (..., B) of one latent for each observation: what training minimises.

    f, s_z: (..., B, K) natural parameters and basis at the latents. s_nodes (..., P, K), log_w (..., P): a quadrature.
    Equation (family): $\\log q(z; x) = f(x)^\\top s(z) - \\log J(x)$ (from the paper, with h = 1)
    Equation (gradient): $\\nabla \\log J = \\mathbb E_q[\\nabla k] \\approx \\sum_j w_j \\nabla k_j / \\sum_j w_j$,
    $w_j = e^{k_j} h(z_j) / r(z_j)$, $k = f^\\top s$ (Algorithm 1; its listing leaves out 1/r)
    Equation (objective): $\\mathcal L = -\\mathbb E_{p(z, x)}\\,[f(x)^\\top s(z) - \\log J(x)]$ (from the paper)
    Raises ValueError for shapes that do not fit.
    """
    if f.shape != s_z.shape:
        raise ValueError(f"f and s_z must have one shape (B, K), got {tuple(f.shape)} and {tuple(s_z.shape)}")
    return log_normalizer(f, s_nodes, log_w) - (f * s_z).sum(-1)


def moments(eta: Tensor, s_nodes: Tensor, log_w: Tensor) -> tuple[Tensor, Tensor]:
    """Mean (..., K) and covariance (..., K, K) of the basis under q with natural parameter eta (..., K).

    s_nodes: (P, K). log_w: (P,).
    Equation (moments): $\\nabla_\\eta \\log J = \\mathbb E_q[s]$,
    $\\nabla^2_\\eta \\log J = \\mathrm{Cov}_q[s] \\succeq 0$ (from the paper; the Hessian is standard)
    Raises ValueError for shapes that do not fit.
    """
    if eta.shape[-1] != s_nodes.shape[-1] or len(s_nodes) != len(log_w):
        raise ValueError(
            f"eta {tuple(eta.shape)}, s_nodes {tuple(s_nodes.shape)}, log_w {tuple(log_w.shape)} do not fit"
        )
    q = torch.softmax(eta @ s_nodes.mT + log_w, -1)
    mean = q @ s_nodes
    return mean, (s_nodes.mT * q[..., None, :]) @ s_nodes - mean[..., :, None] * mean[..., None, :]


def newton_step(eta: Tensor, s_nodes: Tensor, log_w: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """One Newton step with backtracking on log J(eta) - eta . target.

    Returns the new eta (S, K), and the gradient (S, K) at the old one. eta: (S, K) float64, S independent fits.
    target: (K,) or (S, K) wanted E_q[s]. s_nodes: (P, K). log_w: (P,).
    A step is halved, up to 50 times, until it lowers the objective by 1e-4 of what the slope promises; undamped steps
    overshoot. RIDGE keeps the Hessian solvable along directions that leave q alone (B-splines: along 1).
    Equation (newton): $\\eta' = \\eta - t (\\mathrm{Cov}_q[s] + \\epsilon I)^{-1} (\\mathbb E_q[s] - \\mathbb E_p[s])$
    (our choice)
    Raises ValueError for shapes that do not fit.
    """
    mean, covariance = moments(eta, s_nodes, log_w)
    gradient = mean - target
    ridge = RIDGE * torch.eye(eta.shape[-1], dtype=eta.dtype, device=eta.device)
    step = torch.linalg.solve(covariance + ridge, gradient)
    start, slope = _objective(eta, s_nodes, log_w, target), (step * gradient).sum(-1)
    size = torch.ones_like(slope)
    for _ in range(50):
        reached = _objective(eta - size[:, None] * step, s_nodes, log_w, target)
        too_long = ~(reached <= start - 1e-4 * size * slope + 1e-14 * (1 + start.abs()))
        if not too_long.any():
            break
        size = torch.where(too_long, size / 2, size)
    return eta - size[:, None] * step, gradient


def _objective(eta: Tensor, s_nodes: Tensor, log_w: Tensor, target: Tensor) -> Tensor:
    return log_normalizer(eta, s_nodes, log_w) - (eta * target).sum(-1)


def fit_natural(
    s_nodes: Tensor,
    log_w: Tensor,
    target_moments: Tensor,
    steps: int = 50,
    start: Tensor | None = None,
    tolerance: float = 1e-9,
) -> Tensor:
    """The natural parameter eta, (K,) or (S, K), whose density has E_q[s] = target_moments: the optimum for one x.

    s_nodes: (P, K) basis at the nodes. log_w: (P,). target_moments: (K,) or (S, K). start: (K,) or (S, K), else zeros;
    the problem is convex, so every start ends at one density. tolerance: on the largest entry of the gradient.
    Equation (optimum): $\\mathbb E_{q}[s] = \\mathbb E_{p(z \\mid x)}[s]$ (moment matching; our derivation)
    Raises ValueError for shapes that do not fit, values that are not finite, or when `steps` steps do not get there.
    """
    s, w, target = s_nodes.double(), log_w.double(), target_moments.double()
    eta = torch.zeros_like(target) if start is None else start.double()
    if target.shape[-1:] != s.shape[-1:] or eta.shape[-1:] != s.shape[-1:] or target.ndim > 2 or eta.ndim > 2:
        raise ValueError(
            f"moments {tuple(target.shape)} or start {tuple(eta.shape)} do not fit {s.shape[-1]} functions"
        )
    if not all(torch.isfinite(t).all() for t in (s, target, eta)) or torch.isnan(w).any():
        raise ValueError("basis, weights, target moments and start must be finite")
    single = max(target.ndim, eta.ndim) == 1
    eta = torch.broadcast_to(eta, torch.broadcast_shapes(eta.shape, target.shape, (1, s.shape[-1]))).clone()
    for _ in range(steps):
        eta, gradient = newton_step(eta, s, w, target)
        if gradient.abs().max() <= tolerance:
            return eta[0] if single else eta
    raise ValueError(
        f"no natural parameter after {steps} steps: the moments still differ by {gradient.abs().max().item():.1e}; "
        "take more steps, or check that the target moments are those of a density with full support"
    )
