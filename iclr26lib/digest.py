"""What a notebook's outputs depend on, as one number: its code and the library modules that it imports.

The digest is taken over syntax trees, so a comment, a docstring or the layout of the code leaves it alone, and it is
the same under every supported version of Python. Stored outputs and records carry it; when it no longer matches, they
are older than the code that made them.

Imports are resolved by reading, not by running: a module imported by a computed name (``importlib``) is not seen.
Modules that only keep the books of staleness (`BOOKKEEPING`) cannot change an output and are left out.
"""

import ast
import hashlib
import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from iclr26lib.chapters import ROOT

LIBRARY = "iclr26lib"
BOOKKEEPING = frozenset({"iclr26lib.chapters", "iclr26lib.digest"})
SKIPPED_FIELDS = frozenset({"ctx", "kind", "type_comment", "type_ignores"})
CELL = re.compile(r"^# %%(?P<options>.*)$", re.MULTILINE)
TAGS = re.compile(r"tags=(\[[^\]]*\])")


def cells(source: str) -> list[tuple[str, list[str], str]]:
    """Split a ``py:percent`` source into (kind, tags, text), kind being "code" or "markdown"."""
    marks = list(CELL.finditer(source))
    ends = [mark.start() for mark in marks[1:]] + [len(source)]
    found = []
    for mark, end in zip(marks, ends, strict=True):
        options = mark["options"].strip()
        tags = TAGS.search(options)
        kind = "markdown" if re.search(r"\[(markdown|md|raw)\]", options) else "code"
        found.append((kind, json.loads(tags[1]) if tags else [], source[mark.end() : end].strip("\n")))
    return found


def notebook_code(source: str) -> str:
    """Return the code of a ``py:percent`` source that can change an output: all code cells but the bootstrap cell."""
    return "\n".join(text for kind, tags, text in cells(source) if kind == "code" and "bootstrap" not in tags)


@lru_cache(maxsize=1024)
def canonical(source: str) -> str:
    """Return the syntax tree of `source` as text, without docstrings, comments, positions and empty fields.

    Raises ValueError when the source does not parse.
    """
    try:
        return "".join(_emit(ast.parse(source)))
    except SyntaxError as error:
        raise ValueError(
            f"cannot take a digest of code that does not parse: line {error.lineno}: {error.msg}"
        ) from error


def _emit(value: object) -> Iterator[str]:
    if isinstance(value, ast.AST):
        yield f"({type(value).__name__}"
        for name in sorted(value._fields):
            field = _field(value, name)
            if name not in SKIPPED_FIELDS and field is not None and field != []:
                yield f" {name}="
                yield from _emit(field)
        yield ")"
    elif isinstance(value, list):
        yield "["
        for item in value:
            yield from _emit(item)
            yield ","
        yield "]"
    else:
        yield f"{type(value).__name__}:{value!a}"


def _field(node: ast.AST, name: str) -> object:
    value = getattr(node, name, None)
    if isinstance(node, ast.Constant) and name == "value" and value is None:
        return "<None>"
    if name == "body" and isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return value[1:] if value and _is_text(value[0]) else value
    if name == "values" and isinstance(node, ast.JoinedStr):
        return _merged(value)
    return value


def _is_text(statement: ast.stmt) -> bool:
    constant = getattr(statement, "value", None) if isinstance(statement, ast.Expr) else None
    return isinstance(constant, ast.Constant) and isinstance(constant.value, str)


def _merged(parts: list) -> list:
    """Join neighbouring text parts of a formatted string: versions of Python cut them differently."""
    merged: list = []
    for part in parts:
        is_text = isinstance(part, ast.Constant)
        if is_text and merged and isinstance(merged[-1], ast.Constant):
            merged[-1] = ast.Constant(merged[-1].value + part.value)
        elif not is_text or part.value:
            merged.append(part)
    return merged


def module_file(name: str, root: Path = ROOT) -> Path | None:
    """Return the source file of the library module `name`, or None when there is no such module."""
    base = root.joinpath(*name.split("."))
    return next((path for path in (base / "__init__.py", base.with_suffix(".py")) if path.is_file()), None)


def modules(source: str, root: Path = ROOT) -> list[str]:
    """Return, sorted, all modules of the library that the code in `source` imports, directly or through others."""
    seen: set[str] = set()
    todo = list(_imported(source, "", root))
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        path = module_file(name, root)
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        todo.extend(_imported(path.read_text(encoding="utf-8"), package, root))
    return sorted(seen)


def _imported(source: str, package: str, root: Path) -> set[str]:
    """Return the existing library modules, with their parents, that one source names in import statements."""
    names: set[str] = set()
    for level, module, imported in _imports(source):
        above = package.split(".")[: len(package.split(".")) - level + 1] if level else []
        base = ".".join([*above, *([module] if module else [])])
        names.update([base, *(f"{base}.{name}" for name in imported)])
    names = {name for name in names if name.split(".")[0] == LIBRARY}
    parents = {".".join(name.split(".")[:depth]) for name in names for depth in range(1, name.count(".") + 2)}
    return {name for name in parents if module_file(name, root)}


@lru_cache(maxsize=1024)
def _imports(source: str) -> list[tuple[int, str | None, list[str]]]:
    """Return the import statements of one source as (level, module, names)."""
    found: list[tuple[int, str | None, list[str]]] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.extend((0, alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.append((node.level, node.module, [alias.name for alias in node.names]))
    return found


def claims_digest(path: Path | str) -> str:
    """Return the sha256 of the content of a claims file, whatever its layout and comments."""
    import yaml

    content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


def notebook_digest(path: Path | str, root: Path = ROOT) -> str:
    """Return the sha256 of everything in code that the outputs of the ``py:percent`` notebook at `path` depend on.

    That is its own code, each library module it imports, and for ``evidence.py`` the claims beside it.
    """
    path = Path(path)
    code = notebook_code(path.read_text(encoding="utf-8"))
    parts = [("notebook", canonical(code))]
    for name in modules(code, root):
        if name not in BOOKKEEPING:
            parts.append((name, canonical(module_file(name, root).read_text(encoding="utf-8"))))
    if path.stem == "evidence":
        parts.append(("claims", claims_digest(path.with_name("claims.yaml"))))
    return hashlib.sha256("\n".join(f"{name} {text}" for name, text in parts).encode()).hexdigest()


def chapter_digest(slug: str, root: Path = ROOT) -> str | None:
    """Return the digest of the notebook that writes the chapter's record, ``book/SLUG/evidence.py``.

    None when its source is not there, as where the library was installed without the book (Colab): a record
    made there says that its code is unknown, and is never promoted.
    """
    path = root / "book" / slug / "evidence.py"
    return notebook_digest(path, root) if path.is_file() else None
