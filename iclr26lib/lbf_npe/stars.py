"""Two stars in a 16 x 16 image: where is a star? The latent is a location, and each image holds two answers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..seeding import given
from .method import in_box, log_normalizer, monte_carlo_nodes
from .model import LBF, initialise_, mlp

SIDE = 16
FLUX_MEAN, FLUX_STD = 2000.0, 400.0
STARS = 2


def axis_psf(location: Tensor) -> Tensor:
    """Share of a star's light in each pixel column: (..., 16), sum 1, for a coordinate (...,) in pixels.

    Equation (psf): $\\psi_p(l) = e^{-(p + .5 - l)^2/2} \\Big/ \\sum_{p'} e^{-(p' + .5 - l)^2/2}$

    The paper's image model; in two dimensions the point spread function is the product over the axes.
    """
    pixel = torch.arange(SIDE, dtype=location.dtype, device=location.device) + 0.5
    return torch.softmax(-((pixel - location[..., None]) ** 2) / 2, -1)


def mean_image(locations: Tensor, fluxes: Tensor) -> Tensor:
    """Expected counts (..., 16, 16) of stars at locations (..., S, 2) in pixels with fluxes (..., S) in counts.

    Equation (image): $\\lambda_{jk} = \\sum_i f_i\\, \\psi_j(l_{i1})\\, \\psi_k(l_{i2})$

    The paper's image model, without a sky; the first coordinate is the row. Raises ValueError when shapes do not fit.
    """
    if locations.shape != (*fluxes.shape, 2):
        raise ValueError(f"need locations (..., S, 2) and fluxes (..., S), got {locations.shape} and {fluxes.shape}")
    psf = axis_psf(locations)
    return torch.einsum("...s,...sj,...sk->...jk", fluxes, psf[..., 0, :], psf[..., 1, :])


def min_max(counts: Tensor) -> Tensor:
    """Images (..., 16, 16) scaled to [0, 1], each by its own extremes, flattened to (..., 256), float32.

    Raises ValueError for an image without contrast.
    """
    flat = counts.flatten(-2)
    low, high = flat.amin(-1, keepdim=True), flat.amax(-1, keepdim=True)
    if not (high > low).all():
        raise ValueError("an image has the same count in every pixel: it cannot be scaled to [0, 1]")
    return ((flat - low) / (high - low)).float()


@dataclass(frozen=True)
class TwoStars:
    """Locations uniform on [0, 16]^2 pixels, fluxes N(2000, 400^2) cut at 0, Poisson counts, images scaled to [0, 1].

    both: whether `sample` returns both locations, for `SetLBF`, or one. The stars are exchangeable, so that the first
    has the posterior density of a star picked at random, which is the target.
    """

    both: bool = False
    d: int = 2
    x_dim: int = SIDE * SIDE
    low: tuple[float, ...] = (0.0, 0.0)
    high: tuple[float, ...] = (float(SIDE), float(SIDE))
    best_nll: float | None = None

    def draw(self, n: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        """n scenes: locations (n, 2, 2) in pixels, fluxes (n, 2) in counts, counts (n, 16, 16); float64.

        Raises ValueError when n < 1, TypeError without a generator.
        """
        if n < 1:
            raise ValueError(f"n must be 1 or more, got {n}")
        locations = SIDE * torch.rand(n, STARS, 2, generator=given(generator), dtype=torch.float64)
        below = 0.5 * math.erfc(FLUX_MEAN / FLUX_STD / math.sqrt(2))  # chance that a normal flux is negative
        u = torch.rand(n, STARS, generator=generator, dtype=torch.float64)
        fluxes = FLUX_MEAN - FLUX_STD * torch.special.ndtri((1 - below) * (1 - u))
        return locations, fluxes, torch.poisson(mean_image(locations, fluxes), generator=generator)

    def sample(self, n: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """n pairs: z (n, 2), the first star's location, or (n, 4), both; and x (n, 256), the scaled image; float32.

        Raises ValueError when n < 1, TypeError without a generator.
        """
        locations, _, counts = self.draw(n, generator)
        kept = locations if self.both else locations[:, :1]
        return kept.flatten(1).float(), min_max(counts)

    def log_prior(self, z: Tensor) -> Tensor:
        """-log 256 at locations z (..., 2), shape (...), float64. Raises ValueError outside of the image."""
        in_box(z, self.low, self.high)
        return torch.full(z.shape[:-1], -2 * math.log(SIDE), dtype=torch.float64, device=z.device)


class ImageEncoder(nn.Module):
    """Flat images (B, 256) to raw outputs (B, outputs): convolution 1 -> 3 of side 4, max-pool, ReLU, then the body."""

    def __init__(self, outputs: int, width: int = 128, depth: int = 4, *, generator: torch.Generator):
        """outputs: K - 1 for the stereographic form. width, depth: of the body. generator: draws the weights.

        Raises ValueError for a size below 1, TypeError without a generator.
        """
        super().__init__()
        self.convolution = initialise_(nn.Conv2d(1, 3, 4), generator)
        pooled = 3 * ((SIDE - 3) // 2) ** 2
        self.body = mlp(pooled, width, depth, outputs, generator)

    def forward(self, x: Tensor) -> Tensor:
        """Raw outputs (B, outputs) of images x (B, 256)."""
        seen = self.convolution(x.unflatten(-1, (1, SIDE, SIDE)))
        return self.body(torch.relu(nn.functional.max_pool2d(seen, 2)).flatten(-3))


class SetLBF(LBF):
    """An LBF whose training pairs hold a set of exchangeable latents for one observation, as two stars in one image."""

    def forward(self, z: Tensor, x: Tensor, nodes: Tensor | None = None, log_w: Tensor | None = None) -> Tensor:
        """Sum over the set of -log q(l_i; x), (B,), for z (B, S d), S latents side by side; one log J serves them all.

        Equation (set): $-\\sum_{i=1}^S \\big[ w\\, \\hat f(x)^\\top \\hat s(l_i) - \\log J(x) \\big]$

        x: (B, x_dim). nodes (P, d), log_w (P,): another quadrature than its own. From the paper; log J is computed once
        and counted for each latent, as log densities need it: counted once, a constant added to k would lower the loss.
        """
        f, s = self.f(x), self.s(z.unflatten(-1, (-1, self.d)))
        log_j = log_normalizer(f, *self._at(None if nodes is None else (nodes, log_w)))
        return s.shape[-2] * log_j - (f[..., None, :] * s).sum((-2, -1))

    def check(self, x: Tensor, z: Tensor | None = None) -> None:
        """As every estimator's, for latents z (B, d) or sets of them (B, S d), x (B, x_dim).

        Raises ValueError with the offending shape or value.
        """
        super().check(x)
        if z is not None:
            if z.ndim != 2 or len(z) != len(x) or z.shape[1] == 0 or z.shape[1] % self.d:
                raise ValueError(f"z must be ({len(x)}, S * {self.d}) for {len(x)} observations, got {tuple(z.shape)}")
            in_box(z.unflatten(-1, (-1, self.d)), self.low, self.high)


def star_model(
    K: int,
    points: int,
    width: int = 128,
    depth: int = 4,
    scale: float | None = None,
    *,
    generator: torch.Generator,
) -> SetLBF:
    """The LBF of the two-star problem: image encoder, learnt basis of K functions, `points` uniform Monte Carlo nodes.

    width, depth: of both bodies. scale: w, see `LBF`. generator: draws nodes and weights. The paper takes 22,500
    points; fresh ones at every step need `train(..., quadrature=...)`, else those drawn here stay.
    Raises ValueError for sizes below 1 or K below 2, TypeError without a generator.
    """
    box = TwoStars()
    nodes, log_w = monte_carlo_nodes(box.low, box.high, points, generator)
    basis = mlp(box.d, width, depth, K - 1, generator)
    encoder = ImageEncoder(K - 1, width, depth, generator=generator)
    return SetLBF(
        box.x_dim, basis, K, nodes, log_w, scale, generator=generator, net=encoder, low=box.low, high=box.high
    )
