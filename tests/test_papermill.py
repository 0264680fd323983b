"""Chapters through papermill, as a reader would call it: parameters arrive, wrong ones are named, nothing is lost."""

import json
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from iclr26lib.chapters import NOTEBOOKS, ROOT, present
from iclr26lib.digest import cells
from tools import execute, notebooks, run

WRONG = [
    ("evidence", {"overrides": {"nonsense": 1}}, "ValueError", "unknown preset field 'nonsense'; known: "),
    ("idea", {"scale": "huge"}, "ValueError", "unknown scale 'huge'; known: smoke, book, full"),
    ("evidence", {"device": "abacus"}, "ValueError", "unknown device 'abacus'; known: auto, cpu, cuda, mps"),
]


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own for whatever a test's runs leave."""
    monkeypatch.setenv("ICLR26_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


def go(slug: str, name: str, runs: Path, **parameters: object) -> nbformat.NotebookNode:
    source = notebooks.read_source(ROOT / "book" / slug / f"{name}.py")
    return execute.execute(source, f"{slug}/{name}", runs / f"{name}.ipynb", "smoke", {"scale": "smoke", **parameters})


def preset_field(slug: str) -> tuple[str, object]:
    """Name and smoke value of the first whole-number field of a chapter's preset."""
    import importlib
    from dataclasses import asdict

    presets = importlib.import_module(f"iclr26lib.{slug}.presets").PRESETS
    return next((k, v) for k, v in asdict(presets["smoke"]).items() if type(v) is int and v > 1)


@pytest.mark.parametrize("slug", present())
def test_an_override_reaches_the_record(slug: str, runs: Path) -> None:
    field, value = preset_field(slug)
    go(slug, "evidence", runs, overrides={field: value}, seed=3)
    record = json.loads((runs / "smoke" / f"{slug}.json").read_text())
    assert record["scale"] == "smoke"
    assert record["parameters"][field] == value
    assert record["seeds"][0] == 3
    assert {claim["verdict"] for claim in record["claims"]} == {"not judged at this scale"}


def complaint(slug: str, name: str, **parameters: object) -> Exception:
    """What a notebook's first cells raise for some parameters; run in this process, for kernels would take minutes."""
    namespace: dict[str, object] = {"display": print}
    code = [cell for cell in cells((ROOT / "book" / slug / f"{name}.py").read_text()) if cell[0] == "code"]
    for _, tags, text in code[:4]:
        try:
            exec(compile(text, name, "exec"), namespace)
        except (ValueError, TypeError) as error:
            return error
        if "parameters" in tags:
            namespace.update(parameters)
    raise AssertionError(f"{slug}/{name} takes {parameters} without a word in its first cells")


@pytest.mark.parametrize(("name", "parameters", "kind", "said"), WRONG, ids=["field", "scale", "device"])
@pytest.mark.parametrize("slug", present())
def test_wrong_parameters_are_named(slug: str, name: str, parameters: dict, kind: str, said: str) -> None:
    error = complaint(slug, name, **parameters)
    assert type(error).__name__ == kind
    assert said in str(error)


@pytest.mark.parametrize("slug", present())
def test_a_value_of_the_wrong_type_is_named(slug: str) -> None:
    field, _ = preset_field(slug)
    for name in NOTEBOOKS:
        error = complaint(slug, name, overrides={field: "many"})
        assert isinstance(error, TypeError)
        assert f"preset field '{field}' takes" in str(error)


@pytest.mark.parametrize("slug", present()[:1])
def test_papermill_reports_a_wrong_parameter_in_one_line(slug: str, runs: Path) -> None:
    with pytest.raises(execute.NotebookFailed, match="ValueError: unknown preset field 'nonsense'; known: ") as failure:
        go(slug, "evidence", runs, overrides={"nonsense": 1})
    assert "\n" not in str(failure.value)


@pytest.mark.parametrize("slug", present()[:1])
def test_a_failing_run_leaves_the_earlier_record(slug: str, runs: Path, capfd: pytest.CaptureFixture) -> None:
    record = runs / "smoke" / f"{slug}.json"
    record.parent.mkdir(parents=True)
    record.write_text('{"earlier": true}')
    kept = {path: path.read_bytes() for path in ROOT.glob("results/**/*.json")}
    assert run.main(["--chapter", slug, "--scale", "smoke", "--set", "nonsense=1"]) == 1
    error = capfd.readouterr().err
    assert error.startswith(f"error: book/{slug}/idea.py: cell ")
    assert "unknown preset field 'nonsense'" in error
    assert record.read_text() == '{"earlier": true}'
    assert {path: path.read_bytes() for path in ROOT.glob("results/**/*.json")} == kept


@pytest.mark.parametrize("slug", present()[:1])
def test_papermills_own_command_works(slug: str, runs: Path) -> None:
    """The command that the notebooks and the README print."""
    target = runs / "idea.ipynb"
    runs.mkdir(parents=True)
    command = [sys.executable, "-m", "papermill", f"book/{slug}/idea.ipynb", str(target), "-p", "scale", "smoke"]
    done = subprocess.run(
        [*command, "-p", "seed", "1", "-y", "overrides: {}"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    injected = [c for c in nbformat.read(target, 4).cells if "injected-parameters" in c.metadata.get("tags", [])]
    assert 'scale = "smoke"' in injected[0].source
    assert "seed = 1" in injected[0].source
