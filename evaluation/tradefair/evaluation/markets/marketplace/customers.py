"""What each customer met and did, as the decomposition of its loss needs it.

Businesses and customers are named by their index, money is in cents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tradefair.contract import SeatId
from tradefair.evaluation.markets.marketplace.loss import CustomerRecord, Loss, Offer, Try, loss_of
from tradefair.evaluation.markets.marketplace.play import MarketPlay, Proposed, names_of, shown_by
from tradefair.evaluation.markets.marketplace.truth import Truth
from tradefair.evaluation.read.rounds import Did

DECLINED = "payment_declined"


class Customer(NamedTuple):
    """One customer: what it met, its losses, how often it searched, and its refused payments by code.

    `fits` is A_i; `positions` maps businesses to the position at which a search first showed them, from 1; `bought`
    are its paid proposals, refunded ones included, in the order of the payments. `censored`: it neither left nor paid
    before a limit cut the episode short, so that its failure to buy may not be a failure.
    """

    seat: SeatId
    record: CustomerRecord
    loss: Loss
    fits: frozenset[int]
    searches: int
    positions: dict[int, int]
    refused: Counter[str]
    bought: tuple[str, ...]
    censored: bool

    @property
    def proposers(self) -> frozenset[int]:
        """Businesses with an offer that arrived."""
        return frozenset(offer.business for offer in self.record.offers.values())

    @property
    def asked(self) -> frozenset[int]:
        """K_i: businesses contacted, or with an offer that arrived."""
        return self.record.contacted | self.proposers

    @property
    def shown(self) -> frozenset[int]:
        """S_i: businesses that were shown, wrote, or are in K_i."""
        return self.record.seen | self.asked

    @property
    def spend(self) -> int:
        """Σ totals of proposals paid and not refunded, in cents."""
        return sum(self.record.offers[name].total for name in self.record.paid)

    @property
    def wasted(self) -> int:
        """All payments except the cheapest fitting one, in cents."""
        bought = [self.record.offers[name] for name in self.record.paid]
        return self.spend - min((offer.total for offer in bought if offer.fits), default=0)

    @property
    def met(self) -> bool:
        """Whether some paid proposal fits."""
        return any(self.record.offers[name].fits for name in self.record.paid)


def customers_of(play: MarketPlay, truth: Truth) -> list[Customer]:
    """All customers, in registration order."""
    got: dict[SeatId, dict[str, Proposed]] = {seat: {} for seat in truth.customers}
    for name, proposal in play.proposals.items():
        # An offer that never arrived was never there for its customer.
        if proposal.visible is not None:
            got[proposal.facts.customer][name] = proposal
    # A declined payment was accepted when it was made and failed at the close: no call holds its code.
    declined: dict[SeatId, Counter[str]] = {}
    for closed in play.rounds:
        for name in closed.facts.declined:
            known = play.proposals.get(name)
            if known is not None:
                declined.setdefault(known.facts.customer, Counter())[DECLINED] += 1
    # A customer that left had its chance to the end; only one that was cut off is censored.
    left = {gone.seat for closed in play.rounds for gone in closed.facts.left}
    cut_short = not (play.reading.end_reason or "").startswith("terminated:")
    return [
        _customer(
            play, truth, index, got[seat], declined.get(seat, Counter()), may_be_cut=cut_short and seat not in left
        )
        for index, seat in enumerate(truth.customers)
    ]


def _payments(play: MarketPlay, seat: SeatId, offers: Mapping[str, Offer]) -> Iterator[tuple[str, Did]]:
    """The attempts of a customer to pay an offer that it had, by its id."""
    for act in play.read.by_seat.get(seat, ()):
        # A call that failed in the harness was no decision of its seat.
        paid = act.tool == "pay_proposal" and act.status != "failed"
        name = next(iter(names_of(act)), "") if paid else ""
        # An id that was guessed before the proposal arrived is no try.
        if name in offers and offers[name].visible < act.seq:
            yield name, act


def _customer(
    play: MarketPlay, truth: Truth, index: int, got: dict[str, Proposed], refused: Counter[str], *, may_be_cut: bool
) -> Customer:
    seat, matches = truth.customers[index], truth.matches[index]
    offers = {
        name: Offer(truth.indices[known.facts.business], known.facts.total, known.facts.fits, known.visible or 0)
        for name, known in got.items()
    }
    positions = _positions(play, truth, seat)
    viewed = _businesses(truth, (name for act in play.done(seat, "view_business") for name in shown_by(act)))
    # Only texts: a proposal makes its business known as well, through `proposers`.
    wrote = frozenset(truth.indices[writer] for writer in play.writers.get(seat, ()))
    tries: list[Try] = []
    for name, act in _payments(play, seat, offers):
        tries.append(Try(name, act.seq))
        if not act.accepted:
            refused[act.code or act.status] += 1
    # By (event, position): payments of one closure took effect in the drawn order of the close.
    bought = sorted((known.settled["payment"], name) for name, known in got.items() if "payment" in known.settled)
    record = CustomerRecord(
        value=matches.value,
        # At list prices: O and the steps down to C are about businesses, before any offer.
        options={match.business: match.utility for match in matches.matches},
        # A business that wrote first is known without any search.
        seen=frozenset(positions) | viewed | wrote,
        contacted=_businesses(truth, (name for act in play.done(seat, "send_message") for name in names_of(act))),
        offers=offers,
        tries=tuple(tries),
        paid=tuple(name for _, name in bought if got[name].paid),
    )
    return Customer(
        seat=seat,
        record=record,
        loss=loss_of(record),
        fits=frozenset(match.business for match in matches.fits),
        searches=sum(1 for _ in play.done(seat, "search_businesses")),
        positions=positions,
        refused=refused,
        bought=tuple(name for _, name in bought),
        # A customer that has bought had its chance, whatever came after.
        censored=may_be_cut and not bought,
    )


def _positions(play: MarketPlay, truth: Truth, seat: SeatId) -> dict[int, int]:
    """Business -> position at which a search first showed it, counted over pages from 1."""
    size = play.scenario.search_limit if play.scenario is not None else 0
    found: dict[int, int] = {}
    for act in play.done(seat, "search_businesses"):
        # As the listing numbers them: over all pages, from 1.
        page: object = act.arguments.get("page")
        first = (page - 1) * size + 1 if type(page) is int and page > 0 else 1
        for position, name in enumerate(shown_by(act), first):
            for business in _businesses(truth, (name,)):
                # Where it was first shown: later searches repeat what the customer knows.
                found.setdefault(business, position)
    return found


def _businesses(truth: Truth, names: Iterable[str]) -> frozenset[int]:
    """The businesses among these handles; unknown handles and those of customers are left out."""
    seats = (truth.seats.get(name) for name in names)
    return frozenset(truth.indices[seat] for seat in seats if seat is not None and seat in truth.sellers)


class Step(NamedTuple):
    """A step from the market to the payment.

    `customers` got there with any business, `fitting` with one that fits; `possible` is Σ of the best that was left to
    all of them, in cents.
    """

    name: str
    customers: int
    fitting: int
    possible: int


def funnel(customers: Sequence[Customer]) -> list[Step]:
    """The steps in order; the drops of `possible` are the terms of the loss.

    `possible` falls from O to U along the steps, one term of the loss at each.
    """
    losses = [customer.loss for customer in customers]
    records = [customer.record for customer in customers]
    matching = [frozenset(record.options) for record in records]
    offered = [list(record.offers.values()) for record in records]
    # Refused tries too: the step is the decision, and the next one says what came of it.
    tried = [[record.offers[attempt.proposal] for attempt in record.tries] for record in records]
    paid = [[record.offers[name] for name in record.paid] for record in records]
    return [
        _met("in the market", customers, matching, [loss.optimum for loss in losses]),
        _met("shown", customers, [customer.shown for customer in customers], [loss.seen for loss in losses]),
        _met("asked", customers, [customer.asked for customer in customers], [loss.contacted for loss in losses]),
        _got("offered", offered, [loss.offered for loss in losses]),
        _got("tried to pay", tried, [loss.tried for loss in losses]),
        _got("paid", paid, [loss.utility for loss in losses]),
    ]


def _met(name: str, customers: Sequence[Customer], groups: Sequence[frozenset[int]], worths: Sequence[int]) -> Step:
    fitting = sum(bool(group & customer.fits) for customer, group in zip(customers, groups, strict=True))
    return Step(name, sum(map(bool, groups)), fitting, sum(worths))


def _got(name: str, groups: Sequence[Sequence[Offer]], worths: Sequence[int]) -> Step:
    fitting = sum(any(offer.fits for offer in group) for group in groups)
    return Step(name, sum(map(bool, groups)), fitting, sum(worths))
