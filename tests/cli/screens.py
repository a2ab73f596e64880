"""What people see: commands on terminals of three widths and in a pipe, as texts in `tests/cli/snapshots`.

`make snapshots` writes them anew; a person reads what has changed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.outside import on_terminal

SNAPSHOTS = Path(__file__).parent / "snapshots"
MEDIA = ("80", "100", "140", "pipe")
_AUCTION = "play double_auction --scenario smoke --agent policy --seat B1"
_PIE = "play teaching --scenario pie --seed 1 --agent openai_loop --limit calls=4 --model openai:tiny"
READY = (
    f"{_AUCTION} --model policy:zip --seed 7 --out one",
    f"{_AUCTION} --model policy:zip --seed 5 --seeds 3 --out a",
    f"{_AUCTION} --model policy:truthful --seed 5 --seeds 3 --out b",
    f"{_PIE} --base-url failing --out failed",
)
"""What is there before; its output is not shown."""
SHOWN = (
    f"{_AUCTION} --model policy:zip --seed 7 --out play",
    f"{_AUCTION} --model policy:zip --seed 5 --seeds 2 --references --out series",
    "evaluate one",
    "evaluate a b",
    "evaluate one --all",
    "compare a b",
    "compare a b -o pairs.csv",
    "rate a b",
    "verify one",
    "verify one/references/truthful.trace",
    "verify short.trace.jsonl",
    "evaluate short.trace.jsonl",
    "evaluate failed",
    f"{_PIE} --base-url prose --out silent",
    f"{_PIE} --base-url malformed --no-references --out malformed",
    f"{_PIE} --base-url unknown --no-references --out unknown",
    f"{_PIE} --base-url refused --no-references --out refused",
    f"{_PIE} --base-url late --no-references --out late",
)
"""By name of the screen; episodes are played in a new folder for each medium, models' endpoints are in `ANSWERS`."""

# One process for all: what is shown is cheap, importing it is not.
_PROGRAM = """
import json, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

def calls(tool, arguments):
    return [{"id": "call", "type": "function", "function": {"name": tool, "arguments": arguments}}]

CLAIM = calls("claim", '{"slices": 4}')
ANSWERS = {  # by endpoint: from the number of the request to the calls of the reply
    "failing": lambda number: CLAIM if number == 1 else 429,
    "prose": lambda number: [],
    "malformed": lambda number: calls("claim", "slices: 4"),
    "unknown": lambda number: calls("buy_low_sell_high", "{}"),
    "refused": lambda number: calls("claim", '{"slices": 4000}'),
    "late": lambda number: [] if number <= 3 else CLAIM,
}
asked = dict.fromkeys(ANSWERS, 0)

class Endpoint(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        name = self.path.split("/")[1]
        asked[name] += 1
        said = ANSWERS[name](asked[name])
        message = {"role": "assistant", "content": "Hm.", **({"tool_calls": said} if said else {})}
        choice = {"index": 0, "finish_reason": "tool_calls" if said else "stop", "message": message}
        body = {"id": "a", "object": "chat.completion", "created": 0, "model": "tiny", "choices": [choice]}
        body["usage"] = {"prompt_tokens": 800, "completion_tokens": 130, "total_tokens": 930}
        content = json.dumps(body if said != 429 else {}).encode()
        self.send_response(200 if said != 429 else 429)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.send_header("retry-after-ms", "1")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *given):
        pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
threading.Thread(target=server.serve_forever, daemon=True).start()

def told(line):
    words = line.split()
    if "--base-url" in words:
        place = words.index("--base-url") + 1
        asked[words[place]] = 0
        words[place] = f"http://127.0.0.1:{server.server_address[1]}/{words[place]}/v1"
    return words

import fcntl, os, struct, sys, termios, time
from pathlib import Path
time.perf_counter = lambda: 0.0  # seconds of a model's replies are shown
from tradefair.cli import run
ready, shown, media = (part.split("\\n") for part in sys.stdin.read().split("\\n\\n"))
here, terminal = Path.cwd(), os.dup(1)

def silently(line):
    sys.stdout.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    run(told(line))
    sys.stdout.flush()
    os.dup2(terminal, 1)

for line in ready:
    silently(line)
(path,) = here.glob("one/*.trace")
silently(f"export {path} -o short.trace.jsonl")
lines = (here / "short.trace.jsonl").read_bytes().splitlines(keepends=True)
(here / "short.trace.jsonl").write_bytes(b"".join(lines[:12] + lines[13:]))
for medium in media:
    pipe = None
    if medium == "pipe":
        pipe = os.open("pipe.out", os.O_RDWR | os.O_CREAT)
        os.dup2(pipe, 1)
    else:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 50, int(medium), 0, 0))
    for line in shown:
        arguments = told(line)
        if "--out" in arguments:
            os.makedirs(medium, exist_ok=True)
            os.chdir(medium)
        print(f"$ tradefair {line}", flush=True)
        print(f"exit {run(arguments)}\\n", flush=True)
        os.chdir(here)
    print(f"==== {medium}", flush=True)
sys.stdout.flush()
os.dup2(terminal, 1)
print(Path("pipe.out").read_text(), flush=True)
"""


def screens(folder: Path) -> Mapping[str, str]:
    """Everything that is printed, by medium, with names and hashes that differ from run to run replaced."""
    told = "\n\n".join("\n".join(part) for part in (READY, SHOWN, MEDIA))
    calm = {"TERM": "xterm-256color", "TRADEFAIR_ALLOW_MODELS": "0"}
    code, found = on_terminal([sys.executable, "-c", _PROGRAM], folder, calm, given=told, errors=False)
    assert code == 0
    # Names, hashes, versions and the time that playing took, in as many characters.
    text = re.sub(r"\b([0-9a-f]{12}|[0-9a-f]{16})\b", lambda name: "x" * len(name[0]), found)
    text = re.sub(r"(python|tradefair) \d+\.\d+\.\d+", lambda name: re.sub(r"\d", "0", name[0]), text)
    text = re.sub(r"\d\.\d+(?= +–\r?$)", lambda seconds: "0".rjust(len(seconds[0])), text, flags=re.MULTILINE)
    parts = re.split(r"==== \w+\n", text.replace("\r\n", "\n"))
    return dict(zip(MEDIA, parts, strict=False))


def by_command(screen: str) -> dict[str, list[str]]:
    """The lines of each command, its exit code last."""
    blocks = re.split(r"(?m)^\$ tradefair ", screen)[1:]
    return {block.partition("\n")[0]: block.partition("\n")[2].rstrip("\n").split("\n") for block in blocks}


if __name__ == "__main__":
    SNAPSHOTS.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder:
        for medium, screen in screens(Path(folder)).items():
            plain = re.sub(r"\x1b\[[0-9;]*m", "", screen)
            (SNAPSHOTS / f"{medium}.txt").write_text(plain, encoding="utf-8")
