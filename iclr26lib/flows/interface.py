"""What every velocity model has: one sample's shape, the number of prompts, and a check of what it is given."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

State = dict[str, Tensor]


class VelocityModel(nn.Module):
    """Base of the velocity networks: `forward(x (B, *shape), t (B,), c (B,)) -> v (B, *shape)`.

    A subclass's `forward` calls `check` and then looks at no value, so that torch.func.vmap can take it.
    """

    replicas = 1
    vectorises = True

    def __init__(self, shape: Sequence[int], prompts: int):
        """shape: of one sample. prompts: c lies in 0..prompts-1. Raises ValueError for a size below 1."""
        super().__init__()
        self.shape, self.prompts = tuple(shape), positive("prompts", prompts)
        for size in self.shape:
            positive("every size in shape", size)

    def check(self, x: Tensor, t: Tensor, c: Tensor) -> None:
        """Refuse a batch that is not x (B, *shape), t (B,), c (B,): see `check_batch`."""
        check_batch(x, t, c, self.shape)


class StackedModel(VelocityModel):
    """A velocity network whose `stacked` computes S replicas at once, which is faster than torch.func.vmap."""

    def forward(self, x: Tensor, t: Tensor, c: Tensor) -> Tensor:
        """Velocities (B, *shape) at x (B, *shape), t (B,), c (B,). Raises ValueError or TypeError for another batch."""
        self.check(x, t, c)
        state = [{name: q[None] for name, q in named} for named in (self.named_parameters(), self.named_buffers())]
        return self.stacked(*state, x[None], t[None], c[None])[0]

    def stacked(self, parameters: State, buffers: State, x: Tensor, t: Tensor, c: Tensor) -> Tensor:
        """Velocities (S, n, *shape) of S replicas at x (S, n, *shape), t (S, n), c (S, n).

        parameters, buffers: those of one model with a leading axis S. Raises NotImplementedError in this base class.
        """
        raise NotImplementedError(f"{type(self).__name__} has no `stacked`")


def affine(parameters: State, layer: str, h: Tensor) -> Tensor:
    """Linear layer `layer` of S replicas: h (S, ..., inputs) -> (S, ..., outputs), one batched product.

    parameters: hold `layer`.weight (S, outputs, inputs) and `layer`.bias (S, outputs).
    """
    weight, bias = parameters[f"{layer}.weight"], parameters[f"{layer}.bias"]
    return torch.baddbmm(bias[:, None], h.flatten(1, -2), weight.mT).unflatten(1, h.shape[1:-1])


def positive(name: str, value: int) -> int:
    """Return `value`, an integer of 1 or more called `name`. Raises TypeError or ValueError otherwise."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < 1:
        raise ValueError(f"{name} must be 1 or more, got {value}")
    return value


def finite_positive(name: str, value: float) -> float:
    """Return `value`, a finite number above 0 called `name`, as float. Raises TypeError or ValueError otherwise."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number, got {value!r}")
    if not 0 < value < math.inf:
        raise ValueError(f"{name} must be positive and finite, got {value}")
    return float(value)


def check_batch(x: Tensor, t: Tensor, c: Tensor, shape: tuple[int, ...]) -> None:
    """Refuse a batch that is not x (B, *shape) float, t (B,) float, c (B,) int64; looks at no value.

    Raises ValueError naming the shapes, TypeError for another dtype.
    """
    if x.ndim == 0 or x.shape[1:] != shape or t.shape != x.shape[:1] or c.shape != x.shape[:1]:
        raise ValueError(
            f"need x (B, {', '.join(map(str, shape))}), t (B,) and c (B,), "
            f"got {tuple(x.shape)}, {tuple(t.shape)} and {tuple(c.shape)}"
        )
    if c.dtype != torch.int64 or not x.is_floating_point() or not t.is_floating_point():
        raise TypeError(f"need x and t floating point and c int64, got {x.dtype}, {t.dtype} and {c.dtype}")


def check_prompts(c: Tensor, prompts: int) -> Tensor:
    """Return c (B,) int64 with values in 0..prompts-1. Raises TypeError or ValueError with the value otherwise."""
    if c.dtype != torch.int64:
        raise TypeError(f"prompts c must be int64, got {c.dtype}")
    if c.ndim != 1 or len(c) == 0:
        raise ValueError(f"prompts c must be (B,) with B of 1 or more, got {tuple(c.shape)}")
    outside = (c < 0) | (c >= prompts)
    if outside.any():
        raise ValueError(f"prompts c must lie in 0..{prompts - 1}, got {c[outside][0].item()}")
    return c


def check_velocity(v: Tensor, x: Tensor) -> Tensor:
    """Return the velocity v of samples x (B, *shape). Raises ValueError naming both shapes where they differ."""
    if v.shape != x.shape:
        raise ValueError(f"the model must return a velocity like x, {tuple(x.shape)}, got {tuple(v.shape)}")
    return v


def check_finite(model: nn.Module) -> None:
    """Raise FloatingPointError naming the first parameter of `model` that holds a value that is not finite."""
    parameters = dict(model.named_parameters())
    finite = torch.stack([p.detach().isfinite().all() for p in parameters.values()]).tolist() if parameters else []
    for name, fine in zip(parameters, finite, strict=True):
        if not fine:
            bad = (~parameters[name].detach().isfinite()).nonzero()[0].tolist()
            raise FloatingPointError(f"weight {name} at index {bad} is not finite: take a smaller learning rate")


def replicas_of(model: nn.Module) -> int:
    """How many replicas a batch of `model` holds: its attribute `replicas`, else 1."""
    return getattr(model, "replicas", 1)


def place_of(model: nn.Module) -> tuple[torch.device, torch.dtype | None]:
    """Device and dtype of the first parameter or floating buffer of `model`; CPU and None for a model that has none."""
    for tensor in (*model.parameters(), *model.buffers()):
        if tensor.is_floating_point():
            return tensor.device, tensor.dtype
    return torch.device("cpu"), None
