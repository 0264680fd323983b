"""Evaluate a model of your own: scores with intervals, where the graders disagree, and two models side by side.

`python -m iclr26lib.earthse.report --base-url URL --model NAME` does it from the command line.
"""

from __future__ import annotations

import argparse
import inspect
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..evalkit import adapters, caller
from ..evalkit import cache as caches
from ..evalkit.items import Item, Record
from ..evalkit.run import run
from ..evalkit.solvers import ask
from . import official
from .dialogues import dialogue_solver
from .embed import minilm_embedder
from .exploration import score_dialogues
from .gold import make_gold
from .graders import grade
from .items import make_items
from .judge import ORDERS, TURNS, ModelJudge, dialogue_of, semantic_similarity, win_rate
from .prompts import prompt
from .scored import Report
from .tasks import SAFE_TASKS

__all__ = ["TIERS", "Kept", "Report", "evaluate", "main"]

TIERS = ("ours", "ours-gold", "iron", "silver", "gold")


class Kept:
    """A model whose answers are kept on disk: a judge that is asked the same again costs nothing.

    model: asked when nothing is kept. folder: of the answers.
    """

    def __init__(self, model: adapters.ModelAdapter, folder: str | Path) -> None:
        self.model, self.name, self.key = model, model.name, caches.key_of(model)
        self.answers = caches.AnswerCache(folder, f"judge {self.key}")

    def generate(self, messages: list, *, temperature: float = 0.0, max_tokens: int = 256, seed: int = 0) -> str:
        """The answer, kept or new, to `messages` at temperature, max_tokens, seed. Raises what the model raises."""
        asked = {"temperature": temperature, "max_tokens": max_tokens, "seed": seed}
        key = caches.call_key(self.key, messages, **asked)
        if (known := self.answers.get(key)) is None:
            known = self.model.generate(messages, **asked)
            self.answers.put(key, known)
        return known


def evaluate(
    model: adapters.ModelAdapter,
    n: int | None = 240,
    seed: int = 0,
    judge: Any = None,
    cache: str | Path | None = None,
    tier: str = "ours",
    confirm: bool = False,
    *,
    embed: Callable | None = None,
    order: str = "fixed",
    turns: str = "last",
    M: int = 3,
    max_tokens: int = 1024,
    draws: int = 2000,
    progress: bool = False,
) -> Report:
    """Ask `model` the items of a tier and report what it scored. The number of calls is printed first.

    n: how many items, None for all of an official tier. seed: of the items and the run. judge: a model, or a judge as
    in `judge.py`; free answers without one have no strict score, dialogues need one. cache: folder of answers, so that
    a run that crashed goes on without repeating a call. tier: "ours" or "ours-gold" (made by code), or the paper's
    "iron", "silver", "gold", for which `confirm` must be True. embed: texts -> rows, for the similarity of free answers
    and for dialogues (MiniLM when None). order, turns: what the judge sees, see `win_rate` and `judge_prompt`. M:
    dialogues an item. max_tokens: of an answer. draws: of the bootstrap. progress: a bar on standard error.
    Raises ValueError and TypeError for bad arguments, ValueError for unconfirmed calls, OfflineError where the paper's
    data cannot be fetched, and AdapterError where no call succeeds.
    """
    for name, value, known in (("order", order, ORDERS), ("turns", turns, TURNS)):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")
    items = _items(tier, n, seed)
    dialogues = items[0].fmt == "dialogue"
    _check(judge, embed, draws, dialogues)
    judge = _judge(judge, cache)
    _say_calls(items, M, judge is not None, order, tier, confirm)
    solver = dialogue_solver(max_tokens) if dialogues else ask(prompt, max_tokens=max_tokens)
    if cache is not None:
        _answered(run(items[:1], model, 1, cache, solver, seed=seed))
    records = _answered(run(items, model, M if dialogues else 1, cache, solver, progress, seed=seed))
    if dialogues:
        scores, notes = _explored(items, records, judge, embed or minilm_embedder(), turns, M)
    else:
        scores, notes = _graded(items, records, judge, embed, order)
    notes += [f"{r.item_id}: {r.error}" for r in records if r.error]
    return Report(model.name, tier, items, records, scores, draws, notes)


def _items(tier: str, n: int | None, seed: int) -> list[Item]:
    if tier not in TIERS:
        raise ValueError(f"tier must be one of {', '.join(TIERS)}, got {tier!r}")
    if tier in ("ours", "ours-gold"):
        if n is None:
            raise ValueError(f"n must be given for the tier {tier!r}")
        return make_items(n, None, seed, SAFE_TASKS) if tier == "ours" else make_gold(n, seed)
    items = official.load_official(tier)
    if n is None:
        return items
    if not 1 <= n <= len(items):
        raise ValueError(f"n must lie in 1..{len(items)} for the tier {tier!r}, got {n}")
    return [items[i] for i in sorted(np.random.default_rng([seed, 7]).permutation(len(items))[:n])]


def _check(judge: Any, embed: Any, draws: Any, dialogues: bool) -> None:
    """Raises ValueError or TypeError for what would end the run only after calls were paid."""
    if not isinstance(draws, int) or isinstance(draws, bool) or draws < 1:
        raise ValueError(f"draws must be an integer of 1 or more, got {draws!r}")
    if embed is not None and not callable(embed):
        raise TypeError(f"embed must be a function of texts, got {type(embed).__name__}")
    if judge is None:
        if dialogues:
            raise ValueError("dialogues need a judge")
        return
    if hasattr(judge, "generate"):
        asked, method, takes = judge.generate, "generate", ([],)
    else:
        asked, method = (getattr(judge, "rank", None), "rank") if dialogues else (judge, "call")
        takes = ([], [], "last", 0) if dialogues else ("", "", "")
    if not callable(asked):
        raise TypeError(f"a judge needs a {method} here, got {type(judge).__name__}")
    _fits(asked, method, takes, {"temperature": 0.0, "max_tokens": 8} if method == "generate" else {})


def _fits(asked: Callable, method: str, takes: tuple, named: dict[str, Any]) -> None:
    """Raises TypeError where `asked` cannot be called so; what has no readable signature passes."""
    try:
        signature = inspect.signature(asked)
    except ValueError:  # written in C
        return
    try:
        signature.bind(*takes, **named)
    except TypeError as error:
        raise TypeError(f"the judge's {method} must take {len(takes)} arguments {list(named) or ''}: {error}") from None


def _judge(judge: Any, folder: str | Path | None) -> Any:
    if judge is None or not hasattr(judge, "generate"):
        return judge
    return ModelJudge(judge if folder is None else Kept(judge, folder))


def _say_calls(items: Sequence[Item], M: int, judged: bool, order: str, tier: str, confirm: bool) -> None:
    """Print how many calls the run takes at most. Raises ValueError where they are the paper's and not confirmed."""
    calls = official.calls_needed(items, M)
    pairs = sum(item.fmt == "fr" for item in items)
    judging = (calls["judge"] + pairs * (order == "swap")) * judged
    print(f"{len(items)} items: {calls['model']} calls of the model and {judging} of the judge, less what is cached")
    if tier in official.DATASETS and confirm is not True:
        raise ValueError(f"{calls['model'] + judging} calls may cost money: pass confirm=True to spend them")


def _answered(records: list[Record]) -> list[Record]:
    if all(record.error for record in records):
        raise adapters.AdapterError(f"none of {len(records)} calls succeeded; the first said: {records[0].error}")
    return records


def _graded(items: list[Item], records: list[Record], judge: Any, embed: Any, order: str) -> tuple[dict, list[str]]:
    """Scores of questions by measure, and what the judge's failed calls said."""
    outputs = [None if record.error else record.output for record in records]
    scores: dict[str, list] = {
        "strict": [_grade(item, output, "published") for item, output in zip(items, outputs, strict=True)],
        "tolerant": [_grade(item, output, "tolerant") for item, output in zip(items, outputs, strict=True)],
    }
    free, notes = [i for i, item in enumerate(items) if item.fmt == "fr"], []
    if judge is not None and free:
        won = win_rate([items[i] for i in free], [outputs[i] for i in free], judge, order)
        _put(scores["strict"], free, won["wins"])
        notes = won["errors"]
    if embed is not None and free:
        scores["similarity"] = [None] * len(items)
        found = semantic_similarity([items[i].answer for i in free], [outputs[i] for i in free], embed)
        _put(scores["similarity"], free, found)
    return scores, notes


def _grade(item: Item, output: str | None, mode: str) -> float | None:
    """The grade, None where there is no answer, and for a free answer that only a judge can grade."""
    unjudged = item.fmt == "fr" and (mode == "published" or "rubric" not in item.meta)
    return None if output is None or unjudged else grade(item, output, mode)


def _put(column: list, places: list[int], values: Sequence[float]) -> None:
    for place, value in zip(places, values, strict=True):
        column[place] = None if math.isnan(value) else float(value)


def _explored(items: list, records: list, judge: Any, embed: Callable, turns: str, M: int) -> tuple[dict, list[str]]:
    """Retention, diversity and their product of each dialogue item, and why some are missing."""
    drawn = [records[i * M : (i + 1) * M] for i in range(len(items))]
    samples = [None if any(r.error for r in row) else [_turns(i, r) for r in row]
               for i, row in zip(items, drawn, strict=True)]  # fmt: skip
    found = score_dialogues([dialogue_of(item.meta) for item in items], samples, judge, embed, turns)
    columns = {name: np.array(found[name], dtype=float) for name in ("r", "d")}
    columns["ses"] = columns["r"] * columns["d"]
    scores: dict[str, list] = {name: [None] * len(items) for name in columns}
    for name, values in columns.items():
        _put(scores[name], list(range(len(items))), values)
    return scores, [f"{items[i].id}: {why}" for i, why in found["missing"].items()]


def _turns(item: Item, record: Record) -> list[tuple[str, str]]:
    return list(zip((item.meta["user_0"], item.meta["user_1"]), record.output, strict=True))


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("iclr26lib.earthse.report", description="Evaluate a model behind an endpoint.")
    parser.add_argument("--base-url", required=True, help="up to /chat/completions, as http://localhost:8000/v1")
    parser.add_argument("--model", required=True, help="its name there")
    parser.add_argument("--key-env", default="OPENAI_API_KEY", help="environment variable that holds the key")
    parser.add_argument("--items", type=int, default=240, help="how many items; 0: all of one of the paper's tiers")
    parser.add_argument("--seed", type=int, default=0, help="of the items")
    parser.add_argument("--tier", choices=TIERS, default="ours")
    parser.add_argument("--judge", help="name of a judge at the same endpoint")
    parser.add_argument("--order", choices=ORDERS, default="fixed", help="of the two answers that the judge sees")
    parser.add_argument("--cache", type=Path, default=Path("earthse-answers"), help="folder of the answers")
    parser.add_argument("--save", type=Path, help="file to keep the report in")
    parser.add_argument("--against", type=Path, help="kept report of another model on the same items")
    parser.add_argument("--confirm", action="store_true", help="spend the calls that the paper's tiers take")
    return parser


def _before(args: argparse.Namespace, other: Report | None, n: int | None) -> None:
    """Raises ValueError where the report could not be saved or compared once it is paid for."""
    if args.save and (args.save.is_dir() or not args.save.resolve().parent.is_dir()):
        raise ValueError(f"--save needs a file in a folder that exists, got {str(args.save)!r}")
    if other and [item.id for item in other.items] != [item.id for item in _items(args.tier, n, args.seed)]:
        raise ValueError(f"--against holds {len(other.items)} other items; the same items, seed and tier are needed")


def _reported(args: argparse.Namespace) -> None:
    from ..evalkit.openai_compatible import OpenAICompatible

    model, judge = (name and OpenAICompatible(args.base_url, name, args.key_env) for name in (args.model, args.judge))
    other = Report.load(args.against) if args.against else None
    n = args.items or None
    _before(args, other, n)
    told = {"tier": args.tier, "confirm": args.confirm, "order": args.order, "progress": True}
    report = evaluate(model, n, args.seed, judge, args.cache, **told)
    if args.save:
        report.save(args.save)
    print(report.table(), sep="\n")
    if "tolerant" in report.scores:
        print("", report.disagreement(), sep="\n")
    if other:
        print("", report.compare(other), sep="\n")
    for note in report.notes[:5]:
        print("note:", note)
    if len(report.notes) > 5:
        print(f"and {len(report.notes) - 5} notes more")


def main(argv: Sequence[str] | None = None) -> int:
    """Evaluate a model behind an endpoint as the arguments `argv` say; return 0, or 1 with the reason on stderr."""
    args = _arguments().parse_args(argv)
    try:
        _reported(args)
    except (ValueError, OSError, adapters.AdapterError, caller.BudgetExceeded, official.OfflineError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
