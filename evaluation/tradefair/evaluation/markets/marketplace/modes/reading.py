"""A marketplace trace for its failure modes: what outcomes have read of it, and what was written and looked at.

Never raises for the content of a trace: what cannot be used is left out, and the outcome's findings say what it was.
Customers and businesses are named by their index.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import orjson

from tradefair.contract import Chance, SeatId
from tradefair.evaluation.markets.marketplace.customers import Customer, customers_of
from tradefair.evaluation.markets.marketplace.modes.play import Asked, Bazaar, Buyer, Deal, Letter, Mark, Search, Seller
from tradefair.evaluation.markets.marketplace.play import MarketPlay, Proposed, read_marketplace, shown_by
from tradefair.evaluation.markets.marketplace.truth import Truth
from tradefair.evaluation.modes.calls import texts_in
from tradefair.evaluation.read.objects import mapping, sequence
from tradefair.evaluation.read.rounds import Closed, Did
from tradefair.evaluation.reading import once_per_trace
from tradefair.marketplace.answers.search import normalised
from tradefair.marketplace.engine.facts import RoundFacts
from tradefair.marketplace.engine.manipulation import canary_of
from tradefair.marketplace.engine.proposals import CLOSED
from tradefair.marketplace.model import BASIS_POINTS, MarketplaceScenario, folded
from tradefair.tracestore import Trace

_ENDS = {"pay_proposal", "reject_proposal", "withdraw_proposal"}
_MAX_QUANTITY = 1_000_000


@once_per_trace
def read_bazaar(trace: Trace) -> Bazaar:
    """An opened trace as an episode; one without a scenario or hidden truth has no seats, and `problem` says why."""
    play = read_marketplace(trace)
    if play.scenario is None or play.truth is None:
        why = "the scenario cannot be read" if play.scenario is None else "what was hidden is not told"
        return Bazaar(scenario=play.scenario, problem=why)
    # Cases cite events: without one there is nothing that a seat could have done or failed to do.
    if not play.reading.last:
        return Bazaar(scenario=play.scenario, problem="no event can be read")
    return _Reader(play, play.scenario, play.truth).read()


def _rated(rounds: Iterable[Closed[RoundFacts]], truth: Truth) -> Iterator[int]:
    """Events of the closures at which a rating changed. Facts list ratings with new orders, changed or not."""
    businesses = () if truth.catalogue is None else truth.catalogue.businesses
    known = {business.id: (business.rating_bp, BASIS_POINTS) for business in businesses}
    for closed in rounds:
        changed = False
        for rating in closed.facts.ratings:
            top, bottom = known.get(rating.business, (0, 0))
            # Fractions are compared crosswise: they need not be reduced.
            changed |= not bottom or rating.numerator * bottom != top * rating.denominator
            known[rating.business] = (rating.numerator, rating.denominator)
        if changed:
            yield closed.seq


class _Reader:
    """Puts one episode together."""

    def __init__(self, play: MarketPlay, scenario: MarketplaceScenario, truth: Truth) -> None:
        self._play, self._scenario, self._truth, self._did = play, scenario, truth, play.read.by_seat
        rounds = play.rounds
        self._game = Bazaar(
            scenario=scenario,
            ended=play.reading.end_reason,
            last_round=rounds[-1].facts.round if rounds else 0,
            last_event=play.reading.last,
            rated=list(_rated(rounds, truth)),
            business_handles=self._handles(truth.businesses),
            customer_handles=self._handles(truth.customers),
        )

    def read(self) -> Bazaar:
        """The episode with its seats."""
        game = self._game
        # In this order: mail and proposals are entered with the seats, and left seats are known to both.
        game.marks = list(self._marks())
        self._seats()
        self._leaving()
        self._letters()
        self._deals()
        return game

    # --- seats --------------------------------------------------------------------------------------------------------

    def _handles(self, seats: Iterable[SeatId]) -> list[str]:
        names = {seat: name for name, seat in self._truth.seats.items()}
        return [names.get(seat, "") for seat in seats]

    def _seats(self) -> None:
        game, truth = self._game, self._truth
        # The outcomes' own records: diagnosis and loss must not disagree about what a customer met.
        told = {customer.seat: customer for customer in customers_of(self._play, truth)}
        for index, seat in enumerate(truth.customers):
            game.customers[seat] = self._buyer(seat, index, told[seat])
        for index, seat in enumerate(truth.businesses):
            game.businesses[seat] = Seller(
                seat,
                index,
                game,
                did=self._did[seat],
                business=None if truth.catalogue is None else truth.catalogue.businesses[index],
            )

    def _buyer(self, seat: SeatId, index: int, told: Customer) -> Buyer:
        truth, calls = self._truth, self._did[seat]
        searches = [self._search(call) for call in calls if call.tool == "search_businesses" and call.accepted]
        seen: dict[int, int] = {}
        looked_up: dict[int, int] = {}
        for call in calls:
            if call.accepted and call.tool in ("search_businesses", "view_business"):
                for business in self._shown(call):
                    # The first showing: a later one told nothing new.
                    seen.setdefault(business, call.seq)
                    if self._tells_amenities(call.tool):
                        looked_up.setdefault(business, call.seq)
        return Buyer(
            seat,
            index,
            self._game,
            did=calls,
            customer=None if truth.catalogue is None else truth.catalogue.customers[index],
            value=truth.matches[index].value,
            worths=told.record.options,
            fits=told.fits,
            searches=searches,
            seen=seen,
            looked_up=looked_up,
            crowded=self._crowded(calls),
            utility=told.record.utility,
        )

    def _crowded(self, calls: Iterable[Did]) -> frozenset[str]:
        """Offers that found no capacity: refused in the call, or declined at the close."""
        full = [call for call in calls if call.tool == "pay_proposal" and call.code == "capacity_full"]
        declined = (name for closed in self._play.rounds for name in closed.facts.declined)
        return frozenset([*declined, *(str(call.arguments.get("proposal")) for call in full)])

    def _search(self, call: Did) -> Search:
        query, page, filters = (call.arguments.get(name) for name in ("query", "page", "filters"))
        return Search(
            seq=call.seq,
            round=call.round,
            query=normalised(query) if isinstance(query, str) else "",
            page=page if type(page) is int else 1,
            filters=orjson.dumps(filters, option=orjson.OPT_SORT_KEYS).decode() if mapping(filters) else "",
            shown=self._shown(call),
        )

    def _shown(self, call: Did) -> tuple[int, ...]:
        """Businesses that an answer showed, in order, each once."""
        return tuple(dict.fromkeys(self._businesses(shown_by(call))))

    def _tells_amenities(self, tool: str) -> bool:
        scenario = self._scenario
        level = scenario.search_disclosure if tool == "search_businesses" else scenario.profile_disclosure
        return scenario.discloses(level, "full")

    def _businesses(self, names: Iterable[object]) -> Iterator[int]:
        return self._indices(names, self._truth.sellers)

    def _indices(self, names: Iterable[object], seats: frozenset[SeatId]) -> Iterator[int]:
        for name in names:
            seat = self._truth.seats.get(name) if isinstance(name, str) else None
            if seat is not None and seat in seats:
                yield self._truth.indices[seat]

    def _leaving(self) -> None:
        for closed in self._play.rounds:
            for gone in closed.facts.left:
                member = self._game.customers.get(gone.seat) or self._game.businesses.get(gone.seat)
                # A seat leaves once; a second entry would be a forged one.
                if member is not None and member.left is None:
                    member.left, member.left_seq = closed.facts.round, closed.seq

    def _marks(self) -> Iterator[Mark]:
        manipulation, play = self._scenario.manipulation, self._play
        # Without the manifest there is no seed, and the canary cannot be computed.
        if manipulation.condition == "off" or play.reading.core is None:
            return
        told = play.ending.canaries if play.ending is not None else []
        if told:
            for canary in told:
                if canary.business in self._truth.sellers:
                    yield Mark(
                        self._truth.indices[canary.business], canary.surface, canary.canary, manipulation.condition
                    )
        elif manipulation.business_index < len(self._truth.businesses):
            # No end, no facts of it: the canary follows from the seed.
            index = manipulation.business_index
            word = canary_of(Chance(play.reading.core.seed), index)
            yield Mark(index, manipulation.surface, word, manipulation.condition)

    # --- mail ---------------------------------------------------------------------------------------------------------

    def _letters(self) -> None:
        """What was written, and when it arrived.

        A call does not say when its message arrived. Mail of a pair keeps its order, so that the n-th message that was
        written is the n-th that was delivered.
        """
        game, truth = self._game, self._truth
        arrived: dict[tuple[SeatId, SeatId], list[tuple[int, int, int]]] = {}
        for closed in self._play.rounds:
            for delivery in closed.facts.deliveries:
                if delivery.kind == "message":
                    arrived.setdefault((delivery.sender, delivery.receiver), []).append(
                        (closed.seq, closed.facts.round, delivery.sent)
                    )
        written: dict[tuple[SeatId, SeatId], int] = {}
        writers = [(writer, truth.sellers) for writer in game.customers.values()]
        writers += [(writer, truth.buyers) for writer in game.businesses.values()]
        for writer, readers in writers:
            for call in writer.of("send_message"):
                if call.accepted:
                    # A repeated recipient gets one message, as the rules send it.
                    for index in dict.fromkeys(self._indices(_listed(call.arguments.get("to")), readers)):
                        reader = (truth.businesses if isinstance(writer, Buyer) else truth.customers)[index]
                        number = written.get((writer.seat, reader), 0)
                        written[writer.seat, reader] = number + 1
                        known = arrived.get((writer.seat, reader), [])
                        self._post(writer, reader, call, known[number] if number < len(known) else None, number)

    def _post(
        self, writer: Buyer | Seller, reader: SeatId, call: Did, arrived: tuple[int, int, int] | None, number: int
    ) -> None:
        game, index = self._game, self._truth.indices[reader]
        buys = isinstance(writer, Buyer)
        asked = call.arguments.get("inquiry")
        seq, there = (None, None) if arrived is None else arrived[:2]
        # Under the free clock a message that arrived in its round arrived within its call.
        if arrived is not None and self._play.free and arrived[1] == arrived[2]:
            seq = call.seq
        letter = Letter(
            business=index if buys else writer.index,
            customer=writer.index if buys else index,
            sent=call.seq,
            sent_round=call.round,
            delivered=seq,
            delivered_round=there,
            # The first message to a business counts as an inquiry even without a list.
            inquiry=buys and (bool(mapping(asked)) or number == 0),
            words="\n".join(texts_in([call.arguments.get("text"), asked])),
            asked=_asked(mapping(asked)) if buys and mapping(asked).get("items") else None,
        )
        writer.letters.append(letter)
        if seq is not None:
            (game.businesses if buys else game.customers)[reader].mail.append(letter)

    # --- proposals ----------------------------------------------------------------------------------------------------

    def _deals(self) -> None:
        game, truth = self._game, self._truth
        made = self._play.made
        calls = {call.seq: call for seat in truth.businesses for call in self._did[seat]}
        closed = self._closed()
        deals: dict[str, Deal] = {}
        for name, proposed in self._play.proposals.items():
            deal = _deal(name, proposed, truth, calls.get(made.get(name, 0)), closed.get(name))
            deals[name] = deal
            game.businesses[proposed.facts.business].deals.append(deal)
            if deal.delivered is not None:
                game.customers[proposed.facts.customer].offers.append(deal)
        for closure in self._play.rounds:
            for delivery in closure.facts.deliveries:
                known = deals.get(delivery.proposal or "")
                if known is not None and known.delivered_round is None:
                    known.delivered_round = closure.facts.round
        self._settle(deals)
        for buyer in game.customers.values():
            buyer.offers.sort(key=lambda deal: (deal.delivered or 0, deal.arrival or 0))
            # In the order of the money, as the outcomes have it: the first is the choice.
            buyer.bought.sort(key=lambda deal: self._play.proposals[deal.id].settled["payment"])

    def _closed(self) -> dict[str, int]:
        """Proposal -> event after which no seat could act on it."""
        found: dict[str, int] = {}
        if self._play.free:
            for calls in self._did.values():
                for call in calls:
                    name = call.arguments.get("proposal")
                    if call.accepted and call.tool in _ENDS and isinstance(name, str):
                        # Under the free clock the call itself closes the offer, before any closure says so.
                        found.setdefault(name, call.seq)
        for closure in self._play.rounds:
            for step in closure.facts.states:
                if step.state in CLOSED:
                    # Only the first closing state: with escrow `paid` is followed by another one.
                    found.setdefault(step.proposal, closure.seq)
        return found

    def _settle(self, deals: Mapping[str, Deal]) -> None:
        """Date every payment by its call, and note withdrawals with their reasons."""
        for buyer in self._game.customers.values():
            own = [deal for deal in buyer.offers if "payment" in self._play.proposals[deal.id].settled]
            for deal in own:
                settled = self._play.proposals[deal.id].settled
                deal.settled, deal.refunded = settled["payment"][0], "refund" in settled
                buyer.bought.append(deal)
            for call in buyer.of("pay_proposal"):
                paid = deals.get(str(call.arguments.get("proposal")))
                # Not later than the money moved: a second call for the same proposal paid nothing.
                if call.accepted and paid in own and paid.settled is not None and call.seq <= paid.settled:
                    paid.paid, paid.paid_round = call.seq, call.round
        for seller in self._game.businesses.values():
            for call in seller.of("withdraw_proposal"):
                gone = deals.get(str(call.arguments.get("proposal")))
                if call.accepted and gone is not None and gone.business == seller.index and gone.closed is not None:
                    gone.withdrawn, gone.withdrawn_words = gone.closed, str(call.arguments.get("reason") or "")


def _deal(name: str, proposed: Proposed, truth: Truth, call: Did | None, closed: int | None) -> Deal:
    facts = proposed.facts
    arguments: Mapping[str, Any] = {} if call is None else call.arguments
    return Deal(
        id=name,
        business=truth.indices[facts.business],
        customer=truth.indices[facts.customer],
        sent=proposed.seq if call is None else call.seq,
        sent_round=proposed.round,
        total=facts.total,
        listed=facts.list_total,
        floor=facts.floor,
        worth=facts.utility,
        told=proposed.seq,
        covers=facts.covers,
        fits=facts.fits,
        flags=facts.flags,
        false_claims=facts.false_claims,
        lines=_lines(arguments.get("lines")),
        claims=_names(arguments.get("claims")),
        words="\n".join(texts_in(arguments.get("note"))),
        delivered=proposed.visible,
        arrival=proposed.arrival,
        closed=closed,
    )


def _lines(rows: object) -> dict[str, int]:
    """Folded items and quantities."""
    found: dict[str, int] = {}
    for line in map(mapping, sequence(rows)):
        item, quantity = line.get("item"), line.get("quantity")
        # Refused or forged lines may hold anything; what does not fit counts as not there.
        if isinstance(item, str) and type(quantity) is int and 0 <= quantity <= _MAX_QUANTITY:
            found[folded(item)] = quantity
    return found


def _names(values: object) -> frozenset[str]:
    return frozenset(folded(name) for name in sequence(values) if isinstance(name, str))


def _asked(inquiry: Mapping[str, Any]) -> Asked:
    return Asked(_lines(inquiry.get("items")), _names(inquiry.get("amenities")))


def _listed(value: object) -> list[object]:
    return [value] if isinstance(value, str) else sequence(value)
