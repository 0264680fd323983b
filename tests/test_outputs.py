"""`make outputs` executes what is stale, keeps what is not, and leaves everything alone when something fails."""

import json
import multiprocessing
import time
from pathlib import Path

import pytest

from tools import notebooks, outputs, promote


def stored(root: Path, name: str = "idea") -> Path:
    return root / "book" / "toy" / f"{name}.ipynb"


def snapshot(root: Path) -> dict[Path, tuple[bytes, int]]:
    """Content and time of change of everything that the repository keeps."""
    paths = [*root.glob("book/**/*.ipynb"), *root.glob("results/**/*.json")]
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in paths}


def edit(path: Path, old: str, new: str) -> None:
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def printed(path: Path) -> str:
    cells = json.loads(path.read_text())["cells"]
    return "".join("".join(out.get("text", "")) for cell in cells for out in cell.get("outputs", []))


def test_outputs_and_record_are_made_once(built: Path, capfd: pytest.CaptureFixture) -> None:
    notebook = json.loads(stored(built).read_text())
    assert printed(stored(built)) == "42\n"
    assert notebook["metadata"]["iclr26"]["scale"] == "book"
    assert set(notebook["metadata"]) == {"iclr26", "kernelspec", "language_info", "widgets"}
    assert all(set(cell["metadata"]) <= {"tags"} for cell in notebook["cells"])
    assert json.loads((built / "results/book/toy.json").read_text())["answer"] == 42
    before, began = snapshot(built), time.perf_counter()
    assert outputs.main([], built) == 0
    assert time.perf_counter() - began < 5
    assert "all outputs are up to date" in capfd.readouterr().out
    assert snapshot(built) == before


def test_executing_again_leaves_no_trace(built: Path) -> None:
    before = snapshot(built)
    stored(built).unlink()
    assert outputs.main([], built) == 0
    assert stored(built).read_bytes() == before[stored(built)][0]


def test_text_is_taken_over_without_execution(built: Path, capfd: pytest.CaptureFixture) -> None:
    edit(built / "book/toy/idea.py", "# # An idea", "# # Another idea")
    edit(built / "book/toy/idea.py", "print(toy.ANSWER)", "# a comment\nprint(toy.ANSWER)")
    edit(built / "book/toy/idea.py", "# %%\nimport ipy", '# %% mystnb={"image": {"alt": "one"}}\nimport ipy')
    assert outputs.main([], built) == 0
    assert "executing" not in capfd.readouterr().out.split("done", 4)[-1]
    assert "Another idea" in stored(built).read_text()
    assert '"alt": "one"' in stored(built).read_text()
    assert printed(stored(built)) == "42\n"


def test_changed_code_is_executed(built: Path) -> None:
    (built / "iclr26lib/toy.py").write_text("ANSWER = 43\n")
    assert outputs.stale("toy", "idea", built) == "its code changed"
    assert outputs.main(["--chapter", "toy"], built) == 0
    assert printed(stored(built)) == "43\n"
    assert json.loads((built / "results/book/toy.json").read_text())["answer"] == 43


def test_a_failing_notebook_changes_nothing(built: Path, capfd: pytest.CaptureFixture) -> None:
    before = snapshot(built)
    edit(built / "book/toy/evidence.py", "_ = (folder", "1 / 0\n_ = (folder")
    assert outputs.main([], built) == 1
    errors = [line for line in capfd.readouterr().err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert "book/toy/evidence.py: cell 4" in errors[0]
    assert "ZeroDivisionError: division by zero" in errors[0]
    assert snapshot(built) == before
    assert "ZeroDivisionError" in (built / "runs/book/toy/evidence.failed.ipynb").read_text()


def test_a_record_of_other_code_is_refused(built: Path, capfd: pytest.CaptureFixture) -> None:
    before = snapshot(built)
    edit(built / "book/toy/evidence.py", '"code": chapter_digest("toy")', '"code": "0" * 64')
    assert outputs.main([], built) == 1
    assert "made by another version of the code of toy" in capfd.readouterr().err
    assert snapshot(built) == before


def test_paths_of_the_machine_are_refused(built: Path, capfd: pytest.CaptureFixture) -> None:
    before = snapshot(built)
    edit(built / "book/toy/idea.py", "print(toy.ANSWER)", "print(toy.__file__)")
    assert outputs.main([], built) == 1
    assert "absolute paths of this machine: cell 4" in capfd.readouterr().err
    assert snapshot(built) == before


def test_a_corrupt_notebook_or_record_is_one_line(built: Path, capfd: pytest.CaptureFixture) -> None:
    stored(built).write_text("{")
    (built / "results/book/toy.json").write_text("[]")
    assert outputs.main([], built) == 1
    errors = capfd.readouterr().err.splitlines()
    assert len(errors) == 2
    assert "idea.ipynb is not a notebook" in errors[0]
    assert "toy.json is not a record" in errors[1]


def test_a_full_record_is_taken_over_if_it_is_of_this_code(built: Path, capfd: pytest.CaptureFixture) -> None:
    assert outputs.main(["--scale", "full"], built) == 1
    record = json.loads((built / "results/book/toy.json").read_text()) | {"scale": "full"}
    run = built / "runs/full/toy.json"
    run.parent.mkdir(parents=True)
    run.write_text(json.dumps(record))
    assert outputs.main(["--scale", "full"], built) == 0
    assert json.loads(promote.stored("toy", "full", built).read_text()) == record
    (built / "iclr26lib/toy.py").write_text("ANSWER = 44\n")
    run.write_text(json.dumps(record | {"answer": 1}))
    assert outputs.main(["--scale", "full"], built) == 1
    assert "another version of the code" in capfd.readouterr().err
    assert json.loads(promote.stored("toy", "full", built).read_text()) == record


def test_unknown_chapter_and_scale(scratch: Path, capfd: pytest.CaptureFixture) -> None:
    assert outputs.main(["--chapter", "other"], scratch) == 2
    assert "chapters that can run: toy" in capfd.readouterr().err
    assert outputs.main(["--scale", "huge"], scratch) == 2
    assert "known: book, full" in capfd.readouterr().err


def test_two_calls_at_once_do_the_work_once(scratch: Path) -> None:
    count = "with (Path(__file__).parent / 'count').open('a') as f:\n    f.write('x')\n"
    (scratch / "iclr26lib/toy.py").write_text(f"from pathlib import Path\nANSWER = 42\n{count}")
    context = multiprocessing.get_context("spawn")
    calls = [context.Process(target=outputs.main, args=([], scratch)) for _ in range(2)]
    for call in calls:
        call.start()
    for call in calls:
        call.join(120)
    assert [call.exitcode for call in calls] == [0, 0]
    assert (scratch / "iclr26lib/count").read_text() == "xx"
    assert notebooks.read_stored(stored(scratch)) is not None


def test_a_broken_write_keeps_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_text("old")
    with pytest.raises(ZeroDivisionError), notebooks.replacing(target) as place:
        place.write_text(f"ne{1 / 0}")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert target.read_text() == "old"


CLOCK = """
# %% tags=["measured-time"]
import time
print(time.time())
"""


def test_executing_the_same_again_leaves_no_diff_but_other_numbers_do(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOY_NUMBER", "1")
    evidence = built / "book/toy/evidence.py"
    text = evidence.read_text().replace('"cost": {}', '"cost": {"wall_seconds": __import__("time").time()}')
    evidence.write_text(text + CLOCK + '\n# %%\nprint(os.environ["TOY_NUMBER"])\n')
    assert outputs.main([], built) == 0
    before = snapshot(built)
    assert outputs.main(["--force"], built) == 0
    assert {path: content for path, (content, _) in snapshot(built).items()} == {p: c for p, (c, _) in before.items()}
    monkeypatch.setenv("TOY_NUMBER", "2")
    assert outputs.main(["--force"], built) == 0
    after = snapshot(built)
    assert after[stored(built, "evidence")][0] != before[stored(built, "evidence")][0]
    record = built / "results/book/toy.json"
    assert json.loads(after[record][0])["cost"] != json.loads(before[record][0])["cost"]


def test_a_measured_number_that_changed_is_stored(built: Path) -> None:
    """The same code on the same machine that gives another number: the record and the page change, times too."""
    before = snapshot(built)
    record = built / "results/book/toy.json"
    changed = json.loads(record.read_text()) | {"answer": 41, "cost": {"wall_seconds": 1}}
    record.write_text(json.dumps(changed))
    assert outputs.main(["--force"], built) == 0
    assert record.read_bytes() == before[record][0]
