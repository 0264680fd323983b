"""Rules about pictures: every one has a text for those who do not see it, and the chapter has one for its card."""

import re
from html.parser import HTMLParser
from pathlib import Path

from nbformat import NotebookNode

from tools.contract.layout import stored
from tools.machine_paths import strings
from tools.notebooks import WIDGETS

SHORTEST_ALT = 15
IN_MARKDOWN = re.compile(r"!\[([^\]]*)\]\(")


class Images(HTMLParser):
    """Collects the alt text of each <img> of a page, None where there is none."""

    def __init__(self) -> None:
        super().__init__()
        self.alts: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "img":
            self.alts.append(dict(attrs).get("alt"))


def alts_in_html(text: str) -> list[str | None]:
    """Return the alt text of every image in a piece of HTML."""
    parser = Images()
    parser.feed(text)
    return parser.alts


def says_nothing(alt: str | None) -> bool:
    """Whether an alt text is missing or too short to say what the picture shows."""
    return len((alt or "").strip()) < SHORTEST_ALT


def shows_image(cell: NotebookNode) -> bool:
    """Whether an output of the cell is an image."""
    return any(kind.startswith("image/") for out in cell.get("outputs", []) for kind in out.get("data", {}))


def in_cell(cell: NotebookNode) -> list[str | None]:
    """Return the alt texts that the pictures of one cell have."""
    if cell.cell_type == "markdown":
        return [*IN_MARKDOWN.findall(cell.source), *alts_in_html(cell.source)]
    found = [cell.metadata.get("mystnb", {}).get("image", {}).get("alt")] if shows_image(cell) else []
    pages = [out.get("data", {}).get("text/html", "") for out in cell.get("outputs", [])]
    return found + [alt for page in pages for alt in alts_in_html(page)]


def in_widgets(notebook: NotebookNode) -> list[str | None]:
    """Return the alt text of every picture in the state of the widgets; a bare Image widget has none."""
    found: list[str | None] = []
    for model in notebook.metadata.get("widgets", {}).get(WIDGETS, {}).get("state", {}).values():
        if model.get("model_name") == "ImageModel":
            found.append(None)
        for text in strings(model.get("state", {})):
            found += alts_in_html(text) if "<img" in text else []
    return found


def alt_texts(slug: str, root: Path) -> list[str]:
    """Every picture in text, outputs and widget frames has an alt text that says something."""
    found = []
    for name, notebook in stored(slug, root).items():
        where = f"book/{slug}/{name}.ipynb"
        for number, cell in enumerate(notebook.cells, start=1):
            if any(map(says_nothing, in_cell(cell))):
                found.append(
                    f"{where} cell {number} shows a picture without alt text of {SHORTEST_ALT} letters or more"
                )
        if bad := sum(map(says_nothing, in_widgets(notebook))):
            found.append(f"{where}: {bad} widget frames have no alt text")
    return found


def card(slug: str, root: Path) -> list[str]:
    """One cell is tagged card, and it shows a picture for the landing page."""
    cells = [cell for notebook in stored(slug, root).values() for cell in notebook.cells]
    cards = [cell for cell in cells if "card" in cell.metadata.get("tags", [])]
    if len(cards) != 1:
        return [f"{len(cards)} cells of book/{slug} are tagged card, one is wanted"]
    return [] if shows_image(cards[0]) else [f"the cell of book/{slug} tagged card shows no picture"]
