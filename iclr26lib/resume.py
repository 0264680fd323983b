"""Never compute a finished piece of a run twice.

A piece is a call of a module-level function with plain arguments; its result is kept under runs/cache, keyed by the
arguments and by the digest of the code, and read back when the same call comes again. A piece is written whole or not
at all, so a run may be killed at any moment, and two runs may share the folder.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib

from . import records


def _write(path: Path, piece: tuple[Any, float]) -> None:
    """Put a piece in its place at once: a reader finds nothing or all of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    try:
        with open(temporary, "wb") as file:
            joblib.dump(piece, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _read(path: Path) -> tuple[Any, float] | None:
    """The piece at `path`; None where there is none, or where a damaged disk left one that cannot be read."""
    if not path.is_file():
        return None
    try:
        result, seconds = joblib.load(path)
    except Exception as error:  # noqa: BLE001  a damaged pickle raises whatever it likes; the piece is computed again
        print(f"{path.name} cannot be read ({type(error).__name__}); computing it again", file=sys.stderr)
        return None
    return result, seconds


def resumable(slug: str, function: Callable) -> Callable:
    """`function`, called with keyword arguments only, remembered on disk between runs of the same code.

    slug: the chapter. The seconds that a piece once took count in `records.Meter` when it is read back. Raises
    ValueError for a function defined in a notebook or script, whose edits the digest would miss. Without a known code
    digest (an installed library with no repository around) nothing is kept.
    """
    if function.__module__ == "__main__" or "<" in function.__qualname__:
        raise ValueError(
            f"{function.__qualname__} must be a function of a module, so that a changed one is not mistaken for it"
        )
    digest = records.code_digest(slug)
    if digest is None:
        return function
    folder = records.runs_folder() / "cache" / slug

    def call(**arguments: Any) -> Any:
        name = f"{function.__module__}.{function.__qualname__}"
        path = folder / f"{function.__name__}-{joblib.hash((name, digest, arguments))}.joblib"
        if (piece := _read(path)) is None:
            start = time.perf_counter()
            result = function(**arguments)
            piece = (result, time.perf_counter() - start)
            _write(path, piece)
        else:
            records.Meter.kept += piece[1]
        return piece[0]

    return call
