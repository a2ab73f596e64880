from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.calling import Caller

from tradefair.bargaining import MARKET
from tradefair.bargaining.model import BargainingScenario
from tradefair.bargaining.policies import Oracle
from tradefair.bargaining.rules import Bargaining
from tradefair.contract import Draw, ErrorInfo
from tradefair.contract.policy import parse_policy
from tradefair.contract.scenario import build_scenario
from tradefair.files.user_files import parse_toml

FOLDER = Path(__file__).parents[2] / "mcp_servers" / "tradefair" / "bargaining" / "scenarios"


CALLER = Caller(MARKET.tools)


@pytest.fixture(scope="session")
def open_market() -> Callable[..., Bargaining]:
    """`open_market(preset, seed, **overrides)`."""

    def opened(preset: str = "pact", seed: int = 1, **overrides: Any) -> Bargaining:
        source = FOLDER / f"{preset}.toml"
        content = {**parse_toml(source.read_text(), source=source.name), **overrides}
        # The file's tier is no part of the scenario.
        content.pop("tier", None)
        return MARKET.create(build_scenario(BargainingScenario, content, source=source.name), seed)

    return opened


@pytest.fixture(scope="session")
def ask() -> Callable[..., Any]:
    """`ask(market, seat, tool, **arguments)`: the tool's result, or its IllegalAction."""
    return CALLER.ask


@pytest.fixture(scope="session")
def refusal() -> Callable[..., ErrorInfo]:
    """As `ask`, for calls that must be refused: the refusal; the state digest must not move."""
    return CALLER.refused


@pytest.fixture(scope="session")
def talk() -> Callable[..., None]:
    """Both seats speak in the round's order, by default in silence; then the quote phase is open."""

    def talked(market: Bargaining, texts: Mapping[str, str] | None = None) -> None:
        while market.clock.phase != "quote":
            (seat,) = market.awaited()
            market.say(seat, (texts or {}).get(seat, ""))
            market.advance()

    return talked


@pytest.fixture(scope="session")
def play() -> Callable[..., None]:
    """Play to the end with policies over tools, checking the conservation laws at every closure."""

    def played(market: Bargaining, buyer: str, seller: str) -> None:
        players = {
            seat: MARKET.policies[parse_policy(text)[0]].make({}, Draw.of(market.seed, seat))
            for seat, text in (("B1", buyer), ("S1", seller))
        }
        while market.terminated is None:
            for seat in sorted(market.awaited()):
                player = players[seat]
                if isinstance(player, Oracle):
                    player.see(market.privileged())
                for _ in CALLER.turn(market, seat, player):
                    pass
                if seat in market.awaited():
                    market.lapse(seat, "agent_limit")
            market.advance()
            MARKET.check(market)

    return played
