"""What stands outside of the package: a terminal that shows what a process prints, an endpoint that answers a model."""

from __future__ import annotations

import os
import pty
import subprocess
import termios
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from tests.waiting import LONG
from tradefair.frameworks.models.dialect import dialect_of

# Variables that say how wide or colourful a terminal is: this one is as a test wants it.
_SHAPE = ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR")


def on_terminal(
    command: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    *,
    given: str = "",
    errors: bool = True,
    raw: bool = False,
    heard: Callable[[str], object] = len,
) -> tuple[int, str]:
    """The exit code of a command and all that its terminal was sent; `errors`: with what goes to stderr.

    `given` is its standard input, `raw`: line ends as they were written, `env` what is added to the environment;
    `heard` is called with all that was sent so far, whenever there is more.
    """
    control, terminal = pty.openpty()
    if raw:
        mode = termios.tcgetattr(terminal)
        mode[1] &= ~termios.OPOST
        termios.tcsetattr(terminal, termios.TCSANOW, mode)
    child = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=terminal,
        stderr=terminal if errors else subprocess.DEVNULL,
        cwd=cwd,
        env={name: value for name, value in os.environ.items() if name not in _SHAPE} | dict(env),
    )
    os.close(terminal)
    assert child.stdin is not None
    child.stdin.write(given.encode())
    child.stdin.close()
    found = bytearray()
    try:
        while piece := os.read(control, 65_536):
            found += piece
            heard(found.decode(errors="replace"))
    # Linux ends a pty whose other side is closed with EIO.
    except OSError:
        pass
    os.close(control)
    return child.wait(LONG), found.decode()


class Asked(NamedTuple):
    """A request to an endpoint."""

    path: str
    headers: Message
    body: bytes


class Answer(NamedTuple):
    """A response of an endpoint; text that is no JSON is sent as HTML."""

    status: int
    body: str
    headers: Mapping[str, str] = {}


@contextmanager
def endpoint(answer: Callable[[Asked], Answer]) -> Generator[str]:
    """The address of a server on the loopback that answers each POST so."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            said = answer(Asked(self.path, self.headers, body))
            content = said.body.encode()
            self.send_response(said.status)
            self.send_header("content-type", "application/json" if content[:1] == b"{" else "text/html")
            self.send_header("content-length", str(len(content)))
            # A client's pauses between retries would make tests slow.
            self.send_header("retry-after-ms", "1")
            for name, value in said.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the name of the base class
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    # The port may be that of an earlier one, of which this process has learnt something.
    dialect_of.cache_clear()
    # A short poll: shutting down waits for it.
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join(LONG)
        server.server_close()
