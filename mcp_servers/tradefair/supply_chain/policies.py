"""Scripted retailers by name, and the privileged oracle that most of them are compared with (supply-chain page, 8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tradefair.contract import PolicySpec, SeatId, ToolCall, Turns, TurnView
from tradefair.contract.policy import scripted
from tradefair.supply_chain.analysis import sure_win_price
from tradefair.supply_chain.engine.demand import Crowd, apportion
from tradefair.supply_chain.engine.sales import Luck, notice, shop
from tradefair.supply_chain.model import RETAIL, ROLE, Offer
from tradefair.supply_chain.rules import HiddenTruth
from tradefair.supply_chain.seats import strategies
from tradefair.supply_chain.seats.strategies import Wish, lines_within
from tradefair.supply_chain.state import State

_ROLES = frozenset({ROLE})
_LADDER = (102, 106, 110, 115, 120, 125, 130, 140, 155, 170, 190)
"""Prices that the oracle tries, in per cent of base."""


class Oracle:
    """Knows the whole state except what rivals have not decided yet.

    It bids in the last pass only, at prices that win for sure against the standing vectors, and plays the market step
    beforehand to choose slogan and prices. It is an upper reference, not a solver: its needs are a rule of thumb, and
    its prices are tried item by item.
    """

    def __init__(self) -> None:
        self._truth: State | None = None

    def see(self, truth: object) -> None:
        """Take in the live state; it stays up to date."""
        assert isinstance(truth, HiddenTruth)
        self._truth = truth.market

    def turn(self, now: TurnView) -> Turns:
        """Skip until the last pass, bid there, then post the best offer that the trial finds."""
        market = self._truth
        assert market is not None
        if now.phase == RETAIL:
            prices, slogan = _Trial(market, now.seat).best()
            yield strategies.offer_call(prices, slogan)
        # The last pass: only `retail` comes after it.
        elif now.phase == market.scenario.phases[-2]:
            yield strategies.bids_call(lines_within(self._wishes(market, now.seat), market.of(now.seat).funds))
        else:
            # Vectors of an earlier pass may still change; only those of the last one are worth beating.
            yield ToolCall("skip_phase")

    @staticmethod
    def _wishes(market: State, seat: SeatId) -> Iterator[Wish]:
        """What it wants of each item, at a price that wins for sure against the standing vectors, if it pays."""
        scenario, own = market.scenario, market.places[seat]
        # Nominal demand by item: the privileged view of this round's buyers is used for prices only.
        wanted = apportion(scenario.demand, [item.quantity for item in scenario.items])
        for place, item in enumerate(scenario.items):
            # Four times an equal share of nominal demand, rounded up (8).
            need = min(market.supply[place], -(-4 * wanted[place] // scenario.retailers)) - market.of(seat).units[place]
            if need <= 0:
                continue
            rivals = [
                (line.price, line.quantity)
                for rival, books in enumerate(market.retailers)
                for line in books.vector
                if rival != own and line.item == place
            ]
            price = sure_win_price(rivals, need, market.supply[place], item.base_cents, scenario.tick_cents)
            # Before the first round closes there is no price to go by: 1.25 times base, as rivals are assumed to post.
            resale = _last_mean(market, place) or item.base_cents * 5 / 4
            if resale - price > 0.03 * price:
                yield Wish(item.id, need, price, (resale - price) / price)


def _last_mean(market: State, item: int) -> float | None:
    """Volume-weighted price of an item in the last closed round, in cents; None when none was sold."""
    if not market.history:
        return None
    record = market.history[-1]
    sold = [
        (price, units[item])
        for offer, units in zip(record.offers, record.sold, strict=True)
        if offer is not None and (price := offer.prices[item]) is not None
    ]
    units = sum(count for _, count in sold)
    return sum(price * count for price, count in sold) / units if units else None


class _Trial:
    """The open round's market step, played beforehand for one seat under different offers.

    Buyers and their luck are those of the round; rivals are assumed to keep their offers, or to post 1.25 times base
    without a slogan if they have none.
    """

    def __init__(self, market: State, seat: SeatId) -> None:
        self._market = market
        self._own = market.places[seat]
        self._crowd = market.crowd()
        self._luck: Luck = market.luck()
        self._stock = [tuple(own.units) for own in market.retailers]
        usual = tuple(
            strategies.ceil_tick(5 * item.base_cents, 4, market.scenario.tick_cents) for item in market.scenario.items
        )
        self._offers = [(own.offer or Offer(usual, None, None)) if own.active else None for own in market.retailers]
        # Items without stock are not posted: they would draw visits that fail.
        self._held = [item for item, units in enumerate(self._stock[self._own]) if units]
        self._prices: list[int | None] = [usual[item] if item in self._held else None for item in range(len(usual))]

    def best(self) -> tuple[dict[str, int], str | None]:
        """The best of twelve slogans at usual prices, then each item's best price: (cents by item id, slogan)."""
        scenario = self._market.scenario
        slogan, row = None, None
        # An outside embedder cannot be asked from here; then it says nothing, and lives from its prices.
        if not scenario.gate_inert and scenario.embedder == "lexical":
            # Generic slogans are close to no tribe, so only the other twelve are tried.
            rows = {text: self._market.similarities(text) for text in strategies.slogan_pool(generic=False)}
            slogan = max(rows, key=lambda text: self._value(self._noticed(rows[text]), rows[text], self._crowd))
            row = rows[slogan]
        noticed = self._noticed(row)
        for item in self._held:
            # Only buyers of this item matter to its price: a smaller crowd makes the eleven trials cheap.
            buyers = [place for place in self._crowd.arrival if self._crowd.buyers[place].item == item]
            crowd = Crowd(self._crowd.buyers, tuple(buyers))
            base, tick = scenario.items[item].base_cents, scenario.tick_cents
            tried = [strategies.ceil_tick(base * step, 100, tick) for step in _LADDER]
            values = [self._at(item, price, noticed, row, crowd) for price in tried]
            # The first of equal values, which is the lower price.
            self._prices[item] = tried[values.index(max(values))]
        prices = {scenario.items[item].id: price for item, price in enumerate(self._prices) if price is not None}
        return prices, slogan

    def _noticed(self, row: tuple[float, ...] | None) -> tuple[tuple[int, ...] | None, ...]:
        """The seats that each buyer notices when the seat's slogan has this similarity row."""
        offers = self._with(row)
        return notice(self._market.scenario, self._luck, self._crowd, offers, self._market.active)

    def _with(self, row: tuple[float, ...] | None) -> list[Offer | None]:
        """All offers of the trial, with the seat's own prices and slogan row."""
        offers = list(self._offers)
        # The slogan's text plays no part in the market step; only its row does.
        offers[self._own] = Offer(tuple(self._prices), None, row)
        return offers

    def _at(
        self,
        item: int,
        price: int,
        noticed: Sequence[tuple[int, ...] | None],
        row: tuple[float, ...] | None,
        crowd: Crowd,
    ) -> float:
        """The value of the offer with one price changed."""
        self._prices[item] = price
        return self._value(noticed, row, crowd)

    def _value(self, noticed: Sequence[tuple[int, ...] | None], row: tuple[float, ...] | None, crowd: Crowd) -> float:
        """Revenue plus 0.9 of the book value left; in the last round what is left is worth nothing."""
        market = self._market
        shopping = shop(self._luck, crowd, noticed, self._with(row), self._stock, market.active)
        tally, own = shopping.tallies[self._own], market.retailers[self._own]
        # Stock left at the end is not paid out; before, a unit in stock is worth a little less than its cost.
        kept = 0.0 if market.clock.round == market.scenario.rounds else 0.9
        left = sum(
            book * (units - sold) / units
            for book, units, sold in zip(own.book, own.units, tally.sold, strict=True)
            if units
        )
        return sum(tally.revenue) + kept * left


# --- the table ------------------------------------------------------------------------------------------------------

_SPECS = (
    scripted(strategies.Passive, _ROLES, reference=True),
    scripted(strategies.RandomLegal, _ROLES),
    scripted(strategies.CostPlus, _ROLES),
    scripted(strategies.Skill, _ROLES, on_every_seat=True),
    scripted(strategies.Independent, _ROLES),
    scripted(strategies.FloorBidder, _ROLES, reference=True),
    scripted(strategies.Overpayer, _ROLES),
    scripted(strategies.Timid, _ROLES),
    scripted(strategies.Overspender, _ROLES),
    scripted(strategies.KeywordStuffer, _ROLES),
    scripted(strategies.Gouger, _ROLES),
    scripted(strategies.BelowCost, _ROLES),
    scripted(strategies.Hoarder, _ROLES),
    scripted(strategies.EmptyShelf, _ROLES),
    scripted(strategies.StaleSeller, _ROLES),
    scripted(strategies.Mimic, _ROLES),
    scripted(strategies.Clone, _ROLES),
    scripted(strategies.Adaptive, _ROLES, reference=True, stand_in=True),
    scripted(Oracle, _ROLES, privileged=True, reference=True),
)

POLICIES: Mapping[str, PolicySpec] = {spec.name: spec for spec in _SPECS}
