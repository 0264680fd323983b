"""The method: group advantages, a shared noise, denoising losses, and the loss that compares the two halves of a group.

Groups are the last two axes, (..., P, G): G samples of each of P prompts. Whatever stands before them (several seeds
that train side by side) is left alone.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from ..flows import Streams, interpolate
from ..seeding import given

STDS = ("group", "global")
FORMS = ("bt", "surrogate")
LARGEST = 1e150  # a reward whose square, summed over groups, is still a number in float64


def group_advantages(rewards: Tensor, std: str = "group", eps: float = 1e-4, clip: float | None = 5.0) -> Tensor:
    r"""How much better than its group each sample is.

    Equation (12): $A_i=(r_i-\bar r)/\mathrm{std}(r)$; the positive group has $A_i>0$, and the weights are
    $w_i=|A_i|$ (paper, eqs. 12 to 14; population std, eps and clip from the official code).

    rewards: (..., P, G) float, G >= 2; computed in float64, so that a large offset costs nothing. std: over each
    "group", or "global": over the P groups together; the mean is that of the group in both. eps: added to std. clip:
    bound of |A|, None for none; a clipped group no longer sums to zero. Returns (..., P, G), in the dtype of rewards;
    zeros in a group whose rewards are all equal. Raises ValueError for a group of one, a missing group axis, rewards
    that are not finite, or settings out of range; TypeError for no floating-point tensor.
    """
    _check_rewards(rewards)
    if std not in STDS or not eps >= 0 or (clip is not None and not clip > 0):
        raise ValueError(f"need std in {STDS}, eps >= 0 and clip > 0 or None, got {std!r}, {eps} and {clip}")
    axes = (-1,) if std == "group" else (-2, -1)
    flat = (rewards == rewards[..., :1]).all(-1, keepdim=True)
    wide, unit = _squarable(rewards.double(), axes)
    scale = wide.std(axes, unbiased=False, keepdim=True) + eps / unit
    centred = wide - wide.mean(-1, keepdim=True)
    advantages = torch.where(flat, 0.0, centred / torch.where(scale > 0, scale, 1.0)).to(rewards)
    return advantages if clip is None else advantages.clamp(-clip, clip)


def flow_noise(
    x0: Tensor, t: float | Tensor, generator: Streams | torch.Generator, shared: bool = True
) -> tuple[Tensor, Tensor, Tensor]:
    r"""Noise complete groups: $x_t=(1-t)x+t\epsilon$ with one $\epsilon$ a group.

    x0: (P, G, *D). t: a number in [0, 1], or one a group (P,). shared: one noise for the G samples of a group, else one
    a sample. Returns x_t, noise and velocity target $v=\epsilon-x$, each (P, G, *D). Raises ValueError for a missing
    group axis or times out of range or of another shape, TypeError without a generator or for times of another kind.
    """
    if x0.dim() < 3:
        raise ValueError(f"x0 needs the axes (P, G, *sample), got shape {tuple(x0.shape)}")
    if not isinstance(t, Tensor | int | float) or isinstance(t, bool):
        raise TypeError(f"t must be a number or a tensor with one a group, got {t!r}")
    if isinstance(t, Tensor) and t.shape != (len(x0),):
        raise ValueError(f"t must be a number or one a group, ({len(x0)},), got shape {tuple(t.shape)}")
    P, G, *D = x0.shape
    noise = _normal(generator, P, (1 if shared else G, *D)).to(x0).expand_as(x0)
    each = torch.as_tensor(t, dtype=x0.dtype, device=x0.device).expand(P).repeat_interleave(G)
    x_t, target = interpolate(x0.flatten(0, 1), noise.reshape(P * G, *D), each)
    return x_t.reshape(x0.shape), noise, target.reshape(x0.shape)


def dsm_loss(v_pred: Tensor, v_target: Tensor) -> Tensor:
    r"""Denoising loss of each sample, mean over its dimensions.

    Equation (dsm): $L^\theta_{\mathrm{dsm}}(x^i)=\frac1D\|v_\theta(x^i_t,t,c)-v^i\|^2$ (official code; the paper writes
    it for the data prediction, which is $t^2$ times as large, and without the mean).

    v_pred, v_target: (P, G, *D). Returns (P, G). Raises ValueError for unequal shapes or no sample axes.
    """
    _same_shape(v_pred=v_pred, v_target=v_target)
    if v_pred.dim() < 3:
        raise ValueError(f"velocities need the axes (P, G, *sample), got shape {tuple(v_pred.shape)}")
    return (v_pred - v_target).square().flatten(2).mean(-1)


def implicit_rewards(dsm_theta: Tensor, dsm_ref: Tensor, beta: float, log_z: float | Tensor = 0.0) -> Tensor:
    r"""What the model's own likelihood says a sample is worth, up to the constant that nobody can compute.

    Equation (10): $r_\theta(c,x)=-\beta\,\delta+\beta\log Z(c)$, with the log-ratio of the paper's eq. 10 bounded by
    $-\delta=L^{\mathrm{ref}}_{\mathrm{dsm}}-L^{\theta}_{\mathrm{dsm}}$ (constants folded into beta, as in the official
    code).

    dsm_theta, dsm_ref: (..., G). log_z: $\log Z(c)$, a number or one a group (...). Returns (..., G). Raises ValueError
    for unequal shapes, beta <= 0.
    """
    _same_shape(dsm_theta=dsm_theta, dsm_ref=dsm_ref)
    _positive(beta=beta)
    if isinstance(log_z, Tensor):
        _same_shape(log_z=log_z, groups=dsm_theta[..., 0])
        log_z = log_z[..., None]
    return beta * (log_z - (dsm_theta - dsm_ref))


def group_gap(rewards: Tensor, advantages: Tensor, weights: Tensor | None = None) -> Tensor:
    r"""Reward of the positive group minus that of the negative one, both weighted.

    Equation (gap): $R_\theta(G^+)-R_\theta(G^-)=\sum_{G^+}w_ir_i-\sum_{G^-}w_ir_i$ (paper, section 3). A constant in
    all r_i cancels where the weights of both groups have the same sum, as $w_i=|A_i|$ have.

    rewards, advantages: (..., G). weights: (..., G), |A| where None. Returns (...). Raises ValueError for unequal
    shapes.
    """
    weights = advantages.abs() if weights is None else weights
    _same_shape(rewards=rewards, advantages=advantages, weights=weights)
    sign = torch.where(advantages > 0, 1.0, -1.0).to(rewards)
    return (sign * weights * rewards).sum(-1)


def dgpo_loss(
    dsm_theta: Tensor, dsm_ref: Tensor, advantages: Tensor, beta: float, form: str = "bt"
) -> tuple[Tensor, dict[str, Tensor]]:
    r"""The loss of one noised copy of complete groups.

    Equation (17): $\mathcal L=-\mathbb E\log\sigma(-z_g)$ with $z_g=\frac\beta G\sum_{i\in g}A_i\delta_i$ and
    $\delta_i=L^\theta_{\mathrm{dsm}}(x^i)-L^{\mathrm{ref}}_{\mathrm{dsm}}(x^i)$ (paper, eq. 17, with lambda and T
    folded into beta). form "surrogate" is what the official code minimises,
    $\frac1B\sum_i\mathrm{sg}(\sigma(z_{g(i)}))A_iL^\theta_{\mathrm{dsm}}(x^i)$: its gradient is that of "bt" over beta.

    dsm_theta, dsm_ref, advantages: (..., P, G). Gradients flow through dsm_theta only. Returns the mean over groups and
    {"z": (..., P), "weight": sigmoid(z)}, detached. Raises ValueError for unequal shapes, beta <= 0, an unknown form.
    """
    _same_shape(dsm_theta=dsm_theta, dsm_ref=dsm_ref, advantages=advantages)
    _positive(beta=beta)
    if form not in FORMS:
        raise ValueError(f"unknown form {form!r}; known: {', '.join(FORMS)}")
    advantages = advantages.detach()
    z = beta * (advantages * (dsm_theta - dsm_ref.detach())).mean(-1)
    weight = torch.sigmoid(z).detach()
    loss = F.softplus(z) if form == "bt" else weight * (advantages * dsm_theta).mean(-1)
    return loss.mean(), {"z": z.detach(), "weight": weight}


def ppo_mask(dsm_theta: Tensor, dsm_old: Tensor, advantages: Tensor, eps: float) -> Tensor:
    r"""Which samples have moved far enough from the model that drew them and get no gradient.

    Equation (clip): $\rho_i=\exp(L^{\mathrm{old}}_i-L^\theta_i)$; clipped where $A_i>0,\ \rho_i>1+\varepsilon$ or
    $A_i\le0,\ \rho_i<1-\varepsilon$ (official code, added after review).

    dsm_theta, dsm_old, advantages: (..., G). Returns bool (..., G). Raises ValueError for unequal shapes, eps <= 0.
    """
    _same_shape(dsm_theta=dsm_theta, dsm_old=dsm_old, advantages=advantages)
    _positive(eps=eps)
    ratio = torch.exp(dsm_old - dsm_theta)
    return torch.where(advantages > 0, ratio > 1 + eps, ratio < 1 - eps)


def timestep_weight(alpha: float, sigma: float, alpha_prev: float, sigma_prev: float, eta: float) -> float:
    r"""The weight that the theory puts on the denoising loss of a step from t to t-1.

    Equation (22): $\lambda_t=\frac1{2\eta^2}\big(\alpha_{t-1}-\sqrt{\sigma_{t-1}^2-\eta^2}\;\alpha_t/\sigma_t\big)^2$
    (paper, eq. 22). The official code sets it to 1 on the velocity loss, and so does the trainer.

    alpha, sigma: signal and noise at t; with _prev: at t-1. eta: noise added in the step. Returns a number. Raises
    ValueError unless 0 < eta <= sigma_prev and sigma > 0.
    """
    if not (0 < eta <= sigma_prev and sigma > 0):
        raise ValueError(f"need 0 < eta <= sigma_prev and sigma > 0, got {eta}, {sigma_prev} and {sigma}")
    return (alpha_prev - (sigma_prev**2 - eta**2) ** 0.5 * alpha / sigma) ** 2 / (2 * eta**2)


def _check_rewards(rewards: Tensor) -> None:
    if not isinstance(rewards, Tensor) or not rewards.is_floating_point():
        raise TypeError(f"rewards must be a floating-point tensor, got {getattr(rewards, 'dtype', type(rewards))}")
    if rewards.dim() < 2 or rewards.shape[-1] < 2:
        raise ValueError(f"rewards need complete groups of two or more, (..., P, G), got shape {tuple(rewards.shape)}")
    if not torch.isfinite(rewards).all():
        where = (~torch.isfinite(rewards)).nonzero()[0].tolist()
        raise ValueError(f"reward {rewards[tuple(where)].item()} at index {where} is not finite")


def _squarable(rewards: Tensor, axes: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Rewards (..., P, G) in a unit in which their squares are numbers, and that unit: 1 but for extreme rewards."""
    largest = rewards.abs().amax(axes, keepdim=True)
    unit = torch.where((largest > LARGEST) | ((largest > 0) & (largest < 1 / LARGEST)), largest, 1.0)
    return rewards / unit, unit


def _same_shape(**tensors: Tensor) -> None:
    shapes = {name: tuple(t.shape) for name, t in tensors.items()}
    if len(set(shapes.values())) != 1:
        raise ValueError(f"shapes must be equal, got {', '.join(f'{n} {s}' for n, s in shapes.items())}")


def _positive(**values: float) -> None:
    for name, value in values.items():
        if not 0 < value < float("inf"):
            raise ValueError(f"{name} must be a positive number, got {value}")


def _normal(generator: Streams | torch.Generator, rows: int, shape: tuple[int, ...]) -> Tensor:
    if not isinstance(generator, Streams):
        return torch.randn(rows, *shape, generator=given(generator))
    if rows % generator.replicas:
        raise ValueError(f"{rows} groups cannot be shared out among {generator.replicas} replicas")
    return generator.normal(rows // generator.replicas, *shape)
