"""The engine: sealed bid passes, one settlement, sealed offers, one market step, the close of the books.

Supply-chain page, sections 3, 4 and 6. A sealed action changes nothing until its phase closes; then all are applied
together in the order of seats, so that the order of arrival leaves no mark.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

import orjson
from pydantic import JsonValue

from tradefair.contract import (
    Chance,
    Clock,
    Closure,
    EndReason,
    EpisodeOver,
    HarnessFailure,
    IllegalAction,
    LapseReason,
    SeatId,
)
from tradefair.contract.money import from_minor
from tradefair.supply_chain import views
from tradefair.supply_chain.answers.results import BidReceipt, OfferReceipt, RulesView, SkipReceipt, TurnPart
from tradefair.supply_chain.engine import facts
from tradefair.supply_chain.engine.checks import Asked, checked, posted_prices, refuse, require_short
from tradefair.supply_chain.engine.demand import draw_supply
from tradefair.supply_chain.engine.procurement import PassResult, settle
from tradefair.supply_chain.engine.sales import Shopping, notice, shop
from tradefair.supply_chain.model import RETAIL, EndingFacts, Line, Offer, Phase, Streams
from tradefair.supply_chain.state import PassRecord, Retailer, RoundRecord, Sealed, SeatPass, State

_FINAL = "terminated:final_round"
_NOBODY = "terminated:no_active_seat"


class HiddenTruth(NamedTuple):
    """What privileged policies are given: the whole state, to be read only."""

    market: State


class SupplyChain(State):
    """A live supply chain (contract `Market`): the state, and the verbs that change it.

    A round is B bid passes, of which only the last moves goods and money, then a retail phase; then the buyers shop and
    the books are closed. `bid`, `post`, `skip` and `lapse` seal one action per seat and phase, `advance` closes the
    phase.
    """

    # --- who is asked ------------------------------------------------------------------------------------------------

    def awaited(self) -> frozenset[SeatId]:
        """The active seats that have not acted in the open phase."""
        return frozenset() if self.terminated else self.waiting

    # --- actions -----------------------------------------------------------------------------------------------------

    def bid(self, seat: SeatId, asked: Sequence[Asked]) -> BidReceipt:
        """Seal a bid vector that replaces the whole earlier one, and return its receipt.

        Lines of zero units are dropped. Funds must cover the vector as if it were filled in full. Above them,
        `overspend = error` refuses it with `insufficient_funds`; under `forfeit` the call succeeds, the seat has acted,
        and its vector is empty. Raises EpisodeOver, or IllegalAction that names every bad line (codes of
        `checks.checked`, seat_inactive, already_acted).
        """
        self._require(seat)
        results = checked(self, asked)
        # Lines first: what a vector costs is only known once every line of it is right.
        refuse([(result.code, result.message) for result in results if result.code])
        kept = tuple(result.line for result in results if result.line is not None and result.line.quantity)
        total, funds = sum(line.cost for line in kept), self.of(seat).funds
        if total > funds and self.scenario.overspend == "error":
            raise IllegalAction(
                "insufficient_funds",
                f"These bids cost {from_minor(total)}; you have {from_minor(funds)} "
                f"({from_minor(total - funds)} too much).",
                hint="check_bid_cost shows the largest quantity per line",
            )
        # A forfeited vector is kept aside: the measures of bidding count it as requested although it wins nothing.
        self._seal(seat, Sealed(lines=kept) if total <= funds else Sealed(lines=(), forfeited=kept))
        return views.bid_receipt(self, kept, total, funds)

    def post(
        self,
        seat: SeatId,
        asked: Sequence[tuple[str, int]],
        slogan: str | None,
        similarity: Sequence[float] | None = None,
    ) -> OfferReceipt:
        """Seal a whole offer and return it as it will be posted; `asked` holds (item id, price in cents).

        A slogan of None keeps the old one, an empty one takes it away. `similarity` is an outside embedder's row over
        all persona texts; the built-in embedder needs none. Raises EpisodeOver, or IllegalAction that names every bad
        price (codes of `checks.posted_prices`, message_too_long, seat_inactive, already_acted).
        """
        self._require(seat)
        prices = posted_prices(self.scenario, asked)
        if slogan is not None:
            require_short(self.scenario, slogan)
        offer = self._offered(seat, prices, slogan, similarity)
        self._seal(seat, Sealed(offer=offer))
        return views.offer_receipt(self, offer)

    def _offered(
        self, seat: SeatId, prices: tuple[int | None, ...], slogan: str | None, similarity: Sequence[float] | None
    ) -> Offer:
        """The offer with its slogan and the slogan's hidden row; both stay when no slogan is given."""
        standing = self.of(seat).offer
        if slogan is None:
            # The row goes with its slogan: an outside embedder is not asked again for the same text.
            return Offer(prices, standing.slogan if standing else None, standing.row if standing else None)
        if not slogan:
            return Offer(prices, None, None)
        return Offer(prices, slogan, self.similarities(slogan, similarity))

    def skip(self, seat: SeatId) -> SkipReceipt:
        """Seal the phase's default action, and say which default now stands."""
        self._require(seat)
        stands = self._default()
        self._seal(seat, Sealed())
        return SkipReceipt(round=self.clock.round, phase=self.clock.phase, default=stands)

    def lapse(self, seat: SeatId, reason: LapseReason) -> str:
        """Take the default action for a silent seat and return its name.

        `no_bids` in the first pass, `previous_bids_stand` in a later one, `offer_stands` or `no_offer` in the retail
        phase. Raises HarnessFailure when the seat is not awaited.
        """
        if seat not in self.awaited():
            raise HarnessFailure(f"{seat} cannot lapse ({reason}): it is not awaited")
        stands = self._default()
        self._seal(seat, Sealed())
        return stands

    def _default(self) -> str:
        """The name of what stands for a seat that says nothing in the open phase."""
        if self.clock.phase != RETAIL:
            return "no_bids" if self.bid_pass == 1 else "previous_bids_stand"
        return "offer_stands" if self.scenario.silent_offer == "persist" else "no_offer"

    def _seal(self, seat: SeatId, action: Sealed) -> None:
        """Keep a seat's action until the phase closes; the seat is not awaited any longer."""
        self.sealed[seat] = action
        self.waiting -= {seat}

    def may_bid(self, seat: SeatId) -> bool:
        """Whether a bid pass is open; a bankrupt seat, which never acts again, is not told what to call instead."""
        return self.clock.phase != RETAIL or not self.of(seat).active

    def may_post(self, seat: SeatId) -> bool:
        """Whether the retail phase is open; as `may_bid` for a bankrupt seat."""
        return self.clock.phase == RETAIL or not self.of(seat).active

    def _require(self, seat: SeatId) -> None:
        """Raise unless the seat may act now."""
        if self.terminated is not None:
            raise EpisodeOver(self.terminated)
        if not self.of(seat).active:
            raise IllegalAction("seat_inactive", "you are bankrupt", hint="stop here", retryable=False)
        if seat in self.sealed:
            raise IllegalAction(
                "already_acted",
                f"you have acted in {self.clock.phase}; it is final",
                hint="call await_turn",
                retryable=False,
            )

    # --- closures ----------------------------------------------------------------------------------------------------

    def advance(self) -> Closure:
        """Close the open phase: settle a pass, or let the buyers shop and close the round.

        A pass closes with what `reveal` tells all seats, a round with all posted offers and sales, and with the hidden
        facts of the round. Raises HarnessFailure while a seat is awaited or when the episode is over.
        """
        if self.awaited() or self.terminated is not None:
            raise HarnessFailure("a phase closes when nobody is awaited and the episode is not over")
        if self.clock.phase != RETAIL:
            record = self._close_pass()
            return Closure("phase", views.public_pass(self.scenario, self.clock.round, record))
        return self._close_round()

    def _close_pass(self) -> PassRecord:
        """Take in the sealed vectors, settle them, and open the next phase; the last pass moves goods and money."""
        number = self.bid_pass
        forfeited: list[tuple[Line, ...]] = []
        # In the order of seats, not of arrival: who was first to send a vector must leave no mark on the result.
        for seat, retailer in zip(self.ids, self.retailers, strict=True):
            action = self.sealed.get(seat, Sealed())
            # A seat that skipped or lapsed keeps its vector of the last pass. Funds do not change between passes, so a
            # vector that stands is still affordable.
            if action.lines is not None:
                retailer.vector = action.lines
            retailer.overspent = bool(action.forfeited)
            forfeited.append(action.forfeited)
        result = self.settled([retailer.vector for retailer in self.retailers])
        record = PassRecord(
            number,
            tuple(
                SeatPass(retailer.vector, filled, lost)
                for retailer, filled, lost in zip(self.retailers, result.filled, forfeited, strict=True)
            ),
            result.items,
        )
        self.passes.append(record)
        if number == self.scenario.bid_passes:
            self._deliver(record)
        self._open(self.clock.round, self.scenario.phases[number])
        return record

    def settled(self, vectors: Sequence[Sequence[Line]]) -> PassResult:
        """What these vectors of all seats (`[seat][line]`) would win in the open round; changes nothing."""
        items, number = self.scenario.items, self.clock.round

        def tie(item: int, seat: int) -> float:
            return self.chance.uniform(Streams.BID_TIE, number, items[item].id, self.ids[seat])

        return settle(vectors, self.supply, [item.base_cents for item in items], tie)

    def _deliver(self, record: PassRecord) -> None:
        """Move goods and money of the settling pass: each winner pays its own price for the units it won."""
        for retailer, won in zip(self.retailers, record.seats, strict=True):
            for line, units in zip(won.lines, won.filled, strict=True):
                retailer.funds -= units * line.price
                retailer.units[line.item] += units
                retailer.book[line.item] += units * line.price

    def _close_round(self) -> Closure:
        """Apply the offers, let the buyers shop, close all books, file the round and open the next one."""
        for seat, retailer in zip(self.ids, self.retailers, strict=True):
            action = self.sealed.get(seat)
            if action is not None and action.offer is not None:
                retailer.offer = action.offer
            elif self.scenario.silent_offer == "drop":
                retailer.offer = None
        # Active at the start of the step: a seat that goes bankrupt at this close has still sold in this round.
        crowd, luck, active = self.crowd(), self.luck(), self.active
        offers = [retailer.offer if retailer.active else None for retailer in self.retailers]
        stock = [tuple(retailer.units) for retailer in self.retailers]
        noticed = notice(self.scenario, luck, crowd, offers, active)
        shopping = shop(luck, crowd, noticed, offers, stock, active)
        closings = [self._close_books(place, shopping) for place in range(len(self.ids))]
        record = RoundRecord(
            self.clock.round,
            self.supply,
            tuple(self.passes),
            tuple(offers),
            tuple(tuple(tally.sold) for tally in shopping.tallies),
            tuple(retailer.active for retailer in self.retailers),
        )
        self.history.append(record)
        # The facts are made before the next round opens: they read funds, stock and offers as this close left them.
        truth = facts.round_facts(self, record, crowd, shopping, closings, stock, self.opening, self.slogans)
        self.past.update(truth.__pydantic_serializer__.to_json(truth))
        closure = Closure("round", views.public_round(self, record), truth)
        self._next_round()
        return closure

    def _close_books(self, place: int, shopping: Shopping) -> facts.Closing:
        """Revenue, cost of goods, holding and bankruptcy of one seat (6.8)."""
        retailer, tally = self.retailers[place], shopping.tallies[place]
        # Zeros and not nothing: series of all seats are equally long (9).
        if not retailer.active:
            retailer.profits.append(0)
            retailer.revenues.append(0)
            return facts.Closing(False, [0] * len(tally.sold), 0, 0, 0, 0, False)
        costs: list[int] = []
        for item, sold in enumerate(tally.sold):
            units, book = retailer.units[item], retailer.book[item]
            # Round half up, in integers. The last units take the whole book value with them, so that no cent of cost is
            # left on an empty shelf.
            cost = book if sold == units else (2 * book * sold + units) // (2 * units)
            costs.append(cost)
            retailer.units[item] -= sold
            retailer.book[item] -= cost
        revenue = sum(tally.revenue)
        retailer.funds += revenue
        # The rate as its author wrote it: 0.03 is no binary fraction, and floats would charge other cents.
        holding = int(Decimal(repr(self.scenario.holding_rate)) * retailer.book_value + Decimal("0.5"))
        paid = min(holding, retailer.funds)
        retailer.funds -= paid
        # The charge counts in full, what funds could pay of it or not. A seat that cannot pay it is out below.
        profit = revenue - sum(costs) - holding
        retailer.profits.append(profit)
        retailer.revenues.append(revenue)
        written_off = 0
        # Bankruptcy (a) of section 4: the stock that could not be stored is written off.
        if holding > paid:
            written_off = retailer.book_value
            retailer.units = [0] * len(retailer.units)
            retailer.book = [0] * len(retailer.book)
            retailer.active = False
        # Bankruptcy (b): nothing to sell, and less money than the cheapest unit costs. Such a seat can never act again.
        elif retailer.funds < self.scenario.cheapest_reserve_cents and not any(retailer.units):
            retailer.active = False
        return facts.Closing(True, costs, holding, paid, profit, written_off, not retailer.active)

    def _next_round(self) -> None:
        """Forget what belongs to the closed round, then open the next one or end the episode."""
        for retailer in self.retailers:
            # Bids are for one round's supply; offers stand until they are replaced.
            retailer.vector, retailer.overspent = (), False
            # A bankrupt seat must not go on selling by an old offer.
            if not retailer.active:
                retailer.offer = None
        self.terminated = self._end_reason()
        if self.terminated is not None:
            # The clock keeps its round and phase: metrics and views speak of the last round that was played.
            self.sealed.clear()
            self.forget_shared()
            self.clock = self.clock._replace(revision=self.clock.revision + 1)
            return
        number = self.clock.round + 1
        self.passes = []
        self.supply = draw_supply(self.scenario, self.chance, number)
        self.opening = [tuple(retailer.units) for retailer in self.retailers]
        self._open(number, self.scenario.phases[0])

    def _end_reason(self) -> EndReason | None:
        """Why the episode ends after this round; None while it goes on."""
        # Before the seats: after the last round it does not matter who is left.
        if self.clock.round == self.scenario.rounds:
            return _FINAL
        return None if self.active else _NOBODY

    def _open(self, number: int, phase: Phase) -> None:
        """Open a phase of round `number` for all active seats."""
        self.sealed.clear()
        self.forget_shared()
        self.waiting = frozenset(self.ids[place] for place in self.active)
        self.clock = Clock(number, phase, self.clock.revision + 1)

    def feed(self, source: str, payload: JsonValue) -> None:
        """Refuse: the only outside input are the similarities that belong to single calls."""
        raise IllegalAction("wrong_input", f"this market takes no input {source[:40]!r}", retryable=False)

    # --- views and facts ---------------------------------------------------------------------------------------------

    def rules_view(self, seat: SeatId) -> RulesView:
        """The rules; equal for all seats."""
        return views.rules(self.scenario)

    def turn_view(self, seat: SeatId) -> TurnPart:
        """Money, stock, and what to call next; public history takes a call, so that reading it can be observed."""
        return views.turn_part(self, seat)

    def code_constants(self, seat: SeatId) -> dict[str, JsonValue]:
        """SEAT, ROUND, FUNDS, TICK (both in currency units) and ITEMS (ids), for `execute_code`."""
        return {
            "SEAT": seat,
            "ROUND": self.clock.round,
            "FUNDS": self.of(seat).funds / 100,
            "TICK": self.scenario.tick_cents / 100,
            "ITEMS": [item.id for item in self.scenario.items],
        }

    def news_mark(self, seat: SeatId) -> int:
        """The number of closed phases: every closure tells all seats something."""
        return self.clock.revision

    def privileged(self) -> HiddenTruth:
        """The whole state."""
        return HiddenTruth(self)

    def ending_facts(self) -> EndingFacts:
        """Totals by seat, and what stayed hidden while the episode was played."""
        return facts.ending_facts(self)

    def digest(self) -> bytes:
        """BLAKE2b-256 of seed, scenario, closed rounds and the open round.

        Closed rounds enter as a running hash of their facts, so that the cost does not grow with the length of an
        episode.
        """
        now = [
            self.clock,
            self.terminated,
            self.supply,
            [
                [own.funds, own.units, own.book, own.vector, own.offer, own.active, own.overspent]
                for own in self.retailers
            ],
            self.passes,
            self.sealed,
            self.read_marks,
        ]
        # Records are tuples with names, which orjson leaves to `default`.
        plain = orjson.dumps(now, default=list, option=orjson.OPT_SORT_KEYS)
        return hashlib.blake2b(self.past.digest() + plain, digest_size=32).digest()

    def check(self) -> None:
        """Raise AssertionError unless the conservation laws of section 13 hold for the state as it stands."""
        for retailer in self.retailers:
            assert retailer.funds >= 0, "negative funds"
            for units, book in zip(retailer.units, retailer.book, strict=True):
                assert units >= 0, "negative stock"
                assert book >= 0, "negative book value"
                assert book == 0 or units > 0, "book value without stock"
            # In the retail phase the vector has been paid already, so funds need not cover it again.
            assert sum(line.cost for line in retailer.vector) <= retailer.funds or self.clock.phase == RETAIL
        for record in self.passes:
            self._check_pass(record)
        self._check_wealth()

    def _check_pass(self, record: PassRecord) -> None:
        """Law 1 for one closed pass, item by item."""
        for place, item in enumerate(record.items):
            asked = sum(line.quantity for seat in record.seats for line in seat.lines if line.item == place)
            won = sum(
                units
                for seat in record.seats
                for line, units in zip(seat.lines, seat.filled, strict=True)
                if line.item == place
            )
            # Law 1: an item is sold until it is gone or no bid is left; every line that was sealed is eligible.
            assert won == item.won == min(self.supply[place], asked), "units were made or lost"

    def _check_wealth(self) -> None:
        """Law 2: funds and stock at cost of an active seat are its start money plus its profits so far."""
        start = self.scenario.initial_funds_cents
        for retailer in self.retailers:
            # A write-off at a bankruptcy takes wealth without being a profit, so seats that are out are left out.
            if retailer.active and len(retailer.profits) == len(self.history):
                assert retailer.funds + retailer.book_value == start + sum(retailer.profits), (
                    "wealth is not the profits"
                )

    # --- for the conformance kit -------------------------------------------------------------------------------------

    def perturbed(self, seat: SeatId, salt: int) -> SupplyChain:
        """A market with the same public past in which all that is private to other seats differs.

        Other funds, stock, bids and sealed actions of the other seats, and other buyers. What `seat` sees must not
        change: the conformance kit compares the answers of both markets. `salt` makes different twins.
        """
        twin = self.copy()
        twin.chance = Chance(f"supply_chain.perturb:{self.seed}:{salt}")
        own = self.places[seat]
        for place, retailer in enumerate(twin.retailers):
            if place != own:
                self._disturb(retailer, salt + place)
                if self.ids[place] in twin.sealed:
                    # Whether a seat has acted is public (the clock waits for it); what it has sealed is not.
                    twin.sealed[self.ids[place]] = Sealed()
        twin.passes = [_without_others(record, own) for record in twin.passes]
        twin.history = [
            record._replace(passes=tuple(_without_others(past, own) for past in record.passes))
            for record in twin.history
        ]
        return twin

    @staticmethod
    def _disturb(retailer: Retailer, salt: int) -> None:
        """Change everything private in a rival's books."""
        retailer.funds += 100 * (1 + salt)
        retailer.vector = ()
        retailer.overspent = not retailer.overspent
        retailer.profits = [profit + salt for profit in retailer.profits]
        if retailer.active:
            retailer.units[0] += 1 + salt
            retailer.book[0] += 100 * (1 + salt)


def _without_others(record: PassRecord, own: int) -> PassRecord:
    """The record with empty vectors of all other seats; what was disclosed of the pass stays."""
    return record._replace(
        seats=tuple(result if place == own else SeatPass((), (), ()) for place, result in enumerate(record.seats))
    )
