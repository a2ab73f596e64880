"""Every secret that can be given is a unique text; afterwards no file, log line, span or byte of a terminal has it.

Commands run as processes of their own in one folder, with logs at debug and spans in a file; what they print lies there
too. `found` searches every file of it, plain, percent-encoded and in base64, and the cells of databases, which a page
may cut in two.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import zlib
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from tests.host.postgres import Server, missing
from tests.host.serving.by_hand import HEADERS, Seat
from tests.options_files import options_file
from tests.outside import Answer, Asked
from tests.outside import endpoint as opened_endpoint
from tests.waiting import LONG, LONGER

# Signs that percent-encoding and base64 change; the last ones tell the secrets apart in a failure.
MODEL_KEY = "sk-Canary+/=~0f9e8d7c6b5a-model"
CONTROL = "Canary+/=~a1b2c3d4e5f60718-control-0123456789"
PASSWORD = "Canary+/=~1a2b3c4d5e6f-database"
SPANS_KEY = "Canary+/=~9988776655-collector"
EMBED_KEY = "Canary+/=~5566778899-embeddings"
USERINFO = "Canary~aabbccddee-userinfo"
WRONG = "Canary~ffeeddccbb-presented-by-nobody"
SECRETS = (MODEL_KEY, CONTROL, PASSWORD, SPANS_KEY, EMBED_KEY, USERINFO, WRONG)
SEED = 730_519_264_807_153

PROGRAM = """
import os, sys, logging
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
out = open(sys.argv.pop(1), "a", buffering=1)
provider = TracerProvider()
exporter = ConsoleSpanExporter(out=out, formatter=lambda span: span.to_json(None) + "\\n")
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
from tradefair.cli import run
code = run(sys.argv[1:])
planted = os.environ.get("CANARY_PLANTED")
if planted:
    logging.getLogger("tradefair.host").debug("planted", extra={"planted": "in the log " + planted})
    with trace.get_tracer("planted").start_as_current_span("planted") as span:
        span.set_attribute("planted", "in a span " + planted)
    print("on the terminal", planted)
sys.exit(code)
"""


def forms(secret: str) -> set[bytes]:
    """A secret as it is, percent-encoded, and in base64 wherever it begins in what is encoded."""
    data = secret.encode()
    found = {data, quote(secret, safe="").encode(), json.dumps(secret)[1:-1].encode()}
    for lead in range(3):
        for encode in (b64encode, urlsafe_b64encode):
            coded = encode(bytes(lead) + data)
            # Only signs that the secret alone decides.
            found.add(coded[-(-lead * 4 // 3) : (lead + len(data)) * 8 // 6])
    return found


def _contents(path: Path) -> Iterator[bytes]:
    """The bytes of a file; of a database every cell too, also unpacked."""
    content = path.read_bytes()
    yield content
    if not content.startswith(b"SQLite format 3"):
        return
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as database:
        for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            for row in database.execute(f"SELECT * FROM {table}"):
                for cell in row:
                    data = cell.encode() if isinstance(cell, str) else cell if isinstance(cell, bytes) else b""
                    yield data
                    if data[:1] == b"x":
                        try:
                            yield zlib.decompress(data)
                        except zlib.error:
                            continue


@dataclass
class Place:
    """A folder in which commands run; `said` is the part of it that has what they printed."""

    folder: Path
    given: dict[str, str]
    runs: int = 0
    secrets: list[str] = field(default_factory=lambda: list(SECRETS))

    @property
    def environment(self) -> dict[str, str]:
        home = {"HOME": str(self.folder / "home"), "TRADEFAIR_CACHE": str(self.folder / "cache")}
        return {**os.environ, **home, "TRADEFAIR_LOG_LEVEL": "debug", "OPENAI_LOG": "debug", **self.given}

    def start(
        self, *arguments: str, keep_out: bool = True, more: dict[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """A command; its stderr, and its stdout unless it is asked for, become files of the folder."""
        self.runs += 1
        said = self.folder / "said"
        said.mkdir(exist_ok=True)
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(said / "spans.jsonl"), *arguments],
            stdout=(said / f"{self.runs}.out").open("wb") if keep_out else subprocess.PIPE,
            stderr=(said / f"{self.runs}.err").open("wb"),
            cwd=self.folder,
            env={**self.environment, **(more or {})},
        )

    def run(self, *arguments: str, code: int = 0, **more: str) -> None:
        """A command to its end."""
        process = self.start(*arguments, more=more)
        assert process.wait(LONGER) == code, (arguments, self.last())

    def plan(self, model: str, *urls: str) -> None:
        """Write `plan.toml`: one episode of `model`, or one for each of its base URLs."""
        lines = ["[plan]", 'name = "canary"', 'description = "d"', 'scenarios = ["teaching/pie"]', f"seeds = [{SEED}]"]
        for number, url in enumerate(urls or ("",)):
            lines += ["[[agent]]", f'label = "agent {number}"', f'model = "{model}"']
            lines += ['framework = "react"', f'base_url = "{url}"'] if url else []
        (self.folder / "plan.toml").write_text("\n".join(lines))

    def last(self) -> str:
        """What the last command said."""
        return "".join((self.folder / "said" / f"{self.runs}.{end}").read_text() for end in ("out", "err"))

    def found(self, *secrets: str) -> list[str]:
        """`file: secret` for every file that has one."""
        return [
            f"{path.relative_to(self.folder)}: {secret}"
            for path in sorted(self.folder.rglob("*"))
            if path.is_file()
            for secret in secrets or self.secrets
            if any(form in content for content in _contents(path) for form in forms(secret))
        ]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(
        tmp_path,
        {
            "OPENAI_API_KEY": MODEL_KEY,
            "TRADEFAIR_CONTROL_TOKEN": CONTROL,
            "TRADEFAIR_EMBED_API_KEY": EMBED_KEY,
            "OTEL_EXPORTER_OTLP_HEADERS": f"authorization=Bearer {SPANS_KEY}",
            "PGPASSWORD": PASSWORD,
        },
    )


@pytest.fixture
def endpoint() -> Generator[str]:
    """A model that quotes the key wherever it can; `/refuse` with 401, `/moved` with a redirect that holds a name."""
    numbers = count(1)

    def answer(asked: Asked) -> Answer:
        key = asked.headers["authorization"].removeprefix("Bearer ")
        headers = {"x-request-id": f"request of {key}"}
        if asked.path.startswith("/refuse"):
            # At the edge of what an error shows: a key that is cut first is no longer found.
            told = "x" * 1_985 + key
            return Answer(401, json.dumps({"error": {"message": told, "code": "invalid_api_key"}}), headers)
        if asked.path.startswith("/moved"):
            headers["location"] = f"http://name:{USERINFO}@127.0.0.1:9/v1/chat/completions"
            return Answer(302, json.dumps({"error": {"message": f"moved, {key}"}}), headers)
        number = next(numbers)
        noted = {"name": "add_note", "arguments": json.dumps({"text": f"my key is {key}"})}
        called = noted if number % 2 else {"name": "claim", "arguments": '{"slices": 4}'}
        message = {
            "role": "assistant",
            "content": f"I was given {key}.",
            "tool_calls": [{"id": f"call-{number}", "type": "function", "function": called}],
        }
        choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
        usage = {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}
        body = {"id": f"answer-{key}", "object": "chat.completion", "created": 0, "model": "tiny", "usage": usage}
        return Answer(200, json.dumps(body | {"choices": [choice]}), headers)

    with opened_endpoint(answer) as address:
        yield address


PLAY = ("play", "teaching", "--scenario", "pie", "--others", "half", "--no-references", "--seed", str(SEED))


def test_what_is_given_to_players_and_gateways_is_kept_nowhere(place: Place, endpoint: str) -> None:
    model = ("--agent", "react", "--model", "openai:tiny", "--base-url")
    place.run(*PLAY, *model, f"{endpoint}/v1", "--out", "direct")
    place.run(*PLAY, *model, f"{endpoint}/v1", "--record", "calls.jsonl", "--out", "recorded")
    assert "my key is [key]" in (place.folder / "calls.jsonl").read_text()
    place.run(*PLAY, *model, f"{endpoint}/refuse/v1", "--out", "refused", code=3)
    assert "the key is taken from OPENAI_API_KEY" in place.last()
    place.run(*PLAY, *model, f"{endpoint}/moved/v1", "--out", "moved", code=3)
    place.run(*PLAY, *model, endpoint.replace("//", f"//name:{USERINFO}@"), code=2)
    place.run(*PLAY, *model[:-1], code=2, OPENAI_BASE_URL=f"{endpoint}/v1?api_key={USERINFO}")

    place.plan("openai:tiny", f"{endpoint}/v1", f"{endpoint}/refuse/v1")
    place.run("sweep", "plan.toml", "--out", "swept", *options_file(place.folder, retries=0), code=3)

    gateway = place.start(
        "gateway", "--upstream", "openai:tiny", "--base-url", f"{endpoint}/v1", "--record", "gate.jsonl", "--json",
        keep_out=False,
    )  # fmt: skip
    assert gateway.stdout is not None
    opened = json.loads(gateway.stdout.readline())
    for key in (opened["api_key"], WRONG):
        body = {"model": "tiny", "messages": [{"role": "user", "content": "play"}]}
        headers = {"authorization": f"Bearer {key}"}
        httpx2.post(f"{opened['base_url']}/chat/completions", json=body, headers=headers, timeout=LONG)
    gateway.send_signal(signal.SIGINT)
    assert gateway.wait(LONG) == 0
    assert gateway.stdout.read() == b""
    # Shown once, on the terminal, and kept nowhere else.
    place.secrets.append(opened["api_key"])

    traces = sorted(str(path.relative_to(place.folder)) for path in place.folder.rglob("*.trace"))
    assert len(traces) >= 4
    for form in ("jsonl", "otlp", "openai", "parquet"):
        place.run("export", traces[0], "--format", form, "-o", f"out-{form}")
    place.run("export", traces[0])
    place.run("evaluate", *traces, "--json", "-o", "scores.json")
    place.run("report", *traces, "-o", "report.html")
    place.run("verify", *traces, f"postgresql://name:{quote(PASSWORD, safe='')}@127.0.0.1:9/none#x", "--json", code=1)
    assert place.found() == []


def _served(place: Place, *arguments: str, **more: str) -> tuple[subprocess.Popen[bytes], dict[str, Any]]:
    # Outside the folder: what a user writes into a file is not what tradefair has kept.
    given = options_file(place.folder.with_name(f"{place.folder.name}_told"), observers=1, log_level="debug", **more)
    told = ("--seed", str(SEED), "--seats", "P1", "--control-port", "0", *given)
    host = place.start("host", "teaching", "--scenario", "pie", "--others", "half", *told, *arguments, keep_out=False)
    assert host.stdout is not None
    # Tokens are shown here, once, and nowhere else: this line is not part of what is searched.
    return host, json.loads(host.stdout.readline())


async def _play_by_hand(place: Place, ready: dict[str, Any]) -> None:
    """A seat, a stranger, an observer and the operator; what a seat is told becomes a file of the folder."""
    (hosted,) = ready["episodes"]
    tokens = [row["token"] for row in (*hosted["seats"], *hosted.get("observers", ()))]
    place.secrets += tokens
    assert tokens
    told: list[str] = []
    async with httpx2.AsyncClient(headers=HEADERS, timeout=LONG) as http:
        for token in (*tokens[:1], WRONG):
            http.headers["Authorization"] = f"Bearer {token}"
            seat = Seat(ready["url"], http)
            answers = [
                await seat.call("view_my_value", b"{}"),
                await seat.call("claim", b'{"slices": 1, "token": "x"}'),
                await seat.call("add_note", b'{"text": "mine alone"}'),
                await seat.call("claim", b'{"slices": 4}', b'"key-1"'),
                await seat.call("nothing", b"{}"),
                await http.get(ready["url"]),
            ]
            told += [f"{answer.status_code} {dict(answer.headers)} {answer.text}" for answer in answers]
        control = ready["control"]["url"]
        for token in (CONTROL, WRONG):
            http.headers["Authorization"] = f"Bearer {token}"
            listed = [await http.get(f"{control}/episodes"), await http.get(f"{control}/")]
            wanted = {"market": "teaching", "scenario": "pie", "seed": SEED + 1, "others": "half"}
            made = await http.post(f"{control}/episodes", json=wanted)
            # The tokens of a new episode are shown here, once.
            place.secrets += [row["token"] for row in made.json().get("invitations", ())]
            told += [f"{answer.headers}" for answer in (*listed, made)]
    (place.folder / "told.txt").write_text("\n".join(told))
    assert "slices" in "".join(told)


def _ended(place: Place, host: subprocess.Popen[bytes]) -> None:
    assert host.stdout is not None
    host.send_signal(signal.SIGTERM)
    rest = host.stdout.read()
    assert host.wait(LONG) == 0, rest
    (place.folder / "said" / "farewell.out").write_bytes(rest)


async def test_what_is_given_to_a_host_is_kept_nowhere_and_its_seed_in_the_trace_alone(place: Place) -> None:
    host, ready = _served(place, "--out", "hosted", "--json")
    await _play_by_hand(place, ready)
    _ended(place, host)
    # It did log: what it made, and whom it refused.
    logged = "".join(path.read_text() for path in (place.folder / "said").glob("*.err"))
    assert "INFO tradefair.host: episodes created" in logged
    assert "WARNING tradefair.security: refused" in logged
    assert "tools/call claim" in (place.folder / "said" / "spans.jsonl").read_text()
    place.run("verify", f"postgresql://name:{quote(PASSWORD, safe='')}@127.0.0.1:9/none#x", "--json", code=1)
    assert place.found() == []
    # The registry, logs, spans and answers are without the seed; the trace's own core has it.
    traces = {str(path.relative_to(place.folder)) for path in (place.folder / "hosted").glob("*.trace")}
    kept = {line.partition(":")[0] for line in place.found(str(SEED), str(SEED + 1))}
    assert len(traces) == 2
    assert kept == traces


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
async def test_the_password_of_a_store_is_kept_nowhere(place: Place, server: Server) -> None:
    address = server.dsn.replace("tradefair@", f"tradefair:{quote(PASSWORD, safe='')}@")
    host, ready = _served(place, "--out", "hosted", "--json", store=address)
    (place.folder / "ready.json").write_text(json.dumps({**ready, "episodes": None}))
    await _play_by_hand(place, ready)
    _ended(place, host)
    place.plan("policy:half")
    place.run("sweep", "plan.toml", "--out", "swept", TRADEFAIR_STORE=address)
    gone = address.replace(f":{server.port}/", ":9/")
    for named in (address, f"{gone}#nothing"):
        # What each says of a store that it cannot use must not name the password either.
        lines = "verify,verify --json,evaluate,rate --by headline,rate,trace {} summary,report -o p.html"
        for line in lines.split(","):
            words = line.split() if "{}" in line else [line.split()[0], "{}", *line.split()[1:]]
            place.start(*(word.format(named) for word in words)).wait(LONGER)
        place.start("export", named, "-o", f"copies-{place.runs}").wait(LONGER)
        place.start("compare", named, named, "--json").wait(LONGER)
    assert place.found() == []


def test_a_planted_secret_is_found_in_every_place(place: Place) -> None:
    """The control of the tests above."""
    place.run(*PLAY, "--model", "policy:half", "--out", "played", CANARY_PLANTED=MODEL_KEY)
    (trace,) = (place.folder / "played").glob("*.trace")
    # Long enough to be cut by the pages of the file.
    for secret, cell in ((CONTROL, b"x" * 4_050), (PASSWORD, b"")):
        written = cell + secret.encode()
        with closing(sqlite3.connect(trace)) as database, database:
            value = zlib.compress(written) if secret == PASSWORD else written
            database.execute("UPDATE events SET body = ? WHERE seq = ?", (value, 1 if secret == PASSWORD else 2))
    (place.folder / "percent.txt").write_text(quote(SPANS_KEY, safe=""))
    for lead in range(3):
        (place.folder / f"base64-{lead}.txt").write_bytes(b64encode(b"name"[:lead] + EMBED_KEY.encode() + b":x"))
        (place.folder / f"base64-url-{lead}.txt").write_bytes(urlsafe_b64encode(b"q" * lead + EMBED_KEY.encode()))
    name = str(trace.relative_to(place.folder))
    assert sorted(place.found()) == sorted(
        [
            *(f"base64-{lead}.txt: {EMBED_KEY}" for lead in range(3)),
            *(f"base64-url-{lead}.txt: {EMBED_KEY}" for lead in range(3)),
            f"percent.txt: {SPANS_KEY}",
            f"{name}: {CONTROL}",
            f"{name}: {PASSWORD}",
            f"said/1.err: {MODEL_KEY}",
            f"said/1.out: {MODEL_KEY}",
            f"said/spans.jsonl: {MODEL_KEY}",
        ]
    )
