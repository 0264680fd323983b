"""A digest changes with what can change an output, and with nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

from iclr26lib import digest

NOTEBOOK = """# ---
# jupyter:
#   kernelspec: {name: python3, display_name: Python 3, language: python}
# ---

# %% [markdown]
# # Title

# %% tags=["bootstrap"]
print("only in Colab")

# %% tags=["parameters"]
scale = None

# %%
from iclr26lib.toy import answer
print(f"{answer():>{8}} {scale=!r} and " f"more")
"""


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A repository of one notebook whose one import reaches a constant through a relative import."""
    library = tmp_path / "iclr26lib"
    (library / "toy").mkdir(parents=True)
    (library / "__init__.py").write_text("")
    (library / "other.py").write_text("UNUSED = 1\n")
    (library / "toy" / "__init__.py").write_text('"""Toy."""\nfrom .deep import answer\n')
    (library / "toy" / "deep.py").write_text("from . import constants\n\n\ndef answer():\n    return constants.SIZE\n")
    (library / "toy" / "constants.py").write_text("SIZE = 41  # a comment\n")
    (tmp_path / "book" / "toy").mkdir(parents=True)
    (tmp_path / "book" / "toy" / "idea.py").write_text(NOTEBOOK)
    (tmp_path / "book" / "toy" / "evidence.py").write_text(NOTEBOOK)
    (tmp_path / "book" / "toy" / "claims.yaml").write_text("chapter: toy\nclaims: []\n")
    return tmp_path


def of(book: Path, name: str = "idea") -> str:
    return digest.notebook_digest(book / "book" / "toy" / f"{name}.py", book)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_modules_are_found_through_relative_imports(book: Path) -> None:
    assert digest.modules("import iclr26lib.toy.deep", book) == [
        "iclr26lib",
        "iclr26lib.toy",
        "iclr26lib.toy.constants",
        "iclr26lib.toy.deep",
    ]
    assert digest.modules("from iclr26lib import other", book) == ["iclr26lib", "iclr26lib.other"]
    assert digest.modules("import numpy", book) == []


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("iclr26lib/toy/constants.py", "# a comment", "# another"),
        ("iclr26lib/toy/__init__.py", '"""Toy."""', '"""A toy, said at length."""'),
        ("iclr26lib/toy/deep.py", "\n\n\ndef", "\n\ndef"),
        ("iclr26lib/other.py", "UNUSED = 1", "UNUSED = 2"),
        ("book/toy/idea.py", "only in Colab", "somewhere else"),
        ("book/toy/idea.py", "# Title", "# Another title"),
        ("book/toy/idea.py", "# %%\nfrom", '# %% mystnb={"image": {"alt": "a text"}}\nfrom'),
        ("book/toy/claims.yaml", "claims: []", "claims: [1]"),
    ],
)
def test_text_leaves_the_digest_alone(book: Path, file: str, old: str, new: str) -> None:
    before = of(book)
    edit(book / file, old, new)
    assert of(book) == before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("iclr26lib/toy/constants.py", "41", "42"),
        ("iclr26lib/toy/constants.py", "41", "41.0"),
        ("iclr26lib/toy/constants.py", "41", "None"),
        ("iclr26lib/toy/deep.py", "constants.SIZE", "-constants.SIZE"),
        ("book/toy/idea.py", "scale = None", "scale = 0"),
        ("book/toy/idea.py", "more", "less"),
    ],
)
def test_code_changes_the_digest(book: Path, file: str, old: str, new: str) -> None:
    before = of(book)
    edit(book / file, old, new)
    assert of(book) != before


def test_the_claims_belong_to_the_evidence(book: Path) -> None:
    before = of(book, "evidence")
    edit(book / "book/toy/claims.yaml", "claims: []", "claims:    []  # layout")
    assert of(book, "evidence") == before
    edit(book / "book/toy/claims.yaml", "[]", "[1]")
    assert of(book, "evidence") != before
    assert digest.chapter_digest("toy", book) == of(book, "evidence")


def test_without_the_book_the_code_is_unknown(book: Path) -> None:
    assert digest.chapter_digest("absent", book) is None


def test_code_that_does_not_parse_is_named() -> None:
    with pytest.raises(ValueError, match="line 2"):
        digest.canonical("x = 1\nx = = 2\n")


@pytest.mark.parametrize("minor", [11, 12, 13])
def test_every_python_gives_the_same_digest(book: Path, minor: int) -> None:
    edit(
        book / "iclr26lib/toy/deep.py",
        "return",
        'print(f"a{1}" "b" f"" f"{2:.{3}f}", "\\U0001fae8", b"x", 1j)\n    return',
    )
    program = (
        "import sys; from pathlib import Path; from iclr26lib import digest;"
        "root = Path(sys.argv[1]); print(digest.notebook_digest(root / 'book/toy/idea.py', root))"
    )
    python = interpreter(minor)
    if python is None:
        pytest.skip(f"Python 3.{minor} is not installed here")
    found = subprocess.run([python, "-c", program, str(book)], capture_output=True, text=True, cwd=digest.ROOT)
    assert found.stdout.strip() == of(book), found.stderr


def interpreter(minor: int) -> str | None:
    """Return a Python of that minor version, from the path or from pyenv, or None."""
    pyenv = sorted(Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python"))
    for python in [*map(str, pyenv), f"python3.{minor}", sys.executable]:
        try:
            found = subprocess.run(
                [python, "-c", "import sys; print(sys.version_info[1])"], capture_output=True, text=True
            )
        except FileNotFoundError:
            continue
        if found.stdout.strip() == str(minor):
            return python
    return None


def test_own_reader_agrees_with_jupytext(book: Path) -> None:
    jupytext = pytest.importorskip("jupytext")
    notebook = jupytext.reads(NOTEBOOK, fmt="py:percent")
    theirs = [(cell.cell_type, list(cell.metadata.get("tags", []))) for cell in notebook.cells]
    assert [(kind, tags) for kind, tags, _ in digest.cells(NOTEBOOK)] == theirs
