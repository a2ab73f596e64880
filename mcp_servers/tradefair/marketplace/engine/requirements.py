"""What an action requires: whether a seat may act, which counterparts it may address, which terms are allowed.

Marketplace page, sections 4 to 6. Checks never change the state. They see it as it stood at the start of the round,
and the seat's own queue; under the free clock as it stands now. No refusal contains text that a counterpart wrote.
"""

from __future__ import annotations

from collections.abc import Sequence

from tradefair.contract import IllegalAction, SeatId
from tradefair.marketplace.engine.participants import Participant
from tradefair.marketplace.engine.proposals import Line, Proposal, Terms, checked_terms
from tradefair.marketplace.model import BUSINESS, CUSTOMER
from tradefair.marketplace.state import State

OPEN_PER_PAIR = 20
"""Most proposals from one business to one customer that may be open or on their way."""


def acting(state: State, seat: SeatId) -> Participant:
    """The seat, if it may act now. IllegalAction: finished, wrong_phase."""
    participant = state.participants[seat]
    if participant.left:
        raise IllegalAction("finished", "this seat has left the market", hint="stop here", retryable=False)
    if not state.free and not participant.awaited:
        raise IllegalAction("wrong_phase", "it is not this seat's turn", hint="await_turn waits for it")
    return participant


def counterpart_behind(state: State, seat: Participant, handle: str) -> Participant:
    """The seat of the other role behind a handle. IllegalAction unknown_id, also where a handle is of the same role."""
    found = state.by_handle.get(handle)
    # One refusal for both: another one for a colleague's handle would tell which handles exist.
    if found is None or found.role == seat.role:
        raise IllegalAction("unknown_id", "there is no such counterpart", hint="use a handle as it was shown")
    return found


def addressee(state: State, sender: Participant, handle: str) -> Participant:
    """A counterpart that `sender` may write to. IllegalAction: unknown_id, counterpart_left, no_conversation."""
    found = counterpart_behind(state, sender, handle)
    # After the lookup, since only a counterpart may learn that a seat has left.
    if not found.active:
        raise IllegalAction(
            "counterpart_left", "the counterpart has left", hint="write to somebody else", retryable=False
        )
    # Otherwise businesses could flood every customer of the market.
    if sender.role == BUSINESS and not state.in_conversation(sender, found.handle):
        raise IllegalAction(
            "no_conversation",
            "only customers who have written may be addressed here",
            hint="receive_messages shows who has",
        )
    return found


def terms_for(
    state: State, seat: SeatId, to: str, lines: Sequence[Line], total: int | None, claims: Sequence[str]
) -> tuple[Participant, Terms]:
    """The customer that an offer would reach, and what it would bind to.

    IllegalAction: as `acting`, `addressee` and `checked_terms`, and too_many_open.
    """
    sender = acting(state, seat)
    customer = addressee(state, sender, to)
    business = state.catalogue.businesses[sender.index]
    terms = checked_terms(business, lines, total, claims, state.scenario.terms_rules)
    # Queued offers are not live yet, but will be: without them one round could exceed the limit.
    queued = sum(act.kind == "propose" and act.to == customer.seat for act in sender.queue)
    if state.live_of_pair(seat, customer.seat) + queued >= OPEN_PER_PAIR:
        raise IllegalAction(
            "too_many_open",
            f"at most {OPEN_PER_PAIR} proposals to one customer may be open",
            hint="withdraw_proposal first",
        )
    return customer, terms


def untouched_proposal(state: State, seat: Participant, name: str) -> Proposal:
    """A proposal that this seat has sent or got, and not acted on in this round. IllegalAction: already_acted,
    unknown_id."""
    # Two acts on one offer in a round have no order that a seat could rely on: payments come before all else.
    if any(act.proposal == name for act in seat.queue):
        raise IllegalAction(
            "already_acted", "this seat has acted on the proposal in this round", hint="end_turn", retryable=False
        )
    return known_proposal(state, seat, name)


def known_proposal(state: State, seat: Participant, name: str) -> Proposal:
    """A proposal that this seat has sent or got. IllegalAction unknown_id otherwise."""
    offer = state.proposals.get(name)
    # One refusal for absent, another seat's and not yet delivered: a different text would tell what exists.
    involved = offer is not None and seat.seat == (offer.customer if seat.role == CUSTOMER else offer.business)
    if offer is None or not involved or (seat.role == CUSTOMER and not offer.delivered):
        raise IllegalAction("unknown_id", "there is no such proposal", hint="view_proposals shows yours")
    return offer
