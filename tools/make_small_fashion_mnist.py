"""Draw the small subset of Fashion-MNIST that comes with the library: `python -m tools.make_small_fashion_mnist`.

The file is committed; this script documents how it was drawn and prints the checksum to register.
"""

import hashlib
from pathlib import Path

import numpy as np

from iclr26lib.data import fashion_mnist

TARGET = Path(__file__).parents[1] / "iclr26lib/data/files/fashion_mnist_small.npz"


def draw(split: str, per_class: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """`per_class` images of each class, in random order."""
    images, labels = fashion_mnist(split)
    chosen = np.concatenate([rng.choice(np.flatnonzero(labels == c), per_class, replace=False) for c in range(10)])
    chosen = rng.permutation(chosen)
    return images[chosen], labels[chosen].astype(np.uint8)


def main() -> None:
    rng = np.random.default_rng(2026)
    arrays = {}
    for split, per_class in (("train", 400), ("test", 100)):
        arrays[f"{split}_images"], arrays[f"{split}_labels"] = draw(split, per_class, rng)
    np.savez_compressed(TARGET, **arrays)
    print(TARGET.name, TARGET.stat().st_size, "bytes", hashlib.sha256(TARGET.read_bytes()).hexdigest())


if __name__ == "__main__":
    main()
