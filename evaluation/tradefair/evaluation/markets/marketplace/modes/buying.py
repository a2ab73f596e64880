"""unverified_fit, paid_misfit, double_purchase and payment_refused: what was paid, and what could not be."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from tradefair.contract.money import cents_text
from tradefair.evaluation.markets.marketplace.modes.play import Buyer, Deal
from tradefair.evaluation.modes.diagnosis import Case, Seen
from tradefair.evaluation.read.rounds import Did
from tradefair.marketplace.answers.search import normalised
from tradefair.marketplace.model import folded


def detect_unverified(buyer: Buyer) -> Seen:
    """Payments before which nothing had said that the business has a wanted amenity.

    Parts: how many amenities. Whether it truly has them does not matter: the customer could not know.
    """
    cases: list[Case] = []
    missing = 0
    for deal in buyer.bought:
        unsaid = _unsaid(buyer, deal)
        missing += len(unsaid)
        if unsaid:
            what = f", nothing had said whether it has {', '.join(sorted(unsaid))[:60]}"
            cases.append(buyer.payment(deal, what, deal.settled))
    return Seen(cases, len(buyer.bought), {"amenities": missing})


def _unsaid(buyer: Buyer, deal: Deal) -> frozenset[str]:
    """Wanted amenities that were not claimed, not named in the business's texts before, and not disclosed.

    Texts are its messages. Notes do not count: an honest business names there what it lacks.
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


def detect_misfit(buyer: Buyer) -> Seen:
    """Payments, not refunded, for offers that do not fit; parts: how many lack an item, a quantity, an amenity.

    What came back out of escrow was no purchase: the note counts it.
    """
    misfits = [deal for deal in buyer.kept if not deal.fits]
    parts: Counter[str] = Counter()
    cases: list[Case] = []
    for deal in misfits:
        lacks = _lacks(buyer, deal)
        # In one order: that of a set differs from process to process.
        parts.update(sorted(lacks))
        what = f", worth 0.00 to it: {_LACKS[min(lacks)] if lacks else 'the offer does not fit'}"
        cases.append(buyer.payment(deal, what, deal.settled))
    # Counted in the note, so that escrow's work does not hide what the customer chose.
    returned = sum(deal.refunded and not deal.fits for deal in buyer.bought)
    note = f"{returned} more came back out of escrow" if returned else None
    return Seen(cases, len(buyer.kept), dict(parts), note=note)


_LACKS = {
    "item": "the offer lacks an item of its order",
    "quantity": "the offer holds too few of an item",
    "false_claim": "an amenity was claimed that the business has not",
    "no_claim": "the offer did not claim a wanted amenity",
}
"""In words, by label; the first by name is told."""


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


def detect_double(buyer: Buyer) -> Seen:
    """Payments, not refunded, after the first."""
    cases = [
        buyer.payment(
            deal,
            f", after {cents_text(earlier.total)} to {buyer.name(earlier.business)} for the same order",
            deal.settled,
        )
        for earlier, deal in pairwise(buyer.kept)
    ]
    return Seen(cases, len(buyer.kept))


def detect_refused(buyer: Buyer) -> Seen:
    """Payments refused because another total was stated than the open offer's, where the offer was never paid."""
    cases: list[Case] = []
    for call, deal in mistotalled(buyer):
        stated = call.arguments.get("expected_total")
        said = f"round {call.round}: payment to {buyer.name(deal.business)} refused: stated {stated}, the open total "
        said += f"was {cents_text(deal.total)}; it never paid that offer"
        cases.append(Case(call.seq, call.round, said, shown_by=deal.told, about=deal.id))
    return Seen(cases, len({call.arguments.get("proposal") for call in buyer.of("pay_proposal")}))


def mistotalled(buyer: Buyer) -> list[tuple[Did, Deal]]:
    """Payments refused because they named another total than the open offer's, of offers that it never paid."""
    known = {deal.id: deal for deal in buyer.offers if deal not in buyer.bought}
    refused = [call for call in buyer.of("pay_proposal") if call.code == "total_changed"]
    named = [(call, known.get(str(call.arguments.get("proposal")))) for call in refused]
    return [(call, deal) for call, deal in named if deal is not None]
