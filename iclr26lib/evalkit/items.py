"""What is asked and what came back: items and records, checked when they are made, kept as JSON Lines."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

FORMATS = ("mc", "tf", "fib", "fr", "dialogue", "multi", "pairs", "translation", "code")
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
TRUE_FALSE = ("True", "False", "Yes", "No")
T = TypeVar("T", "Item", "Record")


@dataclass(frozen=True)
class Item:
    """One question with its answer.

    id: unique in its set. family: what the item shares with its like (one law, one page); intervals resample families.
    question: the text. answer: the gold answer (mc: a letter; tf: True, False, Yes or No). fmt: one of `FORMATS`.
    task, sphere: labels to group by. meta: a plain dict that JSON can hold; for mc and multi, meta["options"] lists two
    or more different texts. Raises TypeError or ValueError for anything else.
    """

    id: str
    family: str
    question: str
    answer: str
    fmt: str
    task: str = ""
    sphere: str = ""
    meta: dict[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        for name in ("id", "family", "question", "answer"):
            _text(name, getattr(self, name), empty=False)
        _text("task", self.task)
        _text("sphere", self.sphere)
        if self.fmt not in FORMATS:
            raise ValueError(f"fmt must be one of {', '.join(FORMATS)}, got {self.fmt!r}")
        if not isinstance(self.meta, dict):
            raise TypeError(f"meta must be a dict, got {type(self.meta).__name__}")
        object.__setattr__(self, "meta", _plain("meta", self.meta))
        _check_answer(self)


@dataclass(frozen=True)
class Record:
    """What a model answered to one item, once.

    item_id: the item. model: its name. output: the text, or a list of texts, one a turn. sample: 0, 1, ... number of
    the draw. score: a finite number, None while ungraded or missing. parsed: what the grader read, JSON. error: what
    went wrong with the call, None when nothing did. Raises TypeError or ValueError for anything else.
    """

    item_id: str
    model: str
    output: str | list[str]
    sample: int = 0
    score: float | None = None
    parsed: Any = field(default=None, hash=False)
    error: str | None = None

    def __post_init__(self) -> None:
        _text("item_id", self.item_id, empty=False)
        _text("model", self.model, empty=False)
        turns = self.output if isinstance(self.output, list) else [self.output]
        for turn in turns:
            _text("output", turn)
        if not isinstance(self.sample, int) or isinstance(self.sample, bool):
            raise TypeError(f"sample must be an integer, got {self.sample!r}")
        if self.sample < 0:
            raise ValueError(f"sample must be 0 or more, got {self.sample}")
        if self.error is not None:
            _text("error", self.error, empty=False)
        object.__setattr__(self, "score", _score(self.score))
        object.__setattr__(self, "parsed", _plain("parsed", self.parsed))


def _text(name: str, value: Any, empty: bool = True) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a text, got {type(value).__name__}")
    if not empty and not value:
        raise ValueError(f"{name} must not be empty")


def _plain(name: str, value: Any) -> Any:
    """A copy of `value` as JSON would give it back; tuples, sets, NaN and keys that are no texts are refused."""
    try:
        copy = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be what JSON can hold: {error}") from error
    if copy != value:
        raise ValueError(f"{name} must hold texts, numbers, lists and dicts with text keys only, got {str(value)[:80]}")
    return copy


def _score(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, str | bytes) or not hasattr(value, "__float__"):
        raise TypeError(f"score must be a number or None, got {value!r}")
    if not math.isfinite(number := float(value)):
        raise ValueError(f"score must be finite, or None where it is missing, got {value}")
    return number


def _check_answer(item: Item) -> None:
    """Refuse options that are missing or equal, and an answer that is none of those the format allows."""
    if item.fmt == "tf" and item.answer not in TRUE_FALSE:
        raise ValueError(f"the answer of a tf item must be one of {', '.join(TRUE_FALSE)}, got {item.answer!r}")
    if item.fmt not in ("mc", "multi"):
        return
    options = item.meta.get("options")
    if not isinstance(options, list) or not all(isinstance(o, str) and o for o in options):
        raise ValueError(f"meta['options'] of a {item.fmt} item must be a list of texts, got {options!r}")
    if not 2 <= len(set(options)) == len(options) <= len(LETTERS):
        raise ValueError(f"meta['options'] must be 2 to {len(LETTERS)} different texts, got {options}")
    letters = LETTERS[: len(options)]
    if item.fmt == "mc" and (len(item.answer) != 1 or item.answer not in letters):
        raise ValueError(f"the answer of an mc item must be one letter of {letters}, got {item.answer!r}")


def unique(items: Iterable[Item]) -> list[Item]:
    """The `items` as a list. Raises TypeError for what is no Item, ValueError for an empty set or an id seen twice."""
    found = list(items)
    for item in found:
        if not isinstance(item, Item):
            raise TypeError(f"an Item is needed, got {type(item).__name__}")
    if not found:
        raise ValueError("need at least one item, got none")
    if twice := [name for name, count in Counter(item.id for item in found).items() if count > 1]:
        raise ValueError(f"duplicate item ids: {', '.join(twice[:5])}")
    return found


def write_items(path: str | Path, items: Iterable[Item]) -> None:
    """Write `items` to the file `path`, one JSON object a line. Raises ValueError as `unique`."""
    _write(Path(path), unique(items))


def read_items(path: str | Path) -> list[Item]:
    """The items of the JSON Lines file `path`. Raises ValueError, naming the line, for what `Item` would refuse."""
    return _read(Path(path), Item, lambda item: item.id)


def write_records(path: str | Path, records: Iterable[Record]) -> None:
    """Write `records` to the file `path`, one JSON object a line. Raises ValueError for the same sample twice."""
    found = list(records)
    if twice := [key for key, count in Counter(map(_sample, found)).items() if count > 1]:
        raise ValueError(f"duplicate records (item, model, sample): {twice[:5]}")
    _write(Path(path), found)


def read_records(path: str | Path) -> list[Record]:
    """The records of the JSON Lines file `path`. Raises ValueError, naming the line, for what `Record` would refuse."""
    return _read(Path(path), Record, _sample)


def _sample(record: Record) -> tuple[str, str, int]:
    return record.item_id, record.model, record.sample


def _write(path: Path, values: list) -> None:
    lines = [json.dumps(asdict(value), allow_nan=False) for value in values]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _read(path: Path, kind: type[T], key: Any) -> list[T]:
    found: dict[Any, int] = {}
    values = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = _parse(line, kind)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path.name} line {number}: {error}") from error
        if key(value) in found:
            raise ValueError(f"{path.name} line {number}: {key(value)!r} stands in line {found[key(value)]} already")
        found[key(value)] = number
        values.append(value)
    return values


def _parse(line: str, kind: type[T]) -> T:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(f"a JSON object is needed, got {type(value).__name__}")
    known = [f.name for f in fields(kind)]
    if unknown := sorted(set(value) - set(known)):
        raise ValueError(f"unknown field {unknown[0]!r}; known: {', '.join(known)}")
    needed = [f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING]
    if missing := [name for name in needed if name not in value]:
        raise ValueError(f"field {missing[0]!r} is missing")
    return kind(**value)
