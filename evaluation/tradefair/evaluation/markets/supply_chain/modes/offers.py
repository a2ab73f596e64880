"""stale_offer and unread_history: offers that follow nothing that happened."""

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
    standing = [one for one in seat.rounds if _posts(one) and one.before and one.before.before]
    stale = [one for one in standing if _same_since(one, int(limits["rounds"])) and _telling(one.before, limits)]
    return proven([Hit(one.offered()) for one in stale], len(standing), raised=len(stale) >= limits["least"])


def _posts(one: SeatRound) -> bool:
    return any(price is not None for price in one.own.prices)


def _same_since(one: SeatRound, rounds: int) -> bool:
    """Whether the offer is that of all of the last `rounds` rounds, this one included."""
    for _ in range(rounds - 1):
        before = one.before
        if before is None or (before.own.prices, before.own.slogan) != (one.own.prices, one.own.slogan):
            return False
        one = before
    return True


def _telling(one: SeatRound | None, limits: Mapping[str, float]) -> bool:
    """Whether the sales of a round called for another offer."""
    through = None if one is None else one.sell_through
    if one is None or through is None:
        return False
    turned_away = sum(failed for failed, held in zip(one.own.failed, one.own.available, strict=True) if held)
    return through <= limits["sold"] or (through >= 1 and turned_away > 0)


def detect_unread(seat: Retail, limits: Mapping[str, float]) -> Sign:
    """Offers made without a look at what others posted and sold; a privileged seat needs none."""
    if seat.privileged:
        return unchecked("privileged")
    made = [(one, act) for one in seat.rounds if one.round > 1 for act in one.actions("submit_offer")]
    blind = [act for one, act in made if not _looked(one, act)]
    often = (ratio(len(blind), len(made)) or 0) >= limits["share"]
    return proven([Hit((act.seq,)) for act in blind], len(made), raised=often and len(blind) >= limits["least"])


def _looked(one: SeatRound, act: Act) -> bool:
    return any(look.tool in LOOKS and look.accepted and look.seq < act.seq for look in one.acts)
