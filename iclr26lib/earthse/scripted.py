"""Models of known skill: an item response model decides what is known, and options spoil how it is said.

Every draw is a pure function of (model seed, item id), so runs repeat and two models see the same luck only by seed.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import expit

from ..evalkit.items import LETTERS, Item
from .draws import normal, pick, uniform

REFUSAL = "I cannot answer that."
LIKELY = 0.7


def response_probability(theta, b, a=1.0, c=0.0) -> np.ndarray:
    """Chance (...,) that a model of skill theta is right on an item.

    theta: (...,) skill, logits. b: (...,) difficulty, logits. a: (...,) slope, above 0. c: (...,) guess rate, [0, 1).
    Equation (irt): $P = c + (1 - c)\\,\\sigma(a(\\theta - b))$ (our choice; the item response model of test theory)
    Raises ValueError for a slope or guess rate outside its range, or a value that is not finite.
    """
    theta, b, a, c = (np.asarray(value, dtype=float) for value in (theta, b, a, c))
    if not (np.isfinite(theta).all() and np.isfinite(b).all()):
        raise ValueError("theta and b must be finite")
    if not ((a > 0).all() and (c >= 0).all() and (c < 1).all()):
        raise ValueError(f"a must be above 0 and c in [0, 1), got a {a.tolist()} and c {c.tolist()}")
    return c + (1 - c) * expit(a * (theta - b))


def guess_rate(item: Item) -> float:
    """Chance of a blind guess on an item: one over the options of mc, 1/2 for tf, 0 for all others."""
    if item.fmt == "mc":
        return 1 / len(item.meta["options"])
    return 0.5 if item.fmt == "tf" else 0.0


def difficulty(item: Item, spread: float = 1.0, shared: float = 0.5) -> float:
    """Difficulty of an item, logits: meta["difficulty"] where given, else normal, in part the same for its family.

    spread: standard deviation. shared: share of the variance that items of one family have in common, 0 to 1. Raises
    ValueError for a negative spread or a share outside [0, 1].
    """
    if not (spread >= 0 and 0 <= shared <= 1):
        raise ValueError(f"spread must be 0 or more and shared in [0, 1], got {spread} and {shared}")
    if (given := item.meta.get("difficulty")) is not None:
        return float(given)
    family, own = normal(0, "family difficulty", item.family), normal(0, "item difficulty", item.id)
    return spread * (math.sqrt(shared) * family + math.sqrt(1 - shared) * own)


def in_other_words(item: Item, text: str, seed: int) -> str:
    """`text`, an answer to an item, in a form that a person would accept and that differs from it as a string.

    seed: picks the form. Free answers (fr and others) get a trailing newline only.
    """
    forms = [f"{text}\n"]
    if item.fmt == "mc":
        forms += [f"The answer is {text}.", f"({text})", f"{text}."]
    elif item.fmt == "tf":
        forms += [text.lower(), f"{text}.", f"The statement is {text.lower()}."]
    elif item.fmt == "fib":
        forms += [f"The answer is {text}.", f"{text}."]
        number, _, unit = text.partition(" ")
        if (value := as_number(number)) is not None and unit:
            forms += [f"{value:.4e} {unit}", f"= {value:.5g} {unit}"]
    return pick(forms, seed, "form", item.id)


def as_number(text: str) -> float | None:
    """The finite number that text is in plain or scientific notation, None when it is anything else."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def wrong_answer(item: Item, seed: int) -> str:
    """An answer to an item that is wrong: another option, by its text and not its place, the other of two words, one of
    the typed mistakes of meta["wrong"] (fib), or, without them, a number off by a factor.

    seed: picks which.
    """
    if item.fmt == "mc":
        options = item.meta["options"]
        others = sorted(set(options) - {options[LETTERS.index(item.answer)]})
        return LETTERS[options.index(pick(others, seed, "wrong", item.id))]
    if item.fmt == "tf":
        return {"True": "False", "False": "True", "Yes": "No", "No": "Yes"}[item.answer]
    mistakes = [entry["text"] for entry in item.meta.get("wrong", [])]
    if item.fmt == "fib" and mistakes:
        return pick(mistakes, seed, "wrong", item.id)
    number, _, unit = item.answer.partition(" ")
    if (value := as_number(number)) is not None and value != 0:
        return f"{value * pick([1e-3, 0.1, 2.0, 1e3], seed, 'wrong', item.id):.6g} {unit}".strip()
    return "something else"


class Scripted:
    """A model that is right with the chance of the item response model; `evalkit.run` tells it the item.

    skill: theta in logits, a number or one a sphere. seed: equal seeds and items give equal answers, at any
    temperature. discrimination: a. spread, shared: of `difficulty`. noise_format: share of answers put
    `in_other_words`, a number or one a format (0 for formats that are not named). position_bias: share of mc items
    answered with the first letter whatever is known. refusal_rate: share of items not answered.
    """

    needs_item = True

    def __init__(
        self,
        skill: float | Mapping[str, float],
        seed: int = 0,
        *,
        discrimination: float = 1.0,
        spread: float = 1.0,
        shared: float = 0.5,
        noise_format: float | Mapping[str, float] = 0.0,
        position_bias: float = 0.0,
        refusal_rate: float = 0.0,
        name: str | None = None,
    ) -> None:
        """name: None makes one of all settings. Raises ValueError for a share outside [0, 1] or a slope not above 0."""
        shares = {"position_bias": position_bias, "refusal_rate": refusal_rate}
        noise = dict(noise_format) if isinstance(noise_format, Mapping) else float(noise_format)
        shares |= noise if isinstance(noise, dict) else {"noise_format": noise}
        if wrong := {key: value for key, value in shares.items() if not 0 <= value <= 1}:
            raise ValueError(f"shares must lie in [0, 1], got {wrong}")
        if not discrimination > 0:
            raise ValueError(f"discrimination must be above 0, got {discrimination}")
        self.skill = dict(skill) if isinstance(skill, Mapping) else float(skill)
        uniform(seed, "checks the seed")
        self.seed, self.a, self.spread, self.shared = seed, discrimination, spread, shared
        self.noise_format, self.position_bias, self.refusal_rate = noise, position_bias, refusal_rate
        settings = [self.skill, seed, discrimination, spread, shared, noise, position_bias, refusal_rate]
        self.name = name or f"scripted({', '.join(map(str, settings))})"

    def theta(self, item: Item) -> float:
        """Skill on the item's sphere, logits. Raises ValueError for a sphere without one."""
        if not isinstance(self.skill, dict):
            return self.skill
        if item.sphere not in self.skill:
            raise ValueError(f"no skill for sphere {item.sphere!r} of {item.id!r}; known: {', '.join(self.skill)}")
        return self.skill[item.sphere]

    def noise(self, item: Item) -> float:
        """Chance that an answer to the item is put `in_other_words`."""
        return self.noise_format.get(item.fmt, 0.0) if isinstance(self.noise_format, dict) else self.noise_format

    def knowledge(self, item: Item) -> float:
        """Chance, over model seeds, that the item is right before any spoiling: `response_probability`."""
        b = difficulty(item, self.spread, self.shared)
        return float(response_probability(self.theta(item), b, self.a, guess_rate(item)))

    def probability(self, item: Item) -> float:
        """Chance, over model seeds, that the item is answered right, spoiled by position and refusal (not by form)."""
        right = self.knowledge(item)
        if item.fmt == "mc":
            right = (1 - self.position_bias) * right + self.position_bias * (item.answer == "A")
        return (1 - self.refusal_rate) * right

    def answer(self, item: Item) -> str:
        """The text that the model gives for an item. Raises ValueError for a dialogue: writers of `gold` do those."""
        if item.fmt == "dialogue":
            raise ValueError(f"{item.id!r} is a dialogue: a scripted model answers questions only")
        if uniform(self.seed, "refuses", item.id) < self.refusal_rate:
            return REFUSAL
        if item.fmt == "mc" and uniform(self.seed, "first", item.id) < self.position_bias:
            text = "A"
        else:
            right = uniform(self.seed, "knows", item.id) < self.knowledge(item)
            text = item.answer if right else wrong_answer(item, self.seed)
        spoiled = uniform(self.seed, "spoils", item.id) < self.noise(item)
        return in_other_words(item, text, self.seed) if spoiled else text

    def generate(
        self, messages: list, *, temperature: float = 0.0, max_tokens: int = 256, seed: int = 0, item: Item
    ) -> str:
        """`answer(item)`; messages, temperature, max_tokens and seed play no part."""
        return self.answer(item)

    def choice_logprobs(self, messages: list, choices: Sequence[str], item: Item) -> np.ndarray:
        """Log probabilities (len(choices),), nats: 0.7 on the answer to item, where choices hold it, the rest shared.

        messages play no part. Raises ValueError for fewer than two choices.
        """
        if len(choices) < 2:
            raise ValueError(f"need 2 choices or more, got {list(choices)}")
        chosen = self.answer(item).strip(" \n().").removeprefix("The answer is ")
        weights = np.full(len(choices), (1 - LIKELY) / (len(choices) - 1))
        if chosen not in choices:
            return np.full(len(choices), -math.log(len(choices)))
        weights[list(choices).index(chosen)] = LIKELY
        return np.log(weights)


def permuted(item: Item, order: Sequence[int]) -> Item:
    """The mc item with its options in another order and the key moved with them; id and all else stay.

    order: order[i] is the old place of the option that comes to place i. Raises ValueError for no permutation.
    """
    options = item.meta.get("options", [])
    if item.fmt != "mc" or sorted(order) != list(range(len(options))):
        raise ValueError(f"need an mc item and a permutation of its {len(options)} options, got {list(order)}")
    key = LETTERS[list(order).index(LETTERS.index(item.answer))]
    meta: dict[str, Any] = {**item.meta, "options": [options[i] for i in order]}
    if "key" in meta:
        meta["key"] = key
    return replace(item, answer=key, meta=meta)
