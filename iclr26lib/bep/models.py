"""Binary multilayer perceptrons trained by BEP and by the local rule that BEP replaces.

One object trains one run (`seed=0`) or R runs side by side (`seed=[0, 1, 2]`); a run gives the same bits either way.
"""

import itertools
from collections.abc import Sequence

from torch import Tensor

from . import method
from .frame import random_frame
from .method import BinaryLayer
from .training import BinaryNetwork, checked_prototypes, generators, prototypes_of


class BinaryMLP(BinaryNetwork):
    """What BEP and the local rule share: layers, scores and the update of a batch.

    sizes: [K_0, ..., K_L]. P: prototypes (C, K_L) in {-1, +1}, or (R, C, K_L), one set a run.
    learn: "all", or "top", which leaves all layers but the last as drawn.
    group: neurons a group, the same in every layer. seed, device, reinforce_on: see `BinaryNetwork`.
    Raises ValueError for a group that does not divide a width, prototypes of another width, or an unknown `learn`.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        P: Tensor,
        *,
        group=15,
        bits=16,
        init_std=8,
        seed=0,
        device="cpu",
        learn="all",
        **more,
    ):
        if len(sizes) < 2:
            raise ValueError(f"sizes needs an input and at least one layer, got {list(sizes)}")
        super().__init__(seed, device, **more)
        if learn not in ("all", "top"):
            raise ValueError(f"unknown learn {learn!r}; known: all, top")
        self.learn = learn
        self.P = checked_prototypes(P, sizes[-1], self.runs).to(device)
        init = generators(seed, "init")
        self.layers = [BinaryLayer(i, o, group, bits, init_std, init) for i, o in itertools.pairwise(sizes)]
        for layer in self.layers:
            layer.H = layer.H.to(device)

    @property
    def trained(self) -> list[BinaryLayer]:
        """The layers that learn: all, or only the last one."""
        return self.layers if self.learn == "all" else self.layers[-1:]

    def logits(self, X: Tensor) -> Tensor:
        """Integer class scores P a_L, (..., N, C), for X (..., N, K_0). Raises as `method.forward`."""
        return method.matmul(method.forward(self.layers, X)[0][-1], self.P.mT)

    def fit_batch(self, x: Tensor, y: Tensor, *, r: float, nu) -> Tensor:
        """One update from x (..., B, K_0) and labels y (..., B). r: margin. nu: gate.

        Returns the number of wrong predictions before it, one a run. Raises as `method.forward`, `method.triggered`.
        """
        acts, zs = method.forward(self.layers, x)
        logits = method.matmul(acts[-1], self.P.mT)
        targets, active = self.targets(acts, zs, logits, y, r, nu)
        for layer, target, z, a_prev, fires in zip(self.layers, targets, zs, acts, active, strict=False):
            if layer not in self.trained:
                continue
            mask = method.winner_mask(target, z, layer.group) & fires[..., None]
            method.update_(layer, target, a_prev, mask)
        return (logits.argmax(-1) != y).sum(-1)

    def targets(self, acts, zs, logits, y, r, nu) -> tuple[list[Tensor], list[Tensor]]:
        """A target (..., B, K_l) and the samples that fire (..., B), for every layer. Here it raises TypeError."""
        raise TypeError(f"{type(self).__name__} has no learning rule; use BEPMLP or LocalRuleMLP")


class BEPMLP(BinaryMLP):
    """Binary Error Propagation: one target at the top, pulled back through all layers."""

    def targets(self, acts, zs, logits, y, r, nu):
        fires = method.triggered(logits, y, r, self.layers[-1].fan_out)
        targets = method.desired_activations(self.layers, zs, prototypes_of(self.P, y), nu)
        return targets, [fires] * len(targets)


class LocalRuleMLP(BinaryMLP):
    """The predecessor (arXiv 2412.00119): every layer has prototypes, scores and trigger of its own; no error crosses.

    frames: prototypes of the hidden layers, [(C, K_1), ..., (C, K_{L-1})] or with a leading R; random ones where None.
    The last layer uses P. Other arguments as in `BinaryMLP`.
    """

    def __init__(self, sizes, P, *, frames: Sequence[Tensor] | None = None, seed=0, device="cpu", **settings):
        super().__init__(sizes, P, seed=seed, device=device, **settings)
        if frames is None:
            draws = generators(seed, "local frames")
            frames = [method.per_run(draws, lambda g, K=K: random_frame(P.shape[-2], K, g)) for K in sizes[1:-1]]
        if len(frames) != len(sizes) - 2:
            raise ValueError(f"frames needs one entry a hidden layer, {len(sizes) - 2}, got {len(frames)}")
        own = [checked_prototypes(f, K, self.runs).to(device) for f, K in zip(frames, sizes[1:-1], strict=True)]
        if any(f.shape[-2] != self.P.shape[-2] for f in own):
            raise ValueError(f"every layer needs prototypes of {self.P.shape[-2]} classes, got {[len(f) for f in own]}")
        self.frames = [*own, self.P]

    def targets(self, acts, zs, logits, y, r, nu):
        scores = [method.matmul(a, P.mT) for a, P in zip(acts[1:], self.frames, strict=True)]
        fires = [method.triggered(s, y, r, layer.fan_out) for s, layer in zip(scores, self.layers, strict=True)]
        return [prototypes_of(P, y) for P in self.frames], fires


class GroupSchedule:
    """Grows the group to the next divisor of a layer's width when the validation error stagnates.

    patience: epochs without a new best before the next step (not stated in the paper; 3 is our choice).
    Call `step(error)` once an epoch. Raises ValueError when patience < 1.
    """

    def __init__(self, layer: BinaryLayer, patience: int = 3):
        if patience < 1:
            raise ValueError(f"patience must be 1 or more, got {patience}")
        self.layer, self.patience, self.best, self.since = layer, patience, float("inf"), 0
        self.divisors = [d for d in range(1, layer.fan_out + 1) if layer.fan_out % d == 0]

    def step(self, error: float) -> int:
        """Take the validation error of this epoch; returns the group now in force."""
        self.since = 0 if error < self.best else self.since + 1
        self.best = min(self.best, error)
        larger = [d for d in self.divisors if d > self.layer.group]
        if self.since >= self.patience and larger:
            self.layer.group, self.since = larger[0], 0
        return self.layer.group
