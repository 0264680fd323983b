"""The interactive helper: limits, alt text, one and two sliders, the fallback without Stack."""

import base64
import io
import re

import ipywidgets
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image

from iclr26lib.interactive import Slider, figure

GATE = Slider("gate", "gate", [0.0, 0.5, 1.0])
WIDTH = Slider("width", "width K", [35, 75])


def draw(gate, width=35):
    fig, ax = plt.subplots(figsize=(2, 1.5))
    ax.bar([0, 1], [gate, width / 100])
    return fig


def alt(gate, width=35):
    return f'Bars at {gate} and "{width}" <wide>.'


def widgets(root, kind):
    """All widgets of a kind below root, in order."""
    found = [root] if isinstance(root, kind) else []
    for child in getattr(root, "children", ()):
        found += widgets(child, kind)
    return found


def frames(root):
    return [w.value for w in widgets(root, ipywidgets.HTML) if "<img" in w.value]


def test_one_slider_makes_one_frame_a_value_and_starts_where_told():
    box = figure(draw, [GATE], alt=alt, start={"gate": 0.5}, caption="a < b")
    (stack,) = widgets(box, ipywidgets.Stack)
    (control,) = widgets(box, ipywidgets.SelectionSlider)
    assert len(stack.children) == 3
    assert (stack.selected_index, control.index, control.value) == (1, 1, "0.5")
    assert "a &lt; b" in box.children[-1].value


def test_two_sliders_nest_and_the_last_runs_fastest():
    box = figure(draw, [WIDTH, GATE], alt=alt, start={"width": 75})
    outer, first, second = widgets(box, ipywidgets.Stack)
    assert [len(s.children) for s in (outer, first, second)] == [2, 3, 3]
    assert outer.selected_index == 1
    texts = [re.search(r'alt="([^"]*)"', f)[1] for f in frames(outer)]
    assert texts == [f"Bars at {g} and &quot;{w}&quot; &lt;wide&gt;." for w in (35, 75) for g in (0.0, 0.5, 1.0)]


def test_every_slider_is_linked_in_the_browser(monkeypatch):
    made = []
    monkeypatch.setattr(ipywidgets, "jslink", lambda a, b: made.append((a, b)))
    box = figure(draw, [WIDTH, GATE], alt=alt)
    outer, first, second = widgets(box, ipywidgets.Stack)
    width, gate = widgets(box, ipywidgets.SelectionSlider)
    wanted = [((width, "index"), (outer, "selected_index"))]
    wanted += [((gate, "index"), (stack, "selected_index")) for stack in (first, second)]
    assert sorted(map(repr, made)) == sorted(map(repr, wanted))


def test_frames_are_different_opaque_webp_pictures():
    pictures = [f.split("base64,")[1].split('"')[0] for f in frames(figure(draw, [GATE], alt=alt))]
    opened = [Image.open(io.BytesIO(base64.b64decode(p))) for p in pictures]
    assert {(o.format, o.mode, o.size) for o in opened} == {("WEBP", "RGB", (144, 108))}
    assert len(set(pictures)) == 3
    assert min(opened[0].getpixel((0, 0))) > 245


def test_figures_are_closed():
    before = plt.get_fignums()
    figure(draw, [GATE], alt=alt)
    assert plt.get_fignums() == before


@pytest.fixture
def without_stack(monkeypatch):
    """ipywidgets 7 has no Stack."""
    monkeypatch.delattr(ipywidgets, "Stack")


@pytest.mark.usefixtures("without_stack")
def test_fallback_shows_the_frame_of_the_sliders():
    box = figure(draw, [WIDTH, GATE], alt=alt, start={"gate": 1.0})
    width, gate = widgets(box, ipywidgets.SelectionSlider)
    assert 'alt="Bars at 1.0 and &quot;35&quot;' in frames(box)[0]
    width.index = 1
    assert 'alt="Bars at 1.0 and &quot;75&quot;' in frames(box)[0]
    gate.index = 0
    assert 'alt="Bars at 0.0 and &quot;75&quot;' in frames(box)[0]
    assert len(frames(box)) == 1


def test_24_frames_pass_and_25_do_not():
    many = Slider("gate", "gate", list(range(24)))
    assert len(frames(figure(draw, [many], alt=alt))) == 24
    with pytest.raises(ValueError, match="25 frames are too many: at most 24"):
        figure(draw, [Slider("gate", "gate", list(range(25)))], alt=alt)
    with pytest.raises(ValueError, match="26 frames"):
        figure(draw, [WIDTH, Slider("gate", "gate", list(range(13)))], alt=alt)


def test_frames_above_400_kb_are_refused():
    def noise(gate, width=35):
        fig = plt.figure(figsize=(8, 6))
        fig.figimage(np.random.default_rng(0).integers(0, 255, (400, 560, 3), dtype=np.uint8))
        return fig

    with pytest.raises(ValueError, match=r"the 3 frames take \d+ kB, the limit is 400 kB"):
        figure(noise, [GATE], alt=alt, quality=95)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"sliders": []}, "one or two sliders"),
        ({"sliders": [GATE, WIDTH, Slider("x", "x", [1, 2])]}, "one or two sliders"),
        ({"sliders": [GATE, GATE]}, "different names"),
        ({"start": {"gate": 0.7}}, r"start gate=0.7 is not one of \[0.0, 0.5, 1.0\]"),
        ({"start": {"depth": 1}}, r"unknown sliders \['depth'\]"),
        ({"quality": 0}, "quality must be from 1 to 100, got 0"),
        ({"alt": lambda gate: "  "}, "alt must say what the frame shows"),
        ({"alt": lambda gate: "the same"}, "alt text must tell frames apart"),
        ({"draw": lambda gate: plt.figure(figsize=(1 + gate, 1))}, "same size in pixels"),
    ],
)
def test_wrong_arguments_are_value_errors(wrong, message):
    arguments = {"draw": draw, "sliders": [GATE], "alt": alt} | wrong
    with pytest.raises(ValueError, match=message):
        figure(arguments.pop("draw"), arguments.pop("sliders"), **arguments)
    plt.close("all")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"sliders": ["gate"]}, "must be Slider objects, got str"),
        ({"draw": lambda gate: None}, "draw must return a matplotlib Figure .* got NoneType"),
        ({"alt": lambda gate: 3}, "alt must return a string .* got int"),
    ],
)
def test_wrong_types_are_type_errors(wrong, message):
    arguments = {"draw": draw, "sliders": [GATE], "alt": alt} | wrong
    with pytest.raises(TypeError, match=message):
        figure(arguments.pop("draw"), arguments.pop("sliders"), **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("not a name", "x", [1, 2]), "must be an identifier"),
        (("x", " ", [1, 2]), "needs a label"),
        (("x", "x", [1]), "at least 2 values"),
        (("x", "x", [1, 1]), "all different"),
    ],
)
def test_wrong_sliders(arguments, message):
    with pytest.raises(ValueError, match=message):
        Slider(*arguments)
