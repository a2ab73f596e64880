import itertools
import json
import os
import urllib.request
from typing import NamedTuple

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "train", "version": "1"},
}
IDS = itertools.count(1)


class Seat(NamedTuple):
    url: str
    token: str
    episode: str
    name: str


def http(url, token, body=None, headers=(), method=None):
    request = urllib.request.Request(
        url,
        None if body is None else json.dumps(body).encode(),
        {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **dict(headers),
        },
        method=method,
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        text = answer.read().decode()
    data = [line[5:] for line in text.splitlines() if line.startswith("data:")]
    return json.loads(data[-1] if data else text)


def control(path, body=None, method=None):
    return http(os.environ["TRADEFAIR_CONTROL_URL"] + path, os.environ["TRADEFAIR_CONTROL_TOKEN"], body, (), method)


def rpc(seat, method, label="", **params):
    body = {"jsonrpc": "2.0", "id": next(IDS), "method": method, "params": {**params, "_meta": META}}
    said = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, **({"Mcp-Name": label} if label else {})}
    return http(seat.url, seat.token, body, said.items())["result"]


def call(seat, tool, **arguments):
    return rpc(seat, "tools/call", tool, name=tool, arguments=arguments)


def tools(seat):
    return rpc(seat, "tools/list")["tools"]
