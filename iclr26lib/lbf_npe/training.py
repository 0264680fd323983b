"""Training several seeds of one estimator side by side, on the same stream of simulated pairs for every method."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from ..seeding import generator
from .model import Estimator

OPTIMIZERS = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
SCHEDULES = (None, "cosine")
LOOK_EVERY = 50  # steps between looks at the losses; a look waits for the device


def observation_statistics(simulator, generator: torch.Generator, n: int = 4096) -> tuple[Tensor, Tensor]:
    """Mean and spread (x_dim,) of n simulated observations, for `x_stats` of the networks.

    Raises ValueError when an entry of x never varies.
    """
    _, x = simulator.sample(n, generator)
    spread = x.std(0)
    if not (spread > 0).all():
        raise ValueError(f"an entry of x does not vary over {n} draws: spread {spread.tolist()}")
    return x.mean(0), spread


class Ensemble:
    """S models of one architecture, seen as one: their parameters for an optimiser, and their losses at once."""

    def __init__(self, models: Sequence[Estimator], vectorise: bool):
        """models: S of them. vectorise: compute them as one batched model, else one after the other."""
        self.models, self.vectorise = list(models), vectorise
        if vectorise:
            stacked, self.buffers = stack_module_state(self.models)
            self.parameters = {name: nn.Parameter(p.detach()) for name, p in stacked.items()}
        else:
            own = (m.named_parameters() for m in self.models)
            self.parameters = {f"{name}|{i}": p for i, named in enumerate(own) for name, p in named}

    def split(self) -> tuple[list[Tensor], list[Tensor]]:
        """Parameters of the networks f, and of the bases s (names that start with "basis.")."""
        basis = {name for name in self.parameters if name.startswith("basis.")}
        return [p for n, p in self.parameters.items() if n not in basis], [self.parameters[n] for n in sorted(basis)]

    def losses(self, *batch: Tensor) -> Tensor:
        """Mean loss of each model, (S,), for a batch of tensors (S, ...): z, x and, if any, nodes and log_w."""
        if not self.vectorise:
            return torch.stack([m(*(t[i] for t in batch)).mean() for i, m in enumerate(self.models)])
        model = self.models[0]

        def one(parameters, buffers, *of_seed):
            return functional_call(model, (parameters, buffers), of_seed).mean()

        return vmap(one)(self.parameters, self.buffers, *batch)

    @torch.no_grad()
    def write_back(self) -> None:
        """Copy what was learnt into the models; models trained one after the other hold it already."""
        if self.vectorise:
            for i, model in enumerate(self.models):
                for name, parameter in model.named_parameters():
                    parameter.copy_(self.parameters[name][i])

    def release(self) -> None:
        """Hand the models back trained, with every parameter ready to learn again."""
        self.write_back()
        for parameter in self.parameters.values():
            parameter.requires_grad_(True)


def train(
    models: Sequence[Estimator],
    simulator,
    steps: int,
    batch: int,
    lr: float,
    *,
    seeds: Sequence[int],
    optimizer: str = "adam",
    schedule: str | None = None,
    alternate: int | None = None,
    checkpoints: Sequence[int] = (),
    evaluate: Callable[[Estimator], Any] | None = None,
    quadrature: Callable[[torch.Generator], tuple[Tensor, Tensor]] | None = None,
    device: str | torch.device = "cpu",
    vectorise: bool = True,
) -> dict[str, Any]:
    """Train one model a seed, in place, on fresh batches of `simulator`; every method of a seed sees the same batches.

    models: S estimators of one architecture, initialised by the caller. steps: updates. batch: pairs a step and seed.
    lr: learning rate; schedule "cosine" lets it fall to 0 over the run. seeds: one a model. optimizer: "adam" or
    "adamw", both elementwise, so that S seeds trained at once learn what they learn alone. alternate: that many steps
    on the network f with the basis frozen, then as many on the basis, each with its own optimiser state; None trains
    both at once. quadrature: generator -> fresh (nodes, log_w) for every step and seed, as Algorithm 1 has it; None
    keeps the models' own. vectorise: off for models that vmap cannot take. device: where models and batches go.
    checkpoints: steps (0..steps) after which `evaluate(model)` is called for each seed; its time is not counted.
    Returns {"loss": (steps, S) float tensor, "seconds", "seeds", "checkpoints": [{"step", "seconds", "values"}]}.
    Raises ValueError for settings out of range or data that do not fit, FloatingPointError naming seed and step when a
    loss is not finite.
    """
    _check(models, steps, batch, lr, seeds, optimizer, schedule, alternate, checkpoints, evaluate)
    for model in models:
        model.to(device)
    ensemble = Ensemble(models, vectorise)
    run = _Run(ensemble, lr, optimizer, schedule, alternate, steps)
    data = _Data(simulator, batch, seeds, quadrature, models[0], device)
    log, losses, clock = [], [], _Clock(device)
    try:
        for step in range(steps + 1):
            last = step == steps
            if last or step % LOOK_EVERY == 0 or step in checkpoints:
                _refuse_non_finite(losses, seeds)
            if step in checkpoints:
                clock.stop()
                ensemble.write_back()
                log.append({"step": step, "seconds": clock.seconds, "values": [evaluate(m) for m in models]})
                clock.start()
            if not last:
                losses.append(run.step(step, data.next()))
    finally:
        clock.stop()
        ensemble.release()
    return {"loss": torch.stack(losses).cpu(), "seconds": clock.seconds, "seeds": list(seeds), "checkpoints": log}


def _check(models, steps, batch, lr, seeds, optimizer, schedule, alternate, checkpoints, evaluate) -> None:
    """Refuse settings of `train` that are out of range."""
    if len(models) == 0 or len(models) != len(seeds) or len(set(seeds)) != len(seeds):
        raise ValueError(
            f"need one model a seed, and different seeds, got {len(models)} models and seeds {list(seeds)}"
        )
    if len({id(m) for m in models}) != len(models) or len({_settings(m) for m in models}) != 1:
        raise ValueError("models trained together must be different objects of one class with the same settings")
    if steps < 1 or batch < 1 or not 0 < lr < math.inf:
        raise ValueError(f"need steps >= 1, batch >= 1 and lr > 0, got {steps}, {batch} and {lr}")
    if optimizer not in OPTIMIZERS or schedule not in SCHEDULES:
        raise ValueError(
            f"known optimizers: {', '.join(OPTIMIZERS)}, schedules: None, cosine; got {optimizer}, {schedule}"
        )
    if alternate is not None and alternate < 1:
        raise ValueError(f"alternate must be 1 step or more, or None, got {alternate}")
    if alternate is not None and not any(n.startswith("basis.") for n, _ in models[0].named_parameters()):
        raise ValueError(f"alternate = {alternate} needs a learnt basis; {type(models[0]).__name__} has none")
    if checkpoints and (evaluate is None or not all(c in range(steps + 1) for c in checkpoints)):
        raise ValueError(f"checkpoints must lie in 0..{steps} and need `evaluate`, got {list(checkpoints)}")


def _settings(model: Estimator) -> tuple:
    """The class of a model and its plain attributes, which models that share one call of vmap must share."""
    plain = {k: v for k, v in vars(model).items() if isinstance(v, int | float | str | tuple) and k != "training"}
    return (type(model), *sorted((k, repr(v)) for k, v in plain.items()))


def _refuse_non_finite(losses: list[Tensor], seeds: Sequence[int]) -> None:
    """Raise FloatingPointError for the first loss of the last steps that is NaN or infinite."""
    recent = losses[-LOOK_EVERY:]
    bad = (~torch.isfinite(torch.stack(recent))).nonzero() if recent else []
    if len(bad):
        row, column = bad[0].tolist()
        step = len(losses) - len(recent) + row
        raise FloatingPointError(f"loss {recent[row][column].item()} at step {step} of seed {seeds[column]}")


class _Run:
    """The updates: one optimiser for all parameters, or two that take turns."""

    def __init__(self, ensemble: Ensemble, lr: float, optimizer: str, schedule: str | None, alternate, steps: int):
        self.ensemble, self.lr, self.cosine, self.alternate, self.steps = (
            ensemble,
            lr,
            schedule == "cosine",
            alternate,
            steps,
        )
        f, s = ensemble.split()
        self.turns = [f, s] if alternate else [f + s]
        self.optimizers = [OPTIMIZERS[optimizer](group, lr=lr) for group in self.turns]

    def step(self, step: int, batch: Sequence[Tensor]) -> Tensor:
        """One update of the parameters whose turn it is; the losses (S,) before it. The others need no gradient."""
        turn = (step // self.alternate) % 2 if self.alternate else 0
        for i, group in enumerate(self.turns):
            for parameter in group:
                parameter.requires_grad_(i == turn)
        optimizer = self.optimizers[turn]
        for group in optimizer.param_groups:
            group["lr"] = self.lr * (0.5 * (1 + math.cos(math.pi * step / self.steps)) if self.cosine else 1.0)
        optimizer.zero_grad()
        losses = self.ensemble.losses(*batch)
        losses.sum().backward()
        optimizer.step()
        return losses.detach()


class _Data:
    """Fresh batches (S, B, ...), each seed from its own stream, checked before they go to the device."""

    def __init__(self, simulator, batch: int, seeds: Sequence[int], quadrature, model: Estimator, device):
        self.simulator, self.batch, self.model, self.quadrature, self.device = (
            simulator,
            batch,
            model,
            quadrature,
            device,
        )
        self.pairs = [generator(s, "data") for s in seeds]
        self.proposals = [generator(s, "quadrature") for s in seeds]

    def next(self) -> list[Tensor]:
        """z (S, B, d), x (S, B, x_dim) and, where the quadrature is fresh, nodes (S, P, d), log_w (S, P)."""
        drawn = [self.simulator.sample(self.batch, g) for g in self.pairs]
        for z, x in drawn:
            self.model.check(x, z)
        if self.quadrature is not None:
            drawn = [(*pair, *self.quadrature(g)) for pair, g in zip(drawn, self.proposals, strict=True)]
        dtype = next(self.model.parameters()).dtype
        return [torch.stack(column).to(self.device, dtype) for column in zip(*drawn, strict=True)]


class _Clock:
    """Seconds between start and stop, added up, after the device has finished."""

    def __init__(self, device: str | torch.device):
        self.cuda, self.seconds = torch.device(device).type == "cuda", 0.0
        self.start()

    def start(self) -> None:
        """Go on counting."""
        self.since = time.perf_counter()

    def stop(self) -> None:
        """Wait for the device, and add the time since the start."""
        if self.cuda:
            torch.cuda.synchronize()
        self.seconds += time.perf_counter() - self.since
