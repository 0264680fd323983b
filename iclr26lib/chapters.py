"""Which chapters the book plans and which it has: one slug names a chapter everywhere."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ("idea", "evidence")


def catalogue(root: Path = ROOT) -> list[dict]:
    """Return all planned chapters in the order of the book, as written in ``book/chapters.yaml``.

    Raises ValueError when the file is absent (an installed library has no book) or has no slug for a chapter.
    """
    import yaml

    path = root / "book" / "chapters.yaml"
    if not path.is_file():
        raise ValueError(f"{path} is missing: the list of chapters is part of the repository, not of the library")
    chapters = yaml.safe_load(path.read_text(encoding="utf-8")) or []
    for position, chapter in enumerate(chapters):
        if not isinstance(chapter, dict) or not chapter.get("slug"):
            raise ValueError(f"{path}: entry {position} has no slug; each chapter needs one")
    return chapters


def slugs(root: Path = ROOT) -> list[str]:
    """Return the slugs of all planned chapters, in the order of the book. Raises ValueError as `catalogue` does."""
    return [chapter["slug"] for chapter in catalogue(root)]


def present(root: Path = ROOT) -> list[str]:
    """Return the slugs of the chapters that have ``book/SLUG/claims.yaml``, in the order of the book."""
    found = sorted(path.parent.name for path in (root / "book").glob("*/claims.yaml"))
    if not found:
        return []
    order = {slug: position for position, slug in enumerate(slugs(root))}
    return sorted(found, key=lambda slug: (order.get(slug, len(order)), slug))


def known(slug: str, root: Path = ROOT) -> str:
    """Return `slug` if it is a planned chapter; raises ValueError naming the planned ones otherwise."""
    return _among(slug, slugs(root), "planned chapters")


def finished(slug: str, root: Path = ROOT) -> str:
    """Return `slug` if the chapter is there; raises ValueError naming those that are otherwise."""
    return _among(slug, present(root), "chapters that can run")


def _among(slug: str, choices: list[str], what: str) -> str:
    if slug not in choices:
        raise ValueError(f"unknown chapter {slug!r}; {what}: {', '.join(choices) or 'none'}")
    return slug
