"""One pass over a marketplace trace: its scenario, sound rounds, hidden truth, and what every seat did.

Money is in cents. A trace may be damaged or made by hand: what cannot be used is left out and becomes a finding of the
reading, never an exception.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tradefair.contract import SeatId
from tradefair.evaluation.markets.marketplace.truth import Truth, truth_of, written_catalogue
from tradefair.evaluation.read.objects import sequence
from tradefair.evaluation.read.rounds import Closed, Did, Rounds, read_rounds
from tradefair.evaluation.reading import TraceReading, once_per_trace
from tradefair.marketplace.answers.results import ProposalReceipt
from tradefair.marketplace.engine.facts import DeliveryFacts, EndingFacts, ProposalFacts, RoundFacts
from tradefair.marketplace.model import MarketplaceScenario
from tradefair.tracestore import Trace

_SENDS = "send_proposal"
_NAMED_BY = {
    "view_business": "business",
    "send_message": "to",
    _SENDS: "to",
    "pay_proposal": "proposal",
    "reject_proposal": "proposal",
    "withdraw_proposal": "proposal",
}
"""Tool -> argument that names the counterparts or the proposal that a call is about."""


@dataclass
class Proposed:
    """A proposal: its truth, the round in which it was sent, and the event with the facts that contain it.

    `visible` is the event that delivered it, None where it never arrived: every later event found it with its customer.
    `arrival` is its position among all that its customer got, from 1, `rank` the arrival rank of its business, both as
    the facts have them. `settled` maps kinds (payment, release, refund) to (event, position in its facts).
    """

    facts: ProposalFacts
    round: int
    seq: int
    visible: int | None = None
    arrival: int | None = None
    rank: int | None = None
    settled: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])

    @property
    def paid(self) -> bool:
        """Whether it was paid and not refunded."""
        return "payment" in self.settled and "refund" not in self.settled


class Contact(NamedTuple):
    """A customer's message that reached a business: the event that delivered it, its round, and the customer."""

    seq: int
    round: int
    customer: SeatId


@dataclass
class MarketPlay:
    """What a trace says about the market; `truth` is None where neither facts nor manifest give it.

    `proposals` are by id, in the order of sending, `made` the calls that sent them; `contacts` are the messages that
    reached a business; `writers` are the businesses with a message that reached a customer.
    """

    read: Rounds[MarketplaceScenario, RoundFacts]
    truth: Truth | None = None
    ending: EndingFacts | None = None
    made: dict[str, int] = field(default_factory=dict[str, int])
    proposals: dict[str, Proposed] = field(default_factory=dict[str, Proposed])
    contacts: dict[SeatId, list[Contact]] = field(default_factory=dict[SeatId, list[Contact]])
    writers: dict[SeatId, set[SeatId]] = field(default_factory=dict[SeatId, set[SeatId]])

    @property
    def reading(self) -> TraceReading:
        """What the trace says whatever the market."""
        return self.read.reading

    @property
    def scenario(self) -> MarketplaceScenario | None:
        """The scenario; null where the manifest holds none."""
        return self.read.scenario

    @property
    def rounds(self) -> list[Closed[RoundFacts]]:
        """The sound rounds."""
        return self.read.closed

    @property
    def free(self) -> bool:
        """Whether actions took effect at once."""
        return self.scenario is not None and self.scenario.clock == "free"

    @property
    def sealed(self) -> bool:
        """Whether proposals were held and released together."""
        return self.scenario is not None and self.scenario.sealed_window > 0

    def done(self, seat: SeatId, *tools: str) -> Iterator[Did]:
        """A seat's calls of these tools that were carried out or queued."""
        return (did for did in self.read.by_seat.get(seat, ()) if did.tool in tools and did.accepted)


@once_per_trace
def read_marketplace(trace: Trace) -> MarketPlay:
    """Everything that the outcomes are made of, in one pass over the events of an opened trace."""
    read = read_rounds(trace, MarketplaceScenario, RoundFacts, (_SENDS,))
    reading = read.reading
    ending = reading.typed(reading.ending, EndingFacts) if reading.ending else None
    truth = truth_of(reading, read.scenario, ending, written_catalogue(trace, reading))
    sent = [row for seat in read.by_seat for row in read.answers(seat, None, _SENDS, ProposalReceipt)]
    play = MarketPlay(read, truth, ending, {answer.proposal: did.seq for did, answer in sent})
    if truth is not None:
        _follow(play, truth)
    return play


def names_of(did: Did) -> list[str]:
    """The handles or proposals that a call is about."""
    named: object = did.arguments.get(_NAMED_BY.get(did.tool or "", ""))
    return [name for name in [named, *sequence(named)] if isinstance(name, str)]


def shown_by(did: Did) -> list[str]:
    """The handles and proposals that an answer showed, in order: refs with a dot name surfaces of texts."""
    return [ref for ref in did.refs or () if "." not in ref]


# --- what became of it ------------------------------------------------------------------------------------------------


def _follow(play: MarketPlay, truth: Truth) -> None:
    """Enter proposals, deliveries and settlements in the order of the facts."""
    # Proposal -> call that sent it, where that call may also have delivered it.
    at_once: Mapping[str, int] = {}
    # Before the facts: under the free clock calls are the only source of the exact moment.
    if play.free:
        _contacts_at_once(play, truth)
        # A sealed window holds offers until a tick under the free clock too.
        if not play.sealed:
            at_once = play.made
    for closed in play.rounds:
        _, seq, facts = closed
        for proposal in facts.proposals:
            unknown = proposal.business not in truth.sellers or proposal.customer not in truth.buyers
            # The first one stands; a second would change what was paid for it.
            if unknown or proposal.proposal in play.proposals:
                play.reading.found(seq, f"the facts hold an odd proposal: {proposal.proposal[:60]!r}")
            else:
                play.proposals[proposal.proposal] = Proposed(proposal, facts.round, seq)
        for delivery in facts.deliveries:
            if {delivery.sender, delivery.receiver} <= truth.indices.keys():
                _deliver(play, truth, closed, delivery, at_once)
            else:
                play.reading.found(seq, f"mail of a seat that does not exist: {delivery.sender[:60]!r}")
        for position, settlement in enumerate(facts.settlements):
            known = play.proposals.get(settlement.proposal)
            if known is None:
                play.reading.found(seq, f"money moved for an unknown proposal: {settlement.proposal[:60]!r}")
            else:
                # With its position: several payments of one closure have an order, and the first is the choice.
                known.settled.setdefault(settlement.kind, (seq, position))


def _deliver(
    play: MarketPlay, truth: Truth, closed: Closed[RoundFacts], delivery: DeliveryFacts, at_once: Mapping[str, int]
) -> None:
    seq = closed.seq
    if delivery.kind == "message":
        if delivery.sender in truth.sellers:
            play.writers.setdefault(delivery.receiver, set()).add(delivery.sender)
        # Under the free clock contacts are dated by their calls, see `_contacts_at_once`.
        elif not play.free:
            play.contacts.setdefault(delivery.receiver, []).append(Contact(seq, closed.facts.round, delivery.sender))
        return
    # A proposal is delivered once, to its customer; anything else was not written by the rules.
    known = play.proposals.get(delivery.proposal or "")
    if known is None or known.visible is not None or delivery.receiver != known.facts.customer:
        play.reading.found(seq, f"an odd proposal was delivered: {(delivery.proposal or '')[:60]!r}")
        return
    # Where nothing is held back, the free clock delivers within the call.
    known.visible = at_once.get(known.facts.proposal, seq) if known.facts.due == known.round else seq
    # As the rules counted them, so that order effects are measured on what really happened.
    known.arrival, known.rank = delivery.arrival_number, delivery.rank


def _contacts_at_once(play: MarketPlay, truth: Truth) -> None:
    """Under the free clock a customer's message has arrived when its call is done: date it by the call."""
    for customer in truth.customers:
        for act in play.done(customer, "send_message"):
            for name in dict.fromkeys(names_of(act)):
                reached = truth.seats.get(name)
                if reached is not None:
                    play.contacts.setdefault(reached, []).append(Contact(act.seq, act.round, customer))
