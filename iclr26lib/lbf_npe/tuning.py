"""Five learning rates for every method on every task, tried on pilot seeds that no claim is judged on.

`python -m iclr26lib.lbf_npe.tuning` tries them and writes the log to `tuned.py`; `best(case)` gives the chosen one.
All at the book's sizes, with Adam and a cosine schedule; the choice is by mean held-out NLL (line) or forward KL
(plane).
"""

import math
import pprint
import sys
from pathlib import Path
from typing import Any

from ..seeding import deterministic
from . import experiments
from .presets import PRESETS

PILOT_SEEDS = (100, 101, 102)
RATES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
LOG = "case -> [(learning rate, held-out NLL or KL, nats)]"
ONE_AT_A_TIME = ("nsf", "realnvp")


def line_sizes(problem: str, preset: Any) -> dict[str, Any]:
    """Sizes of a run on a problem of the line, "sinusoid" or "photoz", as a preset has them."""
    if problem == "sinusoid":
        sizes = {"width": preset.sin_width, "depth": preset.sin_depth, "batch": preset.sin_batch}
        return sizes | {"steps": preset.sin_steps, "grid": preset.sin_grid, "K": 14, "test_pairs": preset.test_pairs}
    sizes = {"width": preset.photo_width, "depth": 3, "batch": preset.photo_batch, "steps": preset.photo_steps}
    return sizes | {"grid": 301, "K": 30, "test_pairs": preset.photo_test, "pool": preset.photo_train}


def plane_sizes(preset: Any, arm: str = "lbf") -> dict[str, Any]:
    """Sizes of a run of an arm on the ring or the bands, as a preset has them."""
    sizes = {"width": preset.plane_width, "depth": preset.plane_depth, "batch": preset.plane_batch}
    tests = preset.flow_test_x if arm in ONE_AT_A_TIME else preset.test_x
    return sizes | {
        "steps": preset.plane_steps, "grid": preset.plane_grid, "K": preset.plane_K, "block": preset.plane_block,
        "fine": preset.fine, "test_x": tests, "pairs": preset.pairs,
    }  # fmt: skip


def cases() -> dict[str, dict[str, Any]]:
    """Case name -> the call, the arm, the problem, and what is fixed in it."""
    preset, found = PRESETS["book"], {}
    for problem, arms in (("sinusoid", experiments.LINE_ARMS[:4]), ("photoz", ("lbf", "mdn truncated", "nsf"))):
        for arm in arms:
            sizes = line_sizes(problem, preset)
            found[f"{problem} {arm}"] = {"call": "train_line", "arm": arm, "problem": problem, "fixed": sizes}
    ways = {"": {}, " joint": {"block": 0}, " plain": {"sphere": False}}
    for arm, way in [("lbf", w) for w in ways] + [(a, "") for a in experiments.PLANE_ARMS[1:]]:
        sizes = plane_sizes(preset, arm) | ways[way]
        found[f"ring {arm}{way}"] = {"call": "train_plane", "arm": arm, "problem": "ring", "fixed": sizes}
    return found


def score(case: dict[str, Any], lr: float) -> float:
    """Mean held-out NLL or forward KL, nats, over pilot seeds (plane: two, flows: one); infinite if it diverges."""
    count = 1 if case["arm"] in ONE_AT_A_TIME else 2 if case["call"] == "train_plane" else 3
    seeds = list(PILOT_SEEDS[:count])
    try:
        run = getattr(experiments, case["call"])(case["arm"], case["problem"], seeds, lr, **case["fixed"])
    except FloatingPointError as error:
        print(f"{case['arm']} on {case['problem']} at {lr:g}: {error}")
        return math.inf
    values = run["nll" if case["call"] == "train_line" else "fkl"]
    return sum(values) / len(values)


def best(case: str) -> float:
    """The learning rate chosen for a case. Raises ValueError for an unknown case."""
    from .tuned import TUNED

    if case not in TUNED:
        raise ValueError(f"unknown case {case!r}; known: {', '.join(TUNED)}")
    return min(TUNED[case], key=lambda tried: tried[1])[0]


def main(pattern: str = "") -> None:
    """Try what the log lacks, in the cases whose name contains `pattern`; a rate that diverges scores infinity."""
    from . import tuned

    deterministic()
    log = dict(tuned.TUNED)
    for name, case in cases().items():
        known = dict(log.get(name, []))
        if pattern in name and set(known) != set(RATES):
            log[name] = [(lr, known[lr] if lr in known else round(score(case, lr), 5)) for lr in RATES]
            print(name, log[name], flush=True)
            log = {name: log[name] for name in cases() if name in log}
            body = pprint.pformat(log, width=118, sort_dicts=False).replace("inf)", 'float("inf"))')
            head = f'"""Written by `python -m iclr26lib.lbf_npe.tuning`: {LOG}."""'
            Path(tuned.__file__).write_text(f"{head}\n\n# fmt: off\nTUNED = {body}\n")


if __name__ == "__main__":
    main(*sys.argv[1:2])
