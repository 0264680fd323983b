"""Flow matching, files of weights, and what the package refuses."""

import itertools
import math

import numpy as np
import pytest
import torch
from torch import nn

from iclr26lib import flows
from iclr26lib.flows import interface
from tests.flow_models import (
    MEAN,
    SPREAD,
    Exact,
    gaussian_data,
    rng,
    small_dit,
    small_mlp,
)

# training


@pytest.mark.equation("flows", "matching")
def test_velocity_loss_is_one_mean_square_a_replica():
    v, target = (torch.randn(6, 2, 2, generator=rng(i), dtype=torch.float64) for i in (1, 2))
    expected = np.square(v.numpy() - target.numpy()).reshape(2, 3, 4).mean((1, 2))
    assert flows.velocity_loss(v, target, 2).tolist() == pytest.approx(expected.tolist(), rel=1e-12)
    v.requires_grad_()
    flows.velocity_loss(v, target, 2).sum().backward()
    assert torch.allclose(v.grad, 2 * (v.detach() - target) / 12)


@pytest.mark.equation("flows", "matching")
def test_exact_velocity_has_the_least_loss():
    """Its loss is the variance of eps - x given x_t, s^2 / ((1 - t)^2 s^2 + t^2), here averaged over t."""
    streams, model = flows.Streams([0], "loss"), Exact((2,), 3)
    x0, c = gaussian_data(40_000, streams)
    t = streams.uniform(40_000)
    x_t, target = flows.interpolate(x0, streams.normal(40_000, 2), t)
    grid = np.linspace(0, 1, 20_001)
    least = np.mean(SPREAD**2 / ((1 - grid) ** 2 * SPREAD**2 + grid**2))
    v = model(x_t, t, c)
    assert flows.velocity_loss(v, target).item() == pytest.approx(least, rel=0.02)
    assert flows.velocity_loss(1.1 * v, target).item() > least + 0.01


def test_flow_matching_learns_the_data_and_each_seed_as_if_alone():
    ensemble = flows.Replicas([small_mlp(0, width=32), small_mlp(1, width=32)])
    losses = flows.fit_flow(ensemble, gaussian_data, 400, 128, 0.01, flows.Streams([0, 1], "fit"))
    assert losses.shape == (400, 2)
    assert (losses[-100:].mean(0) < losses[:5].mean(0) / 2).all()
    c = torch.arange(3).repeat(1000)
    x = flows.ode_sample(ensemble, c.repeat(2), flows.shifted_grid(100, 1.0), flows.Streams([5, 6], "look"))
    assert x.mean().item() == pytest.approx(MEAN, abs=0.05)
    assert x.std().item() == pytest.approx(SPREAD, abs=0.05)
    alone = small_mlp(1, width=32)
    flows.fit_flow(alone, gaussian_data, 400, 128, 0.01, flows.Streams([1], "fit"))
    assert torch.allclose(ensemble.split()[1].layers[1].weight, alone.layers[1].weight, atol=1e-4)


def test_cosine_schedule_ends_with_steps_of_almost_nothing():
    """Adam's step is about the learning rate; with 100 steps of a cosine the last is 0.0002 of the first."""
    moved = {}
    for schedule in ("cosine", "constant"):
        model, last = small_mlp(), []

        def draw(n, streams, model=model, last=last):
            last[:] = [model.layers[0].bias.detach().clone()]
            return gaussian_data(n, streams)

        flows.fit_flow(model, draw, 100, 16, 0.01, flows.Streams([0], "fit"), schedule=schedule)
        moved[schedule] = (model.layers[0].bias - last[0]).abs().max().item()
    assert moved["cosine"] < 1e-5 < 1e-3 < moved["constant"]


def test_training_names_replica_and_step_of_a_loss_that_is_not_finite():
    calls = itertools.count()

    def draw(n, streams):
        x0, c = gaussian_data(n, streams)
        if next(calls) == 57:
            x0[n] = torch.nan
        return x0, c

    ensemble = flows.Replicas([small_mlp(0), small_mlp(1)])
    with pytest.raises(FloatingPointError, match="loss nan of replica 1 at step 57"):
        flows.fit_flow(ensemble, draw, 70, 4, 1e-3, flows.Streams([0, 1], "fit"))


def test_weights_survive_a_file_at_half_precision(tmp_path):
    models = {"zero": small_mlp(0), "one": small_mlp(1)}
    flows.save_weights(tmp_path / "deep" / "base.pt", models, note={"steps": 3, "seeds": [0, 1]})
    empty = {"one": small_mlp(7)}
    weights, note = flows.load_weights(tmp_path / "deep" / "base.pt", empty)
    assert note == {"steps": 3, "seeds": [0, 1]}
    assert set(weights) == {"zero", "one"}
    for name, parameter in models["one"].named_parameters():
        assert parameter.dtype == empty["one"].get_parameter(name).dtype == torch.float32
        assert torch.equal(empty["one"].get_parameter(name), parameter.half().float())
    flows.save_weights(tmp_path / "full.pt", models, half=False)
    assert torch.equal(
        flows.load_weights(tmp_path / "full.pt")[0]["one"]["layers.0.bias"], models["one"].layers[0].bias
    )


def test_base_checkpoints_are_small_enough_to_commit(tmp_path):
    plane = {str(i): flows.VelocityMLP(generator=rng(i)) for i in range(5)}
    flows.save_weights(tmp_path / "plane.pt", plane)
    flows.save_weights(tmp_path / "blobs.pt", {"0": flows.DiT(generator=rng())})
    assert all((tmp_path / name).stat().st_size < 1.5e6 for name in ("plane.pt", "blobs.pt"))


def with_extra(model):
    model.extra = nn.Parameter(torch.zeros(3))
    return model


def test_files_of_weights_that_do_not_fit_are_refused_and_change_nothing(tmp_path):
    path = tmp_path / "base.pt"
    flows.save_weights(path, {"a": small_mlp(0), "b": small_mlp(1)})
    model = small_mlp(5)
    before = model.layers[0].weight.clone()
    cases = {
        "no weights of 'c'": {"a": model, "c": small_mlp()},
        r"b: layers.0.bias is \(16,\), not \(8,\)": {"a": model, "b": small_mlp(width=8)},
        "b: extra is missing": {"a": model, "b": with_extra(small_mlp())},
    }
    for message, models in cases.items():
        with pytest.raises(ValueError, match=f"base.pt.*{message}"):
            flows.load_weights(path, models)
    assert torch.equal(model.layers[0].weight, before)
    flows.save_weights(path, {"a": with_extra(small_mlp(0))})
    with pytest.raises(ValueError, match="a: extra is unknown"):
        flows.load_weights(path, {"a": model})
    with pytest.raises(ValueError, match="no such file"):
        flows.load_weights(tmp_path / "none.pt")
    torch.save({"a": 1}, tmp_path / "other.pt")
    with pytest.raises(ValueError, match="not a file of save_weights"):
        flows.load_weights(tmp_path / "other.pt")
    model.layers[0].bias.data[0] = 1e5  # float16 ends at 65504
    with pytest.raises(ValueError, match=r"a: layers.0.bias holds a value that is not finite or too large"):
        flows.save_weights(path, {"a": model})


@pytest.mark.parametrize("kind", ["empty", "cut off", "text", "one bit", "folder"])
def test_damaged_files_of_weights_are_refused_by_name(tmp_path, kind):
    path, model = tmp_path / "base.pt", small_mlp(5)
    flows.save_weights(path, {"a": small_mlp(0)})
    before, data = model.layers[0].weight.clone(), path.read_bytes()
    middle = data.index(small_mlp(0).layers[0].weight.detach().half().numpy().tobytes())
    changed = {"empty": b"", "cut off": data[:middle], "text": b"weights"}
    path.unlink()
    if kind == "folder":
        path.mkdir()
    else:
        path.write_bytes(changed.get(kind, data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]))
    with pytest.raises(ValueError, match=r"base\.pt: (damaged|no such file)"):
        flows.load_weights(path, {"a": model})
    assert torch.equal(model.layers[0].weight, before)


def test_weights_that_no_model_can_have_are_refused(tmp_path):
    path, model = tmp_path / "base.pt", small_mlp(5)
    before = model.layers[0].weight.clone()
    state = {k: v.clone() for k, v in small_mlp(0).state_dict().items()}
    state["layers.0.bias"][1] = math.nan
    for content, message in (
        ({"a": state}, r"a: layers.0.bias holds a value that is not finite"),
        ({"a": {"layers.0.bias": [0.0]}}, "a: need a dict of tensors"),
        ({"a": 3}, "a: need a dict of tensors"),
        ([], "not a file of save_weights"),
    ):
        torch.save({"weights": content, "note": {}}, path)
        with pytest.raises(ValueError, match=rf"base\.pt: {message}"):
            flows.load_weights(path, {"a": model})
    flows.save_weights(path, {"a": small_mlp(0)})
    with pytest.raises(ValueError, match=r"layers.0.bias is torch.float32, not torch.float64"):
        flows.load_weights(path, {"a": small_mlp(5).double()})
    assert torch.equal(model.layers[0].weight, before)


def test_weights_that_the_last_step_broke_are_found():
    """Every loss is finite: it is taken before the step, here of 1e39 in single precision."""
    model = small_mlp()
    with pytest.raises(FloatingPointError, match=r"weight .* is not finite"):
        flows.fit_flow(model, gaussian_data, 1, 8, 1e39, flows.Streams([0], "fit"))


class Headed(nn.Module):
    """A layer with a setting that its name does not show."""

    def __init__(self, heads):
        super().__init__()
        self.heads = heads


def with_layer(layer):
    model = small_mlp()
    model.more = layer
    return model


class Flat(nn.Module):
    """A model whose velocity lacks a dimension."""

    shape, prompts = (2,), 3

    def forward(self, x, t, c):
        return x[:, :1]


# bad input

X, T, C = torch.zeros(4, 2), torch.full((4,), 0.5), torch.zeros(4, dtype=torch.int64)
GRID = flows.shifted_grid(3)
REFUSED = {
    "time above 1": (ValueError, r"t must lie in \[0, 1\], got 1.5", lambda: flows.shift_time(1.5, 3.0)),
    "time not a number": (ValueError, "got nan", lambda: flows.shift_time(math.nan, 3.0)),
    "time tensor below 0": (ValueError, "got -0.5", lambda: flows.shift_time(torch.tensor([0.5, -0.5]), 3.0)),
    "time as text": (TypeError, "t must be a number or a tensor", lambda: flows.shift_time("0.5", 3.0)),
    "shift of zero": (ValueError, "shift must be positive and finite, got 0", lambda: flows.shift_time(0.5, 0)),
    "no steps": (ValueError, "n must be 1 or more, got 0", lambda: flows.shifted_grid(0, 3.0)),
    "steps not whole": (TypeError, "n must be an integer, got 2.0", lambda: flows.shifted_grid(2.0, 3.0)),
    "shift that leaves one number": (ValueError, "no 10 steps that fall", lambda: flows.shifted_grid(10, 1e17)),
    "shift that leaves one number, below": (ValueError, "that fall", lambda: flows.shifted_grid(10, 5e-324)),
    "velocity of other shape in a sampler": (
        ValueError,
        r"like x, \(4, 2\), got \(4, 1\)",
        lambda: flows.ode_sample(Flat(), C, GRID, rng()),
    ),
    "velocity of other shape in a policy": (
        ValueError,
        r"\(4, 2\), got \(4, 1\)",
        lambda: flows.sde_sample(Flat(), C, GRID, 0.7, rng(), return_path=True),
    ),
    "velocity of other shape, counted": (ValueError, r"\(4, 2\), got \(4, 1\)", lambda: flows.Counted(Flat())(X, T, C)),
    "noise of one row": (ValueError, r"\(4, 2\) and \(1, 2\)", lambda: flows.interpolate(X, X[:1], 0.5)),
    "noise of other dtype": (TypeError, "torch.float64", lambda: flows.interpolate(X, X.double(), 0.5)),
    "times of other length": (ValueError, r"number or \(4,\)", lambda: flows.interpolate(X, X, T[:3])),
    "times as column": (ValueError, r"got \(4, 1\)", lambda: flows.interpolate(X, X, T[:, None])),
    "velocity of other shape": (ValueError, "x_t and v", lambda: flows.data_prediction(X, X[:, :1], 0.5)),
    "no seeds": (ValueError, "at least one", lambda: flows.Streams([], "x")),
    "a seed twice": (ValueError, r"\[1, 1\]", lambda: flows.Streams([1, 1], "x")),
    "negative seed": (ValueError, "got -1", lambda: flows.Streams([-1], "x")),
    "no draws": (ValueError, "n must be 1 or more, got 0", lambda: flows.Streams([1], "x").normal(0, 2)),
    "no integers": (ValueError, "high must be 1 or more, got 0", lambda: flows.Streams([1], "x").integers(0, 2)),
    "subset too large": (ValueError, "k = 6 different numbers of 5", lambda: flows.Streams([1], "x").subset(6, 5)),
    "empty ensemble": (ValueError, "at least one model", lambda: flows.Replicas([])),
    "unequal ensemble": (ValueError, "equal settings", lambda: flows.Replicas([small_mlp(), small_mlp(width=8)])),
    "ensemble of other layers": (
        ValueError,
        r"Dropout\(p=0.1.*and, of model 1,.*Dropout\(p=0.2",
        lambda: flows.Replicas([with_layer(nn.Dropout(p)) for p in (0.1, 0.2)]),
    ),
    "ensemble of other attributes": (
        ValueError,
        "'heads', 2.*'heads', 4",
        lambda: flows.Replicas([with_layer(Headed(n)) for n in (2, 4)]),
    ),
    "ensemble of other dtype": (
        ValueError,
        "float32.*float64",
        lambda: flows.Replicas([small_mlp(), small_mlp(1).double()]),
    ),
    "ensemble half frozen": (
        ValueError,
        "gradient True.*gradient False",
        lambda: flows.Replicas([small_mlp(), flows.frozen(small_mlp(1))]),
    ),
    "one model twice": (ValueError, "different objects", lambda: flows.Replicas([small_mlp()] * 2)),
    "ensemble of counted": (TypeError, "got Counted", lambda: flows.Replicas([flows.Counted(small_mlp())])),
    "rows that do not split": (
        ValueError,
        "S = 3, got 4",
        lambda: flows.Replicas([small_mlp(i) for i in range(3)])(X, T, C),
    ),
    "points of other width": (ValueError, r"need x \(B, 2\)", lambda: small_mlp()(X[:, :1], T, C)),
    "one time for all": (ValueError, r"t \(B,\)", lambda: small_mlp()(X, T[:1], C)),
    "wrong rows in ensemble": (ValueError, r"need x \(B, 2\)", lambda: flows.Replicas([small_mlp()])(X[:, :1], T, C)),
    "prompts as float": (TypeError, "c int64", lambda: small_mlp()(X, T, T)),
    "images to a mlp": (ValueError, r"\(4, 1, 6, 6\)", lambda: small_mlp()(torch.zeros(4, 1, 6, 6), T, C)),
    "points to a dit": (ValueError, r"need x \(B, 1, 6, 6\)", lambda: small_dit()(X, T, C)),
    "odd time features": (ValueError, "even and 4 or more, got 7", lambda: small_mlp(fourier=7)),
    "no width": (ValueError, "width must be 1 or more, got 0", lambda: small_mlp(width=0)),
    "no prompts": (ValueError, "prompts must be 1 or more, got 0", lambda: small_mlp(prompts=0)),
    "no generator": (TypeError, "torch.Generator is needed", lambda: flows.VelocityMLP(generator=None)),
    "no generator, dit": (TypeError, "torch.Generator is needed", lambda: flows.DiT(generator=None)),
    "no generator, unet": (TypeError, "torch.Generator is needed", lambda: flows.UNet(generator=None)),
    "patch that leaves a rest": (ValueError, "patch 4 must divide", lambda: flows.DiT(15, 4, generator=rng())),
    "heads that do not divide": (ValueError, "heads 5 must divide", lambda: flows.DiT(heads=5, generator=rng())),
    "width not of four": (ValueError, "multiple of 4", lambda: flows.DiT(width=6, heads=2, generator=rng())),
    "unet too deep": (ValueError, "4 levels do not fit 12", lambda: flows.UNet(12, 3, (8,) * 4, generator=rng())),
    "unet groups": (ValueError, "groups 16 must divide", lambda: flows.UNet(8, 3, (8,), generator=rng())),
    "grid rising": (ValueError, "fall from exactly 1", lambda: flows.ode_sample(small_mlp(), C, GRID.flip(0), rng())),
    "grid cut off": (ValueError, "to exactly 0", lambda: flows.ode_sample(small_mlp(), C, GRID[:-1], rng())),
    "grid of one": (ValueError, r"\(1,\)", lambda: flows.ode_sample(small_mlp(), C, GRID[:1], rng())),
    "grid standing still": (
        ValueError,
        "fall from",
        lambda: flows.ode_sample(small_mlp(), C, torch.tensor([1.0, 0.5, 0.5, 0.0]), rng()),
    ),
    "prompt out of range": (ValueError, r"0..2, got 3", lambda: flows.ode_sample(small_mlp(), C + 3, GRID, rng())),
    "prompt below 0": (ValueError, r"0..2, got -1", lambda: flows.ode_sample(small_mlp(), C - 1, GRID, rng())),
    "prompts as int32": (TypeError, "torch.int32", lambda: flows.ode_sample(small_mlp(), C.int(), GRID, rng())),
    "no prompts given": (ValueError, r"\(0,\)", lambda: flows.ode_sample(small_mlp(), C[:0], GRID, rng())),
    "noise too small": (ValueError, r"noise must be", lambda: flows.ode_sample(small_mlp(), C, GRID, None, X[:2])),
    "noise of other dtype than the model": (
        TypeError,
        "noise must be torch.float32",
        lambda: flows.ode_sample(small_mlp(), C, GRID, None, X.double()),
    ),
    "sampler unseeded": (TypeError, "torch.Generator", lambda: flows.ode_sample(small_mlp(), C, GRID, None)),
    "sde unseeded": (TypeError, "torch.Generator", lambda: flows.sde_sample(small_mlp(), C, GRID, 0.7, None, noise=X)),
    "streams that do not fit": (
        ValueError,
        "2 streams do not fit a model of 1",
        lambda: flows.ode_sample(small_mlp(), C, GRID, flows.Streams([0, 1], "x")),
    ),
    "prompts that do not split": (
        ValueError,
        "4 prompts do not split over 3",
        lambda: flows.ode_sample(flows.Replicas([small_mlp(i) for i in range(3)]), C, GRID, rng()),
    ),
    "negative noise level": (ValueError, "a must be 0 or more", lambda: flows.sde_coefficients(0.5, 0.4, -0.1, 0.9)),
    "step upwards": (ValueError, "0.4 to 0.5", lambda: flows.sde_coefficients(0.4, 0.5, 0.7, 0.9)),
    "first time of 1": (ValueError, r"t_first must lie in \[0, 1\)", lambda: flows.sde_coefficients(1, 0.9, 0.7, 1.0)),
    "density of no noise": (
        ValueError,
        "a = 0 has no noise",
        lambda: flows.sde_sample(small_mlp(), C, GRID, 0.0, rng(), return_path=True),
    ),
    "spread of zero": (ValueError, "sd must be positive", lambda: flows.gaussian_log_prob(X, X, 0.0)),
    "step of other shape": (ValueError, r"\(4, 2\), \(1, 2\)", lambda: flows.gaussian_log_prob(X, X[:1], 1.0)),
    "step without dimensions": (ValueError, r"\(B, \.\.\.\)", lambda: flows.gaussian_log_prob(T, T, 1.0)),
    "clip at nothing": (ValueError, "limit must be positive", lambda: flows.clip_gradient_(small_mlp(), 0.0)),
    "decay above 1": (ValueError, "decay must lie", lambda: flows.ema_(small_mlp(), small_mlp(), 1.1)),
    "average of two kinds": (ValueError, "layers.0", lambda: flows.ema_(small_mlp(), small_mlp(width=8), 0.5)),
    "counted twice": (TypeError, "not counted yet", lambda: flows.Counted(flows.Counted(small_mlp()))),
    "nothing to save": (ValueError, "nothing to save", lambda: flows.save_weights("unused", {})),
    "loss of other shape": (ValueError, r"\(4, 2\), \(4, 1\)", lambda: flows.velocity_loss(X, X[:, :1])),
    "loss that does not split": (ValueError, "S = 3", lambda: flows.velocity_loss(X, X, 3)),
    "base class": (NotImplementedError, "no `stacked`", lambda: interface.StackedModel((2,), 3)(X, T, C)),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_input_is_refused_with_the_value(case):
    error, message, call = REFUSED[case]
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": 0}, "steps must be 1 or more, got 0"),
        ({"batch": 0}, "batch must be 1 or more, got 0"),
        ({"lr": 0.0}, "lr must be positive"),
        ({"schedule": "linear"}, "cosine, constant, got 'linear'"),
        ({"streams": flows.Streams([0, 1], "x")}, "2 streams do not fit"),
        ({"draw": lambda n, s: gaussian_data(n + 1, s)}, "1 x 4 rows, got 5"),
        ({"draw": lambda n, s: (s.normal(n, 3), s.integers(3, n))}, r"need x \(B, 2\)"),
        ({"draw": lambda n, s: (s.normal(n, 2), s.integers(9, n) + 3)}, r"0..2, got"),
    ],
)
def test_training_refuses_settings_and_data_that_do_not_fit(change, message):
    settings = {"draw": gaussian_data, "steps": 2, "batch": 4, "lr": 0.01, "streams": flows.Streams([0], "x"), **change}
    with pytest.raises(ValueError, match=message):
        flows.fit_flow(small_mlp(), **settings)
