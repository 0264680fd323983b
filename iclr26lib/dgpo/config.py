"""Settings of the trainers, one line of meaning a field."""

import math
from dataclasses import dataclass, field


def _(default, text: str):
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True)
class Config:
    """What all trainers share. Defaults: the official code's where it fits, else those of the two-dimensional task."""

    group: int = _(24, "samples a prompt, G (paper)")
    sampler_steps: int = _(10, "network evaluations a rollout (official code)")
    shift: float = _(3.0, "shift of the time grid (official code)")
    times: int = _(4, "noise levels a rollout is trained on, M (official code)")
    t_min: float = _(0.5625, "timestep clip: no training at times below it (official code: 0.3, shifted)")
    shared_noise: bool = _(True, "one noise a group and noise level (official code)")
    beta: float = _(1.0, "how soon a group counts as told apart (paper: 100, on a latent image)")
    clip: float = _(0.01, "PPO-style clip (official code); of Flow-GRPO: of its probability ratio")
    kl: float = _(0.02, "weight of the squared distance to the reference's velocity (official code)")
    advantage_std: str = _("group", "std of the rewards over each 'group' or 'global'")
    rollout: str = _("ode", "sampler of the rollouts, 'ode' or 'sde'")
    sde_noise: float = _(0.7, "noise level a of the SDE sampler (Flow-GRPO's code)")
    offline: bool = _(False, "rollouts from the reference instead of the policy")
    reference_decay: float | None = _(None, "None: frozen reference; else decay of a reference that follows the policy")
    ema_after: int = _(200, "updates after which a fast average of the policy draws the rollouts (official code)")
    ema_slope: float = _(0.001, "decay of that average: slope a step (official code)")
    ema_limit: float = _(0.3, "decay of that average: upper limit (official code)")
    lr: float = _(3e-4, "learning rate of AdamW (official code)")
    weight_decay: float = _(1e-4, "weight decay of AdamW (official code)")
    max_norm: float = _(1.0, "gradient norm is clipped here (official code)")

    def __post_init__(self) -> None:
        """Raise ValueError for settings on which no trainer could run."""
        positive = (self.shift, self.beta, self.clip, self.lr, self.max_norm)
        needed = {
            "group is 2 or more": self.group >= 2,
            "sampler_steps, times are 1 or more": min(self.sampler_steps, self.times) >= 1,
            "shift, beta, clip, lr and max_norm are positive and finite": all(0 < v < math.inf for v in positive),
            "0 <= t_min < 1": 0 <= self.t_min < 1,
            "kl, sde_noise and weight_decay are 0 or more and finite": all(
                0 <= v < math.inf for v in (self.kl, self.sde_noise, self.weight_decay)
            ),
            "advantage_std is 'group' or 'global'": self.advantage_std in ("group", "global"),
            "rollout is 'ode' or 'sde'": self.rollout in ("ode", "sde"),
            "reference_decay is None or in [0, 1)": self.reference_decay is None or 0 <= self.reference_decay < 1,
            "ema_after is 0 or more, 0 <= ema_slope, 0 <= ema_limit < 1": self.ema_after >= 0
            and self.ema_slope >= 0
            and 0 <= self.ema_limit < 1,
        }
        if broken := [rule for rule, holds in needed.items() if not holds]:
            raise ValueError(f"config: needs {'; '.join(broken)}")
