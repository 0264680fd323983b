"""Run records: raw values a seed, verdicts, cost, provenance. Written whole or not at all.

A run leaves `runs/SCALE/SLUG.json` ($ICLR26_RUNS names another folder); `make outputs` puts it under `results/`.
Reading needs neither numpy nor torch.
"""

import json
import os
import platform
import resource
import sys
import tempfile
import time
from dataclasses import asdict
from datetime import UTC, datetime
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

from . import claims as claims_
from . import scale as scales
from .chapters import ROOT
from .digest import chapter_digest

SCHEMA = 1
PACKAGES = ("iclr26lib", "torch", "numpy", "scipy", "scikit-learn", "matplotlib")
KEYS = {
    "schema": int, "slug": str, "scale": str, "date": str, "seeds": list, "parameters": dict, "measurements": dict,
    "tables": dict, "claims": list, "cost": dict, "environment": dict, "hardware": dict, "digest": dict,
}  # fmt: skip


def runs_folder() -> Path:
    """Where a run leaves its files: $ICLR26_RUNS, else `runs/` of the repository, else of the current folder."""
    if folder := os.environ.get("ICLR26_RUNS"):
        return Path(folder)
    return (ROOT if (ROOT / "_toc.yml").is_file() else Path.cwd()) / "runs"


def records_folder() -> Path:
    """Where a run leaves its record: $ICLR26_RECORDS, where the engine looks at it before it counts, else `runs/`."""
    folder = os.environ.get("ICLR26_RECORDS")
    return Path(folder) if folder else runs_folder()


@lru_cache
def code_digest(slug: str) -> str | None:
    """Digest of the code that makes a chapter's record; None where the notebooks are not at hand (pip-installed).

    Taken once a process, when it is first asked for: code that changes on disk later on did not make this run's
    numbers.
    """
    return chapter_digest(slug)


def environment() -> dict[str, str]:
    """Versions of Python and of the packages that move numbers."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed"
    return {"python": platform.python_version(), **found}


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def hardware() -> dict[str, Any]:
    """CPU model, number of usable cores, and the GPU's name where torch sees one."""
    torch = sys.modules.get("torch")
    gpu = torch.cuda.get_device_name(0) if torch is not None and torch.cuda.is_available() else None
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"cpu": _cpu(), "cores": cores, "gpu": gpu}


class Meter:
    """Measures a run: `with Meter() as meter: ...`, then `meter.cost()`.

    Wall time in seconds, that of pieces kept from an interrupted run included (`resume` adds it to `kept`), and the
    peak memory of the process (of the GPU too, where there is one) in MB.
    """

    kept = 0.0

    def __enter__(self) -> "Meter":
        self.start, self.before, self.seconds = time.perf_counter(), Meter.kept, None
        return self

    def __exit__(self, *exception: object) -> None:
        self.seconds = self._elapsed()

    def _elapsed(self) -> float:
        return time.perf_counter() - self.start + Meter.kept - self.before

    def cost(self) -> dict[str, float]:
        """{"wall_seconds", "peak_memory_mb"[, "peak_gpu_memory_mb"]}."""
        seconds = self.seconds if self.seconds is not None else self._elapsed()
        unit = 1024**2 if sys.platform == "darwin" else 1024
        cost = {"wall_seconds": round(seconds, 1)}
        cost["peak_memory_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit)
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_available():
            cost["peak_gpu_memory_mb"] = round(torch.cuda.max_memory_allocated() / 1024**2)
        return cost


def make(
    slug: str,
    scale: str,
    *,
    claims: list[claims_.Claim],
    seeds: list[int],
    parameters: dict[str, Any],
    measurements: dict[str, dict[str, Any]],
    tables: dict[str, Any],
    cost: dict[str, float],
) -> dict[str, Any]:
    """A complete record, with every claim judged.

    measurements: claim id -> {"ours": one number a seed, None for a seed on which the arm was not run, "against": the
    same or None}. tables: any further raw values
    (JSON). parameters: the preset as a dict. cost: of `Meter`. Raises ValueError when a claim has
    no measurement, a measurement no claim, a value cannot be judged, or the seeds do not match the values.
    """
    ids = [c.id for c in claims]
    if len(set(seeds)) != len(seeds) or any(len(m["ours"]) != len(seeds) for m in measurements.values()):
        raise ValueError(f"seeds {list(seeds)} must differ, and every measurement hold one number for each")
    if set(ids) != set(measurements):
        raise ValueError(f"claims {sorted(ids)} and measurements {sorted(measurements)} do not match")
    record = {
        "schema": SCHEMA, "slug": slug, "scale": scales.name(scale), "date": datetime.now(UTC).date().isoformat(),
        "seeds": list(seeds), "parameters": parameters, "measurements": measurements, "tables": tables,
        "claims": [], "cost": cost, "environment": environment(), "hardware": hardware(),
        "digest": {"code": code_digest(slug), "claims": claims_.digest(claims)},
    }  # fmt: skip
    record["claims"] = rejudge(record, claims)
    return record


def rejudge(record: dict[str, Any], claims: list[claims_.Claim]) -> list[dict[str, Any]]:
    """The judgements that the rules give on a record's raw values, as the record stores them."""
    measured = record["measurements"]
    judged = [claims_.judge(c, measured[c.id]["ours"], measured[c.id]["against"], record["scale"]) for c in claims]
    return json.loads(json.dumps([asdict(j) for j in judged], allow_nan=False))


def write_atomically(path: Path, text: str) -> Path:
    """Write `text` to `path` so that a reader sees the old file or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path


def save(record: dict[str, Any]) -> Path:
    """Write a record to `runs/SCALE/SLUG.json` and return that path. Raises ValueError when it is malformed."""
    check(record, "record")
    path = records_folder() / record["scale"] / f"{record['slug']}.json"
    return write_atomically(path, json.dumps(record, indent=1, allow_nan=False) + "\n")


def check(record: Any, source: str) -> None:
    """Raise ValueError, in one line, when `record` lacks a key, has one of another type, or an unknown verdict."""
    if not isinstance(record, dict):
        raise ValueError(f"{source}: a record is a JSON object, got {type(record).__name__}")
    if wrong := [k for k, kind in KEYS.items() if not isinstance(record.get(k), kind)]:
        raise ValueError(f"{source}: missing or malformed {', '.join(wrong)}")
    if record["schema"] != SCHEMA:
        raise ValueError(f"{source}: schema {record['schema']}, this library reads {SCHEMA}")
    scales.name(record["scale"])
    if not record["slug"].isidentifier():
        raise ValueError(f"{source}: {record['slug']!r} is no slug")
    verdicts = [c.get("verdict") if isinstance(c, dict) else c for c in record["claims"]]
    if unknown := [v for v in verdicts if v not in claims_.VERDICTS]:
        raise ValueError(f"{source}: unknown verdict {unknown[0]!r}; known: {', '.join(claims_.VERDICTS)}")


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is no JSON number")


def load(path: str | Path) -> dict[str, Any]:
    """Read and check a record. Raises ValueError, in one line, when it is absent, no JSON, or malformed."""
    source = "/".join(Path(path).parts[-3:])
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=_no_constant)
    except (OSError, ValueError) as error:
        raise ValueError(f"{source} cannot be read: {error}") from error
    check(record, source)
    return record


def current(path: str | Path) -> dict[str, Any]:
    """`load`, and refuse a record that another version of the code or of the claims made (ValueError)."""
    record = load(path)
    if not is_current(record):
        raise ValueError(
            f"{record['slug']} at {record['scale']} scale: the record is from another code version; run again"
        )
    return record


def is_current(record: dict[str, Any]) -> bool:
    """Whether the present code would make this record."""
    return record["digest"].get("code") == code_digest(record["slug"])


def at_full_scale(slug: str) -> dict[str, Any] | None:
    """The committed full-scale record of a chapter, or None where it was not run at that scale.

    It may come from older code, because running it anew takes a GPU: ask `is_current`. Raises ValueError as `load`.
    """
    path = ROOT / "results" / "full" / f"{slug}.json"
    return load(path) if path.is_file() else None
