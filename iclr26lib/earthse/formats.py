"""The four answer formats: a fact becomes multiple choice, true or false, fill in the blank, or a free question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..evalkit.items import LETTERS
from .graders import rubric_points
from .tasks import Fact

FORMATS = ("mc", "tf", "fib", "fr")
WEIGHTS: dict[str, dict[str, int]] = {  # how often a format asks each task
    "mc": {
        "calculation": 4, "analysis": 2, "knowledge_qa": 2, "relationship_extraction": 2, "term_explanation": 1,
        "tool_usage": 1, "dataset": 1, "experiment_design": 1, "literature_listing": 1,
    },
    "tf": {
        "fact_checking": 4, "calculation": 2, "analysis": 2, "relationship_extraction": 2, "knowledge_qa": 1,
        "tool_usage": 1, "dataset": 1, "experiment_design": 1, "term_explanation": 1, "literature_listing": 1,
    },
    "fib": {
        "calculation": 5, "analysis": 2, "relationship_extraction": 2, "knowledge_qa": 1, "term_explanation": 1,
        "literature_listing": 1,
    },
    "fr": {"calculation": 4, "analysis": 2, "fact_checking": 2, "code_generation": 2, "experiment_design": 1},
}  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """What a format makes of a fact: the question's text, the answer, and what belongs to the format in meta."""

    question: str
    answer: str
    meta: dict[str, Any]


def multiple_choice(fact: Fact, key: str, rng: np.random.Generator) -> Asked | None:
    """The truth of a fact at the letter `key`, "A" to "D", the three wrong answers around it as rng picks.

    meta: options, key. None when two options read the same.
    """
    wrong = [fact.wrong[i][1] for i in rng.permutation(3)]
    place = LETTERS.index(key)
    options = [*wrong[:place], fact.truth, *wrong[place:]]
    return Asked(fact.question, key, {"options": options, "key": key}) if len(set(options)) == 4 else None


def true_false(fact: Fact, truth: bool, rng: np.random.Generator) -> Asked:
    """The statement of a fact with the right answer (truth) or with one of the wrong ones. rng: picks which.

    meta: claim, the kind of what is stated, "true" or a slip's.
    """
    kind, text = ("true", fact.truth) if truth else fact.wrong[int(rng.integers(3))]
    return Asked(fact.statement.replace("{}", text), str(truth), {"claim": kind})


def fill_in_blank(fact: Fact) -> Asked:
    """The sentence of a fact with a blank in place of the answer, which is lower-case words, or a number with its unit.

    meta: answer_kind, accepted.
    """
    statement, answer = fact.blank or (fact.statement, fact.truth)
    answer = answer if fact.kind == "quantity" else answer.lower()
    accepted = [name.lower() for name in fact.accepted]
    return Asked(statement.replace("{}", "____"), answer, {"answer_kind": fact.kind, "accepted": accepted})


def free(fact: Fact) -> Asked | None:
    """The question of a fact with the order to explain and to name the law; the answer is one that earns all points.

    meta: rubric, or code. None when the question alone would earn a point.
    """
    if fact.code is not None:
        return Asked(fact.question, fact.free, {"code": fact.code})
    question = f"{fact.question} Explain how you get there and name the law or relation that you use."
    rubric = fact.rubric or {}
    gives_away = any(rubric_points(question, rubric).values())
    return None if gives_away else Asked(question, fact.free, {"rubric": rubric})
