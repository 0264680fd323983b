"""The exercises and pictures of the idea notebook, and what the exercises ask of the library."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from iclr26lib import style
from iclr26lib.earthse import figures
from iclr26lib.earthse.exercises import EXERCISES
from iclr26lib.earthse.judge import win_rate
from iclr26lib.earthse.screening import threshold_curve
from iclr26lib.earthse.ses import mean_cosine, mean_pairwise_cosine, ses
from iclr26lib.exercises import WrongAnswer
from tools.contract import plant

# the exercises


@pytest.mark.parametrize("name", EXERCISES)
def test_checkers_take_the_solution_and_the_library_and_name_each_mistake(name):
    exercise = EXERCISES[name]
    assert "right" in exercise.check(exercise.solution)
    assert "right" in exercise.check(plant.library_function(exercise))
    assert len(exercise.mistakes) >= 3
    for label, mistake in exercise.mistakes.items():
        with pytest.raises(WrongAnswer) as caught:
            exercise.check(mistake.fn)
        assert str(caught.value) == f"{exercise.id}: {label}. {mistake.message}"


@pytest.mark.equation("earthse", "ses")
def test_means_are_each_over_the_items_where_they_exist():
    same, apart, spread = [[1, 0], [2, 0]], [[1, 0], [0, 1]], [[1, 0], [0.8, 0.6]]
    cosine = (1.8 / 2) / np.hypot(0.9, 0.3)  # of either row of `spread` with their mean
    d = [1.0, 10.0, 1 / (10 * (cosine - 0.9)), 10.0]
    found = ses([3, None, 2, 1], [same, apart, spread, apart], 2)
    assert found["r"] == pytest.approx((1 + 0.5 + 0) / 3)
    assert found["d"] == pytest.approx(sum(d) / 4)  # the item without a rank has a diversity
    assert found["ses"] == pytest.approx((1 * d[0] + 0.5 * d[2] + 0 * d[3]) / 3)


@pytest.mark.equation("earthse", "bias")
def test_win_rates_by_hand_and_in_the_limit_of_an_endless_bias():
    rows = [("q", "abc", "abc"), ("q", "abc", "abcd"), ("q", "abcd", "abc"), ("babble", "a", "b"), ("shy", "a", "ab")]
    items = [SimpleNamespace(id=str(i), question=q, answer=a) for i, (q, a, _) in enumerate(rows)]
    outputs = [output for *_, output in rows]

    def longer(question, first, second):  # the second of equally long answers
        letter = "B" if len(second) >= len(first) else "A"
        return {"babble": "Both.", "shy": letter.lower()}.get(question, letter)

    rates = {order: win_rate(items, outputs, longer, order)["rate"] for order in ("fixed", "reversed", "swap")}
    assert rates == pytest.approx({"fixed": 2 / 5, "reversed": 1 / 5, "swap": 3 / 10})
    rates = {order: win_rate(items, outputs, lambda *_: "B", order)["rate"] for order in ("fixed", "reversed", "swap")}
    assert rates == {"fixed": 1.0, "reversed": 0.0, "swap": 0.5}


# the pictures


@pytest.fixture(autouse=True)
def one_style():
    style.use()


@pytest.mark.parametrize("rho", [-0.3, 0.0, 0.5, 0.85, 0.95, 1.0])
def test_the_arrows_have_the_cosine_that_they_are_given(rho):
    rows = figures.fan(rho)
    assert mean_pairwise_cosine(rows) == pytest.approx(rho, abs=1e-12)
    assert mean_cosine(rows) == pytest.approx(np.linalg.norm(rows.mean(0)), abs=1e-12)
    with pytest.raises(ValueError, match=r"\[-0\.5, 1\], got 2"):
        figures.fan(2)


def test_figures_draw_at_the_extremes_and_tell_frames_apart():
    alts = set()
    for rho in (0.5, 0.742, 0.85, 1.0):
        for rank in (1, 2, 3, 4):
            assert isinstance(figures.rewards(rho, rank), Figure)
            alts.add(figures.rewards_alt(rho, rank))
    assert len(alts) == 16
    assert "cap of 10 for 3 samples" in figures.rewards_alt(0.5, 1)
    assert "retention is 0.67 and SES 1.37" in figures.rewards_alt(0.85, 3)
    shown = figures.rewards(0.85, 3)
    point = next(line for line in shown.axes[2].lines if line.get_marker() == "o")
    assert (point.get_xdata()[0], point.get_ydata()[0]) == pytest.approx((2 / 3, 2.054), abs=1e-3)
    assert not plt.get_fignums()


def test_the_screening_picture_shows_the_curves_values():
    curves = {n: threshold_curve([0.5, 0.8, 1.0], panel=n) for n in (3, 10)}
    texts = {figures.screening_alt(curves, t) for t in (0.5, 0.8, 1.0)}
    assert len(texts) == 3
    assert "they lose 0 points and fresh models of the same skill 0" in figures.screening_alt(curves, 1.0)
    shown = figures.screening(curves, 0.8)
    dots = [line.get_ydata()[0] for line in shown.axes[0].lines if line.get_marker() == "o"]
    assert dots == [curves[3]["fresh"][1], curves[3]["same"][1]]
    with pytest.raises(ValueError, match=r"must be one of \[0\.5, 0\.8, 1\.0\], got 0\.7"):
        figures.screening(curves, 0.7)


def test_the_other_pictures_draw_what_they_are_given():
    bars = figures.problem({fmt: (0.8, 0.1 * i, 0.75) for i, fmt in enumerate(("mc", "tf", "fib"))}).axes[1].patches
    assert [bar.get_height() for bar in bars] == pytest.approx([0.8] * 3 + [0.0, 0.1, 0.2] + [0.75] * 3)
    ends = {"one": np.array([[0.1, 0.2], [0.4, 0.6]]), "two": np.array([[0.4, 0.6], [0.45, 0.55]])}
    shown = figures.families(ends, 0.5)
    assert [ax.get_title(loc="left") for ax in shown.axes] == ["one: 1 of 2 miss", "two: 0 of 2 miss"]
    lines = figures.hints({"full": [0.1, 0.5], "masked": [0.1, 0.3]}).axes[0].lines
    assert [list(line.get_ydata()) for line in lines] == [[0.1, 0.5], [0.1, 0.3]]
