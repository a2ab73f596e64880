"""The marketplace as seats and the kernel act on it (marketplace page, sections 4 and 6).

Under the turn-based clock every action is checked against the state at the start of the round and the seat's own
queue, and takes effect at the close; under the free clock it takes effect at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from pydantic import JsonValue

from tradefair.contract import Closure, IllegalAction, LapseReason, SeatId
from tradefair.marketplace import views
from tradefair.marketplace.answers.results import RulesView, TurnPart
from tradefair.marketplace.data.written import parts_of
from tradefair.marketplace.engine import ending, twin
from tradefair.marketplace.engine.closing import close, open_next
from tradefair.marketplace.engine.effects import carry_out
from tradefair.marketplace.engine.facts import EndingFacts, Log, PublicRound
from tradefair.marketplace.engine.participants import Act, Participant
from tradefair.marketplace.engine.proposals import Line, Proposal
from tradefair.marketplace.engine.requirements import acting, addressee, terms_for, untouched_proposal
from tradefair.marketplace.model import BUSINESS, CUSTOMER
from tradefair.marketplace.state import State

# Section 4.1: a dead agent must not hold up every round of a market of thousands.
LAPSES_TO_RETIRE = 3
_CLOCK_TICK = "clock_tick"


class Best(NamedTuple):
    """The business that serves a customer best at list prices: its handle, and the order's list price in cents."""

    handle: str
    price: int


class HiddenTruth(NamedTuple):
    """What privileged policies are given: the whole market, to be read only."""

    market: Marketplace

    def best(self, customer: SeatId) -> Best | None:
        """argmax u(i,b) over B_i, ties to the first in base order; None where no utility is above 0."""
        market = self.market
        matches = market.matches[market.participants[customer].index].matches
        # The place with a minus: `max` takes the larger key, and the first one is to win a tie.
        places = market.places[BUSINESS]
        best = max(matches, key=lambda match: (match.utility, -places[match.business]), default=None)
        if best is None or best.utility <= 0:
            return None
        business = market.catalogue.businesses[best.business]
        return Best(market.participants[business.id].handle, best.price)


class Marketplace(State):
    """A live marketplace (contract `Market`): the state, and what seats and the kernel do to it.

    Handles are names inside it, which tools take and show; seat ids are the host's. Every action of a seat raises
    IllegalAction with one of the codes that its docstring lists, and then changes nothing.
    """

    def catalogue_parts(self) -> list[bytes]:
        """The data of this market as the trace keeps it, without texts of manipulation.

        Asked for when an episode begins or is rebuilt, which hosts do in a thread: the index of the directory is made
        with it, so that no first search stops other episodes for a second.
        """
        self.directory.prepare()
        return parts_of(self.written)

    # --- who is asked ---------------------------------------------------------------------------------------------

    def lapse(self, seat: SeatId, reason: LapseReason) -> str:
        """Pass for a seat that has not answered: a customer to the next round, a business until mail comes.

        The text says what was done: next_round, wait_for_message, or retired after three lapses in a row.
        """
        participant = self.participants[seat]
        participant.lapses += 1
        # Told to the record at once: the host asks it which seats are still awaited.
        self.rest(participant)
        if participant.lapses >= LAPSES_TO_RETIRE:
            participant.queue.append(Act("finish", self.clock.round, retired=True))
            participant.leaving = participant.ended = True
            return "retired"
        # A business asleep costs its host nothing; a customer has to come back, or its request is never served.
        participant.ended, participant.sleeps, participant.wake_round = True, participant.role == BUSINESS, None
        return "wait_for_message" if participant.sleeps else "next_round"

    # --- actions --------------------------------------------------------------------------------------------------

    def send_message(self, seat: SeatId, to: Sequence[str], text: str, inquiry: JsonValue = None) -> None:
        """Send a text to every handle in `to`, or to none of them.

        IllegalAction: wrong_phase, finished, unknown_id, counterpart_left, no_conversation, message_too_long.
        """
        sender = acting(self, seat)
        if len(text) > self.scenario.text_max:
            raise IllegalAction(
                "message_too_long", f"at most {self.scenario.text_max} characters are allowed", hint="shorten the text"
            )
        # All recipients are checked before anything is queued.
        reached = [addressee(self, sender, handle) for handle in dict.fromkeys(to)]
        # One act per recipient, since delay and order of arrival are drawn for each pair.
        acts = (Act("message", self.clock.round, to=target.seat, text=text, inquiry=inquiry) for target in reached)
        self._take(sender, *acts)

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
        """Send an offer to a customer; the offer as it will be delivered. `total` in cents, `expires_in` in rounds.

        IllegalAction: as `send_message` and `checked_terms`, and too_many_open.
        """
        sender = self.participants[seat]
        customer, terms = terms_for(self, seat, to, lines, total, claims)
        # Numbered per pair: a number of the whole market would tell a seat how much others trade.
        number = sender.numbers.get(customer.seat, 0) + 1
        name = f"p-{sender.handle}-{customer.handle}-{number}"
        # Counted from the delivery: an offer that travels for long can still be paid.
        lifetime = self.scenario.proposal_ttl if expires_in is None else expires_in
        offer = Proposal(name, seat, customer.seat, terms, note, self.clock.round, lifetime)
        sender.numbers[customer.seat] = number
        self._take(sender, Act("propose", self.clock.round, to=customer.seat, offer=offer, proposal=name))
        return offer

    def withdraw_proposal(self, seat: SeatId, name: str, reason: str = "") -> Proposal:
        """Withdraw an offer that this seat sent. IllegalAction: wrong_phase, finished, unknown_id, already_acted,
        not_open."""
        sender = acting(self, seat)
        offer = untouched_proposal(self, sender, name)
        # An offer on its way is no longer open to anything but its sender's withdrawal.
        if offer.state != "in_transit":
            offer.require_open()
        self._take(sender, Act("withdraw", self.clock.round, proposal=name, reason=reason))
        return offer

    def pay_proposal(self, seat: SeatId, name: str, expected_total: int | None = None) -> Proposal:
        """Pay an offer to this customer.

        IllegalAction: wrong_phase, finished, unknown_id, already_acted, not_open, total_changed, second_purchase,
        capacity_full, insufficient_funds.
        """
        payer = acting(self, seat)
        offer = untouched_proposal(self, payer, name)
        offer.require_open()
        # The order of the checks is the order in which a seat learns of its mistakes; the first one is reported.
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
        # Queued payments count as spent, so that none of them can fail for lack of money at the close.
        left = self.budget_left(seat)
        if left is not None and left < total:
            raise IllegalAction(
                "insufficient_funds",
                "the budget that is left does not cover the total",
                hint="view_my_request shows it",
            )
        self._take(payer, Act("pay", self.clock.round, proposal=name))
        return offer

    def reject_proposal(self, seat: SeatId, name: str, reason: str = "") -> Proposal:
        """Reject an offer to this customer. IllegalAction: as `withdraw_proposal`."""
        sender = acting(self, seat)
        offer = untouched_proposal(self, sender, name)
        offer.require_open()
        self._take(sender, Act("reject", self.clock.round, proposal=name, reason=reason))
        return offer

    def end_turn(
        self, seat: SeatId, wait: Literal["next_round", "message"] = "next_round", rounds: int | None = None
    ) -> int | None:
        """End the activation: until the next round, or asleep until something arrives or `rounds` have passed.

        The round in which the seat wakes at the latest, None for no such round. Under the free clock it only says when
        a waiting seat is to be told of a tick.
        """
        participant = acting(self, seat)
        following = self.clock.round + 1
        wakes = following if wait == "next_round" else None if rounds is None else self.clock.round + rounds
        # The free clock waits for no seat. The call is kept, so that a policy that wants to wait plays both clocks.
        if self.free:
            participant.awake, participant.wake_round = False, wakes
            return wakes
        # An ended turn is a sign of life: only lapses in a row retire a seat.
        participant.lapses, participant.ended, participant.sleeps = 0, True, wait == "message"
        participant.wake_round = wakes if participant.sleeps else None
        self.rest(participant)
        return wakes

    def finish(self, seat: SeatId, reason: str = "") -> None:
        """Leave for good; what has been queued still takes effect. IllegalAction: finished, wrong_phase."""
        participant = acting(self, seat)
        self._take(participant, Act("finish", self.clock.round, reason=reason))
        # Not `active = False`: what the seat has queued in this round takes effect before it leaves.
        participant.leaving = participant.ended = True
        self.rest(participant)

    def _take(self, actor: Participant, *acts: Act) -> None:
        """Queue the acts, or carry them out under the free clock."""
        # Whoever acts is alive; see LAPSES_TO_RETIRE.
        actor.lapses = 0
        if not self.free:
            actor.queue.extend(acts)
            return
        for act in acts:
            carry_out(self, actor, act, self.clock.round)

    # --- the clock --------------------------------------------------------------------------------------------------

    def advance(self) -> Closure:
        """Close a round, or tick: everything that is due takes effect and the next round opens."""
        number = self.clock.round
        close(self, number)
        open_next(self, number)
        # Taken only now: a round that ends the episode also logs the offers that become void.
        log, self.log = self.log, Log()
        public = PublicRound(round=number, next_round=self.clock.round, businesses=len(self.directory))
        return Closure("round", public, log.facts(number))

    def feed(self, source: str, payload: JsonValue) -> None:
        """Accept a tick of the free clock, at which the kernel closes a round. IllegalAction wrong_input otherwise."""
        if source != _CLOCK_TICK or not self.free:
            # A turn-based market closes when its seats have acted: a tick from outside would cut their round short.
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
        """Names for `execute_code`: the seat's handle, rounds, rows of a search page, lifetime, longest text."""
        return {
            "HANDLE": self.participants[seat].handle,
            "ROUNDS": self.scenario.rounds_max,
            "SEARCH_LIMIT": self.scenario.search_limit,
            "PROPOSAL_TTL": self.scenario.proposal_ttl,
            "TEXT_MAX": self.scenario.text_max,
        }

    def news_mark(self, seat: SeatId) -> int:
        """Entries in the seat's inbox and ticks that it waited for, plus 1 for a customer.

        The 1 is a customer's reason to act before anything has reached it.
        """
        participant = self.participants[seat]
        return len(participant.inbox) + participant.wakes + (participant.role == CUSTOMER)

    def wants_turn(self, seat: SeatId) -> bool:
        """Whether mail or a tick has reached the seat since it ended its turn; for the free clock."""
        return self.participants[seat].awake and not self.has_left(seat)

    def has_left(self, seat: SeatId) -> bool:
        """Whether the seat has finished or was retired."""
        return self.participants[seat].left

    def turn_rank(self, seat: SeatId) -> int:
        """Scripted seats act in base order under the free clock, where what they send arrives as it is sent."""
        return self.order[seat]

    def privileged(self) -> HiddenTruth:
        """The market itself."""
        return HiddenTruth(self)

    def ending_facts(self) -> EndingFacts:
        """Values, matches, the ledger, and who is behind which handle."""
        return ending.ending_facts(self)

    def perturbed(self, seat: SeatId, salt: int) -> Marketplace:
        """The same past for this seat; everything that is private to other seats differs."""
        return twin.perturbed(self, seat, salt)
