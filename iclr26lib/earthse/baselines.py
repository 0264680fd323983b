"""What needs no knowledge, and what needs nothing else: baselines that every table should show."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ..evalkit.items import LETTERS, Item, unique
from .draws import pick, uniform


def _options(item: Item) -> list[str]:
    """The answers that a format allows; none for open answers."""
    if item.fmt == "mc":
        return list(LETTERS[: len(item.meta["options"])])
    if item.fmt == "tf":
        return ["Yes", "No"] if item.answer in ("Yes", "No") else ["True", "False"]
    return []


class Baseline:
    """A model that is a function of the item; `evalkit.run` tells it the item.

    name: its name. answer: item -> text.
    """

    needs_item = True

    def __init__(self, name: str, answer: Callable[[Item], str]) -> None:
        self.name, self.answer = name, answer

    def __repr__(self) -> str:
        return f"Baseline({self.name!r})"

    def generate(
        self, messages: list, *, temperature: float = 0.0, max_tokens: int = 256, seed: int = 0, item: Item
    ) -> str:
        """`answer(item)`; messages, temperature, max_tokens and seed play no part."""
        return self.answer(item)

    def choice_logprobs(self, messages: list, choices: Sequence[str], item: Item) -> np.ndarray | None:
        """None: a function of the item gives no likelihoods of choices after messages."""
        return None


def always_a() -> Baseline:
    """Answers "A" to everything."""
    return Baseline("always A", lambda item: "A")


def majority(items: Iterable[Item]) -> Baseline:
    """Answers the commonest answer of the item's format among `items` (the first in the alphabet where two are), ""
    for a format that none of them has. Raises ValueError for no items.
    """
    counts: dict[str, Counter] = {}
    for item in unique(items):
        counts.setdefault(item.fmt, Counter())[item.answer] += 1
    commonest = {fmt: min(count, key=lambda answer: (-count[answer], answer)) for fmt, count in counts.items()}
    return Baseline("majority", lambda item: commonest.get(item.fmt, ""))


def uniform_guess(seed: int = 0) -> Baseline:
    """Answers one of the allowed answers, all equally likely, by seed and item id; "" where the format is open.

    Raises TypeError or ValueError for a seed that is no integer of 0 or more.
    """
    uniform(seed, "checks the seed")
    return Baseline(
        "uniform guess", lambda item: pick(options, seed, "guess", item.id) if (options := _options(item)) else ""
    )


def longest_option() -> Baseline:
    """Answers the letter of the longest option (the first of several), "" where there are no options."""

    def answer(item: Item) -> str:
        lengths = [len(text) for text in item.meta.get("options", [])]
        return LETTERS[lengths.index(max(lengths))] if lengths else ""

    return Baseline("longest option", answer)


def copy_question() -> Baseline:
    """Answers with the question itself."""
    return Baseline("copy the question", lambda item: item.question)


def reference_echo() -> Baseline:
    """Answers with the gold answer: the upper bound of every grader."""
    return Baseline("reference echo", lambda item: item.answer)


def baselines(items: Iterable[Item], seed: int = 0) -> list[Baseline]:
    """All six baselines, the majority taken over `items`, the guesses from `seed`. Raises ValueError for no items."""
    return [always_a(), majority(items), uniform_guess(seed), longest_option(), copy_question(), reference_echo()]
