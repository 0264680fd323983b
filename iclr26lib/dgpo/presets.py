"""Sizes of the chapter's runs at the three scales, one line of meaning a field."""

from dataclasses import dataclass, field


def _(default, text: str):
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True)
class Preset:
    """Everything that sets how long the chapter runs. Learning rates, beta and KL weights are chosen by `tuning`."""

    seeds: int = _(5, "seeds of the rings, all trained side by side, counted from the notebook's parameter")
    width: int = _(128, "ring: units a hidden layer")
    depth: int = _(4, "ring: hidden layers")
    base_steps: int = _(12000, "ring: steps of the base models")
    base_batch: int = _(256, "ring: samples a step of the base models")
    base_lr: float = _(4e-3, "ring: learning rate of the base models, Adam, cosine schedule")
    dims: tuple[int, int] = _((2, 32), "ring: dimensions of the two tasks that are judged")
    more_dims: tuple[int, ...] = _((8,), "ring: further dimensions of the sweep, not judged")
    updates: int = _(100, "ring: updates of every method")
    groups: int = _(8, "ring: prompts an update, P")
    group: int = _(24, "ring: samples a prompt, G (paper)")
    t_min: float = _(0.3, "ring: timestep clip")
    every: int = _(10, "updates between looks")
    samples: int = _(400, "ring: samples a look and seed")
    last_samples: int = _(2000, "samples of the first and the last look and seed")
    sweep_seeds: int = _(2, "seeds of what is not judged, the first of all")
    blobs_size: int = _(15, "blobs: pixels a side; a DiT draws them below 32, the U-Net from 32 on")
    blobs_seeds: int = _(5, "blobs: seeds, the first of all")
    blobs_width: int = _(64, "blobs: width of the DiT")
    blobs_depth: int = _(4, "blobs: blocks of the DiT")
    blobs_steps: int = _(6000, "blobs: steps of the base model")
    blobs_batch: int = _(128, "blobs: images a step of the base model")
    blobs_lr: float = _(1e-3, "blobs: learning rate of the base model")
    blobs_updates: int = _(80, "blobs: updates")
    blobs_groups: int = _(4, "blobs: prompts an update")
    blobs_group: int = _(16, "blobs: samples a prompt")
    blobs_samples: int = _(120, "blobs: samples a look and seed")
    blobs_last: int = _(600, "blobs: samples of the first and the last look and seed")
    blobs_arms: tuple[str, ...] = _(("dgpo",), "blobs: methods")
    live_updates: tuple[int, ...] = _((0, 10, 25, 50, 100, 200), "updates on the slider of the idea notebook")
    live_betas: tuple[float, ...] = _((0.3, 1.0, 3.0, 10.0), "beta on the slider of the idea notebook")

    def __post_init__(self) -> None:
        """Raise ValueError, before anything runs, for sizes on which a claim could not be judged."""
        needed = {
            "1 <= sweep_seeds, blobs_seeds <= seeds": min(self.sweep_seeds, self.blobs_seeds) >= 1
            and max(self.sweep_seeds, self.blobs_seeds) <= self.seeds,
            "updates and blobs_updates are 2 or more, every is 1 or more": min(self.updates, self.blobs_updates) >= 2
            and self.every >= 1,
            "group and blobs_group are 2 or more": min(self.group, self.blobs_group) >= 2,
            "two different dims of 2 or more": len(set(self.dims)) == 2 and min(self.dims + self.more_dims) >= 2,
            "live_updates ascends from 0": self.live_updates[0] == 0
            and sorted(set(self.live_updates)) == list(self.live_updates),
            "at most 24 frames a figure": len(self.live_updates) * len(self.live_betas) <= 24,
        }
        if broken := [rule for rule, holds in needed.items() if not holds]:
            raise ValueError(f"preset: needs {'; '.join(broken)}")


PRESETS = {
    "smoke": Preset(
        seeds=1, width=32, depth=2, base_steps=40, base_batch=64, more_dims=(), updates=4, groups=4, group=8, every=2,
        samples=32, last_samples=64, sweep_seeds=1, blobs_seeds=1, blobs_width=32, blobs_depth=1, blobs_steps=10,
        blobs_batch=16, blobs_updates=2, blobs_groups=2, blobs_group=4, blobs_samples=12, blobs_last=24,
        live_updates=(0, 2, 4), live_betas=(1.0, 10.0),
    ),
    "book": Preset(),
    "full": Preset(
        base_batch=512, more_dims=(4, 8, 16, 64), updates=300, samples=2000,
        sweep_seeds=5, blobs_size=32, blobs_seeds=1, blobs_steps=8000, blobs_batch=256, blobs_updates=400,
        blobs_groups=16, blobs_group=24, blobs_samples=600, blobs_last=2000,
        blobs_arms=("dgpo", "dpo", "grpo", "sde", "no clip", "unshared"), live_updates=(0, 25, 50, 100, 200, 300),
    ),
}  # fmt: skip
