"""What DGPO is compared with: online Diffusion-DPO and Flow-GRPO, on the same rollouts, rewards and advantages."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ..flows import gaussian_log_prob, sde_coefficients, sde_sample
from .method import _positive, _same_shape, dsm_loss, ppo_mask
from .trainer import DGPOTrainer, GroupTrainer


def dpo_pair_loss(delta_best: Tensor, delta_worst: Tensor, beta: float, counts: Tensor | None = None) -> Tensor:
    r"""Diffusion-DPO on one pair a prompt, the best and the worst of its group.

    Equation (dpo): $-\log\sigma(-\beta'(\delta_w-\delta_l))$ with
    $\delta=L^\theta_{\mathrm{dsm}}-L^{\mathrm{ref}}_{\mathrm{dsm}}$ of the winner and the loser (Diffusion-DPO, CVPR
    2024, with the weight of the noise level and T folded into beta').

    delta_best, delta_worst: (P,). counts: bool (P,), False for a group whose rewards are all equal and which has
    neither; None: all count. Returns the mean over all P, a group without a pair adding no gradient. Raises ValueError
    for unequal shapes, beta <= 0, TypeError for counts that are not bool.
    """
    _same_shape(delta_best=delta_best, delta_worst=delta_worst, counts=delta_best if counts is None else counts)
    _positive(beta=beta)
    if counts is not None and counts.dtype != torch.bool:
        raise TypeError(f"counts must be bool, got {counts.dtype}")
    losses = F.softplus(beta * (delta_best - delta_worst))
    return (losses if counts is None else torch.where(counts, losses, losses.detach())).mean()


class DPOTrainer(DGPOTrainer):
    """Online Diffusion-DPO: the pair of the best and the worst sample of each group, else as DGPO.

    Noise, noise levels, clip, reference and the distance to it are DGPO's, so that only the use of the group differs;
    the division of the loss by beta as well, which leaves beta the meaning it has there.
    """

    def advantages(self, rewards: Tensor) -> Tensor:
        """1 for the best sample of each group, -1 for the worst, 0 for the rest and where all rewards are equal.

        rewards: (S, P, G). Returns (S, P, G). Ties go to the first; nothing is clipped before.
        """
        best, worst = (rewards == pick(-1, keepdim=True) for pick in (rewards.amax, rewards.amin))
        first = [(each & (each.cumsum(-1) == 1)).to(rewards) for each in (best, worst)]
        return first[0] - first[1]

    def learn(self, x0: Tensor, c: Tensor, advantages: Tensor) -> dict[str, Any]:
        """Keep two samples a group, with advantages 1 and -1 (0 and 0 where all rewards are equal), and learn.

        x0: (B, *D), c: (B,), advantages: (P, G). Returns what is worth logging.
        """
        P, G = advantages.shape
        pair = torch.stack([advantages.argmax(-1), advantages.argmin(-1)], -1) + G * torch.arange(P).to(c)[:, None]
        differ = (advantages.amax(-1) > advantages.amin(-1)).to(advantages)
        return super().learn(x0[pair.flatten()], c[pair.flatten()], torch.stack([differ, -differ], -1))

    def loss(self, v, v_ref, v_old, target: Tensor, advantages: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Loss at one noise level; velocities (P, 2, *D), winner first."""
        dsm, ref, old = (dsm_loss(u, target) for u in (v, v_ref, v_old))
        clipped = ppo_mask(dsm.detach(), old, advantages, self.cfg.clip)
        delta = torch.where(clipped, dsm.detach(), dsm) - ref
        preference = dpo_pair_loss(delta[:, 0], delta[:, 1], self.cfg.beta, advantages[:, 0] > 0) / self.cfg.beta
        kl = dsm_loss(v, v_ref)
        weight = torch.sigmoid(self.cfg.beta * (delta[:, 0] - delta[:, 1])).detach()
        log = {"weight": weight, "clipped": clipped.float().mean(-1), "kl": kl.detach().mean(-1)}
        by_replica = {key: value.reshape(self.replicas, -1).mean(-1) for key, value in log.items()}
        return preference + self.cfg.kl * kl.mean(), by_replica


def grpo_step_loss(log_prob: Tensor, log_prob_old: Tensor, advantages: Tensor, clip: float) -> Tensor:
    r"""PPO's clipped objective of one step of the trajectory, with the advantage of the final sample.

    Equation (grpo): $-\min\big(\rho A,\ \mathrm{clip}(\rho,1-\varepsilon,1+\varepsilon)A\big)$,
    $\rho=\exp(\log p_\theta-\log p_{\mathrm{old}})$ (Flow-GRPO's code).

    log_prob, log_prob_old, advantages: (..., G), log densities averaged over the sample's dimensions, nats. Returns the
    mean. Raises ValueError for unequal shapes, clip <= 0.
    """
    _same_shape(log_prob=log_prob, log_prob_old=log_prob_old, advantages=advantages)
    _positive(clip=clip)
    ratio = torch.exp(log_prob - log_prob_old)
    return -torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages).mean()


class FlowGRPOTrainer(GroupTrainer):
    """Flow-GRPO: every step of an SDE rollout is a Gaussian policy, trained by PPO with a KL term.

    `cfg.times` is how many steps of each trajectory are trained on, drawn anew each time; all of them where it equals
    `cfg.sampler_steps`. `cfg.kl` weighs the exact KL of a step, averaged over the sample's dimensions as the log
    densities are. `cfg.rollout` must be "sde".
    """

    def check(self) -> None:
        """Raise ValueError for settings without noise, or more steps to train on than a rollout has."""
        cfg = self.cfg
        if cfg.rollout != "sde" or cfg.sde_noise == 0 or cfg.offline:
            raise ValueError(
                "Flow-GRPO needs its own rollouts, with noise: rollout='sde', sde_noise > 0, offline=False, got "
                f"{cfg.rollout!r}, {cfg.sde_noise} and {cfg.offline}"
            )
        if cfg.times > cfg.sampler_steps:
            raise ValueError(f"{cfg.times} steps wanted of {cfg.sampler_steps}")

    def rollout(self, c: Tensor) -> Tensor:
        """Final samples (B, *D) for prompts c (B,); the trajectory and its log densities are kept for `learn`."""
        x0, self._path, self._log_prob = sde_sample(
            self.policy, c, self.grid, self.cfg.sde_noise, self.streams, return_path=True
        )
        return x0

    def times(self) -> Tensor:
        """Indices (S, M) of the steps to train on."""
        return self.streams.subset(self.cfg.times, self.cfg.sampler_steps)

    def learn(self, x0: Tensor, c: Tensor, advantages: Tensor) -> dict[str, Any]:
        """Add up the gradient over steps of the trajectories.

        x0: (B, *D), c: (B,), advantages: (P, G). Returns what is worth logging.
        """
        S, logs = self.replicas, []
        for step in self.times().T:
            each = step.repeat_interleave(len(c) // S)
            loss, kl = self._step_loss(each.to(c.device), c, advantages)
            (S * (loss + self.cfg.kl * kl.mean()) / self.cfg.times).backward()
            logs.append(kl.detach().reshape(S, -1).mean(-1))
        return {"kl": torch.stack(logs).mean(0).cpu()}

    def _step_loss(self, step: Tensor, c: Tensor, advantages: Tensor) -> tuple[Tensor, Tensor]:
        """PPO's loss and the KL (B,) of one step a sample; step: (B,) indices of the grid."""
        rows = torch.arange(len(c), device=c.device)
        x, after, old = self._path[step, rows], self._path[step + 1, rows], self._log_prob[step, rows]
        on_x, on_v, sd = self._coefficients().to(x)[:, step]
        wide = (-1, *[1] * (x.dim() - 1))
        t = self.grid.to(x)[step]
        v = self.policy(x, t, c)
        with torch.no_grad():
            v_ref = self.fixed(x, t, c)
        mean = on_x.reshape(wide) * x + on_v.reshape(wide) * v
        in_sd = [q / sd.reshape(wide) for q in (after, mean)]
        log_prob = gaussian_log_prob(*in_sd, 1.0) - sd.log()
        apart = (on_v / sd).reshape(wide) * (v - v_ref)
        kl = apart.square().flatten(1).mean(-1) / 2
        shape = advantages.shape
        return grpo_step_loss(log_prob.reshape(shape), old.reshape(shape), advantages, self.cfg.clip), kl

    def _coefficients(self) -> Tensor:
        """(3, n): factor on x, factor on v, and standard deviation of each step."""
        pairs = zip(self.grid[:-1].tolist(), self.grid[1:].tolist(), strict=True)
        first = self.grid[1].item()
        return torch.tensor([sde_coefficients(t, after, self.cfg.sde_noise, first) for t, after in pairs]).T
