"""Sizes of the chapter's runs at the three scales, one line of meaning a field."""

from dataclasses import dataclass, field


def _(default, text: str):
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True)
class Preset:
    """Everything that sets how long the chapter runs. Learning rates are chosen by `tuning`."""

    seeds: int = _(5, "seeds of the arms that train all seeds at once, counted from the notebook's parameter")
    flow_seeds: int = _(1, "seeds of the flows, which train one after another: the first of all")
    starts: int = _(12, "random starts of the fits to one observation (claim C1)")
    floor_x: int = _(8, "observations behind the floors of the families")
    test_pairs: int = _(20000, "held-out pairs for the NLL")
    test_x: int = _(200, "held-out observations for the KL on a grid")
    flow_test_x: int = _(40, "the same for the flows, whose densities are slow on a grid")
    fine: int = _(100, "nodes an axis of the grid of evaluation, finer than that of training")
    sin_width: int = _(64, "sinusoid: units a hidden layer")
    sin_depth: int = _(3, "sinusoid: hidden layers")
    sin_batch: int = _(256, "sinusoid: fresh pairs a step")
    sin_steps: int = _(1000, "sinusoid: steps")
    sin_grid: int = _(401, "sinusoid: nodes of the training grid")
    plane_seeds: int = _(5, "ring, bands, redshifts and EigenVI: seeds, the first of all")
    plane_width: int = _(48, "ring and bands: units a hidden layer, of both networks")
    plane_depth: int = _(3, "ring and bands: hidden layers, of both networks")
    plane_batch: int = _(256, "ring and bands: fresh pairs a step")
    plane_steps: int = _(1000, "ring and bands: steps")
    plane_grid: int = _(32, "ring and bands: nodes an axis of the training grid")
    plane_K: int = _(20, "ring and bands: adaptive basis functions")
    plane_block: int = _(100, "ring and bands: steps on one network before the other's turn")
    bands: bool = _(False, "whether the bands are trained as well")
    other_K: tuple[int, ...] = _((), "ring: further numbers of functions (claim C4)")
    ablation_steps: int = _(500, "ring: steps of the ablation of the other settings")
    pairs: int = _(2000, "ring and bands: held-out pairs for the excess")
    ablation_seeds: int = _(2, "seeds of the ablation of the other settings, the first of all")
    eigenvi_draws: int = _(8000, "EigenVI: uniform draws a fit")
    photo_train: int = _(100000, "redshifts: training objects, drawn once for all seeds")
    photo_test: int = _(20000, "redshifts: test objects")
    photo_width: int = _(64, "redshifts: units a hidden layer, of three")
    photo_batch: int = _(256, "redshifts: objects a step")
    photo_steps: int = _(1000, "redshifts: steps")
    spiral_steps: int = _(0, "spiral: steps; 0 leaves it out")
    star_steps: int = _(0, "two stars: steps; 0 leaves it out")
    star_K: tuple[int, ...] = _((9,), "two stars: numbers of functions")
    star_nodes: int = _(4096, "two stars: Monte Carlo nodes a step")
    live_steps: tuple[int, ...] = _((0, 100, 1000), "training steps on the slider of the idea notebook")
    live_x: int = _(7, "observations on the slider of the idea notebook")
    live_width: int = _(64, "idea notebook: units a hidden layer")
    live_plane_steps: int = _(1000, "idea notebook: steps on the ring")
    live_plane_x: int = _(12, "observations on the ring's slider")

    def __post_init__(self) -> None:
        """Raise ValueError, before anything runs, for sizes on which a claim could not be judged."""
        needed = {
            "1 <= flow_seeds <= plane_seeds <= seeds and 1 <= ablation_seeds <= plane_seeds": 1
            <= self.flow_seeds
            <= self.plane_seeds
            <= self.seeds
            and 1 <= self.ablation_seeds <= self.plane_seeds,
            "every number of steps that is not left out is 1 or more": min(
                self.sin_steps, self.plane_steps, self.ablation_steps, self.photo_steps, self.live_plane_steps
            )
            >= 1
            and min(self.spiral_steps, self.star_steps) >= 0,
            "fine is larger than plane_grid, which is 8 or more": self.fine > self.plane_grid >= 8,
            "plane_K is 3 or more": self.plane_K >= 3,
            "live_steps ascends from 0": self.live_steps[0] == 0 and sorted(self.live_steps) == list(self.live_steps),
            "starts, live_x and live_plane_x are 2 or more": min(self.starts, self.live_x, self.live_plane_x) >= 2,
            "at most 24 frames a figure": len(self.live_steps) * self.live_x <= 24 and self.live_plane_x <= 24,
        }
        if broken := [rule for rule, holds in needed.items() if not holds]:
            raise ValueError(f"preset: needs {'; '.join(broken)}")


PRESETS = {
    "smoke": Preset(
        seeds=1, plane_seeds=1, flow_seeds=1, starts=3, floor_x=4, test_pairs=2000, test_x=10, flow_test_x=4, pairs=100,
        fine=40, sin_width=32, sin_depth=2, sin_batch=128, sin_steps=60, sin_grid=101, plane_width=16, plane_depth=2,
        plane_batch=64, plane_steps=20, plane_grid=16, plane_K=4, plane_block=5, bands=True, other_K=(3,),
        ablation_steps=4, ablation_seeds=1, eigenvi_draws=500, photo_train=1000, photo_test=200, photo_width=16,
        photo_batch=64, photo_steps=20, spiral_steps=2, star_steps=2, star_nodes=64, live_steps=(0, 20), live_x=3,
        live_width=16, live_plane_steps=20, live_plane_x=3,
    ),
    "book": Preset(),
    "full": Preset(
        seeds=20, flow_seeds=3, test_x=1000, flow_test_x=200, pairs=10000, sin_width=128, sin_depth=4, sin_batch=1024,
        sin_steps=4000, sin_grid=1000, plane_width=128, plane_depth=4, plane_batch=1024, plane_steps=8000,
        plane_grid=100, fine=150, plane_block=1000, bands=True, other_K=(2, 4, 9), ablation_steps=2000,
        ablation_seeds=3, photo_width=128, photo_batch=1024, photo_steps=4000, spiral_steps=4000, star_steps=5000,
        star_K=(9, 20, 36, 64), live_width=128, live_plane_steps=4000,
    ),
}  # fmt: skip
