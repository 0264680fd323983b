"""Run one notebook through papermill, in its own folder, at one scale."""

import contextlib
import errno
import logging
import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from nbformat import NotebookNode

from iclr26lib.chapters import ROOT
from tools import kernels


class NotebookFailed(RuntimeError):
    """A notebook stopped with an error; the message is one line that says where and why."""


def runs_folder(root: Path = ROOT) -> Path:
    """Return the folder that runs write to: $ICLR26_RUNS, else ``runs/`` of the repository."""
    return Path(os.environ.get("ICLR26_RUNS") or root / "runs").resolve()


def execute(
    source: NotebookNode, name: str, target: Path, scale: str, parameters: dict, root: Path = ROOT, minutes: float = 0
) -> NotebookNode:
    """Execute a notebook and return it with outputs; `target` gets it once it has succeeded.

    source: the notebook; name: "SLUG/NOTEBOOK". The kernel's folder is book/SLUG, as under Jupyter and nbval.
    parameters: what goes below the parameters cell; empty adds no cell. minutes: what one cell may take, 0 for no
    limit. A run that fails leaves what was at `target`, and itself beside it as ``NAME.failed.ipynb``. Raises
    NotebookFailed in one line.
    """
    failed = target.with_name(f"{target.stem}.failed.ipynb")
    place = target.with_name(f".{target.stem}.running.ipynb")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with variables(_environment(scale, root)):
            executed = _papermill(source, place, parameters, root / "book" / name.split("/")[0], minutes)
        os.replace(place, target)
    except Exception as error:
        if place.is_file():
            os.replace(place, failed)
        if line := complaint(error, name, minutes):
            raise NotebookFailed(f"{line}; see {shown(failed, root)}") from error
        raise
    failed.unlink(missing_ok=True)
    return executed


def _papermill(source: NotebookNode, place: Path, parameters: dict, folder: Path, minutes: float) -> NotebookNode:
    import papermill

    kernels.use_files()
    for name in ("papermill", "traitlets"):  # what they say of a dead kernel is said once, by `complaint`
        logging.getLogger(name).addHandler(logging.NullHandler())
    return papermill.execute_notebook(
        source,
        place,
        parameters,
        cwd=folder,
        kernel_name="python3",
        progress_bar=sys.stderr.isatty(),
        execution_timeout=math.ceil(60 * minutes) or None,
    )


def complaint(error: Exception, name: str, minutes: float) -> str | None:
    """Return in one line what stopped a notebook, None for an error that is no notebook's."""
    from nbclient.exceptions import CellTimeoutError, DeadKernelError
    from papermill import PapermillExecutionError

    if isinstance(error, PapermillExecutionError):
        where = f"book/{name}.py: cell {error.cell_index + 1} ({_first(error.source)})"
        short = "; the memory was not enough: make the preset smaller" if "Memory" in error.ename else ""
        return f"{where} failed: {error.ename}: {_first(error.evalue)}{short}"
    if isinstance(error, CellTimeoutError):
        return f"book/{name}.py: a cell took longer than its limit of {minutes:g} minutes (LIMIT= changes it)"
    if isinstance(error, DeadKernelError):
        return f"book/{name}.py: the kernel died; most often the machine had no memory left (dmesg tells)"
    return None


def explain(error: Exception) -> str:
    """One line for what stopped a job."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        where = f" at {error.filename}" if error.filename else ""
        return f"the disk is full: {error.strerror}{where}; make room and run again"
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0]


def _first(text: str) -> str:
    """Return the first line of a text that says something."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def shown(path: Path, root: Path) -> str:
    """A path as it is told to a reader: below the repository where it is there."""
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


@contextlib.contextmanager
def variables(ours: dict[str, str]) -> Iterator[None]:
    """Set environment variables, for this process and what it starts, until the block ends."""
    before = {name: os.environ.get(name) for name in ours}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _environment(scale: str, root: Path) -> dict[str, str]:
    """What lets kernels see this scale, this repository's library and this folder of runs."""
    path = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH")]))
    return {"ICLR26_SCALE": scale, "ICLR26_RUNS": str(runs_folder(root)), "PYTHONPATH": path}
