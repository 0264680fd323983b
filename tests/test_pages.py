"""The generated parts of the pages: cards, scoreboard, equations, data; the vendored scripts; wrong input."""

import base64
import hashlib
import json
import os
from pathlib import Path

import pytest
import yaml

from tools import equations, pages, serve, vendor

ROOT = Path(__file__).resolve().parents[1]
PNG = b"\x89PNG the bytes of a picture"


def chapter(slug, part="Part one"):
    entry = {"slug": slug, "part": part, "title": f"Title of {slug}", "paper": "P", "authors": ["A. Uthor"]}
    return entry | {"arxiv": None, "openreview": None, "sentence": f"What {slug} does."}


def claim(key, **changes):
    entry = {"id": key, "statement": f"Statement {key}.", "where": "table 1", "paper_value": "+5 points"}
    entry |= {"metric": "accuracy", "unit": "points", "against": "the other", "why": "because"}
    rule = "mean_difference > 0, 95 % interval excludes 0, >= 3 seeds"
    return entry | {"rule": rule, "scales": ["book", "full"]} | changes


def judgement(key, verdict, **changes):
    entry = {"id": key, "verdict": verdict, "estimate": 0.0213, "interval": [0.01, 0.0334], "bootstrap": None}
    return entry | {"ours": 0.6, "against": 0.58, "seeds": 3, "unit": "points"} | changes


def record(slug, scale, judged):
    empty = {"parameters": {}, "measurements": {}, "tables": {}, "cost": {}, "environment": {}, "hardware": {}}
    made = {"schema": 1, "slug": slug, "scale": scale, "date": "2026-12-01", "seeds": [0, 1, 2], "claims": judged}
    return made | empty | {"digest": {"code": None, "claims": "x"}}


def notebook(*cells):
    return {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


@pytest.fixture
def root(tmp_path):
    """A book of three chapters, of which `done` is finished, with a record at book scale."""
    planned = [chapter("done"), chapter("later"), chapter("far", "Two")]
    write(tmp_path / "book" / "chapters.yaml", yaml.safe_dump(planned))
    content = {"chapter": "done", "claims": [claim("C1"), claim("C2"), claim("C3")]}
    write(tmp_path / "book" / "done" / "claims.yaml", yaml.safe_dump(content))
    picture = {"output_type": "display_data", "data": {"image/png": base64.b64encode(PNG).decode()}}
    text = {"output_type": "stream", "text": "hello"}
    metadata = {"tags": ["card"], "mystnb": {"image": {"alt": "A rising\n curve."}}}
    other = {"cell_type": "code", "metadata": {}, "source": "", "outputs": [{"data": {"image/png": "AAAA"}}]}
    card = {"cell_type": "code", "metadata": metadata, "source": "", "outputs": [text, picture]}
    write(tmp_path / "book" / "done" / "idea.ipynb", notebook(other, card))
    write(tmp_path / "book" / "done" / "evidence.ipynb", notebook())
    judged = [
        judgement("C1", "shown"),
        judgement("C2", "shown"),
        judgement("C3", "not judged at this scale", estimate=None, interval=None, seeds=1),
    ]
    write(tmp_path / "results" / "book" / "done.json", record("done", "book", judged))
    return tmp_path


def test_card_of_a_finished_chapter_has_picture_links_and_counts(root):
    text = pages.card(chapter("done"), root)
    assert ":img-top: _generated/cards/done.png" in text
    assert ":img-alt: A rising curve." in text
    assert "[Idea](done/idea.ipynb) · [Evidence](done/evidence.ipynb)" in text
    assert "book: [2 shown]{.verdict .verdict-shown} [1 not judged at this scale]{.verdict .verdict-not-judged}" in text
    assert "full: [not run]{.verdict .verdict-not-run}" in text


def test_card_of_a_planned_chapter_is_marked_and_links_nowhere(root):
    text = pages.card(chapter("later"), root)
    assert ":class-card: chapter-card planned" in text
    assert "[planned]{.verdict .verdict-planned}" in text
    assert "](" not in text
    assert "img-top" not in text


def test_cards_stand_in_the_order_of_the_catalogue_under_their_parts(root):
    text = pages.cards(root)
    marks = ["### Part one", "Title of done", "Title of later", "### Two", "Title of far"]
    assert sorted(marks, key=text.index) == marks
    assert text.count("### ") == 2


def test_scoreboard_shows_both_scales_side_by_side(root):
    judged = [judgement("C1", "contradicted", seeds=10), judgement("C2", "not shown"), judgement("C3", "shown")]
    write(root / "results" / "full" / "done.json", record("done", "full", judged))
    text = pages.scoreboard(root)
    row = text[text.index("**C1**") : text.index("**C2**")]
    paper, book, full = row.index("+5 points"), row.index("[shown]"), row.index("[contradicted]")
    assert paper < book < full
    assert "**+2.1 points**" in row[book:full]
    assert "[95 %: +1.0 to +3.3]" in row[book:full]
    assert "[3 seeds]" in row[book:full]
    assert "[10 seeds]" in row[full:]
    assert "**All chapters, full scale:** [1 shown]" in text


def test_scoreboard_says_not_run_without_a_full_record(root):
    text = pages.scoreboard(root)
    assert text.count("[not run]{.verdict .verdict-not-run}") == 3 + 1  # each claim, and the totals
    assert "Title of later" not in text
    assert "[1 seed]" in text


def test_cost_says_when_how_long_and_on_what(root):
    made = record("done", "full", [judgement(key, "shown") for key in ("C1", "C2", "C3")])
    made |= {"cost": {"wall_seconds": 90.0, "peak_memory_mb": 1234.0}, "hardware": {"cpu": "C", "cores": 2, "gpu": "G"}}
    write(root / "results" / "full" / "done.json", made)
    assert pages.cost("done", "full", root) == "full scale: 2026-12-01, 1.5 minutes, 1.2 GB of memory at most, on G"
    made["hardware"]["gpu"] = None
    write(root / "results" / "full" / "done.json", made)
    assert pages.cost("done", "full", root).endswith("on C (2 cores)")
    write(root / "results" / "full" / "done.json", made | {"digest": {"code": "old", "claims": "x"}})
    assert "by older code than the present" in pages.cost("done", "full", root)
    assert pages.cost("later", "full", root) == "full scale: not run"


def test_unjudged_claim_shows_no_number():
    assert pages.result(judgement("C1", "not judged at this scale", estimate=None, interval=None)).split("\n\n") == [
        "[not judged at this scale]{.verdict .verdict-not-judged}",
        "[3 seeds]{.small}",
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{not json", r"done.json cannot be read"),
        ({"schema": 1}, r"done.json: missing or malformed slug"),
        (record("done", "book", [judgement("C1", "perhaps")]), r"unknown verdict 'perhaps'"),
        (record("done", "book", [judgement("C1", "shown")]), r"judges \['C1'\], but claims.yaml declares"),
        (record("later", "book", []), r"says that it is the record of later"),
        (record("done", "book", [{"id": "C1", "verdict": "shown"}]), r"lacks estimate, interval, seeds, unit"),
    ],
)
def test_malformed_record_is_one_clear_line(root, content, message):
    write(root / "results" / "book" / "done.json", content)
    with pytest.raises(ValueError, match=message) as caught:
        pages.scoreboard(root)
    assert "\n" not in str(caught.value)


def test_malformed_claims_stop_the_pages(root):
    write(root / "book" / "done" / "claims.yaml", yaml.safe_dump({"chapter": "done", "claims": [{"id": "C1"}]}))
    with pytest.raises(ValueError, match=r"done/claims.yaml: C1 lacks statement"):
        pages.scoreboard(root)


def test_chapter_that_nobody_planned_is_named(root):
    write(root / "book" / "stray" / "claims.yaml", "chapter: stray\n")
    with pytest.raises(ValueError, match="no entry 'stray'"):
        pages.catalogue(root)


def test_catalogue_entry_without_a_sentence_is_named(root):
    write(root / "book" / "chapters.yaml", yaml.safe_dump([chapter("done") | {"sentence": ""}]))
    with pytest.raises(ValueError, match="done lacks sentence"):
        pages.catalogue(root)


def test_table_keeps_paragraphs_of_a_cell_inside_it():
    text = pages.list_table([["A", "B"], ["one\n\ntwo", ""]], "50 50", "name")
    assert "* - one\n\n    two\n  - -\n" in text


SOURCE = '''
class Layer:
    def forward(self, a):
        r"""Forward pass.

        Equation (4): $z = W a,
        \\quad a = s(z)$
        Shapes: (K,).
        """

def gate(z):
    r"""Equation (lemma 1): $g = 1$"""

def nothing(z):
    """No number here."""
'''
TESTS = """
@pytest.mark.equation("done", "4")
def test_forward():
    pass

@pytest.mark.equation("other", "4")
def test_other():
    pass
"""


def test_equations_come_from_docstrings_and_tests_from_marks(root):
    write(root / "iclr26lib" / "done" / "core.py", SOURCE)
    write(root / "tests" / "test_done.py", TESTS)
    text = equations.page([chapter("done"), chapter("later")], ["done"], "https://example.org/r", root)
    first, second = text.index("**(4)** $z = W a, \\quad a = s(z)$"), text.index("**lemma 1** $g = 1$")
    assert first < second
    assert "[`Layer.forward`](https://example.org/r/blob/main/iclr26lib/done/core.py#L3)" in text[first:second]
    assert "[forward](https://example.org/r/blob/main/tests/test_done.py#L3)" in text[first:second]
    assert "[other]" not in text
    assert "none yet" in text[second:]
    assert "nothing" not in text


def test_broken_source_is_named(root):
    write(root / "iclr26lib" / "done" / "core.py", "def f(:\n")
    with pytest.raises(ValueError, match=r"core\.py line 1"):
        equations.declared("done", root)


def test_data_page_names_every_registered_set():
    found = pages.registry(ROOT)
    text = pages.datasets(found)
    assert found
    for entry in found.values():
        assert entry.title in text
        assert f"Licence: {entry.licence}" in text


def test_files_are_written_only_when_they_change(tmp_path):
    path = tmp_path / "a" / "part.md"
    assert pages._write(path, b"one") == path
    os.utime(path, (1, 1))
    assert pages._write(path, b"one") is None
    assert path.stat().st_mtime == 1
    assert pages._write(path, b"two") == path
    assert path.read_bytes() == b"two"


def test_catalogue_has_the_nineteen_papers_each_cited():
    found = pages.catalogue(ROOT)
    assert len({entry["slug"] for entry in found}) == len(found) == 19
    assert pages.bibliography(ROOT).count("{cite:t}") == 19


def manifest():
    return json.loads((vendor.TARGET / "manifest.json").read_text(encoding="utf-8"))


def test_vendored_files_have_their_recorded_checksums():
    listed = {entry["file"]: entry["sha256"] for entry in manifest()}
    there = [p for p in vendor.TARGET.rglob("*") if p.is_file() and p.name != "manifest.json"]
    found = {p.relative_to(vendor.TARGET).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in there}
    assert found == listed


def test_each_vendored_package_has_its_licence_and_its_pinned_version():
    for package in vendor.PACKAGES:
        own = [entry for entry in manifest() if entry["package"] == package.name]
        assert {entry["version"] for entry in own} == {package.version}
        assert f"{package.folder}/LICENSE" in {entry["file"] for entry in own}
        assert all(entry["licence"] for entry in own)


def test_patches_refuse_a_script_that_they_do_not_know():
    with pytest.raises(ValueError, match="icon fonts were not found"):
        vendor.drop_icon_fonts("body{}")
    with pytest.raises(ValueError, match="MathJax 2 was not found"):
        vendor.typeset_with_mathjax_3("MathJax.Hub.Queue([])")


def test_serving_needs_a_built_book_and_a_port(tmp_path):
    with pytest.raises(ValueError, match="make book"):
        serve.server(tmp_path)
    write(tmp_path / "index.html", "x")
    with pytest.raises(ValueError, match="from 0 to 65535, got 70000"):
        serve.server(tmp_path, 70000)


def test_serving_takes_the_next_free_port(tmp_path):
    write(tmp_path / "index.html", "x")
    with serve.server(tmp_path, 0) as first, serve.server(tmp_path, first.server_port) as second:
        assert first.server_port < second.server_port
