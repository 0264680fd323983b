"""The inside of the fence: read a program and its inputs, give up rights, run it, write the values.

Run as a script by `code_run` (arguments: CPU seconds, bytes of memory), with the standard library only.
"""

import ctypes
import json
import math
import os
import resource
import sys

PASS = {"compile", "exec", "marshal.loads", "builtins.id", "code.__new__", "function.__new__"}
MODULES = {"math", "cmath", "statistics", "itertools", "functools", "operator", "fractions", "decimal", "numbers"}
LIBRARY = os.path.dirname(os.__file__) + os.sep


def limit(seconds: int, memory: int) -> None:
    """Hold the process to CPU `seconds`, bytes of `memory`, no further process and no file with anything in it.

    Where it is root, it becomes nobody; where the kernel lets it, it moves to a network of its own with nothing in it.
    Raises OSError where the kernel refuses a limit.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() != 0:
        libc.unshare(0x10000000)  # a user namespace of its own; where it is refused, the audit hook is what is left
    libc.unshare(0x40000000)
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
    libc.prctl(38, 1, 0, 0, 0)  # no new privileges
    for kind, value in (
        (resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, memory), (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0), (resource.RLIMIT_NOFILE, 16),
    ):  # fmt: skip
        resource.setrlimit(kind, (value, value))


def fence(kind=type, text=str, passing=frozenset(PASS), library=LIBRARY):
    """The audit hook: it refuses each event that a formula does not need.

    kind, text, passing, library: bound here, because the program can change names of this module and of builtins. The
    hook raises PermissionError.
    """
    allowed = frozenset(MODULES | {"collections", "abc", "re", "encodings", "random", "bisect", "datetime"})

    def hook(event, arguments, *, kind=kind, text=text, passing=passing, library=library, allowed=allowed):
        if event in passing:
            return
        if event == "import" and arguments[0].split(".")[0].lstrip("_") in allowed:
            return
        path = arguments[0] if event == "open" and arguments[1] in ("r", "rb") else None
        if kind(path) is text and path.startswith(library) and ".." not in path:
            return
        raise PermissionError(f"{event} is not allowed here")

    return hook


def unload() -> None:
    """Forget the modules that could reach past the fence and that importing anew would have to ask for."""
    for name in ("ctypes", "_ctypes", "ctypes._endian", "resource", "posix", "gc"):
        sys.modules.pop(name, None)
    del globals()["ctypes"], globals()["resource"]


def value(solve, inputs: dict):
    """The finite number that `solve` gives for `inputs`, None for all else."""
    try:
        result = solve(**inputs)
        number = float(result)
    except BaseException:  # noqa: BLE001  whatever the untrusted code raises counts as no answer
        number = math.nan
    return number if math.isfinite(number) else None


def main() -> None:
    """Answer the request on standard input: a JSON list with one number or null an input."""
    request = json.loads(sys.stdin.buffer.read())
    reply, nothing = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    limit(int(sys.argv[1]), int(sys.argv[2]))
    os.write(reply, b"ready\n")
    unload()
    sys.addaudithook(fence())
    space: dict = {"__name__": "answer"}
    try:
        exec(compile(request["program"], "answer", "exec"), space)
        solve = space["solve"]
    except BaseException:  # noqa: BLE001  a program that does not load gives no answer to anything
        values = [None] * len(request["inputs"])
    else:
        values = [value(solve, inputs) for inputs in request["inputs"]]
    os.write(reply, json.dumps(values).encode("ascii"))
    os._exit(0)


for name in MODULES:
    __import__(name)
if __name__ == "__main__":
    main()
