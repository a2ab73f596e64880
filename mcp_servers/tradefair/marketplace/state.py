"""The one mutable record of a marketplace: everything that the rules change, and what can be asked of it.

`rules` and the modules of `engine/` change it. Views, facts and answers are functions of it and only read. Money is
in integer cents; rounds are numbered from 1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from tradefair.contract import Chance, Clock, EndReason, SeatId, SeatSpec
from tradefair.contract.chain import canonical
from tradefair.marketplace.analysis import match_sets
from tradefair.marketplace.answers.directory import Directory
from tradefair.marketplace.engine.delivery import Arrivals
from tradefair.marketplace.engine.facts import Log
from tradefair.marketplace.engine.ledger import ENDOWMENT, ESCROW, Ledger
from tradefair.marketplace.engine.manipulation import HouseText
from tradefair.marketplace.engine.participants import Participant, Post, handles, places
from tradefair.marketplace.engine.proposals import Proposal
from tradefair.marketplace.model import (
    BASIS_POINTS,
    BUSINESS,
    CUSTOMER,
    Business,
    Catalogue,
    Customer,
    MarketplaceScenario,
    rounded_share,
)

PHASE = "act"


class State:
    """Seats, accounts, inboxes, proposals and mail on its way, in one live marketplace.

    `catalogue` is what the rules check and what everyone is shown; the directory searches `indexed`, which differs
    where a manipulating text is hidden from search. `said` is that text, `written` the data without it. Names inside
    the market (`by_handle`) are handles; seat ids are the host's and never shown to a seat.

    `proposals` maps proposal ids, `participants` and `order` seat ids, both customers first and each role in base order
    (`places`, by role and index); `seats` is in order of the data. `ratings` and `verified` are by index of the
    business, `verified` as [orders, orders whose terms were true]. Keyed by round: `transit` is mail by due round,
    `expiring` and `escrowed` are proposal ids by the last round in which they can be paid, and by the round in which
    escrow ends. `windows` holds the round in which a customer's sealed window opened. `live_by_seat` holds the ids of
    proposals that are open or in transit, in order of sending; `live_by_pair` counts them by (business, customer).
    `chain` is the running digest of all that has happened.
    """

    def __init__(
        self,
        scenario: MarketplaceScenario,
        catalogue: Catalogue,
        seed: int,
        *,
        indexed: Catalogue | None = None,
        written: Catalogue | None = None,
        said: HouseText | None = None,
    ) -> None:
        self.scenario = scenario
        self.catalogue = catalogue
        self.indexed = indexed or catalogue
        self.written = written or catalogue
        self.said = said
        self.seed = seed
        self.free = scenario.clock == "free"
        self.chance = Chance(seed)
        self.clock = Clock(1, PHASE, 0)
        self.terminated: EndReason | None = None
        self.matches = match_sets(catalogue, scenario.value_multiplier_bp)
        self.places = {role: places(self.chance, role, len(records)) for role, records in self._records()}
        self.participants = self._participants()
        self.by_handle = {participant.handle: participant for participant in self.participants.values()}
        self.seats = {record.id: SeatSpec(record.id, role) for role, records in self._records() for record in records}
        self.order = {seat: position for position, seat in enumerate(self.participants)}
        self.read_marks: dict[SeatId, int] = dict.fromkeys(self.seats, 0)
        self.ledger = Ledger(self.seats)
        self.proposals: dict[str, Proposal] = {}
        # Fractions: the base order of the directory is exact, however many orders have been verified.
        # One object per rating: businesses begin with few of them.
        first = [business.rating_bp for business in catalogue.businesses]
        ratings = {points: Fraction(points, BASIS_POINTS) for points in set(first)}
        self.ratings = [ratings[points] for points in first]
        self.directory = Directory(scenario, self.indexed, self.matches, self.chance, self.ratings)
        self.sent = self.arrived = self.void = 0
        self.rounds_closed = 0
        self.arrivals = Arrivals(
            self.chance,
            scenario.arrival_order,
            dict(enumerate(tuple(match.business for match in found.matches) for found in self.matches)),
            scenario.arrival_permutation,
            scenario.arrival_stagger,
            scenario.delay_jitter,
            self.places[BUSINESS],
        )
        self.log = Log()
        self.transit: dict[int, list[Post]] = {}
        self.windows: dict[SeatId, int] = {}
        # Dicts as ordered sets: a proposal is removed in constant time and the order of sending stays.
        self.live_by_seat: dict[SeatId, dict[str, None]] = {seat: {} for seat in self.seats}
        self.live_by_pair: dict[tuple[SeatId, SeatId], int] = {}
        self.expiring: dict[int, list[str]] = {}
        self.escrowed: dict[int, list[str]] = {}
        self.verified = [[0, 0] for _ in catalogue.businesses]
        self.to_rate: list[Proposal] = []
        self.customers_left = len(catalogue.customers)
        self.chain = hashlib.blake2b(digest_size=32)
        self._waiting: set[SeatId] = set()
        self._awaited: frozenset[SeatId] | None = None
        self.ask_the_awake()
        self._endow()

    def _records(self) -> Iterator[tuple[str, Sequence[Customer | Business]]]:
        yield CUSTOMER, self.catalogue.customers
        yield BUSINESS, self.catalogue.businesses

    def _participants(self) -> dict[SeatId, Participant]:
        made: dict[SeatId, Participant] = {}
        for role, records in self._records():
            names = handles(self.places[role], role, alias=self.scenario.alias_ids)
            # In base order: notices of one round come in the order of this mapping.
            for index in sorted(range(len(records)), key=self.places[role].__getitem__):
                seat = records[index].id
                made[seat] = Participant(seat, role, index, names[index], awake=role == CUSTOMER)
        return made

    def _endow(self) -> None:
        for customer in self.catalogue.customers:
            # A transfer of 0 would be an entry of the ledger that says nothing.
            budget = self.budget_of(customer)
            if budget:
                self.ledger.transfer(0, ENDOWMENT, customer.id, budget, "budget")

    # --- who is asked -----------------------------------------------------------------------------------------------

    def awaited(self) -> frozenset[SeatId]:
        """Active seats that are awake and have not ended their turn; none under the free clock."""
        if self.terminated is not None or self.free:
            return frozenset()
        if self._awaited is None:
            self._awaited = frozenset(self._waiting)
        return self._awaited

    # The kernel asks after every call: a scan of thousands of seats per call would make a round quadratic. So the set
    # is kept up to date, and frozen once per change.
    def ask_the_awake(self) -> None:
        """Let the clock wait for every seat that is awake."""
        self._waiting = {seat for seat, participant in self.participants.items() if participant.awaited}
        self._awaited = None

    def ask_none(self) -> None:
        """End the turn of every seat."""
        for participant in self.participants.values():
            participant.ended = True
            self.rest(participant)

    def rest(self, participant: Participant) -> None:
        """Let the clock wait for this seat no longer."""
        self._waiting.discard(participant.seat)
        self._awaited = None

    # --- what can be asked ------------------------------------------------------------------------------------------

    def live(self, seat: SeatId) -> list[Proposal]:
        """The seat's proposals that are open or in transit, in order of sending."""
        return [self.proposals[name] for name in self.live_by_seat[seat]]

    def live_of_pair(self, business: SeatId, customer: SeatId) -> int:
        """How many proposals of a pair are open or in transit."""
        return self.live_by_pair.get((business, customer), 0)

    def is_full(self, business: SeatId) -> bool:
        """Whether the business takes no more orders."""
        return 0 < self.scenario.capacity <= self.participants[business].purchases

    def in_conversation(self, business: Participant, customer: str) -> bool:
        """Whether the business may write to this handle."""
        return self.scenario.business_outreach or business.inbox.heard_from(customer)

    def budget_of(self, customer: Customer) -> int:
        """Cents that the customer starts with; 0 without a budget."""
        return rounded_share(customer.reference_cents, self.scenario.budget_bp)

    def budget_left(self, seat: SeatId) -> int | None:
        """Cents that are left after queued payments; None without a budget."""
        if not self.scenario.budget_bp:
            return None
        queue = self.participants[seat].queue
        queued = sum(self.proposals[act.proposal].terms.total for act in queue if act.kind == "pay")
        return self.ledger.balance(seat) - queued

    def moving(self) -> int:
        """How many messages are on their way, proposals not counted."""
        return sum(post.act.offer is None for posts in self.transit.values() for post in posts)

    # --- copies -----------------------------------------------------------------------------------------------------

    def take_past(self, other: State, salt: Sequence[int], copied: Callable[[Post], Post]) -> None:
        """Continue where `other` stands, except for what the caller has copied: seats, proposals and the ledger.

        `copied` makes this record's version of a post; `salt` enters the running digest.
        """
        self.clock, self.terminated, self.read_marks = other.clock, other.terminated, dict(other.read_marks)
        self.ratings = list(other.ratings)
        self.directory.renew(self.ratings)
        self.sent, self.arrived, self.void = other.sent, other.arrived, other.void
        self.rounds_closed = other.rounds_closed
        self.transit = {due: [copied(post) for post in posts] for due, posts in other.transit.items()}
        self.windows = dict(other.windows)
        self.live_by_seat = {seat: dict(names) for seat, names in other.live_by_seat.items()}
        self.live_by_pair = dict(other.live_by_pair)
        self.expiring = {due: list(names) for due, names in other.expiring.items()}
        self.escrowed = {due: list(names) for due, names in other.escrowed.items()}
        self.verified = [list(counts) for counts in other.verified]
        self.to_rate = [self.proposals[offer.id] for offer in other.to_rate]
        self.customers_left = other.customers_left
        self._waiting, self._awaited = set(other._waiting), None
        self.chain = other.chain.copy()
        self.chain.update(canonical(list(salt)))

    # --- what must hold ---------------------------------------------------------------------------------------------

    def digest(self) -> bytes:
        """32 bytes over the whole state, equal whatever the order in which different seats have queued."""
        seats = [participant.state() for participant in self.participants.values()]
        marks = [mark for mark in self.read_marks.items() if mark[1]]
        content = [list(self.clock), self.terminated, seats, sorted(marks)]
        return hashlib.blake2b(self.chain.digest() + self.ledger.digest() + canonical(content), digest_size=32).digest()

    def check(self) -> None:
        """Raise AssertionError unless money and mail are conserved and every paid offer has one settlement."""
        self.ledger.check()
        assert self.sent == self.arrived + self.moving() + self.void, "a message was lost or doubled"
        payments: dict[str, list[int]] = {}
        for entry in self.ledger.entries:
            # What leaves escrow was paid in before; counting it again would look like a second payment.
            if entry.reason != "budget" and entry.payer != ESCROW:
                assert entry.payer == self.proposals[entry.reason].customer, "somebody else has paid"
                payments.setdefault(entry.reason, []).append(entry.cents)
        settled = {
            name: offer for name, offer in self.proposals.items() if offer.state in ("paid", "delivered", "refunded")
        }
        assert payments == {name: [offer.terms.total] for name, offer in settled.items()}, "paid twice or not at all"
        for participant in self.participants.values():
            count = len(participant.inbox)
            numbers = [letter.number for letter in participant.inbox.page(0, count + 1).letters]
            assert numbers == list(range(1, count + 1)), "an inbox has a gap"
