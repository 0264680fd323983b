"""Calibration from densities on a grid: PIT, CRPS and highest-density coverage against values, and wrong input."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from iclr26lib.lbf_npe import calibration
from iclr26lib.lbf_npe.method import trapezoid_grid
from iclr26lib.lbf_npe.simulators import SIMULATORS
from iclr26lib.seeding import generator


def gaussian_rows(means, stds, n=2001):
    nodes = torch.linspace(-8, 8, n).double()
    return torch.stack([torch.tensor(stats.norm(m, s).logpdf(nodes)) for m, s in zip(means, stds, strict=True)]), nodes


@pytest.mark.equation("lbf_npe", "pit")
def test_pit_of_gaussians_is_their_distribution_function():
    log_q, nodes = gaussian_rows((0.0, 1.0, -1.0), (1.0, 0.3, 1.2))
    z = torch.tensor([0.7, 0.9, -3.0]).double()
    want = [stats.norm(m, s).cdf(t) for m, s, t in ((0, 1, 0.7), (1, 0.3, 0.9), (-1, 1.2, -3))]
    assert np.allclose(calibration.pit(log_q + 3, nodes[:, None], z[:, None]), want, atol=1e-5)


@pytest.mark.equation("lbf_npe", "pit")
@pytest.mark.equation("lbf_npe", "crps")
def test_pit_and_crps_are_exact_for_a_density_that_is_linear_between_nodes():
    nodes, z = torch.tensor([0.0, 1.0]), torch.tensor([0.25, 1.0, 0.0])
    log_q = torch.tensor([[0.0, 2.0]]).log().expand(3, -1)
    assert calibration.pit(log_q, nodes, z).tolist() == pytest.approx([0.0625, 1, 0])
    assert calibration.crps(log_q, nodes, z)[1].item() == pytest.approx(0.2)  # integral of t^4
    assert calibration.crps(log_q, nodes, z)[2].item() == pytest.approx(1 - 2 / 3 + 1 / 5)


@pytest.mark.equation("lbf_npe", "crps")
def test_crps_of_gaussians_and_of_the_uniform():
    log_q, nodes = gaussian_rows((0.0, 1.0), (1.0, 0.3))
    z = torch.tensor([0.7, 1.5]).double()
    y = (z.numpy() - [0, 1]) / [1, 0.3]
    want = np.array([1, 0.3]) * (y * (2 * stats.norm.cdf(y) - 1) + 2 * stats.norm.pdf(y) - 1 / math.sqrt(math.pi))
    assert np.allclose(calibration.crps(log_q, nodes, z), want, atol=1e-5)
    z = torch.tensor([0.0, 0.3, 1.0])
    flat = calibration.crps(torch.zeros(3, 7), torch.linspace(0, 1, 7), z)
    assert flat.tolist() == pytest.approx((z**3 / 3 + (1 - z) ** 3 / 3).tolist(), abs=1e-6)


@pytest.mark.equation("lbf_npe", "hpd")
def test_highest_density_level_of_a_gaussian_in_the_plane():
    nodes, log_w = trapezoid_grid((-6, -6), (6, 6), 301)
    log_q = -(nodes**2).sum(1)[None] / 2 - math.log(2 * math.pi)
    z = torch.tensor([[0.5, -1.0], [2.0, 1.0], [0.0, 0.0]]).double()
    level = calibration.hpd_level(log_q.expand(3, -1), log_w, -(z**2).sum(1) / 2 - math.log(2 * math.pi))
    assert level.tolist() == pytest.approx([1 - math.exp(-0.625), 1 - math.exp(-2.5), 0], abs=3e-3)


def test_coverage_and_uniformity():
    levels = torch.linspace(0.005, 0.995, 100)
    found = calibration.coverage(levels, (0.5, 0.9))
    assert [found[0.5].estimate, found[0.9].estimate] == [0.5, 0.9]
    assert found[0.9].low == pytest.approx(0.8256, abs=1e-3)  # Wilson
    assert calibration.ks_uniform(levels) > 0.99
    assert calibration.ks_uniform(levels**2) < 1e-3
    assert calibration.ks_uniform(levels) == pytest.approx(stats.kstest(levels.numpy(), "uniform").pvalue)


def test_exact_ring_posterior_covers_what_it_says():
    sim = SIMULATORS["ring"]
    z, x = sim.sample(500, generator(6, "test"))
    nodes, log_w = trapezoid_grid(sim.low, sim.high, 101)
    log_p = sim.log_posterior(nodes, x[:, None, :], nodes, log_w)
    level = calibration.hpd_level(log_p, log_w, sim.log_posterior(z, x, nodes, log_w))
    assert calibration.ks_uniform(level) > 1e-3


@pytest.mark.equation("lbf_npe", "hpd")
def test_highest_density_level_weighs_nodes_by_their_share_of_the_box():
    density, width = torch.tensor([[1.0, 2.0, 0.5]]), torch.tensor([0.2, 0.3, 0.4])
    level = calibration.hpd_level(density.log(), width.log(), torch.tensor([0.7]).log())
    assert level.item() == pytest.approx((0.2 + 0.6) / (0.2 + 0.6 + 0.2))


# Bad input


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: calibration.pit(torch.zeros(2, 3), torch.zeros(3), torch.zeros(2)), "ascend"),
        (lambda: calibration.pit(torch.zeros(2, 3), torch.arange(4.0), torch.zeros(2)), "need log_q"),
        (lambda: calibration.pit(torch.full((1, 3), math.nan), torch.arange(3.0), torch.zeros(1)), "NaN"),
        (lambda: calibration.pit(torch.zeros(1, 3), torch.arange(3.0), torch.tensor([2.5])), "outside the nodes"),
        (lambda: calibration.crps(torch.zeros(2, 3), torch.arange(3.0), torch.zeros(3)), "2 values"),
        (lambda: calibration.hpd_level(torch.zeros(2, 3), torch.zeros(2), torch.zeros(2)), "need log_q"),
        (lambda: calibration.hpd_level(torch.full((1, 2), math.nan), torch.zeros(2), torch.zeros(1)), "NaN"),
        (lambda: calibration.coverage(torch.tensor([0.5]), (1.0,)), "nominal"),
        (lambda: calibration.coverage(torch.tensor([1.5])), r"\[0, 1\]"),
        (lambda: calibration.ks_uniform(torch.tensor([])), "non-empty"),
    ],
)
def test_wrong_input_fails_at_once(call, words):
    with pytest.raises(ValueError, match=words):
        call()
