"""Runs of the chapter beside the main ones: EigenVI for one observation, the spiral, two stars."""

from collections.abc import Sequence

import numpy as np
import torch

from ..seeding import generator
from . import metrics
from .eigenvi import eigenvi_fit, eigenvi_log_density
from .experiments import plane_model
from .method import monte_carlo_nodes, trapezoid_grid
from .simulators import simulator
from .star_bound import star_excess
from .stars import star_model
from .training import train


def eigenvi(problem: str, seeds: Sequence[int], K: int, draws: int, fine: int, x: float = 0.7) -> list[float]:
    """KL(p || q), nats, at the observation x, of EigenVI with K Legendre functions an axis: one number for each of
    `seeds`.

    problem: "ring" or "bands". draws: uniform draws on the box, with exact scores by autograd. fine: nodes an axis.
    """
    world = simulator(problem)
    nodes, log_w = trapezoid_grid(world.low, world.high, fine)
    seen = torch.tensor([x], dtype=torch.float64)
    exact = world.log_posterior(nodes, seen, nodes, log_w)
    low, high = (np.array(corner) for corner in (world.low, world.high))
    found = []
    for seed in seeds:
        u = torch.rand(draws, 2, generator=generator(seed, "eigenvi"), dtype=torch.float64)
        z = (torch.tensor(low) + torch.tensor(high - low) * u).requires_grad_(True)
        (score,) = torch.autograd.grad(world.log_likelihood(z, seen.expand(draws, 1)).sum(), z)
        log_pi = np.full(draws, -np.log(high - low).sum())
        _, alpha = eigenvi_fit(K, z.detach().numpy(), score.numpy(), log_pi, "legendre", low, high)
        log_q = torch.from_numpy(eigenvi_log_density(alpha, nodes.numpy(), K, "legendre", low, high))
        found.append(metrics.grid_kl(exact, log_q, log_w)[0].item())
    return found


def spiral(seeds: Sequence[int], lr: float, *, K: int, width: int, depth: int, batch: int, steps: int, grid: int,
           block: int, test_pairs: int, device: str = "cpu") -> dict[str, list[float]]:  # fmt: skip
    """Train LBF-NPE on the spiral; its excess NLL over the exact posterior, Jacobian included: (seeds,) nats.

    On held-out pairs, q normalised on a grid three times as fine; the mean excess estimates KL(p || q).
    """
    world = simulator("spiral")
    how = {"width": width, "depth": depth, "grid": grid, "K": K, "scale": 10.0, "sphere": True}
    models = [plane_model("lbf", world, seed, **how) for seed in seeds]
    train(models, world, steps, batch, lr, seeds=seeds, schedule="cosine", alternate=block, device=device)
    finer = trapezoid_grid(world.low, world.high, 3 * grid)
    found = []
    for model, seed in zip(models, seeds, strict=True):
        z, x = world.sample(test_pairs, generator(seed, "test"))
        with torch.no_grad():
            parts = zip(z.split(200), x.split(200), strict=True)
            log_q = torch.cat([model.cpu().log_prob(a, b, normalise_on=finer) for a, b in parts])
        found.append(-log_q.double().mean().item() - world.best_nll)
    return {"excess": found}


def stars(seed: int, K: int, lr: float, *, batch: int, steps: int, nodes: int, block: int, scenes: int,
          device: str = "cpu") -> dict[str, float]:  # fmt: skip
    """Train LBF-NPE on two stars with a Monte Carlo normaliser; mean excess over the Laplace estimate, nats.

    K: functions. lr, batch, steps: of training, in blocks of `block` steps. nodes: fresh Monte Carlo nodes a step.
    scenes: held-out images.
    """
    model = star_model(K, nodes, generator=generator(seed, "init"))
    world = simulator("two_stars")
    fresh = {"quadrature": lambda g: monte_carlo_nodes(world.low, world.high, nodes, g)}
    train([model], world, steps, batch, lr, seeds=[seed], alternate=block, schedule="cosine", device=device, **fresh)
    excess = star_excess(model.cpu(), scenes, generator(seed, "test"))
    return {"excess": excess.mean().item(), "error": (excess.std() / len(excess) ** 0.5).item()}
