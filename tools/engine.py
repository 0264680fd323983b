"""The engine: chapters x scales x seeds through ``workflow/Snakefile``, on this machine or a cluster.

`schedule` writes down what is wanted and lets Snakemake run it; the functions above it answer the Snakefile's
questions. Where Snakemake is not installed (a bare GPU machine, Colab) the same jobs run one after another.
"""

import importlib.util
import math
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from iclr26lib.chapters import ROOT
from tools import locks
from tools import request as requests
from tools.execute import runs_folder
from tools.request import Request, read

__all__ = ["before", "need", "profiles", "read", "schedule", "seed_records", "targets"]

PROFILES = Path(__file__).resolve().parents[1] / "workflow" / "profiles"
MEGABYTES_NEEDED = 50


def need(request: Request, slug: str, field: str) -> int:
    """What Snakemake reserves for a job: "threads", "memory_mb", "runtime" in minutes, or "gpu" as 0 or 1."""
    needs = request.resources(slug)
    if field == "gpu":
        return int(needs.gpu and request.needs_gpu)
    return math.ceil(3 * needs.minutes) + 5 if field == "runtime" else getattr(needs, field)


def before(request: Request, slug: str, name: str) -> list[str]:
    """Marks of the notebooks of a chapter that run before this one: the cheap one fails first."""
    names = requests.in_order(request.wanted[slug])
    return [f"{request.marks}/{slug}/{earlier}.done" for earlier in names[: names.index(name)]]


def seed_records(request: Request, slug: str) -> list[str]:
    """The records of all seeds that a chapter's sweep asks for."""
    return [f"{request.sweep(slug)}/seed-{number}.json" for number in request.wanted[slug]]


def targets(request: Request) -> list[str]:
    """The files that stand for everything that is wanted."""
    if request.action == "sweep":
        return [f"{request.marks}/{slug}/merged.done" for slug in request.wanted]
    return [f"{request.marks}/{slug}/{name}.done" for slug, names in request.wanted.items() for name in names]


def jobs(request: Request) -> list[list[str]]:
    """All jobs in an order that is right when they run one after another; finished seeds are left out."""
    if request.action != "sweep":
        return [["notebook", slug, name] for slug, names in request.wanted.items() for name in requests.in_order(names)]
    found = []
    for slug, seeds in request.wanted.items():
        left = [n for n in seeds if not (request.sweep(slug) / f"seed-{n}.json").is_file()]
        found += [["seed", slug, str(number)] for number in left] + [["merge", slug]]
    return found


def profiles() -> list[str]:
    """Names of the profiles that the repository brings."""
    return sorted(path.parent.name for path in PROFILES.glob("*/config.yaml"))


def snakemake(path: Path, request: Request, profile: str, cores: int) -> list[str]:
    """The command line of Snakemake for a request. `profile`: a name of ours, or a folder with a config.yaml."""
    folder = PROFILES / profile if profile in profiles() else Path(profile)
    if not (folder / "config.yaml").is_file():
        raise ValueError(f"unknown profile {profile!r}; known: {', '.join(profiles())}, or a folder with a config.yaml")
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(PROFILES.parent / "Snakefile")]
    command += ["--directory", str(Path(request.runs) / "engine"), "--profile", str(folder.resolve())]
    command += ["--config", f"request={path}", "--quiet", "all"]
    if cores:
        command += ["--cores", str(cores)]
    if profile == "local":
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
        command += ["--resources", f"mem_mb={memory}", f"gpu={len(locks.cards())}"]
    return command


def one_after_another(path: Path, request: Request) -> int:
    """Run all jobs of a request without Snakemake; a chapter stops at its first job that fails."""
    failed: set[str] = set()
    for kind, slug, *rest in jobs(request):
        if slug not in failed:
            command = [sys.executable, "-m", "tools.job", str(path), kind, slug, *rest]
            if subprocess.run(command, cwd=Path(__file__).resolve().parents[1]).returncode:
                failed.add(slug)
    return 1 if failed else 0


def has_snakemake() -> bool:
    """Whether Snakemake is installed beside this Python."""
    return importlib.util.find_spec("snakemake") is not None


def schedule(
    action: str,
    scale: str,
    wanted: dict[str, list],
    parameters: dict | None = None,
    *,
    profile: str = "local",
    cores: int = 0,
    limit: float = 0,
    root: Path = ROOT,
) -> int:
    """Run what is wanted and return 0, or 1 when something failed, each failure said in one line.

    action, scale, wanted, parameters, limit: see `Request`. cores: 0 for what the profile says. Raises ValueError for
    an unknown profile, overrides that count seeds in a sweep, or a GPU that was asked for and is not here.
    """
    runs = runs_folder(root)
    _check_disk(runs)
    gpu = _wants_gpu((parameters or {}).get("device", "auto"), profile)
    (runs / "engine").mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{action}-", dir=runs / "engine"))
    request = Request(action, scale, wanted, str(runs), str(folder), parameters or {}, limit, gpu, str(root))
    for slug in wanted:
        request.resources(slug)
        if action == "sweep":
            request.of_seed(slug, 0)
    try:
        return _run(requests.write(request), request, profile, cores)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(path: Path, request: Request, profile: str, cores: int) -> int:
    if not has_snakemake() and profile in ("local", "gpu"):
        return one_after_another(path, request)
    command = snakemake(path, request, profile, cores)
    here = str(Path(__file__).resolve().parents[1])
    search = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": search})
    said = sorted(request.said.glob("*")) if request.said.is_dir() else []
    if done.returncode and not said:
        print(
            f"error: the engine stopped with exit code {done.returncode}; {_log(request)} tells more", file=sys.stderr
        )
    if done.returncode and profile not in ("local", "gpu"):
        print("".join(line.read_text(encoding="utf-8") for line in said), end="", file=sys.stderr)
    return 1 if done.returncode else 0


def _log(request: Request) -> str:
    """Where Snakemake wrote down what it did last."""
    logs = sorted(
        (Path(request.runs) / "engine" / ".snakemake" / "log").glob("*"), key=lambda path: path.stat().st_mtime
    )
    return str(logs[-1]) if logs else "nothing"


def _check_disk(runs: Path) -> None:
    """Raise ValueError when the disk is so full that not even a log could be written."""
    runs.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(runs).free / 2**20
    if free < MEGABYTES_NEEDED:
        raise ValueError(
            f"the disk is full: {free:.0f} MB are free at {runs}, {MEGABYTES_NEEDED} are needed; make room"
        )


def _wants_gpu(device: str, profile: str) -> bool:
    """Whether jobs that like a GPU get one. Raises ValueError for "cuda" on a machine of ours without."""
    if device in ("cpu", "mps"):
        return False
    here = bool(locks.cards())
    if device == "cuda" and profile in ("local", "gpu") and not here:
        raise ValueError("device 'cuda' is not present on this machine; use 'auto' or 'cpu'")
    return here or profile not in ("local", "gpu")
