"""What a closure tells all seats, and the hidden truth of a round and of an episode, which only the trace holds.

Money is in integer cents; seats are named by their ids, never by handles. A round of the free clock is a tick: its
facts are everything since the tick before. What a seat saw is not here, because looking changes nothing: the `refs`
of its reads say it, `<handle>`, `<proposal id>` and `<handle>.<surface>`. The rules build facts without validation
(`model_construct`), since they are made thousands of times per episode from values that are already checked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tradefair.contract import Result, SeatId
from tradefair.marketplace.engine.proposals import Flag, Proposal, ProposalState, covers, fits
from tradefair.marketplace.model import Business, Customer, Surface, floor_of, folded


class PublicRound(Result):
    """What all seats may know of a closure: the round that closed, the one that follows, businesses listed.

    Nothing about trade: a count of payments or messages would tell a seat what other seats do.
    """

    round: int
    next_round: int
    businesses: int


class DeliveryFacts(Result):
    """A message or proposal that reached an inbox, in the order of delivery.

    `number` is its entry in the receiver's inbox. Of a business's mail to a customer: `rank` is the arrival rank of
    the business (|B_i| outside the match set), `arrival_number` a proposal's position among all that were delivered to
    the customer, from 1.
    """

    kind: Literal["message", "proposal"]
    sender: SeatId
    receiver: SeatId
    number: int
    sent: int
    proposal: str | None
    # Null for mail to a business, which has no match set and so no arrival ranks.
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
    # As the rules have it: evaluation checks it against value, fit and total.
    utility: int
    off_list: bool
    flags: list[Flag]
    false_claims: list[str]
    due: int


class StateFacts(Result):
    """A state that a proposal entered, in order; its first one, in_transit, included."""

    proposal: str
    state: ProposalState


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
    # No call holds these two: they happen at the close, after the calls were accepted.
    declined: list[str]
    late_withdrawals: list[str]
    deliveries: list[DeliveryFacts]
    ratings: list[RatingFacts]
    left: list[LeftFacts]


@dataclass
class Log:
    """What has happened since the last closure, as facts for the trace."""

    proposals: list[ProposalFacts] = field(default_factory=list[ProposalFacts])
    states: list[StateFacts] = field(default_factory=list[StateFacts])
    settlements: list[SettlementFacts] = field(default_factory=list[SettlementFacts])
    declined: list[str] = field(default_factory=list[str])
    late_withdrawals: list[str] = field(default_factory=list[str])
    deliveries: list[DeliveryFacts] = field(default_factory=list[DeliveryFacts])
    ratings: list[RatingFacts] = field(default_factory=list[RatingFacts])
    left: list[LeftFacts] = field(default_factory=list[LeftFacts])

    def facts(self, number: int) -> RoundFacts:
        """The facts of round `number`."""
        # The names of the two classes are equal, so that a new list of facts cannot be forgotten here.
        return RoundFacts.model_construct(round=number, **vars(self))


class CustomerFacts(Result):
    """What stayed hidden about a customer, and how it ended. Keys are seat ids of businesses.

    `matches` is B_i in order of the data, `fits` A_i ⊆ B_i; `prices`, `floors` and `utilities` (u(i,b) = V·F − P at
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
    """What stayed hidden about a business, and how it ended.

    `orders` counts accepted payments, refunded ones too; `revenue` is its balance; `rating` is exact, [numerator,
    denominator].
    """

    floor_bp: int
    progenitor: SeatId | None
    orders: int
    revenue: int
    # As a fraction: a float could not be compared exactly with the one computed again.
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
    """All that evaluation needs and no event holds. `handles` maps seat ids to the names that other seats saw.

    `messages_void` were addressed to a seat that had left, or were on their way when the episode ended.
    """

    rounds_closed: int
    customers: dict[SeatId, CustomerFacts]
    businesses: dict[SeatId, BusinessFacts]
    handles: dict[SeatId, str]
    balances: dict[str, int]
    ledger: list[LedgerEntry]
    # Empty without a manipulating business. The word also follows from the seed, for a trace without an end.
    canaries: list[CanaryFacts]
    messages_sent: int
    messages_delivered: int
    messages_void: int


def proposal_facts(offer: Proposal, customer: Customer, business: Business, value: int, due: int) -> ProposalFacts:
    """The truth of an offer; `value` is V_i in cents, `due` the round at whose close it arrives."""
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
