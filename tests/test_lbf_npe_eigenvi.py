"""EigenVI, the peer that fits one posterior at a time: values and what wrong input gets."""

import math

import numpy as np
import pytest
import torch
from scipy import integrate

from iclr26lib.lbf_npe import eigenvi, metrics
from iclr26lib.lbf_npe.method import trapezoid_grid
from iclr26lib.lbf_npe.simulators import SIMULATORS
from iclr26lib.seeding import generator


def on_line(n=4001, reach=15.0):
    z = np.linspace(-reach, reach, n)
    return z[:, None], np.full(n, -math.log(2 * reach / (n - 1) * n))


@pytest.mark.equation("lbf_npe", "hermite")
def test_hermite_functions_are_orthonormal_with_the_right_slope():
    z, _ = on_line()
    value, slope = eigenvi.hermite(z[:, 0], 8)
    assert np.allclose(value.T @ value * (z[1] - z[0]), np.eye(8), atol=1e-10)
    assert np.allclose(np.gradient(value, z[:, 0], axis=0, edge_order=2)[1:-1], slope[1:-1], atol=1e-3)
    assert np.allclose(value[:, 2], np.exp(-(z[:, 0] ** 2) / 4) * (z[:, 0] ** 2 - 1) / np.sqrt(np.sqrt(2 * np.pi) * 2))


@pytest.mark.equation("lbf_npe", "legendre")
def test_legendre_polynomials_are_orthonormal_on_the_box_with_the_right_slope():
    roots, weights = np.polynomial.legendre.leggauss(20)
    z = 1.5 + 2.5 * roots
    value, slope = eigenvi.legendre_box(z, 7, -1.0, 4.0)
    assert np.allclose((value * weights[:, None]).T @ value * 2.5, np.eye(7), atol=1e-12)
    step = 1e-5
    after, before = (eigenvi.legendre_box(z + h, 7, -1.0, 4.0)[0] for h in (step, -step))
    assert np.allclose(slope, (after - before) / (2 * step), atol=1e-6)


def test_tensor_basis_is_the_product_of_its_axes():
    z = torch.rand(5, 2, generator=generator(0, "test")).double().numpy()
    value, gradient = eigenvi.tensor_basis(z, 3, "legendre", (0, -1), (1, 2))
    (a, da), (b, db) = eigenvi.legendre_box(z[:, 0], 3, 0, 1), eigenvi.legendre_box(z[:, 1], 3, -1, 2)
    assert np.allclose(value[:, 5], a[:, 1] * b[:, 2])
    assert np.allclose(gradient[:, 0, 5], da[:, 1] * b[:, 2])
    assert np.allclose(gradient[:, 1, 7], a[:, 2] * db[:, 1])


@pytest.mark.equation("lbf_npe", "eigenvi")
def test_eigenvi_on_gaussians():
    """N(0, 1), K = 4: eigenvalues 0, 4, 8, 12. N(1, 1): coefficients exp(-1/8) 2^-k / sqrt(k!), mean 1."""
    z, log_pi = on_line()
    value, alpha = eigenvi.eigenvi_fit(4, z, -z, log_pi)
    assert value == pytest.approx(0, abs=1e-9)
    assert np.allclose(alpha, [1, 0, 0, 0], atol=1e-9)
    basis, slopes = eigenvi.tensor_basis(z, 4)
    v = 2 * slopes[:, 0] + z * basis
    assert np.allclose(np.linalg.eigvalsh(v.T @ v * (z[1] - z[0])), [0, 4, 8, 12], atol=1e-8)
    value, alpha = eigenvi.eigenvi_fit(8, z, 1 - z, log_pi)
    assert np.allclose(alpha[:5], [0.882497, 0.441248, 0.156005, 0.045035, 0.011259], atol=1e-4)
    q = np.exp(eigenvi.eigenvi_log_density(alpha, z, 8))
    assert q.sum() * (z[1, 0] - z[0, 0]) == pytest.approx(1, abs=1e-9)
    assert (q * z[:, 0]).sum() * (z[1, 0] - z[0, 0]) == pytest.approx(1, abs=1e-3)


@pytest.mark.equation("lbf_npe", "eigenvi")
def test_eigenvi_eigenvalue_is_the_fisher_divergence_of_its_density():
    """And the proposal does not matter: nodes that crowd at 0, weighed by their density, give the same fit."""
    z, log_pi = on_line()
    value, alpha = eigenvi.eigenvi_fit(3, z, 1 - z, log_pi)
    t = np.linspace(-3.5, 3.5, 4001)
    crowded = eigenvi.eigenvi_fit(
        3, np.sinh(t)[:, None], 1 - np.sinh(t)[:, None], -np.log(7 / 4000 * 4001 * np.cosh(t))
    )
    assert crowded[0] == pytest.approx(value, rel=1e-6)
    assert np.allclose(crowded[1], alpha, atol=1e-6)
    log_q = eigenvi.eigenvi_log_density(alpha, z, 3)
    inside = np.abs(z[:, 0]) < 9
    gap = (np.gradient(log_q, z[:, 0]) - (1 - z[:, 0])) ** 2 * np.exp(log_q)
    assert integrate.trapezoid(gap[inside], z[inside, 0]) == pytest.approx(value, rel=1e-2)
    assert value > 1e-3


def slope_of(name, z):
    return 2 * z if name == "ring" else np.sign(z[:, :1] - z[:, 1:]) * [1, -1]


@pytest.mark.parametrize(("name", "want"), [("ring", (1.22, 1.28, 0.039)), ("bands", (0.42, 0.35, 0.085))])
def test_legendre_eigenvi_on_ring_and_bands(name, want):
    """The rival of claim C6: forward KL at x = .7 with K = 6, 10, 16 functions an axis and 8000 uniform draws."""
    sim, x = SIMULATORS[name], torch.tensor([[0.7]])
    z = np.random.default_rng(0).uniform(-1, 1, (8000, 2))
    score = (0.7 - sim.mean(torch.tensor(z)).numpy())[:, None] / sim.noise**2 * slope_of(name, z)
    nodes, log_w = trapezoid_grid(sim.low, sim.high, 100)
    log_p = sim.log_posterior(nodes, x, nodes, log_w)
    for K, expected in zip((6, 10, 16), want, strict=True):
        _, alpha = eigenvi.eigenvi_fit(K, z, score, np.full(8000, -math.log(4)), "legendre", sim.low, sim.high)
        log_q = torch.tensor(eigenvi.eigenvi_log_density(alpha, nodes, K, "legendre", sim.low, sim.high))
        forward = metrics.grid_kl(log_p.reshape(-1), log_q, log_w)[0].item()
        assert forward == pytest.approx(expected, rel=0.03), K


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: eigenvi.hermite(np.zeros(3), 0), "K must be"),
        (lambda: eigenvi.legendre_box(np.array([2.0]), 3, 0, 1), "outside"),
        (lambda: eigenvi.legendre_box(np.array([0.5]), 3, 0, math.inf), "finite box"),
        (lambda: eigenvi.tensor_basis(np.zeros((3, 1)), 2, "fourier"), "unknown basis"),
        (lambda: eigenvi.tensor_basis(np.zeros(3), 2), r"\(n, d\)"),
        (lambda: eigenvi.tensor_basis(np.zeros((3, 2)), 2, "legendre", (0,), (1,)), "2 numbers"),
        (lambda: eigenvi.eigenvi_fit(2, np.zeros((3, 1)), np.zeros((2, 1)), np.zeros(3)), "need z"),
        (lambda: eigenvi.eigenvi_fit(2, np.zeros((3, 1)), np.full((3, 1), np.nan), np.zeros(3)), "finite"),
        (lambda: eigenvi.eigenvi_log_density(np.ones(2), np.zeros((3, 1)), 2), "norm 1"),
    ],
)
def test_wrong_input_fails_at_once(call, words):
    with pytest.raises(ValueError, match=words):
        call()
