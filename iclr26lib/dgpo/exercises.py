"""Three exercises: the advantages, the loss in both of its forms, the clip."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from ..exercises import Exercise, Mistake
from ..seeding import generator


def _uniform(*shape: int, seed: int) -> Tensor:
    return torch.rand(shape, generator=generator(seed, "exercise"), dtype=torch.float64)


# --- exercise 1: the advantages ---------------------------------------------------------------------------------------


def advantages(rewards: Tensor, std: str = "group", eps: float = 1e-4, clip: float | None = 5.0) -> Tensor:
    """The solution: minus the group's mean, over the population std of the group or of all groups.

    rewards: (..., P, G). std: "group" or "global". eps: added to the std. clip: bound of |A|. Returns (..., P, G).
    """
    axes = (-1,) if std == "group" else (-2, -1)
    scale = rewards.std(axes, unbiased=False, keepdim=True) + eps
    A = (rewards - rewards.mean(-1, keepdim=True)) / scale
    return A if clip is None else A.clamp(-clip, clip)


def _advantages_unbiased(rewards, std="group", eps=1e-4, clip=5.0):
    axes = (-1,) if std == "group" else (-2, -1)
    A = (rewards - rewards.mean(-1, keepdim=True)) / (rewards.std(axes, keepdim=True) + eps)
    return A if clip is None else A.clamp(-clip, clip)


def _advantages_across(rewards, std="group", eps=1e-4, clip=5.0):
    return advantages(rewards.mT, std, eps, clip).mT


def _advantages_turned(rewards, std="group", eps=1e-4, clip=5.0):
    return -advantages(rewards, std, eps, clip)


def _advantages_uncentred(rewards, std="group", eps=1e-4, clip=5.0):
    axes = (-1,) if std == "group" else (-2, -1)
    A = rewards / (rewards.std(axes, unbiased=False, keepdim=True) + eps)
    return A if clip is None else A.clamp(-clip, clip)


def _advantages_global_mean(rewards, std="group", eps=1e-4, clip=5.0):
    axes = (-1,) if std == "group" else (-2, -1)
    centred = rewards - rewards.mean(axes, keepdim=True)
    A = centred / (rewards.std(axes, unbiased=False, keepdim=True) + eps)
    return A if clip is None else A.clamp(-clip, clip)


ADVANTAGES = Exercise(
    id="advantages",
    task="Write `group_advantages(rewards, std, eps, clip)`: how much better than its group each sample is.",
    hint="Two choices of axes, one for the mean and one for the std. Which of them does `std` change?",
    target="Rewards 1, 0, 0, 1 have advantages 1, -1, -1, 1 (without eps), and every group sums to zero.",
    solution=advantages,
    mistakes={
        "the std is the unbiased one": Mistake(
            _advantages_unbiased, "torch divides by G - 1 unless told otherwise; the method uses the population std."
        ),
        "the wrong axis": Mistake(
            _advantages_across, "You compare each sample with those of other prompts. A group is a row, axis -1."
        ),
        "the sign is turned": Mistake(
            _advantages_turned, "Better than the group means a positive advantage; yours trains towards the worst."
        ),
        "the mean is left out": Mistake(
            _advantages_uncentred, "Without the group's mean the weights of both halves differ, and Z does not cancel."
        ),
        "the mean goes global too": Mistake(
            _advantages_global_mean,
            "`std` changes the scale only. The mean is always the group's: without that, a group of an easy prompt "
            "is positive as a whole and Z does not cancel.",
        ),
    },
    probes=lambda: [
        (_uniform(3, 5, seed=1), "group", 1e-4, 5.0),
        (_uniform(4, 4, seed=2), "global", 1e-4, 5.0),
        (_uniform(2, 3, 6, seed=3), "global", 0.0, 1.2),
    ],
    library="iclr26lib.dgpo.method:group_advantages",
)


# --- exercise 2: the loss ---------------------------------------------------------------------------------------------


def loss(
    dsm_theta: Tensor, dsm_ref: Tensor, advantages: Tensor, beta: float, form: str = "bt"
) -> tuple[Tensor, dict[str, Tensor]]:
    """The solution. dsm_theta, dsm_ref, advantages: (..., P, G). beta, form: of the loss. Returns it, z and weight."""
    z = beta * (advantages * (dsm_theta - dsm_ref)).mean(-1)
    weight = torch.sigmoid(z).detach()
    each = F.softplus(z) if form == "bt" else weight * (advantages * dsm_theta).mean(-1)
    return each.mean(), {"z": z.detach(), "weight": weight}


def _loss_turned(dsm_theta, dsm_ref, advantages, beta, form="bt"):
    z = beta * (advantages * (dsm_theta - dsm_ref)).mean(-1)
    weight = torch.sigmoid(-z).detach()
    each = F.softplus(z) if form == "bt" else weight * (advantages * dsm_theta).mean(-1)
    return each.mean(), {"z": z.detach(), "weight": weight}


def _loss_attached(dsm_theta, dsm_ref, advantages, beta, form="bt"):
    z = beta * (advantages * (dsm_theta - dsm_ref)).mean(-1)
    weight = torch.sigmoid(z)
    each = F.softplus(z) if form == "bt" else weight * (advantages * dsm_theta).mean(-1)
    return each.mean(), {"z": z.detach(), "weight": weight.detach()}


def _loss_without_advantage(dsm_theta, dsm_ref, advantages, beta, form="bt"):
    z = beta * (advantages * (dsm_theta - dsm_ref)).mean(-1)
    weight = torch.sigmoid(z).detach()
    each = F.softplus(z) if form == "bt" else weight * dsm_theta.mean(-1)
    return each.mean(), {"z": z.detach(), "weight": weight}


def _loss_per_sample(dsm_theta, dsm_ref, advantages, beta, form="bt"):
    z = beta * advantages * (dsm_theta - dsm_ref)
    weight = torch.sigmoid(z).detach()
    each = F.softplus(z) if form == "bt" else weight * advantages * dsm_theta
    return each.mean(), {"z": z.mean(-1).detach(), "weight": weight.mean(-1)}


def _loss_beta_outside(dsm_theta, dsm_ref, advantages, beta, form="bt"):
    value, parts = loss(dsm_theta, dsm_ref, advantages, beta, form)
    return (value if form == "bt" else beta * value), parts


def _with_gradient(fn: Callable) -> Callable:
    """A function that returns the loss, its gradient with respect to dsm_theta, and the weights."""

    def observed(dsm_theta, *rest):
        theta = dsm_theta.clone().requires_grad_()
        value, parts = fn(theta, *rest)
        (slope,) = torch.autograd.grad(value, theta)
        return [value, slope, parts["weight"]]

    return observed


LOSS = Exercise(
    id="loss",
    task="Write `dgpo_loss(dsm_theta, dsm_ref, advantages, beta, form)`: loss, and a dict of z and weight.",
    hint="Differentiate log(1 + exp z): what stands before dz? That is the weight, and it is a number, not a function.",
    target="beta times the gradient of the surrogate is the gradient of the Bradley-Terry loss.",
    solution=loss,
    mistakes={
        "the sigmoid is turned": Mistake(
            _loss_turned,
            "d log(1 + e^z) / dz = sigmoid(z). With sigmoid(-z) a group counts for more the better it is told apart, "
            "and nothing stops the training.",
        ),
        "the weight is not detached": Mistake(
            _loss_attached, "The surrogate holds the weight fixed; a gradient through the sigmoid is another method."
        ),
        "the surrogate lacks the advantage": Mistake(
            _loss_without_advantage, "Without A the surrogate improves the denoising of good and bad samples alike."
        ),
        "one sigmoid a sample": Mistake(
            _loss_per_sample, "The groups are compared, not single samples: sum over the group inside the sigmoid."
        ),
        "beta stands before the surrogate": Mistake(
            _loss_beta_outside,
            "In the surrogate beta acts inside the sigmoid only, as a trust region; outside it would be a step size.",
        ),
    },
    probes=lambda: [
        (_uniform(2, 4, seed=4), _uniform(2, 4, seed=5), advantages(_uniform(2, 4, seed=6)), 10.0, "bt"),
        (_uniform(3, 5, seed=7), _uniform(3, 5, seed=8), advantages(_uniform(3, 5, seed=9)), 10.0, "surrogate"),
    ],
    library="iclr26lib.dgpo.method:dgpo_loss",
    observe=_with_gradient,
)


# --- exercise 3: the clip ---------------------------------------------------------------------------------------------


def clip(dsm_theta: Tensor, dsm_old: Tensor, advantages: Tensor, eps: float) -> Tensor:
    """The solution: which samples get no gradient. dsm_theta, dsm_old, advantages: (..., G). eps: half width. Bool."""
    ratio = torch.exp(dsm_old - dsm_theta)
    return torch.where(advantages > 0, ratio > 1 + eps, ratio < 1 - eps)


def _clip_upside_down(dsm_theta, dsm_old, advantages, eps):
    return clip(dsm_old, dsm_theta, advantages, eps)


def _clip_ignores_sign(dsm_theta, dsm_old, advantages, eps):
    ratio = torch.exp(dsm_old - dsm_theta)
    return (ratio > 1 + eps) | (ratio < 1 - eps)


def _clip_turned(dsm_theta, dsm_old, advantages, eps):
    return clip(dsm_theta, dsm_old, -advantages, eps)


def _clip_complement(dsm_theta, dsm_old, advantages, eps):
    return ~clip(dsm_theta, dsm_old, advantages, eps)


CLIP = Exercise(
    id="clip",
    task="Write `ppo_mask(dsm_theta, dsm_old, advantages, eps)`: True for each sample that gets no gradient.",
    hint="Minus the loss stands for a log-likelihood. Which way should each half of the group go, and how far?",
    target="At dsm_theta = dsm_old, the first update of a rollout, nothing is held.",
    solution=clip,
    mistakes={
        "the ratio is upside down": Mistake(
            _clip_upside_down, "A smaller denoising loss means more likely: the ratio is exp(old - new)."
        ),
        "the sign of the advantage is ignored": Mistake(
            _clip_ignores_sign,
            "A sample that went the wrong way must keep its gradient, or it never comes back: hold good samples that "
            "became likelier and bad ones that became less likely.",
        ),
        "good and bad are swapped": Mistake(
            _clip_turned,
            "Good samples are held once they are likely enough, ratio above 1 + eps; yours holds bad ones.",
        ),
        "the mask of those that learn": Mistake(
            _clip_complement, "True means held. You return the samples that still learn."
        ),
    },
    probes=lambda: [
        (_uniform(4, 6, seed=10), _uniform(4, 6, seed=11), _uniform(4, 6, seed=12) - 0.5, 0.3),
        (_uniform(2, 3, seed=13), _uniform(2, 3, seed=13), _uniform(2, 3, seed=14) - 0.5, 0.01),
    ],
    library="iclr26lib.dgpo.method:ppo_mask",
)

EXERCISES = {exercise.id: exercise for exercise in (ADVANTAGES, LOSS, CLIP)}
