"""Numbered equations, the functions that compute them and the tests that check them, read from the syntax trees.

A function claims an equation by a line of its docstring, `Equation (5): $...$`; a test by the mark
`@pytest.mark.equation("SLUG", "5")`. Nothing is imported, so the page can be made without the library's dependencies.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LINE = re.compile(r"^\s*Equations? \(([^)]+)\):?\s*(.*)$")


@dataclass(frozen=True)
class Place:
    """Where something is defined: a file relative to the root, its name there, its line."""

    file: str
    name: str
    line: int


@dataclass(frozen=True)
class Equation:
    """One numbered equation of a paper: its label, its text (MyST), the function that computes it."""

    slug: str
    label: str
    text: str
    function: Place


def _definitions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every function and class below `node` with its dotted name."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield prefix + child.name, child
            if isinstance(child, ast.ClassDef):
                yield from _definitions(child, f"{prefix}{child.name}.")


def _tree(path: Path) -> ast.Module:
    """Return the syntax tree of a file; raise ValueError in one line where it has none."""
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    except SyntaxError as error:
        raise ValueError(f"{path.name} line {error.lineno}: {error.msg}") from error


def in_docstring(docstring: str) -> list[tuple[str, str]]:
    """Return (label, text) of each `Equation (label): text` line; a formula may run on until its last dollar sign."""
    lines = docstring.splitlines()
    found = []
    for position, line in enumerate(lines):
        match = LINE.match(line)
        if not match:
            continue
        text = match[2].strip()
        for following in lines[position + 1 :]:
            if text.replace("\\$", "").count("$") % 2 == 0 or not following.strip():
                break
            text += " " + following.strip()
        found.append((match[1].strip(), text))
    return found


def declared(slug: str, root: Path) -> list[Equation]:
    """Return the equations of a chapter's package, in the order of files and lines."""
    found = []
    for path in sorted((root / "iclr26lib" / slug).rglob("*.py")):
        file = path.relative_to(root).as_posix()
        for name, node in _definitions(_tree(path)):
            for label, text in in_docstring(ast.get_docstring(node) or ""):
                found.append(Equation(slug, label, text, Place(file, name, node.lineno)))
    return sorted(found, key=lambda e: _order(e.label))


def _order(label: str) -> tuple[int, str]:
    """Sort key of a label: numbers first, by value."""
    number = re.match(r"\d+", label)
    return (int(number[0]) if number else 10**6, label)


def tested(root: Path) -> dict[tuple[str, str], list[Place]]:
    """Return the tests that carry an equation mark, by (slug, label)."""
    found: dict[tuple[str, str], list[Place]] = {}
    for path in sorted((root / "tests").rglob("test_*.py")):
        for name, node in _definitions(_tree(path)):
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.equation":
                    values = [arg.value for arg in mark.args if isinstance(arg, ast.Constant)]
                    if len(values) != 2:
                        raise ValueError(f"{path.name}: {name} needs @pytest.mark.equation(slug, label)")
                    place = Place(path.relative_to(root).as_posix(), name, node.lineno)
                    found.setdefault((str(values[0]), str(values[1])), []).append(place)
    return found


def link(place: Place, repository: str, text: str) -> str:
    """Return a link to the line in the repository."""
    return f"[{text}]({repository}/blob/main/{place.file}#L{place.line})"


def sentence(name: str) -> str:
    """Return the name of a test as the words that it is made of."""
    return name.rpartition(".")[2].removeprefix("test_").replace("_", " ")


def shared(catalogue: list[dict[str, Any]], root: Path) -> list[str]:
    """Return the names of the packages that belong to no single chapter and compute equations, e.g. "flows"."""
    slugs = {entry["slug"] for entry in catalogue}
    names = (path.parent.name for path in sorted((root / "iclr26lib").glob("*/__init__.py")))
    return [name for name in names if name not in slugs and declared(name, root)]


def page(catalogue: list[dict[str, Any]], present: list[str], repository: str, root: Path) -> str:
    """Return one table a chapter, then one a shared package: equation, function, tests."""
    from tools.pages import list_table

    tests = tested(root)
    text = []
    common = shared(catalogue, root)
    for entry in [*catalogue, *({"slug": name, "title": f"Shared: `{name}`"} for name in common)]:
        found = declared(entry["slug"], root) if entry["slug"] in [*present, *common] else []
        if not found:
            continue
        rows = [["Equation", "Function", "Tests"]]
        for equation in found:
            checks = tests.get((equation.slug, equation.label), [])
            shown = ["\n\n".join(link(p, repository, sentence(p.name)) for p in checks) or "none yet"]
            label = equation.label if not equation.label[0].isdigit() else f"({equation.label})"
            module = equation.function.file.removesuffix(".py").replace("/", ".")
            function = f"{link(equation.function, repository, f'`{equation.function.name}`')}\n\n[{module}]{{.small}}"
            rows.append([f"**{label}** {equation.text}".strip(), function, *shown])
        text.append(f"## {entry['title']}\n\n" + list_table(rows, "38 27 35", "equations"))
    return "\n".join(text) or "No chapter has equations yet.\n"
