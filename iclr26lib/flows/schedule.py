"""Rectified flow: the straight path between data and noise, and time grids that lean towards noise."""

from __future__ import annotations

import torch
from torch import Tensor

from .interface import finite_positive, positive

Time = float | Tensor


def shift_time(t: Time, shift: float) -> Time:
    """Time t in [0, 1], a number or a tensor (...), moved towards 1 (noise) by a factor `shift` > 0.

    Returns what t is: a float or a tensor (...). Raises ValueError for t outside [0, 1] or a shift that is not
    positive, TypeError for a t that is neither.

    Equation (shift): $t \\mapsto s\\,t / (1 + (s - 1)\\,t)$ with s the shift (official code; the usual flow shift)
    """
    shift = finite_positive("shift", shift)
    _check_time(t)
    return shift * t / (1 + (shift - 1) * t)


def shifted_grid(n: int, shift: float = 3.0) -> Tensor:
    """Times (n + 1,) float64 from exactly 1 down to exactly 0: n equal steps, then `shift_time`.

    n: steps of the sampler. shift: 1 leaves the steps equal. This is not the grid of diffusers'
    FlowMatchEulerDiscreteScheduler, which shifts an already shifted end. Raises ValueError as `shift_time`, for n below
    1, and for a shift so far from 1 that two points of the grid are one number.
    """
    grid = shift_time(torch.linspace(1, 0, positive("n", n) + 1, dtype=torch.float64), shift)
    grid[0], grid[-1] = 1.0, 0.0  # not left to rounding
    if not (grid[1:] < grid[:-1]).all():
        raise ValueError(f"shift {shift} leaves no {n} steps that fall: take one nearer to 1, got {grid.tolist()}")
    return grid


def interpolate(x0: Tensor, noise: Tensor, t: Time) -> tuple[Tensor, Tensor]:
    """Noised samples x_t (B, ...) and their target velocities (B, ...).

    x0, noise: (B, ...) of one shape and dtype. t: one time in [0, 1], or a time a row (B,). Raises ValueError naming
    the shapes where they differ or for t outside [0, 1], TypeError where the dtypes differ.

    Equation (interpolation): $x_t = (1 - t)\\,x + t\\,\\epsilon, \\quad v = \\epsilon - x$ (paper, section 2)
    """
    _same(x0, noise, "x0 and noise")
    t = _by_row(t, x0)
    return (1 - t) * x0 + t * noise, noise - x0


def data_prediction(x_t: Tensor, v: Tensor, t: Time) -> Tensor:
    """The clean sample (B, ...) that a velocity implies; its error is t times that of the velocity.

    x_t, v: (B, ...) of one shape and dtype. t: one time in [0, 1], or a time a row (B,). Raises ValueError and
    TypeError as `interpolate`.

    Equation (data): $f_\\theta = x_t - t\\,v_\\theta(x_t, t, c)$ (paper, section 2)
    """
    _same(x_t, v, "x_t and v")
    return x_t - _by_row(t, x_t) * v


def _same(a: Tensor, b: Tensor, names: str) -> None:
    """Refuse two tensors that differ in shape or dtype, or hold no rows."""
    if a.shape != b.shape or a.ndim == 0:
        raise ValueError(f"{names} must be (B, ...) of one shape, got {tuple(a.shape)} and {tuple(b.shape)}")
    if a.dtype != b.dtype or not a.is_floating_point():
        raise TypeError(f"{names} must be of one floating dtype, got {a.dtype} and {b.dtype}")


def _check_time(t: Time) -> None:
    """Refuse a time outside [0, 1], NaN included."""
    if not isinstance(t, int | float | Tensor) or isinstance(t, bool):
        raise TypeError(f"t must be a number or a tensor, got {t!r}")
    inside = (t >= 0) & (t <= 1) if isinstance(t, Tensor) else 0 <= t <= 1
    if isinstance(inside, Tensor) and not inside.all():
        raise ValueError(f"t must lie in [0, 1], got {t[~inside].flatten()[0].item()}")
    if inside is False:
        raise ValueError(f"t must lie in [0, 1], got {t}")


def _by_row(t: Time, x: Tensor) -> Time:
    """A checked time that multiplies x (B, ...): a number as it is, (B,) as (B, 1, ...) in the dtype of x."""
    _check_time(t)
    if not isinstance(t, Tensor):
        return t
    if t.shape != x.shape[:1]:
        raise ValueError(f"t must be a number or ({len(x)},), one a row, got {tuple(t.shape)}")
    return t.to(x.dtype).reshape(-1, *[1] * (x.ndim - 1))
