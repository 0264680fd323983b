"""Rules about text: no measured number is typed into it, and nothing is left to be written.

A number in prose counts as measured when it is written as a percentage or with two or more decimals, has two or more
significant digits, and equals, rounded as it is written, a value in a record of the chapter (or a hundred times it).
It may stand there all the same where the claims file gives it as the paper's, where it is a setting of the run, and
in a paragraph, list item or table row that carries the mark [paper].
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from tools import promote
from tools.contract.anatomy import sources

NUMBER = re.compile(r"(?<![\w.,/-])(\d+(?:\.\d+)?)(\s?%)?(?![\w/]|\.\d)")
NOT_PROSE = re.compile(r"```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$]*\$|\]\([^)]*\)|https?://\S+|arXiv:?\s*\S+", re.DOTALL)
PAPER = "[paper]"
TO_WRITE = re.compile(r"\bTO WRITE\b.*")
ALWAYS_FINE = {("95", True), ("50", True), ("100", True)}


def numbers(value: object) -> Iterator[float]:
    """Yield every number inside nested lists and dicts."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return
    if isinstance(value, int | float):
        yield float(value)
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else []:
        yield from numbers(item)


def blocks(text: str) -> list[str]:
    """Split markdown into paragraphs, list items and table rows."""
    marked = re.sub(r"^(\s*(?:[-*|]|\d+\.)\s?)", r"\n\1", text, flags=re.MULTILINE)
    return [block for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*|]|\d+\.)\s?)", marked) if block.strip()]


def candidates(text: str) -> list[tuple[str, bool]]:
    """Return the numbers (as written, whether a percentage) in markdown that look measured."""
    found = []
    for block in blocks(text):
        if PAPER in block:
            continue
        for written, percent in NUMBER.findall(NOT_PROSE.sub(" ", block)):
            decimals = len(written.partition(".")[2])
            digits = len(written.replace(".", "").strip("0"))
            if digits >= 2 and (percent or decimals >= 2) and (written, bool(percent)) not in ALWAYS_FINE:
                found.append((written, bool(percent)))
    return found


def is_among(written: str, percent: bool, values: set[float]) -> bool:
    """Whether a number as written is one of the values, rounded to the decimals it shows."""
    decimals = len(written.partition(".")[2])
    factors = (1, 100) if percent else (1,)
    return any(round(value * factor, decimals) == float(written) for value in values for factor in factors)


def typed_numbers(slug: str, root: Path) -> list[str]:
    """No number of the chapter's records stands in its prose."""
    found = []
    measured, given = values_of(slug, root)
    for name, notebook in sources(slug, root).items():
        for kind, _, text in notebook:
            prose = re.sub(r"^# ?", "", text, flags=re.MULTILINE)
            for written, percent in candidates(prose) if kind == "markdown" else []:
                if is_among(written, percent, measured) and not is_among(written, percent, given):
                    shown = f"{written} %" if percent else written
                    found.append(f"book/{slug}/{name}.py types {shown}, a measured value: print it from a cell")
    return found


def values_of(slug: str, root: Path) -> tuple[set[float], set[float]]:
    """Return the values that the records measured, and those that may be typed: the paper's, and settings."""
    claims = root / "book" / slug / "claims.yaml"
    text = claims.read_text(encoding="utf-8") if claims.is_file() else ""
    given = {float(number) for number in re.findall(r"\d+\.\d+|\d+", text)}
    measured: set[float] = set()
    for scale in ("book", "full"):
        path = promote.stored(slug, scale, root)
        if path.is_file():
            record = json.loads(path.read_text(encoding="utf-8"))
            given |= set(numbers(record.get("parameters")))
            for part in ("measurements", "tables", "claims", "cost"):
                measured |= set(numbers(record.get(part)))
    return measured, given


def unfinished(slug: str, root: Path) -> list[str]:
    """Nothing of the template's "TO WRITE" is left in any file of the chapter."""
    places = [*(root / "book" / slug).glob("*.py"), *(root / "book" / slug).glob("*.yaml")]
    places += [
        *(root / "iclr26lib" / slug).glob("*.py"),
        root / f"tests/test_{slug}.py",
        root / f"benchmarks/{slug}.py",
    ]
    return [
        f"{path.relative_to(root)}: {line.group().strip(' .#')}"
        for path in sorted(places)
        if path.is_file()
        for line in TO_WRITE.finditer(path.read_text(encoding="utf-8"))
    ]
