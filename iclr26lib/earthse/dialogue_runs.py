"""E4 on texts: scripted writers of known quality and spread, a scripted judge, real embeddings.

Plain arguments in, JSON-able lists out, one value a seed.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..evalkit.items import Item
from .dialogues import write_dialogue
from .embed import embed_texts
from .exploration import METRICS, compare, joined, score_dialogues
from .gold import QUADRUPLES, make_gold
from .judge import ScriptedJudge, dialogue_of
from .ses import mean_pairwise_cosine

WIDTHS = ("width", "relative_width")
PROFILES: dict[str, tuple[int, int]] = {  # quality 0..3, spread 0..2, see `write_dialogue`
    "deep, one text": (3, 0),
    "deep": (3, 1),
    "good": (2, 1),
    "fair": (1, 1),
    "fair, one text": (1, 0),
    "shallow": (0, 1),
    "good, off topic": (2, 2),
    "shallow, off topic": (0, 2),
}


def depth(text: str) -> float:
    """How many of the sentences L0, M1, L1 of any quadruple a text holds: depth of reflection, blind to the topic."""
    return float(sum(sentence in text for q in QUADRUPLES.values() for sentence in (q.L0, q.M1, q.L1)))


def drawn(item: Item, profile: tuple[int, int], M: int, seed: int) -> list[list[tuple[str, str]]]:
    """The M dialogues, each a list of two (user, assistant), of a scripted writer on a Gold item.

    profile: (quality, spread). seed: of the writer. Raises ValueError as `write_dialogue` and for M below 1.
    """
    if M < 1:
        raise ValueError(f"M must be 1 or more, got {M}")
    users = item.meta["user_0"], item.meta["user_1"]
    written = [write_dialogue(item, *profile, sample, seed) for sample in range(M)]
    return [list(zip(users, turns, strict=True)) for turns in written]


def dialogue_runs(
    seeds: Sequence[int],
    n: int = 40,
    M: int = 3,
    turns: str = "last",
    embedder: str = "hash",
    profiles: Mapping[str, tuple[int, int]] | None = None,
    noise: float = 1.0,
    prefer: float = 0.5,
    draws: int = 2000,
) -> dict[str, Any]:
    """E4: retention, diversity and score of scripted writers under a scripted judge.

    seeds: each makes its own n Gold items, writers and judge. M: samples a dialogue. turns: shown to the judge, "last"
    (published) or "all". embedder: of `embed_texts`. profiles: model -> (quality, spread), `PROFILES` when None. noise,
    prefer: of the judge, in sentences of depth. draws: of the joint bootstrap.
    Returns {"models", "r", "d", "ses", "capped", "rho": (seeds, models), "tau", "changed": (seeds,), "width" and
    "relative_width": {metric: (seeds,)}}, meanings as in `compare`; rho is the mean pairwise cosine of a dialogue's
    samples, NaN at M = 1.
    Raises ValueError as `make_gold`, `drawn` and `compare`.
    """
    profiles = PROFILES if profiles is None else profiles
    texts = {seed: _written(make_gold(n, seed), profiles, M, seed) for seed in seeds}
    every = sorted({joined(d) for found in texts.values() for rows in found.values() for r in rows for d in r})
    vectors = dict(zip(every, embed_texts(every, embedder), strict=True)) if every else {}
    found: dict[str, Any] = {"models": list(profiles)}
    found |= {key: {metric: [] for metric in METRICS} for key in WIDTHS}
    for seed, samples in texts.items():
        judge = ScriptedJudge(depth, noise=noise, prefer=prefer, seed=seed)
        row = _seed_row(make_gold(n, seed), samples, judge, turns, vectors, draws)
        for key in WIDTHS:
            for metric, value in row.pop(key).items():
                found[key][metric].append(value)
        for name, value in row.items():
            found.setdefault(name, []).append(value)
    return found


def _written(gold: list[Item], profiles: Mapping, M: int, seed: int) -> dict[str, list]:
    return {model: [drawn(item, profile, M, seed) for item in gold] for model, profile in profiles.items()}


def _seed_row(gold: list[Item], samples: dict, judge: Any, turns: str, vectors: dict, draws: int) -> dict[str, Any]:
    """What one seed adds to each list of `dialogue_runs`."""
    refs = [dialogue_of(item.meta) for item in gold]

    def embed(texts: Sequence[str]) -> np.ndarray:
        return np.array([vectors[text] for text in texts])

    scored = {model: score_dialogues(refs, rows, judge, embed, turns) for model, rows in samples.items()}
    table = compare({m: s["r"] for m, s in scored.items()}, {m: s["d"] for m, s in scored.items()}, draws)
    row: dict[str, Any] = {metric: [table["table"][model][metric] for model in samples] for metric in METRICS}
    row["capped"] = list(table["capped"].values())
    row["rho"] = [float(np.mean([_cosine(embed([joined(d) for d in r])) for r in rows])) for rows in samples.values()]
    return {**row, **{key: table[key] for key in ("tau", "changed", *WIDTHS)}}


def _cosine(rows: np.ndarray) -> float:
    return mean_pairwise_cosine(rows) if len(rows) > 1 else float("nan")
