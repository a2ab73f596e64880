"""impatient_payment, first_offer_taken, dominated_choice, offer_wasted: which offer a customer took, and when."""

from __future__ import annotations

from tradefair.evaluation.markets.marketplace.modes.cascade import broken_link, explains, lost
from tradefair.evaluation.markets.marketplace.modes.play import Buyer, Deal, Lost, Moment, Near, money
from tradefair.evaluation.markets.marketplace.modes.searching import UNKNOWN
from tradefair.evaluation.modes.diagnosis import Case, Seen, unchecked

_DELIVERS = 1
"""What the close of round r delivers can be seen from round r + 1 on."""


def detect_impatience(buyer: Buyer, params: Lost) -> Seen:
    """The best offer came after the decision, and was clearly better than the best in hand."""
    if buyer.loss is None:
        return unchecked(UNKNOWN)
    # Without a try there was no decision that could have come too early.
    if not buyer.tried:
        return unchecked("it tried to pay nothing")
    cents = buyer.loss.impatience
    # The first of equals: offers are in the order of delivery.
    best = max(buyer.offers, key=lambda deal: deal.worth, default=None)
    cases: list[Case] = []
    if best and cents >= max(1, params.loss * buyer.loss.offered) and explains("impatient_payment", buyer):
        seq, number, deal = _decision(buyer)
        did = f"paid {money(deal.total)} to {buyer.name(deal.business)}" if deal else "tried to pay"
        late = f"round {best.delivered_round} brought one for {money(best.total)} from {buyer.name(best.business)}"
        said = f"round {number}: {did}; {late}, worth {money(cents)} more than the best in hand"
        cases.append(Case(seq, number, said, cents / 100, best.delivered, deal.id if deal else None))
    return Seen(cases, 1, {"delivered": len(buyer.offers)})


def _decision(buyer: Buyer) -> tuple[int, int, Deal | None]:
    """The call that paid first, or tried to, with its round and the paid offer."""
    for deal in buyer.bought[:1]:
        if deal.paid is not None and deal.paid_round is not None:
            return deal.paid, deal.paid_round, deal
    rounds = {call.seq: call.round for call in buyer.calls}
    return buyer.tried[0], rounds.get(buyer.tried[0], 0), None


def detect_first(buyer: Buyer, params: Near) -> Seen:
    """The first offer was paid, and a better one was in hand or at most `rounds` rounds away."""
    if len(buyer.offers) < params.offers:
        return unchecked(f"fewer than {params.offers} proposals were delivered")
    # The first payment of the first offer: a later payment was made with more in hand.
    cases: list[Case] = []
    for deal in buyer.bought[:1]:
        better = [other for other in buyer.offers if deal.arrival == 1 and _better_soon(deal, other, params.rounds)]
        best = max(better, key=lambda other: other.worth, default=None)
        if best is not None:
            gain = best.worth - deal.worth
            other = f"{buyer.name(best.business)}, there from round {best.delivered_round}"
            stood = f"its first offer; that of {other}, would have earned {money(gain)} more"
            cases.append(_payment(buyer, deal, stood, gain, best.delivered))
    return Seen(cases, len(buyer.bought[:1]))


def _better_soon(deal: Deal, other: Deal, rounds: int) -> bool:
    if other.worth <= deal.worth or other.delivered_round is None or deal.paid_round is None:
        return False
    return other.delivered_round + _DELIVERS <= deal.paid_round + rounds


def detect_dominated(buyer: Buyer) -> Seen:
    """A cheaper offer was open at the payment that covers the order and claims what the paid one claims.

    It needs no hidden truth: the customer had both offers before it. The cost is the difference to the cheapest such.
    """
    cases: list[Case] = []
    for deal in buyer.bought:
        # What found no capacity was no choice.
        known = [other for other in buyer.offers if other.id not in buyer.crowded and _open_beside(other, deal)]
        better = [other for other in known if _dominates(other, deal, buyer)]
        if better:
            # Ties to the one delivered first, so that the proof is the same in every process.
            cheapest = min(better, key=lambda other: (other.total, other.arrival))
            stood = f"{buyer.name(cheapest.business)} asked {money(cheapest.total)} for as much and was open"
            cases.append(_payment(buyer, deal, stood, deal.total - cheapest.total, cheapest.delivered))
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
    """It bought nothing with an offer in hand that was worth it, or let a dominating one go before it bought.

    Counted: a customer that tried nothing, or tried and gave up; offers that it rejected or left to expire and that
    were better, as it could see, than what it then paid.
    """
    # A seat that was cut off might still have paid.
    if buyer.left is None and buyer.game.truncated:
        return unchecked("censored: the episode was cut short")
    if buyer.loss is None:
        return unchecked(UNKNOWN)
    cases: list[Case] = []
    best = max(buyer.offers, key=lambda deal: deal.worth, default=None)
    if best is not None and broken_link(buyer) == "offer_wasted":
        cases.append(_untaken(buyer, best))
    elif not lost(buyer):
        cases += [case for deal in buyer.bought[:1] for case in _let_go(buyer, deal)]
    return Seen(cases, min(1, len(buyer.offers)), {"delivered": len(buyer.offers), "tried": len(buyer.tried)})


def _untaken(buyer: Buyer, best: Deal) -> Case:
    """The best offer of a customer that got nothing: cited is what it did with it last, or how it left."""
    about = [call for call in buyer.of("pay_proposal", "reject_proposal") if call.arguments.get("proposal") == best.id]
    refused = [call for call in about if not call.accepted]
    # What came after the offer had closed was too late to matter: the cause is the turn that let it lie.
    about = [call for call in about if best.closed is None or call.seq < best.closed]
    act = about[-1] if about else None
    seq, number = (act.seq, act.round) if act else _let_lie(buyer, best)
    did = "it ended without a payment"
    if act:
        did = "payment refused, " + str(act.code) if refused and act is refused[-1] else f"{act.tool} of that offer"
    since = f"{buyer.name(best.business)}'s offer of {money(best.total)} was there from round {best.delivered_round}"
    said = f"round {number}: {did}; {since} and would have earned {money(best.worth)}"
    return Case(seq, number, said, best.worth / 100, best.delivered, best.id)


def _let_lie(buyer: Buyer, deal: Deal) -> Moment:
    """The last thing that the customer did in the first turn in which it could have paid; else how it left."""
    could = [moment for moment in buyer.moments if deal.delivered is not None and moment.seq > deal.delivered]
    if not could or deal.closed is None:
        return buyer.last()
    first = could[0].round
    return max(moment for moment in could if moment.round == first)


def _let_go(buyer: Buyer, deal: Deal) -> list[Case]:
    """Offers that were closed unpaid before the first payment although they beat what was paid."""
    gone = [
        other
        for other in buyer.offers
        # What its business withdrew was not the customer's to take.
        if deal.paid is not None and other.closed is not None and other.closed < deal.paid and other.withdrawn is None
        if other.paid is None and other.id not in buyer.crowded and _dominates(other, deal, buyer)
    ]
    if not gone:
        return []
    best = min(gone, key=lambda other: (other.total, other.arrival))
    refusal = [
        call for call in buyer.of("reject_proposal") if call.accepted and call.arguments.get("proposal") == best.id
    ]
    closed = best.closed or 0
    moment = Moment(refusal[0].seq, refusal[0].round) if refusal else buyer.last(before=closed)
    did = "rejected" if refusal else "left to expire"
    said = (
        f"round {moment.round}: {did} {buyer.name(best.business)}'s offer of {money(best.total)}; "
        f"paid {money(deal.total)} to {buyer.name(deal.business)} in round {deal.paid_round}"
    )
    return [Case(moment.seq, moment.round, said, (deal.total - best.total) / 100, best.closed, best.id)]


def _payment(buyer: Buyer, deal: Deal, stood: str, cents: float, shown_by: int | None) -> Case:
    """A case about a payment: what was paid to which business, and what stood open."""
    seq, number = (deal.paid or deal.settled or deal.sent), deal.paid_round or 0
    said = f"round {number}: paid {money(deal.total)} to {buyer.name(deal.business)}, {stood}"
    return Case(seq, number, said, cents / 100, shown_by, deal.id)
