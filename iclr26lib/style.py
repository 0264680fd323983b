"""One look for all figures, and tables that read well in the book, in Colab and on GitHub.

Figures are opaque (they stay readable in dark mode), in a palette that survives colour blindness and grey printing
when line styles or markers back it up. Captions and alt text stand in the notebook, in the metadata of the cell.
"""

import html
from collections.abc import Iterable, Sequence
from typing import Any

# Okabe and Ito's palette, without the yellow that vanishes on white.
BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION, BLACK = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#1A1A1A",
)  # fmt: skip
GREY = "#8A8A8A"
CYCLE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)
WIDE, NARROW = (7.2, 3.2), (4.6, 3.2)


def use() -> None:
    """Set matplotlib's defaults for the rest of the process."""
    import matplotlib as mpl

    mpl.rcParams.update(
        {
            "figure.figsize": WIDE, "figure.dpi": 110, "savefig.dpi": 110, "figure.facecolor": "white",
            "savefig.facecolor": "white", "axes.facecolor": "white", "figure.constrained_layout.use": True,
            "axes.prop_cycle": mpl.cycler(color=CYCLE), "axes.spines.top": False, "axes.spines.right": False,
            "axes.grid": True, "grid.color": "#E4E4E4", "grid.linewidth": 0.8, "axes.axisbelow": True,
            "axes.titlesize": 11, "axes.titlelocation": "left", "axes.labelsize": 10, "xtick.labelsize": 9,
            "ytick.labelsize": 9, "legend.fontsize": 9, "legend.frameon": False, "lines.linewidth": 1.8,
            "lines.markersize": 5, "font.family": "DejaVu Sans", "svg.hashsalt": "iclr26",
        }
    )  # fmt: skip


def finished(figure: Any) -> Any:
    """Close a matplotlib Figure and return it, so that a notebook shows it once: as the value of its cell."""
    import matplotlib.pyplot as plt

    plt.close(figure)
    return figure


class Small(str):
    """A second line of a table cell, set smaller."""


class Verdict(str):
    """A verdict in a table cell, set as a coloured badge where the page knows how."""


def _cell(part: Any) -> str:
    if isinstance(part, (list, tuple)):
        return "<br>".join(_cell(p) for p in part)
    text = html.escape(str(part))
    if isinstance(part, Verdict):
        name = part.replace(" at this scale", "").replace(" ", "-")
        return f'<span class="verdict verdict-{name}">{text}</span>'
    return f"<small>{text}</small>" if isinstance(part, Small) else text


class Table:
    """A table that a notebook shows as HTML: `Table(header, rows)`; numbers are formatted by the caller.

    header: column names. rows: sequences of the same length; a cell is a text, a `Small`, a `Verdict`, or a list of
    them, one a line. Raises ValueError for a row of another length.
    """

    def __init__(self, header: Sequence[str], rows: Iterable[Sequence[Any]], stacks: bool = False):
        """stacks: on a phone, set each row as a block instead of scrolling sideways."""
        self.header, self.rows, self.kind = list(header), [list(row) for row in rows], " stacks" if stacks else ""
        for row in self.rows:
            if len(row) != len(self.header):
                raise ValueError(f"a row has {len(row)} cells, the header {len(self.header)}: {row!r}")

    def __repr__(self) -> str:
        flat = [["; ".join(map(str, c)) if isinstance(c, (list, tuple)) else str(c) for c in row] for row in self.rows]
        return "\n".join(" | ".join(line) for line in [self.header, *flat])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(c)}</th>" for c in self.header)
        names = [html.escape(c, quote=True) for c in self.header]
        cells = ([f'<td data-column="{n}">{_cell(c)}</td>' for n, c in zip(names, r, strict=True)] for r in self.rows)
        body = "".join(f"<tr>{''.join(row)}</tr>" for row in cells)
        return (
            f'<div class="table-wrap"><table class="book-table{self.kind}"><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>"
        )


def number(value: float | None, unit: str = "") -> str:
    """A number as the book writes it: shares as percentages with one decimal, others with three significant digits."""
    if value is None:
        return "-"
    if unit in ("accuracy", "share"):
        return f"{100 * value:.1f} %"
    if unit == "points":
        return f"{100 * value:+.1f} points"
    return f"{value:.3g}"


def interval(pair: Sequence[float] | None, unit: str = "") -> str:
    """A 95 % interval as the book writes it, "-" when there is none."""
    if pair is None:
        return "-"
    if unit in ("accuracy", "share"):
        return f"{100 * pair[0]:.1f} to {100 * pair[1]:.1f} %"
    if unit == "points":
        return f"{100 * pair[0]:+.1f} to {100 * pair[1]:+.1f}"
    return f"{pair[0]:.3g} to {pair[1]:.3g}"


def preset_table(preset: Any) -> Table:
    """The settings of a run, one line of meaning a field."""
    from .scale import describe

    return Table(["setting", "value", "meaning"], describe(preset))


def claims_table(claims: Sequence[Any]) -> Table:
    """The claims as declared: what is said and where, the paper's value, what it is held against, the rule and why."""
    return Table(
        ["claim", "paper", "held against", "rule, fixed beforehand"],
        [
            (
                [f"{c.id}  {c.statement}", Small(c.where)],
                c.paper_value,
                c.against,
                [c.rule, Small(c.why)],
            )
            for c in claims
        ],
        stacks=True,
    )


def ledger_table(claims: Sequence[Any], judged: Sequence[dict[str, Any]], full: dict[str, Any] | None = None) -> Table:
    """The ledger: paper's value, ours, the judged interval, seeds and verdict; full scale beside it, or "not run".

    claims: as declared. judged: `record["claims"]` of this run. full: the record at full scale, or None.
    """
    from .records import is_current

    others = {j["id"]: j["verdict"] for j in full["claims"]} if full else {}
    age = [] if full is None or is_current(full) else [Small("by older code")]
    rows = []
    for claim, j in zip(claims, judged, strict=True):
        raw = "share" if j["unit"] == "points" else j["unit"]
        arms = "" if j["against"] is None else f"{number(j['ours'], raw)} against {number(j['against'], raw)}; "
        judged_value = "not run" if j["estimate"] is None else number(j["estimate"], j["unit"])
        span = "" if j["interval"] is None else f" ({interval(j['interval'], j['unit'])})"
        rows.append(
            (
                [f"{claim.id}  {claim.statement}", Small(claim.metric)],
                claim.paper_value,
                [judged_value + span, Small(f"{arms}{j['seeds']} seeds")],
                Verdict(j["verdict"]),
                [Verdict(others.get(claim.id, "not run")), *age],
            )
        )
    return Table(["claim", "paper", "ours (95 % interval)", "verdict", "full scale"], rows, stacks=True)


def source(function: Any) -> Any:
    """The code of a library function without its docstring, as Markdown that a notebook shows highlighted.

    So that a reader sees the ten lines that matter on the page, and they can never differ from what runs.
    Raises TypeError for an object without Python source.
    """
    import ast
    import inspect
    import textwrap

    from IPython.display import Markdown

    text = textwrap.dedent(inspect.getsource(function))
    node = ast.parse(text).body[0]
    lines = text.splitlines()
    if ast.get_docstring(node) is not None:
        first = node.body[0]
        del lines[first.lineno - 1 : first.end_lineno]
    where = f"{inspect.getmodule(function).__name__}.{function.__qualname__}"
    return Markdown(f"`{where}`\n\n```python\n" + "\n".join(lines) + "\n```")
