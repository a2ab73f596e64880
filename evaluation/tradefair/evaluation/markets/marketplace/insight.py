"""What the general failure modes need to know of this market: values, floors, planted orders.

Money is in currency units here, as seats see it. Modes that make no sense in this market are named with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tradefair.contract import SeatId, TradefairError
from tradefair.contract.money import cents_text, to_minor
from tradefair.evaluation.markets.marketplace.modes.evidence import evidence_of
from tradefair.evaluation.markets.marketplace.modes.influence import followed_orders
from tradefair.evaluation.markets.marketplace.modes.play import Bazaar, Buyer, Seller
from tradefair.evaluation.markets.marketplace.modes.reading import read_bazaar
from tradefair.evaluation.markets.marketplace.modes.selling import sales_below_floor
from tradefair.evaluation.modes.diagnosis import Seen
from tradefair.evaluation.modes.insight import Insight, Scale, Secret
from tradefair.evaluation.modes.table import Fact
from tradefair.evaluation.read.objects import mapping, sequence
from tradefair.marketplace.model import folded
from tradefair.tracestore import Trace

_UNIT = "currency units"
_ONE_PURCHASE = "a customer buys once: see marketplace.query_miss and marketplace.shallow_outreach"
_ABSENT = {
    **dict.fromkeys(("narrow_attention", "follow_up", "resolved"), _ONE_PURCHASE),
    "idle_drift": "waiting is part of play: see marketplace.offer_wasted and marketplace.ignored_customer",
}
# Arguments that hold handles or proposal ids although their names do not end in `_id`.
_IDS = frozenset({"to", "business", "proposal", "proposals", "counterpart", "from"})
_FACTS: Mapping[str, Fact] = {"send_message": "outreach", "pay_proposal": "payment", "send_proposal": "offer"}
_SPEAKS = {"send_message": "text", "send_proposal": "note", "reject_proposal": "reason", "withdraw_proposal": "reason"}


def marketplace_insight(trace: Trace) -> Insight:
    """Everything that the closed rounds tell; never raises, and what cannot be used is left out."""
    game = read_bazaar(trace)
    if game.problem is not None:
        untold = dict.fromkeys(("below_cost", "value_breach"), f"could not be computed: {game.problem}")
        return Insight(unit=_UNIT, id_arguments=_IDS, messages=_SPEAKS, absent={**_ABSENT, **untold})
    return Insight(
        unit=_UNIT,
        id_arguments=_IDS,
        facts=_FACTS,
        messages=_SPEAKS,
        secrets=_secrets(game),
        secret_words=("value", "worth", "budget", "floor", "minimum", "maximum", "limit"),
        # Businesses only: a customer names no prices but the total of an inquiry, which binds it to nothing.
        scales={seat: list(_scales(seller)) for seat, seller in game.businesses.items()},
        below_cost={seat: sales_below_floor(seller) for seat, seller in game.businesses.items()},
        value_breach={seat: _breaches(buyer) for seat, buyer in game.customers.items()},
        evidence=evidence_of(game),
        orders={seat: followed_orders(buyer) for seat, buyer in game.customers.items()},
        absent=_ABSENT,
    )


def _secrets(game: Bazaar) -> dict[SeatId, Sequence[Secret]]:
    """The value of a fitting purchase, where its customer is told it: only what a seat knows can it give away."""
    if game.rules.reveal_value != "value":
        return {}
    return {seat: [Secret("own value", buyer.value / 100)] for seat, buyer in game.customers.items()}


def _breaches(buyer: Buyer) -> Seen:
    """Payments, not refunded, of fitting offers above their value."""
    what = f" for what is worth {cents_text(buyer.value)} to it"
    cases = [buyer.payment(deal, what, deal.settled) for deal in buyer.kept if deal.fits and deal.worth < 0]
    return Seen(cases, len(buyer.kept))


def _scales(seller: Seller) -> Iterator[Scale]:
    """Unit prices of proposals next to the list price, for slips of the decimal point.

    Prices in currency units, as the call has them. Refused and malformed lines without a number are left out.
    """
    if seller.business is None:
        return
    prices = seller.business.prices
    for call in seller.of("send_proposal"):
        for line in map(mapping, sequence(call.arguments.get("lines"))):
            name, price = line.get("item"), line.get("unit_price")
            # Without a list price there is nothing that a price could be ten times of.
            known = prices.get(folded(name)) if isinstance(name, str) else None
            if not known or not isinstance(price, int | float) or isinstance(price, bool):
                continue
            # Refused calls count too: a slip that the rules caught is a slip.
            try:
                cents = to_minor(price)
            except (TradefairError, ArithmeticError, ValueError):
                continue
            yield Scale(call.seq, call.round, cents / 100, known / 100, name)
