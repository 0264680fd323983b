"""Random numbers of several seeds that train side by side: a seed draws what it would draw alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..seeding import generator
from .interface import positive


class Streams:
    """One generator a seed; every draw is a flat batch, the first n rows from the first seed, and so on."""

    def __init__(self, seeds: Sequence[int], name: str):
        """seeds: different integers of 0 or more. name: of the stream ("data", "noise", ...), see `seeding.generator`.

        Raises ValueError for no seeds or a seed that comes twice or is negative, TypeError for one that is no integer.
        """
        self.seeds, self.name = tuple(seeds), name
        if not self.seeds or len(set(self.seeds)) != len(self.seeds):
            raise ValueError(f"seeds must be different, and at least one, got {list(seeds)}")
        self.generators = [generator(seed, name) for seed in self.seeds]

    @property
    def replicas(self) -> int:
        """How many seeds there are."""
        return len(self.generators)

    def normal(self, n: int, *shape: int) -> Tensor:
        """Standard normal numbers (S n, *shape), float32 on the CPU. Raises ValueError for n below 1."""
        return torch.cat([torch.randn(positive("n", n), *shape, generator=g) for g in self.generators])

    def uniform(self, n: int) -> Tensor:
        """Uniform numbers in [0, 1), (S n,), float32 on the CPU. Raises ValueError for n below 1."""
        return torch.cat([torch.rand(positive("n", n), generator=g) for g in self.generators])

    def integers(self, high: int, n: int) -> Tensor:
        """Integers 0..high-1, (S n,), int64 on the CPU. Raises ValueError for high or n below 1."""
        positive("high", high)
        return torch.cat([torch.randint(high, (positive("n", n),), generator=g) for g in self.generators])

    def subset(self, k: int, n: int) -> Tensor:
        """Integers (S, k), int64: each replica its own k different ones of 0..n-1, ascending.

        Raises ValueError unless 1 <= k <= n.
        """
        if positive("k", k) > positive("n", n):
            raise ValueError(f"cannot choose k = {k} different numbers of {n}")
        return torch.stack([torch.randperm(n, generator=g)[:k].sort().values for g in self.generators])

    def state(self) -> dict[str, Any]:
        """Where the streams stand, for a checkpoint: seeds, name and one byte tensor a generator."""
        return {"seeds": self.seeds, "name": self.name, "generators": [g.get_state() for g in self.generators]}

    def check(self, state: dict[str, Any]) -> None:
        """Raise ValueError where `state` is no `state()`, or one of other seeds or of another stream."""
        if not isinstance(state, dict) or set(state) != {"seeds", "name", "generators"}:
            raise ValueError(f"a state of streams has seeds, name and generators, got {state!r:.80}")
        if tuple(state["seeds"]) != self.seeds or state["name"] != self.name:
            raise ValueError(
                f"a state of stream {state['name']!r}, seeds {list(state['seeds'])}, "
                f"does not fit stream {self.name!r}, seeds {list(self.seeds)}"
            )
        saved = state["generators"]
        if len(saved) != self.replicas:
            raise ValueError(f"{self.replicas} seeds need as many states of generators, got {len(saved)}")
        for seed, one in zip(self.seeds, saved, strict=True):
            try:
                torch.Generator().set_state(one)
            except (RuntimeError, TypeError) as error:
                raise ValueError(f"the state of the generator of seed {seed} is damaged: {error}") from error

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a `state()`. Raises ValueError as `check`, with nothing changed."""
        self.check(state)
        for g, saved in zip(self.generators, state["generators"], strict=True):
            g.set_state(saved)
