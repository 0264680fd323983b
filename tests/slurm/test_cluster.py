"""The one-node Slurm: it runs jobs, keeps GPU jobs apart, and leaves nothing behind however it ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.slurm import cluster

SCRIPT = Path(cluster.__file__)
needs_slurm = pytest.mark.skipif(bool(cluster.missing()), reason="needs Debian's slurm-wlm and munge")


def ask(command: str, variables: dict[str, str]) -> str:
    """Return what a shell command prints inside the cluster."""
    return subprocess.run(
        ["sh", "-c", command], env=variables, capture_output=True, text=True, check=True, timeout=60
    ).stdout.strip()


def until(condition, patience: float = 15.0) -> bool:
    """Wait until a condition holds; return whether it did in time."""
    end = time.monotonic() + patience
    while not condition() and time.monotonic() < end:
        time.sleep(0.1)
    return condition()


def test_says_in_one_line_what_is_missing(capsys, monkeypatch):
    monkeypatch.setattr(cluster, "SBIN", "/nonexistent")
    assert cluster.main(["start"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert "slurmctld" in lines[0]
    assert "apt-get install slurm-wlm munge" in lines[0]


def test_options_after_the_dashes_belong_to_the_command():
    assert cluster.parse(["run", "--gpus", "0"]).gpus == 0
    with pytest.raises(SystemExit):
        cluster.parse(["run", "--profile", "x"])


def test_stop_touches_no_folder_that_is_not_a_cluster(tmp_path):
    (tmp_path / "precious").touch()
    cluster.stop(tmp_path)
    assert (tmp_path / "precious").exists()


def test_a_reused_process_id_is_not_a_daemon(tmp_path):
    (tmp_path / "munged.pid").write_text(str(os.getpid()))
    assert cluster.alive(tmp_path, "munged") is None


@needs_slurm
def test_runs_jobs_and_cleans_up():
    with cluster.cluster() as variables:
        folder = Path(variables["SLURM_CONF"]).parent
        assert ask("sinfo -h -o %T", variables) == "idle"
        assert ask("srun -n2 echo here", variables).split() == ["here", "here"]
        # As inside a job of Snakemake: the variable is gone, the wrapped command finds its cluster all the same.
        assert ask("unset SLURM_CONF; srun echo here", variables) == "here"
        daemons = [cluster.alive(folder, name) for name in cluster.DAEMONS]
        assert all(daemons)
    assert not folder.exists()
    assert not any(Path(f"/proc/{pid}/exe").exists() for pid in daemons)


@needs_slurm
def test_two_jobs_do_not_share_the_gpu():
    with cluster.cluster(gpus=1) as variables:
        job = "sbatch --parsable --gpus=1 --mem=100 --output=/dev/null --wrap 'sleep 60'"
        first, second = ask(job, variables), ask(job, variables)
        assert until(lambda: ask(f"squeue -h -j {first} -o %T", variables) == "RUNNING")
        assert until(lambda: ask(f"squeue -h -j {second} -o %r", variables) == "Resources")
        # Slurm plans whole nodes ahead: what is short enough to end before the second job may start runs beside.
        beside = ask("sbatch --parsable --time=5 --mem=100 --output=/dev/null --wrap 'sleep 60'", variables)
        assert until(lambda: ask(f"squeue -h -j {beside} -o %T", variables) == "RUNNING")


@needs_slurm
def test_a_cancelled_job_leaves_no_process(tmp_path):
    mark = tmp_path / "pid"
    with cluster.cluster() as variables:
        # A Jupyter kernel sits in a session of its own, too.
        job = ask(f"sbatch --parsable --output=/dev/null --wrap 'setsid sleep 99 & echo $! > {mark}; wait'", variables)
        assert until(lambda: mark.exists() and mark.read_text().strip() != "")
        pid = int(mark.read_text())
        assert Path(f"/proc/{pid}/exe").exists()
        ask(f"scancel {job}", variables)
        assert until(lambda: not Path(f"/proc/{pid}/exe").exists())


@needs_slurm
def test_the_cluster_ends_with_a_killed_owner():
    command = [sys.executable, str(SCRIPT), "run", "--", "sh", "-c", 'echo "$SLURM_CONF"; exec sleep 5']
    owner = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    folder = Path(owner.stdout.readline().strip()).parent
    munged = cluster.alive(folder, "munged")
    assert munged
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    assert until(lambda: not folder.exists())
    assert not Path(f"/proc/{munged}/exe").exists()
