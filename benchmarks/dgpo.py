"""DGPO against online DPO and Flow-GRPO, and our sampler against that of diffusers: `make bench CHAPTER=dgpo`.

The first two tables: network passes and seconds until a reward is met, on the ring in 2 and in 32 dimensions, at the
settings that the tuning chose for each method. The reward to meet is the midpoint between the base's and DGPO's last,
seed by seed. A pass is one sample through the network, forward or backward. DGPO has the book's number of updates, the
others as many, and more where that is needed to spend as many passes. Every 10 updates the model is looked at. Between
looks the passes are interpolated; the seconds are passes times the median pace of the stretches between looks, which
are left out. One seed trains at a time, on one thread. Costs are medians over seeds; a ratio is the median of the
seeds' own ratios, and has "> " where half of the seeds or more do not get there: these count with all that their run
has spent. The reward costs nothing here; where it is a network itself, passes are the smaller part of the bill.

The last table: samples a second of `ode_sample`, and of a loop over `scheduler.step` of diffusers'
FlowMatchEulerDiscreteScheduler, with the same U-Net, noise and grid. Both must end at the same images. They take turns,
the ratio is the median over turns, and time is that of the processor, so that neighbours on the machine do not count.

Two quiet cores take less than five minutes. `python -m benchmarks.dgpo --updates 10 --seeds 1` tries it.
"""

import argparse
import itertools
import math
import statistics
import time
from typing import Any

import torch

from iclr26lib.dgpo import experiments, tuning
from iclr26lib.dgpo.base import shipped
from iclr26lib.dgpo.presets import PRESETS
from iclr26lib.flows import UNet, ode_sample, shifted_grid
from iclr26lib.seeding import generator
from iclr26lib.style import Table

BOOK = PRESETS["book"]
NAMES = {"dgpo": "DGPO", "dpo": "online DPO", "grpo": "Flow-GRPO, all 10 steps", "grpo 4": "Flow-GRPO, 4 of 10 steps"}
STEPS, IMAGES, TURNS, SAME = 10, 16, 15, 1e-5


def bases(dim: int, seeds: list[int]) -> list[experiments.Weights]:
    """The base model of each seed: those that come with the library, trained where they do not."""
    how = tuning.base_sizes(BOOK)
    weights = shipped("ring", dim, seeds, how) or experiments.pretrain("ring", dim, seeds, **how)["weights"]
    return [[w] for w in weights]


def trained(arm: str, dim: int, seed: int, weights: experiments.Weights, **sizes: int) -> dict[str, Any]:
    """One run of a method at its tuned settings, see `experiments.improve`."""
    trainer, _, always = tuning.ARMS[arm]
    settings = {**tuning.fixed(BOOK), **always, **tuning.best(f"ring {dim} {arm}")}
    sizes = {**tuning.ring_sizes(BOOK), **sizes}
    sizes["every"] = min(sizes["every"], sizes["updates"])
    return experiments.improve(trainer, "ring", dim, [seed], weights, settings, **sizes)


def update_cost(arm: str, dim: int, weights: experiments.Weights) -> float:
    """Passes of one update, as the trainer counts them."""
    return trained(arm, dim, 0, weights, updates=1, samples=8, last_samples=8)["passes"][-1]


def spent(run: dict[str, Any], target: float) -> tuple[float, float, bool]:
    """Passes and seconds until a run of one seed meets its target, and whether it ever does."""
    passes = experiments.passes_to(run, [target])[0]
    stretches = itertools.pairwise(zip(run["passes"], run["clock"], strict=True))
    pace = statistics.median((end[1] - start[1]) / (end[0] - start[0]) for start, end in stretches)
    return passes, passes * pace, max(looked[0] for looked in run["reward"]) >= target


def ratio(costs: list[float], first: list[float], bound: bool) -> str:
    """Median of the seeds' ratios of `costs` to those of the first method."""
    middle = statistics.median(cost / own for cost, own in zip(costs, first, strict=True))
    return f"{'> ' if bound else ''}{middle:.2f}"


def row(name: str, runs: list[dict[str, Any]], costs: list[Any], first: list[Any]) -> list[str]:
    """One line of a table. runs: one a seed. costs: their passes, seconds, whether they get there; first: DGPO's."""
    passes, seconds, met = costs
    bound = 2 * sum(met) <= len(met)
    updates = runs[0]["updates"][-1]
    return [
        name,
        f"{runs[0]['passes'][-1] / updates / BOOK.groups / BOOK.group:.1f}",
        f"{statistics.median(passes) / 1000:.0f}",
        ratio(passes, first[0], bound),
        f"{statistics.median(seconds):.2f} s",
        ratio(seconds, first[1], bound),
        f"{sum(met)} of {len(met)}",
        f"{statistics.mean(run['reward'][-1][0] for run in runs):.3f} after {updates}",
    ]


def race(dim: int, seeds: int, updates: int) -> Table:
    """All methods on the ring in `dim` dimensions, DGPO first."""
    rows, weights, first = [], bases(dim, list(range(seeds))), []
    budget = updates * update_cost("dgpo", dim, weights[0])
    for arm, name in NAMES.items():
        enough = max(updates, math.ceil(budget / update_cost(arm, dim, weights[0])))
        runs = [trained(arm, dim, seed, weights[seed], updates=enough) for seed in range(seeds)]
        if not first:
            targets = [(run["reward"][0][0] + run["reward"][-1][0]) / 2 for run in runs]
        costs = list(zip(*map(spent, runs, targets), strict=True))
        first = first or costs
        rows.append(row(name, runs, costs, first))
    kinds = ["thousand passes", "ratio to DGPO", "time", "ratio to DGPO"]
    return Table(["method", "passes an update and sample", *kinds, "seeds that get there", "reward at the end"], rows)


@torch.no_grad()
def by_scheduler(network: torch.nn.Module, noise: torch.Tensor, c: torch.Tensor, grid: torch.Tensor) -> torch.Tensor:
    """Images by the loop that users of diffusers write: their network, their scheduler, the times of `grid`."""
    from diffusers import FlowMatchEulerDiscreteScheduler

    scheduler, x = FlowMatchEulerDiscreteScheduler(shift=1.0), noise
    scheduler.set_timesteps(sigmas=grid[:-1].tolist())
    for t in scheduler.timesteps:
        v = network(x, t, class_labels=c, return_dict=False)[0]
        x = scheduler.step(v, t, x, return_dict=False)[0]
    return x


def samplers(turns: int = TURNS) -> Table:
    """Samples a second of both loops. Raises AssertionError when their images differ by more than 1e-5."""
    model = UNet(16, prompts=6, channels=(32, 64), layers=1, groups=8, generator=generator(0, "init")).eval()
    noise = torch.randn(IMAGES, *model.shape, generator=generator(0, "bench noise"))
    c, grid = torch.arange(IMAGES) % model.prompts, shifted_grid(STEPS, 3.0)
    loops = {
        "ode_sample": lambda: ode_sample(model, c, grid, None, noise=noise),
        "diffusers": lambda: by_scheduler(model.network, noise, c, grid),
    }
    torch.testing.assert_close(*(loop() for loop in loops.values()), rtol=0, atol=SAME)
    taken: dict[str, list[float]] = {name: [] for name in loops}
    for turn in range(turns):
        for name in sorted(loops, reverse=turn % 2 == 0):
            start = time.process_time()
            loops[name]()
            taken[name].append(time.process_time() - start)
    ratios = [theirs / ours for ours, theirs in zip(*taken.values(), strict=True)]
    rows = [[name, f"{IMAGES / statistics.median(seconds):.0f}"] for name, seconds in taken.items()]
    spread = f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"
    return Table(["sampler", "samples a second"], [*rows, ["ours over theirs, median and range over turns", spread]])


def main(arguments: list[str] | None = None) -> None:
    """Print one table a ring, and one of the samplers."""
    parser = argparse.ArgumentParser(description="DGPO against DPO and Flow-GRPO: network passes and time to a reward")
    parser.add_argument("--updates", type=int, default=BOOK.updates, help="updates of DGPO; the others have no fewer")
    parser.add_argument("--seeds", type=int, default=BOOK.seeds)
    options = parser.parse_args(arguments)
    if min(options.updates, options.seeds) < 1:
        parser.error(f"updates and seeds must be 1 or more, got {options.updates} and {options.seeds}")
    torch.set_num_threads(1)
    for dim in BOOK.dims:
        print(f"\nring in {dim} dimensions, {options.updates} updates, {options.seeds} seed(s), one thread")
        print(race(dim, options.seeds, options.updates))
    print(f"\n{STEPS} steps, {IMAGES} grey images of 16 x 16 pixels, same results to {SAME:g}, one thread")
    print(samplers())


if __name__ == "__main__":
    main()
