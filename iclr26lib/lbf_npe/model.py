"""Networks: the body that all estimators share, their common interface, and the latent basis model itself."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.utils import skip_init

from ..seeding import given
from .bases import stereographic
from .method import corners, in_box, lbf_nll, log_normalizer
from .sampling import sample_grid, sampling_grid

SCALE = 10.0
Quadrature = tuple[Tensor, Tensor]


def initialise_(module: nn.Module, generator: torch.Generator) -> nn.Module:
    """Draw weights and biases of every linear and convolution layer of `module` from U(-1, 1)/sqrt(fan in), in place.

    generator: on the CPU, so that every device starts from the same numbers. Returns `module`.
    Raises TypeError without a generator.
    """
    given(generator)
    for layer in module.modules():
        if isinstance(layer, (nn.Linear, nn.Conv2d)):
            bound = layer.weight[0].numel() ** -0.5
            for parameter in (layer.weight, layer.bias):
                if parameter is not None:
                    draw = torch.rand(parameter.shape, generator=generator) * 2 - 1
                    parameter.data.copy_(bound * draw)
    return module


def mlp(inputs: int, width: int, depth: int, outputs: int, generator: torch.Generator) -> nn.Sequential:
    """(..., inputs) -> (..., outputs): `depth` times `width` units (linear, LayerNorm, ReLU), then a linear layer.

    generator: draws the initial weights, see `initialise_`. Raises ValueError for a size below 1, TypeError without a
    generator.
    """
    for name, size in {"inputs": inputs, "width": width, "depth": depth, "outputs": outputs}.items():
        if size < 1:
            raise ValueError(f"{name} must be 1 or more, got {size}")
    sizes = [inputs] + [width] * depth
    layers: list[nn.Module] = []
    for before, after in itertools.pairwise(sizes):
        layers += [skip_init(nn.Linear, before, after), nn.LayerNorm(after), nn.ReLU()]
    return initialise_(nn.Sequential(*layers, skip_init(nn.Linear, sizes[-1], outputs)), generator)


class Estimator(nn.Module):
    """Base of every conditional density estimator of z (B, d) given x (B, x_dim), on the box [low, high].

    A subclass gives `forward` (what training minimises, (B,), without looking at values, since it runs under
    torch.func.vmap), `log_prob`, `log_density` and `sample`.
    """

    def __init__(self, x_dim: int, low: tuple[float, ...], high: tuple[float, ...]):
        """x_dim: width of an observation. low, high: corners of the latent box. Raises ValueError unless low < high."""
        super().__init__()
        if x_dim < 1:
            raise ValueError(f"x_dim must be 1 or more, got {x_dim}")
        self.low, self.high = corners(low, high)
        self.x_dim, self.d = x_dim, len(self.low)

    def loss(self, z: Tensor, x: Tensor) -> Tensor:
        """What training minimises, (B,), for z (B, d) and x (B, x_dim). Raises ValueError as `check`."""
        self.check(x, z)
        return self(z, x)

    def check(self, x: Tensor, z: Tensor | None = None) -> None:
        """Refuse observations x that are not finite (B, x_dim), and latents z that are not (B, d) in the box.

        Raises ValueError with the offending shape or value.
        """
        if x.ndim != 2 or x.shape[1] != self.x_dim:
            raise ValueError(f"x must be (B, {self.x_dim}), got {tuple(x.shape)}")
        if not torch.isfinite(x).all():
            raise ValueError(f"x holds a value that is not finite: {x[~torch.isfinite(x)][0].item()}")
        if z is not None:
            if z.shape != (len(x), self.d):
                raise ValueError(f"z must be ({len(x)}, {self.d}) for {len(x)} observations, got {tuple(z.shape)}")
            in_box(z, self.low, self.high)


class LBF(Estimator):
    """log q(z; x) = f(x) . s(z) - log J(x) on a box, with f a network and s a fixed or learnt basis."""

    def __init__(
        self,
        x_dim: int,
        basis: Callable[[Tensor], Tensor],
        K: int,
        nodes: Tensor,
        log_w: Tensor,
        scale: float | None = None,
        width: int = 128,
        depth: int = 4,
        *,
        generator: torch.Generator,
        stereographic: bool | None = None,
        net: nn.Module | None = None,
        x_stats: Quadrature | None = None,
        low: tuple[float, ...] | None = None,
        high: tuple[float, ...] | None = None,
    ):
        """x_dim: width of x. K: number of functions. basis: (..., d) -> (..., K); a module with parameters is learnt.

        nodes (P, d), log_w (P,): the quadrature that training normalises on. scale: w of the stereographic form, 10
        when None (the paper gives no value). width, depth: of the network f. generator: draws its weights. net: another
        network, (B, x_dim) -> raw outputs, in place of it. x_stats: mean and spread (x_dim,) that standardise x, else
        0 and 1. low, high: corners of the box, else those of the nodes (give them for Monte Carlo nodes).
        A learnt basis sees z mapped from the box to [-1, 1]^d; a fixed one sees z itself.
        stereographic: f and s are put on the unit sphere and k = w f . s, so both networks give K - 1 raw outputs.
        On for a learnt basis and off for a fixed one unless said otherwise.
        Raises ValueError for sizes that do not fit, or a scale that is not positive or has no use; TypeError without a
        generator.
        """
        corner = (_corner(nodes, "amin") if low is None else low, _corner(nodes, "amax") if high is None else high)
        super().__init__(x_dim, *corner)
        self.adaptive = isinstance(basis, nn.Module) and any(True for _ in basis.parameters())
        self.on_sphere = self.adaptive if stereographic is None else stereographic
        self.K, self.basis, self.scale = K, basis, _checked_scale(scale, self.on_sphere, self.adaptive, K)
        self.net = net if net is not None else mlp(x_dim, width, depth, K - self.on_sphere, generator)
        self._register_quadrature(nodes, log_w)
        self._register_statistics(x_stats)

    def _register_quadrature(self, nodes: Tensor, log_w: Tensor) -> None:
        dtype = next(self.net.parameters()).dtype
        if nodes.shape != (len(log_w), self.d) or log_w.ndim != 1:
            raise ValueError(
                f"nodes (P, {self.d}) and log_w (P,) do not fit: {tuple(nodes.shape)}, {tuple(log_w.shape)}"
            )
        in_box(nodes, self.low, self.high, "a node")
        _check_weights(log_w, self.low, self.high)
        self.register_buffer("nodes", nodes.to(dtype))
        self.register_buffer("log_w", log_w.to(dtype))
        low, high = torch.tensor(self.low, dtype=dtype), torch.tensor(self.high, dtype=dtype)
        self.register_buffer("centre", (low + high) / 2)
        self.register_buffer("half_width", (high - low) / 2)
        with torch.no_grad():
            s_nodes = self.s(self.nodes)
        if s_nodes.shape != (len(nodes), self.K) or not torch.isfinite(s_nodes).all():
            raise ValueError(
                f"the basis must give finite ({len(nodes)}, {self.K}) at the nodes, got {tuple(s_nodes.shape)}"
            )
        self.register_buffer("s_nodes", None if self.adaptive else s_nodes)

    def _register_statistics(self, x_stats: Quadrature | None) -> None:
        mean, spread = x_stats if x_stats is not None else (torch.zeros(self.x_dim), torch.ones(self.x_dim))
        finite = torch.isfinite(mean).all() and torch.isfinite(spread).all()
        if mean.shape != (self.x_dim,) or spread.shape != (self.x_dim,) or not (finite and (spread > 0).all()):
            raise ValueError(f"x_stats must be a mean and a positive spread ({self.x_dim},), got {mean} and {spread}")
        self.register_buffer("x_mean", mean.to(self.nodes.dtype))
        self.register_buffer("x_spread", spread.to(self.nodes.dtype))

    def f(self, x: Tensor) -> Tensor:
        """Natural parameter (B, K) of observations x (B, x_dim); of length w in the stereographic form."""
        raw = self.net((x - self.x_mean) / self.x_spread)
        return self.scale * stereographic(raw) if self.on_sphere else raw

    def s(self, z: Tensor) -> Tensor:
        """Basis (..., K) at latents z (..., d)."""
        raw = self.basis((z - self.centre) / self.half_width) if self.adaptive else self.basis(z)
        return stereographic(raw) if self.on_sphere else raw

    def forward(self, z: Tensor, x: Tensor, nodes: Tensor | None = None, log_w: Tensor | None = None) -> Tensor:
        """-log q (B,) for z (B, d), x (B, x_dim), normalised on its own quadrature.

        nodes (P, d), log_w (P,): another quadrature in its place.
        It does not look at values: use `loss` or `log_prob` on data that nobody has checked.
        """
        return lbf_nll(self.f(x), self.s(z), *self._at(None if nodes is None else (nodes, log_w)))

    def _at(self, quadrature: Quadrature | None) -> Quadrature:
        """Basis at the nodes (P, K), and log weights (P,), of a quadrature (nodes, log_w), else of the model's own."""
        if quadrature is not None:
            return self.s(quadrature[0].to(self.nodes)), quadrature[1].to(self.nodes)
        return (self.s(self.nodes) if self.s_nodes is None else self.s_nodes), self.log_w

    def log_j(self, x: Tensor, normalise_on: Quadrature | None = None) -> Tensor:
        """log J (B,) of observations x (B, x_dim) on its own quadrature, or on another (nodes, log_w).

        Raises ValueError for x of another width or not finite.
        """
        self.check(x)
        return log_normalizer(self.f(x.to(self.nodes)), *self._at(self._checked(normalise_on)))

    def log_prob(self, z: Tensor, x: Tensor, normalise_on: Quadrature | None = None) -> Tensor:
        """log q(z; x), (B,), for z (B, d) in the box and x (B, x_dim).

        normalise_on: a finer quadrature (nodes, log_w) than that of training. Raises ValueError as `check`.
        """
        self.check(x, z)
        quadrature = self._at(self._checked(normalise_on))
        return -lbf_nll(self.f(x.to(self.nodes)), self.s(z.to(self.nodes)), *quadrature)

    def _checked(self, quadrature: Quadrature | None) -> Quadrature | None:
        """A quadrature (nodes, log_w) of this model's box. Raises ValueError when it is one of another box."""
        if quadrature is not None:
            in_box(quadrature[0], self.low, self.high, "a node")
            _check_weights(quadrature[1], self.low, self.high)
        return quadrature

    def log_density(self, nodes: Tensor, x: Tensor, normalise_on: Quadrature | None = None) -> Tensor:
        """log q at each of the nodes (P, d) in the box for each x (B, x_dim): (B, P). normalise_on: as `log_prob`.

        Raises ValueError for a node outside the box, or x of another width or not finite.
        """
        in_box(nodes, self.low, self.high, "a node")
        log_j = self.log_j(x, normalise_on)
        return self.f(x.to(self.nodes)) @ self.s(nodes.to(self.nodes)).mT - log_j[:, None]

    @torch.no_grad()
    def sample(self, x: Tensor, n: int, generator: torch.Generator, resolution: int | None = None) -> Tensor:
        """`n` draws (B, n, d) for each x (B, x_dim), by inverse CDF on a grid of `resolution` nodes an axis.

        Raises ValueError for x that does not fit, n below 1, or as `sampling_grid`; TypeError without a generator.
        """
        nodes, log_w = (t.to(self.nodes.device) for t in sampling_grid(self.low, self.high, resolution))
        return sample_grid(self.log_density(nodes, x), nodes, log_w, n, generator).to(self.nodes.dtype)


def _check_weights(log_w: Tensor, low: tuple[float, ...], high: tuple[float, ...]) -> None:
    """Refuse log weights that do not integrate 1 to the volume of the box, up to the noise of Monte Carlo nodes."""
    volume = sum(math.log(b - a) for a, b in zip(low, high, strict=True))
    found = torch.logsumexp(log_w.double(), -1).item()
    if not abs(found - volume) < 0.5:
        raise ValueError(f"log_w must be log weights that sum to the box's volume: log {volume:.4g}, got {found:.4g}")


def _corner(nodes: Tensor, which: str) -> tuple[float, ...]:
    if nodes.ndim != 2 or len(nodes) < 2:
        raise ValueError(f"nodes must be (P, d) with P of 2 or more, got {tuple(nodes.shape)}")
    return tuple(getattr(nodes, which)(0).tolist())


def _checked_scale(scale: float | None, on_sphere: bool, adaptive: bool, K: int) -> float:
    if not on_sphere:
        if scale is not None:
            raise ValueError(f"scale {scale} has no use without the stereographic form: leave it out")
        return 1.0
    if not adaptive or K < 2:
        raise ValueError(f"the stereographic form needs a learnt basis and K of 2 or more, got K = {K}")
    if scale is not None and not 0 < scale < math.inf:
        raise ValueError(f"scale must be positive and finite, got {scale}")
    return SCALE if scale is None else float(scale)
