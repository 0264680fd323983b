"""Places of the machine that made an output: a reader must not see them."""

import re
from collections.abc import Iterator
from pathlib import Path

from iclr26lib.chapters import ROOT

DATA = re.compile(r"data:[\w/+.-]+;base64,[A-Za-z0-9+/=]*")
PLACE = re.compile(
    r"(?<![\w.:/-])/(?:home|root|work|tmp|Users|mnt|opt|var|srv)/[\w.~-]+|\b[A-Z]:\\(?:Users|Windows|Temp)\b"
)


def in_text(text: str) -> list[str]:
    """Return the absolute paths of a machine that occur in `text`, embedded pictures aside."""
    text = DATA.sub("", text)
    found = set(PLACE.findall(text))
    for place in (str(ROOT), str(Path.home())):
        if len(place) > 1 and re.search(rf"{re.escape(place)}\b", text) and not any(place in other for other in found):
            found.add(place)
    return sorted(found)


def in_outputs(notebook: dict) -> list[str]:
    """Return "cell N: path" for each absolute path in the outputs and the widget state of a notebook (as a dict)."""
    found = []
    for number, cell in enumerate(notebook["cells"], start=1):
        places = {place for text in strings(cell.get("outputs", [])) for place in in_text(text)}
        found.extend(f"cell {number}: {place}" for place in sorted(places))
    widgets = {place for text in strings(notebook["metadata"].get("widgets", {})) for place in in_text(text)}
    return found + [f"widget state: {place}" for place in sorted(widgets)]


def strings(value: object) -> Iterator[str]:
    """Yield every text inside nested lists and dicts, except the data of pictures."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        if value and all(isinstance(item, str) for item in value):
            yield "".join(value)
        else:
            for item in value:
                yield from strings(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if not (isinstance(key, str) and key.startswith("image/") and key != "image/svg+xml"):
                yield from strings(item)
