"""The chapter's oracles: worked examples, brute force, limiting cases. Values are from the paper or worked by hand."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from iclr26lib import bep
from iclr26lib.bep import bits, frame, method, models
from iclr26lib.seeding import generator

H1 = [[3, -1, 5], [-7, 1, 1], [1, 1, -3]]
H2 = [[1, -3, 1], [5, 1, -1], [-1, -1, -5]]
P = torch.tensor([[1, 1, -1], [-1, -1, 1]], dtype=torch.int8)
A0 = torch.tensor([[1, -1, 1]], dtype=torch.int8)


def rng(seed=0):
    return generator(seed, "test")


def pm1(*shape, seed=0):
    return torch.randint(0, 2, shape, generator=rng(seed), dtype=torch.int8) * 2 - 1


def layer_of(H, group=3, bits=16):
    layer = method.BinaryLayer(len(H[0]), len(H), group, bits=bits, generators=rng())
    layer.H = torch.tensor(H, dtype=torch.int32)
    return layer


def worked_net():
    net = models.BEPMLP([3, 3, 3], P, group=3, seed=0)
    net.layers = [layer_of(H1), layer_of(H2)]
    return net


def test_sign_of_zero_is_plus_one():
    assert method.sign(torch.tensor([-2, 0, 3])).tolist() == [-1, 1, 1]
    assert method.sign(torch.tensor([0])).dtype == torch.int8


@pytest.mark.equation("bep", "XNOR")
@settings(deadline=None, max_examples=40)
@given(K=st.integers(1, 200), seed=st.integers(0, 10**6))
def test_xor_and_popcount_give_the_inner_product(K, seed):
    a, w = pm1(3, K, seed=seed).numpy(), pm1(4, K, seed=seed + 1).numpy()
    assert (bits.xnor_dot(bits.pack(a), bits.pack(w)) == a.astype(int) @ w.T.astype(int)).all()
    assert (bits.unpack(bits.pack(a)) == a).all()
    gate = pm1(3, K, seed=seed + 2).numpy() > 0
    gated = bits.xnor_dot(bits.pack(a), bits.pack(w), gate=bits.from_bool(gate))
    assert (gated == (a.astype(int) * gate) @ w.T.astype(int)).all()


@pytest.mark.equation("bep", "forward")
def test_worked_forward_pass():
    acts, zs = method.forward(worked_net().layers, A0)
    assert [z.tolist() for z in zs] == [[[3, -1, -1]], [[1, 1, 1]]]
    assert [a.tolist() for a in acts] == [[[1, -1, 1]], [[1, -1, -1]], [[1, 1, 1]]]
    assert method.matmul(acts[-1], P.mT).tolist() == [[1, -1]]


@pytest.mark.equation("bep", "1")
def test_trigger_is_strict_and_fires_on_every_misclassified_sample():
    logits = torch.tensor([[1, -1], [3, 1], [2, 2], [0, 9]])
    y = torch.tensor([1, 0, 0, 0])
    assert method.triggered(logits, y, r=1.0, K=3).tolist() == [True, True, True, True]
    assert method.triggered(logits, y, r=2 / 4, K=4).tolist() == [True, False, True, True]  # margin 2 == r K: not
    assert method.triggered(logits, y, r=0.001, K=4).tolist() == [True, False, True, True]


@pytest.mark.equation("bep", "1")
def test_with_r_one_a_random_frame_lets_no_sample_rest():
    """The largest reachable margin is K - max <rho_c, rho_c'>, below K as soon as two prototypes agree somewhere."""
    K = 35
    rho = pm1(4, K, seed=3)
    logits = method.matmul(rho, rho.mT)
    best = logits.scatter(-1, torch.arange(4)[:, None], -K).amax(-1)
    margins = K - best
    assert (method.triggered(logits, torch.arange(4), 1.0, K) == (margins < K)).all()
    assert (margins < K).any()


@pytest.mark.equation("bep", "5")
@pytest.mark.parametrize("nu", [0.4, 1])
def test_worked_backward_pass(nu):
    net = worked_net()
    _, zs = method.forward(net.layers, A0)
    target = P[[1]]
    assert method.matmul(target, net.layers[1].W).tolist() == [[-3, -1, -1]]
    assert [t.tolist() for t in method.desired_activations(net.layers, zs, target, nu)] == [
        [[-1, -1, -1]],
        [[-1, -1, 1]],
    ]


@pytest.mark.equation("bep", "mask")
def test_worked_masks_and_update():
    net = worked_net()
    acts, zs = method.forward(net.layers, A0)
    targets = method.desired_activations(net.layers, zs, P[[1]], 1)
    masks = [method.winner_mask(t, z, 3) for t, z in zip(targets, zs, strict=True)]
    assert [(t * z).tolist() for t, z in zip(targets, zs, strict=True)] == [[[-3, 1, 1]], [[-1, -1, 1]]]
    assert [m.tolist() for m in masks] == [[[True, False, False]], [[True, False, False]]]
    for layer, target, a_prev, mask in zip(net.layers, targets, acts, masks, strict=False):
        method.update_(layer, target, a_prev, mask)
    assert net.layers[0].H.tolist() == [[1, 1, 3], *H1[1:]]
    assert net.layers[1].H.tolist() == [[-1, -1, 3], *H2[1:]]


@pytest.mark.equation("bep", "mask")
def test_mask_against_a_plain_loop():
    target, z, group = pm1(20, 30, seed=1), torch.randint(-9, 10, (20, 30), generator=rng(2), dtype=torch.int32), 5
    mask = method.winner_mask(target, z, group)
    for b, start in itertools.product(range(20), range(0, 30, group)):
        s = [(int(target[b, j]) * int(z[b, j]), j) for j in range(start, start + group)]
        wrong = [(-v, j) for v, j in s if v < 0]
        expected = {min(wrong)[1]} if wrong else set()
        assert {j for j in range(start, start + group) if mask[b, j]} == expected
    assert (mask.sum(-1) <= 30 // group).all()  # at most K/gamma rows change a sample


@pytest.mark.equation("bep", "5")
@pytest.mark.parametrize("nu", [0.1, 0.3])
def test_chain_rule_against_a_plain_loop(nu):
    """Layers of different widths, so that fan-in and fan-out cannot be exchanged unseen."""
    g = rng(8)
    layers = [method.BinaryLayer(i, o, 1, generators=g) for i, o in ((9, 21), (21, 5), (5, 13))]
    _, zs = method.forward(layers, pm1(10, 9, seed=1))
    target = pm1(10, 13, seed=2)
    wanted = target.tolist()
    rule = method.desired_activations(layers, zs, target, nu)
    for l in (2, 1):
        W, z, below = layers[l].W.tolist(), zs[l].tolist(), []
        for b in range(10):
            votes = [
                sum(W[i][j] * wanted[b][i] for i in range(len(W)) if abs(z[b][i]) <= nu * layers[l].fan_in)
                for j in range(len(W[0]))
            ]
            below.append([1 if v >= 0 else -1 for v in votes])
        assert rule[l - 1].tolist() == below
        wanted = below


@pytest.mark.equation("bep", "5")
def test_gate_at_its_two_ends():
    layers = [layer_of(pm1(15, 15, seed=s).int().tolist()) for s in range(2)]
    _, zs = method.forward(layers, pm1(8, 15, seed=9))
    target = pm1(8, 15, seed=5)
    closed = method.desired_activations(layers, zs, target, 0)[0]
    assert (closed == 1).all()  # odd fan-in: |z| >= 1, so that every gate closes and sign(0) = +1 is all that is left
    opened = method.desired_activations(layers, zs, target, 1)[0]
    assert (opened == method.sign(target.int() @ layers[1].W.int())).all()
    assert (opened != 1).any()


@pytest.mark.equation("bep", "lemma 1")
@pytest.mark.parametrize("seed", range(6))
def test_lemma_1_by_brute_force(seed):
    """sign(W^T (g . b)) maximises the gated agreement <b, W a>_g over all a; uniquely when no vote is tied."""
    layer = layer_of(pm1(6, 7, seed=seed).int().tolist(), group=3)
    b, gate = pm1(6, seed=seed + 50), pm1(6, seed=seed + 90) > 0
    z = torch.where(gate, 0, 7).int()[None]
    zs, layers = [z, z], [layer, layer]
    rule = method.desired_activations(layers, zs, b[None], 0)[0][0]
    scores = {
        a: int((gate * b).int() @ layer.W.int() @ torch.tensor(a).int()) for a in itertools.product((-1, 1), repeat=7)
    }
    best = max(scores.values())
    assert scores[tuple(rule.tolist())] == best
    if int(gate.sum()) % 2:
        assert sum(v == best for v in scores.values()) == 1


@pytest.mark.equation("bep", "9")
def test_lemma_3_and_remark_1():
    """A selected neuron's a* <H, a> grows by 2 K an update; from |H| <= 5 three equal updates fix every sign."""
    layer = layer_of([[5, -5, 3, 1, -1]], group=1)
    a, target, mask = pm1(1, 5, seed=4), torch.tensor([[-1]], dtype=torch.int8), torch.tensor([[True]])
    for _ in range(3):
        before = int((target.int() * (layer.H @ a[0].int())).item())
        method.update_(layer, target, a, mask)
        assert int((target.int() * (layer.H @ a[0].int())).item()) - before == 2 * 5
    assert (layer.W[0] == target[0] * a[0]).all()


@pytest.mark.equation("bep", "9")
def test_update_is_the_sum_over_samples_of_outer_products():
    layer = layer_of(pm1(6, 9, seed=1).int().tolist(), group=3)
    before, target, a, mask = layer.H.clone(), pm1(11, 6, seed=2), pm1(11, 9, seed=3), pm1(11, 6, seed=4) > 0
    method.update_(layer, target, a, mask)
    for m in range(11):
        before += 2 * torch.outer((mask[m] * target[m]).int(), a[m].int())
    assert (before == layer.H).all()


@pytest.mark.equation("bep", "9")
def test_state_is_clipped_to_its_bits():
    layer = layer_of([[7, -7, 7]], group=1, bits=4)
    for _ in range(3):
        method.update_(layer, torch.tensor([[1]]), torch.tensor([[1, -1, -1]]), torch.tensor([[True]]))
    assert layer.H.tolist() == [[7, -8, 1]]


def test_parity_holds_until_the_lower_clip_breaks_it():
    """Odd entries move by 2 and stay odd; the clip range of B bits ends in the even -2**(B-1), where parity is lost."""
    X, y, _ = bep.random_prototypes(200, 35, 4, 0.3, rng())
    net = models.BEPMLP([35, 15, 15], frame.random_frame(4, 15, rng(1)), group=5, seed=0)
    net.fit_epoch(X, y, batch=20)
    assert all(bool((layer.H % 2 == 1).all()) for layer in net.layers)
    layer = layer_of([[-7]], group=1, bits=4)
    method.update_(layer, torch.tensor([[-1]]), torch.tensor([[1]]), torch.tensor([[True]]))
    assert layer.H.item() == -8
    for _ in range(4):
        method.update_(layer, torch.tensor([[1]]), torch.tensor([[1]]), torch.tensor([[True]]))
    assert layer.H.item() == 0


def test_order_of_clipping_does_not_matter():
    """Clip after update and again after reinforcement, or only at the end: the same state."""
    layers = [layer_of([[7, -8, 5, -5, 1, -7]], group=1, bits=4) for _ in range(2)]
    layers[1].bits = 24  # no clip in between
    target, a, mask = torch.tensor([[1]]), torch.tensor([[1, -1, 1, -1, 1, -1]]), torch.tensor([[True]])
    for layer in layers:
        method.update_(layer, target, a, mask)
        method.reinforce_(layer, 0.6, rng(3))
    assert (layers[1].H > 7).any()
    assert (layers[1].H < -8).any()
    assert (layers[1].H.clamp(-8, 7) == layers[0].H).all()


@pytest.mark.equation("bep", "reinforcement")
@pytest.mark.parametrize(("fan_in", "expected"), [(1000, 0.012616), (135, 0.034335)])
def test_reinforcement_probability(fan_in, expected):
    assert method.reinforcement_probability(0.5, fan_in, 1.0) == pytest.approx(expected, abs=1e-6)
    assert method.reinforcement_probability(0.5, fan_in, 0.25) == pytest.approx(expected / 2, abs=1e-6)


def test_reinforcement_happens_as_often_as_it_says_and_only_away_from_zero():
    layer = method.BinaryLayer(400, 300, 1, generators=rng())
    before, p = layer.H.clone(), 0.05
    method.reinforce_(layer, p, rng(1))
    moved = layer.H - before
    assert set(moved.unique().tolist()) == {-2, 0, 2}
    assert (moved * before >= 0).all()
    n = before.numel()
    assert abs(int((moved != 0).sum()) - n * p) < 5 * (n * p * (1 - p)) ** 0.5


def test_random_int16_is_uniform():
    draw = method.random_int16((500, 401), rng(7)).numpy().astype(np.int64)
    counts, _ = np.histogram(draw, bins=16, range=(-(2**15), 2**15))
    assert draw.min() < -32700
    assert draw.max() > 32700
    assert ((counts - draw.size / 16) ** 2 / (draw.size / 16)).sum() < 45  # chi-squared, 15 degrees: p about 1e-4


@pytest.mark.equation("bep", "frame")
@pytest.mark.parametrize(("C", "D", "bound"), [(10, 1035, -5175), (3, 75, -75), (10, 135, -675)])
def test_frame_bound(C, D, bound):
    """sum_{i<j} <rho_i, rho_j> = (|sum rho|^2 - C D) / 2, at least -C D / 2 for even C, (D - C D) / 2 for odd C."""
    assert bound == (-C * D / 2 if C % 2 == 0 else (D - C * D) / 2)
    for seed in range(3):
        rho = frame.random_frame(C, D, rng(seed)).int()
        gram = rho @ rho.T
        assert int(torch.triu(gram, 1).sum()) >= bound
        assert int(torch.triu(gram, 1).sum()) == (int((rho.sum(0) ** 2).sum()) - C * D) // 2


@pytest.mark.equation("bep", "frame")
def test_greedy_frame_nears_its_bound_and_keeps_its_books():
    for seed in range(2):
        rho = frame.binary_frame(10, 135, generator=rng(seed))
        assert -675 <= frame.frame_cost(rho) < -640  # -660.4 was reached from another start
        gram = (rho.int() @ rho.int().T).numpy()
        pairs = gram[np.triu_indices(10, 1)]
        assert frame.frame_cost(rho, 1.0) == pytest.approx(pairs.sum() + pairs.var())
    rho, worst = frame.binary_frame(4, 15, generator=rng(5)), -1e-9
    for i, k in itertools.product(range(4), range(15)):
        flipped = rho.clone()
        flipped[i, k] *= -1
        worst = min(worst, frame.frame_cost(flipped) - frame.frame_cost(rho))
    assert worst >= -1e-9  # a local minimum: no single flip lowers the cost


def test_one_layer_is_a_set_of_perceptrons():
    """L = 1: every output unit learns one prototype bit by the clipped perceptron rule, where it is wrong."""
    X, y, rho = pm1(40, 21, seed=1), torch.randint(0, 3, (40,), generator=rng(2)), frame.random_frame(3, 7, rng(3))
    net = models.BEPMLP([21, 7], rho, group=1, seed=0)
    H = net.layers[0].H.clone()
    net.fit_batch(X, y, r=1.0, nu=0.3)
    z = X.long() @ torch.where(H >= 0, 1, -1).T
    scores = torch.where(z >= 0, 1, -1) @ rho.long().T
    for m in range(40):
        rivals = [int(scores[m, c]) for c in range(3) if c != y[m]]
        if int(scores[m, y[m]]) - max(rivals) < 7:
            for j in range(7):
                if int(rho[y[m], j]) * int(z[m, j]) < 0:
                    H[j] += 2 * int(rho[y[m], j]) * X[m].int()
    assert (net.layers[0].H == H).all()


def test_no_update_on_a_correct_sample_when_the_margin_asked_for_is_tiny():
    net = worked_net()
    net.fit_batch(A0, torch.tensor([0]), r=1e-6, nu=1)
    assert net.layers[0].H.tolist() == H1
    assert net.layers[1].H.tolist() == H2
    net.fit_batch(A0, torch.tensor([1]), r=1e-6, nu=1)
    assert net.layers[0].H.tolist() != H1


def small_task(seed=0, n=300):
    X, y, _ = bep.random_prototypes(n, 63, 3, 0.3, rng(seed))
    return X, y, frame.binary_frame(3, 15, generator=rng(seed + 1))


@pytest.mark.parametrize("group", [1, 5, 15])
def test_packed_bits_equal_the_fast_path(group):
    X, y, rho = small_task()
    net = models.BEPMLP([63, 15, 15], rho, group=group, seed=0)
    H = [layer.H.numpy().copy() for layer in net.layers]
    limits = [method.gate_threshold(0.4, layer.fan_in) for layer in net.layers]
    for start in range(0, 300, 50):
        x, labels = X[start : start + 50], y[start : start + 50]
        net.fit_batch(x, labels, r=0.5, nu=0.4)
        fired = bits.train_step(
            H, bits.pack(x.numpy()), labels.numpy(), rho.numpy(), 8, limits, group, (-(2**15), 2**15 - 1)
        )
        assert fired.any()
    assert all((h == layer.H.numpy()).all() for h, layer in zip(H, net.layers, strict=True))


def test_no_float_in_the_update():
    """The whole update runs where any torch operation on a float tensor raises, and gives the fast path's bits."""
    X, y, rho = small_task()
    nets = [models.BEPMLP([63, 15, 15], rho, group=5, seed=0) for _ in range(2)]
    for net in nets:
        net.error = 0.5
    limits = nets[0].reinforcement_limits(0.5)
    with method.integer_only():
        nets[0].fit_batch(X, y, r=0.5, nu=0.4)
        nets[0].reinforce(limits)
    nets[1].fit_batch(X, y, r=0.5, nu=0.4)
    nets[1].reinforce(limits)
    assert limits != nets[0].reinforcement_limits(0.1)
    assert all((a.H == b.H).all() for a, b in zip(nets[0].layers, nets[1].layers, strict=True))
    with method.integer_only(), pytest.raises(TypeError, match="only integers"):
        X.float()


@pytest.mark.parametrize("rule", [models.BEPMLP, models.LocalRuleMLP])
def test_runs_side_by_side_give_the_bits_of_runs_alone(rule):
    X, y, rho = small_task()
    together = rule([63, 15, 15], rho, group=5, seed=[0, 4])
    alone = rule([63, 15, 15], rho, group=5, seed=4)
    for _ in range(2):
        errors, error = together.fit_epoch(X, y, batch=50), alone.fit_epoch(X, y, batch=50)
        assert errors[1] == error
    assert all((a.H[1] == b.H).all() for a, b in zip(together.layers, alone.layers, strict=True))
    assert together.accuracy(X, y)[1] == alone.accuracy(X, y)


def test_threads_do_not_change_a_bit():
    X, y, rho = small_task()
    before, states = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            net = models.BEPMLP([63, 15, 15], rho, group=5, seed=[0, 1])
            net.fit_epoch(X, y, batch=50)
            states.append([layer.H for layer in net.layers])
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(a, b) for a, b in zip(*states, strict=True))


def test_one_gate_a_run():
    X, y, rho = small_task()
    both = models.BEPMLP([63, 15, 15], rho, group=5, seed=[0, 0])
    both.fit_epoch(X, y, nu=[0.0, 0.4], batch=50)
    for run, nu in enumerate([0.0, 0.4]):
        alone = models.BEPMLP([63, 15, 15], rho, group=5, seed=0)
        alone.fit_epoch(X, y, nu=nu, batch=50)
        assert all((a.H[run] == b.H).all() for a, b in zip(both.layers, alone.layers, strict=True))


def test_gate_threshold_is_exact():
    assert method.gate_threshold(0.29, 100) == 29  # 0.29 * 100 is 28.999999999999996 in floating point
    assert method.gate_threshold(0.05, 1035) == 51


def test_bep_learns():
    X, y, rho = small_task(n=600)
    net = models.BEPMLP([63, 15, 15], rho, group=5, seed=0)
    errors = [net.fit_epoch(X, y, nu=0.4, batch=50) for _ in range(8)]
    assert errors[-1] < 0.5 * errors[0]
    assert errors[-1] < 0.1


def test_local_rule_layer_sees_only_its_own_scores():
    """Its first layer moves the same whatever happens above it; BEP's does not."""
    X, y, rho = small_task()
    for rule, same in ((models.LocalRuleMLP, True), (models.BEPMLP, False)):
        nets = [rule([63, 15, 15], rho, group=5, seed=0) for _ in range(2)]
        nets[1].layers[1].H = -nets[1].layers[1].H
        for net in nets:
            net.fit_batch(X, y, r=0.5, nu=0.4)
        assert bool((nets[0].layers[0].H == nets[1].layers[0].H).all()) == same


def test_group_schedule_climbs_the_divisors():
    layer = method.BinaryLayer(9, 45, 5, generators=rng())
    schedule = models.GroupSchedule(layer, patience=2)
    groups = [schedule.step(error) for error in (0.5, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4)]
    assert groups == [5, 5, 5, 9, 9, 15, 15, 45, 45, 45]
