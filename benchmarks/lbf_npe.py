"""LBF-NPE against MDN and a neural spline flow, in one run on one machine: `make bench CHAPTER=lbf_npe`.

What is compared: the seconds of training until a held-out criterion is met, for methods that see the same batches of
the same size. On the sinusoid the criterion is a mean NLL within 0.005 nats of the exact posterior's on the same 20,000
pairs; on the ring, a mean KL(p || q) of 0.05 nats over 50 observations on a 64 x 64 grid that nobody trained on. Every
25 or 50 steps a model is looked at, training ends at the first look that meets the criterion, and the looks are left
out of the time. Printed is the median over seeds; "> seconds" where half of the seeds or more do not get there in the
steps given. All methods have one learning rate, 2e-3 by Adam, constant, so that nobody's schedule depends on the number
of steps. On the ring LBF trains both networks at once, so that one step of it moves all of its parameters, as a step of
the others does; the paper takes turns. Bodies have three layers of 64 (sinusoid) or 48 units (ring), the networks of
the flow two of that width, and its splines 8 bins. One thread, one model at a time.

Memory is what autograd keeps for the backward pass of one step, counted storage by storage. For LBF that is dominated
by its normaliser: the basis network's activations at all P nodes, and the B x P table under the logsumexp.

Two quiet cores take less than ten minutes. `python -m benchmarks.lbf_npe --steps 200 --seeds 1` tries it.
"""

import argparse
import math
import statistics
import time

import torch

from iclr26lib import lbf_npe
from iclr26lib.seeding import generator
from iclr26lib.style import Table

BATCH, RATE, CLOSE, NEAR = 256, 2e-3, 0.005, 0.05
SINUSOID, RING = lbf_npe.SIMULATORS["sinusoid"], lbf_npe.SIMULATORS["ring"]
NAMES = {"lbf": "LBF", "mdn": "MDN", "truncated": "MDN, truncated", "nsf": "NSF (zuko)"}


def mixture(simulator, width: int, components: int, variant: str, gen: torch.Generator) -> lbf_npe.MDN:
    """An MDN for a simulator."""
    box = {"low": simulator.low, "high": simulator.high}
    return lbf_npe.MDN(1, simulator.d, components, width, 3, **box, variant=variant, generator=gen)


def estimators(task: str, seed: int) -> dict[str, lbf_npe.Estimator]:
    """One untrained model a method, with bodies of one size."""
    simulator, gen = lbf_npe.SIMULATORS[task], generator(seed, "init")
    if task == "sinusoid":
        basis, K, width, components = lbf_npe.BSplines(0.0, 2 * math.pi, 14), 14, 64, 5
    else:
        basis, K, width, components = lbf_npe.mlp(2, 48, 3, 19, gen), 20, 48, 10
    grid = simulator.quadrature(401 if task == "sinusoid" else 32)
    box = {"low": simulator.low, "high": simulator.high}
    models = {
        "lbf": lbf_npe.LBF(1, basis, K, *grid, width=width, depth=3, generator=gen),
        "mdn": mixture(simulator, width, components, "plain", gen),
        "truncated": mixture(simulator, width, components, "truncated", gen),
        "nsf": lbf_npe.Flow(1, simulator.d, "nsf", **box, hidden=(width, width), bins=8, generator=gen),
    }
    return models if task == "sinusoid" else {k: m for k, m in models.items() if k != "truncated"}


def sinusoid_excess(seed: int):
    """A function model -> mean NLL minus that of the exact posterior, on 20,000 fresh pairs."""
    z, x = SINUSOID.sample(20000, generator(seed, "bench pairs"))
    best = -SINUSOID.log_posterior(z, x, *SINUSOID.quadrature()).mean().item()
    return lambda model: lbf_npe.mean_nll(model, z, x) - best


def ring_kl(seed: int):
    """A function model -> mean KL(p || q) over 50 fresh observations on a 64 x 64 grid."""
    x = RING.sample(50, generator(seed, "bench pairs"))[1]
    nodes, log_w = RING.quadrature(64)
    exact = RING.log_posterior(nodes, x[:, None], nodes, log_w)

    @torch.no_grad()
    def divergence(model: lbf_npe.Estimator) -> float:
        return lbf_npe.grid_kl(exact, model.log_density(nodes, x), log_w)[0].mean().item()

    return divergence


def kept_for_backward(model: lbf_npe.Estimator, simulator) -> float:
    """Megabytes of distinct storage, parameters aside, that autograd keeps for one step of BATCH pairs."""
    z, x = simulator.sample(BATCH, generator(0, "memory"))
    own = {p.untyped_storage().data_ptr() for p in [*model.parameters(), *model.buffers()]}
    kept: dict[int, torch.UntypedStorage] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        model(z, x).mean()
    return sum(s.nbytes() for place, s in kept.items() if place not in own) / 1e6


class Met(Exception):
    """The criterion is met: nothing more needs to be trained."""


class Watch:
    """Looks at a model, ends the training when it is good enough, and counts the seconds between looks."""

    def __init__(self, judge, goal: float):
        self.judge, self.goal, self.looks, self.seconds, self.since = judge, goal, 0, 0.0, time.perf_counter()

    def __call__(self, model: lbf_npe.Estimator) -> None:
        """Raises Met when the model's value is at most the goal."""
        self.seconds += time.perf_counter() - self.since
        self.value = self.judge(model)
        self.looks += 1
        if self.value <= self.goal:
            raise Met
        self.since = time.perf_counter()


def reach(task: str, name: str, seed: int, steps: int) -> tuple[float, int | None, float]:
    """Seconds until the criterion (of all steps when it is not met), the step or None, and the value at the end."""
    judge, goal, every = (sinusoid_excess, CLOSE, 25) if task == "sinusoid" else (ring_kl, NEAR, 50)
    model, look = estimators(task, seed)[name], sorted({*range(every, steps + 1, every), steps})
    watch = Watch(judge(seed), goal)
    try:
        lbf_npe.train(
            [model], lbf_npe.SIMULATORS[task], steps, BATCH, RATE, seeds=[seed],
            checkpoints=look, evaluate=watch, vectorise=False,
        )  # fmt: skip
    except Met:
        return watch.seconds, look[watch.looks - 1], watch.value
    return watch.seconds, None, watch.value


def row(task: str, name: str, seeds: int, steps: int, reference: float | None) -> tuple[list[str], float | None]:
    """One line of the table, and the median of its seconds, None where that is only a bound."""
    runs = [reach(task, name, seed, steps) for seed in range(seeds)]
    seconds, end = statistics.median(r[0] for r in runs), statistics.median(r[2] for r in runs)
    bound = 2 * sum(r[1] is None for r in runs) >= seeds
    sign = "> " if bound else ""
    at = ", ".join(f"> {steps}" if r[1] is None else str(r[1]) for r in runs)
    ratio = "1" if name == "lbf" else "-" if reference is None else f"{sign}{seconds / reference:.1f}"
    memory = kept_for_backward(estimators(task, 0)[name], lbf_npe.SIMULATORS[task])
    cells = [NAMES[name], f"{sign}{seconds:.1f} s", ratio, at, f"{end:.4f}", f"{memory:.1f} MB"]
    return cells, None if bound else seconds


def main(arguments: list[str] | None = None) -> None:
    """Print one table a problem."""
    parser = argparse.ArgumentParser(description="LBF-NPE against MDN and NSF: wall time to a criterion")
    parser.add_argument("--steps", type=int, default=3000, help="at most so many steps a run")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args(arguments)
    if min(options.steps, options.seeds) < 1:
        parser.error(f"steps and seeds must be 1 or more, got {options.steps} and {options.seeds}")
    torch.set_num_threads(1)
    goals = {"sinusoid": f"NLL within {CLOSE} nats of the best", "ring": f"KL(p||q) of {NEAR} nats"}
    for task, goal in goals.items():
        rows, first = [], None
        for name in estimators(task, 0):
            cells, seconds = row(task, name, options.seeds, options.steps, first)
            first = seconds if name == "lbf" else first
            rows.append(cells)
        print(f"\n{task}: {goal}; batch {BATCH}, one thread, at most {options.steps} steps, {options.seeds} seed(s)")
        header = ["method", "time to reach it", "ratio to LBF", "at step", "value at the end", "kept for backward"]
        print(Table(header, rows))


if __name__ == "__main__":
    main()
