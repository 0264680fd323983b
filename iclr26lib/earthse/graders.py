"""The published graders as they are, and tolerant ones beside them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..evalkit.items import Item
from . import tolerant
from .code_run import passed, program_of
from .units import Quantity, quantities, quantity

MODES = ("published", "tolerant")


def published(output: str, answer: str) -> float:
    """1.0 where an output equals the `answer` as a string, else 0.0: no strip, no case folding, no parsing.

    Equation (exact_match): $s = 1[\\mathrm{output} = \\mathrm{answer}]$ (official code)
    """
    return float(output == answer)


def grade(item: Item, output: str, mode: str = "published", allow_code: bool = False) -> float:
    """The score of one output for an item, in [0, 1].

    mode "published": `published`, for mc, tf and fib. Free answers have no grader of this kind: the paper gives them to
    a judge (`win_rate`) and to `semantic_similarity`.
    mode "tolerant", in order:
    1. No text, white space only, or more than 20,000 characters: 0.
    2. mc: the letter, alone or in a sentence (see `tolerant.letters`), or the whole text of the option. An output that
       names two different options, for whatever reason, scores 0.
    3. tf: exactly one of the words true and false in any case, without a negation; alone, also t, f, yes, no, correct.
    4. fib with a quantity: every number of the gold's dimension lies within 1 % of it, in any unit of the table; a
       missing unit, another dimension or two values score 0. A decimal comma is not read.
    5. fib with words: equal to the answer or an accepted name, but for case, blanks, punctuation, articles and "the
       answer is"; a list must match item by item.
    6. fr: the share of the rubric's points (see `rubric_points`). A code answer is run on 5 inputs, only with
       `allow_code`: the share of right values.
    Raises ValueError for an unknown mode, a free answer in mode "published" or without rubric, a code answer without
    `allow_code`, and a dialogue, which SES is for.
    """
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}, got {mode!r}")
    if item.fmt not in ("mc", "tf", "fib", "fr"):
        raise ValueError(f"{item.id!r} is a {item.fmt}: dialogues are measured by `ses`, not graded")
    if mode == "published":
        if item.fmt == "fr":
            raise ValueError(
                f"{item.id!r} is a free answer: use `win_rate` or `semantic_similarity`, or mode='tolerant'"
            )
        return published(output, item.answer)
    return _tolerant(item, output, allow_code)


def grader(mode: str = "published", allow_code: bool = False) -> Callable[[Item, Any], float]:
    """`grade` with mode and allow_code fixed, as `evalkit.grade_all` takes it. Raises ValueError for another mode."""
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}, got {mode!r}")
    return partial(grade, mode=mode, allow_code=allow_code)


def _tolerant(item: Item, output: str, allow_code: bool) -> float:
    if item.fmt == "fr" and "code" not in item.meta and "rubric" not in item.meta:
        raise ValueError(f"{item.id!r} has no rubric: a judge must grade it")
    if "code" in item.meta and not allow_code:
        raise ValueError(f"{item.id!r} wants code, which is run only with allow_code=True; `make_items(tasks=...)`")
    if not tolerant.short_enough(output):
        return 0.0
    if item.fmt == "mc":
        return float(tolerant.chosen(output, item.meta["options"]) == {item.answer})
    if item.fmt == "tf":
        return float(tolerant.truth_value(output) is (item.answer in ("True", "Yes")))
    if item.fmt == "fib":
        return float(_blank(item, output))
    return _free(item, output)


def _blank(item: Item, output: str) -> bool:
    if item.meta.get("answer_kind") == "quantity":
        return tolerant.same_quantity(output, item.answer)
    return tolerant.same_words(output, [item.answer, *item.meta.get("accepted", [])])


def _free(item: Item, output: str) -> float:
    if "code" in item.meta:
        return passed(program_of(output), item.meta["code"])
    points = rubric_points(output, item.meta["rubric"])
    return sum(points.values()) / len(points)


def rubric_points(output: str, rubric: dict[str, Any]) -> dict[str, bool]:
    """Which points of a rubric an output earns, by name.

    rubric: "gold", a quantity as text: earns "value" when the last number of its dimension in the output (of an output
    without such: the last bare number) lies within 1 %, and "unit" when that number has the dimension. "names": earns
    "law" when one of them occurs. "mentions": each text in it must occur. Absent parts give no point.
    """
    found: dict[str, bool] = {}
    if "gold" in rubric:
        target = quantity(rubric["gold"])
        last = _last(quantities(output), target)
        found["value"] = last is not None and tolerant.close(last, target)
        if not target.bare:
            found["unit"] = found["value"] and bool(tolerant.like(quantities(output), target))
    text = f" {_squeezed(output)} "
    if "names" in rubric:
        found["law"] = any(f" {_squeezed(name)} " in text for name in rubric["names"])
    for mention in rubric.get("mentions", []):
        found[f"mentions {mention}"] = f" {_squeezed(mention)} " in text
    return found


def _last(found: list[Quantity], target: Quantity) -> Quantity | None:
    """The last quantity like `target`; where there is none, the last bare number taken in its unit."""
    if same := tolerant.like(found, target):
        return same[-1]
    bare = [q for q in found if q.bare]
    return Quantity(bare[-1].number, target.factor, target.dimension, target.celsius, False) if bare else None


def _squeezed(text: str) -> str:
    """Words without possessive s, so that Darcy's law, darcys law and Darcy law are one."""
    return " ".join(word for word in tolerant.words(text).split() if word != "s")
