"""stale_offer and unread_history: offers that follow nothing that happened in the market."""

from __future__ import annotations

from collections.abc import Iterator

from tradefair.evaluation.markets.supply_chain.modes.play import Retail, SeatRound, printed
from tradefair.evaluation.modes.diagnosis import Case, Part, Seen, unchecked
from tradefair.evaluation.read.rounds import Did

LOOKS = frozenset({"view_market_history", "compare_prices", "summarize_item_sales", "score_slogan"})
"""Tools that give public_history, price, demand or slogan evidence; a test holds it to the tool table."""


def detect_stale(seat: Retail, *, rounds: int, sold: Part) -> Seen:
    """Offers left as they were although the last round had hardly sold, or sold out with buyers left.

    `rounds`: that the offer stands unchanged, this one included; `sold`: a sell-through that hardly sold.
    """
    cases: list[Case] = []
    standing = 0
    for row in seat.rounds:
        kept = _kept(row, rounds)
        standing += kept is not None
        before = row.before
        if kept and before is not None and _telling(before, sold):
            units, there, failed = sum(before.own.sold), sum(before.own.available), sum(before.own.failed)
            after = f"{units} of {there} units sold and {failed} visits failed"
            what = f"the offer of round {row.round - rounds + 1} again, after {after}"
            cases.append(row.case(row.offer, what, shown_by=before.closed))
    return Seen(cases, standing)


def _kept(row: SeatRound, rounds: int) -> bool | None:
    """Whether the offer is that of the last `rounds` rounds, this one included; None where none stood so long."""
    first = row
    for _ in range(rounds - 1):
        if first.before is None:
            return None
        first = first.before
        if (first.own.prices, first.own.slogan) != (row.own.prices, row.own.slogan):
            # Prices and slogan together make an offer: either one changed is an answer to the market.
            return False
    return any(price is not None for price in row.own.prices) or None


def _telling(row: SeatRound, hardly: float) -> bool:
    """Whether the sales of a round called for another offer."""
    through = row.sell_through
    if through is None:
        return False
    # Only items that were in stock: a visit to an empty shelf calls for bids, not for another price.
    turned_away = sum(failed for failed, held in zip(row.own.failed, row.own.available, strict=True) if held)
    # Two opposite signs: hardly anything sold (too expensive), or all of it with buyers turned away (too cheap).
    return through <= hardly or (through >= 1 and turned_away > 0)


# --- looks ------------------------------------------------------------------------------------------------------------


def detect_unread(seat: Retail, *, off: Part) -> Seen:
    """Offers made without a look at what others posted and sold, with a price that a look would have questioned.

    Such a price lies off rivals' mean sold price of the last round by the share `off` of it. A privileged seat needs no
    look. Round 1 has no history, so it is left out.
    """
    if seat.privileged:
        return unchecked("privileged")
    made = [(row, before, act) for row in seat.rounds if (before := row.before) for act in row.actions("submit_offer")]
    cases: list[Case] = []
    for row, before, act in made:
        apart, item, price, others = max(_apart(row, before), default=(0.0, 0, 0, 0.0))
        if apart >= off and not _looked(row, act):
            posted = f"posted {row.item(item)} at {printed(price)} without a look at the market"
            what = f"{posted}; rivals sold at {printed(others)} in round {before.round}"
            cases.append(row.case(act.seq, what, shown_by=before.closed))
    return Seen(cases, len(made))


def _apart(row: SeatRound, before: SeatRound) -> Iterator[tuple[float, int, int, float]]:
    """By what share each price lies off what rivals took in the round before, then item, price, and theirs."""
    for item, price in enumerate(row.own.prices):
        if price is not None and (others := before.others_mean(item)):
            yield abs(price / others - 1), item, price, others


def _looked(row: SeatRound, act: Did) -> bool:
    """Whether the seat had looked at the market in the same round, before the call."""
    return any(look.tool in LOOKS and look.accepted and look.seq < act.seq for look in row.did)
