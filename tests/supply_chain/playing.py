from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.calling import Caller

from tradefair.contract.scenario import build_scenario
from tradefair.files.user_files import parse_toml
from tradefair.supply_chain import MARKET
from tradefair.supply_chain.model import SupplyChainScenario
from tradefair.supply_chain.rules import SupplyChain
from tradefair.testing import Playthrough, play_scripted

FOLDER = Path(__file__).parents[2] / "mcp_servers" / "tradefair" / "supply_chain" / "scenarios"
CALLER = Caller(MARKET.tools)


def scenario_of(preset: str, overrides: Mapping[str, Any]) -> SupplyChainScenario:
    source = FOLDER / f"{preset}.toml"
    content = {**parse_toml(source.read_text(), source=source.name), **overrides}
    # The file's tier is no part of the scenario.
    content.pop("tier", None)
    return build_scenario(SupplyChainScenario, content, source=source.name)


def scenario(preset: str = "duel", **overrides: Any) -> SupplyChainScenario:
    """`scenario(preset, **overrides)`."""
    return scenario_of(preset, overrides)


def open_market(preset: str = "duel", seed: int = 1, **overrides: Any) -> SupplyChain:
    """`open_market(preset, seed, **overrides)`."""
    return MARKET.create(scenario_of(preset, overrides), seed)


def play(policies: str | Mapping[str, str], preset: str = "duel", seed: int = 1, **overrides: Any) -> Playthrough:
    """`play(policies, preset, seed, **overrides)`: a whole episode through Core."""
    return play_scripted(MARKET, scenario_of(preset, overrides), seed, policies)


ask: Callable[..., Any] = CALLER.ask
"""`ask(market, seat, tool, **arguments)`: the tool's result, or its IllegalAction."""


refusal = CALLER.refused
"""As `ask`, for calls that must be refused: the refusal; the state digest must not move."""


def to_retail(market: SupplyChain) -> None:
    """Everybody bids nothing more; then the retail phase is open."""
    while market.clock.phase != "retail":
        for seat in sorted(market.awaited()):
            market.skip(seat)
        market.advance()


def close(market: SupplyChain) -> None:
    """Everybody who is still awaited skips, and the phase closes."""
    for seat in sorted(market.awaited()):
        market.skip(seat)
    market.advance()
