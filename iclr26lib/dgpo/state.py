"""What a trainer must find in a state before it goes on from it."""

from dataclasses import asdict
from typing import Any

import torch

from ..flows.files import check_fit

NETWORKS = ("model", "old", "reference")
KEYS = {*NETWORKS, "optimizer", "streams", "updates", "counts", "kind", "cfg"}


def check_state(trainer: Any, state: Any) -> None:
    """Refuse a state that is not one of a trainer like `trainer`; changes nothing.

    trainer: a `GroupTrainer`. state: a `state_dict`, perhaps read from a file. Raises ValueError for keys, kind of
    trainer, settings, seeds, names, shapes, dtypes or numbers that do not fit.
    """
    if not isinstance(state, dict) or set(state) != KEYS:
        got = sorted(state, key=str) if isinstance(state, dict) else type(state).__name__
        raise ValueError(f"a trainer's state has {sorted(KEYS)}, got {got}")
    if state["kind"] != type(trainer).__name__:
        raise ValueError(f"the state is that of a {state['kind']}, not of a {type(trainer).__name__}")
    _check_settings(state["cfg"], asdict(trainer.cfg))
    trainer.streams.check(state["streams"])
    for name in NETWORKS:
        check_fit(f"the state's {name}", state[name], getattr(trainer, name).state_dict())
    _check_optimizer(state["optimizer"], list(trainer.model.parameters()))
    counts = state["counts"]
    if not _whole(state["updates"]) or len(counts) != 3 or not all(len(p) == 2 and all(map(_whole, p)) for p in counts):
        raise ValueError(f"updates and counts must be 0 or more, got {state['updates']!r} and {counts!r}")


def _check_settings(theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    """Refuse the settings of another run."""
    if theirs != ours:
        names = sorted(k for k in {**ours, **theirs} if k not in ours or k not in theirs or ours[k] != theirs[k])
        told = "; ".join(f"{k} {theirs.get(k)!r}, not {ours.get(k)!r}" for k in names)
        raise ValueError(f"the state was made with other settings: {told}")


def _check_optimizer(found: Any, parameters: list[torch.Tensor]) -> None:
    """Refuse moments that are not those of `parameters`."""
    if not isinstance(found, dict) or not isinstance(found.get("state"), dict):
        raise ValueError(f"the state's optimizer must hold a dict 'state', got {found!r:.80}")
    for i, moments in found["state"].items():
        if i not in range(len(parameters)):
            raise ValueError(f"the state's optimizer knows parameter {i!r}, the model has {len(parameters)}")
        like = {"step": torch.zeros(()), "exp_avg": parameters[i], "exp_avg_sq": parameters[i]}
        check_fit(f"the state's optimizer, parameter {i}", moments, like)


def _whole(value: Any) -> bool:
    """Whether it is a whole number of 0 or more."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
