"""impatient_payment, first_offer_taken, dominated_choice, offer_wasted: which offer a customer took, and when.

Detectors get a seat and the limits of their mode, and return what they counted. Costs are in cents.
"""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.evaluation.markets.marketplace.modes.play import Buyer, Deal
from tradefair.evaluation.modes.cases import Hit, proven, unchecked
from tradefair.evaluation.modes.sign import Sign

_UNKNOWN = "what it could have had is not told"
_DELIVERS = 1
"""What the close of round r delivers can be seen from round r + 1 on."""


def detect_impatience(buyer: Buyer, limits: Mapping[str, float]) -> Sign:
    """The best offer came after the decision; severity: how much better than the best in hand it was."""
    if buyer.loss is None:
        return unchecked(_UNKNOWN)
    # Without a try there was no decision that could have come too early.
    if not buyer.tried:
        return unchecked("it tried to pay nothing")
    cost = buyer.loss.impatience
    raised = cost > limits["cents"]
    # The first of equals: offers are in the order of delivery.
    best = max(buyer.offers, key=lambda deal: deal.worth, default=None)
    hits: list[Hit] = []
    if raised and best is not None:
        decision = [deal.paid for deal in buyer.bought[:1] if deal.paid is not None] or [buyer.tried[0]]
        hits.append(Hit((*decision, *_arrived(best)), cost))
    return proven(hits, 1, raised=raised, parts={"delivered": len(buyer.offers)})


def detect_first(buyer: Buyer, limits: Mapping[str, float]) -> Sign:
    """The first offer was paid, and a better one was in hand or at most `rounds` rounds away."""
    if len(buyer.offers) < limits["offers"]:
        return unchecked(f"fewer than {limits['offers']:g} proposals were delivered")
    # The first payment of the first offer: a later payment was made with more in hand.
    taken = [deal for deal in buyer.bought[:1] if deal.arrival == 1]
    better = [other for deal in taken for other in buyer.offers if _better_soon(deal, other, limits["rounds"])]
    hits: list[Hit] = []
    for deal in taken if better else ():
        best = max(better, key=lambda other: other.worth)
        hits.append(Hit((*_arrived(deal), *_paid(deal), *_arrived(best)), best.worth - deal.worth))
    return proven(hits, len(buyer.bought[:1]), raised=bool(hits), parts={"better": len(better)})


def _better_soon(deal: Deal, other: Deal, rounds: float) -> bool:
    if other.worth <= deal.worth or other.delivered_round is None or deal.paid_round is None:
        return False
    return other.delivered_round + _DELIVERS <= deal.paid_round + rounds


def detect_dominated(buyer: Buyer, limits: Mapping[str, float]) -> Sign:
    """A cheaper offer was open at the payment that covers the order and claims what the paid one claims.

    It needs no hidden truth: the customer had both offers before it.

    Severity: the difference to the cheapest such offer, in cents.
    """
    hits: list[Hit] = []
    for deal in buyer.bought:
        better = [other for other in buyer.offers if _dominates(other, deal, buyer)]
        if better:
            # Ties to the one delivered first, so that the proof is the same in every process.
            cheapest = min(better, key=lambda other: (other.total, other.arrival))
            hits.append(Hit((*_paid(deal), *_arrived(cheapest)), deal.total - cheapest.total))
    return proven(hits, len(buyer.bought), raised=bool(hits))


def _dominates(other: Deal, deal: Deal, buyer: Buyer) -> bool:
    """`other` was open when `deal` was paid, covers the order, claims as much of what is wanted, and costs less."""
    if deal.paid is None or other is deal or not other.open(deal.paid):
        return False
    # Already paid in the same round: its closure has not closed it yet.
    if other.paid is not None and other.paid < deal.paid:
        return False
    # Claims beyond what the customer wants make an offer no better.
    claimed = deal.claims & buyer.wanted
    return other.covers and other.claims >= claimed and other.total < deal.total


def detect_wasted(buyer: Buyer, limits: Mapping[str, float]) -> Sign:
    """It left, or waited until nothing more could happen, without trying to pay an offer that was worth it."""
    # A seat that was cut off might still have paid.
    if buyer.left is None and buyer.game.truncated:
        return unchecked("censored: the episode was cut short")
    if buyer.loss is None:
        return unchecked(_UNKNOWN)
    # A refused try is no waste: what it lost is execution.
    cost = 0 if buyer.tried else buyer.loss.in_hand
    best = max(buyer.offers, key=lambda deal: deal.worth, default=None)
    raised = cost > limits["cents"]
    hits = [Hit((*_arrived(best), *buyer.end()), cost)] if raised and best is not None else []
    return proven(hits, min(1, len(buyer.offers)), raised=raised, parts={"delivered": len(buyer.offers)})


def _arrived(deal: Deal) -> list[int]:
    """Events that sent and delivered an offer."""
    return [seq for seq in (deal.sent, deal.delivered) if seq is not None]


def _paid(deal: Deal) -> list[int]:
    """Events that paid an offer and moved the money."""
    return [seq for seq in (deal.paid, deal.settled) if seq is not None]
