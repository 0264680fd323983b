"""The exercises, the pictures of the idea notebook, and training on a reward of one's own."""

import copy
import math

import pytest
import torch
from matplotlib.figure import Figure
from torch import nn

from iclr26lib import style
from iclr26lib.dgpo import figures, method, optimise
from iclr26lib.dgpo.config import Config
from iclr26lib.dgpo.exercises import EXERCISES
from iclr26lib.dgpo.history import History
from iclr26lib.dgpo.ring import PromptedRing
from iclr26lib.exercises import WrongAnswer
from iclr26lib.flows import Replicas, Streams, VelocityMLP, fit_flow
from iclr26lib.seeding import generator

RING = PromptedRing()
SMALL = {"groups": 4, "every": 2, "samples": 32, "cfg": Config(group=6, sampler_steps=6, times=2, t_min=0.3)}


@pytest.fixture(scope="module")
def base():
    model = VelocityMLP(2, 8, 32, 2, generator=generator(0, "init"))
    fit_flow(model, RING.draw, 150, 128, 4e-3, Streams([0], "base"))
    return model


def right(x, c):
    return x[:, 0]


# the exercises


@pytest.mark.parametrize("name", EXERCISES)
def test_checkers_take_the_solution_and_the_library_and_name_each_mistake(name):
    exercise = EXERCISES[name]
    module, function = exercise.library.split(":")
    assert module == "iclr26lib.dgpo.method"
    assert "right" in exercise.check(exercise.solution)
    assert "right" in exercise.check(getattr(method, function))
    assert len(exercise.mistakes) >= 3
    for label, mistake in exercise.mistakes.items():
        with pytest.raises(WrongAnswer) as caught:
            exercise.check(mistake.fn)
        assert str(caught.value) == f"{exercise.id}: {label}. {mistake.message}"


# the pictures


@pytest.mark.parametrize("advantages", [torch.zeros(6), torch.tensor([2.2, -0.5, -0.5, -0.5, -0.5, -0.2])])
def test_a_frame_of_the_training_draws_all_of_a_group(advantages):
    style.use()
    x = torch.randn(6, 2, generator=generator(1))
    curve = {1.0: ([0, 2, 4], [0.1, 0.5, 0.7]), 10.0: ([0, 2, 4], [0.1, 0.1, 0.1])}
    figure = figures.training(x, advantages, x, x + 1, torch.tensor([0.5, 0.1, 0.1]), curve, 1.0, 2, RING, 1)
    plane, histogram, rewards = (panel for part in figure.subfigs for panel in part.axes)
    sizes = [
        len(dots.get_offsets()) for dots in plane.collections if hasattr(dots, "get_sizes") and dots.get_sizes().size
    ]
    assert sum(sizes) == 6 + 6  # the group and the base's predictions
    assert sum(bar.get_height() for bar in histogram.patches) == 3
    assert list(rewards.lines[1].get_ydata()) == [0.5]  # the marker


def test_the_other_pictures_draw_what_they_are_given():
    style.use()
    c = torch.arange(80) % 8
    x = RING.centres[c] + 0.1 * torch.randn(80, 2, generator=generator(2))
    bars = figures.problem(x, c, RING, 3).axes[1].patches
    assert [round(bar.get_height(), 6) for bar in bars] == [0, 0, 0, 1, 0, 0, 0, 0]
    A = torch.tensor([1.0, 1.0, -1.0, -1.0])
    assert isinstance(figures.push(x[:4], A, x[:4], A[:, None] * x[:4], RING, 1, 0.75), Figure)
    row = {"plus": 1.0, "minus": -1.0, "loss": 0.3, "gradient": 0.2}
    panels = figures.constant(A, A, {"now": row, "zero": row}, "1", 0.0).axes
    assert [bar.get_height() for bar in panels[1].patches] == [1.0, -1.0]
    lines = (
        figures.gap(torch.tensor([0.5, 1.0]), {"optimum": torch.ones(2)}, {"ours": ([1.0], [0.5])}, 0.3).axes[0].lines
    )
    assert list(lines[1].get_ydata()) == [0.5]
    shown = figures.images({"before": torch.zeros(3, 1, 5, 5), "after": torch.ones(3, 1, 5, 5)})
    assert [ax.images[0].get_array().shape for ax in shown.axes] == [(7, 21)] * 2


def test_alt_texts_tell_frames_apart():
    texts = [figures.training_alt(0.3, w, 6, 24, 1.0, 10) for w in (0.5, 0.3, 0.05)]
    assert ["near one half" in texts[0], "partly" in texts[1], "are saturated" in texts[2]] == [True] * 3
    zero = {"loss": 0.3, "gradient": 0.2}
    same, moved = (figures.constant_alt({"now": now, "zero": zero}, "1", 2.0) for now in (zero, {**zero, "loss": 0.9}))
    assert "the same as without" in same
    assert "not those without a constant (0.300 and 0.200)" in moved


# the history


def made(values, base=(1.0, 1.02, 0.98)):
    history = History({"m": list(base)})
    for update, value in enumerate(values):
        history.add({"update": update, "passes": 10 * update, "reward": 0.1 * update, "m": value})
    return history


def test_a_monitor_is_reported_where_it_left_the_base_for_good():
    assert made([1.0, 0.5, 1.0, 1.05]).warnings() == []
    low, high = made([1.0]).limits("m")
    assert (low, high) == (pytest.approx(0.88), pytest.approx(1.12))  # three ranges of 0.04, more than a tenth
    (said,) = made([1.0, 0.5, 1.0, 0.8, 0.4]).warnings()
    assert said.startswith(
        "m fell to 0.4 (fresh draws of the base: 1), beyond their range from update 3 on (reward 0.3"
    )
    assert "m rose to 3 " in made([1.0, 3.0]).warnings()[0]
    assert made([1.0, math.nan]).warnings()[0].startswith("m went to nan (fresh draws of the base: 1)")
    saturated = made([1.0])
    saturated.weight = [0.5] * 5 + [0.04] * 5
    assert saturated.warnings() == ["the mean sigmoid factor is 0.04: groups count as told apart, try a smaller beta."]
    saturated.weight = [0.0] * 5 + [0.06] * 5
    assert saturated.warnings() == []
    assert made([1.0], base=(2.0, 2.0)).limits("m") == (pytest.approx(1.8), pytest.approx(2.2))


def test_a_history_has_columns_a_picture_and_refuses_other_rows():
    history = made([1.0, 2.0])
    assert history["reward"] == [0.0, 0.1]
    assert history.row(-1) == {"update": 1, "passes": 10, "reward": 0.1, "m": 2.0}
    assert History(**history.state()) == history
    style.use()
    assert [ax.get_title(loc="left") for ax in history.plot().axes] == ["reward", "m"]
    with pytest.raises(ValueError, match="a look has"):
        history.add({"update": 1})
    with pytest.raises(ValueError, match="same names for every draw"):
        History.of_base([{"a": 1.0}, {"b": 1.0}])
    for name in ("reward", "update", "passes"):
        with pytest.raises(ValueError, match=f"a monitor cannot be called '{name}'"):
            History.of_base([{name: 1.0, "b": 2.0}] * 2)


# the monitors


def test_the_monitors_of_the_base_are_one_for_the_base_and_see_collapse_and_noise(base):
    c = torch.arange(400) % 8
    x = optimise.ode_sample(base, c, optimise.LOOK_GRID, generator(3))
    y = optimise.ode_sample(base, c, optimise.LOOK_GRID, generator(4))
    monitor = optimise.AgainstBase(base, x, c)
    assert monitor(x, c) == {"diversity": 1.0, "surprise": pytest.approx(1.0)}
    again = monitor(y, c)
    assert again["diversity"] == pytest.approx(1, abs=0.1)
    assert again["surprise"] == pytest.approx(1, abs=0.2)
    pairs = torch.stack([torch.pdist(x[c == k]).mean() for k in range(8)]).mean()
    assert monitor(2 * x, c)["diversity"] == pytest.approx(2)
    assert monitor.pairwise == pytest.approx(pairs)
    assert monitor(RING.centres[c], c)["diversity"] == pytest.approx(0, abs=1e-6)
    assert monitor(4 * x, c)["surprise"] > 3
    with pytest.raises(ValueError, match="two samples or more"):
        monitor(x[:8], c[:8])


def test_own_monitors_are_taken_as_a_function_or_a_dict(base):
    one = optimise.optimise(
        copy.deepcopy(base), right, 2, monitors={"left": lambda x, c: (x[:, 0] < 0).double().mean()}, **SMALL
    )
    two = optimise.optimise(copy.deepcopy(base), right, 2, monitors=RING.monitors, **SMALL)
    assert one.monitors == ["left"]
    assert two.monitors == ["off_manifold", "spread", "offset", "rest"]
    assert one["reward"] == two["reward"]  # monitors draw nothing of the training's randomness
    with pytest.raises(TypeError, match="monitors must be"):
        optimise.optimise(copy.deepcopy(base), right, 2, monitors={}, **SMALL)
    with pytest.raises(ValueError, match="a monitor cannot be called 'passes'"):
        optimise.optimise(copy.deepcopy(base), right, 2, monitors={"passes": lambda x, c: x.mean()}, **SMALL)


def spoiling(x, c):
    value = right(x, c).clone()
    x.fill_(math.nan), c.zero_()
    return value


def test_rewards_and_monitors_may_change_what_they_are_given(base):
    runs = [
        optimise.optimise(copy.deepcopy(base), each, 2, monitors={"a": lambda x, c, f=each: f(x, c).clone().mean(),
                          "b": lambda x, c: x.std()}, **SMALL)
        for each in (right, spoiling)
    ]  # fmt: skip
    assert runs[0] == runs[1]


# training on a reward of one's own


def test_the_reward_rises_and_the_history_says_what_it_cost(base):
    model, seen = copy.deepcopy(base), []
    history = optimise.optimise(
        model, right, 30, groups=8, every=10, samples=160, cfg=Config(group=12, t_min=0.3, lr=1e-3), on_look=seen.append
    )
    assert history["update"] == [0, 10, 20, 30]
    assert history["reward"][-1] > history["reward"][0] + 0.5
    assert len(history.weight) == 30
    assert seen == [history.row(i) for i in range(4)]
    # a sample: 10 rollout passes, and at 4 times one each of policy, reference, old, backward
    assert history["passes"] == [updates * 8 * 12 * (10 + 4 * 4) for updates in (0, 10, 20, 30)]


class Stop(Exception):
    pass


def stopping(at):
    def on_look(row):
        if row["update"] == at:
            raise Stop

    return on_look


def test_a_run_that_was_killed_ends_as_if_it_had_not_been(base, tmp_path):
    whole, parts = copy.deepcopy(base), copy.deepcopy(base)
    wanted = optimise.optimise(whole, right, 6, **SMALL)
    with pytest.raises(Stop):
        optimise.optimise(parts, right, 6, checkpoint=tmp_path / "run.pt", on_look=stopping(4), **SMALL)
    again = copy.deepcopy(base)
    got = optimise.optimise(again, right, 6, checkpoint=tmp_path / "run.pt", **SMALL)
    assert got == wanted
    for a, b in zip(whole.parameters(), again.parameters(), strict=True):
        assert torch.equal(a, b)
    assert [p.name for p in tmp_path.iterdir()] == ["run.pt"]
    done = optimise.optimise(copy.deepcopy(base), right, 6, checkpoint=tmp_path / "run.pt", **SMALL)
    assert done == wanted  # a finished run is read back


@pytest.mark.parametrize("bad", [lambda x: 1 / 0, lambda x: x[:, 0] * math.nan, lambda x: x[:3, 0]])
def test_a_run_that_fails_leaves_its_last_good_checkpoint(base, tmp_path, bad):
    path, calls = tmp_path / "run.pt", []

    def reward(x, c):
        calls.append(len(x))
        return right(x, c) if len(calls) <= 5 else bad(x)  # looks at 0 and 2, updates 1 to 3

    with pytest.raises((ZeroDivisionError, ValueError)):
        optimise.optimise(copy.deepcopy(base), reward, 6, checkpoint=path, **SMALL)
    assert torch.load(path, weights_only=True)["trainer"]["updates"] == 2
    model = copy.deepcopy(base)
    assert optimise.optimise(model, right, 6, checkpoint=path, **SMALL) == optimise.optimise(
        copy.deepcopy(base), right, 6, **SMALL
    )
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_while_writing_keeps_the_old_checkpoint(base, tmp_path, monkeypatch):
    path = tmp_path / "run.pt"
    optimise.optimise(copy.deepcopy(base), right, 2, checkpoint=path, **SMALL)
    before = path.read_bytes()
    monkeypatch.setattr(optimise.os, "fsync", lambda fd: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        optimise.optimise(copy.deepcopy(base), right, 4, checkpoint=path, **SMALL)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_checkpoint_of_another_run_is_refused(base, tmp_path):
    path = tmp_path / "run.pt"
    optimise.optimise(copy.deepcopy(base), right, 2, checkpoint=path, **SMALL)
    with pytest.raises(ValueError, match="another seed"):
        optimise.optimise(copy.deepcopy(base), right, 4, checkpoint=path, seed=1, **SMALL)
    with pytest.raises(ValueError, match="another beta, group"):
        optimise.optimise(copy.deepcopy(base), right, 4, checkpoint=path, **{**SMALL, "cfg": Config(beta=3.0)})
    with pytest.raises(ValueError, match="another base model"):
        optimise.optimise(VelocityMLP(2, 8, 32, 2, generator=generator(5)), right, 4, checkpoint=path, **SMALL)
    with pytest.raises(ValueError, match="other monitors"):
        optimise.optimise(copy.deepcopy(base), right, 4, checkpoint=path, monitors=RING.monitors, **SMALL)


def damaged(kind, data):
    return {
        "empty": b"",
        "cut off": data[: len(data) // 2],
        "text": b"not a checkpoint",
        "one bit": data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :],
    }[kind]


@pytest.mark.parametrize("kind", ["empty", "cut off", "text", "one bit"])
def test_a_damaged_checkpoint_is_refused_by_name(base, checkpoint, tmp_path, kind):
    path, model = tmp_path / "run.pt", copy.deepcopy(base)
    path.write_bytes(damaged(kind, checkpoint))
    with pytest.raises(ValueError, match=r"run\.pt: damaged"):
        optimise.optimise(model, right, 4, checkpoint=path, **SMALL)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), base.parameters(), strict=True))


@pytest.fixture(scope="module")
def checkpoint(base, tmp_path_factory):
    path = tmp_path_factory.mktemp("made") / "run.pt"
    optimise.optimise(copy.deepcopy(base), right, 2, checkpoint=path, **SMALL)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s.pop("flat"), "not a checkpoint of optimise"),
        (lambda s: s.update(flat="no"), "not a checkpoint of optimise"),
        (lambda s: s["trainer"].pop("updates"), "a trainer's state has"),
        (lambda s: s["trainer"]["model"].pop("prompt.weight"), "prompt.weight is missing"),
        (lambda s: s["trainer"].update(model={k: v.double() for k, v in s["trainer"]["model"].items()}), "float64"),
        (lambda s: s["prompts"]["generators"].clear(), "got 0"),
        (lambda s: s["history"]["columns"]["reward"].pop(), "not of one length"),
        (lambda s: s["history"]["weight"].pop(), "ends at another update"),
        (lambda s: s.update(base=s["base"][:, :1]), "another kind of model"),
    ],
)
def test_a_checkpoint_is_taken_over_whole_or_not_at_all(base, checkpoint, tmp_path, change, message):
    path, model = tmp_path / "run.pt", copy.deepcopy(base)
    path.write_bytes(checkpoint)
    state = torch.load(path, weights_only=True)
    change(state)
    torch.save(state, path)
    with pytest.raises(ValueError, match=rf"run\.pt.*{message}"):
        optimise.optimise(model, right, 4, checkpoint=path, **SMALL)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), base.parameters(), strict=True))


def test_a_checkpoint_further_on_than_asked_for_and_a_folder_are_refused(base, checkpoint, tmp_path):
    (tmp_path / "run.pt").write_bytes(checkpoint)
    with pytest.raises(ValueError, match=r"run\.pt holds 2 updates already, more than updates = 1"):
        optimise.optimise(copy.deepcopy(base), right, 1, checkpoint=tmp_path / "run.pt", **SMALL)
    with pytest.raises(ValueError, match="is no file"):
        optimise.optimise(copy.deepcopy(base), right, 1, checkpoint=tmp_path, **SMALL)
    with pytest.raises(TypeError, match=r"cfg must be a Config, got \{\}"):
        optimise.optimise(copy.deepcopy(base), right, 1, **{**SMALL, "cfg": {}})


def test_rewards_that_never_differ_stop_the_run_with_advice(base, tmp_path):
    path = tmp_path / "run.pt"
    for value, word in ((0.0, "mean 0"), (1.0, "mean 1")):
        with pytest.raises(ValueError, match=rf"10 updates in a row .*{word}.*larger groups") as caught:
            optimise.optimise(copy.deepcopy(base), lambda x, c, v=value: torch.full((len(x),), v), 30, **SMALL)
        assert "stop earlier" in str(caught.value)
    calls = []

    def nine_flat(x, c):
        calls.append(len(x))
        return right(x, c) if len(calls) % 10 == 0 else torch.zeros(len(x))

    optimise.optimise(copy.deepcopy(base), nine_flat, 20, checkpoint=path, **{**SMALL, "every": 20})


def test_bad_arguments(base):
    model = copy.deepcopy(base)
    for wrong, message in (
        ({"updates": 0}, "updates must be 1 or more, got 0"),
        ({"samples": 15}, "two a prompt or more, 16, got 15"),
        ({"every": 0}, "every must be 1 or more, got 0"),
        ({"groups": 0}, "groups must be 1 or more, got 0"),
    ):
        with pytest.raises(ValueError, match=message):
            optimise.optimise(model, right, **{"updates": 2, **SMALL, **wrong})
    with pytest.raises(ValueError, match="trains one model, got 2 replicas"):
        optimise.optimise(Replicas([base, copy.deepcopy(base)]), right, 2, **SMALL)
    with pytest.raises(TypeError, match="reward_fn must be a function"):
        optimise.optimise(model, 3, 2, **SMALL)
    for a, b in zip(model.parameters(), base.parameters(), strict=True):
        assert torch.equal(a, b)
    assert isinstance(model, nn.Module)


def test_a_monitor_that_measures_nothing_on_the_base_is_no_alarm():
    told = History.of_base([{"m": math.nan}, {"m": math.nan}])
    told.add({"update": 0, "passes": 0, "reward": 0.1, "m": math.nan})
    assert told.warnings() == []
