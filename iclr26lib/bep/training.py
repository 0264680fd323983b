"""Epochs, batches and reinforcement: what every binary network of this chapter shares."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from ..seeding import generator
from . import method
from .method import BinaryLayer

Seeds = int | Sequence[int]


def generators(seed: Seeds, stream: str, on="cpu"):
    """One generator of a named stream for `seed`, on the device `on`, or a list of them for a list of seeds."""
    if isinstance(seed, (list, tuple)):
        return [generator(s, stream, on) for s in seed]
    return generator(seed, stream, on)


def prototypes_of(P: Tensor, y: Tensor) -> Tensor:
    """The prototype rho_c of each label: (..., B, K) from P (C, K) or (R, C, K) and y (..., B)."""
    if P.ndim == 2:
        return P[y]
    return P[torch.arange(len(P), device=P.device)[:, None], y]


def take(values: Tensor, chosen: Tensor, own: bool) -> Tensor:
    """Rows `chosen` (B,) or (R, B) of `values`, which are shared by the runs, or `own`: (R, N, ...), one set a run."""
    if own:
        return values[torch.arange(len(values), device=values.device)[:, None], chosen]
    return values[chosen]


def share_right(predicted: Tensor, y: Tensor, classes: int) -> float | list[float]:
    """Share of predictions (..., N) that equal the labels y (N,) or (..., N), one number a run.

    Raises ValueError for labels of another shape, none at all, or outside 0..classes-1; TypeError for another dtype.
    """
    if predicted.numel() == 0 or y.shape not in (predicted.shape, predicted.shape[-1:]):
        raise ValueError(f"predictions {tuple(predicted.shape)} need as many labels, got {tuple(y.shape)}")
    method.checked_labels(y, classes)
    return (predicted == y).float().mean(-1).tolist()


class BinaryNetwork:
    """Base of the networks: one run (`seed=0`), or R runs side by side (`seed=[0, 1, 2]`), the same bits either way.

    A subclass sets `layers`, and gives `sample_dims` (dimensions of one sample), `logits` and `fit_batch`.
    """

    sample_dims = 1
    layers: list[BinaryLayer]

    def __init__(self, seed: Seeds, device="cpu", reinforce_on="fan_in"):
        """seed: one, or a list of R. device: of states and data. reinforce_on: width in the reinforcement's formula.

        Raises TypeError for a seed that is no integer, ValueError for an empty list, a negative seed or another width.
        """
        if reinforce_on not in ("fan_in", "fan_out"):
            raise ValueError(f"unknown reinforce_on {reinforce_on!r}; known: fan_in, fan_out")
        self.runs = len(seed) if isinstance(seed, (list, tuple)) else None
        if self.runs == 0:
            raise ValueError("seed is an empty list: at least one run is needed")
        self.reinforce_on = reinforce_on
        self.order, self.noise = generators(seed, "order"), generators(seed, "reinforce", device)
        self.error: float | list[float] = 1.0 if self.runs is None else [1.0] * self.runs

    @property
    def trained(self) -> list[BinaryLayer]:
        """The layers that learn."""
        return self.layers

    def logits(self, X: Tensor) -> Tensor:
        """Integer class scores (..., N, C) for X (..., N, ...). The base class raises TypeError."""
        raise TypeError(f"{type(self).__name__} does not say how to score")

    def fit_batch(self, X: Tensor, y: Tensor, *, r: float, nu) -> Tensor:
        """One update from X (..., B, ...) and y (..., B). r: margin. nu: gate. The base class raises TypeError."""
        raise TypeError(f"{type(self).__name__} has no learning rule")

    def predict(self, X: Tensor, chunk: int = 500) -> Tensor:
        """Predicted labels, int64 (..., N); the first of equal scores wins. Raises as `logits`."""
        return torch.cat([self.logits(x).argmax(-1) for x in X.split(chunk, -self.sample_dims - 1)], -1)

    def accuracy(self, X: Tensor, y: Tensor) -> float | list[float]:
        """Share of right predictions for X (..., N, ...) and y (..., N), one number a run.

        Raises as `logits`, ValueError for labels of another shape or out of range.
        """
        return share_right(self.predict(X), y, self.P.shape[-2])

    def batches(self, X: Tensor, y: Tensor, batch: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Batches (X, y) of `batch` samples in the order of this epoch; each run has its own.

        Raises ValueError for a batch out of range, or another number of labels than of samples.
        """
        n = X.shape[-self.sample_dims - 1]
        if not 1 <= batch <= n:
            raise ValueError(f"batch must lie in 1..{n}, got {batch}")
        if y.shape[-1] != n:
            raise ValueError(f"X holds {n} samples and y {y.shape[-1]} labels")
        order = method.per_run(self.order, lambda g: torch.randperm(n, generator=g)).to(X.device)
        for chosen in order.split(batch, -1):
            yield take(X, chosen, X.ndim == self.sample_dims + 2), take(y, chosen, y.ndim == 2)

    def fit_epoch(self, X: Tensor, y: Tensor, *, r=0.5, nu=0.2, p_r=0.5, batch=100) -> float | list[float]:
        """One pass over X in {-1, +1}, (N, ...) or (R, N, ...), with int64 labels y. Returns the error rate(s).

        r: margin. nu: gate (the local rule ignores it). p_r: reinforcement. batch: samples an update.
        The error rate is counted on the fly, before each batch's update; reinforcement uses that of the last epoch.
        Raises TypeError for float input, ValueError for values, labels or settings out of range.
        """
        self.check(X, y, r, nu)
        limits, wrong, seen = self.reinforcement_limits(p_r), 0, 0
        for x, labels in self.batches(X, y, batch):
            wrong = wrong + self.fit_batch(x, labels, r=r, nu=nu)
            seen += labels.shape[-1]
            self.reinforce(limits)
        self.error = (wrong / seen).tolist()
        return self.error

    def check(self, X: Tensor, y: Tensor, r: float, nu) -> None:
        """Refuse an epoch before anything moves: X (N, ...) or (R, N, ...), y (N,) or (R, N), margin r, gate nu.

        Raises TypeError and ValueError as `fit_epoch`.
        """
        lead = [self.runs] if self.runs else []
        for name, values, dims in (("X", X, self.sample_dims), ("y", y, 0)):
            if values.ndim - dims not in (1, 2) or (values.ndim - dims == 2 and list(values.shape[:1]) != lead):
                raise ValueError(f"{name} {tuple(values.shape)} fits neither one run nor {self.runs or 1} runs")
        method.binary(X, "X", self.layers[0].fan_in)
        method.checked_labels(y, self.P.shape[-2])
        method.checked_margin(r)
        if isinstance(nu, (list, tuple)) and len(nu) != self.runs:
            raise ValueError(f"nu holds {len(nu)} gates for {self.runs or 1} runs")
        method.gate_threshold(nu, 1)

    def reinforcement_limits(self, p_r: float) -> list[int | list[int]] | None:
        """Integers for `reinforce`, one a trained layer (and run), from p_r in [0, 1] and the last epoch's error.

        Computed once an epoch: the only place where a float enters, and it leaves as an integer. None when p_r is 0.
        Raises ValueError for p_r outside [0, 1].
        """
        errors, limits = self.error if isinstance(self.error, list) else [self.error], []
        for layer in self.trained:
            width = getattr(layer, self.reinforce_on)
            of_runs = [method.draw_limit(method.reinforcement_probability(p_r, width, e)) for e in errors]
            limits.append(of_runs if self.runs else of_runs[0])
        return limits if p_r else None

    def reinforce(self, limits: list[int | list[int]] | None) -> None:
        """Reinforce every trained layer once. limits: of `reinforcement_limits`; None does nothing."""
        for layer, limit in zip(self.trained, limits or [], strict=limits is not None):
            method.push_(layer, limit, self.noise)


def checked_prototypes(P: Tensor, width: int, runs: int | None) -> Tensor:
    """Prototypes (C, width), or (R, C, width) for R `runs`, as int8. Raises TypeError for floats, else ValueError."""
    P = method.binary(P, "P", width)
    if P.ndim not in (2, 3) or P.shape[-2] < 2 or (P.ndim == 3 and P.shape[0] != runs):
        raise ValueError(f"P must be (C, {width}) with C >= 2, or one a run, got {tuple(P.shape)}")
    return P
