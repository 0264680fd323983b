"""The base models that come with the library: they are the ones that the record and the presets speak of."""

import numpy as np
import pytest

from iclr26lib.dgpo import base, experiments, tuning
from iclr26lib.dgpo.presets import PRESETS

BOOK = PRESETS["book"]


@pytest.mark.parametrize("name", base.FILES)
def test_files_and_records_belong_together(name):
    made = base.FILES[name]
    weights = base.shipped(made["task"], made["size"], made["seeds"], made["how"])
    told = base.record(made["task"], made["size"])
    assert len(weights) == len(made["seeds"]) == len(told["reward"])
    assert told["settings"] == made["how"]
    assert told["seeds"] == list(made["seeds"])


def test_the_record_says_what_the_models_do():
    world, told = experiments.task_of("ring", 2), base.record("ring", 2)
    model = experiments.restored(world, base.shipped("ring", 2, [3], base.RING), 128, 4)
    found = experiments.look(model, world, [3], 2000)
    for name in ("reward", "off_manifold", "spread"):
        assert found[name][0] == pytest.approx(told[name][3], abs=0.002), name


def test_book_takes_what_is_shipped_and_other_sizes_train_their_own():
    for dim in BOOK.dims:
        assert base.shipped("ring", dim, range(BOOK.seeds), tuning.base_sizes(BOOK)) is not None
        assert base.shipped("ring", dim, tuning.PILOT_SEEDS, tuning.base_sizes(BOOK)) is not None
        assert base.shipped("ring", dim, [7], tuning.base_sizes(BOOK)) is None
        assert base.shipped("ring", dim, [0], tuning.base_sizes(PRESETS["full"])) is None
    assert base.shipped("ring", 5, [0], base.RING) is None
    how = {"width": BOOK.blobs_width, "depth": BOOK.blobs_depth}
    how |= {"steps": BOOK.blobs_steps, "batch": BOOK.blobs_batch, "lr": BOOK.blobs_lr}
    assert base.shipped("blobs", BOOK.blobs_size, [0], how) is not None


def test_all_files_together_stay_small():
    assert sum(path.stat().st_size for path in base.FOLDER.iterdir()) < 3_000_000


def test_a_file_that_is_missing_or_damaged_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(base, "FOLDER", tmp_path)
    with pytest.raises(ValueError, match=r"ring_2\.pt is missing"):
        base.shipped("ring", 2, [0], base.RING)
    (tmp_path / "ring_2.pt").write_bytes(b"something else")
    with pytest.raises(ValueError, match=r"ring_2\.pt is corrupt"):
        base.shipped("ring", 2, [0], base.RING)


def test_making_a_file_leaves_what_shipped_reads(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(base, "FOLDER", tmp_path)
    how = {"width": 8, "depth": 1, "steps": 3, "batch": 8, "lr": 1e-3}
    small = {"task": "ring", "size": 2, "seeds": (0, 1), "how": how, "sha256": "?"}
    monkeypatch.setitem(base.FILES, "ring_2", small)
    base.make("ring_2")
    small["sha256"] = capsys.readouterr().out.split()[-1]
    weights = base.shipped("ring", 2, [1], how)
    assert all(np.isfinite(value).all() for value in weights[0].values())
