"""Judges: the ranking of a reference among dialogues, and the choice between two answers; both with their biases.

Every text of a model is shown between marks that it cannot close, as data. Replies are read strictly: what is not
exactly one of the allowed texts counts as no reply.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import expit

from ..evalkit.adapters import AdapterError, Message, ModelAdapter
from ..evalkit.graders import judge_messages, parse_verdict
from .draws import normal, uniform
from .ses import missing_reason

Dialogue = Sequence[tuple[str, str]]
TURNS, ORDERS = ("last", "all"), ("fixed", "reversed", "swap")
CHOOSE = "Answers A and B reply to one question. Which of the two is better?"
RANK = "{count} dialogues on one topic are below. Order them, 1 is the best, by depth of reflection and by novelty: "
RANK += "which rank does dialogue {number} take?"


def dialogue_of(meta: Mapping[str, str]) -> list[tuple[str, str]]:
    """The two turns (user, assistant) of a reference.

    meta: holds user_0, assistant_0, user_1, assistant_1, as the official records do. Raises ValueError when one lacks.
    """
    names = [f"{role}_{turn}" for turn in (0, 1) for role in ("user", "assistant")]
    if missing := [name for name in names if not isinstance(meta.get(name), str)]:
        raise ValueError(f"a reference dialogue needs the texts {', '.join(names)}; {', '.join(missing)} is missing")
    return [(meta["user_0"], meta["assistant_0"]), (meta["user_1"], meta["assistant_1"])]


def _turns(dialogue: Dialogue) -> list[tuple[str, str]]:
    turns = [tuple(turn) for turn in dialogue] if not isinstance(dialogue, str) else []
    if not turns or not all(len(turn) == 2 and all(isinstance(text, str) for text in turn) for turn in turns):
        raise ValueError(f"a dialogue is a list of (user, assistant) texts, got {str(dialogue)[:80]!r}")
    return turns


def seen(dialogue: Dialogue, turns: str = "last") -> Any:
    """What the judge is shown of a dialogue, a list of (user, assistant): a dict with "last", a list of dicts with
    "all".

    turns: "last" builds one mapping out of all pairs, as the published prompt does by writing the keys user and
    assistant twice: each later pair replaces the one before it. Raises ValueError for another word, or no dialogue.
    """
    if turns not in TURNS:
        raise ValueError(f"turns must be one of {', '.join(TURNS)}, got {turns!r}")
    pairs = _turns(dialogue)
    if turns == "all":
        return [{"user": user, "assistant": assistant} for user, assistant in pairs]
    return dict(entry for user, assistant in pairs for entry in (("user", user), ("assistant", assistant)))


def rank_messages(ref: Dialogue, samples: Sequence[Dialogue], turns: str = "last", place: int = 0) -> list[Message]:
    """The messages that ask for the rank of the reference among the M + 1 dialogues.

    ref, samples: the reference and the M samples, each a list of (user, assistant). turns: "last" (published) or "all"
    (intended), see `seen`. place: where the reference stands in the list, 0 to M (our choice: first).
    Raises ValueError for no sample, a place outside the list, and as `seen`.
    """
    if not samples or not 0 <= place <= len(samples):
        raise ValueError(f"need 1 sample or more and a place from 0 to {len(samples)}, got place {place}")
    shown = [seen(sample, turns) for sample in samples]
    shown.insert(place, seen(ref, turns))
    texts = {f"dialogue {i}": json.dumps(dialogue, ensure_ascii=False) for i, dialogue in enumerate(shown, 1)}
    ranks = [str(rank) for rank in range(1, len(shown) + 1)]
    return judge_messages(RANK.format(count=len(shown), number=place + 1), texts, ranks)


def judge_prompt(ref: Dialogue, samples: Sequence[Dialogue], turns: str = "last", place: int = 0) -> str:
    """The text of `rank_messages(ref, samples, turns, place)`, all that a judge reads. Raises ValueError as it."""
    return "\n\n".join(message["content"] for message in rank_messages(ref, samples, turns, place))


def parse_rank(reply: str | None, M: int) -> tuple[int | None, str]:
    """The rank in a judge's reply and, where there is none, why.

    reply: must be an integer from 1 to M + 1 in plain digits, white space around it allowed (our choice). M: samples.
    Raises ValueError for M < 1.
    """
    text = reply.strip() if isinstance(reply, str) else ""
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        return None, missing_reason(None, M) if reply is None else f"reply {text[:40]!r} is no integer"
    reason = missing_reason(int(text), M)
    return (None, reason) if reason else (int(text), "")


def parse_choice(reply: str | None) -> str | None:
    """The reply if it is exactly "A" or "B" (official code: no strip, no case folding), else None."""
    return None if reply is None else parse_verdict(reply, ("A", "B"))


def choice_messages(question: str, first: str, second: str) -> list[Message]:
    """The messages that ask which of two answers to a question is better: first is shown as A, second as B."""
    return judge_messages(CHOOSE, {"question": question, "answer A": first, "answer B": second}, ("A", "B"))


class ModelJudge:
    """A model as judge of both kinds: `judge(question, first, second)` and `judge.rank(ref, samples, turns, place)`."""

    def __init__(self, adapter: ModelAdapter) -> None:
        self.adapter, self.name = adapter, adapter.name

    def _ask(self, messages: list[Message]) -> str:
        return self.adapter.generate(messages, temperature=0.0, max_tokens=8)

    def __call__(self, question: str, first: str, second: str) -> str:
        """The model's reply to `choice_messages(question, first, second)`."""
        return self._ask(choice_messages(question, first, second))

    def rank(self, ref: Dialogue, samples: Sequence[Dialogue], turns: str = "last", place: int = 0) -> str:
        """The model's reply to `rank_messages(ref, samples, turns, place)`."""
        return self._ask(rank_messages(ref, samples, turns, place))


class ScriptedJudge:
    """A judge of known taste: noisy comparison of a quality that it reads off the texts, with a position bias.

    quality: text -> number, in logits for the choice. bias: logits by which the second answer is favoured. noise:
    standard deviation, in units of quality, of what is added to every dialogue before ranking. prefer: what is added to
    the reference before ranking. seed: equal arguments give equal replies.
    """

    name = "scripted judge"

    def __init__(
        self, quality: Callable[[str], float], bias: float = 0.0, noise: float = 0.0, prefer: float = 0.0, seed: int = 0
    ) -> None:
        """Raises ValueError for a negative noise."""
        if noise < 0:
            raise ValueError(f"noise must be 0 or more, got {noise}")
        self.quality, self.bias, self.noise, self.prefer, self.seed = quality, bias, noise, prefer, seed

    def __call__(self, question: str, first: str, second: str) -> str:
        """ "A" or "B": which of first and second answers question better."""
        favour = self.quality(second) - self.quality(first) + self.bias
        return "B" if uniform(self.seed, "choice", question, first, second) < expit(favour) else "A"

    def rank(self, ref: Dialogue, samples: Sequence[Dialogue], turns: str = "last", place: int = 0) -> str:
        """The rank of ref among itself and the samples, by what `turns` lets the judge see; place plays no part."""
        score = [self._score(seen(dialogue, turns), i) for i, dialogue in enumerate([ref, *samples])]
        return str(1 + sum(other > score[0] + self.prefer for other in score[1:]))

    def _score(self, shown: Any, position: int) -> float:
        turns = [shown] if isinstance(shown, dict) else shown
        text = " ".join(turn["assistant"] for turn in turns)
        return self.quality(text) + self.noise * normal(self.seed, "rank", position, text)


def rank_reference(
    judge: Any, ref: Dialogue, samples: Sequence[Dialogue], turns: str = "last", place: int = 0
) -> tuple[int | None, str]:
    """The rank of ref among the samples according to `judge.rank(ref, samples, turns, place)`, and why it is missing.

    Returns (rank or None, reason or ""); a call that fails, whatever it raises, gives None and what it said. Raises
    ValueError as `judge_prompt`.
    """
    rank_messages(ref, samples, turns, place)  # wrong arguments fail here
    try:
        reply = judge.rank(ref, samples, turns, place)
    except Exception as error:  # noqa: BLE001  whatever a judge raises is the reason that the rank is missing
        return None, f"the judge did not answer: {_said(error)}"
    if reply is not None and not isinstance(reply, str):
        return None, f"the judge's reply must be a text, got {type(reply).__name__}"
    return parse_rank(reply, len(samples))


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, AdapterError) else f"{type(error).__name__}: {error}"


def favoured(quality, bias, order: str = "fixed") -> np.ndarray:
    """Chance (...,) that the model beats the reference before a judge who favours the second answer.

    quality: (...,) logits, the model's advantage. bias: (...,) logits. order: "fixed" shows the reference first
    (published), "reversed" the model first, "swap" is the mean of both.
    Equation (bias): $P = \\sigma(q + \\beta)$ fixed, $\\sigma(q - \\beta)$ reversed (our choice)
    Raises ValueError for another order.
    """
    if order not in ORDERS:
        raise ValueError(f"order must be one of {', '.join(ORDERS)}, got {order!r}")
    q, beta = np.asarray(quality, dtype=float), np.asarray(bias, dtype=float)
    fixed, reversed_ = expit(q + beta), expit(q - beta)
    return {"fixed": fixed, "reversed": reversed_, "swap": (fixed + reversed_) / 2}[order]


def win_rate(
    items: Sequence, outputs: Sequence[str | None], judge: Callable[[str, str, str], str], order: str = "fixed"
) -> dict[str, Any]:
    """How often a model beats the reference answers.

    items: each with question and answer (the reference). outputs: the model's answers, one an item; None leaves the
    denominator. judge: (question, A, B) -> reply. order: "fixed" (published: the reference is A), "reversed", or "swap"
    (both, averaged). A reply other than A or B, or a call that fails, whatever it raises, is no win and stays in the
    denominator.
    Returns {"rate", "wins", "unparsed", "errors"}: the mean, one value an item (NaN for no output), the number of
    replies that count as none, and what failed calls and replies that are no text said.
    Raises ValueError for no items, unequal lengths or another order.
    """
    if len(items) != len(outputs) or not items or order not in ORDERS:
        raise ValueError(f"need as many outputs as items and an order of {ORDERS}; got {len(outputs)}, {order!r}")
    errors: list[str] = []
    ways = {"fixed": ("B",), "reversed": ("A",), "swap": ("B", "A")}[order]
    chosen = [
        [_choice(i, o, judge, way, errors) for way in ways]
        for i, o in zip(items, outputs, strict=True)
        if o is not None
    ]
    wins = iter([np.mean([got == way for got, way in zip(row, ways, strict=True)]) for row in chosen])
    column = np.array([np.nan if output is None else next(wins) for output in outputs], dtype=float)
    rate = float(np.nanmean(column)) if chosen else float("nan")
    return {
        "rate": rate,
        "wins": column,
        "unparsed": sum(got is None for row in chosen for got in row),
        "errors": errors,
    }


def _choice(item: Any, output: str, judge: Callable, letter: str, errors: list[str]) -> str | None:
    """The judge's letter when the model's output is shown under `letter`."""
    first, second = (item.answer, output) if letter == "B" else (output, item.answer)
    try:
        reply = judge(item.question, first, second)
    except Exception as error:  # noqa: BLE001  whatever a judge raises is noted, and the other items go on
        errors.append(f"{item.id}: {_said(error)}")
        return None
    if not isinstance(reply, str):
        errors.append(f"{item.id}: the judge's reply must be a text, got {type(reply).__name__}")
        return None
    return parse_choice(reply)


def rows_of(embed: Callable, texts: Sequence[str]) -> np.ndarray:
    """What an embedder makes of n texts, (n, D). Raises ValueError for another shape.

    embed: texts -> rows. texts: n of them.
    """
    rows = np.asarray(embed(list(texts)), dtype=float)
    if rows.ndim != 2 or len(rows) != len(texts) or not rows.shape[1]:
        raise ValueError(f"an embedder must give ({len(texts)}, D) rows for {len(texts)} texts, got {rows.shape}")
    return rows


def semantic_similarity(refs: Sequence[str], outs: Sequence[str | None], embed: Callable) -> np.ndarray:
    """Cosines (n,) of reference answers with a model's; NaN where there is no output.

    refs, outs: n texts each, None for a missing output. embed: texts -> (n, D) rows, of any length but 0.
    Equation (similarity): $\\mathrm{SS} = \\cos(e_{\\mathrm{ref}}, e_{\\mathrm{out}})$ (official code)
    Raises ValueError for no texts, unequal lengths, or rows of another shape.
    """
    if len(refs) != len(outs) or not len(refs):
        raise ValueError(f"need as many outputs as references, 1 or more; got {len(outs)} and {len(refs)}")
    rows = rows_of(embed, [*refs, *("" if out is None else out for out in outs)])
    a, b = rows[: len(refs)], rows[len(refs) :]
    cosines = (a * b).sum(1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))
    return np.where([out is None for out in outs], np.nan, cosines)
