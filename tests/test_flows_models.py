"""Velocity networks alone and as ensembles: the same function, the same gradients, the same learning."""

import copy
import math
import sys

import pytest
import torch
from torch import nn

from iclr26lib import flows
from iclr26lib.flows.dit import attend, grid_positions, transform
from tests.flow_models import (
    FACTORIES,
    batch_for,
    rng,
    small_dit,
    small_mlp,
    small_unet,
)

# ensembles


@pytest.mark.parametrize("kind", FACTORIES)
def test_an_ensemble_computes_what_its_models_compute(kind):
    models = [FACTORIES[kind](seed) for seed in range(3)]
    ensemble = flows.Replicas(models)
    assert (ensemble.shape, ensemble.prompts, ensemble.replicas) == (models[0].shape, 3, 3)
    x, t, c = batch_for(ensemble, 4, 3)
    rows = [slice(4 * i, 4 * i + 4) for i in range(3)]
    separate = [m(x[r], t[r], c[r]) for m, r in zip(models, rows, strict=True)]
    together = ensemble(x, t, c)
    assert torch.allclose(together, torch.cat(separate), atol=1e-5)
    assert (together[:4] - models[1](x[:4], t[:4], c[:4])).abs().max() > 1e-3
    together.square().sum().backward()
    for v in separate:
        v.square().sum().backward()
    for name, parameter in ensemble.template.named_parameters():
        single = torch.stack([m.get_parameter(name).grad for m in models])
        assert torch.allclose(parameter.grad, single, atol=1e-4, rtol=1e-3), name


@pytest.mark.parametrize("kind", ["mlp", "dit", "vmap"])
def test_twenty_clipped_adam_steps_teach_an_ensemble_what_they_teach_alone(kind):
    models = [FACTORIES[kind](seed) for seed in range(2)]
    ensemble = flows.Replicas(models)
    for model, seeds in ((ensemble, [4, 9]), (models[0], [4]), (models[1], [9])):
        optimizer, streams = torch.optim.Adam(model.parameters(), lr=0.01), flows.Streams(seeds, "adam")
        for _ in range(20):
            x, t, c = streams.normal(8, *model.shape), streams.uniform(8), streams.integers(3, 8)
            optimizer.zero_grad()
            (model(x, t, c) - x).square().sum().backward()
            assert flows.clip_gradient_(model, 1.0).shape == (model.replicas,)
            optimizer.step()
    batch = batch_for(models[0], 16)  # compared by outputs: where a gradient is 0, Adam follows rounding errors
    for single, alone, start in zip(ensemble.split(), models, (FACTORIES[kind](0), FACTORIES[kind](1)), strict=True):
        assert torch.allclose(single(*batch), alone(*batch), atol=1e-4)
        assert (single(*batch) - start(*batch)).abs().max() > 0.01


def test_a_split_ensemble_is_single_models_of_the_same_kind():
    models = [small_mlp(seed) for seed in range(2)]
    ensemble = flows.Replicas(models)
    with torch.no_grad():
        ensemble.get_parameter("template.layers.0.bias")[1] += 1
    first, second = ensemble.split()
    x, t, c = batch_for(first, 5)
    assert torch.equal(first(x, t, c), models[0](x, t, c))
    assert torch.equal(second.layers[0].bias, models[1].layers[0].bias + 1)
    assert isinstance(first, flows.VelocityMLP)
    first.layers[0].bias.data += 1  # a copy: the ensemble stays
    assert torch.equal(ensemble.split()[0].layers[0].bias, models[0].layers[0].bias)


def test_clipping_bounds_each_replica_by_itself():
    ensemble = flows.Replicas([small_mlp(0), small_mlp(1)])
    x, t, c = batch_for(ensemble, 6, 2)
    scale = torch.cat([torch.full((6, 1), 100.0), torch.full((6, 1), 1e-3)])
    (scale * ensemble(x, t, c)).sum().backward()
    before = [p.grad.clone() for p in ensemble.parameters()]
    norms = flows.clip_gradient_(ensemble, 1.0)
    by_hand = [math.sqrt(sum(g[i].square().sum().item() for g in before)) for i in range(2)]
    assert norms.tolist() == pytest.approx(by_hand, rel=1e-5)
    assert by_hand[1] < 1 < by_hand[0]
    after = [math.sqrt(sum(p.grad[i].square().sum().item() for p in ensemble.parameters())) for i in range(2)]
    assert after == pytest.approx([1.0, by_hand[1]], rel=1e-5)


def test_clipping_one_model_is_what_torch_does():
    ours, theirs = small_unet(), small_unet()
    for model in (ours, theirs):
        (100 * model(*batch_for(model, 3))).sum().backward()
    norm = nn.utils.clip_grad_norm_(theirs.parameters(), 0.5)
    assert flows.clip_gradient_(ours, 0.5).tolist() == pytest.approx([norm.item()], rel=1e-4)
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.allclose(mine.grad, other.grad, atol=1e-5)


def test_clipping_names_the_replica_without_a_finite_gradient():
    ensemble = flows.Replicas([small_mlp(0), small_mlp(1)])
    with pytest.raises(ValueError, match="call backward first"):
        flows.clip_gradient_(ensemble, 1.0)
    x, t, c = batch_for(ensemble, 2, 2)
    x[3] = torch.inf
    ensemble(x, t, c).sum().backward()
    with pytest.raises(FloatingPointError, match="replica 1"):
        flows.clip_gradient_(ensemble, 1.0)


def test_moving_average_keeps_its_share_of_the_old_weights():
    target, source = small_mlp(0), small_mlp(1)
    old = copy.deepcopy(target)
    flows.ema_(target, source, 0.75)
    for mine, before, new in zip(target.parameters(), old.parameters(), source.parameters(), strict=True):
        assert torch.allclose(mine, 0.75 * before + 0.25 * new, atol=1e-6)
    flows.ema_(target, source, 0.0)
    assert all(torch.equal(a, b) for a, b in zip(target.parameters(), source.parameters(), strict=True))
    flows.ema_(source, old, 1.0)
    assert all(torch.equal(a, b) for a, b in zip(target.parameters(), source.parameters(), strict=True))


def test_a_frozen_copy_stays_when_the_model_learns():
    model = small_mlp()
    twin = flows.frozen(model)
    x, t, c = batch_for(model, 4)
    before = model(x, t, c)
    before.sum().backward()
    torch.optim.SGD(model.parameters(), lr=1.0).step()
    assert torch.equal(twin(x, t, c), before)
    assert not twin(x, t, c).requires_grad
    assert (twin.training, model.training) == (False, True)
    assert all(p.requires_grad for p in model.parameters())


# networks


def test_mlp_is_layers_on_point_time_features_and_embedding():
    model = small_mlp(dim=3)
    x, t, c = batch_for(model, 7)
    angles = t[:, None] * 100 ** (torch.arange(16) / 15)
    h = torch.cat([x, angles.sin(), angles.cos(), model.prompt(c)], 1)
    for k, layer in enumerate(model.layers):
        h = layer(h if k == 0 else h * torch.sigmoid(h))
    assert torch.allclose(model(x, t, c), h, atol=1e-6)
    assert sum(p.numel() for p in flows.VelocityMLP(generator=rng()).parameters()) == 58_626


def test_dit_attends_as_the_formula_says():
    model = small_dit()
    h = torch.randn(1, 2, 9, 16, generator=rng())
    parameters = {name: p[None] for name, p in model.named_parameters()}
    block = model.blocks[0]
    q, k, v = block["qkv"](h[0]).chunk(3, -1)
    heads = [((q[..., s] @ k[..., s].mT) / math.sqrt(8)).softmax(-1) @ v[..., s] for s in (slice(0, 8), slice(8, 16))]
    expected = block["out"](torch.cat(heads, -1))
    assert torch.allclose(attend(parameters, "blocks.0", h, 2)[0], expected, atol=1e-5)


def test_dit_cuts_images_into_patches_and_puts_them_together():
    model = small_dit()
    x = torch.arange(36.0).reshape(1, 1, 1, 6, 6)
    patches = model.patches(x)
    assert patches[0, 0, 1].tolist() == [2, 3, 8, 9]
    assert patches[0, 0, 3].tolist() == [12, 13, 18, 19]
    assert torch.equal(model.image(patches), x)


def test_dit_starts_at_zero_and_then_hears_time_prompt_and_place():
    fresh = flows.DiT(6, 2, 3, 16, 2, 2, 8, generator=rng())
    x, t, c = batch_for(fresh, 4)
    assert torch.equal(fresh(x, t, c), torch.zeros(4, 1, 6, 6))
    model = small_dit()
    v = model(x, t, c)
    assert (v - model(x, 1 - t, c)).abs().max() > 1e-3
    assert (v - model(x, t, (c + 1) % 3)).abs().max() > 1e-3
    turned = model(x.roll(2, -1), t, c).roll(-2, -1)  # by one patch
    assert (v - turned).abs().max() > 1e-3
    assert torch.allclose(model(x[2:3], t[2:3], c[2:3]), v[2:3], atol=1e-5)
    default = flows.DiT(generator=rng())
    assert default.shape == (1, 15, 15)
    assert 650_000 < sum(p.numel() for p in default.parameters()) < 750_000


def test_a_fresh_block_passes_its_tokens_on():
    fresh = flows.DiT(6, 2, 3, 16, 2, 2, 8, generator=rng())
    h, condition = torch.randn(1, 2, 9, 16, generator=rng()), torch.randn(1, 2, 16, generator=rng(1))
    for model, same in ((fresh, True), (small_dit(), False)):
        parameters = {name: p[None] for name, p in model.named_parameters()}
        assert torch.equal(transform(parameters, "blocks.1", h, condition, 2), h) == same


def test_positions_are_sines_and_cosines_of_row_then_column():
    positions = grid_positions(3, 8)  # frequencies 1 and 0.01
    assert positions.shape == (9, 8)
    row, column = 1, 2
    expected = [f(w * at) for at in (row, column) for f in (math.sin, math.cos) for w in (1, 0.01)]
    assert positions[3 * row + column].tolist() == pytest.approx(expected, abs=1e-6)


def test_linear_layers_start_uniform_and_embeddings_normal():
    layers = nn.ModuleList([nn.utils.skip_init(nn.Linear, 64, 200), nn.utils.skip_init(nn.Embedding, 60, 50)])
    linear, embedding = flows.initialise_(layers, rng())
    assert linear.weight.abs().max().item() == pytest.approx(1 / 8, abs=1e-4)
    assert linear.weight.std().item() == pytest.approx(1 / 8 / math.sqrt(3), rel=0.02)
    assert linear.bias.abs().max().item() == pytest.approx(1 / 8, abs=2e-3)
    assert (embedding.weight.mean().item(), embedding.weight.std().item()) == pytest.approx((0, 1), abs=0.05)


def test_unet_has_the_size_of_the_plan_and_hears_time_and_prompt():
    assert sum(p.numel() for p in flows.UNet(generator=rng()).parameters()) == pytest.approx(6.8e6, rel=0.01)
    model = small_unet()
    x, t, c = batch_for(model, 3)
    with torch.no_grad():
        v = model(x, t, c)
        assert v.shape == (3, 1, 8, 8)
        assert (v - model(x, 1 - t, c)).abs().max() > 1e-3
        assert (v - model(x, t, (c + 1) % 3)).abs().max() > 1e-3
        assert torch.allclose(v, model.network(x, (1000 * t), class_labels=c).sample)


@pytest.mark.parametrize("kind", FACTORIES)
def test_initial_weights_come_from_the_generator_alone(kind):
    before = torch.get_rng_state()
    first, again, other = (FACTORIES[kind](seed) for seed in (0, 0, 1))
    if kind != "vmap":  # the stand-in of this file builds torch layers, which draw before they are drawn again
        assert torch.equal(torch.get_rng_state(), before)
    same = [torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True)]
    assert all(same)
    assert not all(torch.equal(a, b) for a, b in zip(first.parameters(), other.parameters(), strict=True))


def test_unet_says_how_to_get_diffusers(monkeypatch):
    monkeypatch.setitem(sys.modules, "diffusers", None)
    with pytest.raises(ImportError, match=r'pip install "iclr26lib\[dgpo\]"'):
        small_unet()


# counting


def test_passes_are_counted_in_rows():
    model = flows.Counted(flows.Replicas([small_mlp(0), small_mlp(1)]))
    assert (model.shape, model.prompts, model.replicas) == ((2,), 3, 2)
    batch = batch_for(model, 5, 2)
    with torch.no_grad():
        model(*batch)
    assert (model.forward_rows, model.backward_rows) == (10, 0)
    v = model(*batch)
    assert (model.forward_rows, model.backward_rows) == (20, 0)
    v.square().mean().backward()
    assert (model.forward_rows, model.backward_rows, model.passes) == (20, 10, 30)
    model.reset()
    flows.ode_sample(model, torch.zeros(4, dtype=torch.int64), flows.shifted_grid(10), flows.Streams([0, 1], "roll"))
    assert (model.passes, model.backward_rows) == (40, 0)


def test_a_frozen_model_counts_no_backward_and_models_may_share_a_tally():
    tally = flows.Tally()
    policy, reference = flows.Counted(small_mlp(), tally), flows.Counted(flows.frozen(small_mlp()), tally)
    x, t, c = batch_for(policy, 3)
    (policy(x, t, c) - reference(x, t, c)).square().sum().backward()
    assert (tally.forward_rows, tally.backward_rows, tally.passes) == (6, 3, 9)
    assert policy.passes == reference.passes == 9
    twin = flows.frozen(policy)
    twin(x, t, c)
    assert (twin.passes, tally.passes) == (12, 9)
    policy.reset()
    assert (tally.passes, reference.passes) == (0, 0)
