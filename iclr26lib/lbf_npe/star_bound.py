"""How well could two stars be located? A Laplace estimate of the best NLL, and the excess of a model over it.

Ours: how the paper computed its divergences for this problem is not known to us. Only signs and orders compare.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..seeding import given
from .method import trapezoid_grid
from .model import LBF
from .stars import FLUX_STD, SIDE, STARS, TwoStars, axis_psf, mean_image, min_max


def image_slopes(locations: Tensor, fluxes: Tensor) -> Tensor:
    """Derivative of the mean image by locations and fluxes: (n, 256, 6), in the order l11, l12, l21, l22, f1, f2.

    Equation (slope): $\\partial_l \\psi_p = \\psi_p\\, \\big[(p + .5 - l) - \\sum_{p'} \\psi_{p'} (p' + .5 - l)\\big]$

    locations: (n, 2, 2) pixels. fluxes: (n, 2) counts. Our derivation. Raises ValueError for shapes that do not fit.
    """
    if locations.shape != (len(fluxes), STARS, 2) or fluxes.shape != (len(locations), STARS):
        raise ValueError(f"need locations (n, 2, 2) and fluxes (n, 2), got {locations.shape} and {fluxes.shape}")
    psf = axis_psf(locations)
    offset = torch.arange(SIDE, dtype=psf.dtype, device=psf.device) + 0.5 - locations[..., None]
    slope = psf * (offset - (psf * offset).sum(-1, keepdim=True))
    rows, columns = psf.unbind(2)
    by_row = torch.einsum("ns,nsj,nsk->nsjk", fluxes, slope[:, :, 0], columns)
    by_column = torch.einsum("ns,nsj,nsk->nsjk", fluxes, rows, slope[:, :, 1])
    by_flux = torch.einsum("nsj,nsk->nsjk", rows, columns)
    by_place = torch.stack([by_row, by_column], 2).flatten(1, 2)
    return torch.cat([by_place, by_flux], 1).flatten(2).mT


def location_covariance(locations: Tensor, fluxes: Tensor) -> Tensor:
    """Laplace covariance of the four coordinates, fluxes integrated out: (n, 4, 4) pixels^2, float64.

    Equation (information): $I = \\sum_p \\frac{\\partial \\lambda_p\\, \\partial \\lambda_p^\\top}{\\lambda_p}
    + \\mathrm{diag}(0, 0, 0, 0, 400^{-2}, 400^{-2})$

    Poisson information plus the prior's on the fluxes; the covariance is the block of its inverse. Our derivation.
    locations: (n, 2, 2) pixels. fluxes: (n, 2) counts. Raises ValueError as `image_slopes`.
    """
    slopes = image_slopes(locations.double(), fluxes.double())
    rate = mean_image(locations.double(), fluxes.double()).flatten(1)
    prior = torch.diag(torch.tensor([0.0] * 4 + [FLUX_STD**-2] * 2, dtype=slopes.dtype, device=slopes.device))
    information = slopes.mT @ (slopes / rate[..., None]) + prior
    return torch.linalg.inv(information)[:, :4, :4]


def laplace_nll(locations: Tensor, fluxes: Tensor, generator: torch.Generator) -> Tensor:
    """Estimate of -log p(l | x), (n,) nats, averaged over the two stars of each scene: what a perfect model would get.

    Equation (bound): $-\\tfrac12 \\sum_i \\log \\tfrac12 \\sum_j \\mathcal N(l_i;\\, m_j, \\Sigma_j),
    \\quad m \\sim \\mathcal N(l, \\Sigma)$

    Where a posterior would be centred is drawn from the Laplace covariance. locations: (n, 2, 2) pixels. fluxes: (n, 2)
    counts. Approximate: too wide for stars closer than about a pixel, where the information is nearly singular, and
    slightly too narrow because scaling the image to [0, 1] hides its total count. Our choice.
    Raises ValueError as `image_slopes`, TypeError without a generator.
    """
    covariance = location_covariance(locations, fluxes)
    noise = torch.randn(len(locations), 4, 1, generator=given(generator), dtype=torch.float64)
    modes = locations + (torch.linalg.cholesky(covariance) @ noise).reshape(-1, STARS, 2)
    own = torch.stack([covariance[:, :2, :2], covariance[:, 2:, 2:]], 1)
    normal = torch.distributions.MultivariateNormal(modes[:, None], own[:, None])
    log_density = torch.logsumexp(normal.log_prob(locations[:, :, None]), -1) - math.log(STARS)
    return -log_density.mean(1)


@torch.no_grad()
def star_excess(model: LBF, n: int, generator: torch.Generator, resolution: int = 321) -> Tensor:
    """Excess NLL of `model` over the Laplace estimate on n fresh scenes, (n,) nats: its mean estimates KL(p || q).

    resolution: nodes an axis of the grid that normalises q, finer than the Monte Carlo nodes of training (which, few
    beside a sharp peak, make log J too low). Compare its sign and order with the paper's table, not its digits.
    Raises ValueError when n < 1 or resolution < 2, TypeError without a generator.
    """
    locations, fluxes, counts = TwoStars().draw(n, generator)
    finer = tuple(t.to(model.nodes) for t in trapezoid_grid(model.low, model.high, resolution))
    x = min_max(counts).to(model.nodes)
    rows = [model.log_prob(locations[:, i].to(model.nodes), x, normalise_on=finer) for i in range(STARS)]
    return -torch.stack(rows).mean(0).double().cpu() - laplace_nll(locations, fluxes, generator)
