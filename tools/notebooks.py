"""Notebooks as the repository stores them: made from the ``.py``, with outputs, nothing that changes by itself."""

import contextlib
import copy
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import jupytext
from nbformat import NotebookNode
from nbformat.v4 import reads_json, writes_json

from iclr26lib import digest

WIDGETS = "application/vnd.jupyter.widget-state+json"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
LANGUAGE = {"name": "python", "pygments_lexer": "ipython3"}
LAYOUT_METADATA = ("lines_to_next_cell", "lines_to_end_of_cell_marker")
MODEL_ID = re.compile(r"[0-9a-f]{32}")


def read_source(path: Path) -> NotebookNode:
    """Return the notebook that a ``py:percent`` file describes: no outputs, and a cell id that follows from its text.

    Raises ValueError when the file has no cell.
    """
    notebook = jupytext.read(path, fmt="py:percent")
    if not notebook.cells:
        raise ValueError(f"{path} has no cell")
    seen: dict[str, int] = {}
    for cell in notebook.cells:
        for key in LAYOUT_METADATA:
            cell.metadata.pop(key, None)
        key = f"{cell.cell_type} {cell.source}"
        seen[key] = seen.get(key, 0) + 1
        cell.id = hashlib.sha256(f"{key} {seen[key]}".encode()).hexdigest()[:12]
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    notebook.metadata = NotebookNode({"kernelspec": KERNEL, "language_info": LANGUAGE})
    return notebook


def read_stored(path: Path) -> NotebookNode | None:
    """Return the notebook in an ``.ipynb`` file, None when there is none. Raises ValueError when it is corrupt."""
    if not path.is_file():
        return None
    try:
        notebook = reads_json(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not a notebook: {error}") from error
    if "cells" not in notebook or "metadata" not in notebook:
        raise ValueError(f"{path} is not a notebook: it has no cells")
    return notebook


def text(notebook: NotebookNode) -> str:
    """Return the notebook as it stands in its file."""
    return writes_json(notebook).rstrip("\n") + "\n"


def stamp(notebook: NotebookNode, code: str, scale: str) -> None:
    """Say in the notebook's metadata which code made its outputs, at which scale."""
    notebook.metadata["iclr26"] = NotebookNode({"digest": code, "scale": scale})


def stamped(notebook: NotebookNode | None) -> dict:
    """Return what `stamp` wrote, an empty dict when there is nothing."""
    return dict(notebook.metadata.get("iclr26", {})) if notebook else {}


def with_outputs_of(source: NotebookNode, stored: NotebookNode) -> NotebookNode | None:
    """Return `source` with the outputs stored for the same code; None when cells were cut otherwise than before."""
    old, new = _code(stored), _code(source)
    if [same_code(cell) for cell in old] != [same_code(cell) for cell in new]:
        return None
    for cell, before in zip(new, old, strict=True):
        cell.outputs, cell.execution_count = before.outputs, before.execution_count
    if "widgets" in stored.metadata:
        source.metadata["widgets"] = stored.metadata["widgets"]
    source.metadata["iclr26"] = stored.metadata["iclr26"]
    return source


def same_but_times(new: NotebookNode, old: NotebookNode | None) -> bool:
    """Whether the same code gave the same outputs, those of cells tagged ``measured-time`` aside."""
    if old is None or stamped(old) != stamped(new) or with_outputs_of(copy.deepcopy(new), old) is None:
        return False
    steady = [
        cell
        for cell in zip(_code(new), _code(old), strict=True)
        if "measured-time" not in cell[0].metadata.get("tags", [])
    ]
    same_widgets = new.metadata.get("widgets") == old.metadata.get("widgets")
    return same_widgets and all(one.outputs == other.outputs for one, other in steady)


def _code(notebook: NotebookNode) -> list[NotebookNode]:
    """Return the code cells that can have outputs."""
    return [cell for cell in notebook.cells if cell.cell_type == "code" and not is_bootstrap(cell)]


def is_bootstrap(cell: NotebookNode) -> bool:
    """Whether a cell only prepares Colab: it leaves no output and no trace in the digest."""
    return "bootstrap" in cell.metadata.get("tags", [])


def same_code(cell: NotebookNode) -> str:
    """Return what a cell's outputs depend on: its code without comments and layout."""
    return digest.canonical(cell.source)


def tidy(executed: NotebookNode, source: NotebookNode, name: str) -> NotebookNode:
    """Return `source` with the outputs of its execution, and with widget ids that do not change from run to run."""
    results = [cell for cell in executed.cells if "injected-parameters" not in cell.metadata.get("tags", [])]
    count = 0
    for cell, result in zip(source.cells, results, strict=True):
        if cell.cell_type == "code" and not is_bootstrap(cell):
            count += 1
            cell.outputs, cell.execution_count = result.outputs, count
            for output in cell.outputs:
                output.pop("transient", None)
                if "execution_count" in output:
                    output.execution_count = count
    if executed.metadata.get("widgets"):
        source.metadata["widgets"] = executed.metadata["widgets"]
    return _with_steady_ids(source, name)


def _with_steady_ids(notebook: NotebookNode, name: str) -> NotebookNode:
    state = notebook.metadata.get("widgets", {}).get(WIDGETS, {}).get("state", {})
    names = {old: hashlib.sha256(f"{name} {position}".encode()).hexdigest()[:32] for position, old in enumerate(state)}
    renamed = MODEL_ID.sub(lambda match: names.get(match[0], match[0]), json.dumps(notebook))
    return reads_json(renamed)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary file beside `path` to write to; it takes the place of `path` only when the block succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    try:
        yield Path(name)
        with open(name, "rb") as file:
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    finally:
        Path(name).unlink(missing_ok=True)


def write(notebook: NotebookNode, path: Path) -> None:
    """Write a notebook at once or not at all."""
    with replacing(path) as place:
        place.write_text(text(notebook), encoding="utf-8")
