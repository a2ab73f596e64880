"""One session, one trace: by the name that the server gives it, else by who asks.

Also here:
- `tradefair record --url` as a process: sealed by signals, killed at any moment, without a secret in any file.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import orjson
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from tests.host.disks import small_disk
from tests.recording.http_kit import Scripted, call, events, exchange, listening, post, recorded, rows
from tests.waiting import LONG

from tradefair.cli import run
from tradefair.recording.http import sessions as http_sessions
from tradefair.recording.http.sessions import CLIENT_INFO

BEGIN = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"clientInfo": {"name": "desk", "version": "2"}}}


async def at_once(request: bytes) -> None:
    """Wait for nothing."""


def echoing(headers: Mapping[str, str], before: Callable[[bytes], Awaitable[None]] = at_once) -> Scripted:
    """A server that answers each request with its own parameters and adds `headers` to what begins a session.

    It answers when `before` has returned.
    """

    def size(data: bytes) -> int:
        head, _, body = data.partition(b"\r\n\r\n")
        length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")), 0)
        return len(head) + 4 + length if data and len(body) >= length else 0

    async def answer(request: bytes, writer: asyncio.StreamWriter) -> None:
        await before(request)
        said = orjson.loads(request.partition(b"\r\n\r\n")[2] or b"{}")
        body = orjson.dumps(
            {"jsonrpc": "2.0", "id": said.get("id"), "result": {"structuredContent": said.get("params")}}
        )
        lines = ["HTTP/1.1 200 OK", "Content-Type: application/json", f"Content-Length: {len(body)}"]
        if said.get("method") == "initialize":
            lines += [f"{name}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)

    return Scripted(answer, size)


def named(message: dict[str, Any], client: str) -> dict[str, Any]:
    """`message` as of the era without sessions, from a client with that name."""
    meta = {CLIENT_INFO: {"name": client, "version": "1"}}
    return {**message, "params": {**message["params"], "_meta": meta}}


def texts(path: Path) -> list[str]:
    return [arguments["text"] for tool, arguments, _ in rows(path) if tool == "echo"]


def label(path: Path) -> str:
    return events(path)[0]["seating"]["players"]["client"]["label"]


async def ask(port: int, message: dict[str, Any], method: str = "POST", **headers: str) -> Any:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    # Thirty at once on a busy machine wait for longer than five seconds.
    async with httpx2.AsyncClient(timeout=LONG) as http:
        answer = await http.request(method, f"http://127.0.0.1:{port}/mcp", json=message, headers=given)
    return orjson.loads(answer.content)


async def test_a_session_that_the_server_names_is_a_trace_and_ends_with_it(tmp_path: Path) -> None:
    server = echoing({"Mcp-Session-Id": "a"})
    async with listening(server) as port, recorded(f"http://127.0.0.1:{port}/mcp", tmp_path) as recording:
        await ask(recording.port, BEGIN)
        await ask(recording.port, call(1, text="first"), mcp_session_id="a")
        await ask(recording.port, call(1, text="elsewhere"), mcp_session_id="b")
        await ask(recording.port, call(2, text="second"), mcp_session_id="a")
        await ask(recording.port, {}, "DELETE", mcp_session_id="a")
        assert events(recording.traces[0])[-1]["event"] == "episode_ended"
        assert events(recording.traces[1])[-1]["event"] == "tool_called"
        await ask(recording.port, call(3, text="behind its end"), mcp_session_id="a")
    assert [texts(path) for path in recording.traces] == [["first", "second"], ["elsewhere"], ["behind its end"]]
    assert label(recording.traces[0]) == "desk 2"


async def test_without_sessions_a_client_is_its_credentials_and_its_name(tmp_path: Path) -> None:
    async with listening(echoing({})) as port, recorded(f"http://127.0.0.1:{port}/mcp", tmp_path) as recording:
        for text, client, token in (
            ("1", "desk", "t1"), ("2", "desk", "t2"), ("3", "lamp", "t1"), ("4", "desk", "t1"), ("5", "desk", "t2"),
        ):  # fmt: skip
            await ask(recording.port, named(call(1, text=text), client), authorization=f"Bearer {token}")
    assert [texts(path) for path in recording.traces] == [["1", "4"], ["2", "5"], ["3"]]
    assert [label(path) for path in recording.traces] == ["desk 1", "desk 1", "lamp 1"]
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"Bearer" not in written


async def test_a_client_that_begins_again_without_a_session_has_a_new_trace(tmp_path: Path) -> None:
    async with listening(echoing({})) as port, recorded(f"http://127.0.0.1:{port}/mcp", tmp_path) as recording:
        for text in ("first", "second"):
            await ask(recording.port, BEGIN)
            await ask(recording.port, call(1, text=text))
            ended = [events(path)[-1]["event"] == "episode_ended" for path in recording.traces]
    assert ended == [True, False]
    assert [texts(path) for path in recording.traces] == [["first"], ["second"]]
    assert events(recording.traces[1])[-1]["event"] == "episode_ended"


async def test_an_answer_behind_the_end_of_its_session_is_in_its_trace(tmp_path: Path) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()
    late = b'{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"late":true}}}'

    async def answer(request: bytes, writer: asyncio.StreamWriter) -> None:
        if request.startswith(b"DELETE"):
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
            await writer.drain()
            ended.set()
            return
        begun.set()
        await ended.wait()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(late)}\r\n\r\n"
        writer.write(head.encode() + late)

    server = Scripted(answer, lambda data: len(data) if data.endswith((b"}}}", b"\r\n\r\n")) else 0)
    async with listening(server) as port, recorded(f"http://127.0.0.1:{port}/mcp", tmp_path) as recording:
        url, headers = f"http://127.0.0.1:{recording.port}/mcp", {"Mcp-Session-Id": "a"}
        async with httpx2.AsyncClient() as http, asyncio.TaskGroup() as tasks:
            asked = tasks.create_task(http.post(url, json=call(1, text="x"), headers=headers))
            await begun.wait()
            assert (await http.request("DELETE", url, headers=headers)).status_code == 204
            assert (await asked).content == late
        assert events(recording.traces[0])[-1]["event"] == "episode_ended"
    assert (rows(recording.traces[0]), recording.broken) == ([("echo", {"text": "x"}, {"late": True})], [])


async def test_a_call_of_which_the_server_hangs_up_was_never_answered_and_not_called_off(tmp_path: Path) -> None:
    async def answer(request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    server = Scripted(answer, lambda data: len(data) if data.endswith(b"}}}") else 0)
    async with listening(server) as port, recorded(f"http://127.0.0.1:{port}/mcp", tmp_path) as recording:
        with pytest.raises(httpx2.TransportError):
            await ask(recording.port, call(1, text="x"))
    assert rows(recording.traces[0]) == [("echo", {"text": "x"}, "no_answer")]


async def test_equal_ids_of_clients_at_the_same_time_are_kept_apart(tmp_path: Path) -> None:
    async with listening(echoing({})) as port, recorded(f"http://127.0.0.1:{port}/mcp", tmp_path) as recording:
        await asyncio.gather(*(ask(recording.port, named(call(1, text=str(number)), "desk")) for number in range(30)))
    found = rows(recording.traces[0])
    assert len(found) == 30
    assert all(answer["arguments"] == arguments for _, arguments, answer in found)


async def test_logs_that_are_open_at_once_are_bounded_and_the_silent_one_is_sealed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_sessions, "MAX_SESSIONS", 3)
    async with listening(echoing({})) as port, recorded(f"http://127.0.0.1:{port}/mcp", tmp_path) as recording:
        for number in range(5):
            await ask(recording.port, call(1, text="x"), mcp_session_id=str(number))
            await ask(recording.port, call(2, text="x"), mcp_session_id="0")
        ended = [events(path)[-1]["event"] == "episode_ended" for path in recording.traces]
    assert ended == [False, True, True, False, False]


async def test_whoever_comes_while_every_log_waits_for_an_answer_is_sent_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_sessions, "MAX_SESSIONS", 3)
    going, full = asyncio.Event(), asyncio.Event()
    waits = 0

    async def until_all_wait(request: bytes) -> None:
        nonlocal waits
        if b"wait" in request:
            waits += 1
            if waits == 3:
                full.set()
            await going.wait()

    async with (
        listening(echoing({"Mcp-Session-Id": "new"}, until_all_wait)) as port,
        recorded(f"http://127.0.0.1:{port}/mcp", tmp_path) as recording,
    ):
        calls = [ask(recording.port, call(1, text="wait"), mcp_session_id=str(number)) for number in range(2)]
        # What begins a session opens its log when it is answered; until then it counts as well.
        begun = {**BEGIN, "params": {"clientInfo": {"name": "wait", "version": "1"}}}
        waiting = [asyncio.create_task(one) for one in (*calls, ask(recording.port, begun))]
        await full.wait()
        async with httpx2.AsyncClient() as http:
            url = f"http://127.0.0.1:{recording.port}/mcp"
            refused = await http.post(url, json=call(1, text="x"), headers={"mcp-session-id": "more"})
            # Where the server speaks first, nothing of it is passed on.
            with pytest.raises(httpx2.RemoteProtocolError):
                await http.get(url, headers={"mcp-session-id": "spoken"})
        assert (refused.status_code, b"try again later" in refused.content) == (503, True)
        assert len(recording.traces) == 2
        going.set()
        await asyncio.gather(*waiting)
        await ask(recording.port, call(1, text="x"), mcp_session_id="more")
    assert len(recording.traces) == 4
    assert recording.broken == []


async def test_what_is_no_session_leaves_no_trace(tmp_path: Path) -> None:
    async def reply(request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4000000\r\n\r\n" + bytes(4_000_000))

    server = Scripted(reply, lambda data: len(data) if data.endswith(b"\r\n\r\n") else 0)
    async with (
        listening(server) as port,
        recorded(f"http://127.0.0.1:{port}/mcp", tmp_path) as recording,
        httpx2.AsyncClient() as http,
    ):
        for path in ("large", "mcp"):
            assert len((await http.get(f"http://127.0.0.1:{recording.port}/{path}")).content) == 4_000_000
    assert (recording.traces, recording.broken) == ([], [])


async def test_what_is_too_large_to_be_read_answers_the_one_call_of_its_request(tmp_path: Path) -> None:
    async def reply(request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 3\r\n\r\nabc")

    server = Scripted(reply, lambda data: len(data) if data.endswith(b"}}}") else 0)
    async with (
        listening(server) as port,
        recorded(f"http://127.0.0.1:{port}/mcp", tmp_path) as recording,
        httpx2.AsyncClient() as http,
        http.stream("POST", f"http://127.0.0.1:{recording.port}/mcp", json=call(1, text="x")) as answer,
    ):
        assert [chunk async for chunk in answer.aiter_raw()] == [b"abc"]
    ((tool, _, answer),) = rows(recording.traces[0])
    assert (tool, answer["size"]) == ("echo", 3)


KILLS = 50
PYTHON = sys.executable


class Process(NamedTuple):
    """A recorder in a process of its own."""

    process: subprocess.Popen[bytes]
    port: int


@contextmanager
def recorder(out: Path, url: str, *options: str) -> Generator[Process]:
    """`tradefair record --url`, ready."""
    command = [PYTHON, "-m", "tradefair.cli", "record", "--out", str(out), "--url", url, "--port", "0", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    assert process.stderr is not None
    try:
        said = process.stderr.readline().decode()
        assert " at http://127.0.0.1:" in said, said + process.stderr.read().decode()
        yield Process(process, int(said.split("/mcp into")[0].rpartition(":")[2]))
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def answered(out: Path) -> list[str]:
    """The texts of all calls in all traces that have their own answer."""
    found: list[str] = []
    for path in sorted(out.glob("*.trace")):
        for event in events(path):
            if event["event"] == "tool_called" and event["status"] == "ok":
                assert event["result"]["arguments"] == event["arguments"]
                found.append(event["arguments"]["text"])
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_and_seals_the_recording(number: signal.Signals, tmp_path: Path) -> None:
    async with listening(echoing({})) as port:
        with recorder(tmp_path, f"http://127.0.0.1:{port}/mcp") as recording:
            await exchange(recording.port, [post(orjson.dumps(call(1, text="a")))], 50)
            # A connection that stays open is no reason to go on.
            _, open_one = await asyncio.open_connection("127.0.0.1", recording.port)
            recording.process.send_signal(number)
            assert await asyncio.to_thread(recording.process.wait, LONG) == 0
            open_one.close()
    (trace,) = tmp_path.glob("*.trace")
    assert events(trace)[-1]["event"] == "episode_ended"
    assert [file.name for file in tmp_path.iterdir()] == [trace.name]
    assert run(["verify", "--chain", str(trace)]) == 0


async def test_no_answer_that_a_client_has_seen_is_missing_after_a_kill(tmp_path: Path) -> None:
    """Eight clients without a session, so with equal ids; the recorder is killed at a random moment, fifty times."""
    chance = random.Random(22)
    seen: list[str] = []
    begun: set[str] = set()

    enough, wanted = asyncio.Event(), 0

    async def client(port: int, life: int, number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            for index in range(10_000):
                text = f"{life}.{number}.{index}"
                begun.add(text)
                writer.write(post(orjson.dumps(call(index, text=text))))
                head = await reader.readuntil(b"\r\n\r\n")
                body = orjson.loads(await reader.readexactly(int(head.rpartition(b"Content-Length: ")[2])))
                assert body["result"]["structuredContent"]["arguments"]["text"] == text
                seen.append(text)
                if len(seen) >= wanted:
                    enough.set()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async with listening(echoing({})) as port:
        for life in range(KILLS):
            with recorder(tmp_path, f"http://127.0.0.1:{port}/mcp") as recording:
                clients = [asyncio.create_task(client(recording.port, life, number)) for number in range(8)]
                wanted = len(seen) + chance.randint(1, 150)
                enough.clear()
                async with asyncio.timeout(LONG):
                    await enough.wait()
                os.kill(recording.process.pid, signal.SIGKILL)
                await asyncio.gather(*clients)
    kept = answered(tmp_path)
    assert len(kept) == len(set(kept))
    assert set(seen) <= set(kept) <= begun
    print(f"{len(seen)} answers seen, {len(kept)} kept, {len(begun) - len(kept)} in flight or not begun")
    assert len(seen) > 20 * KILLS
    assert run(["verify", "--chain", *map(str, tmp_path.glob("*.trace"))]) == 0


SECRETS = {
    "header": "h3ader-plain-words-secret",
    "cookie": "c00kie-plain-words-secret",
    "session": "se55ion-plain-words-secret",
    "url": "ur1-plain-words-secret",
    "query": "qu3ry-plain-words-secret",
    "field": "f1eld-plain-words-secret",
    "escaped": "e5caped-plain-words-secret",
    "nested": "n35ted-plain-words-secret",
    "shape": "sk-proj-5hape5hape5hape5hape",
    "named": "CUSTOMER-4711-REF",
}


async def test_no_byte_of_a_secret_is_in_any_file(tmp_path: Path) -> None:
    arguments = {
        "text": f"the key is {SECRETS['shape']}",
        "api_key": SECRETS["field"],
        "json": orjson.dumps({"password": SECRETS["nested"]}).decode(),
        "note": SECRETS["named"],
    }
    body = orjson.dumps(call(1, **arguments))
    letters = "".join(f"\\u{ord(char):04x}" for char in SECRETS["escaped"])
    escaped = body.replace(b'"text"', rb'"pass\u0077ord":"%b","text"' % letters.encode())
    headers = {
        "Content-Type": "application/json",
        "Authorization": f"Bearer {SECRETS['header']}",
        "Cookie": f"id={SECRETS['cookie']}",
        "Mcp-Session-Id": SECRETS["session"],
    }
    server = echoing({})
    async with listening(server) as port:
        url = f"http://127.0.0.1:{port}/{SECRETS['url']}?key={SECRETS['url']}"
        with recorder(tmp_path, url, "--redact", r"CUSTOMER-\d+-REF", "--redact-field", "query_of") as recording:
            async with httpx2.AsyncClient() as http:
                address = f"http://127.0.0.1:{recording.port}/mcp?q={SECRETS['query']}"
                got = (await http.post(address, content=escaped, headers=headers)).content
            # While it goes on, the log beside the trace is looked at, too.
            live = b"".join(file.read_bytes() for file in tmp_path.iterdir())
            recording.process.terminate()
            said = (await asyncio.to_thread(recording.process.communicate))[1]
    assert all(secret.encode() in server.heard for name, secret in SECRETS.items() if name != "escaped")
    assert SECRETS["escaped"].encode() in got  # the server has unescaped it
    files = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    (trace,) = tmp_path.glob("*.trace")
    shown = orjson.dumps(events(trace))
    for secret in SECRETS.values():
        assert not [where for where in (live, files, shown, said) if secret.encode() in where]
    assert shown.count(b"[redacted:") >= 5


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate of 127.0.0.1 that nobody has signed, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a server")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = folder / "certificate.pem", folder / "key.pem"
    files[0].write_bytes(made.public_bytes(Encoding.PEM))
    files[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return files


@pytest.mark.parametrize("trusted", [True, False])
async def test_a_certificate_is_checked(trusted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, key = certificate(tmp_path)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(file, key)
    server = echoing({})
    async with listening(server, context) as port:
        with recorder(tmp_path / "out", f"https://127.0.0.1:{port}/mcp") as recording:
            got = await exchange(recording.port, [post(orjson.dumps(call(1, text="a")))], 20)
            assert got.startswith(b"HTTP/1.1 200 OK" if trusted else b"HTTP/1.1 502")
            recording.process.terminate()
            recording.process.wait(LONG)
    (trace,) = (tmp_path / "out").glob("*.trace")
    assert [event["status"] for event in events(trace) if event["event"] == "tool_called"] == [
        "ok" if trusted else "failed"
    ]
    assert bool(server.heard) == trusted


@pytest.mark.parametrize("options", [(), ("--lossy",)])
async def test_a_full_disk_ends_the_recording_or_lossy_the_trace_says_what_is_missing(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    async with listening(echoing({})) as port:
        with small_disk(tmp_path / "disk") as disk:
            with recorder(disk.folder, f"http://127.0.0.1:{port}/mcp", *options) as recording:
                address = f"http://127.0.0.1:{recording.port}/mcp"
                async with httpx2.AsyncClient() as http:
                    await http.post(address, json=call(1, text="a"))
                    disk.fill()
                    answers = 0
                    try:
                        for number in range(2, 300):
                            answers += (
                                await http.post(address, json=call(number, text="x" * 3_000))
                            ).status_code == 200
                    except httpx2.TransportError:
                        pass
                disk.free()
                # Without the option it ends by itself, and a signal that comes late would be its exit code.
                if options:
                    recording.process.terminate()
                said = (await asyncio.to_thread(recording.process.communicate))[1]
            (trace,) = disk.folder.glob("*.trace")
            *_, last, end = events(trace)
            kept = len(answered(disk.folder))
            assert run(["verify", "--chain", str(trace)]) == 0
    assert b"full" in said
    if options:
        assert (recording.process.returncode, answers) == (0, 298)
        assert last["content"]["lines"] > 100
        assert end["event"] == "episode_ended"
    else:
        # There may be no room for a seal, either.
        assert recording.process.returncode == 3
        assert answers + 1 == kept


def test_what_is_no_server_is_said_and_a_taken_port(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for options, said in (
            (["--url", "example.org"], "--url takes"),
            (["--url", "http://127.0.0.1:1/mcp", "--port", port], f"--port {port}"),
            (["--url", "http://127.0.0.1:1/mcp", "--", "true"], "name the server to start"),
            (["--url", "http://127.0.0.1:1/mcp", "--port", "70000"], "65535"),
        ):
            command = [PYTHON, "-m", "tradefair.cli", "record", "--out", str(tmp_path), *options]
            done = subprocess.run(command, capture_output=True, timeout=LONG, check=False, text=True)
            assert (done.returncode, said in done.stderr) == (2, True), done.stderr
