"""Run one notebook through papermill, in its own folder, at one scale."""

import contextlib
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
    source: NotebookNode, name: str, target: Path, scale: str, parameters: dict, root: Path = ROOT
) -> NotebookNode:
    """Execute a notebook and return it with outputs; `target` keeps it, whether it succeeds or fails.

    source: the notebook; name: "SLUG/NOTEBOOK". The kernel's folder is book/SLUG, as under Jupyter and nbval.
    parameters: what goes below the parameters cell; empty adds no cell. Raises NotebookFailed in one line.
    """
    import papermill
    from nbclient.exceptions import CellTimeoutError, DeadKernelError

    kernels.use_files()
    target.parent.mkdir(parents=True, exist_ok=True)
    folder = root / "book" / name.split("/")[0]
    try:
        with _environment(scale, root):
            return papermill.execute_notebook(
                source, target, parameters, cwd=folder, kernel_name="python3", progress_bar=sys.stderr.isatty()
            )
    except papermill.PapermillExecutionError as error:
        where = f"book/{name}.py: cell {error.cell_index + 1} ({_first(error.source)})"
        raise NotebookFailed(
            f"{where} failed: {error.ename}: {_first(error.evalue)}; see {_shown(target, root)}"
        ) from error
    except (DeadKernelError, CellTimeoutError) as error:
        raise NotebookFailed(f"book/{name}.py: {_first(str(error))}; see {_shown(target, root)}") from error


def _first(text: str) -> str:
    """Return the first line of a text that says something."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _shown(path: Path, root: Path) -> str:
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


@contextlib.contextmanager
def _environment(scale: str, root: Path) -> Iterator[None]:
    """Let the kernels started inside see this scale, this repository's library and this folder of runs."""
    path = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH")]))
    ours = {"ICLR26_SCALE": scale, "ICLR26_RUNS": str(runs_folder(root)), "PYTHONPATH": path}
    before = {key: os.environ.get(key) for key in ours}
    os.environ.update(ours)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value
