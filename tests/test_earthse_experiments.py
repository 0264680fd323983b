"""The runs of the chapter at toy sizes: figures, presets, resources, and the real model with a stand-in for it."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from iclr26lib import resources, scale, style
from iclr26lib.earthse import dialogue_runs, item_runs, plots, real_runs, screening, simulation
from iclr26lib.earthse.gold import make_gold
from iclr26lib.earthse.items import make_items
from iclr26lib.earthse.presets import PRESETS, Preset
from iclr26lib.earthse.tasks import SAFE_TASKS
from iclr26lib.evalkit.items import LETTERS

CLOSED = {"mc": 1.0, "tf": 1.0, "fib": 1.0}


def texts(figure):
    """All words of a figure."""
    found = []
    for ax in figure.axes:
        found += [ax.get_xlabel(), ax.get_ylabel(), *(t.get_text() for t in ax.texts)]
        found += [ax.get_title(loc=side) for side in ("left", "center", "right")]
        found += [t.get_text() for t in [*ax.get_xticklabels(), *ax.get_yticklabels()]]
        found += [t.get_text() for t in ax.get_legend().get_texts()] if ax.get_legend() else []
    return {text for text in found if text}


def dots(ax):
    """The places (n, 2) of all dots of scatter plots."""
    return np.concatenate([np.asarray(c.get_offsets()) for c in ax.collections if len(c.get_offsets())])


# figures


def test_the_figure_of_coverage_has_a_dot_a_seed_at_its_value():
    found = simulation.coverage_runs([0, 1], reps=10, laws=4, per_law=5, draws=50)
    figure = plots.coverage(found)
    assert isinstance(figure, Figure)
    assert {"items in families", "independent items", "coverage of 95 % intervals", "Wilson"} <= texts(figure)
    for ax, design in zip(figure.axes, ("families", "independent"), strict=True):
        labels = [t.get_text() for t in figure.axes[0].get_yticklabels()]
        expected = {
            (labels.index(plots.METHODS[method]), round(value, 9))
            for method in simulation.METHODS
            for value in found[design][method]
        }
        assert {(int(y), round(x, 9)) for x, y in dots(ax)} == expected


def test_the_figure_of_screening_joins_all_to_kept_items():
    found = screening.screening_runs([0, 1, 2], 200)
    figure = plots.screening(found)
    assert {"all items", "kept items", "accuracy", "the panel itself", "fresh models"} <= texts(figure)
    lines = {tuple(line.get_ydata()) for line in figure.axes[0].lines}
    assert lines == {
        *zip(found["all"], found["same"], strict=True),
        *zip(found["fresh_all"], found["fresh"], strict=True),
    }


def test_the_figure_of_graders_has_means_as_bars_and_seeds_as_dots():
    found = item_runs.grader_runs([0, 1], 36, skills=(0.0, 1.0), draws=50)
    figure = plots.graders(found)
    assert {"truth", "published grader", "tolerant grader", *plots.FORMATS.values()} <= texts(figure)
    assert figure.axes[0].get_ylabel() == "score, mean over models"
    heights = sorted(bar.get_height() for bar in figure.axes[0].patches)
    keys = [(key, fmt) for key in plots.GRADERS for fmt in plots.FORMATS]
    assert heights == pytest.approx(sorted(np.mean(found[key][fmt]) for key, fmt in keys))
    assert sorted(dots(figure.axes[0])[:, 1]) == pytest.approx(sorted(v for k, f in keys for v in found[k][f]))


def test_the_figure_of_writers_marks_those_off_topic():
    profiles = {"deep": (3, 1), "shallow": (0, 1), "good, off topic": (2, 2)}
    found = dialogue_runs.dialogue_runs([0, 1], n=4, profiles=profiles, draws=50)
    figure = plots.writers(found)
    assert {"diversity d", "retention r", *profiles} <= texts(figure)
    assert {"SES 0.1", "SES 3"} <= texts(figure)
    for name, at in zip(profiles, figure.axes[0].collections, strict=True):
        i = list(profiles).index(name)
        assert list(at.get_offsets()[0]) == pytest.approx([np.mean(found["d"], 0)[i], np.mean(found["r"], 0)[i]])
        color = style.VERMILION if "off topic" in name else style.BLUE
        assert tuple(at.get_facecolor()[0][:3]) == pytest.approx(to_rgb(color))


def test_the_figure_of_hints_has_a_line_a_kind_and_seed():
    found = item_runs.hint_item_runs([0, 1], 12)
    figure = plots.hints(found)
    assert {"steps shown, k", "score", "steps as stored", "answer masked", "written by the solver"} <= texts(figure)
    lines = sorted(tuple(line.get_ydata()) for line in figure.axes[0].lines)
    assert lines == sorted(tuple(row) for kind in ("full", "masked", "self") for row in found[kind])


# presets and resources


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seeds": 0}, "seeds, reps, hinted and draws are 1 or more"),
        ({"reps": 0}, "seeds, reps"),
        ({"draws": -1}, "draws are 1 or more"),
        ({"hinted": 0}, "hinted"),
        ({"laws": 1}, "laws and per_law are 2 or more"),
        ({"per_law": 1}, "laws and per_law"),
        ({"items": 11}, "items is 12 or more"),
        ({"gold": 0}, "1 <= gold <= 320"),
        ({"gold": 321}, "1 <= gold <= 320"),
        ({"real_gold": -1}, "0 <= real_gold <= 320"),
        ({"embedder": "bert"}, "embedder is 'minilm' or 'hash'"),
        ({"real_items": -1}, "real_items, real_answers are 0 or more"),
        ({"real_tokens": 0}, "real_tokens 1 or more"),
        ({"live_cosines": (0.5,)}, "at most 24 frames"),
        ({"live_cosines": (0.5,) * 7}, "at most 24 frames"),
        ({"live_thresholds": 25}, "at most 24 frames"),
    ],
)
def test_absurd_sizes_are_refused_before_anything_runs(changes, said):
    with pytest.raises(ValueError, match=said):
        Preset(**changes)
    with pytest.raises(ValueError, match=said):
        scale.choose(PRESETS, "book", changes)


def test_all_faults_of_a_preset_are_named_at_once_and_limits_pass():
    with pytest.raises(ValueError, match=r"items is 12 or more; .*embedder is"):
        Preset(items=3, embedder="none")
    assert Preset(items=12, gold=320, laws=2, per_law=2, seeds=1, live_thresholds=24).items == 12


def test_presets_grow_with_scale_and_smoke_needs_no_model():
    smoke, book, full = (PRESETS[name] for name in scale.SCALES)
    for field in ("seeds", "items", "hinted", "gold", "real_items"):
        assert getattr(smoke, field) < getattr(book, field) < getattr(full, field)
    assert (smoke.embedder, smoke.real_items, smoke.real_gold) == ("hash", 0, 0)
    assert all(row[2] for row in scale.describe(book)), "each field has its meaning"
    assert (full.items, full.hinted, full.real_items, full.gold) == (4133, 769, 818, 300), "the paper's counts"


def test_resources_are_there_for_each_scale_and_one_seed_is_a_preset():
    needs = resources.of("earthse")
    assert [needs.scales[name].gpu for name in scale.SCALES] == [False, False, True]
    assert needs.scales["smoke"].minutes < needs.scales["book"].minutes
    assert replace(PRESETS["full"], **needs.one_seed).seeds == 1


# the real model


class StandIn:
    """A model with likelihoods: it likes the letter C best, answers True, and fails on texts that hold `broken`."""

    name = "stand-in"

    def __init__(self, broken="\0"):
        self.asked, self.broken = [], broken

    def generate(self, messages, *, temperature=0.0, max_tokens=256, seed=0):
        self.asked.append((temperature, max_tokens))
        if self.broken in messages[-1]["content"]:
            raise ConnectionError("no answer today")
        return "True" if temperature == 0 else f"word{seed % 97} glacier"

    def choice_logprobs(self, messages, choices):
        self.asked.append(tuple(choices))
        return np.array([-1.0 if choice == "C" else -2.0 for choice in choices])


def test_the_real_run_counts_letters_and_grades_answers(monkeypatch):
    model, devices = StandIn(), []
    monkeypatch.setattr(real_runs, "small_model", lambda device: devices.append(device) or model)
    found = real_runs.real_model_run(24, 9, 7, seed=3, draws=100, device="cpu")
    letters, answers = found["letters"], found["answers"]
    items = make_items(24, {"mc": 1.0}, 3, SAFE_TASKS)
    keys = Counter(item.answer for item in items)
    assert devices == ["cpu"]
    assert letters["chosen"] == {"A": 0, "B": 0, "C": 24, "D": 0}
    assert letters["keys"] == {letter: keys[letter] for letter in LETTERS[:4]}
    assert letters["score"] == keys["C"] / 24
    low, high = letters["interval"]
    assert 0 <= low <= letters["score"] <= high <= 1
    assert low < high
    assert letters["n"] == 24
    assert min(letters["seconds"], found["answer_seconds"]) >= 0
    asked = make_items(9, CLOSED, 4, SAFE_TASKS)
    assert [(a["id"], a["fmt"], a["question"], a["gold"]) for a in answers] == [
        (item.id, item.fmt, item.question, item.answer) for item in asked
    ]
    for answer in answers:
        right = float(answer["fmt"] == "tf" and answer["gold"] == "True")
        assert (answer["output"], answer["error"]) == ("True", None)
        assert (answer["published"], answer["tolerant"]) == (right, right)
    assert {a["published"] for a in answers} == {0.0, 1.0}
    assert model.asked[24:] == [(0.0, 7)] * 9


def test_an_answer_that_fails_is_told_in_the_real_run(monkeypatch):
    monkeypatch.setattr(real_runs, "small_model", lambda device: StandIn("True or False"))
    answers = real_runs.real_model_run(4, 6, 5, draws=20)["answers"]
    failed = [a for a in answers if a["error"]]
    assert {a["fmt"] for a in failed} == {"tf"}
    assert {(a["error"], a["output"], a["tolerant"]) for a in failed} == {("ConnectionError: no answer today", "", 0.0)}


def test_the_real_dialogues_give_one_value_an_item(monkeypatch):
    model = StandIn()
    monkeypatch.setattr(real_runs, "small_model", lambda device: model)
    found = real_runs.real_dialogues(4, M=3, seed=1, embedder="hash")
    assert set(found) == {"r", "d", "missing"}
    assert len(found["r"]) == len(found["d"]) == len(make_gold(4, 1)) == 4
    assert found["missing"] == {}
    assert all(r in (0, pytest.approx(1 / 3), pytest.approx(2 / 3), 1) for r in found["r"])
    assert all(1 <= d <= 10 for d in found["d"])
    assert Counter(model.asked) == {(0.6, 160): 12, (0.0, 160): 12}
    assert found == real_runs.real_dialogues(4, M=3, seed=1, embedder="hash")


def test_the_small_model_is_asked_for_before_any_call(monkeypatch):
    def absent(device):
        raise ModuleNotFoundError("local models need transformers: pip install transformers")

    monkeypatch.setattr(real_runs, "small_model", absent)
    with pytest.raises(ModuleNotFoundError, match="pip install transformers"):
        real_runs.real_model_run(4, 3, 5)
    with pytest.raises(ModuleNotFoundError, match="pip install transformers"):
        real_runs.real_dialogues(1)
