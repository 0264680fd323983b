"""Small velocity models and data that the tests of iclr26lib.flows share."""

import torch
from torch import nn

from iclr26lib import flows
from iclr26lib.seeding import generator

MEAN, SPREAD = 1.5, 0.4


def rng(seed=0, name="test"):
    return generator(seed, name)


def small_mlp(seed=0, **settings):
    return flows.VelocityMLP(**{"prompts": 3, "width": 16, "depth": 2, "embed": 8, **settings}, generator=rng(seed))


def stirred(model, seed=5):
    """The model with all weights moved, so that no gate or head is zero."""
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn(parameter.shape, generator=rng(seed))
    return model


def small_dit(seed=0):
    return stirred(flows.DiT(6, 2, 3, 16, 2, 2, 8, generator=rng(seed)), seed)


def small_unet(seed=0):
    return flows.UNet(8, 3, (8, 16), 1, 8, generator=rng(seed))


class Plain(flows.VelocityModel):
    """A model with no `stacked` of its own, so that Replicas takes it through vmap."""

    def __init__(self, seed=0):
        super().__init__((2,), 3)
        self.layer, self.prompt = nn.Linear(3, 2), nn.Embedding(3, 2)
        flows.initialise_(self, rng(seed))

    def forward(self, x, t, c):
        return self.layer(torch.cat([x, t[:, None]], 1)).tanh() * self.prompt(c)


class Exact(flows.VelocityModel):
    """The velocity E[eps - x | x_t] of data N(MEAN, SPREAD^2) in each coordinate."""

    def forward(self, x, t, c):
        self.check(x, t, c)
        t = t[:, None]
        covariance, variance = t - (1 - t) * SPREAD**2, (1 - t) ** 2 * SPREAD**2 + t**2
        return -MEAN + covariance / variance * (x - (1 - t) * MEAN)


class Broken(flows.VelocityModel):
    """A model that gives NaN below t = 0.45."""

    def forward(self, x, t, c):
        return torch.where(t[:, None] < 0.45, torch.nan, x)


def batch_for(model, n, replicas=1, seed=0):
    x = torch.randn(replicas * n, *model.shape, generator=rng(seed, "x"))
    t = torch.rand(replicas * n, generator=rng(seed, "t"))
    return x, t, torch.randint(model.prompts, (replicas * n,), generator=rng(seed, "c"))


def gaussian_data(n, streams):
    return MEAN + SPREAD * streams.normal(n, 2), streams.integers(3, n)


FACTORIES = {"mlp": small_mlp, "dit": small_dit, "vmap": Plain, "unet": small_unet}
