"""`make bench CHAPTER=SLUG` (or CHAPTER=engine): run the benchmark, which prints ratios measured in one run."""

import runpy
import sys
from pathlib import Path

from iclr26lib.chapters import ROOT, finished

ENGINE = "engine"


def main(slug: str, root: Path = ROOT) -> int:
    """Run ``benchmarks/SLUG.py``, of a chapter or the engine; return 2 when there is no such chapter or benchmark."""
    try:
        if slug != ENGINE:
            finished(slug, root)
        if not (root / "benchmarks" / f"{slug}.py").is_file():
            raise ValueError(f"benchmarks/{slug}.py is missing: the chapter has no benchmark")
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    sys.argv = [f"benchmarks/{slug}.py"]
    runpy.run_module(f"benchmarks.{slug}", run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
