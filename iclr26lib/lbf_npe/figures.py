"""Pictures of the idea notebook. Each function draws plain tensors and returns a matplotlib Figure."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import Image
from matplotlib.figure import Figure
from PIL import Image as Pictures
from torch import Tensor

from .. import style

NAMES = {"exact": "exact", "lbf": "LBF", "mdn": "MDN", "nsf": "NSF"}
COLOURS = {"exact": style.BLACK, "lbf": style.BLUE, "mdn": style.VERMILION, "nsf": style.GREEN}
DASHES = {"exact": (0, (1, 1)), "lbf": "-", "mdn": "--", "nsf": "-."}
TALL, FLAT = (4.8, 4.6), (7.2, 2.9)  # inches
TURNS = ([0, math.pi / 2, math.pi, 3 * math.pi / 2, 2 * math.pi], ["0", "π/2", "π", "3π/2", "2π"])


def compact(figure: Figure, colours: int = 64) -> Image:
    """`figure` as a PNG of `colours` colours, 2 to 256: a quarter of the bytes, for line drawings as good.

    Raises ValueError for another number of colours.
    """
    if not 2 <= colours <= 256:
        raise ValueError(f"colours must lie in 2..256, got {colours}")
    raw, packed = io.BytesIO(), io.BytesIO()
    figure.savefig(raw, format="png", dpi=figure.dpi, facecolor="white", bbox_inches="tight")
    Pictures.open(raw).convert("RGB").quantize(colours).save(packed, "PNG", optimize=True)
    return Image(packed.getvalue(), format="png")


def _angles(ax) -> None:
    ax.set_xticks(*TURNS)
    ax.set_xlim(0, 2 * math.pi)


def problem(z: Tensor, x: Tensor, at: float, nodes: Tensor, p: Tensor, mixtures: Tensor, kl: Tensor) -> Figure:
    """Left: simulated pairs. Right: the exact posterior at x = `at`, and mixtures of Gaussians from several starts.

    z, x: (n, 1) pairs. nodes: (P, 1). p: (P,) exact density. mixtures: (S, P) densities. kl: (S,) KL(p || q), nats.
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=FLAT)
    left.plot(z[:, 0], x[:, 0], ".", color=style.GREY, ms=3, mec="none")
    left.axhline(at, color=style.BLUE, lw=1.5)
    left.annotate(f"x = {at:g}", (0.15, at), xytext=(0, 4), textcoords="offset points", color=style.BLUE)
    left.set(xlabel="latent z, radians", ylabel="observation x", title="What the simulator gives")
    worst, best = int(kl.argmax()), int(kl.argmin())
    for i, q in enumerate(mixtures):
        right.plot(nodes[:, 0], q, color=style.ORANGE, lw=0.8)
        if i in (worst, best):
            name = f"{'worst' if i == worst else 'best'} of {len(kl)}: KL {kl[i]:.3f}"
            right.plot(nodes[:, 0], q, color=style.VERMILION, ls="--" if i == worst else "-", lw=1.5, label=name)
    right.plot(nodes[:, 0], p, color=style.BLACK, lw=2.2, ls=(0, (1, 1)), label="exact posterior")
    right.set(
        xlabel="latent z, radians", ylabel="density", title="Five Gaussians, by EM", ylim=(0, 1.7 * float(p.max()))
    )
    right.legend(loc="upper center", fontsize=8)
    _angles(left)
    _angles(right)
    return style.finished(fig)


def basis(nodes: Tensor, s: Tensor) -> Figure:
    """The fixed basis on its interval. nodes: (P, 1). s: (P, K)."""
    fig, ax = plt.subplots(figsize=(7.2, 1.9))
    for i, column in enumerate(s.T):
        colour = style.BLUE if i % 2 else style.VERMILION
        inside = column > 0
        ax.plot(nodes[inside, 0], column[inside], color=colour)
        peak = (float(nodes[column.argmax(), 0]), min(0.8, float(column.max())))
        place = {0: ((9, -4), "left"), s.shape[1] - 1: ((-9, -4), "right")}.get(i, ((0, 2), "center"))
        ax.annotate(
            f"{i + 1}", peak, xytext=place[0], textcoords="offset points", ha=place[1], fontsize=8, color=colour
        )
    ax.plot(nodes[:, 0], s.sum(-1), color=style.BLACK, ls=":")
    ax.annotate("their sum", (math.pi, 1), xytext=(0, 3), textcoords="offset points", ha="center", fontsize=9)
    ax.set(xlabel="latent z, radians", ylabel="s(z)", ylim=(0, 1.25))
    _angles(ax)
    return style.finished(fig)


def starts(lbf: Tensor, mixture: Tensor) -> Figure:
    """KL(p || q) against the step of the fit, a line a start: Newton on the basis expansion, EM on the mixture.

    lbf, mixture: (steps, S) nats.
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=FLAT, sharey=True)
    for ax, table, colour, name in (
        (left, lbf, style.BLUE, "LBF, Newton"),
        (right, mixture, style.VERMILION, "5 Gaussians, EM"),
    ):
        ax.plot(np.arange(len(table)), table, color=colour, lw=1.1, alpha=0.7)
        ax.set(xlabel="step", title=f"{name}: {table.shape[1]} starts", yscale="log")
        ax.plot([len(table) - 1] * table.shape[1], table[-1], "o", color=colour, ms=4, clip_on=False)
    right.set_xscale("symlog", linthresh=10)
    left.set_ylabel("KL(p‖q), nats")
    return style.finished(fig)


def _curves(ax, nodes: Tensor, curves: dict[str, Tensor]) -> None:
    for name, density in curves.items():
        ax.plot(nodes[:, 0], density, color=COLOURS[name], ls=DASHES[name], label=NAMES[name],
                lw=2.4 if name == "exact" else 1.8)  # fmt: skip
    ax.set_ylabel("density")
    ax.legend(loc="upper right", ncol=len(curves), fontsize=9.5, handlelength=1.6, columnspacing=1)


def bumps(
    nodes: Tensor, curves: dict[str, Tensor], parts: Tensor, x: float, title: str, top: float | None = None
) -> Figure:
    """Above: densities at observation x. Below: the weighted basis functions whose sum is log q over the prior.

    nodes: (P, 1). curves: name -> (P,) density, names as in NAMES. parts: (P, K), the terms
    (f_i - log J + log volume) s_i(z). title: of the picture. top: largest density of the axes.
    """
    fig, (above, below) = plt.subplots(2, 1, figsize=TALL, sharex=True, height_ratios=(1, 1.15))
    _curves(above, nodes, curves)
    above.set_ylim(0, 1.35 * (top or max(float(c.max()) for c in curves.values())))
    above.set_title(title)
    prior = 1 / float(nodes.max() - nodes.min())
    for i, part in enumerate(parts.T):
        below.fill_between(nodes[:, 0], part, color=style.SKY if i % 2 else style.ORANGE, alpha=0.6, lw=0)
    below.plot(nodes[:, 0], parts.sum(-1), color=style.BLUE, lw=2.4, label="sum of the bumps")
    exact = (curves["exact"] / prior).log()
    below.plot(nodes[:, 0], exact, color=style.BLACK, lw=2.4, ls=DASHES["exact"], label="exact")
    below.axhline(0, color=style.GREY, lw=0.8)
    below.set(ylim=(-4.2, 3), ylabel="log of q over prior, nats", xlabel="latent z, radians")
    below.legend(loc="upper right", ncol=2, fontsize=9.5, handlelength=1.6, columnspacing=1)
    below.set_title(f"weighted bumps at x = {x:g}")
    _angles(below)
    return style.finished(fig)


def bumps_alt(x: float, step: int, kl: dict[str, float]) -> str:
    """Alt text of the frame of observation x after `step` steps; kl: name -> KL(p || q), nats."""
    found = " and ".join(f"{NAMES[name]} {value:.4f}" for name, value in kl.items())
    where = "where sin 2z is near 1" if x > 0 else "where sin 2z is near -1"
    peaks = f"two high peaks, {where}" if abs(x) > 0.4 else "four low humps"
    return (
        f"Observation x = {x:g}, {step} training steps: the exact posterior has {peaks}. "
        f"The divergence from it, in nats, is {found}."
    )


def _map(ax, values: Tensor, **how: Any) -> None:
    """A picture of values (n * n,) on the square [-1, 1]^2, first latent to the right."""
    n = math.isqrt(len(values))
    ax.imshow(values.reshape(n, n).T, origin="lower", extent=(-1, 1, -1, 1), interpolation="bilinear", **how)
    ax.set(xticks=[], yticks=[])
    ax.grid(visible=False)


def ring(densities: dict[str, Tensor], parts: Tensor, kl: dict[str, float], x: float) -> Figure:
    """One frame of the ring: densities at x above, below them each term w f_i(x) s_i(z) of the log density.

    densities: name -> (n * n,) on a grid of the square. parts: (m * m, K) terms. kl: name -> KL(p || q), nats.
    All terms share one colour scale: white is no contribution, so |f_i(x)| is the strength of the colour.
    """
    K = parts.shape[1]
    rows, columns = math.ceil(K / 7), min(K, 7)
    fig = plt.figure(figsize=(5.6, 2.05 + 0.8 * rows))
    upper, lower = fig.subfigures(2, 1, height_ratios=(1.8, 0.25 + 0.8 * rows))
    top = 1.1 * float(densities["exact"].max())
    for ax, (name, density) in zip(upper.subplots(1, len(densities)), densities.items(), strict=True):
        _map(ax, density, cmap="cividis", vmin=0, vmax=top)
        ax.set_title(
            NAMES[name] if name == "exact" else f"{NAMES[name]}\nKL {kl[name]:.3f}", loc="center", fontsize=10.5
        )
    upper.supylabel(f"x = {x:.2f}", fontsize=11)
    cells = list(lower.subplots(rows, columns, squeeze=False).flat)
    reach = float(parts.abs().max()) or 1.0
    for ax, part in zip(cells, parts.T, strict=False):
        _map(ax, part, cmap="RdBu", vmin=-reach, vmax=reach)
        ax.spines[:].set_visible(False)
    for ax in cells[K:]:
        ax.set_axis_off()
    lower.suptitle(f"the {K} terms of the log density: blue adds, red takes", fontsize=10)
    return style.finished(fig)


def ring_alt(x: float, kl: dict[str, float], strengths: Sequence[float]) -> str:
    """Alt text of the frame of observation x; kl: name -> KL(p || q), nats; strengths: |f_i(x)| of each function."""
    found = ", ".join(f"{NAMES[name]} {value:.3f}" for name, value in kl.items())
    shape = "a disc" if x < 0.1 else "a ring" if x < 1 else "arcs in the corners of the square"
    strong = sum(s > 0.5 * max(strengths) for s in strengths)
    return (
        f"Observation x = {x:.2f}: the posterior is {shape}. Divergences in nats: {found}. "
        f"{strong} of {len(strengths)} basis functions have more than half the largest weight."
    )


def own(nodes: Tensor, cases: dict[str, tuple[Tensor, Tensor]], levels: Tensor) -> Figure:
    """Left: exact and learnt posteriors for some observations. Right: histogram of PIT values of fresh pairs.

    nodes: (P, 1). cases: label -> (exact (P,), learnt (P,)) densities. levels: (N,) in [0, 1], uniform if calibrated.
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=FLAT, width_ratios=(1.4, 1))
    for (label, (exact, learnt)), colour in zip(cases.items(), style.CYCLE, strict=False):
        left.plot(nodes[:, 0], learnt, color=colour, label=label)
        left.plot(nodes[:, 0], exact, color=style.BLACK, ls=(0, (1, 1)))
    left.plot([], [], color=style.BLACK, ls=(0, (1, 1)), label="exact")
    left.set(xlabel="failures a day, z", ylabel="density", ylim=(0, None), xlim=(0, float(nodes.max())))
    left.legend(title="fifth failure after", title_fontsize=9)
    bins, n = 10, len(levels)
    right.hist(levels, np.linspace(0, 1, bins + 1), color=style.SKY, edgecolor="white")
    reach = 1.96 * math.sqrt(n / bins * (1 - 1 / bins))
    right.axhspan(n / bins - reach, n / bins + reach, color=style.GREY, alpha=0.35, lw=0, label="uniform, 95 %")
    right.set(xlabel="posterior mass below the truth", ylabel=f"pairs of {n}", ylim=(0, 1.5 * n / bins))
    right.legend(loc="upper right")
    return style.finished(fig)
