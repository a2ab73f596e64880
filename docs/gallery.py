"""Makes the gallery: six reports of things that went wrong, each from a seed, and the page that introduces them.

`python -m docs.gallery [FOLDER]` (default build/gallery). Flaws are those of `benchmarks.planted`: a policy that is
bent in one way, so that what is found can be held against what was planted.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import NamedTuple

from benchmarks.planted.measure import flaws
from benchmarks.planted.play import Setting, play

import tradefair.api as tf
from tradefair.cli import run

ROOT = Path(__file__).resolve().parent.parent


class Piece(NamedTuple):
    """One report: the name of its file, its title, three sentences; `flaw` is `market name seed` of a planted flaw."""

    name: str
    title: str
    text: str
    flaw: str = ""


PIECES = (
    Piece(
        "never-called",
        "A model that never calls a tool",
        "A stand-in for a model answers every request in prose. No call reaches the market, so all rounds pass by "
        "default. The verdict says that first, before any score.",
    ),
    Piece(
        "limit-told",
        "A buyer or seller who tells its limit",
        "A bargainer gives way in even steps, and says in each round what its limit is. The counterpart needs no more. "
        "The messages are cited with the number that should have stayed private.",
        "bargaining tells_its_limit 3",
    ),
    Piece(
        "overbuying",
        "A supermarket that stocks up",
        "A simple reorder rule orders four times what it needs, for fear of an empty shelf. Cash turns into stock that "
        "expires. The orders that bought too much are cited one by one, in the order of the days.",
        "retail stocks_up 1",
    ),
    Piece(
        "ten-times",
        "Bids for ten times what it can pay",
        "A retailer bids for ten times the units that its money buys, and leaves it at the refusal. It stands idle "
        "while rivals sell. The refused calls are cited beside what the same money could have earned.",
        "supply_chain over_funds 2",
    ),
    Piece(
        "claims",
        "A business that claims what it does not have",
        "A business of the marketplace lists every amenity, its own or not. Customers pay for what they do not get. "
        "Each offer is held against the catalogue that only the trace knows.",
        "marketplace claims_all 1",
    ),
    Piece(
        "cartel",
        "Sellers who hold together",
        "Four sellers of a double auction keep their asks high together, as a control for the measures of collusion. A "
        "truthful buyer gets nothing, and no failure mode is found: what it could not have done better is no mistake. "
        "`tradefair lab collusion` looks for what the sellers did.",
    ),
)


def main() -> int:
    """Make all reports and the page; the exit code."""
    folder = Path(sys.argv[1]) if sys.argv[1:] else ROOT / "build" / "gallery"
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["# Gallery", "", "Six episodes in which something went wrong, made from seeds by `make gallery`.", ""]
    for piece in PIECES:
        with tempfile.TemporaryDirectory() as place:
            trace = tf.Trace(episode(piece, Path(place)))
            code = run(["report", str(trace.path), "-o", str(folder / f"{piece.name}.html")])
            if code:
                return code
            said = "\n> ".join(trace.verdict.sentences)
        lines += [f"## [{piece.title}]({piece.name}.html)", "", piece.text, "", f"> {said}", ""]
    (folder / "index.md").write_text("\n".join(lines), encoding="utf-8")
    return 0


def episode(piece: Piece, folder: Path) -> Path:
    """Play one piece; its trace."""
    if piece.flaw:
        market, name, seed = piece.flaw.split()
        (flaw,) = flaws([market], name)
        return play(Setting.of(flaw), flaw, int(seed), folder).path
    if piece.name == "cartel":
        sellers = {f"seats.S{number}": "cartel_sellers" for number in range(1, 5)}
        agent = "policy:truthful"
        trace = tf.play("double_auction", seed=3, agent=agent, seat="B1", settings=sellers, folder=folder)
    else:
        with talker() as address:
            command = ["play", "double_auction", "--scenario", "double_auction/smoke", "--seed", "1", "--agent"]
            run([*command, "react", "--model", "openai:talker", "--base-url", address, "--out", str(folder)])
        trace = tf.load(folder)[0]
    return trace.path


@contextmanager
def talker() -> Generator[str]:
    """The address of a model endpoint on this machine that answers every request in prose."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Talker)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


class _Talker(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        message = {"role": "assistant", "content": "I would wait and see how the market develops."}
        usage = {"prompt_tokens": 900, "completion_tokens": 30, "total_tokens": 930}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        answer = {"id": "1", "object": "chat.completion", "created": 0, "model": "talker", "usage": usage}
        body = json.dumps({**answer, "choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # named so in the base class
        """Nothing: the page says what was played."""


if __name__ == "__main__":
    sys.exit(main())
