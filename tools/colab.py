"""`python3 -m tools.colab`: every notebook as a reader in Colab gets it. Run it inside Colab's public runtime image.

Each notebook starts in an empty folder with `google.colab` loaded, so that its first cell installs the library by
itself, and every cell runs at smoke scale. A cell that fails is red, and so is an installation that replaces a package
which Colab ships. It needs nbclient and git, which the image has, and nothing of this repository but the notebooks.
"""

import argparse
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ("idea", "evidence")
KEPT = (
    "torch",
    "numpy",
    "scipy",
    "matplotlib",
    "ipywidgets",
    "ipython",
    "ipykernel",
    "pandas",
    "scikit-learn",
    "pillow",
)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
ADDRESS = re.compile(r'address, tag = "([^"]+)", ')


def versions() -> dict[str, str]:
    """Return the versions of what Colab ships, as a fresh Python sees them."""
    code = (
        "import sys\nfrom importlib import metadata\nfor name in sys.argv[1:]:\n"
        "    try: print(name, metadata.version(name))\n    except metadata.PackageNotFoundError: print(name, 'none')\n"
    )
    said = subprocess.run([sys.executable, "-c", code, *KEPT], capture_output=True, text=True, check=True).stdout
    return dict(line.split() for line in said.splitlines())


def replaced(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Return a line for each package that was there before and is another now."""
    return [f"{name} {old} became {after[name]}" for name, old in before.items() if old not in ("none", after[name])]


def as_in_colab(path: Path):
    """Return a notebook with a first cell that loads what Colab has loaded when a reader arrives."""
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell("import google.colab"))
    return notebook


def failure(path: Path, folder: Path, seconds: int, variables: dict[str, str]) -> str | None:
    """Run a notebook in an empty folder at smoke scale; return its error in a few lines, None when every cell ran."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellControlSignal, CellExecutionError, DeadKernelError

    client = NotebookClient(
        as_in_colab(path), timeout=seconds, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    ours = {key: value for key, value in os.environ.items() if not key.startswith("ICLR26_")}
    try:
        client.execute(env={**ours, **variables, "ICLR26_SCALE": "smoke"})
    except (CellExecutionError, CellControlSignal, DeadKernelError) as error:
        return "\n".join(COLOUR.sub("", str(error)).strip().splitlines()[-25:])
    return None


@contextlib.contextmanager
def this_commit(root: Path = ROOT) -> Iterator[dict[str, str]]:
    """Yield variables under which git takes this commit for the tag that the first cell clones.

    Nothing is changed in the repository or in git's own settings: the tag is in a copy, the detour in a file.
    """
    version = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    with tempfile.TemporaryDirectory(prefix="colab-") as place:
        settings, copy = Path(place, "gitconfig"), Path(place, "copy.git")
        detour = "".join(f'[url "file://{copy}"]\n\tinsteadOf = {address}\n' for address in addresses(root))
        settings.write_text(f"[safe]\n\tdirectory = *\n{detour}", encoding="utf-8")
        variables = {"GIT_CONFIG_GLOBAL": str(settings)}
        for words in (
            ["clone", "--quiet", "--bare", str(root), str(copy)],
            ["-C", str(copy), "tag", "--force", f"v{version}"],
        ):
            subprocess.run(["git", *words], env={**os.environ, **variables}, stdout=subprocess.DEVNULL, check=True)
        yield variables


def addresses(root: Path = ROOT) -> set[str]:
    """Return what the first cells clone. Raises ValueError when a notebook's first cell clones nothing."""
    found = set()
    for path in (notebook.with_suffix(".py") for notebook in chosen([], root)):
        address = ADDRESS.search(path.read_text(encoding="utf-8"))
        if address is None:
            raise ValueError(f"{path.relative_to(root)} has no first cell for Colab: `python -m tools.bootstrap`")
        found.add(address[1])
    return found


def chosen(chapters: list[str], root: Path = ROOT) -> list[Path]:
    """Return the notebooks of the chapters named, else of all. Raises ValueError when there is none."""
    slugs = chapters or sorted(path.parent.name for path in root.glob("book/*/claims.yaml"))
    paths = [root / "book" / slug / f"{name}.ipynb" for slug in slugs for name in NOTEBOOKS]
    if not paths or not all(path.is_file() for path in paths):
        raise ValueError(f"no notebook at {next((path for path in paths if not path.is_file()), root / 'book')}")
    return paths


def check(paths: list[Path], seconds: int, variables: dict[str, str]) -> list[str]:
    """Run notebooks one after another; return a piece of report for each that failed, printing as it goes."""
    before, problems = versions(), []
    for path in paths:
        began, name = time.perf_counter(), f"{path.parent.name}/{path.stem}"
        with tempfile.TemporaryDirectory(prefix="content-") as folder:
            wrong = failure(path, Path(folder), seconds, variables)
        print(f"{name}: {'FAILED' if wrong else 'ok'}, {time.perf_counter() - began:.0f} s", flush=True)
        if wrong:
            print(wrong, flush=True)
            problems.append(f"`{name}` failed:\n\n```\n{wrong}\n```")
        if changed := replaced(before, versions()):
            problems.append(f"`{name}` replaced what Colab ships: {', '.join(changed)}")
            before = versions()
    return problems


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Check all notebooks, write the report, and say in one line how it went; return 0 when all is well."""
    parser = argparse.ArgumentParser(prog="python3 -m tools.colab", description=__doc__.splitlines()[0])
    parser.add_argument("--chapter", action="append", default=[], help="this chapter only; may be repeated")
    parser.add_argument("--here", action="store_true", help="the first cell gets this commit, not the tag")
    parser.add_argument("--report", type=Path, help="where to write what went wrong, in Markdown")
    parser.add_argument("--seconds", type=int, default=900, help="what one cell may take")
    options = parser.parse_args(arguments)
    try:
        paths = chosen(options.chapter, root)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    shipped = ", ".join(f"{name} {found}" for name, found in versions().items())
    said = f"Python {sys.version.split()[0]}, {shipped}"
    print(said, flush=True)
    with this_commit(root) if options.here else contextlib.nullcontext({}) as variables:
        problems = check(paths, options.seconds, variables)
    if options.report:
        options.report.parent.mkdir(parents=True, exist_ok=True)
        options.report.write_text("\n\n".join([*problems, said]) + "\n", encoding="utf-8")
    print(
        f"colab: {'ok' if not problems else f'FAILED ({len(problems)} problems)'}; {len(paths)} notebooks", flush=True
    )
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
