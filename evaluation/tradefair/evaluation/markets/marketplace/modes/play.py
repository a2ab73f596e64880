"""A marketplace episode as the failure modes read it: customers and businesses, and the offers between them.

Customers and businesses are named by their index in the data, money is in cents. A time is the number of an event:
what a closure delivers is there for every later event; under the free clock, what took effect at once is dated by its
call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from tradefair.contract import SeatId
from tradefair.contract.money import cents_text
from tradefair.evaluation.modes.diagnosis import Case
from tradefair.evaluation.read.rounds import Did
from tradefair.marketplace.model import Business, Customer, MarketplaceScenario, folded


class Search(NamedTuple):
    """An answered search: the normalised query, the page, filters as text, and the businesses shown, in order."""

    seq: int
    round: int
    query: str
    page: int
    filters: str
    shown: tuple[int, ...]


class Moment(NamedTuple):
    """An event of a seat and its round."""

    seq: int
    round: int


class Asked(NamedTuple):
    """The list of an inquiry: folded items with quantities, and folded amenities."""

    lines: Mapping[str, int]
    amenities: frozenset[str]


class Letter(NamedTuple):
    """A message of one seat to another: when it was sent and delivered (None: never), by event and by round.

    `inquiry`: a customer asked for items or amenities in it, or it is its first message to the business; `asked` are
    the items and amenities of its list, None without a list; `words` is all text that the sender wrote in it.
    """

    business: int
    customer: int
    sent: int
    sent_round: int
    delivered: int | None
    delivered_round: int | None
    inquiry: bool
    words: str
    asked: Asked | None = None


@dataclass(eq=False)
class Deal:
    """A proposal. `delivered` is the event that brought it to its customer, `closed` the one that closed it.

    `worth` is u(i,p) in cents, `listed` the total of its lines at list prices, `told` the event whose facts hold its
    terms. `arrival` is its position among all that the customer got, from 1. `paid` is the call that paid it, `settled`
    the event at which money moved; `refunded` says that the money came back. `lines` maps folded items to quantities,
    `claims` are folded; `words` is its note.
    """

    id: str
    business: int
    customer: int
    sent: int
    sent_round: int
    total: int
    listed: int
    floor: int
    worth: int
    told: int
    covers: bool
    fits: bool
    flags: Sequence[str]
    false_claims: Sequence[str]
    lines: Mapping[str, int] = field(default_factory=dict[str, int])
    claims: frozenset[str] = frozenset()
    words: str = ""
    delivered: int | None = None
    delivered_round: int | None = None
    arrival: int | None = None
    # Null: still open when the episode ended, or never delivered.
    closed: int | None = None
    paid: int | None = None
    paid_round: int | None = None
    settled: int | None = None
    # Money that came back out of escrow: the purchase was a choice and no trade.
    refunded: bool = False
    withdrawn_words: str = ""
    withdrawn: int | None = None

    def there(self, seq: int) -> bool:
        """Whether its customer had it when event `seq` was written."""
        return self.delivered is not None and self.delivered < seq

    def open(self, seq: int) -> bool:
        """Whether its customer could act on it in event `seq`."""
        # Closed in this very event still counts: the action that closes an offer found it open.
        return self.there(seq) and (self.closed is None or self.closed >= seq)


class Mark(NamedTuple):
    """The text of a manipulating business: the word that marks it, the surface that carries it, and the condition."""

    business: int
    surface: str
    word: str
    condition: str

    @property
    def injects(self) -> bool:
        """Whether it gives its reader orders."""
        return self.condition.startswith("injection")


@dataclass(eq=False)
class Bazaar:
    """A read episode; without truth nothing can be judged, and `problem` says why.

    Handles are the names that other seats saw, `[business]` and `[customer]`; `rated` are the events at which a rating
    changed. `ended` is how the episode ended, None while it is open.
    """

    scenario: MarketplaceScenario | None = None
    problem: str | None = None
    ended: str | None = None
    last_round: int = 0
    last_event: int = 0
    marks: Sequence[Mark] = ()
    rated: Sequence[int] = ()
    business_handles: Sequence[str] = ()
    customer_handles: Sequence[str] = ()
    customers: dict[SeatId, Buyer] = field(default_factory=dict[SeatId, "Buyer"])
    businesses: dict[SeatId, Seller] = field(default_factory=dict[SeatId, "Seller"])

    @property
    def rules(self) -> MarketplaceScenario:
        """The scenario of an episode that can be judged; ValueError for another one."""
        # Detectors run inside `judge`, which turns this error into "cannot be computed".
        if self.scenario is None:
            raise ValueError("the scenario cannot be read")
        return self.scenario

    @cached_property
    def buyers_by_index(self) -> Mapping[int, Buyer]:
        """Customers by index."""
        return {buyer.index: buyer for buyer in self.customers.values()}

    @cached_property
    def sellers_by_index(self) -> Mapping[int, Seller]:
        """Businesses by index."""
        return {seller.index: seller for seller in self.businesses.values()}

    @property
    def truncated(self) -> bool:
        """Whether a limit ended it, or nothing has yet."""
        return not (self.ended or "").startswith("terminated:")


@dataclass(eq=False)
class _Seat:
    """What both roles have. `left` is the round in which the seat left, None where it stayed."""

    seat: SeatId
    index: int
    game: Bazaar
    did: Sequence[Did] = ()
    left: int | None = None
    left_seq: int | None = None
    letters: list[Letter] = field(default_factory=list[Letter])
    """What it wrote."""
    mail: list[Letter] = field(default_factory=list[Letter])
    """What reached it."""

    @cached_property
    def calls(self) -> Sequence[Did]:
        """Its calls in order, without its lapses."""
        return [did for did in self.did if did.tool is not None]

    def of(self, *tools: str) -> list[Did]:
        """Its calls of these tools in order, refused ones included."""
        # Refused ones included: what a seat tried tells as much as what it did.
        return [call for call in self.calls if call.tool in tools]

    @property
    def moments(self) -> list[Moment]:
        """Its calls and lapses, in order."""
        return [Moment(did.seq, did.round) for did in self.did]

    def last(self, before: int | None = None) -> Moment:
        """The call with which it left, else its last call or lapse, before event `before` if that is given."""
        gone = [Moment(call.seq, call.round) for call in self.of("finish") if call.accepted and before is None]
        known = [moment for moment in gone or self.moments if before is None or moment.seq < before]
        # A seat of which the trace has no event at all was never asked: the last event stands for it.
        return max(known, default=Moment(self.left_seq or self.game.last_event, self.left or self.game.last_round))


@dataclass(eq=False)
class Buyer(_Seat):
    """A customer. `offers` were delivered to it, in that order; `bought` were paid, in order, refunded ones included.

    `seen` maps businesses to the event in which a search or profile first showed them, `looked_up` to the event that
    first showed their amenities. `worths` is u(i,b) at list prices over B_i, `fits` is A_i; `crowded` are the offers
    whose businesses had no capacity left when it tried, `utility` is what it got, in cents.
    """

    customer: Customer | None = None
    value: int = 0
    worths: Mapping[int, int] = field(default_factory=dict[int, int])
    fits: frozenset[int] = frozenset()
    searches: Sequence[Search] = ()
    seen: Mapping[int, int] = field(default_factory=dict[int, int])
    looked_up: Mapping[int, int] = field(default_factory=dict[int, int])
    offers: list[Deal] = field(default_factory=list[Deal])
    bought: list[Deal] = field(default_factory=list[Deal])
    crowded: frozenset[str] = frozenset()
    utility: int = 0

    @cached_property
    def wanted(self) -> frozenset[str]:
        """Folded names of wanted amenities; empty where the data is not known."""
        return frozenset(map(folded, self.customer.amenities)) if self.customer is not None else frozenset()

    @property
    def good(self) -> set[int]:
        """Businesses that serve its order for less than it is worth, at list prices."""
        return {business for business, worth in self.worths.items() if worth > 0}

    @property
    def contacted(self) -> list[int]:
        """Businesses that it wrote to, in order of the first message."""
        # Each once, in the order of the first message: a second letter is no further outreach.
        return list(dict.fromkeys(letter.business for letter in self.letters))

    @property
    def known(self) -> set[int]:
        """S_i: businesses that it was shown, wrote to, or heard from."""
        # As S_i of the page: a business that wrote first is known without a search.
        heard = (letter.business for letter in self.mail)
        return {*self.seen, *self.contacted, *heard, *(deal.business for deal in self.offers)}

    @property
    def kept(self) -> list[Deal]:
        """Deals that it paid and that were not refunded, in order."""
        # What escrow returned is a choice, and no purchase.
        return [deal for deal in self.bought if not deal.refunded]

    def name(self, business: int) -> str:
        """The handle by which it knows a business."""
        return self.game.business_handles[business]

    def payment(self, deal: Deal, what: str, shown_by: int | None) -> Case:
        """A case about a payment; `what` follows the total and the business."""
        seq, number = (deal.paid or deal.settled or deal.sent), deal.paid_round or 0
        because = f"round {number}: paid {cents_text(deal.total)} to {self.name(deal.business)}{what}"
        return Case(seq, number, because, shown_by=shown_by, about=deal.id)


@dataclass(eq=False)
class Seller(_Seat):
    """A business; `deals` are the proposals that it sent."""

    business: Business | None = None
    deals: list[Deal] = field(default_factory=list[Deal])

    def name(self, customer: int) -> str:
        """The handle by which it knows a customer."""
        return self.game.customer_handles[customer]

    def offer(self, deal: Deal, what: str, shown_by: int | None) -> Case:
        """A case about a proposal that it sent; `what` follows the round."""
        because = f"round {deal.sent_round}: {what}"
        return Case(deal.sent, deal.sent_round, because, shown_by=shown_by, about=deal.id)
