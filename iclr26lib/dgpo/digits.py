"""Digits: a prompt asks for a digit of MNIST, a frozen classifier rewards it, and another one watches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..data import mnist
from ..flows import Streams
from ..flows.interface import finite_positive, positive
from ..seeding import generator, given
from .prompted import check_batch, check_samples, followed, probability, share

SIZE = 32
CLASSES = 10
SHIFT = 2  # pixels that a batch is moved at most while a classifier learns: the width of the added border
CHUNK = 1000  # images a pass, so that memory does not grow with their number


def padded(images) -> Tensor:
    """Images (N, 28, 28) uint8, array or tensor, as samples (N, 1, 32, 32) float32: 0..255 to [-1, 1], border -1.

    Raises TypeError for another dtype, ValueError for another shape.
    """
    grey = torch.as_tensor(images)
    if grey.dtype != torch.uint8:
        raise TypeError(f"images must be uint8, got {grey.dtype}")
    if grey.ndim != 3 or grey.shape[1:] != (SIZE - 4, SIZE - 4) or len(grey) == 0:
        raise ValueError(f"images must have shape (N, 28, 28) with N of 1 or more, got {tuple(grey.shape)}")
    return F.pad(grey[:, None].float() / 127.5 - 1, (2, 2, 2, 2), value=-1.0)


class Classifier(nn.Module):
    """A small convolutional network: images (B, 1, 32, 32) to logits (B, 10), by way of `features` numbers an image."""

    def __init__(self, width: int = 16, features: int = 64, *, generator: torch.Generator):
        """width: channels of the first layer. features: numbers before the last layer. generator: draws the weights.

        Raises ValueError for a size below 1, TypeError for a size that is no integer or without a generator.
        """
        super().__init__()
        w = positive("width", width)
        first = [nn.Conv2d(1, w, 5, 2, 2), nn.ReLU()]  # 32 -> 16, then twice to the half
        later = [layer for a in (w, 2 * w) for layer in (nn.Conv2d(a, 2 * w, 3, 1, 1), nn.ReLU(), nn.MaxPool2d(2))]
        last = [nn.Flatten(), nn.Linear(2 * w * 16, positive("features", features)), nn.ReLU()]
        self.body, self.head = nn.Sequential(*first, *later, *last), nn.Linear(features, CLASSES)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d | nn.Linear):
                nn.init.kaiming_normal_(layer.weight, nonlinearity="relu", generator=given(generator))
                nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (B, 10) of images x (B, 1, 32, 32)."""
        return self.head(self.body(x))

    @torch.no_grad()
    def seen(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Features (B, features) and class (B,) int64 of images x (B, 1, 32, 32), on the device of x.

        Raises ValueError or TypeError for shapes, dtypes or values that do not fit.
        """
        check_samples(x, (1, SIZE, SIZE))
        weight = self.head.weight
        features = torch.cat([self.body(part.to(weight)) for part in x.split(CHUNK)])
        return features.to(x.device), self.head(features).argmax(1).to(x.device)


def train_classifier(
    images: Tensor,
    labels: Tensor,
    seed: int,
    name: str,
    *,
    steps: int = 1500,
    batch: int = 128,
    lr: float = 2e-3,
    width: int = 16,
    features: int = 64,
    device: str | torch.device = "cpu",
) -> Classifier:
    """A frozen `Classifier` after `steps` of Adam, whose learning rate falls from lr to 0 along a cosine.

    images: (N, 1, 32, 32) float32. labels: (N,) int64 in 0..9. seed, name: of its weights and batches; another name is
    another network. batch: images a step, drawn with replacement and moved together by up to 2 pixels. width, features:
    of the network. device: its place.
    Raises ValueError or TypeError for data or settings out of range, FloatingPointError when the loss is not finite.
    """
    check_batch(images, labels, (1, SIZE, SIZE), CLASSES)
    net = Classifier(width, features, generator=generator(seed, f"{name} weights")).to(device)
    order = generator(seed, f"{name} batches")
    adam = torch.optim.Adam(net.parameters(), finite_positive("lr", lr))
    falling = torch.optim.lr_scheduler.CosineAnnealingLR(adam, positive("steps", steps))
    for step in range(steps):
        rows = torch.randint(len(images), (positive("batch", batch),), generator=order)
        by = torch.randint(-SHIFT, SHIFT + 1, (2,), generator=order).tolist()
        loss = F.cross_entropy(net(images[rows].to(device).roll(by, (2, 3))), labels[rows].to(device))
        if not torch.isfinite(loss):
            raise FloatingPointError(f"the loss of classifier {name!r}, seed {seed}, is not finite at step {step}")
        adam.zero_grad()
        loss.backward()
        adam.step()
        falling.step()
    return net.eval().requires_grad_(False)


def frechet_distance(a: Tensor, b: Tensor) -> float:
    """Squared Frechet distance between Gaussians with the moments of features a (N, D) and b (M, D).

    Too high on average for few samples: compare only at equal N and M.
    Equation (frechet): $\\|\\mu_a - \\mu_b\\|^2 + \\mathrm{tr}(\\Sigma_a + \\Sigma_b - 2(\\Sigma_a\\Sigma_b)^{1/2})$
    (Heusel et al., 2017)
    Raises ValueError for fewer than two rows, another shape, or values that are not finite.
    """
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1] or min(len(a), len(b)) < 2:
        raise ValueError(
            f"need features (N, D) and (M, D), N and M of 2 or more, got {tuple(a.shape)}, {tuple(b.shape)}"
        )
    if not (torch.isfinite(a).all() and torch.isfinite(b).all()):
        raise ValueError("features hold a value that is not finite")
    a, b = a.cpu().double(), b.cpu().double()
    cov_a, cov_b = (torch.cov(t.T).reshape(t.shape[1], t.shape[1]) for t in (a, b))
    roots = [_root(cov) for cov in (cov_a, cov_b)]
    overlap = torch.linalg.svdvals(roots[0] @ roots[1]).sum()  # the trace of (cov_a cov_b)^(1/2)
    return float((a.mean(0) - b.mean(0)).square().sum() + cov_a.trace() + cov_b.trace() - 2 * overlap)


def _root(covariance: Tensor) -> Tensor:
    """Symmetric square root of a covariance (D, D), whose eigenvalues are 0 or more up to rounding."""
    values, vectors = torch.linalg.eigh(covariance)
    return vectors * values.clamp_min(0).sqrt() @ vectors.T


@dataclass(frozen=True, eq=False)
class Digits:
    """Prompt c asks for digit c; a base sample is a training image of that digit now and then, else of any digit.

    images: (N, 1, 32, 32) float32 in [-1, 1]. labels: (N,) int64, every digit at least once. judge: the frozen
    classifier that rewards. critic: another one, for the monitors. follow: probability that a base sample is of the
    digit asked for; otherwise of any of the ten.
    Raises ValueError or TypeError for data that do not fit or lack a digit.
    """

    images: Tensor
    labels: Tensor
    judge: Classifier
    critic: Classifier
    follow: float = 0.4

    def __post_init__(self) -> None:
        check_batch(self.images, self.labels, self.shape, self.prompts)
        probability(follow=self.follow)
        if not (counts := self._counts).all():
            raise ValueError(f"no image of digits {(counts == 0).nonzero().flatten().tolist()}")

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one sample, (1, 32, 32)."""
        return (1, SIZE, SIZE)

    @property
    def prompts(self) -> int:
        """Number of prompts, which are 0..9."""
        return CLASSES

    @property
    def own(self) -> float:
        """Probability that a base sample shows the digit that its prompt asks for."""
        return self.follow + (1 - self.follow) / CLASSES

    @cached_property
    def _counts(self) -> Tensor:
        return torch.bincount(self.labels, minlength=CLASSES)

    @cached_property
    def _sorted(self) -> Tensor:
        return self.labels.argsort(stable=True)

    @cached_property
    def _features(self) -> Tensor:
        return self.critic.seen(self.images)[0]

    def draw(self, n: int, streams: Streams) -> tuple[Tensor, Tensor]:
        """Base data: images (S*n, 1, 32, 32) float32 and prompts (S*n,) int64, n a replica.

        Raises ValueError for n < 1.
        """
        c, shown = followed(n, self.prompts, self.follow, streams)
        counts = self._counts[shown]
        within = (streams.uniform(n).double() * counts).long()
        first = self._counts.cumsum(0)[shown] - counts
        return self.images[self._sorted[first + within]], c

    def reward(self, x: Tensor, c: Tensor) -> Tensor:
        """1 where the judge takes images x (B, 1, 32, 32) for digit c (B,) int64, else 0: (B,) float32.

        Raises ValueError or TypeError for shapes, dtypes, values or prompts that do not fit.
        """
        check_batch(x, c, self.shape, self.prompts)
        return (self.judge.seen(x)[1] == c).float()

    def monitors(self, x: Tensor, c: Tensor) -> dict[str, float]:
        """What the judge does not see, of x (B, 1, 32, 32) and c (B,): critic_accuracy, frechet.

        critic_accuracy: share of x that the critic takes for digit c. frechet: distance of x from the training images
        in the critic's features. Raises ValueError for B below 2, and like `reward`.
        """
        check_batch(x, c, self.shape, self.prompts)
        features, digit = self.critic.seen(x)
        return {
            "critic_accuracy": share(digit == c),
            "frechet": frechet_distance(features, self._features),
        }


def digits_task(
    seed: int = 0, *, folder: str | Path | None = None, follow: float = 0.4, device: str = "cpu", **training
) -> Digits:
    """The task on MNIST's training split, with a judge and a critic trained on it from two streams of one seed.

    folder: where the digit files are, besides $ICLR26_DATA/mnist. follow: as in `Digits`. device: of the classifiers.
    training: steps, batch, lr, width, features of `train_classifier`.
    Raises DataError when a file is missing or corrupt, and what `train_classifier` and `Digits` raise.
    """
    grey, digit = mnist("train", folder)
    images, labels = padded(grey), torch.from_numpy(digit)
    nets = [train_classifier(images, labels, seed, name, device=device, **training) for name in ("judge", "critic")]
    return Digits(images, labels, *nets, follow)
