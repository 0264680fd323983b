"""Answers kept on disk, so that a run that was killed goes on without paying for a call twice.

One append-only JSON Lines file a model. A line is written by one call under a lock: a file holds whole lines, and at
worst one torn line at its end, which is cut off with a warning.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import threading
from pathlib import Path
from typing import Any


def key_of(model: Any) -> str:
    """What tells the answers of an adapter from all others: its `cache_key`, where it has one, else its name.

    model: the adapter. Raises ValueError for a cache_key that is no text.
    """
    found = getattr(model, "cache_key", None)
    if found is None:
        return model.name
    if not isinstance(found, str) or not found:
        raise ValueError(f"cache_key must be a text, got {type(found).__name__}")
    return found


def call_key(name: str, messages: Any, **settings: Any) -> str:
    """The key of a call: SHA-256, hexadecimal, of the model's `name` (`key_of`), `messages` and settings, as JSON.

    Raises TypeError for messages or settings that JSON cannot hold.
    """
    text = json.dumps([name, messages, settings], sort_keys=True, ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


class MemoryCache(dict):
    """Answers of one run, kept in memory only: what a batch leaves for the calls that follow."""

    def put(self, key: str, answer: Any) -> None:
        """Keep `answer` under `key`."""
        self[key] = answer


class AnswerCache:
    """The answers of one model in a folder: `get` by key, `put` once.

    folder: where the file lies, made when missing. model: its `key_of`. Raises ValueError for a damaged line that
    is not the last one, naming it. Threads and processes may write at the same time; a process sees its own answers and
    those that were there when it started.
    """

    def __init__(self, folder: str | Path, model: str) -> None:
        if not isinstance(model, str) or not model:
            raise ValueError(f"model must be a name, got {model!r}")
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        slug = re.sub(r"[^A-Za-z0-9]+", "-", model).strip("-")[:60]
        self.path = folder / f"{slug}-{hashlib.sha256(model.encode()).hexdigest()[:10]}.jsonl"
        self._lock = threading.Lock()
        self._answers = self._load()

    def __repr__(self) -> str:
        return f"AnswerCache({self.path.name!r}, {len(self)} answers)"

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, key: str) -> Any:
        """The answer kept under `key`, None when there is none."""
        return self._answers.get(key)

    def put(self, key: str, answer: Any) -> None:
        """Keep `answer` (JSON, not None) under `key`; it is on disk when this returns.

        Raises ValueError for None, TypeError for what JSON cannot hold.
        """
        if answer is None:
            raise ValueError("an answer must not be None")
        line = json.dumps({"key": key, "answer": answer}).encode() + b"\n"
        with self._lock, self.path.open("r+b") as file:
            _lock(file)
            _cut(file)
            file.seek(0, os.SEEK_END)
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
            self._answers[key] = answer

    def _load(self) -> dict[str, Any]:
        """All answers of the file, which is made when missing; a torn last line is cut off."""
        self.path.touch()
        with self.path.open("r+b") as file:
            _lock(file)
            if torn := _cut(file):
                print(f"{self.path.name}: the last line was torn ({torn} bytes), its call is repeated", file=sys.stderr)
            file.seek(0)
            return dict(_entry(line, number, self.path.name) for number, line in enumerate(file, 1) if line.strip())


def _lock(file: Any) -> None:
    """Keep other processes out until `file` is closed, where the system can."""
    if sys.platform != "win32":
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)


def _cut(file: Any) -> int:
    """Cut off what stands behind the last newline; return how many bytes that were."""
    end = file.seek(0, os.SEEK_END)
    start, block = end, 1 << 16
    while start > 0:
        size = min(block, start)
        file.seek(start - size)
        if (at := file.read(size).rfind(b"\n")) >= 0:
            start = start - size + at + 1
            break
        start -= size
    if start < end:
        file.truncate(start)
    return end - start


def _entry(line: bytes, number: int, name: str) -> tuple[str, Any]:
    try:
        entry = json.loads(line)
        return entry["key"], entry["answer"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{name} line {number} is damaged ({type(error).__name__}); delete that line") from error
