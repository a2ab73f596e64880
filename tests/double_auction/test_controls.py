"""Seats that know the truth, and controls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest

from tradefair.contract import Draw, TurnView
from tradefair.double_auction import MARKET
from tradefair.double_auction.policies import POLICIES
from tradefair.double_auction.rules import DoubleAuction
from tradefair.double_auction.seats.controls import OracleSealed, OracleValues

Open = Callable[..., DoubleAuction]
View = Callable[[DoubleAuction, str], TurnView]


def _quote(market: DoubleAuction, seat: str, oracle: OracleSealed | OracleValues, view: TurnView) -> int:
    oracle.see(market.privileged())
    (call,) = list(oracle.turn(view))
    assert call.tool == "submit_quote"
    return cast("int", call.arguments["price"])


@pytest.mark.parametrize("seat", ["B1", "S1"])
def test_no_single_quote_earns_more_on_average_than_the_oracle_of_sealed_quotes(
    open_market: Open, turn_view: View, seat: str
) -> None:
    """Every price in turn, over seeds that settle coins and ties otherwise; rivals quote as they did."""
    earned: dict[int, int] = {}
    chosen = 0
    for seed in range(1, 9):
        market = open_market("smoke", seed)
        for place, other in enumerate(sorted(set(market.seats) - {seat})):
            market.quote(other, 45 + 3 * place)
        before = market.privileged()
        assert len(before.book) == len(market.seats) - 1
        price = _quote(market, seat, OracleSealed(), turn_view(market, seat))
        value = before.values[seat]
        best = {x: _payoff(market, seat, x) for x in range(101) if (x <= value if seat == "B1" else x >= value)}
        # A coin may round against the oracle by half a point either way.
        assert best[price] >= max(best.values()) - 1
        earned[seed] = best[price]
        chosen += best[price] > 0
    assert chosen


def _payoff(market: DoubleAuction, seat: str, price: int) -> int:
    fresh = MARKET.create(market.scenario, market.seed)
    assert isinstance(fresh, DoubleAuction)
    for other, quoted in market.privileged().book.items():
        fresh.quote(other, quoted)
    fresh.quote(seat, price)
    fresh.advance()
    return fresh.state.payoff[seat]


def test_the_oracle_of_values_trades_when_truth_would(open_market: Open, turn_view: View) -> None:
    market = open_market("bazaar", 3)
    quotes = {seat: _quote(market, seat, OracleValues(), turn_view(market, seat)) for seat in market.seats}
    values = market.privileged().values
    for seat, price in quotes.items():
        assert price <= values[seat] if seat.startswith("B") else price >= values[seat]
        market.quote(seat, price)
    facts: Any = market.advance().facts
    assert facts.surplus == facts.max_surplus > 0


def test_oracles_are_privileged_and_controls_are_not() -> None:
    assert {name for name, spec in POLICIES.items() if spec.privileged} == {"oracle_sealed", "oracle_values"}
    for name in ("oracle_sealed", "oracle_values"):
        assert hasattr(POLICIES[name].make({}, Draw.of(1, "B1")), "see")


def test_controls_do_what_they_are_named_for(
    open_market: Open, play: Callable[[DoubleAuction, Mapping[str, str]], list[str]]
) -> None:
    market = open_market("bazaar", 5, rounds=9)
    names = ["loss_maker", "forfeiter", "stubborn", "truthful", "blind", "truthful", "truthful", "zip"]
    play(market, dict(zip(market.seats, names, strict=True)))
    values = market.privileged().values
    rounds = market.state.rounds
    assert {closed.bids["B1"] for closed in rounds} == {min(100, values["B1"] + 10)}
    assert market.state.rounds_forfeited["B2"] == 3
    assert {closed.bids["B3"] for closed in rounds} == {max(0, values["B3"] - 40)}
    assert {closed.asks["S1"] for closed in rounds} <= {50}
