"""Difficulty screening by a panel, and what it does to the scores of the panel and of models that took no part.

Re-scoring the screeners on what they failed shows a drop that is in part their own bad luck; a fresh model of equal
skill shows only that the kept items are harder.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import binom

from .scripted import response_probability

SLACK = 1e-9


def _share(name: str, value: float) -> float:
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must lie in [0, 1], got {value}")
    return float(value)


def most_right(panel: int, drop: float) -> int:
    """The largest number of screeners that may be right on an item that is not dropped: floor(drop x panel).

    panel: screeners, 1 or more. drop: items of which a larger share of the panel is right are dropped. Raises
    ValueError for an empty panel or a share outside [0, 1].
    """
    if panel < 1:
        raise ValueError(f"panel must be 1 or more, got {panel}")
    return int(np.floor(_share("drop", drop) * panel + SLACK))


def screen(correct, drop: float = 0.8, review: float = 0.6) -> dict[str, np.ndarray]:
    """Sort items by the share of a panel that is right on them.

    correct: (n_models, n_items) bool, True where a model is right. drop: items above this share are dropped. review:
    items from this share up to `drop` go to an expert; the rest is kept (the paper's figure).
    Returns {"keep", "review", "drop"}: three disjoint boolean masks (n_items,) that cover all items.
    Raises TypeError for values other than bool (0 and 1 pass), ValueError for another shape or review above drop.
    """
    table = np.asarray(correct)
    if table.dtype != bool and not (table.dtype.kind in "iuf" and np.isin(table, (0, 1)).all()):
        raise TypeError(f"correct must hold True and False only, got {table.dtype} {table.ravel()[:5].tolist()}")
    if table.ndim != 2 or 0 in table.shape:
        raise ValueError(f"correct must be (n_models, n_items), 1 or more of each, got shape {table.shape}")
    if _share("review", review) > _share("drop", drop):
        raise ValueError(f"review must be drop or less, got review {review} and drop {drop}")
    right, models = table.sum(0), len(table)
    dropped = right > drop * models + SLACK
    reviewed = (right >= review * models - SLACK) & ~dropped
    return {"keep": ~(dropped | reviewed), "review": reviewed, "drop": dropped}


def screened_accuracy(p, panel: int = 3, drop: float = 0.8) -> dict[str, float]:
    """Expected scores on the items that a panel does not drop, when its members are right independently given the item.

    p: (n_items,) chance that a model is right on each item, the same for screeners and fresh models. panel: screeners
    n. drop: as in `screen`; items for review count as not dropped. With t = floor(drop n) and F_n the distribution
    function of Binomial(n, p):
    Equation (screening): $A_{same} = \\frac{E[p\\,F_{n-1}(t-1)]}{E[F_n(t)]}$ and
    $A_{fresh} = \\frac{E[p\\,F_n(t)]}{E[F_n(t)]}$ (our derivation)
    Returns {"all", "same", "fresh", "kept"}: the mean of p, both scores (NaN where nothing can be kept), the share of
    items not dropped. Raises ValueError for p outside [0, 1], and as `most_right`.
    """
    chance = np.atleast_1d(np.asarray(p, dtype=float))
    if not chance.size or not ((chance >= 0) & (chance <= 1)).all():
        raise ValueError(f"p must hold chances in [0, 1], got {chance.ravel()[:5].tolist()}")
    t = most_right(panel, drop)
    stays = binom.cdf(t, panel, chance)
    right = binom.cdf(t - 1, panel - 1, chance) if t else np.zeros_like(chance)
    kept = float(stays.mean())
    same, fresh = ((float((chance * f).mean()) / kept if kept > 0 else float("nan")) for f in (right, stays))
    return {"all": float(chance.mean()), "same": same, "fresh": fresh, "kept": kept}


def item_chances(
    n_items: int, theta: float, rng: np.random.Generator, a: float = 1.0, c: float = 0.0, spread: float = 1.0
) -> np.ndarray:
    """Chances (n_items,) that a model of skill theta is right, for normal difficulties of standard deviation `spread`.

    rng: draws the difficulties. a, c: as in `response_probability`. Raises ValueError for no items or a negative
    spread.
    """
    if n_items < 1 or spread < 0:
        raise ValueError(f"need 1 item or more and a spread of 0 or more, got {n_items} and {spread}")
    return response_probability(theta, spread * rng.standard_normal(n_items), a, c)


def screening_runs(
    seeds: Sequence[int],
    n_items: int = 1200,
    panel: int = 3,
    fresh: int = 3,
    drop: float = 0.8,
    theta: float = 2.652,
    a: float = 1.0,
    c: float = 0.0,
    spread: float = 1.0,
) -> dict[str, list[float]]:
    """Screen simulated items and score the panel and fresh models of the same skill, once a seed.

    seeds: one run each. n_items: before screening. panel, fresh: models of each kind. drop: as in `screen`. theta, a,
    c, spread: skill and items, as in `item_chances`; the defaults give the panel about 90.7 % on all items.
    Returns lists, one value a seed: "all" and "fresh_all", mean scores of panel and fresh models on all items; "same"
    and "fresh", on the kept items; "kept", their share; "rescored", fresh - same, the part of the panel's drop that is
    selection on its own answers; "harder", fresh_all - fresh, the part that every model sees.
    Raises ValueError when a seed keeps no item, and as `screen` and `item_chances`.
    """
    found: dict[str, list[float]] = {}
    for seed in seeds:
        rng = np.random.default_rng([seed, 2])
        chance = item_chances(n_items, theta, rng, a, c, spread)
        first, second = (rng.random((models, n_items)) < chance for models in (panel, fresh))
        for name, value in _scores(first, second, drop).items():
            found.setdefault(name, []).append(value)
    return found


def _scores(panel: np.ndarray, fresh: np.ndarray, drop: float) -> dict[str, float]:
    kept = ~screen(panel, drop, min(drop, 0.6))["drop"]
    if not kept.any():
        raise ValueError(f"the panel drops all {kept.size} items: take more items, fewer or weaker screeners")
    score = {"all": panel.mean(), "fresh_all": fresh.mean(), "same": panel[:, kept].mean()}
    score |= {"fresh": fresh[:, kept].mean(), "kept": kept.mean()}
    score |= {"rescored": score["fresh"] - score["same"], "harder": score["fresh_all"] - score["fresh"]}
    return {name: float(value) for name, value in score.items()}


def threshold_curve(
    thresholds: Sequence[float], seed: int = 0, n_items: int = 4000, panel: int = 10, theta: float = 2.652
) -> dict[str, Any]:
    """Expected scores after screening by each of some thresholds, for the interactive figure.

    thresholds: shares of the panel, `drop` of `screen`. seed: of the items' difficulties. n_items, panel, theta: as in
    `screening_runs`. Returns {"threshold", "same", "fresh", "kept", "all"}, lists of equal length. Raises ValueError as
    `screened_accuracy` and for no thresholds.
    """
    if not len(thresholds):
        raise ValueError("thresholds must hold 1 share or more, got none")
    chance = item_chances(n_items, theta, np.random.default_rng([seed, 3]))
    rows = [screened_accuracy(chance, panel, threshold) for threshold in thresholds]
    return {"threshold": [float(t) for t in thresholds], **{k: [row[k] for row in rows] for k in rows[0]}}
