"""Figures of the evidence notebook."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from .. import style

NAMES = {
    "dgpo": "DGPO", "dpo": "online DPO", "grpo": "Flow-GRPO", "grpo 4": "Flow-GRPO, 4 of 10 steps",
    "sde": "DGPO, SDE rollouts", "no clip": "DGPO, no timestep clip", "unshared": "DGPO, a noise a sample",
    "offline": "DGPO, offline", "ema": "DGPO, reference follows",
}  # fmt: skip
LOOKS = {
    "dgpo": (style.BLUE, "-"), "dpo": (style.ORANGE, "--"), "grpo": (style.VERMILION, "-."),
    "grpo 4": (style.PURPLE, ":"), "sde": (style.GREEN, "--"), "no clip": (style.SKY, ":"),
}  # fmt: skip
Runs = Mapping[str, dict[str, Any]]


def _line(ax: Any, x: Sequence[float], values: Any, arm: str, label: str) -> None:
    """Mean over seeds as a line, from the lowest to the highest seed as a band."""
    color, dash = LOOKS[arm]
    rows = np.array(values, dtype=float)
    ax.plot(x, rows.mean(1), dash, color=color, label=label)
    ax.fill_between(x, rows.min(1), rows.max(1), color=color, alpha=0.15, lw=0)


def reward_curves(rings: Mapping[int, Runs], arms: Sequence[str]) -> Figure:
    """Reward against network passes, one panel a dimension; the dotted line is the mean midpoint.

    rings: dimension -> arm -> run of `improve`. arms: which to draw.
    """
    fig, axes = plt.subplots(1, len(rings), figsize=(7.2, 3.5), sharey=True)
    for ax, (dim, runs) in zip(axes, rings.items(), strict=True):
        for arm in arms:
            passes = np.array(runs[arm]["passes"]) / 1000
            _line(ax, passes, runs[arm]["reward"], arm, NAMES[arm])
        curve = np.array(runs["dgpo"]["reward"])
        ax.axhline((curve[0] + curve[-1]).mean() / 2, color=style.BLACK, lw=0.9, ls=(0, (1, 2)))
        ax.set(title=f"ring, D = {dim}", xlabel="network passes a seed, thousands", ylim=(0, 1))
    axes[0].set_ylabel("reward")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return style.finished(fig)


PANELS = (
    ("off_manifold", "share outside every mode", 0.0111),
    ("offset", "offset of modes, std", 0.0),
    ("spread", "width of modes / std", 0.974),
)


def monitors(rings: Mapping[int, Runs], arms: Sequence[str]) -> Figure:
    """Share of samples outside every mode, offset and width of the modes against updates; thin lines: exact 2-D data.

    rings: dimension -> arm -> run of `improve`. arms: which to draw.
    """
    fig, axes = plt.subplots(len(PANELS), len(rings), figsize=(7.2, 6.4), sharex=True, sharey="row")
    for column, (dim, runs) in enumerate(rings.items()):
        for row, (key, label, exact) in enumerate(PANELS):
            for arm in arms:
                _line(axes[row][column], runs[arm]["updates"], runs[arm][key], arm, NAMES[arm])
            axes[row][column].axhline(exact, color=style.BLACK, lw=0.8)
            axes[row][0].set_ylabel(label)
        axes[0][column].set_title(f"ring, D = {dim}")
        axes[-1][column].set_xlabel("updates")
    fig.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return style.finished(fig)


def samplers(found: Mapping[int, dict[str, Any]]) -> Figure:
    """Share of base samples outside every mode against the number of steps, one panel a dimension.

    found: dimension -> result of `controls.samplers`.
    """
    fig, axes = plt.subplots(1, len(found), figsize=(7.2, 3.1), sharey=True)
    for ax, (dim, result) in zip(np.atleast_1d(axes), found.items(), strict=True):
        _line(ax, result["steps"], result["ode"], "dgpo", "ODE")
        _line(ax, result["steps"], result["sde"], "sde", "SDE")
        ax.axvline(10, color=style.GREY, lw=0.8, ls=":")
        ax.set(title=f"D = {dim}", xlabel="steps", xscale="log")
        ax.set_xticks(result["steps"], [str(n) for n in result["steps"]])
        ax.minorticks_off()
    axes[0].set_ylabel("base samples outside every mode")
    axes[0].legend()
    return style.finished(fig)


def by_dimension(finals: Mapping[str, Mapping[int, Sequence[float]]], base: Mapping[int, Sequence[float]]) -> Figure:
    """Last reward of each seed against the dimension, a line through the means; the base's in black.

    finals: arm -> dimension -> (seeds,) rewards. base: dimension -> (seeds,).
    """
    fig, ax = plt.subplots(figsize=(5.4, 3.3))
    for arm, points in {**finals, "base": base}.items():
        color, dash = LOOKS.get(arm, (style.BLACK, ":"))
        dims = sorted(points)
        ax.plot(dims, [np.mean(points[d]) for d in dims], dash, color=color, label=NAMES.get(arm, "base"))
        for d in dims:
            ax.scatter([d] * len(points[d]), points[d], s=12, color=color, alpha=0.6, lw=0)
    ax.set(xscale="log", xlabel="dimension of the ring, D", ylabel="last reward", ylim=(0, 1))
    dims = sorted(base)
    ax.set_xticks(dims, [str(d) for d in dims])
    ax.minorticks_off()
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return style.finished(fig)


def rows(values: Mapping[str, Sequence[float]], xlabel: str, marked: float) -> Figure:
    """One row a variant, a dot a seed and a tick at the mean; the vertical line is the reference's mean.

    values: variant -> (seeds,). xlabel: of the axis. marked: where the line stands.
    """
    fig, ax = plt.subplots(figsize=(7.2, 0.36 * len(values) + 1.0))
    names = list(values)[::-1]
    for place, name in enumerate(names):
        ax.scatter(values[name], [place] * len(values[name]), s=18, color=style.BLUE, alpha=0.65, lw=0)
        ax.plot(np.mean(values[name]), place, "|", color=style.BLACK, ms=13)
    ax.axvline(marked, color=style.BLACK, lw=0.8)
    ax.set_yticks(range(len(names)), names)
    ax.set_xlabel(xlabel)
    ax.grid(axis="y", visible=False)
    return style.finished(fig)


def blobs(runs: Runs, followed: float) -> Figure:
    """Reward, and the monitors of the shapes, of the counting task against updates.

    runs: arm -> run of `improve`. followed: share of the base's data that obey their prompt.
    """
    fig, axes = plt.subplots(1, 3, figsize=(7.2, 3.0))
    panels = (
        ("reward", "right count"),
        ("well_formed", "usual discs"),
        ("occupancy", "entropy of cells, nats"),
    )
    for ax, (key, label) in zip(axes, panels, strict=True):
        for arm, run in runs.items():
            if arm in LOOKS:
                _line(ax, run["updates"], run[key], arm, NAMES[arm])
        ax.set(title=label, xlabel="updates")
    axes[0].axhline(followed, color=style.BLACK, lw=0.8, ls=":")
    axes[0].set_ylim(0, 1)
    axes[1].set_ylim(0, 1.02)
    axes[2].set_ylim(0)
    if len(runs) > 1:
        fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return style.finished(fig)


def gallery(before: Any, after: Any, right: Any) -> Figure:
    """Images of the base (left) and after training (right), a row a prompt; a frame marks the right count.

    before, after: (prompts, n, 1, size, size). right: two tables (prompts, n) of bool, for before and after.
    """
    pair = [np.array(before)[:, :, 0], np.array(after)[:, :, 0]]
    prompts, n = pair[0].shape[:2]
    wide = [1.0] * n + [0.3] + [1.0] * n
    size = (6.4, 6.4 * prompts / sum(wide))
    fig, axes = plt.subplots(prompts, len(wide), figsize=size, squeeze=False, width_ratios=wide)
    for row in range(prompts):
        axes[row][n].axis("off")
        for side, images in enumerate(pair):
            for i in range(n):
                ax = axes[row][side * (n + 1) + i]
                ax.imshow(images[row, i], cmap="gray", vmin=-1, vmax=1)
                ax.set(xticks=[], yticks=[])
                good = bool(right[side][row][i])
                for spine in ax.spines.values():
                    spine.set(visible=True, color=style.GREEN if good else style.GREY, linewidth=2.2 if good else 0.6)
        axes[row][0].set_ylabel(str(row + 1), rotation=0, labelpad=9, va="center")
    axes[0][0].set_title("base")
    axes[0][n + 1].set_title("after")
    return style.finished(fig)
