"""Never compute a finished piece of a run twice.

A piece is a call of a module-level function with plain arguments; its result is kept under runs/cache, keyed by the
arguments and by the digest of the code, and read back when the same call comes again.
"""

from collections.abc import Callable
from typing import Any

import joblib

from . import records


def _call(function: Callable, digest: str | None, arguments: dict[str, Any]) -> Any:
    return function(**arguments)


def resumable(slug: str, function: Callable) -> Callable:
    """`function`, called with keyword arguments only, remembered on disk between runs of the same code.

    slug: the chapter. Raises ValueError for a function defined in a notebook or script, whose edits the digest would
    miss. Without a known code digest (an installed library with no repository around) nothing is kept.
    """
    if function.__module__ == "__main__" or "<" in function.__qualname__:
        raise ValueError(
            f"{function.__qualname__} must be a function of a module, so that a changed one is not mistaken for it"
        )
    digest = records.code_digest(slug)
    if digest is None:
        return function
    memory = joblib.Memory(records.runs_folder() / "cache" / slug, verbose=0)
    remembered = memory.cache(_call)

    def call(**arguments: Any) -> Any:
        return remembered(function, digest, arguments)

    return call
