"""The spiral: a point on an Archimedean arm whose opening b is observed with noise. Its posterior has a Jacobian."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ..seeding import given
from .additive import normal_log_density, single
from .method import in_box

TURN = 2 * math.pi
SLACK = 1e-5  # relative: float32 draws come back this close to the ends of b


def arc(theta: Tensor) -> Tensor:
    """Arc length from the centre to angle theta (...), in units of b/2, of the spiral r = b theta.

    Equation (arc): $\\frac{2}{b} s_b(\\theta) = \\theta\\sqrt{1 + \\theta^2} + \\sinh^{-1}\\theta$ (from the paper)
    """
    return theta * (1 + theta.square()).sqrt() + torch.asinh(theta)


def angle_at(length: Tensor, steps: int = 8) -> Tensor:
    """The angle theta (...), float64, at which `arc` is `length` (...) >= 0: Newton, which cannot overshoot twice here.

    Raises ValueError for a negative length.
    """
    if (length < 0).any():
        raise ValueError(f"length must be 0 or more, got {length.min().item()}")
    length = length.double()
    theta = torch.minimum(length / 2, length.sqrt())
    for _ in range(steps):
        theta = theta - (arc(theta) - length) / (2 * (1 + theta.square()).sqrt())
    return theta


@dataclass(frozen=True)
class Spiral:
    """b ~ U[b_low, b_high], arc length uniform over one turn, z = (r cos theta, r sin theta), x ~ N(b, noise**2).

    The box is the smallest around all arms, with a margin. best_nll: -E log p(z | x), nats.
    """

    b_low: float = 0.1
    b_high: float = 0.5
    noise: float = 0.01
    low: tuple[float, ...] = (-1.65, -2.41)
    high: tuple[float, ...] = (3.15, 0.92)
    best_nll: float = -0.32258
    x_dim: int = 1
    d: int = 2

    def sample(self, n: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """`n` pairs z (n, 2), x (n, 1), float32. Raises ValueError for n below 1, TypeError without a generator."""
        if n < 1:
            raise ValueError(f"n must be 1 or more, got {n}")
        u = torch.rand(2, n, dtype=torch.float64, generator=given(generator))
        b = self.b_low + (self.b_high - self.b_low) * u[0]
        theta = angle_at(u[1] * arc(torch.tensor(TURN, dtype=torch.float64)))
        x = b + self.noise * torch.randn(n, dtype=torch.float64, generator=generator)
        return self.point(b, theta).float(), x[:, None].float()

    @staticmethod
    def point(b: Tensor, theta: Tensor) -> Tensor:
        """z (..., 2) at opening b (...) and angle theta (...)."""
        return torch.stack([b * theta * theta.cos(), b * theta * theta.sin()], -1)

    @staticmethod
    def polar(z: Tensor) -> tuple[Tensor, Tensor]:
        """Opening b (...) and angle theta (...) in [0, 2 pi), float64, of z (..., 2). The centre has b = NaN."""
        z = z.double()
        theta = torch.atan2(z[..., 1], z[..., 0]) % TURN
        return z.norm(dim=-1) / theta, theta

    def on_arms(self, b: Tensor) -> Tensor:
        """Whether openings b (...) lie in the prior's range, up to rounding; False for NaN."""
        return (b >= self.b_low * (1 - SLACK)) & (b <= self.b_high * (1 + SLACK))

    def log_prior(self, z: Tensor) -> Tensor:
        """log p(z), (...,), at z (..., 2): -inf off the arms. The Jacobian of (b, theta) -> z is b theta^2.

        Equation (spiral): $p(z) = p(b)\\,p(\\theta) / (b\\,\\theta^2)$, $p(\\theta) \\propto \\sqrt{1 + \\theta^2}$,
        $b = r/\\theta$ (our derivation from the paper's generator; the posterior printed there leaves the Jacobian out)
        Raises ValueError outside the box.
        """
        b, theta = self.polar(in_box(z, self.low, self.high))
        total = (self.b_high - self.b_low) * arc(torch.tensor(TURN, dtype=torch.float64)) / 2
        log_p = 0.5 * torch.log1p(theta.square()) - torch.log(b * theta.square()) - total.log()
        return torch.where(self.on_arms(b), log_p, -math.inf)

    def log_likelihood(self, z: Tensor, x: Tensor) -> Tensor:
        """log p(x | z), (...,), of z (..., 2) and x (..., 1); -inf at the centre, which has no opening.

        Raises ValueError for x of another width or not finite.
        """
        b, _ = self.polar(z)
        log_p = normal_log_density(single(x), b, self.noise)
        return torch.where(torch.isnan(log_p), -math.inf, log_p)

    def log_posterior(self, z: Tensor, x: Tensor, nodes: Tensor, log_w: Tensor) -> Tensor:
        """log p(z | x), (...,), of z (..., 2) and x (..., 1), normalised on nodes (P, 2), log_w (P,), see `quadrature`.

        Raises ValueError for z outside the box, or x of another width or not finite.
        """
        joint = self.log_prior(nodes) + self.log_likelihood(nodes, x[..., None, :])
        log_evidence = torch.logsumexp(joint + log_w.double(), -1)
        return self.log_prior(z) + self.log_likelihood(z, x) - log_evidence

    def printed_log_posterior(self, z: Tensor, x: Tensor, nodes: Tensor, log_w: Tensor) -> Tensor:
        """The posterior (...,) as printed in the paper, without arc length and Jacobian; arguments as `log_posterior`.

        Even the exact posterior scores badly against it. Raises ValueError as `log_posterior`.
        """
        flat = torch.where(self.on_arms(self.polar(nodes)[0]), 0.0, -math.inf)
        joint = flat + self.log_likelihood(nodes, x[..., None, :])
        log_evidence = torch.logsumexp(joint + log_w.double(), -1)
        flat_z = torch.where(self.on_arms(self.polar(z)[0]), 0.0, -math.inf)
        return flat_z + self.log_likelihood(z, x) - log_evidence

    def quadrature(self, n: int | None = None) -> tuple[Tensor, Tensor]:
        """Nodes (n * n, 2), log_w (n * n,), float64, that follow the arms: midpoints in b and theta.

        n: 200 when None. The weights hold the Jacobian. A Cartesian grid of this size cannot resolve the arms near
        the centre. Raises ValueError for n below 2.
        """
        n = 200 if n is None else n
        if n < 2:
            raise ValueError(f"n must be 2 or more, got {n}")
        middle = (torch.arange(n, dtype=torch.float64) + 0.5) / n
        b = (self.b_low + (self.b_high - self.b_low) * middle)[:, None].expand(n, n).reshape(-1)
        theta = (TURN * middle)[None].expand(n, n).reshape(-1)
        cell = (self.b_high - self.b_low) * TURN / n**2
        return self.point(b, theta), torch.log(b * theta.square() * cell)
