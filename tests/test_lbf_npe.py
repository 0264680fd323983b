"""Oracles of the method: closed forms, worked values, brute force. Values are worked by hand."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import interpolate, special

from iclr26lib import lbf_npe
from iclr26lib.lbf_npe import method, metrics
from iclr26lib.lbf_npe.spiral import arc
from iclr26lib.seeding import generator

TWO_PI = 2 * math.pi
SINUSOID, BANDS, RING, SPIRAL = (lbf_npe.SIMULATORS[name] for name in ("sinusoid", "bands", "ring", "spiral"))


def rng(seed=0):
    return generator(seed, "test")


def f64(values):
    return torch.tensor(values, dtype=torch.float64)


def kl_of_fit(basis, eta, posterior, log_w):
    """KL(p || q) of the density with natural parameter eta (..., K)."""
    return metrics.grid_kl(posterior, eta @ basis.T, log_w)[0]


def posterior_on(simulator, x, nodes, log_w):
    return simulator.log_posterior(nodes, f64([[x]])[:, None], nodes, log_w)[0]


def moments_of(posterior, basis, log_w):
    return (posterior + log_w).exp() @ basis


# quadrature and normaliser


@pytest.mark.equation("lbf_npe", "trapezoid")
def test_trapezoid_weights_sum_to_the_volume_and_integrate_bilinear_functions():
    nodes, log_w = lbf_npe.trapezoid_grid((-1, 0.5), (2, 1), 7)
    assert nodes.shape == (49, 2)
    assert log_w.logsumexp(0).item() == pytest.approx(math.log(1.5), abs=1e-12)
    a, b = nodes.T
    assert (log_w.exp() * (1 + a) * (2 - b)).sum().item() == pytest.approx(4.5 * 0.625, abs=1e-12)
    assert (log_w.exp() * a * a).sum().item() == pytest.approx(0.5 * (3 + 3 * 0.5**2 / 6), abs=1e-12)  # + h^2/6 a unit
    assert nodes[:3].tolist() == [[-1.0, 0.5 + 0.5 * i / 6] for i in range(3)]


@pytest.mark.equation("lbf_npe", "proposal")
def test_monte_carlo_weights_are_unbiased_for_any_proposal():
    z = torch.rand(200_000, generator=rng(), dtype=torch.float64).sqrt()  # r(z) = 2 z on (0, 1)
    log_w = lbf_npe.monte_carlo_log_weights((2 * z).log())
    estimate = (log_w + 2 * z).exp().sum().item()  # of the integral of e^{2z}, with weights 1 / (2 z P)
    assert estimate == pytest.approx((math.e**2 - 1) / 2, abs=0.03)
    nodes, log_w = lbf_npe.monte_carlo_nodes((-1.0, 0.0), (1.0, 3.0), 50, rng())
    assert nodes.shape == (50, 2)
    assert log_w.logsumexp(0).item() == pytest.approx(math.log(6), abs=1e-5)
    assert ((nodes >= torch.tensor([-1.0, 0.0])) & (nodes <= torch.tensor([1.0, 3.0]))).all()


def test_monte_carlo_normaliser_is_low_on_average():
    """Jensen: E log J_P < log J, by about Var / (2 P J^2)."""
    exact = math.log(TWO_PI * special.i0(3))
    means = []
    for n in (4, 256):
        draws = [method.monte_carlo_nodes(0.0, TWO_PI, n, rng(i)) for i in range(400)]
        means.append(np.mean([method.log_normalizer(torch.tensor([[3.0]]), z.cos(), w).item() for z, w in draws]))
    variance = special.i0(6) / special.i0(3) ** 2 - 1
    assert exact - means[0] > 0.2
    assert exact - means[1] == pytest.approx(variance / 512, abs=0.02)


@pytest.mark.equation("lbf_npe", "normaliser")
@pytest.mark.parametrize(("eta", "value"), [(1.0, 2.073791), (3.0, 3.423185)])
def test_normaliser_of_a_cosine_is_a_bessel_function(eta, value):
    nodes, log_w = lbf_npe.trapezoid_grid(0, TWO_PI, 101)
    log_j = lbf_npe.log_normalizer(f64([[eta]]), nodes.cos(), log_w).item()
    assert log_j == pytest.approx(value, abs=1e-6)
    assert log_j == pytest.approx(math.log(TWO_PI * special.i0(eta)), abs=1e-10)


@pytest.mark.equation("lbf_npe", "normaliser")
def test_normaliser_of_an_exponential_on_the_unit_interval():
    nodes, log_w = lbf_npe.trapezoid_grid(0, 1, 1001)
    assert lbf_npe.log_normalizer(f64([[2.0]]), nodes, log_w).item() == pytest.approx(1.161439, abs=1e-6)
    mean, covariance = method.moments(f64([2.0]), nodes, log_w)
    assert mean.item() == pytest.approx(0.656518, abs=1e-6)
    exact = 1 / 4 - math.e**2 / (math.e**2 - 1) ** 2
    assert covariance.item() == pytest.approx(exact, abs=1e-5)


@pytest.mark.equation("lbf_npe", "family")
def test_no_natural_parameter_means_the_uniform_density():
    _, log_w = lbf_npe.trapezoid_grid((0, -2), (2, 3), 9)
    s = torch.randn(81, 5, generator=rng(), dtype=torch.float64)
    nll = lbf_npe.lbf_nll(torch.zeros(4, 5, dtype=torch.float64), s[:4], s, log_w)
    assert nll.tolist() == pytest.approx([math.log(10)] * 4, abs=1e-12)


@pytest.mark.equation("lbf_npe", "family")
def test_density_integrates_to_one_and_is_von_mises():
    nodes, log_w = lbf_npe.trapezoid_grid(0, TWO_PI, 201)
    s, f = torch.cat([nodes.cos(), nodes.sin()], -1), f64([[1.2, -0.7]])
    log_q = -lbf_npe.lbf_nll(f.expand(201, 2), s, s, log_w)
    assert (log_q + log_w).logsumexp(0).item() == pytest.approx(0, abs=1e-12)
    kappa = math.hypot(1.2, 0.7)
    von_mises = kappa * torch.cos(nodes[:, 0] - math.atan2(-0.7, 1.2)) - math.log(TWO_PI * special.i0(kappa))
    assert (log_q - von_mises).abs().max() < 1e-10


# gradients


def by_hand(f, s_z, s_nodes, ratio):
    """Algorithm 1 with loops: gradient of the mean loss in f, with weights e^k h / r, `ratio` = h / r."""
    gradient = torch.zeros_like(f)
    for i in range(len(f)):
        weights = [math.exp(float(f[i] @ s)) * float(c) for s, c in zip(s_nodes, ratio, strict=True)]
        model = sum(w * s for w, s in zip(weights, s_nodes, strict=True)) / sum(weights)
        gradient[i] = -(s_z[i] - model) / len(f)
    return gradient


@pytest.mark.equation("lbf_npe", "gradient")
def test_autograd_is_algorithm_1_by_hand():
    z = torch.rand(30, generator=rng(1), dtype=torch.float64).sqrt()
    s_nodes, log_r = torch.stack([z, z.square(), z.cos()], -1), (2 * z).log()
    f = torch.randn(6, 3, generator=rng(2), dtype=torch.float64).requires_grad_()
    s_z = torch.rand(6, 3, generator=rng(3), dtype=torch.float64)
    lbf_npe.lbf_nll(f, s_z, s_nodes, lbf_npe.monte_carlo_log_weights(log_r)).mean().backward()
    assert (f.grad - by_hand(f.detach(), s_z, s_nodes, (-log_r).exp())).abs().max() < 1e-9
    assert (f.grad - by_hand(f.detach(), s_z, s_nodes, torch.ones(30))).abs().max() > 1e-3  # the listing, without 1/r


@pytest.mark.equation("lbf_npe", "moments")
def test_hessian_is_the_covariance_and_positive_semidefinite():
    nodes, log_w = lbf_npe.trapezoid_grid(0, TWO_PI, 101)
    basis = lbf_npe.bspline_basis(nodes[:, 0], 0, TWO_PI, 6)
    eta = torch.randn(6, generator=rng(), dtype=torch.float64)
    mean, covariance = method.moments(eta, basis, log_w)

    def log_j(e):
        return lbf_npe.log_normalizer(e[None], basis, log_w)[0]

    assert (torch.func.grad(log_j)(eta) - mean).abs().max() < 1e-12
    assert (torch.func.hessian(log_j)(eta) - covariance).abs().max() < 1e-12
    assert torch.linalg.eigvalsh(covariance).min() > -1e-12


@pytest.mark.equation("lbf_npe", "objective")
def test_objective_is_the_cross_entropy_and_least_at_the_posterior():
    """Mean loss under draws of the joint = E KL(p || q) + E entropy: least, and equal to the best NLL, at q = p."""
    nodes, log_w = lbf_npe.trapezoid_grid(0, TWO_PI, 401)
    z, x = SINUSOID.sample(20_000, rng())

    def exact(z):
        return torch.stack([torch.sin(2 * z[..., 0]), torch.sin(2 * z[..., 0]) ** 2], -1).double()

    losses = []
    for tilt in (0.0, 0.3, -0.3):
        f = torch.cat([x.double(), torch.full_like(x, -0.5 + tilt).double()], -1)
        losses.append(lbf_npe.lbf_nll(f, exact(z), exact(nodes), log_w))
    assert losses[0].mean().item() == pytest.approx(1.635865, abs=4 * losses[0].std().item() / 20_000**0.5)
    assert min(losses[1].mean(), losses[2].mean()) > losses[0].mean() + 0.002


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10**6), t=st.floats(0, 1))
def test_loss_is_convex_in_f_and_in_s(seed, t):
    g = rng(seed)
    f1, f2 = torch.randn(2, 4, 3, generator=g, dtype=torch.float64).unbind(0)
    s1, s2 = torch.randn(2, 15, 3, generator=g, dtype=torch.float64).unbind(0)
    w = torch.zeros(15, dtype=torch.float64)

    def loss(f, s):
        return lbf_npe.lbf_nll(f, s[:4], s, w).sum().item()

    assert loss(t * f1 + (1 - t) * f2, s1) <= t * loss(f1, s1) + (1 - t) * loss(f2, s1) + 1e-9
    assert loss(f1, t * s1 + (1 - t) * s2) <= t * loss(f1, s1) + (1 - t) * loss(f1, s2) + 1e-9


# bases


@pytest.mark.equation("lbf_npe", "bspline")
def test_knots_and_worked_values():
    knots = lbf_npe.bspline_knots(0, TWO_PI, 14)
    assert knots.tolist() == pytest.approx([0, 0, *np.linspace(0, TWO_PI, 13), TWO_PI, TWO_PI])
    assert len(lbf_npe.bspline_knots(0, TWO_PI, 15)) == 2 + 14 + 2  # 14 breakpoints carry 15 functions
    at_one, at_zero, at_end = lbf_npe.bspline_basis(f64([1.0, 0.0, TWO_PI]), 0, TWO_PI, 14)
    assert at_one.tolist() == pytest.approx([0, 0.004063, 0.582015, 0.413922] + [0] * 10, abs=1e-6)
    assert at_zero.tolist() == [1] + [0] * 13
    assert at_end.tolist() == [0] * 13 + [1]


@pytest.mark.equation("lbf_npe", "bspline")
@pytest.mark.parametrize(("K", "degree"), [(1, 0), (5, 0), (7, 1), (14, 2), (30, 2), (9, 3)])
def test_recursion_against_scipy(K, degree):
    z = torch.cat([torch.rand(300, generator=rng(), dtype=torch.float64) * 3 - 1, f64([-1.0, 2.0, 0.5])])
    ours = lbf_npe.bspline_basis(z, -1, 2, K, degree)
    knots = lbf_npe.bspline_knots(-1, 2, K, degree).numpy()
    theirs = interpolate.BSpline.design_matrix(z.numpy(), knots, degree).toarray()
    assert np.abs(ours.numpy() - theirs).max() < 1e-12
    assert (ours.sum(-1) - 1).abs().max() < 1e-12
    single = lbf_npe.bspline_basis(z.float(), -1, 2, K, degree)
    assert single.dtype == torch.float32
    if degree:
        assert (single - ours).abs().max() < 1e-5


def test_integrals_of_the_14_splines():
    nodes, log_w = lbf_npe.trapezoid_grid(0, TWO_PI, 12_001)
    integrals = log_w.exp() @ lbf_npe.bspline_basis(nodes[:, 0], 0, TWO_PI, 14)
    ends = [math.pi / 18, math.pi / 9]
    assert integrals.tolist() == pytest.approx([*ends, *[math.pi / 6] * 10, *ends[::-1]], abs=1e-6)


def test_constant_along_1_leaves_the_density_alone():
    nodes, log_w = lbf_npe.trapezoid_grid(0, TWO_PI, 201)
    basis = lbf_npe.bspline_basis(nodes[:, 0], 0, TWO_PI, 14)
    f = torch.randn(3, 14, generator=rng(), dtype=torch.float64).requires_grad_()
    nll = lbf_npe.lbf_nll(f, basis[[5, 90, 200]], basis, log_w)
    shifted = lbf_npe.lbf_nll(f + 2.5, basis[[5, 90, 200]], basis, log_w)
    assert (nll - shifted).abs().max() < 1e-12
    nll.sum().backward()
    assert f.grad.sum(-1).abs().max() < 1e-12
    _, covariance = method.moments(f[0].detach(), basis, log_w)
    assert (torch.linalg.eigvalsh(covariance) > 1e-9).sum() == 13


@pytest.mark.equation("lbf_npe", "haar")
def test_haar_values_and_orthonormality():
    at = lbf_npe.haar_basis(f64([0.0, 0.3, 0.5, 0.99, 1.0]), 0, 1, 2)
    r = math.sqrt(2)
    assert at.tolist() == [[1, r, 0], [1, -r, 0], [-1, 0, r], [-1, 0, -r], [-1, 0, -r]]
    middle = (torch.arange(64, dtype=torch.float64) + 0.5) / 64
    gram = lbf_npe.haar_basis(3 + 2 * middle, 3, 5, 4)
    assert gram.shape == (64, 15)
    assert (gram.T @ gram / 64 - torch.eye(15)).abs().max() < 1e-12
    assert gram.sum(0).abs().max() < 1e-12


@pytest.mark.equation("lbf_npe", "stereographic")
def test_stereographic_worked_values():
    y = lbf_npe.stereographic(f64([[0, 0], [1, 0], [3, 4]]))
    expected = f64([[0, 0, 1], [1, 0, 0], [6 / 26, 8 / 26, -24 / 26]])
    assert (y - expected).abs().max() < 1e-12
    many = lbf_npe.stereographic(3 * torch.randn(500, 7, generator=rng()))
    assert (many.norm(dim=-1) - 1).abs().max() < 1e-6
    u = f64([0.4, -1.3])  # straight from the plane: the line from (0, 0, -1) through (u, 0) meets the sphere at y
    y = lbf_npe.stereographic(u)
    assert (y[:2] / (1 + y[2]) - u).abs().max() < 1e-12


# the fit for one observation


@pytest.mark.equation("lbf_npe", "optimum")
def test_exact_sufficient_statistic_is_recovered():
    nodes, log_w = SINUSOID.quadrature(1001)
    s = torch.sin(2 * nodes)
    basis = torch.cat([s, s.square()], -1)
    posterior = posterior_on(SINUSOID, 0.5, nodes, log_w)
    eta = lbf_npe.fit_natural(basis, log_w, moments_of(posterior, basis, log_w))
    assert eta.tolist() == pytest.approx([0.5, -0.5], abs=1e-9)
    assert kl_of_fit(basis, eta, posterior, log_w) < 1e-12


@pytest.mark.equation("lbf_npe", "newton")
@pytest.mark.parametrize(("x", "kl"), [(0.0, 2.1e-4), (1.0, 1.4e-4), (2.0, 5.3e-5)])
def test_every_start_ends_at_one_optimum(x, kl):
    nodes, log_w = SINUSOID.quadrature(1001)
    basis = lbf_npe.bspline_basis(nodes[:, 0], 0, TWO_PI, 14)
    posterior = posterior_on(SINUSOID, x, nodes, log_w)
    start = torch.randn(12, 14, generator=rng(), dtype=torch.float64)
    target = moments_of(posterior, basis, log_w)
    eta = lbf_npe.fit_natural(basis, log_w, target, start=start)
    found = kl_of_fit(basis, eta, posterior, log_w)
    assert (found.max() - found.min()) < 1e-6
    assert found.mean().item() == pytest.approx(kl, rel=0.05)
    assert (method.moments(eta, basis, log_w)[0] - target).abs().max() < 1e-8


@pytest.mark.equation("lbf_npe", "newton")
def test_backtracking_is_needed_and_a_full_step_is_newtons():
    nodes, log_w = SINUSOID.quadrature(401)
    basis = lbf_npe.bspline_basis(nodes[:, 0], 0, TWO_PI, 14)
    target = moments_of(posterior_on(SINUSOID, 1.0, nodes, log_w), basis, log_w)

    def objective(e):
        return lbf_npe.log_normalizer(e, basis, log_w) - e @ target

    far = 4 * torch.randn(8, 14, generator=rng(), dtype=torch.float64)
    mean, covariance = method.moments(far, basis, log_w)
    full = far - torch.linalg.solve(covariance + method.RIDGE * torch.eye(14), mean - target)
    assert (objective(full) > objective(far)).any()
    assert (objective(method.newton_step(far, basis, log_w, target)[0]) < objective(far)).all()
    near = lbf_npe.fit_natural(basis, log_w, target)[None] + 0.01 * far[:1]
    mean, covariance = method.moments(near, basis, log_w)
    full = near - torch.linalg.solve(covariance + method.RIDGE * torch.eye(14), mean - target)
    assert (method.newton_step(near, basis, log_w, target)[0] - full).abs().max() < 1e-9


def test_fourier_basis_fits_exactly():
    nodes, log_w = SINUSOID.quadrature(1001)
    k = torch.arange(1, 8)
    basis = torch.cat([torch.cos(nodes * k), torch.sin(nodes * k)], -1)
    posterior = posterior_on(SINUSOID, 0.0, nodes, log_w)
    eta = lbf_npe.fit_natural(basis, log_w, moments_of(posterior, basis, log_w))
    assert kl_of_fit(basis, eta, posterior, log_w) < 1e-10


@pytest.mark.parametrize(("simulator", "t"), [(RING, "ring_mean"), (BANDS, "bands_mean")])
def test_exact_statistic_in_two_dimensions(simulator, t):
    nodes, log_w = simulator.quadrature(100)
    value = getattr(lbf_npe, t)(nodes)
    basis = torch.stack([value, value.square()], -1)
    eta = f64([0.7 / 0.01, -1 / 0.02])
    posterior = posterior_on(simulator, 0.7, nodes, log_w)
    assert kl_of_fit(basis, eta, posterior, log_w) < 1e-12
    start = eta * f64([0.5, 0.5])
    assert lbf_npe.fit_natural(
        basis, log_w, moments_of(posterior, basis, log_w), start=start
    ).tolist() == pytest.approx(eta.tolist(), rel=1e-4)


# simulators


@pytest.mark.equation("lbf_npe", "simulator")
@pytest.mark.parametrize(("x", "value"), [(0.0, 1.603441), (0.5, 1.532523), (1.5, 0.925141)])
def test_sinusoid_normalisers(x, value):
    nodes, log_w = SINUSOID.quadrature()
    log_evidence = SINUSOID.log_evidence(f64([[x]]), nodes, log_w).item()
    assert log_evidence + math.log(TWO_PI) + 0.5 * math.log(TWO_PI) == pytest.approx(value, abs=1e-6)


def test_sinusoid_posterior_extremes():
    nodes, log_w = SINUSOID.quadrature(1601)
    density = posterior_on(SINUSOID, 1.5, nodes, log_w).exp()
    assert density.max().item() == pytest.approx(0.349888, abs=1e-6)
    assert nodes[density.argmax()].item() % math.pi == pytest.approx(math.pi / 4, abs=1e-9)
    assert density.min().item() == pytest.approx(0.017420, abs=1e-6)


@pytest.mark.equation("lbf_npe", "simulator")
@pytest.mark.parametrize(("simulator", "log_j", "peak"), [(RING, -0.239209, 1.270225), (BANDS, -0.428135, 1.530563)])
def test_ring_and_bands_on_the_papers_grid(simulator, log_j, peak):
    nodes, log_w = simulator.quadrature(100)
    log_evidence = simulator.log_evidence(f64([[0.7]]), nodes, log_w).item()
    assert log_evidence + math.log(4) + math.log(0.1 * math.sqrt(TWO_PI)) == pytest.approx(log_j, abs=1e-6)
    assert posterior_on(simulator, 0.7, nodes, log_w).exp().max().item() == pytest.approx(peak, abs=1e-6)


def entropy_of_x(simulator, xs):
    nodes, log_w = simulator.quadrature(2001 if simulator.d == 1 else 401)
    log_p = torch.cat([simulator.log_evidence(part[:, None], nodes, log_w) for part in xs.split(50)])
    return -(log_p.exp() * log_p).sum().item() * (xs[1] - xs[0]).item()


@pytest.mark.parametrize(
    ("simulator", "xs", "tolerance"),
    [
        (SINUSOID, torch.linspace(-8, 8, 321, dtype=torch.float64), 1e-5),
        (BANDS, torch.linspace(-0.6, 2.6, 161, dtype=torch.float64), 3e-4),
        (RING, torch.linspace(-0.6, 2.6, 161, dtype=torch.float64), 3e-4),
    ],
)
def test_best_nll_is_the_conditional_entropy(simulator, xs, tolerance):
    """E -log p(z | x) = H(z) + H(x | z) - H(x)."""
    h_z = math.log(math.prod(b - a for a, b in zip(simulator.low, simulator.high, strict=True)))
    h_noise = 0.5 * math.log(TWO_PI * math.e * simulator.noise**2)
    best = h_z + h_noise - entropy_of_x(simulator, xs)
    assert simulator.best_nll == pytest.approx(best, abs=tolerance)
    if simulator is SINUSOID:
        assert h_z == pytest.approx(1.837877, abs=1e-6)
        assert h_z - best == pytest.approx(0.202012, abs=2e-6)


@pytest.mark.equation("lbf_npe", "simulator")
@pytest.mark.parametrize("name", ["sinusoid", "bands", "ring"])
def test_draws_have_the_mean_and_noise_they_say(name):
    simulator = lbf_npe.simulator(name)
    z, x = simulator.sample(50_000, rng())
    assert z.shape == (50_000, simulator.d)
    assert x.shape == (50_000, 1)
    formula = {"sinusoid": lambda a: a.mul(2).sin().sum(-1), "bands": lambda a: (a[:, 0] - a[:, 1]).abs()}
    mean = formula.get(name, lambda a: a[:, 0] ** 2 + a[:, 1] ** 2)(z)
    residual = x[:, 0] - mean
    assert abs(residual.mean().item()) < 5 * simulator.noise / 50_000**0.5
    assert residual.std().item() == pytest.approx(simulator.noise, rel=0.02)
    expected = -0.5 * (residual.double() / simulator.noise) ** 2 - math.log(simulator.noise * math.sqrt(TWO_PI))
    assert (simulator.log_likelihood(z, x) - expected).abs().max() < 1e-4
    other, _ = simulator.sample(50_000, rng(1))
    assert (other != z).any()
    assert (simulator.sample(50_000, rng())[1] == x).all()


@pytest.mark.equation("lbf_npe", "arc")
def test_arc_length_against_the_sum_of_chords():
    theta = torch.linspace(0, TWO_PI, 40_001, dtype=torch.float64)
    points = SPIRAL.point(torch.full_like(theta, 0.3), theta)
    chords = (points[1:] - points[:-1]).norm(dim=-1).sum().item()
    assert 0.15 * arc(f64(TWO_PI)).item() == pytest.approx(chords, abs=1e-6)
    lengths = torch.linspace(0, 45, 200, dtype=torch.float64)
    assert (arc(lbf_npe.angle_at(lengths)) - lengths).abs().max() < 1e-10


@pytest.mark.equation("lbf_npe", "spiral")
def test_spiral_prior_against_counted_draws():
    """Share of draws in a box = integral of the density over it, away from and close to the centre."""
    z, _ = SPIRAL.sample(400_000, rng())
    for low, high in (((0.1, 0.1), (0.3, 0.4)), ((-0.3, -0.3), (0.3, 0.3)), ((-1.0, -0.4), (-0.5, 0.2))):
        inside = ((z > torch.tensor(low)) & (z < torch.tensor(high))).all(-1).double().mean().item()
        nodes, log_w = SPIRAL.quadrature(800)
        chosen = ((nodes > f64(low)) & (nodes < f64(high))).all(-1)
        mass = (SPIRAL.log_prior(nodes) + log_w)[chosen].logsumexp(0).exp().item()
        assert mass == pytest.approx(inside, abs=5 * (inside / 400_000) ** 0.5 + 3e-4)


@pytest.mark.equation("lbf_npe", "spiral")
def test_spiral_prior_integrates_to_one_on_a_plain_grid():
    """Without its Jacobian, or with a wrong power of theta, it would not; the plain grid knows nothing of either."""
    nodes, log_w = lbf_npe.trapezoid_grid(SPIRAL.low, SPIRAL.high, 1500)
    assert (SPIRAL.log_prior(nodes) + log_w).logsumexp(0).item() == pytest.approx(0, abs=0.01)


def test_spiral_best_nll_and_the_floor_of_the_printed_posterior():
    nodes, log_w = SPIRAL.quadrature(600)
    x = f64([[0.35]])
    exact = SPIRAL.log_posterior(nodes, x[:, None], nodes, log_w)[0]
    printed = SPIRAL.printed_log_posterior(nodes, x[:, None], nodes, log_w)[0]
    forward, reverse = metrics.grid_kl(printed, exact, log_w)
    assert forward.item() == pytest.approx(0.1144, abs=2e-4)
    assert reverse.item() == pytest.approx(0.2157, abs=4e-4)
    z, x = SPIRAL.sample(100_000, rng())
    normal = torch.distributions.Normal(0.0, 1.0)
    at = x[:, 0].double()
    evidence = (normal.cdf((at - 0.1) / 0.01) - normal.cdf((at - 0.5) / 0.01)) / 0.4
    nll = evidence.log() - SPIRAL.log_prior(z) - SPIRAL.log_likelihood(z, x)
    assert nll.mean().item() == pytest.approx(SPIRAL.best_nll, abs=4 * nll.std().item() / 100_000**0.5)


def test_spiral_in_polar_coordinates():
    b, theta = f64([0.1, 0.3, 0.5]), f64([0.01, 3.0, 6.2])
    back = SPIRAL.polar(SPIRAL.point(b, theta))
    assert torch.allclose(back[0], b, atol=1e-12)
    assert torch.allclose(back[1], theta, atol=1e-12)
    off = f64([[0.0, 0.0], [2.0, 0.5]])
    assert SPIRAL.log_prior(off).tolist() == [-math.inf, -math.inf]
    assert SPIRAL.log_likelihood(off[:1], f64([[0.3]])).tolist() == [-math.inf]


# divergences


@pytest.mark.equation("lbf_npe", "kl")
def test_direction_of_the_divergences():
    p, q = f64([0.5, 0.5]).log(), f64([0.9, 0.1]).log()
    forward, reverse = lbf_npe.grid_kl(p, q, torch.zeros(2))
    assert forward.item() == pytest.approx(0.510826, abs=1e-6)
    assert reverse.item() == pytest.approx(0.368064, abs=1e-6)
    assert [d.item() for d in lbf_npe.grid_kl(p + 3, p, torch.zeros(2))] == pytest.approx([0, 0], abs=1e-12)


@pytest.mark.equation("lbf_npe", "kl")
def test_divergence_of_two_normals_on_a_grid():
    nodes, log_w = lbf_npe.trapezoid_grid(-12, 12, 2001)
    z = nodes[:, 0]
    p, q = -0.5 * z**2, -0.5 * ((z - 1) / 1.5) ** 2
    forward, reverse = lbf_npe.grid_kl(p, torch.stack([q, p]), log_w)
    assert forward.tolist() == pytest.approx([math.log(1.5) + 2 / (2 * 2.25) - 0.5, 0], abs=1e-9)
    assert reverse.tolist() == pytest.approx([-math.log(1.5) + (2.25 + 1) / 2 - 0.5, 0], abs=1e-9)


def test_where_only_one_density_is_zero():
    p, q = f64([0.0, 1.0]).log(), f64([0.5, 0.5]).log()
    assert [d.item() for d in lbf_npe.grid_kl(p, q, torch.zeros(2))] == [pytest.approx(math.log(2)), math.inf]


@pytest.mark.equation("lbf_npe", "floor")
@pytest.mark.parametrize(
    ("simulator", "floors"),
    [(RING, {1: 0.266, 2: 0.040, 3: 0.0050, 5: 7e-5}), (BANDS, {1: 0.342, 2: 0.055, 3: 0.0073, 5: 1e-4})],
)
def test_scale_floor(simulator, floors):
    nodes, log_w = simulator.quadrature(100)
    posterior = posterior_on(simulator, 0.7, nodes, log_w)
    for w, expected in floors.items():
        floor = metrics.scale_floor(posterior, log_w, w)
        assert floor == pytest.approx(expected, rel=0.03 if w < 5 else 0.1)
        k = torch.randn(40, len(nodes), generator=rng(), dtype=torch.float64).clamp(-1, 1) * w
        near = (posterior + math.log(1.3)).clamp(-w, w)
        rivals = torch.cat([k, near + 0.05 * k * (near.abs() < w)]).clamp(-w, w)
        assert (metrics.grid_kl(posterior, rivals, log_w)[0] > floor).all()


@pytest.mark.parametrize(("w", "kl"), [(25, 1.3e-4), (100, 7.9e-6)])
def test_two_functions_on_the_sphere_are_a_cosine(w, kl):
    """K = 2: w cos(c (x - t)) with w c^2 = 1 / sigma^2 has the right curvature at the ring."""
    nodes, log_w = RING.quadrature(100)
    posterior, t = posterior_on(RING, 0.7, nodes, log_w), nodes.square().sum(-1)
    k = w * torch.cos(math.sqrt(100 / w) * (0.7 - t))
    assert metrics.grid_kl(posterior, k, log_w)[0].item() == pytest.approx(kl, rel=0.03)


# wrong input


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: lbf_npe.trapezoid_grid(0, 1, 1), "2 nodes"),
        (lambda: lbf_npe.trapezoid_grid(1, 1, 5), "lo < hi"),
        (lambda: lbf_npe.trapezoid_grid((0, 0), 1, 5), "lo < hi"),
        (lambda: lbf_npe.trapezoid_grid(0, math.inf, 5), "finite"),
        (lambda: lbf_npe.monte_carlo_nodes(0, 1, 0, rng()), "n must be 1"),
        (lambda: lbf_npe.monte_carlo_log_weights(f64([0.0, math.nan])), "finite"),
        (lambda: lbf_npe.bspline_basis(f64([0.5]), 0, 1, 2), "K > degree"),
        (lambda: lbf_npe.bspline_basis(f64([0.5]), 0, 1, 5, -1), "degree >= 0"),
        (lambda: lbf_npe.bspline_basis(f64([0.5, 1.1]), 0, 1, 5), "outside"),
        (lambda: lbf_npe.bspline_basis(f64([math.nan]), 0, 1, 5), "outside"),
        (lambda: lbf_npe.haar_basis(f64([-0.1]), 0, 1, 3), "outside"),
        (lambda: lbf_npe.haar_basis(f64([0.1]), 0, 1, 0), "1..16"),
        (lambda: lbf_npe.stereographic(f64(1.0)), "K - 1"),
        (lambda: lbf_npe.log_normalizer(torch.zeros(2, 3), torch.zeros(5, 4), torch.zeros(5)), "do not fit"),
        (lambda: lbf_npe.lbf_nll(torch.zeros(2, 3), torch.zeros(1, 3), torch.zeros(5, 3), torch.zeros(5)), "one shape"),
        (lambda: method.moments(torch.zeros(3), torch.zeros(5, 4), torch.zeros(5)), "do not fit"),
        (lambda: lbf_npe.fit_natural(torch.zeros(5, 4), torch.zeros(5), torch.zeros(3)), "do not fit"),
        (lambda: lbf_npe.fit_natural(f64([[0.0], [1]]), torch.zeros(2), f64([math.nan])), "finite"),
        (lambda: lbf_npe.fit_natural(f64([[0.0], [1]]), torch.zeros(2), f64([1.5])), "still differ"),
        (lambda: lbf_npe.grid_kl(f64([0, math.nan]), f64([0, 0]), torch.zeros(2)), "NaN"),
        (lambda: lbf_npe.grid_kl(f64([0, 0]), f64([0, math.inf]), torch.zeros(2)), "logq holds"),
        (lambda: lbf_npe.grid_kl(f64([0, 0]), f64([-math.inf] * 2), torch.zeros(2)), "zero at every node"),
        (lambda: lbf_npe.grid_kl(f64([0, 0]), f64([0, 0, 0]), torch.zeros(2)), "must end in"),
        (lambda: metrics.scale_floor(f64([0, 0]), torch.zeros(2), 0), "positive"),
        (lambda: RING.sample(0, rng()), "n must be 1"),
        (lambda: SPIRAL.sample(0, rng()), "n must be 1"),
        (lambda: RING.log_prior(f64([[0.0, 1.5]])), "outside"),
        (lambda: RING.log_prior(f64([0.0, 0.5, 0.1])), "last dimension"),
        (lambda: RING.log_likelihood(f64([[0.0, 0.5]]), f64([[math.nan]])), "not finite"),
        (lambda: SPIRAL.log_likelihood(f64([[0.0, 0.5]]), f64([[0.1, 0.2]])), "x must be"),
        (lambda: SPIRAL.quadrature(1), "n must be 2"),
        (lambda: lbf_npe.angle_at(f64([-1.0])), "0 or more"),
        (lambda: lbf_npe.simulator("circle"), "known: sinusoid"),
        (lambda: lbf_npe.normal_log_density(f64([1.0]), f64([1.0]), 0), "positive"),
    ],
)
def test_wrong_input_is_refused_with_its_value(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_nothing_draws_unseeded():
    for call in (
        lambda: RING.sample(3, None),
        lambda: SPIRAL.sample(3, None),
        lambda: lbf_npe.monte_carlo_nodes(0, 1, 3, None),
    ):
        with pytest.raises(TypeError, match="Generator"):
            call()
