"""Sphinx extension: make the generated parts of the pages before the sources are read."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]


def generate(app: Sphinx, _config: Any) -> None:
    """Write book/_generated; a malformed claims file or record ends the build with one line."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    from tools import pages

    try:
        pages.write_all(Path(app.srcdir))
    except ValueError as error:
        raise ConfigError(" ".join(str(error).split())) from None


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the hook."""
    app.connect("config-inited", generate)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
