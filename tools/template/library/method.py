"""The method itself. TO WRITE: the paper's method in place of this running mean, one function an equation."""

import numpy as np

TRUTH = 1.0


def noisy(samples: int, seed: int) -> np.ndarray:
    """Values around the truth: float (samples,). Raises ValueError unless samples >= 1."""
    if samples < 1:
        raise ValueError(f"samples must be 1 or more, got {samples}")
    return TRUTH + np.random.default_rng(seed).standard_normal(samples)


def step(mean: float, value: float, count: int) -> float:
    """The mean after one more value, `count` values in all.

    mean: of the values before.
    Equation (1): $m_t = m_{t-1} + (x_t - m_{t-1}) / t$
    """
    return mean + (value - mean) / count


def running_mean(values: np.ndarray) -> np.ndarray:
    """The means of the first t values, t = 1, 2, ...: float (T,) from values (T,)."""
    means, mean = [], 0.0
    for count, value in enumerate(values, start=1):
        mean = step(mean, value, count)
        means.append(mean)
    return np.array(means)


def error(estimate: float, truth: float) -> float:
    """Distance of an estimate from the truth.

    Equation (2): $e = |m - \\mu|$
    """
    return abs(estimate - truth)


def compare(samples: int, seed: int) -> dict[str, float]:
    """Errors of the method and of its baseline, the last value alone, on `samples` values of one seed."""
    values = noisy(samples, seed)
    return {"method": error(running_mean(values)[-1], TRUTH), "baseline": error(values[-1], TRUTH)}
