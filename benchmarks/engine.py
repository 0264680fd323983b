"""The engine against bare papermill: eight smoke runs of the same notebook, in one run of this script, as ratios.

Both give each kernel one thread and run two at a time; bare papermill is its own command. The third measurement runs
the engine on one core, so that the last row says what the second job in parallel gains.
"""

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from iclr26lib import resources
from iclr26lib.chapters import ROOT
from tools import run
from tools.suite import ONE_THREAD

SLUG, JOBS, TARGET = "bep", 8, 1.15


def bare(folder: Path, seed: int) -> None:
    """One seed by papermill's own command."""
    own = folder / str(seed)
    own.mkdir(parents=True)
    one = resources.of(SLUG).one_seed
    command = [sys.executable, "-m", "papermill", str(ROOT / f"book/{SLUG}/evidence.ipynb"), str(own / "out.ipynb")]
    command += ["-p", "scale", "smoke", "-p", "seed", str(seed), "-y", f"overrides: {one}"]
    command += ["--cwd", str(ROOT / "book" / SLUG), "--no-progress-bar", "--log-level", "ERROR"]
    environment = {**os.environ, **ONE_THREAD, "ICLR26_RUNS": str(own), "PYTHONPATH": str(ROOT)}
    subprocess.run(command, env=environment, check=True, capture_output=True)


def with_papermill(folder: Path, at_once: int) -> float:
    """Seconds of all seeds by bare papermill."""
    began = time.perf_counter()
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(lambda seed: bare(folder, seed), range(JOBS)))
    return time.perf_counter() - began


def with_engine(folder: Path, cores: int) -> float:
    """Seconds of all seeds, and their merge, by the engine."""
    os.environ["ICLR26_RUNS"] = str(folder)
    began = time.perf_counter()
    code = run.main(["--chapter", SLUG, "--scale", "smoke", "--seeds", f"0-{JOBS - 1}", "--cores", str(cores)])
    if code:
        raise SystemExit(code)
    return time.perf_counter() - began


def main() -> None:
    """Measure and print the table."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        papermill = with_papermill(folder / "papermill", 2)
        two, one = with_engine(folder / "two", 2), with_engine(folder / "one", 1)
    print(f"{JOBS} smoke runs of {SLUG}/evidence, one thread each")
    print(f"bare papermill, two at a time   {papermill:7.1f} s")
    print(f"engine, two at a time           {two:7.1f} s   ratio {two / papermill:.2f} (target: {TARGET} or less)")
    print(f"engine, one at a time           {one:7.1f} s   two in parallel are {one / two:.2f} times as fast")


if __name__ == "__main__":
    main()
