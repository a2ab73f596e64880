"""What a recorder between a client and a server costs: a call, being ready, and memory when sessions last.

A server of a few lines answers, so that what is measured is the recorder alone: CPU of its process, as Linux counts it.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, NamedTuple

from benchmarks.figures import Figure

_SERVER = """
import json, sys
for line in sys.stdin.buffer:
    message = json.loads(line)
    if "id" not in message:
        continue
    arguments = message["params"].get("arguments", {})
    result = {"content": [{"type": "text", "text": arguments.get("message", "")}]}
    sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode() + b"\\n")
    sys.stdout.buffer.flush()
"""
_HTTP_SERVER = """
import asyncio, json
async def answer(reader, writer):
    while not reader.at_eof():
        try:
            head = await reader.readuntil(b"\\r\\n\\r\\n")
        except asyncio.IncompleteReadError:
            return
        length = int(head.lower().rpartition(b"content-length: ")[2].split(b"\\r\\n")[0])
        message = json.loads(await reader.readexactly(length))
        arguments = message.get("params", {}).get("arguments", {})
        text = arguments.get("message", "") * arguments.get("times", 1)
        result = {"content": [{"type": "text", "text": text}]}
        event = b"event: message\\r\\ndata: %b\\r\\n\\r\\n" % json.dumps(
            {"jsonrpc": "2.0", "id": message.get("id"), "result": result}).encode()
        writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Type: text/event-stream\\r\\n")
        writer.write(b"Transfer-Encoding: chunked\\r\\n\\r\\n")
        writer.write(b"%x\\r\\n%b\\r\\n" % (len(event), event))
        writer.write(b"0\\r\\n\\r\\n")
        await writer.drain()
async def main():
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""
_DIRECT = (sys.executable, "-c", _SERVER)
_RECORD = (sys.executable, "-m", "tradefair.cli", "record")


class _Session(NamedTuple):
    """CPU seconds until the first answer and of the calls behind it; MiB resident early and at the end; the bytes."""

    ready_s: float
    calls_s: float
    early_mib: float
    peak_mib: float
    seen: str


def measure(*, tiny: bool = False) -> list[Figure]:
    """The figures."""
    calls = 300 if tiny else 10_000
    with TemporaryDirectory() as folder:
        bare = _session(_DIRECT, calls)
        recorded = _session((*_RECORD, "--out", folder, "--", *_DIRECT), calls)
        bare_http, over_http = _http_sessions(Path(folder) / "http", calls, 2 if tiny else 20)
        large = _session((*_RECORD, "--out", f"{folder}/large", "--", *_DIRECT), 10, 100 if tiny else 3_000_000)
        size = sum(file.stat().st_size for file in Path(folder).glob("*.trace"))
    return [
        Figure("recorder: CPU of a call over stdio", 1e3 * recorded.calls_s / calls, "ms", 1, how=f"{calls:,} calls"),
        Figure("recorder: CPU until it is ready", recorded.ready_s, "s", 0.2),
        Figure("recorder: memory", recorded.peak_mib, "MiB", 64),
        Figure("recorder: memory at the end over that after a tenth", recorded.peak_mib / recorded.early_mib, "x", 1.2),
        Figure("recorder: memory, arguments and answers of 3 MB", large.peak_mib, "MiB", 64),
        Figure("recorder: bytes that the client gets, changed", float(recorded.seen != bare.seen), "", 0),
        Figure(
            "recorder: CPU of a call over HTTP", 1e3 * over_http.calls_s / calls, "ms", 1, how="answers are streams"
        ),
        Figure("recorder: bytes that a client gets over HTTP, changed", float(over_http.seen != bare_http.seen), "", 0),
        Figure("recorder: memory over HTTP", over_http.early_mib, "MiB", 64),
        Figure("recorder: memory over HTTP, answers of 3 MB", over_http.peak_mib, "MiB", 64),
        Figure("recorder: a call in the trace", size / calls / 1024, "KiB"),
    ]


def _session(command: Sequence[str], calls: int, length: int = 0) -> _Session:
    seen = hashlib.sha256()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        seen.update(_asked(process.stdin, process.stdout, 0, "initialize", {"clientInfo": {"name": "benchmark"}}))
        ready, early = _cpu_s(process.pid), 0.0
        for number in range(1, calls + 1):
            params = {"name": "echo", "arguments": {"message": f"call {number} " + "x" * (length or number % 500)}}
            seen.update(_asked(process.stdin, process.stdout, number, "tools/call", params))
            if number == max(1, calls // 10):
                early = _peak_mib(process.pid)
        spent, peak = _cpu_s(process.pid) - ready, _peak_mib(process.pid)
        process.stdin.close()
        seen.update(process.stdout.read())
    return _Session(ready, spent, early, peak, seen.hexdigest())


def _http_sessions(out: Path, calls: int, large: int) -> tuple[_Session, _Session]:
    """The same session over HTTP without and with a recorder: `calls` calls, then `large` whose answers have 3 MB."""
    with subprocess.Popen((sys.executable, "-c", _HTTP_SERVER), stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        command = (*_RECORD, "--out", out, "--url", f"http://127.0.0.1:{port}/mcp", "--port", "0")
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            local = int(process.stderr.readline().split("/mcp into")[0].rpartition(":")[2])
            bare = _over_http(port, server.pid, calls, large)
            recorded = _over_http(local, process.pid, calls, large)
            process.terminate()
        server.terminate()
    return bare, recorded


def _over_http(port: int, process: int, calls: int, large: int) -> _Session:
    seen = hashlib.sha256()
    with socket.create_connection(("127.0.0.1", port)) as connection, connection.makefile("rb") as answers:

        def asked(number: int, arguments: object) -> None:
            params = {"name": "echo", "arguments": arguments}
            body = json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
            lines = (
                "POST /mcp HTTP/1.1",
                "Host: 127.0.0.1",
                "Mcp-Session-Id: a",
                f"Content-Length: {len(body)}",
                "",
                body,
            )
            connection.sendall("\r\n".join(lines).encode())
            line = b""
            while line != b"0\r\n":
                line = answers.readline()
                seen.update(line)
            seen.update(answers.readline())

        asked(0, {"message": ""})
        ready = _cpu_s(process)
        for number in range(1, calls + 1):
            asked(number, {"message": f"call {number} " + "x" * (number % 500)})
        spent, early = _cpu_s(process) - ready, _peak_mib(process)
        for number in range(large):
            asked(calls + 1 + number, {"message": "0123456789", "times": 310_000})
    return _Session(ready, spent, early, _peak_mib(process), seen.hexdigest())


def _asked(into: IO[bytes], out_of: IO[bytes], number: int, method: str, params: object) -> bytes:
    into.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n")
    into.flush()
    return out_of.readline()


def _cpu_s(process: int) -> float:
    """User and system time of a process without its children, in ticks of 10 ms."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _peak_mib(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024
