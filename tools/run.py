"""`make run CHAPTER=SLUG SCALE=SCALE`: chapters through the engine, into ``runs/SCALE/SLUG``; SEEDS= runs a sweep."""

import argparse
import re
import sys
from pathlib import Path

from iclr26lib import scale as scales
from iclr26lib.chapters import NOTEBOOKS, ROOT, finished, present
from tools import engine
from tools.execute import explain

MANY = 10_000


def parameters(options: argparse.Namespace) -> dict:
    """Return what papermill injects: the scale, and of the rest only what was given.

    Raises ValueError for a seed that is no integer or overrides that are no mapping.
    """
    import yaml

    chosen: dict = {"scale": scales.name(options.scale)}
    if options.seed and not options.seed.isdecimal():
        raise ValueError(f"SEED={options.seed!r} must be a whole number, 0 or more")
    if options.seed:
        chosen["seed"] = int(options.seed)
    if options.device:
        chosen["device"] = options.device
    if options.set:
        try:
            overrides = yaml.safe_load("{" + options.set.replace("=", ": ") + "}")
        except yaml.YAMLError:
            overrides = None
        if not isinstance(overrides, dict) or not all(map(_plain, overrides.values())):
            raise ValueError(f"SET={options.set!r} must look like 'field=value, field=[value, value]'")
        chosen["overrides"] = {name: _number(value) for name, value in overrides.items()}
    if not 0 <= options.limit < float("inf") or options.cores < 0:
        raise ValueError(f"LIMIT and cores must be 0 or more, got {options.limit:g} and {options.cores}")
    return chosen


def _plain(value: object) -> bool:
    """Whether a value is a word, a number or a list of them."""
    return all(map(_plain, value)) if isinstance(value, list) else isinstance(value, str | int | float)


def _number(value: object) -> object:
    """A word that Python reads as a number, such as 1e-3, which YAML takes for text, as that number."""
    if isinstance(value, list):
        return [_number(one) for one in value]
    return float(value) if isinstance(value, str) and re.fullmatch(r"[-+]?[\d.]+[eE][-+]?\d+", value) else value


def seeds(text: str) -> list[int]:
    """Return the seeds that "0-3,7" names, sorted. Raises ValueError, showing the form, for anything else."""
    found: set[int] = set()
    for part in text.replace(" ", "").split(","):
        ends = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
        first, last = (int(ends[1]), int(ends[2] or ends[1])) if ends else (1, 0)
        if first > last or last - first >= MANY:
            raise ValueError(f"SEEDS={text!r} must look like 0-3 or 0-3,7, with at most {MANY} seeds")
        found.update(range(first, last + 1))
    return sorted(found)


def chapters(text: str, root: Path = ROOT) -> list[str]:
    """Return the slugs that "bep lbf_npe" or "all" names. Raises ValueError for one that is not finished."""
    return present(root) if text == "all" else [finished(slug, root) for slug in text.split() or [""]]


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Run the command; return 0, 1 when a notebook failed, 2 when what was asked for is unknown."""
    parser = argparse.ArgumentParser(prog="make run", description=__doc__)
    parser.add_argument("--chapter", default="", help="a slug, several, or all")
    parser.add_argument("--scale", default="book")
    parser.add_argument("--seed", default="")
    parser.add_argument("--seeds", default="", help="a sweep: evidence once a seed, '0-3,7', merged into one record")
    parser.add_argument("--device", default="")
    parser.add_argument("--set", default="", help="preset fields to replace: 'epochs=3, width=35'")
    parser.add_argument("--notebook", choices=NOTEBOOKS, help="one of the two instead of both")
    parser.add_argument("--profile", default="", help="local, gpu, slurm, or a folder with a config.yaml")
    parser.add_argument("--cores", type=int, default=0, help="cores to use, instead of all")
    parser.add_argument("--limit", type=float, default=0, help="minutes that one cell may take")
    options = parser.parse_args(arguments)
    try:
        given = parameters(options)
        names = seeds(options.seeds) if options.seeds else [options.notebook] if options.notebook else list(NOTEBOOKS)
        if options.seeds and (options.seed or options.notebook):
            raise ValueError("SEEDS runs evidence for its own seeds: leave out SEED and the notebook")
        wanted = {slug: names for slug in chapters(options.chapter, root)}
        how = {"profile": options.profile or "local", "cores": options.cores, "limit": options.limit, "root": root}
        return engine.schedule("sweep" if options.seeds else "run", given["scale"], wanted, given, **how)
    except (ValueError, OSError) as error:
        print(f"error: {explain(error)}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
