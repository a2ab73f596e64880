"""The engine of the turn-based clock: queued actions, and the close of a round in its order of operations.

Marketplace page, sections 4.1, 6.1 to 6.3 and 6.8. Every action is checked against the state at the start of the round
and the seat's own queue, and takes effect at the close: nobody's order of arrival can matter.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

from pydantic import JsonValue

from fairground.contract.chain import canonical
from fairground.contract.chance import Chance
from fairground.contract.errors import IllegalAction
from fairground.contract.market import Clock, EndReason, LapseReason
from fairground.contract.seats import SeatId, SeatSpec
from fairground.marketplace.analysis import match_sets
from fairground.marketplace.delivery import Arrivals, release_round
from fairground.marketplace.ledger import ENDOWMENT, ESCROW, Ledger
from fairground.marketplace.mail import Notice
from fairground.marketplace.model import BUSINESS, CUSTOMER, MarketplaceScenario, Streams
from fairground.marketplace.participants import Act, Participant, Post, handles
from fairground.marketplace.proposals import Line, Proposal, State, checked_terms
from fairground.marketplace.records import BASIS_POINTS, Catalogue, folded, rounded_share

__all__ = ["Marketplace", "RoundLog"]

PHASE = "act"
OPEN_PER_PAIR = 20
LAPSES_TO_RETIRE = 3
_COMPLETED, _QUIESCENT, _MAX_ROUNDS = "terminated:completed", "terminated:quiescent", "truncated:max_rounds"


class RoundLog(NamedTuple):
    """What the close of a round did: ids of proposals by what became of them; entries delivered per seat."""

    round: int
    paid: tuple[str, ...]
    declined: tuple[str, ...]
    rejected: tuple[str, ...]
    withdrawn: tuple[str, ...]
    expired: tuple[str, ...]
    delivered: tuple[str, ...]
    refunded: tuple[str, ...]
    opened: tuple[str, ...]
    messages: int


class Marketplace:
    """A live marketplace. Handles are names inside it: what tools take and show; seat ids are the host's."""

    def __init__(self, scenario: MarketplaceScenario, catalogue: Catalogue, seed: int) -> None:
        self.scenario = scenario
        self.catalogue = catalogue
        self.chance = Chance(seed)
        self.clock = Clock(1, PHASE, 0)
        self.terminated: EndReason | None = None
        self.matches = match_sets(catalogue, scenario.value_multiplier_bp)
        self.participants = self._participants()
        self.by_handle = {each.handle: each for each in self.participants.values()}
        self.seats = {seat: SeatSpec(seat, each.role) for seat, each in self.participants.items()}
        self.read_marks: dict[SeatId, int] = dict.fromkeys(self.seats, 0)
        self.ledger = Ledger(self.seats)
        self.proposals: dict[str, Proposal] = {}
        self.ratings = [Fraction(business.rating_bp, BASIS_POINTS) for business in catalogue.businesses]
        self.sent = self.arrived = self.void = 0
        self._arrivals = Arrivals(
            self.chance,
            scenario.arrival_order,
            {place: tuple(match.business for match in each.matches) for place, each in enumerate(self.matches)},
            scenario.arrival_permutation,
            scenario.arrival_stagger,
            scenario.delay_jitter,
        )
        self._transit: dict[int, list[Post]] = {}
        self._windows: dict[SeatId, int] = {}
        self._live: dict[SeatId, dict[str, None]] = {seat: {} for seat in self.seats}
        self._escrowed: dict[int, list[str]] = {}
        self._verified = [[0, 0] for _ in catalogue.businesses]
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

    # --- who is asked ---------------------------------------------------------------------------------------------

    def awaited(self) -> frozenset[SeatId]:
        """Active seats that are awake and have not ended their turn."""
        if self.terminated is not None:
            return frozenset()
        return frozenset(seat for seat, each in self.participants.items() if each.awaited)

    def lapse(self, seat: SeatId, reason: LapseReason) -> str:
        """A customer passes to the next round, a business waits for mail; three in a row retire the seat."""
        each = self.participants[seat]
        each.lapses += 1
        if each.lapses >= LAPSES_TO_RETIRE:
            each.queue.append(Act("finish", reason="retired"))
            each.leaving = each.ended = True
            return "retired"
        each.ended, each.sleeps, each.wake_round = True, each.role == BUSINESS, None
        return "wait_for_message" if each.sleeps else "next_round"

    # --- actions --------------------------------------------------------------------------------------------------

    def send_message(self, seat: SeatId, to: Sequence[str], text: str, inquiry: JsonValue = None) -> None:
        """Queue a text for every recipient.

        IllegalAction: wrong_phase, finished, unknown_id, counterpart_left, no_conversation, message_too_long.
        """
        sender = self._acting(seat)
        if len(text) > self.scenario.text_max:
            raise IllegalAction("message_too_long", f"at most {self.scenario.text_max} characters are allowed")
        reached = [self._addressee(sender, handle) for handle in dict.fromkeys(to)]
        self._queue(sender, *(Act("message", to=each.seat, text=text, inquiry=inquiry) for each in reached))

    def send_proposal(
        self,
        seat: SeatId,
        to: str,
        lines: Sequence[Line],
        *,
        total: int | None = None,
        claims: Sequence[str] = (),
        note: str = "",
        expires_in: int | None = None,
    ) -> Proposal:
        """Queue an offer to a customer; the offer as it will be delivered.

        IllegalAction: as `send_message` and `checked_terms`, and too_many_open.
        """
        sender = self._acting(seat)
        customer = self._addressee(sender, to)
        business = self.catalogue.businesses[sender.place]
        terms = checked_terms(business, lines, total, claims, self.scenario.terms_rules)
        live = sum(self.proposals[found].customer == customer.seat for found in self._live[seat])
        queued = [act for act in sender.queue if act.offer is not None and act.offer.customer == customer.seat]
        if live + len(queued) >= OPEN_PER_PAIR:
            raise IllegalAction(
                "too_many_open",
                f"at most {OPEN_PER_PAIR} proposals to one customer may be open",
                hint="withdraw_proposal first",
            )
        number = sender.offers.get(customer.seat, 0) + 1
        name = f"p-{sender.handle}-{customer.handle}-{number}"
        lifetime = self.scenario.proposal_ttl if expires_in is None else expires_in
        offer = Proposal(name, seat, customer.seat, terms, note, self.clock.round, lifetime)
        sender.offers[customer.seat] = number
        self._queue(sender, Act("propose", to=customer.seat, offer=offer, proposal=name))
        return offer

    def withdraw_proposal(self, seat: SeatId, name: str, reason: str = "") -> None:
        """Queue the withdrawal of an own offer. IllegalAction: wrong_phase, finished, unknown_id, already_acted,
        not_open."""
        sender = self._acting(seat)
        offer = self._own(sender, name)
        if offer.state != "in_transit":
            offer.require_open()
        self._queue(sender, Act("withdraw", proposal=name, reason=reason))

    def pay_proposal(self, seat: SeatId, name: str, expected_total: int | None = None) -> None:
        """Queue the payment of an offer to this customer.

        IllegalAction: wrong_phase, finished, unknown_id, already_acted, not_open, total_changed, second_purchase,
        capacity_full, insufficient_funds.
        """
        payer = self._acting(seat)
        offer = self._own(payer, name)
        offer.require_open()
        total = offer.terms.total
        if expected_total is not None and expected_total != total:
            raise IllegalAction("total_changed", "the total is not the expected one", hint="view_proposals shows it")
        queued = [self.proposals[act.proposal].terms.total for act in payer.queue if act.kind == "pay"]
        if self.scenario.single_purchase and (queued or payer.purchases):
            raise IllegalAction("second_purchase", "one purchase per customer is allowed here", retryable=False)
        if self._is_full(offer.business):
            raise IllegalAction("capacity_full", "the business takes no more orders", retryable=False)
        if self.scenario.budget_bp and self.ledger.balance(seat) - sum(queued) < total:
            raise IllegalAction("insufficient_funds", "the budget that is left does not cover the total")
        self._queue(payer, Act("pay", proposal=name))

    def reject_proposal(self, seat: SeatId, name: str, reason: str = "") -> None:
        """Queue the rejection of an offer to this customer. IllegalAction: as `withdraw_proposal`."""
        sender = self._acting(seat)
        self._own(sender, name).require_open()
        self._queue(sender, Act("reject", proposal=name, reason=reason))

    def end_turn(
        self, seat: SeatId, wait: Literal["next_round", "message"] = "next_round", rounds: int | None = None
    ) -> None:
        """End the activation: until the next round, or asleep until something arrives or `rounds` have passed."""
        each = self._acting(seat)
        each.lapses, each.ended, each.sleeps = 0, True, wait == "message"
        each.wake_round = self.clock.round + rounds if wait == "message" and rounds is not None else None

    def finish(self, seat: SeatId, reason: str = "") -> None:
        """Leave for good at the close of the round; queued actions still take effect."""
        each = self._acting(seat)
        self._queue(each, Act("finish", reason=reason))
        each.leaving = each.ended = True

    def _acting(self, seat: SeatId) -> Participant:
        each = self.participants[seat]
        if not each.active or each.leaving:
            raise IllegalAction("finished", "this seat has left the market", hint="stop here", retryable=False)
        if not each.awaited or self.terminated is not None:
            raise IllegalAction("wrong_phase", "it is not this seat's turn", hint="await_turn waits for it")
        return each

    def _addressee(self, sender: Participant, handle: str) -> Participant:
        found = self.by_handle.get(handle)
        if found is None or found.role == sender.role:
            raise IllegalAction("unknown_id", "there is no such counterpart", hint="use a handle as it was shown")
        if not found.active:
            raise IllegalAction("counterpart_left", "the counterpart has left", retryable=False)
        cold = sender.role == BUSINESS and not sender.inbox.heard_from(found.handle)
        if cold and not self.scenario.business_outreach:
            raise IllegalAction("no_conversation", "only customers who have written may be addressed here")
        return found

    def _own(self, each: Participant, name: str) -> Proposal:
        """A proposal that this seat sent or got; the same refusal for one that is absent, another's or unseen."""
        if any(act.proposal == name for act in each.queue):
            raise IllegalAction("already_acted", "this seat has acted on the proposal in this round")
        offer = self.proposals.get(name)
        mine = offer is not None and each.seat == (offer.customer if each.role == CUSTOMER else offer.business)
        if offer is None or not mine or (each.role == CUSTOMER and not offer.delivered):
            raise IllegalAction("unknown_id", "there is no such proposal", hint="view_proposals shows yours")
        return offer

    def _is_full(self, business: SeatId) -> bool:
        return 0 < self.scenario.capacity <= self.participants[business].purchases

    def _queue(self, each: Participant, *acts: Act) -> None:
        each.lapses = 0
        each.queue.extend(acts)

    # --- the close of a round ---------------------------------------------------------------------------------------

    def close(self) -> RoundLog:
        """Everything that was queued takes effect, mail is delivered, the next round opens."""
        number = self.clock.round
        paid, declined = self._settle_payments(number)
        rejected = self._settle("reject", "rejected", number)
        withdrawn = self._settle("withdraw", "withdrawn", number)
        self._send(number)
        self._leave(number)
        expired = self._expire(number)
        delivered, refunded = self._verify_escrow(number)
        opened, messages = self._deliver(number)
        log = RoundLog(number, paid, declined, rejected, withdrawn, expired, delivered, refunded, opened, messages)
        self._chain.update(canonical(list(log)) + b"\n")
        self._open_next(number)
        return log

    def _acts(self, kind: str) -> Iterator[tuple[Participant, Act]]:
        """Queued actions of one kind, by seat and then in the order of the seat."""
        for each in self.participants.values():
            for act in each.queue:
                if act.kind == kind:
                    yield each, act

    def _settle_payments(self, number: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        queued = [act.proposal for _, act in self._acts("pay")]
        order = {name: self._settling(number, name) for name in queued}
        paid: list[str] = []
        declined: list[str] = []
        for name in sorted(queued, key=lambda name: (order[name], name)):
            offer = self.proposals[name]
            if self._is_full(offer.business):
                declined.append(name)
                self._notify(offer.customer, "payment_declined", offer, number)
                continue
            payee = ESCROW if self.scenario.escrow else offer.business
            self.ledger.transfer(number, offer.customer, payee, offer.terms.total, name)
            self._change(offer, "paid", number)
            self.participants[offer.customer].purchases += 1
            self.participants[offer.business].purchases += 1
            self._notify(offer.business, "paid", offer, number)
            if self.scenario.escrow:
                self._escrowed.setdefault(number + self.scenario.delivery_rounds, []).append(name)
            else:
                self._rate(offer)
            paid.append(name)
        return tuple(paid), tuple(declined)

    def _settling(self, number: int, name: str) -> float:
        place = self.participants[self.proposals[name].customer].place
        return self.chance.uniform(Streams.SETTLE, number, place, name)

    def _settle(self, kind: str, state: Literal["rejected", "withdrawn"], number: int) -> tuple[str, ...]:
        """Rejections or withdrawals; a withdrawal of what is closed by now comes too late."""
        done: list[str] = []
        for each, act in self._acts(kind):
            offer = self.proposals[act.proposal]
            if offer.closed:
                if offer.state == "paid":
                    self._notify(each.seat, "withdraw_too_late", offer, number)
                continue
            known = offer.delivered
            self._change(offer, state, number)
            other = offer.business if each.role == CUSTOMER else offer.customer
            if known:
                self._notify(other, state, offer, number, act.reason)
            done.append(act.proposal)
        return tuple(done)

    def _send(self, number: int) -> None:
        """Messages and offers get their due rounds."""
        for each in self.participants.values():
            for act in each.queue:
                if act.kind not in ("message", "propose"):
                    continue
                target, due = self.participants[act.to], number
                if each.role == BUSINESS:
                    due += self._arrivals.delay(target.place, each.place)
                if act.offer is not None:
                    self.proposals[act.proposal] = act.offer
                    self._live[each.seat][act.proposal] = self._live[target.seat][act.proposal] = None
                    due = self._sealed(target.seat, due)
                else:
                    self.sent += 1
                self._transit.setdefault(due, []).append(Post(each.seat, act))
                self._chain.update(canonical([each.seat, act.plain(), due]) + b"\n")

    def _sealed(self, customer: SeatId, due: int) -> int:
        released, opened = release_round(due, self._windows.get(customer), self.scenario.sealed_window)
        if opened is not None:
            self._windows[customer] = opened
        return released

    def _leave(self, number: int) -> None:
        for each, _ in self._acts("finish"):
            each.active = False
            self._void(each.seat, number)

    def _void(self, seat: SeatId, number: int) -> None:
        for name in list(self._live[seat]):
            self._change(self.proposals[name], "void", number)

    def _expire(self, number: int) -> tuple[str, ...]:
        # Every live offer is in its business's table once.
        live = [name for each in self.participants.values() if each.role == BUSINESS for name in self._live[each.seat]]
        due = [self.proposals[name] for name in live]
        expired = [offer for offer in due if offer.expires is not None and offer.expires <= number]
        for offer in expired:
            self._change(offer, "expired", number)
            self._notify(offer.customer, "expired", offer, number)
            self._notify(offer.business, "expired", offer, number)
        return tuple(offer.id for offer in expired)

    def _verify_escrow(self, number: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        delivered: list[str] = []
        refunded: list[str] = []
        for name in self._escrowed.pop(number, []):
            offer = self.proposals[name]
            true = self._is_true(offer)
            payee = offer.business if true else offer.customer
            self.ledger.transfer(number, ESCROW, payee, offer.terms.total, name)
            self._change(offer, "delivered" if true else "refunded", number)
            self._rate(offer)
            if not true:
                self.participants[offer.customer].purchases -= 1
            for seat in (offer.customer, offer.business):
                self._notify(seat, "delivered" if true else "refunded", offer, number)
            (delivered if true else refunded).append(name)
        return tuple(delivered), tuple(refunded)

    def _is_true(self, offer: Proposal) -> bool:
        """Whether every line is on the menu and every claim is true."""
        business = self.catalogue.businesses[self.participants[offer.business].place]
        return "off_menu" not in offer.terms.flags and all(
            folded(claim) in business.offered for claim in offer.terms.claims
        )

    def _rate(self, offer: Proposal) -> None:
        """rating = (w·rating_0 + s)/(w + n) over verified orders (6.8)."""
        if not self.scenario.reputation:
            return
        place, weight = self.participants[offer.business].place, self.scenario.prior_weight
        verified = self._verified[place]
        verified[0] += 1
        verified[1] += self._is_true(offer)
        first = Fraction(self.catalogue.businesses[place].rating_bp, BASIS_POINTS)
        self.ratings[place] = (weight * first + verified[1]) / (weight + verified[0])

    def _deliver(self, number: int) -> tuple[tuple[str, ...], int]:
        """What is due reaches the inboxes, in the order of section 6.3; what is for a seat that has left is void."""
        boxes: dict[SeatId, list[Post]] = {}
        for post in self._transit.pop(number, []):
            boxes.setdefault(post.act.to, []).append(post)
        opened: list[str] = []
        messages = 0
        for seat in self.participants:
            for post in self._ordered(seat, boxes.get(seat, []), number):
                if not self._arrives(post, number):
                    continue
                if post.act.offer is None:
                    messages += 1
                else:
                    opened.append(post.act.proposal)
        return tuple(opened), messages

    def _arrives(self, post: Post, number: int) -> bool:
        act, target = post.act, self.participants[post.act.to]
        if act.offer is not None:
            if act.offer.state != "in_transit":
                return False
            self._change(act.offer, "open", number)
            self._notify(target.seat, "proposal_received", act.offer, number)
            return True
        if not target.active:
            self.void += 1
            return False
        self.arrived += 1
        sender = self.participants[post.sender].handle
        letter = target.inbox.deliver("message", sender, number, text=act.text, inquiry=act.inquiry)
        self._chain.update(canonical([target.seat, *letter]) + b"\n")
        target.woken = True
        return True

    def _ordered(self, seat: SeatId, posts: Sequence[Post], number: int) -> list[Post]:
        if not posts:
            return []
        target = self.participants[seat]
        places = [self.participants[post.sender].place for post in posts]
        if target.role == BUSINESS:
            order = self._arrivals.to_business(number, target.place, sorted(set(places)))
        else:
            order = self._arrivals.to_customer(number, target.place, sorted(set(places)))
        rank = {place: position for position, place in enumerate(order)}
        # Sorting is stable: what one sender sent keeps its order.
        ordered = sorted(posts, key=lambda post: rank[self.participants[post.sender].place])
        if target.role == BUSINESS or not self.scenario.sealed_window:
            return ordered
        drawn = self._arrivals.released(number, target.place, sorted(set(places)))
        rank = {place: position for position, place in enumerate(drawn)}
        sealed = [post for post in ordered if post.act.offer is not None]
        sealed.sort(key=lambda post: rank[self.participants[post.sender].place])
        return [post for post in ordered if post.act.offer is None] + sealed

    def _change(self, offer: Proposal, state: State, number: int) -> None:
        offer.move(state, number)
        self._chain.update(offer.digest())
        if offer.closed:
            self._live[offer.business].pop(offer.id, None)
            self._live[offer.customer].pop(offer.id, None)

    def _notify(self, seat: SeatId, kind: Notice, offer: Proposal, number: int, text: str = "") -> None:
        target = self.participants[seat]
        other = offer.business if target.role == CUSTOMER else offer.customer
        handle = self.participants[other].handle
        letter = target.inbox.deliver(kind, handle, number, proposal=offer.id, text=text)
        self._chain.update(canonical([seat, *letter]) + b"\n")
        target.woken = True

    # --- the next round ---------------------------------------------------------------------------------------------

    def _open_next(self, number: int) -> None:
        for each in self.participants.values():
            each.open_round(number + 1)
        following = number + 1
        if not any(each.active for each in self.participants.values() if each.role == CUSTOMER):
            self._end(_COMPLETED, number)
        elif not self.awaited():
            coming = self._next_event(number)
            if coming is None:
                self._end(_QUIESCENT, number)
            else:
                following = coming
                for each in self.participants.values():
                    each.open_round(following)
        if self.terminated is None and following > self.scenario.rounds_max:
            self._end(_MAX_ROUNDS, number)
        self.clock = Clock(number if self.terminated else following, PHASE, self.clock.revision + 1)

    def _next_event(self, number: int) -> int | None:
        """The earliest round after `number` in which somebody wakes, mail is due or escrow ends."""
        wakes = [each.wake_round for each in self.participants.values() if each.active and each.wake_round]
        return min((when for when in (*wakes, *self._transit, *self._escrowed) if when > number), default=None)

    def _end(self, reason: EndReason, number: int) -> None:
        self.terminated = reason
        for seat in self.participants:
            self._void(seat, number)
        left = [post for posts in self._transit.values() for post in posts if post.act.offer is None]
        self.void += len(left)
        self._transit.clear()

    # --- what must hold ---------------------------------------------------------------------------------------------

    def digest(self) -> bytes:
        """Digest of the whole state, whatever the order in which different seats have queued."""
        seats = {seat: each.state() for seat, each in self.participants.items()}
        content = [list(self.clock), self.terminated, seats, self.read_marks]
        return hashlib.blake2b(
            self._chain.digest() + self.ledger.digest() + canonical(content), digest_size=32
        ).digest()

    def check(self) -> None:
        """Conservation of money and mail, and one settlement per paid offer; raises AssertionError."""
        self.ledger.check()
        moving = sum(post.act.offer is None for posts in self._transit.values() for post in posts)
        assert self.sent == self.arrived + moving + self.void, "a message was lost or doubled"
        payments: dict[str, list[int]] = {}
        for entry in self.ledger.entries:
            if entry.reason != "budget" and entry.payer != ESCROW:
                assert entry.payer == self.proposals[entry.reason].customer, "somebody else has paid"
                payments.setdefault(entry.reason, []).append(entry.cents)
        settled = {
            name: offer for name, offer in self.proposals.items() if offer.state in ("paid", "delivered", "refunded")
        }
        assert payments == {name: [offer.terms.total] for name, offer in settled.items()}, "paid twice or not at all"
