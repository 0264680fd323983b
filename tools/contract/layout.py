"""Rules about files: all there, in the table of contents, made by the present code, small, clean."""

import re
from pathlib import Path

import yaml

from iclr26lib import resources
from iclr26lib.chapters import NOTEBOOKS
from tools import machine_paths, notebooks
from tools.outputs import outdated

LARGEST_NOTEBOOK = 700_000
FOREIGN = re.compile(
    r"""\bsrc\s*=\s*\\?["']?(?:https?:)?//|url\(\s*\\?["']?(?:https?:)?//|<link\b[^>]*\bhref\s*=\s*\\?["']?(?:https?:)?//"""
    r"""|@import\s+\\?["'](?:https?:)?//|\b(?:fetch|import|require)\(\s*\\?["'](?:https?:)?//"""
)


def expected(slug: str) -> list[str]:
    """Return the files that a chapter consists of."""
    pairs = [f"book/{slug}/{name}.{ending}" for name in NOTEBOOKS for ending in ("py", "ipynb")]
    package = [f"iclr26lib/{slug}/{name}.py" for name in ("__init__", "presets", "resources", "exercises")]
    rest = [f"book/{slug}/claims.yaml", f"tests/test_{slug}.py", f"benchmarks/{slug}.py", f"results/book/{slug}.json"]
    return pairs + package + rest


def files(slug: str, root: Path) -> list[str]:
    """Every file of the chapter exists."""
    return [f"{name} is missing" for name in expected(slug) if not (root / name).is_file()]


def needs(slug: str, root: Path) -> list[str]:
    """The chapter says what a run needs at each scale, and its preset has the fields that count seeds."""
    counting = resources.of(slug, root).one_seed
    source = (root / "iclr26lib" / slug / "presets.py").read_text(encoding="utf-8")
    return [
        f"resources.py counts seeds in {name!r}, which no preset has" for name in counting if f"{name}:" not in source
    ]


def contents(slug: str, root: Path) -> list[str]:
    """Both notebooks are in the table of contents, with their suffix."""
    listed = set(_files_in(yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))))
    wanted = [f"book/{slug}/{name}.ipynb" for name in NOTEBOOKS]
    return [f"_toc.yml does not list {name}" for name in wanted if name not in listed]


def _files_in(entry: object) -> list[str]:
    if isinstance(entry, list):
        return [name for item in entry for name in _files_in(item)]
    if isinstance(entry, dict):
        own = [entry["file"]] if "file" in entry else []
        return own + [name for value in entry.values() for name in _files_in(value)]
    return []


def fresh(slug: str, root: Path) -> list[str]:
    """Stored outputs, their text and the record are those of the present sources."""
    reasons = {name: outdated(slug, name, root) for name in NOTEBOOKS}
    return [
        f"book/{slug}/{name}.ipynb is out of date: {reason} (make outputs CHAPTER={slug})"
        for name, reason in reasons.items()
        if reason
    ]


def stored(slug: str, root: Path) -> dict[str, notebooks.NotebookNode]:
    """Return the stored notebooks of a chapter that exist, by name."""
    found = {name: notebooks.read_stored(root / "book" / slug / f"{name}.ipynb") for name in NOTEBOOKS}
    return {name: notebook for name, notebook in found.items() if notebook is not None}


def sizes(slug: str, root: Path) -> list[str]:
    """No notebook is too large to be read on a slow line."""
    paths = [root / "book" / slug / f"{name}.ipynb" for name in NOTEBOOKS]
    return [
        f"{path.relative_to(root)} has {path.stat().st_size // 1000} kB, at most {LARGEST_NOTEBOOK // 1000} are allowed"
        for path in paths
        if path.is_file() and path.stat().st_size > LARGEST_NOTEBOOK
    ]


def outputs_of(notebook: notebooks.NotebookNode) -> list[tuple[int, object]]:
    """Return (cell number from 1, output) for every output of a notebook."""
    return [(n, out) for n, cell in enumerate(notebook.cells, start=1) for out in cell.get("outputs", [])]


def outputs(slug: str, root: Path) -> list[str]:
    """Outputs show no place of the machine, ask no other host for anything, and hold no error."""
    found = []
    for name, notebook in stored(slug, root).items():
        where = f"book/{slug}/{name}.ipynb"
        found += [f"{where} shows a path of the machine: {place}" for place in machine_paths.in_outputs(notebook)]
        found += [f"{where} cell {n} holds an error" for n, out in outputs_of(notebook) if out.output_type == "error"]
        everything = [*outputs_of(notebook), (0, notebook.metadata.get("widgets", {}))]
        for number, out in everything:
            if any(FOREIGN.search(text) for text in machine_paths.strings(out)):
                found.append(
                    f"{where} {f'cell {number}' if number else 'widget state'} asks another host for something"
                )
    return found
