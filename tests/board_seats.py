"""Seats of one host process for tests of the board: an episode each, what its trace holds, a second player by hand."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx2
import orjson
from benchmarks.served import HostProcess

from tests.waiting import LONG
from tradefair.host.doors.control_bodies import Create
from tradefair.tracestore import open_trace

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

PROTOCOL = "2025-11-25"
APPS = {"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}}


class Seat(NamedTuple):
    """A seat of an episode of its own."""

    base: str
    token: str
    trace: Path

    def clicks(self) -> list[str]:
        """The tools of the actions that a person made, in order."""
        return [call["tool"] for call in self._calls() if call["status"] == "ok" and call["kind"] == "action"]

    def refused(self) -> list[str]:
        """The tools of refused calls: those that the page makes by itself count against limits, too."""
        return [call["tool"] for call in self._calls() if call["status"] != "ok"]

    def looks(self, tool: str) -> int:
        """How often the page has asked one of the seat's reads."""
        return sum(call["tool"] == tool for call in self._calls())

    def _calls(self) -> list[dict[str, Any]]:
        with open_trace(self.trace) as trace:
            by_person = {row.seq for row in trace.side() if row.by == "person"}
            events = [event for event in trace.decoded() if event["seq"] in by_person]
        return [event for event in events if event["event"] == "tool_called"]


def seated(host: HostProcess, market: str, scenario: str, *seats: str, **options: Any) -> list[Seat]:
    """These seats of a fresh episode on seed 7."""
    with host.control() as control:
        made = control.create(Create(market=market, scenario=f"{market}/{scenario}", seats=seats, seed=7, **options))
    base = host.url.removesuffix("/mcp")
    tokens = {invitation.seat: invitation.token for invitation in made.invitations}
    (episode,) = made.episodes
    assert episode.trace is not None
    return [Seat(base, tokens[seat], Path(episode.trace)) for seat in seats]


def serve_at(page: Page, address: str, body: str, headers: Mapping[str, str] | None = None) -> None:
    """Answer one address with a page of the test's own: it is then on the host's origin."""

    def answer(route: Route) -> None:
        route.fulfill(body=body, headers={"content-type": "text/html", **(headers or {})})

    page.route(address, answer)


class Hand:
    """Another player, by plain requests."""

    def __init__(self, seat: Seat) -> None:
        self._url = f"{seat.base}/mcp"
        self._headers = {
            "authorization": f"Bearer {seat.token}",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": PROTOCOL,
        }
        greeting = {"protocolVersion": PROTOCOL, "capabilities": APPS, "clientInfo": {"name": "hand", "version": "1"}}
        started = self._post("initialize", greeting)
        self._headers["mcp-session-id"] = started.headers["mcp-session-id"]
        self._post("notifications/initialized", {}, number=None)

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The structured content of a call that is not refused."""
        answer = self._post("tools/call", {"name": tool, "arguments": arguments or {}}).text
        lines = [line[5:] for line in answer.splitlines() if line.startswith("data:") and '"id"' in line]
        result = orjson.loads(lines[-1] if lines else answer)["result"]
        assert not result["isError"], result
        return result["structuredContent"]

    def _post(self, method: str, params: object, number: str | None = "") -> httpx2.Response:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if number is not None:
            message["id"] = secrets.token_hex(4)
        return httpx2.post(self._url, json=message, headers=self._headers, timeout=LONG).raise_for_status()
