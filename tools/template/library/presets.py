"""How large a run is at each scale."""

from dataclasses import dataclass, field
from pathlib import Path

from iclr26lib.chapters import ROOT


@dataclass(frozen=True)
class Preset:
    """Settings of a run. TO WRITE: the settings of the method, one line of meaning each."""

    samples: int = field(metadata={"help": "values a seed"})
    seeds: int = field(metadata={"help": "independent repetitions"})


PRESETS = {"smoke": Preset(samples=20, seeds=1), "book": Preset(samples=100, seeds=10), "full": Preset(10_000, 20)}


def claims_file() -> Path:
    """Where the claims of the chapter are declared."""
    return ROOT / "book" / "__SLUG__" / "claims.yaml"
