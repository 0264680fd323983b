"""Twenty settings for every method on both rings, tried on pilot seeds that no claim is judged on.

`python -m iclr26lib.dgpo.tuning` tries them and writes the log to `tuned.py`; `best(case)` gives the chosen one. All at
the book's sizes: five learning rates times four values of what holds the method back (beta, or the weight of the KL).
The choice is by the mean reward over all looks of a run, which rewards speed and level alike.
"""

import importlib
import math
import pprint
import sys
from pathlib import Path
from typing import Any

from ..seeding import deterministic
from . import experiments, tuned
from .base import shipped
from .presets import PRESETS

PILOT_SEEDS = (100, 101)
RATES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
JUDGED_DIMS = (2, 32)
HELD = {"beta": (0.1, 0.3, 1.0, 3.0), "kl": (0.01, 0.04, 0.4, 1.0)}
ARMS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "dgpo": ("dgpo", "beta", {}),
    "dpo": ("dpo", "beta", {}),
    "grpo": ("grpo", "kl", {"rollout": "sde", "times": 10}),
    "grpo 4": ("grpo", "kl", {"rollout": "sde", "times": 4}),
    "sde": ("dgpo", "beta", {"rollout": "sde"}),
}
LOG = "case -> [({settings}, mean reward over the looks)]"


def ring_sizes(preset: Any) -> dict[str, Any]:
    """Sizes of a run on the ring, as a preset has them."""
    return {
        "width": preset.width, "depth": preset.depth, "updates": preset.updates, "groups": preset.groups,
        "every": preset.every, "samples": preset.samples, "last_samples": preset.last_samples,
    }  # fmt: skip


def base_sizes(preset: Any) -> dict[str, Any]:
    """Sizes of the base models of the ring, as a preset has them."""
    return {
        "width": preset.width, "depth": preset.depth, "steps": preset.base_steps, "batch": preset.base_batch,
        "lr": preset.base_lr,
    }  # fmt: skip


def fixed(preset: Any) -> dict[str, Any]:
    """Settings that all methods share on the ring, as a `preset` has them."""
    return {"group": preset.group, "t_min": preset.t_min}


def tries(arm: str) -> list[dict[str, Any]]:
    """The settings tried for an arm. Raises KeyError for an unknown one."""
    _, name, _ = ARMS[arm]
    return [{"lr": lr, name: value} for lr in RATES for value in HELD[name]]


def best(case: str) -> dict[str, Any]:
    """The settings chosen for a case, e.g. "ring 2 dgpo". Raises ValueError for an unknown case."""
    if case not in tuned.TUNED:
        raise ValueError(f"unknown case {case!r}; known: {', '.join(tuned.TUNED)}")
    return max(tuned.TUNED[case], key=lambda tried: tried[1])[0]


def edges(case: str) -> list[str]:
    """Names of the chosen settings that lie at an end of what was tried, for a case. ValueError as `best`."""
    chosen, tried = best(case), [settings for settings, _ in tuned.TUNED[case]]
    ends = {name: {min(s[name] for s in tried), max(s[name] for s in tried)} for name in chosen}
    return [name for name, value in chosen.items() if value in ends[name]]


def score(arm: str, dim: int, weights: Any, settings: dict[str, Any]) -> float:
    """Mean reward over looks and pilot seeds after the start; minus infinity if the run diverges.

    arm: a key of `ARMS`. dim: of the ring. weights: of its base models. settings: what is tried, fields of `Config`.
    """
    preset = PRESETS["book"]
    trainer, _, always = ARMS[arm]
    everything = {**fixed(preset), **always, **settings}
    try:
        run = experiments.improve(trainer, "ring", dim, list(PILOT_SEEDS), weights, everything, **ring_sizes(preset))
    except FloatingPointError as error:
        print(f"{arm} in {dim} dimensions with {settings}: {error}")
        return -math.inf
    looks = [sum(row) / len(row) for row in run["reward"][1:]]
    return sum(looks) / len(looks)


def written() -> dict[str, Any]:
    """The log as the file has it now; another process may have added to it."""
    return importlib.reload(tuned).TUNED


def main(pattern: str = "") -> None:
    """Try what the log lacks, in the cases whose name contains `pattern`."""
    deterministic(threads=1)
    preset, bases = PRESETS["book"], {}
    names = {f"ring {dim} {arm}": (arm, dim) for dim in JUDGED_DIMS for arm in ARMS}
    for name, (arm, dim) in names.items():
        done = written().get(name, [])
        left = [s for s in tries(arm) if s not in [settings for settings, _ in done]]
        if pattern not in name or not left:
            continue
        if dim not in bases:
            bases[dim] = shipped("ring", dim, PILOT_SEEDS, base_sizes(preset))
        found = done + [(s, round(score(arm, dim, bases[dim], s), 4)) for s in left]
        print(name, found, flush=True)
        log = written() | {name: found}
        log = {n: log[n] for n in names if n in log}
        body = pprint.pformat(log, width=118, sort_dicts=False).replace("-inf)", 'float("-inf"))')
        head = f'"""Written by `python -m iclr26lib.dgpo.tuning`: {LOG}."""'
        Path(tuned.__file__).write_text(f"{head}\n\n# fmt: off\nTUNED = {body}\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:2])
