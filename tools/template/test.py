"""The oracles of the chapter. TO WRITE: every equation against an independent form, and bad input."""

import numpy as np
import pytest

from iclr26lib.__SLUG__ import method


@pytest.mark.equation("__SLUG__", "1")
def test_the_running_mean_is_the_mean() -> None:
    values = method.noisy(50, seed=0)
    expected = [values[:count].mean() for count in range(1, 51)]
    np.testing.assert_allclose(method.running_mean(values), expected, rtol=1e-12)


@pytest.mark.equation("__SLUG__", "2")
@pytest.mark.parametrize(("estimate", "truth", "expected"), [(1.0, 4.0, 3.0), (4.0, 2.0, 2.0)])
def test_the_error_is_a_distance(estimate: float, truth: float, expected: float) -> None:
    assert method.error(estimate, truth) == expected


def test_no_values_are_refused() -> None:
    with pytest.raises(ValueError, match="samples must be 1 or more, got 0"):
        method.noisy(0, seed=0)
