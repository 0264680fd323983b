"""The runs of the chapter at toy sizes, their tuning and their figures."""

import math

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from iclr26lib.lbf_npe import experiments, plots, presets, rivals, simulators, tuning

LINE = {"width": 16, "depth": 2, "batch": 64, "steps": 30, "grid": 101, "K": 14, "test_pairs": 500}
PLANE = {
    "width": 16, "depth": 2, "batch": 32, "steps": 12, "grid": 12, "K": 4, "block": 5, "fine": 30, "test_x": 6,
    "pairs": 40,
}  # fmt: skip


def test_checkpoints_are_dense_and_end_with_the_run():
    assert experiments.checkpoints(4) == [0, 1, 2, 3, 4]
    assert experiments.checkpoints(60) == [0, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 60]
    with pytest.raises(ValueError, match="steps must be 1 or more, got 0"):
        experiments.checkpoints(0)


def test_every_start_of_the_basis_ends_alike_and_the_mixture_does_not():
    found = experiments.convexity([0, 1], 4)
    lbf, mixture = np.array(found["lbf"]), np.array(found["mixture"])
    assert lbf.shape == (2, 3, 4)
    assert mixture.shape == (2, 4)
    assert np.ptp(lbf, axis=2).max() < 1e-9
    np.testing.assert_allclose(lbf[0, :, 0], [2.1e-4, 1.4e-4, 5.3e-5], rtol=0.05)
    assert np.ptp(mixture, axis=1).min() > 1e-3
    assert mixture.min() > 0.012
    assert found == experiments.convexity([0, 1], 4)


def test_the_floor_of_the_mixtures_family_is_the_briefs():
    assert experiments.family_floor(8, 4) == pytest.approx(0.021, abs=0.004)


def test_the_floor_of_the_splines_falls_with_their_number():
    few, many = (experiments.spline_floor("photoz", K, 12) for K in (10, 40))
    assert 0 < many < few / 3
    assert experiments.spline_floor("sinusoid", 14, 8) < 5e-4


@pytest.mark.parametrize("arm", experiments.LINE_ARMS)
def test_an_arm_on_the_line(arm):
    run = experiments.train_line(arm, "sinusoid", [0, 1], 3e-3, **LINE)
    assert len(run["nll"]) == len(run["excess"]) == len(run["ks"]) == 2
    assert [sum(counts) for counts in run["pit"]] == [500, 500]
    assert np.shape(run["curve"]) == (len(run["steps"]), 2)
    assert run["nll"][0] - run["excess"][0] == pytest.approx(1.63587, abs=0.08)
    if arm == "lbf":
        assert run["curve"][-1][0] < run["curve"][0][0] - 0.05
        assert -0.01 < run["excess"][0] < 0.25


def test_a_seed_gives_the_same_beside_others_and_again():
    both = experiments.train_line("lbf", "sinusoid", [4, 5], 3e-3, **LINE)
    alone = experiments.train_line("lbf", "sinusoid", [5], 3e-3, **LINE)
    assert both["nll"][1] == pytest.approx(alone["nll"][0], abs=1e-4)


def test_the_excess_on_pairs_is_the_divergence():
    """For a uniform q: log of the box minus the mean entropy of the posterior, known from the best NLL."""
    world = simulators.simulator("ring")

    class Uniform(torch.nn.Linear):
        def log_prob(self, z, x):
            return torch.full((len(z),), -math.log(4.0))

    found = experiments.pair_excess(Uniform(1, 1), world, 4000, 80, 0)
    assert found == pytest.approx(math.log(4) - world.best_nll, abs=0.03)


@pytest.mark.parametrize("arm", experiments.PLANE_ARMS)
def test_an_arm_in_the_plane(arm):
    run = experiments.train_plane(arm, "ring", [0], 3e-3, **PLANE)
    assert all(0 < run[key][0] < 100 for key in ("fkl", "rkl", "at"))
    assert sum(run["levels"][0]) == 12
    assert (run["hidden"][0] > 0) == (arm == "lbf")


def test_the_ways_of_training_differ():
    base = experiments.train_plane("lbf", "ring", [0], 3e-3, **PLANE)["fkl"]
    changes = {"block": 0}, {"sphere": False}, {"monte_carlo": 50}, {"scale": 3.0}, {"grid": 10}
    others = [experiments.train_plane("lbf", "ring", [0], 3e-3, **PLANE | change)["fkl"] for change in changes]
    assert len({base[0], *(other[0] for other in others)}) == 1 + len(changes)


def test_a_pool_gives_its_own_rows():
    world = simulators.simulator("photoz")
    z, x = world.sample(5, torch.Generator().manual_seed(0))
    pool = experiments.Pool(world, z, x)
    drawn, seen = pool.sample(100, torch.Generator().manual_seed(1))
    assert pool.high == world.high
    assert {float(v) for v in drawn} == {float(v) for v in z}
    assert all((seen[i] == x[(z == drawn[i]).all(1)]).all() for i in range(100))
    run = experiments.train_line("lbf", "photoz", [0], 3e-3, **LINE | {"pool": 300, "K": 30})
    assert run["nll"][0] < 1.1


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: experiments.train_line("gan", "sinusoid", [0], 1e-3, **LINE), "unknown arm 'gan'"),
        (lambda: experiments.train_plane("gan", "ring", [0], 1e-3, **PLANE), "unknown arm 'gan'"),
        (lambda: tuning.best("nothing"), "unknown case 'nothing'; known: sinusoid lbf"),
        (lambda: presets.Preset(flow_seeds=6), "flow_seeds"),
        (lambda: presets.Preset(fine=20), "fine is larger"),
    ],
)
def test_wrong_words_are_named(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_eigenvi_needs_many_functions():
    values = {K: rivals.eigenvi("ring", [0, 1], K, 3000, 60) for K in (6, 16)}
    assert min(values[6]) > 0.8
    assert max(values[16]) < 0.2


def test_the_spiral_and_the_stars_train():
    sizes = {"K": 4, "width": 16, "depth": 2, "batch": 32, "steps": 3, "grid": 20, "block": 2}
    assert 1 < rivals.spiral([0], 1e-3, **sizes, test_pairs=100)["excess"][0] < 6
    found = rivals.stars(0, 4, 1e-3, batch=8, steps=2, nodes=64, block=2, scenes=20)
    assert 5 < found["excess"] < 15
    assert found["error"] > 0


def test_first_checkpoint_below_a_threshold():
    run = {"steps": [0, 10, 100], "curve": [[1.0, 0.1], [0.5, 0.1], [0.4, 0.01]], "best": [0.45, 0.0]}
    assert experiments.first_below(run, 0.06) == [10, 100]
    assert experiments.first_below(run, 0.2) == [10, 1], "step 0 counts as 1, so that it has a logarithm"
    assert experiments.first_below(run, 1e-9) == [100, 100]


def test_every_method_was_tuned_with_the_same_budget():
    from iclr26lib.lbf_npe.tuned import TUNED

    assert list(TUNED) == list(tuning.cases())
    for tries in TUNED.values():
        assert tuple(rate for rate, _ in tries) == tuning.RATES
    for case, tries in TUNED.items():
        assert dict(tries)[tuning.best(case)] == min(score for _, score in tries)


def test_figures_are_drawn():
    line = experiments.train_line("lbf", "sinusoid", [0], 3e-3, **LINE)
    ring = experiments.train_plane("mdn", "ring", [0], 3e-3, **PLANE)
    drawn = [
        plots.optima({"lbf": [[[1e-4, 1e-4]] * 3], "mixture": [[0.02, 0.03]]}, experiments.POINTS),
        plots.line_curves({"lbf": line}, 0.02),
        plots.plane_curves({"mdn": ring}),
        plots.functions({6: [1.0], 16: [0.03]}, [0.05], 20),
        plots.calibration({"PIT": line["pit"]}),
        plots.differences({"one": [1.0, 1.2], "two": [0.9]}, [1.0, 1.1], "nats", "before"),
    ]
    assert all(isinstance(figure, Figure) for figure in drawn)
    assert {label.get_text() for label in drawn[1].axes[0].get_legend().get_texts()} == {
        "LBF-NPE",
        "best 5 plain Gaussians found by EM",
    }
    x, y = drawn[1].axes[0].lines[0].get_data()
    assert x[0] == 0.7
    assert math.isclose(y[-1], line["curve"][-1][0] - line["best"][0], rel_tol=1e-6)
