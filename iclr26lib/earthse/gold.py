"""Gold-style dialogues: 40 textbook pairs of an old and a new method, each with the limit of both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..evalkit.items import Item
from .gold_texts_earth import AIR, ROCK, WATER
from .gold_texts_life import ICE, LIFE

USER_0 = (
    "Review the use of {old} in studies of {topic}, and criticise the approach.",
    "Take {old} in work on {topic}: what is the principle, and where does it fail?",
    "Explain the use of {old} for {topic} and its main limitation.",
    "What can one learn about {topic} from {old}, and what is missed?",
    "Describe and assess {old} as a method for {topic}.",
    "A colleague relies on {old} for {topic}. What works, and what does not?",
    "Summarise the state of work on {topic} by means of {old}, and name its weak point.",
    "Why would one rely on {old} in studies of {topic}, and what holds such studies back?",
)
USER_1 = (
    "Propose a method that overcomes this limit, and say what limits it in turn.",
    "What would you do instead? Name the new weakness as well.",
    "Suggest a better approach and reflect on its own limits.",
    "Which new method would help, by what mechanism, and at what price?",
    "Design a way forward and criticise your own proposal.",
    "How can this be improved, and what stays unsolved?",
    "Put forward a new idea and its likely drawback.",
    "What comes next for this problem, and where will it fail?",
)


@dataclass(frozen=True)
class Quadruple:
    """An existing method M0 with its limitation L0 and a new method M1 with its limitation L1, each one sentence.

    key: a short name, unique. sphere, topic: what it is about. old, new: the names of the two methods.
    """

    key: str
    sphere: str
    topic: str
    old: str
    M0: str
    L0: str
    new: str
    M1: str
    L1: str

    def assistant_0(self) -> str:
        """The reference's first turn: M0 and L0."""
        return f"{self.M0} {self.L0}"

    def assistant_1(self) -> str:
        """The reference's second turn: the new method by name, M1 and L1."""
        return f"I propose {self.new}. {self.M1} {self.L1}"


QUADRUPLES: dict[str, Quadruple] = {
    key: Quadruple(key, sphere, *texts)
    for sphere, group in (
        ("atmosphere", AIR), ("hydrosphere", WATER), ("lithosphere", ROCK), ("cryosphere", ICE), ("biosphere", LIFE),
    )
    for key, texts in group.items()
}  # fmt: skip


def make_gold(n: int = 40, seed: int = 0) -> list[Item]:
    """`n` dialogue items, 1 to 320, equal for equal n and seed; the first 40 are of different quadruples.

    seed: order of the quadruples and of the eight wordings of the user's turns. Spheres take turns. family: the
    quadruple. question: the first user turn; answer: both reference turns, parted by an empty line. meta: user_0,
    assistant_0, user_1, assistant_1 as in the official records, quadruple, wording.
    Raises ValueError for n or seed outside of their ranges.
    """
    most = len(QUADRUPLES) * len(USER_0)
    if not 1 <= n <= most:
        raise ValueError(f"n must lie in 1..{most}, got {n}")
    if seed < 0:
        raise ValueError(f"seed must be 0 or more, got {seed}")
    rng = np.random.default_rng([seed, 40])
    groups = [[q for q in QUADRUPLES.values() if q.sphere == s] for s in dict.fromkeys(_spheres())]
    shuffled = [[group[i] for i in rng.permutation(len(group))] for group in groups]
    order = [q for turn in zip(*shuffled, strict=True) for q in turn]
    wordings = {q.key: rng.permutation(len(USER_0)).tolist() for q in order}
    return [
        _item(f"g{seed}-{i:03d}", q, wordings[q.key][i // len(order)])
        for i, q in ((i, order[i % len(order)]) for i in range(n))
    ]


def _spheres() -> list[str]:
    return [q.sphere for q in QUADRUPLES.values()]


def _item(name: str, q: Quadruple, wording: int) -> Item:
    turns = {
        "user_0": USER_0[wording].format(old=q.old, topic=q.topic), "assistant_0": q.assistant_0(),
        "user_1": USER_1[wording], "assistant_1": q.assistant_1(),
    }  # fmt: skip
    answer = f"{turns['assistant_0']}\n\n{turns['assistant_1']}"
    meta = {**turns, "quadruple": q.key, "wording": wording}
    return Item(name, q.key, turns["user_0"], answer, "dialogue", "", q.sphere, meta)
