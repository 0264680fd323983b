"""Dialogues: how a model is led through two turns, and scripted writers of known quality and spread."""

from __future__ import annotations

from typing import Any

from ..evalkit.adapters import Message
from ..evalkit.items import Item
from ..evalkit.solvers import Solver, two_turns
from .draws import pick
from .gold import QUADRUPLES, Quadruple
from .prompts import SYSTEM

WORDS = 80  # at most, a turn
BRIEF = f"{WORDS} words or less. "
TEMPERATURES = (0.6, 0.0)  # official code
QUALITIES = range(4)
SPREADS = range(3)
REVIEWS = (
    ("The usual approach is well known.", "It has served for a long time and is easy to explain."),
    ("Let me start with common practice.", "Many groups work in this way, and its results can be compared."),
    ("This is how it is mostly done today.", "The approach is simple, and long records exist."),
    ("First, the established way.", "It is widely used, and its handling is taught everywhere."),
    ("Practice has settled on one approach.", "It is cheap to run, and there is much experience with it."),
)
PROPOSALS = (
    ("One could go further.", "Such a step should be tested side by side with the old one."),
    ("There is room for progress.", "Both approaches should run in parallel for some time."),
    ("A next step suggests itself.", "A comparison at a few sites would show what is gained."),
    ("I would try something else.", "An overlap with the old record is needed before one switches."),
    ("Let me suggest a change.", "The gain should be checked where the truth is known."),
)


def first_turn(item: Item) -> list[Message]:
    """The messages of turn 1 of a dialogue item: the user's first turn, after the prefix "80 words or less".

    Raises ValueError for another item.
    """
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": BRIEF + _turns(item)["user_0"]}]


def second_turn(item: Item, review: str) -> list[Message]:
    """The messages of turn 2: the history holds user_0 without prefix and the model's own `review`, as published.

    item: a dialogue; Raises ValueError for another item.
    """
    turns = _turns(item)
    return [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": turns["user_0"]},
        {"role": "assistant", "content": review},
        {"role": "user", "content": turns["user_1"]},
    ]


def dialogue_solver(max_tokens: int = 4096) -> Solver:
    """The two-turn solver of the official code: temperature 0.6, then 0, at most `max_tokens` tokens a turn."""
    return two_turns(first_turn, second_turn, TEMPERATURES, max_tokens)


def _turns(item: Item) -> dict[str, Any]:
    if item.fmt != "dialogue" or not {"user_0", "user_1"} <= set(item.meta):
        raise ValueError(f"{item.id!r} is no dialogue with user_0 and user_1 in its meta")
    return item.meta


def write_dialogue(item: Item, quality: int, spread: int, sample: int, seed: int = 0) -> list[str]:
    """Two turns (2 texts of at most 80 words) of a scripted writer about a dialogue item of `make_gold`.

    quality: 0 to 3, how many true sentences beyond M0 it writes: the limit L0, the mechanism M1, the limit L1, in this
    order. spread: 0, every sample is the same text; 1, samples differ in their frame and share the sentences on the
    subject; 2, samples are about other subjects altogether, at the same quality. sample: 0 or more, which of the M.
    seed: which frame or subject comes first. Raises ValueError outside of these ranges, and for another item.
    """
    if quality not in QUALITIES or spread not in SPREADS or sample < 0:
        raise ValueError(
            f"quality must lie in 0..3, spread in 0..2, sample in 0.., got {quality}, {spread} and {sample}"
        )
    key = _turns(item).get("quadruple")
    if key not in QUADRUPLES:
        raise ValueError(f"{item.id!r} is not made by make_gold")
    quadruple, frame = QUADRUPLES[key], pick(list(range(len(REVIEWS))), seed, "frame", key)
    if spread == 1:
        frame = (frame + sample) % len(REVIEWS)
    elif spread == 2:
        quadruple = _elsewhere(quadruple, sample, seed)
    return _write(quadruple, quality, frame)


def _elsewhere(quadruple: Quadruple, sample: int, seed: int) -> Quadruple:
    """The subject of an off-topic sample: of other spheres, a different one for each sample (24 samples at least)."""
    others = [q for q in QUADRUPLES.values() if q.sphere != quadruple.sphere]
    start = pick(list(range(len(others))), seed, "elsewhere", quadruple.key)
    return others[(start + 7 * sample) % len(others)]


def _write(q: Quadruple, quality: int, frame: int) -> list[str]:
    (open_0, close_0), (open_1, close_1) = REVIEWS[frame], PROPOSALS[frame]
    review = [open_0, q.M0, *([q.L0] if quality >= 1 else []), close_0]
    proposal = [open_1, f"I propose {q.new}.", *[q.M1, q.L1][: max(0, quality - 1)], close_1]
    return [" ".join(review), " ".join(proposal)]
