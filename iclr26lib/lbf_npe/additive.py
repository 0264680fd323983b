"""Three simulators of one kind: x is a function of the latent plus Gaussian noise, so that the posterior is known.

z: (n, d), x: (n, x_dim), float32, drawn by a generator on the CPU. Densities take leading dimensions that broadcast:
z (B, d) with x (B, x_dim) gives (B,), and z (P, d) with x (B, 1, x_dim) gives (B, P). They compute in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ..seeding import given
from .method import in_box, trapezoid_grid


def sinusoid_mean(z: Tensor) -> Tensor:
    """sin 2z, (...,), of angles z (..., 1) in radians."""
    return torch.sin(2 * z[..., 0])


def bands_mean(z: Tensor) -> Tensor:
    """|z_1 - z_2|, (...,), of z (..., 2)."""
    return (z[..., 0] - z[..., 1]).abs()


def ring_mean(z: Tensor) -> Tensor:
    """Squared norm (...,) of z (..., 2)."""
    return z.square().sum(-1)


def normal_log_density(x: Tensor, mean: Tensor, spread: float) -> Tensor:
    """log N(x; mean, spread**2) in float64, for x and mean that broadcast. Raises ValueError unless spread > 0."""
    if not spread > 0:
        raise ValueError(f"spread must be positive, got {spread}")
    return -0.5 * ((x.double() - mean) / spread).square() - math.log(spread * math.sqrt(2 * math.pi))


def single(x: Tensor) -> Tensor:
    """The one number (...,) of each observation x (..., 1). Raises ValueError for another width or NaN and infinity."""
    if x.shape[-1:] != (1,):
        raise ValueError(f"x must be (..., 1), got {tuple(x.shape)}")
    if not torch.isfinite(x).all():
        raise ValueError(f"x holds a value that is not finite: {x[~torch.isfinite(x)][0].item()}")
    return x[..., 0]


@dataclass(frozen=True)
class Additive:
    """z uniform on the box [low, high], x = mean(z) + noise * N(0, 1), one number. best_nll: -E log p(z | x), nats."""

    mean: Callable[[Tensor], Tensor]
    low: tuple[float, ...]
    high: tuple[float, ...]
    noise: float
    best_nll: float
    x_dim: int = 1

    @property
    def d(self) -> int:
        """Dimension of the latent."""
        return len(self.low)

    def sample(self, n: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """`n` pairs z (n, d), x (n, 1), float32. Raises ValueError for n below 1, TypeError without a generator."""
        if n < 1:
            raise ValueError(f"n must be 1 or more, got {n}")
        low, high = torch.tensor(self.low), torch.tensor(self.high)
        z = low + (high - low) * torch.rand(n, self.d, generator=given(generator))
        return z, (self.mean(z) + self.noise * torch.randn(n, generator=generator))[:, None]

    def log_prior(self, z: Tensor) -> Tensor:
        """-log volume, (...,), at z (..., d). Raises ValueError outside the box."""
        volume = math.prod(b - a for a, b in zip(self.low, self.high, strict=True))
        in_box(z, self.low, self.high)
        return torch.full(z.shape[:-1], -math.log(volume), dtype=torch.float64, device=z.device)

    def log_likelihood(self, z: Tensor, x: Tensor) -> Tensor:
        """log p(x | z), (...,), of z (..., d) and x (..., 1).

        Equation (simulator): $x \\mid z \\sim N(m(z), \\sigma^2)$, $m(z) = \\sin 2z$, $|z_1 - z_2|$ or $\\|z\\|^2$
        (from the paper)
        Raises ValueError for x of another width or not finite.
        """
        return normal_log_density(single(x), self.mean(z.double()), self.noise)

    def log_posterior(self, z: Tensor, x: Tensor, nodes: Tensor, log_w: Tensor) -> Tensor:
        """log p(z | x), (...,), of z (..., d) and x (..., 1), normalised on nodes (P, d), log_w (P,).

        Raises ValueError for z outside the box, or x of another width or not finite.
        """
        return self.log_prior(z) + self.log_likelihood(z, x) - self.log_evidence(x, nodes, log_w)

    def log_evidence(self, x: Tensor, nodes: Tensor, log_w: Tensor) -> Tensor:
        """log p(x), (...,), of x (..., 1) by the quadrature nodes (P, d), log_w (P,). Raises as `log_posterior`."""
        joint = self.log_prior(nodes) + self.log_likelihood(nodes, x[..., None, :])
        return torch.logsumexp(joint + log_w.double(), -1)

    def quadrature(self, n: int | None = None) -> tuple[Tensor, Tensor]:
        """Trapezoid grid (nodes (P, d), log_w (P,)) for evaluation: n nodes an axis, else 2001 in 1-D and 201 in 2-D.

        Raises ValueError for n below 2.
        """
        return trapezoid_grid(self.low, self.high, n if n is not None else (2001 if self.d == 1 else 201))
