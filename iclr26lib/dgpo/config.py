"""Settings of the trainers, one line of meaning a field."""

import math
from dataclasses import dataclass, field, fields

import numpy as np

KINDS = {
    int: ((int,), "a whole number"),
    bool: ((bool,), "True or False"),
    str: ((str,), "a word"),
    float: ((float, int), "a number"),
    float | None: ((float, int, type(None)), "a number or None"),
}
RULES = {
    "2 or more": (lambda v: v >= 2, "group"),
    "1 or more": (lambda v: v >= 1, "sampler_steps times"),
    "positive and finite": (lambda v: 0 < v < math.inf, "shift beta clip lr max_norm"),
    "0 or more and finite": (lambda v: 0 <= v < math.inf, "kl sde_noise weight_decay ema_after ema_slope"),
    "in [0, 1)": (lambda v: 0 <= v < 1, "t_min ema_limit"),
    "None or in [0, 1)": (lambda v: v is None or 0 <= v < 1, "reference_decay"),
    "'group' or 'global'": (lambda v: v in ("group", "global"), "advantage_std"),
    "'ode' or 'sde'": (lambda v: v in ("ode", "sde"), "rollout"),
}


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
    kl: float = _(
        0.02, "weight of the distance to the reference, a mean over dimensions (official code); see the trainers"
    )
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
        """Make numbers of numpy plain ones. Raises TypeError or ValueError naming a field on which nothing could run.

        Whole numbers and yes or no must be just that: 24.0 is no number of samples, and 1 is no yes.
        """
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, np.generic):
                object.__setattr__(self, each.name, value := value.item())
            kinds, words = KINDS[each.type]
            if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
                raise TypeError(f"config: {each.name} must be {words}, got {value!r}")
        broken = [
            f"{name} must be {rule}, got {getattr(self, name)!r}"
            for rule, (holds, names) in RULES.items()
            for name in names.split()
            if not holds(getattr(self, name))
        ]
        if broken:
            raise ValueError(f"config: {'; '.join(broken)}")
