"""Intervals over seeds, from scipy.stats.

The interval that judges a claim is Student's t over seeds (paired by seed where two methods are compared): with five
seeds a percentile bootstrap covers far less than its nominal 95 %. The bootstrap interval is recorded beside it.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Interval:
    """An estimate (mean over seeds) with its two-sided interval. `n`: number of seeds."""

    estimate: float
    low: float
    high: float
    n: int


def _column(values, name: str) -> np.ndarray:
    column = np.asarray(values, dtype=float)
    if column.ndim != 1 or len(column) == 0:
        raise ValueError(f"{name} must be a non-empty list of one number a seed, got shape {column.shape}")
    if not np.isfinite(column).all():
        raise ValueError(f"{name} holds a value that is not finite: {column.tolist()}")
    return column


def paired_difference(ours, against) -> np.ndarray:
    """ours - against, one number a seed. Raises ValueError when the lengths differ or a value is not finite."""
    a, b = _column(ours, "ours"), _column(against, "against")
    if len(a) != len(b):
        raise ValueError(f"paired comparison needs equal numbers of seeds, got {len(a)} and {len(b)}")
    return a - b


def t_interval(values, confidence: float = 0.95) -> Interval:
    """Mean of `values` (one a seed) with Student's t interval; infinite for one seed, of zero width for equal values.

    Raises ValueError when `values` is empty or not finite, or confidence is not in (0, 1).
    """
    column = _column(values, "values")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie in (0, 1), got {confidence}")
    mean, n = float(column.mean()), len(column)
    if n == 1:
        return Interval(mean, -np.inf, np.inf, n)
    error = float(stats.sem(column))
    if np.ptp(column) == 0 or error == 0:  # equal values, or a spread below the smallest float
        return Interval(float(column[0]), float(column[0]), float(column[0]), n)
    low, high = stats.t.interval(confidence, n - 1, loc=mean, scale=error)
    return Interval(mean, float(low), float(high), n)


def bootstrap_interval(values, confidence: float = 0.95, seed: int = 0) -> Interval:
    """Mean of `values` with the percentile bootstrap interval (9,999 resamples). Raises ValueError as `t_interval`."""
    column = _column(values, "values")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie in (0, 1), got {confidence}")
    if len(column) == 1 or np.ptp(column) == 0:
        return t_interval(column, confidence)
    result = stats.bootstrap(
        (column,), np.mean, confidence_level=confidence, method="percentile", rng=np.random.default_rng(seed)
    ).confidence_interval
    return Interval(float(column.mean()), float(result.low), float(result.high), len(column))


def proportion_interval(successes: int, n: int, confidence: float = 0.95) -> Interval:
    """Share successes/n with the Wilson interval. Raises ValueError unless 0 <= successes <= n and n >= 1."""
    if not 0 <= successes <= n or n < 1:
        raise ValueError(f"need 0 <= successes <= n and n >= 1, got {successes} of {n}")
    ci = stats.binomtest(successes, n).proportion_ci(confidence, method="wilson")
    return Interval(successes / n, float(ci.low), float(ci.high), n)
