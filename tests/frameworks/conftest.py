"""Teaching episodes behind the real in-process server: P1 is ours, P2 is scripted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from tests.waiting import LONG

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import Brief, Draw, LapseReason, Policy
from tradefair.contract.kernel.players import Limits
from tradefair.frameworks import load_framework
from tradefair.frameworks.base import SeatConnection, SeatReport
from tradefair.frameworks.models import ModelEndpoint, parse_model
from tradefair.frameworks.models.canonical import Canonical
from tradefair.frameworks.models.gateway import Gateway
from tradefair.frameworks.models.gateway_app import GatewayApp, serve_app
from tradefair.frameworks.models.wire import Answer, ChatRequest, completion, function_call
from tradefair.host.episode.episode import Episode
from tradefair.host.seats.scripted import Scripted
from tradefair.host.server.binding import build_server
from tradefair.tracestore import open_trace

SEED = 7
BRIEF = Brief("P1", "earn", "rounds")


@dataclass
class Table:
    """One episode with P1 open to us."""

    episode: Episode
    lapses: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])

    def client(self, mode: str = "auto") -> Client:
        return Client(build_server(self.episode, "P1"), mode=mode)

    def seat(self, client: Client, **options: Any) -> SeatConnection:
        given: dict[str, Any] = {"lapse": self._lapse, "note": partial(self.episode.note, "P1"), **options}
        return SeatConnection(client, "P1", **given)

    async def play(
        self, framework: str, model: ModelEndpoint, limits: Limits | None = None, *, mode: str = "auto", **options: Any
    ) -> SeatReport:
        """P1 played to the end in a protocol era; what the framework raises is raised."""
        agent = load_framework(framework)()
        async with self.client(mode) as client:
            try:
                return await agent.play(self.seat(client, **options), model, BRIEF, limits or Limits())
            except Exception as error:
                failure = error
        # Outside the client, whose task group would wrap it.
        raise failure

    async def _lapse(self, reason: LapseReason) -> None:
        clock = self.episode.core.market.clock
        self.lapses.append((clock.round, clock.phase))
        await self.episode.lapse("P1", reason)


@dataclass(frozen=True)
class Written:
    """What a closed episode's trace says of P1."""

    head: str
    outcome: str
    calls: list[tuple[str, Any]]
    notes: list[dict[str, Any]]


@dataclass
class Teaching:
    """Makes episodes of one scenario and seed, and reads their traces."""

    folder: Path
    made: int = 0
    brief: Brief = BRIEF

    @asynccontextmanager
    async def table(
        self,
        preset: str = "pie",
        *,
        limits: tuple[Any, ...] = (),
        native: Policy | None = None,
        partner: Policy | None = None,
        **overrides: Any,
    ) -> AsyncGenerator[Table]:
        """An open episode; with `native` P1 is played by that policy inside, after P2 as an outside seat is.

        P2 is played by `partner`, else by the policy `half`.
        """
        self.made += 1
        scenario = load_scenario("teaching", preset, overrides).model_copy(update={"limits": limits})
        makers: dict[str, Callable[[], Policy]] = {"P2": lambda: partner or self.policy("half", "P2")}
        if native is not None:
            makers = {"P1": lambda: native, **makers}
        # Same task throughout, as clients need it; no test here takes seconds.
        async with asyncio.timeout(LONG):
            episode = await Episode.create(
                self.folder / f"{self.made}.trace",
                market_type("teaching"),
                scenario,
                SEED,
                episode_id="teaching",
                scripted=Scripted(makers, late=frozenset({"P1"})),
            )
            try:
                yield Table(episode)
            finally:
                await episode.close()

    async def native(self, policy: Policy, preset: str = "pie") -> Written:
        """The trace of the policy played inside the episode."""
        async with self.table(preset, native=policy) as table:
            await table.episode.wait_ended()
        return self.written(table)

    def written(self, table: Table) -> Written:
        """The trace of a closed episode."""
        with open_trace(table.episode.path) as trace:
            about = trace.manifest.about
            return Written(
                head=str(about["head_hash"]),
                outcome=table.episode.core.outcome_digest,
                calls=[
                    (event["tool"], event["arguments"])
                    for event in trace.decoded()
                    if event["event"] == "tool_called" and event["seat"] == "P1"
                ],
                notes=list(trace.agent_events()),
            )

    def policy(self, name: str, seat: str = "P1", **params: Any) -> Policy:
        return market_type("teaching").policies[name].make(params, Draw.of(SEED, seat))

    def endpoint(self, name: str, **params: Any) -> ModelEndpoint:
        return self.around(self.policy(name, **params), name)

    def around(self, policy: Policy, name: str = "mine") -> ModelEndpoint:
        return parse_model(f"policy:{name}").with_policy(policy)


class Script:
    """A model that says what it was told to, in order, and keeps what it was asked."""

    model = "scripted"

    def __init__(self, *bodies: dict[str, Any]) -> None:
        self.bodies = list(bodies)
        self.requests: list[dict[str, Any]] = []

    async def answer(self, request: ChatRequest, asked: Canonical, occurrence: int) -> Answer:
        self.requests.append(request.raw)
        return Answer(200, self.bodies.pop(0))

    async def close(self) -> None:
        """Nothing to free."""

    @staticmethod
    def says(*calls: tuple[str, str], text: str | None = None, same_id: bool = False) -> dict[str, Any]:
        """A reply with calls as (name, arguments); their ids are those of their places, or all one."""
        made = [function_call(f"p{0 if same_id else index}", *call) for index, call in enumerate(calls)]
        message = {"content": text, **({"tool_calls": made} if made else {})}
        reason = "tool_calls" if made else "stop"
        return completion("scripted", 1, message, reason, input_tokens=10, output_tokens=2).body

    @asynccontextmanager
    async def served(self) -> AsyncGenerator[ModelEndpoint]:
        """The model as `--model openai:scripted` with a base URL."""
        async with serve_app(GatewayApp(Gateway(self), "key")) as url:
            yield ModelEndpoint("openai", self.model, "openai:scripted", base_url=url, api_key="key")


@pytest.fixture
def script() -> type[Script]:
    return Script


@pytest.fixture
def teaching(tmp_path: Path) -> Teaching:
    return Teaching(tmp_path)


@pytest.fixture(autouse=True)
def no_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reaches a real model."""
    monkeypatch.setenv("TRADEFAIR_ALLOW_MODELS", "0")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(name, raising=False)
