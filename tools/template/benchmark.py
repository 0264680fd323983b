"""The core of the method against its best peer, in one run, as a ratio. TO WRITE: the peer of this method."""

import timeit

import numpy as np

from iclr26lib.__SLUG__ import method


def main() -> None:
    """Print how many times longer the method takes than its peer."""
    values = method.noisy(10_000, seed=0)
    ours = min(timeit.repeat(lambda: method.running_mean(values), number=1, repeat=5))
    peer = min(timeit.repeat(lambda: np.cumsum(values) / np.arange(1, len(values) + 1), number=1, repeat=5))
    print(f"running mean, time against numpy: {ours / peer:.1f} times")


if __name__ == "__main__":
    main()
