"""What a model is told: one system prompt, one order a format, and hints from the stored reasoning."""

from __future__ import annotations

import re

from ..evalkit.adapters import Message
from ..evalkit.items import LETTERS, Item
from .units import quantities

SYSTEM = "You answer questions about the Earth: its air, waters, ice, rocks and life."
MASK = "[...]"
ORDERS = {
    "mc": "Reply with the letter of the right option and nothing else.",
    "tf": "Is the statement right? Reply with True or False and nothing else.",
    "fib": "Reply with what belongs in the blank and nothing else: words in lower case, several of them separated by "
    "commas, or a number with four significant digits and its unit.",
    "fr": "Answer in a few sentences.",
}


def prompt(item: Item) -> list[Message]:
    """The messages that put an item to a model: system prompt, then question, options and the order of its format.

    The order of the wordings is the published one; the words are ours. Raises ValueError for a dialogue, whose turns
    `dialogues.first_turn` and `second_turn` write.
    """
    return _messages(item, [])


def steps(item: Item, k: int, mask_answer: bool = False) -> list[str]:
    """The first k steps of the item's reasoning; with mask_answer, each mention of the answer reads "[...]".

    Masked are the answer's words and accepted names, and every number within 1 % of its value.
    Raises ValueError when the item has no chain, or k is not between 0 and its length.
    """
    chain = item.meta.get("reasoning_chain")
    if not isinstance(chain, list) or not chain:
        raise ValueError(f"{item.id!r} has no reasoning_chain")
    if not 0 <= k <= len(chain):
        raise ValueError(f"k must lie in 0..{len(chain)} for {item.id!r}, got {k}")
    return [_masked(step, item) for step in chain[:k]] if mask_answer else chain[:k]


def hints(item: Item, k: int, mask_answer: bool = False) -> list[Message]:
    """`prompt(item)` with the first k steps of the stored reasoning before the order. k = 0 gives the plain prompt.

    mask_answer: hide the answer in the steps. Raises ValueError as `steps` and `prompt`.
    """
    return _messages(item, steps(item, k, mask_answer))


def _messages(item: Item, shown: list[str]) -> list[Message]:
    if item.fmt not in ORDERS:
        raise ValueError(f"{item.id!r} is a {item.fmt}; prompts are for {', '.join(ORDERS)}")
    options = [] if item.meta.get("inline_options") else item.meta.get("options", [])
    lines = [item.question, *(f"{letter}. {text}" for letter, text in zip(LETTERS, options, strict=False))]
    if shown:
        lines += ["Hint:", *(f"{number}. {step}" for number, step in enumerate(shown, 1))]
    order = ORDERS[item.fmt] if "code" not in item.meta else "Reply with one block of Python code."
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "\n".join([*lines, order])}]


def answer_texts(item: Item) -> list[str]:
    """The wordings of an item's answer, longest first: gold text or option, truth, accepted names."""
    texts = [*item.meta.get("accepted", []), item.meta.get("truth", "")]
    if item.fmt == "mc":
        texts.append(item.meta["options"][LETTERS.index(item.answer)])
    elif item.fmt != "tf":
        texts.append(item.answer)
    return sorted({text for text in texts if text}, key=len, reverse=True)


def _masked(step: str, item: Item) -> str:
    for text in answer_texts(item):
        step = re.sub(rf"(?<!\w){re.escape(text)}(?!\w)", lambda _: MASK, step, flags=re.I)
    if (value := item.meta.get("value")) is None:
        return step
    return "".join(MASK if _is_near(word, value) else word for word in re.split(r"(\s+)", step))


def _is_near(word: str, target: float) -> bool:
    """Whether a word is a number within 1 % of the target."""
    found = quantities(word.strip(".,;:()$"))
    return len(found) == 1 and found[0].bare and abs(found[0].number - target) <= 0.01 * abs(target)
