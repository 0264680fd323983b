"""What a training step costs: bytes held, and time, of packed bits, the fast path and a QAT step of the same widths."""

import itertools
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..seeding import generator
from . import bits
from .baselines import QATMLP
from .coding import random_prototypes
from .frame import random_frame
from .method import gate_threshold
from .models import BEPMLP


def state_bytes(sizes: Sequence[int]) -> dict[str, int]:
    """Bytes that training keeps between steps, for sizes [K_0, ..., K_L].

    BEP: 16-bit states. QAT: 32-bit latent weights and two Adam moments.
    """
    weights = sum(i * o for i, o in itertools.pairwise(sizes))
    return {"BEP": 2 * weights, "QAT": (4 + 2 * 4) * weights}


def error_bytes(sizes: Sequence[int], batch: int) -> dict[str, int]:
    """Bytes of the error signal of one batch, for sizes [K_0, ..., K_L] and `batch` samples.

    BEP: one bit a unit, in whole 64-bit words. QAT: four bytes a unit.
    """
    return {
        "BEP": sum(8 * -(-K // 64) for K in sizes[1:]) * batch,
        "QAT": sum(4 * K for K in sizes[1:]) * batch,
    }


def _median_seconds(step: Callable[[], Any], repeats: int) -> float:
    step()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def step_seconds(sizes: Sequence[int], batch: int = 100, repeats: int = 20, seed: int = 0) -> dict[str, float]:
    """Median seconds of one update of a batch, without reinforcement, on this machine, one after another.

    sizes: [K_0..K_L]. Returns "packed bits" (NumPy), "fast path" (float32 products of signs) and "QAT" (STE, Adam).
    Raises ValueError when batch < 10 or repeats < 1.
    """
    if batch < 10 or repeats < 1:
        raise ValueError(f"need batch >= 10 and repeats >= 1, got {batch} and {repeats}")
    g = generator(seed, "cost")
    X, y, _ = random_prototypes(batch - batch % 10, sizes[0], 10, 0.4, g)
    P = random_frame(10, sizes[-1], g)
    net, qat = BEPMLP(sizes, P, group=5, seed=seed), QATMLP(sizes, P, seed=seed)
    H = [layer.H.numpy().copy() for layer in net.layers]
    limits = [gate_threshold(0.5, layer.fan_in) for layer in net.layers]
    packed = (bits.pack(X.numpy()), y.numpy(), P.numpy(), (sizes[-1] + 1) // 2, limits, 5, net.layers[0].limits)

    def qat_step() -> None:
        loss = torch.nn.functional.cross_entropy(qat.scores(X), y)
        qat.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        qat.optimiser.step()

    return {
        "packed bits": _median_seconds(lambda: bits.train_step(H, *packed), repeats),
        "fast path": _median_seconds(lambda: net.fit_batch(X, y, r=0.5, nu=0.5), repeats),
        "QAT": _median_seconds(qat_step, repeats),
    }


def report(sizes: Sequence[int], batch: int = 100, repeats: int = 20) -> list[tuple[str, str, str, str]]:
    """Rows (quantity, BEP, QAT with Adam, ratio); times of both of BEP's paths. Errors as `step_seconds`."""
    rows = []
    for what, held in (("state", state_bytes(sizes)), ("error signal of a batch", error_bytes(sizes, batch))):
        rows.append((f"bytes of {what}", f"{held['BEP']:,}", f"{held['QAT']:,}", f"{held['BEP'] / held['QAT']:.3f}"))
    seconds = step_seconds(sizes, batch, repeats)
    for path in ("fast path", "packed bits"):
        ratio = seconds[path] / seconds["QAT"]
        rows.append((f"ms a step, {path}", f"{1e3 * seconds[path]:.2f}", f"{1e3 * seconds['QAT']:.2f}", f"{ratio:.2f}"))
    return rows
