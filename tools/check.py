"""`make check`: format, lint, pairing and freshness, in seconds; names what is wrong and the command that mends it."""

import re
import subprocess
import sys
from pathlib import Path

from iclr26lib.chapters import NOTEBOOKS, ROOT, present
from tools import outputs

RUFF = [sys.executable, "-m", "ruff"]


def style(root: Path = ROOT) -> list[str]:
    """Return one line for each complaint of ruff about format or code."""
    found = []
    for arguments, mend in (
        (["format", "--check", "--output-format", "concise", "."], "make format"),
        (["check", "--output-format", "concise", "."], "see the line; make format mends some"),
    ):
        said = subprocess.run([*RUFF, *arguments], cwd=root, capture_output=True, text=True)
        if said.returncode:
            lines = [line for line in said.stdout.splitlines() if re.match(r"\S+:\d+:", line)]
            lines = lines or [(said.stdout + said.stderr).strip()]
            found.extend(f"{line}  [{mend}]" for line in lines)
    return found


def pairs(root: Path = ROOT) -> list[str]:
    """Return one line for each notebook without a pair, out of date, or with a record of other code."""
    found = []
    for path in sorted((root / "book").glob("*/*.ipynb")):
        if not path.with_suffix(".py").is_file():
            found.append(f"{path.relative_to(root)} has no .py beside it  [git rm it, or restore the .py]")
    for slug in present(root):
        for name in NOTEBOOKS:
            found.extend(_pair(slug, name, root))
    return found


def _pair(slug: str, name: str, root: Path) -> list[str]:
    try:
        reason = outputs.outdated(slug, name, root)
    except (ValueError, FileNotFoundError) as error:
        return [f"book/{slug}/{name}: {error}  [restore it]"]
    return [f"book/{slug}/{name}.ipynb is out of date: {reason}  [make outputs CHAPTER={slug}]"] if reason else []


def main(root: Path = ROOT) -> int:
    """Print every finding; return 0 when there is none, else 1."""
    found = style(root) + pairs(root)
    for line in found:
        print(line)
    print(f"check: {len(found)} findings" if found else "check: nothing to mend")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
