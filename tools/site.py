"""`make site URL=https://github.com/OWNER/NAME`: move the repository's address everywhere at once.

The one place that names the address is `repository: url:` in `_config.yml`; README, citation, package metadata, badges
and the bootstrap cells of the notebooks repeat it. Stored outputs are kept: no notebook is executed.
"""

import re
import subprocess
import sys
from pathlib import Path

import yaml

from iclr26lib.chapters import NOTEBOOKS, ROOT, present
from tools import notebooks, outputs

ADDRESS = re.compile(r"https://github\.com/([A-Za-z0-9-]+)/([A-Za-z0-9._-]+)")
HOSTED = "https://{owner}.github.io/{name}"


def address(root: Path = ROOT) -> str:
    """Return the repository's address. Raises ValueError when `_config.yml` has none of the right form."""
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    return checked(str(config.get("repository", {}).get("url", "")))


def checked(url: str) -> str:
    """Return an address without its last slash. Raises ValueError unless it is https://github.com/OWNER/NAME."""
    url = url.rstrip("/").removesuffix(".git")
    if not ADDRESS.fullmatch(url):
        raise ValueError(f"{url!r} is not an address of the form https://github.com/OWNER/NAME")
    return url


def forms(url: str) -> list[str]:
    """Return the ways in which text repeats an address: whole, as owner/name, and as the published book's place."""
    owner, name = ADDRESS.fullmatch(url).groups()
    return [url, HOSTED.format(owner=owner.lower(), name=name), f"{owner}/{name}"]


def tracked(root: Path = ROOT) -> list[Path]:
    """Return the text files that git tracks, and those that it would."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=root,
        capture_output=True,
        check=True,
    )
    paths = [root / name for name in listed.stdout.decode().split("\0") if name]
    return [path for path in paths if path.is_file() and b"\0" not in path.read_bytes()[:8192]]


def move(url: str, root: Path = ROOT) -> list[Path]:
    """Write the new address wherever the old one stands; return the changed files. Raises ValueError as `checked`."""
    pairs = list(zip(forms(address(root)), forms(checked(url)), strict=True))
    changed = []
    for path in tracked(root):
        old = text = path.read_text(encoding="utf-8")
        for before, after in pairs:
            text = re.sub(rf"(?<![\w.-]){re.escape(before)}(?![\w-])", after, text)
        if text != old:
            path.write_text(text, encoding="utf-8")
            changed.append(path)
    for slug in present(root):
        for name in NOTEBOOKS:
            if outputs.stale(slug, name, root) is None:
                notebooks.write(outputs.refreshed(slug, name, root), root / "book" / slug / f"{name}.ipynb")
    return changed


def main(url: str, root: Path = ROOT) -> int:
    """Move the address and list the files; return 2 for an address of another form."""
    try:
        changed = move(url, root)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for path in changed:
        print(path.relative_to(root))
    print(f"{len(changed)} files now say {checked(url)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
