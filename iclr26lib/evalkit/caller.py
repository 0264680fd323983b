"""One model asked about one item: seeds, cache, budget, and errors that are told from mistakes in a solver."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .adapters import Message, ModelAdapter, check_messages
from .cache import AnswerCache, MemoryCache, call_key, key_of
from .items import Item


class CallFailed(RuntimeError):
    """The model did not answer; the run notes it in the record and goes on."""


class BudgetExceeded(RuntimeError):
    """One more call would be more than was allowed; the run stops. With a cache nothing paid for is lost."""


def call_seed(seed: int, item_id: str, sample: int) -> int:
    """The seed of the calls for draw number `sample` of item `item_id` in a run with `seed`: 31 bits."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{sample}/{item_id}".encode()).digest()[:4], "big") >> 1


@dataclass
class Session:
    """What all calls of a run share.

    model: asked. seed: of the run. cache: of answers, or None. max_calls: how many calls may really be made, None for
    any number. made: how many were made so far.
    """

    model: ModelAdapter
    seed: int = 0
    cache: AnswerCache | MemoryCache | None = None
    max_calls: int | None = None
    made: int = 0
    _lock: Any = field(default_factory=threading.Lock, repr=False)

    def spend(self) -> None:
        """Count one call. Raises BudgetExceeded when it is one too many."""
        with self._lock:
            if self.max_calls is not None and self.made >= self.max_calls:
                raise BudgetExceeded(f"{self.made} calls were made, max_calls allows {self.max_calls}")
            self.made += 1


class Caller:
    """The `generate` that a solver is given.

    session: what the run shares. item: the item asked. sample: number of the draw. model: asked instead of the
    session's, where given.
    """

    def __init__(self, session: Session, item: Item, sample: int, model: ModelAdapter | None = None) -> None:
        self.session, self.item, self.sample = session, item, sample
        self.model = model or session.model
        self.seed = call_seed(session.seed, item.id, sample)
        self._item = {"item": item} if getattr(self.model, "needs_item", False) else {}

    def __call__(self, messages: list[Message], *, temperature: float = 0.0, max_tokens: int = 256) -> str:
        """The model's answer to `messages`, at most `max_tokens` tokens, drawn at `temperature`; kept in the cache.

        Halves of surrogate pairs, which no file can hold, become question marks.

        Raises CallFailed when the model raises or gives no text, BudgetExceeded before a call that is one too many.
        """
        settings = {"temperature": float(temperature), "max_tokens": max_tokens, "seed": self.seed}
        check_messages(messages)

        def call() -> Any:
            answer = self.model.generate(messages, **settings, **self._item)
            if not isinstance(answer, str):
                raise TypeError(f"{self.model.name} must answer with a text, got {type(answer).__name__}")
            return answer.encode("utf-8", "replace").decode()

        return self._kept(call, messages, settings)

    def choice_logprobs(self, messages: list[Message], choices: Sequence[str]) -> np.ndarray:
        """Log-likelihoods (len(choices),), nats, of the `choices` after `messages`; kept in the cache.

        Raises CallFailed when the model raises or knows no likelihoods, BudgetExceeded as `__call__`.
        """
        check_messages(messages)

        def call() -> Any:
            found = self.model.choice_logprobs(messages, choices, **self._item)
            if found is None:
                raise TypeError(f"{self.model.name} gives no likelihoods of choices")
            values = np.asarray(found, dtype=float)
            if values.shape != (len(choices),) or np.isnan(values).any():
                raise ValueError(f"{len(choices)} likelihoods are needed, got {values.tolist()}")
            return values.tolist()

        return np.array(self._kept(call, messages, {"choices": list(choices), "seed": self.seed}))

    def key(self, messages: list[Message], settings: dict[str, Any]) -> str:
        """The key in the cache of a call with `messages` and `settings`."""
        own = self.session.model
        stands_for = own if own is not None and own.name == self.model.name else self.model
        return call_key(key_of(stands_for), messages, sample=self.sample, **settings)

    def _kept(self, call: Any, messages: list[Message], settings: dict[str, Any]) -> Any:
        """The kept answer, else a fresh one, which is kept."""
        session = self.session
        cache, key = session.cache, self.key(messages, settings) if session.cache is not None else ""
        if cache is not None and (kept := cache.get(key)) is not None:
            return kept
        session.spend()
        try:
            answer = call()
        except Exception as error:  # whatever a model raises belongs into the record, and the run goes on
            raise CallFailed(f"{type(error).__name__}: {error}") from error
        if cache is not None:
            cache.put(key, answer)
        return answer
