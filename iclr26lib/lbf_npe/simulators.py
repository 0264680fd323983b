"""The names of all simulators of the chapter."""

from __future__ import annotations

import math

from .additive import Additive, bands_mean, ring_mean, sinusoid_mean
from .photoz import PhotoZ
from .spiral import Spiral
from .stars import TwoStars

SIMULATORS = {
    "sinusoid": Additive(sinusoid_mean, (0.0,), (2 * math.pi,), 1.0, 1.635865),
    "bands": Additive(bands_mean, (-1.0, -1.0), (1.0, 1.0), 0.1, -0.09578),
    "ring": Additive(ring_mean, (-1.0, -1.0), (1.0, 1.0), 0.1, -0.03132),
    "spiral": Spiral(),
    "two_stars": TwoStars(),
    "photoz": PhotoZ(),
}


def simulator(name: str) -> Additive | Spiral | TwoStars | PhotoZ:
    """The simulator called `name`. Raises ValueError naming the known ones."""
    if name not in SIMULATORS:
        raise ValueError(f"unknown simulator {name!r}; known: {', '.join(SIMULATORS)}")
    return SIMULATORS[name]
