"""The paper's own data: records of the official schema become items; nothing is spent without a word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..evalkit.items import LETTERS, Item

DATASETS = {"iron": "ai-earth/Earth-Iron", "silver": "ai-earth/Earth-Silver", "gold": "ai-earth/Earth-Gold"}
SPLITS = {"multiple_choice": "mc", "true_false": "tf", "fill_in_the_blank": "fib", "free_form": "fr"}
QA_FIELDS = ("idx", "question", "reasoning_chain", "answer", "task", "sphere", "subject", "sub_discipline")
GOLD_FIELDS = ("idx", "user_0", "assistant_0", "user_1", "assistant_1", "sphere")
OPTION = re.compile(r"(?:^|\n|\s)\(?([A-Z])[).:]\s*(.+?)(?=(?:\n|\s)\(?[A-Z][).:]\s|\Z)", re.S)


class OfflineError(RuntimeError):
    """The data set is not here and cannot be fetched; the message holds its id."""


def from_record(record: Mapping[str, Any], tier: str, split: str = "train") -> Item:
    """The item of one official record.

    record: the fields of the data set cards. tier: "iron", "silver" or "gold". split: the format of a question,
    such as "multiple_choice"; Gold has "train" only. Answers stay as they are, for the published grader compares them
    raw. The family is the record itself: from which paper it was made is not said. Raises ValueError for an unknown
    tier or split and for a field that is missing or empty, naming the record.
    """
    if tier not in DATASETS:
        raise ValueError(f"unknown tier {tier!r}; known: {', '.join(DATASETS)}")
    if split not in (("train",) if tier == "gold" else SPLITS):
        raise ValueError(
            f"unknown split {split!r} of {tier}; known: {', '.join(('train',) if tier == 'gold' else SPLITS)}"
        )
    fields = GOLD_FIELDS if tier == "gold" else QA_FIELDS
    if missing := [name for name in fields if record.get(name) in (None, "")]:
        raise ValueError(f"{DATASETS[tier]} {split} record {record.get('idx')!r}: no {', '.join(missing)}")
    name = f"{tier}-{split}-{record['idx']}"
    return _dialogue(record, name) if tier == "gold" else _question(record, name, SPLITS[split])


def _dialogue(record: Mapping[str, Any], name: str) -> Item:
    turns = {key: str(record[key]) for key in GOLD_FIELDS[1:5]}
    answer = f"{turns['assistant_0']}\n\n{turns['assistant_1']}"
    return Item(name, name, turns["user_0"], answer, "dialogue", "", str(record["sphere"]).lower(), turns)


def _question(record: Mapping[str, Any], name: str, fmt: str) -> Item:
    chain = record["reasoning_chain"]
    meta = {
        "subject": str(record["subject"]), "sub_discipline": str(record["sub_discipline"]),
        "reasoning_chain": [str(step) for step in chain] if isinstance(chain, list | tuple) else _chain(str(chain)),
    }  # fmt: skip
    question, answer = str(record["question"]), str(record["answer"])
    if fmt == "mc":
        meta.update(_options(question, record.get("options"), answer))
    return Item(name, name, question, answer, fmt, str(record["task"]), str(record["sphere"]).lower(), meta)


def _chain(text: str) -> list[str]:
    """The steps of a chain that is one text: its lines that hold something."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def _options(question: str, given: Any, answer: str) -> dict[str, Any]:
    """The options of a choice question: a field of their own, else read from its text, else the bare letters.

    inline_options says that they stand in the question already; options_read, whether they could be told apart.
    """
    if isinstance(given, list | tuple) and len(given) >= 2:
        return {"options": [str(option) for option in given], "inline_options": False, "options_read": True}
    found = [(letter, text.strip()) for letter, text in OPTION.findall(question)]
    texts = [text for _, text in found]
    in_order = "".join(letter for letter, _ in found) == LETTERS[: len(found)]
    if len(found) >= 2 and in_order and len(set(texts)) == len(texts) and answer in LETTERS[: len(found)]:
        return {"options": texts, "inline_options": True, "options_read": True}
    count = max(4, LETTERS.find(answer[:1]) + 1)
    return {"options": list(LETTERS[:count]), "inline_options": True, "options_read": False}


def load_official(tier: str, splits: Sequence[str] | None = None) -> list[Item]:
    """All items of a tier, "iron", "silver" or "gold", from the Hugging Face hub (package `datasets`, network).

    splits: some of the tier's, all when None. Loading costs nothing; see `confirm_calls` before a run. Raises
    ValueError for an unknown tier or split, OfflineError, which names the data set, without package or network.
    """
    if tier not in DATASETS:
        raise ValueError(f"unknown tier {tier!r}; known: {', '.join(DATASETS)}")
    known = ("train",) if tier == "gold" else tuple(SPLITS)
    wanted = known if splits is None else tuple(splits)
    if unknown := sorted(set(wanted) - set(known)):
        raise ValueError(f"unknown splits {unknown} of {tier}; known: {', '.join(known)}")
    return [from_record(row, tier, split) for split in wanted for row in _rows(DATASETS[tier], split)]


def _rows(name: str, split: str) -> Iterable[Mapping[str, Any]]:
    try:
        from datasets import load_dataset
    except ImportError as error:
        raise OfflineError(f"{name} needs the package datasets: pip install datasets") from error
    try:
        return load_dataset(name, split=split)
    except (OSError, RuntimeError, ValueError) as error:
        raise OfflineError(
            f"{name} ({split}) cannot be fetched from the hub: {type(error).__name__}: {error}"
        ) from error


def calls_needed(items: Sequence[Item], M: int = 3) -> dict[str, int]:
    """How many calls a run of the published protocol takes: {"model", "judge", "total"}.

    items: mc, tf and fib take one call of the model; free answers one, and one of the judge; dialogues 2 M calls of the
    model, and one of the judge. M: dialogues an item, 1 or more. Raises ValueError below.
    """
    if M < 1:
        raise ValueError(f"M must be 1 or more, got {M}")
    model = sum(2 * M if item.fmt == "dialogue" else 1 for item in items)
    judge = sum(item.fmt in ("dialogue", "fr") for item in items)
    return {"model": model, "judge": judge, "total": model + judge}


def confirm_calls(items: Sequence[Item], M: int = 3, confirm: bool = False) -> dict[str, int]:
    """Print the calls that a run on `items` needs (see `calls_needed`, M dialogues an item) and return them.

    Raises ValueError unless `confirm` is True, so that nothing is spent by accident.
    """
    calls = calls_needed(items, M)
    print(f"{len(items)} items: {calls['model']} calls of the model, {calls['judge']} of the judge")
    if confirm is not True:
        raise ValueError(f"{calls['total']} calls may cost money: pass confirm=True to spend them")
    return calls
