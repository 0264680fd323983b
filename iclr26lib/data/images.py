"""Fashion-MNIST, whole or the small subset that comes with the library."""

import io
from pathlib import Path

import numpy as np

from .locate import own_folder, verified

DEBIAN = Path("/usr/share/datasets/fashion-mnist")
UPSTREAM = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
# MD5 of the compressed files, from the README of the published data set.
UPSTREAM_MD5 = {
    "train-images-idx3-ubyte.gz": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    "train-labels-idx1-ubyte.gz": "25c81989df183df01b3e8a0aad5dffbe",
    "t10k-images-idx3-ubyte.gz": "bef4ecab320f06d8554ea6380940ec79",
    "t10k-labels-idx1-ubyte.gz": "bb300cfdad3c16e7a12a480ee83cd310",
}
SPLITS = {"train": "train", "test": "t10k"}


def _split(split: str) -> str:
    if split not in SPLITS:
        raise ValueError(f"unknown split {split!r}; known: {', '.join(SPLITS)}")
    return SPLITS[split]


def _downloaded() -> list[Path]:
    import pooch

    folder = pooch.os_cache("iclr26lib") / "fashion-mnist"
    for file, md5 in UPSTREAM_MD5.items():
        pooch.retrieve(UPSTREAM + file, known_hash=f"md5:{md5}", fname=file, path=folder)
    return [folder]


def fashion_mnist(split: str, download: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Images (N, 28, 28) uint8 and labels (N,) int64 of `split` ("train": 60,000, "test": 10,000).

    Looked for in $ICLR26_DATA/fashion-mnist, then in Debian's package; with `download`, fetched with pooch and kept.
    Raises ValueError for an unknown split, DataError when a file is missing or corrupt.
    """
    stem = _split(split)
    folders = [*own_folder("fashion-mnist"), DEBIAN, *(_downloaded() if download else [])]
    images = np.frombuffer(verified("fashion_mnist", f"{stem}-images-idx3-ubyte.gz", folders)[16:], np.uint8)
    labels = np.frombuffer(verified("fashion_mnist", f"{stem}-labels-idx1-ubyte.gz", folders)[8:], np.uint8)
    return images.reshape(-1, 28, 28), labels.astype(np.int64)


def fashion_mnist_small(split: str) -> tuple[np.ndarray, np.ndarray]:
    """Images (N, 28, 28) uint8 and labels (N,) int64: 4,000 for "train", 1,000 for "test", classes equal.

    Comes with the library: no network is needed. Raises ValueError for an unknown split, DataError when corrupt.
    """
    _split(split)
    folder = Path(__file__).parent / "files"
    with np.load(io.BytesIO(verified("fashion_mnist_small", "fashion_mnist_small.npz", [folder]))) as file:
        return file[f"{split}_images"], file[f"{split}_labels"].astype(np.int64)
