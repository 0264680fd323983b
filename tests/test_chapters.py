"""The list of chapters: planned, present, unknown."""

from pathlib import Path

import pytest

from iclr26lib import chapters


@pytest.fixture
def book(tmp_path: Path) -> Path:
    folder = tmp_path / "book"
    folder.mkdir()
    (folder / "chapters.yaml").write_text("- {slug: first}\n- {slug: second}\n- {slug: third}\n")
    for slug in ("third", "first"):
        (folder / slug).mkdir()
        (folder / slug / "claims.yaml").write_text("")
    (folder / "second").mkdir()
    return tmp_path


def test_order_is_that_of_the_book(book: Path) -> None:
    assert chapters.slugs(book) == ["first", "second", "third"]
    assert chapters.present(book) == ["first", "third"]


def test_unknown_chapters_are_refused(book: Path) -> None:
    assert chapters.known("second", book) == "second"
    assert chapters.finished("first", book) == "first"
    with pytest.raises(ValueError, match="'fourth'; planned chapters: first, second, third"):
        chapters.known("fourth", book)
    with pytest.raises(ValueError, match="'second'; chapters that can run: first, third"):
        chapters.finished("second", book)


def test_a_missing_or_broken_list_is_one_line(book: Path) -> None:
    (book / "book" / "chapters.yaml").write_text("- {title: no slug}\n")
    with pytest.raises(ValueError, match="entry 0 has no slug"):
        chapters.slugs(book)
    (book / "book" / "chapters.yaml").unlink()
    with pytest.raises(ValueError, match="part of the repository"):
        chapters.slugs(book)


def test_the_book_plans_nineteen_chapters() -> None:
    assert len(set(chapters.slugs())) == 19
    assert set(chapters.present()) <= set(chapters.slugs())
