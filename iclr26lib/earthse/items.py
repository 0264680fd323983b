"""EarthSE-style items: a plan that is balanced by construction, filled with laws drawn from the bank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..evalkit.items import Item
from . import formats
from .formats import FORMATS, WEIGHTS, Asked
from .laws import SPHERES, Law, of_sphere
from .tasks import MAKERS, TASKS, Fact

EVEN_MIX: dict[str, float] = {"mc": 1, "tf": 1, "fib": 1, "fr": 1}
PAPER_MIX: dict[str, float] = {"fr": 2000, "mc": 818, "fib": 769, "tf": 546}  # Earth-Iron, data set card
TRIES = 12


def make_items(
    n: int, fmt_mix: Mapping[str, float] | None = None, seed: int = 0, tasks: Sequence[str] = TASKS
) -> list[Item]:
    """`n` different items, equal for equal arguments, in the order of the formats.

    fmt_mix: weight of each format ("mc", "tf", "fib", "fr"), `EVEN_MIX` when None; shares are rounded to sum to n.
    seed: 0 or more. tasks: those allowed; leave out "code_generation" where no code may be run.
    By construction: the spheres take turns, the letters A to D of the keys and the words True and False too, so that
    counts differ by one at most. family: the law. A question that came before is drawn again, at last as a calculation.
    meta: law, title, subject, sub_discipline, params, truth (the right answer as text, also where the answer is a
    letter or a word), value (None without), unit, reasoning_chain (3 steps, the last one holds the truth), wrong (list
    of {"kind", "text"}), and by format: options and key; claim; answer_kind and accepted; rubric or code.
    Raises ValueError for n below 1, an unknown format or task, weights that are no weights, or a format without task;
    TypeError for a seed or n that is no integer.
    """
    counts = _counts(n, EVEN_MIX if fmt_mix is None else fmt_mix)
    if unknown := sorted(set(tasks) - set(TASKS)):
        raise ValueError(f"unknown tasks {unknown}; known: {', '.join(TASKS)}")
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise TypeError(f"seed must be an integer, got {seed!r}")
    if seed < 0:
        raise ValueError(f"seed must be 0 or more, got {seed}")
    seen: set[str] = set()
    return [item for fmt in FORMATS if counts[fmt] for item in _of_format(fmt, counts[fmt], seed, tasks, seen)]


def _counts(n: int, mix: Mapping[str, float]) -> dict[str, int]:
    """How many items of each format: shares of n, rounded by largest remainder."""
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
        raise TypeError(f"n must be an integer, got {n!r}")
    if n < 1:
        raise ValueError(f"n must be 1 or more, got {n}")
    if unknown := sorted(set(mix) - set(FORMATS)):
        raise ValueError(f"unknown formats {unknown} in fmt_mix; known: {', '.join(FORMATS)}")
    weights = np.array([mix.get(fmt, 0) for fmt in FORMATS], dtype=float)
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
        raise ValueError(f"fmt_mix must hold weights of 0 or more, not all 0, got {dict(mix)}")
    exact = n * weights / weights.sum()
    counts = np.floor(exact + 1e-9).astype(int)
    rest = np.argsort(-(exact - counts), kind="stable")[: n - counts.sum()]
    counts[rest] += 1
    return dict(zip(FORMATS, counts.tolist(), strict=True))


def _deck(cards: Sequence[Any], n: int, rng: np.random.Generator) -> list[Any]:
    """n cards: the whole deck in random order, again and again, so that counts differ by one at most."""
    rounds = range(-(-n // len(cards)))
    return [cards[i] for _ in rounds for i in rng.permutation(len(cards))][:n]


def _of_format(fmt: str, n: int, seed: int, tasks: Sequence[str], seen: set[str]) -> list[Item]:
    """n items of a format; the questions are added to `seen`."""
    allowed = [task for task, weight in WEIGHTS[fmt].items() for _ in range(weight) if task in tasks]
    if not allowed:
        raise ValueError(f"none of the tasks {list(tasks)} can be asked as {fmt}; it has {', '.join(WEIGHTS[fmt])}")
    rng = np.random.default_rng([seed, FORMATS.index(fmt)])
    laws = {sphere: iter(_deck(of_sphere(sphere), n, rng)) for sphere in SPHERES}
    plan = zip(_deck(SPHERES, n, rng), _deck(allowed, n, rng), _keys(fmt, n, rng), strict=True)
    return [
        _item(f"q{seed}-{fmt}-{number:04d}", next(laws[sphere]), task, fmt, key, allowed, rng, seen)
        for number, (sphere, task, key) in enumerate(plan)
    ]


def _keys(fmt: str, n: int, rng: np.random.Generator) -> list[Any]:
    """What is balanced within a format: the key's letter, or whether the statement is true."""
    return _deck({"mc": "ABCD", "tf": (True, False)}.get(fmt, (None,)), n, rng)


def _item(
    name: str, law: Law, task: str, fmt: str, key: Any, allowed: list[str], rng: np.random.Generator, seen: set[str]
) -> Item:
    """One item of a law with a question that is not in `seen`. Raises ValueError when none is left."""
    for attempt in range(4 * TRIES):
        chosen = task if attempt < TRIES else allowed[attempt % len(allowed)]
        params = law.draw(rng)
        fact = MAKERS[chosen](law, params, rng)
        asked = fact and _asked(fact, fmt, key, rng)
        text = asked and f"{asked.question}\n{asked.meta.get('options')}"
        if asked and text not in seen:
            seen.add(text)
            return _build(name, law, chosen, fmt, params, fact, asked)
    raise ValueError(f"no further {fmt} question of {law.name} is left for the tasks {sorted(set(allowed))}")


def _asked(fact: Fact, fmt: str, key: Any, rng: np.random.Generator) -> Asked | None:
    if fmt == "mc":
        return formats.multiple_choice(fact, key, rng)
    if fmt == "tf":
        return formats.true_false(fact, key, rng)
    return formats.fill_in_blank(fact) if fmt == "fib" else formats.free(fact)


def _build(name: str, law: Law, task: str, fmt: str, params: dict, fact: Fact, asked: Asked) -> Item:
    meta = {
        "law": law.name, "title": law.title, "subject": law.subject, "sub_discipline": law.sub_discipline,
        "params": params, "truth": fact.truth, "value": fact.value, "unit": fact.unit,
        "reasoning_chain": list(fact.steps),
        "wrong": [{"kind": kind, "text": text} for kind, text in fact.wrong],
    }  # fmt: skip
    return Item(name, law.name, asked.question, asked.answer, fmt, task, law.sphere, {**meta, **asked.meta})
