"""Figures of the evidence: each draws plain numbers, as the runs return them, and returns a matplotlib Figure."""

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from .. import stats, style

NAMES = {
    "lbf": "LBF-NPE", "mdn": "MDN, 10 Gaussians", "mdn spread": "MDN, means spread", "mdn zero": "MDN, means at 0",
    "mdn truncated": "MDN, truncated", "nsf": "neural spline flow", "realnvp": "RealNVP", "joint": "LBF, joint updates",
    "plain": "LBF, plain outputs",
}  # fmt: skip
LOOKS = {
    "lbf": (style.BLUE, "-"), "mdn": (style.VERMILION, "--"), "mdn spread": (style.VERMILION, "--"),
    "mdn zero": (style.ORANGE, ":"), "mdn truncated": (style.GREEN, "-."), "nsf": (style.PURPLE, "--"),
    "realnvp": (style.ORANGE, ":"), "joint": (style.SKY, "-."), "plain": (style.BLACK, ":"),
}  # fmt: skip


def _each_seed(ax: Any, across: Sequence[float], curve: Any, arm: str) -> None:
    """One thin line a seed, the first labelled. curve: (checkpoints, seeds)."""
    colour, line = LOOKS[arm]
    for seed, values in enumerate(np.asarray(curve).T):
        ax.plot(across, values, line, color=colour, lw=1.3, alpha=0.85, label=None if seed else NAMES[arm])


def optima(found: dict[str, Any], points: Sequence[float]) -> Figure:
    """KL of every start: B-splines at each of `points`, the mixture at the last. found: of `experiments.convexity`."""
    fig, ax = plt.subplots(figsize=(7.2, 3.0))
    rows = [(f"B-splines, x = {x:g}", [k for seed in found["lbf"] for k in seed[i]]) for i, x in enumerate(points)]
    rows.append((f"5 Gaussians by EM, x = {points[-1]:g}", [k for seed in found["mixture"] for k in seed]))
    for place, (_, values) in enumerate(rows[::-1]):
        colour = style.VERMILION if place == 0 else style.BLUE
        jitter = np.linspace(-0.22, 0.22, len(values))
        ax.scatter(values, place + jitter, s=14, color=colour, alpha=0.7, lw=0)
    ax.set_yticks(range(len(rows)), [name for name, _ in rows[::-1]])
    ax.set_xscale("log")
    ax.set_xlabel("KL(p‖q), nats: one dot a start, all seeds")
    ax.grid(axis="y", visible=False)
    return style.finished(fig)


def line_curves(runs: dict[str, Any], floor: float) -> Figure:
    """Excess NLL against the step, one line a seed, and the mixture family's floor. runs: arm -> `train_line`."""
    fig, ax = plt.subplots(figsize=(7.2, 3.6))
    for arm, run in runs.items():
        steps = np.maximum(run["steps"], 0.7)
        _each_seed(ax, steps, np.maximum(np.array(run["curve"]) - np.array(run["best"]), 1e-4), arm)
    ax.axhline(floor, color=style.GREY, lw=1.2, label="best 5 plain Gaussians found by EM")
    ax.set(xscale="log", yscale="log", xlabel="training step (the first point is step 0)", ylabel="excess NLL, nats")
    ax.legend(loc="lower left")
    return style.finished(fig)


def plane_curves(runs: dict[str, Any]) -> Figure:
    """Excess NLL against the step and against seconds of training a seed, a line a seed. runs: arm -> `train_plane`."""
    fig, (left, right) = plt.subplots(1, 2, figsize=(8.2, 3.8), sharey=True)
    for arm, run in runs.items():
        seeds = len(run["fkl"])
        _each_seed(left, np.maximum(run["steps"], 0.7), np.maximum(run["curve"], 1e-3), arm)
        _each_seed(right, np.maximum(np.array(run["clock"]) / seeds, 0.01), np.maximum(run["curve"], 1e-3), arm)
    left.set(xscale="log", yscale="log", xlabel="training step", ylabel="excess NLL, nats")
    right.set(xscale="log", xlabel="seconds of training a seed")
    right.axvline(0, lw=0)
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return style.finished(fig)


def functions(found: dict[int, Sequence[float]], lbf: Sequence[float], K: int) -> Figure:
    """KL at one observation against the number of functions.

    found: functions an axis -> KL of EigenVI, one a set of draws. lbf: KL of LBF-NPE with K functions, one a seed.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.2))
    for row, (an_axis, values) in enumerate(found.items()):
        label = None if row else "EigenVI, Legendre, fitted to this x"
        ax.scatter([an_axis**2] * len(values), values, color=style.VERMILION, marker="s", s=28, label=label)
    ax.scatter([K] * len(lbf), lbf, color=style.BLUE, s=28, label="LBF-NPE, learnt functions, one fit for all x")
    ax.set(xscale="log", yscale="log", xlabel="number of basis functions", ylabel="KL(p‖q) at x = 0.7, nats")
    ax.set_xticks([K, *(k**2 for k in found)], [str(n) for n in [K, *(k**2 for k in found)]], minor=False)
    ax.xaxis.set_minor_formatter(plt.NullFormatter())
    ax.legend(loc="best")
    return style.finished(fig)


def calibration(panels: dict[str, Sequence[Sequence[int]]]) -> Figure:
    """Histograms of levels that are uniform when calibrated: title -> (seeds, 20) counts; band: 95 % of a fair one."""
    fig, axes = plt.subplots(1, len(panels), figsize=(2.9 * len(panels), 2.9), sharey=True, squeeze=False)
    edges = np.linspace(0, 1, 21)
    for ax, (title, counts) in zip(axes[0], panels.items(), strict=True):
        total = np.sum(counts, axis=0)
        share = total / total.sum() * 20
        spread = 1.96 * np.sqrt(0.05 * 0.95 / total.sum()) * 20
        ax.axhspan(1 - spread, 1 + spread, color=style.SKY, alpha=0.3, lw=0)
        ax.stairs(share, edges, color=style.BLUE, lw=1.6)
        ax.set(title=title, xlabel="level", ylim=(0, max(2.0, 1.1 * share.max())))
    axes[0][0].set_ylabel("density (1: calibrated)")
    return style.finished(fig)


def differences(arms: dict[str, Sequence[float]], against: Sequence[float], unit: str, reference: str) -> Figure:
    """Change of `arms` against a reference, in `unit`, paired by seed, with its 95 % t interval from three seeds on."""
    fig, ax = plt.subplots(figsize=(7.2, 0.42 * len(arms) + 1.1))
    names = list(arms)[::-1]
    for place, name in enumerate(names):
        change = np.array(arms[name]) - np.array(against[: len(arms[name])])
        ax.scatter(change, [place] * len(change), s=16, color=style.BLUE, alpha=0.6, lw=0)
        if len(change) > 2:
            t = stats.t_interval(list(change))
            ax.plot([t.low, t.high], [place, place], color=style.BLUE, lw=1.4)
        ax.plot(change.mean(), place, "|", color=style.BLACK, ms=12)
    ax.axvline(0, color=style.BLACK, lw=0.8)
    ax.set_yticks(range(len(names)), names)
    ax.set_xscale("symlog", linthresh=0.02)
    ax.set_xlabel(f"change against {reference}, {unit} (right: worse)")
    ax.grid(axis="y", visible=False)
    return style.finished(fig)
