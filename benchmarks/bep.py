"""BEP against a torch STE step of the same widths, in one run: `make bench CHAPTER=bep`.

Bytes of state and of error signal, and the time of one training step on packed bits and on the fast path, as ratios to
quantisation-aware training with Adam. Times are medians on the machine at hand; nobody claims that an emulator on a CPU
is fast: the paper's argument is about Boolean gates.
"""

import torch

from iclr26lib.bep import costs
from iclr26lib.style import Table

SIZES = ([1000, 35, 35], [1000, 75, 75], [1000, 255, 255], [1000, 1035, 1035])


def main() -> None:
    """Print one table a network."""
    torch.set_num_threads(1)
    for sizes in SIZES:
        print(f"\nwidths {sizes}, batch 100, one thread")
        print(Table(["quantity", "BEP", "QAT with Adam", "ratio"], costs.report(sizes)))


if __name__ == "__main__":
    main()
