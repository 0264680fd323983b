"""The chapter's four tasks as tensors of -1 and +1, one split a seed."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from .. import data
from ..seeding import generator, given
from .coding import expand, median_binarize, random_prototypes, thermometer

WINDOW = {"italy_power_demand": 12, "japanese_vowels": 7}


@dataclass(frozen=True)
class Split:
    """Training, validation and test data: X int8 in {-1, +1}, (N, K_0) or (N, T, K_x); y int64 (N,). With a leading R
    where every run has its own."""

    X: Tensor
    y: Tensor
    X_val: Tensor
    y_val: Tensor
    X_test: Tensor
    y_test: Tensor

    def parts(self) -> list[Tensor]:
        """The six tensors, in order."""
        return [self.X, self.y, self.X_val, self.y_val, self.X_test, self.y_test]


def side_by_side(splits: list[Split]) -> Split:
    """The R `splits` as one with a leading R. Raises RuntimeError (of torch) when sizes differ."""
    return Split(*(torch.stack(parts) for parts in zip(*(s.parts() for s in splits), strict=True)))


def prototypes(seed: int, *, n: int, n_test: int, D: int, C: int, p: float) -> Split:
    """Random Prototypes: n training, n_test validation and n_test test samples from the same C patterns of D bits.

    p: chance that a bit is flipped.
    Raises ValueError as `random_prototypes`.
    """
    g = generator(seed, "data")
    X, y, patterns = random_prototypes(n, D, C, p, g)
    X_val, y_val, _ = random_prototypes(n_test, D, C, p, g, patterns)
    X_test, y_test, _ = random_prototypes(n_test, D, C, p, g, patterns)
    return Split(X, y, X_val, y_val, X_test, y_test)


def fashion(n: int, n_val: int, n_test: int) -> Split:
    """Fashion-MNIST, median-binarised, (N, 784): the small committed subset while it suffices, else the whole set.

    The validation images are the last n_val of n + n_val training images. Raises ValueError when more are asked for
    than there are, DataError when the whole set is needed and absent.
    """
    small = n + n_val <= 4000 and n_test <= 1000
    load = data.fashion_mnist_small if small else data.fashion_mnist
    (X, y), (X_test, y_test) = load("train"), load("test")
    if n + n_val > len(X) or n_test > len(X_test) or min(n, n_val, n_test) < 1:
        raise ValueError(f"asked for {n} + {n_val} and {n_test} images; there are {len(X)} and {len(X_test)}")
    X, y, X_test, y_test = (
        median_binarize(X[: n + n_val]),
        torch.tensor(y),
        median_binarize(X_test),
        torch.tensor(y_test),
    )
    return Split(X[:n], y[:n], X[n:], y[n : n + n_val], X_test[:n_test], y_test[:n_test])


def series(name: str, seed: int, *, width: int, bits: int, limit: int | None = None) -> Split:
    """A time series set as codes (N, T, width): the last steps, thermometer of `bits`, fixed random expansion.

    Both official splits are joined and dealt anew for every seed: half training, a sixth validation, a third test,
    each with the classes' shares (the paper: 3-fold cross-validation). limit: use at most so many series.
    Raises ValueError for an unknown name, DataError when the set is absent.
    """
    if name not in WINDOW:
        raise ValueError(f"unknown time series set {name!r}; known: {', '.join(WINDOW)}")
    parts = [data.time_series(name, split) for split in ("train", "test")]
    values = data.last_window([s for part in parts for s in part[0]], WINDOW[name])
    labels = np.concatenate([part[1] for part in parts])
    g = generator(seed, "data")
    train, val, test = deal(labels, (3, 1, 2), g, limit)
    code = thermometer(values[train], bits)
    matrix = generator(seed, "expansion")
    X = expand(code.transform(values), width, matrix)
    y = torch.tensor(labels)
    return Split(*(t[torch.tensor(rows)] for rows in (train, val, test) for t in (X, y)))


def deal(labels: np.ndarray, shares: tuple[int, ...], g: torch.Generator, limit: int | None = None) -> list[np.ndarray]:
    """Row numbers dealt into parts with the given shares, class by class, in random order.

    labels: (N,) ints. shares: relative sizes. limit: rows used in all. Sizes depend only on the labels, so that splits
    of several seeds can be stacked. Raises ValueError for shares or a limit that are not positive, and when a class
    has too few rows to give every part one.
    """
    if min(shares) <= 0 or (limit is not None and not limit >= 1):
        raise ValueError(f"shares and limit must be positive, got {shares} and {limit}")
    parts: list[list[int]] = [[] for _ in shares]
    keep = 1.0 if limit is None else min(1.0, limit / len(labels))
    for c in np.unique(labels):
        rows = np.flatnonzero(labels == c)
        rows = rows[torch.randperm(len(rows), generator=given(g)).numpy()][: int(len(rows) * keep)]
        ends = np.round(np.cumsum(shares) / sum(shares) * len(rows)).astype(int)
        if np.diff(ends, prepend=0).min() < 1:
            raise ValueError(f"{len(rows)} rows of class {c} (limit {limit}) do not fill {len(shares)} parts")
        for part, chunk in zip(parts, np.split(rows, ends[:-1]), strict=True):
            part.extend(chunk.tolist())
    return [np.array(part)[torch.randperm(len(part), generator=g).numpy()] for part in parts]
