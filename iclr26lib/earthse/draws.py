"""Random numbers that are a pure function of a seed and a name, so that one draw never moves another."""

import hashlib

from scipy.special import ndtri


def uniform(seed: int, *key: object) -> float:
    """A number, uniform in (0, 1), that depends on seed and key alone.

    seed: 0 or more. key: what the draw is for, texts or integers. Raises TypeError for a seed that is no integer,
    ValueError for a negative one.
    """
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise TypeError(f"seed must be an integer, got {seed!r}")
    if seed < 0:
        raise ValueError(f"seed must be 0 or more, got {seed}")
    name = "\x1f".join([str(seed), *map(str, key)]).encode("utf-8", "surrogatepass")
    return (int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "big") // 4096 + 0.5) / 2**52


def normal(seed: int, *key: object) -> float:
    """A standard normal number that depends on seed and key alone; arguments and errors as `uniform`."""
    return float(ndtri(uniform(seed, *key)))


def pick(choices: list, seed: int, *key: object):
    """One of the choices, all equally likely, by seed and key alone. Raises ValueError for none, and as `uniform`."""
    if not choices:
        raise ValueError("nothing to pick from: choices is empty")
    return choices[int(uniform(seed, *key) * len(choices))]
