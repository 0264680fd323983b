"""Labelled time series in the `.ts` format of the UCR/UEA archives."""

import numpy as np

from .locate import DataError, own_folder, package_folder, verified

SETS = {"italy_power_demand": "ItalyPowerDemand", "japanese_vowels": "JapaneseVowels"}


def parse_ts(text: str) -> tuple[list[np.ndarray], np.ndarray]:
    """Series, each (T_i, D) float64, and their labels (N,) int64 counted from 0 in the header's order.

    Raises DataError when there is no class header, no series, a value that is no number, or an unknown label.
    """
    header, _, body = text.partition("@data")
    classes = [line.split()[2:] for line in header.splitlines() if line.lower().startswith("@classlabel true")]
    rows = [line.split(":") for line in body.split("\n") if line.strip()]
    if not classes or not rows:
        raise DataError("a .ts file needs a '@classLabel true ...' line and at least one series after '@data'")
    try:
        series = [np.array([[float(v) for v in dim.split(",")] for dim in row[:-1]]).T for row in rows]
        labels = np.array([classes[0].index(row[-1].strip()) for row in rows], dtype=np.int64)
    except ValueError as error:
        raise DataError(f"malformed series in a .ts file: {error}") from error
    return series, labels


def time_series(name: str, split: str) -> tuple[list[np.ndarray], np.ndarray]:
    """Series, each (T_i, D), and labels (N,) of "italy_power_demand" or "japanese_vowels", split "train" or "test".

    Looked for in $ICLR26_DATA/<set>, then inside the installed package aeon (read, not imported).
    Raises ValueError for an unknown name or split, DataError when the file is missing or corrupt.
    """
    if name not in SETS:
        raise ValueError(f"unknown time series set {name!r}; known: {', '.join(SETS)}")
    if split not in ("train", "test"):
        raise ValueError(f"unknown split {split!r}; known: train, test")
    folder = SETS[name]
    places = [*own_folder(folder), *package_folder("aeon", "datasets", "data", folder)]
    return parse_ts(verified(name, f"{folder}_{split.upper()}.ts", places).decode())


def last_window(series: list[np.ndarray], steps: int) -> np.ndarray:
    """The last `steps` real steps of every series, (N, steps, D). Raises ValueError when one is shorter."""
    shortest = min(len(s) for s in series)
    if not 1 <= steps <= shortest:
        raise ValueError(f"steps={steps} is outside 1..{shortest}, the length of the shortest series")
    return np.stack([s[-steps:] for s in series])
