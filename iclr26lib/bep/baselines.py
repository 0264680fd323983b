"""What BEP is compared with: quantisation-aware training with the straight-through estimator (STE), and float models.

The QAT networks have the very form of BEP's: binary weights and activations, sign(0) = +1, scores P a_L with the same
fixed prototypes. Only training differs: float latent weights in [-1, 1], Adam, cross-entropy, the STE's backward pass.
"""

import itertools
import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .method import binary, checked_labels, per_run
from .training import BinaryNetwork, Seeds, checked_prototypes, generators, share_right

WINDOWS = ("one", "fan_in", "batch_norm")


class _Sign(torch.autograd.Function):
    """sign(x) with the straight-through backward pass: the gradient passes where |x| <= 1."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx, upstream):
        (x,) = ctx.saved_tensors
        return upstream * (x.abs() <= 1)


def ste_sign(x: Tensor) -> Tensor:
    """sign(x) as floats, any shape; backward: the upstream gradient where |x| <= 1, else 0.

    Equation (STE): $\\partial\\, \\mathrm{sign}(x) / \\partial x := 1\\{|x| \\le 1\\}$
    """
    return _Sign.apply(x)


class QATMLP:
    """A binary MLP trained with float latent weights and the STE.

    sizes, P, seed, device: as in `BEPMLP`. window: where the STE lets a gradient pass: "one", |z| <= 1 on the raw sum;
    "fan_in", |z| <= sqrt(fan_in), the spread of such a sum; "batch_norm", |BN(z)| <= 1 with learned scale and shift.
    The first two leave a fully binary network; batch norm adds two floats a unit. lr: Adam's step. init: latent weights
    start uniform in [-init, init]. Raises ValueError for an unknown window, lr <= 0, init outside (0, 1], or prototypes
    of another width.
    """

    def __init__(
        self, sizes: Sequence[int], P: Tensor, *, window="fan_in", lr=3e-3, init=0.1, seed: Seeds = 0, device="cpu"
    ):
        if window not in WINDOWS:
            raise ValueError(f"unknown window {window!r}; known: {', '.join(WINDOWS)}")
        if not (lr > 0 and 0 < init <= 1):
            raise ValueError(f"need lr > 0 and init in (0, 1], got {lr} and {init}")
        self.net, self.training = BinaryNetwork(seed), True
        self.window, self.P = window, checked_prototypes(P, sizes[-1], self.net.runs).float().to(device)
        start = generators(seed, "qat init")
        shapes = itertools.pairwise(sizes)
        draws = [per_run(start, lambda g, s=(o, i): torch.rand(*s, generator=g) * 2 - 1) for i, o in shapes]
        self.weights = [nn.Parameter((d * init).to(device)) for d in draws]
        self.latent = self.weights
        self.norms = self._norms(sizes[1:], device) if window == "batch_norm" else None
        scale_shift = [p for norm in self.norms or [] for p in norm["learned"]]
        self.optimiser = torch.optim.Adam([*self.weights, *scale_shift], lr=lr)

    def _norms(self, widths: Sequence[int], device) -> list[dict]:
        lead = () if self.net.runs is None else (self.net.runs,)
        return [
            {
                "learned": [nn.Parameter(f(*lead, 1, K, device=device)) for f in (torch.ones, torch.zeros)],
                "mean": torch.zeros(*lead, 1, K, device=device),
                "var": torch.ones(*lead, 1, K, device=device),
            }
            for K in widths
        ]

    def _activate(self, z: Tensor, layer: int) -> Tensor:
        if self.window == "one":
            return ste_sign(z)
        if self.window == "fan_in":
            return ste_sign(z / math.sqrt(self.weights[layer].shape[-1]))
        norm = self.norms[layer]
        if self.training:
            mean, var = z.mean(-2, keepdim=True), z.var(-2, keepdim=True, unbiased=False)
            norm["mean"] = (0.9 * norm["mean"] + 0.1 * mean).detach()
            norm["var"] = (0.9 * norm["var"] + 0.1 * var).detach()
        else:
            mean, var = norm["mean"], norm["var"]
        scale, shift = norm["learned"]
        return ste_sign(scale * (z - mean) / torch.sqrt(var + 1e-5) + shift)

    def scores(self, X: Tensor) -> Tensor:
        """Class scores P a_L / sqrt(K_L), float (..., N, C), for X (..., N, K_0) in {-1, +1}."""
        a = X.float()
        for layer, weight in enumerate(self.weights):
            a = self._activate(a @ ste_sign(weight).mT, layer)
        return a @ self.P.mT / math.sqrt(self.P.shape[-1])

    def fit_epoch(self, X: Tensor, y: Tensor, *, batch=100) -> float | list[float]:
        """One pass of Adam on the cross-entropy over X (N, K_0) with labels y (N,), both perhaps with a leading R.

        batch: samples a step. Returns the training error rate, one a run, counted before each step.

        Runs side by side share the optimiser's loop but no number: Adam works entry by entry.
        Raises ValueError for labels or values out of range.
        """
        binary(X, "X", self.weights[0].shape[-1])
        checked_labels(y, self.P.shape[-2])
        self.training, wrong, seen = True, 0, 0
        for x, labels in self.net.batches(X, y, batch):
            scores = self.scores(x)
            loss = F.cross_entropy(scores.flatten(0, -2), labels.flatten(), reduction="sum") / labels.shape[-1]
            self.optimiser.zero_grad(set_to_none=True)
            loss.backward()
            self.optimiser.step()
            for weight in self.latent:
                weight.data.clamp_(-1, 1)
            wrong, seen = wrong + (scores.argmax(-1) != labels).sum(-1), seen + labels.shape[-1]
        self.training = False
        return (wrong / seen).tolist()

    @torch.no_grad()
    def accuracy(self, X: Tensor, y: Tensor) -> float | list[float]:
        """Share of right predictions for X (..., N, K_0) and labels y (..., N), one number a run.

        Raises as `training.share_right`.
        """
        self.training = False
        return share_right(self.scores(X).argmax(-1), y, self.P.shape[-2])


class QATRNN(QATMLP):
    """The binary RNN of `BEPRNN`, trained by STE and float backpropagation through time. window: "one" or "fan_in".

    K_x, K_s, K_y, P: as in `BEPRNN`. Other arguments and errors as in `QATMLP`.
    """

    def __init__(self, K_x, K_s, K_y, P: Tensor, *, window="fan_in", lr=3e-3, init=0.1, seed: Seeds = 0, device="cpu"):
        if window == "batch_norm":
            raise ValueError("unknown window 'batch_norm' for the RNN; known: one, fan_in")
        super().__init__([K_x, K_s, K_y], P, window=window, lr=lr, init=init, seed=seed, device=device)
        self.net.sample_dims = 2
        draw = per_run(generators(seed, "qat state"), lambda g: torch.rand(K_s, K_s, generator=g) * 2 - 1)
        self.recurrent = nn.Parameter((draw * init).to(device))
        self.optimiser.add_param_group({"params": [self.recurrent]})
        self.latent = [*self.weights, self.recurrent]
        self.fan_in = K_x + K_s

    def scores(self, X: Tensor) -> Tensor:
        """Class scores, float (..., N, C), for X (..., N, T, K_x) in {-1, +1}; s_0 = +1."""
        into, out = (ste_sign(w).mT for w in self.weights)
        across, spread = ste_sign(self.recurrent).mT, 1.0 if self.window == "one" else math.sqrt(self.fan_in)
        state: Tensor | None = None
        for a in X.float().unbind(-2):
            before = state @ across if state is not None else torch.ones_like(a[..., :1]) * across.sum(-2, keepdim=True)
            state = ste_sign((a @ into + before) / spread)
        return self._activate(state @ out, 1) @ self.P.mT / math.sqrt(self.P.shape[-1])


def logistic_regression(X: Tensor, y: Tensor, X_test: Tensor, y_test: Tensor, C: float = 0.01) -> float:
    """Test accuracy of scikit-learn's logistic regression on the -1/+1 input: (N, K_0), (N,) and the same for the test.

    C: inverse of the L2 penalty. A sanity floor: prototypes with noise are linearly separable in expectation.
    """
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=C, max_iter=500).fit(X.float().numpy(), y.numpy())
    return float(model.score(X_test.float().numpy(), y_test.numpy()))


def equal_memory_width(sizes: Sequence[int], classes: int) -> int:
    """Hidden width of a float MLP of the same depth whose 32-bit weights fill the bytes of BEP's 16-bit states.

    sizes: [K_0, ..., K_L] of the binary network. classes: outputs of the float MLP.
    Raises ValueError when not even one unit fits.
    """
    budget, hidden = sum(i * o for i, o in itertools.pairwise(sizes)) / 2, len(sizes) - 1
    fits = [K for K in range(1, max(sizes) + 1) if sizes[0] * K + (hidden - 1) * K * K + K * classes <= budget]
    if not fits:
        raise ValueError(f"no float MLP fits into the memory of binary sizes {list(sizes)}")
    return fits[-1]


def float_mlp(
    sizes: Sequence[int], X, y, X_test, y_test, *, lr=1e-3, alpha=1e-4, epochs=12, batch=100, seed=0
) -> float:
    """Test accuracy of scikit-learn's float MLP of equal training-state memory, same epochs and batch as BEP.

    sizes: of the binary net. X (N, K_0), y (N,): int tensors. lr: Adam's step. alpha: L2 penalty.
    Raises ValueError when nothing fits into the memory.
    """
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    hidden = (equal_memory_width(sizes, int(y.max()) + 1),) * (len(sizes) - 1)
    model = MLPClassifier(
        hidden, alpha=alpha, batch_size=batch, learning_rate_init=lr, max_iter=epochs, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a fixed number of epochs is meant
        model.fit(X.float().numpy(), y.numpy())
    return float(model.score(X_test.float().numpy(), y_test.numpy()))


__all__ = [
    "QATMLP",
    "QATRNN",
    "WINDOWS",
    "equal_memory_width",
    "float_mlp",
    "logistic_regression",
    "ste_sign",
]  # fmt: skip
