"""The training loop: roll out groups, score them, and learn from noised copies of the final samples."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from ..flows import Counted, Streams, clip_gradient_, ema_, frozen, ode_sample, sde_sample, shifted_grid
from ..flows.interface import replicas_of
from .config import Config
from .method import dgpo_loss, dsm_loss, flow_noise, group_advantages, ppo_mask

Reward = Callable[[Tensor, Tensor], Tensor]


class GroupTrainer:
    """What every method here shares: groups from a sampler, their advantages, one optimiser step a rollout.

    Several replicas train at once on a flat batch; each has its own streams of randomness, its own gradient norm, and
    learns what it would learn alone. A step changes nothing unless it succeeds: whatever raises, weights and optimiser
    are those of the last good step.
    """

    def __init__(self, model: nn.Module, reward_fn: Reward, cfg: Config, streams: Streams):
        """model: flow model, trained in place. reward_fn: (x (B, *D), c (B,)) -> (B,). streams: one seed a replica."""
        if not callable(reward_fn):
            raise TypeError(f"reward_fn must be a function of samples and prompts, got {type(reward_fn).__name__}")
        self.replicas = replicas_of(model)
        if streams.replicas != self.replicas:
            raise ValueError(f"{self.replicas} replicas need as many seeds, got {streams.replicas}")
        self.model, self.reward_fn, self.cfg, self.streams = model, reward_fn, cfg, streams
        self.grid = shifted_grid(cfg.sampler_steps, cfg.shift)
        self.reference, self.old = frozen(model), frozen(model)
        self.policy, self.fixed, self.before = Counted(model), Counted(self.reference), Counted(self.old)
        self.optimizer = torch.optim.AdamW(model.parameters(), cfg.lr, weight_decay=cfg.weight_decay, fused=True)
        self.updates = 0

    @property
    def nfe(self) -> float:
        """Network passes so far, forward and backward, in samples a replica."""
        return sum(m.passes for m in (self.policy, self.fixed, self.before)) / self.replicas

    def step(self, prompts: Tensor) -> dict[str, Any]:
        """One rollout and one update on `prompts` (P,) int64, P groups, the same number for every replica.

        Returns {"reward": (S,), "informative": share of groups whose rewards differ (S,), "norm": of the gradient (S,),
        and what the loss reports, (S,)}. Raises ValueError for prompts that do not fit and for rewards of another
        number or kind, FloatingPointError for a gradient that is not finite; the reward function's own errors pass
        through, with a note that says at which update.
        """
        c = self._groups(prompts)
        x0 = self.rollout(c)
        rewards = self.score(x0, c).reshape(self.replicas, -1, self.cfg.group)
        advantages = group_advantages(rewards, self.cfg.advantage_std).flatten(0, 1)
        self.optimizer.zero_grad()
        report = self.learn(x0, c, advantages)
        norm = clip_gradient_(self.model, self.cfg.max_norm)
        self.optimizer.step()
        self.updates += 1
        self._follow()
        told_apart = (rewards != rewards[..., :1]).any(-1).float().mean(-1)
        return {"reward": rewards.mean((1, 2)).cpu(), "informative": told_apart.cpu(), "norm": norm, **report}

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
        """Rewards (B,) float32 of samples (B, *D), checked. Raises as `step` says."""
        try:
            rewards = self.reward_fn(x0, c)
        except Exception as error:
            error.add_note(f"the reward function raised this at update {self.updates}; the weights are those before it")
            raise
        if not isinstance(rewards, Tensor) or rewards.shape != (len(x0),):
            got = tuple(rewards.shape) if isinstance(rewards, Tensor) else type(rewards).__name__
            raise ValueError(f"the reward function must return a tensor of shape ({len(x0)},), one a sample, got {got}")
        rewards = rewards.to(x0.device, torch.float32)
        if not torch.isfinite(rewards).all():
            i = int((~torch.isfinite(rewards)).nonzero()[0])
            raise ValueError(f"reward {rewards[i].item()} of sample {i} at update {self.updates} is not finite")
        return rewards

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
        """Distinct noise levels (S, M) of the sampler's own grid, none below the timestep clip.

        Raises ValueError where the clip leaves fewer than M.
        """
        allowed = self.grid[:-1][self.grid[:-1] >= self.cfg.t_min - 1e-9]
        if len(allowed) < self.cfg.times:
            raise ValueError(
                f"{self.cfg.times} noise levels wanted, but t_min = {self.cfg.t_min} leaves {len(allowed)} of the grid"
            )
        return allowed[self.streams.subset(self.cfg.times, len(allowed))].float()

    def state_dict(self) -> dict[str, Any]:
        """All that is needed to go on from here, as if nothing had happened."""
        parts = {"model": self.model, "old": self.old, "reference": self.reference, "optimizer": self.optimizer}
        kept = {name: deepcopy(part.state_dict()) for name, part in parts.items()}
        counts = [[m.forward_rows, m.backward_rows] for m in (self.policy, self.fixed, self.before)]
        return {**kept, "streams": self.streams.state(), "updates": self.updates, "counts": counts}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from `state`, a `state_dict`. Raises ValueError for other seeds, RuntimeError for another model."""
        self.streams.restore(state["streams"])
        for name in ("model", "old", "reference", "optimizer"):
            getattr(self, name).load_state_dict(deepcopy(state[name]))  # an optimiser writes into what it loads
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
