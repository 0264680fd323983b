"""How large a run is at each scale."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Preset:
    """Settings of a run. TO WRITE: the settings of the method, one line of meaning each."""

    samples: int = field(metadata={"help": "values a seed"})
    seeds: int = field(metadata={"help": "independent repetitions"})


PRESETS = {"smoke": Preset(samples=20, seeds=1), "book": Preset(samples=100, seeds=10), "full": Preset(10_000, 20)}
