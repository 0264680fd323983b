"""What evalkit asks of a model, and a few adapters that need nothing but Python.

A message is a dict with "role" (system, user or assistant) and "content": a text, or a list of parts as endpoints take
them ({"type": "text", "text": ...}, {"type": "image_url", "image_url": {"url": "data:..."}}).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

Message = dict[str, Any]
ROLES = ("system", "user", "assistant")


class AdapterError(RuntimeError):
    """A model could not be made to answer; the text says what happened at each try, and never holds a key."""


@runtime_checkable
class ModelAdapter(Protocol):
    """Anything with a name that answers messages.

    An adapter that needs to know which item is asked (a scripted model) sets the attribute `needs_item = True`; both
    methods are then called with one more keyword, `item`. One whose name does not say all that its answers depend on
    has a text `cache_key`, which holds no secret: kept answers are told apart by it instead of by the name.
    """

    name: str

    def generate(
        self, messages: list[Message], *, temperature: float = 0.0, max_tokens: int = 256, seed: int = 0
    ) -> str:
        """The answer to `messages`, at most `max_tokens` tokens, drawn at `temperature` from the stream of `seed`.

        Raises AdapterError when there is none.
        """
        ...

    def choice_logprobs(self, messages: list[Message], choices: Sequence[str]) -> np.ndarray | None:
        """Log-likelihood, nats, (len(choices),), of each of `choices` as the answer to `messages`; None if unknown."""
        ...


class FunctionModel:
    """A model that is a Python function of the messages: for tests, baselines and own clients.

    name: its name. function: (messages, temperature, max_tokens, seed) -> text.
    """

    def __init__(self, name: str, function: Callable[[list[Message], float, int, int], str]) -> None:
        self.name, self.function = name, function

    def __repr__(self) -> str:
        return f"FunctionModel({self.name!r})"

    def generate(
        self, messages: list[Message], *, temperature: float = 0.0, max_tokens: int = 256, seed: int = 0
    ) -> str:
        """The function's answer to `messages`, given `temperature`, `max_tokens` and `seed`."""
        return self.function(messages, temperature, max_tokens, seed)

    def choice_logprobs(self, messages: list[Message], choices: Sequence[str]) -> np.ndarray | None:
        """None: a function of the `messages` gives no likelihood of the `choices`."""
        return None


def check_messages(messages: Any) -> list[Message]:
    """The `messages`, a non-empty list of dicts with a known role and a content.

    Raises TypeError for another type, ValueError for an empty list, an unknown role or an unknown key.
    """
    if not isinstance(messages, list) or not all(isinstance(m, dict) for m in messages):
        raise TypeError(f"messages must be a list of dicts, got {type(messages).__name__}")
    if not messages:
        raise ValueError("messages must not be empty")
    for message in messages:
        if set(message) != {"role", "content"}:
            raise ValueError(f"a message has the keys role and content, got {sorted(map(str, message))}")
        if message["role"] not in ROLES:
            raise ValueError(f"role must be one of {', '.join(ROLES)}, got {message['role']!r}")
        if not isinstance(message["content"], str | list):
            raise TypeError(f"content must be a text or a list of parts, got {type(message['content']).__name__}")
    return messages


def text_of(message: Message) -> str:
    """The text of a `message`; its parts that are no text are left out."""
    content = message["content"]
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part.get("type") == "text")
