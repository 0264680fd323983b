"""Exercises with teeth: a checker accepts the true solution and names the mistake in a wrong one.

The checker runs a reader's function on probe inputs and compares with the solution. Each planted mistake is itself a
runnable wrong solution: when the reader's answers equal those of a planted mistake, its message is the reply.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


class WrongAnswer(ValueError):
    """The function under test does not do what the exercise asks; the message says why."""


@dataclass(frozen=True)
class Mistake:
    """A plausible wrong solution and what to tell somebody who wrote it."""

    fn: Callable
    message: str


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    id, task, hint, target: what the page shows. solution: the true function. mistakes: name -> Mistake, three or more.
    probes: returns a list of argument tuples (made anew at each call, so that nobody can spoil them).
    library: "package.module:function" that this exercise re-implements, with the same signature.
    observe: for functions that work in place: turns one into a function that returns what it left behind.
    """

    id: str
    task: str
    hint: str
    target: str
    solution: Callable
    mistakes: dict[str, Mistake]
    probes: Callable[[], Sequence[tuple]]
    library: str | None = field(default=None)
    observe: Callable[[Callable], Callable] = field(default=lambda fn: fn)

    def check(self, fn: Callable) -> str:
        """Run `fn` on the probes. Returns a line of praise; raises WrongAnswer that names the mistake where known."""
        if not callable(fn):
            raise TypeError(f"check takes a function, got {type(fn).__name__}")
        wanted, got = self._answers(self.solution), self._answers(fn)
        if _same(wanted, got):
            return f"{self.id}: right, on all {len(wanted)} probes. {self.target}"
        for name, mistake in self.mistakes.items():
            if _same(self._answers(mistake.fn), got):
                raise WrongAnswer(f"{self.id}: {name}. {mistake.message}")
        first = next(i for i, (a, b) in enumerate(zip(wanted, got, strict=True)) if not _same([a], [b]))
        raise WrongAnswer(
            f"{self.id}: probe {first} should give {_short(wanted[first])}, yours gives {_short(got[first])}"
        )

    def reply(self, fn: Callable) -> str:
        """What `check` says about `fn`, as a line: praise, or why it is wrong. Raises TypeError for no function."""
        try:
            return self.check(fn)
        except WrongAnswer as answer:
            return str(answer)

    def _answers(self, fn: Callable) -> list[Any]:
        return _answers(self.observe(fn), self.probes())


def _answers(fn: Callable, probes: Sequence[tuple]) -> list[Any]:
    """The function's answer to every probe; an exception counts as an answer, so that it can be reported."""
    answers = []
    for probe in probes:
        try:
            answers.append(_plain(fn(*probe)))
        except Exception as error:  # noqa: BLE001 - a reader's code may raise anything, and is told what it raised
            answers.append(f"{type(error).__name__}: {error}")
    return answers


def _plain(value: Any) -> Any:
    """Tensors and nested sequences as arrays, so that answers compare by value, shape and kind of dtype."""
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return np.array(value.detach().cpu() if hasattr(value, "detach") else value)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, str) or isinstance(b, str):
        return isinstance(a, str) and a == b
    if isinstance(a, list) or isinstance(b, list):
        return isinstance(a, list) and isinstance(b, list) and len(a) == len(b) and all(map(_same, a, b))
    if a.shape != b.shape or (a.dtype == bool) != (b.dtype == bool):
        return False
    return bool(np.array_equal(a, b) if a.dtype.kind in "biu" else np.allclose(a, b, rtol=1e-6, atol=1e-9))


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else str(value).replace("\n", " ")
    return text if len(text) <= 120 else text[:117] + "..."
