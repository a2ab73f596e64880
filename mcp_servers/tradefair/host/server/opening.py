"""What a server says of itself, and the two requests that ask for it: `initialize` and `server/discover`.

Answers are JSON made of a market's own texts, without MCP's SDK, whose import takes longer than some clients wait for
their first answer. A test holds each against the SDK's. Everything else is the SDK's to answer.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import orjson
from pydantic import BaseModel, Field, StrictInt, StrictStr, ValidationError

from tradefair.contract import MarketType, Scenario, SeatId
from tradefair.host.server import briefing
from tradefair.host.server.signals import SIGNALS

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Revisions of the protocol that begin with `initialize`, oldest first."""
MODERN_VERSIONS = ("2026-07-28",)
"""Revisions without a handshake: each request names its own."""
DISCOVER = "server/discover"
APPS = "io.modelcontextprotocol/ui"
"""The extension by which clients draw the board."""
# What a seat is offered does not change within an episode, so no list of it ever does.
_CAPABILITIES: Mapping[str, dict[str, bool]] = {
    "completions": {},
    "prompts": {"listChanged": False},
    "resources": {"listChanged": False, "subscribe": True},
    "tools": {"listChanged": False},
}
_REVISION, _ABLE, _CLIENT, _SERVER = (
    f"io.modelcontextprotocol/{name}" for name in ("protocolVersion", "clientCapabilities", "clientInfo", "serverInfo")
)
# Looked up once: it reads the installed package's files, and a game of eight has eight servers.
_VERSION = version("tradefair")

_Able: TypeAlias = dict[str, dict[str, Any] | None]


class _Named(BaseModel):
    name: str
    version: str


class _Handshake(BaseModel):
    protocolVersion: str
    capabilities: _Able
    clientInfo: _Named


class _Envelope(BaseModel):
    revision: Annotated[str, Field(alias=_REVISION)]
    able: Annotated[_Able, Field(alias=_ABLE)]
    client: Annotated[_Named | None, Field(alias=_CLIENT)] = None


class _Request(BaseModel, extra="forbid"):
    jsonrpc: Literal["2.0"]
    # As far as every reader of JSON counts.
    id: StrictStr | Annotated[StrictInt, Field(ge=-(2**53), le=2**53)]
    method: str
    params: dict[str, Any] = {}


class Opening(NamedTuple):
    """How a server introduces itself. `extensions` are told where no handshake is made."""

    name: str
    title: str | None
    instructions: str | None
    extensions: Mapping[str, dict[str, Any]]
    version: str = _VERSION

    def answer(self, method: str, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """`{"result": …}` or `{"error": …}` of a request, whose params may hold anything; None: the SDK answers it."""
        if method == DISCOVER:
            return self._discovered(params.get("_meta"))
        if method != "initialize":
            return None
        try:
            asked = _Handshake.model_validate(params).protocolVersion
        except ValidationError:
            return None
        revision = asked if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
        return {"result": {"protocolVersion": revision, "serverInfo": self._info(), **self._offers({})}}

    def discovery(self) -> dict[str, Any]:
        """The result of `server/discover`."""
        return {
            "resultType": "complete",
            "supportedVersions": list(MODERN_VERSIONS),
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": {_SERVER: self._info()},
            **self._offers({"extensions": dict(self.extensions)} if self.extensions else {}),
        }

    def _discovered(self, meta: Any) -> dict[str, Any]:
        if not isinstance(meta, dict) or _REVISION not in meta:
            # The handshake's revisions have no such request.
            return _error(-32601, "Method not found", DISCOVER)
        try:
            revision = _Envelope.model_validate(meta).revision
        except ValidationError:
            told = f"params._meta holds {_REVISION} (a text) and {_ABLE} (an object); {_CLIENT} has name and version"
            return _error(-32602, told)
        if revision not in MODERN_VERSIONS:
            supported = {"supported": list(MODERN_VERSIONS), "requested": revision}
            return _error(-32022, "Unsupported protocol version", supported)
        return {"result": self.discovery()}

    def _info(self) -> dict[str, str]:
        return {"name": self.name, "version": self.version, **({"title": self.title} if self.title else {})}

    def _offers(self, more: Mapping[str, Any]) -> dict[str, Any]:
        offered: dict[str, Any] = {"capabilities": {**_CAPABILITIES, **more}}
        return offered if self.instructions is None else {**offered, "instructions": self.instructions}


def seat_opening(kind: MarketType, scenario: Scenario, seat: SeatId) -> Opening:
    """The opening of a seat's server."""
    words = briefing.instructions(kind, scenario, seat)
    return Opening(f"tradefair-{kind.name}", kind.title, words, {APPS: {}})


class Heard(NamedTuple):
    """The first line of a client, empty where nothing of it is left to do, and the id of an `initialize` answered."""

    line: bytes = b""
    answered: str | int | None = None


NOTHING = Heard()


@contextmanager
def end_on_signals() -> Generator[None]:
    """A signal ends the process with 0, until something that has begun reacts to it otherwise; afterwards as before."""
    before = {number: signal.signal(number, _leave) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)


def hear(opening: Opening) -> Heard | None:
    """Wait for the first line on standard input, and answer it where that can be done; None: the client has gone."""
    # Without a buffer: what follows the line is the SDK's to read.
    with open(0, "rb", buffering=0, closefd=False) as pipe:
        line = pipe.readline()
    if not line:
        return None
    try:
        request = _Request.model_validate_json(line)
    except ValidationError:
        return Heard(line)
    said = opening.answer(request.method, request.params)
    if said is None:
        return Heard(line)
    with open(1, "wb", closefd=False) as pipe:
        pipe.write(orjson.dumps({"jsonrpc": "2.0", "id": request.id, **said}) + b"\n")
    return NOTHING if request.method == DISCOVER else Heard(line, request.id)


def _leave(number: int, frame: object) -> None:
    os._exit(0)


def _error(code: int, message: str, data: object = None) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, **({} if data is None else {"data": data})}}
