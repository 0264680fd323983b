"""evalkit against inspect_ai's own bare loop, graders, and intervals: `make bench CHAPTER=earthse`.

What is compared: one run over the same questions, put to a model that answers "A" at once, with a log where inspect_ai
is used, until every question has a score in memory. "bare" is what one writes with inspect_ai alone: a Dataset of the
same messages, `generate()`, the scorer `match`, and the instant model as a ModelAPI; with inspect_ai's defaults, and
with log_realtime=False, as evalkit sets it (no database that a viewer could read during the run). evalkit by
engine="inspect" does more for each question: it runs the solver in a thread, calls an adapter, keeps seed, family and
errors, and gives records; engine="simple" is its plain loop. The target is an overhead of at most 10 % over bare. Ways
take turns, and the best turn of each counts, in CPU and in wall time; turns of another process disturb CPU time less.
lm-eval is compared where it is installed.

Below: graders a second, on the answers of a scripted model and on long ones, and the seconds of a cluster bootstrap.
One thread; two quiet cores take less than two minutes. `python -m benchmarks.earthse --items 60 --turns 1` tries it.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from typing import Any

from inspect_ai import Task
from inspect_ai import eval as inspect_eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelAPI, ModelOutput, get_model, modelapi
from inspect_ai.scorer import match
from inspect_ai.solver import generate

from iclr26lib import earthse, evalkit
from iclr26lib.earthse.graders import grader
from iclr26lib.earthse.tasks import SAFE_TASKS
from iclr26lib.evalkit.chat import to_chat

CLOSED = {"mc": 1.0, "tf": 1.0, "fib": 1.0}
INSTANT = evalkit.FunctionModel("instant", lambda messages, temperature, max_tokens, seed: "A")
Way = Callable[[list[evalkit.Item]], int]


@modelapi("instant")
def _instant() -> type[ModelAPI]:
    class Instant(ModelAPI):
        """Answers "A" at once."""

        async def generate(self, input: Any, tools: Any, tool_choice: Any, config: Any) -> ModelOutput:
            return ModelOutput.from_content(self.model_name, "A")

    return Instant


def bare(items: list[evalkit.Item], **settings: Any) -> int:
    """How many of the items inspect_ai alone scores; settings: of its `eval`."""
    samples = [
        Sample(id=item.id, input=[to_chat(m) for m in earthse.prompt(item)], target=item.answer) for item in items
    ]
    task = Task(dataset=MemoryDataset(samples), solver=generate(), scorer=match(location="exact"))
    with tempfile.TemporaryDirectory() as folder:
        (log,) = inspect_eval(task, model=get_model("instant/a"), log_dir=folder, display="none", **settings)
    return log.results.completed_samples


def kit(items: list[evalkit.Item], engine: str) -> int:
    """How many of the items evalkit scores, by the engine "simple" or "inspect"."""
    solver = evalkit.ask(earthse.prompt)
    records = evalkit.run(items, INSTANT, solver=solver, engine=engine, grader=grader("published"))
    return sum(record.score is not None for record in records)


WAYS: dict[str, Way] = {
    "bare inspect_ai": lambda items: bare(items),
    "bare inspect_ai, log_realtime=False": lambda items: bare(items, log_realtime=False),
    "evalkit, engine inspect": lambda items: kit(items, "inspect"),
    "evalkit, engine simple": lambda items: kit(items, "simple"),
}


def timed(call: Callable[[], Any]) -> tuple[float, float]:
    """CPU and wall seconds of one call."""
    cpu, wall = time.process_time(), time.perf_counter()
    call()
    return time.process_time() - cpu, time.perf_counter() - wall


def best_turns(ways: dict[str, Way], items: list[evalkit.Item], turns: int) -> dict[str, tuple[float, float]]:
    """The best CPU and the best wall seconds of each way, taken in turns after one short run to warm up.

    Raises RuntimeError when a way does not score all items.
    """
    for way in ways.values():
        way(items[:10])
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(turns):
        for name, way in ways.items():
            scored: list[int] = []
            seconds[name].append(timed(lambda way=way, scored=scored: scored.append(way(items))))
            if scored != [len(items)]:
                raise RuntimeError(f"{name} scored {scored[0]} of {len(items)} items")
    return {name: tuple(min(column) for column in zip(*found, strict=True)) for name, found in seconds.items()}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="evalkit against bare inspect_ai; graders; bootstrap")
    parser.add_argument("--items", type=int, default=600, help="questions a run")
    parser.add_argument("--turns", type=int, default=5, help="runs of each way, of which the best counts")
    o = parser.parse_args(arguments)
    items = earthse.make_items(o.items, CLOSED, 0, SAFE_TASKS)
    found = best_turns(WAYS, items, o.turns)
    for k, v in found.items():
        print(f"{k:40s} cpu {v[0]:.3f} wall {v[1]:.3f}  items/s {o.items / v[0]:.0f} {o.items / v[1]:.0f}")


if __name__ == "__main__":
    main()
