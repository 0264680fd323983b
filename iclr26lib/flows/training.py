"""Flow matching for all replicas of a model at once, and small files of trained weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from tqdm.auto import tqdm

from .files import check_fit, read_file
from .interface import check_batch, check_finite, check_prompts, finite_positive, positive, replicas_of
from .schedule import interpolate
from .streams import Streams

SCHEDULES = ("cosine", "constant")
LOOK_EVERY = 50  # steps between looks at the losses; a look waits for the device
Draw = Callable[[int, Streams], tuple[Tensor, Tensor]]
Weights = dict[str, dict[str, Tensor]]


def velocity_loss(v: Tensor, target: Tensor, replicas: int = 1) -> Tensor:
    """Mean squared error (S,) of velocities v (S n, ...) against `target` (S n, ...), one mean a replica.

    replicas: S. Raises ValueError where the shapes differ or S does not divide the rows.

    Equation (matching): $\\mathbb E\\,\\|v_\\theta(x_t, t, c) - v\\|^2 / D$ (rectified flow; paper, section 2)
    """
    if v.shape != target.shape or v.ndim == 0 or len(v) % positive("replicas", replicas):
        raise ValueError(
            f"need v and target (S n, ...) of one shape, S = {replicas}, got {tuple(v.shape)}, {tuple(target.shape)}"
        )
    return (v - target).square().reshape(replicas, -1).mean(1)


def fit_flow(
    model: nn.Module,
    draw: Draw,
    steps: int,
    batch: int,
    lr: float,
    streams: Streams,
    device: str | torch.device = "cpu",
    schedule: str = "cosine",
    progress: bool = False,
) -> Tensor:
    """Train `model` (S replicas) in place by flow matching with Adam; returns the losses (steps, S) on the CPU.

    draw: (n, streams) -> x0 (S n, *shape), c (S n,). batch: n, rows a replica and step. lr: learning rate; schedule
    "cosine" lets it fall to 0, "constant" keeps it. streams: S seeds; they give the times (uniform) and the noise too.
    device: where the model goes and stays. progress: show a bar. Raises ValueError for settings out of range, streams
    or data that do not fit, FloatingPointError naming replica and step when a loss is not finite, or the weight that is
    not after the last step.
    """
    _check(model, steps, batch, lr, streams, schedule)
    model.to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr, fused=True)
    losses: list[Tensor] = []
    for step in tqdm(range(steps), disable=not progress, desc="flow matching"):
        optimizer.param_groups[0]["lr"] = lr * _fall(schedule, step / steps)
        x_t, t, c, target = (q.to(device) for q in _batch(model, draw, batch, streams))
        optimizer.zero_grad()
        loss = velocity_loss(model(x_t, t, c), target, streams.replicas)
        loss.sum().backward()
        optimizer.step()
        losses.append(loss.detach())
        _look(losses, last=step + 1 == steps)
    check_finite(model)
    return torch.stack(losses).cpu()


def _fall(schedule: str, done: float) -> float:
    """The share of the learning rate that a schedule leaves when the share `done` of all steps is done."""
    return 0.5 * (1 + math.cos(math.pi * done)) if schedule == "cosine" else 1.0


def _check(model: nn.Module, steps: int, batch: int, lr: float, streams: Streams, schedule: str) -> None:
    """Refuse settings of `fit_flow` that are out of range."""
    positive("steps", steps), positive("batch", batch), finite_positive("lr", lr)
    if schedule not in SCHEDULES:
        raise ValueError(f"schedule must be one of {', '.join(SCHEDULES)}, got {schedule!r}")
    if not isinstance(streams, Streams):
        raise TypeError(f"streams must be Streams, got {type(streams).__name__}")
    if streams.replicas != replicas_of(model):
        raise ValueError(f"{streams.replicas} streams do not fit a model of {replicas_of(model)} replicas")


def _batch(model: nn.Module, draw: Draw, batch: int, streams: Streams) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """One checked batch on the CPU: x_t (S n, *shape), t (S n,), c (S n,), target velocity (S n, *shape)."""
    x0, c = draw(batch, streams)
    t = streams.uniform(batch)
    if len(x0) != len(t):
        raise ValueError(f"draw must give {streams.replicas} x {batch} rows, got {len(x0)}")
    check_batch(x0, t, check_prompts(c, model.prompts), model.shape)
    x_t, target = interpolate(x0, streams.normal(batch, *model.shape).to(x0.dtype), t)
    return x_t, t, c, target


def _look(losses: list[Tensor], last: bool) -> None:
    """Every so often, and at last, raise FloatingPointError for the first recent loss that is NaN or infinite."""
    if len(losses) % LOOK_EVERY and not last:
        return
    recent = losses[-LOOK_EVERY:]
    bad = (~torch.isfinite(torch.stack(recent))).nonzero()
    if len(bad):
        row, replica = bad[0].tolist()
        step = len(losses) - len(recent) + row
        raise FloatingPointError(f"loss {recent[row][replica].item()} of replica {replica} at step {step}")


def save_weights(path: str | Path, models: dict[str, nn.Module], half: bool = True, note: dict | None = None) -> None:
    """Write the states of `models`, by name, to one file at `path`.

    half: parameters as float16, half the size; buffers keep their dtype. note: plain values about how they were made.
    Raises ValueError for no models, or a weight that is not finite, also once it is float16.
    """
    if not models:
        raise ValueError("nothing to save: models is empty")
    weights = {name: _packed(name, model, half) for name, model in models.items()}
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    torch.save({"weights": weights, "note": dict(note or {})}, path)


def _packed(name: str, model: nn.Module, half: bool) -> dict[str, Tensor]:
    """The state of a model on the CPU, its parameters as float16 where asked."""
    learnt = {key for key, _ in model.named_parameters()}
    state = {k: v.detach().cpu().clone() for k, v in model.state_dict().items()}
    packed = {k: v.half() if half and k in learnt else v for k, v in state.items()}
    for key, value in packed.items():
        if not torch.isfinite(value).all():
            raise ValueError(f"{name}: {key} holds a value that is not finite or too large for {value.dtype}")
    return packed


def load_weights(path: str | Path, models: dict[str, nn.Module] | None = None) -> tuple[Weights, dict[str, Any]]:
    """Read the file of `save_weights` at `path`: the states by name, floats as float32, and the note.

    models: take the weights over, in place, each its state of that name; nothing is taken over unless all fit.
    Raises ValueError naming the file where it is missing or damaged, or what in it is missing, unknown, not finite, or
    of another shape or dtype than the model's.
    """
    content = read_file(path)
    if not isinstance(content, dict) or set(content) != {"weights", "note"} or not isinstance(content["weights"], dict):
        raise ValueError(f"{path}: not a file of save_weights, it lacks 'weights' and 'note'")
    weights = {name: _wide(f"{path}: {name}", state) for name, state in content["weights"].items()}
    for name, model in (models or {}).items():
        if name not in weights:
            raise ValueError(f"{path}: no weights of {name!r}; it holds {', '.join(sorted(weights))}")
        check_fit(f"{path}: {name}", weights[name], model.state_dict())
    for name, model in (models or {}).items():
        model.load_state_dict(weights[name])
    return weights, content["note"]


def _wide(where: str, state: dict[str, Tensor]) -> dict[str, Tensor]:
    """A state as it is used, floats as float32; refuses what is no state of finite tensors."""
    if not isinstance(state, dict) or not all(isinstance(value, Tensor) for value in state.values()):
        raise ValueError(f"{where}: need a dict of tensors, got {state!r:.80}")
    wide = {k: v.float() if v.is_floating_point() else v for k, v in state.items()}
    for key, value in wide.items():
        if not torch.isfinite(value).all():
            raise ValueError(f"{where}: {key} holds a value that is not finite")
    return wide
