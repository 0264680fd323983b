"""Figures of the evidence notebook."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from .. import style

METHODS = {"wilson": "Wilson", "naive": "bootstrap of items", "cluster": "bootstrap of families"}
GRADERS = {"truth": ("truth", style.BLACK), "published": ("published grader", style.VERMILION),
           "tolerant": ("tolerant grader", style.BLUE)}  # fmt: skip
FORMATS = {"mc": "multiple\nchoice", "tf": "true or\nfalse", "fib": "fill in\nthe blank"}


def coverage(found: Mapping[str, Any]) -> Figure:
    """Coverage of each kind of interval, with families and without, a dot a seed.

    found: of `simulation.coverage_runs`.
    """
    fig, axes = plt.subplots(1, 2, figsize=(7.2, 2.6), sharex=True, sharey=True)
    for ax, (design, title) in zip(
        axes, (("families", "items in families"), ("independent", "independent items")), strict=True
    ):
        for place, method in enumerate(list(METHODS)[::-1]):
            values = found[design][method]
            ax.scatter(values, [place] * len(values), s=22, color=style.BLUE, alpha=0.65, lw=0)
        ax.axvline(0.95, color=style.BLACK, lw=0.9)
        ax.axvspan(0.925, 0.975, color=style.GREY, alpha=0.15, lw=0)
        ax.set_yticks(range(len(METHODS)), list(METHODS.values())[::-1])
        ax.set(title=title, xlabel="coverage of 95 % intervals", ylim=(-0.6, len(METHODS) - 0.4))
        ax.grid(axis="y", visible=False)
    return style.finished(fig)


def screening(found: Mapping[str, Sequence[float]]) -> Figure:
    """Accuracy of the panel and of fresh models on all and on kept items, a line a seed.

    found: of `screening.screening_runs`.
    """
    fig, ax = plt.subplots(figsize=(4.6, 3.0))
    for i, (before, after, label, color, dash) in enumerate(
        (
            ("all", "same", "the panel itself", style.VERMILION, "-"),
            ("fresh_all", "fresh", "fresh models", style.BLUE, "--"),
        )
    ):
        for j, pair in enumerate(zip(found[before], found[after], strict=True)):
            ax.plot([0, 1], pair, dash, marker="os"[i], color=color, alpha=0.7, label=label if j == 0 else None)
    ax.set_xticks([0, 1], ["all items", "kept items"])
    ax.set(xlim=(-0.2, 1.2), ylim=(0, 1), ylabel="accuracy")
    ax.legend(loc="lower left")
    return style.finished(fig)


def graders(found: Mapping[str, Any]) -> Figure:
    """Scores by format under both graders beside the truth, means over models, a dot a seed.

    found: of `item_runs.grader_runs`.
    """
    fig, ax = plt.subplots(figsize=(5.6, 3.1))
    for shift, (key, (label, color)) in zip((-0.22, 0.0, 0.22), GRADERS.items(), strict=True):
        for place, fmt in enumerate(FORMATS):
            values = found[key][fmt]
            ax.bar(place + shift, np.mean(values), 0.2, color=color, alpha=0.35, label=label if place == 0 else None)
            ax.scatter([place + shift] * len(values), values, s=12, color=color, lw=0)
    ax.set_xticks(range(len(FORMATS)), list(FORMATS.values()))
    ax.set(ylabel="score, mean over models", ylim=(0, 1))
    ax.legend(loc="upper right")
    ax.grid(axis="x", visible=False)
    return style.finished(fig)


def writers(found: Mapping[str, Any]) -> Figure:
    """Retention against diversity of each scripted writer, means over seeds, with curves of equal SES.

    found: of `dialogue_runs.dialogue_runs`.
    """
    fig, ax = plt.subplots(figsize=(7.2, 3.6))
    r, d = (np.array(found[key]).mean(0) for key in ("r", "d"))
    axis = np.geomspace(0.9, 11, 200)
    for level in (0.1, 0.3, 1, 3):
        ax.plot(axis, level / axis, color=style.GREY, lw=0.7)
        ax.annotate(
            f"SES {level:g}", (11.2, level / 11), fontsize=8, color=style.GREY, va="center", annotation_clip=False
        )
    marks = "oDsv^<XP"
    for i, name in enumerate(found["models"]):
        color = style.VERMILION if "off topic" in name else style.BLUE
        ax.scatter(d[i], r[i], marker=marks[i % len(marks)], s=48, color=color, alpha=0.8, lw=0, label=name, zorder=3)
    ax.set(
        xlabel="diversity d", ylabel="retention r", xscale="log", xlim=(0.9, 11), ylim=(-0.02, max(0.6, r.max() + 0.05))
    )
    ax.set_xticks([1, 2, 5, 10], ["1", "2", "5", "10"])
    ax.minorticks_off()
    ax.legend(loc="upper left", bbox_to_anchor=(1.1, 1))
    return style.finished(fig)


def hints(found: Mapping[str, Any]) -> Figure:
    """Score after k steps of the stored chain, as they are, masked, and self-written; a line a seed.

    found: of `item_runs.hint_item_runs`.
    """
    looks = {"full": ("steps as stored", style.VERMILION, "-"), "masked": ("answer masked", style.BLUE, "--"),
             "self": ("written by the solver", style.GREEN, ":")}  # fmt: skip
    fig, ax = plt.subplots(figsize=(4.8, 3.0))
    for kind, (label, color, dash) in looks.items():
        for i, row in enumerate(found[kind]):
            ax.plot(range(len(row)), row, dash, color=color, alpha=0.75, label=label if i == 0 else None)
    ax.set_xticks(range(len(found["full"][0])))
    ax.set(xlabel="steps shown, k", ylabel="score", ylim=(0, 1.03))
    ax.legend(loc="upper left")
    return style.finished(fig)
