"""How an item is put to a model: a solver is a function (item, generate) -> output.

`generate(messages, temperature=0.0, max_tokens=256)` asks the model; `generate.choice_logprobs(messages, choices)` asks
for likelihoods. The output is a text, or a list of texts, one a turn. `solver.calls` says how many calls an item takes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .adapters import Message
from .items import LETTERS, Item

Output = str | list[str]
Solver = Callable[[Item, Any], Output]
Prompt = Callable[[Item], list[Message]]


def plain_prompt(item: Item) -> list[Message]:
    """One user message: the question of the `item`, and below it the lettered options where it has any."""
    options = [f"{letter}. {text}" for letter, text in zip(LETTERS, item.meta.get("options", []), strict=False)]
    return [{"role": "user", "content": "\n".join([item.question, *options])}]


def ask(prompt: Prompt = plain_prompt, temperature: float = 0.0, max_tokens: int = 256) -> Solver:
    """A solver of one call: the answer to `prompt`(item), drawn at `temperature`, at most `max_tokens` tokens."""

    def solver(item: Item, generate: Any) -> str:
        return generate(prompt(item), temperature=temperature, max_tokens=max_tokens)

    return _counted(solver, 1, prompt=prompt, temperature=temperature, max_tokens=max_tokens)


def choose(prompt: Prompt = plain_prompt) -> Solver:
    """A solver of one call for mc items: the letter that the model finds likeliest after `prompt`(item).

    The first of equally likely letters is taken. The solver raises ValueError for an item without options.
    """

    def solver(item: Item, generate: Any) -> str:
        letters = LETTERS[: len(item.meta.get("options", []))]
        if not letters:
            raise ValueError(f"item {item.id!r} has no options to choose from")
        return letters[int(np.argmax(generate.choice_logprobs(prompt(item), list(letters))))]

    return _counted(solver, 1, choices_of=prompt)


def two_turns(
    first: Prompt,
    second: Callable[[Item, str], list[Message]],
    temperatures: tuple[float, float] = (0.0, 0.0),
    max_tokens: int = 256,
) -> Solver:
    """A solver of two calls: the answer to `first`(item), then the answer to `second`(item, that answer).

    temperatures: one a turn. max_tokens: at most, a turn. The output is the list of both answers.
    """

    def solver(item: Item, generate: Any) -> list[str]:
        review = generate(first(item), temperature=temperatures[0], max_tokens=max_tokens)
        return [review, generate(second(item, review), temperature=temperatures[1], max_tokens=max_tokens)]

    return _counted(solver, 2)


def _counted(solver: Any, calls: int, **told: Any) -> Solver:
    """The `solver` with the number of its calls, and what a batch needs to know of it."""
    solver.calls, solver.told = calls, told
    return solver


def calls_of(solver: Solver, item: Item) -> int:
    """How many calls `solver` makes for `item`: its attribute `calls`, else 2 for a dialogue and 1 for all others."""
    return getattr(solver, "calls", 2 if item.fmt == "dialogue" else 1)
