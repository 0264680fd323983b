"""The engine: sweeps and merges, kills at any moment, and every way in which a run can fail."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from iclr26lib import records, resources
from tests import sweeping
from tools import engine, execute, job, locks, plan, run
from tools import request as requests

SCALE = "smoke"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with the chapter whose evidence trains seed after seed."""
    monkeypatch.delenv("ICLR26_RUNS", raising=False)
    monkeypatch.setenv("TOY_LOG", str(tmp_path / "log"))
    return sweeping.lay_down(tmp_path / "repository")


def started(root: Path) -> list[int]:
    """Seeds whose training began, in order."""
    log = root.parent / "log"
    return [int(line) for line in log.read_text().split()] if log.is_file() else []


def record(root: Path) -> dict:
    return json.loads((root / "runs" / SCALE / "toy.json").read_text())


def go(root: Path, *arguments: str) -> int:
    return run.main(["--chapter", "toy", "--scale", SCALE, *arguments], root)


def steady(found: dict) -> dict:
    """A record without what a clock says."""
    return {key: value for key, value in found.items() if key not in ("cost", "date")}


# --- sweeps


@pytest.mark.snakemake
def test_a_sweep_is_merged_and_finished_seeds_are_kept(root: Path, capfd: pytest.CaptureFixture) -> None:
    assert go(root, "--seeds", "0-2", "--set", "seconds=0.1") == 0
    assert record(root)["seeds"] == [0, 1, 2]
    assert sorted(started(root)) == [0, 1, 2]
    assert go(root, "--seeds", "0-3", "--set", "seconds=0.1") == 0
    assert record(root)["seeds"] == [0, 1, 2, 3]
    assert sorted(started(root)) == [0, 1, 2, 3]
    assert "4 seeds merged into runs/smoke/toy.json" in capfd.readouterr().out


def test_a_sweep_gives_what_one_run_gives(root: Path) -> None:
    assert go(root, "--seeds", "0-2", "--set", "seconds=0") == 0
    swept = record(root)
    assert go(root, "--set", "seconds=0, seeds=3", "--notebook", "evidence") == 0
    whole = record(root)
    same = ("seeds", "measurements", "claims", "parameters", "digest", "environment", "hardware")
    assert {key: swept[key] for key in same} == {key: whole[key] for key in same}
    assert [part["seeds"] for part in swept["tables"]["parts"]] == [[0], [1], [2]]


def test_changed_code_or_settings_make_new_seeds(root: Path) -> None:
    assert go(root, "--seeds", "0-1", "--set", "seconds=0") == 0
    work = root / "iclr26lib/toy/work.py"
    work.write_text(work.read_text().replace("7919", "7907"))
    assert go(root, "--seeds", "0-1", "--set", "seconds=0") == 0
    assert started(root) == [0, 1, 0, 1]
    assert record(root)["measurements"]["T1"]["ours"] == [7907 / 104729, 2 * 7907 / 104729]
    assert go(root, "--seeds", "0-1", "--set", "seconds=0, nothing=3") == 0
    assert len(started(root)) == 6


def test_one_seed_that_fails_stops_no_other(
    root: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture
) -> None:
    monkeypatch.setenv("TOY_FAILS_AT", "1")
    monkeypatch.setenv("TOY_ERROR", "RuntimeError('it went wrong')")
    monkeypatch.setattr(engine, "has_snakemake", lambda: True)
    assert go(root, "--seeds", "0-2", "--set", "seconds=0") == 1
    errors = [line for line in capfd.readouterr().err.splitlines() if line.startswith("error")]
    assert len(errors) == 1
    assert "RuntimeError: it went wrong" in errors[0]
    assert sorted(started(root)) == [0, 1, 2]
    monkeypatch.setenv("TOY_FAILS_AT", "-1")
    assert go(root, "--seeds", "0-2", "--set", "seconds=0") == 0
    assert sorted(started(root)) == [0, 1, 1, 2]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--seeds", "3-1"], "SEEDS='3-1' must look like 0-3 or 0-3,7"),
        (["--seeds", "0-1", "--set", "seeds=3"], "SEEDS and SET both set seeds"),
        (["--seeds", "0-1", "--seed", "4"], "leave out SEED"),
        (["--seeds", "0-99999999"], "with at most 10000 seeds"),
        (["--seed", "1.5"], "SEED='1.5' must be a whole number"),
        (["--set", "a=1 b=2"], "SET='a=1 b=2' must look like 'field=value"),
        (["--set", "]"], "SET=']' must look like"),
        (["--set", "x=2020-01-01"], "must look like"),
        (["--limit", "-1"], "LIMIT and cores must be 0 or more"),
        (["--limit", "inf"], "LIMIT and cores must be 0 or more"),
        (["--device", "abacus"], "unknown device 'abacus'; known: auto, cpu, cuda, mps"),
        (["--profile", "gpu"], "device 'cuda' is not present"),
        (["--profile", "nowhere"], "unknown profile 'nowhere'; known: gpu, local, slurm, or a folder"),
        (["--device", "cuda"], "device 'cuda' is not present on this machine; use DEVICE=auto or cpu"),
    ],
)
def test_what_cannot_be_run_is_said_at_once(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, arguments: list[str], said: str
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr(engine, "has_snakemake", lambda: True)
    assert go(root, *arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert said in error
    assert error.count("\n") == 1


def test_seeds_are_read() -> None:
    assert run.seeds("0-3, 7,2") == [0, 1, 2, 3, 7]


def test_several_chapters_are_named(root: Path) -> None:
    assert run.chapters("all", root) == ["toy"]
    with pytest.raises(ValueError, match="toy"):
        run.chapters("toy nonsense", root)


def test_numbers_of_settings_are_numbers(root: Path) -> None:
    assert go(root, "--set", "seconds=1e-3, seeds=1", "--notebook", "evidence") == 0
    assert record(root)["parameters"]["seconds"] == 0.001


def test_a_path_with_spaces_and_signs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_LOG", str(tmp_path / "log"))
    monkeypatch.setattr(engine, "has_snakemake", lambda: True)
    root = sweeping.lay_down(tmp_path / "a place & 'more'")
    monkeypatch.setenv("ICLR26_RUNS", str(root / "runs #1: x"))
    assert go(root, "--seeds", "0-1", "--set", "seconds=0") == 0
    assert json.loads((root / "runs #1: x" / SCALE / "toy.json").read_text())["seeds"] == [0, 1]
    monkeypatch.setenv("ICLR26_RUNS", str(root / "runs{}"))
    assert go(root) == 2


def test_code_that_changes_under_a_run_makes_no_record(root: Path, capfd: pytest.CaptureFixture) -> None:
    assert go(root, "--notebook", "evidence", "--set", "seconds=0, seeds=1") == 0
    earlier = (root / "runs" / SCALE / "toy.json").read_bytes()
    work = root / "iclr26lib/toy/work.py"
    text = work.read_text()
    work.write_text(
        text.replace("time.sleep(seconds)", "Path(__file__).write_text(Path(__file__).read_text() + 'X = 1')")
    )
    assert go(root, "--notebook", "evidence", "--set", "seconds=0.001, seeds=1") == 1
    assert "changed while it ran" in capfd.readouterr().err
    assert (root / "runs" / SCALE / "toy.json").read_bytes() == earlier


def test_a_run_that_fails_after_its_record_leaves_the_earlier_one(root: Path) -> None:
    assert go(root, "--notebook", "evidence", "--set", "seconds=0, seeds=1") == 0
    earlier = (root / "runs" / SCALE / "toy.json").read_bytes()
    evidence = root / "book/toy/evidence.py"
    evidence.write_text(evidence.read_text() + "\n# %%\n1 / 0\n")
    assert go(root, "--notebook", "evidence", "--set", "seconds=0, seeds=2") == 1
    assert (root / "runs" / SCALE / "toy.json").read_bytes() == earlier


def test_a_damaged_record_of_a_seed_is_made_again(root: Path, capfd: pytest.CaptureFixture) -> None:
    assert go(root, "--seeds", "0-1", "--set", "seconds=0") == 0
    whole, path = record(root), next((root / "runs/sweeps").rglob("seed-1.json"))
    path.write_text(path.read_text()[:100])
    assert go(root, "--seeds", "0-1", "--set", "seconds=0") == 0
    assert "its seed runs again" in capfd.readouterr().err
    assert steady(record(root)) == steady(whole)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_asked_to_stop_stops_everything(
    root: Path, how: signal.Signals, capfd: pytest.CaptureFixture
) -> None:
    process = start(root)
    while not started(root):
        time.sleep(0.1)
    family = psutil.Process(process.pid).children(recursive=True)
    assert len(family) >= 3
    process.send_signal(how)
    assert process.wait(20) == 130
    _, alive = psutil.wait_procs(family, timeout=10)
    assert alive == []
    assert "stopped; started again, it goes on where it was" in capfd.readouterr().err.splitlines()
    assert start(root).wait() == 0
    assert record(root)["seeds"] == list(range(6))


# --- kills


def start(root: Path, with_snakemake: bool = True) -> subprocess.Popen:
    """Start the run in a process group of its own."""
    lines = ["import sys", "from pathlib import Path", "from tools import engine, run"]
    lines += [] if with_snakemake else ["engine.has_snakemake = lambda: False"]
    lines += [f"sys.exit(run.main(sys.argv[1:], Path({str(root)!r})))"]
    arguments = ["--chapter", "toy", "--scale", SCALE, "--notebook", "evidence"]
    command = [sys.executable, "-c", "\n".join(lines), *arguments]
    return subprocess.Popen(command, cwd=sweeping.HERE, start_new_session=True)


def kill(process: subprocess.Popen, everything: bool) -> None:
    """Kill the engine, and all that it started if `everything`; else its jobs live on without it."""
    family = psutil.Process(process.pid).children(recursive=True) if everything else []
    for one in [process, *family]:
        try:
            one.send_signal(signal.SIGKILL)
        except psutil.NoSuchProcess:
            continue
    process.wait()


def finished_pieces(root: Path) -> int:
    return len(list((root / "runs/cache/toy").glob("train-*.joblib")))


@pytest.mark.snakemake
def test_a_run_killed_at_ten_points_gives_the_uninterrupted_result(root: Path, capfd: pytest.CaptureFixture) -> None:
    lengths = {}
    for with_snakemake in (True, False):
        began = time.perf_counter()
        assert start(root, with_snakemake).wait() == 0
        lengths[with_snakemake] = time.perf_counter() - began
        if with_snakemake:
            assert started(root) == list(range(6))
            (root / "runs/cache").rename(root / "first")
    whole = record(root)
    draw, kills, rounds = random.Random(0), 0, 0
    while kills < 10:
        for path in (root / "runs/cache/toy").glob("*"):
            path.unlink()
        (root / "runs" / SCALE / "toy.json").unlink()
        rounds += 1
        done = False
        while not done:
            before, pieces = len(started(root)), finished_pieces(root)
            with_snakemake = kills % 4 == 0
            process = start(root, with_snakemake)
            try:
                assert process.wait(draw.uniform(0.3, 1) * lengths[with_snakemake] if kills < 10 else 60) == 0
                done = True
            except subprocess.TimeoutExpired:
                kill(process, everything=kills % 3 != 2)
                kills += 1
            assert set(started(root)[before:]) <= set(range(pieces, 6)), "a finished seed was repeated"
        assert steady(record(root)) == steady(whole)
        left = [path for path in (root / "runs").rglob(".toy.json*") if path.is_file()]
        assert left == [], "an unfinished record was left"
    print(f"{kills} kills in {rounds} rounds")


def test_two_runs_at_once_do_not_disturb_each_other(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = start(root), start(root)
    assert [first.wait(), second.wait()] == [0, 0]
    assert started(root) == list(range(6)), "the second run took the seeds of the first"
    assert record(root)["seeds"] == list(range(6))
    assert (
        json.loads((root / "runs/smoke/toy/evidence.ipynb").read_text())["metadata"]["papermill"]["exception"] is None
    )


def test_a_kept_piece_counts_its_time(root: Path) -> None:
    assert go(root, "--notebook", "evidence", "--set", "seconds=0.2, seeds=3") == 0
    first = record(root)["cost"]["wall_seconds"]
    assert go(root, "--notebook", "evidence", "--set", "seconds=0.2, seeds=3") == 0
    assert started(root) == [0, 1, 2]
    assert first >= 0.6
    assert record(root)["cost"]["wall_seconds"] == pytest.approx(first, abs=0.3)


def test_a_damaged_piece_is_computed_again(root: Path, capfd: pytest.CaptureFixture) -> None:
    assert go(root, "--notebook", "evidence", "--set", "seconds=0, seeds=2") == 0
    whole = record(root)
    next((root / "runs/cache/toy").glob("train-*")).write_bytes(b"half of it")
    assert go(root, "--notebook", "evidence", "--set", "seconds=0, seeds=2") == 0
    assert len(started(root)) == 3
    assert steady(record(root)) == steady(whole)


# --- failures: one line, exit code 1, the earlier result still there


def test_failures_are_one_line_and_leave_what_was_there(
    root: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture
) -> None:
    assert go(root, "--set", "seconds=0") == 0
    kept = {path: path.read_bytes() for path in (root / "runs" / SCALE).rglob("*.*") if path.is_file()}
    cases = {
        "MemoryError('12 GB')": "MemoryError: 12 GB; the memory was not enough",
        "type('OutOfMemoryError', (RuntimeError,), {})('CUDA out of memory. Tried 9 GiB')": "CUDA out of memory.",
        "OSError(28, 'No space left on device', 'x')": "No space left on device",
        "ValueError(\"device 'cuda' is not present on this machine\")": "device 'cuda' is not present",
        "os.kill(os.getpid(), 9)": "the kernel died; most often the machine had no memory left",
    }
    for error, said in cases.items():
        monkeypatch.setenv("TOY_FAILS_AT", "0")
        monkeypatch.setenv("TOY_ERROR", error)
        capfd.readouterr()
        assert go(root, "--notebook", "evidence", "--set", "seconds=0.01, seeds=1") == 1
        errors = [line for line in capfd.readouterr().err.splitlines() if line.startswith("error: ")]
        assert len(errors) == 1
        assert said in errors[0]
        assert {path: path.read_bytes() for path in kept} == kept


def test_a_cell_over_its_limit_is_stopped(root: Path, capfd: pytest.CaptureFixture) -> None:
    began = time.perf_counter()
    assert go(root, "--notebook", "evidence", "--set", "seconds=60", "--limit", "0.05") == 1
    assert time.perf_counter() - began < 30
    errors = [line for line in capfd.readouterr().err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert "a cell took longer than its limit of 0.05 minutes (LIMIT= changes it)" in errors[0]


def test_a_full_disk_is_said_before_anything_runs(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(engine, "MEGABYTES_NEEDED", 1e12)
    assert go(root) == 2
    assert "the disk is full" in capsys.readouterr().err
    assert started(root) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Path:
    """A file system of half a megabyte."""
    place = tmp_path / "small"
    place.mkdir()
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", place]).returncode:
        pytest.skip("only root can mount a small file system")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def test_a_disk_that_fills_up_is_one_line(
    root: Path, small_disk: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture
) -> None:
    monkeypatch.setenv("ICLR26_RUNS", str(small_disk))
    monkeypatch.setattr(engine, "MEGABYTES_NEEDED", 0)
    assert go(root, "--set", "seconds=0") == 0
    earlier = (small_disk / SCALE / "toy.json").read_bytes()
    with pytest.raises(OSError, match="No space left"):
        (small_disk / "ballast").write_bytes(b"x" * 600_000)
    capfd.readouterr()
    assert go(root, "--notebook", "evidence", "--set", "seconds=0, nothing=4") != 0
    errors = [line for line in capfd.readouterr().err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert "No space left on device" in errors[0]
    assert (small_disk / SCALE / "toy.json").read_bytes() == earlier


def test_errors_are_explained() -> None:
    assert execute.explain(OSError(28, "No space left on device", "/x")).startswith("the disk is full: No space left")
    assert execute.explain(ValueError("one\ntwo")) == "one"
    assert execute.explain(MemoryError()) == "MemoryError"
    assert execute.complaint(KeyError("x"), "toy/idea", 1) is None


# --- what the Snakefile asks


def asked(root: Path, action: str = "run", scale: str = "full", gpu: bool = True, **wanted: list) -> requests.Request:
    runs = str(root / "runs")
    return requests.Request(action, scale, wanted, runs, f"{runs}/engine/x", {}, 0, gpu, {}, str(root))


def test_needs_come_from_the_chapter(root: Path) -> None:
    request = asked(root, toy=["idea"])
    needs = resources.of("toy", root).scales["full"]
    assert plan.need(request, "toy", "threads") == needs.threads
    assert plan.need(request, "toy", "memory_mb") == needs.memory_mb
    assert plan.need(request, "toy", "gpu") == 1
    assert plan.need(asked(root, gpu=False, toy=[]), "toy", "gpu") == 0
    assert plan.need(request, "toy", "runtime") >= needs.minutes
    assert request.cell_minutes("toy") == 6 * needs.minutes


def test_the_cheap_notebook_comes_first(root: Path) -> None:
    request = asked(root, toy=["evidence", "idea"])
    assert plan.before(request, "toy", "idea") == []
    assert plan.before(request, "toy", "evidence") == [f"{request.marks}/toy/idea.done"]
    assert plan.jobs(request) == [["notebook", "toy", "idea"], ["notebook", "toy", "evidence"]]


def test_malformed_needs_are_named(root: Path) -> None:
    place = root / "iclr26lib/toy/resources.py"
    place.write_text("RESOURCES = {}\n")
    with pytest.raises(ValueError, match="RESOURCES must hold smoke, book, full"):
        resources.of("toy", root)
    place.unlink()
    with pytest.raises(ValueError, match=r"iclr26lib/toy/resources.py is missing"):
        resources.of("toy", root)
    with pytest.raises(ValueError, match="must be positive"):
        resources.Resources(0, 1, 1)


def test_every_card_has_one_holder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in ("0", "1", "10"):
        (tmp_path / f"nvidia{number}").touch()
    (tmp_path / "nvidiactl").touch()
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert locks.cards(tmp_path) == ["0", "1", "10"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2")
    assert locks.cards(tmp_path) == ["2"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert locks.cards(tmp_path) == []
    with locks.card(["0", "1"], tmp_path) as first, locks.card(["0", "1"], tmp_path) as second:
        assert (first, second) == ("0", "1")
    with locks.card([], tmp_path) as none:
        assert none is None


def test_a_job_that_needs_a_card_finds_none(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with (
        pytest.raises(ValueError, match="toy needs a GPU at full scale and this machine has none"),
        job.machine(asked(root, toy=["idea"]), "toy"),
    ):
        pass


def test_a_record_of_the_run_is_a_record(root: Path) -> None:
    assert go(root, "--seeds", "0-1", "--set", "seconds=0") == 0
    records.check(record(root), "toy")
