"""EigenVI (Cai et al. 2024) on one posterior: the density is the square of an orthonormal expansion.

One fit an observation, from scores of the likelihood at draws of a proposal: nothing is amortised.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.polynomial import hermite_e, legendre
from scipy.special import gammaln

Basis = Callable[[np.ndarray, int, float, float], tuple[np.ndarray, np.ndarray]]


def hermite(z: np.ndarray, K: int, low: float = -np.inf, high: float = np.inf) -> tuple[np.ndarray, np.ndarray]:
    """Normalised Hermite functions 0..K-1 on the real line and their derivatives, (n, K) each, at z (n,) float64.

    Equation (hermite): $\\varphi_k(z) = e^{-z^2/4}\\, \\mathrm{He}_k(z) \\big/ \\sqrt{\\sqrt{2\\pi}\\, k!}$

    EigenVI's basis (its public code). low, high: unused, the support is the line. Raises ValueError when K < 1.
    """
    _checked(z, K)
    k = np.arange(K)
    envelope = np.exp(-(z[:, None] ** 2) / 4 - (gammaln(k + 1) + 0.5 * np.log(2 * np.pi)) / 2)
    polynomial = hermite_e.hermevander(z, K)
    value = envelope * polynomial[:, :K]
    slope = envelope * (k * polynomial[:, np.maximum(k - 1, 0)])
    return value, slope - z[:, None] / 2 * value


def legendre_box(z: np.ndarray, K: int, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Legendre polynomials 0..K-1, orthonormal on [low, high], and their derivatives, (n, K) each, at z (n,) float64.

    Equation (legendre): $\\varphi_k(z) = \\sqrt{\\tfrac{2k+1}{b-a}}\\, P_k\\!\\big(\\tfrac{2z-a-b}{b-a}\\big)$

    Our choice for posteriors on a box, which Hermite functions serve badly. Raises ValueError when K < 1, the box is
    empty or not finite, or z lies outside of it.
    """
    _checked(z, K)
    if not (np.isfinite([low, high]).all() and low < high):
        raise ValueError(f"Legendre polynomials need a finite box with low < high, got [{low}, {high}]")
    t = (2 * z - low - high) / (high - low)
    if np.abs(t).max() > 1 + 1e-6:
        raise ValueError(f"z lies outside [{low}, {high}]: {z[np.abs(t).argmax()]}")
    norm = np.sqrt((2 * np.arange(K) + 1) / (high - low))
    slopes = [legendre.legval(t, legendre.legder(row)) for row in np.eye(K)]
    return legendre.legvander(t, K - 1) * norm, np.stack(slopes, 1) * norm * 2 / (high - low)


BASES: dict[str, Basis] = {"hermite": hermite, "legendre": legendre_box}


def _checked(z: np.ndarray, K: int) -> None:
    if not isinstance(K, int | np.integer) or K < 1:
        raise ValueError(f"K must be an integer, 1 or more, got {K!r}")
    if z.ndim != 1 or len(z) == 0 or not np.isfinite(z).all():
        raise ValueError(f"z must be finite with shape (n,), n >= 1, got shape {z.shape}")


def tensor_basis(z, K: int, basis: str = "hermite", low=None, high=None) -> tuple[np.ndarray, np.ndarray]:
    """Products of K one-dimensional functions an axis: values (n, K^d) and gradients (n, d, K^d) at z (n, d) float64.

    basis: "hermite" or "legendre". low, high: d numbers each, the box (Legendre only). The last axis varies fastest.
    Raises ValueError for an unknown basis, a wrong shape or box, and as `hermite` and `legendre_box`.
    """
    z = np.asarray(z, dtype=float)
    if basis not in BASES:
        raise ValueError(f"unknown basis {basis!r}; known: {', '.join(BASES)}")
    if z.ndim != 2:
        raise ValueError(f"z must be (n, d), got shape {z.shape}")
    n, d = z.shape
    low, high = (-np.inf,) * d if low is None else low, (np.inf,) * d if high is None else high
    if len(low) != d or len(high) != d:
        raise ValueError(f"low and high need {d} numbers each, got {low} and {high}")
    axes = [BASES[basis](z[:, c], K, low[c], high[c]) for c in range(d)]

    def product(slope_of: int | None) -> np.ndarray:
        out = np.ones((n, 1))
        for c, (value, slope) in enumerate(axes):
            out = (out[:, :, None] * (slope if c == slope_of else value)[:, None, :]).reshape(n, -1)
        return out

    return product(None), np.stack([product(c) for c in range(d)], 1)


def eigenvi_fit(K: int, z, score, log_pi, basis: str = "hermite", low=None, high=None) -> tuple[float, np.ndarray]:
    """Fit q = (sum_k alpha_k phi_k)^2 by minimal Fisher divergence, an eigenvalue problem.

    Equation (eigenvi): $W = \\frac1N \\sum_{n, c} \\frac{v_{nc} v_{nc}^\\top}{\\pi(z_n)},\\quad
    v_{nc} = 2\\, \\partial_c \\varphi(z_n) - \\partial_c \\log p(z_n, x)\\, \\varphi(z_n)$

    K: functions an axis. z: (n, d) draws of a proposal. score: (n, d), gradient of log p(z, x) in z. log_pi: (n,), log
    density of the proposal. basis, low, high: as in `tensor_basis`. Returns the smallest eigenvalue of W (an estimate
    of the Fisher divergence) and its unit eigenvector alpha (K^d,). From EigenVI's public code.
    Raises ValueError for shapes that do not fit, values that are not finite, and as `tensor_basis`.
    """
    z, score, log_pi = (np.asarray(a, dtype=float) for a in (z, score, log_pi))
    if z.ndim != 2 or score.shape != z.shape or log_pi.shape != z.shape[:1]:
        raise ValueError(f"need z (n, d), score (n, d), log_pi (n,), got {z.shape}, {score.shape}, {log_pi.shape}")
    if not (np.isfinite(score).all() and np.isfinite(log_pi).all()):
        raise ValueError("score and log_pi must be finite")
    value, gradient = tensor_basis(z, K, basis, low, high)
    v = 2 * gradient - score[:, :, None] * value[:, None, :]
    v *= np.exp(-log_pi / 2)[:, None, None]
    v = v.reshape(-1, value.shape[1])
    eigenvalues, vectors = np.linalg.eigh(v.T @ v / len(z))
    return float(eigenvalues[0]), vectors[:, 0] * np.sign(vectors[np.abs(vectors[:, 0]).argmax(), 0])


def eigenvi_log_density(alpha, nodes, K: int, basis: str = "hermite", low=None, high=None) -> np.ndarray:
    """log q at nodes (P, d), shape (P,): normalised over the line or the box, minus infinity where q is exactly 0.

    alpha: (K^d,) of norm 1. K, basis, low, high: as in the fit. Raises ValueError for an alpha of another length or
    norm, and as `tensor_basis`.
    """
    alpha = np.asarray(alpha, dtype=float)
    value, _ = tensor_basis(nodes, K, basis, low, high)
    if alpha.shape != value.shape[1:] or abs(np.linalg.norm(alpha) - 1) > 1e-6:
        raise ValueError(f"alpha must be ({value.shape[1]},) of norm 1, got {alpha.shape}, {np.linalg.norm(alpha)}")
    with np.errstate(divide="ignore"):
        return 2 * np.log(np.abs(value @ alpha))
