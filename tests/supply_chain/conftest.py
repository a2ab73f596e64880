from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.calling import Caller

from tradefair.contract import ErrorInfo
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


@pytest.fixture(scope="session")
def scenario() -> Callable[..., SupplyChainScenario]:
    """`scenario(preset, **overrides)`."""

    def made(preset: str = "duel", **overrides: Any) -> SupplyChainScenario:
        return scenario_of(preset, overrides)

    return made


@pytest.fixture(scope="session")
def open_market() -> Callable[..., SupplyChain]:
    """`open_market(preset, seed, **overrides)`."""

    def opened(preset: str = "duel", seed: int = 1, **overrides: Any) -> SupplyChain:
        return MARKET.create(scenario_of(preset, overrides), seed)

    return opened


@pytest.fixture(scope="session")
def play() -> Callable[..., Playthrough]:
    """`play(policies, preset, seed, **overrides)`: a whole episode through Core."""

    def played(policies: str | Mapping[str, str], preset: str = "duel", seed: int = 1, **overrides: Any) -> Playthrough:
        return play_scripted(MARKET, scenario_of(preset, overrides), seed, policies)

    return played


@pytest.fixture(scope="session")
def ask() -> Callable[..., Any]:
    """`ask(market, seat, tool, **arguments)`: the tool's result, or its IllegalAction."""
    return CALLER.ask


@pytest.fixture(scope="session")
def refusal() -> Callable[..., ErrorInfo]:
    """As `ask`, for calls that must be refused: the refusal; the state digest must not move."""
    return CALLER.refused


@pytest.fixture(scope="session")
def to_retail() -> Callable[[SupplyChain], None]:
    """Everybody bids nothing more; then the retail phase is open."""

    def moved(market: SupplyChain) -> None:
        while market.clock.phase != "retail":
            for seat in sorted(market.awaited()):
                market.skip(seat)
            market.advance()

    return moved


@pytest.fixture(scope="session")
def close() -> Callable[[SupplyChain], None]:
    """Everybody who is still awaited skips, and the phase closes."""

    def closed(market: SupplyChain) -> None:
        for seat in sorted(market.awaited()):
            market.skip(seat)
        market.advance()

    return closed
