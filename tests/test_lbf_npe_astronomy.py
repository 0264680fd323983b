"""The two problems from astronomy, stars in an image and photometric redshifts: values and what wrong input gets."""

import math

import numpy as np
import pytest
import torch
from scipy import integrate, special, stats

from iclr26lib.lbf_npe import calibration, photoz, star_bound, stars, training
from iclr26lib.lbf_npe.method import trapezoid_grid
from iclr26lib.seeding import generator

PHOTOZ, STARS = photoz.PhotoZ(), stars.TwoStars()


def rng(seed=0):
    return generator(seed, "test")


# Two stars


@pytest.mark.equation("lbf_npe", "psf")
@pytest.mark.equation("lbf_npe", "image")
def test_image_of_stars_against_the_formula_pixel_by_pixel():
    places, fluxes = torch.tensor([[[3.2, 9.9], [15.8, 0.1]]]).double(), torch.tensor([[1000.0, 2500.0]]).double()
    image = stars.mean_image(places, fluxes)[0].numpy()
    centre = np.arange(16) + 0.5
    want = np.zeros((16, 16))
    for (row, column), flux in zip(places[0].tolist(), fluxes[0].tolist(), strict=True):
        light = np.exp(-((centre[:, None] - row) ** 2 + (centre[None] - column) ** 2) / 2)
        want += flux * light / light.sum()
    assert np.allclose(image, want, rtol=1e-10)
    assert image.sum() == pytest.approx(3500)
    assert np.unravel_index(image.argmax(), (16, 16)) == (15, 0)


def test_two_stars_draws_have_the_stated_distribution():
    places, fluxes, counts = STARS.draw(4000, rng())
    assert calibration.ks_uniform(places.flatten() / 16) > 1e-3
    assert stats.kstest(fluxes.flatten().numpy(), stats.norm(2000, 400).cdf).pvalue > 1e-3
    rate = stars.mean_image(places, fluxes)
    z = ((counts - rate) / rate.sqrt())[rate > 20]
    assert abs(z.mean()) < 0.01
    assert z.var().item() == pytest.approx(1, abs=0.02)
    z, x = STARS.sample(300, rng(1))
    assert (z.shape, x.shape, z.dtype, x.dtype) == ((300, 2), (300, 256), torch.float32, torch.float32)
    assert x.amin(1).eq(0).all()
    assert x.amax(1).eq(1).all()
    both, again = stars.TwoStars(both=True).sample(300, rng(1))
    assert torch.equal(both[:, :2], z)
    assert torch.equal(again, x)


@pytest.mark.equation("lbf_npe", "set")
def test_loss_of_a_set_is_the_sum_of_its_members():
    model = stars.star_model(5, 64, 16, 2, generator=rng())
    z, x = stars.TwoStars(both=True).sample(6, rng())
    apart = -model.log_prob(z[:, :2], x) - model.log_prob(z[:, 2:], x)
    assert torch.allclose(model.loss(z, x), apart, atol=1e-4)
    fresh = trapezoid_grid(STARS.low, STARS.high, 30)
    apart = -model.log_prob(z[:, :2], x, normalise_on=fresh) - model.log_prob(z[:, 2:], x, normalise_on=fresh)
    assert torch.allclose(model(z, x, *fresh), apart, atol=1e-4)


def test_star_model_trains_side_by_side_alternating_with_fresh_points():
    def points(g):
        return stars.monte_carlo_nodes(STARS.low, STARS.high, 128, g)

    models = [stars.star_model(9, 128, 16, 2, generator=rng(s)) for s in (0, 1)]
    out = training.train(
        models,
        stars.TwoStars(both=True),
        60,
        32,
        3e-3,
        seeds=[0, 1],
        alternate=10,
        quadrature=points,
        optimizer="adamw",
    )
    assert out["loss"].shape == (60, 2)
    assert (out["loss"][:5].mean(0) - out["loss"][-5:].mean(0) > 0.2).all()


@pytest.mark.equation("lbf_npe", "slope")
def test_image_slopes_against_autograd():
    places, fluxes, _ = STARS.draw(3, rng())
    slopes = star_bound.image_slopes(places, fluxes)
    for i in range(3):
        by_place, by_flux = torch.autograd.functional.jacobian(stars.mean_image, (places[i], fluxes[i]))
        want = torch.cat([by_place.reshape(256, 4), by_flux.reshape(256, 2)], 1)
        assert torch.allclose(slopes[i], want, atol=1e-9)


@pytest.mark.equation("lbf_npe", "information")
def test_information_of_lonely_and_of_crowded_stars():
    """Far from all else a star of F counts and unit width has variance 1/F; a neighbour costs information."""
    fluxes = torch.tensor([[2000.0, 1000.0]]).double()
    lonely = star_bound.location_covariance(torch.tensor([[[4.3, 4.0], [12.0, 11.6]]]).double(), fluxes)[0]
    assert torch.allclose(
        lonely.diagonal() * torch.tensor([2000.0, 2000, 1000, 1000]), torch.ones(4).double(), rtol=2e-3
    )
    assert (lonely - lonely.diagonal().diag()).abs().max() < 1e-6
    crowded = star_bound.location_covariance(torch.tensor([[[8.0, 8.0], [9.0, 8.0]]]).double(), fluxes)[0]
    assert (crowded.diagonal()[[0, 2]] > 1.5 * lonely.diagonal()[[0, 2]]).all()
    slopes = star_bound.image_slopes(torch.tensor([[[8.0, 8.0], [9.0, 8.0]]]).double(), fluxes)[0]
    rate = stars.mean_image(torch.tensor([[8.0, 8.0], [9.0, 8.0]]).double(), fluxes[0]).flatten()
    full = sum(torch.outer(s, s) / r for s, r in zip(slopes, rate, strict=True))
    full += torch.diag(torch.tensor([0, 0, 0, 0, 400.0**-2, 400.0**-2]))
    assert torch.allclose(crowded, full.inverse()[:4, :4], rtol=1e-6)


@pytest.mark.equation("lbf_npe", "bound")
def test_bound_of_lonely_stars_is_the_entropy_of_two_peaks():
    places = torch.tensor([[[4.0, 4.0], [12.0, 12.0]]]).double().expand(20000, -1, -1)
    value = star_bound.laplace_nll(places, torch.full((20000, 2), 2000.0).double(), rng())
    want = math.log(2) + math.log(2 * math.pi * math.e / 2000)
    assert value.mean().item() == pytest.approx(want, abs=4 * value.std().item() / math.sqrt(20000))
    assert value.std().item() == pytest.approx(math.sqrt(0.5), rel=0.03)  # half the sum of two unit exponentials


def test_star_excess_of_a_model_that_knows_nothing():
    model = stars.star_model(4, 64, 16, 2, scale=1e-6, generator=rng())
    excess = star_bound.star_excess(model, 500, rng(), resolution=21)
    assert excess.mean().item() == pytest.approx(2 * math.log(16) + 3.77, abs=0.15)


# Photometric redshifts


@pytest.mark.equation("lbf_npe", "template")
def test_templates_at_four_wavelengths():
    found = photoz.template(torch.tensor([1216.0, 4000.0, 9000.0, 1236.0]).double())
    for k, (a, c) in enumerate(((0.5, 0.8), (-0.5, 0.5), (-1.5, 0.2))):
        assert found[0, k].item() == pytest.approx((1216 / 4000) ** a * (1 - c) * (0.02 + 0.98 / 2), rel=1e-9)
        assert found[1, k].item() == pytest.approx(1 - c / 2, rel=1e-9)
        assert found[2, k].item() == pytest.approx((9000 / 4000) ** a, rel=1e-9)
        blue = 0.02 + 0.98 * special.expit(1)
        assert found[3, k].item() == pytest.approx((1236 / 4000) ** a * (1 - c) * blue, rel=1e-9)


@pytest.mark.equation("lbf_npe", "band")
def test_relative_magnitudes_by_hand():
    z, k, b = 0.8, 1, 3
    found = photoz.relative_magnitudes(torch.tensor([z]))[0]
    assert found.shape == (3, 6)
    assert (found[:, 2] == 0).all()
    flux = []
    for centre in (7546, 6223):
        seen = np.linspace(centre - 500, centre + 500, 21) / (1 + z)
        blue = 0.02 + 0.98 * special.expit((seen - 1216) / 20)
        flux.append(((seen / 4000) ** -0.5 * (0.5 + 0.5 * special.expit((seen - 4000) / 60)) * blue).mean())
    assert found[k, b].item() == pytest.approx(-2.5 * math.log10(flux[0] / flux[1]), rel=1e-6)


@pytest.mark.equation("lbf_npe", "noise")
def test_noise_grows_with_magnitude():
    found = photoz.noise(torch.tensor([20.0, 25.0, 26.0, 40.0]).double())
    assert found.tolist() == pytest.approx([0.0215, 0.17, 0.02 + 0.15 * 10**0.4, 0.6])


@pytest.mark.equation("lbf_npe", "redshift prior")
def test_prior_of_redshifts():
    nodes, log_w = PHOTOZ.quadrature(3001)
    density = stats.gamma(2, scale=0.45)
    want = density.logpdf(nodes[1:, 0]) - math.log(density.cdf(3))
    assert np.allclose(PHOTOZ.log_prior(nodes)[1:], want, atol=1e-12)
    assert (PHOTOZ.log_prior(nodes) + log_w).logsumexp(0).item() == pytest.approx(0, abs=1e-6)
    z, x = PHOTOZ.sample(4000, rng())
    assert stats.kstest(z[:, 0].numpy(), lambda t: density.cdf(t) / density.cdf(3)).pvalue > 1e-3
    assert (z.shape, x.shape, z.dtype, x.dtype) == ((4000, 1), (4000, 6), torch.float32, torch.float32)


def test_colours_and_magnitudes_invert():
    magnitudes = torch.tensor([[20.0, 21, 23, 22, 25, 24.5]])
    assert photoz.observe(magnitudes).tolist() == [[-1, -2, 1, -3, 0.5, 23]]
    assert torch.allclose(photoz.magnitudes_of(photoz.observe(magnitudes)), magnitudes)


@pytest.mark.equation("lbf_npe", "marginal")
def test_likelihood_of_colours_against_adaptive_quadrature():
    z, x = PHOTOZ.sample(40, rng(2))
    rows = [x[:, 5].argmin(), x[:, 5].argmax(), (x[:, 5] - 23).abs().argmin()]
    for i in rows:
        m, shape = photoz.magnitudes_of(x[i].double()).numpy(), photoz.relative_magnitudes(z[i, 0]).numpy()

        def integrand(r, m=m, shape=shape):
            sigma = 0.02 + 0.15 * 10 ** (0.4 * (r - 25))
            return np.exp(stats.norm(r + shape, sigma).logpdf(m).sum(1)).mean() / 6

        near = float(x[i, 5])
        total, _ = integrate.quad(integrand, 20, 26, points=[min(max(near, 20.001), 25.999)], limit=400)
        assert PHOTOZ.log_likelihood(z[i], x[i]).item() == pytest.approx(math.log(total), abs=2e-3)


def test_exact_posterior_of_redshifts_is_calibrated_and_normalised():
    z, x = PHOTOZ.sample(400, rng(3))
    nodes, log_w = PHOTOZ.quadrature(301)
    log_p = PHOTOZ.log_posterior(nodes, x[:, None, :], nodes, log_w)
    assert log_p.shape == (400, 301)
    assert torch.allclose((log_p + log_w).logsumexp(1), torch.zeros(400).double(), atol=1e-9)
    assert calibration.ks_uniform(calibration.pit(log_p, nodes, z)) > 1e-3
    own = PHOTOZ.log_posterior(z, x, nodes, log_w)
    at = np.array([np.interp(t, nodes[:, 0], row) for t, row in zip(z[:, 0], log_p.exp(), strict=True)])
    assert np.median(np.abs(own.exp().numpy() / at - 1)) < 0.02
    assert -own.mean().item() == pytest.approx(PHOTOZ.best_nll, abs=4 * own.std().item() / 20)


def test_faint_objects_have_two_redshifts_more_often():
    z, x = PHOTOZ.sample(30000, rng(4))
    shares = []
    for low, high in ((20, 24), (24, 26)):
        rows = (x[:, 5] > low) & (x[:, 5] < high)
        shares.append(photoz.two_redshifts(z[rows], x[rows]).float().mean().item())
    assert shares[0] < 0.08
    assert 0.12 < shares[1] < 0.25


def test_two_redshifts_sees_a_gap_with_enough_on_both_sides():
    x = torch.zeros(20, 6)
    x[:, 0] = torch.arange(20) * 1e-3
    near = torch.linspace(0.4, 0.5, 20)
    assert not photoz.two_redshifts(near[:, None], x, neighbours=20).any()
    for far, seen in ((1, False), (2, True), (10, True), (18, True), (19, False)):
        z = near.clone()
        z[:far] += 1
        assert photoz.two_redshifts(z[:, None], x, neighbours=20).all().item() == seen


# Bad input


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: STARS.sample(0, rng()), "n must be 1 or more"),
        (lambda: STARS.log_prior(torch.tensor([17.0, 3.0])), "outside"),
        (lambda: stars.mean_image(torch.zeros(2, 2, 2), torch.zeros(2)), "need locations"),
        (lambda: stars.min_max(torch.ones(2, 16, 16)), "same count"),
        (
            lambda: stars.star_model(4, 64, 16, 2, generator=rng()).loss(torch.zeros(2, 3), torch.zeros(2, 256)),
            "S \\* 2",
        ),
        (lambda: star_bound.image_slopes(torch.zeros(2, 3, 2), torch.zeros(2, 3)), "need locations"),
        (lambda: photoz.template(torch.tensor([-1.0])), "positive"),
        (lambda: photoz.relative_magnitudes(torch.tensor([-0.1])), "0 or more"),
        (lambda: PHOTOZ.sample(0, rng()), "n must be 1 or more"),
        (lambda: PHOTOZ.log_prior(torch.tensor([[3.2]])), "outside"),
        (lambda: PHOTOZ.log_likelihood(torch.tensor([1.0]), torch.zeros(5)), r"\(..., 6\)"),
        (lambda: PHOTOZ.log_likelihood(torch.tensor([1.0]), torch.full((6,), math.nan)), "finite"),
        (lambda: PHOTOZ.log_likelihood(torch.tensor([1.0]), torch.tensor([0.0, 0, 0, 0, 0, 10])), "too far"),
        (lambda: photoz.two_redshifts(torch.zeros(10, 1), torch.zeros(10, 6)), "50 objects"),
    ],
)
def test_wrong_input_fails_at_once(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: STARS.sample(3, None),
        lambda: PHOTOZ.sample(3, None),
        lambda: stars.star_model(4, 8, generator=None),
        lambda: star_bound.laplace_nll(*STARS.draw(2, rng())[:2], None),
    ],
)
def test_nothing_is_drawn_without_a_generator(call):
    with pytest.raises(TypeError, match=r"torch\.Generator"):
        call()
