"""Small computations beside the runs: the identity of the weights, and what each sampler does to a base model."""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F

from ..flows import Streams, ode_sample, sde_sample, shifted_grid
from ..seeding import generator
from .experiments import Weights, restored, task_of
from .method import group_advantages, group_gap, implicit_rewards


def constant_shift(seeds: Sequence[int], constant: float = 7.0, groups: int = 6, group: int = 7) -> dict[str, Any]:
    """How far loss and gradient move when `constant` is added to all implicit rewards of random groups.

    groups, group: P and G; an odd G, so that the halves differ in number. Returns {"advantages": (seeds,) largest
    change of loss or gradient with weights |A|, "equal": (seeds,) change of the loss with weights 1}, in double
    precision. Raises ValueError as `group_advantages`.
    """
    found: dict[str, Any] = {"advantages": [], "equal": []}
    for seed in seeds:
        draw = generator(seed, "identity")
        rewards, theta, ref = torch.rand(3, groups, group, generator=draw, dtype=torch.float64)
        A = group_advantages(rewards)
        moved = {}
        for name, weights in (("advantages", A.abs()), ("equal", torch.ones_like(A))):
            dsm = theta.clone().requires_grad_()
            losses = [
                F.softplus(-group_gap(implicit_rewards(dsm, ref, 1.0, log_z), A, weights)).mean()
                for log_z in (0.0, constant)
            ]
            before, after = (torch.autograd.grad(loss, dsm, retain_graph=True)[0] for loss in losses)
            moved[name] = ((losses[1] - losses[0]).abs().item(), (after - before).abs().max().item())
        found["advantages"].append(max(moved["advantages"]))
        found["equal"].append(moved["equal"][0])
    return found


@torch.no_grad()
def samplers(
    size: int, seeds: Sequence[int], weights: Weights, steps: Sequence[int], samples: int, *, width: int, depth: int,
    noise: float = 0.7, device: str = "cpu",
) -> dict[str, Any]:  # fmt: skip
    """Share of samples outside every mode, by sampler and number of steps, of base models of the ring.

    size: dimensions. weights: of `pretrain`, one a seed. noise: level a of the SDE. Returns {"steps", "ode", "sde":
    (steps, seeds) shares}; both samplers start from the same noises.
    """
    world = task_of("ring", size)
    model = restored(world, weights, width, depth, device)
    c = (torch.arange(samples) % world.prompts).repeat(len(seeds)).to(device)
    start = Streams(seeds, "look").normal(samples, *world.shape).to(device)
    found: dict[str, Any] = {"steps": list(steps), "ode": [], "sde": []}
    for n in steps:
        grid = shifted_grid(n, 3.0)
        drawn = {
            "ode": ode_sample(model, c, grid, None, noise=start),
            "sde": sde_sample(model, c, grid, noise, Streams(seeds, "sde"), noise=start),
        }
        for name, x in drawn.items():
            found[name].append([world.off_manifold(part) for part in x.chunk(len(seeds))])
    return found
