"""What an accepted action does to the state, at the close of its round or, under the free clock, at once.

Marketplace page, sections 6.1 to 6.3. Every change goes into the log of facts and into the running digest.
"""

from __future__ import annotations

from typing import Literal

from tradefair.contract import SeatId
from tradefair.contract.chain import canonical
from tradefair.marketplace.engine.facts import DeliveryFacts, LeftFacts, SettlementFacts, StateFacts, proposal_facts
from tradefair.marketplace.engine.ledger import ESCROW
from tradefair.marketplace.engine.mail import Letter, Notice
from tradefair.marketplace.engine.participants import Act, Participant, Post
from tradefair.marketplace.engine.proposals import Proposal, ProposalState
from tradefair.marketplace.model import BUSINESS, CUSTOMER
from tradefair.marketplace.state import State


def carry_out(state: State, actor: Participant, act: Act, number: int) -> None:
    """Let an action take effect in round `number`."""
    match act.kind:
        case "message" | "propose":
            _send(state, actor, act, number)
        case "pay":
            pay(state, state.proposals[act.proposal], number)
        case "reject":
            _drop(state, actor, act, "rejected", number)
        case "withdraw":
            _drop(state, actor, act, "withdrawn", number)
        case "finish":
            _leave(state, actor, act, number)


# --- payments -------------------------------------------------------------------------------------------------------


def pay(state: State, offer: Proposal, number: int) -> None:
    """Move the money, to escrow where there is one; a business without capacity left declines, the offer stays open."""
    # Checked again: when payments were queued there was room, and others were drawn first.
    if state.is_full(offer.business):
        state.log.declined.append(offer.id)
        # The customer has to learn it, or it would wait for a delivery. Its money was never moved.
        notify(state, offer.customer, "payment_declined", offer, number)
        return
    payee = ESCROW if state.scenario.escrow else offer.business
    settle(state, offer, "payment", offer.customer, payee, number)
    change(state, offer, "paid", number)
    state.participants[offer.customer].purchases += 1
    # At once, so that the capacity also bounds the payments of this close.
    state.participants[offer.business].purchases += 1
    notify(state, offer.business, "paid", offer, number)
    # Without escrow an order counts as verified when it is paid: nothing comes after.
    if state.scenario.escrow:
        state.escrowed.setdefault(number + state.scenario.delivery_rounds, []).append(offer.id)
    else:
        state.to_rate.append(offer)


def settle(
    state: State, offer: Proposal, kind: Literal["payment", "release", "refund"], payer: str, payee: str, number: int
) -> None:
    """Transfer the offer's total between two accounts."""
    cents = offer.terms.total
    state.ledger.transfer(number, payer, payee, cents, offer.id)
    state.log.settlements.append(
        SettlementFacts.model_construct(proposal=offer.id, kind=kind, payer=payer, payee=payee, cents=cents)
    )


# --- the life of a proposal -----------------------------------------------------------------------------------------


def change(state: State, offer: Proposal, step: ProposalState, number: int, *, visible: int | None = None) -> None:
    """Move an offer to another state; `visible` as for `Proposal.move`."""
    offer.move(step, number, visible=visible)
    state.chain.update(offer.digest())
    state.log.states.append(StateFacts.model_construct(proposal=offer.id, state=step))
    # A paid offer is closed and leaves the live ones; with escrow it changes once more, and is not there then.
    if offer.closed and offer.id in state.live_by_seat[offer.business]:
        del state.live_by_seat[offer.business][offer.id], state.live_by_seat[offer.customer][offer.id]
        state.live_by_pair[offer.business, offer.customer] -= 1


def void_all_of(state: State, seat: SeatId, number: int) -> None:
    """Make the seat's open and travelling offers void."""
    for name in list(state.live_by_seat[seat]):
        change(state, state.proposals[name], "void", number)


def _drop(state: State, actor: Participant, act: Act, step: Literal["rejected", "withdrawn"], number: int) -> None:
    """A rejection or withdrawal; a withdrawal of what has been paid by now comes too late."""
    offer = state.proposals[act.proposal]
    if offer.closed:
        if offer.state == "paid":
            state.log.late_withdrawals.append(offer.id)
            notify(state, actor.seat, "withdraw_too_late", offer, number)
        return
    # Set before `change`, which takes the digest of the whole offer.
    offer.reason = act.reason
    # Asked before the change. An offer withdrawn on its way is not announced: its customer never knew of it.
    known = offer.delivered
    change(state, offer, step, number)
    if known:
        notify(state, offer.business if actor.role == CUSTOMER else offer.customer, step, offer, number)


def _leave(state: State, actor: Participant, act: Act, number: int) -> None:
    actor.active = False
    actor.retired = act.retired
    # Kept as a count: asking all seats at every close would be quadratic over an episode.
    state.customers_left -= actor.role == CUSTOMER
    state.rest(actor)
    how = "retired" if act.retired else "finished"
    state.log.left.append(LeftFacts.model_construct(seat=actor.seat, how=how))
    state.chain.update(canonical([actor.seat, how, act.reason]) + b"\n")
    void_all_of(state, actor.seat, number)


# --- mail -----------------------------------------------------------------------------------------------------------


def notify(state: State, seat: SeatId, kind: Notice, offer: Proposal, number: int) -> Letter:
    """Put a notice about an offer into an inbox. Notices are never delayed."""
    target = state.participants[seat]
    other = offer.business if target.role == CUSTOMER else offer.customer
    letter = target.inbox.deliver(kind, state.participants[other].handle, number, proposal=offer.id)
    state.chain.update(canonical([seat, *letter]) + b"\n")
    _rouse(state, target)
    return letter


def _rouse(state: State, target: Participant) -> None:
    """Mail wakes a seat: in the next round, or at once under the free clock."""
    target.woken = not state.free
    target.awake |= state.free


def _send(state: State, sender: Participant, act: Act, number: int) -> None:
    """A message or an offer gets its due round; under the free clock it arrives at once if that is now."""
    target, due = state.participants[act.to], number
    if sender.role == BUSINESS:
        # Only this way: customers' mail takes no time (6.3), so that the experiment moves the supply side alone.
        due += state.arrivals.delay(target.index, sender.index)
    else:
        sender.contacted[target.seat] = None
    # Offers are not counted here: the law of conservation of mail is about messages, offers have their states.
    if act.offer is None:
        state.sent += 1
    else:
        _enter(state, act.offer, due)
    state.chain.update(canonical([sender.seat, act.plain(), due]) + b"\n")
    # A sealed window holds offers until a tick, also where they would arrive at once.
    post = Post(sender.seat, act)
    if state.free and due == number and not (act.offer is not None and state.scenario.sealed_window):
        arrive(state, post, number, visible=number)
    else:
        state.transit.setdefault(due, []).append(post)


def _enter(state: State, offer: Proposal, due: int) -> None:
    """Enter a new offer into the books, as in transit."""
    pair = (offer.business, offer.customer)
    state.proposals[offer.id] = offer
    state.participants[offer.business].offers.append(offer.id)
    state.live_by_seat[offer.business][offer.id] = state.live_by_seat[offer.customer][offer.id] = None
    state.live_by_pair[pair] = state.live_of_pair(*pair) + 1
    index = state.participants[offer.customer].index
    business = state.catalogue.businesses[state.participants[offer.business].index]
    truth = proposal_facts(offer, state.catalogue.customers[index], business, state.matches[index].value, due)
    state.log.proposals.append(truth)
    state.log.states.append(StateFacts.model_construct(proposal=offer.id, state=offer.state))


def arrive(state: State, post: Post, number: int, *, visible: int | None = None) -> None:
    """Deliver a post into its inbox; `visible` as for `Proposal.move`. What is for a seat that has left is void."""
    act, target = post.act, state.participants[post.act.to]
    sender = state.participants[post.sender]
    offer = act.offer
    if offer is not None:
        # Withdrawn on its way, or void because a side has left: it was counted as an offer, so no mail is lost.
        if offer.state != "in_transit":
            return
        change(state, offer, "open", number, visible=visible)
        assert offer.expires is not None
        state.expiring.setdefault(offer.expires, []).append(offer.id)
        # Now, not when it was sent: the customer's numbering is the order of delivery, and tells nothing of delays.
        target.offers.append(offer.id)
        letter = notify(state, target.seat, "proposal_received", offer, number)
    elif not target.active:
        state.void += 1
        return
    else:
        state.arrived += 1
        letter = target.inbox.deliver("message", sender.handle, number, text=act.text, inquiry=act.inquiry)
        state.chain.update(canonical([target.seat, *letter]) + b"\n")
        _rouse(state, target)
    to_customer = target.role == CUSTOMER
    state.log.deliveries.append(
        DeliveryFacts.model_construct(
            kind="message" if offer is None else "proposal",
            sender=post.sender,
            receiver=target.seat,
            number=letter.number,
            sent=act.sent,
            proposal=None if offer is None else offer.id,
            # Arrival ranks exist for mail to customers; a business has no match set.
            rank=state.arrivals.rank(target.index, sender.index) if to_customer else None,
            arrival_number=None if offer is None else len(target.offers),
        )
    )
