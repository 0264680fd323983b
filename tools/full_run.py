"""``scripts/full_run.sh MINUTES [CHAPTER ...]``: chapters at full scale until the time is up; packs their records."""

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

from iclr26lib import claims, resources
from iclr26lib.chapters import ROOT, finished, present
from tools import promote
from tools.attend import HERE
from tools.execute import runs_folder
from tools.notebooks import replacing

SCALE = "full"
PACK = "full-records.tar.gz"
GRACE = 20.0
MOST = 10_000


def value(slug: str, root: Path = ROOT) -> tuple[bool, float]:
    """How much a full run of a chapter is worth: whether it has no record yet, and claims judged a minute."""
    judged = sum(SCALE in claim.scales for claim in claims.load(root / "book" / slug / "claims.yaml"))
    minutes = resources.of(slug, root).scales[SCALE].minutes
    return not promote.stored(slug, SCALE, root).is_file(), judged / minutes


def order(slugs: list[str], root: Path = ROOT) -> list[str]:
    """The chapters that have no full record of the present code, the most valuable first."""
    left = [slug for slug in slugs if not promote.fresh(promote.stored(slug, SCALE, root), slug, root)]
    return sorted(left, key=lambda slug: value(slug, root), reverse=True)


def isolated(slug: str, seconds: float, device: str, root: Path = ROOT) -> str:
    """Run a chapter's evidence in a process group of its own and return "done", "failed" or "out of time".

    Finished pieces of a run that is stopped are kept: the next call goes on from them.
    """
    command = [sys.executable, "-c", "import sys; from pathlib import Path; from tools import run; "]
    command[-1] += "sys.exit(run.main(sys.argv[2:], Path(sys.argv[1])))"
    command += [str(root), "--chapter", slug, "--scale", SCALE, "--notebook", "evidence", "--device", device]
    command += ["--limit", str(max(seconds / 60, 0.01))]
    process = subprocess.Popen(command, cwd=HERE, start_new_session=True)
    try:
        return "done" if process.wait(max(seconds, 0)) == 0 else "failed"
    except subprocess.TimeoutExpired:
        return "out of time"
    finally:
        _end(process)


def _end(process: subprocess.Popen) -> None:
    """Ask a run to end, which ends all that it started (tools/attend.py), and end it by force where that fails."""
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def pack(slugs: list[str], root: Path = ROOT) -> Path | None:
    """Put the records of finished chapters into one archive under runs/; None when there is none."""
    records = [path for slug in slugs if (path := runs_folder(root) / SCALE / f"{slug}.json").is_file()]
    if not records:
        return None
    archive = runs_folder(root) / PACK
    with replacing(archive) as place, tarfile.open(place, "w:gz") as bundle:
        for path in records:
            bundle.add(path, arcname=f"{SCALE}/{path.name}")
    return archive


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Run the command; return 0, 1 when a chapter failed, 2 for wrong arguments."""
    parser = argparse.ArgumentParser(prog="scripts/full_run.sh", description=__doc__.splitlines()[0])
    parser.add_argument("minutes", type=float)
    parser.add_argument("chapters", nargs="*", help="these instead of all that need a run")
    parser.add_argument("--device", default="auto")
    options = parser.parse_args(arguments)
    try:
        slugs = [finished(slug, root) for slug in options.chapters] or order(present(root), root)
        if not 0 < options.minutes < MOST:
            raise ValueError(f"minutes must be positive and below {MOST}, got {options.minutes:g}")
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    end, outcomes = time.monotonic() + 60 * options.minutes - GRACE * (options.minutes > 2), {}
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for slug in slugs:
            began = time.monotonic()
            outcomes[slug] = isolated(slug, end - began, options.device, root) if began < end else "not reached"
            print(f"{slug:<20}{outcomes[slug]:<14}{(time.monotonic() - began) / 60:>6.1f} min", flush=True)
    except KeyboardInterrupt:
        outcomes["the rest"] = "failed"
        print("stopped; started again, it goes on where it was", file=sys.stderr)
    archive = pack([slug for slug, outcome in outcomes.items() if outcome == "done"], root)
    print(f"records: {archive}" if archive else "no chapter finished: nothing to pack")
    return 1 if "failed" in outcomes.values() else 0


if __name__ == "__main__":
    sys.exit(main())
