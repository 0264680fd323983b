"""How good a conditional density is: divergences on a grid, held-out NLL, and whether the grid hides spikes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from scipy import optimize
from torch import Tensor

from ..stats import Interval, proportion_interval
from .method import trapezoid_grid
from .model import LBF, Estimator

CHUNK = 64


def grid_kl(logp: Tensor, logq: Tensor, log_w: Tensor) -> tuple[Tensor, Tensor]:
    """KL(p || q) ("forward") and KL(q || p) ("reverse"), (...,) float64, nats, after renormalising both on the grid.

    logp, logq: (..., P) log densities at the nodes. log_w: (P,). -inf stands for density 0: where only one is 0, the
    divergence that needs it is infinite.
    Equation (kl): $\\mathrm{KL}(p \\| q) = \\int p \\log \\frac{p}{q}\\,dz
    \\approx \\sum_i w_i\\,p(z_i)\\,[\\log p(z_i) - \\log q(z_i)]$ (standard)
    Raises ValueError for shapes that do not fit, NaN, +inf, or a density that is 0 everywhere.
    """
    p, q = (_normalised(t, log_w, name) for t, name in ((logp, "logp"), (logq, "logq")))
    if p.shape[-1] != q.shape[-1]:
        raise ValueError(f"logp {tuple(p.shape)} and logq {tuple(q.shape)} must share the grid")
    return _divergence(p, q), _divergence(q, p)


def _normalised(log_density: Tensor, log_w: Tensor, name: str) -> Tensor:
    """Log masses (..., P) of the nodes, float64, that sum to 1."""
    if log_density.shape[-1:] != log_w.shape or log_w.ndim != 1:
        raise ValueError(f"{name} {tuple(log_density.shape)} must end in the {tuple(log_w.shape)} of log_w")
    if torch.isnan(log_density).any() or (log_density == math.inf).any():
        raise ValueError(f"{name} holds NaN or +inf")
    masses = log_density.double() + log_w.double()
    total = torch.logsumexp(masses, -1, keepdim=True)
    if not torch.isfinite(total).all():
        raise ValueError(f"{name} is zero at every node of some row: nothing to normalise")
    return masses - total


def _divergence(p: Tensor, q: Tensor) -> Tensor:
    p, q = torch.broadcast_tensors(p, q)
    return torch.where(p == -math.inf, 0.0, p.exp() * (p - q)).sum(-1)


def scale_floor(logp: Tensor, log_w: Tensor, w: float) -> float:
    """Smallest KL(p || q), nats, of any q proportional to exp(k) with |k| <= w: what the stereographic form can reach.

    logp: (P,) log density at the nodes. log_w: (P,). w: the scale.
    Equation (floor): $\\min_c \\mathrm{KL}(p \\| q_c)$, $q_c \\propto e^{\\min(\\max(\\log p + c,\\, -w),\\, w)}$
    (our derivation)
    Raises ValueError unless w > 0, and as `grid_kl`.
    """
    if not 0 < w < math.inf:
        raise ValueError(f"w must be a positive number, got {w}")
    p = _normalised(logp, log_w, "logp") - log_w.double()
    spread = float(p.max() - p[p > -math.inf].min())

    def divergence(c: float) -> float:
        return grid_kl(p, (p + c).clamp(-w, w), log_w)[0].item()

    bounds = (-float(p.max()) - w, -float(p.max()) + w + spread)
    return float(optimize.minimize_scalar(divergence, bounds=bounds, method="bounded", options={"xatol": 1e-10}).fun)


@torch.no_grad()
def nll_values(model: Estimator, z: Tensor, x: Tensor, chunk: int = 1000) -> Tensor:
    """-log q of each pair z (n, d), x (n, x_dim): (n,) float64, nats, computed `chunk` pairs at a time.

    Raises ValueError for pairs that do not fit, none at all, or a log density that is not finite.
    """
    if len(z) != len(x) or len(z) == 0:
        raise ValueError(f"need as many latents as observations, one or more, got {len(z)} and {len(x)}")
    values = torch.cat([-model.log_prob(a, b).double() for a, b in zip(z.split(chunk), x.split(chunk), strict=True)])
    if not torch.isfinite(values).all():
        first = int((~torch.isfinite(values)).nonzero()[0])
        raise ValueError(f"log density of pair {first} is {-values[first].item()}: z {z[first].tolist()}")
    return values


def mean_nll(model: Estimator, z: Tensor, x: Tensor) -> float:
    """Mean of `nll_values` over pairs z (n, d), x (n, x_dim), nats. Raises ValueError as it does."""
    return nll_values(model, z, x).mean().item()


def excess_nll(model: Estimator, simulator, z: Tensor, x: Tensor) -> tuple[float, float]:
    """Mean NLL over pairs z (n, d), x (n, x_dim) minus `simulator.best_nll`, and its standard error over pairs, nats.

    An honest estimate lies above 0 up to that error. Raises ValueError for a simulator whose best is unknown, fewer
    than two pairs, or as `nll_values`.
    """
    best = getattr(simulator, "best_nll", None)
    if best is None:
        raise ValueError(f"{type(simulator).__name__} has no known best_nll")
    if len(z) < 2:
        raise ValueError(f"a standard error needs two pairs or more, got {len(z)}")
    values = nll_values(model, z, x)
    return values.mean().item() - best, values.std().item() / math.sqrt(len(values))


def share_near_best(excesses: list[float], within: float = 0.01) -> Interval:
    """Share of seeds whose excess NLL (one number a seed, nats) is at most `within`, with its Wilson interval.

    Raises ValueError for an empty list, or an excess that is not finite.
    """
    if not all(math.isfinite(e) for e in excesses):
        raise ValueError(f"excesses must be finite, got {excesses}")
    return proportion_interval(sum(e <= within for e in excesses), len(excesses))


@dataclass(frozen=True)
class GridReport:
    """What `finer_grid_check` found. gap: (B,) log J on the finer grid minus log J of training, nats."""

    gap: Tensor
    tolerance: float
    nodes: int
    finer_nodes: int

    @property
    def worst(self) -> float:
        """Largest |gap|, nats."""
        return self.gap.abs().max().item()

    @property
    def hidden(self) -> bool:
        """Whether the training quadrature misses more than the tolerance for some observation."""
        return not self.worst <= self.tolerance

    def __str__(self) -> str:
        found = f"log J differs by up to {self.worst:.3g} nats (observation {int(self.gap.abs().argmax())})"
        where = f"between the {self.nodes} nodes of training and {self.finer_nodes} nodes of a finer grid"
        verdict = (
            "the basis hides structure between the nodes of training: train on more"
            if self.hidden
            else "no hidden spikes"
        )
        return f"{found} {where}, tolerance {self.tolerance}: {verdict}"


@torch.no_grad()
def finer_grid_check(
    model: LBF, x: Tensor, factor: int = 4, tolerance: float = 0.05, strict: bool = True
) -> GridReport:
    """Compare log J of observations x (B, x_dim) on the training quadrature with that on a finer trapezoid grid.

    factor: how many times finer, an axis. tolerance: nats. A learnt basis can peak between the nodes of its own grid,
    which makes its training loss, and an NLL normalised on that grid, too low.
    Raises ValueError when the two differ by more than the tolerance (unless `strict` is off: then the report says so),
    for a factor below 2, or x that does not fit.
    """
    if factor < 2:
        raise ValueError(f"factor must be 2 or more, got {factor}")
    an_axis = math.ceil(round(len(model.nodes) ** (1 / model.d), 6))
    finer = tuple(t.to(model.nodes) for t in trapezoid_grid(model.low, model.high, (an_axis - 1) * factor + 1))
    gaps = [(model.log_j(part, finer) - model.log_j(part)).double() for part in x.split(CHUNK)]
    report = GridReport(torch.cat(gaps), tolerance, len(model.nodes), len(finer[0]))
    if strict and report.hidden:
        raise ValueError(str(report))
    return report
