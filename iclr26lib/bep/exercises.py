"""Three exercises: the mask, the chain rule, the update. Each planted mistake is one that people really make."""

import math
from fractions import Fraction

import torch
from torch import Tensor

from ..exercises import Exercise, Mistake
from ..seeding import generator
from . import method
from .method import BinaryLayer


def _pm1(*shape: int, seed: int) -> Tensor:
    return torch.randint(0, 2, shape, generator=generator(seed, "exercise"), dtype=torch.int8) * 2 - 1


def _sums(*shape: int, seed: int) -> Tensor:
    return torch.randint(-9, 10, shape, generator=generator(seed, "exercise z"), dtype=torch.int32)


# --- exercise 1: the winner-takes-update mask -------------------------------------------------------------------------


def winner_mask(target: Tensor, z: Tensor, group: int) -> Tensor:
    """The solution: in every group the wrong neuron nearest to being right; target, z and result (..., B, K)."""
    group = method.checked_group(group, z.shape[-1])
    stability = (target * z).unflatten(-1, (-1, group))
    wrong = stability < 0
    easiest = torch.where(wrong, -stability, 10**6).argmin(-1, keepdim=True)
    return (torch.zeros_like(wrong).scatter(-1, easiest, True) & wrong).flatten(-2)


def _mask_hardest(target, z, group):
    stability = (target * z).unflatten(-1, (-1, group))
    first = torch.zeros_like(stability, dtype=torch.bool).scatter(-1, stability.argmin(-1, keepdim=True), True)
    return (first & (stability < 0)).flatten(-2)


def _mask_even_right_ones(target, z, group):
    stability = (target * z).unflatten(-1, (-1, group)).abs()
    return (
        torch.zeros_like(stability, dtype=torch.bool).scatter(-1, stability.argmin(-1, keepdim=True), True).flatten(-2)
    )


def _mask_all_wrong(target, z, group):
    return target * z < 0


def _mask_strided(target, z, group):
    order = torch.arange(z.shape[-1]).view(group, -1).T.flatten()
    return torch.zeros_like(z, dtype=torch.bool).scatter(
        -1, order.expand(z.shape), winner_mask(target[..., order], z[..., order], group)
    )


MASK = Exercise(
    id="mask",
    task="Write `winner_mask(target, z, group)`: of every `group` consecutive neurons, mark the one to update.",
    hint="Stability is target * z. Only neurons with negative stability are wrong; the easiest is nearest to 0.",
    target="At most K / group entries of a row are True, and none where every neuron of the group is right.",
    solution=winner_mask,
    mistakes={
        "the hardest neuron wins": Mistake(
            _mask_hardest,
            "You take the smallest stability, the most wrong neuron; take the smallest |stability| among the wrong.",
        ),
        "right neurons are updated too": Mistake(
            _mask_even_right_ones,
            "You pick the smallest |stability| without asking whether the neuron is wrong (stability < 0).",
        ),
        "every wrong neuron is updated": Mistake(
            _mask_all_wrong,
            "You mark all wrong neurons; only one a group may move, which is what keeps the update sparse.",
        ),
        "the groups are strided": Mistake(
            _mask_strided, "Groups are consecutive neurons (0..g-1, g..2g-1, ...), yours are every K/g-th neuron."
        ),
    },
    probes=lambda: [(_pm1(6, 15, seed=s), _sums(6, 15, seed=s), g) for s, g in ((1, 5), (2, 3), (3, 15), (4, 5))],
    library="iclr26lib.bep.method:winner_mask",
)


# --- exercise 2: the binary chain rule --------------------------------------------------------------------------------


def _net(seed: int) -> tuple[list[BinaryLayer], list[Tensor], Tensor]:
    g = generator(seed, "exercise net")
    layers = [
        BinaryLayer(9, 15, 5, generators=g),
        BinaryLayer(15, 15, 5, generators=g),
        BinaryLayer(15, 6, 3, generators=g),
    ]
    return layers, method.forward(layers, _pm1(5, 9, seed=seed))[1], _pm1(5, 6, seed=seed + 1)


def desired_activations(layers, zs, target: Tensor, nu) -> list[Tensor]:
    """The solution: gate the target, pull it back through the transposed weights, take signs, repeat.

    Arguments and shapes as in `method.desired_activations`: zs and target (..., B, K_l).
    """
    targets = [target]
    for layer, z in zip(layers[:0:-1], zs[:0:-1], strict=True):
        gate = z.abs() <= method.on(method.gate_threshold(nu, layer.fan_in), z)
        targets.insert(0, method.sign(method.matmul(gate * targets[0], layer.W)))
    return targets


def _pulled(layers, zs, target, gate_of, sign=method.sign):
    targets = [target]
    for layer, z in zip(layers[:0:-1], zs[:0:-1], strict=True):
        targets.insert(0, sign(method.matmul(gate_of(layer, z) * targets[0], layer.W)))
    return targets


def _chain_no_gate(layers, zs, target, nu):
    return _pulled(layers, zs, target, lambda layer, z: torch.ones_like(z))


def _chain_gate_reversed(layers, zs, target, nu):
    return _pulled(layers, zs, target, lambda layer, z: z.abs() > math.floor(Fraction(str(nu)) * layer.fan_in))


def _chain_fan_out(layers, zs, target, nu):
    return _pulled(layers, zs, target, lambda layer, z: z.abs() <= math.floor(Fraction(str(nu)) * layer.fan_out))


def _chain_zero_down(layers, zs, target, nu):
    down = lambda v: torch.where(v > 0, 1, -1).to(torch.int8)  # noqa: E731
    return _pulled(layers, zs, target, lambda layer, z: z.abs() <= math.floor(Fraction(str(nu)) * layer.fan_in), down)


CHAIN = Exercise(
    id="chain",
    task="Write `desired_activations(layers, zs, target, nu)`: the list [a*_1, ..., a*_L], from the top layer down.",
    hint="Gate the target of layer l+1 with |z| <= nu * fan_in of that layer, multiply by its W, take the sign.",
    target="With every gate closed, all layers below the top want +1, because sign(0) = +1.",
    solution=desired_activations,
    mistakes={
        "no gate": Mistake(_chain_no_gate, "The gate is missing: only neurons with |z| <= nu * fan_in may vote."),
        "the gate is reversed": Mistake(
            _chain_gate_reversed, "You let the far neurons vote; those near threshold must."
        ),
        "the gate uses the fan-out": Mistake(
            _chain_fan_out, "The threshold is nu times the fan-in of the layer above."
        ),
        "sign(0) is -1": Mistake(_chain_zero_down, "A tie counts as +1 everywhere in this method; yours gives -1."),
    },
    probes=lambda: [(*_net(s), nu) for s in (1, 2) for nu in (0, 0.2, 0.5)],
    library="iclr26lib.bep.method:desired_activations",
)


# --- exercise 3: the update of a layer --------------------------------------------------------------------------------


def update(layer, target: Tensor, a_prev: Tensor, mask: Tensor) -> None:
    """The solution: add twice the sum of masked outer products to H, in place, then clip.

    target, mask: (B, fan_out). a_prev: (B, fan_in). layer: with H (fan_out, fan_in) and limits.
    """
    layer.H += 2 * method.matmul((mask * target).mT, a_prev)
    layer.H.clamp_(*layer.limits)


def _update_once(layer, target, a_prev, mask):
    layer.H.add_(method.matmul((mask * target).mT, a_prev)).clamp_(*layer.limits)


def _update_unmasked(layer, target, a_prev, mask):
    layer.H.add_(2 * method.matmul(target.mT, a_prev)).clamp_(*layer.limits)


def _update_minus(layer, target, a_prev, mask):
    layer.H.sub_(2 * method.matmul((mask * target).mT, a_prev)).clamp_(*layer.limits)


def _update_weights_only(layer, target, a_prev, mask):
    layer.H.copy_(method.sign(layer.H + 2 * method.matmul((mask * target).mT, a_prev)))


def _update_unclipped(layer, target, a_prev, mask):
    layer.H.add_(2 * method.matmul((mask * target).mT, a_prev))


def _probe_layers() -> list[tuple]:
    made = []
    for seed, bits in ((1, 16), (2, 4)):
        layer = BinaryLayer(7, 6, 3, bits=bits, generators=generator(seed, "exercise layer"))
        made.append((layer, _pm1(8, 6, seed=seed), _pm1(8, 7, seed=seed + 9), _pm1(8, 6, seed=seed + 5) > 0))
    return made


def _state_after(fn):
    """What the checker compares: the state that an in-place update leaves, whatever it returns."""

    def run(layer, target, a_prev, mask):
        fn(layer, target, a_prev, mask)
        return layer.H

    return run


UPDATE = Exercise(
    id="update",
    task="Write `update_(layer, target, a_prev, mask)`: move layer.H in place by a batch, then clip.",
    hint="One matrix product sums all outer products: (mask * target) transposed, times a_prev. Entries move by 2.",
    target="Rows whose mask is empty keep their state, bit for bit.",
    solution=update,
    mistakes={
        "steps of 1": Mistake(_update_once, "Entries move by 2, which keeps odd states odd; yours move by 1."),
        "no mask": Mistake(_update_unmasked, "Every neuron moves; only the winners of their groups may."),
        "the sign is turned": Mistake(_update_minus, "You move away from the target: add, do not subtract."),
        "the state is thrown away": Mistake(
            _update_weights_only, "You keep only signs in H; the integers are the memory of training."
        ),
        "no clipping": Mistake(_update_unclipped, "H must stay within layer.limits, its B bits."),
    },
    probes=_probe_layers,
    observe=_state_after,
    library="iclr26lib.bep.method:update_",
)

EXERCISES = {exercise.id: exercise for exercise in (MASK, CHAIN, UPDATE)}
