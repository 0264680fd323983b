"""From noise to data: Euler steps of the ODE, and of an SDE that keeps its marginals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from ..seeding import given
from .interface import check_prompts, check_velocity, place_of, replicas_of
from .streams import Streams

Source = Streams | torch.Generator


@torch.no_grad()
def ode_sample(
    model: nn.Module,
    c: Tensor,
    grid: Tensor,
    generator: Source | None,
    noise: Tensor | None = None,
    return_path: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Samples x0 (B, *shape) for prompts c (B,) int64, by Euler steps along `grid` (n + 1,) from 1 down to 0.

    model: velocity. generator: Streams (one a replica) or a torch.Generator; may be None where `noise` (B, *shape) is
    the start. return_path: also give the path (n + 1, B, *shape). Raises ValueError for a grid, prompts, noise or
    velocities that do not fit, TypeError for a missing generator, FloatingPointError naming the step that gave a value
    that is not finite.

    Equation (ode): $x_{t'} = x_t + (t' - t)\\,v_\\theta(x_t, t, c)$ (official code, Euler form)
    """
    times, x = _times(grid), _start(model, c, generator, noise)
    c, path = c.to(x.device), [x]
    for step, (t, t_next) in enumerate(itertools.pairwise(times)):
        x = _finite(x + (t_next - t) * _velocity(model, x, t, c), step)
        if return_path:
            path.append(x)
    return (x, torch.stack(path)) if return_path else x


def sde_coefficients(t: float, t_next: float, a: float, t_first: float) -> tuple[float, float, float]:
    """Coefficients of one stochastic step t -> t_next: on x, on the velocity, and the noise's standard deviation.

    a: noise level, 0 or more; 0 is the Euler step. t_first: second point of the grid, which stands for t in 1 - t at
    t = 1. Raises ValueError unless 0 <= t_next < t <= 1, 0 <= a < inf and, at t = 1, 0 <= t_first < 1.

    Equation (sde): $x' = x\\,(1 + \\tfrac{s_t^2}{2t}\\,dt) + v_\\theta\\,(1 + \\tfrac{s_t^2 (1 - t)}{2t})\\,dt
    + s_t \\sqrt{-dt}\\;\\xi,\\quad s_t = a\\sqrt{t / (1 - t)}$ (official code of Flow-GRPO)
    """
    if not 0 <= t_next < t <= 1:
        raise ValueError(f"a step must go down inside [0, 1], got {t} to {t_next}")
    if not 0 <= a < math.inf:
        raise ValueError(f"a must be 0 or more and finite, got {a}")
    if t == 1 and not 0 <= t_first < 1:
        raise ValueError(f"t_first must lie in [0, 1), got {t_first}")
    dt, s2 = t_next - t, a * a * t / (1 - (t_first if t == 1 else t))
    return 1 + s2 / (2 * t) * dt, (1 + s2 * (1 - t) / (2 * t)) * dt, math.sqrt(s2 * -dt)


@torch.no_grad()
def sde_sample(
    model: nn.Module,
    c: Tensor,
    grid: Tensor,
    a: float,
    generator: Source,
    noise: Tensor | None = None,
    return_path: bool = False,
) -> Tensor | tuple[Tensor, Tensor, Tensor]:
    """Samples x0 (B, *shape) for prompts c (B,) int64, by stochastic steps of noise level a along `grid` (n + 1,).

    model, generator, noise: as `ode_sample`, but the generator is always needed. return_path: also give the path
    (n + 1, B, *shape) and the log-probabilities (n, B) of its steps. Raises as `ode_sample`, and ValueError for a
    negative a, or for a = 0 with return_path, since a step without noise has no density.
    """
    if return_path and a == 0:
        raise ValueError("a = 0 has no noise, so its steps have no density: take ode_sample, or a > 0")
    draw, times, x = _drawer(model, generator), _times(grid), _start(model, c, generator, noise)
    c, path, log_probs = c.to(x.device), [x], []
    for step, (t, t_next) in enumerate(itertools.pairwise(times)):
        on_x, on_v, sd = sde_coefficients(t, t_next, a, times[1])
        mean = on_x * x + on_v * _velocity(model, x, t, c)
        x = _finite(mean + sd * draw(x), step)
        if return_path:
            path.append(x)
            log_probs.append(gaussian_log_prob(x, mean, sd))
    return (x, torch.stack(path), torch.stack(log_probs)) if return_path else x


def gaussian_log_prob(x_next: Tensor, mean: Tensor, sd: float) -> Tensor:
    """Log density (B,) of steps x_next (B, ...) under N(mean (B, ...), sd^2), averaged over a sample's dimensions.

    sd: one positive number. Raises ValueError where the shapes differ or sd is not positive and finite.

    Equation (logprob): $\\frac1D \\sum_d \\log \\mathcal N(x'_d; \\mu_d, \\sigma^2)$ (official code of Flow-GRPO)
    """
    if x_next.shape != mean.shape or x_next.ndim < 2:
        raise ValueError(
            f"x_next and mean must be (B, ...) of one shape, got {tuple(x_next.shape)}, {tuple(mean.shape)}"
        )
    if not 0 < sd < math.inf:
        raise ValueError(f"sd must be positive and finite, got {sd}")
    square = ((x_next - mean) / sd).square().flatten(1).mean(1)
    return -0.5 * square - math.log(sd) - 0.5 * math.log(2 * math.pi)


def _times(grid: Tensor) -> list[float]:
    """The points of a grid as numbers. Raises ValueError unless they fall from exactly 1 to exactly 0."""
    if grid.ndim != 1 or len(grid) < 2:
        raise ValueError(f"grid must be (n + 1,) with n of 1 or more, got {tuple(grid.shape)}")
    times = grid.tolist()
    falls = all(after < before for before, after in itertools.pairwise(times))
    if times[0] != 1 or times[-1] != 0 or not falls:
        raise ValueError(f"grid must fall from exactly 1 to exactly 0, got {times}")
    return times


def _drawer(model: nn.Module, source: Source) -> Callable[[Tensor], Tensor]:
    """A function that draws normal noise like a batch x (B, ...), on the device of x."""
    if not isinstance(source, Streams):
        given(source)
        return lambda x: torch.randn(x.shape, generator=source, device=source.device).to(x)
    if source.replicas != replicas_of(model):
        raise ValueError(f"{source.replicas} streams do not fit a model of {replicas_of(model)} replicas")
    return lambda x: source.normal(len(x) // source.replicas, *x.shape[1:]).to(x)


def _start(model: nn.Module, c: Tensor, source: Source | None, noise: Tensor | None) -> Tensor:
    """The noise (B, *shape) to start from: what is given, checked, else drawn, where and as the model computes."""
    check_prompts(c, model.prompts)
    if len(c) % replicas_of(model):
        raise ValueError(f"{len(c)} prompts do not split over {replicas_of(model)} replicas")
    device, dtype = place_of(model)
    wanted = (len(c), *model.shape)
    if noise is None:
        return _drawer(model, source)(torch.empty(wanted, device=device, dtype=dtype))
    if noise.shape != wanted:
        raise ValueError(f"noise must be {wanted}, got {tuple(noise.shape)}")
    if noise.dtype != (dtype or noise.dtype):
        raise TypeError(f"noise must be {dtype} like the model, got {noise.dtype}")
    return noise.to(device)


def _velocity(model: nn.Module, x: Tensor, t: float, c: Tensor) -> Tensor:
    return check_velocity(model(x, torch.full((len(x),), t, device=x.device, dtype=x.dtype), c), x)


def _finite(x: Tensor, step: int) -> Tensor:
    if not torch.isfinite(x).all():
        raise FloatingPointError(f"step {step} of the sampler gave a value that is not finite")
    return x
