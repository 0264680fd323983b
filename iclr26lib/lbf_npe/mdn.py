"""Gaussian mixtures, the first peer: the mixture density network in three variants, and EM for a density on a grid."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from scipy.stats import truncnorm
from torch import Tensor
from torch.nn import functional as F

from ..seeding import given
from .method import in_box
from .model import Estimator, mlp

VARIANTS = ("plain", "truncated", "logit")
INITS = ("spread", "zero")
MARGIN = 1e-3  # the logit variant's box is wider by this share of its width at each face: its ends stay finite
GOLDEN = (math.sqrt(5) - 1) / 2
LOG_ROOT_2PI = 0.5 * math.log(2 * math.pi)


def standardise_(module: Estimator, x_stats: tuple[Tensor, Tensor] | None) -> None:
    """Register x_mean and x_spread (x_dim,) on `module`, from x_stats (mean, spread), else 0 and 1.

    Raises ValueError for another shape or a spread that is not positive.
    """
    mean, spread = x_stats if x_stats is not None else (torch.zeros(module.x_dim), torch.ones(module.x_dim))
    if mean.shape != (module.x_dim,) or spread.shape != (module.x_dim,) or not (spread > 0).all():
        raise ValueError(f"x_stats must be a mean and a positive spread ({module.x_dim},), got {mean} and {spread}")
    module.register_buffer("x_mean", mean.float())
    module.register_buffer("x_spread", spread.float())


def spread_points(n: int, d: int) -> Tensor:
    """n points evenly over the unit cube, (n, d) float32: midpoints on axis 0, golden-ratio steps on the others."""
    c = torch.arange(n, dtype=torch.float64)
    columns = [(c + 0.5) / n] + [(0.5 + c * GOLDEN**axis) % 1 for axis in range(1, d)]
    return torch.stack(columns, 1).float()


def log_normal(y: Tensor, mean: Tensor, log_std: Tensor) -> Tensor:
    """Log density of N(mean, exp(log_std)^2) at y, all of one broadcastable shape, element by element."""
    return -0.5 * ((y - mean) * (-log_std).exp()) ** 2 - log_std - LOG_ROOT_2PI


def log_cdf(t: Tensor) -> Tensor:
    """log Phi(t) of the standard normal, element by element: `torch.special.log_ndtr`, which vmap cannot batch."""
    near = torch.log1p(-torch.erfc(t.clamp(min=-1) / math.sqrt(2)) / 2)
    far = torch.log(torch.special.erfcx(-t.clamp(max=-1) / math.sqrt(2)) / 2) - t**2 / 2
    return torch.where(t < -1, far, near)


def log_mass(low: Tensor, high: Tensor, mean: Tensor, log_std: Tensor) -> Tensor:
    """Log probability that N(mean, exp(log_std)^2) lies in [low, high], element by element, shapes broadcastable.

    Equation (truncation): $\\log\\big[\\Phi(\\tfrac{b-\\mu}{\\sigma}) - \\Phi(\\tfrac{a-\\mu}{\\sigma})\\big]$

    Standard. An interval above the mean is mirrored below it, where log Phi keeps its digits.
    """
    a, b = (low - mean) * (-log_std).exp(), (high - mean) * (-log_std).exp()
    above = a + b > 0
    a, b = torch.where(above, -b, a), torch.where(above, -a, b)
    upper, lower = log_cdf(b), log_cdf(a)
    return upper + torch.log(-torch.expm1(lower - upper))


class MDN(Estimator):
    """q(z; x) = a mixture of Gaussians with diagonal covariance, its parameters from a network with the body of LBF."""

    def __init__(
        self,
        x_dim: int,
        d: int,
        components: int,
        width: int = 128,
        depth: int = 4,
        *,
        low: tuple[float, ...],
        high: tuple[float, ...],
        generator: torch.Generator,
        init: str = "spread",
        variant: str = "plain",
        x_stats: tuple[Tensor, Tensor] | None = None,
    ):
        """x_dim, d: widths of x and z. components: Gaussians. width, depth: of the network. low, high: box of z.

        variant: "plain", a density on R^d that leaks out of the box; "truncated", each component cut to the box and
        renormalised; "logit", a mixture of the logit of z, on a box wider by MARGIN at each face.
        init: "spread", means start evenly over the box with touching widths; "zero", the bare network, all means near 0
        and deviations near 1. x_stats: mean and spread (x_dim,) that standardise x, else 0 and 1.
        generator: draws the weights. The paper's MDN is plain; the variants and "spread" are ours, to be fair to it.
        Raises ValueError for an unknown word, sizes below 1, a d that the box has not; TypeError without a generator.
        """
        super().__init__(x_dim, low, high)
        if variant not in VARIANTS or init not in INITS:
            raise ValueError(f"variant must be one of {VARIANTS} and init one of {INITS}, got {variant!r}, {init!r}")
        if d != self.d or components < 1:
            raise ValueError(f"need components >= 1 and d = {self.d} as the box has, got {components} and {d}")
        self.components, self.variant = components, variant
        self.net = mlp(x_dim, width, depth, components * (1 + 2 * d), generator)
        standardise_(self, x_stats)
        lower, upper = torch.tensor(self.low), torch.tensor(self.high)
        self.register_buffer("lower", lower)
        self.register_buffer("upper", upper)
        self._register_start(init, lower, upper)

    def _register_start(self, init: str, lower: Tensor, upper: Tensor) -> None:
        points = spread_points(self.components, self.d)
        if self.variant == "logit":
            start, unit = torch.logit(points), torch.full_like(lower, math.pi / math.sqrt(3))  # sd of a logistic
        else:
            start, unit = lower + (upper - lower) * points, (upper - lower) / 2
        spread = init == "spread"
        log_std = torch.log(unit / self.components ** (1 / self.d))
        self.register_buffer("start", start if spread else torch.zeros_like(start))
        self.register_buffer("unit", unit if spread else torch.ones_like(unit))
        self.register_buffer("start_log_std", log_std if spread else torch.zeros_like(log_std))
        if spread:
            with torch.no_grad():
                self.net[-1].weight.mul_(0.1)
                self.net[-1].bias.zero_()

    def parameters_of(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Log weights (B, C), means (B, C, d) and log deviations (B, C, d) for x (B, x_dim); of logit z if so."""
        raw = self.net((x - self.x_mean) / self.x_spread)
        C, d = self.components, self.d
        mean = self.start + self.unit * raw[:, C : C + C * d].unflatten(1, (C, d))
        log_std = self.start_log_std + raw[:, C + C * d :].unflatten(1, (C, d))
        return F.log_softmax(raw[:, :C], 1), mean, log_std

    def forward(self, z: Tensor, x: Tensor) -> Tensor:
        """-log q (B,) at z (B, d) given x (B, x_dim), without looking at values: `loss` and `log_prob` check them."""
        return -self._mix(z[:, None], *self.parameters_of(x))[:, 0]

    def _mix(self, z: Tensor, log_weight: Tensor, mean: Tensor, log_std: Tensor) -> Tensor:
        """Log density (B, P) at z (B or 1, P, d) of the mixtures with log_weight (B, C), mean and log_std (B, C, d).

        Equation (mixture): $\\log q(z; x) = \\log \\sum_c \\pi_c(x) \\prod_i
        \\mathcal N(z_i;\\, \\mu_{ci}(x), \\sigma_{ci}(x)^2)$

        The paper's baseline. "truncated" divides each factor by its mass in the box; "logit" reads z as logit z and
        adds the logarithm of its slope.
        """
        y, log_slope = self._logit(z) if self.variant == "logit" else (z, 0.0)
        each = log_normal(y[:, :, None], mean[:, None], log_std[:, None])
        if self.variant == "truncated":
            each = each - log_mass(self.lower, self.upper, mean, log_std)[:, None]
        return torch.logsumexp(log_weight[:, None] + each.sum(-1), -1) + log_slope

    def _logit(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Logit (..., d) of z's place in the widened box, and the log slope (...) of that map.

        Equation (logit): $y = \\log\\frac{u}{1-u},\\quad \\log\\frac{dy}{dz} = -\\log u - \\log(1-u) - \\log(b-a)$

        Standard; u is the place of z in [a, b] between 0 and 1.
        """
        extra = MARGIN * (self.upper - self.lower)
        width = self.upper - self.lower + 2 * extra
        log_u = torch.log((z - self.lower + extra) / width)
        log_v = torch.log((self.upper - z + extra) / width)
        return log_u - log_v, -(log_u + log_v + width.log()).sum(-1)

    def log_prob(self, z: Tensor, x: Tensor) -> Tensor:
        """log q (B,) at z (B, d) in the box given x (B, x_dim). Raises ValueError as `check`."""
        self.check(x, z)
        return -self(z.to(self.lower), x.to(self.lower))

    def log_density(self, nodes: Tensor, x: Tensor) -> Tensor:
        """log q at nodes (P, d) for each x (B, x_dim): (B, P). The plain variant takes nodes outside of the box, too.

        Raises ValueError as `check`, and for nodes of another width or, but for the plain variant, outside of the box.
        """
        self.check(x)
        if self.variant != "plain":
            in_box(nodes, self.low, self.high, "a node")
        elif nodes.ndim != 2 or nodes.shape[1] != self.d:
            raise ValueError(f"nodes must be (P, {self.d}), got {tuple(nodes.shape)}")
        return self._mix(nodes.to(self.lower)[None], *self.parameters_of(x.to(self.lower)))

    def leak(self, x: Tensor) -> Tensor:
        """Mass that q puts outside of the box, (B,), for x (B, x_dim): 0 for the truncated variant.

        For the logit variant it is what lies in the margin. Raises ValueError as `check`.
        """
        self.check(x)
        if self.variant == "truncated":
            return torch.zeros_like(x[:, 0])
        low, high = self.lower, self.upper
        if self.variant == "logit":
            low, high = self._logit(low)[0], self._logit(high)[0]
        log_weight, mean, log_std = self.parameters_of(x.to(self.lower))
        return 1 - (log_weight + log_mass(low, high, mean, log_std).sum(-1)).exp().sum(-1)

    @torch.no_grad()
    def sample(self, x: Tensor, n: int, generator: torch.Generator) -> Tensor:
        """n draws (B, n, d) for each x (B, x_dim), drawn on the CPU.

        Raises ValueError as `check` or when n < 1, TypeError without a generator.
        """
        self.check(x)
        if n < 1:
            raise ValueError(f"n must be 1 or more, got {n}")
        log_weight, mean, log_std = (p.double().cpu() for p in self.parameters_of(x.to(self.lower)))
        chosen = torch.multinomial(log_weight.exp(), n, replacement=True, generator=given(generator))
        mean, std = (p.gather(1, chosen[..., None].expand(-1, -1, self.d)) for p in (mean, log_std.exp()))
        low, high = self.lower.double().cpu(), self.upper.double().cpu()
        if self.variant == "truncated":
            u = torch.rand(mean.shape, generator=generator, dtype=torch.float64)
            y = torch.from_numpy(truncnorm.ppf(u, (low - mean) / std, (high - mean) / std)) * std + mean
        else:
            y = mean + std * torch.randn(mean.shape, generator=generator, dtype=torch.float64)
        if self.variant == "logit":
            extra = MARGIN * (high - low)
            y = low - extra + (high - low + 2 * extra) * torch.sigmoid(y)
        return y.to(self.lower)


@dataclass(frozen=True)
class Mixture:
    """Gaussian mixtures with diagonal covariance, float64: S fits. weight (S, C), mean (S, C, d), std (S, C, d).

    kl: (S,) KL(p || q) of each, nats. history: (steps, S) the same after every step. converged: (S,) bool.
    """

    weight: Tensor
    mean: Tensor
    std: Tensor
    kl: Tensor
    history: Tensor
    converged: Tensor

    def log_density(self, nodes: Tensor) -> Tensor:
        """log q at nodes (P, d), shape (S, P), float64."""
        return torch.logsumexp(_log_parts(nodes.double(), self.weight, self.mean, self.std), 1)


def _log_parts(nodes: Tensor, weight: Tensor, mean: Tensor, std: Tensor) -> Tensor:
    log_std = std.log()[:, :, None]
    return weight.log()[..., None] + log_normal(nodes, mean[:, :, None], log_std).sum(-1)


def em_step(nodes: Tensor, mass: Tensor, weight: Tensor, mean: Tensor, std: Tensor) -> tuple[Tensor, ...]:
    """One step of EM for S mixtures fitted to a density: weight (S, C), mean and std (S, C, d) to their new values.

    nodes: (P, d). mass: (P,), density times quadrature weight, sum 1. Returns the new weight, mean and std, and the
    cross-entropy -E_p[log q] (S,) of the old ones.
    Equation (em): $r_{c}(z) = \\frac{\\pi_c \\mathcal N_c(z)}{q(z)},\\ \\pi_c' = \\mathbb E_p[r_c],\\
    \\mu_c' = \\frac{\\mathbb E_p[r_c z]}{\\pi_c'},\\ \\sigma_c'^2 = \\frac{\\mathbb E_p[r_c z^2]}{\\pi_c'} - \\mu_c'^2$

    Standard. Raises FloatingPointError when a component has lost all its mass or its width.
    """
    parts = _log_parts(nodes, weight, mean, std)
    log_q = torch.logsumexp(parts, 1)
    r = (parts - log_q[:, None]).exp() * mass
    new_weight = r.sum(-1)
    new_mean = r @ nodes / new_weight[..., None]
    square = ((nodes - new_mean[:, :, None]) ** 2 * r[..., None]).sum(2) / new_weight[..., None]
    if not (square > 0).all():
        raise FloatingPointError(
            "a component of the mixture collapsed to nothing; take other starts or fewer components"
        )
    return new_weight, new_mean, square.sqrt(), -(log_q * mass).sum(-1)


def em_mixture(
    nodes: Tensor,
    log_w: Tensor,
    log_p: Tensor,
    components: int,
    starts: int,
    generator: torch.Generator,
    *,
    steps: int = 5000,
    tolerance: float = 1e-9,
) -> Mixture:
    """Fit Gaussian mixtures to a density on a grid by EM from random starts, in float64: the best an MDN could do.

    nodes: (P, d). log_w: (P,) log quadrature weights. log_p: (P,) log density, renormalised here. components, starts:
    numbers of Gaussians and of fits. A start draws its means from the density; widths are its spread / components.
    steps: at most so many; a fit has converged when a step lowers its KL by less than `tolerance`.
    q lives on R^d: what it puts outside of the grid counts against it, as for a plain MDN.
    Raises ValueError for shapes that do not fit or numbers below 1, TypeError without a generator, and as `em_step`.
    """
    if nodes.ndim != 2 or log_w.shape != nodes.shape[:1] or log_p.shape != log_w.shape:
        raise ValueError(f"need nodes (P, d), log_w (P,), log_p (P,), got {nodes.shape}, {log_w.shape}, {log_p.shape}")
    if min(components, starts, steps) < 1 or not (log_p.amax().isfinite() and not log_p.isnan().any()):
        raise ValueError(
            f"need components, starts, steps >= 1 and no NaN in log_p, got {components}, {starts}, {steps}"
        )
    nodes, log_w, log_p = nodes.double(), log_w.double(), log_p.double()
    mass = torch.softmax(log_p + log_w, 0)
    entropy = -torch.special.xlogy(mass, mass).sum() + (mass * log_w).sum()
    chosen = torch.multinomial(mass.cpu(), starts * components, replacement=True, generator=given(generator))
    mean = nodes[chosen.to(nodes.device)].unflatten(0, (starts, components))
    scale = (mass @ nodes**2 - (mass @ nodes) ** 2).sqrt()
    std = (scale / components).expand_as(mean)
    weight = torch.full((starts, components), 1 / components, dtype=torch.float64, device=nodes.device)
    history = []
    for _ in range(steps):
        weight, mean, std, cross = em_step(nodes, mass, weight, mean, std)
        history.append(cross - entropy)
        if len(history) > 1 and (history[-2] - history[-1]).max() < tolerance:
            break
    final = em_step(nodes, mass, weight, mean, std)[3] - entropy
    return Mixture(weight, mean, std, final, torch.stack(history), history[-1] - final < tolerance)
