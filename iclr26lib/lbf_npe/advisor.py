"""Settings for a simulator of your own, chosen from simulated pairs and explained in sentences.

The narrowest posterior decides. It is estimated without any network: the latents of the pairs whose observations lie
nearest to a given one are, roughly, draws from its posterior. All rules here are ours, not the paper's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..seeding import generator as seeded
from ..seeding import given
from .bases import BSplines
from .method import corners, in_box, trapezoid_grid
from .metrics import finer_grid_check
from .model import LBF, SCALE, mlp
from .training import train

ANCHORS, NEIGHBOURS = 100, 200  # observations looked at, and pairs taken as the posterior of each
FEWEST_PAIRS = 1000
FEWEST_FUNCTIONS, MOST_FUNCTIONS, DEGREE = 14, 150, 2
KNOT_GAP, NODES_A_WIDTH = 2, 8  # knots so many standard deviations of the narrowest peak apart; grid nodes in each
ADAPTIVE_FUNCTIONS, BLOCK = 20, 100
FEWEST_NODES, MOST_NODES_2D = {1: 201, 2: 32}, 128
LEAK = 1e-4  # mass that the scale w may force outside of the narrowest posterior


@dataclass(frozen=True)
class Suggestion:
    """Box, basis and grid for an `LBF`, and why. scale is None for B-splines; grid counts nodes an axis.

    narrowest: (d = 1) standard deviation of the narrowest peak seen, (d = 2) of its thinnest direction, as a share of
    the box.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    x_dim: int
    K: int
    grid: int
    scale: float | None
    narrowest: float
    x_stats: tuple[Tensor, Tensor]
    reasons: tuple[str, ...]

    @property
    def d(self) -> int:
        """Dimension of the latent."""
        return len(self.low)

    def __str__(self) -> str:
        return "\n".join(f"- {reason}" for reason in self.reasons)

    def model(self, generator: torch.Generator, width: int = 64, depth: int = 3) -> LBF:
        """An untrained `LBF` with these settings; width, depth: of its networks. generator: draws the weights.

        Raises TypeError without a generator.
        """
        nodes, log_w = trapezoid_grid(self.low, self.high, self.grid)
        basis = (
            BSplines(self.low[0], self.high[0], self.K, DEGREE)
            if self.d == 1
            else mlp(self.d, width, depth, self.K - 1, generator)
        )
        return LBF(
            self.x_dim, basis, self.K, nodes, log_w, self.scale, width, depth,
            generator=given(generator), x_stats=self.x_stats,
        )  # fmt: skip


def suggest(
    simulator,
    generator: torch.Generator,
    *,
    pairs: int = 20000,
    low: Sequence[float] | None = None,
    high: Sequence[float] | None = None,
) -> Suggestion:
    """Look at `pairs` simulated pairs and choose the box, the basis and the grid.

    simulator: has `.sample(n, generator) -> (z (n, d), x (n, x_dim))` with d = 1 or 2 and any prior; its `low` and
    `high`, or those given here (d numbers each), are the box, else the range of the draws, widened.
    Raises ValueError for d above 2, values that are not finite, a latent or an observation that never varies, draws
    outside a given box, fewer than 1000 pairs, or a posterior too narrow for a fixed grid; TypeError for a simulator
    without `.sample` or no generator.
    """
    z, x = _pairs(simulator, given(generator), pairs)
    given_low = getattr(simulator, "low", None) if low is None else low
    given_high = getattr(simulator, "high", None) if high is None else high
    box, why_box = _box(z, given_low, given_high)
    place = (z - z.new_tensor(box[0])) / (z.new_tensor(box[1]) - z.new_tensor(box[0]))
    spread, mean = x.std(0), x.mean(0)
    near = _neighbours((x - mean) / spread)
    choose = _one_dimension if z.shape[1] == 1 else _two_dimensions
    K, grid, scale, narrowest, why = choose(place[near])
    if x.shape[1] > 3:
        why += (
            f"Each observation has {x.shape[1]} numbers, so its nearest neighbours are not very near: "
            "true posteriors may be narrower than estimated. Try twice as many functions and compare the held-out NLL.",
        )
    return Suggestion(*box, x.shape[1], K, grid, scale, narrowest, (mean, spread), (why_box, *why))


def posterior(
    simulator,
    *,
    steps: int,
    seed: int,
    batch: int = 256,
    lr: float = 2e-3,
    low: Sequence[float] | None = None,
    high: Sequence[float] | None = None,
) -> tuple[LBF, Suggestion]:
    """A trained `LBF` for a simulator, and the settings that were suggested for it.

    simulator, low, high: as `suggest`. steps, batch, lr: updates by Adam, pairs in each, rate, which falls to 0 along a
    cosine. seed: of everything. A learnt basis is trained in turns with f, and must not hide spikes from its grid.
    Raises as `suggest`, `train` and `finer_grid_check`.
    """
    advice = suggest(simulator, seeded(seed, "advice"), low=low, high=high)
    model = advice.model(seeded(seed, "init"))
    turns = None if advice.d == 1 else BLOCK
    train([model], simulator, steps, batch, lr, seeds=[seed], schedule="cosine", alternate=turns, vectorise=False)
    finer_grid_check(model, simulator.sample(64, seeded(seed, "check"))[1], factor=2)
    return model, advice


def _pairs(simulator, generator: torch.Generator, pairs: int) -> tuple[Tensor, Tensor]:
    """Draw the pairs, and refuse what no setting could mend."""
    if pairs < FEWEST_PAIRS:
        raise ValueError(f"pairs must be {FEWEST_PAIRS} or more, got {pairs}")
    if not callable(getattr(simulator, "sample", None)):
        raise TypeError(f"a simulator needs sample(n, generator) -> (z, x); {type(simulator).__name__} has none")
    z, x = simulator.sample(pairs, generator)
    for name, t in (("z", z), ("x", x)):
        if not isinstance(t, Tensor) or t.ndim != 2 or len(t) != pairs or t.shape[1] == 0:
            raise ValueError(f"sample must return {name} as a tensor ({pairs}, size), got {getattr(t, 'shape', t)}")
        if not torch.isfinite(t).all():
            raise ValueError(f"{int((~torch.isfinite(t)).any(1).sum())} of {pairs} simulated {name} are not finite")
        if not (t.amin(0) < t.amax(0)).all():
            raise ValueError(f"an entry of {name} never varies: {t[0].tolist()} in each of {pairs} draws")
    if z.shape[1] > 2:
        raise ValueError(
            f"the latent has {z.shape[1]} dimensions: a grid of n nodes an axis would need n**{z.shape[1]}. "
            "Simulate as before, but return only the one or two that you ask about: the others are marginalised"
        )
    return z.float(), x.float()


def _box(z: Tensor, low, high) -> tuple[tuple[tuple[float, ...], tuple[float, ...]], str]:
    """The box as (low, high), given or from the draws z (n, d), and the sentence about it."""
    if (low is None) != (high is None):
        raise ValueError(f"give both corners of the box or neither, got low {low} and high {high}")
    if low is not None:
        low, high = corners(
            *(side if isinstance(side, int | float) else tuple(map(float, side)) for side in (low, high))
        )
        in_box(z, low, high, "a simulated z")
        return (low, high), f"Box: {_range(low, high)}, as given; outside of it q is 0."
    least, most = z.amin(0), z.amax(0)
    tails = torch.quantile(z, torch.tensor([0.001, 0.999]), dim=0)
    floor = 0.005 * (most - least)
    below, above = torch.maximum(3 * (tails[0] - least), floor), torch.maximum(3 * (most - tails[1]), floor)
    box = tuple((least - below).tolist()), tuple((most + above).tolist())
    sentence = (
        f"Box: {_range(*box)}, the range of {len(z)} draws, widened by three times their last thousandth. A later draw "
        "outside stops the training with an error: pass low and high where you know the prior's ends."
    )
    return box, sentence


def _range(low: Sequence[float], high: Sequence[float]) -> str:
    return " x ".join(f"[{a:.4g}, {b:.4g}]" for a, b in zip(low, high, strict=True))


def _neighbours(x: Tensor) -> Tensor:
    """Rows (ANCHORS, NEIGHBOURS) of the pairs whose standardised observations x (n, x_dim) lie nearest to an anchor."""
    anchors = x[:: len(x) // ANCHORS][:ANCHORS]
    return torch.cdist(anchors, x).topk(NEIGHBOURS, largest=False).indices


def _one_dimension(place: Tensor) -> tuple[int, int, None, float, tuple[str, ...]]:
    """B-splines from the latents (ANCHORS, NEIGHBOURS, 1), as places in the box between 0 and 1.

    The shortest interval with a quarter of the neighbours gives the height of the peak, and so the width of a Gaussian
    that is as high. A knot every two widths is enough: quadratic splines hold the logarithm of a Gaussian exactly.
    """
    ordered = place[..., 0].sort(-1).values
    inside = NEIGHBOURS // 4
    height = 0.25 / (ordered[:, inside:] - ordered[:, :-inside]).amin(-1).clamp_min(1e-9)
    narrowest = 1 / (math.sqrt(2 * math.pi) * torch.quantile(height, 0.9).item())
    K = max(FEWEST_FUNCTIONS, math.ceil(1 / (KNOT_GAP * narrowest)) + DEGREE)
    if K > MOST_FUNCTIONS:
        raise ValueError(
            f"the narrowest posterior is {narrowest:.2g} of the box wide and would need {K} functions, more than "
            f"{MOST_FUNCTIONS}: take a narrower box, or infer a transformed latent (its logarithm, say)"
        )
    grid = max(FEWEST_NODES[1], math.ceil(NODES_A_WIDTH / narrowest) + 1)
    reasons = (
        f"Basis: one dimension, so {K} fixed B-splines, in which the fit is convex. The narrowest peak among {ANCHORS} "
        f"observations has a standard deviation of {narrowest:.2g} of the box; knots are at most "
        f"{KNOT_GAP} of these apart.",
        f"Grid: {grid} nodes, {NODES_A_WIDTH} or more a standard deviation of that peak.",
    )
    return K, grid, None, narrowest, reasons


def _two_dimensions(place: Tensor) -> tuple[int, int, float, float, tuple[str, ...]]:
    """A learnt basis from the latents (ANCHORS, NEIGHBOURS, 2), as places in the unit square.

    The smallest spread of 20 latents that lie together gives the thinnest direction, and so the grid; the circle around
    10 of them gives the height of the peak, and so w: with |k| <= w the rest of the box keeps a share of about
    height e^(-2w) of the mass.
    """
    distance, order = torch.cdist(place, place).sort(-1)
    rows = torch.arange(len(place))[:, None, None]
    patch = place[rows, order[..., :20]]
    centred = patch - patch.mean(-2, keepdim=True)
    thin = torch.linalg.eigvalsh(centred.mT @ centred / 19)[..., 0].clamp_min(1e-12).sqrt()
    narrowest = torch.quantile(thin.median(-1).values, 0.05).item()
    height = 10 / (NEIGHBOURS * math.pi * distance[..., 10].median(-1).values.square().clamp_min(1e-12))
    peak = max(1.0, torch.quantile(height, 0.95).item())
    grid = max(FEWEST_NODES[2], math.ceil(1 / narrowest))
    if grid > MOST_NODES_2D:
        raise ValueError(
            f"the thinnest posterior is {narrowest:.2g} of the box wide and would need {grid} nodes an axis, more than "
            f"{MOST_NODES_2D}: take a narrower box, or infer one coordinate at a time"
        )
    needed = 0.5 * math.log(peak / LEAK)
    w = max(SCALE, float(math.ceil(needed)))
    reasons = (
        f"Basis: two dimensions, so {ADAPTIVE_FUNCTIONS} learnt functions on the sphere, trained in turns with f; a "
        "product of fixed ones would need their square.",
        f"Scale: w = {w:g}. The highest peak among {ANCHORS} observations is {peak:.2g} times a uniform density; "
        f"w = {needed:.2g} keeps about {1 - LEAK:.2%} of its mass inside, the rest is margin.",
        f"Grid: {grid} nodes an axis; the thinnest posterior has a standard deviation of {narrowest:.2g} of the box.",
    )
    return ADAPTIVE_FUNCTIONS, grid, w, narrowest, reasons
