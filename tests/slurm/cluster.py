"""A private Slurm of one node, for tests: `python3 tests/slurm/cluster.py start|stop|status|run [...] [-- COMMAND]`.

It needs Debian's slurm-wlm and munge, no accounting database, no cgroups and no configuration of the machine: sockets,
keys, ports, state and logs are its own, in one temporary folder, which `stop` removes. Works as root and as a user.
"""

from __future__ import annotations

import argparse
import contextlib
import getpass
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

DAEMONS = ("slurmctld", "slurmd", "munged")  # in the order in which they end
CLIENTS = ("sbatch", "srun", "squeue", "scancel", "scontrol", "sinfo")
SBIN = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
MARK = "one-node-slurm"
PATIENCE = 30.0

CONFIGURATION = """# One node, this machine. Written by tests/slurm/cluster.py.
ClusterName=onenode
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={control_port}
SlurmdPort={node_port}
# No daemon of the machine is touched: munge answers on a socket of its own.
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmUser={user}
SlurmdUser={user}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
# No cgroups: the processes of a job are found by their parents.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
MailProg=/bin/true
# No accounting: only squeue knows what became of a job, for MinJobAge seconds after its end.
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
MinJobAge=300
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=bf_interval=2,sched_interval=2
# A job that is cancelled has this many seconds between SIGTERM and SIGKILL.
KillWait=5
ReturnToService=2
SlurmdParameters=config_overrides
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} Gres=gpu:{gpus} State=UNKNOWN
PartitionName=onenode Nodes={host} Default=YES MaxTime=60 State=UP
"""


class NoCluster(Exception):
    """The cluster cannot be had; the message is one line that says what is missing."""


def missing(which=shutil.which) -> list[str]:
    """Return the programs that this machine lacks."""
    return [name for name in (*DAEMONS, *CLIENTS) if which(name, path=SBIN) is None]


def free_ports(count: int) -> list[int]:
    """Return different TCP ports that nobody uses now."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def configure(folder: Path, cpus: int, gpus: int) -> None:
    """Write what the daemons read. The GPUs are pretended: jobs wait for them in turn, no device is there."""
    ports = free_ports(2)
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    host = socket.gethostname().split(".")[0]
    text = CONFIGURATION.format(
        host=host, control_port=ports[0], node_port=ports[1], folder=folder, user=getpass.getuser(),
        cpus=cpus, memory=memory, gpus=gpus,
    )  # fmt: skip
    (folder / "slurm.conf").write_text(text, encoding="utf-8")
    devices = [folder / f"gpu{number}" for number in range(gpus)]
    (folder / "gres.conf").write_text("".join(f"Name=gpu File={device}\n" for device in devices), encoding="utf-8")
    for path in devices:
        path.touch()
    key = folder / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(128))
    for name in ("state", "spool"):
        (folder / name).mkdir()


def environment(folder: Path) -> dict[str, str]:
    """Return the environment in which Slurm's commands talk to this cluster, without traces of an outer job."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SLURM_", "SBATCH_"))}
    return {**kept, "PATH": f"{folder}/bin{os.pathsep}{SBIN}", "SLURM_CONF": f"{folder}/slurm.conf"}


def wrap_clients(folder: Path) -> None:
    """Put commands into FOLDER/bin that know their cluster by themselves.

    Snakemake clears SLURM_CONF inside a job before it calls srun, so the variable alone would not do.
    """
    (folder / "bin").mkdir()
    for name in CLIENTS:
        path = folder / "bin" / name
        real = shutil.which(name, path=SBIN)
        path.write_text(f'#!/bin/sh\nSLURM_CONF={folder}/slurm.conf exec {real} "$@"\n', encoding="utf-8")
        path.chmod(0o755)


def launch(folder: Path) -> None:
    """Start the three daemons; each goes into the background and writes its pid file. Raises NoCluster."""
    munged = ["munged", f"--key-file={folder}/munge.key", f"--socket={folder}/munge.socket"]
    munged += [
        f"--pid-file={folder}/munged.pid",
        f"--log-file={folder}/munged.log",
        f"--seed-file={folder}/munged.seed",
    ]
    for command in (munged, ["slurmctld"], ["slurmd"]):
        with (folder / f"{command[0]}.start").open("wb") as words:
            code = subprocess.run(
                command, env=environment(folder), cwd=folder, stdin=subprocess.DEVNULL, stdout=words, stderr=words
            ).returncode
        if code:
            raise NoCluster(f"{command[0]} did not start: {last_words(folder, command[0])}")


def last_words(folder: Path, daemon: str) -> str:
    """Return the last line that a daemon said."""
    texts = [folder / f"{daemon}.start", folder / f"{daemon}.log"]
    lines = [line for path in texts if path.is_file() for line in path.read_text(errors="replace").splitlines()]
    return next((line for line in reversed(lines) if line.strip()), "it said nothing")


def state(folder: Path) -> str:
    """Return what Slurm calls the state of the node, or "" when it does not answer."""
    command = ["sinfo", "--noheader", "--format=%T"]
    answer = subprocess.run(command, env=environment(folder), capture_output=True, text=True)
    return answer.stdout.strip() if answer.returncode == 0 else ""


def await_idle(folder: Path, patience: float = PATIENCE) -> None:
    """Wait until the node takes jobs. Raises NoCluster with the daemons' last words."""
    until = time.monotonic() + patience
    while (found := state(folder)) != "idle":
        if time.monotonic() > until:
            words = "; ".join(f"{name}: {last_words(folder, name)}" for name in DAEMONS)
            raise NoCluster(f"the node is '{found}' after {patience:.0f} s. {words}")
        time.sleep(0.2)


def start(cpus: int = 2, gpus: int = 1) -> Path:
    """Start a cluster and return its folder. Raises NoCluster, leaving nothing behind."""
    if lacking := missing():
        raise NoCluster(f"{', '.join(lacking)} missing: on Debian `apt-get install slurm-wlm munge`")
    folder = Path(tempfile.mkdtemp(prefix=f"{MARK}-"))
    folder.chmod(0o711)  # munged wants its socket to be within reach of everyone
    (folder / MARK).touch()
    try:
        configure(folder, cpus, gpus)
        wrap_clients(folder)
        launch(folder)
        await_idle(folder)
    except BaseException:
        stop(folder)
        raise
    return folder


def alive(folder: Path, daemon: str) -> int | None:
    """Return the process id of a daemon of this cluster, None when it is gone, a zombie, or the id was reused."""
    try:
        pid = int((folder / f"{daemon}.pid").read_text())
        found = Path(f"/proc/{pid}/stat").read_text()
        return pid if f"({daemon})" in found and found.rpartition(")")[2].split()[0] != "Z" else None
    except (FileNotFoundError, ProcessLookupError, ValueError):
        return None


def end(folder: Path, daemon: str, patience: float = 10.0) -> None:
    """End a daemon by its pid file: SIGTERM, and SIGKILL when it takes too long."""
    until, sent = time.monotonic() + patience, signal.SIGTERM
    pid = alive(folder, daemon)
    while pid is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, sent)
        time.sleep(0.1)
        pid = alive(folder, daemon)
        if time.monotonic() > until:
            sent = signal.SIGKILL


def stop(folder: Path) -> None:
    """Cancel all jobs, end the daemons, remove the folder. Does nothing where there is no cluster."""
    if not (folder / MARK).is_file():
        return
    if alive(folder, "slurmctld"):
        cancel = ["scancel", f"--user={getpass.getuser()}"]
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(cancel, env=environment(folder), capture_output=True, timeout=10)
            await_no_jobs(folder)
    for daemon in DAEMONS:
        end(folder, daemon)
    shutil.rmtree(folder, ignore_errors=True)


def await_no_jobs(folder: Path, patience: float = 15.0) -> None:
    """Wait until the processes of cancelled jobs are gone, so that none outlives the cluster."""
    until = time.monotonic() + patience
    command = ["squeue", "--noheader", "--format=%i"]
    while time.monotonic() < until:
        answer = subprocess.run(command, env=environment(folder), capture_output=True, text=True, timeout=10)
        if answer.returncode or not answer.stdout.strip():
            return
        time.sleep(0.2)


@contextlib.contextmanager
def cluster(cpus: int = 2, gpus: int = 1) -> Iterator[dict[str, str]]:
    """Yield the environment of a cluster that lives as long as the block; a guard ends it if this process is killed."""
    folder = start(cpus, gpus)
    try:
        guard(folder, os.getpid())
        yield environment(folder)
    finally:
        stop(folder)


def guard(folder: Path, owner: int) -> None:
    """Start a process that stops the cluster when the owner is gone, and ends when the cluster is."""
    command = [sys.executable, __file__, "guard", "--folder", str(folder), "--owner", str(owner)]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.Popen(command, start_new_session=True, **quiet)


def watch(folder: Path, owner: int) -> int:
    """Wait for the end of the owner or of the cluster; stop the cluster in the first case."""
    began = started(owner)
    while (folder / MARK).is_file() and began is not None and started(owner) == began:
        time.sleep(0.5)
    stop(folder)
    return 0


def started(pid: int) -> str | None:
    """Return when a process started, None when it is gone: an id that was reused has another answer."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (FileNotFoundError, ProcessLookupError):
        return None


def run(command: list[str], cpus: int, gpus: int) -> int:
    """Run a command inside a cluster of its own and return its exit code."""
    with cluster(cpus, gpus) as variables:
        process = subprocess.Popen(command, env=variables, start_new_session=True)
        try:
            return process.wait()
        finally:
            end_group(process)


def end_group(process: subprocess.Popen, patience: float = 20.0) -> None:
    """End a command and what it started: first as Ctrl-C would, then by force."""
    for sent in (signal.SIGINT, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, sent)
            process.wait(patience)


def report(folder: Path) -> int:
    """Print the state of the node and of the daemons in one line; return 0 when jobs can run."""
    found = state(folder) if (folder / MARK).is_file() else ""
    running = [name for name in DAEMONS if alive(folder, name)]
    print(f"node {found or 'not there'}; running: {', '.join(running) or 'nothing'}; {folder}")
    return 0 if found in ("idle", "mixed", "allocated") else 1


def main(arguments: list[str] | None = None) -> int:
    """Run a command; return its exit code, or 1 after one line that says what is missing."""
    words = sys.argv[1:] if arguments is None else arguments
    cut = words.index("--") if "--" in words else len(words)
    options = parse(words[:cut])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    signal.signal(signal.SIGHUP, lambda *_: sys.exit(129))
    try:
        return act(options, words[cut + 1 :])
    except NoCluster as lacking:
        print(f"error: {lacking}", file=sys.stderr)
        return 1


def parse(words: list[str]) -> argparse.Namespace:
    """Read the command line up to `--`."""
    parser = argparse.ArgumentParser(prog="cluster.py", description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=["start", "stop", "status", "run", "guard"])
    parser.add_argument("--cpus", type=int, default=2)
    parser.add_argument("--gpus", type=int, default=1, help="pretended GPUs")
    parser.add_argument("--folder", type=Path, default=Path(os.environ.get("SLURM_CONF") or "/nowhere/-").parent)
    parser.add_argument("--owner", type=int, help="end the cluster when this process ends")
    return parser.parse_args(words)


def act(options: argparse.Namespace, command: list[str]) -> int:
    """Do what the command line asks for."""
    if options.action == "run":
        if not command:
            raise NoCluster("run what? `cluster.py run -- COMMAND ...`")
        return run(command, options.cpus, options.gpus)
    if options.action == "status":
        return report(options.folder)
    if options.action == "guard":
        return watch(options.folder, options.owner)
    if options.action == "stop":
        stop(options.folder)
        return 0
    folder = start(options.cpus, options.gpus)
    if options.owner:
        guard(folder, options.owner)
    print(f"export SLURM_CONF={folder}/slurm.conf")
    print(f"export PATH={folder}/bin:$PATH")
    return 0


if __name__ == "__main__":
    sys.exit(main())
