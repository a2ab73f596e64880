"""Make episodes, play seats and get scores from `tradefair host --tasks bundled`, with the standard library alone.

TRADEFAIR_CONTROL_URL and TRADEFAIR_CONTROL_TOKEN name the server: it prints both when it starts.
"""

import itertools
import json
import os
from typing import Any, NamedTuple
from urllib import error, request

OPEN = request.build_opener(request.ProxyHandler({})).open  # no proxy: what is sent holds tokens
IDS, REVISION, META = itertools.count(1), "2026-07-28", "io.modelcontextprotocol/"
WHO = {"protocolVersion": REVISION, "clientCapabilities": {}, "clientInfo": {"name": "train", "version": "1"}}


class Seat(NamedTuple):
    """A seat of an episode: the address of its MCP server, and the token that opens it."""

    url: str
    token: str
    episode: str
    seat: str


class Refused(Exception):
    """HTTP status, and the answer's text: {"error": {"code", "message", "hint", "retryable"}}."""


def http(url: str, token: str, body: Any = None, method: str | None = None, **headers: str) -> Any:
    """The answer's JSON; of a stream its last event. Raises Refused, and OSError without a server."""
    sent = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", **headers}
    content = None if body is None else json.dumps(body).encode()
    asked = request.Request(url, content, {**sent, "Accept": "application/json, text/event-stream"}, method=method)
    try:
        with OPEN(asked, timeout=60) as answer:
            text = answer.read().decode()
    except error.HTTPError as refusal:
        raise Refused(refusal.code, refusal.read().decode()) from None
    events = [line[5:] for line in text.splitlines() if line.startswith("data:")]  # the last event is the result
    return json.loads(events[-1] if events else text)


def control(path: str, body: Any = None, method: str | None = None) -> Any:
    """What the control plane answers to a path, such as `/tasks/train/0`."""
    return http(os.environ["TRADEFAIR_CONTROL_URL"] + path, os.environ["TRADEFAIR_CONTROL_TOKEN"], body, method)


def create(**order: Any) -> list[Seat]:
    """Make an episode, `task="train/0"` or a scenario with its seats, and get the seats that are yours."""
    made = control("/episodes", order)
    return [Seat(made["url"], found["token"], found["episode"], found["seat"]) for found in made["invitations"]]


def mcp(seat: Seat, method: str, **params: Any) -> Any:
    """The result of a method of MCP, such as `tools/list`; stateless: no handshake and no session."""
    about = {"MCP-Protocol-Version": REVISION, "Mcp-Method": method, "Mcp-Name": params.get("name", "")}
    params["_meta"] = {META + name: value for name, value in WHO.items()}
    body = {"jsonrpc": "2.0", "id": next(IDS), "method": method, "params": params}
    return http(seat.url, seat.token, body, **{name: text for name, text in about.items() if text})["result"]


def call(seat: Seat, tool: str, **arguments: Any) -> dict[str, Any]:
    """A tool's answer; of a refused call its code, message and hint."""
    return mcp(seat, "tools/call", name=tool, arguments=arguments)["structuredContent"]
