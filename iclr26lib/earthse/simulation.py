"""Experiments with a known truth: every function takes plain arguments and returns JSON-able lists, one value a seed.

So `resume.resumable` can keep finished runs. Each draws from generators of its own, seeded by the run's seed.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import binom

from ..evalkit.intervals import expanded_tail, mean_ci, wilson
from .hinting import KINDS, hint_accuracy, steps_left
from .judge import ORDERS, favoured
from .scripted import response_probability

METHODS = ("wilson", "naive", "cluster")


def true_accuracy(theta: float, spread: float, a: float = 1.0, c: float = 0.25) -> float:
    """Mean chance of a right answer over normal difficulties, by Gauss-Hermite quadrature with 80 nodes.

    theta: skill, logits. spread: standard deviation of the difficulty, logits. a, c: as in `response_probability`.
    Raises ValueError for a negative spread, and as `response_probability`.
    """
    if spread < 0:
        raise ValueError(f"spread must be 0 or more, got {spread}")
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    return float(weights @ response_probability(theta, spread * nodes, a, c) / weights.sum())


def family_scores(
    reps: int, laws: int, per_law: int, theta: float, law_spread: float, item_spread: float, c: float, seed: int
) -> np.ndarray:
    """Scores (reps, laws * per_law), 0 or 1, of a model of known skill on fresh items; items of a law stand together.

    reps, laws, per_law: counts, 1 or more. theta: skill. law_spread, item_spread: standard deviations of what the items
    of a law share and of what is their own, logits. c: guess rate. seed: of the draws. Raises ValueError for a count
    below 1 or a negative spread.
    """
    if min(reps, laws, per_law) < 1 or min(law_spread, item_spread) < 0:
        raise ValueError(f"need counts of 1 or more and spreads of 0 or more, got {(reps, laws, per_law)}, "
                         f"{(law_spread, item_spread)}")  # fmt: skip
    rng = np.random.default_rng([seed, 1])
    b = law_spread * rng.standard_normal((reps, laws, 1)) + item_spread * rng.standard_normal((reps, laws, per_law))
    right = rng.random(b.shape) < response_probability(theta, b, 1.0, c)
    return right.reshape(reps, -1).astype(float)


def naive_interval(mean: np.ndarray, n: int, level: float = 0.95) -> np.ndarray:
    """Bootstrap intervals (2, ...) of shares, as if all n scores were independent, in the limit of many draws.

    mean: (...,) shares of n scores 0 and 1: a bootstrap sample's sum is Binomial(n, mean), so its percentiles need no
    draws. level: of the interval. Raises ValueError for a share outside [0, 1] or n below 2.
    """
    share = np.asarray(mean, dtype=float)
    if not ((share >= 0) & (share <= 1)).all():
        raise ValueError(f"a share must lie in [0, 1], got {share.ravel()[:5].tolist()}")
    tail = expanded_tail(n, level)
    return np.stack([binom.ppf(end, n, share) / n for end in (tail, 1 - tail)])


def intervals_of(scores: np.ndarray, laws: int, draws: int = 2000, seed: int = 0) -> dict[str, np.ndarray]:
    """95 % intervals (reps, 2) of each row's mean by the three methods: "wilson", "naive", "cluster".

    scores: (reps, N) of 0 and 1, items of one law together. laws: families of equal size. draws: of the cluster
    bootstrap, from `seed` on. Raises ValueError where `laws` doesn't divide N.
    """
    reps, n = scores.shape
    if n % laws:
        raise ValueError(f"{n} items cannot be {laws} families of equal size")
    families = np.repeat(np.arange(laws), n // laws)
    means = scores.mean(1)
    values, place = np.unique(means, return_inverse=True)
    cluster = [list(mean_ci(row, families, n=draws, seed=seed * reps + i))[1:] for i, row in enumerate(scores)]
    return {
        "wilson": np.array([wilson(mean, n) for mean in values])[place],
        "naive": naive_interval(means, n).T,
        "cluster": np.array(cluster),
    }


def coverage_runs(
    seeds: Sequence[int],
    reps: int = 400,
    laws: int = 24,
    per_law: int = 50,
    theta: float = 0.5,
    law_spread: float = 0.7,
    item_spread: float = 0.7,
    c: float = 0.25,
    draws: int = 2000,
) -> dict[str, Any]:
    """E1: how often 95 % intervals hold the true accuracy of a scripted model, with and without families.

    seeds: one set of `reps` replications each. laws, per_law, theta, law_spread, item_spread, c: as in `family_scores`;
    without families all of the spread is the items' own. draws: of the cluster bootstrap.
    Returns {"truth", "families": {method: [coverage a seed]}, "independent": ..., "width": {method: [mean width a seed,
    with families]}}, methods as in `intervals_of`. Raises ValueError as `family_scores`.
    """
    total = float(np.hypot(law_spread, item_spread))
    truth = true_accuracy(theta, total, 1.0, c)
    found: dict[str, Any] = {"truth": truth}
    found |= {key: {method: [] for method in METHODS} for key in ("families", "independent", "width")}
    for seed in seeds:
        for design, law, own in (("families", law_spread, item_spread), ("independent", 0.0, total)):
            scores = family_scores(reps, laws, per_law, theta, law, own, c, seed)
            for method, ends in intervals_of(scores, laws, draws, seed).items():
                found[design][method].append(float(((ends[:, 0] <= truth) & (truth <= ends[:, 1])).mean()))
                if design == "families":
                    found["width"][method].append(float(np.ptp(ends, axis=1).mean()))
    return found


def judge_runs(
    seeds: Sequence[int], n_items: int = 1200, bias: float = 1.0, quality: float = 0.0, spread: float = 0.0
) -> dict[str, list[float]]:
    """E5: win rates of a model against references before a judge that favours the second answer.

    seeds: one run each. n_items: compared. bias: logits by which the second place is favoured. quality: the model's
    mean advantage, logits; spread: its standard deviation over items.
    Returns {"fixed", "reversed", "swap"}: win rates, one a seed. Raises ValueError for no items or a negative spread.
    """
    if n_items < 1 or spread < 0:
        raise ValueError(f"need 1 item or more and a spread of 0 or more, got {n_items} and {spread}")
    found: dict[str, list[float]] = {order: [] for order in ORDERS}
    for seed in seeds:
        rng = np.random.default_rng([seed, 5])
        advantage = quality + spread * rng.standard_normal(n_items)
        wins = {order: rng.random(n_items) < favoured(advantage, bias, order) for order in ("fixed", "reversed")}
        rates = {order: float(won.mean()) for order, won in wins.items()}
        for order, rate in {**rates, "swap": (rates["fixed"] + rates["reversed"]) / 2}.items():
            found[order].append(rate)
    return found


def hint_runs(
    seeds: Sequence[int], n_items: int = 400, steps: int = 4, q: float = 0.6, early: float = 0.2
) -> dict[str, Any]:
    """E6: accuracy after k = 0..K hints of three kinds, for a solver that does each step right with chance q.

    seeds: one run each. n_items: open items. steps: K, of every chain. q: of the solver. early: share of chains that
    hold the answer in a step before the last (any, equally likely); the last one always does.
    Returns {"full", "masked", "self"}: accuracies (seeds, K + 1); and "expected": {kind: (seeds, K + 1)}, what they are
    on average for the same chains. The luck of a step is the same for all kinds and k. Raises ValueError for no items,
    early outside [0, 1], and as `hint_accuracy`.
    """
    if n_items < 1 or not 0 <= early <= 1:
        raise ValueError(f"need 1 item or more and early in [0, 1], got {n_items} and {early}")
    found: dict[str, Any] = {kind: [] for kind in KINDS}
    found["expected"] = {kind: [] for kind in KINDS}
    for seed in seeds:
        rng = np.random.default_rng([seed, 6])
        leak = np.where(rng.random(n_items) < early, rng.integers(1, max(steps, 2), n_items), steps)
        failed = rng.random((n_items, steps)) >= q
        for kind in KINDS:
            left = [steps_left(steps, k, kind, leak) for k in range(steps + 1)]
            found[kind].append([float((~(failed & todo).any(1)).mean()) for todo in left])
            expected = [hint_accuracy(q, steps, k, kind, leak).mean() for k in range(steps + 1)]
            found["expected"][kind].append([float(chance) for chance in expected])
    return found
