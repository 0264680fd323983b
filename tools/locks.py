"""Locks that end with the process that holds them, however it ends."""

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def alone(path: Path, waiting: str) -> Iterator[None]:
    """Hold the lock at `path`; where another process holds it, say `waiting` and wait."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(waiting, flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def cards(devices: Path = Path("/dev")) -> list[str]:
    """The numbers of the GPUs that this process may use: $CUDA_VISIBLE_DEVICES, else NVIDIA's device files."""
    if (visible := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        return [card for card in visible.split(",") if card and card != "-1"]
    return sorted((path.name[6:] for path in devices.glob("nvidia[0-9]*")), key=int)


@contextlib.contextmanager
def card(present: list[str], folder: Path | None = None) -> Iterator[str | None]:
    """Hold one GPU of those present, the first that is free, so that no two kernels share one; None without any.

    Where all are taken, wait for the first. folder: of the locks, else one of this machine and user. Under Slurm, which
    gives cards to jobs itself, nothing is locked.
    """
    if os.environ.get("SLURM_JOB_ID") and present:
        yield ",".join(present)
        return
    folder = folder or Path(tempfile.gettempdir()) / f"iclr26-cards-{os.getuid()}"
    folder.mkdir(parents=True, exist_ok=True)
    for number in present:
        with (folder / f"gpu-{number.replace('/', '_')}.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield number
            return
    if not present:
        yield None
        return
    with alone(folder / f"gpu-{present[0].replace('/', '_')}.lock", "all GPUs are taken; waiting for one"):
        yield present[0]
