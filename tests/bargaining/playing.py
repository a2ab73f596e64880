from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.calling import Caller

from tradefair.bargaining import MARKET
from tradefair.bargaining.model import BargainingScenario
from tradefair.bargaining.policies import Oracle
from tradefair.bargaining.rules import Bargaining
from tradefair.contract import Draw
from tradefair.contract.policy import parse_policy
from tradefair.contract.scenario import build_scenario
from tradefair.files.user_files import parse_toml

FOLDER = Path(__file__).parents[2] / "mcp_servers" / "tradefair" / "bargaining" / "scenarios"


CALLER = Caller(MARKET.tools)


def open_market(preset: str = "pact", seed: int = 1, **overrides: Any) -> Bargaining:
    """`open_market(preset, seed, **overrides)`."""
    source = FOLDER / f"{preset}.toml"
    content = {**parse_toml(source.read_text(), source=source.name), **overrides}
    # The file's tier is no part of the scenario.
    content.pop("tier", None)
    return MARKET.create(build_scenario(BargainingScenario, content, source=source.name), seed)


ask: Callable[..., Any] = CALLER.ask
"""`ask(market, seat, tool, **arguments)`: the tool's result, or its IllegalAction."""


refusal = CALLER.refused
"""As `ask`, for calls that must be refused: the refusal; the state digest must not move."""


def talk(market: Bargaining, texts: Mapping[str, str] | None = None) -> None:
    """Both seats speak in the round's order, by default in silence; then the quote phase is open."""
    while market.clock.phase != "quote":
        (seat,) = market.awaited()
        market.say(seat, (texts or {}).get(seat, ""))
        market.advance()


def play(market: Bargaining, buyer: str, seller: str) -> None:
    """Play to the end with policies over tools, checking the conservation laws at every closure."""
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
