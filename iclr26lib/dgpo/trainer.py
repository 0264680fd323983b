"""The training loop: roll out groups, score them, and learn from noised copies of the final samples."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor, nn

from ..flows import Counted, Streams, clip_gradient_, ema_, frozen, ode_sample, sde_sample, shifted_grid
from ..flows.interface import check_finite, replicas_of
from .config import Config
from .method import LARGEST, dgpo_loss, dsm_loss, flow_noise, group_advantages, ppo_mask
from .state import NETWORKS, check_state

Reward = Callable[[Tensor, Tensor], Tensor]


def _check(model: nn.Module, reward_fn: Reward, cfg: Config, streams: Streams) -> None:
    """Refuse what no trainer can work with."""
    if not callable(reward_fn):
        raise TypeError(f"reward_fn must be a function of samples and prompts, got {type(reward_fn).__name__}")
    for name, value, kind in (("model", model, nn.Module), ("cfg", cfg, Config), ("streams", streams, Streams)):
        if not isinstance(value, kind):
            raise TypeError(f"{name} must be a {kind.__name__}, got {value!r:.80}")
    if lacks := [name for name in ("shape", "prompts") if not hasattr(model, name)]:
        raise ValueError(f"the model {type(model).__name__} needs the attributes shape and prompts, lacks {lacks}")
    if not any(p.requires_grad for p in model.parameters()):
        raise ValueError(f"the model {type(model).__name__} has no parameter that needs a gradient: nothing to train")
    if streams.replicas != replicas_of(model):
        raise ValueError(f"{replicas_of(model)} replicas need as many seeds, got {streams.replicas}")


class GroupTrainer:
    """What every method here shares: groups from a sampler, their advantages, one optimiser step a rollout.

    Several replicas train at once on a flat batch; each has its own streams of randomness, its own gradient norm, and
    learns what it would learn alone. A step changes nothing unless it succeeds: whatever raises, weights, optimiser and
    streams are those of the last good step. Only `nfe` goes on counting what was spent.
    """

    def __init__(self, model: nn.Module, reward_fn: Reward, cfg: Config, streams: Streams):
        """model: flow model, trained in place. reward_fn: (x (B, *D), c (B,)) -> (B,). streams: one seed a replica.

        Raises TypeError for arguments of another kind, ValueError for a model, seeds or settings that cannot work.
        """
        _check(model, reward_fn, cfg, streams)
        self.replicas = replicas_of(model)
        self.model, self.reward_fn, self.cfg, self.streams = model, reward_fn, cfg, streams
        self.grid = shifted_grid(cfg.sampler_steps, cfg.shift)
        self.reference, self.old = frozen(model), frozen(model)
        self.policy, self.fixed, self.before = Counted(model), Counted(self.reference), Counted(self.old)
        self.optimizer = torch.optim.AdamW(model.parameters(), cfg.lr, weight_decay=cfg.weight_decay, fused=True)
        self.updates = 0
        self.check()

    def check(self) -> None:
        """Raise ValueError for settings with which no step could succeed: a timestep clip that leaves too few."""
        if (left := len(self._allowed())) < self.cfg.times:
            raise ValueError(
                f"{self.cfg.times} noise levels wanted, but t_min = {self.cfg.t_min} leaves {left} of the grid"
            )

    @property
    def nfe(self) -> float:
        """Network passes so far, forward and backward, in samples a replica."""
        return sum(m.passes for m in (self.policy, self.fixed, self.before)) / self.replicas

    def step(self, prompts: Tensor) -> dict[str, Any]:
        """One rollout and one update on `prompts` (P,) int64, P groups, the same number for every replica.

        Returns {"reward": (S,), "informative": share of groups whose rewards differ (S,), "norm": of the gradient (S,),
        and what the loss reports, (S,)}. Raises ValueError for prompts that do not fit and for rewards of another
        number or kind, FloatingPointError for a sample, a gradient or a weight after the step that is not finite; the
        reward function's own errors pass through, with a note that says at which update.
        """
        c, streams = self._groups(prompts), self.streams.state()
        try:
            return self._step(c)
        except BaseException:
            self.streams.restore(streams)
            raise

    def _step(self, c: Tensor) -> dict[str, Any]:
        """`step` for one checked prompt a sample, (B,)."""
        x0 = self.rollout(c)
        rewards = self.score(x0, c).reshape(self.replicas, -1, self.cfg.group)
        advantages = self.advantages(rewards).flatten(0, 1).to(x0.device, torch.float32)
        self.optimizer.zero_grad()
        report = self.learn(x0, c, advantages)
        norm = clip_gradient_(self.model, self.cfg.max_norm)
        self._move()
        self.updates += 1
        self._follow()
        told_apart = (rewards != rewards[..., :1]).any(-1).float().mean(-1)
        return {"reward": rewards.mean((1, 2)), "informative": told_apart, "norm": norm, **report}

    def _move(self) -> None:
        """One step of the optimiser, undone where a weight is not finite after it."""
        parameters, moments = list(self.model.parameters()), deepcopy(self.optimizer.state_dict())
        kept = [p.detach().clone() for p in parameters]
        try:
            self.optimizer.step()
            check_finite(self.model)
        except BaseException:
            with torch.no_grad():
                for p, before in zip(parameters, kept, strict=True):
                    p.copy_(before)
            self.optimizer.load_state_dict(moments)
            raise

    def _groups(self, prompts: Tensor) -> Tensor:
        """One prompt a sample, (P*G,), after checking them."""
        if not isinstance(prompts, Tensor) or prompts.dtype != torch.int64:
            raise TypeError(f"prompts must be a tensor of int64, got {getattr(prompts, 'dtype', type(prompts))}")
        if prompts.dim() != 1:
            raise ValueError(f"prompts must be (P,), one a group, got shape {tuple(prompts.shape)}")
        if len(prompts) == 0 or len(prompts) % self.replicas:
            raise ValueError(f"{len(prompts)} prompts cannot be shared out among {self.replicas} replicas")
        if not ((prompts >= 0) & (prompts < self.model.prompts)).all():
            raise ValueError(f"prompts must lie in 0..{self.model.prompts - 1}, got {prompts.tolist()}")
        device = next(self.model.parameters()).device
        return prompts.repeat_interleave(self.cfg.group).to(device)

    @torch.no_grad()
    def rollout(self, c: Tensor) -> Tensor:
        """Final samples (B, *D) for one prompt a sample, from whoever draws at this stage of the training."""
        online = self.policy if self.updates < self.cfg.ema_after else self.before
        actor = self.fixed if self.cfg.offline else online
        if self.cfg.rollout == "sde":
            return sde_sample(actor, c, self.grid, self.cfg.sde_noise, self.streams)
        return ode_sample(actor, c, self.grid, self.streams)

    @torch.no_grad()
    def score(self, x0: Tensor, c: Tensor) -> Tensor:
        """Rewards (B,) float64, on the CPU, of samples (B, *D), checked. Raises as `step` says.

        The reward function gets copies, so that it may change them, and what it returns brings no gradient along.
        """
        try:
            rewards = self.reward_fn(x0.clone(), c.clone())
        except Exception as error:
            error.add_note(f"the reward function raised this at update {self.updates}; the weights are those before it")
            raise
        if not isinstance(rewards, Tensor) or rewards.shape != (len(x0),):
            got = tuple(rewards.shape) if isinstance(rewards, Tensor) else type(rewards).__name__
            raise ValueError(f"the reward function must return a tensor of shape ({len(x0)},), one a sample, got {got}")
        rewards = rewards.detach().cpu().double()
        if len(wrong := (~(rewards.abs() <= LARGEST)).nonzero()):
            i = int(wrong[0])
            raise ValueError(
                f"reward {rewards[i].item()} of sample {i} at update {self.updates}: rewards must be finite, and no "
                f"larger than {LARGEST:g}, beyond which their spread overflows"
            )
        return rewards

    def advantages(self, rewards: Tensor) -> Tensor:
        """What `learn` is told of rewards (S, P, G) float64: (S, P, G), see `group_advantages`."""
        return group_advantages(rewards, self.cfg.advantage_std)

    def learn(self, x0: Tensor, c: Tensor, advantages: Tensor) -> dict[str, Any]:
        """Add up the gradient of the loss. x0: (B, *D), c: (B,), advantages: (P, G). Returns what is worth logging.

        Raises NotImplementedError in this base class.
        """
        raise NotImplementedError

    def _follow(self) -> None:
        """Move the averages that draw rollouts and serve as reference."""
        cfg = self.cfg
        ema_(self.old, self.model, min(cfg.ema_limit, cfg.ema_slope * self.updates))
        if cfg.reference_decay is not None:
            ema_(self.reference, self.model, cfg.reference_decay)

    def times(self) -> Tensor:
        """Distinct noise levels (S, M) of the sampler's own grid, none below the timestep clip."""
        allowed = self._allowed()
        return allowed[self.streams.subset(self.cfg.times, len(allowed))].float()

    def _allowed(self) -> Tensor:
        """The points of the grid that the timestep clip leaves."""
        return self.grid[:-1][self.grid[:-1] >= self.cfg.t_min - 1e-9]

    def state_dict(self) -> dict[str, Any]:
        """All that is needed to go on from here, as if nothing had happened."""
        kept = {name: deepcopy(getattr(self, name).state_dict()) for name in (*NETWORKS, "optimizer")}
        counts = [[m.forward_rows, m.backward_rows] for m in (self.policy, self.fixed, self.before)]
        made = {"kind": type(self).__name__, "cfg": asdict(self.cfg)}
        return {**kept, **made, "streams": self.streams.state(), "updates": self.updates, "counts": counts}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from `state`, a `state_dict`. Raises ValueError as `check_state`, with nothing changed.

        The optimiser takes its moments from the state, and keeps the settings of `cfg`.
        """
        check_state(self, state)
        self.streams.restore(state["streams"])
        for name in NETWORKS:
            getattr(self, name).load_state_dict(state[name])
        moments = deepcopy(state["optimizer"]["state"])  # an optimiser writes into what it loads
        settings = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": moments, "param_groups": settings})
        self.updates = state["updates"]
        for counted, (forward, backward) in zip((self.policy, self.fixed, self.before), state["counts"], strict=True):
            counted.tally.forward_rows, counted.tally.backward_rows = forward, backward


class DGPOTrainer(GroupTrainer):
    """Direct group preference optimisation (paper, algorithm 1, with the official code's clip and KL term)."""

    def learn(self, x0: Tensor, c: Tensor, advantages: Tensor) -> dict[str, Any]:
        """Add up the gradient over M noise levels of the final samples.

        x0: (B, *D), c: (B,), advantages: (P, G). Returns what is worth logging.
        """
        P, G = advantages.shape
        S, logs = self.replicas, []
        for t in self.times().T.to(x0):
            each = t.repeat_interleave(P // S)
            x_t, _, target = flow_noise(x0.reshape(P, G, *x0.shape[1:]), each, self.streams, self.cfg.shared_noise)
            rows = (x_t.flatten(0, 1), each.repeat_interleave(G), c)
            v = self.policy(*rows).reshape(target.shape)
            with torch.no_grad():
                v_ref, v_old = (m(*rows).reshape(target.shape) for m in (self.fixed, self.before))
            loss, log = self.loss(v, v_ref, v_old, target, advantages)
            (S * loss / self.cfg.times).backward()
            logs.append(log)
        return {key: torch.stack([log[key] for log in logs]).mean(0).cpu() for key in logs[0]}

    def loss(self, v, v_ref, v_old, target: Tensor, advantages: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Loss at one noise level: velocities (P, G, *D), advantages (P, G). Returns the mean, and logs (S,)."""
        dsm, ref, old = (dsm_loss(u, target) for u in (v, v_ref, v_old))
        clipped = ppo_mask(dsm.detach(), old, advantages, self.cfg.clip)
        held = torch.where(clipped, dsm.detach(), dsm)
        preference, parts = dgpo_loss(held, ref, advantages, self.cfg.beta, "surrogate")
        kl = dsm_loss(v, v_ref)
        log = {"weight": parts["weight"], "clipped": clipped.float().mean(-1), "kl": kl.detach().mean(-1)}
        by_replica = {key: value.reshape(self.replicas, -1).mean(-1) for key, value in log.items()}
        return preference + self.cfg.kl * kl.mean(), by_replica
