"""The three scales and their presets.

A chapter keeps one frozen dataclass of settings and a dict scale -> instance. A notebook calls
`choose(PRESETS, scale, overrides)`; nothing else in the library reads the environment for sizes.
"""

import os
from dataclasses import asdict, fields, replace
from typing import Any, TypeVar, get_type_hints

SCALES = ("smoke", "book", "full")
Preset = TypeVar("Preset")


def name(scale: str | None = None) -> str:
    """The scale to run at: the argument, else $ICLR26_SCALE, else "book". Raises ValueError for any other word."""
    chosen = scale if scale is not None else os.environ.get("ICLR26_SCALE", "book")
    if chosen not in SCALES:
        raise ValueError(f"unknown scale {chosen!r}; known: {', '.join(SCALES)}")
    return chosen


def _fits(value: Any, kind: Any) -> bool:
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if getattr(kind, "__origin__", None) is tuple:
        return isinstance(value, (list, tuple)) and all(_fits(v, kind.__args__[0]) for v in value)
    return isinstance(value, kind)


def choose(presets: dict[str, Preset], scale: str | None = None, overrides: dict[str, Any] | None = None) -> Preset:
    """The preset of a scale with some fields replaced.

    presets: scale -> frozen dataclass. scale: see `name`. overrides: field -> value, as papermill passes them.
    Raises ValueError for an unknown scale or field (naming the known ones), TypeError for a value of another type.
    """
    preset = presets[name(scale)]
    types = get_type_hints(type(preset))
    changes = {}
    for field, value in (overrides or {}).items():
        if field not in types:
            raise ValueError(f"unknown preset field {field!r}; known: {', '.join(types)}")
        if not _fits(value, types[field]):
            raise TypeError(f"preset field {field!r} takes {types[field]}, got {value!r}")
        changes[field] = tuple(value) if isinstance(value, list) else value
    return replace(preset, **changes)


def describe(preset: Any) -> list[tuple[str, Any, str]]:
    """Rows (field, value, meaning) of a preset; the meaning is the field's metadata "help"."""
    values = asdict(preset)
    return [(f.name, values[f.name], f.metadata.get("help", "")) for f in fields(preset)]
