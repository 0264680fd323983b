"""The first code cell of each notebook, which acts in Colab only; `python -m tools.bootstrap` writes all of them anew.

It clones the repository at the tag of this version, because a notebook needs the chapter's claims too, and installs it
from there. The ranges in pyproject.toml admit what Colab ships, so pip leaves that alone. The text follows from the
repository's address, the version, the chapter's extra and its data packages (`[tool.iclr26.nodeps]`), and nothing else.
"""

import re
import sys
import tomllib
from pathlib import Path

import yaml

from iclr26lib.chapters import NOTEBOOKS, ROOT, present

CELL = """import sys

if "google.colab" in sys.modules:
    import os
    import subprocess

    address, tag = "{address}", "v{version}"
    if not os.path.isdir("iclr26"):
        clone = ["git", "clone", "-q", "--depth=1", f"--branch={{tag}}", address, "iclr26"]
        subprocess.run(clone, check=True)
        pip = [sys.executable, "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, "./iclr26{extra}"], check=True){nodeps}
    sys.path.insert(0, "iclr26")
    from iclr26lib import records

    print(records.environment())"""
NODEPS = """
        bare = ["--no-deps", {packages}]
        subprocess.run([*pip, *bare], check=True)"""
IN_SOURCE = re.compile(
    r"(?P<head>^# %%[^\n]*\"bootstrap\"[^\n]*\n)(?P<text>.*?)(?=\n*^# %%|\Z)", re.MULTILINE | re.DOTALL
)


def cell(slug: str, root: Path = ROOT) -> str:
    """Return the text of the bootstrap cell of a chapter's notebooks."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    project, bare = settings["project"], settings.get("tool", {}).get("iclr26", {}).get("nodeps", {}).get(slug, [])
    url = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))["repository"]["url"].rstrip("/")
    return CELL.format(
        address=url,
        version=project["version"],
        extra=f"[{slug}]" if slug in project.get("optional-dependencies", {}) else "",
        nodeps=NODEPS.format(packages=", ".join(f'"{name}"' for name in bare)) if bare else "",
    )


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
