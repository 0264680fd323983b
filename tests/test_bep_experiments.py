"""The chapter's measuring functions on small numbers worked by hand."""

import numpy as np
import pytest

from iclr26lib import scale, style
from iclr26lib.bep import costs, experiments, figures, presets, tuned, tuning

TASK = {"name": "prototypes", "n": 200, "n_test": 100, "D": 65, "C": 4, "p": 0.3}


def test_chosen_gate_looks_at_validation_only():
    validation, test = [[0.1, 0.9], [0.8, 0.2], [0.9, 0.95]], [[1, 2], [3, 4], [5, 6]]
    assert experiments.chosen_gate(validation, test, [0, 1]) == [3, 2]
    with pytest.raises(ValueError, match="no gate"):
        experiments.chosen_gate(validation, test, [])


def test_sufficient_gate_in_octaves():
    validation = [[0.99, 0.1], [0.5, 0.7], [0.9, 0.8], [1.0, 0.75]]
    assert experiments.sufficient_gate([0.0, 0.25, 0.5, 1.0], validation) == [-1.0, -1.0]
    with pytest.raises(ValueError, match="ascending"):
        experiments.sufficient_gate([1.0, 0.5], validation[:2])


def test_group_for():
    assert [experiments.group_for(w, 15) for w in (35, 75, 135, 7)] == [7, 15, 15, 7]
    with pytest.raises(ValueError, match="1 or more"):
        experiments.group_for(35, 0)


def test_gate_units_of_the_papers_setting():
    assert experiments.gate_units(0.05, 1035, 2 * 1035) == pytest.approx(1.14, abs=0.005)
    assert experiments.gate_units(0.05, 135, 270) == pytest.approx(0.41, abs=0.005)


def test_exactness_is_measured_and_can_fail(monkeypatch):
    arguments = {"task": TASK, "seed": 0, "width": 15, "batches": 2, "r": 0.5, "nu": 0.5}
    assert experiments.inexact_entries(**arguments) == 0
    real = experiments.BEPMLP.reinforce
    calls = []
    monkeypatch.setattr(
        experiments.BEPMLP, "reinforce", lambda net, p: calls.append(1) or (real(net, p) if len(calls) > 2 else None)
    )
    assert experiments.inexact_entries(**arguments) > 0


def test_merged_runs():
    one = {"test": [0.5], "validation": [0.4], "train": [0.6], "curve": [[0.9], [0.8]], "seconds": 1.0}
    two = {"test": [0.7], "validation": [0.5], "train": [0.9], "curve": [[0.7], [0.1]], "seconds": 2.0}
    both = experiments.merged([one, two])
    assert both["test"] == [0.5, 0.7]
    assert both["curve"] == [[0.9, 0.7], [0.8, 0.1]]
    assert both["seconds"] == 3.0


def test_vacuous_runs_are_refused():
    for batches in (0, 99):
        with pytest.raises(ValueError, match="batches of"):
            experiments.inexact_entries(task=TASK, seed=0, width=15, batches=batches, r=0.5, nu=0.5)
    with pytest.raises(ValueError, match="epochs"):
        experiments.train_mlp(rule="bep", task=TASK, seeds=[0], width=15, epochs=0)
    series = {"name": "italy_power_demand", "bits": 2, "limit": 60}
    with pytest.raises(ValueError, match="batch_share"):
        experiments.train_rnn(rule="bep", task=series, seeds=[0], width=15, epochs=1, batch_share=0)
    with pytest.raises(ValueError, match="no gate above 0"):
        experiments.sufficient_gate([0.0, 0.5], [[0.9], [0.1]])


@pytest.mark.parametrize(
    "change",
    [
        {"widths": (35,)},
        {"gate_widths": (35,)},
        {"gate_nus": (0.1, 0.5)},
        {"rnn_nus": (0.05, 0.4)},
        {"seeds": 0},
        {"flip": 0.7},
    ],
)
def test_sizes_on_which_a_claim_cannot_be_judged_are_refused_at_once(change):
    with pytest.raises(ValueError, match="preset: needs"):
        scale.choose(presets.PRESETS, "book", change)


def test_every_curve_is_drawn():
    style.use()
    tables = {f"net {i}": ((0.1, 1.0), np.full((2, 3), 0.1 * i), 2.0) for i in range(9)}
    drawn = figures.gate_study(tables, {"task": 0.1})
    assert len(drawn.legends[0].get_texts()) == 9


def test_schedule_runs_on_one_seed_only():
    common = {"rule": "bep", "task": TASK, "width": 15, "epochs": 4, "group": 1}
    grown = experiments.train_mlp(seeds=[0], patience=1, **common)
    assert grown["curve"] != experiments.train_mlp(seeds=[0], **common)["curve"]
    with pytest.raises(ValueError, match="one seed"):
        experiments.train_mlp(seeds=[0, 1], patience=1, **common)


def test_snapshots_and_their_frames():
    shut, opened = experiments.gate_snapshots(task=TASK, seed=0, width=15, nus=[0.02, 1.0], epochs=1, group=5)
    assert shut["open"] == 0.0
    assert set(shut["sample"]["below"]) == {1}
    assert opened["open"] == 1.0
    style.use()
    figure = figures.gate_frame(15, 1.0, opened)
    assert "100% open" in figure.axes[0].get_title(loc="left")
    assert "100%" in figures.gate_alt(15, 1.0, opened)


def test_share_inside_the_window():
    assert figures.share_inside(1, 1) == 1.0
    assert figures.share_inside(3, 1) == pytest.approx(6 / 8)
    assert figures.share_inside(4, 0) == pytest.approx(6 / 16)


def test_bytes_by_hand():
    assert costs.state_bytes([10, 4, 3]) == {"BEP": 2 * 52, "QAT": 12 * 52}
    assert costs.error_bytes([10, 65, 3], 2) == {"BEP": 2 * (16 + 8), "QAT": 2 * 4 * 68}
    assert set(costs.step_seconds([33, 15, 15], batch=10, repeats=1)) == {"packed bits", "fast path", "QAT"}
    with pytest.raises(ValueError, match="batch >= 10"):
        costs.step_seconds([33, 15, 15], batch=5)


def test_every_case_has_twelve_tries_and_no_judged_seed():
    assert {len(tuning.settings(grid)) for grid in tuning.GRIDS} == {12}
    assert min(tuning.PILOT_SEEDS) >= 100
    assert set(tuned.TUNED) == set(tuning.cases())
    for case in tuning.cases():
        assert set(tuning.best(case)) == set(tuning.GRIDS[tuning.cases()[case]["grid"]])
    with pytest.raises(ValueError, match="unknown case 'x'; known"):
        tuning.best("x")
    assert tuning.for_width("prototypes {} bep bef", 60) == tuning.best("prototypes 35 bep bef")
    with pytest.raises(ValueError, match="tuned for no width up to 20"):
        tuning.for_width("prototypes {} bep bef", 20)
