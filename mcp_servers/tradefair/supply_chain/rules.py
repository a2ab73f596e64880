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

from tradefair.contract.chance import Chance
from tradefair.contract.errors import EpisodeOver, HarnessFailure, IllegalAction
from tradefair.contract.market import Clock, Closure, EndReason, LapseReason
from tradefair.contract.money import from_minor
from tradefair.contract.seats import SeatId
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
    """A live supply chain (contract `Market`): the state, and the verbs that change it."""

    # --- who is asked ------------------------------------------------------------------------------------------------

    def awaited(self) -> frozenset[SeatId]:
        """The active seats that have not acted in the open phase."""
        return frozenset() if self.terminated else self.waiting

    # --- actions -----------------------------------------------------------------------------------------------------

    def bid(self, seat: SeatId, asked: Sequence[Asked]) -> BidReceipt:
        """Seal a bid vector that replaces the whole earlier one; lines of zero units are dropped.

        Above funds: `insufficient_funds`, or (overspend = forfeit) the vector is forfeited and the seat has acted.
        IllegalAction names every bad line.
        """
        self._require(seat, bidding=True)
        results = checked(self, asked)
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
        self._seal(seat, Sealed(lines=kept) if total <= funds else Sealed(lines=(), forfeited=kept))
        return views.bid_receipt(self, kept, total, funds)

    def post(
        self,
        seat: SeatId,
        asked: Sequence[tuple[str, int]],
        slogan: str | None,
        similarity: Sequence[float] | None = None,
    ) -> OfferReceipt:
        """Seal a whole offer: (item id, cents), and a new slogan; null keeps the old one, an empty one takes it away.

        `similarity` is an outside embedder's row over all persona texts. IllegalAction names every bad price.
        """
        self._require(seat, bidding=False)
        prices = posted_prices(self.scenario, asked)
        if slogan is not None:
            require_short(self.scenario, slogan)
        offer = self._offered(seat, prices, slogan, similarity)
        self._seal(seat, Sealed(offer=offer))
        return views.offer_receipt(self, offer)

    def _offered(
        self, seat: SeatId, prices: tuple[int | None, ...], slogan: str | None, similarity: Sequence[float] | None
    ) -> Offer:
        standing = self.of(seat).offer
        if slogan is None:
            return Offer(prices, standing.slogan if standing else None, standing.row if standing else None)
        if not slogan:
            return Offer(prices, None, None)
        return Offer(prices, slogan, self.similarities(slogan, similarity))

    def skip(self, seat: SeatId) -> SkipReceipt:
        """Seal the phase's default action."""
        self._require(seat, bidding=None)
        stands = self._default()
        self._seal(seat, Sealed())
        return SkipReceipt(round=self.clock.round, phase=self.clock.phase, default=stands)

    def lapse(self, seat: SeatId, reason: LapseReason) -> str:
        """The default action of a silent seat: no bids, the vector of the last pass, or the standing offer."""
        if seat not in self.awaited():
            raise HarnessFailure(f"{seat} cannot lapse ({reason}): it is not awaited")
        stands = self._default()
        self._seal(seat, Sealed())
        return stands

    def _default(self) -> str:
        if self.clock.phase != RETAIL:
            return "no_bids" if self.bid_pass == 1 else "previous_bids_stand"
        return "offer_stands" if self.scenario.silent_offer == "persist" else "no_offer"

    def _seal(self, seat: SeatId, action: Sealed) -> None:
        self.sealed[seat] = action
        self.waiting -= {seat}

    def _require(self, seat: SeatId, *, bidding: bool | None) -> None:
        """The seat may act now; `bidding` says which kind of phase the action belongs to."""
        if self.terminated is not None:
            raise EpisodeOver(self.terminated)
        if not self.of(seat).active:
            raise IllegalAction("seat_inactive", "you are bankrupt", hint="stop here", retryable=False)
        phase = self.clock.phase
        if bidding is not None and bidding != (phase != RETAIL):
            due = "submit_bids" if phase != RETAIL else "submit_offer"
            raise IllegalAction("wrong_phase", f"{phase} is open; {due} belongs to it", hint=due, retryable=False)
        if seat in self.sealed:
            raise IllegalAction(
                "already_acted", f"you have acted in {phase}; it is final", hint="call await_turn", retryable=False
            )

    # --- closures ----------------------------------------------------------------------------------------------------

    def advance(self) -> Closure:
        """Close the open phase: settle a pass, or hold the market and close the round."""
        if self.awaited() or self.terminated is not None:
            raise HarnessFailure("a phase closes when nobody is awaited and the episode is not over")
        if self.clock.phase != RETAIL:
            record = self._close_pass()
            return Closure("phase", views.public_pass(self.scenario, self.clock.round, record))
        return self._close_round()

    def _close_pass(self) -> PassRecord:
        number = self.bid_pass
        forfeited: list[tuple[Line, ...]] = []
        for seat, retailer in zip(self.ids, self.retailers, strict=True):
            action = self.sealed.get(seat, Sealed())
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
        """What these vectors of all seats would win in the open round."""
        items, number = self.scenario.items, self.clock.round

        def tie(item: int, seat: int) -> float:
            return self.chance.uniform(Streams.BID_TIE, number, items[item].id, self.ids[seat])

        return settle(vectors, self.supply, [item.base_cents for item in items], tie)

    def _deliver(self, record: PassRecord) -> None:
        """Goods and money of the settling pass."""
        for retailer, won in zip(self.retailers, record.seats, strict=True):
            for line, units in zip(won.lines, won.filled, strict=True):
                retailer.funds -= units * line.price
                retailer.units[line.item] += units
                retailer.book[line.item] += units * line.price

    def _close_round(self) -> Closure:
        for seat, retailer in zip(self.ids, self.retailers, strict=True):
            action = self.sealed.get(seat)
            if action is not None and action.offer is not None:
                retailer.offer = action.offer
            elif self.scenario.silent_offer == "drop":
                retailer.offer = None
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
        truth = facts.round_facts(self, record, crowd, shopping, closings, stock, self.opening, self.slogans)
        self.past.update(truth.__pydantic_serializer__.to_json(truth))
        closure = Closure("round", views.public_round(self, record), truth)
        self._next_round()
        return closure

    def _close_books(self, place: int, shopping: Shopping) -> facts.Closing:
        """Revenue, cost of goods, holding and bankruptcy of one seat (6.8)."""
        retailer, tally = self.retailers[place], shopping.tallies[place]
        if not retailer.active:
            retailer.profits.append(0)
            retailer.revenues.append(0)
            return facts.Closing(False, [0] * len(tally.sold), 0, 0, 0, 0, False)
        costs: list[int] = []
        for item, sold in enumerate(tally.sold):
            units, book = retailer.units[item], retailer.book[item]
            cost = book if sold == units else (2 * book * sold + units) // (2 * units)
            costs.append(cost)
            retailer.units[item] -= sold
            retailer.book[item] -= cost
        revenue = sum(tally.revenue)
        retailer.funds += revenue
        holding = int(Decimal(repr(self.scenario.holding_rate)) * retailer.book_value + Decimal("0.5"))
        paid = min(holding, retailer.funds)
        retailer.funds -= paid
        profit = revenue - sum(costs) - holding
        retailer.profits.append(profit)
        retailer.revenues.append(revenue)
        written_off = 0
        if holding > paid:
            written_off = retailer.book_value
            retailer.units = [0] * len(retailer.units)
            retailer.book = [0] * len(retailer.book)
            retailer.active = False
        elif retailer.funds < self.scenario.cheapest_reserve_cents and not any(retailer.units):
            retailer.active = False
        return facts.Closing(True, costs, holding, paid, profit, written_off, not retailer.active)

    def _next_round(self) -> None:
        for retailer in self.retailers:
            retailer.vector, retailer.overspent = (), False
            if not retailer.active:
                retailer.offer = None
        self.terminated = self._end_reason()
        if self.terminated is not None:
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
        if self.clock.round == self.scenario.rounds:
            return _FINAL
        return None if self.active else _NOBODY

    def _open(self, number: int, phase: Phase) -> None:
        self.sealed.clear()
        self.forget_shared()
        self.waiting = frozenset(self.ids[place] for place in self.active)
        self.clock = Clock(number, phase, self.clock.revision + 1)

    def feed(self, source: str, payload: JsonValue) -> None:
        """Nothing comes from outside but the similarities that belong to calls."""
        raise IllegalAction("wrong_input", f"this market takes no input {source[:40]!r}", retryable=False)

    # --- views and facts ---------------------------------------------------------------------------------------------

    def rules_view(self, seat: SeatId) -> RulesView:
        """The rules; equal for all seats."""
        return views.rules(self.scenario)

    def turn_view(self, seat: SeatId) -> TurnPart:
        """Money, stock, and what to call next; no public history."""
        return views.turn_part(self, seat)

    def code_constants(self, seat: SeatId) -> dict[str, JsonValue]:
        """SEAT, ROUND, FUNDS, TICK and ITEMS."""
        return {
            "SEAT": seat,
            "ROUND": self.clock.round,
            "FUNDS": self.of(seat).funds / 100,
            "TICK": self.scenario.tick_cents / 100,
            "ITEMS": [item.id for item in self.scenario.items],
        }

    def news_mark(self, seat: SeatId) -> int:
        """Closed phases."""
        return self.clock.revision

    def privileged(self) -> HiddenTruth:
        """The whole engine."""
        return HiddenTruth(self)

    def ending_facts(self) -> EndingFacts:
        """Totals, and what stayed hidden."""
        return facts.ending_facts(self)

    def digest(self) -> bytes:
        """BLAKE2b-256 of seed, scenario, closed rounds (a running hash of their facts) and of the open round."""
        now = [
            self.clock,
            self.terminated,
            self.supply,
            [
                [one.funds, one.units, one.book, one.vector, one.offer, one.active, one.overspent]
                for one in self.retailers
            ],
            self.passes,
            self.sealed,
            self.read_marks,
        ]
        # Records are tuples with names, which orjson leaves to `default`.
        plain = orjson.dumps(now, default=list, option=orjson.OPT_SORT_KEYS)
        return hashlib.blake2b(self.past.digest() + plain, digest_size=32).digest()

    def check(self) -> None:
        """Conservation laws of the state as it stands (section 13); raises AssertionError."""
        for retailer in self.retailers:
            assert retailer.funds >= 0, "negative funds"
            for units, book in zip(retailer.units, retailer.book, strict=True):
                assert units >= 0, "negative stock"
                assert book >= 0, "negative book value"
                assert book == 0 or units > 0, "book value without stock"
            assert sum(line.cost for line in retailer.vector) <= retailer.funds or self.clock.phase == RETAIL
        for record in self.passes:
            self._check_pass(record)
        self._check_wealth()

    def _check_pass(self, record: PassRecord) -> None:
        for place, item in enumerate(record.items):
            asked = sum(line.quantity for seat in record.seats for line in seat.lines if line.item == place)
            won = sum(
                units
                for seat in record.seats
                for line, units in zip(seat.lines, seat.filled, strict=True)
                if line.item == place
            )
            assert won == item.won == min(self.supply[place], asked), "units were made or lost"

    def _check_wealth(self) -> None:
        """Money that came in or went out of each seat since the start explains what it has."""
        start = self.scenario.initial_funds_cents
        for retailer in self.retailers:
            if retailer.active and len(retailer.profits) == len(self.history):
                assert retailer.funds + retailer.book_value == start + sum(retailer.profits), (
                    "wealth is not the profits"
                )

    # --- for the conformance kit -------------------------------------------------------------------------------------

    def perturbed(self, seat: SeatId, salt: int) -> SupplyChain:
        """The same public past, but other funds, stock, bids and sealed actions of the others, and other buyers."""
        twin = self.copy()
        twin.chance = Chance(f"supply_chain.perturb:{self.seed}:{salt}")
        own = self.places[seat]
        for place, retailer in enumerate(twin.retailers):
            if place != own:
                self._disturb(retailer, salt + place)
                if self.ids[place] in twin.sealed:
                    twin.sealed[self.ids[place]] = Sealed()
        twin.passes = [_without_others(record, own) for record in twin.passes]
        twin.history = [
            record._replace(passes=tuple(_without_others(one, own) for one in record.passes)) for record in twin.history
        ]
        return twin

    @staticmethod
    def _disturb(retailer: Retailer, salt: int) -> None:
        retailer.funds += 100 * (1 + salt)
        retailer.vector = ()
        retailer.overspent = not retailer.overspent
        retailer.profits = [profit + salt for profit in retailer.profits]
        if retailer.active:
            retailer.units[0] += 1 + salt
            retailer.book[0] += 100 * (1 + salt)


def _without_others(record: PassRecord, own: int) -> PassRecord:
    """The record with empty vectors of everybody else; what was disclosed of it stays."""
    return record._replace(
        seats=tuple(one if place == own else SeatPass((), (), ()) for place, one in enumerate(record.seats))
    )
