"""The advisor, the exercises, the pictures of the idea notebook and the benchmark's own parts."""

import io
import math

import matplotlib.pyplot as plt
import pytest
import torch
from matplotlib.figure import Figure
from PIL import Image
from scipy import stats

from benchmarks import lbf_npe as bench
from iclr26lib import lbf_npe, style
from iclr26lib.exercises import WrongAnswer
from iclr26lib.lbf_npe import advisor, figures, metrics
from iclr26lib.lbf_npe.exercises import EXERCISES
from iclr26lib.seeding import generator


def rng(seed=0):
    return generator(seed, "test idea")


class Machine:
    """The notebook's example: failure rate z, Gamma(2) cut at 6; x the log of the time of the fifth failure."""

    low, high = (0.0,), (6.0,)

    def sample(self, n, generator):
        u = torch.rand(n, 1, generator=generator)
        rate = torch.as_tensor(stats.gamma.ppf(u * stats.gamma.cdf(6, 2), 2)).float()
        waits = -torch.log1p(-torch.rand(n, 5, generator=generator)) / rate
        return rate, waits.sum(1, keepdim=True).log()

    @staticmethod
    def log_posterior(z, x):
        exact = stats.gamma(7, scale=1 / (1 + x.double().exp()))
        return torch.as_tensor(exact.logpdf(z) - exact.logcdf(6))


class Made:
    """A simulator from a function (n, generator) -> (z, x)."""

    def __init__(self, sample):
        self.sample = sample


def noisy(prior, noise):
    """z from `prior(u)` of uniform u, x = z + noise."""

    def sample(n, generator):
        z = prior(torch.rand(n, 1, generator=generator))
        return z, z + noise * torch.randn(n, 1, generator=generator)

    return Made(sample)


# the advisor


def test_one_dimension_gets_splines_as_fine_as_the_narrowest_peak():
    wide, narrow = (advisor.suggest(noisy(lambda u: u, s), rng(), low=(0,), high=(1,)) for s in (0.2, 0.01))
    assert (wide.K, wide.grid, wide.scale) == (14, 201, None)
    assert narrow.narrowest == pytest.approx(0.01, rel=0.35)
    assert math.ceil(1 / (2 * narrow.narrowest)) + 2 == narrow.K
    assert narrow.grid == math.ceil(8 / narrow.narrowest) + 1
    assert "B-splines" in str(narrow)
    assert str(narrow).count("\n- ") == 2
    assert "as given" in narrow.reasons[0]


def test_two_modes_are_not_taken_for_one_wide_one():
    def sample(n, generator):
        z = 2 * torch.rand(n, 1, generator=generator) - 1
        return z, z.abs() + 0.02 * torch.randn(n, 1, generator=generator)

    advice = advisor.suggest(Made(sample), rng(), low=(-1,), high=(1,))
    assert advice.narrowest == pytest.approx(0.01, rel=1.2)  # 0.02 / 2; two equal peaks make it twice that at most


def test_the_box_is_the_range_widened_unless_it_is_given():
    flat = advisor.suggest(noisy(lambda u: u, 0.1), rng())
    assert flat.low[0] == pytest.approx(-0.005, abs=0.003)
    assert flat.high[0] == pytest.approx(1.005, abs=0.003)
    tail = advisor.suggest(noisy(lambda u: -torch.log1p(-u), 0.5), rng())
    assert tail.high[0] > 11.5  # beyond the quantile of 1 - 1e-5, which 20,000 draws seldom reach
    assert "pass low and high" in tail.reasons[0]
    assert advisor.suggest(Machine(), rng()).high == (6.0,)


def test_two_dimensions_get_a_learnt_basis_with_the_scale_that_the_floor_asks_for():
    ring = lbf_npe.SIMULATORS["ring"]
    advice = advisor.suggest(ring, rng())
    assert (advice.d, advice.K, advice.scale) == (2, 20, 10.0)
    assert 32 <= advice.grid <= 64
    nodes, log_w = ring.quadrature(100)
    log_p = ring.log_posterior(nodes, torch.tensor([[0.7]]), nodes, log_w)
    peak = 4 * log_p.exp().max().item()
    assert metrics.scale_floor(log_p, log_w, 0.5 * math.log(peak / advisor.LEAK)) < advisor.LEAK
    assert "w = 10" in str(advice)


def test_a_smaller_leak_raises_the_scale_above_the_default(monkeypatch):
    monkeypatch.setattr(advisor, "LEAK", 1e-12)
    assert 14 <= advisor.suggest(lbf_npe.SIMULATORS["ring"], rng()).scale <= 16  # half of log(5 to 11 / 1e-12), up


def test_a_posterior_too_thin_for_a_grid_is_refused():
    def sample(n, generator):
        z = torch.rand(n, 2, generator=generator)
        return z, z + 1e-4 * torch.randn(n, 2, generator=generator)

    with pytest.raises(ValueError, match="nodes an axis, more than 128"):
        advisor.suggest(Made(sample), rng(), low=(0, 0), high=(1, 1))


def test_the_suggested_model_is_ready_to_train():
    for simulator, d in ((Machine(), 1), (lbf_npe.SIMULATORS["bands"], 2)):
        advice = advisor.suggest(simulator, rng())
        model = advice.model(rng(1), width=8, depth=1)
        z, x = simulator.sample(50, rng(2))
        assert model.d == advice.d == d
        assert len(model.nodes) == advice.grid**d
        assert model.adaptive == (d == 2)
        assert torch.equal(model.x_mean, advice.x_stats[0])
        assert torch.isfinite(model.loss(z, x)).all()
        again = advice.model(rng(1), width=8, depth=1)
        assert torch.equal(model.log_prob(z, x), again.log_prob(z, x))


def test_the_ten_lines_give_a_calibrated_posterior():
    machine = Machine()
    model, advice = advisor.posterior(machine, steps=300, seed=0)
    z, x = machine.sample(2000, rng(5))
    nodes, _ = lbf_npe.trapezoid_grid(0.0, 6.0, 601)
    excess = (machine.log_posterior(z, x)[:, 0] + lbf_npe.nll_values(model, z, x)).mean().item()
    assert -0.001 < excess < 0.03
    with torch.no_grad():
        levels = lbf_npe.pit(model.log_density(nodes, x), nodes, z)
    assert lbf_npe.ks_uniform(levels) > 0.001
    assert lbf_npe.ks_uniform(levels**1.2) < 0.001  # the check has the power to see a bend
    assert advice.high == (6.0,)


def constant(n, generator):
    return torch.ones(n, 1), torch.rand(n, 1, generator=generator)


def blind(n, generator):
    return torch.rand(n, 1, generator=generator), torch.ones(n, 1)


def broken(n, generator):
    z = torch.rand(n, 1, generator=generator)
    return z, torch.where(z < 0.1, math.nan, z)


def flat(n, generator):
    return torch.rand(n, generator=generator), torch.rand(n, 1, generator=generator)


def three(n, generator):
    return torch.rand(n, 3, generator=generator), torch.rand(n, 1, generator=generator)


def exact(n, generator):
    z = torch.rand(n, 1, generator=generator)
    return z, z


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        (constant, "an entry of z never varies"),
        (blind, "an entry of x never varies"),
        (broken, "simulated x are not finite"),
        (flat, r"must return z as a tensor \(20000, size\)"),
        (lambda n, generator: ([1.0] * n, torch.rand(n, 1, generator=generator)), "must return z as a tensor"),
        (three, "3 dimensions: a grid"),
        (exact, "more than 150: take a narrower box"),
    ],
)
def test_what_no_setting_can_mend_is_refused(sample, message):
    with pytest.raises(ValueError, match=message):
        advisor.suggest(Made(sample), rng())


def test_bad_arguments_of_the_advisor():
    with pytest.raises(ValueError, match="pairs must be 1000 or more, got 10"):
        advisor.suggest(Machine(), rng(), pairs=10)
    with pytest.raises(TypeError, match="needs sample"):
        advisor.suggest(object(), rng())
    with pytest.raises(TypeError, match=r"torch\.Generator"):
        advisor.suggest(Machine(), None)
    with pytest.raises(ValueError, match="a simulated z lies outside"):
        advisor.suggest(Machine(), rng(), low=(0,), high=(2,))
    with pytest.raises(TypeError, match=r"torch\.Generator"):
        advisor.suggest(Machine(), rng()).model(None)


def test_many_numbers_an_observation_are_warned_about():
    def sample(n, generator):
        z = torch.rand(n, 1, generator=generator)
        return z, z + 0.3 * torch.randn(n, 5, generator=generator)

    assert "5 numbers" in advisor.suggest(Made(sample), rng()).reasons[-1]


# the exercises


@pytest.mark.parametrize("name", EXERCISES)
def test_checkers_take_the_solution_and_the_library_and_name_each_mistake(name):
    exercise = EXERCISES[name]
    module, function = exercise.library.split(":")
    assert module == "iclr26lib.lbf_npe.method"
    assert "right" in exercise.check(exercise.solution)
    assert "right" in exercise.check(getattr(lbf_npe, function))
    assert len(exercise.mistakes) >= 3
    for label, mistake in exercise.mistakes.items():
        with pytest.raises(WrongAnswer) as caught:
            exercise.check(mistake.fn)
        assert str(caught.value) == f"{exercise.id}: {label}. {mistake.message}"


# the pictures


@pytest.fixture
def sinusoid_case():
    style.use()
    simulator = lbf_npe.SIMULATORS["sinusoid"]
    nodes, log_w = simulator.quadrature(61)
    log_p = simulator.log_posterior(nodes, torch.tensor([[2.0]]), nodes, log_w)
    return simulator, nodes, log_w, log_p


def test_the_sum_of_the_bumps_is_the_line_drawn(sinusoid_case):
    _, nodes, _, log_p = sinusoid_case
    parts = lbf_npe.bspline_basis(nodes[:, 0], 0.0, 2 * math.pi, 5) * torch.tensor([1.0, -2.0, 0.5, -1.0, 1.0])
    figure = figures.bumps(nodes, {"exact": log_p.exp(), "lbf": log_p.exp()}, parts, 2.0, "title")
    below = figure.axes[1]
    lines = {line.get_label(): line.get_ydata() for line in below.lines}
    assert torch.allclose(torch.as_tensor(lines["sum of the bumps"]), parts.sum(-1))
    assert torch.allclose(torch.as_tensor(lines["exact"]), log_p + math.log(2 * math.pi), atol=1e-6)
    assert not plt.get_fignums()


def test_the_other_pictures_draw_what_they_are_given(sinusoid_case):
    simulator, nodes, _, log_p = sinusoid_case
    z, x = simulator.sample(20, rng())
    densities = torch.stack([log_p.exp(), 0.9 * log_p.exp()])
    figure = figures.problem(z, x, 2.0, nodes, log_p.exp(), densities, torch.tensor([0.5, 0.25]))
    labels = [text.get_text() for text in figure.axes[1].get_legend().get_texts()]
    assert labels == ["worst of 2: KL 0.500", "best of 2: KL 0.250", "exact posterior"]
    assert isinstance(figures.basis(nodes, lbf_npe.bspline_basis(nodes[:, 0], 0.0, 2 * math.pi, 5)), Figure)
    two = figures.starts(torch.rand(4, 3, generator=rng()), torch.rand(9, 3, generator=rng()))
    assert [len(ax.lines) for ax in two.axes] == [4, 4]  # three starts, and the dots at their ends
    own = figures.own(nodes, {"2 days": (log_p.exp(), log_p.exp())}, torch.linspace(0, 1, 100))
    assert sum(bar.get_height() for bar in own.axes[1].patches[:10]) == 100
    parts = torch.linspace(-1, 1, 64 * 9).reshape(64, 9)
    shown = figures.ring({"exact": torch.rand(36, generator=rng()), "lbf": torch.rand(36, generator=rng())}, parts,
                         {"lbf": 0.25}, 0.7)  # fmt: skip
    assert [ax.get_title(loc="center") for ax in shown.axes[:2]] == ["exact", "LBF\nKL 0.250"]
    assert sum(bool(ax.images) for ax in shown.axes) == 2 + 9


def test_alt_texts_say_what_a_frame_shows():
    low, high = (figures.bumps_alt(x, 50, {"lbf": 0.001, "mdn": 0.05}) for x in (0.0, 2.0))
    assert "four low humps" in low
    assert "near 1" in high
    assert "MDN 0.0500" in high
    arcs = figures.ring_alt(1.2, {"nsf": 0.1}, [1.0, 0.6, 0.2])
    assert "arcs in the corners" in arcs
    assert "2 of 3 basis functions" in arcs


def test_a_compact_picture_is_small_and_the_same_to_the_eye(sinusoid_case):
    nodes = sinusoid_case[1]
    figure = figures.basis(nodes, lbf_npe.bspline_basis(nodes[:, 0], 0.0, 2 * math.pi, 5))
    raw = io.BytesIO()
    figure.savefig(raw, format="png", dpi=figure.dpi, bbox_inches="tight")
    packed = figures.compact(figure).data
    assert len(packed) < len(raw.getvalue()) / 2
    one, two = (Image.open(io.BytesIO(data)).convert("L") for data in (raw.getvalue(), packed))
    assert one.size == two.size
    difference = (torch.tensor(list(one.getdata())) - torch.tensor(list(two.getdata()))).abs().double()
    assert difference.mean() < 2
    with pytest.raises(ValueError, match=r"2\.\.256, got 1"):
        figures.compact(figure, 1)


# the benchmark


def test_the_benchmark_stops_at_the_criterion_and_says_so_when_it_is_not_met(monkeypatch):
    values = iter([0.9, 0.4, 0.1])
    monkeypatch.setattr(bench, "sinusoid_excess", lambda seed: lambda model: next(values))
    monkeypatch.setattr(bench, "CLOSE", 0.5)
    seconds, step, value = bench.reach("sinusoid", "lbf", 0, 60)
    assert (step, seconds > 0, value) == (50, True, 0.4)
    monkeypatch.setattr(bench, "sinusoid_excess", lambda seed: lambda model: 0.7)
    assert bench.reach("sinusoid", "lbf", 0, 30)[1:] == (None, 0.7)
    cells, bound = bench.row("sinusoid", "mdn", 1, 5, 1.0)
    assert bound is None
    assert cells[1].startswith("> ")
    assert cells[3:5] == ["> 5", "0.7000"]


def test_the_criteria_of_the_benchmark_see_an_untrained_model():
    assert bench.sinusoid_excess(0)(bench.estimators("sinusoid", 0)["lbf"]) > 0.05
    assert bench.ring_kl(0)(bench.estimators("ring", 0)["mdn"]) > 0.5


def test_the_memory_of_the_normaliser_grows_with_the_nodes():
    simulator, gen = lbf_npe.SIMULATORS["sinusoid"], rng()

    def kept(nodes):
        basis = lbf_npe.BSplines(0.0, 2 * math.pi, 14)
        model = lbf_npe.LBF(1, basis, 14, *simulator.quadrature(nodes), width=8, depth=1, generator=gen)
        return bench.kept_for_backward(model, simulator)

    table = bench.BATCH * 4 / 1e6  # megabytes of one node in the B x P table
    assert (kept(1001) - kept(201)) / 800 == pytest.approx(table, rel=0.1)
