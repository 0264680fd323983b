"""The base models of book scale: they come with the library, and this file makes them.

`python -m iclr26lib.dgpo.base NAME` trains those of one file (minutes), writes the weights and a record beside them,
and prints the checksum that belongs below.
"""

import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from .. import records
from ..flows import Replicas, load_weights, save_weights
from ..seeding import deterministic
from .experiments import Weights, look, pretrain, restored, task_of

FOLDER = Path(__file__).parent / "files"
RING = {"width": 128, "depth": 4, "steps": 12000, "batch": 256, "lr": 4e-3}
BLOBS = {"width": 64, "depth": 4, "steps": 6000, "batch": 128, "lr": 1e-3}
JUDGED, PILOTS = (0, 1, 2, 3, 4), (100, 101)
FILES: dict[str, dict[str, Any]] = {
    "ring_2": {
        "task": "ring", "size": 2, "seeds": JUDGED + PILOTS, "how": RING,
        "sha256": "af48fb11c4fb86da9e93029eeb2d8a69346fe45e17031efd58609211b7030186",
    },
    "ring_8": {
        "task": "ring", "size": 8, "seeds": (0, 1), "how": RING,
        "sha256": "242c6bfb3c8d606a1b108e158d2b8fee3198902a98f652ffe67e108acdf7a3f2",
    },
    "ring_32": {
        "task": "ring", "size": 32, "seeds": JUDGED + PILOTS, "how": RING,
        "sha256": "09bf9bda42b5710e6115509289a46f17be0300688924cbd1ed5776e59b7d98c0",
    },
    "blobs_15": {
        "task": "blobs", "size": 15, "seeds": (0,), "how": BLOBS,
        "sha256": "b3672a94aadd336e2a66a1da6f1d8e88994188ed086083d95de28c3ed55ffe56",
    },
}  # fmt: skip


def shipped(task: str, size: int, seeds: Sequence[int], how: dict[str, Any]) -> Weights | None:
    """The weights that come with the library, for `experiments.improve`, or None where they are of another making.

    task, size, seeds: of the models wanted. how: the settings of `pretrain` that they must have been trained with.
    Raises ValueError when the file is missing or not the one that belongs here.
    """
    made = FILES.get(f"{task}_{size}")
    if made is None or made["how"] != how or not set(seeds) <= set(made["seeds"]):
        return None
    path = _path(f"{task}_{size}")
    if not path.is_file():
        raise ValueError(f"{path.name} is missing: reinstall iclr26lib, or python -m iclr26lib.dgpo.base {path.stem}")
    if (found := hashlib.sha256(path.read_bytes()).hexdigest()) != made["sha256"]:
        raise ValueError(f"{path.name} is corrupt (SHA-256 {found[:12]}...): reinstall iclr26lib")
    weights, _ = load_weights(path)
    return [{name: value.numpy() for name, value in weights[str(seed)].items()} for seed in seeds]


def record(task: str, size: int) -> dict[str, Any]:
    """How the shipped models were made: settings, hardware, and loss, reward and monitors of each seed.

    task, size: as in `shipped`.
    """
    return json.loads(_path(f"{task}_{size}").with_suffix(".json").read_text(encoding="utf-8"))


def _path(name: str) -> Path:
    return FOLDER / f"{name}.pt"


def make(name: str) -> None:
    """Train the models of one file side by side, measure them as they will be read back, and write both files.

    name: a key of `FILES`.
    """
    made = FILES[name]
    task, size, seeds, how = made["task"], made["size"], list(made["seeds"]), made["how"]
    trained = pretrain(task, size, seeds, **how)
    world, net = task_of(task, size), {"width": how["width"], "depth": how["depth"]}
    model = restored(world, trained["weights"], **net)
    singles = model.split() if isinstance(model, Replicas) else [model]
    save_weights(_path(name), {str(s): m for s, m in zip(seeds, singles, strict=True)}, note={"made by": name})
    states = load_weights(_path(name))[0]
    again = restored(world, [{k: v.numpy() for k, v in states[str(s)].items()} for s in seeds], **net)
    facts = {
        "task": task, "size": size, "seeds": seeds, "settings": how, "loss": trained["loss"],
        **look(again, world, seeds, 2000), "seconds": round(trained["seconds"], 1),
        "torch": torch.__version__.split("+")[0], **records.hardware(),
    }  # fmt: skip
    _path(name).with_suffix(".json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    print(f"{facts}\n{name}: sha256 {hashlib.sha256(_path(name).read_bytes()).hexdigest()}")


if __name__ == "__main__":
    deterministic(threads=1)
    for wanted in sys.argv[1:]:
        make(wanted)
