"""A surrogate for photometric redshifts: three galaxy templates through six broad bands. Ours, not the paper's data.

The paper's data (LSST DESC DC2 images) must be downloaded; this stands for it where only one fact matters: a few noisy
colours leave the redshift of a faint galaxy with more than one answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from scipy import special
from scipy.spatial import cKDTree
from torch import Tensor

from ..seeding import given
from .method import in_box, trapezoid_grid

BANDS = (3671.0, 4827.0, 6223.0, 7546.0, 8691.0, 9712.0)  # centres of u, g, r, i, z, y in angstrom
R_BAND = 2
SLOPES = (0.5, -0.5, -1.5)  # a_k: exponent of the continuum
BREAKS = (0.8, 0.5, 0.2)  # c_k: depth of the break at 4000 angstrom
HALF_WIDTH, BAND_POINTS = 500.0, 21
SHAPE, SCALE = 2.0, 0.45  # gamma prior of the redshift
R_LOW, R_HIGH, FAINTEST_NOISE = 20.0, 26.0, 0.6


def template(wavelength: Tensor) -> Tensor:
    """Flux of the three templates at rest-frame wavelengths (...) in angstrom: (..., 3), dtype as given.

    Equation (template): $S_k(\\lambda) = (\\lambda/4000)^{a_k} [1 - c_k + c_k\\, \\sigma(\\tfrac{\\lambda-4000}{60})]
    \\cdot [.02 + .98\\, \\sigma(\\tfrac{\\lambda-1216}{20})]$

    Our surrogate. Raises ValueError for a wavelength that is not positive and finite.
    """
    if not ((wavelength > 0) & wavelength.isfinite()).all():
        raise ValueError("wavelengths must be positive and finite, in angstrom")
    a, c = wavelength.new_tensor(SLOPES), wavelength.new_tensor(BREAKS)
    wavelength = wavelength[..., None]
    balmer = 1 - c + c * torch.sigmoid((wavelength - 4000) / 60)
    return (wavelength / 4000) ** a * balmer * (0.02 + 0.98 * torch.sigmoid((wavelength - 1216) / 20))


def relative_magnitudes(z: Tensor) -> Tensor:
    """Magnitudes of the three templates in six bands, less that in r: (..., 3, 6) float64, for redshifts z (...).

    Equation (band): $m_b - m_r = -2.5 \\log_{10} \\frac{F_b}{F_r},\\quad
    F_b = \\frac{1}{21} \\sum_i S_k\\big(\\tfrac{\\lambda_b + \\delta_i}{1+z}\\big)$

    The 21 offsets are equally spaced on -500..500 angstrom. Our surrogate. Raises ValueError for z < 0 or not finite.
    """
    if not ((z >= 0) & z.isfinite()).all():
        raise ValueError("redshifts must be 0 or more, and finite")
    z = z.double()
    seen = torch.tensor(BANDS, dtype=z.dtype, device=z.device)[:, None] + torch.linspace(
        -HALF_WIDTH, HALF_WIDTH, BAND_POINTS, dtype=z.dtype, device=z.device
    )
    flux = template(seen / (1 + z)[..., None, None]).mean(-2).mT
    magnitude = -2.5 * torch.log10(flux)
    return magnitude - magnitude[..., R_BAND, None]


def noise(r: Tensor) -> Tensor:
    """Standard deviation, in magnitudes, of the noise in each band for a galaxy of true r magnitude `r` (any shape).

    Equation (noise): $\\min\\big(.02 + .15 \\cdot 10^{.4 (r - 25)},\\ .6\\big)$

    Our surrogate; the limit is part of the model, and not reached below r = 26.4.
    """
    return (0.02 + 0.15 * 10 ** (0.4 * (r - 25))).clamp(max=FAINTEST_NOISE)


def observe(magnitudes: Tensor) -> Tensor:
    """Five colours and the r magnitude (..., 6) from magnitudes (..., 6): u-g, g-r, r-i, i-z, z-y, r."""
    return torch.cat([-magnitudes.diff(dim=-1), magnitudes[..., R_BAND, None]], -1)


def magnitudes_of(x: Tensor) -> Tensor:
    """The inverse of `observe`: magnitudes (..., 6) from five colours and the r magnitude x (..., 6)."""
    below = torch.nn.functional.pad(-x[..., :5].cumsum(-1), (1, 0))  # relative to u
    return below - below[..., R_BAND, None] + x[..., 5:]


@dataclass(frozen=True)
class PhotoZ:
    """Redshift z from five colours and the r magnitude; template and true magnitude are nuisances.

    z ~ Gamma(2, scale .45) truncated to [0, 3], template uniform, true r ~ U[20, 26], independent noise in each band.
    best_nll: the posterior's mean entropy over 40,000 draws, with a standard error of .006.
    """

    d: int = 1
    x_dim: int = 6
    low: tuple[float, ...] = (0.0,)
    high: tuple[float, ...] = (3.0,)
    best_nll: float = -1.945

    def sample(self, n: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """n pairs: redshifts z (n, 1), and x (n, 6), five colours and r in magnitudes, float32.

        Raises ValueError when n < 1, TypeError without a generator.
        """
        if n < 1:
            raise ValueError(f"n must be 1 or more, got {n}")
        u = torch.rand(n, generator=given(generator), dtype=torch.float64)
        k = torch.randint(0, 3, (n,), generator=generator)
        r = R_LOW + (R_HIGH - R_LOW) * torch.rand(n, generator=generator, dtype=torch.float64)
        error = torch.randn(n, 6, generator=generator, dtype=torch.float64)
        mass = special.gammainc(SHAPE, self.high[0] / SCALE)
        z = SCALE * torch.from_numpy(special.gammaincinv(SHAPE, u.numpy() * mass))
        shape = torch.cat([relative_magnitudes(part) for part in z.split(4096)])[torch.arange(n), k]
        magnitudes = r[:, None] + shape + noise(r)[:, None] * error
        return z[:, None].float(), observe(magnitudes).float()

    def log_prior(self, z: Tensor) -> Tensor:
        """Log density (...) of redshifts z (..., 1), float64; minus infinity at 0. Raises ValueError outside [0, 3].

        Equation (redshift prior): $\\log \\frac{z\\, e^{-z/.45}}{.45^2\\, P(2, 3/.45)}$

        P is the regularised incomplete gamma function. Our surrogate.
        """
        z = in_box(z, self.low, self.high)[..., 0].double()
        return z.log() - z / SCALE - 2 * math.log(SCALE) - math.log(special.gammainc(SHAPE, self.high[0] / SCALE))

    def log_likelihood(self, z: Tensor, x: Tensor, points: int = 97) -> Tensor:
        """log p(x | z), (...,) float64, of z (..., 1) and x (..., 6) that broadcast, nuisances integrated out.

        Equation (marginal): $\\log \\tfrac13 \\sum_k \\int_{20}^{26} \\tfrac{dr}{6} \\prod_b
        \\mathcal N\\big(m_b;\\, r + m_{kb}(z),\\, \\sigma(r)^2\\big)$

        points: trapezoid nodes of the true magnitude, within 8 noises of the observed one. Our surrogate; colours and r
        are a map of the magnitudes m_b that keeps volume.
        Raises ValueError for z outside [0, 3], and for an x that is not (..., 6), not finite, or more than 8 noises
        away from 20..26 in r.
        """
        x = self._checked(x).double()
        residual = magnitudes_of(x)[..., None, :] - relative_magnitudes(in_box(z, self.low, self.high)[..., 0])
        centre, spread = residual.mean(-1), residual.var(-1, correction=0)
        total = torch.full_like(centre, -math.inf)
        for r, log_w in zip(*self._magnitude_nodes(x, points), strict=True):
            r, log_w, log_sigma = r[..., None], log_w[..., None], noise(r)[..., None].log()
            square = 6 * (spread + (centre - r) ** 2) * (-2 * log_sigma).exp()
            total = torch.logaddexp(total, log_w - square / 2 - 6 * (log_sigma + 0.5 * math.log(2 * math.pi)))
        return torch.logsumexp(total, -1) - math.log(3 * (R_HIGH - R_LOW))

    def log_posterior(self, z: Tensor, x: Tensor, nodes: Tensor, log_w: Tensor) -> Tensor:
        """log p(z | x), (...,) float64, of z (..., 1) and x (..., 6) that broadcast; normalised on nodes (P, 1), log_w.

        Raises ValueError as `log_likelihood`.
        """
        return self.log_prior(z) + self.log_likelihood(z, x) - self.log_evidence(x, nodes, log_w)

    def log_evidence(self, x: Tensor, nodes: Tensor, log_w: Tensor) -> Tensor:
        """log p(x), (...,) float64, of x (..., 6) by the quadrature nodes (P, 1), log_w (P,).

        Raises ValueError as `log_likelihood`.
        """
        joint = self.log_prior(nodes) + self.log_likelihood(nodes, x[..., None, :])
        return torch.logsumexp(joint + log_w.double(), -1)

    def quadrature(self, n: int = 601) -> tuple[Tensor, Tensor]:
        """Trapezoid grid of n redshifts: nodes (n, 1), log_w (n,), float64. Raises ValueError if n < 2."""
        return trapezoid_grid(self.low, self.high, n)

    def _checked(self, x: Tensor) -> Tensor:
        if x.shape[-1:] != (self.x_dim,) or not x.isfinite().all():
            raise ValueError(f"x must be finite with shape (..., 6), got shape {tuple(x.shape)}")
        return x

    def _magnitude_nodes(self, x: Tensor, points: int) -> tuple[Tensor, Tensor]:
        """True r magnitudes and their log trapezoid weights, (points, ...) each, around those of x (..., 6)."""
        reach = 8 * noise((x[..., 5] + 0.5).clamp(R_LOW, R_HIGH))
        low, high = (x[..., 5] - reach).clamp(min=R_LOW), (x[..., 5] + reach).clamp(max=R_HIGH)
        if not (low < high).all():
            raise ValueError(f"r = {x[~(low < high)][0, 5]:g} is too far from {R_LOW:g}..{R_HIGH:g} to be observed")
        part = torch.linspace(0, 1, points, dtype=x.dtype, device=x.device).reshape(-1, *[1] * low.ndim)
        log_w = torch.full_like(part, -math.log(points - 1))
        log_w[[0, -1]] -= math.log(2)
        return low + (high - low) * part, log_w + (high - low).log()


def two_redshifts(z: Tensor, x: Tensor, neighbours: int = 50, gap: float = 0.3, share: float = 0.1) -> Tensor:
    """Which objects have neighbours in colour space at two separated redshifts: bool (n,), for z (n, 1) and x (n, 6).

    neighbours: nearest objects in the five colours. gap: smallest empty interval of redshift. share: least part of the
    neighbours on either side of it. Compare objects of one range of magnitude: the noise sets the distances. Our
    definition, for the share that the surrogate was made to have.
    Raises ValueError when there are too few objects, or gap and share are out of range.
    """
    least = math.ceil(share * neighbours)
    if len(z) != len(x) or len(z) < neighbours or not (gap > 0 and 0 < share <= 0.5 and neighbours >= 2 * least):
        raise ValueError(
            f"need {neighbours} objects or more, gap > 0, share in (0, 0.5], got {len(z)} and {len(x)}, {gap}, {share}"
        )
    colours = x[:, :5].double().numpy()
    _, nearest = cKDTree(colours).query(colours, k=neighbours)
    ordered = np.sort(z[:, 0].double().numpy()[nearest], 1)
    return torch.from_numpy(np.diff(ordered, axis=1)[:, least - 1 : neighbours - least].max(1) > gap)
