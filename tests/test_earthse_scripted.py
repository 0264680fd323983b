"""Scripted models of known skill, baselines, and the solver that needs a chain of steps."""

import math
from itertools import permutations

import numpy as np
import pytest

from iclr26lib.earthse import baselines, draws, hinting, scripted
from iclr26lib.earthse.scripted import Scripted
from iclr26lib.evalkit.items import LETTERS, Item
from iclr26lib.evalkit.run import run

OPTIONS = ["198.1 m/s", "198100 m/s", "62.6 m/s", "0.005 m/s"]


def mc(i, key="A", b=0.0, family="law 0", sphere="hydrosphere"):
    options = [f"{option} ({i})" for option in OPTIONS]
    place = LETTERS.index(key)
    options[0], options[place] = options[place], options[0]
    return Item(
        f"mc{i}", family, f"How fast, {i}?", key, "mc", sphere=sphere, meta={"options": options, "difficulty": b}
    )


def tf(i, answer="True"):
    return Item(f"tf{i}", "law 0", f"Is it so, {i}?", answer, "tf", sphere="hydrosphere", meta={"difficulty": 0.0})


def fib(i, answer="198.06 m/s", b=0.0, family="law 0"):
    return Item(f"fib{i}", family, f"Fill in ____, {i}.", answer, "fib", sphere="hydrosphere", meta={"difficulty": b})


def balanced(n):
    return [mc(i, LETTERS[i % 4]) for i in range(n)]


def score(model, items):
    return np.mean([model.answer(item) == item.answer for item in items])


# draws


def test_draws_are_uniform_normal_and_a_function_of_their_key():
    u = np.array([draws.uniform(3, "a", i) for i in range(4000)])
    assert 0 < u.min() < u.max() < 1
    assert np.abs(np.sort(u) - (np.arange(4000) + 0.5) / 4000).max() < 0.03
    assert draws.uniform(3, "a", 1) == u[1]
    assert (
        len({draws.uniform(3, "a", 1), draws.uniform(4, "a", 1), draws.uniform(3, "b", 1), draws.uniform(3, "a", 2)})
        == 4
    )
    z = np.array([draws.normal(0, i) for i in range(4000)])
    assert (z.mean(), z.std()) == pytest.approx((0, 1), abs=0.05)
    counts = [[draws.pick("xyz", 0, i) for i in range(3000)].count(letter) for letter in "xyz"]
    assert counts == pytest.approx([1000] * 3, abs=100)


# the item response model


@pytest.mark.equation("earthse", "irt")
def test_the_item_response_model_has_the_worked_values_and_limits():
    assert scripted.response_probability(0.7, 0.7, 1, 0.25) == pytest.approx(0.625)
    assert scripted.response_probability(1, -1, 1.5, 0.25) == pytest.approx(0.964431, abs=1e-6)
    assert scripted.response_probability(-50, 0, 1, 0.25) == pytest.approx(0.25)
    assert scripted.response_probability(50, 0, 1, 0.25) == pytest.approx(1)
    thetas = np.array([-1.0, 0.3, 2.0])
    by_hand = [0.5 + 0.5 / (1 + math.exp(-2 * (theta - 0.4))) for theta in thetas]
    assert scripted.response_probability(thetas, 0.4, 2, 0.5).tolist() == pytest.approx(by_hand)


@pytest.mark.equation("earthse", "irt")
@pytest.mark.parametrize(("make", "c"), [(mc, 0.25), (tf, 0.5), (fib, 0.0)])
def test_a_scripted_model_is_right_as_often_as_its_skill_says(make, c):
    items = [make(i) for i in range(3000)]
    model = Scripted(0.8, seed=5, discrimination=1.5)
    truth = c + (1 - c) / (1 + math.exp(-1.2))
    assert model.knowledge(items[0]) == pytest.approx(truth)
    assert score(model, items) == pytest.approx(truth, abs=4 * math.sqrt(truth * (1 - truth) / 3000))


def test_skill_may_differ_by_sphere_and_difficulty_by_family():
    model = Scripted({"hydrosphere": 2.0, "cryosphere": -2.0}, spread=0.0)
    assert model.knowledge(mc(0)) > 0.9
    assert model.knowledge(mc(0, sphere="cryosphere")) < 0.4
    items = [Item(f"i{k}", f"law {k % 40}", "q", "a", "fib") for k in range(2000)]
    b = np.array([scripted.difficulty(item) for item in items])
    assert (b.mean(), b.std()) == pytest.approx((0, 1), abs=0.25)
    within = b.reshape(50, 40).std(0).mean()
    assert within == pytest.approx(math.sqrt(0.5), abs=0.06)
    assert scripted.difficulty(fib(0, b=1.5)) == 1.5
    same = [scripted.difficulty(item, shared=1.0) for item in items[::40]]
    assert np.ptp(same) == 0


def test_answers_are_a_function_of_seed_and_item():
    items = balanced(200) + [fib(i) for i in range(50)]
    first = [Scripted(0.0, seed=1).answer(item) for item in items]
    assert first == [Scripted(0.0, seed=1).answer(item) for item in items]
    assert [Scripted(0.0, seed=1).answer(item) for item in reversed(items)] == first[::-1]
    assert first != [Scripted(0.0, seed=2).answer(item) for item in items]
    model = Scripted(0.0, seed=1)
    assert model.generate([], temperature=0.9, seed=77, item=items[3]) == first[3]
    assert (
        len({Scripted(0.0, seed=1).name, Scripted(0.5, seed=1).name, Scripted(0.0, seed=1, noise_format=0.1).name}) == 3
    )


def test_refusals_and_position_bias_have_the_rates_that_were_asked_for():
    items = balanced(2000)
    shy = Scripted(9.0, refusal_rate=0.3)
    refused = np.mean([shy.answer(item) == scripted.REFUSAL for item in items])
    assert refused == pytest.approx(0.3, abs=0.04)
    lazy = Scripted(9.0, position_bias=0.4)
    assert np.mean([lazy.answer(item) == "A" for item in items]) == pytest.approx(0.4 + 0.6 / 4, abs=0.04)
    assert score(lazy, items) == pytest.approx(np.mean([lazy.probability(item) for item in items]), abs=0.03)
    assert lazy.probability(items[0]) == pytest.approx(1, abs=1e-3)
    assert lazy.probability(items[1]) == pytest.approx(0.6, abs=1e-3)
    assert shy.probability(items[1]) == pytest.approx(0.7, abs=1e-3)


def test_noise_changes_how_an_answer_is_said_and_not_which():
    items = balanced(400) + [tf(i) for i in range(400)] + [fib(i) for i in range(400)]
    clean, noisy = Scripted(0.5, seed=3), Scripted(0.5, seed=3, noise_format=0.25)
    pairs = [(clean.answer(item), noisy.answer(item)) for item in items]
    assert np.mean([a != b for a, b in pairs]) == pytest.approx(0.25, abs=0.04)
    for a, b in pairs:
        assert (
            a == b
            or a.lower() in b.lower()
            or float(b.strip("= ").split()[0]) == pytest.approx(float(a.split()[0]), rel=1e-3)
        )
    forms = {scripted.in_other_words(fib(0), "198.06 m/s", seed) for seed in range(60)}
    assert {"198.06 m/s\n", "1.9806e+02 m/s", "The answer is 198.06 m/s."} <= forms
    assert scripted.in_other_words(Item("f", "l", "q", "a", "fr"), "text", 0) == "text\n"


def test_wrong_answers_are_wrong():
    for seed in range(40):
        assert scripted.wrong_answer(mc(seed, "C"), seed) in "ABD"
        number, unit = scripted.wrong_answer(fib(seed), seed).split(" ")
        assert abs(float(number) / 198.06 - 1) > 0.05
        assert unit == "m/s"
    assert scripted.wrong_answer(tf(0, "False"), 0) == "True"
    assert scripted.wrong_answer(fib(0, "albedo"), 0) == "something else"
    assert scripted.wrong_answer(fib(0, "0 K"), 0) == "something else"
    assert {scripted.wrong_answer(mc(i), 0) for i in range(40)} == set("BCD")


def test_permuting_the_options_changes_neither_the_score_nor_the_chosen_text():
    model, lazy = Scripted(0.0, seed=2), Scripted(0.0, seed=2, position_bias=0.5)
    moved = 0
    for item in balanced(40):
        text = item.meta["options"][LETTERS.index(model.answer(item))]
        for order in permutations(range(4)):
            other = scripted.permuted(item, order)
            assert (
                other.meta["options"][LETTERS.index(other.answer)] == item.meta["options"][LETTERS.index(item.answer)]
            )
            assert other.meta["options"][LETTERS.index(model.answer(other))] == text
            assert (model.answer(other) == other.answer) == (model.answer(item) == item.answer)
            moved += (lazy.answer(other) == other.answer) != (lazy.answer(item) == item.answer)
    assert moved > 50, "a model with a position bias is moved"


def test_likelihoods_favour_the_answer():
    item = mc(0, "B")
    model = Scripted(9.0, noise_format=1.0)
    found = model.choice_logprobs([], list("ABCD"), item)
    assert np.exp(found).sum() == pytest.approx(1)
    assert found.argmax() == 1
    assert np.ptp(Scripted(9.0, refusal_rate=1.0).choice_logprobs([], list("ABCD"), item)) == 0


def test_a_run_gives_the_answers_of_the_model():
    items = [mc(0), tf(1), fib(2)]
    model = Scripted(0.0, seed=8, noise_format=0.5)
    assert [record.output for record in run(items, model)] == [model.answer(item) for item in items]
    assert [record.output for record in run(items, baselines.reference_echo())] == [item.answer for item in items]
    asked = Item("d", "law 0", "Discuss.", "reference", "dialogue")
    assert "scripted model answers questions only" in run([asked], model)[0].error


# baselines


def test_always_a_scores_exactly_one_quarter_on_a_balanced_set():
    items = balanced(200)
    assert score(baselines.always_a(), items) == 0.25
    assert score(baselines.always_a(), [scripted.permuted(item, (3, 2, 1, 0)) for item in items]) == 0.25


def test_every_baseline_does_what_its_name_says():
    items = [
        mc(0, "B"),
        mc(1, "B"),
        mc(2, "C"),
        tf(3, "False"),
        tf(4),
        fib(5, "albedo"),
        Item("x", "l", "q?", "a", "fr"),
    ]
    found = {model.name: [model.answer(item) for item in items] for model in baselines.baselines(items, seed=4)}
    assert found["always A"] == ["A"] * 7
    assert found["majority"] == ["B", "B", "B", "False", "False", "albedo", "a"]
    assert found["copy the question"][-1] == "q?"
    assert found["reference echo"] == [item.answer for item in items]
    assert found["longest option"][0] == LETTERS[items[0].meta["options"].index("198100 m/s (0)")]
    assert found["longest option"][3:] == [""] * 4
    assert found["uniform guess"][5:] == ["", ""]
    guesses = [baselines.uniform_guess(1).answer(item) for item in balanced(2000)]
    assert [guesses.count(letter) for letter in "ABCD"] == pytest.approx([500] * 4, abs=80)
    assert baselines.majority([tf(0)]).answer(fib(0)) == ""
    assert baselines.uniform_guess().answer(tf(0)) in ("True", "False")


# hints


@pytest.mark.equation("earthse", "hints")
def test_accuracy_after_hints_is_a_power_of_the_step_success():
    q, K = 0.6, 4
    full, masked, own = ([float(hinting.hint_accuracy(q, K, k, kind)) for k in range(K + 1)] for kind in hinting.KINDS)
    assert full == pytest.approx([0.1296, 0.216, 0.36, 0.6, 1])
    assert masked == pytest.approx([0.1296, 0.216, 0.36, 0.6, 0.6])
    assert own == pytest.approx([0.1296] * 5)
    early = [float(hinting.hint_accuracy(q, K, k, "full", 2)) for k in range(K + 1)]
    assert early == pytest.approx([0.1296, 0.216, 1, 1, 1])
    hidden = [float(hinting.hint_accuracy(q, K, k, "masked", 2)) for k in range(K + 1)]
    assert hidden == pytest.approx([0.1296, 0.216, 0.216, 0.36, 0.36])
    both = hinting.hint_accuracy(q, K, 2, "full", np.array([2, 4]))
    assert both.tolist() == pytest.approx([1, 0.36])


@pytest.mark.equation("earthse", "hints")
def test_the_solver_does_what_its_accuracy_says_and_copies_what_it_sees():
    solver, items = hinting.HintSolver(0.6, seed=1), [fib(i) for i in range(1000)]
    chain = ["Long waves: c = sqrt(g h)", "Put in g = 9.81 and h = 4000", "g h = 39240", "So c = 198.06 m/s."]
    hidden = [*chain[:3], "So c = [...] m/s."]
    for k in range(5):
        for shown, kind in ((chain, "full"), (hidden, "masked")):
            right = np.mean([solver.answer(item, shown[:k], 4) == item.answer for item in items])
            wanted = float(hinting.hint_accuracy(0.6, 4, k, kind))
            assert right == pytest.approx(wanted, abs=4 * math.sqrt(wanted * (1 - wanted) / 1000) + 1e-9)
    assert hinting.gives_away(items[0], "c is 198.06.")
    assert not hinting.gives_away(items[0], "c is 1198.06 m/s")
    assert hinting.gives_away(fib(0, "albedo"), "This is the Albedo of snow")


def test_more_hints_never_hurt_the_solver():
    solver = hinting.HintSolver(0.5)
    for i in range(60):
        right = [solver.answer(fib(i), ["a", "b", "c", "198.06"][:k], 4) == fib(i).answer for k in range(5)]
        assert right == sorted(right)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: draws.uniform(-1, "a"), ValueError, "seed must be 0 or more, got -1"),
        (lambda: draws.uniform(0.5, "a"), TypeError, "seed must be an integer, got 0.5"),
        (lambda: draws.pick([], 0), ValueError, "nothing to pick from"),
        (lambda: scripted.response_probability(np.nan, 0), ValueError, "must be finite"),
        (lambda: scripted.response_probability(0, 0, a=0), ValueError, "a must be above 0"),
        (lambda: scripted.response_probability(0, 0, c=1), ValueError, r"c in \[0, 1\)"),
        (lambda: scripted.difficulty(fib(0), spread=-1), ValueError, "spread must be 0 or more"),
        (lambda: scripted.difficulty(fib(0), shared=2), ValueError, r"shared in \[0, 1\]"),
        (lambda: Scripted(0.0, noise_format=1.5), ValueError, "'noise_format': 1.5"),
        (lambda: Scripted(0.0, discrimination=0), ValueError, "discrimination must be above 0, got 0"),
        (lambda: Scripted(0.0, seed=-2), ValueError, "seed must be 0 or more"),
        (lambda: Scripted({"a": 1.0}).answer(mc(0)), ValueError, "no skill for sphere 'hydrosphere'.*known: a"),
        (lambda: Scripted(0.0).choice_logprobs([], ["A"], mc(0)), ValueError, "2 choices or more"),
        (lambda: scripted.permuted(mc(0), (0, 1, 2)), ValueError, "permutation of its 4 options"),
        (lambda: scripted.permuted(tf(0), ()), ValueError, "need an mc item"),
        (lambda: baselines.majority([]), ValueError, "at least one item"),
        (lambda: baselines.uniform_guess("x"), TypeError, "seed must be an integer, got 'x'"),
        (lambda: hinting.steps_left(0, 0), ValueError, "steps must be 1 or more, got 0"),
        (lambda: hinting.steps_left(4, 5), ValueError, "k must be 0 or more and 4 or less, got 5"),
        (lambda: hinting.steps_left(4, 1.5), TypeError, "k must be an integer, got 1.5"),
        (lambda: hinting.steps_left(4, 1, "half"), ValueError, "full, masked, self, got 'half'"),
        (lambda: hinting.steps_left(4, 1, "full", 5), ValueError, r"leak must lie in 1..4, got \[5\]"),
        (lambda: hinting.hint_accuracy(1.1, 4, 0), ValueError, r"q must lie in \[0, 1\], got 1.1"),
        (lambda: hinting.HintSolver(-0.1), ValueError, r"q must lie in \[0, 1\], got -0.1"),
        (
            lambda: hinting.HintSolver(0.5).answer(fib(0), ["a", "b"], 1),
            ValueError,
            "2 steps are shown of a chain of 1",
        ),
    ],
)
def test_wrong_input_of_scripted_models_fails_at_once(call, error, message):
    with pytest.raises(error, match=message):
        call()
