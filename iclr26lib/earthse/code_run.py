"""Running a model's code: a subprocess with limits on time, memory, processes and files, and no network.

Three fences, one behind the other: the caller must ask for it; the kernel limits the process (and drops root where it
has it); inside, an audit hook lets pass only what a formula needs. This stops accidents and common attacks. It is no
replacement for a container: code that breaks out of the interpreter itself passes the third fence.
"""

from __future__ import annotations

import json
import math
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TOLERANCE = 0.01
MEMORY = 512 * 2**20
READY = b"ready\n"
LONGEST = 100_000  # bytes of a reply
FENCED = re.compile(r"```(?:python|py)?[ \t]*\n(.*?)```", re.S)
HARNESS = Path(__file__).with_name("code_harness.py")


def program_of(output: str) -> str:
    """The code in a model's output: the first fenced block, else the whole text."""
    block = FENCED.search(output)
    return block[1] if block else output


def run_code(program: str, inputs: list[dict[str, float]], seconds: float = 5.0) -> list[float | None]:
    """What `solve(**x)` of a program returns for each x of `inputs`; None where it fails, hangs or gives no number.

    program: Python source, untrusted. seconds: wall time for all inputs; CPU time is held to the next whole second.
    The process has 512 MB, no network, an empty environment and a temporary folder, which is removed.
    Raises ValueError for no inputs or a time that is not positive, RuntimeError where the limits cannot be set.
    """
    if not inputs or not seconds > 0:
        raise ValueError(f"need inputs and a positive time, got {len(inputs)} and {seconds}")
    with tempfile.TemporaryDirectory(prefix="answer-") as folder:
        os.chmod(folder, 0o777)  # the process may run as another user
        reply = _communicate(folder, json.dumps({"program": program, "inputs": inputs}), seconds)
    if not reply.startswith(READY):
        raise RuntimeError("the process that should run the code could not set its limits, or did not start in time")
    return _numbers(reply.removeprefix(READY), len(inputs))


def _communicate(folder: str, request: str, seconds: float) -> bytes:
    """What the harness wrote within `seconds`, or the beginning of it, if it is more than 100 kB."""
    limits = [str(math.ceil(seconds)), str(MEMORY)]
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", HARNESS.read_text(encoding="utf-8"), *limits],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        cwd=folder, env={}, start_new_session=True, close_fds=True,
    )  # fmt: skip
    with process:
        try:
            process.stdin.write(request.encode("utf-8", "replace"))
            process.stdin.close()
            return _read(process.stdout.fileno(), time.monotonic() + seconds)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def _read(pipe: int, deadline: float) -> bytes:
    """All bytes of a pipe until it ends, the deadline, or 100 kB, whatever comes first."""
    reply = b""
    while len(reply) < LONGEST and (left := deadline - time.monotonic()) > 0:
        if not select.select([pipe], [], [], left)[0] or not (more := os.read(pipe, 65536)):
            break
        reply += more
    return reply


def _numbers(reply: bytes, n: int) -> list[float | None]:
    """The n values that the harness wrote, read strictly; None for each where the reply is anything else."""
    try:
        values = json.loads(reply.decode("ascii"))
    except (ValueError, RecursionError):
        return [None] * n
    if not isinstance(values, list) or len(values) != n:
        return [None] * n
    return [float(v) if type(v) in (int, float) and abs(v) < 1e300 else None for v in values]


def passed(program: str, code: dict[str, Any], seconds: float = 5.0) -> float:
    """Share of right values of a program, in [0, 1]: within 1 % of the outputs.

    code: {"inputs": list of keyword arguments, "outputs": list of numbers}, which the program never sees. seconds: see
    `run_code`. Raises ValueError when the lists differ in length, and as `run_code`.
    """
    inputs, outputs = code["inputs"], code["outputs"]
    if len(inputs) != len(outputs):
        raise ValueError(f"inputs and outputs must be as many, got {len(inputs)} and {len(outputs)}")
    values = run_code(program, inputs, seconds)
    right = [v is not None and abs(v - o) <= TOLERANCE * abs(o) for v, o in zip(values, outputs, strict=True)]
    return sum(right) / len(right)
