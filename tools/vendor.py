"""Fetch the scripts that every page of the book serves itself.

    python -m tools.vendor

The files come from npm packages of fixed version (`npm pack`), are patched where PATCHES says so, and land in
book/_static/vendor/ with their licences and manifest.json (package, version, file, sha256, licence). They are
committed, so building the book needs neither npm nor a network; run this only to move to another version.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "book" / "_static" / "vendor"

REQUIREJS_LICENCE = """\
The package ships no licence file; its script names the MIT licence in its header. The licence, in full:

Copyright jQuery Foundation and other contributors

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""


@dataclass(frozen=True)
class Package:
    """One npm package: which of its files to keep, and under which folder."""

    name: str
    version: str
    folder: str
    files: tuple[str, ...]  # glob patterns inside the package
    strip: str = ""  # leading part of the path that is dropped
    texts: dict[str, str] = field(default_factory=dict)  # further files written as they are


PACKAGES = (
    Package("requirejs", "2.3.8", "requirejs", ("require.js",), texts={"LICENSE": REQUIREJS_LICENCE}),
    Package(
        "@jupyter-widgets/html-manager",
        "1.0.14",
        "html-manager",
        ("LICENSE", "dist/embed-amd.js", "dist/embed.js.LICENSE.txt"),
        strip="dist/",
    ),
    Package(
        "mathjax",
        "3.2.2",
        "mathjax",
        ("LICENSE", "es5/tex-chtml-full.js", "es5/output/chtml/fonts/woff-v2/*.woff"),
        strip="es5/",
    ),
)


def drop_icon_fonts(text: str) -> str:
    """Take Font Awesome 5 out of the widget manager's style.

    Its rules would claim the icon classes of the page's own theme, and its font files are asked for relative to
    the page, where they are not. Without them the theme's newer Font Awesome draws every icon.
    """
    face = re.compile(r'@font-face\{font-family:"Font Awesome 5 [^"]*";(?:\$\{[^{}]*\}|[^{}])*\}')
    family = re.compile(r'\.fa[a-z,.]*\{font-family:"Font Awesome 5 [^"]*"\}')
    text, faces = face.subn("", text)
    text, families = family.subn("", text)
    if not faces or not families:
        raise ValueError(f"the icon fonts were not found: {faces} @font-face and {families} font-family rules")
    return text


def typeset_with_mathjax_3(text: str) -> str:
    """Let the widget manager typeset labels with MathJax 3.

    It calls the queue of MathJax 2, which is an error on every page that has both formulas and widgets.
    """
    old = 'void 0!==window.MathJax&&MathJax.Hub.Queue(["Typeset",MathJax.Hub,e])'
    new = "function w(){window.MathJax&&(MathJax.typeset?MathJax.typeset([e]):setTimeout(w,200))}()"
    if text.count(old) != text.count("MathJax.Hub.Queue") or old not in text:
        raise ValueError("the widget manager's call of MathJax 2 was not found")
    return text.replace(old, f"!{new}")


PATCHES: dict[str, tuple[Callable[[str], str], ...]] = {
    "html-manager/embed-amd.js": (drop_icon_fonts, typeset_with_mathjax_3),
}


def fetch(package: Package, into: Path) -> Path:
    """Unpack `package` from npm below `into`; return the folder of its files."""
    command = ["npm", "pack", "--silent", f"{package.name}@{package.version}"]
    done = subprocess.run(command, cwd=into, capture_output=True, text=True)
    if done.returncode:
        raise ValueError(f"{' '.join(command)} failed: {done.stderr.strip() or 'no message'}")
    with tarfile.open(into / done.stdout.split()[-1]) as archive:
        archive.extractall(into / package.folder, filter="data")
    return into / package.folder / "package"


def place(package: Package, source: Path, target: Path) -> list[dict[str, str]]:
    """Copy the kept files of `package` below `target`; return their manifest entries."""
    licence = json.loads((source / "package.json").read_text(encoding="utf-8"))["license"]
    found = {p for pattern in package.files for p in source.glob(pattern)}
    contents = {p.relative_to(source).as_posix().removeprefix(package.strip): p.read_bytes() for p in found}
    contents |= {name: text.encode() for name, text in package.texts.items()}
    entries = []
    for name in sorted(contents):
        file = f"{package.folder}/{name}"
        data = contents[name]
        for patch in PATCHES.get(file, ()):
            data = patch(data.decode()).encode()
        (target / file).parent.mkdir(parents=True, exist_ok=True)
        (target / file).write_bytes(data)
        entry = {"package": package.name, "version": package.version, "file": file}
        entry |= {"sha256": hashlib.sha256(data).hexdigest(), "licence": licence}
        if file in PATCHES:
            entry["patch"] = " ".join((patch.__doc__ or "").split("\n")[0] for patch in PATCHES[file])
        entries.append(entry)
    return entries


def main() -> int:
    """Replace the vendored files by fresh copies; print what was written."""
    if shutil.which("npm") is None:
        print("npm is missing: install Node.js, which brings it", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder) / "vendor"
        entries = [entry for p in PACKAGES for entry in place(p, fetch(p, Path(folder)), fresh)]
        (fresh / "manifest.json").write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")
        shutil.rmtree(TARGET, ignore_errors=True)
        shutil.copytree(fresh, TARGET)
    print(f"{len(entries)} files in {TARGET.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
