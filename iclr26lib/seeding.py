"""Seeds, devices and determinism."""

import hashlib
import os

import torch

DEVICES = ("auto", "cpu", "cuda", "mps")


def device(which: str = "auto") -> torch.device:
    """The torch device to use: "auto" takes CUDA where there is one, else the CPU.

    Raises ValueError for an unknown word, and for a device that this machine lacks.
    """
    if which not in DEVICES:
        raise ValueError(f"unknown device {which!r}; known: {', '.join(DEVICES)}")
    present = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if which == "auto":
        return torch.device("cuda" if present["cuda"] else "cpu")
    if not present[which]:
        raise ValueError(f"device {which!r} is not present on this machine; use 'auto' or 'cpu'")
    return torch.device(which)


def generator(seed: int, stream: str = "", on: torch.device | str = "cpu") -> torch.Generator:
    """A generator for one seed and one named stream ("data", "init", "order", ...).

    Streams of one seed are independent of each other, so that two methods see the same data and the same order
    although they draw different amounts of other randomness. Raises TypeError for a seed that is no integer, ValueError
    for a negative one.
    """
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise TypeError(f"seed must be an integer, got {seed!r}")
    if seed < 0:
        raise ValueError(f"seed must be 0 or more, got {seed}")
    key = hashlib.sha256(f"{seed}/{stream}".encode()).digest()[:7]
    return torch.Generator(device=on).manual_seed(int.from_bytes(key, "big"))


def given(generator: torch.Generator | None) -> torch.Generator:
    """`generator`, which torch would silently replace by its global one if it were None. Raises TypeError otherwise."""
    if not isinstance(generator, torch.Generator):
        raise TypeError(f"a torch.Generator is needed, got {generator!r}: nothing here draws unseeded")
    return generator


def deterministic(threads: int | None = None) -> None:
    """Ask torch for deterministic kernels, and for `threads` CPU threads where given. Raises ValueError below 1.

    Call it before the first CUDA operation: cuBLAS reads its setting when it starts, and torch refuses without it.
    """
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    if threads is not None:
        if threads < 1:
            raise ValueError(f"threads must be 1 or more, got {threads}")
        torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True)
    torch.backends.cuda.matmul.allow_tf32 = False
