"""The first code cell of each notebook, which acts in Colab only; `python -m tools.bootstrap` writes all of them anew.

It installs the library at the tag of this version. The ranges in pyproject.toml admit what Colab ships, so pip leaves
that alone. Its text follows from the repository's address, the version and the chapter's extra, and from nothing else.
"""

import re
import sys
import tomllib
from pathlib import Path

import yaml

from iclr26lib.chapters import NOTEBOOKS, ROOT, present

CELL = """import sys

if "google.colab" in sys.modules:
    import subprocess

    where = "{requirement}"
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", where], check=True)
    from iclr26lib import records

    print(records.environment())"""
IN_SOURCE = re.compile(
    r"(?P<head>^# %%[^\n]*\"bootstrap\"[^\n]*\n)(?P<text>.*?)(?=\n*^# %%|\Z)", re.MULTILINE | re.DOTALL
)


def cell(slug: str, root: Path = ROOT) -> str:
    """Return the text of the bootstrap cell of a chapter's notebooks."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    url = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))["repository"]["url"].rstrip("/")
    extra = f"[{slug}]" if slug in project.get("optional-dependencies", {}) else ""
    return CELL.format(requirement=f"{project['name']}{extra} @ git+{url}@v{project['version']}")


def rewrite(slug: str, root: Path = ROOT) -> list[Path]:
    """Write the bootstrap cells of a chapter's sources anew; return the files that changed."""
    changed = []
    for name in NOTEBOOKS:
        path = root / "book" / slug / f"{name}.py"
        text = path.read_text(encoding="utf-8")
        new = IN_SOURCE.sub(lambda match: match["head"] + cell(slug, root), text)
        if new != text:
            path.write_text(new, encoding="utf-8")
            changed.append(path)
    return changed


def main(root: Path = ROOT) -> int:
    """Rewrite the cells of all chapters and list the files."""
    for slug in present(root):
        for path in rewrite(slug, root):
            print(f"{path.relative_to(root)}  [then: make outputs, which executes nothing for it]")
    return 0


if __name__ == "__main__":
    sys.exit(main())
