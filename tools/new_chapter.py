"""`make new CHAPTER=SLUG`: lay down a chapter from the template and say what its author must still write.

The new chapter runs as it is: a small stand-in method takes the place of the paper's, and every place that the author
must fill says TO WRITE. Nothing that exists is touched, except that the table of contents gets two lines.
"""

import sys
from pathlib import Path

import yaml

from iclr26lib.chapters import NOTEBOOKS, ROOT, catalogue, known, slugs
from tools import bootstrap, contract
from tools.notebooks import replacing

TEMPLATE = Path(__file__).resolve().parent / "template"
PLACES = {
    "book/claims.yaml": "book/{slug}/claims.yaml",
    "book/idea.py": "book/{slug}/idea.py",
    "book/evidence.py": "book/{slug}/evidence.py",
    **{
        f"library/{n}.py": "iclr26lib/{slug}/" + f"{n}.py"
        for n in ("__init__", "method", "presets", "resources", "figures", "exercises")
    },
    "test.py": "tests/test_{slug}.py",
    "benchmark.py": "benchmarks/{slug}.py",
}
NEED_OUTPUTS = ("fresh", "sizes", "outputs", "alt text", "card", "verdicts", "typed numbers")


def words(slug: str, root: Path) -> dict[str, str]:
    """Return what takes the place of each mark in the template."""
    entry = next(entry for entry in catalogue(root) if entry["slug"] == slug)
    forum, arxiv = entry.get("openreview"), entry.get("arxiv")
    link = f"https://arxiv.org/abs/{arxiv}" if arxiv else f"https://openreview.net/forum?id={forum}"
    return {
        "__SLUG__": slug,
        "__TITLE__": entry["title"],
        "__PAPER__": entry["paper"],
        "__AUTHORS__": ", ".join(entry["authors"]),
        "__SENTENCE__": entry["sentence"],
        "__LINK__": link,
        "__BOOTSTRAP__": bootstrap.cell(slug, root),
    }


def lay_down(slug: str, root: Path = ROOT) -> list[Path]:
    """Write the files of a new chapter and list it in the contents; return the files.

    Raises ValueError for a slug that is not planned, or when a file of the chapter exists.
    """
    known(slug, root)
    targets = {TEMPLATE / source: root / place.format(slug=slug) for source, place in PLACES.items()}
    if there := [path for path in targets.values() if path.exists()]:
        raise ValueError(f"chapter {slug!r} exists: {there[0].relative_to(root)}; nothing was changed")
    marks = words(slug, root)
    for source, target in targets.items():
        text = source.read_text(encoding="utf-8")
        for mark, word in marks.items():
            text = text.replace(mark, word)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    list_in_contents(slug, root)
    return list(targets.values())


def list_in_contents(slug: str, root: Path = ROOT) -> None:
    """Put the two notebooks into _toc.yml, in the part of the chapter and in the order of the book."""
    path = root / "_toc.yml"
    contents = yaml.safe_load(path.read_text(encoding="utf-8"))
    part = next(entry["part"] for entry in catalogue(root) if entry["slug"] == slug)
    captions = [entry["caption"] for entry in contents["parts"]]
    if part not in captions:
        order = list(dict.fromkeys(entry["part"] for entry in catalogue(root)))
        later = [captions.index(c) for c in captions if c in order and order.index(c) > order.index(part)]
        last = captions.index("Appendix") if "Appendix" in captions else len(captions)
        contents["parts"].insert(min([*later, last]), {"caption": part, "chapters": []})
    chapters = next(entry for entry in contents["parts"] if entry["caption"] == part)["chapters"]
    position = sum(slugs(root).index(slug) > _place(other["file"], root) for other in chapters)
    chapters[position:position] = [{"file": f"book/{slug}/{name}.ipynb"} for name in NOTEBOOKS]
    with replacing(path) as place:
        place.write_text(yaml.safe_dump(contents, sort_keys=False, allow_unicode=True), encoding="utf-8")


def _place(file: str, root: Path) -> int:
    """Return the position in the book of the chapter that a file belongs to."""
    slug = file.split("/")[1]
    return slugs(root).index(slug) if slug in slugs(root) else -1


def still_to_write(slug: str, root: Path = ROOT) -> list[str]:
    """Return what the contract finds missing, leaving out what `make outputs` makes."""
    rules = {name: rule for name, rule in contract.RULES.items() if name not in NEED_OUTPUTS}
    made = (".ipynb is missing", ".json is missing")
    return [line for line in contract.findings(slug, root, rules) if not line.endswith(made)]


def main(slug: str, root: Path = ROOT) -> int:
    """Lay down the chapter and print what is left to do; return 2 when it cannot be laid down."""
    try:
        files = lay_down(slug, root)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for path in files:
        print(f"wrote {path.relative_to(root)}")
    print("\nThe author must still write:")
    for line in still_to_write(slug, root):
        print(f"  {line}")
    print(f"\nThen: make outputs CHAPTER={slug}, make check, make test.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
