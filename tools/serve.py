"""Serve the built book on this machine.

    python -m tools.serve [--port 8000]

The next free port is taken when the wished one is in use. Stop with Ctrl-C.
"""

from __future__ import annotations

import argparse
import errno
import functools
import sys
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TRIES = 50


class Quiet(SimpleHTTPRequestHandler):
    """A file server that says nothing about single requests and lets the browser keep nothing."""

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""

    def end_headers(self) -> None:
        """Forbid caching, so that a rebuilt page shows at once."""
        self.send_header("Cache-Control", "no-store")
        super().end_headers()


def server(html: Path, port: int = 8000) -> ThreadingHTTPServer:
    """Return a server of folder `html` on the first free port from `port` on; 0 lets the system choose.

    Raises ValueError when the folder holds no book, or no port is free.
    """
    if not (html / "index.html").is_file():
        raise ValueError(f"{html} holds no book; build it first with: make book")
    if not 0 <= port <= 65535:
        raise ValueError(f"a port is a number from 0 to 65535, got {port}")
    handler = functools.partial(Quiet, directory=str(html))
    for candidate in range(port, min(port + TRIES, 65536)):
        try:
            return ThreadingHTTPServer(("127.0.0.1", candidate), handler)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
    raise ValueError(f"no port from {port} to {port + TRIES - 1} is free")


def main(arguments: list[str] | None = None) -> int:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(prog="serve", description="Serve the built book on this machine.")
    parser.add_argument("--port", type=int, default=8000)
    try:
        running = server(ROOT / "_build" / "html", parser.parse_args(arguments).port)
    except ValueError as error:
        print(f"serve: {error}", file=sys.stderr)
        return 1
    print(f"serve: http://127.0.0.1:{running.server_port}/ (Ctrl-C ends it)", flush=True)
    try:
        running.serve_forever()
    except KeyboardInterrupt:
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
