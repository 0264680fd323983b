"""The chapter's runs: every function takes plain arguments and returns JSON-able values, one entry a seed.

So `resume.resumable` can keep finished runs. Every method of a seed sees the same batches and the same held-out pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..seeding import generator, given
from . import calibration, metrics
from .bases import BSplines
from .flows import Flow
from .mdn import MDN, em_mixture
from .method import fit_natural, monte_carlo_nodes, trapezoid_grid
from .model import LBF, mlp
from .photoz import PhotoZ
from .simulators import simulator
from .training import observation_statistics, train

POINTS = (0.0, 1.0, 2.0)
PLACE = 0.7
LINE_ARMS = ("lbf", "mdn spread", "mdn zero", "mdn truncated", "nsf")
PLANE_ARMS = ("lbf", "mdn", "nsf", "realnvp")


def checkpoints(steps: int) -> list[int]:
    """Where a run of `steps` is looked at: 0, then about six a decade, then the last. Raises ValueError below 1."""
    if steps < 1:
        raise ValueError(f"steps must be 1 or more, got {steps}")
    marks = (base * 10**power for power in range(6) for base in (1, 1.5, 2, 3, 5, 7))
    return sorted({0, steps, *(int(mark) for mark in marks if 1 <= mark < steps)})


def convexity(seeds: Sequence[int], starts: int, points: Sequence[float] = POINTS) -> dict[str, Any]:
    """Fit one observation of the sinusoid from `starts` random starts a seed, by Newton and by EM.

    Returns {"lbf": (seeds, points, starts), "mixture": (seeds, starts)}: KL(p || q), nats, of B-splines with 14
    functions, and of 5 Gaussians at the last point. Raises ValueError as `fit_natural` and `em_mixture` do.
    """
    problem = simulator("sinusoid")
    nodes, log_w = problem.quadrature(501)
    s_nodes = BSplines(problem.low[0], problem.high[0], 14)(nodes)
    found: dict[str, Any] = {"lbf": [], "mixture": []}
    for seed in seeds:
        draw, rows = generator(seed, "starts"), []
        for x in points:
            log_p = problem.log_posterior(nodes, torch.tensor([x], dtype=torch.float64), nodes, log_w)
            start = torch.randn(starts, 14, generator=draw, dtype=torch.float64)
            eta = fit_natural(s_nodes, log_w, (log_p + log_w).exp() @ s_nodes, steps=200, start=start)
            rows.append(metrics.grid_kl(log_p, eta @ s_nodes.T, log_w)[0].tolist())
        found["lbf"].append(rows)
        mixture = em_mixture(nodes, log_w, log_p, 5, starts, draw, steps=3000, tolerance=1e-8)
        found["mixture"].append(mixture.kl.tolist())
    return found


def family_floor(observations: int, starts: int) -> float:
    """Mean KL(p || q), nats, of the best of `starts` fits by EM of 5 Gaussians, over as many quantiles of the
    sinusoid's x as there are `observations`.

    What no plain MDN of 5 components can undercut, whatever its network and training.
    """
    problem = simulator("sinusoid")
    nodes, log_w = problem.quadrature(401)
    draw = generator(0, "floor")
    middles = (torch.arange(observations) + 0.5) / observations
    total = 0.0
    for seen in torch.quantile(problem.sample(20000, draw)[1].double()[:, 0], middles.double()):
        log_p = problem.log_posterior(nodes, seen[None], nodes, log_w)
        total += em_mixture(nodes, log_w, log_p, 5, starts, draw, steps=1000, tolerance=1e-6).kl.min().item()
    return total / observations


def spline_floor(problem: str, K: int, observations: int) -> float:
    """Mean KL(p || q), nats, of the best K B-splines, fitted to each of some observations of a line problem.

    What no LBF with this basis can undercut, whatever its network and training. A hundred-thousandth of a uniform
    density is mixed in for the fit, so that an optimum exists where the posterior vanishes.
    """
    world = simulator(problem)
    nodes, log_w = world.quadrature(1201)
    s_nodes = BSplines(world.low[0], world.high[0], K)(nodes)
    _, x = world.sample(observations, generator(0, "floor"))
    total = 0.0
    for seen in x.double():
        log_p = world.log_posterior(nodes, seen[None], nodes, log_w)
        mass = (1 - 1e-5) * torch.softmax(log_p + log_w, 0) + 1e-5 * torch.softmax(log_w, 0)
        eta = fit_natural(s_nodes, log_w, mass @ s_nodes, steps=200)
        total += metrics.grid_kl(log_p, eta @ s_nodes.T, log_w)[0].item()
    return total / observations


def first_below(run: dict[str, Any], threshold: float) -> list[int]:
    """For each seed of a `run` the first checkpoint whose excess NLL is below `threshold` nats, else the last step."""
    found = []
    for seed, best in enumerate(run["best"]):
        below = [s for s, row in zip(run["steps"], run["curve"], strict=True) if row[seed] - best < threshold]
        found.append(max(1, below[0]) if below else run["steps"][-1])
    return found


@dataclass(frozen=True)
class Pool:
    """A fixed training set in place of a simulator: `sample` draws rows of it with replacement."""

    problem: Any
    z: Tensor
    x: Tensor

    def __getattr__(self, name: str) -> Any:
        """Everything else (d, x_dim, low, high) is the problem's."""
        return getattr(object.__getattribute__(self, "problem"), name)

    def sample(self, n: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """n pairs of the pool: z (n, d) and x (n, x_dim). TypeError without a generator."""
        rows = torch.randint(0, len(self.z), (n,), generator=given(generator))
        return self.z[rows], self.x[rows]


def line_model(arm: str, problem: Any, seed: int, width: int, depth: int, grid: int, K: int, x_stats: Any) -> Any:
    """An untrained model of a one-dimensional posterior.

    problem: a simulator. width, depth: of the network. grid: nodes of LBF's quadrature; K: its B-splines. x_stats: mean
    and spread (x_dim,) of x, or None. Raises ValueError for an unknown arm.
    """
    common = {"low": problem.low, "high": problem.high, "generator": generator(seed, "init"), "x_stats": x_stats}
    if arm == "lbf":
        nodes, log_w = trapezoid_grid(problem.low, problem.high, grid)
        basis = BSplines(problem.low[0], problem.high[0], K)
        return LBF(problem.x_dim, basis, K, nodes, log_w, width=width, depth=depth, **common)
    if arm == "nsf":
        return Flow(problem.x_dim, 1, "nsf", **common)
    if arm not in LINE_ARMS:
        raise ValueError(f"unknown arm {arm!r}; known: {', '.join(LINE_ARMS)}")
    word = arm.split()[1]
    init, variant = ("zero", "plain") if word == "zero" else ("spread", "truncated" if word == "truncated" else "plain")
    return MDN(problem.x_dim, 1, 5, width, depth, init=init, variant=variant, **common)


def train_line(
    arm: str, problem: str, seeds: Sequence[int], lr: float, *, width: int, depth: int, batch: int, steps: int,
    grid: int, K: int, test_pairs: int, pool: int = 0, device: str = "cpu",
) -> dict[str, Any]:  # fmt: skip
    """Train one arm on the sinusoid or on redshifts, all seeds at once, and look at it on held-out pairs.

    pool: size of a fixed training set, 0 for fresh pairs. Returns {"steps", "curve": (checkpoints, seeds) mean NLL on
    4000 pairs, "nll", "excess": (seeds,) nats, "seconds", "pit": (seeds, 20) counts of 1000 pairs,
    "ks", "crps"}; excess is against the exact posterior on the same pairs where it is cheap (sinusoid), else the best
    known.
    """
    world = simulator(problem)
    source = Pool(world, *world.sample(pool, generator(0, "pool"))) if pool else world
    stats = observation_statistics(source, generator(0, "statistics")) if world.x_dim > 1 else None
    models = [line_model(arm, world, seed, width, depth, grid, K, stats) for seed in seeds]
    tests = {id(m): world.sample(test_pairs, generator(s, "test")) for m, s in zip(models, seeds, strict=True)}
    look = {m: tuple(part[:4000].to(device) for part in tests[m]) for m in tests}
    run = train(
        models, source, steps, batch, lr, seeds=seeds, schedule="cosine", checkpoints=checkpoints(steps),
        evaluate=lambda m: metrics.mean_nll(m, *look[id(m)]), device=device, vectorise=arm != "nsf",
    )  # fmt: skip
    ends = [judged_line(m, world, *tests[id(m)]) for m in models]
    return {
        "steps": [c["step"] for c in run["checkpoints"]], "curve": [c["values"] for c in run["checkpoints"]],
        "best": [best_on(world, *(part.cpu() for part in look[id(m)])) for m in models],
        "seconds": run["seconds"], **{key: [end[key] for end in ends] for key in ends[0]},
    }  # fmt: skip


def best_on(world: Any, z: Tensor, x: Tensor) -> float:
    """Mean NLL, nats, of the exact posterior on pairs z (n, d), x (n, x_dim); the best known mean for redshifts."""
    if isinstance(world, PhotoZ):
        return world.best_nll
    nodes, log_w = world.quadrature()
    parts = [world.log_posterior(a, b, nodes, log_w) for a, b in zip(z.split(2000), x.split(2000), strict=True)]
    return -torch.cat(parts).mean().item()


@torch.no_grad()
def judged_line(model: Any, world: Any, z: Tensor, x: Tensor) -> dict[str, Any]:
    """NLL, excess, PIT counts, p value of uniformity and CRPS of a trained model on pairs z (n, 1), x (n, x_dim)."""
    on = next(model.parameters()).device
    nll = metrics.mean_nll(model, z.to(on), x.to(on))
    nodes, _ = world.quadrature(801)
    density = torch.cat([model.log_density(nodes.float().to(on), part.to(on)).cpu() for part in x[:1000].split(100)])
    levels = calibration.pit(density, nodes, z[:1000])
    return {
        "nll": nll, "excess": nll - best_on(world, z, x), "ks": calibration.ks_uniform(levels),
        "pit": torch.histc(levels.float(), 20, 0, 1).int().tolist(),
        "crps": calibration.crps(density, nodes, z[:1000]).mean().item(),
    }  # fmt: skip


def plane_model(
    arm: str, problem: Any, seed: int, *, width: int, depth: int, grid: int, K: int, scale: float, sphere: bool
) -> Any:
    """An untrained model of a two-dimensional posterior.

    problem: a simulator. width, depth: of all networks. grid: nodes an axis of LBF's quadrature; K, scale: its
    functions and w; sphere: whether its outputs are stereographic. Raises ValueError for an unknown arm.
    """
    common = {"low": problem.low, "high": problem.high, "generator": generator(seed, "init")}
    if arm == "lbf":
        nodes, log_w = trapezoid_grid(problem.low, problem.high, grid)
        basis = mlp(2, width, depth, K - sphere, generator(seed, "basis"))
        how = {"stereographic": sphere, "scale": scale if sphere else None, "width": width, "depth": depth}
        return LBF(problem.x_dim, basis, K, nodes, log_w, **how, **common)
    if arm == "mdn":
        return MDN(problem.x_dim, 2, 10, width, depth, **common)
    if arm not in PLANE_ARMS:
        raise ValueError(f"unknown arm {arm!r}; known: {', '.join(PLANE_ARMS)}")
    return Flow(problem.x_dim, 2, arm, **common)


def train_plane(
    arm: str, problem: str, seeds: Sequence[int], lr: float, *, width: int, depth: int, batch: int, steps: int,
    grid: int, K: int, block: int, fine: int, test_x: int, pairs: int, scale: float = 10.0, sphere: bool = True,
    monte_carlo: int = 0, device: str = "cpu",
) -> dict[str, Any]:  # fmt: skip
    """Train one arm on the ring or the bands, and compare it with the exact posterior on a finer grid.

    block: steps of alternating updates, 0 for joint ones. monte_carlo: that many fresh uniform nodes a step in place of
    the training grid, 0 for the grid. Returns {"steps", "curve": (checkpoints, seeds) excess on up to 500 pairs, the
    same for all, "fkl", "rkl": (seeds,) nats over `test_x` observations on the fine grid, "excess": over `pairs`
    held-out pairs, "at": FKL at x = 0.7, "seconds", "hidden": largest error of log J on the training grid, nats (LBF),
    "levels": highest-density levels of up to 500 pairs in 20 bins, "ks"}.
    """
    world = simulator(problem)
    how = {"width": width, "depth": depth, "grid": grid, "K": K, "scale": scale, "sphere": sphere}
    models = [plane_model(arm, world, seed, **how) for seed in seeds]
    fresh = (lambda g: monte_carlo_nodes(world.low, world.high, monte_carlo, g)) if monte_carlo else None
    run = train(
        models, world, steps, batch, lr, seeds=seeds, schedule="cosine", checkpoints=checkpoints(steps),
        alternate=block if arm == "lbf" and block else None, quadrature=fresh if arm == "lbf" else None,
        evaluate=lambda m: pair_excess(m, world, min(500, pairs), fine, 0), device=device,
        vectorise=arm not in ("nsf", "realnvp"),
    )  # fmt: skip
    ends = [judged_plane(m, world, test_x, pairs, fine, seed) for m, seed in zip(models, seeds, strict=True)]
    return {
        "steps": [c["step"] for c in run["checkpoints"]], "curve": [c["values"] for c in run["checkpoints"]],
        "clock": [c["seconds"] for c in run["checkpoints"]], "seconds": run["seconds"],
        **{key: [end[key] for end in ends] for key in ends[0]},
    }  # fmt: skip


@torch.no_grad()
def pair_excess(model: Any, world: Any, n: int, fine: int, seed: int) -> float:
    """Mean of log p(z | x) - log q(z; x), nats, over `n` held-out pairs of `world`: KL(p || q) averaged over x.

    model: a flow or a mixture has an exact density, which no grid can spoil; LBF is normalised on a grid of `fine`
    nodes an axis.
    """
    on = next(model.parameters()).device
    nodes, log_w = trapezoid_grid(world.low, world.high, fine)
    finer = {"normalise_on": (nodes.to(on), log_w.to(on))} if isinstance(model, LBF) else {}
    z, x = world.sample(n, generator(seed, "pairs"))
    total = 0.0
    for a, b in zip(z.split(250), x.split(250), strict=True):
        log_q = model.log_prob(a.to(on), b.to(on), **finer).double().cpu()
        total += (world.log_posterior(a.double(), b.double(), nodes, log_w) - log_q).sum().item()
    return total / n


@torch.no_grad()
def divergences(model: Any, world: Any, n: int, fine: int, seed: int) -> dict[str, float]:
    """Mean forward and reverse KL, nats, of `model` over `n` observations of `world`; `fine` nodes an axis."""
    on = next(model.parameters()).device
    nodes, log_w = trapezoid_grid(world.low, world.high, fine)
    _, x = world.sample(n, generator(seed, "observations"))
    sums = [0.0, 0.0]
    for part in x.split(50):
        log_p = world.log_posterior(nodes, part.double()[:, None], nodes, log_w)
        log_q = model.log_density(nodes.float().to(on), part.to(on)).cpu()
        for side, kl in enumerate(metrics.grid_kl(log_p, log_q, log_w)):
            sums[side] += kl.sum().item()
    return {"fkl": sums[0] / n, "rkl": sums[1] / n}


@torch.no_grad()
def judged_plane(model: Any, world: Any, test_x: int, pairs: int, fine: int, seed: int) -> dict[str, Any]:
    """What a trained model of a two-dimensional posterior of `world` is worth: KL, KL at x = 0.7, coverage, hidden
    spikes.

    test_x: observations for the KL. pairs: held-out pairs for the excess. fine: nodes an axis of the grid of
    evaluation. seed: of the held-out pairs.
    """
    on = next(model.parameters()).device
    nodes, log_w = trapezoid_grid(world.low, world.high, fine)
    seen, place = nodes.float().to(on), torch.tensor([[PLACE]])
    exact = world.log_posterior(nodes, place.double()[:, None], nodes, log_w)
    z, x = (part.to(on) for part in world.sample(min(500, 2 * test_x), generator(seed, "test")))
    density = torch.cat([model.log_density(seen, part).cpu() for part in x.split(50)]).double()
    total = torch.logsumexp(density + log_w, 1)
    levels = calibration.hpd_level(density - total[:, None], log_w, model.log_prob(z, x).cpu() - total)
    report = metrics.finer_grid_check(model, x[:50], factor=3, strict=False) if isinstance(model, LBF) else None
    return {
        **divergences(model, world, test_x, fine, seed),
        "excess": pair_excess(model, world, pairs, fine, seed),
        "at": metrics.grid_kl(exact, model.log_density(seen, place.to(on)).cpu(), log_w)[0].item(),
        "hidden": report.worst if report else 0.0, "ks": calibration.ks_uniform(levels),
        "levels": torch.histc(levels.float(), 20, 0, 1).int().tolist(),
    }  # fmt: skip
