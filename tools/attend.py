"""Run a command and everything that it starts, and end it all when asked to."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
STOPPED = 130


def attended(command: list[str], variables: dict[str, str] | None = None, patience: float = 0) -> int:
    """Run a command that finds this repository's tools; return its exit code, or STOPPED after Ctrl-C or SIGTERM.

    variables: added to the environment. patience: seconds between asking it to end, as a scheduler needs to take its
    jobs back, and ending it by force. Force is harmless: a run that is killed loses nothing that it has finished.
    """
    search = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, **(variables or {}), "PYTHONPATH": search}
    process = subprocess.Popen(command, env=environment, start_new_session=True)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return process.wait()
    except KeyboardInterrupt:
        print("stopped; started again, it goes on where it was", file=sys.stderr)
        if patience:
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(patience)
        return STOPPED
    finally:
        signal.signal(signal.SIGTERM, before)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
