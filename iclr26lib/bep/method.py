"""Binary Error Propagation, one function an equation (Colombo et al., ICLR 2026, arXiv 2512.04189v2).

State and errors are integers: H is int32, weights, activations and targets are int8 in {-1, +1}, pre-activations int32.
Shapes: `...` stands for nothing, or for R independent runs trained side by side; B samples, K units, C classes.
"""

import contextlib
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

EXACT_IN_FLOAT32 = 2**24
_integer_only = False


def sign(x: Tensor) -> Tensor:
    """+1 where x >= 0, else -1, as int8 of the same shape. Zero counts as +1, everywhere in the paper."""
    return (x >= 0).to(torch.int8).mul_(2).sub_(1)


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """Exact integer product (..., M, K) @ (..., K, N) as int32.

    Runs as a float32 product of small integers, which is exact while sums stay below 2**24 and much faster on a CPU;
    inside `integer_only()` it is an integer product. Raises TypeError for floats, ValueError when K is too large.
    """
    if a.is_floating_point() or b.is_floating_point():
        raise TypeError(f"matmul takes integer tensors, got {a.dtype} and {b.dtype}")
    if _integer_only:
        return a.int() @ b.int()
    if a.shape[-1] >= EXACT_IN_FLOAT32:
        raise ValueError(
            f"inner size {a.shape[-1]} is too large for an exact float32 product (below {EXACT_IN_FLOAT32})"
        )
    return (a.float() @ b.float()).int()


class BinaryLayer:
    """K_out x K_in binary weights W = sign(H) over an integer state H.

    fan_in, fan_out: widths. group: neurons that compete for one update (a divisor of fan_out). bits: H is clipped to
    [-2**(bits-1), 2**(bits-1) - 1]. init_std: spread of the initial H, odd integers, so that no entry starts at 0.
    generators: one torch.Generator, or a list of R of them for R runs. Raises ValueError for sizes out of range.
    """

    def __init__(self, fan_in: int, fan_out: int, group: int, bits: int = 16, init_std: float = 8, generators=None):
        if fan_in < 1 or fan_out < 1:
            raise ValueError(f"fan_in and fan_out must be 1 or more, got {fan_in} and {fan_out}")
        if not (isinstance(bits, int) and 2 <= bits <= 24):
            raise ValueError(f"bits must be an integer in 2..24, got {bits}")
        if not 0 < init_std <= 2 ** (bits - 1):
            raise ValueError(f"init_std must lie in (0, {2 ** (bits - 1)}], got {init_std}")
        self.fan_in, self.fan_out, self.bits = fan_in, fan_out, bits
        self.group = checked_group(group, fan_out)
        draws = per_run(generators, lambda g: torch.randn(fan_out, fan_in, generator=g))
        low, high = self.limits
        self.H = (2 * torch.floor(draws * init_std / 2) + 1).clamp_(low + 1, high).to(torch.int32)

    @property
    def H(self) -> Tensor:
        """The state, int32, (..., fan_out, fan_in). Another dtype raises TypeError, another shape ValueError."""
        return self._H

    @H.setter
    def H(self, state: Tensor) -> None:
        """state: int32, (..., fan_out, fan_in). Raises TypeError for another dtype, ValueError for another shape."""
        if state.dtype != torch.int32:
            raise TypeError(f"H must be int32, got {state.dtype}")
        if state.shape[-2:] != (self.fan_out, self.fan_in) or state.ndim > 3:
            raise ValueError(f"H must be (..., {self.fan_out}, {self.fan_in}), got {tuple(state.shape)}")
        self._H = state

    @property
    def limits(self) -> tuple[int, int]:
        """Smallest and largest value of H."""
        return -(2 ** (self.bits - 1)), 2 ** (self.bits - 1) - 1

    @property
    def W(self) -> Tensor:
        """Binary weights, int8, (..., fan_out, fan_in)."""
        return sign(self.H)


def forward(
    layers: Sequence[BinaryLayer],
    a0: Tensor,
) -> tuple[list[Tensor], list[Tensor]]:
    """Activations [a_0..a_L] and pre-activations [z_1..z_L] of a batch a0 (..., B, K_0) in {-1, +1}.

    Equation (forward): $z_l = W_l a_{l-1}$, $a_l = \\mathrm{sign}(z_l)$
    Raises TypeError for a float batch, ValueError for other values or another width.
    """
    acts, zs = [binary(a0, "a0", layers[0].fan_in)], []
    for layer in layers:
        zs.append(matmul(acts[-1], layer.W.mT))
        acts.append(sign(zs[-1]))
    return acts, zs


def triggered(logits: Tensor, y: Tensor, r: float, K: int) -> Tensor:
    """Which samples of a batch ask for an update: bool (..., B).

    logits: (..., B, C) integers. y: (..., B) int64 labels. r: margin in (0, 1] as a share of K, the top width.
    Equation (1): $\\hat y_c - \\max_{c' \\ne c} \\hat y_{c'} < r K_L$, strictly
    Raises TypeError for float scores or other labels than int64; ValueError for a label outside 0..C-1, labels of
    another shape than the batch, fewer than two classes, or r outside (0, 1].
    """
    checked_margin(r)
    if logits.is_floating_point() or logits.shape[-1] < 2:
        raise TypeError(f"scores must be integers of two classes or more, got {logits.dtype}, {tuple(logits.shape)}")
    checked_labels(y, logits.shape[-1])
    if y.shape != logits.shape[:-1]:
        raise ValueError(f"scores {tuple(logits.shape)} need labels {tuple(logits.shape[:-1])}, got {tuple(y.shape)}")
    logits = logits.long()
    true = logits.gather(-1, y[..., None]).squeeze(-1)
    rival = logits.scatter(-1, y[..., None], torch.iinfo(logits.dtype).min).amax(-1)
    return true - rival < math.ceil(Fraction(str(r)) * K)


def gate_threshold(nu: float | Sequence[float], fan_in: int) -> int | Tensor:
    """Largest integer |z| that the gate lets pass: floor(nu * fan_in), exactly.

    nu: one number in [0, 1], or one a run, which gives a tensor (R, 1, 1). Raises ValueError outside [0, 1].
    """
    if fan_in < 1:
        raise ValueError(f"fan_in must be 1 or more, got {fan_in}")
    if isinstance(nu, (list, tuple)):
        return torch.tensor([gate_threshold(n, fan_in) for n in nu], dtype=torch.int32)[:, None, None]
    if isinstance(nu, (Tensor, bool)) or not 0 <= nu <= 1:
        raise ValueError(f"nu must be a number, or a list of one a run, that lies in [0, 1], got {nu}")
    return math.floor(Fraction(str(nu)) * fan_in)


def desired_activations(
    layers: Sequence[BinaryLayer],
    zs: Sequence[Tensor],
    target: Tensor,
    nu: float | Sequence[float],
) -> list[Tensor]:
    """The binary chain rule: desired activations [a*_1..a*_L], each (..., B, K_l) in {-1, +1}.

    zs: from `forward`. target: a*_L, the prototype of the true class. nu: gate, as a share of the fan-in.
    Equation (lemma 1): $a^*_l$ maximises $\\langle a^*_{l+1}, W_{l+1} a\\rangle_g$ over $a \\in \\{-1,+1\\}^{K_l}$
    Equation (5): $a^*_l = \\mathrm{sign}(W_{l+1}^\\top (g_{l+1} \\odot a^*_{l+1}))$, $g = 1\\{|z| \\le \\nu K_l\\}$
    Raises TypeError for a float target, ValueError for other values or another width, or nu outside [0, 1].
    """
    targets = [binary(target, "target", layers[-1].fan_out)]
    for layer, z in zip(layers[:0:-1], zs[:0:-1], strict=True):
        gate = z.abs() <= on(gate_threshold(nu, layer.fan_in), z)
        targets.append(sign(matmul(gate * targets[-1], layer.W)))
    return targets[::-1]


def winner_mask(target: Tensor, z: Tensor, group: int) -> Tensor:
    """The neuron that each group of `group` consecutive neurons updates: bool (..., B, K).

    target, z: desired activation and pre-activation, (..., B, K). Among the neurons of a group that are wrong, the one
    nearest to being right (the first of equals); none where no neuron is wrong.
    Equation (mask): $s_j = a^*_j z_j$; the winner has the smallest $|s_j|$ among $s_j < 0$
    Raises ValueError when group does not divide K or the shapes differ.
    """
    if target.shape != z.shape:
        raise ValueError(f"target {tuple(target.shape)} and z {tuple(z.shape)} must have one shape")
    stability = (target * z.int()).unflatten(-1, (-1, checked_group(group, z.shape[-1])))
    wrong = stability < 0
    effort = torch.where(wrong, -stability, torch.iinfo(stability.dtype).max)
    easiest = effort.argmin(-1, keepdim=True)
    winner = torch.zeros_like(wrong).scatter_(-1, easiest, True)
    return (winner & wrong).flatten(-2)


def update_(layer: BinaryLayer, target: Tensor, a_prev: Tensor, mask: Tensor) -> None:
    """Move the state of a layer by a batch, in place, then clip.

    target, mask: (..., B, fan_out). a_prev: (..., B, fan_in), the layer's input.
    Raises TypeError for floats or a mask that is not bool, ValueError for values but -1 and +1 or shapes that differ.
    Equation (9): $H \\leftarrow \\mathrm{clip}(H + 2 \\sum_\\mu (M^\\mu \\odot a^{*\\mu}) (a^\\mu_{l-1})^\\top)$
    """
    if mask.dtype != torch.bool:
        raise TypeError(f"mask must be bool, got {mask.dtype}")
    target, a_prev = binary(target, "target", layer.fan_out), binary(a_prev, "a_prev", layer.fan_in)
    batch, runs = target.shape[:-1], layer.H.shape[:-2]
    if not batch == mask.shape[:-1] == a_prev.shape[:-1] or mask.shape != target.shape or batch[:-1] != runs:
        shapes = [tuple(t.shape) for t in (target, a_prev, mask)]
        raise ValueError(f"target, a_prev and mask {shapes} do not belong together for H {tuple(layer.H.shape)}")
    layer.H.add_(matmul((mask * target).mT, a_prev), alpha=2).clamp_(*layer.limits)


def reinforcement_probability(p_r: float, fan_in: int, error: float) -> float:
    """Probability that one entry of H is reinforced after a batch.

    p_r: strength in [0, 1]. fan_in: of the layer, as in the predecessor's code; the paper prints K_l, the layer's own
    width (`BinaryNetwork(reinforce_on="fan_out")`). error: training error rate in [0, 1].
    Equation (reinforcement): $p_r \\sqrt{2 / (\\pi K)} \\sqrt{E_e}$
    Raises ValueError outside these ranges.
    """
    if not (0 <= p_r <= 1 and 0 <= error <= 1 and fan_in >= 1):
        raise ValueError(f"need p_r and error in [0, 1] and fan_in >= 1, got {p_r}, {error}, {fan_in}")
    return p_r * math.sqrt(2 / (math.pi * fan_in)) * math.sqrt(error)


def reinforce_(layer: BinaryLayer, p: float | Sequence[float], generators) -> None:
    """Push entries of H away from 0: h <- h + 2 sign(h), each with probability p, in place, then clip.

    layer: its H (..., fan_out, fan_in) moves. p: one probability, or one a run. generators: as in `BinaryLayer`.
    The draw compares random integers of 16 bits with round(2**16 p), so that this too needs no float.
    Raises ValueError for p outside [0, 1].
    """
    several = isinstance(p, (list, tuple))
    push_(layer, [draw_limit(q) for q in p] if several else draw_limit(p), generators)


def draw_limit(p: float) -> int:
    """The integer below which a uniform int16 falls with probability p. Raises ValueError outside [0, 1]."""
    if not 0 <= p <= 1:
        raise ValueError(f"p must lie in [0, 1], got {p}")
    return round(p * 2**16) - 2**15


def push_(layer: BinaryLayer, limit: int | Sequence[int], generators) -> None:
    """The integer part of `reinforce_`: h <- h + 2 sign(h) where a random int16 falls below `limit`, then clip.

    layer: its H (..., fan_out, fan_in) moves. limit: one integer, or one a run. generators: one, or one a run.
    Raises ValueError when the numbers of runs differ.
    """
    runs = layer.H.shape[0] if layer.H.ndim == 3 else None
    for given in (limit, generators):
        if (len(given) if isinstance(given, (list, tuple)) else None) != runs:
            raise ValueError(
                f"H {tuple(layer.H.shape)} needs one limit and one generator a run, got {limit}, {generators}"
            )
    draw = per_run(generators, lambda g: random_int16(layer.H.shape[-2:], g))
    below = torch.tensor(limit, dtype=torch.int32, device=draw.device)
    chosen = on(draw < (below if runs is None else below[:, None, None]), layer.H)
    layer.H.add_(chosen * layer.W, alpha=2).clamp_(*layer.limits)


def random_int16(shape: Sequence[int], generator: torch.Generator) -> Tensor:
    """Uniform int16 tensor of `shape`, over the whole range, from 64-bit draws of `generator` (four numbers each)."""
    count = math.prod(shape)
    words = torch.empty(-(-count // 4), dtype=torch.int64, device=generator.device).random_(
        -(2**63), None, generator=generator
    )
    return words.view(torch.int16)[:count].view(*shape)


def per_run(generators, draw) -> Tensor:
    """`draw(generator)` for one of `generators`, or stacked over a list of them: no run depends on another.

    Returns a tensor, with a leading R for a list. Raises ValueError when there is no generator.
    """
    if generators is None or (isinstance(generators, (list, tuple)) and not generators):
        raise ValueError("a torch.Generator (or one a run) is needed: nothing here draws unseeded")
    return torch.stack([draw(g) for g in generators]) if isinstance(generators, (list, tuple)) else draw(generators)


def on(value, like: Tensor):
    """`value` on the device of the tensor `like`; a plain number as it is."""
    return value.to(like.device) if isinstance(value, Tensor) else value


def binary(a: Tensor, name: str, width: int | None = None) -> Tensor:
    """`a`, any shape, as int8. `name` is what an error calls it; `width` its wanted last size.

    Raises TypeError for another dtype than an integer one, ValueError for values but -1 and +1 or another width.
    """
    kind = a.dtype if isinstance(a, Tensor) else type(a).__name__
    if not isinstance(a, Tensor) or a.is_floating_point() or a.is_complex() or a.dtype == torch.bool:
        raise TypeError(f"{name} must be an integer tensor of -1 and +1, got {kind}")
    if a.ndim < 2 or (width is not None and a.shape[-1] != width):
        if a.ndim < 2:
            raise ValueError(f"{name} must have samples and units as its last two dimensions, got {tuple(a.shape)}")
        raise ValueError(f"{name} has width {a.shape[-1]}, expected {width}")
    if a.numel() and any(int(end) != 1 for end in torch.aminmax(a.abs())):
        raise ValueError(f"{name} must hold only -1 and +1, got {a[a.abs() != 1].flatten()[0].item()}")
    return a.to(torch.int8)


def checked_group(group: int, width: int) -> int:
    """`group` when it is a positive divisor of `width`. Raises ValueError that lists the divisors otherwise."""
    if group < 1 or width % group:
        divisors = [d for d in range(1, width + 1) if width % d == 0]
        raise ValueError(f"group {group} must divide the width {width}; divisors: {divisors}")
    return group


def checked_margin(r: float) -> float:
    """`r` when it lies in (0, 1]. Raises ValueError otherwise."""
    if isinstance(r, bool) or not 0 < r <= 1:
        raise ValueError(f"r must lie in (0, 1], got {r}")
    return r


def checked_labels(y: Tensor, classes: int) -> None:
    """Check labels y, any shape. Raises TypeError when they are no int64 tensor, ValueError for one outside 0..classes-1."""  # noqa: E501
    if not isinstance(y, Tensor) or y.dtype != torch.int64:
        raise TypeError(f"labels must be a torch tensor of int64, got {type(y).__name__} {getattr(y, 'dtype', '')}")
    if y.numel() and not (int(y.min()) >= 0 and int(y.max()) < classes):
        raise ValueError(f"labels must lie in 0..{classes - 1}, got {int(y.min())}..{int(y.max())}")


class _NoFloat(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for t in torch.utils._pytree.tree_leaves((args, kwargs, out)):
            if isinstance(t, Tensor) and (t.is_floating_point() or t.is_complex()):
                raise TypeError(f"{func} touched a {t.dtype} tensor where only integers are allowed")
        return out


@contextlib.contextmanager
def integer_only() -> Iterator[None]:
    """Within this block every product is an integer product, and a torch operation on a float tensor is a TypeError."""
    global _integer_only
    before, _integer_only = _integer_only, True
    try:
        with _NoFloat():
            yield
    finally:
        _integer_only = before
