"""The chapter's runs: every function takes plain arguments and returns JSON-able values, one entry a seed.

So `resume.resumable` can keep finished runs. Every method of a seed starts from the same base model, sees the same
prompts and is looked at with the same noises.
"""

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..flows import DiT, Replicas, Streams, UNet, VelocityMLP, fit_flow, ode_sample, shifted_grid
from ..flows.interface import positive
from ..seeding import generator
from .baselines import DPOTrainer, FlowGRPOTrainer
from .blobs import CountBlobs
from .config import Config
from .ring import PromptedRing
from .trainer import DGPOTrainer, GroupTrainer

TRAINERS = {"dgpo": DGPOTrainer, "dpo": DPOTrainer, "grpo": FlowGRPOTrainer}
LOOK_GRID = shifted_grid(20, 3.0)
Weights = list[dict[str, np.ndarray]]


def task_of(name: str, size: int) -> Any:
    """The task: "ring" in `size` dimensions, "plane ring" whose reward sees two of them, or "blobs" of `size` pixels.

    Raises ValueError for another name.
    """
    if name in ("ring", "plane ring"):
        return PromptedRing(dim=size, plane_only=name == "plane ring")
    if name == "blobs":
        return CountBlobs(size=size)
    raise ValueError(f"unknown task {name!r}; known: ring, plane ring, blobs")


def fresh_model(task: Any, seed: int, width: int, depth: int) -> nn.Module:
    """An untrained flow model of a task: an MLP of the plane; of images a DiT, or the U-Net from 32 pixels on.

    task: of `task_of`. seed: of its weights. width, depth: of the network (not of the U-Net).
    """
    gen = generator(seed, "init")
    if isinstance(task, PromptedRing):
        return VelocityMLP(task.shape[0], task.prompts, width, depth, generator=gen)
    if task.size < 32:
        return DiT(task.size, prompts=task.prompts, width=width, depth=depth, generator=gen)
    return UNet(task.size, prompts=task.prompts, generator=gen)


def pretrain(
    task: str, size: int, seeds: Sequence[int], *, width: int, depth: int, steps: int, batch: int, lr: float,
    device: str = "cpu",
) -> dict[str, Any]:  # fmt: skip
    """Base models, one a seed, trained side by side by flow matching on a task's base data.

    width, depth: of the network (not of the U-Net). steps, batch, lr: of Adam with a cosine schedule. Returns
    {"weights": one dict of float32 arrays a seed, "loss": (seeds,) mean of the last 50 steps, "seconds"}.
    """
    world = task_of(task, size)
    model = Replicas([fresh_model(world, seed, width, depth) for seed in seeds]).to(device)
    start = time.perf_counter()
    losses = fit_flow(model, world.draw, steps, batch, lr, Streams(seeds, "base"), device=device)
    seconds = time.perf_counter() - start
    weights = [{k: v.cpu().numpy() for k, v in m.state_dict().items()} for m in model.split()]
    return {"weights": weights, "loss": losses[-50:].mean(0).tolist(), "seconds": seconds}


def restored(world: Any, weights: Weights, width: int, depth: int, device: str = "cpu") -> nn.Module:
    """The models of `weights`, side by side.

    world: of `task_of`. weights: one dict of arrays a model. width, depth: of the networks. device: where they go.
    Raises ValueError for no weights.
    """
    if len(weights) == 0:
        raise ValueError("weights must be those of one model or more, got none")
    models = [fresh_model(world, 0, width, depth) for _ in weights]
    for model, arrays in zip(models, weights, strict=True):
        model.load_state_dict({k: torch.as_tensor(v) for k, v in arrays.items()})
    return (Replicas(models) if len(models) > 1 else models[0]).to(device)


@torch.no_grad()
def look(model: nn.Module, world: Any, seeds: Sequence[int], samples: int) -> dict[str, list[float | None]]:
    """Reward and monitors, one value a seed, of `samples` samples over all prompts alike, by a 20-step ODE solver.

    model: S replicas. world: its task. seeds: S. samples: rounded up to as many for every prompt. A monitor that has
    nothing to measure (no sample on the manifold) is None. Raises ValueError for samples below 1.
    """
    device = next(model.parameters()).device
    samples = -(-positive("samples", samples) // world.prompts) * world.prompts
    c = (torch.arange(samples) % world.prompts).repeat(len(seeds)).to(device)
    noise = Streams(seeds, "look").normal(samples, *world.shape).to(device)
    x = ode_sample(model, c, LOOK_GRID, Streams(seeds, "unused"), noise=noise)
    found = {"reward": world.reward(x, c).reshape(len(seeds), samples).mean(1).tolist()}
    each = [world.monitors(a, b) for a, b in zip(x.chunk(len(seeds)), c.chunk(len(seeds)), strict=True)]
    return found | {name: [None if math.isnan(m[name]) else m[name] for m in each] for name in each[0]}


def prompts_for(world: Any, groups: int, draw: Streams) -> Tensor:
    """Prompts of one update, (S * groups,) int64: all of them where there are as many groups, else drawn."""
    if groups == world.prompts:
        return torch.arange(groups).repeat(draw.replicas)
    return draw.integers(world.prompts, groups)


def improve(
    arm: str, task: str, size: int, seeds: Sequence[int], weights: Weights, settings: dict[str, Any], *, width: int,
    depth: int, updates: int, groups: int, every: int, samples: int, last_samples: int, gallery: int = 0,
    device: str = "cpu",
) -> dict[str, Any]:  # fmt: skip
    """Train base models with one method, and look at them every `every` updates.

    arm: "dgpo", "dpo" or "grpo". weights: of `pretrain`, one a seed. settings: fields of `Config`. groups: prompts an
    update. samples: at a look. last_samples: at the first and the last. gallery: samples a prompt of the first seed to
    keep from before and after. Returns {"updates", "passes": (looks,), "reward" and each monitor: (looks, seeds),
    "clock": (looks,) seconds without the looks, "weight": (updates, seeds) mean sigmoid weight where there is one,
    "rollouts": (seeds,) mean reward of the last ten rollouts, by the sampler that made them, "informative": (seeds,)
    share of groups with unequal rewards in the first ten}. Raises ValueError for an unknown arm, sizes below 1 or other
    weights than one a seed, FloatingPointError when a run diverges.
    """
    if arm not in TRAINERS:
        raise ValueError(f"unknown arm {arm!r}; known: {', '.join(TRAINERS)}")
    positive("updates", updates), positive("groups", groups), positive("every", every)
    positive("samples", samples), positive("last_samples", last_samples)
    if len(weights) != len(seeds):
        raise ValueError(f"{len(seeds)} seeds need as many weights, got {len(weights)}")
    world = task_of(task, size)
    model = restored(world, weights, width, depth, device)
    trainer = TRAINERS[arm](model, world.reward, Config(**settings), Streams(seeds, "train"))
    draw, log = Streams(seeds, "prompts"), _Log(trainer, world, seeds)
    kept = {"gallery": [pictures(model, world, seeds, gallery)]} if gallery else {}
    log.look(last_samples)
    for update in range(1, updates + 1):
        log.step(prompts_for(world, groups, draw))
        if update % every == 0 or update == updates:
            log.look(last_samples if update == updates else samples)
    if gallery:
        kept["gallery"].append(pictures(model, world, seeds, gallery))
    return log.result() | kept


@torch.no_grad()
def pictures(model: nn.Module, world: Any, seeds: Sequence[int], each: int) -> list[Any]:
    """`each` samples for every prompt of the first seed, (prompts, each, *shape) nested lists with two decimals."""
    rows = world.prompts * each
    c = torch.arange(world.prompts).repeat_interleave(each).repeat(len(seeds))
    noise = Streams(seeds, "gallery").normal(rows, *world.shape)
    x = ode_sample(model, c, LOOK_GRID, None, noise=noise)[:rows].cpu()
    return (x * 100).round().div(100).reshape(world.prompts, each, *world.shape).tolist()


class _Log:
    """What a run leaves: looks with the passes and seconds spent until then, and the weights of all updates."""

    def __init__(self, trainer: GroupTrainer, world: Any, seeds: Sequence[int]):
        self.trainer, self.world, self.seeds = trainer, world, seeds
        self.looks: list[dict[str, Any]] = []
        self.weights: list[list[float]] = []
        self.rollouts: list[list[float]] = []
        self.informative: list[list[float]] = []
        self.seconds = 0.0

    def step(self, prompts: Tensor) -> None:
        start = time.perf_counter()
        report = self.trainer.step(prompts)
        self.seconds += time.perf_counter() - start
        self.rollouts.append(report["reward"].tolist())
        self.informative.append(report["informative"].tolist())
        if "weight" in report:
            self.weights.append(report["weight"].tolist())

    def look(self, samples: int) -> None:
        found = look(self.trainer.model, self.world, self.seeds, samples)
        spent = {"updates": self.trainer.updates, "passes": self.trainer.nfe, "clock": self.seconds}
        self.looks.append({**spent, **found})

    def result(self) -> dict[str, Any]:
        columns = {key: [entry[key] for entry in self.looks] for key in self.looks[0]}
        ends = {"rollouts": np.mean(self.rollouts[-10:], 0), "informative": np.mean(self.informative[:10], 0)}
        return {**columns, "weight": self.weights, **{name: values.tolist() for name, values in ends.items()}}


def joined(runs: Sequence[dict[str, Any]], parts: Sequence[Sequence[int]], seeds: Sequence[int]) -> dict[str, Any]:
    """One run of `improve` out of runs of disjoint seeds.

    runs: alike but for their seeds. parts: the seeds of each. seeds: the order wanted. What is not a value a seed is
    that of the first run; "clock" is the sum. Raises ValueError where the seeds of the parts are not those of `seeds`
    or of the runs.
    """
    if (
        not runs
        or len(runs) != len(parts)
        or any(len(run["reward"][0]) != len(part) for run, part in zip(runs, parts, strict=True))
    ):
        found = [len(run["reward"][0]) for run in runs]
        raise ValueError(f"runs of {found} seeds are not those of parts of {[len(part) for part in parts]}")
    if any(run["passes"] != runs[0]["passes"] for run in runs):
        raise ValueError(f"the runs spent other passes: {[run['passes'] for run in runs]}")
    here = [seed for part in parts for seed in part]
    if sorted(here) != sorted(seeds):
        raise ValueError(f"runs of seeds {here} do not make one of seeds {list(seeds)}")
    order = [here.index(seed) for seed in seeds]

    def across(rows: Sequence[Sequence[Any]]) -> list[Any]:
        together = [value for row in rows for value in row]
        return [together[i] for i in order]

    whole = dict(runs[0])
    for key, column in runs[0].items():
        if key == "clock":
            whole[key] = [sum(times) for times in zip(*(run[key] for run in runs), strict=True)]
        elif key in ("rollouts", "informative"):
            whole[key] = across([run[key] for run in runs])
        elif key != "gallery" and column and isinstance(column[0], list):
            whole[key] = [across(rows) for rows in zip(*(run[key] for run in runs), strict=True)]
    return whole


def passes_to(run: dict[str, Any], targets: Sequence[float]) -> list[float]:
    """For each seed the network passes at which its reward first reaches its target, interpolated between looks.

    run: of `improve`. targets: (seeds,). A seed that is there from the start counts with the passes until the second
    look. One that never gets there counts with all passes of the run, so that a comparison errs in favour of the method
    that was stopped. Raises ValueError for another number of targets, or one that is no number.
    """
    reward, passes = np.array(run["reward"]), run["passes"]
    if reward.shape[1] != len(targets):
        raise ValueError(f"{reward.shape[1]} seeds need as many targets, got {len(targets)}")
    if any(math.isnan(target) for target in targets):
        raise ValueError(f"targets must be numbers, got {list(targets)}")
    found = []
    for column, target in zip(reward.T, targets, strict=True):
        reached = np.flatnonzero(column >= target)
        i = int(reached[0]) if len(reached) else len(column)
        if i in (0, len(column)):
            found.append(float(passes[1] if i == 0 else passes[-1]))
            continue
        part = (target - column[i - 1]) / (column[i] - column[i - 1])
        found.append(float(passes[i - 1] + part * (passes[i] - passes[i - 1])))
    return found


def reward_at(run: dict[str, Any], passes: float) -> list[float]:
    """Reward of each seed when a run had spent `passes`, interpolated between looks.

    run: of `improve`. passes: network passes a seed. Raises ValueError beyond the run's end.
    """
    if not run["passes"][0] <= passes <= run["passes"][-1]:
        raise ValueError(f"the run spent {run['passes'][0]} to {run['passes'][-1]} passes, not {passes}")
    return [float(np.interp(passes, run["passes"], column)) for column in np.array(run["reward"]).T]
