"""The base model of the counting task at book scale: it comes with the library, and this file makes it.

`python -m iclr26lib.dgpo.base` trains it (minutes on one core), writes the weights and a record beside them, and prints
the checksum that belongs below.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from .. import records
from ..flows import load_weights, save_weights
from ..seeding import deterministic
from .experiments import Weights, look, pretrain, restored, task_of

FILE = Path(__file__).parent / "files" / "blobs_15.pt"
SHA256 = "to be filled in"
SETTINGS = {"size": 15, "width": 64, "depth": 4, "steps": 6000, "batch": 128, "lr": 1e-3, "seed": 0}


def blobs_base(width: int, depth: int) -> Weights:
    """The weights that come with the library, for `experiments.improve`: a DiT of `width` and `depth` on 15 pixels.

    Raises ValueError for another size, and when the file is missing or not the one that belongs here.
    """
    if (width, depth) != (SETTINGS["width"], SETTINGS["depth"]):
        had = f"width {SETTINGS['width']} and depth {SETTINGS['depth']}"
        raise ValueError(f"the base that comes with the library has {had}, not {width} and {depth}: train one")
    if not FILE.is_file():
        raise ValueError(f"{FILE.name} is missing: reinstall iclr26lib, or python -m iclr26lib.dgpo.base")
    if (found := hashlib.sha256(FILE.read_bytes()).hexdigest()) != SHA256:
        raise ValueError(f"{FILE.name} is corrupt (SHA-256 {found[:12]}...): reinstall iclr26lib")
    weights, _ = load_weights(FILE)
    return [{name: value.numpy() for name, value in weights["base"].items()}]


def record() -> dict[str, Any]:
    """How the base was made: settings, loss, reward and monitors, date, seconds, hardware."""
    return json.loads(FILE.with_suffix(".json").read_text(encoding="utf-8"))


def main() -> None:
    """Train the base, measure it as it will be read back, and write both files."""
    deterministic(threads=1)
    how = {k: v for k, v in SETTINGS.items() if k not in ("size", "seed")}
    made = pretrain("blobs", SETTINGS["size"], [SETTINGS["seed"]], **how)
    world = task_of("blobs", SETTINGS["size"])
    model = restored("blobs", world, made["weights"], how["width"], how["depth"])
    save_weights(FILE, {"base": model}, note=SETTINGS)
    stored = [{k: np.asarray(v) for k, v in load_weights(FILE)[0]["base"].items()}]
    found = look(restored("blobs", world, stored, how["width"], how["depth"]), world, [SETTINGS["seed"]], 2000)
    facts = {
        "settings": SETTINGS,
        "loss": made["loss"][0],
        **{name: values[0] for name, values in found.items()},
        "seconds": round(made["seconds"], 1),
        "torch": torch.__version__.split("+")[0],
        **records.hardware(),
    }
    FILE.with_suffix(".json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    print(f"{facts}\nSHA256 = {hashlib.sha256(FILE.read_bytes()).hexdigest()!r}")


if __name__ == "__main__":
    main()
