"""Reading files of torch.save that may have been damaged."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import torch
from torch import Tensor


def read_file(path: str | Path) -> Any:
    """The content of a file of torch.save at `path`: tensors on the CPU and plain values, nothing that runs code.

    Raises ValueError naming the file where it is missing, a folder, empty, cut off, altered or something else.
    """
    if not Path(path).is_file():
        raise ValueError(f"{path}: no such file")
    try:
        with zipfile.ZipFile(path) as archive:
            broken = archive.testzip()
        if broken is not None:
            raise ValueError(f"the checksum of {broken} is another")
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise ValueError(f"{path}: damaged, or not a file of torch.save ({error})") from error


def check_fit(where: str, found: Any, wanted: dict[str, Tensor]) -> None:
    """Refuse a state `found` that does not stand for `wanted`, by name: the same names, shapes, dtypes, and finite
    where `wanted` is.

    where: begins the message. Raises ValueError naming the first difference.
    """
    if not isinstance(found, dict):
        raise ValueError(f"{where}: need a dict of tensors, got {type(found).__name__}")
    for key in sorted({**found, **wanted}, key=str):
        if key not in found or key not in wanted:
            raise ValueError(f"{where}: {key} is {'missing' if key not in found else 'unknown'}")
        value, like = found[key], wanted[key]
        if not isinstance(value, Tensor) or value.shape != like.shape:
            got = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
            raise ValueError(f"{where}: {key} is {got}, not {tuple(like.shape)}")
        if value.dtype != like.dtype:
            raise ValueError(f"{where}: {key} is {value.dtype}, not {like.dtype}")
        if not torch.isfinite(value).all() and torch.isfinite(like).all():
            raise ValueError(f"{where}: {key} holds a value that is not finite")
