"""Hints and their leak: a scripted solver that needs every step of a chain, and copies an answer that it is shown."""

from collections.abc import Sequence

import numpy as np

from ..evalkit.items import Item
from .draws import uniform
from .prompts import MASK
from .scripted import as_number, wrong_answer

KINDS = ("full", "masked", "self")


def _count(name: str, value: int, low: int, high: int | None = None) -> int:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < low or (high is not None and value > high):
        raise ValueError(
            f"{name} must be {low} or more{f' and {high} or less' if high is not None else ''}, got {value}"
        )
    return int(value)


def steps_left(steps: int, k: int, kind: str = "full", leak=None) -> np.ndarray:
    """Which steps (..., K), bool, a solver must do by itself when it is given the first k of a chain of K.

    steps: K, of the chain. k: shown, 0 to K. kind: "full" shows them as they are, and nothing is left where one holds
    the answer, which can be copied; "masked" hides the answer, so the steps that hold it must be done; "self" has the
    solver write them, which saves none. leak: (...,) the first step, 1 to K, that holds the answer; the last one does,
    too. None means the last.
    Raises ValueError for another kind or a number outside its range, TypeError for one that is no integer.
    """
    K, k = _count("steps", steps, 1), _count("k", k, 0, steps)
    first = np.asarray(K if leak is None else leak)[..., None]
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    if not ((first >= 1) & (first <= K)).all():
        raise ValueError(f"leak must lie in 1..{K}, got {first.ravel()[:5].tolist()}")
    step = np.arange(1, K + 1)
    holds = (step == first) | (step == K)
    return {"full": (step > k) & (k < first), "masked": (step > k) | holds, "self": (step > 0) | holds}[kind]


def hint_accuracy(q: float, steps: int, k: int, kind: str = "full", leak=None) -> np.ndarray:
    """Chance (...,) of a right answer after k hints, for a solver that does each step right with chance q.

    q: in [0, 1]. steps, k, kind, leak: as in `steps_left`, which gives the number of steps left, m.
    Equation (hints): $P = q^{m}$, $m = K - k$ for a full hint without the answer and 0 with it (our choice)
    Raises ValueError for q outside [0, 1], and as `steps_left`.
    """
    if not 0 <= q <= 1:
        raise ValueError(f"q must lie in [0, 1], got {q}")
    return np.power(float(q), steps_left(steps, k, kind, leak).sum(-1))


def gives_away(item: Item, step: str) -> bool:
    """Whether a step's text holds the answer of an item: its number, if it is one, else its words."""
    number = item.answer.partition(" ")[0]
    if as_number(number) is not None:
        return any(word.strip(".,;:()=") == number for word in step.split())
    return item.answer.lower() in step.lower()


class HintSolver:
    """A model that answers open items by a chain of steps, each done right with chance q, and copies where it can.

    q: in [0, 1]. seed: the luck of a step depends on seed, item and place of the step alone, so more hints never hurt.
    """

    def __init__(self, q: float, seed: int = 0) -> None:
        """Raises ValueError for q outside [0, 1] or a negative seed, TypeError for a seed that is no integer."""
        if not 0 <= q <= 1:
            raise ValueError(f"q must lie in [0, 1], got {q}")
        uniform(seed, "checks the seed")
        self.q, self.seed, self.name = q, seed, f"hint solver({q}, {seed})"

    def does(self, item: Item, step: int) -> bool:
        """Whether it does the step, 0 the first, of an item right."""
        return uniform(self.seed, "step", item.id, step) < self.q

    def answer(self, item: Item, shown: Sequence[str], steps: int) -> str:
        """Its answer to an item with a chain of `steps`, the first of which are shown, "[...]" for what is masked.

        Raises ValueError for more steps shown than there are.
        """
        if len(shown) > steps:
            raise ValueError(f"{len(shown)} steps are shown of a chain of {steps}")
        if any(gives_away(item, step) for step in shown):
            return item.answer
        given = [place for place, step in enumerate(shown) if MASK not in step]
        right = all(self.does(item, place) for place in range(steps) if place not in given)
        return item.answer if right else wrong_answer(item, self.seed)
