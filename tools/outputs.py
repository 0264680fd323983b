"""`make outputs`: bring stored outputs and records up to date, executing only what is stale.

A notebook is stale when its ``.ipynb`` or, for ``evidence``, the chapter's record is missing or was made by other
code. Where only text or metadata changed, the new text is taken and the outputs stay.
With SCALE=full nothing is executed: the records of finished full runs are taken over into ``results/full``.
"""

import argparse
import itertools
import sys
import time
from contextlib import nullcontext
from pathlib import Path

from iclr26lib import digest
from iclr26lib.chapters import NOTEBOOKS, ROOT, finished, present
from tools import engine, locks, machine_paths, notebooks, promote
from tools.execute import execute, explain, runs_folder

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


def take_text(slug: str, name: str, root: Path = ROOT) -> bool:
    """Take over the text of a notebook that is not stale, keeping its outputs; return whether that changed anything."""
    if outdated(slug, name, root) is None:
        return False
    notebooks.write(refreshed(slug, name, root), root / "book" / slug / f"{name}.ipynb")
    print(f"{slug}/{name}: text taken over, outputs kept", flush=True)
    return True


def execute_and_store(slug: str, name: str, root: Path = ROOT, minutes: float = 0) -> None:
    """Execute one notebook and put it, and the record it leaves, where they belong.

    minutes: what one cell may take, 0 for no limit. Raises NotebookFailed or ValueError, in one line, before anything
    is overwritten.
    """
    source = root / "book" / slug / f"{name}.py"
    print(f"{slug}/{name}: executing at {SCALE} scale, since {stale(slug, name, root) or 'asked to'}", flush=True)
    began = time.perf_counter()
    code = digest.notebook_digest(source, root)
    folder = runs_folder(root) / SCALE
    with promote.taking_record(slug, SCALE, folder / f"{slug}.json", root) if name == "evidence" else nullcontext():
        read = notebooks.read_source(source)
        executed = execute(read, f"{slug}/{name}", folder / slug / f"{name}.ipynb", SCALE, {}, root, minutes)
    _store(slug, name, executed, code, root)
    print(f"{slug}/{name}: done in {time.perf_counter() - began:.0f} s", flush=True)


def _store(slug: str, name: str, executed: notebooks.NotebookNode, code: str, root: Path) -> None:
    """Check an executed notebook and its record, then put both where they belong.

    Where the same code gave the same as before but for measured times, the times of before are kept.
    """
    source = root / "book" / slug / f"{name}.py"
    notebook = notebooks.tidy(executed, notebooks.read_source(source), f"{slug}/{name}")
    notebooks.stamp(notebook, code, SCALE)
    if digest.notebook_digest(source, root) != code:
        raise ValueError(
            f"book/{slug}/{name}.py or the library changed while it ran; run it again, nothing was changed"
        )
    if places := machine_paths.in_outputs(notebook):
        raise ValueError(f"book/{slug}/{name}.py: outputs show absolute paths of this machine: {'; '.join(places)}")
    before = notebooks.read_stored(source.with_suffix(".ipynb"))
    same_record = name != "evidence" or promote.same_but_times(slug, SCALE, root)
    if same_record and notebooks.same_but_times(notebook, before):
        notebook = refreshed(slug, name, root)
    elif name == "evidence":
        promote.promote(slug, SCALE, root)
    notebooks.write(notebook, source.with_suffix(".ipynb"))


def bring_up_to_date(slugs: list[str], force: bool = False, root: Path = ROOT) -> int:
    """Update the notebooks of the chapters, executing the stale ones or, by `force`, all; return 1 if one failed."""
    waiting = "another `make outputs` is at work here; waiting for it"
    with locks.alone(root / "runs" / ".outputs.lock", waiting):
        texts, todo, failed = 0, {}, 0
        for slug, name in itertools.product(slugs, NOTEBOOKS):
            try:
                if force or stale(slug, name, root):
                    todo.setdefault(slug, []).append(name)
                else:
                    texts += take_text(slug, name, root)
            except (ValueError, FileNotFoundError) as error:
                print(f"error: {error}", file=sys.stderr, flush=True)
                failed = 1
        code = engine.schedule("outputs", SCALE, todo, root=root) if todo else 0
    if not code and not failed:
        changed = texts + sum(map(len, todo.values()))
        print(f"{changed} notebooks brought up to date" if changed else "all outputs are up to date")
    return code or failed


def take_over(slugs: list[str], scale: str, root: Path = ROOT) -> int:
    """Promote the records of runs at another scale; return the number of those that cannot be."""
    failed = 0
    for slug in slugs:
        try:
            print(f"{promote.promote(slug, scale, root).relative_to(root)} is now the record of {slug}")
        except (ValueError, OSError) as error:
            print(f"error: {explain(error)}", file=sys.stderr)
            failed += 1
    return failed


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Run the command; return 0, 1 when something failed, 2 for an unknown chapter or scale."""
    parser = argparse.ArgumentParser(prog="make outputs", description=__doc__.splitlines()[0])
    parser.add_argument("--chapter", default="", help="one chapter instead of all")
    parser.add_argument("--scale", default=SCALE, help="book, or full to take over the records of full runs")
    parser.add_argument("--force", action="store_true", help="execute what is not stale, too")
    options = parser.parse_args(arguments)
    if options.scale not in (SCALE, "full"):
        print(f"error: unknown scale {options.scale!r} for outputs; known: {SCALE}, full", file=sys.stderr)
        return 2
    try:
        slugs = present(root) if options.chapter in ("", "all") else [finished(options.chapter, root)]
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if options.scale == "full":
        return 1 if take_over(slugs, "full", root) else 0
    try:
        return bring_up_to_date(slugs, options.force, root)
    except (ValueError, OSError) as error:
        print(f"error: {explain(error)}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
