"""`tradefair record --url`: HTTP/1.1 between clients and one server of others, passed on byte by byte.

A client's connection has a connection of its own to the server. A call is in the log before the last byte of its
request leaves, and so is its answer: the task that reads is the one that logs and writes on, so a slow disk or a slow
reader stops the reading, and nothing queues.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import ssl
from collections.abc import Callable
from typing import NamedTuple, cast

from tradefair.recording.exchange import Exchange
from tradefair.recording.http.heads import LOCAL_PATH, MAX_HEAD, Refused, Upstream, refusal
from tradefair.recording.http.parsing import Answers, Request
from tradefair.recording.http.sessions import Sessions

CHUNK = 65_536
CONNECT_S = 30.0


class Recorder(NamedTuple):
    """What the connections of one recording share. `broken` is called with what the log raises."""

    upstream: Upstream
    tls: ssl.SSLContext | None
    sessions: Sessions
    broken: Callable[[Exception], None]


def run_http(
    upstream: Upstream,
    port: int,
    open_log: Callable[[], Exchange],
    listening: Callable[[str], None],
    *,
    lossy: bool = False,
) -> None:
    """Record the server `upstream` until a signal ends it; all logs are sealed then.

    `open_log` makes the log of a session. `listening` gets the address for clients; port 0 takes a free one. `lossy`:
    go on unrecorded where a log cannot be written. Raises OSError (the port is taken), and what a log raises.
    """
    tls = ssl.create_default_context() if upstream.tls else None
    sessions = Sessions(open_log, lossy=lossy)
    raised: list[Exception] = []

    async def until_ended() -> None:
        loop, ended = asyncio.get_running_loop(), asyncio.Event()

        def broken(error: Exception) -> None:
            raised.append(error)
            ended.set()

        def end(number: int, frame: object) -> None:
            # A second signal finds the loop closed, while logs are being sealed.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(ended.set)

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, end)
        await serve(Recorder(upstream, tls, sessions, broken), port, listening, ended)

    try:
        asyncio.run(until_ended())
    finally:
        sessions.close()
    if raised:
        raise raised[0]


async def serve(recorder: Recorder, port: int, listening: Callable[[str], None], ended: asyncio.Event) -> None:
    """Pass on what comes to 127.0.0.1:`port` until `ended` is set. OSError where the port is taken."""
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = cast("asyncio.Task[None]", asyncio.current_task())
        tasks.add(task)
        try:
            await _Connection(recorder, reader, writer).run()
        except (OSError, asyncio.CancelledError):
            pass  # one of the two sides is gone, or the recording is over
        except Exception as error:
            recorder.broken(error)
        finally:
            tasks.discard(task)
            writer.transport.abort()

    server = await asyncio.start_server(connected, "127.0.0.1", port, limit=CHUNK)
    listening(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{LOCAL_PATH.decode()}")
    try:
        await ended.wait()
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


class _Connection:
    """One connection of a client, and the one to the server behind it."""

    def __init__(self, recorder: Recorder, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._recorder, self._reader, self._writer = recorder, reader, writer
        self._server: asyncio.StreamWriter | None = None
        self._answering: asyncio.Task[None] | None = None
        self._answers = Answers()

    async def run(self) -> None:
        """Until one of the two sides closes."""
        try:
            await self._requests()
        except Refused as refused:
            # In the middle of other answers it would be taken for a part of them.
            if not self._answers.asked:
                self._writer.write(refusal(refused))
                await self._writer.drain()
                self._writer.close()
                await self._writer.wait_closed()
        finally:
            for asked in self._answers.asked:
                asked.left()
            if self._answering:
                self._answering.cancel()
                with contextlib.suppress(asyncio.CancelledError, OSError):
                    await self._answering
            if self._server:
                self._server.transport.abort()
            self._answers.close()

    async def _requests(self) -> None:
        data = b""
        while True:
            while (end := data.find(b"\r\n\r\n")) < 0:
                if len(data) > MAX_HEAD:
                    raise Refused("431 Request Header Fields Too Large", f"a head has at most {MAX_HEAD} bytes")
                more = await self._reader.read(CHUNK)
                if not more:
                    return
                data += more
            end += 4
            request = Request(data[:end], self._recorder.upstream, self._recorder.sessions)
            data, out = data[end:], request.head.raw
            while True:
                used = request.feed(data)
                out, data = out + data[:used], data[used:]
                if request.complete:
                    break
                if out:
                    await self._pass_on(out, request)
                    out = b""
                data = await self._reader.read(CHUNK)
                if not data:
                    return
            await self._pass_on(out, request)

    async def _pass_on(self, data: bytes, request: Request) -> None:
        if self._server is None:
            try:
                await self._connect()
            except (OSError, TimeoutError) as error:
                why = f"{self._recorder.upstream.origin} cannot be reached"
                request.asked.failed("unreachable", why)
                request.asked.close()
                raise Refused("502 Bad Gateway", f"{why}: {type(error).__name__}") from None
        assert self._server is not None
        if not request.passed:
            # Once: an answer may come before its request is complete.
            request.passed = True
            self._answers.asked.append(request.asked)
        self._server.write(data)
        await self._server.drain()

    async def _connect(self) -> None:
        upstream = self._recorder.upstream
        async with asyncio.timeout(CONNECT_S):
            reader, self._server = await asyncio.open_connection(
                upstream.host, upstream.port, ssl=self._recorder.tls, limit=CHUNK
            )
        self._answering = asyncio.create_task(self._pass_back(reader))

    async def _pass_back(self, reader: asyncio.StreamReader) -> None:
        try:
            while data := await _read(reader):
                self._answers.feed(data)
                self._writer.write(data)
                await self._writer.drain()
            self._answers.end()
        # Refused: nothing is passed on unrecorded, and what is refused in the middle of an answer ends the connection.
        except (OSError, Refused):
            pass
        except Exception as error:
            self._recorder.broken(error)
        finally:
            # What the client was sent arrives; then its own connection ends, as the server's has.
            self._writer.close()


async def _read(reader: asyncio.StreamReader) -> bytes:
    """What the server has sent; nothing where it has closed, in whatever way."""
    try:
        return await reader.read(CHUNK)
    except OSError:
        return b""
