"""What each business sold, and whether it answered the customers who wrote to it."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from tradefair.contract import SeatId
from tradefair.evaluation.markets.marketplace.play import MarketPlay, names_of
from tradefair.evaluation.markets.marketplace.truth import Truth


class Business(NamedTuple):
    """One business; money in cents. `surplus` is Σ (total − floor) of its orders, refunded ones left out.

    `inquiries` counts customers' messages that reached it, `waits` holds the rounds that each answered one waited:
    until the next text or proposal to that customer. `proposals` counts those it sent, `misstated` those of them with
    a false claim.
    """

    seat: SeatId
    revenue: int
    orders: int
    surplus: int
    proposals: int
    misstated: int
    inquiries: int
    waits: tuple[int, ...]


def businesses_of(play: MarketPlay, truth: Truth) -> list[Business]:
    """All businesses, in registration order."""
    sent: dict[SeatId, list[str]] = {}
    for name, proposal in play.proposals.items():
        sent.setdefault(proposal.facts.business, []).append(name)
    return [_business(play, truth, seat, sent.get(seat, [])) for seat in truth.businesses]


def _business(play: MarketPlay, truth: Truth, seat: SeatId, sent: list[str]) -> Business:
    proposals = [play.proposals[name] for name in sent]
    orders = [proposal.facts for proposal in proposals if proposal.paid]
    return Business(
        seat=seat,
        # Also what is still in escrow (docs/explanation/why/marketplace.md): `in_escrow` of the market shows it.
        revenue=sum(order.total for order in orders),
        orders=len(orders),
        surplus=sum(order.total - order.floor for order in orders),
        proposals=len(sent),
        # Proposals and not claims: one false claim is enough to mislead its customer.
        misstated=sum(bool(proposal.facts.false_claims) for proposal in proposals),
        # Every message of a customer that reached it counts as an inquiry for the answer rate.
        inquiries=len(play.contacts.get(seat, ())),
        waits=_waits(play, truth, seat),
    )


def _waits(play: MarketPlay, truth: Truth, seat: SeatId) -> tuple[int, ...]:
    """Rounds between each answered message and the next text or proposal to its customer."""
    # One answer can end the wait of several messages: customers who ask twice expect one reply.
    answers: dict[SeatId, list[tuple[int, int]]] = {}
    for act in play.done(seat, "send_message", "send_proposal"):
        for name in names_of(act):
            customer = truth.seats.get(name)
            if customer is not None:
                answers.setdefault(customer, []).append((act.seq, act.round))
    waits: list[int] = []
    for contact in play.contacts.get(seat, ()):
        known = answers.get(contact.customer, [])
        # The first answer after the message; answers are in the order of events.
        following = bisect_right(known, contact.seq, key=lambda answer: answer[0])
        if following < len(known):
            waits.append(known[following][1] - contact.round)
    return tuple(waits)
