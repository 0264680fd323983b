"""Pictures of the idea notebook. Each function draws plain tensors and returns a matplotlib Figure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from .. import style

GOOD, BAD = style.BLUE, style.VERMILION
SQUARE = 2.9  # half the side of the plane shown


def _plane(ax, ring: Any, own: int | None = None) -> None:
    """The plane with a circle around each mode, the prompt's own drawn bold."""
    for i, (x, y) in enumerate(ring.centres[:, :2].tolist()):
        bold = i == own
        colour, width = (style.BLACK, 1.8) if bold else (style.GREY, 0.8)
        ax.add_patch(plt.Circle((x, y), ring.hit, fill=False, color=colour, lw=width, ls="-" if bold else ":"))
    ax.set(xlim=(-SQUARE, SQUARE), ylim=(-SQUARE, SQUARE), aspect="equal", xticks=[-2, 0, 2], yticks=[-2, 0, 2])
    ax.set(xlabel="$x_1$", ylabel="$x_2$")
    ax.grid(visible=False)


def _group(ax, x: Tensor, advantages: Tensor) -> None:
    """Samples x (G, 2): size |A|; discs above the group's mean, crosses below it, small dots where A is 0."""
    size = 14 + 40 * advantages.abs().clamp(max=2.5)
    for which, colour, marker in ((advantages > 0, GOOD, "o"), (advantages < 0, BAD, "X")):
        ax.scatter(*x[which].T, s=size[which], c=colour, marker=marker, lw=0.4, edgecolors="white", zorder=3)
    flat = advantages == 0
    ax.scatter(*x[flat].T, s=14, c=style.GREY, lw=0, zorder=3)


def _arrows(ax, start: Tensor, move: Tensor, colours: Any, **how: Any) -> None:
    ax.quiver(*start.T, *move.T, angles="xy", scale_units="xy", scale=1, color=colours, zorder=2, **how)


def problem(x: Tensor, c: Tensor, ring: Any, own: int) -> Figure:
    """Left: samples of the base for prompt `own`. Right: the share of them that is right, beside what the data have.

    x: (B, 2) samples for all prompts c (B,). ring: the task.
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.3), width_ratios=(1, 1.1))
    mine = x[c == own]
    hit = ring.reward(mine, torch.full((len(mine),), own)) > 0
    left.scatter(*mine[hit].T, s=9, c=GOOD, marker="o", lw=0)
    left.scatter(*mine[~hit].T, s=11, c=BAD, marker="x", lw=0.8)
    _plane(left, ring, own)
    left.set_title(f"the base, asked for mode {own}")
    shares = ring.mode_shares(x, c)[own].tolist()
    bars = right.bar(range(ring.modes), shares, color=[GOOD if i == own else BAD for i in range(ring.modes)])
    bars[own].set_hatch("//")
    data = [ring.own if i == own else (1 - ring.own) / (ring.modes - 1) for i in range(ring.modes)]
    right.plot(range(ring.modes), data, "_", color=style.BLACK, ms=16, mew=1.6, label="in its training data")
    right.set(
        xlabel="mode", ylabel="share of samples", xticks=range(ring.modes), ylim=(0, 0.5), title="where they fall"
    )
    right.legend(loc="upper right")
    return style.finished(fig)


def push(x: Tensor, advantages: Tensor, predicted: Tensor, force: Tensor, ring: Any, own: int, t: float) -> Figure:
    """What the loss asks of the data predictions of one group, noised by one noise.

    Left: the group x (G, 2), size |A|. Right: predictions (G, 2) with arrows `force` (G, 2): towards good samples, away
    from bad ones. advantages: (G,). own: prompt. t: time of the noise.
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.5))
    _group(left, x, advantages)
    _plane(left, ring, own)
    left.set_title("a group and its advantages")
    right.scatter(*predicted.T, s=8, c=style.BLACK, lw=0, zorder=3)
    _arrows(right, predicted, force, [GOOD if a > 0 else BAD for a in advantages.tolist()], width=0.005)
    _plane(right, ring, own)
    right.set_title(f"what the loss asks for at t = {t:.2f}")
    return style.finished(fig)


def training(
    x: Tensor, advantages: Tensor, before: Tensor, after: Tensor, weights: Tensor,
    curve: dict[float, tuple[Sequence, Sequence]], beta: float, update: int, ring: Any, own: int,
) -> Figure:  # fmt: skip
    """One frame: a group of the policy, the sigmoid weights, and the reward of every beta with a marker at this one.

    x: (G, 2) the group. advantages: (G,). before, after: (G, 2) data predictions of base and policy for its copies at
    one shared noise. weights: (N,) sigmoid weights of many groups. curve: beta -> (updates, rewards). own: the prompt.
    """
    fig = plt.figure(figsize=(6.6, 4.0))
    big, small = fig.subfigures(1, 2, width_ratios=(1.45, 1))
    plane = big.subplots()
    plane.scatter(*before.T, s=5, c=style.BLACK, lw=0, zorder=3)
    _arrows(plane, before, after - before, style.BLACK, width=0.004, alpha=0.6)
    _group(plane, x, advantages)
    _plane(plane, ring, own)
    plane.set_title(f"β = {beta:g}, after {update} updates")
    above, below = small.subplots(2, 1)
    above.hist(weights, np.linspace(0, 1, 21), color=style.SKY, edgecolor="white")
    above.axvline(0.5, color=style.BLACK, lw=1, ls=":")
    above.set(xlim=(0, 1), ylim=(0, len(weights)), xlabel="weight σ(z) of a group", ylabel="groups")
    for other, (updates, rewards) in curve.items():
        bold = other == beta
        below.plot(
            updates, rewards, color=GOOD if bold else style.GREY, lw=2.2 if bold else 0.9, zorder=3 if bold else 2
        )
        if bold:
            below.plot([update], [rewards[list(updates).index(update)]], "o", color=style.BLACK, ms=7, zorder=4)
    below.set(xlabel="updates", ylabel="reward", ylim=(0, 1.05))
    return style.finished(fig)


def training_alt(reward: float, weight: float, right: int, size: int, beta: float, update: int) -> str:
    """Alt text of a frame of `training`, for its beta and update.

    reward: of the policy, over all prompts. weight: mean sigmoid weight. right, size: of a group, right and in all.
    """
    state = "saturated" if weight < 0.1 else "partly saturated" if weight < 0.4 else "near one half"
    return (
        f"Beta {beta:g}, {update} updates: {right} of {size} samples of the group lie in the mode that was asked for; "
        f"the sigmoid weights are {state}, mean {weight:.2f}; the reward over all prompts is {reward:.2f}."
    )


def constant(
    rewards: Tensor, advantages: Tensor, results: dict[str, dict[str, float]], rule: str, added: float
) -> Figure:
    """One frame: implicit rewards of a group with a constant added, the weighted sums of its halves, loss and gradient.

    rewards: (G,) with the constant in. advantages: (G,). results: of this frame and of the constant 0, each
    {"plus", "minus", "loss", "gradient"}. rule: "|A|" or "1", the weights. added: the constant.
    """
    fig, (left, middle, right) = plt.subplots(1, 3, figsize=(7.0, 2.9), width_ratios=(1.2, 1, 1.1))
    order = torch.argsort(advantages, stable=True)
    good = advantages[order] > 0
    place = torch.arange(len(order))
    left.plot(place[good], rewards[order][good], "o", color=GOOD, ms=5)
    left.plot(place[~good], rewards[order][~good], "X", color=BAD, ms=5)
    left.axhline(0, color=style.BLACK, lw=0.8)
    left.set(xlabel="sample, by advantage", ylabel="implicit reward", ylim=(-7, 5), title=f"constant {added:+g}")
    now, before = results["now"], results["zero"]
    middle.bar([0, 1], [now["plus"], now["minus"]], color=[GOOD, BAD], width=0.6)
    middle.axhline(0, color=style.BLACK, lw=0.8)
    middle.set(xticks=[0, 1], xticklabels=["$R(G^+)/G$", "$R(G^-)/G$"], ylim=(-3, 2), title=f"weights {rule}")
    names = ["loss", "gradient"]
    for i, name in enumerate(names):
        right.bar(i - 0.18, before[name], 0.32, color="white", edgecolor=style.BLACK, hatch="//")
        right.bar(i + 0.18, now[name], 0.32, color=style.GREEN)
        right.text(i + 0.18, now[name] + 0.03, f"{now[name]:.2f}", ha="center", fontsize=9)
    right.set(xticks=[0, 1], xticklabels=names, ylim=(0, 1), title="constant 0 hatched")
    return style.finished(fig)


def constant_alt(results: dict[str, dict[str, float]], rule: str, added: float) -> str:
    """Alt text of a frame of `constant`; results, rule, added: as there."""
    now, old = results["now"], results["zero"]
    same = all(math.isclose(now[k], old[k], abs_tol=1e-4) for k in ("loss", "gradient"))
    return (
        f"Weights {rule}, constant {added:+g}: loss {now['loss']:.3f} and gradient {now['gradient']:.3f}, "
        f"{'the same as' if same else 'not those'} without a constant ({old['loss']:.3f} and {old['gradient']:.3f})."
    )


def gap(betas: Tensor, optimum: dict[str, Tensor], ours: dict[str, tuple[Sequence, Sequence]], base: float) -> Figure:
    """Share of samples in the own mode against beta: the KL-regularised optimum as lines, DGPO as dots.

    betas: (N,). optimum: label -> (N,). ours: label -> (betas, shares). base: share of the base.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.3))
    for (label, values), dash in zip(optimum.items(), ("-", "--", ":"), strict=False):
        ax.plot(betas, values, color=style.BLACK, ls=dash, lw=1.6, label=label)
    for (label, (at, shares)), colour, marker in zip(
        ours.items(), (style.SKY, style.BLUE, style.GREEN), "osD", strict=False
    ):
        ax.plot(at, shares, marker, color=colour, ms=7, label=label)
    ax.axhline(base, color=style.GREY, lw=1, ls=(0, (1, 2)), label="base")
    ax.set(xscale="log", xlabel="β", ylabel="share in the right mode", ylim=(0, 1.05))
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    return style.finished(fig)


def images(rows: dict[str, Tensor]) -> Figure:
    """Rows of small images: label -> (N, 1, H, W) in [-1, 1], the same N everywhere."""
    fig, axes = plt.subplots(len(rows), 1, figsize=(7.2, 0.75 * len(rows)), squeeze=False)
    for ax, (label, batch) in zip(axes[:, 0], rows.items(), strict=True):
        framed = torch.nn.functional.pad(batch[:, 0], (1, 1, 1, 1), value=1.0)
        ax.imshow(torch.cat(list(framed), 1), cmap="gray", vmin=-1, vmax=1)
        ax.set(xticks=[], yticks=[])
        ax.grid(visible=False)
        ax.set_ylabel(label, rotation=0, ha="right", va="center")
    return style.finished(fig)


def history(run: Any) -> Figure:
    """Reward of an `optimise` run against updates, and each monitor beside it with the band in which it has not moved.

    run: a `History` with at least one look.
    """
    names = ["reward", *run.monitors]
    fig, axes = plt.subplots(1, len(names), figsize=(7.2, 2.5), squeeze=False)
    for ax, name in zip(axes[0], names, strict=True):
        ax.plot(run["update"], run[name], "o-", color=GOOD if name == "reward" else BAD, ms=3)
        if name != "reward":
            ax.axhspan(*run.limits(name), color=style.GREY, alpha=0.3, lw=0)
            ax.set_ylim(bottom=min(0, *run[name], run.limits(name)[0]))
        ax.set(xlabel="updates", title=name.replace("_", " "))
    return style.finished(fig)
