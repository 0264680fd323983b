"""E4: what SES rewards. From dialogues to scores, to the orders of models under r, d and r d with joint intervals."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import kendalltau

from .judge import Dialogue, rank_reference, rows_of
from .ses import FLOOR, diversity, retention, summary

METRICS = ("r", "d", "ses")


def joined(dialogue: Dialogue) -> str:
    """The text of a dialogue, a list of (user, assistant), that is embedded: all assistant turns, joined without a
    separator (official code).
    """
    return "".join(assistant for _, assistant in dialogue)


def score_dialogues(
    refs: Sequence[Dialogue],
    samples: Sequence[Sequence[Dialogue] | None],
    judge: Any,
    embed: Callable,
    turns: str = "last",
    place: int = 0,
) -> dict[str, Any]:
    """Retention and diversity of one model on each of N items.

    refs: N reference dialogues. samples: for each item the model's M dialogues, None where it has none. judge: has
    `rank(ref, samples, turns, place)`, as `ScriptedJudge` and `ModelJudge`. embed: texts -> (n, D) rows. turns, place:
    what the judge is shown, see `judge_prompt`.
    Returns {"r", "d", "missing"}: lists of N numbers, NaN where missing, and {item number: why r is missing}.
    Raises ValueError for unequal lengths, items of different M, rows that are not (n, D), and as
    `judge_prompt`.
    """
    if len(refs) != len(samples) or len({len(drawn) for drawn in samples if drawn}) > 1:
        raise ValueError(f"need M dialogues an item for {len(refs)} references, got {len(samples)} items, or unequal M")
    texts = [joined(dialogue) for drawn in samples for dialogue in drawn or ()]
    rows = iter(rows_of(embed, texts) if texts else ())
    found: dict[str, Any] = {"r": [], "d": [], "missing": {}}
    for number, (ref, drawn) in enumerate(zip(refs, samples, strict=True)):
        rank, why = rank_reference(judge, ref, drawn, turns, place) if drawn else (None, "no dialogue")
        if why:
            found["missing"][number] = why
        found["r"].append(retention(rank, len(drawn or "-")))
        found["d"].append(diversity([next(rows) for _ in drawn]) if drawn else float("nan"))
    return found


def equal_cosines(rho, M: int, D: int, rng: np.random.Generator) -> np.ndarray:
    """Embeddings (n, M, D) of unit length in random directions; the rows of item i all have cosine rho_i.

    rho: (n,) in [0, 1]. M: samples. D: width, M + 1 or more. rng: draws the directions. Raises ValueError outside
    these ranges.
    """
    cosines = np.asarray(rho, dtype=float)
    if cosines.ndim != 1 or not ((cosines >= 0) & (cosines <= 1)).all():
        raise ValueError(f"rho must be (n,) in [0, 1], got {cosines.ravel()[:5].tolist()}")
    if M < 1 or M + 1 > D:
        raise ValueError(f"need M >= 1 and D >= M + 1, got M {M} and D {D}")
    axes = np.linalg.qr(rng.standard_normal((len(cosines), D, M + 1)))[0].transpose(0, 2, 1)
    share = cosines[:, None, None]
    return np.sqrt(share) * axes[:, :1] + np.sqrt(1 - share) * axes[:, 1:]


def at_cap(d, floor: float = FLOOR) -> float:
    """Share of the diversities d (N,) that sit at the cap 1/(10 floor); missing ones (NaN) do not count.

    Raises ValueError when all are missing.
    """
    known = np.asarray(d, dtype=float)
    known = known[~np.isnan(known)]
    if not known.size:
        raise ValueError("no diversity is known")
    return float((known >= (1 - 1e-9) / (10 * floor)).mean())


def joint_bootstrap(r, d, draws: int = 2000, seed: int = 0) -> dict[str, np.ndarray]:
    """Bootstrap means {"r", "d", "ses"} (draws, models): the same items are drawn for all models and metrics.

    r, d: (models, N) retentions and diversities of N dialogues, NaN where missing; a model's mean is over what it has.
    draws, seed: of the bootstrap. Raises ValueError for other shapes or draws below 1.
    """
    r, d = np.asarray(r, dtype=float), np.asarray(d, dtype=float)
    if r.ndim != 2 or r.shape != d.shape or 0 in r.shape or draws < 1:
        raise ValueError(f"r and d must be (models, N) alike, draws 1 or more; got {r.shape}, {d.shape}, {draws}")
    N = r.shape[1]
    weights = np.random.default_rng(seed).multinomial(N, np.full(N, 1 / N), draws).astype(float)
    means = {}
    for name, values in (("r", r), ("d", d), ("ses", r * d)):
        known = ~np.isnan(values)
        with np.errstate(invalid="ignore"):  # a draw without any known value of a model is NaN
            means[name] = weights @ np.where(known, values, 0.0).T / (weights @ known.T)
    return means


def compare(r: Mapping[str, Sequence], d: Mapping[str, Sequence], draws: int = 2000, seed: int = 0) -> dict[str, Any]:
    """Tables and orders of models under r, d and SES, with joint bootstrap intervals.

    r, d: model -> (N,) retentions and diversities on the same N dialogues, NaN where missing. draws, seed: of
    `joint_bootstrap`. Returns {"table": {model: summary}, "interval": {model: {metric: [lo, hi]}}, "order": {metric:
    models, best first}, "tau": Kendall's tau of the orders under r and SES, "changed": share of draws in which the best
    model under SES is not the best under r, "capped": {model: `at_cap`}, "width": {metric: mean over models of the
    interval's width}, "relative_width": {metric: the same of width / mean, models with mean 0 left out}}.
    Raises ValueError for fewer than two models, or different models or lengths.
    """
    models = list(r)
    if len(models) < 2 or set(models) != set(d):
        raise ValueError(f"need r and d of the same 2 models or more, got {models} and {list(d)}")
    table = {model: summary(r[model], d[model]) for model in models}
    means = joint_bootstrap([r[m] for m in models], [d[m] for m in models], draws, seed)
    ends = {metric: np.nanquantile(means[metric], [0.025, 0.975], axis=0) for metric in METRICS}
    column = {metric: np.array([table[m][metric] for m in models]) for metric in METRICS}
    return {
        "table": table,
        "interval": {m: {k: ends[k][:, i].tolist() for k in METRICS} for i, m in enumerate(models)},
        "order": {k: [models[i] for i in np.argsort(-column[k], kind="stable")] for k in METRICS},
        "tau": float(kendalltau(column["r"], column["ses"]).statistic),
        "changed": float((means["r"].argmax(1) != means["ses"].argmax(1)).mean()),
        "capped": {m: at_cap(d[m]) for m in models},
        "width": {k: float(np.ptp(ends[k], axis=0).mean()) for k in METRICS},
        "relative_width": {k: _relative_width(ends[k], column[k]) for k in METRICS},
    }


def _relative_width(ends: np.ndarray, means: np.ndarray) -> float:
    """Mean of width / mean over the models whose mean is not 0."""
    used = means > 0
    return float((np.ptp(ends, axis=0)[used] / means[used]).mean()) if used.any() else float("nan")
