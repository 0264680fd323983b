"""From data to -1 and +1: prototypes with noise, images, time series."""

import numpy as np
import torch
from torch import Tensor

from ..seeding import given
from .method import binary, matmul, sign


def random_prototypes(n: int, D: int, C: int, p: float, generator: torch.Generator, prototypes: Tensor | None = None):
    """The Random Prototypes task: n noisy copies of C random patterns, classes equal in number.

    n: samples (a multiple of C). D: bits. p: chance that a bit is flipped, in [0, 0.5]. prototypes: (C, D) to reuse, so
    that a test set has the training set's patterns. Returns X int8 (n, D), y int64 (n,), prototypes int8 (C, D).
    Raises ValueError for a size or chance out of range, TypeError without a generator.
    """
    if n < C or n % C or C < 2 or D < 1:
        raise ValueError(f"need n a positive multiple of C, C >= 2 and D >= 1, got n={n}, C={C}, D={D}")
    if not 0 <= p <= 0.5:
        raise ValueError(f"p must lie in [0, 0.5], got {p}")
    given(generator)
    if prototypes is not None:
        prototypes = binary(prototypes, "prototypes", D)
        if prototypes.shape != (C, D):
            raise ValueError(f"prototypes must be ({C}, {D}), got {tuple(prototypes.shape)}")
    else:
        prototypes = torch.randint(0, 2, (C, D), generator=generator, dtype=torch.int8) * 2 - 1
    y = torch.arange(C).repeat_interleave(n // C)[torch.randperm(n, generator=generator)]
    flips = torch.rand(n, D, generator=generator) < p
    return torch.where(flips, -prototypes[y], prototypes[y]), y, prototypes


def median_binarize(images) -> Tensor:
    """Images (N, ...) to int8 (N, pixels): +1 where a pixel exceeds the median of its own image.

    Raises ValueError for fewer than two dimensions, no pixels, or values that are not finite.
    """
    flat = torch.as_tensor(np.asarray(images))
    if flat.ndim < 2:
        raise ValueError(f"images needs shape (N, ...), got {tuple(flat.shape)}")
    flat = flat.flatten(1).double()
    if flat.numel() == 0 or not bool(flat.isfinite().all()):
        raise ValueError(f"images must be finite and not empty, got shape {tuple(flat.shape)}")
    low = flat.quantile(0.5, dim=1, keepdim=True)
    return torch.where(flat > low, 1, -1).to(torch.int8)


class Thermometer:
    """Distributive thermometer code: `bits` quantile thresholds a feature, fitted on training data only."""

    def __init__(self, X_fit, bits: int):
        """X_fit: (..., D) floats. bits: thresholds a feature, 1 or more. Raises ValueError for NaN or bits < 1."""
        values = np.asarray(X_fit, dtype=float)
        if not isinstance(bits, int) or bits < 1:
            raise ValueError(f"bits must be an integer, 1 or more, got {bits}")
        if values.ndim < 2 or not np.isfinite(values).all():
            raise ValueError(f"X_fit must be finite with shape (..., D), got shape {values.shape}")
        levels = np.arange(1, bits + 1) / (bits + 1)
        self.thresholds = np.quantile(values.reshape(-1, values.shape[-1]), levels, axis=0).T

    def transform(self, X) -> Tensor:
        """Codes int8 (..., D * bits): +1 where a value exceeds a threshold. Raises ValueError for another D or NaN."""
        values = np.asarray(X, dtype=float)
        if values.shape[-1] != len(self.thresholds) or not np.isfinite(values).all():
            raise ValueError(f"X must be finite with {len(self.thresholds)} features last, got shape {values.shape}")
        code = values[..., None] > self.thresholds
        return torch.from_numpy(np.where(code, 1, -1).astype(np.int8).reshape(*values.shape[:-1], -1))


def thermometer(X_fit, bits: int) -> Thermometer:
    """A thermometer code fitted on X_fit (..., D). Raises ValueError as `Thermometer`."""
    return Thermometer(X_fit, bits)


def expand(codes: Tensor, width: int, generator: torch.Generator) -> Tensor:
    """Fixed random expansion: sign of a random +-1 matrix times the codes (..., D), int8 (..., width).

    Raises ValueError when width < 1, TypeError for float codes or no generator. With an even D a
    sum can be 0, and sign(0) = +1 then biases that unit.
    """
    if width < 1:
        raise ValueError(f"width must be 1 or more, got {width}")
    codes = binary(codes, "codes")
    matrix = torch.randint(0, 2, (width, codes.shape[-1]), generator=given(generator), dtype=torch.int8) * 2 - 1
    return sign(matmul(codes, matrix.mT))
