"""What a run of a chapter needs: cores, memory, minutes, and whether a GPU.

Each chapter says so for the three scales in `iclr26lib/SLUG/resources.py`, beside its presets, and names there the
preset fields that count seeds. Notebooks do not import these files, so that a better estimate makes no stored output
stale.
"""

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from .chapters import ROOT
from .scale import SCALES


@dataclass(frozen=True)
class Resources:
    """Needs of one notebook at one scale: CPU threads, memory in MB, expected minutes, and a GPU or not."""

    threads: int
    memory_mb: int
    minutes: float
    gpu: bool = False

    def __post_init__(self) -> None:
        """Raise ValueError unless threads, memory and minutes are positive."""
        if self.threads < 1 or self.memory_mb < 1 or self.minutes <= 0:
            raise ValueError(f"threads, memory_mb and minutes must be positive, got {self}")


@dataclass(frozen=True)
class Needs:
    """A chapter's needs: scale -> Resources, and overrides that make a run one of a single seed."""

    scales: dict[str, Resources]
    one_seed: dict[str, int]


def of(slug: str, root: Path = ROOT) -> Needs:
    """The needs of a chapter, read without importing its package (nor torch).

    Raises ValueError when `iclr26lib/SLUG/resources.py` is absent, lacks RESOURCES or ONE_SEED, or leaves a scale out.
    """
    path = root / "iclr26lib" / slug / "resources.py"
    if not path.is_file():
        raise ValueError(f"iclr26lib/{slug}/resources.py is missing: it says what a run of the chapter needs")
    spec = importlib.util.spec_from_file_location(f"_resources_of_{slug}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    scales, one_seed = getattr(module, "RESOURCES", None), getattr(module, "ONE_SEED", None)
    if not isinstance(scales, dict) or set(scales) != set(SCALES):
        raise ValueError(f"iclr26lib/{slug}/resources.py: RESOURCES must hold {', '.join(SCALES)}")
    if not isinstance(one_seed, dict) or one_seed.get("seeds") != 1:
        raise ValueError(f'iclr26lib/{slug}/resources.py: ONE_SEED must hold {{"seeds": 1, ...}}')
    return Needs(scales, one_seed)
