"""The marketplace as seats act on it: what every action requires, and what the kernel asks of a market.

Marketplace page, sections 4 and 6. Under the turn-based clock every action is checked against the state at the start
of the round and the seat's own queue, and takes effect at the close; under the free clock it takes effect at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from pydantic import JsonValue

from tradefair.contract.errors import IllegalAction
from tradefair.contract.market import Closure, LapseReason
from tradefair.contract.seats import SeatId
from tradefair.marketplace import views
from tradefair.marketplace.answers.results import RulesView, TurnPart
from tradefair.marketplace.engine import twin
from tradefair.marketplace.engine.closing import Exchange, Log
from tradefair.marketplace.engine.facts import EndingFacts, PublicRound, ending_facts
from tradefair.marketplace.engine.manipulation import HouseText
from tradefair.marketplace.engine.participants import Act, ActKind, Participant
from tradefair.marketplace.engine.proposals import Line, Proposal, Terms, checked_terms
from tradefair.marketplace.model import BUSINESS, CUSTOMER, MarketplaceScenario
from tradefair.marketplace.records import Catalogue, Customer, rounded_share

OPEN_PER_PAIR = 20
LAPSES_TO_RETIRE = 3
_CLOCK_TICK = "clock_tick"


class Best(NamedTuple):
    """The business that serves a customer best at list prices: its handle, and the order's list price in cents."""

    handle: str
    price: int


class HiddenTruth(NamedTuple):
    """What privileged policies are given: the whole engine, to be read only."""

    market: Marketplace

    def best(self, customer: SeatId) -> Best | None:
        """argmax u(i,b) over B_i, ties to the first registered; None where nobody's utility is above 0."""
        market = self.market
        matches = market.matches[market.participants[customer].place].matches
        best = max(matches, key=lambda match: (match.utility, -match.business), default=None)
        if best is None or best.utility <= 0:
            return None
        business = market.catalogue.businesses[best.business]
        return Best(market.participants[business.id].handle, best.price)


class Marketplace(Exchange):
    """A live marketplace (contract `Market`); its fields are read by views and changed here and in the close only.

    Handles are names inside it: what tools take and show; seat ids are the host's.
    """

    def __init__(
        self,
        scenario: MarketplaceScenario,
        catalogue: Catalogue,
        seed: int,
        *,
        indexed: Catalogue | None = None,
        said: HouseText | None = None,
    ) -> None:
        super().__init__(scenario, catalogue, seed, indexed=indexed)
        self.said = said

    # --- who is asked ---------------------------------------------------------------------------------------------

    def awaited(self) -> frozenset[SeatId]:
        """Active seats that are awake and have not ended their turn; nobody under the free clock."""
        if self.terminated is not None or self.free:
            return frozenset()
        if self._awaited is None:
            self._awaited = frozenset(self._waiting)
        return self._awaited

    def lapse(self, seat: SeatId, reason: LapseReason) -> str:
        """A customer passes to the next round, a business waits for mail; three in a row retire the seat."""
        each = self.participants[seat]
        each.lapses += 1
        self._rest(each)
        if each.lapses >= LAPSES_TO_RETIRE:
            each.queue.append(Act("finish", self.clock.round, retired=True))
            each.leaving = each.ended = True
            return "retired"
        each.ended, each.sleeps, each.wake_round = True, each.role == BUSINESS, None
        return "wait_for_message" if each.sleeps else "next_round"

    # --- actions --------------------------------------------------------------------------------------------------

    def send_message(self, seat: SeatId, to: Sequence[str], text: str, inquiry: JsonValue = None) -> None:
        """A text for every recipient.

        IllegalAction: wrong_phase, finished, unknown_id, counterpart_left, no_conversation, message_too_long.
        """
        sender = self.acting(seat)
        if len(text) > self.scenario.text_max:
            raise IllegalAction(
                "message_too_long", f"at most {self.scenario.text_max} characters are allowed", hint="shorten the text"
            )
        reached = [self.addressee(sender, handle) for handle in dict.fromkeys(to)]
        acts = (self._act("message", to=each.seat, text=text, inquiry=inquiry) for each in reached)
        self._take(sender, *acts)

    def terms_for(
        self, seat: SeatId, to: str, lines: Sequence[Line], total: int | None, claims: Sequence[str]
    ) -> tuple[Participant, Terms]:
        """Whom an offer would reach and what it would bind to. IllegalAction: as `send_proposal`."""
        sender = self.acting(seat)
        customer = self.addressee(sender, to)
        business = self.catalogue.businesses[sender.place]
        terms = checked_terms(business, lines, total, claims, self.scenario.terms_rules)
        queued = sum(act.kind == "propose" and act.to == customer.seat for act in sender.queue)
        if self.live_of_pair(seat, customer.seat) + queued >= OPEN_PER_PAIR:
            raise IllegalAction(
                "too_many_open",
                f"at most {OPEN_PER_PAIR} proposals to one customer may be open",
                hint="withdraw_proposal first",
            )
        return customer, terms

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
        """An offer to a customer; the offer as it will be delivered.

        IllegalAction: as `send_message` and `checked_terms`, and too_many_open.
        """
        sender = self.participants[seat]
        customer, terms = self.terms_for(seat, to, lines, total, claims)
        number = sender.numbers.get(customer.seat, 0) + 1
        name = f"p-{sender.handle}-{customer.handle}-{number}"
        lifetime = self.scenario.proposal_ttl if expires_in is None else expires_in
        offer = Proposal(name, seat, customer.seat, terms, note, self.clock.round, lifetime)
        sender.numbers[customer.seat] = number
        self._take(sender, self._act("propose", to=customer.seat, offer=offer, proposal=name))
        return offer

    def withdraw_proposal(self, seat: SeatId, name: str, reason: str = "") -> Proposal:
        """Withdraw an own offer. IllegalAction: wrong_phase, finished, unknown_id, already_acted, not_open."""
        sender = self.acting(seat)
        offer = self._own(sender, name)
        if offer.state != "in_transit":
            offer.require_open()
        self._take(sender, self._act("withdraw", proposal=name, reason=reason))
        return offer

    def pay_proposal(self, seat: SeatId, name: str, expected_total: int | None = None) -> Proposal:
        """Pay an offer to this customer.

        IllegalAction: wrong_phase, finished, unknown_id, already_acted, not_open, total_changed, second_purchase,
        capacity_full, insufficient_funds.
        """
        payer = self.acting(seat)
        offer = self._own(payer, name)
        offer.require_open()
        total = offer.terms.total
        if expected_total is not None and expected_total != total:
            raise IllegalAction("total_changed", "the total is not the expected one", hint="view_proposals shows it")
        if self.scenario.single_purchase and (payer.purchases or any(act.kind == "pay" for act in payer.queue)):
            raise IllegalAction(
                "second_purchase", "one purchase per customer is allowed here", hint="finish", retryable=False
            )
        if self.is_full(offer.business):
            raise IllegalAction(
                "capacity_full", "the business takes no more orders", hint="choose another one", retryable=False
            )
        left = self.budget_left(seat)
        if left is not None and left < total:
            raise IllegalAction(
                "insufficient_funds",
                "the budget that is left does not cover the total",
                hint="view_my_request shows it",
            )
        self._take(payer, self._act("pay", proposal=name))
        return offer

    def reject_proposal(self, seat: SeatId, name: str, reason: str = "") -> Proposal:
        """Reject an offer to this customer. IllegalAction: as `withdraw_proposal`."""
        sender = self.acting(seat)
        offer = self._own(sender, name)
        offer.require_open()
        self._take(sender, self._act("reject", proposal=name, reason=reason))
        return offer

    def end_turn(
        self, seat: SeatId, wait: Literal["next_round", "message"] = "next_round", rounds: int | None = None
    ) -> int | None:
        """End the activation: until the next round, or asleep until something arrives or `rounds` have passed.

        The round in which the seat wakes at the latest, None for no such round. Under the free clock it only says when
        the seat, waiting, is to be told of a tick.
        """
        each = self.acting(seat)
        following = self.clock.round + 1
        wakes = following if wait == "next_round" else None if rounds is None else self.clock.round + rounds
        if self.free:
            each.awake, each.wake_round = False, wakes
            return wakes
        each.lapses, each.ended, each.sleeps = 0, True, wait == "message"
        each.wake_round = wakes if each.sleeps else None
        self._rest(each)
        return wakes

    def finish(self, seat: SeatId, reason: str = "") -> None:
        """Leave for good; what has been queued still takes effect."""
        each = self.acting(seat)
        self._take(each, self._act("finish", reason=reason))
        each.leaving = each.ended = True
        self._rest(each)

    def _act(
        self,
        kind: ActKind,
        *,
        to: SeatId = "",
        proposal: str = "",
        text: str = "",
        reason: str = "",
        inquiry: JsonValue = None,
        offer: Proposal | None = None,
    ) -> Act:
        return Act(kind, self.clock.round, to, proposal, text, reason, inquiry, offer)

    def _take(self, each: Participant, *acts: Act) -> None:
        """Queue the acts, or carry them out under the free clock."""
        each.lapses = 0
        if not self.free:
            each.queue.extend(acts)
            return
        for act in acts:
            self._do(each, act, self.clock.round)

    def acting(self, seat: SeatId) -> Participant:
        """The seat, if it may act now. IllegalAction: finished, wrong_phase."""
        each = self.participants[seat]
        if not each.active or each.leaving:
            raise IllegalAction("finished", "this seat has left the market", hint="stop here", retryable=False)
        if not self.free and not each.awaited:
            raise IllegalAction("wrong_phase", "it is not this seat's turn", hint="await_turn waits for it")
        return each

    def addressee(self, sender: Participant, handle: str) -> Participant:
        """A counterpart to whom `sender` may write. IllegalAction: unknown_id, counterpart_left, no_conversation."""
        found = self.by_handle.get(handle)
        if found is None or found.role == sender.role:
            raise IllegalAction("unknown_id", "there is no such counterpart", hint="use a handle as it was shown")
        if not found.active:
            raise IllegalAction(
                "counterpart_left", "the counterpart has left", hint="write to somebody else", retryable=False
            )
        if sender.role == BUSINESS and not self.in_conversation(sender, found.handle):
            raise IllegalAction(
                "no_conversation",
                "only customers who have written may be addressed here",
                hint="receive_messages shows who has",
            )
        return found

    def in_conversation(self, business: Participant, customer: str) -> bool:
        """Whether the business may write to this handle."""
        return self.scenario.business_outreach or business.inbox.heard_from(customer)

    def _own(self, each: Participant, name: str) -> Proposal:
        """A proposal that this seat sent or got; the same refusal for one that is absent, another's or unseen."""
        if any(act.proposal == name for act in each.queue):
            raise IllegalAction(
                "already_acted", "this seat has acted on the proposal in this round", hint="end_turn", retryable=False
            )
        return self.known_proposal(each, name)

    def known_proposal(self, each: Participant, name: str) -> Proposal:
        """A proposal that this seat has sent or got. IllegalAction unknown_id otherwise."""
        offer = self.proposals.get(name)
        mine = offer is not None and each.seat == (offer.customer if each.role == CUSTOMER else offer.business)
        if offer is None or not mine or (each.role == CUSTOMER and not offer.delivered):
            raise IllegalAction("unknown_id", "there is no such proposal", hint="view_proposals shows yours")
        return offer

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

    # --- the clock --------------------------------------------------------------------------------------------------

    def advance(self) -> Closure:
        """The close of a round, or a tick: everything that is due takes effect and the next round opens."""
        number = self.clock.round
        self._close(number)
        self._open_next(number)
        log, self._log = self._log, Log()
        public = PublicRound(round=number, next_round=self.clock.round, businesses=len(self.directory))
        return Closure("round", public, log.facts(number))

    def feed(self, source: str, payload: JsonValue) -> None:
        """Ticks of the free clock, which the kernel closes a round at; everything else is refused."""
        if source != _CLOCK_TICK or not self.free:
            raise IllegalAction("wrong_input", "the marketplace takes clock ticks, under the free clock only")
        if payload is not None:
            raise IllegalAction("wrong_input", "a clock tick has no payload")

    # --- what a seat may see ----------------------------------------------------------------------------------------

    def rules_view(self, seat: SeatId) -> RulesView:
        """The public rules."""
        return views.rules(self)

    def turn_view(self, seat: SeatId) -> TurnPart:
        """The market's part of `view_turn`."""
        return views.turn_part(self, seat)

    def code_constants(self, seat: SeatId) -> dict[str, JsonValue]:
        """Names for `execute_code`."""
        return {
            "HANDLE": self.participants[seat].handle,
            "ROUNDS": self.scenario.rounds_max,
            "SEARCH_LIMIT": self.scenario.search_limit,
            "PROPOSAL_TTL": self.scenario.proposal_ttl,
            "TEXT_MAX": self.scenario.text_max,
        }

    def news_mark(self, seat: SeatId) -> int:
        """Entries in the seat's inbox, and ticks that it waited for; a customer has a reason to act from the start."""
        each = self.participants[seat]
        return len(each.inbox) + each.wakes + (each.role == CUSTOMER)

    def wants_turn(self, seat: SeatId) -> bool:
        """Whether mail or a tick has reached the seat since it ended its turn; for the free clock."""
        each = self.participants[seat]
        return each.active and not each.leaving and each.awake

    def privileged(self) -> HiddenTruth:
        """The engine itself."""
        return HiddenTruth(self)

    def ending_facts(self) -> EndingFacts:
        """Values, matches, the ledger, who is behind which handle."""
        return ending_facts(self)

    def perturbed(self, seat: SeatId, salt: int) -> Marketplace:
        """The same past for this seat; everything that is private to others differs."""
        return twin.perturbed(self, seat, salt)
