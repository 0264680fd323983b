"""Screening, coverage, judges, hints and the score's orders, simulated with a known truth."""

import json
import math
from itertools import product

import numpy as np
import pytest

from iclr26lib.earthse import exploration, screening, simulation
from iclr26lib.earthse.embed import HashEmbedder
from iclr26lib.earthse.judge import ScriptedJudge
from iclr26lib.evalkit.intervals import mean_ci

# screening


def test_items_are_sorted_by_the_share_of_the_panel_that_is_right():
    right = np.arange(11)
    correct = np.arange(10)[:, None] < right  # item i is right for i of ten models
    found = screening.screen(correct)
    assert right[found["keep"]].tolist() == [0, 1, 2, 3, 4, 5]
    assert right[found["review"]].tolist() == [6, 7, 8]
    assert right[found["drop"]].tolist() == [9, 10]
    five = screening.screen(np.arange(5)[:, None] < np.arange(6))
    assert [np.flatnonzero(five[name]).tolist() for name in ("keep", "review", "drop")] == [[0, 1, 2], [3, 4], [5]]
    strict = screening.screen(correct, drop=0.3, review=0.3)
    assert right[strict["review"]].tolist() == [3]
    assert np.array_equal(sum(mask.astype(int) for mask in found.values()), np.ones(11))


def brute_force(p, panel, drop):
    """Scores on the kept items by running through all outcomes of the panel."""
    kept = same = fresh = 0.0
    for chance in p:
        for outcome in product((0, 1), repeat=panel):
            weight = math.prod(chance if right else 1 - chance for right in outcome) / len(p)
            if sum(outcome) <= drop * panel + 1e-9:
                kept, same, fresh = kept + weight, same + weight * sum(outcome) / panel, fresh + weight * chance
    return {"all": sum(p) / len(p), "same": same / kept, "fresh": fresh / kept, "kept": kept}


@pytest.mark.equation("earthse", "screening")
def test_screened_accuracy_has_the_worked_values_and_is_what_counting_gives():
    assert screening.screened_accuracy(0.9)["same"] == pytest.approx(0.630996, abs=1e-6)
    assert screening.screened_accuracy(0.9)["fresh"] == pytest.approx(0.9)
    assert screening.screened_accuracy(0.9)["kept"] == pytest.approx(0.271)
    assert screening.screened_accuracy(0.5)["same"] == pytest.approx(0.428571, abs=1e-6)
    for panel, drop in ((3, 0.8), (5, 0.8), (5, 0.4), (4, 0.99), (2, 1.0), (3, 0.0)):
        p = [0.1, 0.55, 0.9, 0.97]
        assert screening.screened_accuracy(p, panel, drop) == pytest.approx(brute_force(p, panel, drop)), (panel, drop)
    assert math.isnan(screening.screened_accuracy(1.0)["same"])


@pytest.mark.equation("earthse", "screening")
def test_the_simulation_agrees_with_the_closed_form_and_with_the_briefs_example():
    found = screening.screening_runs(range(3), n_items=20_000)
    chance = screening.item_chances(100_000, 2.652, np.random.default_rng(0))
    wanted = screening.screened_accuracy(chance)
    for name in ("same", "fresh", "all", "kept"):
        assert np.mean(found[name]) == pytest.approx(wanted[name], abs=0.01)
    assert np.mean(found["all"]) == pytest.approx(0.907, abs=0.005)
    assert np.mean(found["same"]) == pytest.approx(0.602, abs=0.012)
    assert np.mean(found["fresh"]) == pytest.approx(0.838, abs=0.012)
    assert np.subtract(found["fresh"], found["same"]).tolist() == pytest.approx(found["rescored"])
    assert found == screening.screening_runs(range(3), n_items=20_000)
    assert screening.screening_runs([2], n_items=20_000)["same"] == found["same"][2:]


def test_equal_items_get_no_harder_for_a_fresh_model():
    found = screening.screening_runs([0], n_items=100_000, theta=math.log(9), spread=0.0)
    assert found["same"][0] == pytest.approx(0.630996, abs=0.01)
    assert found["fresh"][0] == pytest.approx(0.9, abs=0.01)
    assert found["harder"][0] == pytest.approx(0, abs=0.01)


def test_a_sharper_threshold_makes_kept_items_look_harder():
    thresholds = [i / 10 for i in range(5, 11)]
    curve = screening.threshold_curve(thresholds, n_items=500)
    assert curve["threshold"] == thresholds
    for name in ("same", "fresh", "kept"):
        assert curve[name] == sorted(curve[name])
    assert curve["same"][-1] == pytest.approx(curve["all"][0])
    assert all(s <= f + 1e-12 for s, f in zip(curve["same"], curve["fresh"], strict=True))
    assert json.loads(json.dumps(curve)) == curve


# coverage


def test_the_true_accuracy_is_the_mean_over_difficulties():
    b = np.random.default_rng(0).standard_normal(400_000)
    assert simulation.true_accuracy(0.5, 1.3, 1.2) == pytest.approx(
        np.mean(0.25 + 0.75 / (1 + np.exp(-1.2 * (0.5 - 1.3 * b)))), abs=2e-3
    )
    assert simulation.true_accuracy(0.5, 0.0) == pytest.approx(0.25 + 0.75 / (1 + math.exp(-0.5)))


def test_scores_of_a_family_go_together_and_average_to_the_truth():
    scores = simulation.family_scores(300, 24, 10, 0.5, 1.5, 0.5, 0.25, seed=1)
    assert scores.shape == (300, 240)
    assert scores.mean() == pytest.approx(simulation.true_accuracy(0.5, math.hypot(1.5, 0.5)), abs=0.01)
    of_law = scores.reshape(300, 24, 10).mean(2)
    free = simulation.family_scores(300, 24, 10, 0.5, 0.0, 1.5, 0.25, seed=1).reshape(300, 24, 10).mean(2)
    assert of_law.std() > 1.5 * free.std()


def test_the_naive_interval_is_the_limit_of_the_bootstrap_without_families():
    scores = simulation.family_scores(1, 24, 50, 0.5, 0.7, 0.7, 0.25, seed=0)[0]
    lo, hi = simulation.naive_interval(scores.mean(), 1200)
    drawn = mean_ci(scores, n=4000)
    assert (lo, hi) == pytest.approx((drawn.lo, drawn.hi), abs=0.003)


def test_intervals_that_ignore_families_miss_the_truth_and_the_librarys_do_not():
    found = simulation.coverage_runs([0, 1], reps=150, draws=400)
    assert found["truth"] == pytest.approx(0.7017, abs=1e-4)
    means = {design: {k: np.mean(v) for k, v in found[design].items()} for design in ("families", "independent")}
    assert 0.9 < means["families"]["cluster"] < 0.99
    assert means["families"]["naive"] < 0.8
    assert means["families"]["wilson"] < 0.8
    assert all(0.91 < value < 0.99 for value in means["independent"].values())
    assert np.mean(found["width"]["cluster"]) > 1.6 * np.mean(found["width"]["naive"])
    assert json.loads(json.dumps(found)) == found
    assert simulation.coverage_runs([1], reps=150, draws=400)["families"]["cluster"] == found["families"]["cluster"][1:]


# judges and hints


def test_a_biased_order_makes_a_winner_of_a_tie_and_swapping_mends_it():
    found = simulation.judge_runs(range(4), n_items=20_000)
    assert np.mean(found["fixed"]) == pytest.approx(0.731059, abs=0.006)
    assert np.mean(found["reversed"]) == pytest.approx(0.268941, abs=0.006)
    assert np.mean(found["swap"]) == pytest.approx(0.5, abs=0.006)
    better = simulation.judge_runs(range(4), n_items=20_000, quality=1.0)
    assert (np.mean(better["fixed"]), np.mean(better["swap"])) == pytest.approx((0.880797, 0.690399), abs=0.006)
    fair = simulation.judge_runs([0], n_items=20_000, bias=0.0, spread=2.0)
    assert fair["fixed"][0] == pytest.approx(0.5, abs=0.015)


def test_hints_help_most_where_they_leak():
    found = simulation.hint_runs(range(3), n_items=4000)
    for kind in ("full", "masked", "self"):
        assert np.array(found[kind]) == pytest.approx(np.array(found["expected"][kind]), abs=0.035)
    full, masked, own = (np.array(found[kind]) for kind in ("full", "masked", "self"))
    assert np.array_equal(full[:, 0], masked[:, 0])
    assert (np.diff(full, axis=1) >= 0).all()
    assert (full[:, 1:] > masked[:, 1:]).all()
    assert (own == own[:, :1]).all()
    closed = simulation.hint_runs([0], n_items=4000, early=0.0)
    assert closed["full"][0][:4] == closed["masked"][0][:4]
    assert closed["full"][0][4] == 1
    assert simulation.hint_runs([0], n_items=50, steps=1)["masked"][0][1] == pytest.approx(0.6, abs=0.25)


# what the score rewards


def test_the_joint_bootstrap_draws_the_same_items_for_all():
    r, d = np.random.default_rng(0).random((2, 3, 40))
    r[1, ::4] = np.nan
    means = exploration.joint_bootstrap(r, d, draws=4000, seed=1)
    assert means["ses"].shape == (4000, 3)
    assert means["d"].mean(0) == pytest.approx(d.mean(1), abs=0.005)
    assert means["r"][:, 1].mean() == pytest.approx(np.nanmean(r[1]), abs=0.006)
    assert means["d"].std(0) == pytest.approx(d.std(1) / math.sqrt(40), rel=0.06)
    twins = exploration.joint_bootstrap(np.stack([r[0], r[0]]), np.stack([d[0], d[0] + 1]), draws=50)
    assert np.allclose(twins["d"][:, 1] - twins["d"][:, 0], 1)


def test_the_score_can_put_the_worse_and_scattered_model_first():
    rng = np.random.default_rng(0)
    r = {"deep": rng.integers(1, 4, 40) / 3, "scattered": rng.integers(0, 2, 40) / 3}
    d = {"deep": np.full(40, 1.5), "scattered": np.full(40, 10.0)}
    found = exploration.compare(r, d, draws=500)
    assert found["order"]["r"] == ["deep", "scattered"]
    assert found["order"]["ses"] == found["order"]["d"] == ["scattered", "deep"]
    assert found["tau"] == -1
    assert found["changed"] > 0.9
    assert found["capped"] == {"deep": 0, "scattered": 1}
    assert found["table"]["deep"]["ses"] == pytest.approx(1.5 * r["deep"].mean())
    lo, hi = found["interval"]["deep"]["ses"]
    assert lo < found["table"]["deep"]["ses"] < hi
    assert found["width"]["d"] == found["relative_width"]["d"] == 0
    assert found["width"]["ses"] > found["width"]["r"]
    assert found["relative_width"]["ses"] == pytest.approx(found["relative_width"]["r"])
    assert json.loads(json.dumps(found)) == found


def test_dialogues_become_retention_and_diversity():
    ref = [("review", "good old"), ("propose", "good new")]
    same = [[("review", "dull "), ("propose", "idea")]] * 3
    mixed = [[("review", "good "), ("propose", word)] for word in ("good good", "radar", "snow")]
    found = exploration.score_dialogues(
        [ref] * 3, [same, None, mixed], ScriptedJudge(lambda text: text.count("good")), HashEmbedder()
    )
    assert found["r"][::2] == pytest.approx([0, 1 / 3])
    assert found["d"][0] == pytest.approx(1)
    assert found["d"][2] == 10
    assert math.isnan(found["r"][1])
    assert math.isnan(found["d"][1])
    assert found["missing"] == {1: "no dialogue"}
    all_turns = exploration.score_dialogues(
        [ref], [mixed], ScriptedJudge(lambda t: t.count("good")), HashEmbedder(), "all"
    )
    assert all_turns["r"] == pytest.approx([1 / 3])
    assert exploration.joined(ref) == "good oldgood new"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: screening.screen([[0.5, 1]]), TypeError, "True and False only"),
        (lambda: screening.screen([["a"]]), TypeError, "True and False only"),
        (lambda: screening.screen([True]), ValueError, r"\(n_models, n_items\)"),
        (lambda: screening.screen(np.zeros((0, 4), bool)), ValueError, "1 or more of each"),
        (lambda: screening.screen([[True]], 0.5, 0.6), ValueError, "review must be drop or less"),
        (lambda: screening.screen([[True]], 1.5), ValueError, r"drop must lie in \[0, 1\], got 1.5"),
        (lambda: screening.screened_accuracy([1.2]), ValueError, r"chances in \[0, 1\], got \[1.2\]"),
        (lambda: screening.screened_accuracy(0.5, panel=0), ValueError, "panel must be 1 or more, got 0"),
        (lambda: screening.item_chances(0, 0.0, np.random.default_rng(0)), ValueError, "1 item or more"),
        (lambda: screening.screening_runs([0], 5, theta=90.0), ValueError, "the panel drops all 5 items"),
        (lambda: screening.threshold_curve([]), ValueError, "1 share or more, got none"),
        (lambda: simulation.true_accuracy(0, -1), ValueError, "spread must be 0 or more, got -1"),
        (lambda: simulation.family_scores(0, 1, 1, 0, 1, 1, 0, 0), ValueError, "counts of 1 or more"),
        (lambda: simulation.naive_interval(1.5, 10), ValueError, r"share must lie in \[0, 1\]"),
        (lambda: simulation.intervals_of(np.zeros((2, 10)), 3), ValueError, "10 items cannot be 3 families"),
        (lambda: simulation.judge_runs([0], 0), ValueError, "1 item or more"),
        (lambda: simulation.hint_runs([0], 0), ValueError, "1 item or more"),
        (lambda: simulation.hint_runs([0], early=2), ValueError, r"early in \[0, 1\]"),
        (lambda: exploration.equal_cosines([1.2], 3, 8, np.random.default_rng(0)), ValueError, r"\(n,\) in \[0, 1\]"),
        (lambda: exploration.equal_cosines([0.5], 8, 8, np.random.default_rng(0)), ValueError, r"D >= M \+ 1"),
        (lambda: exploration.score_dialogues([[]], [], None, None), ValueError, "for 1 references, got 0 items"),
        (lambda: exploration.score_dialogues([1, 1], [[1], [1, 2]], None, None), ValueError, "unequal M"),
        (lambda: exploration.at_cap([np.nan]), ValueError, "no diversity is known"),
        (lambda: exploration.joint_bootstrap([[1]], [[1, 2]]), ValueError, r"\(models, N\) alike"),
        (lambda: exploration.compare({"a": [1]}, {"a": [1]}), ValueError, "2 models or more"),
        (lambda: exploration.compare({"a": [1], "b": [1]}, {"a": [1], "c": [1]}), ValueError, "same 2 models"),
    ],
)
def test_wrong_input_of_the_simulations_fails_at_once(call, error, message):
    with pytest.raises(error, match=message):
        call()
