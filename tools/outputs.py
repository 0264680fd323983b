"""`make outputs`: bring stored outputs and records up to date, executing only what is stale.

A notebook is stale when its ``.ipynb`` or, for ``evidence``, the chapter's record is missing or was made by other
code. Where only text or metadata changed, the new text is taken and the outputs stay.
With SCALE=full nothing is executed: the records of finished full runs are taken over into ``results/full``.
"""

import argparse
import contextlib
import fcntl
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from iclr26lib import digest
from iclr26lib.chapters import NOTEBOOKS, ROOT, finished, present
from tools import machine_paths, notebooks, promote
from tools.execute import NotebookFailed, execute, runs_folder

SCALE = "book"


def stale(slug: str, name: str, root: Path = ROOT) -> str | None:
    """Return in a few words why a notebook must be executed again, None when it need not."""
    source = root / "book" / slug / f"{name}.py"
    stored = notebooks.read_stored(source.with_suffix(".ipynb"))
    if stored is None:
        return "it has no stored outputs"
    said = notebooks.stamped(stored)
    if said.get("digest") != digest.notebook_digest(source, root):
        return "its code changed"
    if said.get("scale") != SCALE:
        return f"its outputs are of the scale {said.get('scale')!r}"
    if name == "evidence" and not promote.fresh(promote.stored(slug, SCALE, root), slug, root):
        return "the chapter's record is missing or of other code"
    if notebooks.with_outputs_of(notebooks.read_source(source), stored) is None:
        return "its cells were cut anew"
    return None


def refreshed(slug: str, name: str, root: Path = ROOT) -> notebooks.NotebookNode:
    """Return the notebook with its present text and its stored outputs, which must not be stale."""
    source = root / "book" / slug / f"{name}.py"
    return notebooks.with_outputs_of(notebooks.read_source(source), notebooks.read_stored(source.with_suffix(".ipynb")))


def outdated(slug: str, name: str, root: Path = ROOT) -> str | None:
    """Return why ``make outputs`` would change the ``.ipynb`` of a notebook, None when it would not."""
    reason = stale(slug, name, root)
    target = root / "book" / slug / f"{name}.ipynb"
    if reason is None and notebooks.text(refreshed(slug, name, root)) != target.read_text(encoding="utf-8"):
        reason = "its text differs from the .py"
    return reason


def update(slug: str, name: str, root: Path = ROOT) -> bool:
    """Bring one notebook up to date and return whether that changed anything.

    Raises NotebookFailed or ValueError, in one line, before anything is overwritten.
    """
    source = root / "book" / slug / f"{name}.py"
    reason = stale(slug, name, root)
    if reason is None:
        if outdated(slug, name, root) is None:
            return False
        notebooks.write(refreshed(slug, name, root), source.with_suffix(".ipynb"))
        print(f"{slug}/{name}: text taken over, outputs kept", flush=True)
        return True
    print(f"{slug}/{name}: executing at {SCALE} scale, since {reason}", flush=True)
    began = time.perf_counter()
    code = digest.notebook_digest(source, root)
    executed = execute(
        notebooks.read_source(source),
        f"{slug}/{name}",
        runs_folder(root) / SCALE / slug / f"{name}.ipynb",
        SCALE,
        {},
        root,
    )
    _store(slug, name, executed, code, root)
    print(f"{slug}/{name}: done in {time.perf_counter() - began:.0f} s", flush=True)
    return True


def _store(slug: str, name: str, executed: notebooks.NotebookNode, code: str, root: Path) -> None:
    """Check an executed notebook and its record, then put both where they belong."""
    source = root / "book" / slug / f"{name}.py"
    notebook = notebooks.tidy(executed, notebooks.read_source(source), f"{slug}/{name}")
    notebooks.stamp(notebook, code, SCALE)
    if digest.notebook_digest(source, root) != code:
        raise ValueError(
            f"book/{slug}/{name}.py or the library changed while it ran; run it again, nothing was changed"
        )
    if places := machine_paths.in_outputs(notebook):
        raise ValueError(f"book/{slug}/{name}.py: outputs show absolute paths of this machine: {'; '.join(places)}")
    if name == "evidence":
        promote.promote(slug, SCALE, root)
    notebooks.write(notebook, source.with_suffix(".ipynb"))


@contextlib.contextmanager
def alone(root: Path = ROOT) -> Iterator[None]:
    """Hold the lock of this repository's outputs: a second caller waits, and then finds nothing left to do."""
    path = root / "runs" / ".outputs.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("another `make outputs` is at work here; waiting for it", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def bring_up_to_date(slugs: list[str], root: Path = ROOT) -> int:
    """Update the notebooks of the chapters; return the number of those that failed, each said in one line."""
    failed = changed = 0
    for slug in slugs:
        for name in NOTEBOOKS:
            try:
                changed += update(slug, name, root)
            except (NotebookFailed, ValueError, FileNotFoundError) as error:
                print(f"error: {error}", file=sys.stderr, flush=True)
                failed += 1
    if not failed:
        print(f"{changed} notebooks brought up to date" if changed else "all outputs are up to date")
    return failed


def take_over(slugs: list[str], scale: str, root: Path = ROOT) -> int:
    """Promote the records of runs at another scale; return the number of those that cannot be."""
    failed = 0
    for slug in slugs:
        try:
            print(f"{promote.promote(slug, scale, root).relative_to(root)} is now the record of {slug}")
        except ValueError as error:
            print(f"error: {error}", file=sys.stderr)
            failed += 1
    return failed


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Run the command; return 0, 1 when something failed, 2 for an unknown chapter or scale."""
    parser = argparse.ArgumentParser(prog="make outputs", description=__doc__.splitlines()[0])
    parser.add_argument("--chapter", default="", help="one chapter instead of all")
    parser.add_argument("--scale", default=SCALE, help="book, or full to take over the records of full runs")
    options = parser.parse_args(arguments)
    if options.scale not in (SCALE, "full"):
        print(f"error: unknown scale {options.scale!r} for outputs; known: {SCALE}, full", file=sys.stderr)
        return 2
    try:
        slugs = [finished(options.chapter, root)] if options.chapter else present(root)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    with alone(root):
        failed = take_over(slugs, "full", root) if options.scale == "full" else bring_up_to_date(slugs, root)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
