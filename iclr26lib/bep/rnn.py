"""BEP through time: a many-to-one binary recurrent network and its binary backpropagation through time (BEP-TT)."""

import torch
from torch import Tensor

from . import method
from .method import BinaryLayer
from .training import BinaryNetwork, checked_prototypes, generators, prototypes_of

LEARN = ("all", "last", "output")


class BEPRNN(BinaryNetwork):
    """Binary RNN: s_t = sign(W_xs a_t + W_ss s_{t-1}), s_y = sign(W_sy s_T), scores P s_y.

    K_x, K_s, K_y: widths of input, state and output. P: prototypes (C, K_y) or (R, C, K_y). group: neurons a group.
    learn: "all" (BEP-TT); "last", in which the state layer learns from the last step only, so that the error reaches it
    but crosses no time; or "output", which leaves W_xs and W_ss as drawn (a reservoir).
    s_0 = +1 and the mask shared over time are our choices where the paper is silent.
    Raises ValueError for a group that does not divide K_s and K_y, prototypes of another width, an unknown `learn`.
    """

    sample_dims = 2

    def __init__(self, K_x, K_s, K_y, P: Tensor, *, group=15, bits=16, init_std=8, seed=0, learn="all", device="cpu"):
        super().__init__(seed, device)
        if learn not in LEARN:
            raise ValueError(f"unknown learn {learn!r}; known: {', '.join(LEARN)}")
        self.P, self.learn = checked_prototypes(P, K_y, self.runs).to(device), learn
        init = generators(seed, "init")
        self.xs, self.ss = (BinaryLayer(k, K_s, group, bits, init_std, init) for k in (K_x, K_s))
        self.sy = BinaryLayer(K_s, K_y, group, bits, init_std, init)
        self.layers = [self.xs, self.ss, self.sy]
        for layer in self.layers:
            layer.H = layer.H.to(device)

    @property
    def trained(self) -> list[BinaryLayer]:
        """The layers that learn: all, or only the output of a reservoir."""
        return [self.sy] if self.learn == "output" else self.layers

    def forward(self, X: Tensor) -> tuple[list[Tensor], list[Tensor], Tensor, Tensor]:
        """States [s_0..s_T], pre-activations [z_1..z_T], z_y and s_y for X (..., B, T, K_x) in {-1, +1}.

        Equation (RNN): $s_t = \\mathrm{sign}(W_{xs} a_t + W_{ss} s_{t-1})$, $s_y = \\mathrm{sign}(W_{sy} s_T)$
        Raises TypeError for float input, ValueError for other values or another width.
        """
        if X.ndim < 3 or X.shape[-2] < 1:
            raise ValueError(f"X must be (..., B, T, K_x) with T >= 1, got {tuple(X.shape)}")
        steps = method.binary(X, "X", self.xs.fan_in).unbind(-2)
        runs = self.xs.H.shape[:-2]
        states = [torch.ones(*(runs or X.shape[:-3]), X.shape[-3], self.xs.fan_out, dtype=torch.int8, device=X.device)]
        W_xs, W_ss, zs = self.xs.W.mT, self.ss.W.mT, []
        for a in steps:
            zs.append(method.matmul(a, W_xs) + method.matmul(states[-1], W_ss))
            states.append(method.sign(zs[-1]))
        z_y = method.matmul(states[-1], self.sy.W.mT)
        return states, zs, z_y, method.sign(z_y)

    def logits(self, X: Tensor) -> Tensor:
        """Integer class scores (..., N, C) for X (..., N, T, K_x). Raises as `forward`."""
        return method.matmul(self.forward(X)[3], self.P.mT)

    def desired_states(self, zs: list[Tensor], z_y: Tensor, target: Tensor, nu) -> list[Tensor]:
        """Desired states [s*_1..s*_T], (..., B, K_s) each, from s*_y, back through the output and then through time.

        zs: [z_1..z_T]. z_y: pre-activation of the output. target: s*_y (..., B, K_y). nu: gate.
        Equation (BEP-TT): $s^*_t = \\mathrm{sign}(W_{ss}^\\top (g_{t+1} \\odot s^*_{t+1}))$, from $s^*_T$ by $W_{sy}$
        The gate of the state is nu K_s although its fan-in is K_x + K_s: eq. 5 read literally.
        """
        limit = method.on(method.gate_threshold(nu, self.ss.fan_in), z_y)
        targets = [method.sign(method.matmul((z_y.abs() <= limit) * target, self.sy.W))]
        for z in zs[:0:-1]:
            targets.append(method.sign(method.matmul((z.abs() <= limit) * targets[-1], self.ss.W)))
        return targets[::-1]

    def fit_batch(self, X: Tensor, y: Tensor, *, r: float, nu) -> Tensor:
        """One update from a batch X (..., B, T, K_x), y (..., B). Returns the number of wrong predictions before it."""
        states, zs, z_y, s_y = self.forward(X)
        logits, target_y = method.matmul(s_y, self.P.mT), prototypes_of(self.P, y)
        fires = method.triggered(logits, y, r, self.sy.fan_out)[..., None]
        moves = [(self.sy, target_y, states[-1], method.winner_mask(target_y, z_y, self.sy.group) & fires)]
        if self.learn != "output":
            targets = self.desired_states(zs, z_y, target_y, nu)
            if self.learn == "last":
                targets, zs, states, X = targets[-1:], zs[-1:], states[-2:], X[..., -1:, :]
            stability = sum(t.int() * z for t, z in zip(targets, zs, strict=True))
            mask = method.winner_mask(torch.ones_like(targets[0]), stability, self.ss.group) & fires
            masks = torch.cat([mask] * len(zs), -2)
            late, early = torch.cat(targets, -2), torch.cat(states[:-1], -2)
            moves += [(self.xs, late, torch.cat(X.unbind(-2), -2), masks), (self.ss, late, early, masks)]
        for layer, target, a_prev, mask in moves:
            method.update_(layer, target, a_prev, mask)
        return (logits.argmax(-1) != y).sum(-1)
