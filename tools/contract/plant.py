"""`python -m tools.contract.plant SLUG ROOT`: put each planted mistake into the library and see who notices.

Each trial is a fork of this process, in which the mistake takes the place of the library's function in every module
that holds it; then the chapter's tests marked `equation` run. Prints one line "finding: ..." for what went unnoticed.
"""

import importlib
import inspect
import os
import pkgutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import Phase, settings

FEWEST_MISTAKES = 3


def chapter_modules(slug: str) -> list[ModuleType]:
    """Import and return the package of a chapter and all its modules."""
    package = importlib.import_module(f"iclr26lib.{slug}")
    names = [name for _, name, _ in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    return [package, *map(importlib.import_module, names)]


def checker_findings(exercise) -> list[str]:
    """Return what is wrong with one exercise's checker: it must take the solution and name each mistake."""
    found = []
    if len(exercise.mistakes) < FEWEST_MISTAKES:
        found.append(f"exercise {exercise.id} plants {len(exercise.mistakes)} mistakes, {FEWEST_MISTAKES} are wanted")
    try:
        exercise.check(exercise.solution)
    except ValueError as error:
        found.append(f"exercise {exercise.id} rejects its own solution: {error}")
    for name, mistake in exercise.mistakes.items():
        found += unnamed(exercise, name, mistake)
    return found


def unnamed(exercise, name: str, mistake) -> list[str]:
    """Return a finding when the checker accepts a mistake or answers with something else than its message."""
    try:
        exercise.check(mistake.fn)
    except ValueError as error:
        said = mistake.message in str(error)
        return [] if said else [f"exercise {exercise.id} rejects {name!r} without naming it: {error}"]
    return [f"exercise {exercise.id} accepts the planted mistake {name!r}"]


def library_function(exercise) -> Callable | None:
    """Return the library function that an exercise re-implements, None when it names none that exists."""
    if not exercise.library:
        return None
    module, _, name = exercise.library.partition(":")
    return getattr(importlib.import_module(module), name, None)


def replace(original: Callable, other: Callable, modules: list[ModuleType]) -> int:
    """Put `other` wherever a module holds `original`; return how many places that were."""
    places = [(module, name) for module in modules for name, value in vars(module).items() if value is original]
    for module, name in places:
        setattr(module, name, other)
    return len(places)


def tests_fail(slug: str, root: Path, original: Callable | None, other: Callable | None, modules: list) -> int:
    """Run the equation tests in a fork, with `other` in place of `original`; return pytest's exit code."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 70
        try:
            with tempfile.TemporaryFile("w+") as quiet:
                os.dup2(quiet.fileno(), 1)
                os.dup2(quiet.fileno(), 2)
                if original is not None:
                    replace(original, other, modules)
                code = int(run_tests(slug, root))
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def run_tests(slug: str, root: Path) -> int:
    """Run the chapter's equation tests until the first that fails, without shrinking examples."""
    settings.register_profile("plant", phases=[Phase.explicit, Phase.generate], deadline=None, derandomize=True)
    settings.load_profile("plant")
    files = sorted(map(str, (root / "tests").glob(f"test_{slug}*.py")))
    options = ["-x", "-q", "-m", "equation", "-p", "no:cacheprovider", "--rootdir", str(root)]
    return pytest.main([*files, *options])


def library_findings(slug: str, root: Path, exercises: list, modules: list) -> list[str]:
    """Return the mistakes that the chapter's tests do not notice, and the exercises without a library function."""
    if (code := tests_fail(slug, root, None, None, modules)) != 0:
        return [f"the equation tests of {slug} do not pass as they are (pytest exit {code})"]
    found = []
    for exercise in exercises:
        original = library_function(exercise)
        if original is None:
            found.append(f"exercise {exercise.id}: library={exercise.library!r} names no function")
            continue
        if list(inspect.signature(original).parameters) != list(inspect.signature(exercise.solution).parameters):
            found.append(f"exercise {exercise.id}: the solution's arguments are not those of {exercise.library}")
        for name, mistake in exercise.mistakes.items():
            code = tests_fail(slug, root, original, mistake.fn, modules)
            if code != 1:
                found.append(
                    f"the tests of {slug} do not notice the mistake {name!r} in {exercise.library} (exit {code})"
                )
    return found


def main(slug: str, root: Path) -> int:
    """Print the findings about a chapter's checkers or, when there are none, those about its tests."""
    modules = chapter_modules(slug)
    planted = importlib.import_module(f"iclr26lib.{slug}.exercises").EXERCISES
    found = [line for exercise in planted.values() for line in checker_findings(exercise)]
    found = found or library_findings(slug, root, list(planted.values()), modules)
    for line in found:
        print("finding:", " ".join(line.split()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
