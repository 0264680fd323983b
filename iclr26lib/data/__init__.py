"""Data sets by name, checked against their checksums, with no hidden download."""

from .images import fashion_mnist, fashion_mnist_small
from .locate import DataError
from .mnist import mnist
from .registry import DATASETS, Dataset
from .series import last_window, time_series

__all__ = [
    "DATASETS",
    "DataError",
    "Dataset",
    "fashion_mnist",
    "fashion_mnist_small",
    "last_window",
    "mnist",
    "time_series",
]
