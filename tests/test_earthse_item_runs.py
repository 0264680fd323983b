"""Scripted models on the chapter's own items and dialogues: what graders, hints and SES do to a known quality."""

import json
import math

import numpy as np
import pytest

from iclr26lib.earthse import dialogue_runs, item_runs
from iclr26lib.earthse.baselines import baselines
from iclr26lib.earthse.gold import make_gold
from iclr26lib.earthse.graders import grade
from iclr26lib.earthse.hinting import HintSolver, gives_away
from iclr26lib.earthse.items import make_items
from iclr26lib.earthse.prompts import MASK, prompt, steps
from iclr26lib.earthse.scripted import Scripted, in_other_words, permuted, wrong_answer
from iclr26lib.earthse.tasks import SAFE_TASKS
from iclr26lib.evalkit.run import run
from iclr26lib.evalkit.solvers import ask

ITEMS = make_items(240, None, 0, SAFE_TASKS)


def mean(model, mode="tolerant", fmt="mc"):
    items = [item for item in ITEMS if item.fmt == fmt]
    return np.mean([grade(item, model.answer(item), mode) for item in items])


def test_the_tolerant_grader_takes_every_wording_and_no_mistake():
    for item in ITEMS:
        for seed in range(6):
            said = in_other_words(item, item.answer, seed)
            assert said != item.answer
            assert grade(item, said, "tolerant") == 1, (item.id, said)
            assert grade(item, wrong_answer(item, seed), "tolerant") == 0, (item.id, wrong_answer(item, seed))
            if item.fmt != "fr":
                assert grade(item, said) == 0


def test_baselines_score_what_guessing_scores():
    scores = {
        model.name: {fmt: mean(model, fmt=fmt) for fmt in ("mc", "tf", "fib", "fr")} for model in baselines(ITEMS)
    }
    assert scores["always A"]["mc"] == 0.25
    assert scores["majority"]["tf"] == 0.5
    assert scores["uniform guess"]["mc"] == pytest.approx(0.25, abs=0.17)
    assert scores["reference echo"] == {"mc": 1, "tf": 1, "fib": 1, "fr": 1}
    assert scores["copy the question"]["fr"] == 0
    assert scores["longest option"]["mc"] < 0.5, "the length of an option does not give the answer away"


def test_permuted_items_leave_a_scripted_score_unchanged():
    model = Scripted(0.0, seed=3)
    items = [item for item in ITEMS if item.fmt == "mc"]
    moved = [permuted(item, (2, 0, 3, 1)) for item in items]
    assert [grade(i, model.answer(i)) for i in items] == [grade(i, model.answer(i)) for i in moved]
    assert [item.meta["key"] for item in moved] == [item.answer for item in moved]


def test_a_run_with_the_chapters_prompt_gives_the_scripted_answers():
    model = Scripted(0.5, noise_format={"fib": 1.0})
    records = run(ITEMS[:80], model, solver=ask(prompt))
    assert [record.output for record in records] == [model.answer(item) for item in ITEMS[:80]]


def test_strict_grading_takes_the_gap_from_the_form_and_tolerant_grading_from_the_skill():
    found = item_runs.grader_runs([0, 1], n_items=240, skills=(0.0, 1.0), draws=200)
    for i in range(2):
        assert found["published"]["fib"][i] == pytest.approx(found["canonical"][i], abs=0.08)
        assert found["tolerant"]["fib"][i] == pytest.approx(found["truth"]["fib"][i], abs=0.12)
        assert found["gap_published"][i] > found["gap_tolerant"][i] + 0.2
        assert found["gap_published"][i] == pytest.approx(found["published"]["mc"][i] - found["published"]["fib"][i])
    assert np.mean(found["covered"]) > 0.8
    plain = item_runs.grader_runs([0], n_items=240, skills=(0.0,), noise={"fib": 0.0}, draws=50)
    assert plain["published"] == plain["tolerant"]
    assert json.loads(json.dumps(found)) == found
    assert (
        item_runs.grader_runs([1], n_items=240, skills=(0.0, 1.0), draws=200)["tolerant"]["mc"]
        == found["tolerant"]["mc"][1:]
    )


def test_a_masked_chain_gives_no_answer_away():
    for item in (item for item in ITEMS if item.fmt == "fib"):
        chain = steps(item, 3)
        assert gives_away(item, chain[-1]) or item.meta["answer_kind"] == "words", (item.answer, chain[-1])
        hidden = steps(item, 3, mask_answer=True)
        assert not any(gives_away(item, step) for step in hidden), (item.answer, hidden)
        assert MASK in hidden[-1], (item.answer, hidden[-1])


def test_hints_help_less_when_the_answer_is_hidden():
    found = item_runs.hint_item_runs([0, 1], n_items=150, q=0.5)
    full, masked, own = (np.array(found[kind]) for kind in ("full", "masked", "self"))
    assert full.shape == (2, 4)
    assert np.array_equal(full[:, 0], masked[:, 0])
    assert (full[:, 3] == 1).all()
    assert full[:, 1:3].mean(0) == pytest.approx([0.25, 0.5], abs=0.2)
    assert (masked[:, 3] < 0.75).all()
    assert (own == own[:, :1]).all()
    assert own.mean() == pytest.approx(0.125, abs=0.07)


def test_the_solver_needs_no_hint_when_every_step_succeeds():
    item = next(item for item in ITEMS if item.fmt == "fib")
    assert HintSolver(1.0).answer(item, [], 3) == item.answer
    assert HintSolver(0.0).answer(item, steps(item, 2), 3) != item.answer


# dialogues


def test_depth_counts_true_sentences_of_any_subject():
    item = make_gold(1)[0]
    texts = [" ".join(turn for _, turn in dialogue_runs.drawn(item, (q, 0), 1, 0)[0]) for q in range(4)]
    assert [dialogue_runs.depth(text) for text in texts] == [0, 1, 2, 3]
    reference = f"{item.meta['assistant_0']} {item.meta['assistant_1']}"
    assert dialogue_runs.depth(reference) == 3
    away = dialogue_runs.drawn(item, (3, 2), 2, 0)[1]
    assert dialogue_runs.depth(" ".join(turn for _, turn in away)) == 3
    assert away[0][0] == item.meta["user_0"]


def test_the_score_puts_the_off_topic_writer_above_the_equally_good_one_on_topic():
    found = dialogue_runs.dialogue_runs([0, 1], draws=200)
    column = {name: np.array(found[name]) for name in ("r", "d", "ses", "capped", "rho")}
    place = {model: i for i, model in enumerate(found["models"])}
    assert all(values.shape == (2, 8) for values in column.values())
    on, off, same = place["good"], place["good, off topic"], place["deep, one text"]
    assert np.abs(column["r"][:, on] - column["r"][:, off]).max() < 0.2
    assert (column["ses"][:, off] > column["ses"][:, on]).all()
    assert (column["d"][:, same] < 1 + 1e-9).all()
    assert (column["rho"][:, same] > 1 - 1e-9).all()
    assert (column["r"].argmax(1) != column["ses"].argmax(1)).all()
    assert max(found["tau"]) < 0.9
    assert min(found["changed"]) > 0.5
    assert column["capped"][:, off].mean() > 0.9
    assert json.loads(json.dumps(found)) == found
    assert dialogue_runs.dialogue_runs([1], draws=200)["ses"] == found["ses"][1:]


def test_what_the_judge_is_shown_decides_between_writers_who_differ_in_turn_one():
    two = {"fair": (1, 0), "shallow": (0, 0)}
    settings = {"profiles": two, "noise": 0.5, "prefer": -1.5, "draws": 50}
    last, both = (np.mean(dialogue_runs.dialogue_runs(range(4), turns=t, **settings)["r"], 0) for t in ("last", "all"))
    assert last[0] == pytest.approx(last[1], abs=0.06)
    assert both[0] > both[1] + 0.1


def test_more_samples_raise_diversity_and_one_sample_has_no_pair():
    profiles = {"deep": (3, 1), "good": (2, 1)}
    d = {M: np.mean(dialogue_runs.dialogue_runs([0], M=M, profiles=profiles, draws=20)["d"]) for M in (3, 5)}
    assert d[5] > d[3] + 0.3
    assert math.isnan(dialogue_runs.dialogue_runs([0], n=3, M=1, profiles=profiles, draws=20)["rho"][0][0])
    with pytest.raises(ValueError, match="M must be 1 or more, got 0"):
        dialogue_runs.drawn(make_gold(1)[0], (0, 0), 0, 0)
    with pytest.raises(ValueError, match=r"quality must lie in 0\.\.3"):
        dialogue_runs.dialogue_runs([0], profiles={"a": (4, 0), "b": (0, 0)})
    with pytest.raises(ValueError, match="2 models or more"):
        dialogue_runs.dialogue_runs([0], n=2, profiles={"a": (1, 0)})
