"""`make test`: every stage of the tests, each with its time, and one line of counts at the end.

Stages that start kernels run two at a time, so each kernel gets one thread. A stage that fails does not stop the
others, except that the browser needs a book. What smoke runs leave goes to runs/test, never to results/.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from iclr26lib.chapters import ROOT

PYTEST = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
PAIR = ["-n", "2", "--dist", "loadscope"]
LATER = ["tests/test_papermill.py", "tests/test_book.py"]
NEVER = ["tests/slurm"]  # it needs a scheduler: `make test-slurm`
NBVAL = ["--nbval-lax", "--nbval-current-env", "--nbval-cell-timeout=180", "--nbval-kernel-startup-timeout=120"]
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
COUNT = re.compile(r"(\d+) (passed|failed|skipped|errors?|xfailed|xpassed)\b")
CLOSING = re.compile(r"^=*\s*(?:\d+ \w+(?:, )?)+ in [\d.]+s")


@dataclass
class Stage:
    """One command of the suite: what it is called, what it runs, and which stage it cannot do without."""

    name: str
    command: list[str]
    needs: str = ""
    environment: dict[str, str] = field(default_factory=dict)


def stages() -> list[Stage]:
    """Return the stages in their order: the quickest to fail first, the browser last."""
    ignored = [f"--ignore={path}" for path in [*LATER, *NEVER]]
    return [
        Stage("check", [sys.executable, "-m", "tools.check"]),
        Stage("unit and contract tests", [*PYTEST, "tests", *ignored, *PAIR], environment=ONE_THREAD),
        Stage("notebooks", [*PYTEST, "book", *NBVAL, *PAIR], environment={**ONE_THREAD, "ICLR26_SCALE": "smoke"}),
        Stage("papermill", [*PYTEST, LATER[0], "-n", "2", "--dist", "load"], environment=ONE_THREAD),
        Stage("book", [sys.executable, "-m", "tools.build_book"]),
        Stage("browser", [*PYTEST, LATER[1]], needs="book"),
    ]


@dataclass
class Outcome:
    """What became of a stage: its exit code, None when it could not start, its time, and pytest's closing line."""

    code: int | None
    seconds: float = 0.0
    closing: str = ""


def run(stage: Stage, root: Path = ROOT) -> Outcome:
    """Run one stage, passing its words through as they come."""
    environment = {**os.environ, **OFFLINE, **stage.environment, "ICLR26_RUNS": str(root / "runs" / "test")}
    began, closing = time.perf_counter(), ""
    print(f"\n=== {stage.name}", flush=True)
    process = subprocess.Popen(
        stage.command, cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    for line in process.stdout:
        print(line, end="", flush=True)
        closing = line.strip("= \n") if CLOSING.match(line) else closing
    code = process.wait()
    seconds = time.perf_counter() - began
    print(f"=== {stage.name}: {'ok' if code == 0 else f'FAILED (exit {code})'}, {seconds:.0f} s", flush=True)
    return Outcome(code, seconds, closing)


def run_all(todo: list[Stage], root: Path = ROOT) -> dict[str, Outcome]:
    """Run all stages in order, leaving out those whose `needs` failed."""
    outcomes: dict[str, Outcome] = {}
    for stage in todo:
        if stage.needs and outcomes[stage.needs].code != 0:
            outcomes[stage.name] = Outcome(None)
        else:
            outcomes[stage.name] = run(stage, root)
    return outcomes


def counts(outcomes: dict[str, Outcome]) -> dict[str, int]:
    """Return how many tests passed, failed and were skipped; a failed stage without a count is one failure."""
    total = {"passed": 0, "failed": 0, "skipped": 0}
    for outcome in outcomes.values():
        found = {word: int(number) for number, word in COUNT.findall(outcome.closing)}
        failed = found.get("failed", 0) + found.get("error", 0) + found.get("errors", 0) + found.get("xpassed", 0)
        total["passed"] += found.get("passed", 0) + (not outcome.closing and outcome.code == 0)
        total["failed"] += failed or int(outcome.code != 0)
        total["skipped"] += found.get("skipped", 0) + found.get("xfailed", 0)
    return total


def summary(outcomes: dict[str, Outcome]) -> str:
    """Return the closing table, a line a stage with pytest's own closing line, and the counts of all stages last."""
    lines = ["", "=== summary"]
    for name, outcome in outcomes.items():
        state = "not run" if outcome.code is None else "ok" if outcome.code == 0 else "FAILED"
        lines.append(f"{name:<26}{state:<8}{outcome.seconds:>5.0f} s   {outcome.closing}".rstrip())
    lines.append(f"{'total':<34}{sum(outcome.seconds for outcome in outcomes.values()):>5.0f} s")
    total = counts(outcomes)
    lines.append("{passed} passed, {failed} failed, {skipped} skipped".format(**total))
    return "\n".join(lines)


def main() -> int:
    """Run all stages; return 0 when all passed, else 1."""
    shutil.rmtree(ROOT / "runs" / "test", ignore_errors=True)
    outcomes = run_all(stages())
    print(summary(outcomes), flush=True)
    return 0 if all(outcome.code == 0 for outcome in outcomes.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
