"""The same training step on packed bits: XOR and popcount in NumPy, bit for bit equal to the fast path.

A bit is 1 for +1. Rows are padded with zeros to whole 64-bit words; padding agrees in both operands, so that XOR
cancels it. Needs NumPy 2 (`bitwise_count`). Shapes: B samples, K units, `words` = ceil(K / 64).
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Bits:
    """Rows of K bits in 64-bit words: `words` is uint64 (N, ceil(K / 64))."""

    words: np.ndarray
    K: int

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.words.nbytes


def pack(a: np.ndarray) -> Bits:
    """Pack an integer matrix (N, K) of -1 and +1. Raises TypeError for floats, ValueError for other values, shapes."""
    a = np.asarray(a)
    if a.dtype.kind not in "iu":
        raise TypeError(f"pack takes integers, got {a.dtype}")
    if a.ndim != 2 or not np.isin(a, (-1, 1)).all():
        raise ValueError(f"pack takes a matrix of -1 and +1, got shape {a.shape}, values {np.unique(a)[:4].tolist()}")
    return from_bool(a > 0)


def from_bool(a: np.ndarray) -> Bits:
    """Pack a bool matrix (N, K)."""
    padding = -a.shape[1] % 64
    packed = np.packbits(np.pad(a, ((0, 0), (0, padding))), axis=1, bitorder="little")
    return Bits(np.ascontiguousarray(packed).view(np.uint64), a.shape[1])


def unpack(bits: Bits) -> np.ndarray:
    """The matrix (N, K) of -1 and +1, int8, that `pack` took."""
    loose = np.unpackbits(bits.words.view(np.uint8), axis=1, count=bits.K, bitorder="little")
    return (2 * loose.astype(np.int8) - 1).astype(np.int8)


def xnor_dot(a: Bits, w: Bits, gate: Bits | None = None) -> np.ndarray:
    """Inner products of the rows of `a` (N rows) with those of `w` (M rows): int32 (N, M).

    gate: N rows of K bits; positions with bit 0 count nothing.
    Equation (XNOR): $\\langle a, w\\rangle = K - 2\\,\\mathrm{popcount}(a \\oplus w)$
    Raises ValueError when the widths differ.
    """
    if a.K != w.K or (gate is not None and (gate.K != a.K or len(gate.words) != len(a.words))):
        raise ValueError(f"{a.K} bits meet {w.K} bits, or a gate of another shape")
    differ = a.words[:, None, :] ^ w.words[None, :, :]
    if gate is None:
        return np.int32(a.K) - 2 * np.bitwise_count(differ).sum(-1, dtype=np.int32)
    differ &= gate.words[:, None, :]
    live = np.bitwise_count(gate.words).sum(-1, dtype=np.int32)[:, None]
    return live - 2 * np.bitwise_count(differ).sum(-1, dtype=np.int32)


def forward(H: list[np.ndarray], a0: Bits) -> tuple[list[Bits], list[np.ndarray]]:
    """Activations [a_0..a_L] as bits and pre-activations [z_1..z_L], int32 (B, K_l), for integer states H."""
    acts, zs = [a0], []
    for state in H:
        zs.append(xnor_dot(acts[-1], from_bool(state >= 0)))
        acts.append(from_bool(zs[-1] >= 0))
    return acts, zs


def desired(H: list[np.ndarray], zs: list[np.ndarray], target: Bits, limits: list[int]) -> list[Bits]:
    """Desired activations [a*_1..a*_L] as bits, B rows each.

    H: states (K_l, K_{l-1}). zs: pre-activations (B, K_l). target: a*_L. limits: the largest |z| each gate lets pass.
    """
    targets = [target]
    for state, z, limit in zip(H[:0:-1], zs[:0:-1], limits[:0:-1], strict=True):
        votes = xnor_dot(targets[-1], from_bool(state.T >= 0), gate=from_bool(np.abs(z) <= limit))
        targets.append(from_bool(votes >= 0))
    return targets[::-1]


def winners(target: np.ndarray, z: np.ndarray, group: int) -> np.ndarray:
    """The mask of `method.winner_mask`, bool (B, K), for int arrays target and z (B, K)."""
    stability = (target * z.astype(np.int32)).reshape(len(z), -1, group)
    effort = np.where(stability < 0, -stability, np.iinfo(stability.dtype).max)
    first = effort.argmin(-1)[..., None] == np.arange(group)
    return (first & (stability < 0)).reshape(z.shape)


def train_step(H: list[np.ndarray], a0: Bits, labels: np.ndarray, P: np.ndarray, margin: int, limits, group, clip):
    """One BEP update of the states H (int32, in place) from a batch, without reinforcement. Returns samples that fired.

    a0: B rows of bits. labels: (B,) ints. P: prototypes (C, K_L) in {-1, +1}. margin: smallest integer margin that
    does not fire. limits: a gate threshold a layer. group: neurons a group. clip: (smallest, largest) state.
    Raises TypeError for states that are not int32, ValueError for labels out of range or of another number.
    """
    if any(state.dtype != np.int32 for state in H):
        raise TypeError(f"states must be int32, got {[str(state.dtype) for state in H]}")
    if labels.dtype.kind not in "iu" or len(labels) != len(a0.words) or not ((labels >= 0) & (labels < len(P))).all():
        raise ValueError(
            f"need {len(a0.words)} integer labels in 0..{len(P) - 1}, got {labels.dtype}, {labels.tolist()[:5]}"
        )
    acts, zs = forward(H, a0)
    scores = xnor_dot(acts[-1], pack(P))
    rows = np.arange(len(labels))
    true, rivals = scores[rows, labels], scores.copy()
    rivals[rows, labels] = np.iinfo(np.int32).min
    fires = true - rivals.max(1) < margin
    targets = desired(H, zs, pack(P[labels]), limits)
    masks = [winners(unpack(t).astype(np.int32), z, group) & fires[:, None] for t, z in zip(targets, zs, strict=True)]
    for state, target, a_prev, mask in zip(H, targets, acts, masks, strict=False):
        signs, inputs = unpack(target), unpack(a_prev)
        for sample, neuron in zip(*np.nonzero(mask), strict=True):
            state[neuron] += 2 * signs[sample, neuron] * inputs[sample]
        np.clip(state, *clip, out=state)
    return fires
