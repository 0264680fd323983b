"""evalkit against inspect_ai's own bare loop, graders, and intervals: `make bench CHAPTER=earthse`.

What is compared: one run over the same questions, put to a model that answers "A" at once, with a log where inspect_ai
is used, until every question has its score. "bare" is what one writes with inspect_ai alone: a Dataset of the same
messages, `generate()`, the scorer `match`, and the instant model as a ModelAPI; with inspect_ai's defaults, and with
log_realtime=False, as evalkit sets it (no database that a viewer could read during the run). evalkit by
engine="inspect" does more for each question: it runs the solver in a thread, calls an adapter, keeps seed, family and
errors, and gives records; engine="simple" is its plain loop. The target is an overhead of at most 10 % over bare. Ways
take turns, and the best turn of each counts, in CPU and in wall time; other processes disturb CPU time less. lm-eval is
not among them: the book does not install it.

Below: graders a second, on the answers of a scripted model and on long ones, and the seconds of a cluster bootstrap.
One thread; two quiet cores take less than two minutes. `python -m benchmarks.earthse --items 60 --turns 1` tries it.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from inspect_ai import Task
from inspect_ai import eval as inspect_eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelAPI, ModelOutput, get_model, modelapi
from inspect_ai.scorer import match
from inspect_ai.solver import generate

from iclr26lib import earthse, evalkit
from iclr26lib.earthse.graders import MODES, grader
from iclr26lib.earthse.tasks import SAFE_TASKS
from iclr26lib.evalkit.chat import to_chat
from iclr26lib.style import Table

KIT = "evalkit, engine inspect"
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


def ways() -> dict[str, Way]:
    """What is compared, by name; the bare ones first."""
    return {
        "bare inspect_ai": bare,
        "bare inspect_ai, log_realtime=False": partial(bare, log_realtime=False),
        KIT: partial(kit, engine="inspect"),
        "evalkit, engine simple": partial(kit, engine="simple"),
    }


def timed(call: Callable[[], Any]) -> tuple[float, float]:
    """CPU and wall seconds of one call."""
    cpu, wall = time.process_time(), time.perf_counter()
    call()
    return time.process_time() - cpu, time.perf_counter() - wall


def best_turns(compared: dict[str, Way], items: list[evalkit.Item], turns: int) -> dict[str, tuple[float, float]]:
    """The best CPU and the best wall seconds of each way, taken in turns after one short run to warm up.

    Raises RuntimeError when a way does not score all items.
    """
    for way in compared.values():
        way(items[:10])
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in compared}
    for _ in range(turns):
        for name, way in compared.items():
            scored: list[int] = []
            seconds[name].append(timed(lambda way=way, scored=scored: scored.append(way(items))))
            if scored != [len(items)]:
                raise RuntimeError(f"{name} scored {scored[0]} of {len(items)} items")
    return {name: tuple(min(column) for column in zip(*found, strict=True)) for name, found in seconds.items()}


def harness_table(found: dict[str, tuple[float, float]], n: int) -> Table:
    """Items a second of each way, and its time as ratios to both bare ones; n: items a turn."""
    bare_ways = list(found)[:2]
    rows = [
        [name, *(f"{n / value:,.0f}" for value in seconds)]
        + [f"{seconds[clock] / found[base][clock]:.3g}" for base in bare_ways for clock in (0, 1)]
        for name, seconds in found.items()
    ]
    header = ["harness", "items/s, CPU", "items/s, wall"]
    header += [f"{clock} / {base}" for base in ("bare", "bare, no realtime log") for clock in ("CPU", "wall")]
    return Table(header, rows)


def grade_each(mode: str, answers: list[tuple[evalkit.Item, str]]) -> list[float]:
    """The scores of the answers."""
    return [grader(mode)(item, text) for item, text in answers]


def graders_table(items: list[evalkit.Item], repeats: int) -> Table:
    """Answers a second that each grader grades: of a scripted model, and padded to 10,000 characters."""
    model, rows = earthse.Scripted(1.0, 0, noise_format={"mc": 0.3, "tf": 0.3, "fib": 0.8}), []
    short = [(item, model.answer(item)) for item in items]
    padded = [(item, f"{'Let us think about it. ' * 435}{text}") for item, text in short[:60]]
    for mode in MODES:
        rates = []
        for answers in (short, padded):
            cpu = min(timed(partial(grade_each, mode, answers))[0] for _ in range(repeats))
            rates.append(f"{len(answers) / cpu:,.0f}")
        rows.append([mode, *rates])
    return Table(["grader", "answers/s", "answers of 10,000 characters/s"], rows)


def bootstrap_table(repeats: int, n: int = 1200, draws: int = 2000, families: int = 24) -> Table:
    """Milliseconds of intervals of n scores, by families and by single scores."""
    scores = np.random.default_rng(0).integers(0, 2, n).astype(float)
    rows = []
    for name, clusters in ((f"{families} families", np.arange(n) % families), ("single scores", None)):
        best = min(timed(partial(evalkit.mean_ci, scores, clusters, n=draws))[0] for _ in range(repeats))
        rows.append([name, f"{1000 * best:.1f} ms"])
    return Table([f"bootstrap, {n} scores, {draws} draws, of", "CPU"], rows)


def main(arguments: list[str] | None = None) -> None:
    """Print one table a question."""
    parser = argparse.ArgumentParser(description="evalkit against bare inspect_ai; graders; bootstrap")
    parser.add_argument("--items", type=int, default=300, help="questions a run")
    parser.add_argument("--turns", type=int, default=6, help="runs of each way, of which the best counts")
    options = parser.parse_args(arguments)
    if options.items < 12 or options.turns < 1:
        parser.error(f"need 12 items and 1 turn or more, got {options.items} and {options.turns}")
    items = earthse.make_items(options.items, CLOSED, 0, SAFE_TASKS)
    found = best_turns(ways(), items, options.turns)
    print(f"{options.items} items a run, best of {options.turns} turns\n{harness_table(found, options.items)}")
    for base in list(found)[:2]:
        cpu, wall = (ours / theirs - 1 for ours, theirs in zip(found[KIT], found[base], strict=True))
        print(f"overhead of evalkit over {base}: CPU {cpu:+.0%}, wall {wall:+.0%}; target: at most 10 %")
    print(f"\n{graders_table(items, options.turns)}\n\n{bootstrap_table(options.turns)}")


if __name__ == "__main__":
    main()
