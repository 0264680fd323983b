"""Data sets: found, verified, refused."""

import gzip

import numpy as np
import pytest

from iclr26lib import data
from iclr26lib.data import images, locate, registry, series


def test_small_fashion_mnist_has_equal_classes():
    x, y = data.fashion_mnist_small("train")
    assert x.shape == (4000, 28, 28)
    assert x.dtype == np.uint8
    assert np.bincount(y).tolist() == [400] * 10
    assert np.bincount(data.fashion_mnist_small("test")[1]).tolist() == [100] * 10


@pytest.mark.skipif(not images.DEBIAN.is_dir(), reason="Debian's dataset-fashion-mnist is not installed")
def test_small_set_is_part_of_the_whole():
    whole = {image.tobytes() for image in data.fashion_mnist("test")[0]}
    assert all(image.tobytes() in whole for image in data.fashion_mnist_small("test")[0][:50])


def test_series_have_their_published_sizes():
    sizes = {n: [len(data.time_series(n, s)[0]) for s in ("train", "test")] for n in series.SETS}
    assert sizes == {"italy_power_demand": [67, 1029], "japanese_vowels": [270, 370]}
    x, y = data.time_series("japanese_vowels", "train")
    assert {s.shape[1] for s in x} == {12}
    assert min(map(len, x)) == 7
    assert np.bincount(y).tolist() == [30] * 9


def test_parse_ts():
    x, y = series.parse_ts("@classLabel true b a\n@data\n1,2:3,4:a\n5:6:b\n")
    assert x[0].tolist() == [[1, 3], [2, 4]]
    assert x[1].tolist() == [[5, 6]]
    assert y.tolist() == [1, 0]


@pytest.mark.parametrize(
    "text",
    [
        "@data\n1:a\n",
        "@classLabel true a\n@data\n",
        "@classLabel true a\n@data\n1,x:a\n",
        "@classLabel true a\n@data\n1:z\n",
    ],
)
def test_malformed_ts(text):
    with pytest.raises(data.DataError, match=r"\.ts file"):
        series.parse_ts(text)


def test_offline_folder_is_looked_at_first_and_corrupt_files_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("ICLR26_DATA", str(tmp_path))
    folder = tmp_path / "fashion-mnist"
    folder.mkdir()
    with gzip.open(folder / "train-images-idx3-ubyte.gz", "wb") as file:
        file.write(b"not the images")
    with pytest.raises(data.DataError, match=r"corrupt .*dataset-fashion-mnist"):
        data.fashion_mnist("train")
    broken = gzip.compress(bytes(1000))
    (folder / "train-images-idx3-ubyte.gz").write_bytes(broken[:12] + b"\xff\xff\xff" + broken[15:])
    with pytest.raises(data.DataError, match="cannot be read"):
        data.fashion_mnist("train")
    (folder / "train-images-idx3-ubyte.gz").write_bytes(b"no gzip at all")
    with pytest.raises(data.DataError, match="cannot be read"):
        data.fashion_mnist("train")


def test_a_missing_set_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.delenv("ICLR26_DATA", raising=False)
    monkeypatch.setattr(images, "DEBIAN", tmp_path)
    with pytest.raises(data.DataError, match=r"not found; install Debian's `dataset-fashion-mnist`"):
        data.fashion_mnist("test")
    monkeypatch.setattr(series, "package_folder", lambda *parts: [])
    with pytest.raises(data.DataError, match="pip install --no-deps aeon"):
        data.time_series("italy_power_demand", "train")


def test_download_goes_through_pooch_with_the_published_checksums(tmp_path, monkeypatch):
    import pooch

    asked = []
    monkeypatch.setattr(pooch, "retrieve", lambda url, known_hash, fname, path: asked.append((url, known_hash)))
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path)
    monkeypatch.setattr(images, "DEBIAN", tmp_path)
    with pytest.raises(data.DataError, match="not found"):
        data.fashion_mnist("train", download=True)
    assert len(asked) == 4
    assert all(url.startswith("http") and known.startswith("md5:") for url, known in asked)


@pytest.mark.parametrize(
    "call",
    [
        lambda: data.fashion_mnist("validation"),
        lambda: data.fashion_mnist_small("dev"),
        lambda: data.time_series("gun_point", "train"),
        lambda: data.time_series("italy_power_demand", "dev"),
        lambda: registry.known("cifar"),
        lambda: data.last_window([np.zeros((5, 1))], 6),
        lambda: data.last_window([np.zeros((5, 1))], 0),
    ],
)
def test_wrong_names_are_told_the_known_ones(call):
    with pytest.raises(ValueError, match=r"known: |outside 1\.\.5"):
        call()


def test_every_registered_file_has_a_checksum():
    for dataset in data.DATASETS.values():
        assert all(len(digest) == 64 for digest in dataset.files.values()), dataset.name
        assert dataset.licence
        assert dataset.how_to_get


def test_package_folder_of_an_absent_package():
    assert locate.package_folder("no_such_package_anywhere") == []
