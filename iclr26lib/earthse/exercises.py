"""Three exercises: diversity, the score over items, and a win rate that a judge's habit cannot move."""

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np

from ..exercises import Exercise, Mistake

# --- exercise 1: diversity --------------------------------------------------------------------------------------------


def diversity(V, lo: float = 0.9, floor: float | None = 0.01) -> float:
    """The solution: cosines with the mean, their mean, and the clamped inverse of its distance from `lo`.

    V: (M, D) embeddings of any length but 0. lo: offset. floor: smallest distance that counts, None for no clamp.
    """
    V = np.asarray(V, dtype=float)
    mean = V.mean(0)
    s = (V @ mean / (np.linalg.norm(V, axis=1) * np.linalg.norm(mean))).mean()
    distance = abs(s) - lo
    return float(1 / (10 * (distance if floor is None else max(distance, floor))))


def _inverse(s: float, lo: float, floor: float | None) -> float:
    return float(1 / (10 * (abs(s) - lo if floor is None else max(abs(s) - lo, floor))))


def _norm_of_mean(V, lo=0.9, floor=0.01):
    return _inverse(np.linalg.norm(np.asarray(V, dtype=float).mean(0)), lo, floor)


def _pairwise(V, lo=0.9, floor=0.01):
    unit = np.asarray(V, dtype=float) / np.linalg.norm(V, axis=1, keepdims=True)
    return _inverse((unit @ unit.T)[np.triu_indices(len(unit), 1)].mean(), lo, floor)


def _no_clamp(V, lo=0.9, floor=0.01):
    return diversity(V, lo, None)


def _no_ten(V, lo=0.9, floor=0.01):
    return 10 * diversity(V, lo, floor)


def _ceiling(V, lo=0.9, floor=0.01):
    return float(1 / (10 * min(1 / (10 * diversity(V, lo, None)), floor)))


DIVERSITY = Exercise(
    id="diversity",
    task="Write `diversity(V, lo, floor)` for embeddings (M, D) of one item's samples.",
    hint="A cosine does not change when a vector is made longer. Does your s?",
    target="Samples with the same text give 1; an orthogonal pair gives 10.",
    solution=diversity,
    mistakes={
        "the length of the mean": Mistake(
            _norm_of_mean, "It equals the mean cosine only where all rows have length 1. Divide by both lengths."
        ),
        "cosines of pairs": Mistake(
            _pairwise, "The published score takes each sample's cosine with the mean of all, not with each other."
        ),
        "no clamp": Mistake(
            _no_clamp, "At s = 0.9 there is a pole, and d is negative below it. The distance is never below `floor`."
        ),
        "no factor ten": Mistake(_no_ten, "d lies between 1 and 10: the distance from `lo` is multiplied by 10."),
        "a ceiling for a floor": Mistake(
            _ceiling, "The distance from `lo` counts as `floor` at least, not at most: take the larger of the two."
        ),
    },
    probes=lambda: [
        ([[1.0, 0.0], [1.0, 0.0], [0.8, 0.6]], 0.9, 0.01),
        ([[3.0, 0.0], [1.0, 1.0], [2.0, 0.1]], 0.9, 0.01),
        ([[1.0, 0.0], [0.0, 1.0]], 0.9, 0.01),
        ([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]], 0.9, 0.01),
        ([[1.0, 0.0, 0.0], [0.96, 0.28, 0.0], [0.96, 0.0, 0.28]], 0.8, 0.05),
    ],
    library="iclr26lib.earthse.ses:diversity",
)


# --- exercise 2: the score --------------------------------------------------------------------------------------------


def ses(ranks, V_list, M: int, lo: float = 0.9, floor: float | None = 0.01) -> dict[str, float]:
    """The solution: the mean of the items' products, each mean over the items where it exists.

    ranks: one an item, None where the judge gave none. V_list: one (M, D) array an item. M: samples. lo, floor: as in
    `diversity`.
    """
    r = np.array([np.nan if rank is None else (rank - 1) / M for rank in ranks])
    d = np.array([np.nan if V is None else diversity(V, lo, floor) for V in V_list])
    return {"r": float(np.nanmean(r)), "d": float(np.nanmean(d)), "ses": float(np.nanmean(r * d))}


def _with_retention(of_rank: Callable) -> Callable:
    """The score with another retention: of_rank(rank, M)."""

    def wrong(ranks, V_list, M, lo=0.9, floor=0.01):
        return ses([None if k is None else 1 + M * of_rank(k, M) for k in ranks], V_list, M, lo, floor)

    return wrong


def _product_of_means(ranks, V_list, M, lo=0.9, floor=0.01):
    found = ses(ranks, V_list, M, lo, floor)
    return {**found, "ses": found["r"] * found["d"]}


def _missing_as_zero(ranks, V_list, M, lo=0.9, floor=0.01):
    return ses([1 if rank is None else rank for rank in ranks], V_list, M, lo, floor)


def _only_complete(ranks, V_list, M, lo=0.9, floor=0.01):
    both = [(rank, V) for rank, V in zip(ranks, V_list, strict=True) if rank is not None and V is not None]
    return ses([rank for rank, _ in both], [V for _, V in both], M, lo, floor)


def _three(fn: Callable) -> Callable:
    """`fn` as a function that returns r, d and SES as a list."""
    return lambda *arguments: [fn(*arguments)[name] for name in ("r", "d", "ses")]


def _fan(cosine: float) -> list[list[float]]:
    """Three rows, the outer two at the same angle from the middle one. cosine: of that angle."""
    sine = (1 - cosine * cosine) ** 0.5
    return [[1.0, 0.0], [cosine, sine], [cosine, -sine]]


SCORE = Exercise(
    id="score",
    task='Write `ses(ranks, V_list, M, lo, floor)`: a dict of "r", "d" and "ses".',
    hint="One item with r = 0 and d = 10 adds nothing to the score. Does it in yours?",
    target="Ranks 1, 2, 3, 4 with diversities 10, 2, 1.25, 1 score 0.625.",
    solution=ses,
    mistakes={
        "the product of the means": Mistake(
            _product_of_means, "Multiply within each item, then average: a dull item may be the one that won."
        ),
        "the direction is turned": Mistake(
            _with_retention(lambda k, M: 1 - (k - 1) / M), "Rank 1 means that the reference beat all samples: r = 0."
        ),
        "ranks are not shifted": Mistake(
            _with_retention(lambda k, M: k / M),
            "Ranks start at 1, so k / M gives the loser 1/M and the winner more than 1.",
        ),
        "divided by M + 1": Mistake(
            _with_retention(lambda k, M: (k - 1) / (M + 1)), "M samples can stand above the reference: divide by M."
        ),
        "no verdict counts as a loss": Mistake(
            _missing_as_zero,
            "Where the judge gave no rank, r is missing: leave the item out of the means of r and SES.",
        ),
        "only complete items": Mistake(
            _only_complete, "The published means are each over the items where they exist: d exists without a rank."
        ),
    },
    probes=lambda: [
        ([1, 2, 3, 4], [_fan(0.1), _fan(0.9), _fan(0.95), _fan(1.0)], 3, 0.9, 0.01),
        ([3, None, 4, 1], [_fan(0.9), _fan(0.2), _fan(0.97), _fan(0.93)], 3, 0.9, 0.01),
    ],
    library="iclr26lib.earthse.ses:ses",
    observe=_three,
)


# --- exercise 3: the win rate -----------------------------------------------------------------------------------------


def win_rate(items, outputs, judge, order: str = "fixed") -> dict:
    """The solution: the model wins where the judge names the place that it stands in; a swap averages both places.

    items: each with question and answer. outputs: the model's, one an item. judge: (question, A, B) -> reply. order:
    "fixed" shows the reference first, "reversed" the model, "swap" asks both ways.
    """
    return {"rate": float(np.mean([_won(item, out, judge, order) for item, out in zip(items, outputs, strict=True)]))}


def _won(item, output, judge, order: str) -> float:
    fixed = judge(item.question, item.answer, output) == "B"
    reverse = judge(item.question, output, item.answer) == "A"
    return {"fixed": float(fixed), "reversed": float(reverse), "swap": (fixed + reverse) / 2}[order]


def _one_order(items, outputs, judge, order="fixed"):
    return win_rate(items, outputs, judge, "fixed")


def _same_letter(items, outputs, judge, order="fixed"):
    turned = [judge(item.question, out, item.answer) == "B" for item, out in zip(items, outputs, strict=True)]
    fixed = win_rate(items, outputs, judge)["rate"]
    wrong = float(np.mean(turned))
    return {"rate": {"fixed": fixed, "reversed": wrong, "swap": (fixed + wrong) / 2}[order]}


def _both_needed(items, outputs, judge, order="fixed"):
    if order != "swap":
        return win_rate(items, outputs, judge, order)
    pairs = zip(items, outputs, strict=True)
    return {"rate": float(np.mean([_won(item, out, judge, "swap") == 1 for item, out in pairs]))}


def _without_the_rest(items, outputs, judge, order="fixed"):
    pairs = [
        (item, out)
        for item, out in zip(items, outputs, strict=True)
        if judge(item.question, item.answer, out) in ("A", "B")
    ]
    return win_rate([item for item, _ in pairs], [out for _, out in pairs], judge, order)


def _forgiving(items, outputs, judge, order="fixed"):
    return win_rate(items, outputs, lambda *asked: judge(*asked).strip().upper(), order)


def _replies(question: str, first: str, second: str) -> str:
    """A judge for the probes: prefers the longer answer, the second of equal ones, and sometimes babbles."""
    if "babble" in question:
        return "Both are good."
    letter = "B" if len(second) >= len(first) else "A"
    return letter.lower() + "\n" if "shy" in question else letter


def _asked(*rows: tuple[str, str, str]) -> tuple[list, list[str]]:
    return [SimpleNamespace(id=str(i), question=q, answer=a) for i, (q, a, _) in enumerate(rows)], [o for *_, o in rows]


MIXED = _asked(("q", "abc", "abc"), ("q", "abc", "abcd"), ("q", "abcd", "abc"), ("babble", "a", "b"))
SHY = _asked(("shy", "a", "ab"), ("q", "a", "ab"), ("q", "a", "a"))
SWAP = Exercise(
    id="swap",
    task='Write `win_rate(items, outputs, judge, order)`: a dict that holds "rate".',
    hint="When the model stands first, which letter does the judge print if it likes the model?",
    target="A judge that always prints B gives 1 in the published order and 0.5 with a swap.",
    solution=win_rate,
    mistakes={
        "the same letter both ways": Mistake(
            _same_letter, "In reversed order the model is answer A: a B is a win of the reference then."
        ),
        "one order for all": Mistake(_one_order, "`order` is not used: ask in the order named, in both for a swap."),
        "a tie counts as a loss": Mistake(
            _both_needed, "A judge that changes its mind with the order has seen a tie: it counts half."
        ),
        "other replies are left out": Mistake(
            _without_the_rest, "In the published rule a reply that is neither A nor B is no win and still counts below."
        ),
        "replies are mended": Mistake(_forgiving, "The published rule takes the exact strings A and B only."),
    },
    probes=lambda: [(*rows, _replies, order) for rows in (MIXED, SHY) for order in ("fixed", "reversed", "swap")],
    library="iclr26lib.earthse.judge:win_rate",
    observe=lambda fn: lambda *arguments: fn(*arguments)["rate"],
)

EXERCISES = {exercise.id: exercise for exercise in (DIVERSITY, SCORE, SWAP)}
