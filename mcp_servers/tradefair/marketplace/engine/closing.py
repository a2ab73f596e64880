"""The books of a marketplace, and the steps in which a round closes: payments, mail, expiry, escrow, ratings.

Marketplace page, sections 6.1 to 6.3 and 6.8. Under the turn-based clock queued actions take effect here, sorted so
that nobody's order of arrival matters; under the free clock each takes effect at once and a tick does the rest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from tradefair.contract.chain import canonical
from tradefair.contract.chance import Chance
from tradefair.contract.market import Clock, EndReason
from tradefair.contract.seats import SeatId, SeatSpec
from tradefair.marketplace.analysis import match_sets
from tradefair.marketplace.answers.directory import Directory
from tradefair.marketplace.engine.delivery import Arrivals, release_round
from tradefair.marketplace.engine.facts import (
    DeliveryFacts,
    LeftFacts,
    ProposalFacts,
    RatingFacts,
    RoundFacts,
    SettlementFacts,
    StateFacts,
    proposal_facts,
)
from tradefair.marketplace.engine.ledger import ENDOWMENT, ESCROW, Ledger
from tradefair.marketplace.engine.mail import Letter, Notice
from tradefair.marketplace.engine.participants import Act, ActKind, Participant, Post, handles
from tradefair.marketplace.engine.proposals import Proposal, State
from tradefair.marketplace.model import BUSINESS, CUSTOMER, MarketplaceScenario, Streams
from tradefair.marketplace.records import BASIS_POINTS, Catalogue, folded, rounded_share

PHASE = "act"
_COMPLETED, _QUIESCENT, _MAX_ROUNDS = "terminated:completed", "terminated:quiescent", "truncated:max_rounds"


@dataclass
class Log:
    """What has happened since the last closure, as facts."""

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
        return RoundFacts.model_construct(round=number, **vars(self))


class Exchange:
    """Accounts, inboxes, proposals and seats of one live marketplace; `advance` and actions are the rules' own.

    `catalogue` is what everybody sees and the rules check; the directory may search another one (`indexed`).
    """

    def __init__(
        self, scenario: MarketplaceScenario, catalogue: Catalogue, seed: int, *, indexed: Catalogue | None = None
    ) -> None:
        self.scenario = scenario
        self.catalogue = catalogue
        self.indexed = indexed or catalogue
        self.seed = seed
        self.free = scenario.clock == "free"
        self.chance = Chance(seed)
        self.clock = Clock(1, PHASE, 0)
        self.terminated: EndReason | None = None
        self.matches = match_sets(catalogue, scenario.value_multiplier_bp)
        self.participants = self._participants()
        self.by_handle = {each.handle: each for each in self.participants.values()}
        self.seats = {seat: SeatSpec(seat, each.role) for seat, each in self.participants.items()}
        self.order = {seat: place for place, seat in enumerate(self.participants)}
        self.read_marks: dict[SeatId, int] = dict.fromkeys(self.seats, 0)
        self.ledger = Ledger(self.seats)
        self.proposals: dict[str, Proposal] = {}
        self.ratings = [Fraction(business.rating_bp, BASIS_POINTS) for business in catalogue.businesses]
        self.directory = Directory(scenario, self.indexed, self.matches, self.chance, self.ratings)
        self.sent = self.arrived = self.void = 0
        self.rounds_closed = 0
        self.arrivals = Arrivals(
            self.chance,
            scenario.arrival_order,
            {place: tuple(match.business for match in each.matches) for place, each in enumerate(self.matches)},
            scenario.arrival_permutation,
            scenario.arrival_stagger,
            scenario.delay_jitter,
        )
        self._log = Log()
        self._transit: dict[int, list[Post]] = {}
        self._windows: dict[SeatId, int] = {}
        self._live: dict[SeatId, dict[str, None]] = {seat: {} for seat in self.seats}
        self._pairs: dict[tuple[SeatId, SeatId], int] = {}
        self._expiring: dict[int, list[str]] = {}
        self._escrowed: dict[int, list[str]] = {}
        self._verified = [[0, 0] for _ in catalogue.businesses]
        self._to_rate: list[Proposal] = []
        self._customers_left = len(catalogue.customers)
        self._waiting = set(self._who_is_awaited())
        self._awaited: frozenset[SeatId] | None = None
        self._chain = hashlib.blake2b(digest_size=32)
        self._endow()

    def _participants(self) -> dict[SeatId, Participant]:
        made: dict[SeatId, Participant] = {}
        for role, records in ((CUSTOMER, self.catalogue.customers), (BUSINESS, self.catalogue.businesses)):
            names = handles(self.chance, role, len(records), alias=self.scenario.alias_ids)
            for place, record in enumerate(records):
                made[record.id] = Participant(record.id, role, place, names[place], awake=role == CUSTOMER)
        return made

    def _endow(self) -> None:
        for customer in self.catalogue.customers:
            budget = rounded_share(customer.reference_cents, self.scenario.budget_bp)
            if budget:
                self.ledger.transfer(0, ENDOWMENT, customer.id, budget, "budget")

    # --- what can be asked ------------------------------------------------------------------------------------------

    def live(self, seat: SeatId) -> list[Proposal]:
        """The seat's proposals that are open or in transit, in order of sending."""
        return [self.proposals[name] for name in self._live[seat]]

    def live_of_pair(self, business: SeatId, customer: SeatId) -> int:
        """How many proposals of a pair are open or in transit."""
        return self._pairs.get((business, customer), 0)

    def is_full(self, business: SeatId) -> bool:
        """Whether the business takes no more orders."""
        return 0 < self.scenario.capacity <= self.participants[business].purchases

    # --- what an action does, now or at the close -------------------------------------------------------------------

    def _do(self, each: Participant, act: Act, number: int) -> None:
        """Let an action take effect in round `number`."""
        match act.kind:
            case "message" | "propose":
                self._send(each, act, number)
            case "pay":
                self._pay(self.proposals[act.proposal], number)
            case "reject":
                self._drop(each, act, "rejected", number)
            case "withdraw":
                self._drop(each, act, "withdrawn", number)
            case "finish":
                self._leave(each, act, number)

    def _pay(self, offer: Proposal, number: int) -> None:
        if self.is_full(offer.business):
            self._log.declined.append(offer.id)
            self._notify(offer.customer, "payment_declined", offer, number)
            return
        payee = ESCROW if self.scenario.escrow else offer.business
        self._settle(offer, "payment", offer.customer, payee, number)
        self._change(offer, "paid", number)
        self.participants[offer.customer].purchases += 1
        self.participants[offer.business].purchases += 1
        self._notify(offer.business, "paid", offer, number)
        if self.scenario.escrow:
            self._escrowed.setdefault(number + self.scenario.delivery_rounds, []).append(offer.id)
        else:
            self._to_rate.append(offer)

    def _settle(
        self, offer: Proposal, kind: Literal["payment", "release", "refund"], payer: str, payee: str, number: int
    ) -> None:
        cents = offer.terms.total
        self.ledger.transfer(number, payer, payee, cents, offer.id)
        self._log.settlements.append(
            SettlementFacts.model_construct(proposal=offer.id, kind=kind, payer=payer, payee=payee, cents=cents)
        )

    def _drop(self, each: Participant, act: Act, state: Literal["rejected", "withdrawn"], number: int) -> None:
        """A rejection or withdrawal; a withdrawal of what has been paid by now comes too late."""
        offer = self.proposals[act.proposal]
        if offer.closed:
            if offer.state == "paid":
                self._log.late_withdrawals.append(offer.id)
                self._notify(each.seat, "withdraw_too_late", offer, number)
            return
        offer.reason = act.reason
        known = offer.delivered
        self._change(offer, state, number)
        if known:
            self._notify(offer.business if each.role == CUSTOMER else offer.customer, state, offer, number)

    def _send(self, sender: Participant, act: Act, number: int) -> None:
        """A message or an offer gets its due round; under the free clock it arrives at once if that is now."""
        target, due = self.participants[act.to], number
        if sender.role == BUSINESS:
            due += self.arrivals.delay(target.place, sender.place)
        else:
            sender.contacted[target.seat] = None
        if act.offer is None:
            self.sent += 1
        else:
            self._take_up(act.offer, due)
        self._chain.update(canonical([sender.seat, act.plain(), due]) + b"\n")
        post = Post(sender.seat, act)
        if self.free and due == number and not (act.offer is not None and self.scenario.sealed_window):
            self._arrives(post, number, visible=number)
        else:
            self._transit.setdefault(due, []).append(post)

    def _take_up(self, offer: Proposal, due: int) -> None:
        pair = (offer.business, offer.customer)
        self.proposals[offer.id] = offer
        self.participants[offer.business].offers.append(offer.id)
        self._live[offer.business][offer.id] = self._live[offer.customer][offer.id] = None
        self._pairs[pair] = self._pairs.get(pair, 0) + 1
        place = self.participants[offer.customer].place
        business = self.catalogue.businesses[self.participants[offer.business].place]
        told = proposal_facts(offer, self.catalogue.customers[place], business, self.matches[place].value, due)
        self._log.proposals.append(told)
        self._log.states.append(StateFacts.model_construct(proposal=offer.id, state=offer.state))

    def _leave(self, each: Participant, act: Act, number: int) -> None:
        each.active = False
        each.retired = act.retired
        self._customers_left -= each.role == CUSTOMER
        self._rest(each)
        how = "retired" if act.retired else "finished"
        self._log.left.append(LeftFacts.model_construct(seat=each.seat, how=how))
        self._chain.update(canonical([each.seat, how, act.reason]) + b"\n")
        self._void(each.seat, number)

    def _void(self, seat: SeatId, number: int) -> None:
        for name in list(self._live[seat]):
            self._change(self.proposals[name], "void", number)

    def _change(self, offer: Proposal, state: State, number: int, *, visible: int | None = None) -> None:
        offer.move(state, number, visible=visible)
        self._chain.update(offer.digest())
        self._log.states.append(StateFacts.model_construct(proposal=offer.id, state=state))
        if offer.closed and offer.id in self._live[offer.business]:
            del self._live[offer.business][offer.id], self._live[offer.customer][offer.id]
            self._pairs[offer.business, offer.customer] -= 1

    def _notify(self, seat: SeatId, kind: Notice, offer: Proposal, number: int) -> Letter:
        target = self.participants[seat]
        other = offer.business if target.role == CUSTOMER else offer.customer
        letter = target.inbox.deliver(kind, self.participants[other].handle, number, proposal=offer.id)
        self._chain.update(canonical([seat, *letter]) + b"\n")
        self._rouse(target)
        return letter

    def _rouse(self, each: Participant) -> None:
        """Mail has come."""
        each.woken = not self.free
        each.awake |= self.free

    # --- the close --------------------------------------------------------------------------------------------------

    def _close(self, number: int) -> None:
        """The order of operations of section 6.2; under the free clock nothing is queued and it starts with expiry.

        Offers are taken up before anybody leaves, so that those of a seat that leaves become void with the others.
        """
        queued = sorted((act.proposal for _, act in self._queued("pay")), key=lambda name: self._settling(number, name))
        for name in queued:
            self._pay(self.proposals[name], number)
        kinds: tuple[tuple[ActKind, ...], ...] = (("reject",), ("withdraw",), ("message", "propose"), ("finish",))
        for several in kinds:
            for each, act in self._queued(*several):
                self._do(each, act, number)
        self._expire(number)
        self._verify_escrow(number)
        self._renew_ratings()
        self._deliver(number)
        self.rounds_closed += 1

    def _queued(self, *kinds: ActKind) -> Iterator[tuple[Participant, Act]]:
        """Queued actions of some kinds, by seat and then in the order of the seat."""
        for each in self.participants.values():
            for act in each.queue:
                if act.kind in kinds:
                    yield each, act

    def _settling(self, number: int, name: str) -> tuple[float, str]:
        place = self.participants[self.proposals[name].customer].place
        return self.chance.uniform(Streams.SETTLE, number, place, name), name

    def _expire(self, number: int) -> None:
        for due in sorted(when for when in self._expiring if when <= number):
            for name in self._expiring.pop(due):
                offer = self.proposals[name]
                if offer.state == "open":
                    self._change(offer, "expired", number)
                    self._notify(offer.customer, "expired", offer, number)
                    self._notify(offer.business, "expired", offer, number)

    def _verify_escrow(self, number: int) -> None:
        for name in self._escrowed.pop(number, []):
            offer = self.proposals[name]
            true = self._is_true(offer)
            payee = offer.business if true else offer.customer
            self._settle(offer, "release" if true else "refund", ESCROW, payee, number)
            state: Literal["delivered", "refunded"] = "delivered" if true else "refunded"
            self._change(offer, state, number)
            self._to_rate.append(offer)
            if not true:
                self.participants[offer.customer].purchases -= 1
            for seat in (offer.customer, offer.business):
                self._notify(seat, state, offer, number)

    def _is_true(self, offer: Proposal) -> bool:
        """Whether every line is on the menu and every claim is true."""
        business = self.catalogue.businesses[self.participants[offer.business].place]
        return "off_menu" not in offer.terms.flags and all(
            folded(claim) in business.offered for claim in offer.terms.claims
        )

    def _renew_ratings(self) -> None:
        """rating = (w·rating_0 + s)/(w + n) over verified orders (6.8); base ranks follow."""
        verified, self._to_rate = self._to_rate, []
        if not self.scenario.reputation or not verified:
            return
        changed: dict[int, None] = {}
        for offer in verified:
            place = self.participants[offer.business].place
            self._verified[place][0] += 1
            self._verified[place][1] += self._is_true(offer)
            changed[place] = None
        weight = self.scenario.prior_weight
        for place in changed:
            count, true = self._verified[place]
            first = Fraction(self.catalogue.businesses[place].rating_bp, BASIS_POINTS)
            rating = self.ratings[place] = (weight * first + true) / (weight + count)
            seat = self.catalogue.businesses[place].id
            self._log.ratings.append(
                RatingFacts.model_construct(business=seat, numerator=rating.numerator, denominator=rating.denominator)
            )
            self._chain.update(canonical([seat, count, true]) + b"\n")
        self.directory.renew(self.ratings)

    def _deliver(self, number: int) -> None:
        """What is due reaches the inboxes, in the order of section 6.3; what is for a seat that has left is void."""
        boxes: dict[SeatId, list[Post]] = {}
        for post in self._transit.pop(number, []):
            if not self._held_back(post, number):
                boxes.setdefault(post.act.to, []).append(post)
        for seat in sorted(boxes, key=self.order.__getitem__):
            for post in self._ordered(seat, boxes[seat], number):
                self._arrives(post, number)

    def _held_back(self, post: Post, number: int) -> bool:
        """Whether a sealed window keeps an offer that is due now."""
        offer, seat = post.act.offer, post.act.to
        if offer is None or post.held or not self.scenario.sealed_window or offer.closed:
            return False
        released, opened = release_round(number, self._windows.get(seat), self.scenario.sealed_window)
        if opened is not None:
            self._windows[seat] = opened
        if released == number:
            return False
        self._transit.setdefault(released, []).append(post._replace(held=True))
        return True

    def _arrives(self, post: Post, number: int, *, visible: int | None = None) -> None:
        """Into the inbox; `visible` as for `Proposal.move`."""
        act, target = post.act, self.participants[post.act.to]
        sender = self.participants[post.sender]
        offer = act.offer
        if offer is not None:
            if offer.state != "in_transit":
                return
            self._change(offer, "open", number, visible=visible)
            assert offer.expires is not None
            self._expiring.setdefault(offer.expires, []).append(offer.id)
            target.offers.append(offer.id)
            letter = self._notify(target.seat, "proposal_received", offer, number)
        elif not target.active:
            self.void += 1
            return
        else:
            self.arrived += 1
            letter = target.inbox.deliver("message", sender.handle, number, text=act.text, inquiry=act.inquiry)
            self._chain.update(canonical([target.seat, *letter]) + b"\n")
            self._rouse(target)
        to_customer = target.role == CUSTOMER
        self._log.deliveries.append(
            DeliveryFacts.model_construct(
                kind="message" if offer is None else "proposal",
                sender=post.sender,
                receiver=target.seat,
                number=letter.number,
                sent=act.sent,
                proposal=None if offer is None else offer.id,
                rank=self.arrivals.rank(target.place, sender.place) if to_customer else None,
                arrival_number=None if offer is None else len(target.offers),
            )
        )

    def _ordered(self, seat: SeatId, posts: Sequence[Post], number: int) -> list[Post]:
        target = self.participants[seat]
        places = sorted({self.participants[post.sender].place for post in posts})
        if target.role == BUSINESS:
            order = self.arrivals.to_business(number, target.place, places)
        else:
            order = self.arrivals.to_customer(number, target.place, places)
        ordered = self._by_sender(posts, order)
        if target.role == BUSINESS or not self.scenario.sealed_window:
            return ordered
        drawn = self.arrivals.released(number, target.place, places)
        texts = [post for post in ordered if post.act.offer is None]
        return texts + self._by_sender([post for post in ordered if post.act.offer is not None], drawn)

    def _by_sender(self, posts: Sequence[Post], order: Sequence[int]) -> list[Post]:
        """By sender in this order, of each in the order of sending: offers that were held stand behind later ones."""
        rank = {place: position for position, place in enumerate(order)}
        return sorted(posts, key=lambda post: (rank[self.participants[post.sender].place], post.act.sent))

    # --- the next round ---------------------------------------------------------------------------------------------

    def _open_next(self, number: int) -> None:
        following = number + 1
        if self.free:
            self._ring(following)
        else:
            self._wake(following)
        if not self._customers_left and not self._escrowed:
            self._end(_COMPLETED, number)
        elif not self._customers_left:
            following = min(self._escrowed)
            self._ask_nobody()
        elif not self.free and not self._waiting:
            coming = self._next_event(number)
            if coming is None:
                self._end(_QUIESCENT, number)
            else:
                following = coming
                self._wake(following)
        if self.terminated is None and following > self.scenario.rounds_max:
            self._end(_MAX_ROUNDS, number)
        self.clock = Clock(number if self.terminated else following, PHASE, self.clock.revision + 1)

    def _wake(self, number: int) -> None:
        for each in self.participants.values():
            each.open_round(number)
        self._waiting = set(self._who_is_awaited())
        self._awaited = None

    def _ask_nobody(self) -> None:
        """Customers have all left, so there is nobody to trade with: only the money that is held comes to its end."""
        for each in self.participants.values():
            each.ended = True
        self._waiting.clear()

    def _who_is_awaited(self) -> Iterator[SeatId]:
        return (seat for seat, each in self.participants.items() if each.awaited)

    def _rest(self, each: Participant) -> None:
        """The clock waits for this seat no more."""
        self._waiting.discard(each.seat)
        self._awaited = None

    def _ring(self, number: int) -> None:
        """A tick of the free clock reaches the seats that have waited for it."""
        for each in self.participants.values():
            if each.active and each.wake_round is not None and each.wake_round <= number:
                each.wake_round = None
                each.awake = True
                each.wakes += 1

    def _next_event(self, number: int) -> int | None:
        """The earliest round after `number` in which somebody wakes, mail is due or escrow ends.

        An expiry before that comes first, because its notices wake; by itself it keeps no episode going.
        """
        wakes = [each.wake_round for each in self.participants.values() if each.active and each.wake_round]
        coming = [when for when in (*wakes, *self._transit, *self._escrowed) if when > number]
        if not coming:
            return None
        first = min(coming)
        for due in sorted(when for when in self._expiring if number < when < first):
            if any(self.proposals[name].state == "open" for name in self._expiring[due]):
                return due
        return first

    def _end(self, reason: EndReason, number: int) -> None:
        self.terminated = reason
        for seat in self.participants:
            self._void(seat, number)
        self.void += self._moving()
        self._transit.clear()

    def _moving(self) -> int:
        """Messages on their way."""
        return sum(post.act.offer is None for posts in self._transit.values() for post in posts)

    # --- copies -----------------------------------------------------------------------------------------------------

    def take_past(self, other: Exchange, salt: Sequence[int], copied: Callable[[Post], Post]) -> None:
        """Take over where `other` stands, but for what the caller has copied: seats, proposals and the ledger."""
        self.clock, self.terminated, self.read_marks = other.clock, other.terminated, dict(other.read_marks)
        self.ratings = list(other.ratings)
        self.directory.renew(self.ratings)
        self.sent, self.arrived, self.void = other.sent, other.arrived, other.void
        self.rounds_closed = other.rounds_closed
        self._transit = {due: [copied(post) for post in posts] for due, posts in other._transit.items()}
        self._windows = dict(other._windows)
        self._live = {seat: dict(names) for seat, names in other._live.items()}
        self._pairs = dict(other._pairs)
        self._expiring = {due: list(names) for due, names in other._expiring.items()}
        self._escrowed = {due: list(names) for due, names in other._escrowed.items()}
        self._verified = [list(counts) for counts in other._verified]
        self._to_rate = [self.proposals[offer.id] for offer in other._to_rate]
        self._customers_left = other._customers_left
        self._waiting, self._awaited = set(other._waiting), None
        self._chain = other._chain.copy()
        self._chain.update(canonical(list(salt)))

    # --- what must hold ---------------------------------------------------------------------------------------------

    def digest(self) -> bytes:
        """Digest of the whole state, whatever the order in which different seats have queued."""
        seats = [each.state() for each in self.participants.values()]
        marks = [mark for mark in self.read_marks.items() if mark[1]]
        content = [list(self.clock), self.terminated, seats, sorted(marks)]
        return hashlib.blake2b(
            self._chain.digest() + self.ledger.digest() + canonical(content), digest_size=32
        ).digest()

    def check(self) -> None:
        """Conservation of money and mail, and one settlement per paid offer; raises AssertionError."""
        self.ledger.check()
        assert self.sent == self.arrived + self._moving() + self.void, "a message was lost or doubled"
        payments: dict[str, list[int]] = {}
        for entry in self.ledger.entries:
            if entry.reason != "budget" and entry.payer != ESCROW:
                assert entry.payer == self.proposals[entry.reason].customer, "somebody else has paid"
                payments.setdefault(entry.reason, []).append(entry.cents)
        settled = {
            name: offer for name, offer in self.proposals.items() if offer.state in ("paid", "delivered", "refunded")
        }
        assert payments == {name: [offer.terms.total] for name, offer in settled.items()}, "paid twice or not at all"
        for each in self.participants.values():
            count = len(each.inbox)
            numbers = [letter.number for letter in each.inbox.page(0, count + 1).letters]
            assert numbers == list(range(1, count + 1)), "an inbox has a gap"
