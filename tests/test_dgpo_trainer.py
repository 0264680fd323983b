"""The trainers of the chapter `dgpo` against steps written out by hand, and against themselves on other ways there."""

import copy
import io
import math
import re

import numpy as np
import pytest
import torch
from torch import nn
from torch.distributions import Normal, kl_divergence

from benchmarks import dgpo as bench
from iclr26lib.dgpo import experiments
from iclr26lib.dgpo.baselines import DPOTrainer, FlowGRPOTrainer
from iclr26lib.dgpo.config import Config
from iclr26lib.dgpo.method import flow_noise, group_advantages
from iclr26lib.dgpo.ring import PromptedRing
from iclr26lib.dgpo.trainer import DGPOTrainer
from iclr26lib.flows import (
    Replicas,
    Streams,
    VelocityMLP,
    frozen,
    ode_sample,
    sde_coefficients,
    sde_sample,
    shifted_grid,
)
from iclr26lib.seeding import generator

RING = PromptedRing()
ARMS = {"dgpo": (DGPOTrainer, {}), "dpo": (DPOTrainer, {}), "grpo": (FlowGRPOTrainer, {"rollout": "sde"})}
every_arm = pytest.mark.parametrize("arm", ARMS)
GRID = shifted_grid(10, 3.0)


def closeness(x, c):
    """A reward without ties, so that rounding does not turn a loser into a winner."""
    return -(x - RING.centres.to(x)[c]).square().sum(-1)


def network(seed=0, width=12):
    return VelocityMLP(2, 8, width, 2, 8, 4, generator=generator(seed, "init")).double()


def shaken(model, seed, size=0.05):
    """Move the weights of a model, in place, so that no two networks of a trainer are alike."""
    gen = generator(seed, "shake")
    with torch.no_grad():
        for p in model.parameters():
            p += size * torch.randn(p.shape, generator=gen, dtype=p.dtype)
    return model


def made(arm, model=None, seeds=(7,), reward=closeness, **settings):
    kind, needed = ARMS[arm]
    return kind(network() if model is None else model, reward, Config(**{"group": 5, **needed, **settings}),
                Streams(seeds, "train"))  # fmt: skip


def weights(model):
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def gradient(model):
    return {name: p.grad.clone() for name, p in model.named_parameters()}


def close(got, wanted, rtol=1e-9, atol=1e-12):
    torch.testing.assert_close(got, wanted, rtol=rtol, atol=atol)


def same(a, b):
    """Whether two nests of states are equal to the last bit."""
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return a == b


def counts(trainer):
    """Rows so far: policy forward and backward, reference, old."""
    assert trainer.fixed.backward_rows == trainer.before.backward_rows == 0
    rows = (trainer.policy.forward_rows, trainer.policy.backward_rows)
    return (*rows, trainer.fixed.forward_rows, trainer.before.forward_rows)


# seeds side by side, and again


@every_arm
@pytest.mark.parametrize("std", ["group", "global"])
def test_a_seed_trained_beside_others_learns_what_it_learns_alone(arm, std):
    """In double precision, five updates, past the point where the average draws the rollouts: to nine digits."""
    seeds, prompts = (3, 8, 5), {s: torch.arange(4).roll(k) + k for k, s in enumerate((3, 8, 5))}
    settings = {"ema_after": 3, "ema_slope": 0.1, "advantage_std": std, "reference_decay": 0.9, "lr": 1e-2}
    together = made(arm, Replicas([network(s) for s in seeds]), seeds, **settings)
    alone = {s: made(arm, network(s), (s,), **settings) for s in seeds}
    for _ in range(5):
        report = together.step(torch.cat(list(prompts.values())))
        single = [alone[s].step(prompts[s]) for s in seeds]
        assert set(report) == set(single[0])
        for key, value in report.items():
            close(value, torch.cat([r[key] for r in single]), 1e-6, 1e-7)
    for name in ("model", "old", "reference"):
        for one, s in zip(getattr(together, name).split(), seeds, strict=True):
            close(weights(one), weights(getattr(alone[s], name)))
    assert together.nfe == alone[3].nfe > 0
    assert not same(weights(alone[3].model), weights(alone[8].model))


@every_arm
def test_in_single_precision_a_seed_beside_others_differs_by_rounding_only(arm):
    """Adam turns a gradient that is only rounding into a step of size lr; of three of 3e-4 a twentieth is let pass."""
    pair = made(arm, Replicas([network(s).float() for s in (3, 8)]), (3, 8))
    single = made(arm, network(8).float(), (8,))
    for _ in range(3):
        pair.step(torch.arange(8))
        single.step(torch.arange(4, 8))
    close(weights(pair.model.split()[1]), weights(single.model), 0, 5e-5)
    moved = max(
        (a - b).abs().max().item() for a, b in zip(single.model.parameters(), network(8).parameters(), strict=True)
    )
    assert moved > 5e-4


@every_arm
def test_the_same_seed_twice_is_identical_and_another_is_not(arm):
    runs = []
    for seed in (7, 7, 9):
        trainer = made(arm, seeds=(seed,))
        reports = [trainer.step(torch.arange(4)) for _ in range(3)]
        runs.append((trainer.state_dict(), reports))
    assert same(runs[0], runs[1])
    assert not same(runs[0][0]["model"], runs[2][0]["model"])


def test_seeds_side_by_side_draw_their_own_noise_levels():
    trainer = made("dgpo", Replicas([network(s) for s in range(6)]), range(6), times=2, t_min=0.0)
    assert len({tuple(row) for row in trainer.times().tolist()}) > 2


# one update, written out


def by_hand(trainer, reward, prompts, draw):
    """Loss of DGPO for one seed from plain tensor operations, with its gradient left in the model."""
    cfg, G = trainer.cfg, trainer.cfg.group
    c = prompts.repeat_interleave(G)
    x0 = ode_sample(trainer.model, c, GRID, draw)
    A = group_advantages(reward(x0, c).float().reshape(-1, G), cfg.advantage_std)
    allowed = [t for t in GRID[:-1].tolist() if t >= cfg.t_min]
    total, held = 0.0, []
    for index in draw.subset(cfg.times, len(allowed))[0].tolist():
        x_t, _, target = flow_noise(
            x0.reshape(-1, G, 2), torch.tensor(allowed[index]).float().item(), draw, cfg.shared_noise
        )
        t = torch.full((len(c),), allowed[index], dtype=x_t.dtype).float().double()
        v, v_ref, v_old = (m(x_t.reshape(-1, 2), t, c).reshape(x_t.shape)
                           for m in (trainer.model, trainer.reference, trainer.old))  # fmt: skip
        loss, ref, old = (((u - target) ** 2).mean(-1) for u in (v, v_ref, v_old))
        moved = (old - loss).exp()
        out = ((A > 0) & (moved > 1 + cfg.clip)) | ((A <= 0) & (moved < 1 - cfg.clip))
        weight = torch.sigmoid(cfg.beta / G * (A * (loss - ref)).sum(-1, keepdim=True)).detach()
        total = total + (weight * A * torch.where(out, loss.detach(), loss)).mean() / cfg.times
        total = total + cfg.kl * ((v - v_ref) ** 2).mean() / cfg.times
        held.append(out)
    trainer.model.zero_grad()
    total.backward()
    return torch.stack(held)


@pytest.mark.equation("dgpo", "17")
@pytest.mark.equation("dgpo", "clip")
@pytest.mark.parametrize(
    ("max_norm", "more"), [(1e9, {}), (0.01, {}), (1e9, {"shared_noise": False, "advantage_std": "global"})]
)
def test_first_update_is_the_step_written_by_hand(max_norm, more):
    """Policy, reference and old network all differ, and a part of the samples is held by the clip."""
    settings = {"kl": 0.3, "beta": 4.0, "lr": 0.01, "weight_decay": 0.1, "t_min": 0.3, "times": 3, "max_norm": max_norm}
    settings |= more
    trainer, twin = (made("dgpo", **settings) for _ in range(2))
    for each in (trainer, twin):
        shaken(each.reference, 1), shaken(each.old, 2)
    before, old, prompts = weights(twin.model), weights(twin.old), torch.tensor([5, 0, 2])
    held = by_hand(twin, closeness, prompts, Streams([7], "train"))
    assert 0.1 < held.float().mean() < 0.9
    report = trainer.step(prompts)
    norm = torch.stack([g.norm() for g in gradient(twin.model).values()]).norm()
    close(report["norm"], norm[None], 1e-7)
    close(report["clipped"], held.float().mean()[None], 1e-6)
    for name, p in before.items():
        g = gradient(twin.model)[name] * min(1.0, max_norm / norm.item())
        wanted = p * (1 - 0.01 * 0.1) - 0.01 * g / (g.abs() + 1e-8)  # the first step of AdamW
        close(weights(trainer.model)[name], wanted, 1e-6, 1e-7)
        close(weights(trainer.old)[name], 0.001 * old[name] + 0.999 * wanted, 1e-6, 1e-7)


def planted(arm="dgpo", beta=2.0, **settings):
    """Velocities of 2 groups of 4: the network that drew the samples is worse, equal and better in turn."""
    gen = generator(4, "planted")
    v, ref, target = torch.randn(3, 2, 4, 3, generator=gen, dtype=torch.float64)
    farther = torch.tensor([1.2, 1.0, 1.0, 0.8]).double()[:, None]
    A = torch.tensor([[1.0, 1.0, -1.0, -1.0], [-0.5, 0.5, 1.0, 0.5]], dtype=torch.float64)
    trainer = made(arm, beta=beta, kl=0.0, **settings)
    return trainer, v.requires_grad_(), ref, target + farther * (v.detach() - target), target, A


@pytest.mark.equation("dgpo", "clip")
def test_clip_stops_the_gradient_of_what_moved_too_far_and_of_nothing_else():
    """Losses of old over new are 1.44, 1, 1, 0.64: winners that gained and losers that lost are held."""
    trainer, v, ref, old, target, A = planted()
    held = torch.tensor([[True, False, False, True], [False, False, False, False]])
    loss, log = trainer.loss(v, ref, old, target, A)
    loss.backward()
    close(log["clipped"], torch.tensor([2 / 8]))
    new, was = (((u - target) ** 2).mean(-1) for u in (v.detach(), ref))
    weight = 1 / (1 + torch.exp(-(2.0 / 4) * (A * (new - was)).sum(-1, keepdim=True)))
    wanted = (weight * A / 8)[..., None] * 2 * (v.detach() - target) / 3
    assert (v.grad[held] == 0).all()
    close(v.grad[~held], wanted[~held])
    close(loss.detach(), (weight * A * new).mean())  # held samples keep their value


def test_distance_to_the_reference_is_not_clipped():
    trainer, v, ref, old, target, A = planted()
    trainer.cfg = Config(group=4, beta=1.0, kl=0.7)
    plain = torch.autograd.grad(trainer.loss(v, ref, old, target, 0 * A)[0], v)[0]
    close(plain, 0.7 * 2 * (v - ref).detach() / v.numel())


# DPO


@pytest.mark.equation("dgpo", "dpo")
@pytest.mark.parametrize("winner_first", [True, False])
def test_dpo_of_a_pair_is_twice_dgpo_of_a_pair_with_beta_doubled(winner_first):
    """DGPO's z is beta / G times the sum, and its surrogate the mean of the group: half of DPO's difference, G = 2."""
    pair = {"group": 2, "clip": 0.01, "t_min": 0.3}
    dpo, dgpo = made("dpo", beta=1.5, kl=0.2, **pair), made("dgpo", beta=3.0, kl=0.1, **pair)
    x0 = torch.randn(6, 2, generator=generator(5, "x0"), dtype=torch.float64)
    A = torch.tensor([[1.0, -1.0] if winner_first else [-1.0, 1.0]]).expand(3, 2)
    reports = []
    for trainer in (dpo, dgpo):
        shaken(trainer.reference, 1, 0.3), shaken(trainer.old, 2, 0.3)
        trainer.model.zero_grad()
        reports.append(trainer.learn(x0, torch.tensor([1, 1, 4, 4, 6, 6]), A))
    close(gradient(dpo.model), {name: 2 * g for name, g in gradient(dgpo.model).items()}, 1e-6, 1e-9)
    close(reports[0], reports[1], 1e-6, 1e-7)
    assert 0 < reports[0]["clipped"] < 1
    assert not 0.49 < reports[0]["weight"] < 0.51


@pytest.mark.equation("dgpo", "dpo")
def test_dpo_takes_best_and_worst_of_each_group_and_nothing_else():
    A = torch.tensor([[0.1, -2.0, 0.4, 1.5], [0.3, 0.3, -0.9, 0.3], [2.0, -1.0, 0.0, -1.0]])
    x0 = torch.randn(12, 2, generator=generator(6, "x0"), dtype=torch.float64)
    c = torch.tensor([2, 5, 5]).repeat_interleave(4)
    whole, pairs = made("dpo", group=4, t_min=0.3), made("dpo", group=2, t_min=0.3)
    chosen = torch.tensor([3, 1, 4, 6, 8, 9])
    whole.learn(x0, c, A)
    pairs.learn(x0[chosen], c[chosen], torch.tensor([[1.0, -1.0]]).expand(3, 2))
    close(gradient(whole.model), gradient(pairs.model))
    assert counts(whole)[1] == 4 * 3 * 2


def test_dpo_learns_nothing_from_groups_without_a_pair():
    trainer = made("dpo", reward=lambda x, c: torch.zeros(len(x)), kl=0.0, weight_decay=0.0)
    before = weights(trainer.model)
    report = trainer.step(torch.arange(3))
    assert report["informative"] == 0
    assert same(weights(trainer.model), before)


# Flow-GRPO


@pytest.mark.equation("dgpo", "grpo")
@pytest.mark.parametrize("kl", [0.0, 0.8])
def test_first_update_of_grpo_is_the_policy_gradient_and_the_exact_kl(kl):
    trainer = made("grpo", kl=kl, times=4)
    shaken(trainer.reference, 1, 0.3)
    c = torch.tensor([1, 6]).repeat_interleave(5)
    x0 = trainer.rollout(c)
    A = group_advantages(closeness(x0, c).reshape(2, 5)).double()
    steps = copy.deepcopy(trainer.streams)
    report = trainer.learn(x0, c, A)
    learnt = gradient(trainer.model)
    assert (trainer._path[-1] == x0).all()
    trainer.model.zero_grad()
    apart = []
    for k in steps.subset(4, 10)[0].tolist():
        t, after = GRID[k].item(), GRID[k + 1].item()
        on_x, on_v, sd = sde_coefficients(t, after, 0.7, GRID[1].item())
        x = trainer._path[k]
        time = torch.full((10,), t).double()
        step, ref = (Normal(on_x * x + on_v * m(x, time, c), sd) for m in (trainer.model, trainer.reference))
        log_prob = step.log_prob(trainer._path[k + 1]).mean(-1)
        close(log_prob.detach(), trainer._log_prob[k], 1e-5, 1e-6)
        apart.append(kl_divergence(step, ref).mean())
        (-(A.flatten() * log_prob).mean() / 4 + kl * apart[-1] / 4).backward()
    close(learnt, gradient(trainer.model), 1e-4, 1e-7)
    close(report["kl"], torch.stack(apart).mean().detach()[None], 1e-5)
    assert report["kl"] > 1e-3


@pytest.mark.equation("dgpo", "grpo")
def test_ratio_of_grpo_is_to_the_network_that_drew_the_trajectory():
    """After a move of the weights, the ratio is that of the two densities, and a clipped one has no gradient."""
    trainer = made("grpo", kl=0.0, times=10, clip=1e-3)
    c = torch.tensor([1, 6]).repeat_interleave(5)
    trainer.rollout(c)
    shaken(trainer.model, 3, 0.1)
    A = torch.linspace(-1, 1, 10).double().reshape(2, 5)
    total = 0.0
    for k in range(10):
        t, after = GRID[k].item(), GRID[k + 1].item()
        on_x, on_v, sd = sde_coefficients(t, after, 0.7, GRID[1].item())
        mean = on_x * trainer._path[k] + on_v * trainer.model(trainer._path[k], torch.full((10,), t).double(), c)
        ratio = (Normal(mean, sd).log_prob(trainer._path[k + 1]).mean(-1) - trainer._log_prob[k]).exp()
        gained = torch.where(A.flatten() > 0, ratio > 1.001, ratio < 0.999)
        total = total - torch.where(gained, ratio.detach(), ratio) @ A.flatten() / 10 / 10
    total.backward()
    wanted = gradient(trainer.model)
    trainer.model.zero_grad()
    trainer.learn(trainer._path[-1], c, A)
    close(gradient(trainer.model), wanted, 1e-4, 1e-6)


# what it costs, who draws, and at which noise


@pytest.mark.parametrize(
    ("arm", "settings", "policy", "back", "fixed", "before"),
    [
        # P = 3 groups of G = 5: 15 rows a sampler step, of which there are 10, and M = 4 noise levels
        ("dgpo", {}, 150 + 60, 60, 60, 60),
        ("dgpo", {"rollout": "sde"}, 150 + 60, 60, 60, 60),
        ("dgpo", {"offline": True}, 60, 60, 150 + 60, 60),
        ("dgpo", {"ema_after": 0}, 60, 60, 60, 150 + 60),
        ("dgpo", {"times": 2, "sampler_steps": 7}, 105 + 30, 30, 30, 30),
        ("dpo", {}, 150 + 24, 24, 24, 24),
        ("grpo", {"times": 10}, 150 + 150, 150, 150, 0),
        ("grpo", {"times": 4}, 150 + 60, 60, 60, 0),
        ("grpo", {"times": 4, "ema_after": 0}, 150 + 60, 60, 60, 0),
    ],
)
@pytest.mark.parametrize("replicas", [1, 2])
def test_network_passes_are_those_counted_by_hand(arm, settings, policy, back, fixed, before, replicas):
    seeds = tuple(range(replicas))
    model = network() if replicas == 1 else Replicas([network(s) for s in seeds])
    trainer = made(arm, model, seeds, **settings)
    for updates in (1, 2):
        trainer.step(torch.arange(3 * replicas))
        assert counts(trainer) == tuple(replicas * updates * n for n in (policy, back, fixed, before))
        assert trainer.nfe == updates * (policy + back + fixed + before)


def test_the_average_draws_the_rollouts_once_it_takes_over_and_is_the_recursion():
    """Decay after update k is min(limit, slope k): 0.2, then 0.3 for good."""
    drawn = []
    trainer = made("dgpo", reward=lambda x, c: drawn.append(x) or closeness(x, c), ema_after=2, ema_slope=0.2, lr=0.05)
    c = torch.arange(3).repeat_interleave(5)
    average = weights(trainer.model)
    for update, decay in enumerate((0.2, 0.3, 0.3, 0.3)):
        ahead = copy.deepcopy(trainer.streams)
        actor = copy.deepcopy(trainer.model if update < 2 else trainer.old)
        trainer.step(torch.arange(3))
        assert torch.equal(drawn[-1], ode_sample(actor, c, GRID, ahead))
        average = {k: decay * v + (1 - decay) * weights(trainer.model)[k] for k, v in average.items()}
        close(weights(trainer.old), average)
    assert not same(weights(trainer.old), weights(trainer.model))


def test_offline_rollouts_come_from_the_reference():
    drawn = []
    trainer = made("dgpo", reward=lambda x, c: drawn.append(x) or closeness(x, c), offline=True, lr=0.05)
    base, c = network(), torch.arange(3).repeat_interleave(5)
    for _ in range(3):
        ahead = copy.deepcopy(trainer.streams)
        trainer.step(torch.arange(3))
        assert torch.equal(drawn[-1], ode_sample(base, c, GRID, ahead))
    assert same(weights(trainer.reference), weights(base))
    assert not same(weights(trainer.model), weights(base))


def test_rollouts_are_the_sde_with_its_noise_level_where_that_is_asked_for():
    trainer, c = made("dgpo", rollout="sde", sde_noise=0.4), torch.arange(3).repeat_interleave(5)
    assert torch.equal(trainer.rollout(c), sde_sample(network(), c, GRID, 0.4, Streams([7], "train")))


def test_reference_stays_or_follows_as_it_is_told():
    for decay in (None, 0.75):
        trainer = made("dgpo", reference_decay=decay, lr=0.05)
        wanted = weights(trainer.model)
        for _ in range(3):
            trainer.step(torch.arange(3))
            if decay:
                wanted = {k: decay * v + (1 - decay) * weights(trainer.model)[k] for k, v in wanted.items()}
        close(weights(trainer.reference), wanted)


class Listening(nn.Module):
    """A network that remembers at which times it was trained."""

    shape, prompts, replicas = (2,), 8, 1

    def __init__(self):
        super().__init__()
        self.inner, self.heard = network(), []

    def forward(self, x, t, c):
        if torch.is_grad_enabled():
            self.heard.append(t)
        return self.inner(x, t, c)


@pytest.mark.parametrize("arm", ["dgpo", "dpo"])
@pytest.mark.parametrize(("t_min", "points"), [(0.0, 10), (0.3, 9), (0.5625, 8), (0.57, 7), (0.8, 5)])
def test_timestep_clip_leaves_the_grid_points_above_it(arm, t_min, points):
    model = Listening()
    trainer = made(arm, model, t_min=t_min, times=3)
    for _ in range(12):
        trainer.step(torch.arange(2))
    levels = [t.unique().item() for t in model.heard]
    assert all(len(set(levels[k : k + 3])) == 3 for k in range(0, 36, 3))
    assert sorted(set(levels), reverse=True) == pytest.approx(GRID[:points].tolist(), abs=1e-7)


def test_more_noise_levels_than_the_clip_leaves_are_refused():
    with pytest.raises(ValueError, match=r"4 noise levels wanted, but t_min = 0.9 leaves 3"):
        made("dgpo", t_min=0.9)
    with pytest.raises(ValueError, match="11 steps wanted of 10"):
        made("grpo", times=11)


@every_arm
def test_a_velocity_of_another_shape_is_refused(arm):
    class Narrow(Listening):
        def forward(self, x, t, c):
            return super().forward(x, t, c)[:, :1]

    trainer = made(arm, Narrow())
    with pytest.raises(ValueError, match=r"like x, \(15, 2\), got \(15, 1\)"):
        trainer.step(torch.arange(3))


# what fails leaves everything as it was


def broken(x, c):
    raise RuntimeError("the judge is away")


def with_one(value):
    return lambda x, c: torch.cat([closeness(x, c)[1:], torch.tensor([value], dtype=x.dtype)])


STATES = ("model", "old", "reference", "optimizer", "updates", "streams")
BAD_REWARDS = [
    (broken, RuntimeError, "the judge is away"),
    (lambda x, c: closeness(x, c)[1:], ValueError, r"shape \(15,\).*got \(14,\)"),
    (lambda x, c: closeness(x, c)[:, None], ValueError, r"got \(15, 1\)"),
    (lambda x, c: closeness(x, c).tolist(), ValueError, "got list"),
    (lambda x, c: closeness(x, c).mean(), ValueError, r"got \(\)"),
    (with_one(math.nan), ValueError, "nan of sample 14 at update 2"),
    (with_one(math.inf), ValueError, "inf of sample 14"),
    (with_one(-math.inf), ValueError, "-inf of sample 14"),
    (with_one(1e300), ValueError, r"1e\+300 of sample 14.*no larger than 1e\+150"),
]
BAD_PROMPTS = [
    (torch.arange(3).float(), TypeError, "int64, got torch.float32"),
    ([0, 1, 2], TypeError, "list"),
    (torch.zeros(3, 1, dtype=torch.int64), ValueError, r"\(3, 1\)"),
    (torch.tensor([0, 8]), ValueError, r"0..7, got \[0, 8\]"),
    (torch.tensor([-1, 2]), ValueError, "0..7"),
    (torch.arange(0), ValueError, "0 prompts"),
]


@every_arm
@pytest.mark.parametrize(("reward", "error", "message"), BAD_REWARDS)
def test_a_reward_that_fails_changes_nothing(arm, reward, error, message):
    trainer = made(arm)
    for _ in range(2):
        trainer.step(torch.arange(3))
    state = trainer.state_dict()
    trainer.reward_fn = reward
    with pytest.raises(error, match=message) as caught:
        trainer.step(torch.arange(3))
    assert (reward is not broken) or "at update 2" in caught.value.__notes__[0]
    assert all(same(trainer.state_dict()[k], state[k]) for k in STATES)


@every_arm
@pytest.mark.parametrize(("prompts", "error", "message"), BAD_PROMPTS)
def test_wrong_prompts_change_nothing(arm, prompts, error, message):
    trainer = made(arm)
    trainer.step(torch.arange(3))
    state = trainer.state_dict()
    with pytest.raises(error, match=message):
        trainer.step(prompts)
    assert same(trainer.state_dict(), state)


def test_prompts_that_replicas_cannot_share_are_refused():
    trainer = made("dgpo", Replicas([network(s) for s in (0, 1)]), (0, 1))
    with pytest.raises(ValueError, match="3 prompts cannot be shared out among 2 replicas"):
        trainer.step(torch.arange(3))


@every_arm
def test_a_loss_that_is_not_finite_changes_nothing(arm):
    trainer = made(arm)
    trainer.step(torch.arange(3))
    with torch.no_grad():
        trainer.reference.layers[0].weight[0, 0] = math.nan
    state = trainer.state_dict()
    with pytest.raises(FloatingPointError):
        trainer.step(torch.arange(3))
    assert all(same(trainer.state_dict()[k], state[k]) for k in STATES if k != "reference")  # NaN is not NaN


@every_arm
def test_after_a_failure_training_goes_on_as_if_it_had_not_happened(arm):
    """The step ends between two noise levels, when half of a gradient has been added up. What it spent is counted."""
    failed, plain = made(arm), made(arm)
    for trainer in (failed, plain):
        trainer.step(torch.arange(3))
    calls, forward = [], failed.fixed.forward

    def interrupted(*rows):
        calls.append(rows)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return forward(*rows)

    failed.fixed.forward = interrupted
    with pytest.raises(KeyboardInterrupt):
        failed.step(torch.arange(3))
    del failed.fixed.forward
    for trainer in (failed, plain):
        trainer.step(torch.arange(3))
    assert all(same(failed.state_dict()[k], plain.state_dict()[k]) for k in STATES)
    assert failed.nfe > plain.nfe


@every_arm
@pytest.mark.parametrize("steps", [0, 1])
def test_a_step_whose_weights_are_not_finite_is_undone(arm, steps):
    trainer = made(arm, network().float())
    for _ in range(steps):
        trainer.step(torch.arange(3))
    state = trainer.state_dict()
    trainer.optimizer.param_groups[0]["lr"] = 1e39
    with pytest.raises(FloatingPointError, match=r"weight .* is not finite: take a smaller learning rate"):
        trainer.step(torch.arange(3))
    trainer.optimizer.param_groups[0]["lr"] = trainer.cfg.lr
    assert all(same(trainer.state_dict()[k], state[k]) for k in STATES)


# what a reward function may do


def spoiling(x, c):
    value = closeness(x, c)
    x.fill_(math.nan), c.zero_()
    return value


def with_graph(x, c):
    with torch.enable_grad():
        return closeness(x, c) * SCALE


SCALE = nn.Parameter(torch.ones((), dtype=torch.float64))


@every_arm
@pytest.mark.parametrize("reward", [spoiling, with_graph])
def test_a_reward_function_cannot_reach_into_the_training(arm, reward):
    usual, other = made(arm), made(arm, reward=reward)
    for _ in range(2):
        assert same(other.step(torch.arange(3)), usual.step(torch.arange(3)))
    assert same(other.state_dict(), usual.state_dict())
    assert SCALE.grad is None
    assert not other.score(torch.zeros(3, 2).double(), torch.arange(3)).requires_grad


def hits(x, c):
    return (closeness(x, c) > -2).double()


@every_arm
def test_a_large_offset_of_the_rewards_changes_nothing(arm):
    """In single precision 1e9 and 1e9 + 1 are one number."""
    usual, moved = made(arm, reward=hits), made(arm, reward=lambda x, c: hits(x, c) + 1e9)
    assert usual.step(torch.arange(3))["informative"] == moved.step(torch.arange(3))["informative"] > 0
    close(weights(moved.model), weights(usual.model))


def test_dpo_tells_best_from_good_where_both_advantages_are_clipped(monkeypatch):
    """Of 80 rewards, 78 of them 0, the advantages of 10 and 11 are 5.9 and 6.5; the clip is at 5."""
    seen, drawn = [], []

    def reward(x, c):
        drawn.append(x)
        return torch.tensor([0.0, -1e-9, *[0.0] * 40, 10.0, *[0.0] * 30, 11.0, *[0.0] * 6])

    trainer = made("dpo", group=80, reward=reward)
    monkeypatch.setattr(DGPOTrainer, "learn", lambda self, *rest: seen.append(rest) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        trainer.step(torch.tensor([2]))
    x0, _, A = seen[0]
    assert torch.equal(x0, drawn[0][[73, 1]])
    assert A.tolist() == [[1, -1]]


# going on from a checkpoint


@every_arm
def test_a_run_goes_on_from_its_state_as_if_nothing_had_happened(arm):
    settings = {"ema_after": 2, "ema_slope": 0.1, "reference_decay": 0.9}
    plain = made(arm, **settings)
    for _ in range(3):
        plain.step(torch.arange(3))
    file = io.BytesIO()
    torch.save(plain.state_dict(), file)
    reports = [plain.step(torch.arange(3)) for _ in range(2)]
    for _ in range(2):  # twice: neither loading nor training may change what was saved
        file.seek(0)
        state = torch.load(file, weights_only=True)
        resumed = made(arm, network(1), **settings)
        resumed.load_state_dict(state)
        assert resumed.updates == 3
        assert same([resumed.step(torch.arange(3)) for _ in range(2)], reports)
        assert same(resumed.state_dict(), plain.state_dict())
        assert resumed.nfe == plain.nfe


@every_arm
def test_a_state_is_a_copy_that_training_leaves_alone(arm):
    trainer, other = made(arm), made(arm)
    trainer.step(torch.arange(3))
    state = trainer.state_dict()
    kept = copy.deepcopy(state)
    trainer.step(torch.arange(3))
    assert same(state, kept)
    other.load_state_dict(state)
    other.step(torch.arange(3))
    assert same(state, kept)
    assert same(other.state_dict(), trainer.state_dict())


def test_the_state_of_another_run_is_refused():
    state = made("dgpo", seeds=(3,)).state_dict()
    with pytest.raises(ValueError, match=r"seeds \[3\].*seeds \[7\]"):
        made("dgpo").load_state_dict(state)
    with pytest.raises(ValueError, match=r"model: layers.0.bias is \(12,\), not \(16,\)"):
        made("dgpo", network(width=16)).load_state_dict(made("dgpo").state_dict())
    with pytest.raises(ValueError, match=r"float64, not torch.float32"):
        made("dgpo", network().float()).load_state_dict(made("dgpo").state_dict())
    with pytest.raises(ValueError, match="of a DPOTrainer, not of a DGPOTrainer"):
        made("dgpo").load_state_dict(made("dpo").state_dict())
    with pytest.raises(ValueError, match=r"other settings: beta 3\.0, not 1\.0; lr 0\.1, not 0\.0003"):
        made("dgpo").load_state_dict(made("dgpo", beta=3.0, lr=0.1).state_dict())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s.pop("counts"), "a trainer's state has"),
        (lambda s: s.update(more=1), "a trainer's state has"),
        (lambda s: s["old"].pop("prompt.weight"), "old: prompt.weight is missing"),
        (lambda s: s["reference"].update(extra=torch.zeros(1)), "reference: extra is unknown"),
        (lambda s: s["model"]["layers.0.bias"].fill_(math.nan), "layers.0.bias holds a value that is not finite"),
        (lambda s: s["optimizer"]["state"][0].pop("exp_avg"), "exp_avg is missing"),
        (lambda s: s["optimizer"]["state"][0].update(exp_avg=torch.zeros(3)), r"exp_avg is \(3,\)"),
        (lambda s: s["optimizer"]["state"].update({99: {}}), "parameter 99"),
        (lambda s: s["streams"]["generators"][0].zero_(), "generator of seed 7 is damaged"),
        (lambda s: s["streams"].pop("name"), "seeds, name and generators"),
        (lambda s: s.update(updates=-1), "updates and counts"),
        (lambda s: s["counts"].pop(), "updates and counts"),
    ],
)
def test_a_state_is_taken_over_whole_or_not_at_all(change, message):
    trainer, source = made("dgpo"), made("dgpo")
    for each in (trainer, source, source):
        each.step(torch.arange(3))
    before, state = trainer.state_dict(), source.state_dict()
    change(state)
    with pytest.raises(ValueError, match=message):
        trainer.load_state_dict(state)
    assert same(trainer.state_dict(), before)


def test_the_optimiser_keeps_the_settings_of_its_trainer():
    state = made("dgpo").state_dict()
    state["optimizer"]["param_groups"][0]["lr"] = 5.0
    trainer = made("dgpo")
    trainer.load_state_dict(state)
    assert trainer.optimizer.param_groups[0]["lr"] == trainer.cfg.lr


# settings


POSITIVE, NOT_NEGATIVE = ("shift", "beta", "clip", "lr", "max_norm"), ("kl", "sde_noise", "weight_decay")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"group": 1}, "group must be 2 or more, got 1"),
        ({"sampler_steps": 0}, "sampler_steps"),
        ({"times": 0}, "times"),
        *[({name: value}, name) for name in POSITIVE for value in (0.0, -1.0, math.nan, math.inf)],
        *[({name: value}, name) for name in NOT_NEGATIVE for value in (-1.0, math.nan, math.inf)],
        *[({"t_min": value}, "t_min") for value in (-0.1, 1.0, math.nan)],
        ({"rollout": "dpm"}, "rollout"),
        ({"advantage_std": "none"}, "advantage_std"),
        *[({"reference_decay": value}, "reference_decay") for value in (-0.1, 1.0, math.nan)],
        ({"ema_after": -1}, "ema_after"),
        *[({"ema_slope": value}, "ema_slope") for value in (-0.1, math.nan, math.inf)],
        *[({"ema_limit": value}, "ema_limit") for value in (-0.1, 1.0, math.nan)],
    ],
)  # fmt: skip
def test_settings_out_of_range_are_refused_at_once(settings, message):
    with pytest.raises(ValueError, match=message):
        Config(**settings)


@pytest.mark.parametrize(
    ("name", "value"),
    [("group", 24.0), ("group", True), ("times", "4"), ("sampler_steps", 1e1), ("ema_after", None), ("offline", 0),
     ("shared_noise", "yes"), ("lr", True), ("beta", None), ("t_min", "0.3"), ("reference_decay", "0.9"),
     ("lr", torch.tensor(0.1)), ("rollout", 3), ("advantage_std", None)],
)  # fmt: skip
def test_settings_of_another_type_are_refused_with_their_value(name, value):
    with pytest.raises(TypeError, match=f"config: {name} must be .*, got {re.escape(repr(value))}"):
        Config(**{name: value})


def test_settings_of_numpy_become_plain_ones_and_are_read_back():
    cfg = Config(lr=np.float32(0.5), group=np.int64(4), offline=np.bool_(False), reference_decay=np.float64(0.25), kl=1)
    assert cfg == Config(lr=0.5, group=4, reference_decay=0.25, kl=1)
    kinds = {type(getattr(cfg, name)) for name in ("lr", "group", "offline", "reference_decay")}
    assert kinds == {float, int, bool}
    file = io.BytesIO()
    trainer = DGPOTrainer(network(), closeness, cfg, Streams([7], "train"))
    torch.save(trainer.state_dict(), file)
    file.seek(0)
    trainer.load_state_dict(torch.load(file, weights_only=True))


def test_trainers_refuse_what_does_not_fit():
    for argument, value in (("cfg", {}), ("streams", [7]), ("model", lambda x, t, c: x)):
        given = {"model": network(), "reward_fn": closeness, "cfg": Config(), "streams": Streams([7], "t")}
        with pytest.raises(TypeError, match=f"{argument} must be a "):
            DGPOTrainer(**{**given, argument: value})
    with pytest.raises(ValueError, match=r"Linear needs the attributes .* lacks \['shape', 'prompts'\]"):
        made("dgpo", nn.Linear(2, 2))
    with pytest.raises(ValueError, match="no parameter that needs a gradient"):
        made("dgpo", frozen(network()))
    with pytest.raises(TypeError, match=r"reward_fn must be a function.*Tensor"):
        made("dgpo", reward=torch.ones(3))
    with pytest.raises(ValueError, match="1 replicas need as many seeds, got 2"):
        made("dgpo", seeds=(0, 1))


@pytest.mark.parametrize("settings", [{"rollout": "ode"}, {"sde_noise": 0.0}, {"offline": True}])
def test_grpo_refuses_rollouts_that_are_not_its_own(settings):
    with pytest.raises(ValueError, match="Flow-GRPO"):
        made("grpo", **settings)


def test_a_model_that_says_nothing_of_replicas_is_one():
    class Plain(nn.Module):
        shape, prompts = (2,), 8

        def __init__(self):
            super().__init__()
            self.inner = network()

        def forward(self, x, t, c):
            return self.inner(x, t, c)

    plain, usual = made("dgpo", Plain()), made("dgpo")
    assert same(plain.step(torch.arange(3)), usual.step(torch.arange(3)))


# whole runs


TINY = {"width": 48, "depth": 3}
SIZES = {**TINY, "updates": 30, "groups": 8, "every": 15, "samples": 200, "last_samples": 400}


@pytest.fixture(scope="module")
def base():
    return experiments.pretrain("ring", 2, [0, 1], **TINY, steps=800, batch=128, lr=4e-3)["weights"]


@pytest.mark.parametrize(
    ("arm", "settings", "rises"),
    [
        ("dgpo", {}, 0.1),
        ("dpo", {}, 0.1),
        ("grpo", {"kl": 0.4, "rollout": "sde"}, 0.05),
    ],
)
def test_thirty_updates_raise_the_reward_of_a_base_that_follows_its_prompt_weakly(base, arm, settings, rises):
    run = experiments.improve(
        arm, "ring", 2, [0, 1], base, {"group": 16, "t_min": 0.3, "lr": 2e-3, **settings}, **SIZES
    )
    reward = np.array(run["reward"])
    assert (reward[0] < 0.25).all()
    assert (reward[-1] > reward[0] + rises).all()
    assert run["updates"] == [0, 15, 30]
    each = {"dgpo": 16 * (10 + 4 * 4), "dpo": 16 * 10 + 4 * 4 * 2, "grpo": 16 * (10 + 4 * 3)}[arm]
    assert run["passes"] == [0, 15 * 8 * each, 30 * 8 * each]
    assert np.shape(run["weight"]) == ((0,) if arm == "grpo" else (30, 2))
    assert len(run["rollouts"]) == 2


def test_a_run_does_not_change_the_weights_it_starts_from_and_repeats(base):
    before = copy.deepcopy(base)
    sizes = {**SIZES, "updates": 3, "every": 2}
    runs = [experiments.improve("dgpo", "ring", 2, [0, 1], base, {"group": 4}, **sizes) for _ in range(2)]
    for run in runs:
        run.pop("clock")
    assert runs[0] == runs[1]
    assert runs[0]["updates"] == [0, 2, 3]
    assert all(np.array_equal(a[k], b[k]) for a, b in zip(before, base, strict=True) for k in a)


class Aimed(nn.Module):
    """A flow that ends, whatever its start, at one point a prompt: the velocity is (x - point) / t."""

    shape, prompts = (2,), 8

    def __init__(self, *points):
        super().__init__()
        self.points, self.replicas = nn.Parameter(torch.stack(points)), len(points)

    def forward(self, x, t, c):
        replica = torch.arange(self.replicas).repeat_interleave(len(x) // self.replicas)
        return (x - self.points[replica, c]) / t[:, None]


def test_a_look_gives_reward_and_monitors_of_each_seed():
    right, beside = RING.centres.clone(), RING.centres + torch.tensor([0.3, 0.0])
    half, nowhere = RING.centres[[0, 1, 2, 3, 3, 4, 5, 6]], RING.centres + 20
    found = experiments.look(Aimed(right, beside, half, nowhere), RING, [4, 1, 2, 3], 160)
    assert found["reward"] == [1.0, 1.0, 0.5, 0.0]
    assert found["off_manifold"] == [0.0, 0.0, 0.0, 1.0]
    assert found["spread"][:3] == pytest.approx([0.0, 0.0, 0.0], abs=1e-4)
    assert found["offset"][:3] == pytest.approx([0.0, 2.0, 0.0], abs=1e-4)
    assert found["spread"][3] is found["offset"][3] is found["rest"][0] is None


def test_a_look_takes_as_many_samples_of_every_prompt():
    """Ten of eight prompts are sixteen: one bad prompt of eight costs an eighth."""
    half = RING.centres.clone()
    half[0] += 20
    assert experiments.look(Aimed(half), RING, [4], 10)["reward"] == [0.875]
    with pytest.raises(ValueError, match="samples must be 1 or more, got 0"):
        experiments.look(Aimed(half), RING, [4], 0)


def test_a_look_draws_the_same_noise_for_a_seed_beside_others():
    pair = Replicas([network(s).float() for s in (3, 8)])
    both = experiments.look(pair, RING, [3, 8], 80)
    alone = experiments.look(pair.split()[1], RING, [8], 80)
    both, alone = ({k: v[i] for k, v in f.items() if k != "rest"} for f, i in ((both, 1), (alone, 0)))
    assert both == pytest.approx(alone, abs=1e-4)


def test_all_prompts_are_used_where_there_are_as_many_groups_and_drawn_where_not():
    assert experiments.prompts_for(RING, 8, Streams([0, 1], "p")).tolist() == [*range(8), *range(8)]
    drawn = experiments.prompts_for(RING, 5, Streams([0, 1], "p"))
    assert drawn.shape == (10,)
    assert drawn[5:].tolist() == experiments.prompts_for(RING, 5, Streams([1], "p")).tolist()
    assert set(torch.cat([experiments.prompts_for(RING, 20, Streams([s], "p")) for s in range(9)]).tolist()) == {
        *range(8)
    }


RUN = {
    "passes": [0, 100, 300, 400],
    # crosses 0.5 half-way; at a look exactly; there from the start; never; and crosses, falls, crosses again
    "reward": [
        [0.2, 0.1, 0.6, 0.1, 0.1],
        [0.4, 0.5, 0.2, 0.2, 0.6],
        [0.6, 0.9, 0.7, 0.3, 0.2],
        [0.9, 0.9, 0.8, 0.4, 0.9],
    ],
}


def test_passes_to_a_target_are_those_worked_out_by_hand():
    assert experiments.passes_to(RUN, [0.5] * 5) == pytest.approx([200, 100, 100, 400, 80])
    assert experiments.passes_to(RUN, [0.45, 0.3, 0.65, 0.4, 0.35]) == pytest.approx([150, 50, 280, 400, 50])
    assert experiments.passes_to(RUN, [0.2, 1.0, 0.6, 0.15, 0.9]) == pytest.approx([100, 400, 100, 50, 400])
    with pytest.raises(ValueError, match="5 seeds need as many targets, got 2"):
        experiments.passes_to(RUN, [0.5, 0.5])
    with pytest.raises(ValueError, match=r"targets must be numbers, got .*nan"):
        experiments.passes_to(RUN, [0.5, 0.5, math.nan, 0.5, 0.5])


def test_reward_at_so_many_passes_is_interpolated_between_looks():
    assert experiments.reward_at(RUN, 0) == RUN["reward"][0]
    assert experiments.reward_at(RUN, 150) == pytest.approx([0.45, 0.6, 0.325, 0.225, 0.5])
    assert experiments.reward_at(RUN, 400) == RUN["reward"][-1]
    for passes in (-1, 401):
        with pytest.raises(ValueError, match=f"0 to 400 passes, not {passes}"):
            experiments.reward_at(RUN, passes)


def test_runs_of_some_seeds_each_make_one_of_all_in_the_order_asked_for():
    a = {
        "passes": [0, 9],
        "clock": [0.0, 1.0],
        "reward": [[0.1, 0.3], [0.5, 0.7]],
        "weight": [[1, 3]],
        "rollouts": [5, 7],
    }
    b = {"passes": [0, 9], "clock": [0.0, 2.5], "reward": [[0.2], [0.6]], "weight": [[2]], "rollouts": [6]}
    whole = experiments.joined([a, b], [[1, 3], [2]], [3, 2, 1])
    assert whole == {
        "passes": [0, 9],
        "clock": [0.0, 3.5],
        "reward": [[0.3, 0.2, 0.1], [0.7, 0.6, 0.5]],
        "weight": [[3, 2, 1]],
        "rollouts": [7, 6, 5],
    }
    assert a["reward"] == [[0.1, 0.3], [0.5, 0.7]]
    with pytest.raises(ValueError, match=r"seeds \[1, 3, 2\] do not make one of seeds \[1, 2\]"):
        experiments.joined([a, b], [[1, 3], [2]], [1, 2])
    for parts in ([[1, 3, 2]], [[1], [3, 2]], [[1, 3], [2], []]):
        with pytest.raises(ValueError, match=r"runs of \[2, 1\] seeds are not those of parts"):
            experiments.joined([a, b], parts, [3, 2, 1])
    with pytest.raises(ValueError, match="the runs spent other passes"):
        experiments.joined([a, {**b, "passes": [0, 8]}], [[1, 3], [2]], [3, 2, 1])


def test_unknown_arms_and_tasks_are_refused(base):
    with pytest.raises(ValueError, match="unknown arm 'ppo'; known: dgpo, dpo, grpo"):
        experiments.improve("ppo", "ring", 2, [0, 1], base, {}, **SIZES)
    with pytest.raises(ValueError, match=r"unknown task 'moons'; known: ring.*blobs"):
        experiments.task_of("moons", 2)


@pytest.mark.parametrize("name", ["updates", "every", "samples", "last_samples", "groups"])
def test_runs_of_no_size_are_refused(base, name):
    with pytest.raises(ValueError, match=f"{name} must be 1 or more, got 0"):
        experiments.improve("dgpo", "ring", 2, [0, 1], base, {}, **{**SIZES, name: 0})


def test_runs_without_weights_are_refused(base):
    with pytest.raises(ValueError, match="2 seeds need as many weights, got 1"):
        experiments.improve("dgpo", "ring", 2, [0, 1], base[:1], {}, **SIZES)
    with pytest.raises(ValueError, match="one model or more, got none"):
        experiments.improve("dgpo", "ring", 2, [], [], {}, **SIZES)


# the benchmark


def test_the_benchmark_prices_the_midpoint_by_the_median_pace():
    """A pass takes 1, 1 and 50 ms on the three stretches, the last because something else kept the machine busy."""
    run = {"passes": [0, 100, 200, 300], "clock": [0, 0.1, 0.2, 5.2], "reward": [[0.2], [0.4], [0.6], [0.8]]}
    assert bench.spent(run, 0.7) == (pytest.approx(250), pytest.approx(0.25), True)
    assert bench.spent(run, 0.9) == (300, pytest.approx(0.3), False)
    assert bench.ratio([3, 8, 50], [2, 2, 10], bound=False) == "4.00"
    assert bench.ratio([3, 8, 50], [2, 2, 10], bound=True) == "> 4.00"


@pytest.mark.parametrize(("met", "mark"), [((True, True, False), ""), ((True, False, False), "> ")])
def test_a_row_of_the_benchmark_has_a_bound_where_half_of_the_seeds_do_not_arrive(met, mark):
    runs = [{"passes": [0, 9600], "updates": [0, 5], "reward": [[0.1], [r]]} for r in (0.4, 0.5, 0.9)]
    cells = bench.row("DPO", runs, [(4000, 6000, 9000), (1, 2, 3), met], [(2000, 2000, 3000), (1, 1, 1), None])
    each = f"{9600 / 5 / bench.BOOK.groups / bench.BOOK.group:.1f}"
    there = f"{sum(met)} of 3"
    assert cells == ["DPO", each, "6", f"{mark}3.00", "2.00 s", f"{mark}2.00", there, "0.600 after 5"]


def test_the_rivals_of_the_benchmark_may_spend_what_dgpo_spends(monkeypatch):
    asked = {}

    def trained(arm, dim, seed, weights, **sizes):
        each, updates = {"dgpo": 26, "dpo": 11, "grpo": 40, "grpo 4": 22}[arm], sizes["updates"]
        asked[arm] = updates
        return {"passes": [0, each * updates], "clock": [0, 1], "updates": [0, updates], "reward": [[0.2], [0.8]]}

    monkeypatch.setattr(bench, "trained", trained)
    table = bench.race(2, 2, 10)
    assert asked == {"dgpo": 10, "dpo": 24, "grpo": 10, "grpo 4": 12}
    assert [row[0] for row in table.rows] == list(bench.NAMES.values())
    assert table.rows[0][3] == table.rows[0][5] == "1.00"


def test_both_samplers_of_the_benchmark_are_timed_and_agree():
    rows = bench.samplers(turns=1).rows
    assert [float(row[1]) > 0 for row in rows[:2]] == [True, True]
    with pytest.raises(SystemExit):
        bench.main(["--seeds", "0"])
