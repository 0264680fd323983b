"""Class prototypes: the binary equiangular frame of the paper's appendix C, and the random one of its predecessor."""

import math

import numpy as np
import torch
from torch import Tensor

from ..seeding import given


def _pair_stats(gram: np.ndarray, alpha: float) -> float:
    pairs = gram[np.triu_indices(len(gram), 1)]
    return float(pairs.sum() + alpha * pairs.var())


def frame_cost(P: Tensor, alpha: float = 1.0) -> float:
    """Cost of prototypes P (C, D) in {-1, +1}: sum of the pairwise inner products plus alpha times their variance.

    Equation (frame): $J = \\sum_{i<j} \\langle\\rho_i, \\rho_j\\rangle + \\alpha \\mathrm{Var}_{i<j}$
    Raises ValueError when P is no matrix of at least two rows of -1 and +1.
    """
    if P.ndim != 2 or len(P) < 2 or not bool((P.abs() == 1).all()) or not math.isfinite(alpha):
        raise ValueError(f"P must be (C, D) of -1 and +1 with C >= 2, and alpha finite, got {tuple(P.shape)}, {alpha}")
    rows = P.cpu().numpy().astype(np.int64)
    return _pair_stats(rows @ rows.T, alpha)


def random_frame(C: int, D: int, generator: torch.Generator) -> Tensor:
    """C random prototypes of width D, int8 (C, D). Raises ValueError for C < 2 or D < 1, TypeError for no generator."""
    if C < 2 or D < 1:
        raise ValueError(f"need C >= 2 classes and D >= 1 bits, got {C} and {D}")
    return torch.randint(0, 2, (C, D), generator=given(generator), dtype=torch.int8) * 2 - 1


def binary_frame(C: int, D: int, alpha: float = 1.0, iters: int | None = None, *, generator: torch.Generator) -> Tensor:
    """C nearly equiangular prototypes of width D, int8 (C, D), by greedy single flips from a random start.

    alpha: weight of the variance. iters: proposals, 40 C D where None (the paper states neither; both are our choice).
    A proposal flips one random bit and is kept when it lowers `frame_cost`; the Gram matrix is updated, not recomputed.
    Raises ValueError for C < 2, D < 1, alpha < 0 or iters < 0.
    """
    if not 0 <= alpha < math.inf or (iters is not None and iters < 0):
        raise ValueError(f"alpha and iters must be 0 or more, got {alpha} and {iters}")
    P = random_frame(C, D, generator).numpy().astype(np.int64)
    count = 40 * C * D if iters is None else iters
    rows = torch.randint(0, C, (count,), generator=generator).tolist()
    columns = torch.randint(0, D, (count,), generator=generator).tolist()
    gram, pairs = P @ P.T, C * (C - 1) / 2
    total = np.triu(gram, 1).sum()
    for i, k in zip(rows, columns, strict=True):
        change = -2 * P[i, k] * P[:, k]
        change[i] = 0
        moved = change.sum()
        moved_squares = (change * (2 * gram[i] + change)).sum()
        mean_change = ((total + moved) ** 2 - total**2) / pairs**2
        if moved + alpha * (moved_squares / pairs - mean_change) < 0:
            P[i, k] = -P[i, k]
            gram[i] += change
            gram[:, i] += change
            total += moved
    return torch.from_numpy(P.astype(np.int8))
