"""Notebooks under nbval: no ports to collide on, and no cell that silently did not run.

nbval marks the cells after a timeout as expected failures, which alone would leave the session green. Here the code
cells that passed are counted for every notebook, and fewer than it has is a failure.
"""

import json
from collections import Counter
from pathlib import Path

import pytest

from tools import kernels

kernels.use_files()


def expected_cells(path: Path) -> int:
    """Return the number of code cells of a notebook."""
    return sum(
        cell["cell_type"] == "code"
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
    )


def missing_cells(passed: Counter, notebooks: list[Path]) -> list[str]:
    """Return a line for each notebook of which fewer cells passed than it has."""
    lines = []
    for path in notebooks:
        wanted, got = expected_cells(path), passed[str(path)]
        if got < wanted:
            lines.append(f"{path}: {got} of {wanted} code cells ran to their end")
    return lines


class CellCount:
    """Counts passed cells, of all workers when there are several, and fails the session when some are missing."""

    def __init__(self, config: pytest.Config, notebooks: list[Path]) -> None:
        self.root, self.notebooks = config.rootpath, notebooks
        self.passed: Counter = Counter()
        self.missing: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed and not hasattr(report, "wasxfail"):
            self.passed[str(self.root / report.nodeid.split("::")[0])] += 1

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self.missing = missing_cells(self.passed, self.notebooks)
        if self.missing and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter) -> None:
        for line in self.missing:
            terminalreporter.write_line(f"cells missing: {line}", red=True)


def pytest_configure(config: pytest.Config) -> None:
    """Count cells where whole notebooks run, in the process that hears of all of them."""
    selected = [Path(argument) for argument in config.args]
    whole = (config.option.nbval or config.option.nbval_lax) and all(
        path.exists() for path in selected
    )
    if (
        hasattr(config, "workerinput")
        or not whole
        or config.option.collectonly
        or config.option.keyword
    ):
        return
    found = [
        path
        for top in selected
        for path in ([top] if top.is_file() else sorted(top.rglob("*.ipynb")))
    ]
    notebooks = [
        path.resolve()
        for path in found
        if path.suffix == ".ipynb" and ".ipynb_checkpoints" not in path.parts
    ]
    config.pluginmanager.register(CellCount(config, notebooks), "iclr26-cell-count")
