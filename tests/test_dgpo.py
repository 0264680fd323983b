"""The method of the chapter `dgpo` against closed forms, brute force and autograd."""

import math

import pytest
import torch
from torch import nn

from iclr26lib.dgpo import method
from iclr26lib.dgpo.baselines import dpo_pair_loss, grpo_step_loss
from iclr26lib.flows import Streams, data_prediction
from iclr26lib.seeding import generator

REWARDS = torch.tensor([[1.0, 0.0, 0.2, 0.2]], dtype=torch.float64)
THETA = torch.tensor([[0.30, 0.50, 0.40, 0.60]], dtype=torch.float64)
REF = torch.tensor([[0.35, 0.45, 0.40, 0.50]], dtype=torch.float64)


def advantages():
    return method.group_advantages(REWARDS, eps=0.0)


def near(value, wanted, tolerance=1e-6):
    torch.testing.assert_close(
        torch.as_tensor(value, dtype=torch.float64), torch.tensor(wanted, dtype=torch.float64), rtol=0, atol=tolerance
    )


@pytest.mark.equation("dgpo", "12")
def test_advantages_have_the_worked_values_and_halves_of_equal_weight():
    A = advantages()
    near(A, [[1.692456, -0.911322, -0.390567, -0.390567]])
    near(A[A > 0].sum(), 1.692456)
    near(A[A <= 0].sum(), -1.692456)
    near(method.group_advantages(torch.tensor([[1.0, 0, 0, 1]]), eps=0.0), [[1.0, -1, -1, 1]])


@pytest.mark.equation("dgpo", "12")
def test_advantages_are_those_of_a_plain_loop_over_groups():
    rewards = torch.rand(2, 3, 5, generator=generator(0), dtype=torch.float64)
    got = {std: method.group_advantages(rewards, std, eps=1e-4, clip=1.2) for std in method.STDS}
    for s in range(2):
        everyone = math.sqrt(sum((r - rewards[s].mean().item()) ** 2 for r in rewards[s].flatten().tolist()) / 15)
        for p in range(3):
            row = rewards[s, p].tolist()
            mean = sum(row) / 5
            own = math.sqrt(sum((r - mean) ** 2 for r in row) / 5)
            for std, by in (("group", own), ("global", everyone)):
                near(got[std][s, p], [min(1.2, max(-1.2, (r - mean) / (by + 1e-4))) for r in row], 1e-12)


@pytest.mark.parametrize("value", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("eps", [0.0, 1e-4])
def test_equal_rewards_teach_nothing(value, eps):
    A = method.group_advantages(torch.full((2, 24), value), eps=eps)
    assert (A == 0).all()
    theta = torch.rand(2, 24, generator=generator(1)).requires_grad_()
    loss, parts = method.dgpo_loss(theta, torch.zeros(2, 24), A, 10.0)
    loss.backward()
    near(loss.item(), math.log(2))
    assert (theta.grad == 0).all()
    near(parts["weight"], [0.5, 0.5])


@pytest.mark.equation("dgpo", "17")
@pytest.mark.parametrize(
    ("beta", "z", "loss", "weight"),
    [
        (10.0, -0.4231139, 0.5038034, 0.3957718),
        (1.0, -0.0423114, 0.6722152, 0.4894237),
        (100.0, -4.2311391, 0.0144312, 0.0143276),
    ],
)
def test_loss_has_the_worked_values(beta, z, loss, weight):
    A = advantages()
    near((A * (THETA - REF)).sum(), -0.1692456)
    got, parts = method.dgpo_loss(THETA, REF, A, beta)
    near(got, loss)
    near(parts["z"], [z])
    near(parts["weight"], [weight])


@pytest.mark.equation("dgpo", "17")
def test_gradient_and_surrogate_have_the_worked_values():
    theta, A = THETA.clone().requires_grad_(), advantages()
    method.dgpo_loss(theta, REF, A, 10.0)[0].backward()
    # derivative of log(1 + exp(z)): weight * beta / G * A
    near(theta.grad, [[1.674566, -0.901689, -0.386438, -0.386438]])
    near(theta.grad, (0.3957718 * 10 / 4 * A).tolist(), 1e-5)
    near(method.dgpo_loss(THETA, REF, A, 10.0, "surrogate")[0], -0.0334913)


@pytest.mark.equation("dgpo", "17")
@pytest.mark.parametrize("beta", [0.3, 1.0, 10.0])
def test_surrogate_times_beta_has_the_gradient_of_the_bradley_terry_loss(beta):
    net = nn.Linear(3, 12).double()
    x = torch.randn(5, 3, generator=generator(2), dtype=torch.float64)
    ref, A = (torch.rand(5, 12, generator=generator(k), dtype=torch.float64) for k in (3, 4))
    A = method.group_advantages(A, eps=0.0)
    grads = {}
    for form in method.FORMS:
        net.zero_grad()
        method.dgpo_loss(net(x).square(), ref, A, beta, form)[0].backward()
        grads[form] = net.weight.grad.clone()
    torch.testing.assert_close(grads["surrogate"] * beta, grads["bt"], rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("form", method.FORMS)
def test_the_loss_sends_gradients_into_the_policy_alone(form):
    theta, ref, A = (q.clone().requires_grad_() for q in (THETA, REF, advantages()))
    method.dgpo_loss(theta, ref, A, 10.0, form)[0].backward()
    assert theta.grad is not None
    assert ref.grad is A.grad is None


@pytest.mark.equation("dgpo", "gap")
def test_only_weights_that_balance_cancel_the_unknown_constant():
    A = advantages()
    delta = THETA - REF
    near((A * (delta + 0.1)).sum(), -0.1692456)
    for log_z in (0.0, -3.0, 7.5):
        r = method.implicit_rewards(THETA, REF, 10.0, log_z)
        near(method.group_gap(r, A), [1.692456])
    ones = torch.ones_like(A)
    near(-method.group_gap(delta, A, ones), [0.2])
    near(-method.group_gap(delta + 0.1, A, ones), [0.4])


@pytest.mark.equation("dgpo", "gap")
def test_the_loss_compares_the_two_halves():
    A = advantages()
    r = method.implicit_rewards(THETA, REF, 10.0 / 4)
    positive = sum(a * v for a, v in zip(A[0].tolist(), r[0].tolist(), strict=True) if a > 0)
    negative = sum(-a * v for a, v in zip(A[0].tolist(), r[0].tolist(), strict=True) if a <= 0)
    near(method.dgpo_loss(THETA, REF, A, 10.0)[0], math.log1p(math.exp(negative - positive)))
    near(method.group_gap(r, A), [positive - negative])


@pytest.mark.equation("dgpo", "10")
def test_implicit_reward_is_beta_times_the_log_ratio_of_two_gaussian_denoisers():
    """With unit variance, log p(x|f) - log p(x|f_ref) is half the difference of squared errors."""
    x, f, f_ref = torch.randn(3, 4, generator=generator(5), dtype=torch.float64)
    normal = torch.distributions.Normal
    ratio = (normal(f, 1.0).log_prob(x) - normal(f_ref, 1.0).log_prob(x))[None]
    errors = (((x - f) ** 2 / 2)[None], ((x - f_ref) ** 2 / 2)[None])
    near(method.implicit_rewards(*errors, 3.0, 0.25), (3.0 * ratio + 3.0 * 0.25).tolist())


@pytest.mark.parametrize("beta", [0.1, 1.0, 100.0])
def test_at_the_reference_the_loss_is_log_two_and_the_gradient_weighs_by_advantage(beta):
    net = nn.Linear(2, 6).double()
    x = torch.randn(3, 2, generator=generator(6), dtype=torch.float64)
    A = method.group_advantages(torch.rand(3, 6, generator=generator(7), dtype=torch.float64))
    dsm = net(x).square()
    loss, _ = method.dgpo_loss(dsm, dsm.detach(), A, beta)
    near(loss.item(), 0.6931472)
    got = torch.autograd.grad(loss, net.weight, retain_graph=True)[0]
    wanted = torch.autograd.grad((A * dsm).sum() * beta / (2 * 6) / 3, net.weight)[0]
    torch.testing.assert_close(got, wanted)


@pytest.mark.equation("dgpo", "dpo")
def test_a_group_of_two_is_diffusion_dpo_with_half_of_beta():
    A = method.group_advantages(torch.tensor([[0.9, 0.1]], dtype=torch.float64), eps=0.0)
    near(A, [[1.0, -1.0]])
    delta = (THETA - REF)[:, :2]
    ours = method.dgpo_loss(THETA[:, :2], REF[:, :2], A, 7.0)[0]
    near(ours, dpo_pair_loss(delta[:, 0], delta[:, 1], 3.5).item())
    near(ours, -math.log(1 / (1 + math.exp(3.5 * (delta[0, 0] - delta[0, 1]).item()))))


@pytest.mark.equation("dgpo", "dpo")
def test_a_group_without_a_pair_adds_no_gradient():
    best = torch.tensor([0.2, 0.4], dtype=torch.float64, requires_grad=True)
    dpo_pair_loss(best, torch.zeros(2, dtype=torch.float64), 2.0, torch.tensor([True, False])).backward()
    near(best.grad, [2.0 / (1 + math.exp(-0.4)) / 2, 0.0])


@pytest.mark.parametrize(("a", "b"), [(3.0, 0.0), (0.01, -4.0), (100.0, 17.0)])
def test_affine_rewards_give_the_same_advantages(a, b):
    changed = method.group_advantages(a * REWARDS + b, eps=0.0)
    torch.testing.assert_close(changed, advantages())
    near(method.dgpo_loss(THETA, REF, changed, 10.0)[0], 0.5038034)


@pytest.mark.equation("dgpo", "12")
@pytest.mark.parametrize("offset", [1e7, -1e7])
def test_a_large_offset_costs_no_advantage_in_single_precision(offset):
    plain = torch.tensor([[0.0, 1.0, 2.0, 4.0], [3.0, 0.0, 1.0, 1.0]])
    for std in method.STDS:
        torch.testing.assert_close(method.group_advantages(plain + offset, std), method.group_advantages(plain, std))


@pytest.mark.parametrize("std", method.STDS)
@pytest.mark.parametrize("eps", [0.0, 1e-4])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16])
def test_finite_rewards_have_finite_advantages(std, eps, dtype):
    kind = torch.finfo(dtype)
    pair = torch.tensor([[kind.max, -kind.max], [kind.tiny, 0.0]], dtype=torch.float64).to(dtype)
    for rewards in (pair, pair[:1], pair[1:], pair[:1].expand(3, 2), pair.abs()[:1], pair[:1] / 2 + pair[1:]):
        assert method.group_advantages(rewards, std, eps, clip=None).isfinite().all()
    assert method.group_advantages(pair[:1], std, eps).tolist() == [pytest.approx([1, -1], abs=1e-3)]
    assert method.group_advantages(pair[1:], std, 0.0).tolist() == [pytest.approx([1, -1])]


def test_the_constant_may_differ_by_group():
    theta, ref = (q.expand(2, 4) for q in (THETA, REF))
    both = method.implicit_rewards(theta, ref, 10.0, torch.tensor([0.5, -2.0]))
    near(both[1], method.implicit_rewards(theta[1], ref[1], 10.0, -2.0).tolist())


def test_constant_predictor_follows_the_closed_form():
    data = torch.tensor([[0.0, 1, 2, 3]], dtype=torch.float64)
    A = method.group_advantages(torch.tensor([[0.0, 0, 1, 1]], dtype=torch.float64), eps=0.0)
    for value, loss, slope in ((0.0, math.log(2), -2.0), (0.5, 0.1269280, -0.4768117)):
        theta = torch.tensor(value, dtype=torch.float64, requires_grad=True)
        got, _ = method.dgpo_loss((theta - data) ** 2, data**2, A, 2.0)
        got.backward()
        near(got.item(), loss)
        near(got.item(), -math.log(1 / (1 + math.exp(-4 * value))))
        near(theta.grad, slope)


@pytest.mark.equation("dgpo", "dsm")
def test_velocity_loss_is_the_data_loss_over_t_squared():
    gen = generator(8)
    x0, v = torch.randn(2, 3, 4, 1, 5, 5, generator=gen, dtype=torch.float64)
    t = torch.tensor([0.3, 0.7, 0.9], dtype=torch.float64)
    x_t, _, target = method.flow_noise(x0, t, gen)
    each = t.repeat_interleave(4)
    f = data_prediction(x_t.flatten(0, 1), v.flatten(0, 1), each).reshape(x0.shape)
    x_error = (f - x0).square().sum((2, 3, 4)) / 25
    torch.testing.assert_close(x_error, t[:, None] ** 2 * method.dsm_loss(v, target))
    near(method.dsm_loss(v, target)[1, 2], (v - target)[1, 2].square().sum().item() / 25)


@pytest.mark.equation("dgpo", "22")
def test_weight_of_the_theory_has_the_worked_values():
    near(method.timestep_weight(0.5, 0.5, 0.6, 0.4, 0.2), 0.8038475)
    near(method.timestep_weight(0.5, 0.5, 0.6, 0.4, 0.4), 1.125)


@pytest.mark.equation("dgpo", "clip")
@pytest.mark.parametrize(
    ("advantage", "new", "old", "clipped"),
    [(1, 0.50, 0.52, True), (1, 0.515, 0.52, False), (-1, 0.54, 0.52, True), (1, 0.54, 0.52, False),
     (-1, 0.50, 0.52, False), (0, 0.54, 0.52, True)],
)  # fmt: skip
def test_clip_holds_what_has_moved_far_enough(advantage, new, old, clipped):
    got = method.ppo_mask(*(torch.tensor([[float(v)]]) for v in (new, old, advantage)), 0.01)
    assert got.item() is clipped


@pytest.mark.equation("dgpo", "grpo")
@pytest.mark.parametrize("A", [1.5, -0.5])
@pytest.mark.parametrize("shift", [-0.3, -0.005, 0.0, 0.005, 0.3])
def test_ppo_objective_and_its_gradient(A, shift):
    log_p = torch.tensor([[shift]], dtype=torch.float64, requires_grad=True)
    loss = grpo_step_loss(log_p, torch.zeros(1, 1, dtype=torch.float64), torch.tensor([[A]]).double(), 0.01)
    loss.backward()
    ratio = math.exp(shift)
    held = ratio > 1.01 if A > 0 else ratio < 0.99
    clipped = 1.01 if ratio > 1.01 else 0.99
    near(loss.item(), -A * clipped if held else -A * ratio)
    near(log_p.grad, [[0.0 if held else -A * ratio]])


def test_noise_is_shared_within_a_group_and_nowhere_else():
    x0 = torch.zeros(3, 4, 2)
    x_t, noise, target = method.flow_noise(x0, 0.25, generator(9))
    assert (noise == noise[:, :1]).all()
    assert len(torch.unique(noise[:, 0], dim=0)) == 3
    torch.testing.assert_close(x_t, 0.25 * noise)
    torch.testing.assert_close(target, noise)
    _, own, _ = method.flow_noise(x0, 0.25, generator(9), shared=False)
    assert len(torch.unique(own.reshape(-1, 2), dim=0)) == 12


def test_noise_of_a_seed_does_not_depend_on_its_neighbours():
    x0 = torch.zeros(4, 3, 2)
    both = method.flow_noise(x0, 0.5, Streams([3, 8], "n"))[1]
    alone = method.flow_noise(x0[:2], 0.5, Streams([8], "n"))[1]
    torch.testing.assert_close(both[2:], alone)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: method.group_advantages(torch.ones(3, 1)), ValueError, r"groups of two or more.*\(3, 1\)"),
        (lambda: method.group_advantages(torch.ones(3)), ValueError, r"shape \(3,\)"),
        (lambda: method.group_advantages(torch.tensor([[1.0, math.nan]])), ValueError, r"nan at index \[0, 1\]"),
        (lambda: method.group_advantages(torch.tensor([[1.0, math.inf]])), ValueError, "inf at index"),
        (lambda: method.group_advantages(torch.ones(2, 2, dtype=torch.int64)), TypeError, "floating-point.*int64"),
        (lambda: method.group_advantages([[1.0, 2.0]]), TypeError, "list"),
        (lambda: method.group_advantages(torch.ones(2, 2), std="both"), ValueError, "'both'"),
        (lambda: method.group_advantages(torch.ones(2, 2), eps=-1.0), ValueError, "eps >= 0"),
        (lambda: method.group_advantages(torch.ones(2, 2), clip=0.0), ValueError, "clip > 0"),
        (lambda: method.dgpo_loss(THETA, REF[:, :3], advantages(), 1.0), ValueError, r"\(1, 4\).*\(1, 3\)"),
        (lambda: method.dgpo_loss(THETA, REF, advantages(), 0.0), ValueError, "beta.*0.0"),
        (lambda: method.dgpo_loss(THETA, REF, advantages(), math.nan), ValueError, "beta.*nan"),
        (lambda: method.dgpo_loss(THETA, REF, advantages(), 1.0, "log"), ValueError, "'log'.*bt, surrogate"),
        (lambda: method.ppo_mask(THETA, REF, advantages(), 0.0), ValueError, "eps"),
        (lambda: method.ppo_mask(THETA, REF, advantages()[:, :2], 0.1), ValueError, r"\(1, 2\)"),
        (lambda: method.dsm_loss(torch.ones(2, 3), torch.ones(2, 3)), ValueError, r"\(2, 3\)"),
        (lambda: method.dsm_loss(torch.ones(2, 3, 4), torch.ones(2, 3, 5)), ValueError, r"\(2, 3, 4\).*\(2, 3, 5\)"),
        (lambda: method.flow_noise(torch.ones(4, 2), 0.5, generator(0)), ValueError, r"\(4, 2\)"),
        (lambda: method.flow_noise(torch.ones(4, 2, 2), torch.ones(3), generator(0)), ValueError, r"\(3,\)"),
        (lambda: method.flow_noise(torch.ones(4, 2, 2), [0.5], generator(0)), TypeError, r"\[0.5\]"),
        (lambda: method.flow_noise(torch.ones(4, 2, 2), torch.tensor(0.5), generator(0)), ValueError, r"shape \(\)"),
        (lambda: method.implicit_rewards(THETA, REF, 1.0, torch.ones(1, 1)), ValueError, r"\(1, 1\).*\(1,\)"),
        (lambda: dpo_pair_loss(*torch.ones(2, 3), 1.0, torch.ones(1).bool()), ValueError, r"\(3,\).*\(1,\)"),
        (lambda: dpo_pair_loss(*torch.ones(2, 3), 1.0, torch.ones(3)), TypeError, "bool, got torch.float32"),
        (lambda: method.flow_noise(torch.ones(4, 2, 2), 1.5, generator(0)), ValueError, "1.5"),
        (lambda: method.flow_noise(torch.ones(4, 2, 2), 0.5, None), TypeError, "Generator"),
        (lambda: method.flow_noise(torch.ones(3, 2, 2), 0.5, Streams([0, 1], "n")), ValueError, "3 groups"),
        (lambda: method.timestep_weight(0.5, 0.5, 0.6, 0.4, 0.5), ValueError, "eta <= sigma_prev"),
        (lambda: dpo_pair_loss(torch.ones(2), torch.ones(3), 1.0), ValueError, r"\(2,\).*\(3,\)"),
        (lambda: grpo_step_loss(torch.ones(2), torch.ones(2), torch.ones(2), -0.1), ValueError, "clip"),
    ],
)  # fmt: skip
def test_wrong_input_fails_with_a_message_that_says_what_to_do(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("size", [2, 16, 24])
def test_no_advantage_of_a_group_exceeds_the_root_of_its_size_minus_one(size):
    rewards = torch.zeros(1, size, dtype=torch.float64)
    rewards[0, 0] = 1.0
    largest = method.group_advantages(rewards, eps=0.0, clip=None).max().item()
    near(largest, math.sqrt(size - 1))
    others = torch.rand(200, size, generator=generator(10), dtype=torch.float64) ** 8
    assert method.group_advantages(others, eps=0.0, clip=None).abs().max().item() <= math.sqrt(size - 1) + 1e-9
