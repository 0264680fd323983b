"""The workflows: what they call exists, what they may do is stated, and what is red is said to somebody."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from tools import colab

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted((ROOT / ".github/workflows").glob("*.yml"))
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in FILES}
JOBS = [(name, key, job) for name, workflow in WORKFLOWS.items() for key, job in workflow["jobs"].items()]
STEPS = [(name, key, step) for name, key, job in JOBS for step in job["steps"]]
SCRIPTS = [(name, step["run"]) for name, _, step in STEPS if "run" in step]
WEEKLY = sorted(name for name, workflow in WORKFLOWS.items() if "schedule" in workflow[True])
ADDRESS = "https://example.org/owner/name"


def label(value) -> str:
    return "/".join(part for part in value if isinstance(part, str)) if isinstance(value, tuple) else str(value)


def step_of(workflow: str, name: str) -> dict:
    """Return the step of that name."""
    return next(step for owner, _, step in STEPS if owner == workflow and step.get("name") == name)


def test_the_workflows_that_there_should_be():
    assert set(WORKFLOWS) == {"test", "publish", "full", "colab", "links"}
    assert WEEKLY == ["colab", "links"]
    assert list(WORKFLOWS["full"][True]) == ["workflow_dispatch"], "a machine of your own runs no stranger's code"


@pytest.mark.parametrize("name", WORKFLOWS)
def test_permissions_are_stated_and_least(name):
    rights = WORKFLOWS[name]["permissions"]
    assert rights["contents"] == "read"
    writing = {right for right, how in rights.items() if how == "write"}
    assert writing <= {"pages", "id-token"}
    for job in WORKFLOWS[name]["jobs"].values():
        written = {right for right, how in job.get("permissions", {}).items() if how == "write"}
        assert written in (set(), {"issues"}, {"contents", "pull-requests"})


@pytest.mark.parametrize("job", JOBS, ids=label)
def test_jobs_that_may_write_run_nothing_of_the_repository(job):
    _, key, body = job
    if "write" in body.get("permissions", {}).values():
        assert key in ("report", "propose")
        assert body["runs-on"] == "ubuntu-latest"
        said = " ".join(step.get("run", "") for step in body["steps"])
        assert not re.search(r"\bmake\b|tools\.|scripts/|pip |docker", said)


@pytest.mark.parametrize("job", JOBS, ids=label)
def test_every_job_has_a_limit(job):
    assert isinstance(job[2]["timeout-minutes"], int)
    assert 0 < job[2]["timeout-minutes"] <= 1440


@pytest.mark.parametrize("name", WORKFLOWS)
def test_runs_of_one_workflow_do_not_meet(name):
    assert WORKFLOWS[name]["concurrency"]["group"].startswith(("pages", name))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_comments_say_why_something_gates(path):
    comments = " ".join(line.partition("#")[2] for line in path.read_text(encoding="utf-8").splitlines())
    assert re.search(r"\bgates\b", comments)


def test_actions_are_pinned_to_major_versions():
    used = [step["uses"] for _, _, step in STEPS if "uses" in step]
    assert used
    assert [name for name in used if not re.fullmatch(r"[\w-]+/[\w-]+@v\d+", name)] == []


@pytest.mark.parametrize("script", SCRIPTS, ids=label)
def test_what_a_step_calls_exists(script):
    _, text = script
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"\bmake ([a-z][a-z-]*)", text):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"make {target}"
    for module in re.findall(r"-m (tools\.\w+)", text):
        assert (ROOT / module.replace(".", "/")).with_suffix(".py").is_file(), module
    for path in re.findall(r"(?<![\w/.-])((?:\.github|scripts|tests|tools)/[\w/.-]+)", text):
        assert (ROOT / path).is_file(), path
        if text.strip().startswith(path) or f"\n{path}" in text:
            assert os.access(ROOT / path, os.X_OK), f"{path} cannot be executed"


@pytest.mark.parametrize("script", SCRIPTS, ids=label)
def test_nothing_that_people_type_is_pasted_into_a_script(script):
    """Values come in as variables of the environment; only the matrix, which stands in the file, may be pasted."""
    assert [found for found in re.findall(r"\$\{\{\s*(\S+)", script[1]) if not found.startswith("matrix.")] == []
    assert "secrets." not in script[1]
    assert "set -x" not in script[1]


def test_tokens_go_only_to_the_steps_that_need_them():
    holders = {
        (name, step.get("name") or step["uses"])
        for name, _, step in STEPS
        if "token" in json.dumps(step.get("env", {})).lower()
    }
    assert holders == {
        ("full", "open the pull request"),
        ("colab", "open an issue, or add to the open one"),
        ("links", "open an issue, or add to the open one"),
        ("links", "lycheeverse/lychee-action@v2"),
    }
    for name, key, step in STEPS:
        if step.get("uses", "").startswith("actions/checkout") and (name, key) not in {("full", "propose")}:
            assert name == "publish" or step["with"]["persist-credentials"] is False, f"{name}/{key}"


@pytest.mark.parametrize("name", WEEKLY)
def test_a_weekly_check_that_is_red_opens_an_issue(name):
    jobs = WORKFLOWS[name]["jobs"]
    report = jobs["report"]
    (other,) = set(jobs) - {"report"}
    assert report["needs"] == other
    assert report["if"].startswith("failure()")
    assert report["permissions"] == {"contents": "read", "issues": "write"}
    assert any(".github/open_issue.py" in step.get("run", "") for step in report["steps"])
    assert "workflow_dispatch" in WORKFLOWS[name][True]


def test_both_ends_of_the_ranges_are_tested():
    from tools import matrix

    job = WORKFLOWS["test"]["jobs"]["matrix"]
    assert {entry["kind"]: entry["python"] for entry in job["strategy"]["matrix"]["include"]} == matrix.PYTHONS


@pytest.mark.parametrize(
    ("chapters", "minutes", "fine"),
    [
        ("", "240", True),
        ("bep lbf_npe", "15", True),
        ("bep; rm -rf .", "15", False),
        ("$(id)", "15", False),
        ("--device=cpu", "15", False),
        ("bep", "0", False),
        ("bep", "1.5", False),
        ("bep", "15 --x", False),
        ("bep", "", False),
    ],
)
def test_full_runs_take_slugs_and_whole_minutes_only(chapters, minutes, fine):
    script = step_of("full", "check the inputs")["run"]
    variables = {**os.environ, "CHAPTERS": chapters, "MINUTES": minutes}
    done = subprocess.run(["bash", "-e", "-c", script], env=variables, capture_output=True, text=True)
    assert (done.returncode == 0) == fine
    assert fine or len(done.stdout.splitlines()) == 1


def test_full_runs_hand_each_chapter_over_as_a_word(tmp_path):
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/full_run.sh").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (tmp_path / "scripts/full_run.sh").chmod(0o755)
    script = step_of("full", "run")["run"]
    for chapters, expected in (("", ["60"]), ("bep lbf_npe", ["60", "bep", "lbf_npe"])):
        variables = {**os.environ, "CHAPTERS": chapters, "MINUTES": "60"}
        done = subprocess.run(["bash", "-e", "-c", script], env=variables, cwd=tmp_path, capture_output=True, text=True)
        assert done.stdout.split() == expected


def test_a_full_run_without_records_opens_nothing(tmp_path):
    script = step_of("full", "take the records over")["run"]
    done = subprocess.run(["bash", "-e", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "the run left no record in runs/full\n")


def gh(tmp_path: Path, issues: list[dict]) -> dict[str, str]:
    """Put a `gh` on the path that knows some issues and writes down how it is called."""
    program = tmp_path / "gh"
    program.write_text(
        f"#!{sys.executable}\nimport json, sys\n"
        f"if sys.argv[1:3] == ['issue', 'list']: print({json.dumps(issues)!r}); sys.exit()\n"
        f"open({str(tmp_path / 'called')!r}, 'w').write(json.dumps([sys.argv[1:], sys.stdin.read()]))\n"
    )
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "RUN": "https://example.org/run/7"}


@pytest.mark.parametrize(
    ("issues", "expected"),
    [
        ([], ["issue", "create", "--title", "Links lead nowhere", "--body-file", "-"]),
        ([{"number": 3, "title": "Links lead nowhere fast"}], ["issue", "create", "--title", "Links lead nowhere"]),
        ([{"number": 3, "title": "x"}, {"number": 9, "title": "Links lead nowhere"}], ["issue", "comment", "9"]),
    ],
)
def test_one_issue_for_a_check_that_stays_red(tmp_path, issues, expected):
    report = tmp_path / "report.md"
    report.write_text("two links\n")
    command = [sys.executable, str(ROOT / ".github/open_issue.py"), "Links lead nowhere", str(report)]
    subprocess.run(command, env=gh(tmp_path, issues), check=True)
    words, text = json.loads((tmp_path / "called").read_text())
    assert words[: len(expected)] == expected
    assert text == "Red: https://example.org/run/7\n\ntwo links\n"


@pytest.mark.parametrize(("length", "words"), [(None, "left no report"), (70_000, "(cut;")])
def test_an_issue_without_or_with_too_long_a_report(tmp_path, length, words):
    report = tmp_path / "report.md"
    if length:
        report.write_text("x" * length)
    command = [sys.executable, str(ROOT / ".github/open_issue.py"), "T", str(report)]
    subprocess.run(command, env=gh(tmp_path, []), check=True)
    text = json.loads((tmp_path / "called").read_text())[1]
    assert words in text
    assert len(text) < 65_000


def test_an_issue_that_cannot_be_opened_is_red(tmp_path):
    variables = gh(tmp_path, [])
    (tmp_path / "gh").write_text("#!/bin/sh\nexit 4\n")
    command = [sys.executable, str(ROOT / ".github/open_issue.py"), "T", str(tmp_path / "none")]
    assert subprocess.run(command, env=variables, capture_output=True).returncode != 0


def test_the_link_check_has_its_settings():
    settings = tomllib.loads((ROOT / ".github/lychee.toml").read_text(encoding="utf-8"))
    patterns = [re.compile(pattern) for pattern in settings["exclude"]]
    ours = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["repository"]["url"]
    assert not any(pattern.search(ours) for pattern in patterns), "links to this repository are checked too"
    assert any(pattern.search("https://colab.research.google.com/github/x") for pattern in patterns)
    assert "404" not in settings["accept"]


# What colab.yml runs inside Colab's image.


def repository(tmp_path: Path, address: str = ADDRESS) -> Path:
    """Return a repository with one chapter, committed."""
    root = tmp_path / "repository"
    folder = root / "book/toy"
    folder.mkdir(parents=True)
    (root / "pyproject.toml").write_text('[project]\nname = "x"\nversion = "7.8.9"\n')
    (folder / "claims.yaml").write_text("chapter: toy\n")
    cell = {"cell_type": "code", "metadata": {}, "source": "1", "outputs": [], "execution_count": None, "id": "a"}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    for name in colab.NOTEBOOKS:
        (folder / f"{name}.py").write_text(f'    address, tag = "{address}", "v7.8.9"\n')
        (folder / f"{name}.ipynb").write_text(json.dumps(notebook))
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", "-C", str(root)]
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "toy"]):
        subprocess.run([*git, *words], check=True)
    return root


def test_the_first_cell_can_be_given_this_commit(tmp_path):
    root = repository(tmp_path)
    with colab.this_commit(root) as variables:
        clone = ["git", "clone", "--quiet", "--depth=1", "--branch=v7.8.9", ADDRESS, str(tmp_path / "iclr26")]
        subprocess.run(clone, env={**os.environ, **variables}, check=True, capture_output=True)
    assert (tmp_path / "iclr26/book/toy/idea.ipynb").is_file()
    assert not list(root.glob(".git/refs/tags/*")), "the repository itself got a tag"


def test_colab_has_its_module_loaded_before_the_first_cell(tmp_path):
    notebook = colab.as_in_colab(repository(tmp_path) / "book/toy/idea.ipynb")
    assert [cell.source for cell in notebook.cells] == ["import google.colab", "1"]


def test_the_first_cells_of_the_book_are_found():
    url = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["repository"]["url"]
    assert colab.addresses() == {url}


def test_a_notebook_without_a_first_cell_is_an_error(tmp_path):
    root = repository(tmp_path)
    (root / "book/toy/idea.py").write_text("x = 1\n")
    with pytest.raises(ValueError, match=r"book/toy/idea\.py has no first cell for Colab"):
        colab.addresses(root)


def test_an_unknown_chapter_is_said_in_one_line(capsys):
    assert colab.main(["--chapter", "nothing"]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_outside_colab_the_check_is_red(tmp_path):
    """A real kernel: where google.colab is missing, the notebook fails and the report says so."""
    wrong = colab.failure(repository(tmp_path) / "book/toy/idea.ipynb", tmp_path, 60, {})
    assert "No module named 'google'" in wrong


@pytest.mark.parametrize(
    ("after", "wrong", "code"),
    [({"torch": "2.11.0"}, None, 0), ({"torch": "2.12.0"}, None, 1), ({"torch": "2.11.0"}, "NameError: x", 1)],
)
def test_a_failed_cell_or_a_replaced_package_is_red(tmp_path, monkeypatch, capsys, after, wrong, code):
    found = iter([{"torch": "2.11.0"}] * 2 + [after] * 9)
    monkeypatch.setattr(colab, "versions", lambda: next(found))
    monkeypatch.setattr(colab, "failure", lambda *_: wrong)
    report = tmp_path / "deep/report.md"
    assert colab.main(["--report", str(report)], repository(tmp_path)) == code
    assert capsys.readouterr().out.splitlines()[-1].startswith("colab: ok" if code == 0 else "colab: FAILED")
    assert ("torch 2.11.0 became 2.12.0" in report.read_text()) == (after["torch"] == "2.12.0")
    assert ("NameError: x" in report.read_text()) == bool(wrong)
