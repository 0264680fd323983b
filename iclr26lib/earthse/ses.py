"""The Scientific Exploration Score: retention times diversity, as pure functions of ranks and embeddings.

Directions: retention r = 0 is the model's worst case (the reference beats every sample), r = 1 its best.
"""

from collections.abc import Sequence

import numpy as np

LO, FLOOR = 0.9, 0.01


def _vectors(V) -> np.ndarray:
    """V as (M, D) float64. Raises ValueError unless M, D >= 1, all finite, and no row is zero."""
    rows = np.asarray(V, dtype=float)
    if rows.ndim != 2 or 0 in rows.shape:
        raise ValueError(f"V must be (M, D) with M and D of 1 or more, got shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise ValueError("V holds a value that is not finite")
    if not np.linalg.norm(rows, axis=1).all():
        raise ValueError("V holds a zero row: its cosine with anything is undefined")
    return rows


def _samples(M: int, least: int = 1) -> int:
    if not isinstance(M, (int, np.integer)) or isinstance(M, bool):
        raise TypeError(f"M, the number of samples, must be an integer, got {M!r}")
    if least > M:
        raise ValueError(f"M, the number of samples, must be {least} or more, got {M}")
    return int(M)


def mean_cosine(V) -> float:
    """Mean cosine of the samples' embeddings with their mean, in [-1, 1].

    V: (M, D) embeddings of the M samples of one item, of any length. Where the mean is zero the value is 0, which is
    its limit for rows of unit length.
    Equation (spread): $\\bar s = \\frac1M \\sum_j \\cos(v_j, \\bar v)$ with
    $\\bar v = \\frac1M \\sum_j v_j$ (official code)
    Raises ValueError for a shape other than (M, D), a value that is not finite, or a zero row.
    """
    rows = _vectors(V)
    mean = rows.mean(0)
    length = np.linalg.norm(mean)
    if length == 0:
        return 0.0
    return float((rows @ mean / (np.linalg.norm(rows, axis=1) * length)).mean())


def diversity_of(s, lo: float = LO, floor: float | None = FLOOR) -> np.ndarray:
    """Diversity d (...,) of mean cosines s (...,) in [-1, 1].

    lo: the offset. floor: the smallest distance that counts; None takes the clamp away, which leaves a pole at |s| = lo
    (infinite there, negative below): what the clamp hides.
    Equation (diversity): $d = 1 / (10\\,\\max(|\\bar s| - 0.9,\\; 0.01))$ (official code)
    Raises ValueError for s outside [-1, 1] by more than rounding, lo outside [0, 1), or a floor that is not above 0.
    """
    cosines = np.asarray(s, dtype=float)
    if not (np.abs(cosines) <= 1 + 1e-9).all():
        raise ValueError(f"a mean cosine must lie in [-1, 1], got {cosines.ravel()[:5].tolist()}")
    if not 0 <= lo < 1:
        raise ValueError(f"lo must lie in [0, 1), got {lo}")
    if floor is not None and not floor > 0:
        raise ValueError(f"floor must be above 0, or None for no clamp, got {floor}")
    distance = np.abs(cosines) - lo
    with np.errstate(divide="ignore"):
        return 1 / (10 * (distance if floor is None else np.maximum(distance, floor)))


def diversity(V, lo: float = LO, floor: float | None = FLOOR) -> float:
    """Diversity d of one item; with the published lo and floor it lies in [1, 10]: 1 for equal directions.

    V: (M, D) embeddings of the M samples. lo, floor: as `diversity_of`, whose equation this is. Raises ValueError as
    `mean_cosine` and `diversity_of` do.
    """
    return float(diversity_of(mean_cosine(V), lo, floor))


def mean_pairwise_cosine(V) -> float:
    """Mean cosine rho of the M (M - 1) / 2 pairs of rows of V (M, D), in [-1, 1].

    Raises ValueError for fewer than two rows, and as `mean_cosine`.
    """
    rows = _vectors(V)
    if len(rows) < 2:
        raise ValueError(f"a pair needs 2 rows or more, got {len(rows)}")
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return float((unit @ unit.T)[np.triu_indices(len(rows), 1)].mean())


def pairwise_to_mean(rho, M: int) -> np.ndarray:
    """Mean cosine with the mean, (...,), of M unit vectors whose mean pairwise cosine is rho (...,).

    Equation (identity): $\\bar s = \\lVert \\bar v \\rVert = \\sqrt{(1 + (M-1)\\rho)/M}$ (our derivation)
    Raises ValueError for M < 1, or rho outside [-1/(M-1), 1], where no such vectors exist.
    """
    pairwise, count = np.asarray(rho, dtype=float), _samples(M)
    least = -1.0 if count == 1 else -1 / (count - 1)
    if not ((pairwise >= least - 1e-12) & (pairwise <= 1 + 1e-12)).all():
        raise ValueError(f"rho must lie in [{least:.4g}, 1] for M = {count}, got {pairwise.ravel()[:5].tolist()}")
    return np.sqrt(np.maximum((1 + (count - 1) * pairwise) / count, 0.0))


def saturation(M: int, lo: float = LO, floor: float = FLOOR) -> float:
    """The mean pairwise cosine up to which d sits at its cap 1/(10 floor); 0.74215 for M = 3.

    M: samples, 2 or more. lo, floor: as `diversity_of`.
    Equation (saturation): $\\rho^* = \\frac{M(\\mathrm{lo} + \\mathrm{floor})^2 - 1}{M - 1}$ (our derivation)
    Raises ValueError for M < 2.
    """
    count = _samples(M, least=2)
    return (count * (lo + floor) ** 2 - 1) / (count - 1)


def missing_reason(rank, M: int) -> str:
    """Why a rank does not count, "" when it does: it must be an integer (no bool, no text) from 1 to M + 1.

    rank: what the judge's reply was read as. M: samples, 1 or more. Raises ValueError for M < 1.
    """
    last = _samples(M) + 1
    if rank is None:
        return "no rank was read"
    if isinstance(rank, float) and np.isnan(rank):
        return "the rank is NaN"
    if isinstance(rank, (bool, np.bool_)) or not (
        isinstance(rank, (int, np.integer)) or (isinstance(rank, (float, np.floating)) and float(rank).is_integer())
    ):
        return f"rank {str(rank)[:40]!r} is no integer"
    return "" if 1 <= rank <= last else f"rank {rank} lies outside 1..{last}"


def retention(rank, M: int) -> float:
    """Share of the M samples that the judge puts above the reference; NaN where `missing_reason` gives a reason.

    rank: place of the reference among the M + 1 dialogues, 1 = best. M: samples, 1 or more.
    Equation (retention): $r = (k - 1)/M$ (official code)
    Raises ValueError for M < 1.
    """
    return float("nan") if missing_reason(rank, M) else (int(rank) - 1) / M


def random_judge_retention(M: int) -> float:
    """Expected retention under a judge that ranks at random: 0.5 for every M. Raises ValueError for M < 1."""
    count = _samples(M)
    return float(np.mean([retention(rank, count) for rank in range(1, count + 2)]))


def ses(ranks: Sequence, V_list: Sequence, M: int, lo: float = LO, floor: float | None = FLOOR) -> dict[str, float]:
    """Mean retention, mean diversity and the score of one model, each over the items where it exists.

    ranks: one an item, the reference's place among M + 1, anything else is missing. V_list: one (M, D) array an item,
    None where there is none. M: samples. lo, floor: as `diversity_of`.
    Returns {"r", "d", "ses", "n_r", "n_d", "n_ses"}: means (NaN where no item counts) and how many items count.
    Equation (ses): $\\mathrm{SES} = \\frac1N \\sum_i r_i d_i$, the mean of the products (official code)
    Raises ValueError for no item, unequal lengths, or an array with another number of rows than M.
    """
    if len(ranks) != len(V_list) or len(ranks) == 0:
        raise ValueError(f"need one rank and one V an item, 1 item or more; got {len(ranks)} and {len(V_list)}")
    if wrong := [i for i, V in enumerate(V_list) if V is not None and len(V) != M]:
        raise ValueError(f"item {wrong[0]} has {len(V_list[wrong[0]])} rows of V, M = {M} are wanted")
    r = np.array([retention(rank, M) for rank in ranks])
    d = np.array([np.nan if V is None else diversity(V, lo, floor) for V in V_list])
    return summary(r, d)


def summary(r, d) -> dict[str, float]:
    """What `ses` returns, from retentions r (N,) and diversities d (N,), NaN where missing.

    Raises ValueError unless both are (N,) with N >= 1.
    """
    columns = {"r": np.asarray(r, dtype=float), "d": np.asarray(d, dtype=float)}
    if columns["r"].ndim != 1 or columns["r"].shape != columns["d"].shape or not columns["r"].size:
        raise ValueError(f"r and d must both be (N,), N >= 1; got {columns['r'].shape} and {columns['d'].shape}")
    columns["ses"] = columns["r"] * columns["d"]
    counts = {name: int((~np.isnan(column)).sum()) for name, column in columns.items()}
    means = {name: float(np.nanmean(c)) if counts[name] else float("nan") for name, c in columns.items()}
    return {**means, **{f"n_{name}": count for name, count in counts.items()}}
