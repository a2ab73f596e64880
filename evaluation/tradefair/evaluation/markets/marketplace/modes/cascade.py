"""Why a customer got nothing although it could have: the first link that broke on the way to a purchase. Pure.

The links are search, ask, wait, choose, pay, keep. Each of the modes below counts a customer that lost everything only
where its own link broke first, so that one failure is told once.
"""

from __future__ import annotations

from functools import partial

from tradefair.evaluation.markets.marketplace.modes.play import Buyer, Call, Deal, Letter
from tradefair.marketplace.model import folded

LINKS = (
    "query_miss",
    "shallow_outreach",
    "left_early",
    "impatient_payment",
    "paid_misfit",
    "offer_wasted",
    "payment_refused",
    "double_purchase",
)
"""The modes of which a customer that got nothing has exactly one, in the order of the links."""

PATIENCE = 2
"""Rounds after which a business that was asked and has offered nothing is not waited for: its silence is no failure of
the customer. That is the patience of the scripted customers."""
_ANSWER = 1
"""Rounds that a business needs at least: it answers in the round after the delivery, and that arrives at the close."""


def lost(buyer: Buyer) -> bool:
    """Whether it got nothing although some business was worth its list price, and no limit cut it off."""
    return buyer.loss is not None and buyer.loss.utility <= 0 < buyer.loss.optimum and not buyer.censored


def explains(mode: str, buyer: Buyer) -> bool:
    """Whether a mode of `LINKS` may count this customer: it lost nothing, or its own link broke first."""
    return not lost(buyer) or broken_link(buyer) == mode


def broken_link(buyer: Buyer) -> str | None:
    """The mode that explains why a customer got nothing; None for others, and where no failure of its own was in it.

    The last is so where every business worth its list price was asked for the order, had `PATIENCE` rounds and offered
    nothing that was worth its total, and where all that was offered went to other customers (capacity).
    """
    loss = buyer.loss
    if loss is None or not lost(buyer):
        return None
    # An offer that was worth paying proves that search, asking and waiting had worked.
    if loss.offered > 0:
        return _after_offer(buyer)
    if loss.seen <= 0:
        return "query_miss"
    if loss.contacted <= 0:
        return "shallow_outreach"
    # What was paid for nothing explains more than what might still have come.
    if any(not deal.fits for deal in buyer.kept):
        return "paid_misfit"
    return _before_offer(buyer)


def _after_offer(buyer: Buyer) -> str | None:
    """With an offer in its inbox at some time that was worth paying."""
    loss, kept = buyer.loss, buyer.kept
    assert loss is not None
    if buyer.tried and loss.in_hand <= 0:
        return "impatient_payment"
    # Kept purchases that came to nothing: the first was bad, or the later ones ate what it had earned.
    if kept and not kept[0].fits:
        return "paid_misfit"
    if len(kept) > 1:
        return "double_purchase"
    if not kept and mistotalled(buyer):
        return "payment_refused"
    good = {deal.id for deal in buyer.offers if deal.worth > 0}
    return None if not kept and good <= buyer.crowded else "offer_wasted"


def _before_offer(buyer: Buyer) -> str | None:
    """Without any, although a business that was worth its list price was asked."""
    good = {business for business, worth in buyer.worths.items() if worth > 0}
    letters = [letter for letter in buyer.letters if letter.business in good]
    right = [letter for letter in letters if asks_for_order(buyer, letter)]
    # A business that offered unasked, at too high a total, counts as contacted; no letter of the customer did it.
    if letters and not right:
        return "shallow_outreach"
    if right and not any(map(partial(could_answer, buyer, rounds=_ANSWER), right)):
        return "left_early"
    waited = {letter.business for letter in right if could_answer(buyer, letter, rounds=PATIENCE)}
    waited |= {deal.business for deal in buyer.offers}
    if good & buyer.known - waited - {letter.business for letter in letters}:
        return "shallow_outreach"
    if good - buyer.known:
        return "query_miss"
    return "left_early" if good - waited else None


def asks_for_order(buyer: Buyer, letter: Letter) -> bool:
    """Whether a letter asks for all that the customer wants; prose, which no rule reads, is believed to."""
    if letter.asked is None or buyer.customer is None:
        return True
    return not lacking(buyer, letter)


def lacking(buyer: Buyer, letter: Letter) -> list[str]:
    """Wanted items and amenities that the list of an inquiry leaves out, or items of which it asks too few."""
    asked, customer = letter.asked, buyer.customer
    if asked is None or customer is None:
        return []
    items = [want.item for want in customer.wants if asked.lines.get(folded(want.item), 0) < want.quantity]
    return items + [name for name in customer.amenities if folded(name) not in asked.amenities]


def could_answer(buyer: Buyer, letter: Letter, rounds: int) -> bool:
    """Whether the customer stayed for an answer that takes so many rounds after the delivery of a letter."""
    if letter.delivered_round is None:
        return False
    # It sees in the next round what a close has delivered, so it has to be there one round longer.
    return (buyer.left or buyer.game.last_round) > letter.delivered_round + rounds


def mistotalled(buyer: Buyer) -> list[tuple[Call, Deal]]:
    """Payments refused because they named another total than the open offer's, of offers that it never paid."""
    known = {deal.id: deal for deal in buyer.offers if deal not in buyer.bought}
    refused = [call for call in buyer.of("pay_proposal") if call.code == "total_changed"]
    named = [(call, known.get(str(call.arguments.get("proposal")))) for call in refused]
    return [(call, deal) for call, deal in named if deal is not None]
