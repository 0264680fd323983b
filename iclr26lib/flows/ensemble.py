"""Several seeds of one architecture as one model with stacked parameters, and what trainers do to its weights."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from .counting import Counted
from .interface import StackedModel, check_batch, finite_positive, replicas_of


class Replicas(nn.Module):
    """S models of one architecture computed at once: B = S n rows, the first n for the first model, and so on.

    Parameters are those of one model with a leading axis S. A `StackedModel` computes the replicas itself; any other
    goes through torch.func.vmap, or one replica after the other where its attribute `vectorises` is False.
    """

    def __init__(self, models: Sequence[nn.Module]):
        """models: S single models with equal settings, copied.

        Raises ValueError for no models or models that differ in settings or dtype, TypeError for one that is itself an
        ensemble or counted.
        """
        super().__init__()
        _check_alike(models)
        self.shape, self.prompts, self.replicas = models[0].shape, models[0].prompts, len(models)
        self.template = copy.deepcopy(models[0])
        for name, value in {**stack_module_state(list(models))[0], **stack_module_state(list(models))[1]}.items():
            _put(self.template, name, value.detach())

    def forward(self, x: Tensor, t: Tensor, c: Tensor) -> Tensor:
        """Velocities (B, *shape) at x (B, *shape), t (B,), c (B,).

        Raises ValueError or TypeError for another batch, and unless S divides B.
        """
        check_batch(x, t, c, self.shape)
        if len(x) % self.replicas:
            raise ValueError(f"need S n rows with S = {self.replicas}, got {len(x)}")
        batch = [q.reshape(self.replicas, -1, *q.shape[1:]) for q in (x, t, c)]
        state = dict(self.template.named_parameters()), dict(self.template.named_buffers())
        if isinstance(self.template, StackedModel):
            return self.template.stacked(*state, *batch).flatten(0, 1)
        if getattr(self.template, "vectorises", True):
            return vmap(self._one)(*state, *batch).flatten(0, 1)
        rows = range(self.replicas)
        single = [[{k: v[i] for k, v in half.items()} for half in state] + [q[i] for q in batch] for i in rows]
        return torch.cat([self._one(*arguments) for arguments in single])

    def _one(self, parameters: dict[str, Tensor], buffers: dict[str, Tensor], *batch: Tensor) -> Tensor:
        return functional_call(self.template, (parameters, buffers), batch)

    @torch.no_grad()
    def split(self) -> list[nn.Module]:
        """The S single models with the weights as they are now: new ones, ready to learn or to sample alone."""
        singles = [copy.deepcopy(self.template) for _ in range(self.replicas)]
        for i, single in enumerate(singles):
            for name, value in (*self.template.named_parameters(), *self.template.named_buffers()):
                _put(single, name, value[i].detach().clone())
        return singles


def _check_alike(models: Sequence[nn.Module]) -> None:
    """Refuse models that one stacked model cannot stand for."""
    if len(models) == 0:
        raise ValueError("an ensemble needs at least one model, got none")
    for model in models:
        if isinstance(model, Replicas | Counted) or not isinstance(model, nn.Module):
            raise TypeError(f"an ensemble is made of single models, got {type(model).__name__}")
    if len({id(m) for m in models}) != len(models):
        raise ValueError("models of an ensemble must be different objects with equal settings, got one twice")
    first, *others = (_settings(model) for model in models)
    for i, other in enumerate(others, 1):
        if other != first:
            mine, theirs = next((a, b) for a, b in itertools.zip_longest(first, other) if a != b)
            raise ValueError(
                f"models of an ensemble must be different objects with equal settings, got {mine} and, of model {i}, "
                f"{theirs}"
            )


def _settings(model: nn.Module) -> list[str]:
    """What models of one ensemble share: structure, plain attributes of all modules, kind of every state tensor."""
    found = [type(model).__name__, *repr(model).splitlines()]
    for name, module in model.named_modules():
        plain = {k: v for k, v in vars(module).items() if isinstance(v, int | float | str | tuple) and k != "training"}
        found.append(f"{name} {sorted(plain.items())}")
    state = (*model.named_parameters(), *model.named_buffers())
    return found + [f"{name} {tuple(p.shape)} {p.dtype}, gradient {p.requires_grad}" for name, p in state]


def _put(module: nn.Module, name: str, value: Tensor) -> None:
    """Set the parameter or buffer `name` of `module` to a tensor of another shape."""
    owner, _, leaf = name.rpartition(".")
    owner = module.get_submodule(owner)
    old = getattr(owner, leaf)
    new = nn.Parameter(value, requires_grad=old.requires_grad) if isinstance(old, nn.Parameter) else value
    setattr(owner, leaf, new)


@torch.no_grad()
def clip_gradient_(model: nn.Module, limit: float) -> Tensor:
    """Scale the gradient of each replica of `model` to a norm of at most `limit`, in place.

    Returns the norms (S,) before that, so that a replica's update does not depend on its neighbours. Raises ValueError
    for a limit that is not positive or a model without gradients, FloatingPointError naming the replica whose gradient
    is not finite.
    """
    limit, replicas = finite_positive("limit", limit), replicas_of(model)
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    if not gradients:
        raise ValueError("the model has no gradient: call backward first")
    norms = torch.stack([torch.linalg.vector_norm(g.reshape(replicas, -1), dim=1) for g in gradients]).norm(dim=0)
    finite = torch.isfinite(norms)
    if not finite.all():
        raise FloatingPointError(f"the gradient of replica {finite.logical_not().nonzero()[0].item()} is not finite")
    factors = (limit / norms).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(factors.reshape(-1, *[1] * (gradient.ndim - 1)) if replicas > 1 else factors[0])
    return norms


@torch.no_grad()
def ema_(target: nn.Module, source: nn.Module, decay: float) -> None:
    """Move the parameters of `target` towards those of `source`, in place: decay target + (1 - decay) source.

    decay: in [0, 1]; 0 copies, 1 leaves `target` as it is. Raises ValueError for another decay, or models whose
    parameters differ in name or shape.
    """
    if not 0 <= decay <= 1:
        raise ValueError(f"decay must lie in [0, 1], got {decay}")
    mine, theirs = dict(target.named_parameters()), dict(source.named_parameters())
    wrong = [k for k in {**mine, **theirs} if k not in mine or k not in theirs or mine[k].shape != theirs[k].shape]
    if wrong:
        raise ValueError(f"the models do not have the same parameters: {', '.join(sorted(wrong))}")
    for name, parameter in mine.items():
        parameter.lerp_(theirs[name], 1 - decay)


def frozen(model: nn.Module) -> nn.Module:
    """A deep copy of `model` in evaluation mode whose parameters need no gradient; `model` stays as it is."""
    twin = copy.deepcopy(model).eval()
    for parameter in twin.parameters():
        parameter.requires_grad_(False)
        parameter.grad = None
    return twin
