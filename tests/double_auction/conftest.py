from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson
import pytest
from tests.calling import Caller
from tests.calling import turn_view as turn_view_of

from tradefair.catalog import load_scenario
from tradefair.contract import Closure, Draw, ErrorInfo, TurnView
from tradefair.contract.policy import parse_policy
from tradefair.double_auction import MARKET
from tradefair.double_auction.rules import DoubleAuction

CALLER = Caller(MARKET.tools)


@pytest.fixture(scope="session")
def turn_view() -> Callable[[DoubleAuction, str], TurnView]:
    """What a seat is shown when it is asked."""
    return turn_view_of


@pytest.fixture(scope="session")
def open_market() -> Callable[..., DoubleAuction]:
    """A fresh market of a bundled preset: `open_market("smoke", seed=1, rounds=5)`."""

    def opened(preset: str, seed: int = 1, **overrides: Any) -> DoubleAuction:
        scenario: Any = load_scenario("double_auction", preset, overrides)
        return MARKET.create(scenario, seed)

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
def close() -> Callable[[DoubleAuction, Mapping[str, int]], Closure]:
    """Quote for the named seats, lapse the others, close the round."""

    def closed(market: DoubleAuction, quotes: Mapping[str, int]) -> Closure:
        for seat, price in quotes.items():
            market.quote(seat, price)
        for seat in market.seats:
            if seat in market.awaited():
                market.lapse(seat, "agent_limit")
        return market.advance()

    return closed


@pytest.fixture(scope="session")
def play() -> Callable[[DoubleAuction, Mapping[str, str]], list[str]]:
    """Play to the end with policies over tools; one line per call, lapse and closure."""

    def played(market: DoubleAuction, policies: Mapping[str, str]) -> list[str]:
        lines: list[str] = []
        players = {
            seat: MARKET.policies[parse_policy(text)[0]].make({}, Draw.of(market.seed, seat))
            for seat, text in policies.items()
        }
        while market.terminated is None:
            for seat in sorted(market.awaited()):
                for call, answer in CALLER.turn(market, seat, players[seat]):
                    lines.append(f"{seat} {call.tool} {orjson.dumps(dict(call.arguments)).decode()}")
                    lines.append(f"   {answer.body.decode() if answer.body else answer.error}")
                if seat in market.awaited():
                    lines.append(f"{seat} lapses: {market.lapse(seat, 'agent_limit')}")
            closure = market.advance()
            lines.append(f"{closure.kind} closed: {closure.public.model_dump_json()}")
            lines.append(f"   facts: {closure.facts.model_dump_json() if closure.facts else None}")
            lines.append(f"   state: {market.digest().hex()}")
            MARKET.check(market)
        return lines

    return played
