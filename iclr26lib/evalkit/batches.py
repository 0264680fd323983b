"""Local models answer many prompts at once: the answers of one-call solvers are made in batches beforehand.

A model that can has `batch_size`, `generate_many(list of messages, temperature=, max_tokens=, seeds=)` and
`choice_logprobs_many(list of messages, choices)`.
"""

from __future__ import annotations

import sys
from typing import Any

from tqdm import tqdm

from .cache import MemoryCache
from .caller import Caller, Session
from .items import LETTERS, Item
from .solvers import Solver


def prefill(session: Session, pairs: list[tuple[Item, int]], solver: Solver, progress: bool = False) -> None:
    """Put into the session's cache what its model answers to `pairs` (item, number of the draw), batch by batch.

    Nothing happens unless the model takes batches and the `solver` is one of `ask` or `choose`. progress: a bar on
    standard error. A batch that fails is named on standard error and left to the single calls, which tell whose fault
    it was. Raises BudgetExceeded as a single call would.
    """
    told = getattr(solver, "told", {})
    if not told or not hasattr(session.model, "generate_many"):
        return
    session.cache = session.cache if session.cache is not None else MemoryCache()
    calls = [_call(Caller(session, *pair), told) for pair in pairs]
    groups: dict[Any, list] = {}
    for key, messages, settings in calls:
        if session.cache.get(key) is None:
            kind = tuple(settings.get("choices", ())) or (settings["temperature"], settings["max_tokens"])
            groups.setdefault(kind, []).append((key, messages, settings))
    batches = [group[at : at + n] for group in groups.values() for n in [session.model.batch_size]
               for at in range(0, len(group), n)]  # fmt: skip
    for batch in tqdm(batches, desc=f"{session.model.name}, batches", disable=not progress):
        _fill(session, batch)


def _call(caller: Caller, told: dict[str, Any]) -> tuple[str, list, dict[str, Any]]:
    """(key, messages, settings) of the one call that a solver of `ask` or `choose` makes."""
    settings: dict[str, Any] = {"seed": caller.seed}
    if (prompt := told.get("choices_of")) is not None:
        settings["choices"] = list(LETTERS[: len(caller.item.meta.get("options", []))])
    else:
        prompt = told["prompt"]
        settings.update(temperature=float(told["temperature"]), max_tokens=told["max_tokens"])
    messages = prompt(caller.item)
    return caller.key(messages, settings), messages, settings


def _fill(session: Session, batch: list[tuple[str, list, dict[str, Any]]]) -> None:
    for _ in batch:
        session.spend()
    all_messages, first = [messages for _, messages, _ in batch], batch[0][2]
    try:
        if "choices" in first:
            answers = [row.tolist() for row in session.model.choice_logprobs_many(all_messages, first["choices"])]
        else:
            seeds = [settings["seed"] for _, _, settings in batch]
            asked = {"temperature": first["temperature"], "max_tokens": first["max_tokens"]}
            answers = session.model.generate_many(all_messages, seeds=seeds, **asked)
    except Exception as error:  # noqa: BLE001  each call is made again by itself, and its error goes into its record
        print(f"a batch of {len(batch)} failed ({type(error).__name__}: {error}); asking one by one", file=sys.stderr)
        return
    for (key, _, _), answer in zip(batch, answers, strict=True):
        session.cache.put(key, answer)
