"""Items, prompts, hints and dialogues: balance by construction, options that keep apart, hints that do not leak."""

from collections import Counter

import numpy as np
import pytest

from iclr26lib.earthse import dialogues, gold, graders, items, prompts, tasks
from iclr26lib.earthse.laws import LAWS, SPHERES
from iclr26lib.earthse.tasks import ALSO_RIGHT, SAFE_TASKS, TASKS
from iclr26lib.evalkit import run_simple
from iclr26lib.evalkit.items import LETTERS, Item, read_items, write_items

SAFE = items.make_items(600, seed=5, tasks=SAFE_TASKS)
ALL = items.make_items(240, seed=1)


def by(fmt, pool=SAFE):
    return [item for item in pool if item.fmt == fmt]


def test_equal_arguments_give_equal_items():
    assert items.make_items(80, seed=7) == items.make_items(80, seed=7)
    assert items.make_items(80, seed=7) != items.make_items(80, seed=8)
    assert not {item.id for item in ALL} & {item.id for item in SAFE}


def test_everything_is_asked_and_balanced():
    assert {item.task for item in ALL} == set(TASKS)
    assert {item.family for item in SAFE} == set(LAWS)
    assert Counter(item.fmt for item in SAFE) == dict.fromkeys(("mc", "tf", "fib", "fr"), 150)
    assert set(Counter(item.sphere for item in SAFE).values()) == {120}
    assert set(SPHERES) == {item.sphere for item in SAFE}
    assert sorted(Counter(item.answer for item in by("mc")).values()) == [37, 37, 38, 38]
    assert set(Counter(item.answer for item in by("tf")).values()) == {75}
    assert len({(item.question, str(item.meta.get("options"))) for item in SAFE}) == len(SAFE)


def test_mix_is_the_papers():
    assert sum(items.PAPER_MIX.values()) == 4133
    counts = Counter(item.fmt for item in items.make_items(413, items.PAPER_MIX, tasks=SAFE_TASKS))
    assert counts == {"fr": 200, "mc": 82, "fib": 77, "tf": 54}


def test_always_a_scores_a_quarter():
    balanced = items.make_items(100, {"mc": 1}, seed=2)
    assert np.mean([graders.grade(item, "A") for item in balanced]) == 0.25


def test_the_longest_option_is_no_secret():
    longest = [
        max(item.meta["options"], key=len) == item.meta["options"][LETTERS.index(item.answer)] for item in by("mc")
    ]
    assert 0.12 < np.mean(longest) < 0.42


def test_options_hold_the_truth_and_keep_apart():
    numeric = 0
    for item in by("mc"):
        assert item.meta["key"] == item.answer
        assert item.meta["options"][LETTERS.index(item.answer)] == item.meta["truth"]
        assert {w["text"] for w in item.meta["wrong"]} == set(item.meta["options"]) - {item.meta["truth"]}
        if item.task in ("calculation", "analysis"):
            values = [float(option.split()[0]) for option in item.meta["options"]]
            gaps = [abs(a - b) / max(abs(a), abs(b)) for i, a in enumerate(values) for b in values[i + 1 :]]
            assert min(gaps) > 0.0495  # 5 %, up to rounding to four digits
            numeric += 1
    assert numeric > 40


def test_values_are_the_laws():
    for item in (item for item in SAFE if item.task == "calculation"):
        law, params = LAWS[item.family], item.meta["params"]
        assert item.meta["value"] == law.function(**params)
        assert item.meta["truth"].endswith(law.unit)
        assert float(item.meta["truth"].split()[0]) == pytest.approx(item.meta["value"], rel=6e-4)


def test_true_statements_hold_the_truth():
    for item in by("tf"):
        said = [w["text"] for w in item.meta["wrong"] if item.question.rstrip(".").endswith(w["text"])]
        if item.answer == "True":
            assert item.meta["claim"] == "true"
            assert item.meta["truth"] in item.question
        else:
            assert item.meta["claim"] != "true"
            assert said or item.meta["truth"] not in item.question.split()


def test_analysis_doubles():
    found = 0
    for item in (item for item in SAFE if item.task == "analysis" and LAWS[item.family].exponent is not None):
        law, params = LAWS[item.family], item.meta["params"]
        moved = {**params, law.x: params[law.x] * item.meta["value"]}
        assert law.function(**moved) == pytest.approx(2 * law.function(**params))
        found += 1
    assert found > 20


def test_other_instruments_are_really_wrong():
    for item in (item for item in SAFE if item.task in ("tool_usage", "dataset")):
        field = "instrument" if item.task == "tool_usage" else "dataset"
        for wrong in item.meta["wrong"]:
            other = next(law for law in LAWS.values() if getattr(law, field) == wrong["text"])
            assert other.sphere != item.sphere
            assert frozenset((other.name, item.family)) not in ALSO_RIGHT
    assert all(name in LAWS for pair in ALSO_RIGHT for name in pair)


def test_the_chain_ends_in_the_truth():
    for item in ALL:
        chain = item.meta["reasoning_chain"]
        assert len(chain) == 3
        assert item.meta["truth"].strip() in chain[-1]


def test_the_key_is_right_and_the_rest_is_wrong_by_the_tolerant_grader():
    for item in SAFE:
        assert graders.grade(item, item.answer, "tolerant") == 1
        if item.fmt == "fib" and item.task != "relationship_extraction":
            for wrong in item.meta["wrong"]:
                assert graders.grade(item, wrong["text"], "tolerant") == 0
        if item.fmt != "fr":
            assert graders.grade(item, item.answer) == 1


def test_copying_the_question_earns_nothing():
    assert all(graders.grade(item, item.question, "tolerant") == 0 for item in by("fr"))
    assert np.mean([graders.grade(item, item.question, "tolerant") for item in by("fib")]) < 0.03


def test_items_survive_a_file(tmp_path):
    write_items(tmp_path / "items.jsonl", ALL)
    assert read_items(tmp_path / "items.jsonl") == ALL


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0}, "n must be 1 or more"), ({"seed": -1}, "seed must be 0"), ({"fmt_mix": {"mc": 0}}, "weights"),
        ({"fmt_mix": {"mc": -1}}, "weights"), ({"fmt_mix": {"essay": 1}}, "unknown formats"),
        ({"tasks": ("poetry",)}, "unknown tasks"),
        ({"tasks": ("code_generation",)}, "can be asked as mc"),
        ({"n": 300, "fmt_mix": {"fib": 1}, "tasks": ("literature_listing",)}, "no further fib question"),
    ],
)  # fmt: skip
def test_make_items_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        items.make_items(**{"n": 8, **arguments})
    with pytest.raises(TypeError):
        items.make_items(2.5)
    with pytest.raises(TypeError):
        items.make_items(2, seed=0.5)


def test_prompts_ask_in_the_formats_words():
    for fmt, words in (("mc", "letter"), ("tf", "True or False"), ("fib", "blank"), ("fr", "sentences")):
        system, user = prompts.prompt(by(fmt)[0])
        assert system["role"] == "system"
        assert words in user["content"]
        assert by(fmt)[0].question in user["content"]
    item = by("mc")[0]
    assert all(
        f"{letter}. {text}" in prompts.prompt(item)[1]["content"]
        for letter, text in zip("ABCD", item.meta["options"], strict=True)
    )
    code = next(item for item in ALL if item.task == "code_generation")
    assert "Python" in prompts.prompt(code)[1]["content"]


def test_hints_show_the_first_steps():
    item = by("fib")[0]
    assert prompts.hints(item, 0) == prompts.prompt(item)
    shown = [prompts.hints(item, k)[1]["content"] for k in range(4)]
    for k, step in enumerate(item.meta["reasoning_chain"]):
        assert step in shown[k + 1]
        assert step not in shown[k]
    with pytest.raises(ValueError, match=r"k must lie in 0\.\.3"):
        prompts.hints(item, 4)
    with pytest.raises(ValueError, match="no reasoning_chain"):
        prompts.hints(Item("x", "f", "?", "a", "fib"), 1)


def test_masked_hints_hide_the_answer():
    for item in by("fib") + by("mc") + by("tf"):
        masked = prompts.steps(item, 3, mask_answer=True)
        assert prompts.MASK in masked[-1]
        text = " ".join(masked).lower()
        for wording in (item.meta["truth"], *item.meta.get("accepted", [])):
            assert f" {wording.lower()} " not in f" {text} ".replace(".", " ").replace(",", " ")
        if item.meta["value"] is not None and item.task == "calculation":
            assert item.meta["truth"].split()[0] not in " ".join(masked).split()
    full = [prompts.steps(item, 3) != prompts.steps(item, 3, mask_answer=True) for item in by("fib")]
    assert all(full)


def test_gold_has_forty_quadruples_of_five_spheres():
    made = gold.make_gold(40)
    assert len(gold.QUADRUPLES) == len({item.family for item in made}) == 40
    assert set(Counter(item.sphere for item in made).values()) == {8}
    assert gold.make_gold(40, seed=1) != made == gold.make_gold(40)
    sentences = [getattr(q, name) for q in gold.QUADRUPLES.values() for name in ("M0", "L0", "M1", "L1")]
    assert len(set(sentences)) == 160
    assert all(s[0].isupper() and s.endswith(".") and len(s.split()) <= 26 for s in sentences)
    many = gold.make_gold(320, seed=2)
    assert len({(item.question, item.meta["user_1"]) for item in many}) == 320
    for item in many:
        assert item.answer == f"{item.meta['assistant_0']}\n\n{item.meta['assistant_1']}"
    for n in (0, 321):
        with pytest.raises(ValueError, match=r"1\.\.320"):
            gold.make_gold(n)
    with pytest.raises(ValueError, match="seed"):
        gold.make_gold(2, seed=-1)


def test_quality_is_the_number_of_true_sentences():
    for item in gold.make_gold(40):
        q = gold.QUADRUPLES[item.family]
        for quality in range(4):
            for spread in (0, 1):
                text = " ".join(dialogues.write_dialogue(item, quality, spread, 1))
                assert sum(s in text for s in (q.L0, q.M1, q.L1)) == quality


def test_spread_is_what_it_says():
    for item in gold.make_gold(12, seed=3):
        same, frames, off = ([dialogues.write_dialogue(item, 2, s, m) for m in range(5)] for s in range(3))
        assert all(text == same[0] for text in same)
        assert len({str(text) for text in frames}) == len({str(text) for text in off}) == 5
        q = gold.QUADRUPLES[item.family]
        assert all(q.L0 in text[0] and q.M1 in text[1] for text in frames)
        assert not any(q.M0 in text[0] for text in off)
        assert max(len(turn.split()) for text in same + frames + off for turn in text) <= dialogues.WORDS


@pytest.mark.parametrize(("quality", "spread", "sample"), [(4, 0, 0), (-1, 0, 0), (0, 3, 0), (0, 0, -1)])
def test_writers_refuse(quality, spread, sample):
    with pytest.raises(ValueError, match="quality must lie"):
        dialogues.write_dialogue(gold.make_gold(1)[0], quality, spread, sample)
    with pytest.raises(ValueError, match="no dialogue"):
        dialogues.first_turn(by("mc")[0])
    stranger = Item("x", "f", "?", "a", "dialogue", meta={"user_0": "?", "user_1": "?"})
    with pytest.raises(ValueError, match="make_gold"):
        dialogues.write_dialogue(stranger, 0, 0, 0)


class Spy:
    """A model that keeps what it was asked."""

    name = "spy"

    def __init__(self):
        self.calls = []

    def generate(self, messages, *, temperature=0.0, max_tokens=256, seed=0):
        self.calls.append((messages, temperature))
        return f"turn {len(self.calls)}"

    def choice_logprobs(self, messages, choices):
        return None


def test_the_two_turns_are_the_published_ones():
    item, spy = gold.make_gold(1)[0], Spy()
    record = run_simple([item], spy, solver=dialogues.dialogue_solver())[0]
    (first, warm), (second, cold) = spy.calls
    assert record.output == ["turn 1", "turn 2"]
    assert (warm, cold) == (0.6, 0.0)
    assert first[-1]["content"] == "80 words or less. " + item.meta["user_0"]
    assert [m["content"] for m in second[1:]] == [item.meta["user_0"], "turn 1", item.meta["user_1"]]


def test_the_makers_are_the_tasks():
    assert set(tasks.MAKERS) == set(TASKS)
