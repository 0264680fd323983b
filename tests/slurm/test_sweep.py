"""A sweep through a real scheduler: four seeds, one job killed and tried again, records merged. `make test-slurm`."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from iclr26lib import records
from iclr26lib.chapters import ROOT
from tests.slurm.cluster import NoCluster, cluster
from tools import engine

SLUG = "bep"


@pytest.fixture(scope="module")
def slurm() -> dict[str, str]:
    """The environment of a one-node cluster."""
    try:
        with cluster(cpus=2, gpus=0) as environment:
            yield environment
    except NoCluster as error:
        pytest.fail(str(error))


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    """The repository's profile, looking at the queue more often."""
    text = (engine.PROFILES / "slurm/config.yaml").read_text()
    quick = re.sub(r"(slurm-init-seconds-before-status-checks|latency-wait): \d+", r"\1: 3", text)
    assert quick != text
    (tmp_path / "profile").mkdir()
    (tmp_path / "profile/config.yaml").write_text(quick)
    return tmp_path / "profile"


def queue(environment: dict[str, str]) -> list[tuple[str, str]]:
    """(number, comment) of the jobs that run; the comment names rule and wildcards."""
    command = ["squeue", "--noheader", "--states=RUNNING", "--format=%i|%k"]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    return [tuple(line.split("|", 1)) for line in said.splitlines()]


def kill_one(environment: dict[str, str], process: subprocess.Popen, runs: Path) -> str:
    """Kill, as a crash would, every process of the job that trains seed 1 once its notebook is at work."""
    end = time.monotonic() + 120
    while time.monotonic() < end and process.poll() is None:
        at_work = list(runs.glob("sweeps/*/*/seed-1/.evidence.running.ipynb"))
        found = [number for number, comment in queue(environment) if comment.rstrip().endswith("_1")]
        if at_work and found:
            subprocess.run(["scancel", "-s", "KILL", "--full", found[0]], env=environment, check=True)
            return found[0]
        time.sleep(0.3)
    raise AssertionError("the job of seed 1 never ran")


def test_a_sweep_over_four_seeds_survives_the_loss_of_a_job(
    slurm: dict[str, str], profile: Path, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    environment = {**os.environ, **slurm, "ICLR26_RUNS": str(runs)}
    command = [sys.executable, "-m", "tools.run", "--chapter", SLUG, "--scale", "smoke"]
    sweep = [*command, "--seeds", "0-3", "--profile", str(profile)]
    process = subprocess.Popen(sweep, cwd=ROOT, env=environment)
    killed = kill_one(environment, process, runs)
    assert process.wait(420) == 0
    state = ["squeue", "--noheader", "--states=all", f"--jobs={killed}", "--format=%T"]
    assert subprocess.run(state, env=environment, capture_output=True, text=True).stdout.strip() != "COMPLETED"
    merged = records.load(runs / "smoke" / f"{SLUG}.json")
    assert merged["seeds"] == [0, 1, 2, 3]
    assert all(len(measured["ours"]) == 4 for measured in merged["measurements"].values())
    plain = [*command, "--seed", "1", "--notebook", "evidence", "--set", "seeds=1, ablation_seeds=1"]
    here = {**environment, "ICLR26_RUNS": str(tmp_path / "here")}
    assert subprocess.run(plain, cwd=ROOT, env=here).returncode == 0
    alone = json.loads((tmp_path / "here/smoke" / f"{SLUG}.json").read_text())
    for claim, measured in alone["measurements"].items():
        assert measured["ours"] == [merged["measurements"][claim]["ours"][1]], (
            "the retried seed differs from a plain run"
        )
