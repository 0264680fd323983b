"""The two ends of the ranges: what is installed, what is constrained, what is said. Nothing is installed here."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools import env, matrix

ROOT = env.ROOT

PYPROJECT = """[project]
name = "x"
dependencies = ["torch>=2.11", "numpy>=2.0,<3", "PyYAML>=6", "plain"]
[project.optional-dependencies]
toy = ["scikit_learn >= 1.5", "numpy>=2.0,<3"]
"""
PINS = "-r other.txt\ntorch==2.13.0\nnbval==0.11.0  # cells\npapermill==2.7.0\npytest==9.2.0\npytest-xdist==3.8.0\n"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A repository with the files that the matrix reads."""
    (tmp_path / "constraints").mkdir()
    (tmp_path / "pyproject.toml").write_text(PYPROJECT)
    (tmp_path / "requirements.txt").write_text(PINS)
    (tmp_path / "requirements-nodeps.txt").write_text("aeon==1.6.0\n")
    (tmp_path / "constraints/floor.txt").write_text("# oldest\ntorch==2.11.0\nnumpy==2.1.3\n")
    (tmp_path / "constraints/ceiling.txt").write_text("torch>=2.14,<2.15\n")
    (tmp_path / "book/toy").mkdir(parents=True)
    (tmp_path / "book/toy/claims.yaml").write_text("chapter: toy\n")
    return tmp_path


def test_readers_install_the_library_and_every_extra_once(small):
    expected = ["torch>=2.11", "numpy>=2.0,<3", "PyYAML>=6", "plain", "scikit_learn >= 1.5"]
    assert matrix.readers_install(small) == expected


def test_the_floor_is_the_lower_end_of_every_range_it_does_not_name(small):
    assert matrix.constraints("floor", small) == ["torch==2.11.0", "numpy==2.1.3", "pyyaml==6", "scikit-learn==1.5"]
    assert matrix.constraints("ceiling", small) == ["torch>=2.14,<2.15"]


def test_torch_comes_first_and_data_packages_bring_nothing_along(small):
    first, second, third = matrix.installs("floor", Path("limits.txt"), small)
    assert first == ["--constraint", "limits.txt", "torch>=2.11"]
    assert second[:2] == ["--constraint", "limits.txt"]
    assert {"scikit_learn >= 1.5", "nbval==0.11.0", "papermill==2.7.0", "ipykernel"} < set(second)
    assert third == ["--no-deps", "--requirement", str(small / "requirements-nodeps.txt")]


@pytest.mark.parametrize("name", ["pyproject.toml", "requirements-nodeps.txt", "constraints/floor.txt"])
def test_the_stamp_follows_everything_that_the_environment_is_made_of(small, name):
    before = matrix.stamp("floor", "3.11.7", small)
    path = small / name
    path.write_text(path.read_text().replace("1", "2"))
    assert matrix.stamp("floor", "3.11.7", small) != before


def test_a_finished_environment_is_left_alone(small, monkeypatch):
    folder = small / "place"
    folder.mkdir()
    (folder / ".stamp").write_text(matrix.stamp("floor", matrix.version_of(sys.executable), small))
    monkeypatch.setattr(matrix, "call", lambda *_: pytest.fail("something was installed"))
    assert matrix.build("floor", folder, sys.executable, small) == folder / "bin" / "python"


def test_an_installation_that_fails_leaves_no_stamp(small, monkeypatch):
    def fails_late(command: list[str], complaint: str) -> None:
        if "--no-deps" in command:
            raise env.Missing(complaint)

    (small / "place").mkdir()
    monkeypatch.setattr(matrix, "call", fails_late)
    with pytest.raises(env.Missing, match="requirements-nodeps"):
        matrix.build("floor", small / "place", sys.executable, small)
    assert not (small / "place/.stamp").exists()
    assert (small / "place/constraints.txt").read_text().splitlines() == matrix.constraints("floor", small)


def test_too_little_room_is_said_before_anything_is_made(small, monkeypatch):
    monkeypatch.setattr(matrix, "GIGABYTES", 1e9)
    with pytest.raises(env.Missing, match="GB of disk are free"):
        matrix.build("floor", small / "place", sys.executable, small)
    assert not (small / "place").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["floor", "--chapter", "nothing"], "no chapter nothing; chapters that can run: toy"),
        (["floor", "--python", "/nonexistent/python"], "floor runs on Python 3.11; /nonexistent/python is no Python"),
    ],
)
def test_what_is_missing_is_said_in_one_line(small, capsys, arguments, words):
    assert matrix.main(arguments, small) == 1
    assert capsys.readouterr().err == f"error: {words}\n"


def test_the_wrong_python_is_refused(monkeypatch):
    monkeypatch.setattr(matrix, "version_of", lambda _: "3.12.1")
    with pytest.raises(env.Missing, match=r"ceiling runs on Python 3\.13; python is 3\.12\.1"):
        matrix.find_python("ceiling", "python")
    with pytest.raises(env.Missing, match=r"ceiling runs on Python 3\.13, which is not here"):
        matrix.find_python("ceiling")


@pytest.mark.parametrize(("code", "word"), [(0, "ok"), (1, "FAILED (exit 1)")])
def test_one_closing_line_and_the_exit_code(small, monkeypatch, capsys, code, word):
    monkeypatch.setattr(matrix, "find_python", lambda *_: sys.executable)
    monkeypatch.setattr(matrix, "build", lambda *_: Path(sys.executable))
    monkeypatch.setattr(matrix, "run", lambda *_: (code, "7 passed in 3.21s"))
    assert matrix.main(["ceiling", "--chapter", "toy"], small) == code
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith(f"ceiling: {word}; 7 passed in 3.21s; python ")
    assert "torch " in lines[-1]


def test_notebooks_run_at_smoke_scale_with_one_thread_and_this_library(small, monkeypatch):
    seen = {}

    class Process:
        stdout, returncode = ["=== 3 passed in 1.00s ===\n"], 0

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return False

    def popen(command, **how):
        seen.update(command=command, **how)
        return Process()

    monkeypatch.setattr(subprocess, "Popen", popen)
    assert matrix.run(Path("/p/bin/python"), "floor", ["book"], small) == (0, "3 passed in 1.00s")
    assert seen["command"][0] == "/p/bin/python"
    assert "--nbval-current-env" in seen["command"]
    assert seen["env"]["ICLR26_SCALE"] == "smoke"
    assert seen["env"]["OMP_NUM_THREADS"] == "1"
    assert seen["env"]["PYTHONPATH"].split(":")[0] == str(small)


def test_the_floor_bears_out_the_ranges_of_pyproject():
    """The oldest torch that pyproject admits is the one that is tested; no constraint contradicts its range."""
    from packaging.requirements import Requirement

    given = {matrix.name_of(line): Requirement(line) for line in matrix.constraints("floor")}
    for line in matrix.readers_install():
        pinned = next(iter(given[matrix.name_of(line)].specifier)).version
        assert pinned in Requirement(line).specifier, f"{line} does not admit {pinned}"
    assert matrix.LOWER.search(next(line for line in matrix.readers_install() if line.startswith("torch")))[1] == "2.11"
    assert str(given["torch"].specifier) == "==2.11.0"


def test_every_dependency_has_a_lower_end():
    assert [line for line in matrix.readers_install() if not matrix.LOWER.search(line)] == []


def test_environments_are_not_committed():
    done = subprocess.run(
        ["git", "check-ignore", ".venv-floor/x", ".venv-ceiling/x"], cwd=ROOT, capture_output=True, text=True
    )
    assert len(done.stdout.splitlines()) == 2
