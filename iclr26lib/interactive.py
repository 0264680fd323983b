"""Figures that answer back: live in a notebook, and on a page with neither a kernel nor a network.

Each frame is drawn once and kept as a small picture with its own alt text. One or two sliders choose the frame shown.
"""

from __future__ import annotations

import base64
import html
import io
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ipywidgets
import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from PIL import Image

MAX_FRAMES = 24
MAX_BYTES = 400_000
BACKGROUND = "white"


@dataclass(frozen=True)
class Slider:
    """One slider: `name` is the keyword of draw and alt, `label` what the reader sees, `values` its stops in order.

    Raises ValueError for a name that is no identifier, an empty label, fewer than two values or a repeated one.
    """

    name: str
    label: str
    values: Sequence[Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        if not str(self.name).isidentifier():
            raise ValueError(f"slider name {self.name!r} must be an identifier, for it is a keyword of draw and alt")
        if not str(self.label).strip():
            raise ValueError(f"slider {self.name!r} needs a label, got {self.label!r}")
        if len(self.values) < 2 or len(set(map(repr, self.values))) != len(self.values):
            raise ValueError(f"slider {self.name!r} needs at least 2 values, all different, got {self.values!r}")


def figure(
    draw: Callable[..., Figure],
    sliders: Sequence[Slider],
    *,
    alt: Callable[..., str],
    start: Mapping[str, Any] | None = None,
    caption: str | None = None,
    dpi: int = 72,
    quality: int = 60,
) -> ipywidgets.Widget:
    """Draw every frame and return the widget that shows one of them.

    Args:
        draw: called as draw(name=value, ...) for each combination; returns a matplotlib Figure, closed here.
        sliders: one or two; the product of their numbers of values is at most 24.
        alt: called like draw; returns what the frame shows, in words, different for each frame.
        start: value of each slider at first, by name; the first value where it is not given.
        caption: plain text below the picture.
        dpi: pixels per inch of the frames. quality: of the WebP pictures, 1 to 100.
    Returns:
        A widget: a live one under ipywidgets 8 and on a static page; driven by Python under ipywidgets 7.
    Raises:
        ValueError: wrong number of sliders or frames, unknown start, missing or repeated alt text, frames of
            different size, or frames that together take more than 400 kB.
        TypeError: draw returns no Figure, or alt no string.
    """
    sliders = _checked(sliders)
    first = _start(sliders, start or {})
    if not 1 <= int(quality) <= 100:
        raise ValueError(f"quality must be from 1 to 100, got {quality!r}")
    frames = _frames(draw, alt, sliders, dpi, int(quality))
    label = max(len(slider.label) for slider in sliders)
    controls = [_control(slider, index, label) for slider, index in zip(sliders, first, strict=True)]
    build = _stacked if hasattr(ipywidgets, "Stack") else _called_back
    below = [] if caption is None else [ipywidgets.HTML(f'<p class="iclr26-caption">{html.escape(caption)}</p>')]
    box = ipywidgets.VBox([*controls, build(frames, controls), *below])
    box.add_class("iclr26-interactive")
    return box


def _checked(sliders: Sequence[Slider]) -> tuple[Slider, ...]:
    """Return the sliders as a tuple; raise where their number, type, names or product is wrong."""
    sliders = tuple(sliders) if isinstance(sliders, Sequence) else (sliders,)
    for slider in sliders:
        if not isinstance(slider, Slider):
            raise TypeError(f"sliders must be Slider objects, got {type(slider).__name__}")
    names = [slider.name for slider in sliders]
    if len(sliders) not in (1, 2) or len(set(names)) != len(names):
        raise ValueError(f"one or two sliders with different names are possible, got {names}")
    count = len(sliders[0].values) * (len(sliders[1].values) if len(sliders) == 2 else 1)
    if count > MAX_FRAMES:
        raise ValueError(f"{count} frames are too many: at most {MAX_FRAMES}; give the sliders fewer values")
    return sliders


def _start(sliders: tuple[Slider, ...], start: Mapping[str, Any]) -> list[int]:
    """Return the index at which each slider stands first."""
    unknown = set(start) - {slider.name for slider in sliders}
    if unknown:
        raise ValueError(f"start names unknown sliders {sorted(unknown)}; known: {[s.name for s in sliders]}")
    first = []
    for slider in sliders:
        value = start.get(slider.name, slider.values[0])
        if value not in slider.values:
            raise ValueError(f"start {slider.name}={value!r} is not one of {list(slider.values)}")
        first.append(slider.values.index(value))
    return first


def _frames(draw: Callable, alt: Callable, sliders: tuple[Slider, ...], dpi: int, quality: int) -> list[str]:
    """Return one `<img>` element per combination of values, the last slider running fastest."""
    frames, seen, sizes = [], {}, set()
    for values in itertools.product(*(slider.values for slider in sliders)):
        chosen = {slider.name: value for slider, value in zip(sliders, values, strict=True)}
        text = _alt_text(alt, chosen)
        if text in seen:
            raise ValueError(f"alt text must tell frames apart: {chosen} and {seen[text]} both give {text!r}")
        seen[text] = chosen
        picture, size, inches = _render(draw, chosen, dpi, quality)
        sizes.add(size)
        frames.append(_image(picture, text, inches))
    if len(sizes) > 1:
        raise ValueError(f"all frames must have the same size in pixels, got {sorted(sizes)}")
    total = sum(map(len, frames))
    if total > MAX_BYTES:
        raise ValueError(
            f"the {len(frames)} frames take {total / 1000:.0f} kB, the limit is {MAX_BYTES // 1000} kB: "
            "use fewer frames, a smaller figure, a lower dpi or a lower quality"
        )
    return frames


def _alt_text(alt: Callable[..., str], chosen: dict[str, Any]) -> str:
    """Return the alt text of one frame."""
    text = alt(**chosen)
    if not isinstance(text, str):
        raise TypeError(f"alt must return a string for {chosen}, got {type(text).__name__}")
    if not text.strip():
        raise ValueError(f"alt must say what the frame shows, got empty text for {chosen}")
    return " ".join(text.split())


def _render(draw: Callable, chosen: dict, dpi: int, quality: int) -> tuple[bytes, tuple[int, int], float]:
    """Return the WebP bytes of one frame, its size in pixels and its width in inches; close the figure."""
    drawn = draw(**chosen)
    if not isinstance(drawn, Figure):
        raise TypeError(f"draw must return a matplotlib Figure for {chosen}, got {type(drawn).__name__}")
    raw, packed = io.BytesIO(), io.BytesIO()
    drawn.savefig(raw, format="png", dpi=dpi, facecolor=BACKGROUND, bbox_inches=drawn.bbox_inches)
    inches = float(drawn.get_size_inches()[0])
    plt.close(drawn)
    picture = Image.open(raw).convert("RGB")
    picture.save(packed, format="WEBP", quality=quality, method=6)
    return packed.getvalue(), picture.size, inches


def _image(picture: bytes, text: str, inches: float) -> str:
    """Return the `<img>` element of one frame, shown at 96 CSS pixels an inch or narrower."""
    data = base64.b64encode(picture).decode("ascii")
    style = f"width:100%;max-width:{round(96 * inches)}px;height:auto;background:{BACKGROUND}"
    return f'<img alt="{html.escape(text, quote=True)}" style="{style}" src="data:image/webp;base64,{data}">'


def _control(slider: Slider, index: int, label: int) -> ipywidgets.SelectionSlider:
    """Return the control of one slider, standing at `index`, with room for `label` characters before it."""
    control = ipywidgets.SelectionSlider(
        options=[str(value) for value in slider.values],
        index=index,
        description=slider.label,
        layout=ipywidgets.Layout(width="100%", max_width="40em"),
    )
    control.style.description_width = f"{0.6 * label + 0.4:.1f}em"
    return control


def _stacked(frames: list[str], controls: list[ipywidgets.SelectionSlider]) -> ipywidgets.Widget:
    """Put the frames into a Stack (nested for two sliders) that follows the controls in the browser itself."""
    layout = ipywidgets.Layout(width="100%")
    pages = [ipywidgets.HTML(frame, layout=layout) for frame in frames]
    step = len(controls[-1].options)
    rows = [pages[i : i + step] for i in range(0, len(pages), step)]
    stacks = [ipywidgets.Stack(row, selected_index=controls[-1].index, layout=layout) for row in rows]
    for stack in stacks:
        ipywidgets.jslink((controls[-1], "index"), (stack, "selected_index"))
    if len(controls) == 1:
        return stacks[0]
    outer = ipywidgets.Stack(stacks, selected_index=controls[0].index, layout=layout)
    ipywidgets.jslink((controls[0], "index"), (outer, "selected_index"))
    return outer


def _called_back(frames: list[str], controls: list[ipywidgets.SelectionSlider]) -> ipywidgets.Widget:
    """Show the frame from Python: what ipywidgets 7, which has no Stack, can do (Colab)."""
    page = ipywidgets.HTML(layout=ipywidgets.Layout(width="100%"))

    def show(_change: object = None) -> None:
        position = 0
        for control in controls:
            position = position * len(control.options) + control.index
        page.value = frames[position]

    for control in controls:
        control.observe(show, names="index")
    show()
    return page
