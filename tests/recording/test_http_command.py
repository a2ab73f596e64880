"""`tradefair record --url` as a process: sealed by signals, killed at any moment, without a secret in any file."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

import httpx2
import orjson
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from tests.host.disks import small_disk
from tests.recording.http_kit import call, events, exchange, listening, post
from tests.recording.test_http_sessions import echoing
from tests.waiting import LONG

from tradefair.cli import run

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
