"""`make new` lays down a chapter that runs and keeps the contract, except for what its author must write."""

from pathlib import Path

import pytest
import yaml

from tools import bootstrap, contract, new_chapter, notebooks, outputs, site


def test_only_the_authors_part_is_missing(template: Path) -> None:
    found = contract.findings("armor", template)
    assert found
    assert [line for line in found if not line.startswith("unfinished text: ") or "TO WRITE" not in line] == []
    places = {line.removeprefix("unfinished text: ").split(":")[0] for line in found}
    assert {"book/armor/idea.py", "book/armor/evidence.py", "iclr26lib/armor/method.py"} <= places


def test_what_is_missing_is_said(template: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    lines = new_chapter.still_to_write("armor", template)
    assert len(lines) >= 15
    assert all("TO WRITE" in line for line in lines)


def test_existing_and_unknown_chapters_are_refused(template: Path, capsys: pytest.CaptureFixture) -> None:
    before = (template / "book/armor/idea.py").read_text()
    assert new_chapter.main("armor", template) == 2
    assert "chapter 'armor' exists: book/armor/claims.yaml; nothing was changed" in capsys.readouterr().err
    assert new_chapter.main("nonsense", template) == 2
    assert "unknown chapter 'nonsense'; planned chapters: bep, burnin" in capsys.readouterr().err
    assert (template / "book/armor/idea.py").read_text() == before


def test_no_mark_of_the_template_is_left(template: Path) -> None:
    for place in new_chapter.PLACES.values():
        assert "__SLUG__" not in (template / place.format(slug="armor")).read_text()
    idea = (template / "book/armor/idea.py").read_text()
    assert bootstrap.cell("armor", template) in idea
    assert f'"{site.address(template)}", "v' in idea


def test_every_file_of_the_template_is_laid_down() -> None:
    there = {str(path.relative_to(new_chapter.TEMPLATE)) for path in new_chapter.TEMPLATE.rglob("*.py")}
    assert there | {"book/claims.yaml"} == set(new_chapter.PLACES)


def test_contents_keep_the_order_of_the_book(tmp_path: Path) -> None:
    (tmp_path / "book").mkdir()
    chapters = [{"slug": s, "part": p} for s, p in [("a", "One"), ("b", "One"), ("c", "Two"), ("d", "Three")]]
    (tmp_path / "book/chapters.yaml").write_text(yaml.safe_dump(chapters))
    start = {
        "parts": [
            {"caption": "The book", "chapters": [{"file": "book/how.md"}]},
            {"caption": "Appendix", "chapters": []},
        ]
    }
    (tmp_path / "_toc.yml").write_text(yaml.safe_dump(start))
    for slug in ("d", "b", "c", "a"):
        new_chapter.list_in_contents(slug, tmp_path)
    parts = yaml.safe_load((tmp_path / "_toc.yml").read_text())["parts"]
    assert [part["caption"] for part in parts] == ["The book", "One", "Two", "Three", "Appendix"]
    files = [f"book/{slug}/{name}.ipynb" for slug in "ab" for name in ("idea", "evidence")]
    assert [entry["file"] for entry in parts[1]["chapters"]] == files


def test_stored_outputs_of_the_new_chapter_are_current(template: Path) -> None:
    assert outputs.outdated("armor", "idea", template) is None
    stored = notebooks.read_stored(template / "book/armor/evidence.ipynb")
    assert notebooks.stamped(stored)["scale"] == "book"
