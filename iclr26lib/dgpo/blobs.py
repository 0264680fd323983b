"""Count the blobs: a prompt asks for a number of discs, and a reward that no gradient passes counts components."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from scipy import ndimage
from torch import Tensor

from ..flows import Streams
from ..flows.interface import positive
from .prompted import check_batch, check_samples, followed, probability, share

JITTER = 0.4  # pixels, along either axis
GREY = 0.5
REFERENCE_SCENES = 4000
TYPICAL = (1, 99)  # percentiles of the components' areas
CROSS = ndimage.generate_binary_structure(2, 1)[None] & np.array([0, 1, 0], bool)[:, None, None]  # within one image


@dataclass(frozen=True)
class Components:
    """The 4-connected components of {pixel > 0} in B images, N in all.

    image: (N,) int64, the image of each. area: (N,) int64 pixels. centre: (N, 2) float64, mean row and column.
    images: B.
    """

    image: np.ndarray
    area: np.ndarray
    centre: np.ndarray
    images: int

    @property
    def count(self) -> np.ndarray:
        """Number of components of each image, (B,) int64."""
        return np.bincount(self.image, minlength=self.images)


def components(x: Tensor) -> Components:
    """The components of images x (B, 1, H, W). Raises ValueError or TypeError when x is no finite float batch."""
    if x.ndim != 4 or x.shape[1] != 1:
        raise ValueError(f"images must have shape (B, 1, H, W), got {tuple(x.shape)}")
    check_samples(x, tuple(x.shape[1:]))
    labels, n = ndimage.label((x[:, 0] > 0).cpu().numpy(), structure=CROSS)
    image, row, column = np.nonzero(labels)
    owner = labels[image, row, column] - 1
    area = np.bincount(owner, minlength=n)
    means = [np.bincount(owner, weights=w, minlength=n) / area for w in (image, row, column)]
    return Components(means[0].round().astype(np.int64), area, np.stack(means[1:], 1), len(x))


@dataclass(frozen=True)
class CountBlobs:
    """Prompt c asks for c + 1 discs, each in a cell of its own; a base sample shows that number only now and then.

    size: side of the grey image; it has (size // cell)**2 cells, and a border where cell does not divide size: 15 gives
    3 x 3 cells, 32 gives 6 x 6 inside a border of 1 pixel. cell: side of a cell, at least 5 so that discs never touch.
    most: largest number of discs, and number of prompts. follow: probability that a base sample shows the number asked
    for; otherwise any of 1..most, so that 0.4 makes half of the base samples right.
    Raises ValueError for sizes out of range or more discs than cells, TypeError for sizes that are no int.
    """

    size: int = 15
    cell: int = 5
    most: int = 6
    follow: float = 0.4

    def __post_init__(self) -> None:
        for name in ("size", "cell", "most"):
            positive(name, getattr(self, name))
        probability(follow=self.follow)
        if self.cell < 5:
            raise ValueError(f"cell must be 5 or more so that discs never touch, got {self.cell}")
        if self.most > self.side**2:
            raise ValueError(f"most={self.most} discs do not fit in {self.side**2} cells of {self.cell} pixels")

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one sample, (1, size, size)."""
        return (1, self.size, self.size)

    @property
    def prompts(self) -> int:
        """Number of prompts, which are 0..prompts-1; prompt c asks for c + 1 discs."""
        return self.most

    @property
    def own(self) -> float:
        """Probability that a base sample shows the number of discs that its prompt asks for."""
        return self.follow + (1 - self.follow) / self.most

    @property
    def side(self) -> int:
        """Cells along one axis."""
        return self.size // self.cell

    @property
    def border(self) -> int:
        """Pixels above and to the left of the cells."""
        return (self.size - self.side * self.cell) // 2

    @property
    def largest_occupancy(self) -> float:
        """Entropy of components spread evenly over all cells, in nats: the most that `occupancy` can be."""
        return math.log(self.side**2)

    def draw(self, n: int, streams: Streams) -> tuple[Tensor, Tensor]:
        """Base data: images (S*n, 1, size, size) float32 in [-1, 1] and prompts (S*n,) int64, n a replica.

        Raises ValueError for n < 1.
        """
        c, shown = followed(n, self.prompts, self.follow, streams)
        return self.scenes(shown + 1, streams), c

    def scenes(self, discs: Tensor, streams: Streams) -> Tensor:
        """Images (S*n, 1, size, size) float32 with `discs` (S*n,) int64 discs, in cells drawn without replacement.

        A disc is clip(2 - d, 0, 1) at distance d in pixels from its centre, mapped to [-1, 1].
        Raises ValueError for a number of discs outside 0..cells, or rows that are no multiple of the S replicas.
        """
        cells, (n, left) = self.side**2, divmod(len(discs), streams.replicas)
        if left or n == 0 or discs.ndim != 1:
            raise ValueError(f"need equal numbers of rows for {streams.replicas} replicas, got {tuple(discs.shape)}")
        if not ((discs >= 0) & (discs <= cells)).all():
            raise ValueError(f"discs must lie in 0..{cells}, got {int(discs.min())}..{int(discs.max())}")
        rank = streams.uniform(n * cells).view(-1, cells).argsort(1).argsort(1)
        jitter = JITTER * (2 * streams.uniform(n * cells * 2).view(-1, cells, 2) - 1)
        along = torch.arange(self.cell) - (self.cell - 1) / 2 - jitter[..., None]  # (S*n, cells, 2, cell)
        away = torch.hypot(along[:, :, 0, :, None], along[:, :, 1, None, :])
        return self._assembled((2 - away).clamp(0, 1) * (rank < discs[:, None])[..., None, None])

    def _assembled(self, tiles: Tensor) -> Tensor:
        """Tiles (B, cells, cell, cell) in [0, 1] put in their places, as images (B, 1, size, size) in [-1, 1]."""
        inner, b = self.side * self.cell, self.border
        rows = tiles.view(-1, self.side, self.side, self.cell, self.cell).transpose(2, 3)
        images = rows.new_full((len(tiles), *self.shape), -1.0)
        images[:, 0, b : b + inner, b : b + inner] = 2 * rows.reshape(-1, inner, inner) - 1
        return images

    def count(self, x: Tensor) -> Tensor:
        """Number of 4-connected components of {pixel > 0} of images x (B, 1, size, size): (B,) int64.

        Raises ValueError or TypeError for shapes, dtypes or values that do not fit.
        """
        check_samples(x, self.shape)
        return torch.from_numpy(components(x).count).to(x.device)

    def reward(self, x: Tensor, c: Tensor) -> Tensor:
        """1 where images x (B, 1, size, size) hold c + 1 components, c (B,) int64, else 0: (B,) float32.

        Raises ValueError or TypeError for shapes, dtypes, values or prompts that do not fit.
        """
        check_batch(x, c, self.shape, self.prompts)
        return (self.count(x) == c + 1).float()

    @cached_property
    def usual_areas(self) -> tuple[float, float]:
        """1st and 99th percentile of the components' areas in pixels over 4,000 base scenes of a fixed seed."""
        x, _ = self.draw(REFERENCE_SCENES, Streams([0], "usual areas"))
        low, high = np.percentile(components(x).area, TYPICAL)
        return float(low), float(high)

    def well_formed(self, x: Tensor) -> float:
        """Share of the components of x (B, 1, size, size) whose area lies within `usual_areas`; 0 when there are none.

        Raises ValueError or TypeError for shapes, dtypes or values that do not fit.
        """
        check_samples(x, self.shape)
        area, (low, high) = components(x).area, self.usual_areas
        return float(((area >= low) & (area <= high)).mean()) if len(area) else 0.0

    def grey(self, x: Tensor) -> float:
        """Share of the pixels of x (B, 1, size, size) between -0.5 and 0.5; the discs' edges alone give some.

        Raises ValueError or TypeError for shapes, dtypes or values that do not fit.
        """
        check_samples(x, self.shape)
        return share(x.abs() < GREY)

    def occupancy(self, x: Tensor, c: Tensor) -> float:
        """Entropy in nats of the cells that hold components, given the prompt, averaged over the prompts in c (B,).

        x: (B, 1, size, size). A component is in the cell of its centre, one in the border in the nearest cell. From few
        components it comes out too low, by about (cells - 1) / (2 components); 0 for a prompt whose images hold none.
        Raises ValueError or TypeError for shapes, dtypes, values or prompts that do not fit.
        """
        check_batch(x, c, self.shape, self.prompts)
        found, prompts = components(x), c.cpu().numpy()
        row, column = ((found.centre + 0.5 - self.border) // self.cell).astype(int).clip(0, self.side - 1).T
        table = np.zeros((self.prompts, self.side**2))
        np.add.at(table, (prompts[found.image], row * self.side + column), 1)
        share = table / np.maximum(table.sum(1, keepdims=True), 1)
        entropy = -np.where(share > 0, share * np.log(np.where(share > 0, share, 1)), 0).sum(1)
        return float(entropy[np.unique(prompts)].mean())

    def monitors(self, x: Tensor, c: Tensor) -> dict[str, float]:
        """What the reward does not see, of x (B, 1, size, size) and c (B,): well_formed, grey, occupancy.

        Raises ValueError or TypeError for shapes, dtypes, values or prompts that do not fit.
        """
        return {"well_formed": self.well_formed(x), "grey": self.grey(x), "occupancy": self.occupancy(x, c)}
