"""What several tests share: no hidden download, quiet threads, and a small repository to break."""

import fcntl
import os
import shutil
from pathlib import Path

import pytest

from tools import engine, new_chapter, outputs

os.environ.update({"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"})
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

HEADER = """# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% tags=["bootstrap"]
print("only in Colab")

# %% tags=["parameters"]
scale = None
seed = 0
device = "auto"
overrides = {}

"""

IDEA = (
    HEADER
    + """# %% [markdown]
# # An idea

# %%
from iclr26lib import toy
print(toy.ANSWER)

# %%
import ipywidgets
ipywidgets.HTML("<b>one</b>")
"""
)

EVIDENCE = (
    HEADER
    + """# %%
import json, os
from pathlib import Path
from iclr26lib import toy
from iclr26lib.digest import chapter_digest

record = {
    "schema": 1, "slug": "toy", "scale": scale or os.environ["ICLR26_SCALE"], "date": "2026-01-01", "seeds": [seed],
    "parameters": overrides, "measurements": {}, "tables": {}, "claims": [], "cost": {}, "environment": {},
    "hardware": {}, "digest": {"code": chapter_digest("toy"), "claims": ""}, "answer": toy.ANSWER,
}

# %%
folder = Path(os.environ.get("ICLR26_RECORDS") or os.environ["ICLR26_RUNS"]) / record["scale"]
folder.mkdir(parents=True, exist_ok=True)
_ = (folder / "toy.json").write_text(json.dumps(record))
"""
)


@pytest.fixture(autouse=True)
def serial(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs run one after another, without the seconds that Snakemake takes to start, unless a test is marked for it."""
    if request.node.get_closest_marker("snakemake") is None:
        monkeypatch.setattr(engine, "has_snakemake", lambda: False)


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one chapter, `toy`, whose notebooks run in a second and whose evidence writes a record."""
    monkeypatch.delenv("ICLR26_RUNS", raising=False)
    return _write_toy(tmp_path / "repository")


def _write_toy(root: Path) -> Path:
    here = Path(__file__).resolve().parents[1]
    (root / "iclr26lib").mkdir(parents=True)
    for name in ("chapters", "digest"):
        shutil.copy(here / "iclr26lib" / f"{name}.py", root / "iclr26lib")
    (root / "iclr26lib" / "__init__.py").write_text("")
    (root / "iclr26lib" / "toy.py").write_text("ANSWER = 42\n")
    (root / "iclr26lib" / "toy").mkdir()
    shutil.copy(here / "tools/template/library/resources.py", root / "iclr26lib" / "toy")
    folder = root / "book" / "toy"
    folder.mkdir(parents=True)
    (root / "book" / "chapters.yaml").write_text("- {slug: toy}\n- {slug: other}\n")
    (folder / "claims.yaml").write_text("chapter: toy\nclaims: []\n")
    (folder / "idea.py").write_text(IDEA)
    (folder / "evidence.py").write_text(EVIDENCE)
    return root


@pytest.fixture(scope="session")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy repository with its outputs made, once for all; tests take copies."""
    root = _write_toy(tmp_path_factory.mktemp("executed") / "repository")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("ICLR26_RUNS", raising=False)
        patch.setattr(engine, "has_snakemake", lambda: False)
        assert outputs.main([], root) == 0
    return root


@pytest.fixture
def built(executed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A toy repository of one's own with its outputs made."""
    monkeypatch.delenv("ICLR26_RUNS", raising=False)
    return Path(shutil.copytree(executed, tmp_path / "repository"))


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A copy of this repository with one more chapter, `armor`, laid down from the template, its outputs made.

    Made once for all workers; tests that change something copy it.
    """
    base = tmp_path_factory.getbasetemp()
    root = (base if worker_id == "master" else base.parent) / "template" / "repository"
    root.parent.mkdir(exist_ok=True)
    with (root.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (root.parent / "made").exists():
            shutil.rmtree(root, ignore_errors=True)
            _lay_down(root)
            (root.parent / "made").touch()
    return root


def _lay_down(root: Path) -> None:
    here = Path(__file__).resolve().parents[1]
    unwanted = shutil.ignore_patterns(".*", "_build", "runs", "_static", "_generated", "__pycache__", "armor*")
    shutil.copytree(here, root, ignore=unwanted)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("ICLR26_RUNS", raising=False)
        patch.setattr(engine, "has_snakemake", lambda: False)
        assert new_chapter.main("armor", root) == 0
        assert outputs.main(["--chapter", "armor"], root) == 0
