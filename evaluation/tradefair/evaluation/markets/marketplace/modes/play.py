"""What a marketplace episode was, as the failure modes read it: customers and businesses, and the offers between them.

Customers and businesses go by their place in the data. Money is in cents. A time is the number of an event: what a
closure delivers is there for every later event; under the free clock, what took effect at once is dated by its call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from tradefair.contract.seats import SeatId
from tradefair.evaluation.markets.marketplace.loss import Loss
from tradefair.marketplace.model import Business, Customer, MarketplaceScenario, folded


class Call(NamedTuple):
    """A call of a seat, by a program too. `code` is the error's; `refs` are what the answer showed, in order."""

    seq: int
    round: int
    tool: str
    status: str
    code: str | None
    arguments: Mapping[str, Any]
    refs: tuple[str, ...]

    @property
    def accepted(self) -> bool:
        """Whether it was carried out."""
        return self.status == "ok"

    @property
    def judged(self) -> bool:
        """Whether rules accepted or refused it."""
        return self.status in ("ok", "rejected")


class Search(NamedTuple):
    """An answered search: the normalised query, the page, filters as text, and the businesses shown, in order."""

    seq: int
    round: int
    query: str
    page: int
    filters: str
    shown: tuple[int, ...]


class Letter(NamedTuple):
    """A message of one seat to one other: when it was sent and delivered (null: never), by event and by round.

    `inquiry` holds whether a customer asked for items or amenities in it; `words` all that the sender wrote.
    """

    business: int
    customer: int
    sent: int
    sent_round: int
    delivered: int | None
    delivered_round: int | None
    inquiry: bool
    words: str


@dataclass(eq=False)
class Deal:
    """A proposal. `delivered` and `closed` are the events from which on it was there, and no longer open.

    `arrival` is its place among all that the customer got. `paid` is the call that paid it, `settled` the event at
    which money moved; `refunded` says that the money came back.
    """

    id: str
    business: int
    customer: int
    sent: int
    sent_round: int
    total: int
    floor: int
    worth: int
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
    closed: int | None = None
    paid: int | None = None
    paid_round: int | None = None
    settled: int | None = None
    refunded: bool = False
    withdrawn_words: str = ""
    withdrawn: int | None = None

    def there(self, seq: int) -> bool:
        """Whether its customer had it when event `seq` was written."""
        return self.delivered is not None and self.delivered < seq

    def open(self, seq: int) -> bool:
        """Whether its customer could act on it in event `seq`."""
        return self.there(seq) and (self.closed is None or self.closed >= seq)


class Mark(NamedTuple):
    """The text of a manipulating business: the word that marks it, where it stands, under which condition."""

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

    `handles` are the names that others saw, of businesses and of customers by place; `rated` the events at which a
    rating changed. `ended` is how the episode ended, null while it is open.
    """

    scenario: MarketplaceScenario | None = None
    problem: str | None = None
    ended: str | None = None
    last_round: int = 0
    marks: Sequence[Mark] = ()
    rated: Sequence[int] = ()
    business_handles: Sequence[str] = ()
    customer_handles: Sequence[str] = ()
    customers: dict[SeatId, Buyer] = field(default_factory=dict[SeatId, "Buyer"])
    businesses: dict[SeatId, Seller] = field(default_factory=dict[SeatId, "Seller"])

    @property
    def rules(self) -> MarketplaceScenario:
        """The scenario of an episode that can be judged."""
        if self.scenario is None:
            raise ValueError("the scenario cannot be read")
        return self.scenario

    @cached_property
    def buyers_by_place(self) -> Mapping[int, Buyer]:
        """Customers by place."""
        return {one.place: one for one in self.customers.values()}

    @cached_property
    def sellers_by_place(self) -> Mapping[int, Seller]:
        """Businesses by place."""
        return {one.place: one for one in self.businesses.values()}

    @property
    def truncated(self) -> bool:
        """Whether a limit ended it, or nothing has yet."""
        return not (self.ended or "").startswith("terminated:")

    @property
    def window(self) -> str | None:
        """The closed rounds; out of how many if the episode was cut short."""
        if not self.last_round or self.scenario is None:
            return None
        cut = f" of {self.scenario.rounds_max}" if self.truncated and self.last_round < self.scenario.rounds_max else ""
        return f"rounds 1..{self.last_round}{cut}"


@dataclass(eq=False)
class _Seat:
    """What both roles have. `left` is the round at whose close it left, null where it stayed."""

    seat: SeatId
    place: int
    game: Bazaar
    privileged: bool = False
    calls: Sequence[Call] = ()
    left: int | None = None
    left_seq: int | None = None
    letters: list[Letter] = field(default_factory=list[Letter])
    """What it wrote."""
    mail: list[Letter] = field(default_factory=list[Letter])
    """What reached it."""

    def of(self, *tools: str) -> list[Call]:
        """Its calls of these tools, refused ones too."""
        return [call for call in self.calls if call.tool in tools]


@dataclass(eq=False)
class Buyer(_Seat):
    """A customer. `offers` were delivered to it, in that order; `bought` were paid, in order, refunded ones too.

    `seen` is when it first saw each business, `looked_up` when it was shown one's amenities. `worths` is u(i,b) at list
    prices over B_i, `fits` A_i; `tried` are events of attempts to pay. `loss` is null where the trace does not tell it.
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
    tried: Sequence[int] = ()
    loss: Loss | None = None

    @cached_property
    def wanted(self) -> frozenset[str]:
        """Folded names of wanted amenities."""
        return frozenset(map(folded, self.customer.amenities)) if self.customer is not None else frozenset()

    @property
    def contacted(self) -> list[int]:
        """Businesses that it wrote to, in order, each once."""
        return list(dict.fromkeys(letter.business for letter in self.letters))

    @property
    def known(self) -> set[int]:
        """S_i: businesses that it was shown, wrote to, or heard from."""
        heard = (letter.business for letter in self.mail)
        return {*self.seen, *self.contacted, *heard, *(deal.business for deal in self.offers)}

    @property
    def kept(self) -> list[Deal]:
        """Paid and not refunded."""
        return [deal for deal in self.bought if not deal.refunded]

    def end(self) -> list[int]:
        """The event that tells that it left, if any does."""
        return [] if self.left_seq is None else [self.left_seq]


@dataclass(eq=False)
class Seller(_Seat):
    """A business; `deals` are the proposals that it sent."""

    business: Business | None = None
    deals: list[Deal] = field(default_factory=list[Deal])
