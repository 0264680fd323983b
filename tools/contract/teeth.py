"""Rules about equations and exercises: every equation is tested, and the planted mistakes are noticed.

A mistake must be noticed twice: by the exercise's checker, which names it, and by the chapter's own equation tests
when it takes the place of the library's function. The second runs in a process of its own, see `tools.contract.plant`.
"""

import os
import subprocess
import sys
from pathlib import Path

from iclr26lib.chapters import ROOT
from tools.equations import declared, tested

LONGEST_SECONDS = 600


def equations(slug: str, root: Path) -> list[str]:
    """Every numbered equation has a function and a test, and every marked test belongs to an equation."""
    functions = {equation.label: equation.function for equation in declared(slug, root)}
    tests = {label for chapter, label in tested(root) if chapter == slug}
    found = [
        f"equation ({label}), {place.file} {place.name}, has no test marked with it"
        for label, place in functions.items()
        if label not in tests
    ]
    found += [
        f"a test is marked equation({slug!r}, {label!r}), no function has it"
        for label in sorted(tests - set(functions))
    ]
    return found if functions else [*found, f"no function of iclr26lib.{slug} has a line `Equation (...): ...`"]


def exercises(slug: str, root: Path) -> list[str]:
    """Checkers accept the solution and name each planted mistake; the library's tests fail on each of them."""
    if not (root / "iclr26lib" / slug / "exercises.py").is_file():
        return []
    path = os.pathsep.join(dict.fromkeys([str(root), str(ROOT)]))
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # starting pytest is most of the cost of a trial
    command = [sys.executable, "-m", "tools.contract.plant", slug, str(root)]
    said = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=LONGEST_SECONDS)
    if said.returncode:
        last = (said.stderr.strip() or said.stdout.strip() or "no word").splitlines()[-1]
        return [f"the exercises of {slug} could not be checked: {last}"]
    return [line.removeprefix("finding: ") for line in said.stdout.splitlines() if line.startswith("finding: ")]
