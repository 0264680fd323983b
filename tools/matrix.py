"""`python -m tools.matrix floor|ceiling`: every chapter's notebooks on the oldest and the newest that readers have.

The environment holds what a reader of the chapters installs, from the ranges in pyproject.toml, and the test tools.
`floor`: constraints/floor.txt, and whatever it does not name at the lower end of its range. `ceiling`:
constraints/ceiling.txt, and the rest as new as it gets. An environment is left alone while what it is made of holds.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

from tools.env import ROOT, Missing
from tools.suite import NBVAL, OFFLINE, ONE_THREAD, PAIR

PYTHONS = {"floor": "3.11", "ceiling": "3.13"}
CHECKERS = ("nbval", "papermill", "pytest", "pytest-xdist")
SHOWN = ("torch", "numpy", "scipy", "matplotlib", "ipywidgets", "ipython", "ipykernel")
GIGABYTES = 10.0  # torch's build with CUDA, while pip unpacks it
NAME = re.compile(r"^[A-Za-z0-9._-]+")
LOWER = re.compile(r">=\s*([0-9][0-9.]*)")
CLOSING = re.compile(r"\d+ (?:passed|failed|error).* in [\d.]+s")
QUIET = {**OFFLINE, "ICLR26_SCALE": "smoke"}


def name_of(requirement: str) -> str:
    """Return the package that a requirement line names, in pip's normal form."""
    return re.sub(r"[-_.]+", "-", NAME.match(requirement).group()).lower()


def lines_of(path: Path) -> list[str]:
    """Return the requirement lines of a file, without comments and references to other files."""
    lines = [line.split("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if line and not line.startswith("-")]


def readers_install(root: Path = ROOT) -> list[str]:
    """Return the requirements of the library and of all its extras, one for each chapter that has any."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project.get("optional-dependencies", {})
    return list(dict.fromkeys([*project["dependencies"], *(line for name in sorted(extras) for line in extras[name])]))


def constraints(kind: str, root: Path = ROOT) -> list[str]:
    """Return what pip may not stray from: the file of this kind, and at the floor the lower end of each other range."""
    given = lines_of(root / "constraints" / f"{kind}.txt")
    if kind != "floor":
        return given
    named = {name_of(line) for line in given}
    ranges = {name_of(line): LOWER.search(line) for line in readers_install(root)}
    return given + [f"{name}=={low[1]}" for name, low in ranges.items() if low and name not in named]


def checkers(root: Path = ROOT) -> list[str]:
    """Return the test tools at the versions of requirements.txt; ipykernel belongs to the tested side."""
    pinned = {name_of(line): line for line in lines_of(root / "requirements.txt")}
    return [*(pinned[name] for name in CHECKERS), "ipykernel"]


def stamp(kind: str, version: str, root: Path = ROOT) -> str:
    """Return what the environment is made of, as one line."""
    bare = lines_of(root / "requirements-nodeps.txt")
    parts = [*readers_install(root), "|", *constraints(kind, root), "|", *checkers(root), "|", *bare]
    return f"{version} {hashlib.sha256(' '.join(parts).encode()).hexdigest()}"


def find_python(kind: str, given: str | None = None) -> str:
    """Return the interpreter for this kind: the given one, this one, or one on the path. Raises Missing."""
    wanted = PYTHONS[kind]
    for candidate in filter(None, [given, sys.executable, shutil.which(f"python{wanted}")]):
        if version_of(candidate).startswith(f"{wanted}."):
            return candidate
        if candidate == given:
            raise Missing(f"{kind} runs on Python {wanted}; {given} is {version_of(given) or 'no Python'}")
    raise Missing(f"{kind} runs on Python {wanted}, which is not here: install it, or name it with --python PATH")


def version_of(python: str) -> str:
    """Return the version of an interpreter, "" when it cannot be run."""
    command = [python, "-c", "import sys; print('.'.join(map(str, sys.version_info[:3])))"]
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""


def installs(kind: str, limits: Path, root: Path = ROOT) -> list[list[str]]:
    """Return the arguments of the pip installs, in order: torch alone first, so that pip picks its build freely."""
    bound = ["--constraint", str(limits)]
    torch = next(line for line in readers_install(root) if name_of(line) == "torch")
    return [
        [*bound, torch],
        [*bound, *readers_install(root), *checkers(root)],
        ["--no-deps", "--requirement", str(root / "requirements-nodeps.txt")],
    ]


def build(kind: str, folder: Path, python: str, root: Path = ROOT) -> Path:
    """Make the environment unless it is there, and return its interpreter. Raises Missing when a step fails."""
    inside, mark, wanted = folder / "bin" / "python", folder / ".stamp", stamp(kind, version_of(python), root)
    if mark.is_file() and mark.read_text(encoding="utf-8") == wanted:
        return inside
    folder.parent.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder.parent).free / 1e9
    if free < GIGABYTES:
        raise Missing(f"{free:.1f} GB of disk are free at {folder.parent}, {kind} needs {GIGABYTES:.0f}: make room")
    began = time.time()
    print(f"making {folder} ...", flush=True)
    call([python, "-m", "venv", "--clear", str(folder)], "the environment could not be made")
    limits = folder / "constraints.txt"
    limits.write_text("\n".join(constraints(kind, root)) + "\n", encoding="utf-8")
    for step in installs(kind, limits, root):
        pip = [str(inside), "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check", *step]
        call(pip, f"pip could not install {' '.join(step)}; its own words are above")
    mark.write_text(wanted, encoding="utf-8")
    print(f"made {folder} in {time.time() - began:.0f} s", flush=True)
    return inside


def call(command: list[str], complaint: str) -> None:
    """Run one step with its words shown; raises Missing with the complaint when it fails."""
    if subprocess.run(command).returncode:
        raise Missing(complaint)


def versions(python: Path) -> str:
    """Return the versions that matter, as they are installed, in one line."""
    code = "import sys; from importlib.metadata import version as v; print('python', sys.version.split()[0], *(" + (
        "f'{name} {v(name)}' for name in sys.argv[1:]), sep=', ')"
    )
    done = subprocess.run([str(python), "-c", code, *SHOWN], capture_output=True, text=True)
    return done.stdout.strip().replace("python, ", "python ") or f"unknown: {done.stderr.strip().splitlines()[-1]}"


def notebooks(chapters: list[str], root: Path = ROOT) -> list[str]:
    """Return the folders to run: the chapters named, else the whole book. Raises Missing for an unknown one."""
    present = sorted(path.parent.name for path in (root / "book").glob("*/claims.yaml"))
    if unknown := [slug for slug in chapters if slug not in present]:
        raise Missing(f"no chapter {', '.join(unknown)}; chapters that can run: {', '.join(present) or 'none'}")
    return [f"book/{slug}" for slug in chapters] or ["book"]


def run(python: Path, kind: str, folders: list[str], root: Path = ROOT) -> tuple[int, str]:
    """Run notebooks at smoke scale, two kernels at a time with one thread each; return exit code and closing line."""
    pytest = [str(python), "-m", "pytest", "-p", "no:cacheprovider", *folders, *NBVAL, *PAIR]
    runs, path = (
        root / "runs" / "matrix" / kind,
        os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH")])),
    )
    variables = {**os.environ, **QUIET, **ONE_THREAD, "ICLR26_RUNS": str(runs), "PYTHONPATH": path}
    variables["PYTHONDONTWRITEBYTECODE"] = "1"  # this Python's caches are no use to the one you work with
    closing = "pytest said nothing"
    with subprocess.Popen(
        pytest, cwd=root, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            closing = line.strip("= \n") if CLOSING.search(line) else closing
    return process.returncode, closing


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Build, run, and say in one line how it went; return 0 when every cell of every notebook ran."""
    parser = argparse.ArgumentParser(prog="python -m tools.matrix", description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=sorted(PYTHONS))
    parser.add_argument("--folder", type=Path, help="where the environment goes; by default .venv-floor, .venv-ceiling")
    parser.add_argument("--python", help="the interpreter to make it with")
    parser.add_argument("--chapter", action="append", default=[], help="run this chapter only; may be repeated")
    options = parser.parse_args(arguments)
    try:
        folders = notebooks(options.chapter, root)
        python = find_python(options.kind, options.python)
        inside = build(options.kind, (options.folder or root / f".venv-{options.kind}").resolve(), python, root)
    except Missing as missing:
        print(f"error: {missing}", file=sys.stderr)
        return 1
    said = versions(inside)
    print(said, flush=True)
    code, closing = run(inside, options.kind, folders, root)
    print(f"{options.kind}: {'ok' if code == 0 else f'FAILED (exit {code})'}; {closing}; {said}", flush=True)
    return int(code != 0)


if __name__ == "__main__":
    sys.exit(main())
