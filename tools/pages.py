"""The generated parts of the book's pages, as MyST text: cards, scoreboard, equations, data, vendored scripts.

    python -m tools.pages

Plain functions turn claims, records, notebooks and the library's source into text; `write_all` puts it under
book/_generated/, touching a file only when its content changed. A Sphinx extension calls it before each build.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import re
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

from iclr26lib import chapters, claims, digest, records, style
from tools import equations

ROOT = Path(__file__).resolve().parents[1]
SCALES = ("book", "full")
IMAGES = {"image/png": "png", "image/webp": "webp", "image/jpeg": "jpg"}
JUDGED = ("id", "verdict", "estimate", "interval", "seeds", "unit")
FIELDS = ("slug", "part", "title", "paper", "authors", "sentence")


def catalogue(root: Path = ROOT) -> list[dict[str, Any]]:
    """Return all chapters of book/chapters.yaml; raise ValueError for an entry without a needed field."""
    found = chapters.catalogue(root)
    for entry in found:
        lacking = [name for name in FIELDS if not entry.get(name)]
        if lacking:
            raise ValueError(f"book/chapters.yaml: {entry['slug']} lacks {', '.join(lacking)}")
    planned = [entry["slug"] for entry in found]
    for slug in chapters.present(root):
        if slug not in planned:
            raise ValueError(f"book/{slug}/claims.yaml exists, but book/chapters.yaml has no entry {slug!r}")
    return found


def notebooks(slug: str, root: Path = ROOT) -> list[Path]:
    """Return the stored notebooks of a chapter, `idea` first."""
    paths = [root / "book" / slug / f"{name}.ipynb" for name in chapters.NOTEBOOKS]
    return [path for path in paths if path.is_file()]


def stored(slug: str, scale: str, root: Path = ROOT) -> dict[str, Any] | None:
    """Return a chapter's record, or None when there is none at that scale."""
    path = root / "results" / scale / f"{slug}.json"
    if not path.is_file():
        return None
    record = records.load(path)
    if (record["slug"], record["scale"]) != (slug, scale):
        where = f"results/{scale}/{slug}.json"
        raise ValueError(f"{where} says that it is the record of {record['slug']} at scale {record['scale']}")
    return record


def judged(slug: str, scale: str, root: Path = ROOT) -> dict[str, dict[str, Any]] | None:
    """Return the judgements of a chapter's record by claim id, or None when there is no record at that scale."""
    record = stored(slug, scale, root)
    if record is None:
        return None
    where = f"results/{scale}/{slug}.json"
    for entry in record["claims"]:
        if lacking := [name for name in JUDGED if name not in entry]:
            raise ValueError(f"{where}: a judged claim lacks {', '.join(lacking)}: {entry}")
    found = {entry["id"]: entry for entry in record["claims"]}
    declared = {claim.id for claim in claims.load(root / "book" / slug / "claims.yaml")}
    if set(found) != declared:
        raise ValueError(f"{where} judges {sorted(found)}, but claims.yaml declares {sorted(declared)}")
    return found


def cost(slug: str, scale: str, root: Path = ROOT) -> str:
    """Return when, how long, with how much memory and on what a chapter ran at one scale."""
    record = stored(slug, scale, root)
    if record is None:
        return f"{scale} scale: not run"
    spent, machine = record["cost"], record["hardware"]
    parts = [record["date"]]
    if "wall_seconds" in spent:
        parts.append(f"{spent['wall_seconds'] / 60:.1f} minutes")
    if "peak_memory_mb" in spent:
        parts.append(f"{spent['peak_memory_mb'] / 1000:.1f} GB of memory at most")
    if record["digest"].get("code") != digest.chapter_digest(slug, root):
        parts.append("by older code than the present")
    on = machine.get("gpu") or machine.get("cpu")
    cores = f" ({machine['cores']} cores)" if machine.get("cores") and not machine.get("gpu") else ""
    return f"{scale} scale: {', '.join(parts)}" + (f", on {on}{cores}" if on else "")


def badge(verdict: str, count: int | None = None) -> str:
    """Return a verdict, or the number of times it was given, as a coloured word."""
    name = verdict.replace(" at this scale", "").replace(" ", "-")
    text = verdict if count is None else f"{count} {verdict}"
    return f"[{text}]{{.verdict .verdict-{name}}}"


def counts(entries: dict[str, dict[str, Any]] | None) -> str:
    """Return how often each verdict was given at one scale, as badges; `not run` without a record."""
    if entries is None:
        return badge("not run")
    given = Counter(entry["verdict"] for entry in entries.values())
    return " ".join(badge(verdict, given[verdict]) for verdict in claims.VERDICTS if given[verdict])


def picture(slug: str, root: Path = ROOT) -> tuple[str, bytes, str] | None:
    """Return (file ending, bytes, alt text) of the first picture of the cell tagged `card`, or None."""
    for path in notebooks(slug, root):
        for cell in _cells(path):
            if "card" not in cell.get("metadata", {}).get("tags", []):
                continue
            alt = cell["metadata"].get("mystnb", {}).get("image", {}).get("alt", "")
            for output in cell.get("outputs", []):
                for mime, ending in IMAGES.items():
                    if mime in output.get("data", {}):
                        data = output["data"][mime]
                        return ending, base64.b64decode("".join(data)), " ".join(alt.split())
    return None


def _cells(path: Path) -> list[dict[str, Any]]:
    """Return the cells of a notebook file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))["cells"]
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise ValueError(f"{path.parent.name}/{path.name} is no notebook: {error}") from error


def cards(root: Path = ROOT) -> str:
    """Return the landing page's cards: one grid a part, one card a chapter."""
    found = catalogue(root)
    text = []
    for part in dict.fromkeys(entry["part"] for entry in found):
        here = [card(entry, root) for entry in found if entry["part"] == part]
        text.append(f"### {part}\n\n::::{{grid}} 1 2 2 3\n:gutter: 3\n\n" + "\n".join(here) + "::::\n")
    return "\n".join(text)


def card(entry: dict[str, Any], root: Path = ROOT) -> str:
    """Return the card of one chapter; a planned one has no picture and no link."""
    slug = entry["slug"]
    if slug not in chapters.present(root):
        body = f"{entry['sentence']}\n\n{footer('[planned]{.verdict .verdict-planned}')}"
        return f":::{{grid-item-card}} {entry['title']}\n:class-card: chapter-card planned\n\n{body}:::\n"
    options = [":class-card: chapter-card"]
    found = picture(slug, root)
    if found:
        ending, _, alt = found
        options += [f":img-top: _generated/cards/{slug}.{ending}", f":img-alt: {alt or entry['title']}"]
    links = " · ".join(f"[{path.stem.capitalize()}]({slug}/{path.name})" for path in notebooks(slug, root))
    verdicts = [f"{scale}: {counts(judged(slug, scale, root))}" for scale in SCALES]
    lines = [*options, "", entry["sentence"], "", *([links, ""] if links else []), footer("\n\n".join(verdicts))]
    return f":::{{grid-item-card}} {entry['title']}\n" + "\n".join(lines) + ":::\n"


def footer(text: str) -> str:
    """Return the foot of a card."""
    return f"```{{card-footer}}\n{text}\n```\n"


def result(entry: dict[str, Any] | None) -> str:
    """Return one cell of the scoreboard: verdict, judged value, interval, seeds."""
    if entry is None:
        return badge("not run")
    lines = [badge(entry["verdict"])]
    if entry["estimate"] is not None:
        lines.append(f"**{style.number(entry['estimate'], entry['unit'])}**")
    if entry["interval"] is not None:
        lines.append(f"[95 %: {style.interval(entry['interval'], entry['unit'])}]{{.small}}")
    lines.append(f"[{entry['seeds']} {'seed' if entry['seeds'] == 1 else 'seeds'}]{{.small}}")
    return "\n\n".join(lines)


def scoreboard(root: Path = ROOT) -> str:
    """Return every claim of every finished chapter with the paper's value and ours at both scales."""
    present = chapters.present(root)
    text = []
    for entry in catalogue(root):
        if entry["slug"] not in present:
            continue
        declared = claims.load(root / "book" / entry["slug"] / "claims.yaml")
        columns = [judged(entry["slug"], scale, root) for scale in SCALES]
        rows = [["Claim", "Paper", "Ours, book scale", "Ours, full scale"]]
        for claim in declared:
            ours = [result(None if found is None else found[claim.id]) for found in columns]
            head = f"**{claim.id}** {claim.statement}\n\n[{claim.where}; {claim.metric}]{{.small}}"
            rows.append([head, claim.paper_value, *ours])
        spent = "; ".join(cost(entry["slug"], scale, root) for scale in SCALES)
        text.append(
            f"## {_linked_title(entry, root)}\n\n[{spent}]{{.small}}\n\n"
            + list_table(rows, "36 18 23 23", "scoreboard")
        )
    if not text:
        return "No chapter is finished yet.\n"
    return f"{totals(root)}\n\n" + "\n".join(text)


def totals(root: Path = ROOT) -> str:
    """Return how often each verdict was given over all chapters, one line a scale."""
    lines = []
    for scale in SCALES:
        found = [(slug, judged(slug, scale, root)) for slug in chapters.present(root)]
        every = {f"{slug} {key}": entry for slug, entries in found for key, entry in (entries or {}).items()}
        lines.append(f"**All chapters, {scale} scale:** {counts(every or None)}")
    return "\n\n".join(lines)


def _linked_title(entry: dict[str, Any], root: Path) -> str:
    """Return a chapter's title, linked to its evidence (or to the notebook there is)."""
    found = notebooks(entry["slug"], root)
    return f"[{entry['title']}]({entry['slug']}/{found[-1].name})" if found else entry["title"]


def list_table(rows: list[list[str]], widths: str, name: str) -> str:
    """Return rows of MyST text as a table; the first row is the header."""
    lines = ["````{list-table}", ":header-rows: 1", f":widths: {widths}", f":class: {name}", ""]
    for row in rows:
        for position, cell in enumerate(row):
            first, *rest = str(cell).split("\n") if str(cell).strip() else ["-"]
            lines.append(("* - " if position == 0 else "  - ") + first)
            lines += [f"    {line}" if line else "" for line in rest]
    return "\n".join([*lines, "````", ""])


def registry(root: Path = ROOT) -> dict[str, Any]:
    """Return the data registry, read from its own file, so that no numerical package is imported."""
    path = root / "iclr26lib" / "data" / "registry.py"
    spec = importlib.util.spec_from_file_location("iclr26_book_registry", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ValueError(f"{path} is missing: the page about data is made from it")
    module: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.DATASETS


def datasets(found: dict[str, Any]) -> str:
    """Return the table of data sets: what, from where, licence, how to get it, checksums."""
    rows = [["Data set", "Source and licence", "How to get it"]]
    for entry in found.values():
        used = f"\n\n[used by {', '.join(entry.used_by)}]{{.small}}" if getattr(entry, "used_by", ()) else ""
        sums = "".join(f"\n\n[`{name}` {digest[:12]}…]{{.small}}" for name, digest in entry.files.items())
        what = f"**{entry.title}**\n\n[`{entry.name}`]{{.small}}{used}"
        rows.append([what, f"{entry.source}\n\nLicence: {entry.licence}", entry.how_to_get + sums])
    return list_table(rows, "30 32 38", "data-sets")


def vendored(root: Path = ROOT) -> str:
    """Return the table of scripts that the book serves itself, one row a package."""
    entries = json.loads((root / "book" / "_static" / "vendor" / "manifest.json").read_text(encoding="utf-8"))
    rows = [["Package", "Licence", "Files", "Changes"]]
    for name in dict.fromkeys(entry["package"] for entry in entries):
        own = [entry for entry in entries if entry["package"] == name]
        shown = [f"`{e['file']}` {e['sha256'][:12]}…" for e in own if not e["file"].endswith(".woff")]
        fonts = sum(e["file"].endswith(".woff") for e in own)
        shown += [f"{fonts} fonts"] if fonts else []
        changes = " ".join(e["patch"] for e in own if "patch" in e) or "none"
        rows.append([f"`{name}`\n\n{own[0]['version']}", own[0]["licence"], "\n\n".join(shown), changes])
    return list_table(rows, "22 16 34 28", "vendored")


def repository(root: Path = ROOT) -> str:
    """Return the address of the repository, which _config.yml alone names."""
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    return config["repository"]["url"].rstrip("/")


def bibliography(root: Path = ROOT) -> str:
    """Return the papers' reading list: one line a chapter, with its citation."""
    keys = set(re.findall(r"^@\w+\{([^,\s]+)", (root / "book" / "references.bib").read_text(encoding="utf-8"), re.M))
    lines = []
    for entry in catalogue(root):
        if entry["slug"] not in keys:
            raise ValueError(f"book/references.bib has no entry {entry['slug']!r}")
        lines.append(f"- {entry['title']}: {{cite:t}}`{entry['slug']}`")
    return "\n".join(lines) + "\n"


def write_all(root: Path = ROOT) -> list[Path]:
    """Write every generated part below book/_generated; return the files that changed."""
    target = root / "book" / "_generated"
    parts: dict[str, bytes] = {
        "cards.md": cards(root).encode(),
        "scoreboard.md": scoreboard(root).encode(),
        "equations.md": equations.page(catalogue(root), chapters.present(root), repository(root), root).encode(),
        "datasets.md": datasets(registry(root)).encode(),
        "vendored.md": vendored(root).encode(),
        "papers.md": bibliography(root).encode(),
    }
    for slug in chapters.present(root):
        found = picture(slug, root)
        if found:
            parts[f"cards/{slug}.{found[0]}"] = found[1]
    return [path for name, data in parts.items() if (path := _write(target / name, data))]


def _write(path: Path, data: bytes) -> Path | None:
    """Write `data` unless the file holds it already; return the path when it was written."""
    if path.is_file() and path.read_bytes() == data:
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


if __name__ == "__main__":
    for changed in write_all():
        print(changed.relative_to(ROOT))
