"""BEP through time, codings, tasks, baselines, and what wrong input gets."""

import itertools

import numpy as np
import pytest
import torch

from iclr26lib import bep, data
from iclr26lib.bep import baselines, bits, coding, experiments, frame, method, models, rnn, tasks
from iclr26lib.seeding import generator


def rng(seed=0):
    return generator(seed, "test")


def pm1(*shape, seed=0):
    return torch.randint(0, 2, shape, generator=rng(seed), dtype=torch.int8) * 2 - 1


@pytest.mark.equation("bep", "RNN")
@pytest.mark.equation("bep", "BEP-TT")
def test_one_step_of_time_is_a_two_layer_network():
    """T = 1: the RNN is an MLP whose input is [a_1, s_0] with s_0 = +1; forward, targets, masks and updates agree."""
    P, X, y = frame.random_frame(3, 15, rng(1)), pm1(30, 1, 9, seed=2), torch.randint(0, 3, (30,), generator=rng(3))
    net = rnn.BEPRNN(9, 15, 15, P, group=5, seed=0)
    mlp = models.BEPMLP([24, 15, 15], P, group=5, seed=0)
    mlp.layers[0].H = torch.cat([net.xs.H, net.ss.H], -1)
    mlp.layers[1].H = net.sy.H.clone()
    flat = torch.cat([X[:, 0], torch.ones(30, 15, dtype=torch.int8)], -1)
    assert (net.logits(X) == mlp.logits(flat)).all()
    for _ in range(3):
        net.fit_batch(X, y, r=0.5, nu=0.3)
        mlp.fit_batch(flat, y, r=0.5, nu=0.3)
    assert (torch.cat([net.xs.H, net.ss.H], -1) == mlp.layers[0].H).all()
    assert (mlp.layers[1].H == net.sy.H).all()


@pytest.mark.equation("bep", "BEP-TT")
def test_three_steps_of_time_against_a_plain_loop():
    P, X, y = frame.random_frame(2, 9, rng(1)), pm1(12, 3, 7, seed=2), torch.randint(0, 2, (12,), generator=rng(3))
    net = rnn.BEPRNN(7, 9, 9, P, group=3, seed=4)
    sgn = lambda v: np.where(v >= 0, 1, -1)  # noqa: E731
    H = {k: getattr(net, k).H.numpy().astype(int).copy() for k in ("xs", "ss", "sy")}
    W, new = {k: sgn(v) for k, v in H.items()}, {k: v.copy() for k, v in H.items()}
    limit, margin = int(0.4 * 9), 0.5 * 9
    for x, c in zip(X.numpy().astype(int), y.tolist(), strict=True):
        s, z = [np.ones(9, int)], []
        for a in x:
            z.append(W["xs"] @ a + W["ss"] @ s[-1])
            s.append(sgn(z[-1]))
        zy = W["sy"] @ s[-1]
        scores = P.numpy().astype(int) @ sgn(zy)
        if scores[c] - scores[1 - c] >= margin:
            continue
        target_y = P[c].numpy().astype(int)
        target = [sgn(W["sy"].T @ ((np.abs(zy) <= limit) * target_y))]
        for t in (2, 1):
            target.insert(0, sgn(W["ss"].T @ ((np.abs(z[t]) <= limit) * target[0])))
        stability = {"s": sum(target[t] * z[t] for t in range(3)), "y": target_y * zy}
        for start, (where, values) in itertools.product(range(0, 9, 3), stability.items()):
            wrong = [(-values[j], j) for j in range(start, start + 3) if values[j] < 0]
            if wrong and where == "y":
                new["sy"][min(wrong)[1]] += 2 * target_y[min(wrong)[1]] * s[-1]
            elif wrong:
                j = min(wrong)[1]
                new["xs"][j] += 2 * sum(target[t][j] * x[t] for t in range(3))
                new["ss"][j] += 2 * sum(target[t][j] * s[t] for t in range(3))
    net.fit_batch(X, y, r=0.5, nu=0.4)
    for k in ("xs", "ss", "sy"):
        assert (getattr(net, k).H.numpy() == new[k]).all(), k
        assert (new[k] != H[k]).any()


def test_reservoir_moves_only_the_output():
    X, y = pm1(20, 4, 7, seed=2), torch.randint(0, 2, (20,), generator=rng(3))
    net = rnn.BEPRNN(7, 15, 15, frame.random_frame(2, 15, rng(1)), group=5, seed=0, learn="output")
    before = [layer.H.clone() for layer in net.layers]
    net.fit_epoch(X, y, batch=10)
    assert [bool((a == layer.H).all()) for a, layer in zip(before, net.layers, strict=True)] == [True, True, False]


def test_last_step_only_is_bep_tt_without_its_earlier_steps():
    """With T = 1 there is nothing else; with T = 3 the output moves alike and the state by the last step's terms."""
    P, y = frame.random_frame(2, 15, rng(1)), torch.randint(0, 2, (30,), generator=rng(3))
    for T, same in ((1, True), (3, False)):
        X = pm1(30, T, 7, seed=2)
        nets = [rnn.BEPRNN(7, 15, 15, P, group=5, seed=0, learn=learn) for learn in ("all", "last")]
        for network in nets:
            network.fit_batch(X, y, r=0.5, nu=0.4)
        assert (nets[0].sy.H == nets[1].sy.H).all()
        assert bool((nets[0].ss.H == nets[1].ss.H).all()) == same
    network = rnn.BEPRNN(7, 15, 15, P, group=5, seed=0, learn="last")
    before, (_, zs, z_y, s_y) = network.xs.H.clone(), network.forward(X)
    target = network.desired_states(zs, z_y, P[y], 0.4)[-1]
    fires = method.triggered(method.matmul(s_y, P.mT), y, 0.5, 15)[:, None]
    mask = method.winner_mask(target, zs[-1], 5) & fires
    network.fit_batch(X, y, r=0.5, nu=0.4)
    assert (before + 2 * (mask * target).int().T @ X[:, -1].int() == network.xs.H).all()


def test_top_only_leaves_the_layers_below():
    X, y, _ = coding.random_prototypes(99, 63, 3, 0.3, rng())
    network = models.BEPMLP([63, 15, 15], frame.random_frame(3, 15, rng(1)), group=5, learn="top")
    before = [layer.H.clone() for layer in network.layers]
    network.fit_epoch(X, y, batch=50)
    assert [bool((a == b.H).all()) for a, b in zip(before, network.layers, strict=True)] == [True, False]


def test_rnn_runs_side_by_side_and_without_floats():
    X, y, P = pm1(40, 3, 7, seed=2), torch.randint(0, 2, (40,), generator=rng(3)), frame.random_frame(2, 15, rng(1))
    both, alone = rnn.BEPRNN(7, 15, 15, P, group=5, seed=[0, 6]), rnn.BEPRNN(7, 15, 15, P, group=5, seed=6)
    both.fit_epoch(X, y, batch=10)
    alone.fit_epoch(X, y, batch=10)
    assert all((a.H[1] == b.H).all() for a, b in zip(both.layers, alone.layers, strict=True))
    strict = rnn.BEPRNN(7, 15, 15, P, group=5, seed=6)
    fast = rnn.BEPRNN(7, 15, 15, P, group=5, seed=6)
    with method.integer_only():
        strict.fit_batch(X, y, r=0.5, nu=0.4)
    fast.fit_batch(X, y, r=0.5, nu=0.4)
    assert all((a.H == b.H).all() for a, b in zip(strict.layers, fast.layers, strict=True))


@pytest.mark.equation("bep", "STE")
def test_straight_through_gradient_by_autograd():
    x = torch.tensor([-1.5, -1.0, -0.2, 0.0, 1.0, 1.01], requires_grad=True)
    out = baselines.ste_sign(x)
    assert out.tolist() == [-1, -1, -1, 1, 1, 1]
    (out * torch.arange(1.0, 7.0)).sum().backward()
    assert x.grad.tolist() == [0, 2, 3, 4, 5, 0]


@pytest.mark.parametrize("window", baselines.WINDOWS)
def test_qat_runs_do_not_mix_and_it_learns(window):
    X, y, _ = coding.random_prototypes(300, 63, 3, 0.3, rng())
    P = frame.binary_frame(3, 15, generator=rng(1))
    both = baselines.QATMLP([63, 15, 15], P, window=window, lr=0.01, seed=[0, 5])
    alone = baselines.QATMLP([63, 15, 15], P, window=window, lr=0.01, seed=5)
    for _ in range(6):
        both.fit_epoch(X, y, batch=50)
        alone.fit_epoch(X, y, batch=50)
    assert torch.allclose(both.weights[0][1], alone.weights[0], atol=1e-5)
    assert alone.accuracy(X, y) > 0.6


def test_qat_predicts_with_a_binary_network():
    """Without batch norm its prediction is that of the binary forward pass with the signs of its latent weights."""
    X, y, _ = coding.random_prototypes(120, 63, 3, 0.3, rng())
    P = frame.random_frame(3, 15, rng(1))
    qat = baselines.QATMLP([63, 15, 15], P, window="fan_in", seed=0)
    qat.fit_epoch(X, y, batch=40)
    twin = models.BEPMLP([63, 15, 15], P, group=5, seed=0)
    for layer, weight in zip(twin.layers, qat.weights, strict=True):
        layer.H = method.sign(weight.detach()).int()
    assert (qat.scores(X).argmax(-1) == twin.predict(X)).all()
    net = baselines.QATRNN(7, 15, 15, P, seed=0)
    steps = pm1(20, 3, 7, seed=2)
    net.fit_epoch(steps, torch.randint(0, 3, (20,), generator=rng(3)), batch=10)
    twin = rnn.BEPRNN(7, 15, 15, P, group=5, seed=0)
    for layer, weight in ((twin.xs, net.weights[0]), (twin.ss, net.recurrent), (twin.sy, net.weights[1])):
        layer.H = method.sign(weight.detach()).int()
    assert (net.scores(steps).argmax(-1) == twin.predict(steps)).all()


def test_equal_memory_width():
    width = baselines.equal_memory_width([1000, 75, 75], 10)
    floats = lambda K: 4 * (1000 * K + K * K + 10 * K)  # noqa: E731
    assert floats(width) <= 2 * (75 * 1000 + 75 * 75) < floats(width + 1)


def test_random_prototypes_flip_as_often_as_they_say():
    X, y, P = coding.random_prototypes(2000, 200, 4, 0.3, rng())
    assert torch.bincount(y).tolist() == [500] * 4
    assert float((P[y] != X).float().mean()) == pytest.approx(0.3, abs=0.005)
    again, _, Q = coding.random_prototypes(40, 200, 4, 0.3, rng(1), P)
    assert (Q == P).all()
    assert again.shape == (40, 200)


def test_median_binarize():
    images = np.array([[[0, 0], [0, 9]], [[1, 2], [3, 4]]], dtype=np.uint8)
    assert coding.median_binarize(images).tolist() == [[-1, -1, -1, 1], [-1, -1, 1, 1]]


def test_thermometer_counts_thresholds_below():
    code = coding.thermometer(np.arange(101.0)[:, None], 3)
    assert code.thresholds.tolist() == [[25, 50, 75]]
    assert code.transform([[10.0], [50.0], [80.0]]).tolist() == [[-1, -1, -1], [1, -1, -1], [1, 1, 1]]


def test_deal_is_a_stratified_partition():
    labels = np.repeat([0, 1, 2], [60, 30, 12])
    parts = tasks.deal(labels, (3, 1, 2), rng())
    assert sorted(np.concatenate(parts)) == list(range(102))
    assert [np.bincount(labels[p]).tolist() for p in parts] == [[30, 15, 6], [10, 5, 2], [20, 10, 4]]
    assert [len(p) for p in tasks.deal(labels, (3, 1, 2), rng(9))] == [len(p) for p in parts]


def test_series_use_the_last_real_steps_and_fit_the_code_on_training_rows_only(monkeypatch):
    seen = []
    real = coding.thermometer
    monkeypatch.setattr(tasks, "thermometer", lambda X, bits: seen.append(X) or real(X, bits))
    split = tasks.series("japanese_vowels", 0, width=33, bits=4)
    assert split.X.shape == (len(seen[0]), 7, 33)
    assert len(split.y) + len(split.y_val) + len(split.y_test) == 640
    series, _ = data.time_series("japanese_vowels", "train")
    assert (data.last_window(series, 7)[0] == series[0][-7:]).all()
    assert {len(s) for s in series} != {len(series[0])}


def test_a_gate_sweep_in_one_call_equals_single_calls():
    task = {"name": "prototypes", "n": 200, "n_test": 100, "D": 65, "C": 4, "p": 0.3}
    common = {"rule": "bep", "task": task, "width": 15, "epochs": 2, "group": 5}
    swept = experiments.train_mlp(seeds=[3, 3], nu=[0.2, 1.0], **common)
    single = [experiments.train_mlp(seeds=[3], nu=nu, **common)["test"][0] for nu in (0.2, 1.0)]
    assert swept["test"] == single


def layer(runs=None):
    return method.BinaryLayer(3, 3, 1, generators=[rng(s) for s in range(runs)] if runs else rng())


def packed_step(labels, dtype=np.int32):
    H = [np.ones((3, 3), dtype)]
    return bits.train_step(H, bits.pack(pm1(2, 3).numpy()), labels, pm1(2, 3).numpy(), 2, [3], 1, (-9, 9))


def net(kind=models.BEPMLP):
    return kind([3, 3], pm1(2, 3), group=1)


BAD = {
    "float batch": (TypeError, lambda: method.forward([layer()], torch.ones(2, 3))),
    "value 0": (ValueError, lambda: net().logits(torch.zeros(2, 3, dtype=torch.int8))),
    "width": (ValueError, lambda: net().logits(pm1(2, 4))),
    "label": (ValueError, lambda: method.triggered(torch.zeros(2, 3).int(), torch.tensor([0, 3]), 0.5, 9)),
    "labels of another shape": (ValueError, lambda: net().fit_batch(pm1(4, 3), torch.zeros(1).long(), r=1, nu=1)),
    "labels of another rank": (ValueError, lambda: net().accuracy(pm1(4, 3), torch.zeros(4, 1).long())),
    "label in accuracy": (ValueError, lambda: net().accuracy(pm1(4, 3), torch.full((4,), 50))),
    "nothing to score": (ValueError, lambda: net().accuracy(pm1(4, 3)[:0], torch.zeros(0).long())),
    "one class": (TypeError, lambda: method.triggered(torch.zeros(2, 1).int(), torch.tensor([0, 0]), 0.5, 9)),
    "float H": (TypeError, lambda: setattr(layer(), "H", torch.zeros(3, 3))),
    "narrow H": (TypeError, lambda: setattr(layer(), "H", torch.zeros(3, 3, dtype=torch.int16))),
    "H of another shape": (ValueError, lambda: setattr(layer(), "H", torch.zeros(7, 3, dtype=torch.int32))),
    "mask of another shape": (ValueError, lambda: method.update_(layer(), pm1(2, 3), pm1(2, 3), pm1(1, 3) > 0)),
    "mask of numbers": (TypeError, lambda: method.update_(layer(), pm1(2, 3), pm1(2, 3), pm1(2, 3))),
    "float target": (TypeError, lambda: method.update_(layer(), torch.ones(2, 3), pm1(2, 3), pm1(2, 3) > 0)),
    "target and z": (ValueError, lambda: method.winner_mask(pm1(1, 4), pm1(2, 4).int(), 2)),
    "float product": (TypeError, lambda: method.matmul(torch.ones(2, 3), torch.ones(3, 2))),
    "P a run": (ValueError, lambda: models.BEPMLP([3, 3], pm1(3, 2, 3), group=1, seed=[0, 1])),
    "P of one class": (ValueError, lambda: models.BEPMLP([3, 3], pm1(1, 3), group=1)),
    "frames of other classes": (
        ValueError,
        lambda: models.LocalRuleMLP([3, 3, 3], pm1(2, 3), group=1, frames=[pm1(5, 3)]),
    ),
    "gates of other runs": (ValueError, lambda: net().fit_epoch(pm1(4, 3), torch.zeros(4).long(), nu=[0.1], batch=2)),
    "one generator for two runs": (ValueError, lambda: method.reinforce_(layer(2), 0.3, rng())),
    "no seeds": (ValueError, lambda: models.BEPMLP([3, 3], pm1(2, 3), group=1, seed=[])),
    "seed 1.0": (TypeError, lambda: models.BEPMLP([3, 3], pm1(2, 3), group=1, seed=1.0)),
    "seed True": (TypeError, lambda: generator(True)),
    "frame unseeded": (TypeError, lambda: frame.random_frame(2, 5, None)),
    "task unseeded": (TypeError, lambda: coding.random_prototypes(8, 5, 2, 0.1, None)),
    "expansion of floats": (TypeError, lambda: coding.expand(torch.ones(2, 3), 3, rng())),
    "other prototypes": (ValueError, lambda: coding.random_prototypes(8, 5, 2, 0.1, rng(), pm1(2, 1))),
    "image with NaN": (ValueError, lambda: coding.median_binarize([[float("nan"), 1.0]])),
    "infinite alpha": (ValueError, lambda: frame.binary_frame(3, 5, alpha=float("inf"), generator=rng())),
    "infinite init_std": (ValueError, lambda: method.BinaryLayer(3, 3, 1, init_std=float("inf"), generators=rng())),
    "negative limit": (ValueError, lambda: tasks.deal(np.zeros(100, int), (3, 1, 2), rng(), limit=-50)),
    "negative share": (ValueError, lambda: tasks.deal(np.zeros(100, int), (3, -1, 2), rng())),
    "rows for no part": (ValueError, lambda: tasks.deal(np.zeros(3, int), (3, 1, 2), rng())),
    "packed label": (ValueError, lambda: packed_step(np.array([0, -1]))),
    "packed int16": (TypeError, lambda: packed_step(np.array([0, 1]), np.int16)),
    "learn": (ValueError, lambda: models.BEPMLP([3, 3], pm1(2, 3), group=1, learn="bottom")),
    "rnn learn": (ValueError, lambda: rnn.BEPRNN(3, 3, 3, pm1(2, 3), group=1, learn="first")),
    "no steps of time": (ValueError, lambda: rnn.BEPRNN(3, 3, 3, pm1(2, 3), group=1).logits(pm1(2, 0, 3))),
    "reinforce_on": (ValueError, lambda: models.BEPMLP([3, 3], pm1(2, 3), group=1, reinforce_on="width")),
    "a list": (TypeError, lambda: net().logits([[1, 1, 1]])),
    "label dtype": (TypeError, lambda: method.triggered(torch.zeros(2, 3).int(), torch.tensor([0.0, 1.0]), 0.5, 9)),
    "r": (ValueError, lambda: method.triggered(torch.zeros(2, 3).int(), torch.tensor([0, 1]), 0, 9)),
    "nu": (ValueError, lambda: method.gate_threshold(1.5, 9)),
    "nu of a run": (ValueError, lambda: method.gate_threshold([0.5, -0.1], 9)),
    "group": (ValueError, lambda: models.BEPMLP([3, 4], pm1(2, 4), group=3)),
    "group 0": (ValueError, lambda: method.winner_mask(pm1(2, 4), pm1(2, 4).int(), 0)),
    "bits": (ValueError, lambda: method.BinaryLayer(3, 3, 1, bits=1, generators=rng())),
    "unseeded": (ValueError, lambda: method.BinaryLayer(3, 3, 1)),
    "init_std": (ValueError, lambda: method.BinaryLayer(3, 3, 1, init_std=0, generators=rng())),
    "prototype width": (ValueError, lambda: models.BEPMLP([3, 3], pm1(2, 5), group=1)),
    "float prototypes": (TypeError, lambda: models.BEPMLP([3, 3], torch.ones(2, 3), group=1)),
    "one size": (ValueError, lambda: models.BEPMLP([3], pm1(2, 3), group=1)),
    "batch": (ValueError, lambda: net().fit_epoch(pm1(4, 3), torch.zeros(4).long(), batch=5)),
    "X and y": (ValueError, lambda: net().fit_epoch(pm1(4, 3), torch.zeros(3).long(), batch=2)),
    "local frames": (ValueError, lambda: models.LocalRuleMLP([3, 3, 3], pm1(2, 3), group=1, frames=[])),
    "patience": (ValueError, lambda: models.GroupSchedule(layer(), 0)),
    "p": (ValueError, lambda: method.reinforce_(layer(), 1.2, rng())),
    "error rate": (ValueError, lambda: method.reinforcement_probability(0.5, 10, 1.5)),
    "frame classes": (ValueError, lambda: frame.binary_frame(1, 5, generator=rng())),
    "frame alpha": (ValueError, lambda: frame.binary_frame(3, 5, alpha=-1, generator=rng())),
    "frame cost": (ValueError, lambda: frame.frame_cost(torch.zeros(3, 4))),
    "pack floats": (TypeError, lambda: bits.pack(np.ones((2, 3)))),
    "pack zeros": (ValueError, lambda: bits.pack(np.zeros((2, 3), int))),
    "xnor widths": (ValueError, lambda: bits.xnor_dot(*(bits.pack(np.ones((1, K), int)) for K in (3, 4)))),
    "prototype count": (ValueError, lambda: coding.random_prototypes(7, 5, 2, 0.1, rng())),
    "flip chance": (ValueError, lambda: coding.random_prototypes(8, 5, 2, 0.7, rng())),
    "thermometer NaN": (ValueError, lambda: coding.thermometer([[1.0], [float("nan")]], 2)),
    "thermometer width": (ValueError, lambda: coding.thermometer([[1.0], [2.0]], 2).transform([[1.0, 2.0]])),
    "expansion": (ValueError, lambda: coding.expand(pm1(2, 3), 0, rng())),
    "window": (ValueError, lambda: baselines.QATMLP([3, 3], pm1(2, 3), window="wide")),
    "lr": (ValueError, lambda: baselines.QATMLP([3, 3], pm1(2, 3), lr=0)),
    "rnn batch norm": (ValueError, lambda: baselines.QATRNN(3, 3, 3, pm1(2, 3), window="batch_norm")),
    "rnn group": (ValueError, lambda: rnn.BEPRNN(3, 4, 4, pm1(2, 4), group=3)),
    "no rule": (TypeError, lambda: net(models.BinaryMLP).fit_batch(pm1(2, 3), torch.zeros(2).long(), r=1, nu=1)),
    "task rule": (ValueError, lambda: experiments.train_mlp(rule="sgd", task={}, seeds=[0], width=3, epochs=1)),
    "task frame": (ValueError, lambda: experiments.frames("etf", 3, 5, [0], "top")),
    "series": (ValueError, lambda: tasks.series("gun_point", 0, width=5, bits=2)),
    "too many images": (ValueError, lambda: tasks.fashion(3900, 100, 2000000)),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_wrong_input_fails_at_once(name):
    error, call = BAD[name]
    with pytest.raises(error, match=r"\S+ \S+"):
        call()


@pytest.mark.parametrize("change", [{"y": 5}, {"X": 0}, {"r": 0}, {"nu": 9}, {"p_r": 2}])
def test_nothing_moves_when_an_epoch_is_refused(change):
    X, y = pm1(60, 9, seed=1), torch.randint(0, 3, (60,), generator=rng(2))
    X[-1, 0], y[-1] = change.pop("X", 1), change.pop("y", 0)
    network = models.BEPMLP([9, 15], frame.random_frame(3, 15, rng(3)), group=5)
    before = network.layers[0].H.clone()
    with pytest.raises(ValueError, match=r"\S+ \S+"):
        network.fit_epoch(X, y, batch=10, **change)
    assert (before == network.layers[0].H).all()


def test_narrow_integers_do_not_overflow():
    scores = torch.tensor([[100, -100]], dtype=torch.int8)
    assert method.triggered(scores, torch.tensor([0]), 0.5, 100).tolist() == [False]
    z, ones = torch.tensor([[-128, -1]], dtype=torch.int8), torch.ones(1, 2, dtype=torch.int8)
    assert method.winner_mask(ones, z, 2).tolist() == [[False, True]]


def test_first_states_are_odd_within_few_bits():
    for bits_, std in ((4, 8), (2, 2), (16, 2**15)):
        H = method.BinaryLayer(50, 50, 1, bits=bits_, init_std=std, generators=rng()).H
        assert (H % 2 == 1).all()
        assert H.abs().max() <= 2 ** (bits_ - 1) - 1


def test_reinforcement_by_the_layers_own_width():
    by_in, by_out = (models.BEPMLP([99, 15], pm1(2, 15), group=5, reinforce_on=k) for k in ("fan_in", "fan_out"))
    assert by_in.reinforcement_limits(0.5) == [method.draw_limit(method.reinforcement_probability(0.5, 99, 1.0))]
    assert by_out.reinforcement_limits(0.5) == [method.draw_limit(method.reinforcement_probability(0.5, 15, 1.0))]


def test_messages_name_what_is_allowed():
    with pytest.raises(ValueError, match=r"divisors: \[1, 2, 4\]"):
        models.BEPMLP([3, 4], pm1(2, 4), group=3)
    with pytest.raises(ValueError, match=r"labels must lie in 0..2, got 0..3"):
        method.checked_labels(torch.tensor([0, 3]), 3)
    with pytest.raises(ValueError, match="only -1 and \\+1, got 5"):
        method.binary(torch.tensor([[1, 5]]), "a0")


def test_public_names_are_there():
    assert all(hasattr(bep, name) for name in bep.__all__)
