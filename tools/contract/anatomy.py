"""Rules about the build of a notebook: tags, parameters, exercises, section titles."""

import ast
import re
from pathlib import Path

from iclr26lib.chapters import NOTEBOOKS
from iclr26lib.digest import cells
from tools import bootstrap

PARAMETERS = {"scale": None, "seed": 0, "device": "auto", "overrides": {}}
HEADINGS = {
    "idea": ["The problem", "The method, step by step", "Move it", "Exercises", "What to read next"],
    "evidence": [
        "The claims",
        "Data and baselines",
        "The runs",
        "Figures",
        "The ledger",
        "Main ablation",
        "What it cost",
        "What we found while rebuilding",
        "What this cannot show",
        "Run it at full scale",
    ],
}
FEWEST_EXERCISES, MOST_EXERCISES = 2, 3


def sources(slug: str, root: Path) -> dict[str, list[tuple[str, list[str], str]]]:
    """Return the cells (kind, tags, text) of the chapter's notebooks that exist, by name."""
    paths = {name: root / "book" / slug / f"{name}.py" for name in NOTEBOOKS}
    return {name: cells(path.read_text(encoding="utf-8")) for name, path in paths.items() if path.is_file()}


def tagged(found: list[tuple[str, list[str], str]], tag: str) -> list[str]:
    """Return the texts of the cells that carry a tag."""
    return [text for _, tags, text in found if tag in tags]


def tags(slug: str, root: Path) -> list[str]:
    """The first code cell is the one bootstrap cell, and one cell holds the parameters."""
    found = []
    for name, notebook in sources(slug, root).items():
        code = [marks for kind, marks, _ in notebook if kind == "code"]
        for tag in ("bootstrap", "parameters"):
            if (count := len(tagged(notebook, tag))) != 1:
                found.append(f"book/{slug}/{name}.py has {count} cells tagged {tag}, one is wanted")
        if code and "bootstrap" not in code[0]:
            found.append(f"book/{slug}/{name}.py: the first code cell is not the bootstrap cell")
    return found


def bootstraps(slug: str, root: Path) -> list[str]:
    """The bootstrap cell is the one that follows from the repository's address and version."""
    wanted = bootstrap.cell(slug, root)
    return [
        f"book/{slug}/{name}.py has another bootstrap cell than it should (python -m tools.bootstrap)"
        for name, notebook in sources(slug, root).items()
        if any(text.strip() != wanted for text in tagged(notebook, "bootstrap"))
    ]


def parameters(slug: str, root: Path) -> list[str]:
    """The parameters cell sets the four names to their defaults and does nothing else."""
    found = []
    for name, notebook in sources(slug, root).items():
        for text in tagged(notebook, "parameters"):
            if (given := _assignments(text)) != PARAMETERS:
                found.append(f"book/{slug}/{name}.py: the parameters cell must set {PARAMETERS}, it sets {given}")
    return found


def _assignments(text: str) -> dict | str:
    """Return name -> literal of a cell of plain assignments, or the cell's text when it is anything else."""
    given = {}
    for statement in ast.parse(text).body:
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if not isinstance(target, ast.Name):
            return text
        try:
            given[target.id] = ast.literal_eval(statement.value)
        except ValueError:
            return text
    return given


def exercises(slug: str, root: Path) -> list[str]:
    """The idea has two or three exercises, each followed by a folded solution."""
    notebook = sources(slug, root).get("idea", [])
    order = [tag for _, marks, _ in notebook for tag in ("exercise", "solution") if tag in marks]
    count, where = order.count("exercise"), f"book/{slug}/idea.py"
    found = []
    if not FEWEST_EXERCISES <= count <= MOST_EXERCISES:
        found.append(f"{where} has {count} cells tagged exercise, {FEWEST_EXERCISES} or {MOST_EXERCISES} are wanted")
    if order != ["exercise", "solution"] * count:
        found.append(f"{where}: each exercise needs one cell tagged solution after it, the order is {order}")
    if any("solution" in marks and "hide-output" not in marks for _, marks, _ in notebook):
        found.append(f"{where}: a solution is not folded (tags remove-input, hide-output)")
    return found


def headings(slug: str, root: Path) -> list[str]:
    """The sections that every chapter has are there, in their order, under a single title."""
    found = []
    for name, notebook in sources(slug, root).items():
        text = "\n".join(text for kind, _, text in notebook if kind == "markdown")
        lines = [re.sub(r"^# ?", "", line) for line in text.splitlines()]
        sections = [line[3:].strip() for line in lines if line.startswith("## ")]
        where = f"book/{slug}/{name}.py"
        missing = [title for title in HEADINGS[name] if title not in sections]
        found += [f"{where} has no section '## {title}'" for title in missing]
        order = [title for title in sections if title in HEADINGS[name]]
        if not missing and order != HEADINGS[name]:
            found.append(f"{where}: the sections must stand in the order {', '.join(HEADINGS[name])}")
        if (count := sum(line.startswith("# ") for line in lines)) != 1:
            found.append(f"{where} has {count} titles ('# ...'), one is wanted")
    return found
