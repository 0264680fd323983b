"""A report: what a model scored on each item, as tables with intervals, and beside another model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .. import style
from ..evalkit import intervals
from ..evalkit.items import Item, Record, unique
from ..records import write_atomically

BOUNDS = {"strict": (0.0, 1.0), "tolerant": (0.0, 1.0), "similarity": (-1.0, 1.0)}
BOUNDS |= {"r": (0.0, 1.0), "d": (0.0, 10.0), "ses": (0.0, 10.0)}
GROUPS = {"fmt": "format", "task": "task", "sphere": "sphere"}
SHARES = ("strict", "tolerant", "r")


@dataclass(frozen=True)
class Report:
    """What a model scored.

    model, tier: its name and the items' tier. items: those asked. records: what came back. scores: measure -> one value
    an item, None where it has none. Measures of questions: "strict", exact match or, for free answers, a win before the
    judge, as published; "tolerant"; "similarity" where texts were embedded. Of dialogues: "r", "d", "ses". draws: of
    the bootstrap.
    """

    model: str
    tier: str
    items: list[Item]
    records: list[Record]
    scores: dict[str, list[float | None]]
    draws: int = 2000
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Raises ValueError for an unknown measure, or another number of scores than of items."""
        unique(self.items)
        for measure, values in self.scores.items():
            if measure not in BOUNDS or len(values) != len(self.items):
                raise ValueError(
                    f"a measure is one of {', '.join(BOUNDS)} with {len(self.items)} scores, got {measure!r}, "
                    f"{len(values)}"
                )

    def score(self, measure: str, **group: str) -> intervals.MeanInterval:
        """Mean of a measure with the interval that draws whole families, over the items that have it.

        group: fmt=, task= or sphere=, none for all items. Raises ValueError for another measure or group, and where no
        item has a score.
        """
        return intervals.mean_ci(*self._column(measure, group), n=self.draws, missing="drop", bounds=BOUNDS[measure])

    def difference(self, other: Report, measure: str, **group: str) -> intervals.MeanInterval:
        """Mean of this model's scores minus those of `other`, item by item, over the items where both have one.

        measure, group: as in `score`. Raises ValueError for a report on other items, and as `score`.
        """
        if self.items != other.items:
            raise ValueError("a paired comparison needs the same items: the same tier, number and seed")
        a, families = self._column(measure, group)
        b, _ = other._column(measure, group)
        kept = {"n": self.draws, "missing": "drop", "bounds": BOUNDS[measure]}
        return intervals.paired_diff_ci(a, b, families, **kept)

    def table(self) -> style.Table:
        """Scores with 95 % intervals for all items, and by format, task and sphere."""
        rows = []
        for label, group in self._groups():
            count = len(self._chosen(group))
            rows.append([label, str(count), *(self._cell(measure, group, count) for measure in self.scores)])
        return style.Table(["", "items", *self.scores], rows)

    def disagreement(self) -> style.Table:
        """How often the two graders differ, by format, with one answer that only the tolerant one takes.

        Raises ValueError for a report on dialogues.
        """
        if "tolerant" not in self.scores:
            raise ValueError("dialogues have no two graders to compare")
        rows = [row for fmt in dict.fromkeys(item.fmt for item in self.items) if (row := self._disagree(fmt))]
        return style.Table(["format", "answers", "both right", "only tolerant", "only strict", "for example"], rows)

    def compare(self, other: Report) -> style.Table:
        """This model minus `other` on the same items: paired differences with 95 % intervals that draw whole families.

        Raises ValueError as `difference`.
        """
        measures = [measure for measure in self.scores if measure in other.scores]
        groups = [(label, group) for label, group in self._groups() if not set(group) - {"fmt"}]
        rows = [[label, *(self._gap(other, measure, group) for measure in measures)] for label, group in groups]
        return style.Table([f"{self.model} minus {other.model}", *measures], rows)

    def save(self, path: str | Path) -> None:
        """Write the report to the file `path`, whole or not at all, as JSON.

        Raises FileNotFoundError when its folder is not there.
        """
        if not (path := Path(path)).parent.is_dir():
            raise FileNotFoundError(f"no folder {path.parent} for {path.name}")
        write_atomically(path, json.dumps({"report": 1, **asdict(self)}, allow_nan=False))

    @staticmethod
    def load(path: str | Path) -> Report:
        """The report in the file `path`. Raises ValueError for a file that holds none."""
        try:
            found = json.loads(Path(path).read_text(encoding="utf-8"))
            if found.pop("report") != 1:
                raise ValueError("another version")
            items, records = (
                [Item(**row) for row in found.pop("items")],
                [Record(**row) for row in found.pop("records")],
            )
            return Report(items=items, records=records, **found)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"{Path(path).name} holds no report: {type(error).__name__}: {error}") from error

    def _groups(self) -> Iterator[tuple[str, dict[str, str]]]:
        yield "all", {}
        for name, shown in GROUPS.items():
            found = dict.fromkeys(getattr(item, name) for item in self.items if getattr(item, name))
            for value in found if name == "fmt" else sorted(found):
                yield f"{shown} {value}", {name: value}

    def _chosen(self, group: Mapping[str, str]) -> list[int]:
        if unknown := set(group) - set(GROUPS):
            raise ValueError(f"groups are {', '.join(GROUPS)}, got {sorted(unknown)}")
        return [i for i, item in enumerate(self.items) if all(getattr(item, k) == v for k, v in group.items())]

    def _column(self, measure: str, group: Mapping[str, str]) -> tuple[list[float | None], list[str]]:
        if measure not in self.scores:
            raise ValueError(f"measure must be one of {', '.join(self.scores)}, got {measure!r}")
        chosen = self._chosen(group)
        return [self.scores[measure][i] for i in chosen], [self.items[i].family for i in chosen]

    def _cell(self, measure: str, group: Mapping[str, str], count: int) -> Any:
        known = sum(value is not None for value in self._column(measure, group)[0])
        if not known:
            return "-"
        unit, found = "share" if measure in SHARES else "", self.score(measure, **group)
        span = style.interval((found.lo, found.hi), unit) if found.clusters > 1 else "one family"
        text = f"{style.number(found.est, unit)} ({span})"
        return text if known == count else [text, style.Small(f"{known} of {count}")]

    def _gap(self, other: Report, measure: str, group: Mapping[str, str]) -> str:
        pairs = zip(self._column(measure, group)[0], other._column(measure, group)[0], strict=True)
        if all(None in pair for pair in pairs):
            return "-"
        unit, found = "points" if measure in SHARES else "", self.difference(other, measure, **group)
        return f"{style.number(found.est, unit)} ({style.interval((found.lo, found.hi), unit)})"

    def _disagree(self, fmt: str) -> list[Any] | None:
        """A row of `disagreement`: counts of answers that have both scores, and an example; None without any."""
        both = [(i, self.scores["strict"][i], self.scores["tolerant"][i]) for i in self._chosen({"fmt": fmt})]
        both = [(i, strict, tolerant) for i, strict, tolerant in both if None not in (strict, tolerant)]
        if not both:
            return None
        only = [i for i, strict, tolerant in both if strict < 1 <= tolerant]
        right = sum(min(strict, tolerant) >= 1 for _, strict, tolerant in both)
        lost = sum(tolerant < 1 <= strict for _, strict, tolerant in both)
        answers = {record.item_id: record.output for record in self.records}
        shown = [f"{str(answers[self.items[i].id])[:60]!r} for {self.items[i].answer[:60]!r}" for i in only]
        return [fmt, str(len(both)), str(right), str(len(only)), str(lost), max(shown, key=len, default="")]
