"""Episodes of the smallest bargaining case, played over MCP with a policy behind a model's interface."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.play_specs import play_spec

from tradefair.catalog import load_scenario, market_type
from tradefair.contract.kernel.players import Seating
from tradefair.host.seats.plans import plan_seats
from tradefair.runner.play.agent_spec import AgentSpec
from tradefair.runner.play.episode_runner import PlaySpec
from tradefair.tracestore import open_trace


@dataclass(frozen=True)
class Told:
    """What a trace and the notes beside it say of seat B1."""

    about: dict[str, Any]
    seating: Seating
    events: list[dict[str, Any]]
    notes: list[dict[str, Any]]

    @property
    def quotes(self) -> list[tuple[int, int]]:
        """Round and price of each accepted quote."""
        return [
            (event["round"], event["arguments"]["price"]) for event in self.calls("submit_quote") if not event["error"]
        ]

    @property
    def lapses(self) -> list[tuple[int, str]]:
        """Round and reason of each lapse."""
        return [(event["round"], event["reason"]) for event in self.events if event["event"] == "seat_lapsed"]

    def calls(self, tool: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event.get("tool") == tool and event["seat"] == "B1"]

    def noted(self, kind: str) -> list[dict[str, Any]]:
        return [note for note in self.notes if note["kind"] == kind]


@pytest.fixture
def told() -> Callable[[Path], Told]:
    """Reads a trace."""

    def read(path: Path) -> Told:
        with open_trace(path) as trace:
            return Told(trace.manifest.about, trace.seating(), list(trace.decoded()), list(trace.agent_events()))

    return read


@pytest.fixture(autouse=True)
def no_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reaches a real model."""
    monkeypatch.setenv("TRADEFAIR_ALLOW_MODELS", "0")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "TRADEFAIR_PRICES"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def duel(tmp_path: Path) -> Callable[..., PlaySpec]:
    """Makes three rounds of double_auction/duel with the given agent in seat B1; seed 7."""

    def make(agent: AgentSpec, *, rounds: int = 3, folder: str = "runs") -> PlaySpec:
        scenario = load_scenario("double_auction", "duel", {"rounds": rounds})
        plan = plan_seats(market_type("double_auction"), scenario)
        return play_spec("double_auction", scenario, 7, plan, agent, tmp_path / folder)

    return make
