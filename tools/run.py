"""`make run CHAPTER=SLUG SCALE=SCALE`: both notebooks of a chapter through papermill, into ``runs/SCALE/SLUG``."""

import argparse
import sys
import time
from pathlib import Path

from iclr26lib import scale as scales
from iclr26lib.chapters import NOTEBOOKS, ROOT, finished
from tools import notebooks
from tools.execute import NotebookFailed, execute, runs_folder


def parameters(options: argparse.Namespace) -> dict:
    """Return what papermill injects: the scale, and of the rest only what was given.

    Raises ValueError for a seed that is no integer or overrides that are no mapping.
    """
    import yaml

    chosen: dict = {"scale": scales.name(options.scale)}
    if options.seed:
        chosen["seed"] = int(options.seed)
    if options.device:
        chosen["device"] = options.device
    if options.set:
        chosen["overrides"] = yaml.safe_load("{" + options.set.replace("=", ": ") + "}")
        if None in chosen["overrides"].values():
            raise ValueError(f"SET={options.set!r} must look like 'field=value, field=value'")
    return chosen


def run(slug: str, given: dict, names: tuple[str, ...] = NOTEBOOKS, root: Path = ROOT) -> None:
    """Execute the notebooks of one chapter one after the other. Raises NotebookFailed at the first that fails."""
    for name in names:
        began = time.perf_counter()
        target = runs_folder(root) / given["scale"] / slug / f"{name}.ipynb"
        print(f"{slug}/{name}: running at {given['scale']} scale", flush=True)
        source = notebooks.read_source(root / "book" / slug / f"{name}.py")
        execute(source, f"{slug}/{name}", target, given["scale"], given, root)
        shown = target.relative_to(root) if target.is_relative_to(root) else target
        print(f"{slug}/{name}: done in {time.perf_counter() - began:.0f} s, {shown}", flush=True)


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Run the command; return 0, 1 when a notebook failed, 2 when what was asked for is unknown."""
    parser = argparse.ArgumentParser(prog="make run", description=__doc__)
    parser.add_argument("--chapter", default="")
    parser.add_argument("--scale", default="book")
    parser.add_argument("--seed", default="")
    parser.add_argument("--device", default="")
    parser.add_argument("--set", default="", help="preset fields to replace: 'epochs=3, width=35'")
    parser.add_argument("--notebook", choices=NOTEBOOKS, help="one of the two instead of both")
    options = parser.parse_args(arguments)
    try:
        slug = finished(options.chapter, root)
        given = parameters(options)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    try:
        run(slug, given, (options.notebook,) if options.notebook else NOTEBOOKS, root)
    except NotebookFailed as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
