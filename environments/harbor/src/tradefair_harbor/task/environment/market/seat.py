"""Stands between a trial's agent and its market: takes the seat, adds the token, tells the verifier the score.

GET /ready makes the episode, POST /mcp is the seat's server, GET /outcome ends the episode and says how it went. It is
in a container of its own: tokens and the other seats' secrets are not where an agent can read them.
"""

import atexit
import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tradefair_client import OPEN, Seat, control, create

LOCK = threading.Lock()
TAKEN: list[Seat] = []
MOST_BYTES = 1 << 20


def serve_market() -> None:
    """Start a server for this one trial, unless one is named; its address goes where the client reads it."""
    if "TRADEFAIR_CONTROL_URL" not in os.environ:
        command = ["tradefair", "host", "--tasks", "bundled", "--json", "--port", "0"]
        command += ["--out", os.environ.get("TRADEFAIR_TRACES", "/traces")]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        atexit.register(server.wait, 30)
        atexit.register(server.terminate)  # first: the last that is registered
        named = json.loads(server.stdout.readline())["control"]
        os.environ.update(TRADEFAIR_CONTROL_URL=named["url"], TRADEFAIR_CONTROL_TOKEN=named["token"])


def taken() -> Seat:
    """The trial's seat, of an episode that is made once."""
    with LOCK:
        if not TAKEN:
            TAKEN.extend(create(**json.loads(Path(__file__).with_name("order.json").read_text())))
        return TAKEN[0]


class Door(BaseHTTPRequestHandler):
    """All that an agent and the verifier can ask."""

    def do_GET(self) -> None:
        """Make the episode, or say how it went."""
        if self.path == "/ready":
            self._answer(200, json.dumps({"seat": taken().seat}).encode())
        elif self.path == "/outcome":
            self._answer(200, json.dumps(control(f"/episodes/{taken().episode}/outcome?end=true")).encode())
        else:  # of /mcp too: there is no stream that stays open
            self._answer(405 if self.path == "/mcp" else 404)

    def do_POST(self) -> None:
        """Pass a request on to the seat's server, with the seat's token, and its answer back."""
        length = self.headers.get("Content-Length", "")
        if self.path != "/mcp" or not length.isdigit() or int(length) > MOST_BYTES:
            self._answer(404 if self.path != "/mcp" else 413)
            return
        passed = ("accept", "content-type", "mcp-")
        said = {name: text for name, text in self.headers.items() if name.lower().startswith(passed)}
        seat = taken()
        asked = urllib.request.Request(seat.url, self.rfile.read(int(length)), said, method="POST")
        asked.add_header("Authorization", f"Bearer {seat.token}")
        try:
            with OPEN(asked, timeout=120) as answer:
                self._answer(answer.status, answer.read(), answer.headers)
        except urllib.error.HTTPError as refused:
            self._answer(refused.code, refused.read(), refused.headers)

    def _answer(self, status: int, body: bytes = b"", headers: object = None) -> None:
        self.send_response(status)
        for name in ("Content-Type", "Mcp-Session-Id"):
            if headers is not None and headers.get(name):
                self.send_header(name, headers[name])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # the first process of a container has no other handler
    serve_market()
    door = ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Door)
    print(json.dumps({"port": door.server_port}), flush=True)
    door.serve_forever()
