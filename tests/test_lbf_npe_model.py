"""The networks, training several seeds at once, sampling, and the checks that a result must survive."""

import itertools
import math
from dataclasses import dataclass

import pytest
import torch
from scipy import stats
from torch import nn

from iclr26lib import lbf_npe
from iclr26lib.lbf_npe import metrics, model, training
from iclr26lib.seeding import generator

TWO_PI = 2 * math.pi
SINUSOID, RING = lbf_npe.SIMULATORS["sinusoid"], lbf_npe.SIMULATORS["ring"]


def rng(seed=0, stream="test"):
    return generator(seed, stream)


def splines(seed=0, K=14, n=101, width=16, depth=2, **more):
    basis = lbf_npe.BSplines(0.0, TWO_PI, K)
    return lbf_npe.LBF(1, basis, K, *SINUSOID.quadrature(n), None, width, depth, generator=rng(seed, "init"), **more)


def learnt(seed=0, K=4, n=12, width=16, depth=2, sphere=True, **more):
    g = rng(seed, "init")
    basis = lbf_npe.mlp(2, width, depth, K - sphere, g)
    grid = lbf_npe.trapezoid_grid((-1.0, -1.0), (1.0, 1.0), n)
    return lbf_npe.LBF(1, basis, K, *grid, width=width, depth=depth, generator=g, stereographic=sphere, **more)


def weights(module):
    return torch.cat([p.detach().flatten() for p in module.parameters()])


# the networks


def test_body_is_linear_layernorm_relu_and_starts_inside_its_bounds():
    net = lbf_npe.mlp(3, 8, 4, 2, rng())
    kinds = [type(layer) for layer in net]
    assert kinds == [nn.Linear, nn.LayerNorm, nn.ReLU] * 4 + [nn.Linear]
    assert net(torch.zeros(5, 3)).shape == (5, 2)
    assert net[0].weight.abs().max() <= 3**-0.5
    assert net[3].weight.abs().max() <= 8**-0.5
    assert net[3].weight.std().item() == pytest.approx(8**-0.5 / 3**0.5, rel=0.15)
    assert (weights(net) == weights(lbf_npe.mlp(3, 8, 4, 2, rng()))).all()
    assert (weights(net) != weights(lbf_npe.mlp(3, 8, 4, 2, rng(1)))).any()


def test_building_a_network_leaves_the_global_generator_alone():
    before = torch.get_rng_state()
    lbf_npe.mlp(3, 8, 2, 2, rng())
    assert (torch.get_rng_state() == before).all()


def test_convolutions_start_from_the_generator_too():
    layer = lbf_npe.initialise_(nn.Conv2d(2, 3, 4), rng())
    again = lbf_npe.initialise_(nn.Conv2d(2, 3, 4), rng())
    assert (layer.weight == again.weight).all()
    assert layer.weight.abs().max() <= 32**-0.5


@pytest.mark.equation("lbf_npe", "family")
@pytest.mark.parametrize("make", [splines, learnt, lambda: learnt(sphere=False)], ids=["splines", "sphere", "plain"])
def test_density_is_normalised_and_its_three_readings_agree(make):
    q, x = make(), torch.tensor([[0.3], [0.9]])
    log_q = q.log_density(q.nodes, x)
    assert (log_q + q.log_w).logsumexp(-1).abs().max() < 1e-5
    for column in (0, 7, 50):
        at = q.nodes[[column, column]]
        assert (q.log_prob(at, x) - log_q[:, column]).abs().max() < 1e-5
        assert (q.loss(at, x) + log_q[:, column]).abs().max() < 1e-5
    by_hand = (q.f(x)[:, None] * q.s(q.nodes)).sum(-1)
    assert (by_hand - by_hand[:, :1] - (log_q - log_q[:, :1])).abs().max() < 1e-5


def test_normalising_on_a_finer_grid():
    q, x = splines(n=8), torch.tensor([[0.3], [2.0]])
    finer = lbf_npe.trapezoid_grid(0, TWO_PI, 4001)
    fine = q.log_density(finer[0], x, normalise_on=finer)
    assert (fine + finer[1]).logsumexp(-1).abs().max() < 1e-5
    assert (q.log_prob(finer[0][[5, 900]], x, normalise_on=finer) - fine[[0, 1], [5, 900]]).abs().max() < 1e-5
    assert (q.log_density(finer[0], x) + finer[1]).logsumexp(-1).abs().max() > 1e-4


def test_stereographic_form_is_bounded_by_its_scale_and_both_sides_lie_on_the_sphere():
    q = learnt(scale=3.0)
    x, z = 10 * torch.randn(20, 1, generator=rng()), 2 * torch.rand(20, 2, generator=rng()) - 1
    assert (q.f(x).norm(dim=-1) - 3).abs().max() < 1e-5
    assert (q.s(z).norm(dim=-1) - 1).abs().max() < 1e-6
    assert learnt().scale == model.SCALE == 10
    assert learnt(sphere=False).f(x).shape == (20, 4)


def test_learnt_basis_sees_the_box_as_minus_one_to_one_and_a_fixed_one_sees_the_latent():
    seen = []

    class Spy(nn.Linear):
        def forward(self, z):
            seen.append(z)
            return super().forward(z)

    grid = lbf_npe.trapezoid_grid((0.0, 10.0), (2.0, 30.0), 3)
    q = lbf_npe.LBF(1, Spy(2, 3), 4, *grid, width=4, depth=1, generator=rng())
    assert seen[0].tolist() == [[a, b] for a in (-1, 0, 1) for b in (-1, 0, 1)]
    assert q.low == (0.0, 10.0)
    fixed = lbf_npe.LBF(1, lambda z: seen.append(z) or z, 2, *grid, width=4, depth=1, generator=rng())
    assert (seen[1] == grid[0]).all()
    assert not fixed.adaptive


def test_observations_are_standardised_by_what_is_given():
    q, plain = splines(x_stats=(torch.tensor([2.0]), torch.tensor([4.0]))), splines()
    x = torch.tensor([[6.0], [-2.0]])
    assert (q.f(x) - plain.f((x - 2) / 4)).abs().max() < 1e-6
    mean, spread = lbf_npe.observation_statistics(SINUSOID, rng(), 20_000)
    assert mean.item() == pytest.approx(0, abs=0.05)
    assert spread.item() == pytest.approx(1.5**0.5, abs=0.03)


def test_haar_and_monte_carlo_nodes_make_a_model_too():
    nodes, log_w = lbf_npe.monte_carlo_nodes(0.0, 1.0, 500, rng())
    q = lbf_npe.LBF(
        1, lbf_npe.Haar(0.0, 1.0, 3), 7, nodes, log_w, width=8, depth=1, generator=rng(), low=(0.0,), high=(1.0,)
    )
    assert q.low == (0.0,)
    assert q.log_prob(torch.tensor([[1.0]]), torch.tensor([[0.2]])).shape == (1,)
    assert (q.s(nodes) == lbf_npe.haar_basis(nodes[:, 0], 0, 1, 3)).all()


# draws


def test_one_dimensional_draws_follow_the_density():
    q, x = splines(), torch.tensor([[1.0], [-2.0]])
    with torch.no_grad():
        q.net[-1].bias.copy_(torch.linspace(-2, 2, 14))
    draws = q.sample(x, 40_000, rng())
    assert draws.shape == (2, 40_000, 1)
    fine = lbf_npe.trapezoid_grid(0, TWO_PI, 2001)
    p = (q.log_density(fine[0], x, normalise_on=fine) + fine[1]).exp().double()
    mean, second = p @ fine[0][:, 0], p @ fine[0][:, 0].square()
    assert (draws[..., 0].mean(-1) - mean).abs().max() < 5 * ((second - mean**2) / 40_000).max() ** 0.5
    for edge in (1.0, 5.0, 6.0):
        inside = p[:, fine[0][:, 0] < edge].sum(-1)
        assert ((draws[..., 0] < edge).double().mean(-1) - inside).abs().max() < 0.013
    assert draws.min() >= 0
    assert draws.max() <= TWO_PI + 1e-6


def test_draws_on_a_coarse_grid_follow_the_interpolant():
    """Density 1 + z1 z2 on [-1, 1]^2 is bilinear: two nodes an axis are enough, and E[z1 z2] = 1/9, E[z1^2] = 1/3."""
    nodes, log_w = lbf_npe.trapezoid_grid((-1, -1), (1, 1), 2)
    z = lbf_npe.sample_grid((1 + nodes.prod(-1)).log()[None], nodes, log_w, 100_000, rng())[0]
    assert z.abs().max() <= 1
    assert z.prod(-1).mean().item() == pytest.approx(1 / 9, abs=0.006)
    assert z.square().mean(0).tolist() == pytest.approx([1 / 3, 1 / 3], abs=0.006)
    assert z.mean(0).tolist() == pytest.approx([0, 0], abs=0.01)


def test_draws_of_a_constant_density_are_uniform_up_to_the_ends():
    nodes, log_w = lbf_npe.trapezoid_grid(0, 1, 3)
    z = lbf_npe.sample_grid(torch.zeros(1, 3), nodes, log_w, 50_000, rng())[0, :, 0]
    assert stats.kstest(z.numpy(), "uniform").pvalue > 0.01


def test_two_dimensional_draws_stay_on_the_ring():
    class Exact(nn.Module):
        def forward(self, z):
            t = z.square().sum(-1)
            return torch.stack([t, t.square()], -1)

    q = lbf_npe.LBF(1, Exact(), 2, *RING.quadrature(64), width=4, depth=1, generator=rng())
    with torch.no_grad():
        q.net[-1].weight.zero_()
        q.net[-1].bias.copy_(torch.tensor([70.0, -50.0]))  # the posterior at x = 0.7
    z = q.sample(torch.tensor([[0.7]]), 20_000, rng())[0]
    t = z.square().sum(-1)
    assert t.mean().item() == pytest.approx(0.7, abs=0.01)
    assert t.std().item() == pytest.approx(0.1, abs=0.005)
    assert z.mean(0).abs().max() < 0.025


# training


def test_seeds_trained_at_once_learn_what_they_learn_alone():
    seeds = [3, 5, 8]
    for make, simulator, alternate in ((splines, SINUSOID, None), (learnt, RING, 4)):
        together, looped = [make(s) for s in seeds], [make(s) for s in seeds]
        settings = {"steps": 20, "batch": 32, "lr": 1e-3, "alternate": alternate, "schedule": "cosine"}
        lbf_npe.train(together, simulator, seeds=seeds, **settings)
        lbf_npe.train(looped, simulator, seeds=seeds, vectorise=False, **settings)
        for i, seed in enumerate(seeds):
            alone = make(seed)
            lbf_npe.train([alone], simulator, seeds=[seed], **settings)
            assert (weights(alone) - weights(make(seed))).abs().max() > 1e-3
            assert (weights(together[i]) - weights(alone)).abs().max() < 1e-5
            assert (weights(looped[i]) - weights(alone)).abs().max() < 1e-5


@pytest.mark.parametrize(("name", "kind"), [("adam", torch.optim.Adam), ("adamw", torch.optim.AdamW)])
def test_training_is_the_plain_optimiser_on_the_mean_loss(name, kind):
    q, by_hand = learnt(4), learnt(4)
    result = lbf_npe.train([q], RING, 3, 16, 1e-2, seeds=[7], schedule="cosine", optimizer=name)
    optimizer, stream, losses = kind(by_hand.parameters()), generator(7, "data"), []
    for rate in (1e-2, 0.75e-2, 0.25e-2):
        optimizer.param_groups[0]["lr"] = rate
        loss = by_hand.loss(*RING.sample(16, stream)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert (weights(q) - weights(by_hand)).abs().max() < 1e-5
    assert (weights(q.basis) != weights(learnt(4).basis)).any()
    assert result["loss"][:, 0].tolist() == pytest.approx(losses, abs=1e-5)


@pytest.mark.parametrize("vectorise", [True, False])
def test_frozen_parameters_do_not_move(vectorise):
    """Blocks of 2: f moves in steps 0, 1, 4, 5 and s in 2, 3."""
    moved = []

    def watch(q):
        state = (weights(q.net).clone(), weights(q.basis).clone())
        moved.append(state)
        return len(moved)

    q = learnt()
    settings = {"alternate": 2, "checkpoints": range(7), "evaluate": watch, "vectorise": vectorise}
    lbf_npe.train([q], RING, 6, 16, 1e-2, seeds=[0], **settings)
    changes = [[bool((a != b).any()) for a, b in zip(one, two, strict=True)] for one, two in itertools.pairwise(moved)]
    assert changes == [[True, False]] * 2 + [[False, True]] * 2 + [[True, False]] * 2
    assert all(p.requires_grad for p in q.parameters())


def test_each_side_keeps_its_own_optimiser_state():
    """Adam's first step has the size of the learning rate: so has the first step of s, after two steps of f."""
    at = {}
    q = learnt(sphere=False)
    settings = {"alternate": 2, "checkpoints": (2, 3), "evaluate": lambda m: at.update({len(at): weights(m.basis)})}
    lbf_npe.train([q], RING, 3, 64, 1e-3, seeds=[0], **settings)
    step = (at[1] - at[0]).abs()
    assert step.max().item() == pytest.approx(1e-3, rel=1e-2)


def test_every_method_of_a_seed_sees_the_same_batches():
    seen = {}

    @dataclass(frozen=True)
    class Spy:
        name: str

        def sample(self, n, g):
            pair = SINUSOID.sample(n, g)
            seen.setdefault(self.name, []).append(pair[0])
            return pair

    lbf_npe.train([splines(0), splines(1)], Spy("a"), 2, 8, 1e-3, seeds=[0, 1])
    lbf_npe.train([splines(1, K=5)], Spy("b"), 2, 8, 1e-3, seeds=[1])
    assert (torch.stack(seen["a"][1::2]) == torch.stack(seen["b"])).all()
    assert (seen["a"][0] != seen["a"][1]).any()
    assert (seen["b"][0] != seen["b"][1]).any()


def test_fresh_monte_carlo_nodes_at_every_step():
    drawn = []

    def quadrature(g):
        drawn.append(lbf_npe.monte_carlo_nodes((-1.0, -1.0), (1.0, 1.0), 50, g))
        return drawn[-1]

    models = [learnt(0), learnt(1)]
    expected = [learnt(s) for s in (0, 1)]
    result = lbf_npe.train(models, RING, 2, 16, 1e-3, seeds=[0, 1], quadrature=quadrature)
    assert len(drawn) == 4
    assert (drawn[0][0] != drawn[2][0]).any()
    for i in (0, 1):
        first = expected[i](*RING.sample(16, generator(i, "data")), *drawn[i]).mean()
        assert result["loss"][0, i].item() == pytest.approx(first.item(), abs=1e-5)


def test_checkpoints_hold_what_was_learnt_until_then():
    z, x = SINUSOID.sample(2000, rng())
    models = [splines(s) for s in (0, 1)]
    result = lbf_npe.train(
        models, SINUSOID, 60, 128, 3e-3, seeds=[0, 1], checkpoints=(0, 30, 60),
        evaluate=lambda m: lbf_npe.mean_nll(m, z, x),
    )  # fmt: skip
    at = {c["step"]: c["values"] for c in result["checkpoints"]}
    assert list(at) == [0, 30, 60]
    assert at[0] == [lbf_npe.mean_nll(splines(s), z, x) for s in (0, 1)]
    assert at[60] == [lbf_npe.mean_nll(m, z, x) for m in models]
    assert all(1.60 < last < first - 0.05 for last, first in zip(at[60], at[0], strict=True))
    assert max(at[60]) < 1.80
    assert result["loss"].shape == (60, 2)
    seconds = [c["seconds"] for c in result["checkpoints"]]
    assert 0 <= seconds[0] < seconds[1] < seconds[2] <= result["seconds"]


def test_a_loss_that_is_not_finite_names_seed_and_step():
    @dataclass(frozen=True)
    class Breaks:
        calls: list

        def sample(self, n, g):
            z, x = SINUSOID.sample(n, g)
            self.calls.append(1)
            return (z, x * 1e38 * 1e3) if len(self.calls) == 11 else (z, x)

    with pytest.raises(ValueError, match="x holds a value that is not finite"):
        lbf_npe.train([splines()], Breaks([]), 20, 8, 1e-3, seeds=[4])
    models = [splines(0), splines(1)]
    with torch.no_grad():
        models[1].net[0].weight.fill_(math.inf)
    with pytest.raises(FloatingPointError, match="step 0 of seed 9"):
        lbf_npe.train(models, SINUSOID, 5, 8, 1e-3, seeds=[4, 9])
    losses = [torch.tensor([1.0, 2.0])] * 70 + [torch.tensor([1.0, math.nan]), torch.tensor([math.nan, 1.0])]
    with pytest.raises(FloatingPointError, match="step 70 of seed 9"):
        training._refuse_non_finite(losses, [4, 9])


# checks


class Spike(nn.Module):
    """A basis with a narrow peak half way between two nodes of a 21-node grid on [0, 1]."""

    def __init__(self, centre):
        super().__init__()
        self.centre = centre

    def forward(self, z):
        return torch.exp(-(((z - self.centre) / 0.005) ** 2))


def spiky(centre, n=21):
    q = lbf_npe.LBF(1, Spike(centre), 1, *lbf_npe.trapezoid_grid(0.0, 1.0, n), width=4, depth=1, generator=rng())
    with torch.no_grad():
        q.net[-1].weight.zero_()
        q.net[-1].bias.fill_(8.0)
    return q


def test_a_coarse_grid_that_hides_a_spike_is_caught():
    x = torch.tensor([[0.0], [1.0]])
    q = spiky(0.525)
    absurd = q.log_prob(torch.tensor([[0.525]]), x[:1]).item()
    assert absurd == pytest.approx(8, abs=1e-3)  # "density" 2981 under a peak of width 0.01: its mass would be 12
    with pytest.raises(ValueError, match=r"between the 21 nodes.*hides structure"):
        lbf_npe.finer_grid_check(q, x)
    report = lbf_npe.finer_grid_check(q, x, factor=50, strict=False)
    assert report.hidden
    peak = torch.linspace(0, 1, 200_001, dtype=torch.float64)
    exact = torch.exp(8 * torch.exp(-(((peak - 0.525) / 0.005) ** 2))).mean().log().item()
    assert report.gap.tolist() == pytest.approx([exact] * 2, rel=0.02)
    honest = lbf_npe.finer_grid_check(spiky(0.525, n=2001), x)
    assert not honest.hidden
    assert "no hidden spikes" in str(honest)
    assert not lbf_npe.finer_grid_check(splines(), x).hidden
    assert lbf_npe.finer_grid_check(learnt(), x, strict=False).gap.shape == (2,)


def test_excess_over_the_best():
    z, x = SINUSOID.sample(3000, rng())
    q = splines()
    excess, error = lbf_npe.excess_nll(q, SINUSOID, z, x)
    values = -q.log_prob(z, x)
    assert excess == pytest.approx(values.mean().item() - 1.635865, abs=1e-5)
    assert error == pytest.approx(values.std().item() / 3000**0.5, rel=1e-4)
    assert excess > 0.15
    share = lbf_npe.share_near_best([0.002, 0.008, 0.05, 0.011], within=0.01)
    assert (share.estimate, share.n) == (0.5, 4)
    assert share.low == pytest.approx(0.1500, abs=1e-3)  # Wilson


# wrong input


def bad(**changes):
    settings = {"models": [splines()], "simulator": SINUSOID, "steps": 1, "batch": 4, "lr": 1e-3, "seeds": [0]}
    return lbf_npe.train(**(settings | changes))


GRID = lbf_npe.trapezoid_grid(0.0, TWO_PI, 21)
X, Z = torch.zeros(3, 1), torch.ones(3, 1)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: lbf_npe.mlp(0, 4, 2, 1, rng()), "inputs must be 1"),
        (lambda: lbf_npe.mlp(1, 4, 0, 1, rng()), "depth must be 1"),
        (lambda: lbf_npe.LBF(0, lbf_npe.BSplines(0, TWO_PI, 5), 5, *GRID, generator=rng()), "x_dim"),
        (lambda: lbf_npe.LBF(1, lbf_npe.BSplines(0, TWO_PI, 5), 6, *GRID, generator=rng()), "basis must give"),
        (lambda: lbf_npe.LBF(1, lbf_npe.BSplines(0, TWO_PI, 5), 5, GRID[0], GRID[1][:-1], generator=rng()), "not fit"),
        (lambda: lbf_npe.LBF(1, lambda z: z / 0, 1, *GRID, generator=rng()), "finite"),
        (lambda: lbf_npe.BSplines(0, TWO_PI, 2), "K > degree"),
        (lambda: lbf_npe.Haar(0, 1, 0), "1..16"),
        (lambda: splines(stereographic=True), "learnt basis"),
        (lambda: learnt(sphere=False, scale=3.0), "no use"),
        (lambda: learnt(scale=-1.0), "positive"),
        (lambda: splines(x_stats=(torch.zeros(1), torch.zeros(1))), "positive spread"),
        (lambda: splines(low=(1.0,), high=(TWO_PI,)), "a node lies outside"),
        (lambda: splines().log_prob(Z * 7, X), "outside the support"),
        (lambda: splines().log_prob(Z * math.nan, X), "outside the support"),
        (lambda: splines().log_prob(Z, X * math.nan), "not finite"),
        (lambda: splines().loss(Z, X + math.inf), "not finite"),
        (lambda: splines().log_prob(Z[:2], X), r"z must be \(3, 1\)"),
        (lambda: splines().log_prob(Z, torch.zeros(3, 2)), r"x must be \(B, 1\)"),
        (lambda: splines().log_density(Z * 7, X), "a node lies outside"),
        (lambda: splines().log_density(Z, torch.zeros(3)), "x must be"),
        (lambda: splines().sample(X, 0, rng()), "n >= 1"),
        (lambda: splines().sample(X, 5, rng(), resolution=1), "2 nodes"),
        (lambda: lbf_npe.sampling_grid((0, 0, 0), (1, 1, 1)), "no default resolution"),
        (lambda: lbf_npe.sample_grid(torch.full((1, 21), math.nan), *GRID, 3, rng()), "NaN"),
        (lambda: metrics.nll_values(splines(), Z[:0], X[:0]), "one or more"),
        (lambda: lbf_npe.excess_nll(splines(), object(), Z, X), "no known best_nll"),
        (lambda: lbf_npe.excess_nll(splines(), SINUSOID, Z[:1], X[:1]), "two pairs"),
        (lambda: lbf_npe.share_near_best([0.1, math.nan]), "finite"),
        (lambda: lbf_npe.finer_grid_check(splines(), X, factor=1), "factor must be 2"),
        (lambda: bad(models=[]), "one model a seed"),
        (lambda: bad(seeds=[0, 1]), "one model a seed"),
        (lambda: bad(models=[splines(), splines()], seeds=[1, 1]), "different seeds"),
        (lambda: bad(steps=0), "steps >= 1"),
        (lambda: bad(lr=0.0), "lr > 0"),
        (lambda: bad(optimizer="sgd"), "known optimizers"),
        (lambda: bad(schedule="linear"), "schedules"),
        (lambda: bad(alternate=5), "learnt basis"),
        (lambda: bad(models=[learnt()], simulator=RING, alternate=0), "1 step or more"),
        (lambda: bad(checkpoints=(2,), evaluate=float), r"0\.\.1"),
        (lambda: bad(checkpoints=(1,)), "need `evaluate`"),
        (lambda: bad(simulator=RING), "z must be"),
    ],
)
def test_wrong_input_is_refused_with_its_value(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_density_that_is_not_finite_is_reported():
    q = splines()
    with torch.no_grad():
        q.net[-1].bias.fill_(math.inf)
    with pytest.raises(ValueError, match="log density of pair 0"):
        metrics.nll_values(q, Z, X)


def test_nothing_draws_unseeded():
    for call in (lambda: lbf_npe.mlp(1, 4, 1, 1, None), lambda: splines().sample(X, 3, None)):
        with pytest.raises(TypeError, match="Generator"):
            call()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_trains_on_the_same_data():
    here, there = learnt(), learnt()
    settings = {"steps": 5, "batch": 32, "lr": 1e-3, "seeds": [0], "alternate": 2}
    a, b = lbf_npe.train([here], RING, **settings), lbf_npe.train([there], RING, device="cuda", **settings)
    assert (a["loss"] - b["loss"]).abs().max() < 1e-4
    assert there.sample(torch.tensor([[0.5]], device="cuda"), 3, rng()).device.type == "cuda"


@pytest.mark.equation("lbf_npe", "langevin")
def test_langevin_draws_have_the_moments_of_the_density() -> None:
    """A truncated exponential on [0, 1], whose mean and variance are closed forms, and a normal far from the edges."""
    draw = generator(0, "langevin")
    start = torch.rand(4000, 1, generator=draw, dtype=torch.float64)
    z = lbf_npe.langevin(lambda z: 2 * z[:, 0], start, [0.0], [1.0], draw, steps=600, epsilon=2e-3)
    mean = 1 / (1 - math.exp(-2)) - 0.5
    assert z.mean().item() == pytest.approx(mean, abs=0.02)
    assert z.var().item() == pytest.approx(0.25 - math.exp(2) / (math.exp(2) - 1) ** 2, abs=0.008)
    centre, spread = torch.tensor([0.3, -0.2], dtype=torch.float64), torch.tensor([0.1, 0.2], dtype=torch.float64)
    z = lbf_npe.langevin(
        lambda z: -(((z - centre) / spread) ** 2).sum(1) / 2, torch.zeros(3000, 2, dtype=torch.float64),
        [-2.0, -2.0], [2.0, 2.0], draw, steps=300, epsilon=1e-3,
    )  # fmt: skip
    torch.testing.assert_close(z.mean(0), centre, atol=0.02, rtol=0)
    torch.testing.assert_close(z.std(0), spread, atol=0.02, rtol=0)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"start": torch.full((2, 1), 3.0)}, "a start"),
        ({"steps": 0}, "steps >= 1"),
        ({"epsilon": 0.0}, "epsilon > 0"),
        ({"log_density": lambda z: (z[:, 0] * 0).log() * z[:, 0]}, "log density or its gradient is not finite"),
    ],
)
def test_langevin_refuses(changes: dict, said: str) -> None:
    given = {"log_density": lambda z: z[:, 0], "start": torch.full((2, 1), 0.5), "low": [0.0], "high": [1.0]}
    with pytest.raises(ValueError, match=said):
        lbf_npe.langevin(**given | {"generator": generator(0, "x"), "steps": 3} | changes)


def test_models_that_differ_are_not_trained_together() -> None:
    box = {"low": SINUSOID.low, "high": SINUSOID.high, "width": 8, "depth": 1}
    plain, cut = (lbf_npe.MDN(1, 1, 3, generator=rng(), variant=v, **box) for v in ("plain", "truncated"))
    for models in ([plain, cut], [plain, plain]):
        with pytest.raises(ValueError, match="different objects of one class with the same settings"):
            training.train(models, SINUSOID, 1, 4, 1e-3, seeds=[0, 1])


def test_a_quadrature_of_another_box_is_refused() -> None:
    model_, x = splines(), torch.zeros(2, 1)
    for low, high in ((0.0, 3.0), (-5.0, 5.0)):
        with pytest.raises(ValueError, match=r"a node lies outside|log weights that sum to the box"):
            model_.log_j(x, lbf_npe.trapezoid_grid(low, high, 50))
    nodes, log_w = lbf_npe.trapezoid_grid(0.0, TWO_PI, 50)
    with pytest.raises(ValueError, match="log_w must be log weights"):
        model_.log_j(x, (nodes, log_w.exp()))
    with pytest.raises(ValueError, match="takes latents"):
        lbf_npe.BSplines(0.0, 1.0, 5)(torch.zeros(3, 2))
    with pytest.raises(TypeError, match="must be floating point"):
        lbf_npe.bspline_basis(torch.tensor([[1]]), 0.0, 2.0, 5)


def test_a_simulator_in_double_precision_trains() -> None:
    @dataclass(frozen=True)
    class Double:
        low: tuple = SINUSOID.low
        high: tuple = SINUSOID.high

        def sample(self, n: int, generator: torch.Generator) -> tuple:
            return tuple(part.double() for part in SINUSOID.sample(n, generator))

    one = training.train([splines()], Double(), 3, 16, 1e-3, seeds=[0])["loss"]
    other = training.train([splines()], SINUSOID, 3, 16, 1e-3, seeds=[0])["loss"]
    torch.testing.assert_close(one, other)


def test_models_come_back_whole_when_training_is_stopped() -> None:
    def stop(model_: object) -> None:
        raise RuntimeError("enough")

    model_ = splines()
    with pytest.raises(RuntimeError, match="enough"):
        training.train([model_], SINUSOID, 4, 8, 1e-3, seeds=[0], checkpoints=[2], evaluate=stop)
    assert all(parameter.requires_grad for parameter in model_.parameters())


def test_the_mass_of_a_truncated_component_has_a_gradient() -> None:
    mdn = lbf_npe.MDN(1, 1, 1, 4, 1, low=(0.0,), high=(1.0,), generator=rng(), variant="truncated")
    mean = torch.tensor([[[0.9]]], requires_grad=True)
    log_std = torch.zeros(1, 1, 1)
    value = mdn._mix(torch.full((1, 1, 1), 0.5), torch.zeros(1, 1), mean, log_std).sum()
    (slope,) = torch.autograd.grad(value, mean)
    phi, Phi = stats.norm.pdf, stats.norm.cdf
    mass = Phi(0.1) - Phi(-0.9)
    expected = (0.5 - 0.9) + (phi(0.1) - phi(-0.9)) / mass
    assert slope.item() == pytest.approx(expected, abs=1e-4)
