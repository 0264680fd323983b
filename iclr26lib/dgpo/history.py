"""What a run of `optimise` leaves: reward and monitors at every look, a picture, and words about what moved."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from matplotlib.figure import Figure

CHANCE = 3.0  # a monitor has moved when it leaves the base's mean by more than so many ranges of its fresh draws
LEAST = 0.1  # ... and by more than this share of that mean
COLUMNS = ("update", "passes", "reward")
SATURATED = 0.05  # mean sigmoid weight of the last five updates below which a run hardly moves


@dataclass
class History:
    """Columns of a run, one entry a look, the first one before any update.

    columns: {"update", "passes" (network evaluations, forward and backward), "reward", and each monitor}. base: monitor
    -> its values for fresh draws of the base. weight: mean sigmoid weight of each update.
    """

    base: dict[str, list[float]]
    columns: dict[str, list[float]] = field(default_factory=dict)
    weight: list[float] = field(default_factory=list)

    @classmethod
    def of_base(cls, draws: list[dict[str, float]]) -> History:
        """An empty history. draws: the monitors {name: number} of several draws of the base, two or more.

        Raises ValueError for monitors that do not give the same names, or one of a column that is there anyway.
        """
        if len(draws) < 2 or len({frozenset(d) for d in draws}) != 1:
            raise ValueError(f"monitors must give the same names for every draw, two or more, got {draws}")
        if taken := sorted({*COLUMNS} & {*draws[0]}):
            raise ValueError(f"a monitor cannot be called {' or '.join(map(repr, taken))}: choose another name")
        return cls({name: [d[name] for d in draws] for name in draws[0]})

    @property
    def monitors(self) -> list[str]:
        """Names of the monitors."""
        return list(self.base)

    def __getitem__(self, name: str) -> list[float]:
        """The column `name`. Raises KeyError for an unknown one."""
        return self.columns[name]

    def row(self, i: int) -> dict[str, float]:
        """All columns at look i; -1 is the last. Raises IndexError where there is no such look."""
        return {name: column[i] for name, column in self.columns.items()}

    def add(self, row: dict[str, float]) -> None:
        """Append a look, row = {"update", "passes", "reward", monitors}. Raises ValueError for other names."""
        wanted = {*COLUMNS, *self.base}
        if set(row) != wanted:
            raise ValueError(f"a look has {sorted(wanted)}, got {sorted(row)}")
        for name, value in row.items():
            self.columns.setdefault(name, []).append(value)

    def state(self) -> dict[str, Any]:
        """The history as plain values, to be given back to `History(**state)`."""
        return asdict(self)

    def limits(self, name: str) -> tuple[float, float]:
        """Between which values monitor `name` has not moved. Raises KeyError for an unknown one."""
        values = self.base[name]
        mean = sum(values) / len(values)
        reach = max(CHANCE * (max(values) - min(values)), LEAST * abs(mean))
        return mean - reach, mean + reach

    def warnings(self) -> list[str]:
        """One sentence for each monitor that is outside its limits at the last look, and one for saturated weights."""
        found = []
        for name in self.monitors:
            low, high = self.limits(name)
            if math.isnan(low):  # it had nothing to measure on the base
                continue
            column = self.columns[name]
            if low <= column[-1] <= high:
                continue
            base = sum(self.base[name]) / len(self.base[name])
            first = next(i for i in range(len(column)) if all(not low <= v <= high for v in column[i:]))
            found.append(
                f"{name} {'fell' if column[-1] < low else 'rose' if column[-1] > high else 'went'} to {column[-1]:.3g} "
                f"(fresh draws of the base: {base:.3g}), beyond their range from update "
                f"{self.columns['update'][first]} on (reward {self.columns['reward'][first]:.3g} then): "
                "look at samples before you trust the reward."
            )
        recent = self.weight[-5:]
        if recent and sum(recent) / len(recent) < SATURATED:
            mean = sum(recent) / len(recent)
            found.append(f"the mean sigmoid factor is {mean:.3g}: groups count as told apart, try a smaller beta.")
        return found

    def plot(self) -> Figure:
        """Reward on the left, each monitor beside it, with the band in which it has not moved."""
        from .figures import history

        return history(self)
