"""Any endpoint that speaks the chat completions protocol: vLLM, llama.cpp, Ollama, hosted services.

The key is read from the environment at each call and stands in nothing but the request's header; where an endpoint
sends it back, it is struck out of texts and messages.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import numpy as np

from .adapters import AdapterError, Message, check_messages

LOOPBACK = ("localhost", "127.0.0.1", "::1")
LONGEST_WAIT = 60.0  # seconds between two tries
LARGEST = 10_000_000  # bytes of a reply
SHORTEST = 12  # characters of a key that is struck out; shorter ones are stand-ins such as EMPTY, and words of answers


class _TryAgain(Exception):
    """What went wrong may pass. `wait`: seconds that the endpoint asks for, None when it does not."""

    def __init__(self, what: str, wait: float | None = None) -> None:
        super().__init__(what)
        self.wait = wait


class OpenAICompatible:
    """A model behind an endpoint.

    base_url: up to and without /chat/completions, for example http://localhost:8000/v1. model: its name there.
    api_key_env: environment variable that holds the key; where it is unset, no key is sent. timeout: seconds a try may
    take in all. tries: at most. stream: ask for server-sent events. wait: seconds before the second try, doubled for
    each further one. extra: more fields of the request. sleep: called with the seconds to wait. max_connections: calls
    at a time, for engines.
    Raises ValueError for an address that is not http(s) or holds a password, for an api_key_env that cannot name a
    variable (which is not repeated: it may be a key), and for numbers out of range.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key_env: str = "OPENAI_API_KEY",
        timeout: float = 60.0,
        tries: int = 3,
        stream: bool = False,
        wait: float = 0.5,
        extra: dict[str, Any] | None = None,
        sleep: Callable[[float], None] = time.sleep,
        max_connections: int = 10,
    ) -> None:
        url = httpx.URL(base_url)
        if url.scheme not in ("http", "https") or not url.host:
            raise ValueError(f"base_url must begin with http:// or https://, got {url.scheme or 'none'!r}")
        if url.userinfo or url.query:
            raise ValueError("base_url must hold no user name, password or query; keys belong into the environment")
        if not model:
            raise ValueError("model must not be empty")
        if not (isinstance(api_key_env, str) and re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", api_key_env)):
            raise ValueError("api_key_env must be the name of an environment variable: letters, digits and _")
        if not (timeout > 0 and tries >= 1 and wait >= 0 and max_connections >= 1):
            raise ValueError(f"need timeout > 0, tries >= 1, wait >= 0, got {timeout}, {tries}, {wait}")
        self.name, self.base_url, self.model, self.api_key_env = model, base_url.rstrip("/"), model, api_key_env
        self.timeout, self.tries, self.stream, self.wait = timeout, tries, stream, wait
        self.extra, self.sleep, self.max_connections = dict(extra or {}), sleep, max_connections
        self._client = httpx.Client(timeout=timeout, trust_env=url.host not in LOOPBACK, follow_redirects=False)

    def __repr__(self) -> str:
        return f"OpenAICompatible({self.base_url!r}, {self.model!r}, api_key_env={self.api_key_env!r})"

    @property
    def cache_key(self) -> str:
        """The model's name and a digest of address, model and further fields: same names elsewhere are told apart."""
        asked = json.dumps([self.base_url, self.model, self.extra], sort_keys=True)
        return f"{self.model} {hashlib.sha256(asked.encode()).hexdigest()[:16]}"

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def generate(
        self, messages: list[Message], *, temperature: float = 0.0, max_tokens: int = 256, seed: int = 0
    ) -> str:
        """The endpoint's answer to `messages`, drawn at `temperature`, at most `max_tokens` tokens.

        Raises AdapterError when no try gave one, or the endpoint refuses; it says what happened each time.
        """
        asked = {"temperature": temperature, "max_tokens": max_tokens, "seed": seed, "stream": self.stream}
        read = _streamed if self.stream else _whole
        return self._try({"messages": check_messages(messages), **asked}, read)

    def choice_logprobs(self, messages: list[Message], choices: Sequence[str]) -> np.ndarray | None:
        """Log-likelihood (len(choices),), nats, of each of `choices` as the first token after `messages`.

        None where the endpoint gives no likelihoods, or not of all choices. Raises AdapterError as `generate`.
        """
        asked = {"temperature": 0.0, "max_tokens": 1, "logprobs": True, "top_logprobs": 20}
        found = self._try({"messages": check_messages(messages), **asked}, _likelihoods)
        if any(choice not in found for choice in choices):
            return None
        return np.array([found[choice] for choice in choices])

    def _try(self, body: dict[str, Any], read: Callable) -> Any:
        """What `read` makes of the reply to `body`, after as many tries as are needed and allowed."""
        happened = []
        for number in range(self.tries):
            try:
                return self._once({"model": self.model, **body, **self.extra}, read)
            except _TryAgain as error:
                happened.append(f"try {number + 1}: {self._clean(str(error))}")
                asked, again = error.wait, number + 1 < self.tries
            except AdapterError as error:
                raise AdapterError("; ".join([*happened, self._clean(str(error))])) from None
            if again:
                self.sleep(min(self.wait * 2**number if asked is None else asked, LONGEST_WAIT))
        raise AdapterError(f"{self.model} gave no answer; {'; '.join(happened)}")

    def _once(self, body: dict[str, Any], read: Callable) -> Any:
        """One request; errors of the network become _TryAgain, without the request that they would carry."""
        end = time.monotonic() + self.timeout
        try:
            with self._client.stream(
                "POST", f"{self.base_url}/chat/completions", json=body, headers=self._headers()
            ) as reply:
                content = b"".join(_limited(reply.iter_bytes(), end))
            content = self._clean(content.decode("utf-8", "replace"))
            if reply.status_code != 200:
                _refused(reply, content, self.api_key_env)
            found = read(content)
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise _TryAgain(f"{type(error).__name__}: {error}") from None
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeEncodeError) as error:
            raise AdapterError(f"{type(error).__name__}: the request could not be made") from None
        return self._clean(found) if isinstance(found, str) else found

    def _headers(self) -> dict[str, str]:
        key = self._key()
        if not key.isascii() or not key.isprintable():
            raise AdapterError(f"{self.api_key_env} holds a character that no header can hold")
        return {"Authorization": f"Bearer {key}"} if key else {}

    def _key(self) -> str:
        return os.environ.get(self.api_key_env, "").strip()

    def _clean(self, text: str) -> str:
        """`text` without the key."""
        key = self._key()
        return text.replace(key, "[key]") if len(key) >= SHORTEST else text


def _limited(chunks: Iterator[bytes], end: float) -> Iterator[bytes]:
    """The chunks, as long as they come in time and are not too many."""
    size = 0
    for chunk in chunks:
        if time.monotonic() > end:
            raise _TryAgain("the reply took longer than the time-out")
        if (size := size + len(chunk)) > LARGEST:
            raise AdapterError(f"the reply is longer than {LARGEST} bytes")
        yield chunk


def _refused(reply: httpx.Response, content: str, api_key_env: str) -> None:
    """Raise what a status other than 200 means."""
    what = f"HTTP {reply.status_code} {content[:200]}".strip()
    if reply.status_code in (401, 403):
        raise AdapterError(f"{what}; is the right key in {api_key_env}?")
    if reply.status_code in (408, 409, 429) or reply.status_code >= 500:
        raise _TryAgain(what, _retry_after(reply.headers.get("retry-after")))
    raise AdapterError(what)


def _retry_after(value: str | None) -> float | None:
    """Seconds that a Retry-After header asks for, a number or a date; None for neither."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, TypeError):
            return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def _json(content: str) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise _TryAgain(f"malformed JSON ({type(error).__name__}): {content[:80]}") from None


def _field(value: Any, *path: str | int) -> Any:
    """The value at `path`, AdapterError where the reply has another shape."""
    at = value
    for step in path:
        if not isinstance(at, list if isinstance(step, int) else dict):
            raise AdapterError(f"the reply has no {'.'.join(map(str, path))}: {str(value)[:200]}")
        try:
            at = at[step]
        except (KeyError, IndexError):
            raise AdapterError(f"the reply has no {'.'.join(map(str, path))}: {str(value)[:200]}") from None
    return at


def _whole(content: str) -> str:
    """The text of a reply in one piece."""
    text = _field(_json(content), "choices", 0, "message", "content")
    if not isinstance(text, str):
        raise AdapterError(f"choices.0.message.content must be a text, got {type(text).__name__}")
    return text


def _streamed(content: str) -> str:
    """The text of server-sent events, which must end in [DONE] or give a reason for the end."""
    text, ended = [], False
    for line in content.split("\n"):
        data = line.removeprefix("data:").strip()
        if not line.startswith("data:") or not data:
            continue
        if data == "[DONE]":
            ended = True
            break
        event = _json(data)
        if isinstance(event, dict) and event.get("choices") == []:  # a report of tokens used
            continue
        delta = _field(event, "choices", 0, "delta")
        piece = delta.get("content") if isinstance(delta, dict) else None
        text += [piece] if isinstance(piece, str) else []
        ended = ended or bool(event["choices"][0].get("finish_reason"))
    if not ended:
        raise _TryAgain(f"the stream was cut after {sum(map(len, text))} characters")
    return "".join(text)


def _likelihoods(content: str) -> dict[str, float]:
    """Log-likelihoods of the likeliest first tokens, white space around them stripped; empty where none are given."""
    reply = _json(content)
    told = _field(reply, "choices", 0)
    if not isinstance(told, dict) or not told.get("logprobs"):
        return {}
    found: dict[str, float] = {}
    for entry in _field(told, "logprobs", "content", 0, "top_logprobs"):
        token, value = str(_field(entry, "token")).strip(), _field(entry, "logprob")
        if not isinstance(value, int | float) or math.isnan(value):
            raise AdapterError(f"a log-likelihood must be a number, got {value!r}")
        found[token] = float(np.logaddexp(found.get(token, -np.inf), value))
    return found
