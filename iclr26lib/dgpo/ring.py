"""The prompted ring: Gaussian modes on a circle, a prompt that names one of them, and data that follow it weakly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from scipy import stats
from torch import Tensor

from ..flows import Streams
from ..flows.interface import finite_positive, positive
from .prompted import check_batch, check_samples, followed, probability, share

THREE_STD_MASS = -math.expm1(-4.5)  # what a 2-D Gaussian holds within 3 std of its mean: 0.988891
CONFUSION_LIMIT = 0.01


@dataclass(frozen=True)
class PromptedRing:
    """Prompt c asks for mode c of `modes` equal Gaussians; a base sample comes from it only now and then.

    dim: dimensions of a sample; the centres lie on a circle in the first two, and are 0 in all others.
    modes: number of modes, and of prompts. radius: of the circle. std: of a mode in every coordinate.
    follow: probability that a base sample comes from the prompt's mode; otherwise from any mode, its own included.
    plane_only: the reward looks at the plane of the circle and not at the other coordinates.
    Raises ValueError for sizes out of range, or when one draw in a hundred of a neighbouring mode would be rewarded,
    TypeError for sizes that are no numbers.
    """

    dim: int = 2
    modes: int = 8
    radius: float = 2.0
    std: float = 0.15
    follow: float = 0.2
    plane_only: bool = False

    def __post_init__(self) -> None:
        if min(positive("dim", self.dim), positive("modes", self.modes)) < 2:
            raise ValueError(f"dim and modes must be 2 or more, got {self.dim} and {self.modes}")
        finite_positive("radius", self.radius)
        finite_positive("std", self.std)
        probability(follow=self.follow)
        if self.confusion > CONFUSION_LIMIT:
            raise ValueError(
                f"the modes are too close: {self.confusion:.3f} of a neighbour's draws would be rewarded, at most "
                f"{CONFUSION_LIMIT} are allowed; take a larger radius, a smaller std, fewer modes or dimensions"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one sample, (dim,)."""
        return (self.dim,)

    @property
    def prompts(self) -> int:
        """Number of prompts, which are 0..prompts-1."""
        return self.modes

    @property
    def own(self) -> float:
        """Probability that a base sample comes from the mode that its prompt asks for."""
        return self.follow + (1 - self.follow) / self.modes

    @cached_property
    def hit(self) -> float:
        """Radius around a centre, in the plane of the circle, that holds 98.89 % of the mode's mass: 3 std."""
        return self._radius(2)

    @cached_property
    def reach(self) -> float:
        """Radius around 0, in the other coordinates, that holds as much of their mass; infinite if there are none."""
        return self._radius(self.dim - 2) if self.dim > 2 else math.inf

    def _radius(self, coordinates: int) -> float:
        return self.std * math.sqrt(stats.chi2.ppf(THREE_STD_MASS, coordinates))

    @cached_property
    def confusion(self) -> float:
        """Probability that a draw of a mode lies within `hit` of a neighbouring centre."""
        apart = 2 * self.radius * math.sin(math.pi / self.modes) / self.std
        return float(stats.ncx2.cdf((self.hit / self.std) ** 2, 2, apart**2))

    @cached_property
    def centres(self) -> Tensor:
        """Centres of the modes, (modes, dim) float32; mode 0 at angle 0, counter-clockwise."""
        angle = 2 * math.pi * torch.arange(self.modes, dtype=torch.float64) / self.modes
        centres = torch.zeros(self.modes, self.dim, dtype=torch.float64)
        centres[:, 0], centres[:, 1] = self.radius * angle.cos(), self.radius * angle.sin()
        return centres.float()

    def draw(self, n: int, streams: Streams) -> tuple[Tensor, Tensor]:
        """Base data: samples (S*n, dim) float32 and prompts (S*n,) int64, n a replica. Raises ValueError for n < 1."""
        c, mode = followed(n, self.prompts, self.follow, streams)
        return self.centres[mode] + self.std * streams.normal(n, self.dim), c

    def reward(self, x: Tensor, c: Tensor) -> Tensor:
        """1 for samples x (B, dim) at the mode of their prompt c (B,) int64, else 0: (B,) float32.

        At a mode is who lies within `hit` of its centre in the plane and within `reach` of 0 in the other coordinates;
        with `plane_only` the latter is not asked. Raises ValueError or TypeError for shapes, dtypes, values or prompts
        that do not fit.
        """
        check_batch(x, c, self.shape, self.prompts)
        away = (x - self.centres.to(x)[c])[:, :2].norm(dim=1)
        return ((away < self.hit) & (self.plane_only | self._rest(x))).float()

    def _rest(self, x: Tensor) -> Tensor:
        """Whether the other coordinates of samples x (B, dim) are where the data's are, bool (B,)."""
        return x[:, 2:].norm(dim=1) < self.reach

    def nearest(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Distance (B,) in the plane of samples x (B, dim) to the nearest centre, and that mode (B,) int64.

        Raises ValueError or TypeError for shapes, dtypes or values that do not fit.
        """
        check_samples(x, self.shape)
        centres = self.centres.to(x)[:, :2]
        return tuple(torch.cdist(x[:, :2], centres, compute_mode="donot_use_mm_for_euclid_dist").min(1))

    def off_manifold(self, x: Tensor) -> float:
        """Share of samples x (B, dim) that are at no mode, in the plane or in the other coordinates.

        0.0111 for exact data in 2-D, 0.0221 in more dimensions.
        Raises ValueError or TypeError for shapes, dtypes or values that do not fit.
        """
        return share((self.nearest(x)[0] >= self.hit) | ~self._rest(x))

    def residuals(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Samples of x (B, dim) within `hit` of a centre in the plane, minus that centre, (M, 2), M <= B, in std.

        Returns them, float64 on the CPU, with their mode (M,) int64. Raises ValueError or TypeError for input that does
        not fit.
        """
        away, mode = self.nearest(x)
        kept = away < self.hit
        found = (x[kept] - self.centres.to(x)[mode[kept]])[:, :2] / self.std
        return found.cpu().double(), mode[kept].cpu()

    def spread(self, x: Tensor) -> float:
        """Width of the modes in the plane: std of samples x (B, dim) about their own mode's mean, over `std`.

        Pooled over modes; only samples within `hit` of a centre count, which cuts the tails: exact data give 0.974.
        nan when no mode has two of them. Raises ValueError or TypeError for shapes, dtypes or values that do not fit.
        """
        away, mode = self.residuals(x)
        groups = [g - g.mean(0) for g in (away[mode == m] for m in mode.unique()) if len(g) > 1]
        free = 2 * sum(len(g) - 1 for g in groups)
        return math.sqrt(sum(float(g.square().sum()) for g in groups) / free) if free else math.nan

    def offset(self, x: Tensor) -> float:
        """Distance in std, in the plane, of each mode's mean sample from its centre, mean over the modes that x hits.

        x: (B, dim). Only samples within `hit` of a centre count; about 0 for exact data, nan when there are none.
        Raises ValueError or TypeError for shapes, dtypes or values that do not fit.
        """
        away, mode = self.residuals(x)
        means = [away[mode == m].mean(0).norm() for m in mode.unique()]
        return float(torch.stack(means).mean()) if means else math.nan

    def rest(self, x: Tensor) -> float:
        """Root mean square of the coordinates outside the plane of samples x (B, dim), over `std`; nan in 2-D.

        All samples count; 1 for exact data. Raises ValueError or TypeError for shapes, dtypes or values that do not
        fit.
        """
        check_samples(x, self.shape)
        return float(x[:, 2:].cpu().double().square().mean().sqrt()) / self.std

    def mode_shares(self, x: Tensor, c: Tensor) -> Tensor:
        """Share of each prompt's samples that lie nearest to each mode, (prompts, modes) float64, rows sum to 1.

        x: (B, dim). c: (B,) int64. Raises ValueError when a prompt has no sample or something does not fit, TypeError
        for other dtypes.
        """
        check_batch(x, c, self.shape, self.prompts)
        cell = c * self.modes + self.nearest(x)[1]
        counts = torch.bincount(cell.cpu(), minlength=self.prompts * self.modes).view(self.prompts, self.modes).double()
        if not (total := counts.sum(1, keepdim=True)).all():
            raise ValueError(f"no sample for prompts {(total[:, 0] == 0).nonzero().flatten().tolist()}")
        return counts / total

    def monitors(self, x: Tensor, c: Tensor) -> dict[str, float]:
        """What the reward does not see, of x (B, dim) and prompts c (B,): off_manifold, spread, offset, rest.

        Raises ValueError or TypeError for shapes, dtypes, values or prompts that do not fit.
        """
        check_batch(x, c, self.shape, self.prompts)
        return {name: getattr(self, name)(x) for name in ("off_manifold", "spread", "offset", "rest")}


def tilted_mass(p_ref: Tensor, r: Tensor, beta: float) -> Tensor:
    """The exact optimum of expected reward minus beta times the KL divergence to p_ref, over discrete modes.

    p_ref: (..., K) float, probabilities that sum to 1. r: (..., K) float rewards. beta: weight of the KL, in rewards.
    Returns (..., K) float64.
    Equation (tilted): $p^*(k) = p_{\\rm ref}(k)\\, e^{r(k)/\\beta} \\big/ \\sum_j p_{\\rm ref}(j)\\, e^{r(j)/\\beta}$
    (standard)
    Raises ValueError for another shape, p_ref that is no distribution, r that is not finite, or beta not above 0,
    TypeError for beta that is no number.
    """
    p, r = torch.as_tensor(p_ref, dtype=torch.float64), torch.as_tensor(r, dtype=torch.float64)
    if p.shape != r.shape or p.ndim == 0:
        raise ValueError(f"p_ref and r must have one shape (..., K), got {tuple(p.shape)} and {tuple(r.shape)}")
    if not (p >= 0).all() or not ((p.sum(-1) - 1).abs() < 1e-6).all():
        raise ValueError(f"p_ref must be 0 or more and sum to 1 (to 1e-6), got {p.tolist()}")
    if not torch.isfinite(r).all():
        raise ValueError(f"r must be finite, got {r.tolist()}")
    return torch.softmax(p.log() + r / finite_positive("beta", beta), -1)
