"""Twelve settings for every method on every task, tried on pilot seeds that no claim is judged on.

`python -m iclr26lib.bep.tuning` tries them and writes the log to `tuned.py`; `best(case)` gives the chosen setting. The
choice is by mean validation accuracy over the pilot seeds, at the book's sizes. Equal budgets: twelve each.
"""

import itertools
import pprint
import sys
from pathlib import Path
from typing import Any

from ..seeding import deterministic
from . import experiments

PILOT_SEEDS = (100, 101, 102)
PROTOTYPES = {"name": "prototypes", "n": 8000, "n_test": 2000, "D": 1000, "C": 10, "p": 0.46}
FASHION = {"name": "fashion", "n": 3500, "n_val": 500, "n_test": 1000}
ITALY = {"name": "italy_power_demand", "bits": 8}
VOWELS = {"name": "japanese_vowels", "bits": 4}

R = (0.25, 0.5, 0.75)
GRIDS: dict[str, dict[str, tuple]] = {
    "bep": {"r": R, "nu": (0.2, 1.0), "group": (15, 35)},
    "top": {"r": R, "p_r": (0.25, 0.5), "group": (15, 35)},
    "local": {"r": R, "p_r": (0.25, 0.5), "group": (15, 35)},
    "qat": {"lr": (1e-3, 3e-3, 1e-2, 3e-2), "init": (0.03, 0.1, 0.5)},
    "rnn bep": {"r": R, "nu": (0.1, 0.2, 0.4, 1.0)},
    "rnn last": {"r": R, "nu": (0.1, 0.2, 0.4, 1.0)},
    "rnn reservoir": {"r": R, "p_r": (0.0, 0.25, 0.5, 0.75)},
    "rnn qat": {"lr": (1e-3, 3e-3, 1e-2, 3e-2), "init": (0.03, 0.1, 0.5)},
    "float_mlp": {"lr": (3e-4, 1e-3, 3e-3, 1e-2), "alpha": (1e-4, 1e-2, 1.0)},
    "logistic": {"C": tuple(10.0 ** (k / 2) for k in range(-11, 1))},
}


def cases() -> dict[str, dict[str, Any]]:
    """Case name -> what is fixed in it: the call, its grid, and the fixed arguments."""
    found: dict[str, dict[str, Any]] = {}
    for width in (35, 75):
        for rule, frame in itertools.product(("bep", "local"), experiments.FRAMES):
            fixed = {"rule": rule, "frame": frame, "task": PROTOTYPES, "width": width, "epochs": 12}
            found[f"prototypes {width} {rule} {frame}"] = {"call": "train_mlp", "grid": rule, "fixed": fixed}
        for window in ("one", "fan_in", "batch_norm"):
            fixed = {"rule": "qat", "window": window, "task": PROTOTYPES, "width": width, "epochs": 12}
            found[f"prototypes {width} qat {window}"] = {"call": "train_mlp", "grid": "qat", "fixed": fixed}
    fixed = {"rule": "top", "frame": "bef", "task": PROTOTYPES, "width": 75, "epochs": 12}
    found["prototypes 75 top"] = {"call": "train_mlp", "grid": "top", "fixed": fixed}
    for rule, frame in (("bep", "bef"), ("local", "random")):
        fixed = {"rule": rule, "frame": frame, "task": FASHION, "width": 35, "epochs": 12}
        found[f"fashion 35 {rule} {frame}"] = {"call": "train_mlp", "grid": rule, "fixed": fixed}
    for task, rule in itertools.product((ITALY, VOWELS), ("bep", "last", "reservoir", "qat one", "qat fan_in")):
        name, _, window = rule.partition(" ")
        fixed = {"rule": name, "task": task, "width": 135, "epochs": 15} | ({"window": window} if window else {})
        found[f"{task['name']} {rule}"] = {"call": "train_rnn", "grid": f"rnn {name}", "fixed": fixed}
    fixed = {"task": PROTOTYPES, "width": 75, "depth": 2, "epochs": 12, "batch": 100}
    found["prototypes 75 float_mlp"] = {"call": "float_models", "grid": "float_mlp", "fixed": fixed}
    found["prototypes 75 logistic"] = {"call": "float_models", "grid": "logistic", "fixed": fixed}
    found["fashion 35 logistic"] = {"call": "float_models", "grid": "logistic", "fixed": fixed | {"task": FASHION}}
    return found


def settings(grid: str) -> list[dict[str, float]]:
    """All settings of a grid. Raises ValueError for an unknown grid."""
    if grid not in GRIDS:
        raise ValueError(f"unknown grid {grid!r}; known: {', '.join(GRIDS)}")
    names = list(GRIDS[grid])
    return [dict(zip(names, values, strict=True)) for values in itertools.product(*GRIDS[grid].values())]


def score(case: dict[str, Any], chosen: dict[str, float]) -> float:
    """Mean validation accuracy, over the pilot seeds, of the setting `chosen` in `case`, an entry of `cases()`."""
    seeds = PILOT_SEEDS if case["call"] != "float_models" else PILOT_SEEDS[:1]
    arguments = {"seeds": list(seeds), **case["fixed"], **chosen}
    if case["call"] != "float_models":
        values = getattr(experiments, case["call"])(**arguments)["validation"]
    else:
        split = experiments.load_task(case["fixed"]["task"], seeds, "cpu")
        values = [experiments.float_score(case["grid"], split, **{k: v for k, v in arguments.items() if k != "task"})]
    return sum(values) / len(values)


def best(case: str) -> dict[str, float]:
    """The setting chosen for a case (the first of equals). Raises ValueError for an unknown case."""
    from .tuned import TUNED

    if case not in TUNED:
        raise ValueError(f"unknown case {case!r}; known: {', '.join(TUNED)}")
    return dict(max(TUNED[case], key=lambda tried: tried[1])[0])


def for_width(case: str, width: int) -> dict[str, float]:
    """`best` of a case named with "{}" in place of the width, at the widest tuned width that is not above `width`.

    Raises ValueError when no width was tuned.
    """
    from .tuned import TUNED

    tuned_widths = [w for w in range(1, width + 1) if case.format(w) in TUNED]
    if not tuned_widths:
        raise ValueError(f"{case!r} was tuned for no width up to {width}")
    return best(case.format(tuned_widths[-1]))


def for_rnn(task: str, arm: str, width: int) -> dict[str, float]:
    """Settings of an RNN arm; at another width than the tuned one, BEP takes the paper's gate and margin.

    Raises ValueError for an unknown task or arm.
    """
    found = best(f"{task} {arm}")
    return {"r": 0.5, "nu": 0.05} if arm == "bep" and width > 135 else found


def main(pattern: str = "") -> None:
    """Try every case whose name contains `pattern`, keep the others; without a pattern, all that have no entry."""
    from . import tuned

    deterministic(threads=1)
    log = dict(tuned.TUNED)
    for name, case in cases().items():
        if (pattern in name) if pattern else name not in log:
            log[name] = [(s, round(score(case, s), 4)) for s in settings(case["grid"])]
            print(name, max(log[name], key=lambda tried: tried[1]), flush=True)
            body = pprint.pformat(log, width=118, sort_dicts=False)
            head = '"""Written by `python -m iclr26lib.bep.tuning`: case -> [(setting, mean validation accuracy)]."""'
            Path(tuned.__file__).write_text(f"{head}\n\n# fmt: off\nTUNED = {body}\n")


if __name__ == "__main__":
    main(*sys.argv[1:2])
