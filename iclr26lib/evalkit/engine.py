"""Runs through inspect_ai: items become samples, draws become epochs, adapters a model provider named `iclr26`.

Importing this module imports inspect_ai (about a second); `run(engine="inspect")` does so when asked.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
from inspect_ai import Epochs, Task
from inspect_ai import eval as inspect_eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalLog, EvalSample
from inspect_ai.model import (
    ChatMessage,
    GenerateConfig,
    Model,
    ModelAPI,
    ModelOutput,
    get_model,
    modelapi,
)
from inspect_ai.scorer import Score, Target, grouped, mean, scorer, stderr
from inspect_ai.solver import Generate, TaskState, solver

from .adapters import Message, ModelAdapter
from .caller import Caller, CallFailed, Session
from .chat import to_chat, to_message
from .graders import Grader, grade_one
from .items import Item, Record, unique
from .solvers import Solver, ask

FACTORIES: dict[str, Callable[[], ModelAdapter]] = {}
_ASKED: ContextVar[Item | None] = ContextVar("asked", default=None)


def register(name: str, factory: Callable[[], ModelAdapter]) -> None:
    """Let `inspect eval ... --model iclr26/NAME` build its model by `factory`, a function without arguments.

    name: NAME. Raises ValueError for an empty name.
    """
    if not name:
        raise ValueError("a model needs a name")
    FACTORIES[name] = factory


class AdapterAPI(ModelAPI):
    """An adapter as a model of inspect_ai, made by the registered factory of `model_name`."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig | None = None,
    ) -> None:
        super().__init__(model_name, None, None, [], config or GenerateConfig())
        if model_name not in FACTORIES:
            raise ValueError(f"unknown model {model_name!r}; known: {', '.join(sorted(FACTORIES)) or 'none'}")
        self.adapter = FACTORIES[model_name]()
        self._limit: anyio.CapacityLimiter | None = None

    def max_connections(self) -> int:
        """The adapter's `max_connections`, 10 where it has none."""
        return getattr(self.adapter, "max_connections", 10)

    async def generate(
        self, input: list[ChatMessage], tools: list, tool_choice: Any, config: GenerateConfig
    ) -> ModelOutput:
        """The adapter's answer to the messages `input`, by `config`; no `tools`, so `tool_choice` is nothing.

        Raises ValueError where tools are given, and what the adapter raises.
        """
        if tools:
            raise ValueError("an adapter takes no tools")
        messages, settings = [to_message(m) for m in input], _settings(config)
        if getattr(self.adapter, "needs_item", False):
            settings["item"] = _ASKED.get()
        if self._limit is None:
            self._limit = anyio.CapacityLimiter(self.max_connections())
        text = await anyio.to_thread.run_sync(lambda: self.adapter.generate(messages, **settings), limiter=self._limit)
        return ModelOutput.from_content(self.model_name, text)


@modelapi("iclr26")
def _provider() -> type[ModelAPI]:
    return AdapterAPI


def _settings(config: GenerateConfig) -> dict[str, Any]:
    return {
        "temperature": config.temperature if config.temperature is not None else 0.0,
        "max_tokens": config.max_tokens if config.max_tokens is not None else 256,
        "seed": config.seed if config.seed is not None else 0,
    }


class _Bridge:
    """The model of a running sample as an adapter, called from the worker thread in which a solver runs."""

    needs_item = True

    def __init__(self, model: Model, name: str, state: TaskState) -> None:
        self.model, self.name, self.state = model, name, state

    def generate(self, messages: list[Message], *, item: Item, **settings: Any) -> str:
        return anyio.from_thread.run(self._generate, messages, item, settings)

    async def _generate(self, messages: list[Message], item: Item, settings: dict[str, Any]) -> str:
        _ASKED.set(item)
        chat = [to_chat(m) for m in messages]
        output = await self.model.generate(chat, config=GenerateConfig(**settings))
        self.state.messages, self.state.output = [*chat, output.message], output
        return output.completion

    def choice_logprobs(self, messages: list[Message], choices: Any, *, item: Item) -> Any:
        adapter = getattr(self.model.api, "adapter", None)
        extra = {"item": item} if getattr(adapter, "needs_item", False) else {}
        return None if adapter is None else adapter.choice_logprobs(messages, choices, **extra)


@dataclasses.dataclass
class Kept:
    """What a run leaves in memory, so that nobody need read its log.

    records: by (item id, epoch). raised: what mistaken solvers and graders raised.
    """

    records: dict[tuple[str, int], Record] = dataclasses.field(default_factory=dict)
    raised: list[BaseException] = dataclasses.field(default_factory=list)


def item_solver(items: dict[str, Item], session: Session, solve: Solver, kept: Kept, workers: int):
    """The inspect_ai solver that runs `solve`, a solver of evalkit, in a thread and keeps its output in the sample.

    items: by id. session: seed, cache, budget; its model is the adapter or None. kept: gets the records and what a
    mistaken solver raises. workers: threads at most. All of this stays out of the log, which would copy it into every
    sample.
    """
    limits: list[anyio.CapacityLimiter] = []

    async def step(state: TaskState, generate: Generate) -> TaskState:
        limits[:] = limits or [anyio.CapacityLimiter(workers)]
        model = get_model()
        bridge = _Bridge(model, session.model.name if session.model else str(model), state)
        caller = Caller(session, items[str(state.sample_id)], state.epoch - 1, bridge)
        record = partial(Record, caller.item.id, bridge.name, sample=caller.sample)
        try:
            output = await anyio.to_thread.run_sync(solve, caller.item, caller, limiter=limits[0])
            kept.records[_place(state)] = record(output)
            state.metadata["output"] = output
            state.output = ModelOutput.from_content(bridge.name, _shown(output))
        except CallFailed as error:
            kept.records[_place(state)] = record("", error=str(error))
            state.metadata["error"] = str(error)
        except Exception as error:
            kept.raised.append(error)
            raise
        return state

    @solver(name="evalkit")
    def evalkit():
        return step

    return evalkit()


def _place(state: TaskState) -> tuple[str, int]:
    return str(state.sample_id), state.epoch


def _shown(output: str | list[str]) -> str:
    return output if isinstance(output, str) else "\n\n".join(output)


def item_scorer(items: dict[str, Item], grader: Grader | None, kept: Kept):
    """The inspect_ai scorer that grades the kept output with `grader`; a failed call is no score.

    items: by id. kept: gets the scores and what a mistaken grader raises.
    """

    async def score(state: TaskState, target: Target) -> Score | None:
        if grader is None or "output" not in state.metadata:
            return None
        try:
            value, parsed = grade_one(items[str(state.sample_id)], state.metadata["output"], grader)
            kept.records[_place(state)] = dataclasses.replace(kept.records[_place(state)], score=value, parsed=parsed)
        except Exception as error:
            kept.raised.append(error)
            raise
        return Score(value=value, answer=_shown(state.metadata["output"]), metadata={"parsed": parsed})

    @scorer(metrics=[mean(), stderr(cluster="family"), grouped(mean(), "fmt")], name="evalkit")
    def evalkit():
        return score

    return evalkit()


def sample_of(item: Item) -> Sample:
    """The `item` as a sample of inspect_ai; family, fmt, task, sphere and meta stand in its metadata.

    meta is one JSON text there: inspect_ai copies and compares metadata at every step, part by part.
    """
    told = {name: getattr(item, name) for name in ("family", "fmt", "task", "sphere")}
    told["meta"] = json.dumps(item.meta, ensure_ascii=False)
    return Sample(id=item.id, input=item.question, target=item.answer, metadata=told)


def as_task(
    items: Iterable[Item],
    grader: Grader | None = None,
    solver: Solver | None = None,
    n_samples: int = 1,
    seed: int = 0,
    name: str = "evalkit",
    model: ModelAdapter | None = None,
) -> Task:
    """A task of inspect_ai, for `inspect eval FILE.py --model PROVIDER/MODEL`: any provider, or a registered adapter.

    items, grader, solver, n_samples, seed: as in `evalkit.run`. name: of the task in logs. model: an adapter that
    the task brings along, for `inspect eval FILE.py --model none`. Raises ValueError as `unique`.
    """
    task = _task(unique(items), Session(model, seed), solver or ask(), n_samples, grader, Kept(), 10, name)
    task.model = None if model is None else _model(model)
    return task


def _task(items: list, session: Session, solve: Solver, n: int, grader: Any, kept: Kept, workers: int, name: str):
    known = {item.id: item for item in items}
    return Task(
        dataset=MemoryDataset([sample_of(item) for item in items], name=name),
        solver=item_solver(known, session, solve, kept, workers),
        scorer=item_scorer(known, grader, kept) if grader is not None else None,
        epochs=Epochs(n, "mean"),
        name=name,
        fail_on_error=True,
    )


def run_inspect(
    items: list[Item],
    session: Session,
    n_samples: int,
    solver: Solver,
    log_dir: str | Path | None = None,
    grader: Grader | None = None,
    progress: bool = False,
) -> list[Record]:
    """The records of `session.model` on `items` by inspect_ai: what `evalkit.run(engine="inspect")` calls.

    n_samples, solver, log_dir, grader, progress: as in `evalkit.run`; log_dir None keeps no log. Raises what a mistaken
    solver or grader raises, BudgetExceeded at the session's limit.
    """
    model, kept = _model(session.model), Kept()
    workers = model.api.max_connections()
    task = _task(items, session, solver, n_samples, grader, kept, workers, "evalkit")
    with ExitStack() as stack:
        folder = str(log_dir) if log_dir is not None else stack.enter_context(tempfile.TemporaryDirectory())
        display = "plain" if progress else "none"
        settings = {"max_samples": workers, "score_display": False, "log_realtime": False}
        (log,) = _aside(lambda: inspect_eval(task, model=model, log_dir=folder, display=display, **settings))
    if kept.raised:
        raise kept.raised[0]
    _check_finished(log)
    return [kept.records[item.id, epoch] for item in items for epoch in range(1, n_samples + 1)]


def _aside(call: Callable[[], Any]) -> Any:
    """What `call` returns; made in a thread of its own where this one runs an event loop, as notebooks do."""
    if asyncio._get_running_loop() is None:
        return call()
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call).result()


def _model(adapter: ModelAdapter) -> Model:
    """The `adapter` as a model of inspect_ai, which keeps the name of the provider, and no argument, in its logs."""
    before = FACTORIES.get(adapter.name)
    FACTORIES[adapter.name] = lambda: adapter
    try:
        return get_model(f"iclr26/{adapter.name}", memoize=False)
    finally:
        del FACTORIES[adapter.name]
        if before is not None:
            FACTORIES[adapter.name] = before


def records_of(log: EvalLog, items: list[Item], model: str) -> list[Record]:
    """The records in a finished `log`, in the order of `items`, then epochs.

    model: the name to put in the records. Raises RuntimeError for a log of a run that did not finish.
    """
    _check_finished(log)
    order = {item.id: place for place, item in enumerate(items)}
    samples = sorted(log.samples, key=lambda s: (order[str(s.id)], s.epoch))
    return [_record(sample, model) for sample in samples]


def _check_finished(log: EvalLog) -> None:
    if log.status != "success" or log.samples is None:
        raise RuntimeError(f"the inspect_ai run ended with {log.status}: {log.error.message if log.error else ''}")


def _record(sample: EvalSample, model: str) -> Record:
    error, output = sample.metadata.get("error"), sample.metadata.get("output", "")
    record = Record(str(sample.id), model, output, sample.epoch - 1, error=error)
    score = (sample.scores or {}).get("evalkit")
    if score is None:
        return record
    return dataclasses.replace(record, score=score.value, parsed=(score.metadata or {}).get("parsed"))
