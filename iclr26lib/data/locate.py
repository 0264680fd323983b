"""Find a data file on this machine and refuse it when its content is not the registered one."""

import gzip
import hashlib
import importlib.util
import os
import zlib
from collections.abc import Iterable
from pathlib import Path

from .registry import known


class DataError(ValueError):
    """A data file is missing or corrupt; the message says how to get it."""


def content(path: Path) -> bytes:
    """Bytes of `path`, decompressed when the name ends in `.gz`. Raises DataError when that fails."""
    try:
        raw = path.read_bytes()
        return gzip.decompress(raw) if path.suffix == ".gz" else raw
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path.name} cannot be read: {error}") from error


def verified(name: str, file: str, folders: Iterable[Path]) -> bytes:
    """Content of `file` of the data set `name` from the first of `folders` that has it.

    Raises DataError when no folder has it, or when its SHA-256 differs from the registered one.
    """
    dataset = known(name)
    for folder in folders:
        if (folder / file).is_file():
            data = content(folder / file)
            digest = hashlib.sha256(data).hexdigest()
            if digest != dataset.files[file]:
                raise DataError(f"{file} of {name} is corrupt (SHA-256 {digest[:12]}...); {dataset.how_to_get}")
            return data
    raise DataError(f"{file} of {name} was not found; {dataset.how_to_get}")


def own_folder(name: str) -> list[Path]:
    """`$ICLR26_DATA/name`, where that variable is set."""
    root = os.environ.get("ICLR26_DATA")
    return [Path(root) / name] if root else []


def package_folder(package: str, *parts: str) -> list[Path]:
    """A folder inside an installed package, found without importing it; empty when it is not installed."""
    spec = importlib.util.find_spec(package)
    return [Path(p).joinpath(*parts) for p in (spec.submodule_search_locations or ())] if spec else []
