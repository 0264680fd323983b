"""The engine: chapters x scales x seeds through ``workflow/Snakefile``, on this machine or a cluster.

`schedule` checks and writes down what is wanted and lets Snakemake run it. Where Snakemake is not installed (a bare GPU
machine, Colab) the same jobs run one after another.
"""

import importlib.util
import shutil
import sys
import tempfile
from pathlib import Path

import psutil

from iclr26lib.chapters import ROOT
from tools import locks, plan, promote
from tools import request as requests
from tools.attend import HERE, STOPPED, attended
from tools.execute import runs_folder
from tools.request import Request

PROFILES = HERE / "workflow" / "profiles"
OURS = ("local", "gpu")
DEVICES = ("auto", "cpu", "cuda", "mps")
MEGABYTES_NEEDED = 50


def profiles() -> list[str]:
    """Names of the profiles that the repository brings."""
    return sorted(path.parent.name for path in PROFILES.glob("*/config.yaml"))


def snakemake(request: Request, profile: str, cores: int) -> list[str]:
    """The command line of Snakemake for a request. `profile`: a name of ours, or a folder with a config.yaml."""
    folder = PROFILES / profile if profile in profiles() else Path(profile)
    if not (folder / "config.yaml").is_file():
        raise ValueError(f"unknown profile {profile!r}; known: {', '.join(profiles())}, or a folder with a config.yaml")
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(HERE / "workflow" / "Snakefile")]
    command += ["--directory", str(Path(request.runs) / "engine"), "--profile", str(folder.resolve()), "--quiet", "all"]
    if cores:
        command += ["--cores", str(cores)]
    if profile == "local":
        command += ["--resources", f"mem_mb={_memory(request)}", f"gpu={len(locks.cards())}"]
    return command


def _memory(request: Request) -> int:
    """The memory, in MB, that jobs may share: what is free, or what the largest wants, which then runs alone."""
    free = psutil.virtual_memory().available // 2**20
    largest = max(plan.need(request, slug, "memory_mb") for slug in request.wanted)
    if largest > free:
        print(f"a job may need {largest} MB of memory and {free} are free: it may fail", file=sys.stderr)
    return max(free, largest)


def has_snakemake() -> bool:
    """Whether Snakemake is installed beside this Python."""
    return importlib.util.find_spec("snakemake") is not None


def schedule(
    action: str, scale: str, wanted: dict[str, list], parameters: dict | None = None, *,
    profile: str = "local", cores: int = 0, limit: float = 0, root: Path = ROOT,
) -> int:  # fmt: skip
    """Run what is wanted; return 0, 1 when something failed, each failure said in one line, or 130 when stopped.

    action, scale, wanted, parameters, limit: see `Request`. cores: 0 for what the profile says. Raises ValueError for
    an unknown profile or device, overrides that count seeds in a sweep, or a GPU that was asked for and is not here.
    """
    parameters, runs = parameters or {}, runs_folder(root)
    gpu = _wants_gpu(parameters.get("device", "auto"), profile)
    _check_folder(runs)
    folder = Path(tempfile.mkdtemp(prefix=f"{action}-", dir=runs / "engine"))
    keys = {slug: requests.key(slug, scale, parameters, root) for slug in wanted} if action == "sweep" else {}
    request = Request(action, scale, wanted, str(runs), str(folder), parameters, limit, gpu, keys, str(root))
    try:
        _check_chapters(request)
        return _run(requests.write(request), request, profile, cores)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(path: Path, request: Request, profile: str, cores: int) -> int:
    """Run a request through Snakemake, or without it, and say what Snakemake itself keeps to its log."""
    if not has_snakemake() and profile in OURS:
        return one_after_another(path, request)
    command, patience = snakemake(request, profile, cores), 0 if profile in OURS else 60
    code = attended(command, {"ICLR26_REQUEST": str(path)}, patience)
    said = sorted(request.said.glob("*")) if request.said.is_dir() else []
    if code not in (0, STOPPED) and not said:
        print(f"error: the engine stopped with exit code {code}; {_log(request)} tells more", file=sys.stderr)
    if profile not in OURS:  # what jobs say elsewhere is not seen here
        print("".join(line.read_text(encoding="utf-8") for line in said), end="", file=sys.stderr)
    return code if code in (0, STOPPED) else 1


def one_after_another(path: Path, request: Request) -> int:
    """Run all jobs of a request without Snakemake; a chapter stops at its first job that fails."""
    failed: set[str] = set()
    for kind, slug, *rest in plan.jobs(request):
        if slug in failed:
            continue
        code = attended([sys.executable, "-m", "tools.job", str(path), kind, slug, *rest])
        if code == STOPPED:
            return STOPPED
        if code:
            failed.add(slug)
    return 1 if failed else 0


def _log(request: Request) -> str:
    """Where Snakemake wrote down what it did last."""
    logs = (Path(request.runs) / "engine" / ".snakemake" / "log").glob("*")
    return str(max(logs, key=lambda path: path.stat().st_mtime, default="nothing"))


def _check_folder(runs: Path) -> None:
    """Make the folder of runs; raise ValueError for a full disk, or a path that Snakemake cannot use."""
    if set(str(runs)) & set("{}*?[]"):
        raise ValueError(f"the folder of runs must not hold any of {{}}*?[]: {runs}")
    (runs / "engine").mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(runs).free / 2**20
    if free < MEGABYTES_NEEDED:
        raise ValueError(f"the disk is full: {free:.0f} MB free at {runs}, {MEGABYTES_NEEDED} needed; make room")


def _check_chapters(request: Request) -> None:
    """Raise ValueError for chapters that cannot say what they need; put records of seeds that are of no use aside."""
    for slug, wanted in request.wanted.items():
        request.resources(slug)
        if request.action == "sweep":
            request.of_seed(slug, 0)
            for number in wanted:
                _check_seed(request, slug, request.sweep(slug) / f"seed-{number}.json")


def _check_seed(request: Request, slug: str, path: Path) -> None:
    try:
        if path.is_file():
            promote.of_this_code(path, slug, request.scale, Path(request.root))
    except ValueError as error:
        print(f"{error}; its seed runs again", file=sys.stderr)
        path.replace(path.with_suffix(".unusable"))


def _wants_gpu(device: str, profile: str) -> bool:
    """Whether jobs that like a GPU get one. Raises ValueError for an unknown device, or a GPU that is not here."""
    if device not in DEVICES:
        raise ValueError(f"unknown device {device!r}; known: {', '.join(DEVICES)}")
    here = bool(locks.cards())
    if not here and (profile == "gpu" or (device == "cuda" and profile == "local")):
        raise ValueError("device 'cuda' is not present on this machine; use DEVICE=auto or cpu, and PROFILE=local")
    return device in ("auto", "cuda") and (here or profile not in OURS)
