"""Intervals of evalkit: published values, brute force, coverage."""

import time
from itertools import product

import numpy as np
import pytest
from scipy import optimize, stats
from statsmodels.stats.proportion import proportion_confint

from iclr26lib.evalkit import coverage, mean_ci, paired_diff_ci, wilson
from iclr26lib.evalkit.intervals import bootstrap_means, expanded_tail


@pytest.mark.equation("evalkit", "wilson")
def test_wilson_has_the_published_values_and_those_of_statsmodels():
    assert wilson(0.8, 10) == pytest.approx((0.490162, 0.943318), abs=1e-6)
    assert wilson(0.0, 20) == pytest.approx((0.0, 0.161125), abs=1e-6)
    for k, n, level in ((0, 3, 0.9), (3, 7, 0.95), (544, 1000, 0.99), (5, 5, 0.5)):
        assert wilson(k / n, n, level) == pytest.approx(proportion_confint(k, n, 1 - level, "wilson"), abs=1e-12)


@pytest.mark.equation("evalkit", "wilson")
def test_wilson_of_a_mean_that_is_no_count_inverts_the_score_test():
    mean, n, z = 0.337, 10, stats.norm.ppf(0.975)

    def test_statistic(p):
        return (mean - p) / np.sqrt(p * (1 - p) / n)

    lo = optimize.brentq(lambda p: test_statistic(p) - z, 1e-9, mean)
    hi = optimize.brentq(lambda p: test_statistic(p) + z, mean, 1 - 1e-9)
    assert wilson(mean, n) == pytest.approx((lo, hi), abs=1e-9)


@pytest.mark.equation("evalkit", "bootstrap")
def test_bootstrap_of_families_agrees_with_all_possible_samples():
    values, groups = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 0.0]), np.array([0, 0, 0, 1, 2, 2])
    families = [values[groups == g] for g in range(3)]
    every = np.sort([np.concatenate(drawn).mean() for drawn in product(families, repeat=3)])
    drawn = np.sort(bootstrap_means(values, groups, 200_000, 0))
    shares = {round(v, 9): np.isclose(every, v).mean() for v in every}
    found = {round(v, 9): np.isclose(drawn, v).mean() for v in np.unique(drawn.round(9))}
    assert found.keys() == shares.keys()
    assert all(abs(found[v] - shares[v]) < 0.005 for v in shares)


@pytest.mark.equation("evalkit", "bootstrap")
def test_families_of_one_are_single_scores():
    values = np.random.default_rng(0).random(50)
    single = bootstrap_means(values, None, 300, 4)
    assert np.allclose(single, bootstrap_means(values, np.arange(50), 300, 4))
    assert single.std() == pytest.approx(values.std() / np.sqrt(50), rel=0.15)


@pytest.mark.equation("evalkit", "expanded")
def test_the_expanded_interval_of_a_normal_mean_has_the_width_of_students():
    for units, level in ((8, 0.95), (24, 0.95), (40, 0.9)):
        plain = np.sqrt((units - 1) / units)  # a bootstrap distribution has the standard deviation of 1/n, not 1/(n-1)
        reach = -stats.norm.ppf(expanded_tail(units, level)) * plain
        assert reach == pytest.approx(stats.t.interval(level, units - 1)[1], rel=1e-9)
    assert expanded_tail(10**7) == pytest.approx(0.025, abs=1e-6)


def test_equal_scores_fall_back_to_wilson_and_say_so():
    none = mean_ci([0] * 20)
    assert tuple(none) == pytest.approx((0.0, 0.0, 0.161125), abs=1e-6)
    assert none.how == "Wilson on 20 scores, because all bootstrap draws agree"
    halves = mean_ci([0.5] * 8)
    assert (halves.lo, halves.hi) == pytest.approx(proportion_confint(4, 8, method="wilson"))
    families = mean_ci([1, 0, 0, 0] * 6, clusters=np.repeat(range(6), 4))
    assert families.how.startswith("Wilson on 6 families")
    assert (families.lo, families.hi) == pytest.approx(wilson(0.25, 6))
    one = mean_ci([1, 0, 1], clusters=["a"] * 3)
    assert (one.lo, one.hi) == pytest.approx(wilson(2 / 3, 1))
    assert (one.n, one.clusters) == (3, 1)
    tied = paired_diff_ci([1, 1, 0], [1, 1, 0])
    assert (tied.lo, tied.hi) == pytest.approx([2 * end - 1 for end in wilson(0.5, 3)])
    wide = mean_ci([4.0] * 5, bounds=(0, 10))
    assert (wide.lo, wide.hi) == pytest.approx([10 * end for end in wilson(0.4, 5)])


def test_methods_and_unpacking():
    scores = [1] * 8 + [0] * 2
    est, lo, hi = mean_ci(scores, method="wilson")
    assert (est, lo, hi) == pytest.approx((0.8, 0.490162, 0.943318), abs=1e-6)
    est, lo, hi = mean_ci(scores, n=500, seed=3)
    assert 0.3 < lo < est == 0.8 < hi <= 1
    many = np.random.default_rng(0).random(60)
    assert mean_ci(many, seed=3) == mean_ci(many, seed=3) != mean_ci(many, seed=4)
    assert mean_ci(scores).how == "expanded percentile bootstrap, 2000 draws of 10 scores"


def test_missing_scores_are_refused_unless_told_how_to_count():
    scores, families = [1.0, None, float("nan"), 0.0, 1.0], list("aabbc")
    with pytest.raises(ValueError, match="2 of 5 scores are missing; say missing='zero' or missing='drop'"):
        mean_ci(scores, families)
    assert mean_ci(scores, families, missing="zero").est == pytest.approx(0.4)
    dropped = mean_ci(scores, families, missing="drop")
    assert (dropped.est, dropped.n, dropped.clusters) == (pytest.approx(2 / 3), 3, 3)
    with pytest.raises(ValueError, match="no score is left"):
        mean_ci([None, None], missing="drop")
    a, b = [1, None, 1, 0], [0, 1, None, 0]
    with pytest.raises(ValueError, match="missing"):
        paired_diff_ci(a, b)
    assert paired_diff_ci(a, b, missing="zero").est == pytest.approx(0.25)
    assert (paired_diff_ci(a, b, missing="drop").est, paired_diff_ci(a, b, missing="drop").n) == (0.5, 2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"scores": []}, "non-empty list"),
        ({"scores": [[1, 0]]}, r"shape \(1, 2\)"),
        ({"scores": [np.inf, 0]}, "infinite"),
        ({"scores": [1, 54.4]}, r"must lie in \[0.0, 1.0\], got 54.4"),
        ({"clusters": [1]}, r"one family a score, got shape \(1,\) for 3 scores"),
        ({"method": "normal"}, "bootstrap, wilson, got 'normal'"),
        ({"method": "wilson", "clusters": [1, 2, 3]}, "ignores clusters"),
        ({"method": "wilson", "scores": [0, 1, 0.5]}, "scores 0 or 1, got 0.5"),
        ({"level": 95}, r"level must lie in \(0, 1\), got 95"),
        ({"n": 0}, "n must be 1 or more"),
        ({"missing": "mean"}, "zero, drop, got 'mean'"),
        ({"bounds": (1, 0)}, "low < high"),
    ],
)
def test_bad_arguments_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        mean_ci(**{"scores": [1, 0, 1], **arguments})


def test_more_bad_arguments():
    with pytest.raises(ValueError, match="same items, got 2 and 3"):
        paired_diff_ci([1, 0], [1, 0, 1])
    with pytest.raises(ValueError, match=r"b must lie in \[0.0, 1.0\], got 2"):
        paired_diff_ci([1, 0], [1, 2])
    for bad in ((1.5, 3), (0.5, 0)):
        with pytest.raises(ValueError, match="0 <= mean <= 1"):
            wilson(*bad)
    with pytest.raises(ValueError, match="units must be 2 or more, got 1"):
        expanded_tail(1)
    with pytest.raises(ValueError, match="reps must be 1 or more"):
        coverage(lambda rng: [1], 1, 0)


def test_pairing_makes_the_interval_of_a_difference_narrow():
    rng = np.random.default_rng(0)
    family = np.repeat(np.arange(24), 20)
    hard = rng.random(480) + 0.5 * rng.random(24)[family]
    a, b = (hard < 0.9).astype(float), (hard < 0.8).astype(float)
    paired = paired_diff_ci(a, b, family)
    apart = [mean_ci(x, family) for x in (a, b)]
    assert paired.est == pytest.approx(a.mean() - b.mean())
    assert 0 < paired.lo < paired.hi
    assert paired.hi - paired.lo < 0.6 * sum(x.hi - x.lo for x in apart)
    swapped = paired_diff_ci(b, a, family)
    assert (swapped.lo, swapped.hi) == pytest.approx((-paired.hi, -paired.lo))


def families_of(rng, G=24, m=50, spread=1.0):
    """Scores of a model whose skill differs by family; the truth is 0.5."""
    p = 1 / (1 + np.exp(-rng.normal(0, spread, G)))
    return (rng.random((G, m)) < p[:, None]).ravel().astype(float), np.repeat(np.arange(G), m)


def test_coverage_is_near_nominal_with_families_and_far_below_without():
    with_families = coverage(families_of, 0.5, 400, n=500)
    without = coverage(lambda rng: families_of(rng)[0], 0.5, 100, n=300)
    assert 0.92 <= with_families["coverage"] <= 0.975
    assert without["coverage"] < 0.7
    assert with_families["lo"] < with_families["coverage"] < with_families["hi"]
    assert with_families["coverage"] == np.mean(with_families["hit"])
    assert coverage(families_of, 0.5, 5, n=50) == coverage(families_of, 0.5, 5, n=50)
    assert coverage(families_of, 0.99, 20, n=50)["coverage"] == 0


def test_a_cluster_bootstrap_takes_milliseconds():
    scores, family = families_of(np.random.default_rng(0))
    times = []
    for _ in range(5):
        start = time.perf_counter()
        mean_ci(scores, family)
        times.append(time.perf_counter() - start)
    assert min(times) < 0.05
