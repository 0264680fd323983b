"""Experiments on the chapter's own items, asked of scripted models: graders (E3) and hints (E6).

Every function takes plain arguments and returns JSON-able lists, one value a seed.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..evalkit.intervals import mean_ci
from ..evalkit.items import Item
from .graders import MODES, grade
from .hinting import KINDS, HintSolver
from .items import make_items
from .prompts import steps
from .scripted import Scripted
from .tasks import SAFE_TASKS

CLOSED = ("mc", "tf", "fib")
SKILLS = (-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5)
NOISE = {"mc": 0.05, "tf": 0.05, "fib": 0.8}  # a letter is easily said in the wanted form, a quantity is not


def grader_runs(
    seeds: Sequence[int],
    n_items: int = 1200,
    skills: Sequence[float] = SKILLS,
    noise: Mapping[str, float] | None = None,
    draws: int = 2000,
) -> dict[str, Any]:
    """E3: the same answers under both graders, for models that know as much in every format.

    seeds: each makes its own items and models. n_items: over mc, tf and fib in equal shares. skills: one model each.
    noise: format -> share of answers in other words, `NOISE` when None. draws: of the cluster bootstrap.
    Returns lists, one entry a seed, of means over models: {"truth", "published", "tolerant"}: {format: ...}, the chance
    of a right answer and both scores; "canonical": share of the fib answers that are in the gold form, right or not,
    times the truth; "covered": share of models and formats whose interval of the tolerant score holds the truth;
    "gap_truth", "gap_published", "gap_tolerant": mc minus fib. Raises ValueError as `make_items` and `Scripted`.
    """
    found: dict[str, Any] = {key: {fmt: [] for fmt in CLOSED} for key in ("truth", "published", "tolerant")}
    found |= {"canonical": [], "covered": []}
    for seed in seeds:
        items = make_items(n_items, dict.fromkeys(CLOSED, 1.0), seed, SAFE_TASKS)
        models = [Scripted(skill, 100 * seed + i, noise_format=noise or NOISE) for i, skill in enumerate(skills)]
        covered = []
        for fmt in CLOSED:
            rows = [_model_row([item for item in items if item.fmt == fmt], model, draws) for model in models]
            for key in ("truth", "published", "tolerant"):
                found[key][fmt].append(float(np.mean([row[key] for row in rows])))
            covered += [row["covered"] for row in rows]
        found["covered"].append(float(np.mean(covered)))
        found["canonical"].append((1 - (noise or NOISE).get("fib", 0.0)) * found["truth"]["fib"][-1])
    for key in ("truth", "published", "tolerant"):
        found[f"gap_{key}"] = np.subtract(found[key]["mc"], found[key]["fib"]).tolist()
    return found


def _model_row(items: list[Item], model: Scripted, draws: int) -> dict[str, float]:
    """What one model scores on items of one format, and whether the tolerant interval holds its true skill."""
    truth = float(np.mean([model.probability(item) for item in items]))
    answers = [(item, model.answer(item)) for item in items]
    published, tolerant = ([grade(item, text, mode) for item, text in answers] for mode in MODES)
    interval = mean_ci(tolerant, [item.family for item in items], n=draws)
    row = {"truth": truth, "published": float(np.mean(published)), "tolerant": interval.est}
    return {**row, "covered": float(interval.lo <= truth <= interval.hi)}


def hint_item_runs(seeds: Sequence[int], n_items: int = 300, q: float = 0.5) -> dict[str, Any]:
    """E6 on real texts: tolerant scores of fib items after k = 0..K steps of the stored reasoning.

    seeds: each makes its own items and solver. n_items: fib items. q: chance that the solver does a step right.
    Returns {"full", "masked", "self"}: scores (seeds, K + 1), K = 3: the steps as they are, with the answer hidden, and
    written by the solver itself (which gives it nothing). Raises ValueError as `make_items` and `HintSolver`.
    """
    found: dict[str, Any] = {kind: [] for kind in KINDS}
    for seed in seeds:
        items, solver = make_items(n_items, {"fib": 1.0}, seed, SAFE_TASKS), HintSolver(q, seed)
        last = max(len(item.meta["reasoning_chain"]) for item in items)
        for kind in KINDS:
            scores = [[_hinted(item, solver, k, kind) for item in items] for k in range(last + 1)]
            found[kind].append(np.mean(scores, axis=1).tolist())
    return found


def _hinted(item: Item, solver: HintSolver, k: int, kind: str) -> float:
    length = len(item.meta["reasoning_chain"])
    shown = [] if kind == "self" else steps(item, min(k, length), kind == "masked")
    return grade(item, solver.answer(item, shown, length), "tolerant")
