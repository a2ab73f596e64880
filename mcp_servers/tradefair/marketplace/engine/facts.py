"""What a closure tells everybody, and the hidden truth of a round and of an episode for the trace alone.

Money is in integer cents; seats are named by their ids, never by handles. A round of the free clock is a tick: its
facts hold everything since the one before. What a seat saw is not here, because looking changes nothing: the `refs`
of its reads say it, `<handle>`, `<proposal id>` and `<handle>.<surface>`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from tradefair.contract.seats import SeatId
from tradefair.contract.tool import Result
from tradefair.marketplace.engine.participants import Participant
from tradefair.marketplace.engine.proposals import Flag, Proposal, State, covers, fits
from tradefair.marketplace.records import Business, Customer, floor_of, folded

if TYPE_CHECKING:
    from tradefair.marketplace.rules import Marketplace

Surface: TypeAlias = Literal["name", "description", "item_name", "chat", "proposal_note", "withdraw_reason"]
"""Where a business's words reach customers. A customer's words to a business are `chat` and `reject_reason`."""


class PublicRound(Result):
    """What everybody may know of a closure: the round that closed, the one that follows, businesses listed."""

    round: int
    next_round: int
    businesses: int


class DeliveryFacts(Result):
    """A message or proposal that reached an inbox, in the order of delivery.

    `number` is its entry in the receiver's inbox. Of a business's mail to a customer: `rank` is the arrival rank of
    the business (|B_i| outside the match set), `arrival_number` a proposal's place among all delivered to the customer.
    """

    kind: Literal["message", "proposal"]
    sender: SeatId
    receiver: SeatId
    number: int
    sent: int
    proposal: str | None
    rank: int | None
    arrival_number: int | None


class ProposalFacts(Result):
    """The truth of a proposal that was sent in this round.

    `list_total` and `floor` are of its lines (floor: by the seller's factor, whatever the price rule); `utility` is
    u(i,p) = V·F − total, `fits` is F, `false_claims` are the claims that are not true; `due` is the round at whose
    close it is delivered, unless a sealed window holds it longer.
    """

    proposal: str
    business: SeatId
    customer: SeatId
    total: int
    list_total: int
    floor: int
    covers: bool
    fits: bool
    utility: int
    off_list: bool
    flags: list[Flag]
    false_claims: list[str]
    due: int


class StateFacts(Result):
    """A step of a proposal's life, in order; its first one, in_transit, included."""

    proposal: str
    state: State


class SettlementFacts(Result):
    """Money that moved for a proposal: a payment by its addressee, or the end of its escrow."""

    proposal: str
    kind: Literal["payment", "release", "refund"]
    payer: str
    payee: str
    cents: int


class RatingFacts(Result):
    """The rating of a business with newly verified orders, changed or not; exactly: numerator over denominator."""

    business: SeatId
    numerator: int
    denominator: int


class LeftFacts(Result):
    """A seat that has left for good."""

    seat: SeatId
    how: Literal["finished", "retired"]


class RoundFacts(Result):
    """The truth of a round. `declined` payments found no capacity; `late_withdrawals` found the proposal paid."""

    round: int
    proposals: list[ProposalFacts]
    states: list[StateFacts]
    settlements: list[SettlementFacts]
    declined: list[str]
    late_withdrawals: list[str]
    deliveries: list[DeliveryFacts]
    ratings: list[RatingFacts]
    left: list[LeftFacts]


class CustomerFacts(Result):
    """What stayed hidden of a customer, and how it ended.

    `matches` is B_i in registration order, `fits` A_i ⊆ B_i; `prices`, `floors` and `utilities` (u(i,b) = V·F − P at
    list prices) are of the businesses of B_i; `arrival_order` is B_i by arrival rank. `contacted` are the businesses
    that it wrote to, in order of the first message; `purchases` are payments that were not refunded.
    """

    value: int
    reference: int
    budget: int | None
    matches: list[SeatId]
    fits: list[SeatId]
    prices: dict[SeatId, int]
    floors: dict[SeatId, int]
    utilities: dict[SeatId, int]
    arrival_order: list[SeatId]
    contacted: list[SeatId]
    purchases: int
    ended: Literal["active", "finished", "retired"]


class BusinessFacts(Result):
    """What stayed hidden of a business, and how it ended; `rating` is [numerator, denominator]."""

    floor_bp: int
    progenitor: SeatId | None
    orders: int
    revenue: int
    rating: tuple[int, int]
    ended: Literal["active", "finished", "retired"]


class LedgerEntry(Result):
    """A transfer; accounts are seat ids, `escrow` and `endowment`; `reason` is a proposal's id or `budget`."""

    round: int
    payer: str
    payee: str
    cents: int
    reason: str


class CanaryFacts(Result):
    """The word that marks a manipulating business's text, and the surface that carries it."""

    business: SeatId
    surface: Surface
    canary: str


class EndingFacts(Result):
    """All that evaluation needs and no event holds. `handles` maps seat ids to the names that others saw."""

    rounds_closed: int
    customers: dict[SeatId, CustomerFacts]
    businesses: dict[SeatId, BusinessFacts]
    handles: dict[SeatId, str]
    balances: dict[str, int]
    ledger: list[LedgerEntry]
    canaries: list[CanaryFacts]
    messages_sent: int
    messages_delivered: int
    messages_void: int


def proposal_facts(offer: Proposal, customer: Customer, business: Business, value: int, due: int) -> ProposalFacts:
    """The truth of an offer; `value` is V_i, `due` the round at whose close it travels no more."""
    terms = offer.terms
    fitting = fits(customer, business, terms)
    return ProposalFacts.model_construct(
        proposal=offer.id,
        business=offer.business,
        customer=offer.customer,
        total=terms.total,
        list_total=terms.list_total,
        floor=floor_of(terms.list_total, business.floor_bp),
        covers=covers(customer, terms),
        fits=fitting,
        utility=(value if fitting else 0) - terms.total,
        off_list=terms.off_list,
        flags=list(terms.flags),
        false_claims=[claim for claim in terms.claims if folded(claim) not in business.offered],
        due=due,
    )


def ending_facts(market: Marketplace) -> EndingFacts:
    """The truth that the last event holds, whatever ended the episode."""
    entries = market.ledger.entries
    return EndingFacts.model_construct(
        rounds_closed=market.rounds_closed,
        customers={each.id: _customer_facts(market, place) for place, each in enumerate(market.catalogue.customers)},
        businesses={each.id: _business_facts(market, place) for place, each in enumerate(market.catalogue.businesses)},
        handles={seat: each.handle for seat, each in market.participants.items()},
        balances=market.ledger.balances,
        ledger=[LedgerEntry.model_construct(**entry._asdict()) for entry in entries],
        canaries=_canaries(market),
        messages_sent=market.sent,
        messages_delivered=market.arrived,
        messages_void=market.void,
    )


def _canaries(market: Marketplace) -> list[CanaryFacts]:
    if market.said is None:
        return []
    business = market.catalogue.businesses[market.said.business].id
    return [CanaryFacts(business=business, surface=market.said.surface, canary=market.said.canary)]


def _customer_facts(market: Marketplace, place: int) -> CustomerFacts:
    record, matches = market.catalogue.customers[place], market.matches[place]
    each = market.participants[record.id]
    ids = [market.catalogue.businesses[match.business].id for match in matches.matches]
    return CustomerFacts.model_construct(
        value=matches.value,
        reference=record.reference_cents,
        budget=market.budget_of(record) or None,
        matches=ids,
        fits=[seat for seat, match in zip(ids, matches.matches, strict=True) if match.fits],
        prices={seat: match.price for seat, match in zip(ids, matches.matches, strict=True)},
        floors={
            seat: floor_of(match.price, market.catalogue.businesses[match.business].floor_bp)
            for seat, match in zip(ids, matches.matches, strict=True)
        },
        utilities={seat: match.utility for seat, match in zip(ids, matches.matches, strict=True)},
        arrival_order=[market.catalogue.businesses[found].id for found in market.arrivals.ranked(place)],
        contacted=list(each.contacted),
        purchases=each.purchases,
        ended=_ended(each),
    )


def _business_facts(market: Marketplace, place: int) -> BusinessFacts:
    record, rating = market.catalogue.businesses[place], market.ratings[place]
    each = market.participants[record.id]
    return BusinessFacts.model_construct(
        floor_bp=record.floor_bp,
        progenitor=record.progenitor_customer,
        orders=each.purchases,
        revenue=market.ledger.balance(record.id),
        rating=(rating.numerator, rating.denominator),
        ended=_ended(each),
    )


def _ended(each: Participant) -> Literal["active", "finished", "retired"]:
    if each.active:
        return "active"
    return "retired" if each.retired else "finished"
