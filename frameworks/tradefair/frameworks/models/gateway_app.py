"""The gateway over HTTP: a Starlette app, and a uvicorn server in this process's loop."""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any, NamedTuple

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from tradefair.cli.ports import listen
from tradefair.contract import HarnessFailure
from tradefair.frameworks.models.gateway import Delivery, Gateway
from tradefair.frameworks.models.responses import chat_request, response_events, responses_reply
from tradefair.frameworks.models.wire import (
    REQUEST_LIMIT,
    ChatRequest,
    Json,
    RequestError,
    chunks,
    error_answer,
    parse_request,
)

# Longer than any client of ours waits (120 s); the limit only ends stalls that no client gives up.
_STALL_LIMIT_S = 600.0
# Seconds that uvicorn waits for open answers before it stops anyway.
_GRACE_S = 5

_log = logging.getLogger("tradefair.gateway")


class _Words(NamedTuple):
    """The words of one API for what is a chat completion inside: its request, a reply whole, and as a stream."""

    asked: Callable[[Json], Json]
    whole: Callable[[Json], Json]
    streamed: Callable[[Json, ChatRequest], Iterator[bytes]]


def _chunks(body: Json, asked: ChatRequest) -> Iterator[bytes]:
    return chunks(body, include_usage=asked.include_usage)


def _events(body: Json, asked: ChatRequest) -> Iterator[bytes]:
    return response_events(responses_reply(body))


_APIS = {
    "/v1/chat/completions": _Words(dict, dict, _chunks),
    "/v1/responses": _Words(chat_request, responses_reply, _events),
}


class GatewayApp:
    """`/v1/chat/completions`, `/v1/responses` and `/v1/models` of one gateway, behind one bearer key.

    Every error has OpenAI's shape, because clients read the message from there; none of ours is to be retried.
    """

    def __init__(self, gateway: Gateway, key: str) -> None:
        self._gateway = gateway
        # As bytes: `compare_digest` takes no text with characters outside ASCII, and a stranger may send such a key.
        self._key = key.encode()
        self._closing = asyncio.Event()
        # Starlette answers these in plain text, without the shape of an error that clients read.
        paths = f"there are {', '.join(f'POST {path}' for path in _APIS)} and GET /v1/models"
        self.asgi = Starlette(
            routes=[
                *(Route(path, partial(self._reply, words=words), methods=["POST"]) for path, words in _APIS.items()),
                Route("/v1/models", self._models, methods=["GET"]),
            ],
            exception_handlers={404: _plainly(404, paths), 405: _plainly(405, paths)},
        )

    def shut(self) -> None:
        """Let stalled answers go, so that the server can stop."""
        self._closing.set()

    async def _models(self, request: Request) -> Response:
        # The list of models is behind the key too: it names what is played.
        try:
            self._check_key(request)
        except RequestError as error:
            return _sent(error)
        # `created` is 0 as in replies: no time of day goes into what a client sees.
        model = {"id": self._gateway.model, "object": "model", "created": 0, "owned_by": "tradefair"}
        return JSONResponse({"object": "list", "data": [model]})

    async def _reply(self, request: Request, words: _Words) -> Response:
        try:
            # The key before the body: a stranger must not make us read 16 MiB.
            self._check_key(request)
            asked = parse_request(await _body(request), words.asked)
            self._check_model(asked)
            delivery = await self._unless_closing(self._gateway.complete(asked, retried=_retried(request)))
        except RequestError as error:
            return _sent(error)
        # The client is gone before its request was read; the answer has no reader, so its form does not matter.
        except ClientDisconnect:
            return Response(status_code=400)
        except Exception as error:
            # Ours, whatever it is: a client that tried again would only hide it.
            _log.exception("the gateway failed")
            return _sent(RequestError(f"the gateway failed: {error}"[:1_000], 400, "harness_failure"))
        return await self._deliver(request, asked, delivery, words)

    async def _deliver(self, request: Request, asked: ChatRequest, delivery: Delivery, words: _Words) -> Response:
        fault, answer = delivery.fault, delivery.answer
        # Errors are never streamed: clients look for a status and a JSON body first.
        events = words.streamed(answer.body, asked) if asked.stream and answer.ok else None
        if fault is not None and fault.kind == "stall":
            # After the answer was made and recorded: the model did reply, only the way back is disturbed.
            await self._stall(request, fault.value)
        if fault is not None and fault.kind == "drop":
            delivery.ticket.lost = True
            return _Cut(events)
        # Without this, a client that gave up while the model was thinking would ask a second question by its retry.
        if await request.is_disconnected():
            delivery.ticket.lost = True
        if events is not None:
            return StreamingResponse(_sending(events), media_type="text/event-stream")
        body = words.whole(answer.body) if answer.ok else answer.body
        return JSONResponse(body, answer.status, headers=dict(answer.headers))

    async def _unless_closing(self, answering: Coroutine[Any, Any, Delivery]) -> Delivery:
        """What `answering` gives; RequestError when the gateway closes first."""
        # Two tasks, because a server that stops would otherwise wait for a model's reply of minutes.
        task, closing = asyncio.create_task(answering), asyncio.create_task(self._closing.wait())
        await asyncio.wait({task, closing}, return_when=asyncio.FIRST_COMPLETED)
        closing.cancel()
        if task.done():
            return task.result()
        # Cancels the wait only: the gateway shields the question, and its own `close` ends it.
        task.cancel()
        raise RequestError("the gateway is closing", 503, "closing")

    async def _stall(self, request: Request, seconds: float | None) -> None:
        # A client that gives up ends the stall: its retry then arrives while nothing waits any longer.
        gone = asyncio.create_task(_disconnected(request))
        closing = asyncio.create_task(self._closing.wait())
        limit = _STALL_LIMIT_S if seconds is None else seconds
        await asyncio.wait({gone, closing}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        for task in (gone, closing):
            task.cancel()

    def _check_key(self, request: Request) -> None:
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        # Compared in constant time; the loopback is open to every user of the machine.
        if scheme.lower() != "bearer" or not secrets.compare_digest(key.strip().encode(), self._key):
            raise RequestError("the key is wrong: send the gateway's own as a bearer token", 401, "invalid_api_key")

    def _check_model(self, asked: ChatRequest) -> None:
        # Checked, so that a client with a model's name of its own does not silently play another one.
        if asked.model != self._gateway.model:
            message = f"the model {asked.model[:100]!r} does not exist here: there is {self._gateway.model!r}"
            raise RequestError(message, 404, "model_not_found")


async def _body(request: Request) -> bytes:
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > REQUEST_LIMIT:
            raise RequestError(f"the request is longer than {REQUEST_LIMIT} bytes", 413, "too_large")
    return bytes(content)


async def _disconnected(request: Request) -> None:
    # The body has been read, so what still arrives can only be the disconnect.
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _retried(request: Request) -> bool:
    """Whether the client says that it sent this request before; the openai package does."""
    return request.headers.get("x-stainless-retry-count", "0") != "0"


def _sent(error: RequestError) -> Response:
    answer = error_answer(error.status, str(error), error.code, retry=False)
    return JSONResponse(answer.body, answer.status, headers=dict(answer.headers))


def _plainly(status: int, message: str) -> Any:
    async def handle(request: Request, error: Exception) -> Response:
        return _sent(RequestError(message, status, "not_found"))

    return handle


async def _sending(events: Iterator[bytes]) -> AsyncIterator[bytes]:
    for event in events:
        yield event


class _Cut(Response):
    """An answer that begins and never ends: the server closes the connection in its middle.

    The declared length is 1,000 bytes more than what is sent, so a client cannot take the beginning for the whole.
    """

    def __init__(self, events: Iterator[bytes] | None) -> None:
        super().__init__()
        # A stream is cut after its first event, a body within its first field: both must fail in the client's parser.
        self._start = b'{"id": ' if events is None else next(events)
        self._type = b"application/json" if events is None else b"text/event-stream"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", self._type), (b"content-length", str(len(self._start) + 1_000).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": self._start, "more_body": True})


class _Uvicorn(uvicorn.Server):
    """Says when it is ready, and leaves signals to the process that it is part of."""

    def __init__(self, app: Starlette) -> None:
        super().__init__(
            uvicorn.Config(
                # No logging of its own: a run's output belongs to the runner.
                app,
                log_config=None,
                access_log=False,
                # The app has nothing to start or stop by itself, and no websockets.
                lifespan="off",
                ws="none",
                server_header=False,
                # An answer that still stalls must not hold the end of a run.
                timeout_graceful_shutdown=_GRACE_S,
            )
        )
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        # uvicorn would take over Ctrl-C; the run itself has to end on it and to save its trace.
        yield


@asynccontextmanager
async def serve_app(app: GatewayApp, *, host: str = "127.0.0.1", port: int = 0) -> AsyncGenerator[str]:
    """Serve until the context ends; the base URL. Raises ScenarioError when the address cannot be had."""
    # Bound here and not by uvicorn, which ends the process when an address is taken.
    listening = listen(host, port)
    server = _Uvicorn(app.asgi)
    # Cut connections are meant here; uvicorn would print each as an error.
    quiet = _NotCut()
    logging.getLogger("uvicorn.error").addFilter(quiet)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        # Not before it is ready: a client that is refused at once would use up a retry.
        await _ready(server, serving)
        shown = f"[{host}]" if ":" in host else host
        yield f"http://{shown}:{listening.getsockname()[1]}/v1"
    finally:
        # Before the server is asked to stop: it waits for answers, and a stall is one.
        app.shut()
        server.should_exit = True
        await asyncio.wait({serving})
        listening.close()
        logging.getLogger("uvicorn.error").removeFilter(quiet)


async def _ready(server: _Uvicorn, serving: asyncio.Task[None]) -> None:
    # A server that fails while it starts never says that it is ready; so its task is watched as well.
    ready = asyncio.create_task(server.ready.wait())
    await asyncio.wait({ready, serving}, return_when=asyncio.FIRST_COMPLETED)
    if not ready.done():
        ready.cancel()
        raise HarnessFailure("the gateway's server did not start") from serving.exception()


class _NotCut(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        # uvicorn's own text for an answer that ends before its declared length.
        return "without completing response" not in str(record.msg)
