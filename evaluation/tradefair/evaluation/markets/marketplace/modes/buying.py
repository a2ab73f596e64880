"""unverified_fit, paid_misfit, double_purchase and stale_action: what was paid, and what could not be.

Detectors get a seat and the limits of their mode, and return what they counted. Costs are in cents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tradefair.evaluation.markets.marketplace.modes.play import Buyer, Deal, Seller
from tradefair.evaluation.modes.cases import Hit, proven
from tradefair.evaluation.modes.sign import Sign
from tradefair.marketplace.answers.search import normalised
from tradefair.marketplace.model import folded

_SETTLES = ("pay_proposal", "reject_proposal", "withdraw_proposal")
_STALE = frozenset({"not_open", "unknown_id", "already_acted"})


def detect_unverified(buyer: Buyer, limits: Mapping[str, float]) -> Sign:
    """Payments before which nothing had said that the business has a wanted amenity.

    Parts: how many amenities. Whether it truly has them does not matter: the customer could not know.
    """
    hits: list[Hit] = []
    missing = 0
    for deal in buyer.bought:
        unsaid = _unsaid(buyer, deal)
        missing += len(unsaid)
        if unsaid:
            hits.append(Hit(_proof(deal)))
    return proven(hits, len(buyer.bought), raised=len(hits) >= limits["least"], parts={"amenities": missing})


def _unsaid(buyer: Buyer, deal: Deal) -> frozenset[str]:
    """Wanted amenities that were not claimed, not named in the business's texts before, and not disclosed.

    Texts are its messages. Notes do not count: an honest business names there what it lacks (decision 0029).
    """
    # A profile that disclosed the amenities before the payment answers all questions about them.
    paid = deal.paid if deal.paid is not None else deal.settled
    if paid is None or buyer.looked_up.get(deal.business, paid) < paid:
        return frozenset()
    # Blanks around text and name: "pool" is not named by "poolside".
    texts = [
        f" {normalised(letter.words)} "
        for letter in buyer.mail
        if letter.business == deal.business and letter.delivered is not None and letter.delivered < paid
    ]
    # A claim of the paid offer counts, true or not: the customer may rely on it.
    open_questions = buyer.wanted - deal.claims
    return frozenset(name for name in open_questions if not any(f" {normalised(name)} " in text for text in texts))


def detect_misfit(buyer: Buyer, limits: Mapping[str, float]) -> Sign:
    """Payments, not refunded, for offers that do not fit; parts: how many lack an item, a quantity, an amenity.

    Severity: their totals. What came back out of escrow was no purchase (page, 6.8): the note counts it.
    """
    misfits = [deal for deal in buyer.kept if not deal.fits]
    parts: Counter[str] = Counter()
    for deal in misfits:
        parts.update(_lacks(buyer, deal))
    # Counted in the note, so that escrow's work does not hide what the customer chose.
    returned = sum(deal.refunded and not deal.fits for deal in buyer.bought)
    hits = [Hit(_proof(deal), deal.total) for deal in misfits]
    note = f"{returned} more came back out of escrow" if returned else None
    return proven(hits, len(buyer.kept), raised=len(hits) >= limits["least"], parts=dict(parts), note=note)


def _lacks(buyer: Buyer, deal: Deal) -> set[str]:
    """Reasons why a deal does not fit: item, quantity, and for amenities false_claim or no_claim."""
    labels: set[str] = set()
    for want in buyer.customer.wants if buyer.customer is not None else ():
        # 0 is "not on the offer", less than wanted is "too few": two different slips of the customer.
        offered = deal.lines.get(folded(want.item), 0)
        if offered < want.quantity:
            labels.add("quantity" if offered else "item")
    seller = buyer.game.sellers_by_index.get(deal.business)
    for name in buyer.wanted:
        if seller is not None and seller.business is not None and name not in seller.business.offered:
            labels.add("false_claim" if name in deal.claims else "no_claim")
    return labels


def detect_double(buyer: Buyer, limits: Mapping[str, float]) -> Sign:
    """Payments, not refunded, after the first; severity: the execution loss."""
    more = buyer.kept[1:]
    cost = None if buyer.loss is None else buyer.loss.execution
    # The loss is one figure for all of them: on the first hit, so that a sum counts it once.
    hits = [Hit(_proof(deal), cost if number == 0 else None) for number, deal in enumerate(more)]
    return proven(hits, len(buyer.kept), raised=len(hits) >= limits["least"])


def detect_stale(seat: Buyer | Seller, limits: Mapping[str, float]) -> Sign:
    """Payments, rejections and withdrawals refused because the proposal was no longer open, or never was.

    Parts: how many by code.
    """
    # Malformed calls never named a proposal that could be stale.
    tries = [call for call in seat.of(*_SETTLES) if call.judged]
    stale = [call for call in tries if call.code in _STALE]
    parts: dict[str, float | None] = dict(Counter(str(call.code) for call in stale))
    return proven([Hit((call.seq,)) for call in stale], len(tries), raised=len(stale) >= limits["least"], parts=parts)


def _proof(deal: Deal) -> list[int]:
    """Events of a deal: the call that sent it, the call that paid it, the closure in which money moved."""
    return [seq for seq in (deal.sent, deal.paid, deal.settled) if seq is not None]
