"""Kernels that talk through sockets of their own in a private folder, never through TCP ports.

Two kernels started at the same moment can pick the same free port; two files cannot have the same name. `use_files`
makes that the default of every kernel that this process starts, whoever starts it (papermill, nbval, nbclient).
"""

import atexit
import itertools
import os
import shutil
import tempfile
from functools import wraps

LONGEST_SOCKET_NAME = 100


def use_files() -> None:
    """Make kernels started by this process use local sockets; leaves TCP where the system has no such sockets."""
    from jupyter_client.manager import KernelManager

    if os.name != "posix" or getattr(KernelManager.__init__, "uses_files", False):
        return
    folder = tempfile.mkdtemp(prefix="k-")
    if len(folder) > LONGEST_SOCKET_NAME - 20:
        os.rmdir(folder)
        folder = tempfile.mkdtemp(prefix="k-", dir="/tmp")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    KernelManager.__init__ = _with_files(KernelManager.__init__, folder)


def _with_files(start, folder: str):
    numbers = itertools.count()

    @wraps(start)
    def initialise(self, *args, **kwargs):
        kwargs.setdefault("transport", "ipc")
        if kwargs["transport"] == "ipc":
            kwargs.setdefault("ip", os.path.join(folder, str(next(numbers))))
        start(self, *args, **kwargs)

    initialise.uses_files = True
    return initialise
