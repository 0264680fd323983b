"""Build the HTML book from the stored outputs; a warning is an error.

    python -m tools.build_book [--fresh]

Runs no notebook. Prints one line: where the book is, how many pages, how many seconds.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def build(root: Path = ROOT, fresh: bool = False) -> tuple[int, str]:
    """Build `root`/_build/html; return (exit status, all that the build printed).

    fresh: forget what an earlier build kept. Raises ValueError where the packages of requirements-book.txt are absent.
    """
    if importlib.util.find_spec("jupyter_book") is None:
        raise ValueError("jupyter-book is missing: pip install -r requirements-book.txt")
    if fresh:
        shutil.rmtree(root / "_build", ignore_errors=True)
    program = "from jupyter_book.cli.main import main; main()"
    options = ["--warningiserror", "--keep-going", "--quiet"]
    command = [sys.executable, "-c", program, "build", str(root), *options]
    done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, COLOUR.sub("", done.stdout)


def pages(root: Path = ROOT) -> list[Path]:
    """Return the pages of the built book that a reader can open from its table of contents."""
    html = root / "_build" / "html"
    return sorted(p for p in (html / "book").rglob("*.html") if "_static" not in p.relative_to(html).parts)


def complaints(text: str) -> list[str]:
    """Return the lines of a build's output that say what is wrong, without repeats."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    kept = [line for line in lines if re.search(r"WARNING|ERROR|CRITICAL|[Ee]rror:", line)]
    return list(dict.fromkeys(kept or lines[-5:]))


def main(arguments: list[str] | None = None) -> int:
    """Build and report; 0 when the book is whole."""
    parser = argparse.ArgumentParser(prog="build_book", description="Build the HTML book, warnings as errors.")
    parser.add_argument("--fresh", action="store_true", help="forget the earlier build")
    fresh = parser.parse_args(arguments).fresh
    start = time.perf_counter()
    try:
        status, said = build(fresh=fresh)
    except ValueError as error:
        print(f"book: not built: {error}", file=sys.stderr)
        return 1
    if status:
        print("book: not built:", file=sys.stderr)
        print("\n".join(f"  {line}" for line in complaints(said)), file=sys.stderr)
        return 1
    print(f"book: _build/html/index.html, {len(pages())} pages, {time.perf_counter() - start:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
