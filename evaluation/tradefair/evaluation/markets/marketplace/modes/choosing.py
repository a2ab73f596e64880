"""first_offer_taken, dominated_choice, offer_wasted: which offer a customer took, and which it let go."""

from __future__ import annotations

from pydantic import NonNegativeInt, PositiveInt

from tradefair.contract.money import cents_text
from tradefair.evaluation.markets.marketplace.modes.buying import mistotalled
from tradefair.evaluation.markets.marketplace.modes.play import Buyer, Deal
from tradefair.evaluation.modes.diagnosis import Case, Seen, unchecked

_DELIVERS = 1
"""What the close of round r delivers can be seen from round r + 1 on."""


def detect_first(buyer: Buyer, *, offers: PositiveInt, rounds: NonNegativeInt) -> Seen:
    """The first offer was paid, and a better one was in hand or at most `rounds` rounds away.

    Unchecked where fewer than `offers` were delivered.
    """
    if len(buyer.offers) < offers:
        return unchecked(f"fewer than {offers} proposals were delivered")
    # The first payment of the first offer: a later payment was made with more in hand.
    first = buyer.bought[:1]
    cases: list[Case] = []
    for deal in first if first and first[0].arrival == 1 else ():
        better = [other for other in buyer.offers if _better_soon(deal, other, rounds)]
        if better:
            best = max(better, key=lambda other: other.worth)
            other = f"{buyer.name(best.business)} offered its order for {cents_text(best.total)}"
            what = f", its first offer; {other}, there from round {best.delivered_round}"
            cases.append(buyer.payment(deal, what, best.delivered))
    return Seen(cases, len(first))


def _better_soon(deal: Deal, other: Deal, rounds: int) -> bool:
    if other.worth <= deal.worth or other.delivered_round is None or deal.paid_round is None:
        return False
    return other.delivered_round + _DELIVERS <= deal.paid_round + rounds


def detect_dominated(buyer: Buyer) -> Seen:
    """A cheaper offer was open at the payment that covers the order and claims what the paid one claims.

    It needs no hidden truth: the customer had both offers before it.
    """
    cases: list[Case] = []
    for deal in buyer.bought:
        # What found no capacity was no choice.
        known = [other for other in buyer.offers if other.id not in buyer.crowded and _open_beside(other, deal)]
        better = [other for other in known if _dominates(other, deal, buyer)]
        if better:
            # Ties to the one delivered first, so that the proof is the same in every process.
            best = min(better, key=lambda other: (other.total, other.arrival))
            what = f", {buyer.name(best.business)} asked {cents_text(best.total)} for as much and was open"
            cases.append(buyer.payment(deal, what, best.delivered))
    return Seen(cases, len(buyer.bought))


def _open_beside(other: Deal, deal: Deal) -> bool:
    if deal.paid is None or other is deal or not other.open(deal.paid):
        return False
    # Already paid in the same round: its closure has not closed it yet.
    return other.paid is None or other.paid > deal.paid


def _dominates(other: Deal, deal: Deal, buyer: Buyer) -> bool:
    """`other` covers the order, claims as much of what is wanted, and costs less."""
    # Claims beyond what the customer wants make an offer no better.
    return other.covers and other.claims >= deal.claims & buyer.wanted and other.total < deal.total


def detect_wasted(buyer: Buyer) -> Seen:
    """No payment of it was accepted, with an offer in hand that served its order for less than it was worth.

    Cited is the last thing that it did before the best of these offers closed.
    """
    # A seat that was cut off might still have paid.
    if buyer.left is None and buyer.game.truncated:
        return unchecked("censored: the episode was cut short")
    # What found no capacity was no choice; a wrong total is told by payment_refused.
    told = {*buyer.crowded, *(deal.id for _, deal in mistotalled(buyer))}
    good = [deal for deal in buyer.offers if deal.worth > 0 and deal.id not in told]
    cases: list[Case] = []
    if good and not any(call.accepted for call in buyer.of("pay_proposal")):
        best = max(good, key=lambda deal: deal.worth)
        # Included is the call that closed the offer itself, as under the free clock.
        seq, number = buyer.last(None if best.closed is None else best.closed + 1)
        because = f"round {number}: it paid nothing and let an offer go; {buyer.name(best.business)}'s offer of "
        because += f"{cents_text(best.total)} was there from round {best.delivered_round}"
        cases.append(Case(seq, number, because, shown_by=best.delivered, about=best.id))
    return Seen(cases, min(1, len(buyer.offers)), {"delivered": len(buyer.offers)})
