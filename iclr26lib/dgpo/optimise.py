"""Train a flow model on a reward of your own, and watch what the reward does not see.

`optimise` runs the trainer, looks at the samples now and then, keeps a checkpoint, and returns a `History` with the
reward, the monitors beside it, and a word about those that moved.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..flows import Streams, frozen, interpolate, ode_sample, velocity_loss
from ..flows.files import read_file
from ..flows.interface import positive
from .config import Config
from .experiments import LOOK_GRID, prompts_for
from .history import COLUMNS, History
from .state import check_state
from .trainer import DGPOTrainer, Reward

BASE_DRAWS = 4  # fresh draws of the base that tell how much a monitor moves by chance
MOST_FLAT = 10  # updates in a row without one informative group, after which a run stops
CONTENT = {"settings": dict, "trainer": dict, "prompts": dict, "flat": int, "history": dict, "base": Tensor}
LOW_NOISE = 0.2  # time at which the base judges samples: details are left
Monitors = Callable[[Tensor, Tensor], dict[str, float]]


def optimise(
    model: nn.Module, reward_fn: Reward, updates: int, *, cfg: Config | None = None, groups: int = 8, seed: int = 0,
    monitors: Monitors | dict[str, Callable[[Tensor, Tensor], float]] | None = None, every: int = 10,
    samples: int = 160, checkpoint: str | Path | None = None, on_look: Callable[[dict[str, float]], None] | None = None,
) -> History:  # fmt: skip
    """Train `model` in place for `updates` updates of DGPO, and look at it every `every` updates and at the end.

    model: flow model of one replica, as it comes from pretraining. reward_fn: (x (B, *shape), c (B,)) -> (B,), may do
    anything, needs no gradient. cfg: settings of the trainer. groups: prompts an update. samples: at a look, over all
    prompts alike, by a 20-step ODE solver. monitors: a function (x, c) -> {name: number}, or a dict of functions
    (x, c) -> number; None compares with the base's samples, see `AgainstBase`. checkpoint: file that every look
    replaces; where it exists, the run goes on from it and ends as if it had never stopped. Pass the same base model and
    settings then; updates may be more. on_look: called with each row of the history.

    Returns the `History`. Raises ValueError for settings that do not fit, a checkpoint that is damaged, of another run
    or of more updates, and a reward that told no sample of a group from another in 10 updates in a row; what the
    trainer, the reward or a monitor raises passes through. A run that stops leaves the checkpoint of its last look.
    """
    positive("updates", updates)
    path = None if checkpoint is None else Path(checkpoint)
    if path is not None and path.exists() and not path.is_file():
        raise ValueError(f"checkpoint {path} is no file: name one inside it")
    run = _Run(model, reward_fn, Config() if cfg is None else cfg, groups, seed, monitors, every, samples)
    if path is not None and path.exists():
        run.restore(path, updates)
    else:
        run.look(path, on_look)
    while run.trainer.updates < updates:
        run.step()
        if run.trainer.updates % every == 0 or run.trainer.updates == updates:
            run.look(path, on_look)
    return run.history


class AgainstBase:
    """Monitors for any task that need the base only: how varied the samples are, and how odd the base finds them.

    diversity: mean distance between two samples of a prompt, over that of the base's samples; 1 for the base, 0 when
    all samples of a prompt are the same. surprise: denoising loss of the base on the samples at low noise, over that on
    its own samples; 1 for the base, more for samples that it would hardly draw.
    """

    def __init__(self, base: nn.Module, x: Tensor, c: Tensor):
        """base: frozen model. x: (B, *shape) its samples, two a prompt or more. c: (B,). ValueError for fewer."""
        self.base, self.pairwise, self.loss = base, _pairwise(x, c), 1.0
        self.loss = self.surprise(x, c)

    def __call__(self, x: Tensor, c: Tensor) -> dict[str, float]:
        """{"diversity", "surprise"} of samples x (B, *shape) and prompts c (B,). Raises ValueError as the start."""
        return {"diversity": float(_pairwise(x, c) / self.pairwise), "surprise": self.surprise(x, c)}

    @torch.no_grad()
    def surprise(self, x: Tensor, c: Tensor) -> float:
        """Loss of the base on x (B, *shape) and c (B,), over that on its own samples; the same noises every time."""
        noise, t = Streams([0], "surprise").normal(len(x), *x.shape[1:]).to(x), x.new_full((len(x),), LOW_NOISE)
        x_t, target = interpolate(x, noise, t)
        return float(velocity_loss(self.base(x_t, t, c), target)) / self.loss


def _pairwise(x: Tensor, c: Tensor) -> Tensor:
    """Mean distance of two different samples of a prompt, averaged over prompts. x: (B, *shape), c: (B,)."""
    each = [x[c == prompt].flatten(1) for prompt in c.unique()]
    if min(map(len, each)) < 2:
        raise ValueError("diversity needs two samples or more of each prompt: raise `samples`")
    return torch.stack([torch.pdist(rows).mean() for rows in each]).mean()


class _Run:
    """A trainer with what stands around it: prompts, looks, history, checkpoint."""

    def __init__(self, model, reward_fn, cfg, groups, seed, monitors, every, samples):
        if getattr(model, "replicas", 1) != 1:
            raise ValueError(f"optimise trains one model, got {model.replicas} replicas: take DGPOTrainer for several")
        self.trainer = DGPOTrainer(model, reward_fn, cfg, Streams([seed], "train"))
        if positive("samples", samples) < 2 * model.prompts:
            raise ValueError(f"samples must be two a prompt or more, {2 * model.prompts}, got {samples}")
        self.settings = {
            **asdict(cfg), "groups": positive("groups", groups), "seed": seed, "samples": samples,
            "every": positive("every", every),
        }  # fmt: skip
        self.prompts, self.flat = Streams([seed], "prompts"), 0
        x, c = self.draw("reference")
        self.base = x
        self.monitor = _monitor(monitors, self.trainer.reference, x, c)
        fresh = [self.draw(f"base {i}") for i in range(BASE_DRAWS)]
        self.history = History.of_base([self.monitor(*pair) for pair in fresh])

    @torch.no_grad()
    def draw(self, name: str) -> tuple[Tensor, Tensor]:
        """Samples and prompts from the model as it is; a name stands for one set of noises."""
        model, samples = self.trainer.model, self.settings["samples"]
        device = next(model.parameters()).device
        c = (torch.arange(samples) % model.prompts).to(device)
        return ode_sample(model, c, LOOK_GRID, Streams([self.settings["seed"]], f"look {name}")), c

    def step(self) -> None:
        report = self.trainer.step(prompts_for(self.trainer.model, self.settings["groups"], self.prompts))
        self.history.weight.append(float(report["weight"].mean()))
        self.flat = self.flat + 1 if float(report["informative"]) == 0 else 0
        if self.flat >= MOST_FLAT:
            raise ValueError(
                f"in {self.flat} updates in a row all samples of each group had the same reward (mean "
                f"{float(report['reward']):.3g}), so nothing can be learnt. If it is rarely right, draw larger groups "
                "(cfg.group) or give a softer reward; if it is always right, you are done: stop earlier"
            )

    def look(self, path: Path | None, on_look: Callable | None) -> None:
        x, c = self.draw("at the model")
        reward = float(self.trainer.score(x, c).mean())
        row = {"update": self.trainer.updates, "passes": self.trainer.nfe, "reward": reward}
        self.history.add({**row, **self.monitor(x, c)})
        if path is not None:
            self.save(path)
        if on_look is not None:
            on_look(self.history.row(-1))

    def save(self, path: Path) -> None:
        """Put the checkpoint in its place at once: a reader finds the old one or the new one."""
        state = {
            "settings": self.settings, "trainer": self.trainer.state_dict(), "prompts": self.prompts.state(),
            "flat": self.flat, "history": self.history.state(), "base": self.base.cpu(),
        }  # fmt: skip
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                torch.save(state, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise

    def restore(self, path: Path, updates: int) -> None:
        """Take over the checkpoint at `path`, once all of it has been found to fit; see `optimise`."""
        state = read_file(path)
        if not isinstance(state, dict) or {name: type(value) for name, value in state.items()} != CONTENT:
            raise ValueError(
                f"{path} is not a checkpoint of optimise, which holds {sorted(CONTENT)}: choose another file"
            )
        self.check_run(path, state)
        history = self.history_of(path, state["history"])
        try:
            check_state(self.trainer, state["trainer"])
            self.prompts.check(state["prompts"])
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
        if (done := state["trainer"]["updates"]) > updates:
            raise ValueError(f"{path} holds {done} updates already, more than updates = {updates}")
        if history["update"][-1] != done or len(history.weight) != done:
            raise ValueError(f"{path}: damaged, its history ends at another update than {done}")
        self.trainer.load_state_dict(state["trainer"])
        self.prompts.restore(state["prompts"])
        self.flat, self.history = state["flat"], history

    def check_run(self, path: Path, state: dict[str, Any]) -> None:
        """Raise ValueError naming `path` where the checkpoint is that of a run with other settings or another base."""
        theirs, base = state["settings"], self.base.cpu()
        if other := sorted(k for k in {**self.settings, **theirs} if theirs.get(k) != self.settings.get(k)):
            raise ValueError(f"{path} is the checkpoint of a run with another {', '.join(other)}: choose another file")
        if state["base"].shape != base.shape or state["base"].dtype != base.dtype:
            raise ValueError(f"{path} is the checkpoint of a run from another kind of model: choose another file")
        if not torch.allclose(state["base"], base, atol=1e-4):
            raise ValueError(f"{path} is the checkpoint of a run from another base model: choose another file")

    def history_of(self, path: Path, state: dict[str, Any]) -> History:
        """The history of a checkpoint. Raises ValueError naming `path` where it does not fit."""
        if set(state) != set(self.history.state()) or not {*COLUMNS} <= set(state["columns"]):
            raise ValueError(f"{path}: damaged, no history in it")
        if set(state["columns"]) - {*COLUMNS} != set(self.history.base):
            raise ValueError(f"{path} is the checkpoint of a run with other monitors: choose another file")
        if len({len(column) for column in state["columns"].values()}) != 1 or not state["columns"]["update"]:
            raise ValueError(f"{path}: damaged, the columns of its history are not of one length")
        return History(**state)


def _monitor(monitors: Any, base: nn.Module, x: Tensor, c: Tensor) -> Monitors:
    """One function (x, c) -> {name: number} for whatever was given, which gets copies; x, c: samples of the base."""
    if monitors is None:
        return AgainstBase(frozen(base), x, c)
    if isinstance(monitors, dict) and monitors and all(map(callable, monitors.values())):
        return lambda x, c: {name: float(each(x.clone(), c.clone())) for name, each in monitors.items()}
    if callable(monitors):
        return lambda x, c: {name: float(value) for name, value in monitors(x.clone(), c.clone()).items()}
    raise TypeError(f"monitors must be a function, a dict of functions or None, got {monitors!r}")
