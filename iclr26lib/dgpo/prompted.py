"""What the tasks share: prompts that the data follow weakly, and the checks of a batch of samples."""

from __future__ import annotations

import torch
from torch import Tensor

from ..flows import Streams, check_prompts


def probability(**named: float) -> None:
    """Refuse numbers outside [0, 1]; `named` is name=value. Raises ValueError."""
    for name, value in named.items():
        if not 0 <= value <= 1:
            raise ValueError(f"{name} must lie in [0, 1], got {value}")


def followed(n: int, prompts: int, follow: float, streams: Streams) -> tuple[Tensor, Tensor]:
    """Prompts c and what their samples show, each (S*n,) int64: what c asks for with probability `follow`.

    n: rows a replica. prompts: prompts are 0..prompts-1, each equally likely. streams: S replicas. Otherwise the sample
    shows one of all prompts at random, its own included, so that a share follow + (1 - follow) / prompts is right.
    Raises ValueError for n below 1.
    """
    c = streams.integers(prompts, n)
    obeys = streams.uniform(n) < follow
    return c, torch.where(obeys, c, streams.integers(prompts, n))


def share(which: Tensor) -> float:
    """Mean of yes or no, `which` (...) bool on any device. Of nothing it is nan."""
    return float(which.cpu().double().mean())


def check_samples(x: Tensor, shape: tuple[int, ...]) -> None:
    """Refuse samples that are not (B, *shape), B >= 1, floating point and finite.

    Raises TypeError for another dtype, ValueError for another shape or a value that is not finite.
    """
    if not x.is_floating_point():
        raise TypeError(f"samples must be floating point, got {x.dtype}: use .float()")
    if x.ndim != 1 + len(shape) or x.shape[1:] != shape or len(x) == 0:
        wanted = ", ".join(map(str, ("B", *shape)))
        raise ValueError(f"samples must have shape ({wanted}) with B of 1 or more, got {tuple(x.shape)}")
    if not (finite := torch.isfinite(x).flatten(1).all(1)).all():
        raise ValueError(f"{int((~finite).sum())} of {len(x)} samples hold a value that is not finite")


def check_batch(x: Tensor, c: Tensor, shape: tuple[int, ...], prompts: int) -> None:
    """Refuse samples that are not (B, *shape), and prompts that are not (B,) int64 in 0..prompts-1.

    Raises TypeError for other dtypes, ValueError for other shapes, prompts out of range or samples that are not finite.
    """
    check_samples(x, shape)
    check_prompts(c, prompts)
    if c.shape != x.shape[:1]:
        raise ValueError(f"need one prompt a sample, ({len(x)},), got {tuple(c.shape)}")
