"""Full-scale runs within a number of minutes: order, isolation, deadline, archive."""

import json
import tarfile
import time
from pathlib import Path

import pytest

from tests import sweeping
from tools import full_run, outputs


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one chapter that needs no GPU."""
    monkeypatch.delenv("ICLR26_RUNS", raising=False)
    monkeypatch.setenv("TOY_LOG", str(tmp_path / "log"))
    return sweeping.lay_down(tmp_path / "repository")


def test_a_finished_chapter_is_packed_and_taken_over(root: Path) -> None:
    assert full_run.order(["toy"], root) == ["toy"]
    assert full_run.main(["2", "--device", "cpu"], root) == 0
    with tarfile.open(root / "runs" / full_run.PACK) as bundle:
        assert bundle.getnames() == ["full/toy.json"]
        assert json.load(bundle.extractfile("full/toy.json"))["scale"] == "full"
    assert outputs.main(["--scale", "full"], root) == 0
    assert full_run.order(["toy"], root) == [], "a chapter with a full record of this code needs no run"


def test_the_time_is_kept(root: Path, capsys: pytest.CaptureFixture) -> None:
    work = root / "iclr26lib/toy/work.py"
    work.write_text(work.read_text().replace('"full": Preset(2, 0.0)', '"full": Preset(2, 100.0)'))
    began = time.monotonic()
    assert full_run.main(["0.1"], root) == 0
    assert time.monotonic() - began < 6 + full_run.GRACE
    said = capsys.readouterr().out
    assert "out of time" in said
    assert "nothing to pack" in said
    assert not (root / "runs/full/toy.json").exists()


def test_what_is_missing_and_cheap_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"old": (False, 9.0), "slow": (True, 0.5), "quick": (True, 2.0)}
    monkeypatch.setattr(full_run, "value", lambda slug, root: values[slug])
    monkeypatch.setattr(full_run.promote, "fresh", lambda path, slug, root: False)
    assert full_run.order(list(values)) == ["quick", "slow", "old"]


@pytest.mark.parametrize(("arguments", "said"), [(["0"], "must be positive"), (["5", "nonsense"], "nonsense")])
def test_wrong_arguments(root: Path, capsys: pytest.CaptureFixture, arguments: list[str], said: str) -> None:
    assert full_run.main(arguments, root) == 2
    assert said in capsys.readouterr().err
