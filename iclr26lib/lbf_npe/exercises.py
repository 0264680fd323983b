"""Three exercises: the loss, the weights of random nodes, the gradient and curvature of the normaliser."""

import math

import torch
from torch import Tensor

from ..exercises import Exercise, Mistake
from ..seeding import generator
from .method import trapezoid_grid


def _normal(*shape: int, seed: int) -> Tensor:
    return torch.randn(shape, generator=generator(seed, "exercise"), dtype=torch.float64)


def _grid_probe(seed: int, batch: int, K: int, nodes: int) -> tuple[Tensor, ...]:
    """f (B, K), s_z (B, K), s_nodes (P, K), log_w (P,): a random basis on the trapezoid grid of [0, 3]."""
    log_w = trapezoid_grid(0, 3, nodes)[1]
    return _normal(batch, K, seed=seed), _normal(batch, K, seed=seed + 1), _normal(nodes, K, seed=seed + 2), log_w


# --- exercise 1: the loss ---------------------------------------------------------------------------------------------


def nll(f: Tensor, s_z: Tensor, s_nodes: Tensor, log_w: Tensor) -> Tensor:
    """The solution: log J by the quadrature, minus f . s at the latent.

    f, s_z: (..., B, K). s_nodes: (..., P, K). log_w: (..., P). Returns (..., B).
    """
    return torch.logsumexp(f @ s_nodes.mT + log_w[..., None, :], -1) - (f * s_z).sum(-1)


def _nll_no_weights(f, s_z, s_nodes, log_w):
    return torch.logsumexp(f @ s_nodes.mT, -1) - (f * s_z).sum(-1)


def _nll_plain_weights(f, s_z, s_nodes, log_w):
    return torch.logsumexp(f @ s_nodes.mT + log_w.exp()[..., None, :], -1) - (f * s_z).sum(-1)


def _nll_mean(f, s_z, s_nodes, log_w):
    return nll(f, s_z, s_nodes, log_w) - math.log(log_w.shape[-1])


def _nll_turned(f, s_z, s_nodes, log_w):
    return -nll(f, s_z, s_nodes, log_w)


def _nll_over_batch(f, s_z, s_nodes, log_w):
    return torch.logsumexp(f @ s_nodes.mT + log_w[..., None, :], (-2, -1)) - (f * s_z).sum(-1)


LOSS = Exercise(
    id="loss",
    task="Write `lbf_nll(f, s_z, s_nodes, log_w)`: the negative log density of each latent, shape (B,).",
    hint="log J is a logsumexp over the nodes, in which each node counts with the logarithm of its weight.",
    target="With f = 0 every latent costs the logarithm of the box's volume.",
    solution=nll,
    mistakes={
        "the weights are left out": Mistake(
            _nll_no_weights, "You sum over nodes as if each had weight 1: J grows with the number of nodes. Add log_w."
        ),
        "the weights are no logarithms": Mistake(
            _nll_plain_weights, "Inside a logsumexp a weight enters as its logarithm, and log_w is one already."
        ),
        "the mean over nodes": Mistake(
            _nll_mean, "The weights hold the size of a cell: sum over nodes, and do not divide by their number too."
        ),
        "the sign is turned": Mistake(
            _nll_turned, "This is the log density; training minimises its negative, and yours would be made worse."
        ),
        "one normaliser for the batch": Mistake(
            _nll_over_batch, "Each observation has its own J(x): sum over the nodes only, not over the batch."
        ),
    },
    probes=lambda: [_grid_probe(1, 5, 3, 40), _grid_probe(2, 3, 6, 17)],
    library="iclr26lib.lbf_npe.method:lbf_nll",
)


# --- exercise 2: random nodes -----------------------------------------------------------------------------------------


def weights(log_r: Tensor) -> Tensor:
    """The solution: minus log r minus log P, for P draws with log density log_r (P,) of the proposal. Returns (P,)."""
    return -log_r - math.log(len(log_r))


def _weights_uniform(log_r):
    return torch.full_like(log_r, -math.log(len(log_r)))


def _weights_turned(log_r):
    return log_r - math.log(len(log_r))


def _weights_sum(log_r):
    return -log_r


def _weights_to_one(log_r):
    return torch.log_softmax(-log_r, -1)


WEIGHTS = Exercise(
    id="weights",
    task="Write `monte_carlo_log_weights(log_r)`: log weights (P,) that turn P draws from r into a quadrature.",
    hint="Write the integral of g as an expectation under r, then replace the expectation by a mean over the draws.",
    target="For r uniform on a box of volume V each weight is log(V / P), so their logsumexp is log V.",
    solution=weights,
    mistakes={
        "r is left out": Mistake(
            _weights_uniform,
            "Draws fall where r is large, so they must count less there (in the paper's text, not in its listing).",
        ),
        "r multiplies": Mistake(
            _weights_turned, "Where r is large there are many draws already: the weight falls with r, yours grows."
        ),
        "the mean is left out": Mistake(
            _weights_sum, "An expectation is a mean over draws, not a sum: each weight also carries 1/P."
        ),
        "the weights sum to one": Mistake(
            _weights_to_one, "Weights of a quadrature sum to the volume of the box; made to sum to 1, they shift log J."
        ),
    },
    probes=lambda: [
        (_normal(9, seed=5),),
        (torch.full((4,), -math.log(6.0), dtype=torch.float64),),
        (_normal(30, seed=6) - 1,),
    ],
    library="iclr26lib.lbf_npe.method:monte_carlo_log_weights",
)


# --- exercise 3: gradient and curvature -------------------------------------------------------------------------------


def derivatives(eta: Tensor, s_nodes: Tensor, log_w: Tensor) -> tuple[Tensor, Tensor]:
    """The solution: mean and covariance of the basis under q.

    eta: (..., K). s_nodes: (P, K). log_w: (P,). Returns (..., K) and (..., K, K).
    """
    q = torch.softmax(eta @ s_nodes.mT + log_w, -1)
    mean = q @ s_nodes
    second = (s_nodes.mT * q[..., None, :]) @ s_nodes
    return mean, second - mean[..., :, None] * mean[..., None, :]


def _second_moment(eta, s_nodes, log_w):
    q = torch.softmax(eta @ s_nodes.mT + log_w, -1)
    return q @ s_nodes, (s_nodes.mT * q[..., None, :]) @ s_nodes


def _unweighted(eta, s_nodes, log_w):
    return derivatives(eta, s_nodes, torch.zeros_like(log_w))


def _under_the_prior(eta, s_nodes, log_w):
    return derivatives(torch.zeros_like(eta), s_nodes, log_w)


def _variances_only(eta, s_nodes, log_w):
    mean, covariance = derivatives(eta, s_nodes, log_w)
    return mean, torch.diag_embed(torch.diagonal(covariance, dim1=-2, dim2=-1))


def _curvature_turned(eta, s_nodes, log_w):
    mean, covariance = derivatives(eta, s_nodes, log_w)
    return mean, -covariance


MOMENTS = Exercise(
    id="moments",
    task="Write `moments(eta, s_nodes, log_w)`: gradient (K,) and Hessian (K, K) of log J at eta.",
    hint="On the grid q is a softmax over the nodes. Differentiate log J once, and name what you see; then once more.",
    target="They equal autograd's, and no eigenvalue of the Hessian is negative: that is the convexity.",
    solution=derivatives,
    mistakes={
        "the mean is not taken off": Mistake(
            _second_moment, "The Hessian is a covariance, E[s s'] - E[s] E[s]'; yours is the second moment E[s s']."
        ),
        "the weights are left out": Mistake(
            _unweighted, "The end nodes of the trapezoid rule count half: q(z_p) carries its weight, add log_w."
        ),
        "expectations under the flat density": Mistake(
            _under_the_prior, "The expectations are under q, whose density holds eta . s; yours ignores eta."
        ),
        "only variances": Mistake(
            _variances_only, "The Hessian has the covariances of different functions off its diagonal; yours are 0."
        ),
        "the curvature is turned": Mistake(
            _curvature_turned, "A covariance is positive semidefinite, so log J is convex; yours would be concave."
        ),
    },
    probes=lambda: [
        (_normal(3, seed=7), *_grid_probe(8, 1, 3, 25)[2:]),
        (_normal(2, 4, seed=9), *_grid_probe(10, 1, 4, 12)[2:]),
    ],
    library="iclr26lib.lbf_npe.method:moments",
)

EXERCISES = {exercise.id: exercise for exercise in (LOSS, WEIGHTS, MOMENTS)}
