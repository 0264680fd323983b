"""Neural posterior estimation with latent basis expansions (McNamara, Duan and Regier, ICLR 2026).

`method` holds the density, its normaliser and the fit for one observation; `bases` the basis functions; `model` the
networks; `training` several seeds at once; `simulators` the problems; `metrics` and `calibration` the judges; `mdn`,
`flows` and `eigenvi` what it is compared with.
"""

from .additive import Additive, bands_mean, normal_log_density, ring_mean, sinusoid_mean
from .bases import BSplines, Haar, bspline_basis, bspline_knots, haar_basis, stereographic
from .calibration import GridCDF, coverage, crps, hpd_level, ks_uniform, pit
from .eigenvi import eigenvi_fit, eigenvi_log_density, tensor_basis
from .flows import Flow
from .mdn import MDN, Mixture, em_mixture
from .method import (
    fit_natural,
    lbf_nll,
    log_normalizer,
    moments,
    monte_carlo_log_weights,
    monte_carlo_nodes,
    newton_step,
    trapezoid_grid,
)
from .metrics import (
    GridReport,
    excess_nll,
    finer_grid_check,
    grid_kl,
    mean_nll,
    nll_values,
    scale_floor,
    share_near_best,
)
from .model import LBF, Estimator, initialise_, mlp
from .photoz import PhotoZ, two_redshifts
from .sampling import langevin, sample_grid, sampling_grid
from .simulators import SIMULATORS, simulator
from .spiral import Spiral, angle_at
from .star_bound import laplace_nll
from .stars import ImageEncoder, SetLBF, TwoStars, star_model
from .training import observation_statistics, train

__all__ = [
    "LBF",
    "MDN",
    "SIMULATORS",
    "Additive",
    "BSplines",
    "Estimator",
    "Flow",
    "GridCDF",
    "GridReport",
    "Haar",
    "ImageEncoder",
    "Mixture",
    "PhotoZ",
    "SetLBF",
    "Spiral",
    "TwoStars",
    "angle_at",
    "bands_mean",
    "bspline_basis",
    "bspline_knots",
    "coverage",
    "crps",
    "eigenvi_fit",
    "eigenvi_log_density",
    "em_mixture",
    "excess_nll",
    "finer_grid_check",
    "fit_natural",
    "grid_kl",
    "haar_basis",
    "hpd_level",
    "initialise_",
    "ks_uniform",
    "langevin",
    "laplace_nll",
    "lbf_nll",
    "log_normalizer",
    "mean_nll",
    "mlp",
    "moments",
    "monte_carlo_log_weights",
    "monte_carlo_nodes",
    "newton_step",
    "nll_values",
    "normal_log_density",
    "observation_statistics",
    "pit",
    "ring_mean",
    "sample_grid",
    "sampling_grid",
    "scale_floor",
    "share_near_best",
    "simulator",
    "sinusoid_mean",
    "star_model",
    "stereographic",
    "tensor_basis",
    "train",
    "trapezoid_grid",
    "two_redshifts",
]
