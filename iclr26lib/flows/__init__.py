"""Rectified flows, shared by the chapters on generating images: schedules, samplers, networks, training.

`schedule` holds the path between data and noise; `samplers` the ODE and the SDE with its marginals; `ensemble` several
seeds as one model, fed by `streams`; `mlp`, `dit` and `unet` the networks; `training` flow matching and files of
weights; `counting` the number of network passes.
"""

from .counting import Counted, Tally
from .dit import DiT
from .ensemble import Replicas, clip_gradient_, ema_, frozen
from .initial import initialise_
from .interface import StackedModel, VelocityModel, check_batch, check_prompts
from .mlp import VelocityMLP
from .samplers import gaussian_log_prob, ode_sample, sde_coefficients, sde_sample
from .schedule import data_prediction, interpolate, shift_time, shifted_grid
from .streams import Streams
from .training import fit_flow, load_weights, save_weights, velocity_loss
from .unet import UNet

__all__ = [
    "Counted",
    "DiT",
    "Replicas",
    "StackedModel",
    "Streams",
    "Tally",
    "UNet",
    "VelocityMLP",
    "VelocityModel",
    "check_batch",
    "check_prompts",
    "clip_gradient_",
    "data_prediction",
    "ema_",
    "fit_flow",
    "frozen",
    "gaussian_log_prob",
    "initialise_",
    "interpolate",
    "load_weights",
    "ode_sample",
    "save_weights",
    "sde_coefficients",
    "sde_sample",
    "shift_time",
    "shifted_grid",
    "velocity_loss",
]
