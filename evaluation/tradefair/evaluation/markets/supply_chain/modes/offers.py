"""stale_offer and unread_history: offers that follow nothing that happened in the market."""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.evaluation.arithmetic import ratio
from tradefair.evaluation.markets.supply_chain.modes.play import Act, Retail, SeatRound
from tradefair.evaluation.modes.cases import Hit, proven, unchecked
from tradefair.evaluation.modes.sign import Sign

LOOKS = frozenset({"view_market_history", "compare_prices", "summarize_item_sales", "score_slogan"})
"""Tools that give public_history, price, demand or slogan evidence; a test holds it to the tool table."""


def detect_stale(seat: Retail, limits: Mapping[str, float]) -> Sign:
    """Offers that stand for the third round although the last one had hardly sold, or sold out with buyers left."""
    # Two earlier rounds are needed to say that an offer stands for the third.
    standing = [row for row in seat.rounds if _posts(row) and row.before and row.before.before]
    stale = [row for row in standing if _same_since(row, int(limits["rounds"])) and _telling(row.before, limits)]
    return proven([Hit(row.offered()) for row in stale], len(standing), raised=len(stale) >= limits["least"])


def _posts(row: SeatRound) -> bool:
    """Whether the seat offers anything at a price in the round."""
    return any(price is not None for price in row.own.prices)


def _same_since(row: SeatRound, rounds: int) -> bool:
    """Whether the offer is that of all of the last `rounds` rounds, this one included."""
    for _ in range(rounds - 1):
        before = row.before
        if before is None or (before.own.prices, before.own.slogan) != (row.own.prices, row.own.slogan):
            # Prices and slogan together make an offer: either one changed is an answer to the market.
            return False
        row = before
    return True


def _telling(row: SeatRound | None, limits: Mapping[str, float]) -> bool:
    """Whether the sales of a round called for another offer."""
    through = None if row is None else row.sell_through
    if row is None or through is None:
        return False
    # Only items that were in stock: a visit to an empty shelf calls for bids, not for another price.
    turned_away = sum(failed for failed, held in zip(row.own.failed, row.own.available, strict=True) if held)
    # Two opposite signs: hardly anything sold (too expensive), or all of it with buyers turned away (too cheap).
    return through <= limits["sold"] or (through >= 1 and turned_away > 0)


def detect_unread(seat: Retail, limits: Mapping[str, float]) -> Sign:
    """Offers made without a look at what others posted and sold; a privileged seat needs none.

    Round 1 has no history, so it is left out.
    """
    if seat.privileged:
        return unchecked("privileged")
    made = [(row, act) for row in seat.rounds if row.round > 1 for act in row.actions("submit_offer")]
    blind = [act for row, act in made if not _looked(row, act)]
    # Often and several times: a share alone would be raised by a single offer.
    often = (ratio(len(blind), len(made)) or 0) >= limits["share"]
    return proven([Hit((act.seq,)) for act in blind], len(made), raised=often and len(blind) >= limits["least"])


def _looked(row: SeatRound, act: Act) -> bool:
    """Whether the seat had looked at the market in the same round, before the call."""
    return any(look.tool in LOOKS and look.accepted and look.seq < act.seq for look in row.acts)
