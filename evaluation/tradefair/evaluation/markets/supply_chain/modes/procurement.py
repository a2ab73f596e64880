"""overpay, floor_fixation, ignored_feedback and evidence_contradicted: bids against what the auction had told.

Detectors read one retailer's closed rounds up to its bankruptcy and find cases; the table says how many are too many.
Facts hold cents; cases show currency units.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tradefair.contract.money import currency
from tradefair.evaluation.markets.supply_chain.modes.play import (
    BidLine,
    Estimate,
    Retail,
    SeatRound,
    pass_phase,
    printed,
)
from tradefair.evaluation.markets.supply_chain.seat import line_regret
from tradefair.evaluation.modes.diagnosis import Case, Part, Seen, unchecked
from tradefair.evaluation.read.rounds import Did


def detect_overpay(seat: Retail) -> Seen:
    """Money above the prices that would have won for sure, out of all that was spent; rivals' bids as they were."""
    cases: list[Case] = []
    for row in seat.rounds:
        for line in row.lines:
            item, _, price, filled = line
            # The figure overpay_regret is the sum of these.
            over = line_regret(row.facts, seat.seat, line, seat.game.rules).overpaid
            if over > 0:
                bought = f"bought {filled} {row.item(item)} at {printed(price)}"
                what = f"{bought}; {printed(price - over / filled)} would have won them as well"
                cases.append(row.case(row.order, what, item=item, amount=currency(over)))
    return Seen(cases, currency(sum(row.own.spend for row in seat.rounds)))


# --- floor_fixation ---------------------------------------------------------------------------------------------------


def detect_floor(seat: Retail, *, filled: Part) -> Seen:
    """Bids at the floor that hardly win, below the disclosed price of the round before, the second in a row or later.

    Below the share `filled` of its units a line has hardly won. Not checked where marginal prices are not disclosed:
    the seat could not know better.
    """
    rules = seat.game.rules
    if rules.reveal not in ("summary", "book"):
        return unchecked(f"marginal prices are not disclosed: reveal = {rules.reveal}")
    # A line of 0 units asks for nothing.
    lines = [(row, before, line) for row in seat.rounds if (before := row.before) for line in row.lines if line[1] > 0]
    low = {(row.round, line[0]) for row, before, line in lines if _at_floor(row, before, line, filled)}
    cases: list[Case] = []
    for row, before, (item, asked, price, won) in lines:
        # Per item: bids at the floor on different items in turn are no stretch.
        if {(row.round, item), (row.round - 1, item)} <= low:
            marginal = printed(before.facts.passes[-1].marginal[item])
            bid = f"bid {printed(price)} for {asked} {row.item(item)} and won {won}"
            what = f"{bid}; the marginal price of round {before.round} was {marginal}"
            cases.append(row.case(row.order, what, item=item))
    return Seen(cases, len(lines))


def _at_floor(row: SeatRound, before: SeatRound, line: BidLine, filled: float) -> bool:
    """Whether a line bids at most a tick above the reserve, wins little, and lies below the last marginal price."""
    item, asked, price, won = line
    rules = row.seat.game.rules
    near = price <= rules.items[item].base_cents + rules.tick_cents
    return near and won < filled * asked and before.facts.passes[-1].marginal[item] > price


# --- ignored_feedback -------------------------------------------------------------------------------------------------


def detect_ignored(seat: Retail, *, filled: Part) -> Seen:
    """Vectors left as they were after a pass in which a line hardly won, out of the passes after such a one."""
    rules = seat.game.rules
    if rules.reveal == "none" or rules.bid_passes < 2:
        return unchecked("one pass per round" if rules.bid_passes < 2 else "passes tell nothing: reveal = none")
    of, cases = 0, list[Case]()
    for row in seat.rounds:
        for before, after in pairwise(row.facts.passes):
            first, then = (closed.lines.get(seat.seat, []) for closed in (before, after))
            short = _short(row, first, filled)
            of += short is not None
            # Without the units won, and in any order: only what the seat asked for.
            if short is not None and sorted(line[:3] for line in first) == sorted(line[:3] for line in then):
                cases.append(_ignored(row, short, after.bid_pass))
    return Seen(cases, of)


def _short(row: SeatRound, lines: Sequence[BidLine], filled: float) -> BidLine | None:
    """The first line of a pass that hardly won although there was money for a tick more per unit."""
    # Requested in full: that is what the budget of a vector counts.
    left = row.funds - sum(line[1] * line[2] for line in lines)
    tick = row.seat.game.rules.tick_cents
    return next((line for line in lines if line[3] < filled * line[1] and left >= tick * line[1]), None)


def _ignored(row: SeatRound, short: BidLine, later: int) -> Case:
    item, asked, price, filled = short
    short_of = f"pass {later - 1} filled {filled} of {asked} {row.item(item)} at {printed(price)}"
    seq = [*row.waived(pass_phase(later)), row.order][0]
    # The closure of the earlier pass is what told the seat.
    shown = row.seat.game.phases.get((row.round, pass_phase(later - 1)))
    return row.case(seq, f"{short_of}; pass {later} asked the same again", shown_by=shown)


# --- evidence_contradicted --------------------------------------------------------------------------------------------


def detect_contradicted(seat: Retail) -> Seen:
    """Bids below the lowest marginal price that the seat's own estimate of the phase had named."""
    if seat.privileged:
        return unchecked("privileged")
    judged = [
        (row, act, line, told)
        for row in seat.rounds
        for act in row.actions("submit_bids")
        for line in _settled_lines(row, act)
        if (told := _told(row, act, line[0])) is not None
    ]
    cases: list[Case] = []
    for row, act, (item, asked, price, filled), told in judged:
        # Below the lowest price of the estimate: at it, a bid may still win.
        if price < told.low:
            named = f"estimate of {row.item(item)} named {printed(told.low)} as the lowest price"
            what = f"{named}, then bid {printed(price)} for {asked} and won {filled}"
            cases.append(row.case(act.seq, what, item=item, shown_by=told.seq))
    note = f"{seat.unread} estimates are not in the trace" if seat.unread else None
    return Seen(cases, len(judged), note=note)


def _settled_lines(row: SeatRound, act: Did) -> list[BidLine]:
    """The lines of the pass to which an accepted call belongs, with the units that they won."""
    found = [closed.lines for closed in row.facts.passes if pass_phase(closed.bid_pass) == act.phase]
    return found[0].get(row.seat.seat, []) if found else []


def _told(row: SeatRound, act: Did, item: int) -> Estimate | None:
    """The latest estimate of the item in the phase, before the call; None where it rests on no observation."""
    place = (act.round, act.phase, item)
    asked = [
        known for known in row.seat.estimates if (known.round, known.phase, known.item) == place and known.seq < act.seq
    ]
    return asked[-1] if asked and asked[-1].n > 0 else None
