"""Put every item to a model, and get records."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tqdm import tqdm

from .adapters import ModelAdapter
from .batches import prefill
from .cache import AnswerCache, key_of
from .caller import Caller, CallFailed, Session
from .graders import grade_all
from .items import Item, Record, unique
from .solvers import Solver, ask, calls_of

ENGINES = ("simple", "inspect")


def run_simple(
    items: Iterable[Item], model: ModelAdapter, n_samples: int = 1, solver: Solver | None = None, seed: int = 0
) -> list[Record]:
    """The records of `model` on `items`, `n_samples` a item, by a plain loop: no cache, no engine.

    solver: as in `run`. Raises TypeError and ValueError as `run`.
    """
    checked, solver = _checked(items, model, n_samples, seed), solver or ask()
    session = Session(model, seed)
    return [answer(session, item, sample, solver) for item in checked for sample in range(n_samples)]


def answer(session: Session, item: Item, sample: int, solver: Solver) -> Record:
    """The record of draw number `sample` of `item` by `solver` in a `session`; a failed call is noted in its error.

    Raises what a mistaken solver raises, and TypeError when its output is neither a text nor a list of texts.
    """
    try:
        output = solver(item, Caller(session, item, sample))
    except CallFailed as error:
        return Record(item.id, session.model.name, "", sample, error=str(error))
    return Record(item.id, session.model.name, output, sample)


def run(
    items: Iterable[Item],
    model: ModelAdapter,
    n_samples: int = 1,
    cache: str | Path | None = None,
    solver: Solver | None = None,
    progress: bool = False,
    max_calls: int | None = None,
    *,
    seed: int = 0,
    engine: str = "simple",
    log_dir: str | Path | None = None,
    grader: Callable | None = None,
) -> list[Record]:
    """The records of `model` on `items`, in the order of items, then samples.

    n_samples: draws an item. cache: folder of answers, read and filled; None keeps nothing. solver: a function
    (item, generate) -> output, None asks the question plainly. progress: a bar on standard error. max_calls: how many
    calls may be made, answers from the cache not counted. seed: of the run. engine: "simple" is a loop, "inspect" goes
    through inspect_ai, many calls at a time, with a log in log_dir. grader: (item, output) -> score
    or (score, parsed).

    A call that fails becomes Record.error. Raises ValueError for bad arguments, and for more calls than max_calls where
    no cache could save any; BudgetExceeded when a run with a cache comes to that limit.
    """
    checked, solver = _checked(items, model, n_samples, seed), solver or ask()
    _check_engine(engine, log_dir)
    _check_budget(max_calls, count_calls(checked, n_samples, solver), cache)
    session = Session(model, seed, AnswerCache(cache, key_of(model)) if cache is not None else None, max_calls)
    if engine == "inspect":
        from .engine import run_inspect

        return run_inspect(checked, session, n_samples, solver, log_dir, grader, progress)
    pairs = [(item, sample) for item in checked for sample in range(n_samples)]
    prefill(session, pairs, solver, progress)
    records = [answer(session, *pair, solver) for pair in tqdm(pairs, desc=model.name, disable=not progress)]
    return records if grader is None else grade_all(checked, records, grader)


def count_calls(items: Iterable[Item], n_samples: int = 1, solver: Solver | None = None) -> int:
    """How many model calls a run over `items` with `n_samples` draws takes, caches aside; `solver` as in `run`.

    Raises ValueError when n_samples is below 1.
    """
    _count("n_samples", n_samples, 1)
    return n_samples * sum(calls_of(solver or ask(), item) for item in items)


def _checked(items: Iterable[Item], model: Any, n_samples: int, seed: int) -> list[Item]:
    if not isinstance(getattr(model, "name", None), str) or not callable(getattr(model, "generate", None)):
        raise TypeError(f"a model needs a name and a method generate, got {type(model).__name__}")
    _count("n_samples", n_samples, 1)
    _count("seed", seed, 0)
    return unique(items)


def _count(name: str, value: Any, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be {least} or more, got {value}")


def _check_engine(engine: str, log_dir: Any) -> None:
    if engine not in ENGINES:
        raise ValueError(f"engine must be one of {', '.join(ENGINES)}, got {engine!r}")
    if log_dir is not None and engine != "inspect":
        raise ValueError("log_dir needs engine='inspect'")


def _check_budget(max_calls: int | None, needed: int, cache: Any) -> None:
    if max_calls is None:
        return
    _count("max_calls", max_calls, 0)
    if cache is None and needed > max_calls:
        raise ValueError(f"the run needs {needed} calls, max_calls allows {max_calls}")
