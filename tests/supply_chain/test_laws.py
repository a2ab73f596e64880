"""Laws that hold for every scenario and every play (supply-chain page, 13)."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.supply_chain.playing import CALLER, scenario_of

from tradefair.contract import Chance, IllegalAction
from tradefair.supply_chain import MARKET
from tradefair.supply_chain.engine.checks import Asked
from tradefair.supply_chain.engine.demand import draw_crowd
from tradefair.supply_chain.engine.procurement import settle
from tradefair.supply_chain.engine.sales import Luck, notice, shop
from tradefair.supply_chain.model import Line, Offer, RoundFacts
from tradefair.supply_chain.rules import SupplyChain

SEEDS = st.integers(0, 2**31)
SLOGANS = ["cheap deals every day", "fair and green", "", "limited edition now", "quality craft"]

scenarios = st.fixed_dictionaries(
    {
        "seats": st.integers(2, 5),
        "rounds": st.integers(1, 3),
        "bid_passes": st.integers(1, 3),
        "reveal": st.sampled_from(["none", "own", "summary", "book"]),
        "overspend": st.sampled_from(["error", "forfeit"]),
        "demand_ratio": st.sampled_from([0.05, 0.95, 1.7]),
        "demand_split": st.sampled_from(["stratified", "random"]),
        "rho": st.sampled_from([0.25, 0.5, 1.0]),
        "reservation": st.booleans(),
        "silent_offer": st.sampled_from(["persist", "drop"]),
        "holding_rate": st.sampled_from([0, 0.03, 0.5]),
        "supply_mode": st.sampled_from(["fixed", "shock"]),
        "tick": st.sampled_from(["0.05", "1.00", "10"]),
    }
)


def _random_phase(market: SupplyChain, data: st.DataObject) -> None:
    """Every awaited seat acts somehow, within the rules."""
    tick = market.scenario.tick_cents
    for seat in sorted(market.awaited()):
        choice = data.draw(st.sampled_from(["act", "act", "act", "skip"]))
        if choice == "skip":
            market.skip(seat)
            continue
        picked = data.draw(st.lists(st.integers(0, 3), max_size=4, unique=True))
        prices = [tick * data.draw(st.integers(0, 40)) for _ in picked]
        items = [market.scenario.items[place] for place in picked]
        if market.clock.phase == "retail":
            asked = [(item.id, item.base_cents + price) for item, price in zip(items, prices, strict=True)]
            market.post(seat, asked, data.draw(st.sampled_from([None, *SLOGANS])))
            continue
        funds, lines = market.of(seat).funds, list[Asked]()
        for item, price, place in zip(items, prices, picked, strict=True):
            cents = item.base_cents + price
            most = min(market.supply[place], funds // cents)
            units = data.draw(st.integers(0, most))
            funds -= units * cents
            lines.append(Asked(item.id, units, cents))
        market.bid(seat, lines)


@settings(max_examples=25, deadline=None)
@given(scenarios, SEEDS, st.data())
def test_every_ledger_balances_to_the_cent(overrides: dict[str, Any], seed: int, data: st.DataObject) -> None:
    """Invariants 1 to 3, over every seat, item, buyer and round."""
    _balances(overrides, seed, data)


@settings(max_examples=300, deadline=None)
@given(scenarios, SEEDS, st.data())
def test_every_ledger_balances_in_hundreds_of_cases(overrides: dict[str, Any], seed: int, data: st.DataObject) -> None:
    _balances(overrides, seed, data)


def _balances(overrides: dict[str, Any], seed: int, data: st.DataObject) -> None:
    market = MARKET.create(scenario_of("duel", overrides), seed)
    before = {seat: (market.of(seat).funds, 0) for seat in market.ids}
    while market.terminated is None:
        _random_phase(market, data)
        closure = market.advance()
        MARKET.check(market)
        if closure.facts is not None:
            assert isinstance(closure.facts, RoundFacts)
            _check_round(market, closure.facts, before)


def _check_round(market: SupplyChain, facts: RoundFacts, before: dict[str, tuple[int, int]]) -> None:
    final = facts.passes[-1]
    for item, supply in enumerate(facts.supply):
        asked = sum(line[1] for lines in final.lines.values() for line in lines if line[0] == item)
        won = sum(line[3] for lines in final.lines.values() for line in lines if line[0] == item)
        assert won == min(supply, asked) == final.won[item]
    for seat, own in facts.seats.items():
        funds, book = before[seat]
        revenue, costs = sum(own.revenue), sum(own.cost_of_goods)
        assert own.funds - funds == revenue - own.spend - own.holding_paid
        assert sum(own.book) - book == own.spend - costs - own.write_off
        assert own.profit == revenue - costs - own.holding
        assert own.holding_paid <= own.holding
        for units, worth in zip(own.units, own.book, strict=True):
            assert units >= 0 <= worth
            assert units > 0 or worth == 0
        before[seat] = own.funds, sum(own.book)
    buyers = facts.buyers
    places = {seat: place for place, seat in enumerate(market.ids)}
    bought = [0] * len(market.ids)
    for place, trail in enumerate(buyers.visits):
        limit, noticed = buyers.limit[place], buyers.noticed[place]
        assert sum(visit[2] for visit in trail) <= buyers.quantity[place]
        for seat, wanted, units in trail:
            price = facts.seats[market.ids[seat]].prices[buyers.item[place]]
            assert price is not None
            assert limit is None or price <= limit
            assert noticed is None or seat in noticed
            assert 0 <= units <= wanted
            bought[seat] += units
    assert bought == [sum(facts.seats[seat].sold) for seat in places]
    assert sum(bought) <= market.scenario.demand


@settings(max_examples=15, deadline=None)
@given(SEEDS, st.integers(1, 9), st.data())
def test_buyers_depend_on_nothing_that_anybody_does(seed: int, number: int, data: st.DataObject) -> None:
    """Invariant 4: the same crowd whatever was played, and its luck too."""
    scenario = scenario_of("duel", {"seats": 3, "rounds": 9})
    market = MARKET.create(scenario, seed)
    while market.clock.round < min(number, 3):
        _random_phase(market, data)
        market.advance()
    fresh = draw_crowd(scenario, Chance(seed), market.clock.round)
    assert market.crowd() == fresh
    assert market.luck().noise(3) == Luck(Chance(seed), market.clock.round, market.ids).noise(3)


bids = st.lists(st.tuples(st.integers(1, 40), st.integers(80, 95)), min_size=2, max_size=6)


@settings(max_examples=100, deadline=None)
@given(bids, st.integers(1, 10), SEEDS)
def test_a_higher_price_never_wins_less(others: list[tuple[int, int]], more: int, seed: int) -> None:
    """Invariant 6."""

    def filled(extra: int) -> int:
        vectors = [[Line(0, units, price + (extra if seat == 0 else 0))] for seat, (units, price) in enumerate(others)]
        return settle(vectors, [60], [80], lambda _, seat: Chance(seed).uniform("bid_tie", seat)).filled[0][0]

    assert filled(more) >= filled(0)


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.data())
def test_words_sell_nothing_where_everybody_is_considered(seed: int, data: st.DataObject) -> None:
    """Invariant 7: with K = N, other slogans change no sale; one slogan for all is as good as none."""
    slogans = [data.draw(st.sampled_from(SLOGANS)) for _ in range(3)]
    for overrides in ({"rho": 1.0}, {"rho": 0.5}):
        scenario = scenario_of("duel", overrides)
        market = MARKET.create(scenario, seed)
        crowd, luck = market.crowd(), market.luck()
        prices = [item.base_cents * 5 // 4 for item in scenario.items]
        none = [Offer(tuple(prices), None, None)] * 3
        if scenario.gate_inert:
            said = [Offer(tuple(prices), text, market.similarities(text)) for text in slogans]
        else:
            said = [Offer(tuple(prices), slogans[0], market.similarities(slogans[0]))] * 3
        noticed = [notice(scenario, luck, crowd, offers, range(3)) for offers in (none, said)]
        stock = [(5, 5, 5, 5)] * 3
        sold = [shop(luck, crowd, one, none, stock, range(3)).tallies for one in noticed]
        assert sold[0] == sold[1]


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.data())
def test_affordable_is_what_is_accepted(seed: int, data: st.DataObject) -> None:
    """Invariant 11."""
    market = MARKET.create(scenario_of("duel", {}), seed)
    line = st.fixed_dictionaries(
        {
            "item": st.sampled_from(["beans", "kettle", "lamp", "watch", "pony"]),
            "quantity": st.integers(0, 33),
            "price": st.sampled_from([9, 10, 40, 40.5, 80, 400, 410, 400_001]),
        }
    )
    asked = data.draw(st.lists(line, max_size=4, unique_by=lambda one: one["item"]))
    cost: Any = CALLER.ask(market, "retailer_01", "check_bid_cost", bids=asked)
    try:
        CALLER.ask(market, "retailer_01", "submit_bids", bids=asked)
        accepted = True
    except IllegalAction:
        accepted = False
    assert accepted == cost.affordable
