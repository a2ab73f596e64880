"""A teaching episode behind a real in-process MCP server: P1 is ours, P2 is scripted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson
import pytest
from mcp import Client
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams

from fairground.catalog import load_scenario, market_type
from fairground.contract.core import Core
from fairground.contract.market import LapseReason
from fairground.contract.policy import Draw, Policy, ToolAnswer
from fairground.frameworks.base import SeatConnection
from fairground.frameworks.models import ModelEndpoint, parse_model

SEED = 7


@dataclass
class Table:
    """One episode; `calls` are the tool calls of P1 as the server got them, without waiting."""

    core: Core
    other: Policy
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list[tuple[str, dict[str, Any]]])
    lapses: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    fail_after: int | None = None

    def client(self) -> Client:
        return Client(Server("table", on_list_tools=self._list, on_call_tool=self._call))

    def seat(self, client: Client, **options: Any) -> SeatConnection:
        given: dict[str, Any] = {"lapse": self.lapse, **options}
        return SeatConnection(client, "P1", **given)

    async def lapse(self, reason: LapseReason) -> None:
        clock = self.core.market.clock
        self.lapses.append((clock.round, clock.phase))
        self.core.lapse("P1", reason)
        self._others()

    @property
    def payoffs(self) -> dict[str, int]:
        market: Any = self.core.market
        return market.payoffs

    async def _list(self, ctx: ServerRequestContext[Any], params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult.model_validate(
            {
                "tools": [
                    {
                        "name": tool.name,
                        "description": tool.description,
                        "inputSchema": tool.input_schema,
                        "outputSchema": tool.output_schema,
                        "annotations": {"readOnlyHint": tool.read_only},
                    }
                    for tool in self.core.tools("P1").values()
                ]
            }
        )

    async def _call(self, ctx: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        self._others()
        if params.name == "await_turn":
            view = self.core.turn_view("P1").model_dump(mode="json")
            return _result(view, orjson.dumps(view), self.core.turn_mark("P1")._asdict())
        self.calls.append((params.name, dict(params.arguments or {})))
        if self.fail_after is not None and len(self.calls) > self.fail_after:
            raise ConnectionError("the server is gone")
        answer = self.core.call("P1", params.name, params.arguments or {}).answer
        assert answer is not None
        mark = answer.turn._asdict()
        if answer.error is not None:
            body = answer.error._asdict()
            return _result(body, orjson.dumps(body), mark, error=True)
        assert answer.body is not None
        return _result(orjson.loads(answer.body), answer.body, mark)

    def _others(self) -> None:
        """P2 plays as soon as it is asked."""
        while self.core.awaits("P2"):
            _native_turn(self.core, "P2", self.other)


def _result(structured: Any, text: bytes, mark: dict[str, Any], *, error: bool = False) -> CallToolResult:
    return CallToolResult.model_validate(
        {
            "content": [{"type": "text", "text": text.decode()}],
            "structuredContent": structured,
            "isError": error,
            "_meta": {"fairground/turn": mark},
        }
    )


def _native_turn(core: Core, seat: str, policy: Policy) -> list[tuple[str, dict[str, Any]]]:
    """One phase of a policy straight on Core, as the kernel's page says; what was called."""
    made: list[tuple[str, dict[str, Any]]] = []
    turns = policy.turn(core.turn_view(seat))
    call = next(turns, None)
    while call is not None:
        made.append((call.tool, dict(call.arguments)))
        answer = core.call(seat, call.tool, dict(call.arguments)).answer
        assert answer is not None
        if answer.turn.turn_over:
            turns.close()
            return made
        try:
            call = turns.send(ToolAnswer(answer.body, answer.error, turn_over=False))
        except StopIteration:
            call = None
    core.lapse(seat, "agent_limit")
    return made


@dataclass(frozen=True)
class Teaching:
    """Makes tables, policies and native runs of the same scenario and seed."""

    def table(self, preset: str = "pie", *, limits: tuple[Any, ...] = (), **overrides: Any) -> Table:
        scenario = load_scenario("teaching", preset, overrides).model_copy(update={"limits": limits})
        core = Core.create(market_type("teaching"), scenario, SEED)
        core.start()
        return Table(core, self.policy("half", "P2"))

    def policy(self, name: str, seat: str = "P1", **params: Any) -> Policy:
        return market_type("teaching").policies[name].make(params, Draw.of(SEED, seat))

    def endpoint(self, name: str, **params: Any) -> ModelEndpoint:
        return parse_model(f"policy:{name}").with_policy(self.policy(name, **params))

    def native(self, table: Table, policy: Policy) -> list[tuple[str, dict[str, Any]]]:
        """All calls of P1 when the policy plays straight on Core."""
        made: list[tuple[str, dict[str, Any]]] = []
        while table.core.ended is None:
            if table.core.awaits("P1"):
                made += _native_turn(table.core, "P1", policy)
            elif table.core.awaits("P2"):
                _native_turn(table.core, "P2", table.other)
        return made


@pytest.fixture
def teaching() -> Teaching:
    return Teaching()


@pytest.fixture(autouse=True)
def no_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reaches a real model."""
    monkeypatch.setenv("FAIRGROUND_ALLOW_MODELS", "0")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def open_policy() -> Callable[[Policy, str], ModelEndpoint]:
    """An endpoint around a policy that a test wrote."""
    return lambda policy, name: parse_model(f"policy:{name}").with_policy(policy)
