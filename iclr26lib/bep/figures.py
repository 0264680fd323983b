"""The chapter's figures. Each function draws plain numbers and returns a matplotlib Figure."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from scipy import stats as sps

from .. import stats, style

NAMES = {
    "bep": "BEP", "last": "BEP, last step only", "local": "local rule", "reservoir": "output layer only",
    "one": "QAT, STE window 1",
    "fan_in": "QAT, STE window √fan-in", "batch_norm": "QAT, batch norm", "float_mlp": "float MLP, equal memory",
    "logistic": "logistic regression",
}  # fmt: skip
COLOURS = {
    "bep": style.BLUE, "last": style.SKY, "local": style.ORANGE, "reservoir": style.ORANGE, "one": style.PURPLE,
    "fan_in": style.VERMILION, "batch_norm": style.GREEN, "float_mlp": style.GREY, "logistic": style.BLACK,
}  # fmt: skip
TASKS = {"italy_power_demand": "ItalyPowerDemand", "japanese_vowels": "JapaneseVowels"}


def share_inside(fan_in: int, window: float) -> float:
    """Share of sums of `fan_in` independent +-1 values with |sum| <= window (exact, binomial). fan_in >= 1."""
    sums = np.arange(-fan_in, fan_in + 1, 2)
    weights = sps.binom.pmf((sums + fan_in) // 2, fan_in, 0.5)
    return float(weights[np.abs(sums) <= window].sum())


def problem(fan_in: int) -> Figure:
    """Left: sums of a binary neuron with the STE's window of 1 and of sqrt(fan_in). Right: bits held in training."""
    fig, (left, right) = plt.subplots(1, 2, width_ratios=(1.25, 1))
    sums = np.arange(-fan_in, fan_in + 1, 2)
    sums = sums[np.abs(sums) <= 4 * math.sqrt(fan_in)]
    chance = sps.binom.pmf((sums + fan_in) // 2, fan_in, 0.5)
    spread = math.sqrt(fan_in)
    left.axvspan(
        -spread, spread, color=style.SKY, alpha=0.35, lw=0, label=f"|z| ≤ √{fan_in}: {share_inside(fan_in, spread):.0%}"
    )
    left.axvspan(-1, 1, color=style.VERMILION, alpha=0.75, lw=0, label=f"|z| ≤ 1: {share_inside(fan_in, 1):.0%}")
    left.bar(sums, chance, width=1.1, color=style.BLACK)
    left.set(xlabel=f"pre-activation z, fan-in {fan_in}", ylabel="probability", title="Where a gradient may pass")
    left.set_ylim(0, chance.max() * 1.55)
    left.legend(loc="upper left", handlelength=1.2)
    rows = [("weight", 16, 32), ("optimiser", 0, 64), ("error signal", 1, 32)]
    places = np.arange(len(rows))[::-1]
    for offset, column, colour, name in ((0.2, 1, style.BLUE, "BEP"), (-0.2, 2, style.VERMILION, "QAT with Adam")):
        bars = right.barh(places + offset, [r[column] for r in rows], 0.36, color=colour, label=name)
        right.bar_label(bars, padding=3, fontsize=9)
    right.set_yticks(places, [r[0] for r in rows])
    right.set(xlabel="bits an element", title="What training holds", xlim=(0, 104))
    right.grid(axis="y", visible=False)
    right.legend(loc="upper right")
    return style.finished(fig)


def frames(left: Any, right: Any) -> Figure:
    """Gram matrices of two sets of prototypes, (C, D) tensors of -1 and +1, side by side with one colour scale."""
    fig, axes = plt.subplots(1, 2, figsize=(7.2, 3.5))
    for ax, P, name in zip(axes, (left, right), ("random", "equiangular frame"), strict=True):
        gram = (P.int() @ P.int().T).numpy()
        image = ax.imshow(np.where(np.eye(len(gram)), np.nan, gram), cmap="PuOr", vmin=-35, vmax=35)
        pairs = gram[np.triu_indices(len(gram), 1)]
        ax.set_title(f"{name}: {pairs.min()} to {pairs.max()}")
        ax.set(xlabel="class", ylabel="class")
        ax.grid(visible=False)
    fig.colorbar(image, ax=axes, label="inner product", shrink=0.85)
    return style.finished(fig)


def gate_frame(width: int, nu: float, shot: dict[str, Any]) -> Figure:
    """One frame of the interactive figure: spread of z, the gate, one sample's targets.

    width: hidden units K. nu: gate. shot: one entry of `experiments.gate_snapshots`.
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.5), width_ratios=(1.2, 1))
    spread = math.sqrt(width)
    z, limit = np.array(shot["z"]) / spread, nu * width / spread
    edges = (np.arange(-width - 1, width + 2, 2 * max(1, round(spread / 8)))) / spread
    share = 1 / len(z)
    left.hist(z, edges, weights=np.full(len(z), share), color=style.BLACK, label="shut")
    inside = z[np.abs(z) <= limit]
    left.hist(inside, edges, weights=np.full(len(inside), share), color=style.SKY, label="open")
    for side in (-limit, limit):
        left.axvline(side, color=style.BLUE, lw=1.5)
    left.legend(loc="upper right", handlelength=1)
    left.set_xlim(-6, 6)
    left.set(xlabel="z of the top layer, in units of √K", ylabel="share of neurons and samples")
    left.set_title(f"K = {width}, ν = {nu:g}: gate at {limit:.2f} √K, {shot['open']:.0%} open")
    rows = [("a*₂", shot["sample"]["top"]), ("gated a*₂", None), ("a*₁", shot["sample"]["below"])]
    show = min(width, 75)
    for i, (_, values) in enumerate(rows):
        gate = np.array(shot["sample"]["gate"][:show])
        bits = np.array(values if values is not None else shot["sample"]["top"])[:show]
        cells = (bits[None] + 1) / 2 if values is not None else np.where(gate, (bits + 1) / 2, np.nan)[None]
        colours = plt.get_cmap("gray").with_extremes(bad="#9CC9E8")
        right.imshow(
            cells,
            cmap=colours,
            vmin=0,
            vmax=1,
            aspect="auto",
            extent=(0, show, 2 - i + 0.15, 2 - i + 0.85),
            interpolation="nearest",
        )
        right.add_patch(plt.Rectangle((0, 2 - i + 0.15), show, 0.7, fill=False, color=style.GREY, lw=0.8))
    right.set_yticks([2.5, 1.5, 0.5], [name for name, _ in rows])
    right.set(xlim=(0, show), ylim=(0, 3), xlabel=f"neuron 1 to {show}: black −1, white +1, blue shut")
    right.set_title(f"One sample's targets; accuracy {shot['accuracy']:.1%}")
    right.grid(visible=False)
    return style.finished(fig)


def gate_alt(width: int, nu: float, shot: dict[str, Any]) -> str:
    """Alt text of the frame of `width`, `nu` and `shot` (see `gate_frame`): what it shows, in numbers."""
    return (
        f"Hidden width {width}, gate {nu:g}: the gate stands at {nu * math.sqrt(width):.2f} spreads of the input"
        f" and lets {shot['open']:.0%} of the top layer's targets through; test accuracy {shot['accuracy']:.1%}."
    )


def gate_overview(shots: dict[tuple[int, float], dict[str, Any]]) -> Figure:
    """Share of targets that pass and test accuracy against the gate, a line a width. shots: (width, nu) -> snapshot."""
    fig, (left, right) = plt.subplots(1, 2)
    widths = sorted({width for width, _ in shots})
    for width, marker, colour in zip(
        widths, itertools.cycle("osv^D"), itertools.cycle((style.SKY, style.BLUE, style.VERMILION, style.BLACK))
    ):
        nus = sorted(nu for w, nu in shots if w == width)
        for ax, what in ((left, "open"), (right, "accuracy")):
            ax.plot(
                nus, [100 * shots[width, nu][what] for nu in nus], marker=marker, color=colour, label=f"K = {width}"
            )
    for ax, label in ((left, "targets that pass, %"), (right, "test accuracy, %")):
        ax.set_xscale("log")
        ax.set(xlabel="gate ν", ylabel=label, ylim=(0, None))
    left.legend(loc="lower right")
    return style.finished(fig)


def _points(ax, x: float, values: Sequence[float], colour: str, marker: str = "o", label: str | None = None) -> None:
    """Every seed as a small mark, the mean as a bar with its 95 % t interval."""
    t = stats.t_interval(values)
    low, high = (t.low, t.high) if t.n > 1 else (t.estimate, t.estimate)
    ax.plot([x] * len(values), np.array(values) * 100, marker, color=colour, ms=4, alpha=0.55, mec="none")
    ax.errorbar(x, t.estimate * 100, [[100 * (t.estimate - low)], [100 * (high - t.estimate)]], fmt="_", color=colour,
                ms=16, mew=2.2, capsize=4, lw=1.4, label=label)  # fmt: skip


def two_by_two(results: dict[int, dict[str, dict[str, list]]]) -> Figure:
    """Test accuracy of {BEP, local rule} x {equiangular, random prototypes}. results: width -> "rule frame" -> run."""
    widths = list(results)
    fig, axes = plt.subplots(1, len(widths), figsize=(max(7.2, 2.3 * len(widths)), 3.4), squeeze=False)
    for ax, width in zip(axes[0], widths, strict=True):
        for x, frame in enumerate(("random", "bef")):
            for shift, rule, marker in ((-0.14, "local", "s"), (0.14, "bep", "o")):
                values = results[width][f"{rule} {frame}"]["test"]
                _points(ax, x + shift, values, COLOURS[rule], marker, NAMES[rule] if x == 0 else None)
        ax.set_xticks([0, 1], ["random", "equiangular"])
        ax.set(xlim=(-0.5, 1.5), title=f"K = {width}", xlabel="prototypes")
        ax.grid(axis="x", visible=False)
    axes[0][0].set_ylabel("test accuracy, %")
    axes[0][0].legend(loc="upper left")
    return style.finished(fig)


def methods(results: dict[int, dict[str, list]], floors: dict[str, list]) -> Figure:
    """Test accuracy of BEP, local rule and QAT against width. results: width -> arm -> values; floors: float models."""
    fig, ax = plt.subplots()
    arms = [a for a in ("bep", "local", "one", "fan_in", "batch_norm") if any(a in row for row in results.values())]
    for i, arm in enumerate(arms):
        for x, row in enumerate(results.values()):
            if arm in row:
                _points(ax, x + 0.13 * (i - 2), row[arm], COLOURS[arm], "osv^D"[i], NAMES[arm] if x == 0 else None)
    for arm, dash in (("float_mlp", "--"), ("logistic", ":")):
        if arm in floors:
            ax.axhline(100 * np.mean(floors[arm]), color=COLOURS[arm], ls=dash, lw=1.4, label=NAMES[arm])
    ax.set_xticks(range(len(results)), [f"K = {w}" for w in results])
    ax.set(ylabel="test accuracy, %", xlabel="hidden width of the binary networks", xlim=(-0.5, len(results) - 0.5))
    ax.grid(axis="x", visible=False)
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    return style.finished(fig)


def _curve(ax, x, table: np.ndarray, colour: str, marker: str, label: str) -> None:
    """Mean over seeds against x with a band of the 95 % t interval. table: (len(x), seeds)."""
    bands = [stats.t_interval(row) for row in table]
    ax.plot(x, [100 * b.estimate for b in bands], marker=marker, color=colour, label=label)
    if table.shape[1] > 1:
        ax.fill_between(x, [100 * b.low for b in bands], [100 * b.high for b in bands], color=colour, alpha=0.18, lw=0)


def gate_study(tables: dict[str, tuple[Sequence[float], np.ndarray, float]], chance: dict[str, float]) -> Figure:
    """Test accuracy against the gate, in nu (left) and in spreads of the pre-activation (right).

    tables: name -> (nus, accuracies (nus, seeds), units a nu: fan_in / sqrt(total fan-in)). chance: name -> accuracy.
    """
    fig, axes = plt.subplots(1, 2, sharey=True, figsize=(7.2, 3.8))
    for (name, (nus, table, unit)), colour, marker in zip(
        tables.items(), itertools.cycle(style.CYCLE), itertools.cycle("osv^DPX")
    ):
        for ax, scale in zip(axes, (1.0, unit), strict=True):
            shown = [max(nu, min(n for n in nus if n > 0) / 3) * scale for nu in nus]
            _curve(ax, shown, np.asarray(table), colour, marker, name)
    for ax, label in zip(
        axes, ("gate ν (leftmost mark of a line: smallest or 0)", "gate in units of √fan-in"), strict=True
    ):
        ax.set_xscale("log")
        ax.set_xlabel(label)
    for value in sorted(set(chance.values())):
        axes[0].axhline(100 * value, color=style.GREY, lw=1, ls=":")
    axes[0].set_ylabel("test accuracy, %")
    handles, names = axes[0].get_legend_handles_labels()
    fig.legend(handles, names, loc="outside upper center", ncol=2)
    return style.finished(fig)


def rnn_arms(results: dict[str, dict[str, list]]) -> Figure:
    """Test accuracy of the RNN arms on both sets. results: task -> arm -> values a seed."""
    fig, ax = plt.subplots()
    arms = list(next(iter(results.values())))
    for x, row in enumerate(results.values()):
        for i, arm in enumerate(arms):
            _points(
                ax,
                x + 0.18 * (i - (len(arms) - 1) / 2),
                row[arm],
                COLOURS[arm],
                "osv^DP"[i],
                NAMES[arm] if x == 0 else None,
            )
    ax.set_xticks(range(len(results)), [TASKS[t] for t in results])
    ax.set(ylabel="test accuracy, %", xlim=(-0.5, len(results) - 0.5))
    ax.grid(axis="x", visible=False)
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    return style.finished(fig)


def ablation(results: dict[str, list], reference: str) -> Figure:
    """Change of test accuracy when one setting changes, paired by seed. results: label -> values; reference: the label
    all others are compared with."""
    labels = [name for name in results if name != reference]
    fig, ax = plt.subplots(figsize=(7.2, 0.42 * len(labels) + 1.1))
    for place, name in enumerate(reversed(labels)):
        t = stats.t_interval(stats.paired_difference(results[name], results[reference]))
        reach = 100 * (t.high - t.estimate) if t.n > 1 else 0.0
        ax.errorbar(100 * t.estimate, place, xerr=reach, fmt="o", color=style.BLUE, capsize=4)
    ax.axvline(0, color=style.BLACK, lw=1)
    ax.set_yticks(range(len(labels)), labels[::-1])
    ax.set_xlabel(f"test accuracy minus that of: {reference} (points, 95 % interval over seeds)")
    ax.grid(axis="y", visible=False)
    return style.finished(fig)


def curves(runs: dict[str, dict[str, Any]]) -> Figure:
    """Training error against the epoch, mean over seeds. runs: arm -> run with "curve"."""
    fig, ax = plt.subplots(figsize=style.NARROW)
    for (name, run), marker in zip(runs.items(), itertools.cycle("osv^D")):
        table = np.asarray(run["curve"])
        _curve(ax, np.arange(1, len(table) + 1), table, COLOURS[name], marker, NAMES[name])
    ax.set(xlabel="epoch", ylabel="training error, %", ylim=(0, None))
    ax.legend()
    return style.finished(fig)
