"""Pictures of the idea notebook. Each function draws plain arrays and returns a matplotlib Figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .. import style
from .ses import diversity_of, pairwise_to_mean, retention

FLAT = (7.2, 2.9)  # inches
M = 3
PUBLISHED = {  # [paper], by public reading notes: retention, diversity, SES
    "Llama-3.1-8B": (0.0800, 3.98, 0.33),
    "DeepSeek-V3": (0.3800, 1.69, 0.66),
    "Gemini-2.5-Flash": (0.5056, 2.70, 1.37),
    "Grok-3": (0.1722, 1.53, 0.27),
}
BY_FORMAT = {"MC": 0.8953, "TF": 0.8120, "FIB": 0.1450}  # [paper], means of 11 models on Earth-Iron
FORMAT_NAMES = {"mc": "MC", "tf": "TF", "fib": "FIB"}


def _percent(ax: Axes, axis: str = "y") -> None:
    getattr(ax, f"{axis}axis").set_major_formatter(lambda value, _: f"{100 * value:.0f}")


def problem(scores: Mapping[str, Sequence[float]]) -> Figure:
    """Left: the paper's means by format. Right: a scripted model by format: known, exact match, tolerant grader.

    scores: format (mc, tf, fib) -> (share known, published score, tolerant score), in [0, 1].
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=FLAT, sharey=True, width_ratios=(1, 1.6))
    left.bar(list(BY_FORMAT), list(BY_FORMAT.values()), color=style.GREY, width=0.6)
    left.set(title="Iron, mean of 11 [paper]", ylabel="right answers, %", ylim=(0, 1))
    kinds = (
        ("known to the model", style.BLACK, "//"),
        ("exact match", style.VERMILION, ""),
        ("tolerant", style.BLUE, ""),
    )
    for i, (name, colour, hatch) in enumerate(kinds):
        values = [scores[fmt][i] for fmt in FORMAT_NAMES]
        fill = {"facecolor": "white", "edgecolor": colour, "hatch": hatch} if hatch else {"color": colour}
        right.bar(np.arange(3) + 0.27 * (i - 1), values, width=0.25, label=name, **fill)
    right.set_xticks(range(3), list(FORMAT_NAMES.values()))
    right.set_title("One scripted model, our items")
    right.legend(loc="upper center", ncols=3, fontsize=8, columnspacing=1, handlelength=1.2)
    right.set_ylim(0, 1.12)
    _percent(left)
    return style.finished(fig)


def fan(rho: float) -> np.ndarray:
    """Three unit vectors (3, 2) in a plane, the outer two at one angle from the middle, of mean pairwise cosine rho.

    rho: in [-0.5, 1]. Raises ValueError outside.
    """
    if not -0.5 <= rho <= 1:
        raise ValueError(f"rho must lie in [-0.5, 1], got {rho}")
    cosine = (-1 + np.sqrt(3 + 6 * rho)) / 2
    angle = np.arccos(np.clip(cosine, -1, 1)) * np.array([-1, 0, 1])
    return np.stack([np.sin(angle), np.cos(angle)], axis=1)


def rewards(rho: float, rank: int) -> Figure:
    """What SES makes of three samples: their vectors, diversity against cosine, and diversity against retention.

    rho: mean pairwise cosine, -0.33 to 1. rank: of the reference, 1 to 4.
    """
    fig, axes = plt.subplots(1, 3, figsize=(7.2, 3.0), width_ratios=(0.8, 1.15, 1.25), layout="none")
    fig.subplots_adjust(left=0.02, right=0.985, bottom=0.155, top=0.81, wspace=0.16)  # fixed: drawn in half the time
    d, r = (float(diversity_of(pairwise_to_mean(rho, M))), retention(rank, M))
    _arrows(axes[0], rho)
    _curve(axes[1], rho)
    _plane(axes[2], r, d)
    fig.suptitle(f"r = {r:.2f}    d = {d:.2f}    SES = r d = {r * d:.2f}", fontsize=11)
    return style.finished(fig)


def _arrows(ax: Axes, rho: float) -> None:
    rows = fan(rho)
    for x, y in rows:
        ax.annotate("", (x, y), (0, 0), arrowprops={"arrowstyle": "-|>", "color": style.BLUE, "lw": 1.8})
    mean = rows.mean(0)
    ax.annotate("", mean, (0, 0), arrowprops={"arrowstyle": "-|>", "color": style.BLACK, "lw": 2.5})
    ax.plot(np.sin(angles := np.linspace(-1.6, 1.6, 60)), np.cos(angles), color=style.GREY, lw=0.8, ls=":")
    ax.set(xlim=(-1.1, 1.1), ylim=(-0.15, 1.15), aspect="equal", xticks=[], yticks=[])
    ax.set_title(f"samples and mean\ns = {np.linalg.norm(mean):.3f}", fontsize=10)
    ax.grid(False)
    ax.spines[:].set_visible(False)


def _curve(ax: Axes, rho: float) -> None:
    cosines = np.linspace(0.4, 1, 601)
    for count, colour, line in ((M, style.BLUE, "-"), (10, style.GREEN, "--")):
        s = pairwise_to_mean(cosines, count)
        ax.plot(cosines, diversity_of(s), color=colour, ls=line, label=f"{count} samples")
        ax.plot(rho, diversity_of(pairwise_to_mean(rho, count)), "o", color=colour, ms=7, mec="white", clip_on=False)
    with np.errstate(divide="ignore"):
        bare = diversity_of(pairwise_to_mean(cosines, M), floor=None)
    bare[(bare < 0) | (bare > 40)] = np.nan
    ax.plot(cosines, bare, color=style.GREY, ls=":", label="3, no clamp")
    ax.set(xlabel="mean pairwise cosine ρ", ylim=(0, 14), xlim=(0.4, 1.005))
    ax.set_title("diversity d", fontsize=10)
    ax.legend(loc="upper left", fontsize=7.5, handlelength=1.6, borderaxespad=0.1)


def _plane(ax: Axes, r: float, d: float) -> None:
    shares = np.linspace(0.01, 1, 300)
    for level in (0.25, 0.5, 1, 2, 4):
        ax.plot(shares, level / shares, color="#BDBDBD", lw=1)
        end = (1.03, level) if level >= 1 else (level / 0.9, 0.93)
        ax.annotate(f"{level:g}", end, color="#6B6B6B", fontsize=8, va="center" if level >= 1 else "bottom")
    for name, (x, y, _) in PUBLISHED.items():
        ax.plot(x, y, "s", color=style.BLACK, ms=4)
        ax.annotate(name, (x, y), xytext=(3, 3), textcoords="offset points", fontsize=7)
    ax.plot(r, d, "o", color=style.VERMILION, ms=10, mec="white", clip_on=False, zorder=5)
    ax.set(xlabel="retention r", xlim=(0, 1.15), ylim=(0.9, 11), yscale="log")
    ax.set_xticks([0, 1 / 3, 2 / 3, 1], ["0", "1/3", "2/3", "1"])
    ax.set_yticks([1, 2, 5, 10], ["1", "2", "5", "10"])
    ax.minorticks_off()
    ax.set_title("d against r; grey: equal SES", fontsize=10)


def rewards_alt(rho: float, rank: int) -> str:
    """What the frame `rewards(rho, rank)` shows, in words."""
    r, d, ten = retention(rank, M), *(float(diversity_of(pairwise_to_mean(rho, n))) for n in (M, 10))
    spread = "lie on one line" if rho == 1 else "are close together" if rho > 0.9 else "fan out"
    place = "at its cap of 10" if d >= 10 - 1e-9 else f"{d:.2f}"
    return (
        f"Three sample vectors {spread} at a mean pairwise cosine of {rho:g}. Diversity is {place} for 3 samples and "
        f"{ten:.2f} for 10. With the reference at rank {rank} of 4, retention is {r:.2f} and SES {r * d:.2f}."
    )


def families(ends: Mapping[str, np.ndarray], truth: float) -> Figure:
    """Intervals of many replications, sorted by their middle, for some methods; those that miss the truth are bold.

    ends: method -> (n, 2) in [0, 1]. truth: true accuracy.
    """
    fig, axes = plt.subplots(1, len(ends), figsize=FLAT, sharex=True, sharey=True)
    for ax, (name, pairs) in zip(axes, ends.items(), strict=True):
        pairs = pairs[np.argsort(pairs.mean(1), kind="stable")]
        missed = (pairs[:, 0] > truth) | (pairs[:, 1] < truth)
        for i, ((lo, hi), miss) in enumerate(zip(pairs, missed, strict=True)):
            ax.plot([lo, hi], [i, i], color=style.VERMILION if miss else style.SKY, lw=2.2 if miss else 1.2)
        ax.axvline(truth, color=style.BLACK, ls=":")
        ax.set(title=f"{name}: {missed.sum()} of {len(pairs)} miss", xlabel="accuracy, %", yticks=[])
        _percent(ax, "x")
    axes[0].set_ylabel("replications")
    return style.finished(fig)


def screening(curves: Mapping[int, Mapping[str, Sequence[float]]], threshold: float) -> Figure:
    """Accuracy of a panel re-scored on what it kept, and of fresh models on the same items, for some panels.

    curves: screeners -> what `threshold_curve` returns. threshold: the stop of the slider, one of the curves'.
    """
    fig, axes = plt.subplots(1, len(curves), figsize=(7.2, 3.0), sharey=True, layout="none")
    fig.subplots_adjust(left=0.075, right=0.985, bottom=0.155, top=0.84, wspace=0.07)
    for ax, (panel, curve) in zip(axes, curves.items(), strict=True):
        at = _place(curve, threshold)
        ax.plot(curve["threshold"], curve["all"], color=style.BLACK, ls=":", label="anyone, all items")
        for key, name, colour, line in (
            ("fresh", "fresh models, kept items", style.BLUE, "-"),
            ("same", "the panel, kept items", style.VERMILION, "--"),
        ):
            ax.step(curve["threshold"], curve[key], where="post", color=colour, ls=line, label=name)
            ax.plot(threshold, curve[key][at], "o", color=colour, ms=8, mec="white", clip_on=False)
        ax.vlines(threshold, *(curve[key][at] for key in ("same", "fresh")), color=style.VERMILION, lw=4, alpha=0.35)
        kept, lost, luck = _parts(curve, threshold)
        ax.set_title(
            f"{panel} screeners keep {kept:.0f} %\nand lose {lost:.0f} points, {luck:.0f} by bad luck", fontsize=10
        )
        ax.set(xlabel="dropped where more screeners are right, %", ylim=(0, 1))
        _percent(ax, "x")
    axes[0].set_ylabel("expected accuracy, %")
    axes[-1].legend(loc="lower right", fontsize=8)
    _percent(axes[0])
    return style.finished(fig)


def _place(curve: Mapping[str, Sequence[float]], threshold: float) -> int:
    """Where a threshold stands in the curve. Raises ValueError when it does not."""
    if threshold not in curve["threshold"]:
        raise ValueError(f"threshold must be one of {list(curve['threshold'])}, got {threshold}")
    return list(curve["threshold"]).index(threshold)


def _parts(curve: Mapping[str, Sequence[float]], threshold: float) -> tuple[float, float, float]:
    """Per cent of items kept; points that the panel loses, and the part that fresh models do not lose."""
    all_, fresh, same, kept = (100 * curve[key][_place(curve, threshold)] for key in ("all", "fresh", "same", "kept"))
    return kept, all_ - same, fresh - same


def screening_alt(curves: Mapping[int, Mapping[str, Sequence[float]]], threshold: float) -> str:
    """What the frame `screening(curves, threshold)` shows, in words."""
    said = [f"Threshold {100 * threshold:.0f} %."]
    for panel, curve in curves.items():
        kept, lost, luck = _parts(curve, threshold)
        said.append(
            f"{panel} screeners keep {kept:.0f} % of the items; on these they lose {lost:.0f} points and fresh models "
            f"of the same skill {lost - luck:.0f}."
        )
    return " ".join(said)


def hints(curves: Mapping[str, Sequence[float]]) -> Figure:
    """Accuracy against the number of hints. curves: kind (full, masked, self) -> (K + 1,) in [0, 1]."""
    names = {"full": "as stored", "masked": "answer hidden", "self": "written by the model"}
    looks = {"full": (style.VERMILION, "o-"), "masked": (style.BLUE, "s--"), "self": (style.GREY, "^:")}
    fig, ax = plt.subplots(figsize=style.NARROW)
    for kind, values in curves.items():
        ax.plot(range(len(values)), values, looks[kind][1], color=looks[kind][0], label=names[kind])
    ax.set(xlabel="steps of the chain in the prompt, k", ylabel="right answers, %", ylim=(0, 1.03))
    ax.set_xticks(range(max(map(len, curves.values()))))
    ax.legend(loc="upper left")
    _percent(ax)
    return style.finished(fig)
