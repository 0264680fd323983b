"""One call trains one arm on all seeds side by side and returns plain numbers.

Every function takes plain arguments and returns JSON-able values, so that `resume.resumable` can keep finished arms.
"""

import contextlib
import math
import time
from collections.abc import Sequence
from typing import Any

import torch

from ..seeding import device as pick
from ..seeding import generator
from . import baselines, tasks
from .frame import binary_frame, random_frame
from .method import desired_activations, forward, gate_threshold, integer_only
from .models import BEPMLP, GroupSchedule, LocalRuleMLP
from .rnn import BEPRNN

FRAMES = ("bef", "random")
MLP_RULES = ("bep", "top", "local", "qat")
RNN_RULES = {"bep": "all", "last": "last", "reservoir": "output", "qat": ""}


def group_for(width: int, wish: int) -> int:
    """The largest divisor of `width` that is not above `wish`. Raises ValueError when wish < 1."""
    if wish < 1:
        raise ValueError(f"group must be 1 or more, got {wish}")
    return max(d for d in range(1, min(wish, width) + 1) if width % d == 0)


def frames(kind: str, C: int, K: int, seeds: Sequence[int], stream: str) -> torch.Tensor:
    """Prototypes (R, C, K), one a seed: "bef" (greedy equiangular) or "random". Raises ValueError for another kind."""
    if kind not in FRAMES:
        raise ValueError(f"unknown frame {kind!r}; known: {', '.join(FRAMES)}")
    made: dict[int, torch.Tensor] = {}
    for s in dict.fromkeys(seeds):
        g = generator(s, f"frame {stream}")
        made[s] = binary_frame(C, K, generator=g) if kind == "bef" else random_frame(C, K, g)
    return torch.stack([made[s] for s in seeds])


def load_task(task: dict[str, Any], seeds: Sequence[int], device: str) -> tasks.Split:
    """The split that `task` names ({"name": "prototypes" | "fashion" | a series set, ...sizes}), stacked over seeds.

    Fashion-MNIST is one fixed split that all seeds share. Raises ValueError for an unknown name or size.
    """
    sizes = {k: v for k, v in task.items() if k != "name"}
    if task["name"] == "fashion":
        split = tasks.fashion(**sizes)
    elif task["name"] == "prototypes":
        cache = {s: tasks.prototypes(s, **sizes) for s in dict.fromkeys(seeds)}
        split = tasks.side_by_side([cache[s] for s in seeds])
    else:
        cache = {s: tasks.series(task["name"], s, **sizes) for s in dict.fromkeys(seeds)}
        split = tasks.side_by_side([cache[s] for s in seeds])
    return tasks.Split(*(t.to(pick(device)) for t in split.parts()))


def _outcome(net, split: tasks.Split, curve: list, start: float) -> dict[str, Any]:
    return {
        "test": net.accuracy(split.X_test, split.y_test),
        "validation": net.accuracy(split.X_val, split.y_val),
        "train": net.accuracy(split.X, split.y),
        "curve": curve,
        "seconds": time.perf_counter() - start,
    }


def classes(split: tasks.Split) -> int:
    """Number of classes in all parts of a split."""
    return int(max(split.y.max(), split.y_val.max(), split.y_test.max())) + 1


def train_mlp(
    *, rule: str, task: dict[str, Any], seeds: Sequence[int], width: int, depth: int = 2, epochs: int, batch: int = 100,
    frame: str = "bef", group: int = 15, r: float = 0.5, nu: float | Sequence[float] = 0.2, p_r: float = 0.5,
    init_std: float = 8, reinforce_on: str = "fan_in", patience: int | None = None,
    window: str = "fan_in", lr: float = 3e-3, init: float = 0.1, device: str = "cpu",
) -> dict[str, Any]:  # fmt: skip
    """Train `depth` hidden layers of `width` units on every seed; returns accuracies (one a seed), curve and seconds.

    task: see `load_task`. seeds: R runs. epochs, batch: passes, samples an update. r, p_r: margin, reinforcement.
    rule: "bep", "top" (BEP, all layers but the last as drawn), "local" or "qat".
    frame: "bef" or "random", for the top layer, and for all with the local rule.
    group: wished group size (see `group_for`). nu: one gate, or one a run. init_std: spread of the first states.
    reinforce_on: see `BinaryNetwork`.
    patience: of the group schedule, which needs a single seed; None keeps the group. window, lr, init: of QAT only.
    curve: training error of every epoch, counted on the fly, a list of one number a seed.
    Raises ValueError for an unknown word.
    """
    if rule not in MLP_RULES:
        raise ValueError(f"unknown rule {rule!r}; known: {', '.join(MLP_RULES)}")
    if patience is not None and (rule == "qat" or len(seeds) != 1):
        raise ValueError(f"the group schedule needs a binary rule and one seed, got {rule!r} and {len(seeds)} seeds")
    if epochs < 1:
        raise ValueError(f"epochs must be 1 or more, got {epochs}")
    split, seeds, where = load_task(task, seeds, device), list(seeds), pick(device)
    C, sizes = classes(split), [split.X.shape[-1]] + [width] * depth
    P = frames(frame, C, width, seeds, "top")
    start = time.perf_counter()
    if rule == "qat":
        net, fit = baselines.QATMLP(sizes, P, window=window, lr=lr, init=init, seed=seeds, device=where), {}
    else:
        settings = {
            "group": group_for(width, group),
            "init_std": init_std,
            "reinforce_on": reinforce_on,
            "seed": seeds,
            "device": where,
        }
        if rule == "local":
            settings["frames"] = [frames(frame, C, width, seeds, f"layer {i}") for i in range(depth - 1)]
        settings["learn"] = "top" if rule == "top" else "all"
        net = (LocalRuleMLP if rule == "local" else BEPMLP)(sizes, P, **settings)
        fit = {"r": r, "nu": list(nu) if isinstance(nu, (list, tuple)) else nu, "p_r": p_r}
    curve, schedules = [], [] if patience is None else [GroupSchedule(layer, patience) for layer in net.layers]
    for _ in range(epochs):
        curve.append(net.fit_epoch(split.X, split.y, batch=batch, **fit))
        for schedule in schedules:
            schedule.step(1 - net.accuracy(split.X_val, split.y_val)[0])
    return _outcome(net, split, curve, start)


def train_rnn(
    *, rule: str, task: dict[str, Any], seeds: Sequence[int], width: int, epochs: int, batch_share: float = 0.1,
    group: int = 15, r: float = 0.5, nu: float | Sequence[float] = 0.4, p_r: float = 0.5,
    window: str = "fan_in", lr: float = 3e-3, init: float = 0.1, device: str = "cpu",
) -> dict[str, Any]:  # fmt: skip
    """Train a binary RNN of `width` state and output units on every seed; returns what `train_mlp` returns.

    task, seeds, epochs, group, r, nu, p_r, window, lr, init: as in `train_mlp`.
    rule: "bep" (BEP-TT), "last" (the state learns from the last step only), "reservoir" (only the output learns)
    or "qat" (STE and float BPTT).
    batch_share: batch as a share of the training set (the paper: N/10). Raises ValueError for an unknown word.
    """
    if rule not in RNN_RULES:
        raise ValueError(f"unknown rule {rule!r}; known: {', '.join(RNN_RULES)}")
    if epochs < 1 or not 0 < batch_share <= 1:
        raise ValueError(f"need epochs >= 1 and batch_share in (0, 1], got {epochs} and {batch_share}")
    split, seeds, where = load_task({**task, "width": width}, seeds, device), list(seeds), pick(device)
    C, K_x = classes(split), split.X.shape[-1]
    P, start = frames("bef", C, width, seeds, "top"), time.perf_counter()
    if rule == "qat":
        net, fit = baselines.QATRNN(K_x, width, width, P, window=window, lr=lr, init=init, seed=seeds, device=where), {}
    else:
        net = BEPRNN(
            K_x, width, width, P, group=group_for(width, group), seed=seeds, learn=RNN_RULES[rule], device=where
        )
        fit = {"r": r, "nu": list(nu) if isinstance(nu, (list, tuple)) else nu, "p_r": p_r}
    curve, batch = [], max(1, round(split.X.shape[-3] * batch_share))
    for _ in range(epochs):
        curve.append(net.fit_epoch(split.X, split.y, batch=batch, **fit))
    return _outcome(net, split, curve, start)


def float_score(
    model: str,
    split: tasks.Split,
    *,
    seeds,
    width=75,
    depth=2,
    epochs=12,
    batch=100,
    lr=1e-3,
    alpha=1e-4,
    C=1e-3,
    test=False,
) -> float:
    """Accuracy of "float_mlp" (of equal memory) or "logistic" on the validation (or test) part of one run's split.

    split: with a leading run dimension of 1, or none. seeds: the first one starts the MLP. width, depth: of the binary
    network whose memory the MLP may fill. epochs, batch: passes, samples a step. lr, alpha: of the MLP. C: inverse
    penalty of the regression.
    Raises ValueError for another model.
    """
    X, y, X_val, y_val, X_test, y_test = (t[0] if split.y.ndim == 2 else t for t in split.parts())
    held = (X_test, y_test) if test else (X_val, y_val)
    if model == "logistic":
        return baselines.logistic_regression(X, y, *held, C)
    if model != "float_mlp":
        raise ValueError(f"unknown model {model!r}; known: float_mlp, logistic")
    sizes = [X.shape[-1]] + [width] * depth
    return baselines.float_mlp(sizes, X, y, *held, lr=lr, alpha=alpha, epochs=epochs, batch=batch, seed=seeds[0])


def float_models(
    *, models: dict[str, dict[str, float]], task: dict[str, Any], seeds: Sequence[int], **sizes
) -> dict[str, list]:
    """Test accuracies, one a seed, of the models in `models` ({"logistic": {"C": ...}, "float_mlp": {...}}).

    sizes: width, depth, epochs, batch. Raises ValueError for an unknown task or model.
    """
    scores: dict[str, list] = {model: [] for model in models}
    for s in seeds:
        split = load_task(task, [s], "cpu")
        for model, chosen in models.items():
            scores[model].append(float_score(model, split, seeds=[s], test=True, **sizes, **chosen))
    return scores


def gate_units(nu: float, fan_in: int, total: int | None = None) -> float:
    """The gate in units of the spread of a random pre-activation: nu fan_in / sqrt(total), total = fan_in where None.

    Raises ValueError when a size is below 1.
    """
    if fan_in < 1 or (total is not None and total < 1):
        raise ValueError(f"sizes must be 1 or more, got {fan_in} and {total}")
    return nu * fan_in / math.sqrt(total or fan_in)


def gate_snapshots(
    *, task: dict[str, Any], seed: int, width: int, nus: Sequence[float], epochs: int, group: int = 15, device="cpu"
) -> list[dict[str, Any]]:
    """What the gate does inside trained networks: one BEP network of two hidden layers a gate, trained side by side.

    Returns, for every gate, "z" (the pre-activations of the top layer on 500 test samples, flat list), "open" (share
    |z| <= nu K), "sample" (a*_2, the gate, a*_1 of the first test sample, lists of ints) and "accuracy" (test).
    Raises ValueError for a gate outside [0, 1] or an unknown task.
    """
    split = load_task(task, [seed], device)
    X, y, X_test, y_test = (t[0] for t in (split.X, split.y, split.X_test, split.y_test))
    P = frames("bef", int(y.max()) + 1, width, [seed], "top")[0]
    runs = [seed] * len(nus)
    net = BEPMLP([X.shape[-1], width, width], P, group=group_for(width, group), seed=runs, device=pick(device))
    for _ in range(epochs):
        net.fit_epoch(X, y, nu=list(nus))
    _, zs = forward(net.layers, X_test[:500].expand(len(nus), -1, -1))
    target = net.P[y_test[:500]].expand(len(nus), -1, -1)
    wanted, accuracy = desired_activations(net.layers, zs, target, list(nus))[0], net.accuracy(X_test, y_test)
    shots = []
    for i, nu in enumerate(nus):
        gate = zs[-1][i].abs() <= gate_threshold(nu, width)
        sample = {"top": target[i, 0].tolist(), "gate": gate[0].tolist(), "below": wanted[i, 0].tolist()}
        z = zs[-1][i].flatten().tolist()
        shots.append({"z": z, "open": gate.float().mean().item(), "sample": sample, "accuracy": accuracy[i]})
    return shots


def merged(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Several runs, each what `train_mlp` returns for one seed, as one: lists joined, seconds summed."""
    joined = {key: [v for run in runs for v in run[key]] for key in ("test", "validation", "train")}
    curve = [[v for epoch in epochs for v in epoch] for epochs in zip(*(run["curve"] for run in runs), strict=True)]
    return {**joined, "curve": curve, "seconds": sum(run["seconds"] for run in runs)}


def inexact_entries(
    *, task: dict[str, Any], seed: int, width: int, batches: int = 3, batch: int = 100, **settings
) -> int:
    """Entries of H that differ after some updates between the fast path and `integer_only()`, reinforcement included.

    task: see `load_task`. width: hidden units. batches, batch: updates made, samples each. settings: r, nu and p_r.
    The block raises TypeError on any float operation, so that 0 means: exact, and no float.
    Raises ValueError for no batches.
    """
    split = load_task(task, [seed], "cpu")
    X, y, p_r = split.X[0], split.y[0], settings.pop("p_r", 0.5)
    if batches < 1 or batches * batch > len(X):
        raise ValueError(f"{batches} batches of {batch} are none, or more than the {len(X)} samples")
    P = frames("bef", int(y.max()) + 1, width, [seed], "top")[0]
    nets = [BEPMLP([X.shape[-1], width, width], P, group=group_for(width, 15), seed=seed) for _ in range(2)]
    for net, guard in zip(nets, (contextlib.nullcontext, integer_only), strict=True):
        limits = net.reinforcement_limits(p_r)
        with guard():
            for start in range(0, batches * batch, batch):
                net.fit_batch(X[start : start + batch], y[start : start + batch], **settings)
                net.reinforce(limits)
    return sum(int((a.H != b.H).sum()) for a, b in zip(nets[0].layers, nets[1].layers, strict=True))


def chosen_gate(
    validation: Sequence[Sequence[float]], test: Sequence[Sequence[float]], allowed: Sequence[int]
) -> list[float]:
    """Test accuracy, one a seed, at the allowed gate that validates best on that seed (the first of equals).

    validation, test: (gates, seeds). allowed: row numbers. Raises ValueError when none is allowed.
    """
    if not allowed:
        raise ValueError("no gate is allowed")
    seeds = range(len(test[0]))
    return [test[max(allowed, key=lambda g, s=s: validation[g][s])][s] for s in seeds]


def sufficient_gate(nus: Sequence[float], validation: Sequence[Sequence[float]], share: float = 0.9) -> list[float]:
    """log2 of the smallest gate above 0 that reaches `share` of a seed's best validation accuracy, one a seed.

    nus: ascending. validation: (gates, seeds). Raises ValueError for share outside (0, 1] or gates that do not ascend.
    """
    if not 0 < share <= 1 or list(nus) != sorted(nus):
        raise ValueError(f"need share in (0, 1] and ascending gates, got {share} and {list(nus)}")
    found = []
    for s in range(len(validation[0])):
        best = max(row[s] for row in validation)
        reach = [nu for nu, row in zip(nus, validation, strict=True) if nu > 0 and row[s] >= share * best]
        if not reach:
            raise ValueError(f"no gate above 0 reaches {share} of the best accuracy of seed {s}")
        found.append(math.log2(reach[0]))
    return found
