"""Messages of evalkit as messages of inspect_ai, and back."""

from __future__ import annotations

from typing import Any

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    ContentImage,
    ContentText,
)

from .adapters import Message

CHAT = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}


def to_chat(message: Message) -> ChatMessage:
    """A `message` of evalkit as one of inspect_ai. Raises ValueError for a part that is neither text nor image."""
    if isinstance(message["content"], str):
        return CHAT[message["role"]](content=message["content"])
    parts: list[Any] = []
    for part in message["content"]:
        if part.get("type") not in ("text", "image_url"):
            raise ValueError(f"a part of a message must be text or image_url, got {part.get('type')!r}")
        is_text = part["type"] == "text"
        parts.append(ContentText(text=part["text"]) if is_text else ContentImage(image=part["image_url"]["url"]))
    return CHAT[message["role"]](content=parts)


def to_message(message: ChatMessage) -> Message:
    """A `message` of inspect_ai as one of evalkit. Raises ValueError for a part that is neither text nor image."""
    if isinstance(message.content, str):
        return {"role": message.role, "content": message.content}
    parts: list[dict[str, Any]] = []
    for part in message.content:
        if part.type == "text":
            parts.append({"type": "text", "text": part.text})
        elif part.type == "image":
            parts.append({"type": "image_url", "image_url": {"url": part.image}})
        else:
            raise ValueError(f"a part of a message must be text or image, got {part.type!r}")
    return {"role": message.role, "content": parts}
