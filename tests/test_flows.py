"""Rectified flows: path, samplers, random streams. Values are worked by hand or in closed form."""

import itertools
import math

import numpy as np
import pytest
import torch

from iclr26lib import flows
from tests.flow_models import MEAN, SPREAD, Broken, Exact, rng, small_mlp

# schedule


@pytest.mark.equation("flows", "shift")
def test_grid_of_ten_steps_shifted_by_three():
    expected = [1, 0.964286, 0.923077, 0.875, 0.818182, 0.75, 0.666667, 0.5625, 0.428571, 0.25, 0]
    grid = flows.shifted_grid(10, 3)
    assert grid.dtype == torch.float64
    assert grid.tolist() == pytest.approx(expected, abs=5e-7)
    assert (grid[0].item(), grid[-1].item()) == (1.0, 0.0)
    assert flows.shift_time(0.3, 3.0) == pytest.approx(0.5625, abs=1e-12)


@pytest.mark.parametrize("shift", [1e-3, 0.1, 0.3, 0.7, 1, 1.1, 3, 7.3, 1e3])
def test_every_grid_ends_exactly_and_falls(shift):
    for n in (1, 2, 7, 50):
        grid = flows.shifted_grid(n, shift)
        assert (grid[0].item(), grid[-1].item()) == (1.0, 0.0)
        assert (grid[1:] < grid[:-1]).all()


@pytest.mark.equation("flows", "shift")
def test_shifting_multiplies_the_odds_of_noise_to_data():
    t = torch.linspace(0.05, 0.95, 7, dtype=torch.float64)
    for shift in (0.5, 1.0, 3.0):
        moved = flows.shift_time(t, shift)
        assert torch.allclose(moved / (1 - moved), shift * t / (1 - t), rtol=1e-12)
    assert torch.allclose(flows.shift_time(flows.shift_time(t, 3.0), 1 / 3), t)


@pytest.mark.equation("flows", "interpolation")
def test_path_runs_from_data_to_noise_with_constant_velocity():
    x0, noise = (torch.randn(5, 2, 3, generator=rng(i), dtype=torch.float64) for i in (1, 2))
    assert torch.equal(flows.interpolate(x0, noise, 0.0)[0], x0)
    assert torch.equal(flows.interpolate(x0, noise, 1.0)[0], noise)
    t = torch.rand(5, generator=rng(3), dtype=torch.float64)
    x_t, v = flows.interpolate(x0, noise, t)
    later = flows.interpolate(x0, noise, t * 0.5)[0]
    assert torch.allclose(x_t - later, 0.5 * t[:, None, None] * v)
    rows = [flows.interpolate(x0[i : i + 1], noise[i : i + 1], t[i].item())[0] for i in range(5)]
    assert torch.allclose(x_t, torch.cat(rows), atol=1e-14)


@pytest.mark.equation("flows", "data")
def test_error_of_the_data_prediction_is_t_times_that_of_the_velocity():
    x0, noise, v_model = (torch.randn(6, 4, generator=rng(i), dtype=torch.float64) for i in (1, 2, 3))
    t = torch.rand(6, generator=rng(4), dtype=torch.float64)
    x_t, v = flows.interpolate(x0, noise, t)
    f = flows.data_prediction(x_t, v_model, t)
    assert torch.allclose((f - x0).square().sum(1), t.square() * (v_model - v).square().sum(1), rtol=1e-12)
    assert torch.allclose(flows.data_prediction(x_t, v, t), x0, atol=1e-14)


def diffusers_scheduler(shift):
    from diffusers import FlowMatchEulerDiscreteScheduler

    return FlowMatchEulerDiscreteScheduler(shift=shift)


@pytest.mark.equation("flows", "shift")
def test_diffusers_shifts_given_times_as_we_do_but_its_own_grid_is_another():
    scheduler = diffusers_scheduler(3.0)
    scheduler.set_timesteps(sigmas=np.linspace(1, 0, 11)[:-1].tolist())
    assert scheduler.sigmas.tolist() == pytest.approx(flows.shifted_grid(10, 3).tolist(), abs=1e-6)
    scheduler.set_timesteps(10)
    own = [1, 0.960129, 0.913349, 0.857692, 0.790368, 0.707278, 0.602151, 0.464876, 0.278049, 0.008929, 0]
    assert scheduler.sigmas.tolist() == pytest.approx(own, abs=2e-6)


# samplers


@pytest.mark.equation("flows", "ode")
def test_euler_steps_are_those_of_diffusers():
    model, grid = small_mlp(), flows.shifted_grid(6, 3)
    noise, c = torch.randn(9, 2, generator=rng()), torch.arange(9) % 3
    ours, path = flows.ode_sample(model, c, grid, None, noise=noise, return_path=True)
    scheduler, x = diffusers_scheduler(1.0), noise
    scheduler.set_timesteps(sigmas=grid[:-1].tolist())
    for k, timestep in enumerate(scheduler.timesteps):
        with torch.no_grad():
            v = model(x, torch.full((9,), timestep.item() / 1000), c)
        x = scheduler.step(v, timestep, x).prev_sample
        assert torch.allclose(path[k + 1], x, atol=2e-6)
    assert torch.equal(ours, path[-1])
    assert path.shape == (7, 9, 2)
    assert (ours - noise).abs().max() > 0.1


@pytest.mark.equation("flows", "ode")
def test_fine_euler_steps_carry_noise_to_the_data_exactly():
    """The flow of Gaussian data is the straight quantile map: x0 = MEAN + SPREAD * noise."""
    noise = torch.randn(50, 2, generator=rng(), dtype=torch.float64)
    model, c = Exact((2,), 3), torch.zeros(50, dtype=torch.int64)
    error = [
        (flows.ode_sample(model, c, flows.shifted_grid(n), None, noise) - MEAN - SPREAD * noise).abs().max().item()
        for n in (100, 400)
    ]
    assert error[1] < 0.02
    assert error[0] / error[1] == pytest.approx(4, rel=0.1)  # first order


@pytest.mark.equation("flows", "sde")
def test_coefficients_of_a_stochastic_step():
    on_x, on_v, sd = flows.sde_coefficients(0.5, 0.4, 0.7, 0.9)
    assert (on_x, on_v, sd) == pytest.approx((0.951, -0.1245, 0.2213594), abs=5e-8)
    first = flows.sde_coefficients(1.0, 0.9, 0.7, 0.8)  # s^2 = 0.49 / (1 - 0.8), and (1 - t) = 0
    assert first == pytest.approx((1 - 0.05 * 2.45, -0.1, math.sqrt(0.245)), abs=1e-12)
    assert flows.sde_coefficients(0.5, 0.4, 0.0, 0.9) == pytest.approx((1.0, -0.1, 0.0), abs=1e-15)


@pytest.mark.equation("flows", "sde")
def test_without_noise_a_stochastic_step_is_an_euler_step():
    model, grid, c = small_mlp(), flows.shifted_grid(5), torch.arange(6) % 3
    ode = flows.ode_sample(model, c, grid, flows.Streams([1], "noise"))
    assert torch.equal(flows.sde_sample(model, c, grid, 0.0, flows.Streams([1], "noise")), ode)


def moments_after(n, a, until=0.0):
    """Mean and variance of Gaussian data's samples after the SDE's affine steps, followed without drawing anything."""
    times, mean, variance = [1 - k / n for k in range(n + 1)], 0.0, 1.0
    for t, t_next in itertools.pairwise(times):
        if t <= until:
            break
        on_x, on_v, sd = flows.sde_coefficients(t, t_next, a, times[1])
        slope = (t - (1 - t) * SPREAD**2) / ((1 - t) ** 2 * SPREAD**2 + t**2)  # v = -MEAN + slope (x - (1 - t) MEAN)
        v_mean = -MEAN + slope * (mean - (1 - t) * MEAN)
        mean, variance = on_x * mean + on_v * v_mean, (on_x + on_v * slope) ** 2 * variance + sd**2
    return mean, variance


@pytest.mark.equation("flows", "sde")
@pytest.mark.parametrize("a", [0.0, 0.7, 1.4])
def test_stochastic_steps_keep_every_marginal_of_the_flow(a):
    """At time t the flow has mean (1 - t) m and variance (1 - t)^2 s^2 + t^2, whatever the noise level."""
    for t in (0.0, 0.25, 0.5):
        mean, variance = moments_after(4000, a, t)
        assert mean == pytest.approx((1 - t) * MEAN, abs=2e-3)
        assert variance == pytest.approx((1 - t) ** 2 * SPREAD**2 + t**2, abs=2e-3)


@pytest.mark.equation("flows", "sde")
def test_stochastic_samples_have_the_mean_and_spread_of_the_ode():
    """20,000 samples: the standard error is 0.003 for the mean, 0.002 for the spread; 0.015 is 5 of them."""
    model, c = Exact((2,), 3), torch.zeros(10_000, dtype=torch.int64)
    grid = flows.shifted_grid(400, 1.0)
    x = flows.sde_sample(model, c, grid, 0.7, flows.Streams([3], "sde"))
    assert x.mean().item() == pytest.approx(MEAN, abs=0.015)
    assert x.std().item() == pytest.approx(SPREAD, abs=0.015)


@pytest.mark.equation("flows", "logprob")
def test_log_probability_is_the_normal_density_averaged_over_dimensions():
    from scipy import stats

    x, mean = (torch.randn(4, 3, 2, generator=rng(i), dtype=torch.float64) for i in (1, 2))
    expected = stats.norm.logpdf(x.numpy(), mean.numpy(), 0.3).reshape(4, -1).mean(1)
    assert flows.gaussian_log_prob(x, mean, 0.3).tolist() == pytest.approx(expected.tolist(), rel=1e-12)


@pytest.mark.equation("flows", "logprob")
def test_path_and_log_probabilities_belong_together():
    model, grid, c = small_mlp(), flows.shifted_grid(4), torch.arange(6) % 3
    x0, path, log_probs = flows.sde_sample(model, c, grid, 0.7, rng(), return_path=True)
    assert (path.shape, log_probs.shape) == ((5, 6, 2), (4, 6))
    assert torch.equal(path[-1], x0)
    for k in range(4):
        t, t_next = grid[k].item(), grid[k + 1].item()
        on_x, on_v, sd = flows.sde_coefficients(t, t_next, 0.7, grid[1].item())
        with torch.no_grad():
            mean = on_x * path[k] + on_v * model(path[k], torch.full((6,), t), c)
        normal = torch.distributions.Normal(mean, sd).log_prob(path[k + 1]).mean(1)
        assert torch.allclose(log_probs[k], normal, atol=1e-5)


@pytest.mark.parametrize("sample", [flows.ode_sample, lambda *a: flows.sde_sample(*a[:3], 0.5, a[3])])
def test_a_sampler_names_the_step_that_went_wrong(sample):
    """Times are 1, 0.75, 0.5, 0.25, 0: the model breaks at the fourth."""
    c = torch.zeros(4, dtype=torch.int64)
    with pytest.raises(FloatingPointError, match="step 3 of"):
        sample(Broken((2,), 3), c, flows.shifted_grid(4, 1.0), rng())


def test_samplers_leave_no_graph_and_follow_their_generator():
    model, grid, c = small_mlp(), flows.shifted_grid(3), torch.arange(6) % 3
    first = flows.ode_sample(model, c, grid, rng(1))
    assert not first.requires_grad
    assert torch.equal(first, flows.ode_sample(model, c, grid, rng(1)))
    assert not torch.equal(first, flows.ode_sample(model, c, grid, rng(2)))


def test_an_ensemble_samples_what_its_models_sample_alone():
    models, grid, c = [small_mlp(i) for i in range(3)], flows.shifted_grid(5), torch.arange(4) % 3
    for sample in (flows.ode_sample, lambda *a: flows.sde_sample(*a[:3], 0.7, a[3])):
        together = sample(flows.Replicas(models), c.repeat(3), grid, flows.Streams([4, 5, 6], "roll"))
        alone = [sample(m, c, grid, flows.Streams([4 + i], "roll")) for i, m in enumerate(models)]
        assert torch.allclose(together, torch.cat(alone), atol=1e-6)


# streams


def test_a_seed_draws_beside_others_what_it_draws_alone():
    together, alone = flows.Streams([3, 1, 8], "data"), flows.Streams([1], "data")
    assert together.replicas == 3
    assert torch.equal(together.normal(5, 2, 3)[5:10], alone.normal(5, 2, 3))
    assert torch.equal(together.uniform(7)[7:14], alone.uniform(7))
    assert torch.equal(together.integers(9, 6)[6:12], alone.integers(9, 6))
    assert torch.equal(together.subset(4, 9)[1], alone.subset(4, 9)[0])
    assert not torch.equal(flows.Streams([1], "other").normal(5), flows.Streams([1], "data").normal(5))


def test_draws_have_their_shapes_ranges_and_moments():
    streams = flows.Streams(range(4), "range")
    normal, uniform, whole = streams.normal(2000, 3), streams.uniform(2000), streams.integers(5, 2000)
    assert (normal.shape, uniform.shape, whole.shape) == ((8000, 3), (8000,), (8000,))
    assert (normal.mean().item(), normal.std().item()) == pytest.approx((0, 1), abs=0.03)
    assert (uniform.min().item() >= 0, uniform.max().item() < 1) == (True, True)
    assert uniform.mean().item() == pytest.approx(0.5, abs=0.02)
    assert whole.unique().tolist() == [0, 1, 2, 3, 4]


def test_a_subset_is_ascending_distinct_and_fair():
    streams = flows.Streams(range(3), "subset")
    drawn = torch.cat([streams.subset(2, 5) for _ in range(2000)])
    assert drawn.dtype == torch.int64
    assert (drawn[:, 0] < drawn[:, 1]).all()
    assert torch.bincount(drawn.flatten(), minlength=5).tolist() == pytest.approx([2400] * 5, rel=0.06)
    assert streams.subset(5, 5).tolist() == [[0, 1, 2, 3, 4]] * 3


def test_streams_go_on_from_a_stored_state(tmp_path):
    streams = flows.Streams([2, 7], "run")
    streams.normal(3)
    torch.save(streams.state(), tmp_path / "state.pt")
    expected = streams.normal(4)
    other = flows.Streams([2, 7], "run")
    other.restore(torch.load(tmp_path / "state.pt", weights_only=True))
    assert torch.equal(other.normal(4), expected)
    for wrong in (flows.Streams([2, 8], "run"), flows.Streams([2, 7], "walk")):
        with pytest.raises(ValueError, match="does not fit stream"):
            wrong.restore(streams.state())
