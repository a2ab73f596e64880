"""The steps in which a round closes and the next one opens: payments, mail, expiry, escrow, ratings, waking.

Marketplace page, sections 6.2, 6.3 and 6.8. Under the turn-based clock queued actions take effect here, sorted so
that the order in which seats acted leaves no mark. Under the free clock each took effect at once; a tick does the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Literal

from tradefair.contract import Clock, EndReason, SeatId
from tradefair.contract.chain import canonical
from tradefair.marketplace.engine.delivery import release_round
from tradefair.marketplace.engine.effects import arrive, carry_out, change, notify, pay, settle, void_all_of
from tradefair.marketplace.engine.facts import RatingFacts
from tradefair.marketplace.engine.ledger import ESCROW
from tradefair.marketplace.engine.participants import Act, ActKind, Participant, Post
from tradefair.marketplace.engine.proposals import Proposal
from tradefair.marketplace.model import BASIS_POINTS, BUSINESS, Streams, folded
from tradefair.marketplace.state import PHASE, State

_COMPLETED, _QUIESCENT, _MAX_ROUNDS = "terminated:completed", "terminated:quiescent", "truncated:max_rounds"

# Section 6.2, after the payments. The page lists finishes before sending; here offers are entered before a seat
# leaves, so that those of a seat that leaves become void together with its older ones.
_AFTER_PAYMENTS: tuple[tuple[ActKind, ...], ...] = (("reject",), ("withdraw",), ("message", "propose"), ("finish",))


# --- the close ------------------------------------------------------------------------------------------------------


def close(state: State, number: int) -> None:
    """Close round `number` in the order of section 6.2; under the free clock nothing is queued and it begins with
    expiry."""
    payments = sorted(
        (act.proposal for _, act in _queued(state, "pay")), key=lambda name: _drawn_first(state, number, name)
    )
    # First of all (6.2): a payment beats a rejection or a withdrawal of the same round.
    for name in payments:
        pay(state, state.proposals[name], number)
    for kinds in _AFTER_PAYMENTS:
        for actor, act in _queued(state, *kinds):
            carry_out(state, actor, act, number)
    # After the payments of the round: an offer can be paid in its last round.
    _expire(state, number)
    _verify_escrow(state, number)
    _renew_ratings(state)
    _deliver(state, number)
    state.rounds_closed += 1


def _queued(state: State, *kinds: ActKind) -> Iterator[tuple[Participant, Act]]:
    """Queued actions of some kinds, by seat and then in the order of the seat."""
    for participant in state.participants.values():
        for act in participant.queue:
            if act.kind in kinds:
                yield participant, act


def _drawn_first(state: State, number: int, name: str) -> tuple[float, str]:
    """Sort key of a payment. The order matters only where a business's capacity does not suffice for all."""
    customer = state.participants[state.proposals[name].customer].index
    return state.chance.uniform(Streams.SETTLE, number, customer, name), name


def _expire(state: State, number: int) -> None:
    # Rounds may have been skipped while no seat was awake, so that several can be due at once.
    for due in sorted(last for last in state.expiring if last <= number):
        for name in state.expiring.pop(due):
            offer = state.proposals[name]
            if offer.state == "open":
                change(state, offer, "expired", number)
                notify(state, offer.customer, "expired", offer, number)
                notify(state, offer.business, "expired", offer, number)


# --- escrow and ratings ---------------------------------------------------------------------------------------------


def _verify_escrow(state: State, number: int) -> None:
    # Popped: `open_next` reads the rest to know whether money still waits.
    for name in state.escrowed.pop(number, []):
        offer = state.proposals[name]
        true = _is_true(state, offer)
        payee = offer.business if true else offer.customer
        settle(state, offer, "release" if true else "refund", ESCROW, payee, number)
        step: Literal["delivered", "refunded"] = "delivered" if true else "refunded"
        change(state, offer, step, number)
        state.to_rate.append(offer)
        # The business keeps the order in its count: a refund gives no capacity back.
        if not true:
            state.participants[offer.customer].purchases -= 1
        for seat in (offer.customer, offer.business):
            notify(state, seat, step, offer, number)


def _is_true(state: State, offer: Proposal) -> bool:
    """Whether every line is on the menu and every claim is true."""
    business = state.catalogue.businesses[state.participants[offer.business].index]
    return "off_menu" not in offer.terms.flags and all(
        folded(claim) in business.offered for claim in offer.terms.claims
    )


def _renew_ratings(state: State) -> None:
    """rating = (w·rating_0 + s)/(w + n) over verified orders (section 6.8); base ranks follow."""
    # Taken out in any case: without reputation the list would grow for the whole episode.
    verified, state.to_rate = state.to_rate, []
    if not state.scenario.reputation or not verified:
        return
    changed: dict[int, None] = {}
    for offer in verified:
        index = state.participants[offer.business].index
        state.verified[index][0] += 1
        state.verified[index][1] += _is_true(state, offer)
        changed[index] = None
    weight = state.scenario.prior_weight
    for index in changed:
        business = state.catalogue.businesses[index]
        count, true = state.verified[index]
        # Exact: ratings decide the order of search results, and floats would differ between machines.
        first = Fraction(business.rating_bp, BASIS_POINTS)
        rating = state.ratings[index] = (weight * first + true) / (weight + count)
        state.log.ratings.append(
            RatingFacts.model_construct(
                business=business.id, numerator=rating.numerator, denominator=rating.denominator
            )
        )
        state.chain.update(canonical([business.id, count, true]) + b"\n")
    # Once for all changed ratings; each renewal sorts the directory.
    state.directory.renew(state.ratings)


# --- mail -----------------------------------------------------------------------------------------------------------


def _deliver(state: State, number: int) -> None:
    """Move what is due into the inboxes, in the order of section 6.3."""
    boxes: dict[SeatId, list[Post]] = {}
    for post in state.transit.pop(number, []):
        if not _held_back(state, post, number):
            boxes.setdefault(post.act.to, []).append(post)
    # In base order: the order in which seats sent must not show in the log or the digest, nor that of the data in mail.
    for seat in sorted(boxes, key=state.order.__getitem__):
        for post in _ordered(state, seat, boxes[seat], number):
            arrive(state, post, number)


def _held_back(state: State, post: Post, number: int) -> bool:
    """Whether a sealed window keeps an offer that is due now."""
    offer, seat = post.act.offer, post.act.to
    if offer is None or post.held or not state.scenario.sealed_window or offer.closed:
        return False
    released, opened = release_round(number, state.windows.get(seat), state.scenario.sealed_window)
    # Kept per customer, not per business: all offers due in a window are released together.
    if opened is not None:
        state.windows[seat] = opened
    # The last round of a window: what is due now goes out with what was held.
    if released == number:
        return False
    state.transit.setdefault(released, []).append(post._replace(held=True))
    return True


def _ordered(state: State, seat: SeatId, posts: Sequence[Post], number: int) -> list[Post]:
    """The posts that reach a seat in this round, in order of delivery."""
    target = state.participants[seat]
    senders = sorted({state.participants[post.sender].index for post in posts})
    if target.role == BUSINESS:
        order = state.arrivals.to_business(number, target.index, senders)
    else:
        order = state.arrivals.to_customer(number, target.index, senders)
    ordered = _by_sender(state, posts, order)
    if target.role == BUSINESS or not state.scenario.sealed_window:
        return ordered
    drawn = state.arrivals.released(number, target.index, senders)
    # Texts are never held and come first. Offers get a drawn order at their release: being first is worth nothing.
    texts = [post for post in ordered if post.act.offer is None]
    return texts + _by_sender(state, [post for post in ordered if post.act.offer is not None], drawn)


def _by_sender(state: State, posts: Sequence[Post], order: Sequence[int]) -> list[Post]:
    """Posts by sender in this order, and of one sender in order of sending."""
    # `sent` matters where a sealed window has held offers: they were put back behind younger ones of the same sender.
    rank = {index: position for position, index in enumerate(order)}
    return sorted(posts, key=lambda post: (rank[state.participants[post.sender].index], post.act.sent))


# --- the next round -------------------------------------------------------------------------------------------------


def open_next(state: State, number: int) -> None:
    """Open the round after `number`, skip to the next one in which something happens, or end the episode."""
    following = number + 1
    if state.free:
        _ring(state, following)
    else:
        _wake(state, following)
    if not state.customers_left and not state.escrowed:
        _end(state, _COMPLETED, number)
    elif not state.customers_left:
        # Without customers there is no trade. Only the money in escrow still comes to its end
        # (docs/explanation/why/marketplace.md).
        following = min(state.escrowed)
        state.ask_none()
    elif not state.free and not state.awaited():
        coming = _next_event(state, number)
        if coming is None:
            _end(state, _QUIESCENT, number)
        else:
            following = coming
            _wake(state, following)
    # After the reasons above: an episode that is over anyway was not truncated.
    if state.terminated is None and following > state.scenario.rounds_max:
        _end(state, _MAX_ROUNDS, number)
    state.clock = Clock(number if state.terminated else following, PHASE, state.clock.revision + 1)


def _wake(state: State, number: int) -> None:
    for participant in state.participants.values():
        participant.open_round(number)
    state.ask_the_awake()


def _ring(state: State, number: int) -> None:
    """Let a tick of the free clock reach the seats that have waited for it."""
    for participant in state.participants.values():
        if participant.active and participant.wake_round is not None and participant.wake_round <= number:
            # One tick per wait: without this every later tick would tell it again.
            participant.wake_round = None
            participant.awake = True
            participant.wakes += 1


def _next_event(state: State, number: int) -> int | None:
    """The earliest round after `number` in which a seat wakes, mail is due or escrow ends; None if there is none.

    An expiry before that comes first, because its notices wake seats; alone it keeps no episode going.
    """
    wakes = [seat.wake_round for seat in state.participants.values() if seat.active and seat.wake_round]
    coming = [due for due in (*wakes, *state.transit, *state.escrowed) if due > number]
    if not coming:
        return None
    first = min(coming)
    for due in sorted(last for last in state.expiring if number < last < first):
        if any(state.proposals[name].state == "open" for name in state.expiring[due]):
            return due
    return first


def _end(state: State, reason: EndReason, number: int) -> None:
    state.terminated = reason
    for seat in state.participants:
        void_all_of(state, seat, number)
    # Counted before the mail goes: the law of conservation needs every message sent to be arrived, moving or void.
    state.void += state.moving()
    state.transit.clear()
