"""Means of scores with intervals that know of item families.

Items of one law, page or source resemble each other: the bootstrap draws whole families. Where all draws give one
value, a bootstrap interval would have no width, and Wilson's interval takes its place and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from ..stats import proportion_interval

METHODS = ("bootstrap", "wilson")
MISSING = ("zero", "drop")
CHUNK = 1 << 20  # numbers drawn at a time


@dataclass(frozen=True)
class MeanInterval:
    """An estimate with its two-sided interval; `est, lo, hi = interval` works.

    n: scores used. clusters: families drawn from. how: how the interval was made, in words.
    """

    est: float
    lo: float
    hi: float
    how: str
    n: int
    clusters: int

    def __iter__(self) -> Iterator[float]:
        return iter((self.est, self.lo, self.hi))


def wilson(mean: float, n: int, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval (lo, hi) of a share `mean` in [0, 1] seen in `n` independent trials.

    Equation (wilson): $\\frac{\\hat p + z^2/2n \\pm z\\sqrt{\\hat p(1-\\hat p)/n + z^2/4n^2}}{1 + z^2/n}$,
    $z = \\Phi^{-1}\\left(\\tfrac{1 + \\mathrm{level}}{2}\\right)$ (Wilson, 1927). A mean of scores between 0 and 1 may
    stand for the share: no scores in [0, 1] with that mean spread more.
    Raises ValueError unless 0 <= mean <= 1, n >= 1 and 0 < level < 1.
    """
    _check_level(level)
    if not 0 <= mean <= 1 or n < 1:
        raise ValueError(f"need 0 <= mean <= 1 and n >= 1, got mean {mean}, n {n}")
    successes = round(mean * n)
    if abs(successes - mean * n) < 1e-9:
        interval = proportion_interval(successes, n, level)
        return interval.low, interval.high
    z = float(special.ndtri((1 + level) / 2))
    centre, shrink = mean + z * z / (2 * n), 1 + z * z / n
    half = z * np.sqrt(mean * (1 - mean) / n + (z / (2 * n)) ** 2)
    return float((centre - half) / shrink), float((centre + half) / shrink)


def mean_ci(
    scores: Sequence,
    clusters: Sequence | None = None,
    method: str = "bootstrap",
    level: float = 0.95,
    n: int = 2000,
    seed: int = 0,
    missing: str | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> MeanInterval:
    """Mean of `scores` (N,) with its interval.

    clusters: (N,) labels of families, drawn whole; None draws single scores. method: "bootstrap" (expanded percentile,
    `n` draws from `seed`) or "wilson" (scores 0 and 1, independent). missing: "zero" counts None and NaN as 0, "drop"
    leaves them out. bounds: the range of a score; where all draws agree, Wilson's interval on that range is given, with
    families (not scores) as trials, and `how` says so.
    Raises ValueError for NaN unless `missing` is given, scores outside the bounds, or a bad argument.
    """
    values, groups = _prepared(scores, clusters, missing, bounds)
    _check_choice("method", method, METHODS)
    _check_level(level)
    if method == "wilson":
        return _wilson_of(values, clusters, level)
    draws = bootstrap_means(values, groups, n, seed)
    return _percentile(values, groups, draws, level, bounds)


def paired_diff_ci(
    a: Sequence,
    b: Sequence,
    clusters: Sequence | None = None,
    level: float = 0.95,
    n: int = 2000,
    seed: int = 0,
    missing: str | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> MeanInterval:
    """Mean of a - b, scores (N,) of two models on the same items in the same order, with its bootstrap interval.

    clusters, level, n, seed, bounds: as in `mean_ci`. missing: "zero" counts a missing score as 0, "drop" leaves out
    the item. Raises ValueError for unequal lengths, and as `mean_ci`.
    """
    first, second = (_column(values, name) for values, name in ((a, "a"), (b, "b")))
    if len(first) != len(second):
        raise ValueError(f"a paired comparison needs scores of the same items, got {len(first)} and {len(second)}")
    for values, name in ((first, "a"), (second, "b")):
        _check_bounds(values[np.isfinite(values)], bounds, name)
    if missing == "zero":
        first, second = np.nan_to_num(first, nan=0.0), np.nan_to_num(second, nan=0.0)
    width = bounds[1] - bounds[0]
    return mean_ci(first - second, clusters, "bootstrap", level, n, seed, missing, (-width, width))


def bootstrap_means(values: np.ndarray, groups: np.ndarray | None, n: int = 2000, seed: int = 0) -> np.ndarray:
    """Means (n,) of `n` bootstrap samples of `values` (N,).

    groups: (N,) integers 0..G-1, drawn with all of their values, G a sample; None draws N single values.
    Equation (bootstrap): $\\bar x^* = \\sum_{k=1}^{G} S_{g_k} \\Big/ \\sum_{k=1}^{G} n_{g_k}$, $g_k$ uniform on
    $\\{1..G\\}$, $S_g$ and $n_g$ the sum and number of the values of family $g$ (cluster bootstrap, standard)
    Raises ValueError for n below 1.
    """
    if n < 1:
        raise ValueError(f"n must be 1 or more, got {n}")
    sums = values if groups is None else np.bincount(groups, values)
    sizes = None if groups is None else np.bincount(groups).astype(float)
    rng, G = np.random.default_rng(seed), len(sums)
    means = np.empty(n)
    rows = max(1, CHUNK // G)
    for start in range(0, n, rows):
        drawn = rng.integers(0, G, (min(rows, n - start), G), dtype=np.int32)
        totals = sums[drawn].sum(1)
        means[start : start + rows] = totals / (G if sizes is None else sizes[drawn].sum(1))
    return means


def expanded_tail(units: int, level: float = 0.95) -> float:
    """Share of bootstrap draws beyond each end of an interval from `units` scores or families.

    Equation (expanded): $\\alpha' = \\Phi\\bigl(-\\sqrt{G/(G-1)}\\;t_{(1+\\mathrm{level})/2,\\,G-1}\\bigr)$ (Hesterberg
    2015: the plain percentile interval of few units is too narrow)
    Raises ValueError for fewer than 2 units or a level outside (0, 1).
    """
    _check_level(level)
    if units < 2:
        raise ValueError(f"units must be 2 or more, got {units}")
    t = special.stdtrit(units - 1, (1 + level) / 2)
    return float(special.ndtr(-np.sqrt(units / (units - 1)) * t))


def _percentile(values: np.ndarray, groups: Any, draws: np.ndarray, level: float, bounds: tuple) -> MeanInterval:
    """The expanded percentile interval of the draws, or Wilson's where they all agree."""
    mean, trials = float(values.mean()), len(values) if groups is None else int(groups.max()) + 1
    unit = "scores" if groups is None else "families"
    if np.ptp(draws) > 1e-12 * (bounds[1] - bounds[0]):
        tail = expanded_tail(trials, level)
        lo, hi = (float(q) for q in np.quantile(draws, [tail, 1 - tail]))
        how = f"expanded percentile bootstrap, {len(draws)} draws of {trials} {unit}"
        return MeanInterval(mean, lo, hi, how, len(values), trials)
    share = (mean - bounds[0]) / (bounds[1] - bounds[0])
    lo, hi = (bounds[0] + (bounds[1] - bounds[0]) * end for end in wilson(min(max(share, 0.0), 1.0), trials, level))
    how = f"Wilson on {trials} {unit}, because all bootstrap draws agree"
    return MeanInterval(mean, lo, hi, how, len(values), trials)


def _wilson_of(values: np.ndarray, clusters: Any, level: float) -> MeanInterval:
    if clusters is not None:
        raise ValueError("Wilson's interval ignores clusters; use method='bootstrap', or clusters=None")
    if not np.isin(values, (0, 1)).all():
        raise ValueError(f"method='wilson' needs scores 0 or 1, got {values[~np.isin(values, (0, 1))][0]}")
    lo, hi = wilson(float(values.mean()), len(values), level)
    return MeanInterval(float(values.mean()), lo, hi, f"Wilson on {len(values)} scores", len(values), len(values))


def _prepared(scores: Any, clusters: Any, missing: Any, bounds: tuple) -> tuple[np.ndarray, np.ndarray | None]:
    """Scores without gaps, and the numbers of their families."""
    values = _column(scores, "scores")
    groups = None if clusters is None else np.asarray(clusters)
    if groups is not None and groups.shape != values.shape:
        raise ValueError(f"clusters must name one family a score, got shape {groups.shape} for {len(values)} scores")
    if missing is not None:
        _check_choice("missing", missing, MISSING)
    gaps = np.isnan(values)
    if gaps.any() and missing is None:
        raise ValueError(f"{gaps.sum()} of {len(values)} scores are missing; say missing='zero' or missing='drop'")
    if missing == "drop":
        values, groups = values[~gaps], None if groups is None else groups[~gaps]
    values = np.nan_to_num(values, nan=0.0) if missing == "zero" else values
    if len(values) == 0:
        raise ValueError("no score is left after dropping the missing ones")
    _check_bounds(values, bounds, "scores")
    return values, None if groups is None else np.unique(groups, return_inverse=True)[1].ravel()


def _column(values: Any, name: str) -> np.ndarray:
    column = np.asarray(values, dtype=float)
    if column.ndim != 1 or len(column) == 0:
        raise ValueError(f"{name} must be a non-empty list of numbers, got shape {column.shape}")
    if np.isinf(column).any():
        raise ValueError(f"{name} holds an infinite value")
    return column


def _check_bounds(values: np.ndarray, bounds: tuple, name: str) -> None:
    if len(bounds) != 2 or not bounds[0] < bounds[1]:
        raise ValueError(f"bounds must be (low, high), low < high, got {bounds}")
    slack = 1e-9 * (bounds[1] - bounds[0])
    outside = values[(values < bounds[0] - slack) | (values > bounds[1] + slack)]
    if len(outside):
        raise ValueError(f"{name} must lie in [{bounds[0]}, {bounds[1]}], got {outside[0]}; give `bounds` if they may")


def _check_choice(name: str, value: Any, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level must lie in (0, 1), got {level}")


def coverage(
    make_scores: Callable[[np.random.Generator], Any],
    truth: float,
    reps: int = 400,
    seed: int = 0,
    interval: Callable[..., MeanInterval] = mean_ci,
    **settings: Any,
) -> dict[str, Any]:
    """How often the interval of fresh scores holds `truth`.

    make_scores: generator -> scores (N,), or (scores, clusters). reps: replications, one stream of `seed` each.
    interval: (scores, clusters, seed=, **settings) -> MeanInterval. Returns coverage with its own Wilson interval lo,
    hi; reps; width, the mean width; hit, one 0 or 1 a replication.
    Raises ValueError for reps below 1, and as the interval.
    """
    if reps < 1:
        raise ValueError(f"reps must be 1 or more, got {reps}")
    hits, widths = [], []
    for number, stream in enumerate(np.random.SeedSequence(seed).spawn(reps)):
        made = make_scores(np.random.default_rng(stream))
        scores, clusters = made if isinstance(made, tuple) else (made, None)
        found = interval(scores, clusters, seed=number, **settings)
        hits.append(int(found.lo <= truth <= found.hi))
        widths.append(found.hi - found.lo)
    lo, hi = wilson(sum(hits) / reps, reps)
    width = float(np.mean(widths))
    return {"coverage": sum(hits) / reps, "lo": lo, "hi": hi, "reps": reps, "width": width, "hit": hits}
