"""Build the HTML book from the stored outputs; a warning is an error.

    python -m tools.build_book [--fresh]

Runs no notebook. Prints one line: where the book is, how many pages, how many seconds. Pages whose sources did not
change are kept; a failed build is forgotten, so that its warnings come again.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LAYOUT, INPUTS = "_build/.layout", "_build/.inputs"
LAYOUT_FILES = ("_config.yml", "_toc.yml", "book/_ext/*", "book/_static/**/*", "requirements-book.txt")
INPUT_FILES = (*LAYOUT_FILES, "book/**/*", "results/**/*.json", "iclr26lib/**/*.py", "tests/test_*.py", "tools/*.py")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def build(root: Path = ROOT, fresh: bool = False) -> tuple[int, str]:
    """Build `root`/_build/html; return (exit status, all that the build printed).

    fresh: forget what an earlier build kept. Raises ValueError where the packages of requirements-book.txt are absent.
    """
    if importlib.util.find_spec("jupyter_book") is None:
        raise ValueError("jupyter-book is missing: pip install -r requirements-book.txt")
    if fresh or _read(root / LAYOUT) != digest(root, LAYOUT_FILES):
        shutil.rmtree(root / "_build", ignore_errors=True)
    made_of = {name: digest(root, files) for name, files in ((LAYOUT, LAYOUT_FILES), (INPUTS, INPUT_FILES))}
    program = "from jupyter_book.cli.main import main; main()"
    options = ["--warningiserror", "--keep-going", "--quiet"]
    command = [sys.executable, "-c", program, "build", str(root), *options]
    done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        shutil.rmtree(root / "_build", ignore_errors=True)
    else:
        for name, value in made_of.items():
            (root / name).write_text(value)
    return done.returncode, COLOUR.sub("", done.stdout)


def ensure(root: Path = ROOT) -> Path:
    """Return the folder of a whole book made from the files of now, building it afresh only when one of them changed.

    Several processes may ask at once: one builds, the others wait. Raises ValueError with the build's complaints.
    """
    name = f"book-{hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:16]}.lock"
    with open(Path(tempfile.gettempdir()) / name, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _read(root / INPUTS) != digest(root, INPUT_FILES):
            status, said = build(root, fresh=True)
            if status:
                raise ValueError("the book does not build:\n" + "\n".join(complaints(said)))
    return root / "_build" / "html"


def digest(root: Path, patterns: tuple[str, ...]) -> str:
    """Return a checksum of the names and contents of the files that match."""
    found = {path for pattern in patterns for path in root.glob(pattern) if path.is_file()}
    total = hashlib.sha256()
    for path in sorted(p for p in found if not {"__pycache__", "_generated"} & set(p.parts)):
        total.update(path.relative_to(root).as_posix().encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def _read(path: Path) -> str:
    """Return the text of a file, empty when it is absent."""
    return path.read_text() if path.is_file() else ""


def pages(root: Path = ROOT) -> list[Path]:
    """Return the pages of the built book that a reader can open from its table of contents."""
    html = root / "_build" / "html"
    return sorted(p for p in (html / "book").rglob("*.html") if "_static" not in p.relative_to(html).parts)


def complaints(text: str) -> list[str]:
    """Return the lines of a build's output that say what is wrong, without repeats."""
    if stopped := re.findall(r"^sphinx\.errors\.\w+: (.+)$", text, re.M):
        return stopped[-1:]
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
