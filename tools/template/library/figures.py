"""The figures of the chapter. TO WRITE: figures that each make one point."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from iclr26lib import interactive as live
from iclr26lib import style

from .method import TRUTH, noisy, running_mean


def trace(values: np.ndarray) -> Figure:
    """The values (T,), their running mean and the truth."""
    figure, axes = plt.subplots()
    axes.plot(values, ".", color=style.GREY, label="values")
    axes.plot(running_mean(values), color=style.BLUE, label="running mean")
    axes.axhline(TRUTH, color=style.BLACK, linestyle="--", label="truth")
    axes.set(xlabel="number of values", ylabel="value")
    axes.legend()
    return figure


def errors(runs: Sequence[dict[str, float]]) -> Figure:
    """The errors of both methods, one point a run; runs: as `method.compare` returns them."""
    figure, axes = plt.subplots(figsize=style.NARROW)
    for place, name in enumerate(("method", "baseline")):
        axes.plot([place] * len(runs), [run[name] for run in runs], "o", color=style.CYCLE[place])
    axes.set_xticks([0, 1], ["method", "baseline"])
    axes.set_ylabel("absolute error")
    return figure


def interactive(seed: int):
    """A slider over the number of values; seed: of the values."""
    slider = live.Slider("count", "values", [5, 10, 20, 50])

    def alt(count: int) -> str:
        return f"After {count} values the running mean is {running_mean(noisy(count, seed))[-1]:.2f}; the truth is 1."

    return live.figure(lambda count: trace(noisy(count, seed)), [slider], alt=alt)
