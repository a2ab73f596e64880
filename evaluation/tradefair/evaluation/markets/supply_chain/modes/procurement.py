"""overpay, floor_fixation, ignored_feedback and evidence_contradicted: bids against what the auction had told.

Detectors read one retailer's closed rounds up to its bankruptcy and find cases; the table says how many are too many.
Facts hold cents; cases show currency units.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from tradefair.contract.money import currency
from tradefair.evaluation.markets.supply_chain.modes.play import (
    Act,
    BidLine,
    Params,
    Retail,
    SeatRound,
    pass_phase,
    printed,
)
from tradefair.evaluation.markets.supply_chain.seat import line_regret
from tradefair.evaluation.modes.diagnosis import Case, Seen, unchecked


def detect_overpay(seat: Retail) -> Seen:
    """Money above the prices that would have won for sure, out of all that was spent; rivals' bids as they were."""
    cases: list[Case] = []
    for row in seat.rounds:
        for line in row.lines:
            item, _, price, filled = line
            # The figure overpay_regret is the sum of these.
            over = line_regret(row.facts, seat.seat, line, seat.game.rules).overpaid
            if over > 0:
                because = (
                    f"round {row.round}: bought {filled} {row.item(item)} at {printed(price)}; "
                    f"{printed(price - over / filled)} would have won them as well"
                )
                cases.append(_case(row, because, item, amount=currency(over)))
    return Seen(cases, currency(sum(row.own.spend for row in seat.rounds)))


def _case(row: SeatRound, because: str, item: int, amount: float = 1.0) -> Case:
    """A case of the bids that settled."""
    return Case(row.order, row.round, because, shown_by=row.closed, about=row.item(item), amount=amount)


# --- floor_fixation ---------------------------------------------------------------------------------------------------


class Fill(Params):
    """`filled`: below this share of its units a line has hardly won."""

    filled: float


def detect_floor(seat: Retail, params: Fill) -> Seen:
    """Bids at the floor that hardly win, below the disclosed price of the round before, the second in a row or later.

    Not checked where marginal prices are not disclosed: the seat could not know better.
    """
    rules = seat.game.rules
    if rules.reveal not in ("summary", "book"):
        return unchecked(f"marginal prices are not disclosed: reveal = {rules.reveal}")
    # A line of 0 units asks for nothing.
    lines = [(row, before, line) for row in seat.rounds if (before := row.before) for line in row.lines if line[1] > 0]
    low = {(row.round, line[0]) for row, before, line in lines if _at_floor(row, before, line, params)}
    cases: list[Case] = []
    for row, before, (item, asked, price, filled) in lines:
        # Per item: bids at the floor on different items in turn are no stretch.
        if {(row.round, item), (row.round - 1, item)} <= low:
            marginal = printed(before.facts.passes[-1].marginal[item])
            because = (
                f"round {row.round}: bid {printed(price)} for {asked} {row.item(item)} and won {filled}; "
                f"the marginal price of round {before.round} was {marginal}"
            )
            cases.append(_case(row, because, item))
    return Seen(cases, len(lines))


def _at_floor(row: SeatRound, before: SeatRound, line: BidLine, params: Fill) -> bool:
    """Whether a line bids at most a tick above the reserve, wins little, and lies below the last marginal price."""
    item, asked, price, filled = line
    rules = row.seat.game.rules
    near = price <= rules.items[item].base_cents + rules.tick_cents
    return near and filled < params.filled * asked and before.facts.passes[-1].marginal[item] > price


# --- ignored_feedback -------------------------------------------------------------------------------------------------


class _Told(NamedTuple):
    """A pass that came after one in which a line had hardly won although there was money to raise it.

    `number` is that of the later pass, `short` a line that had hardly won, `unchanged` whether the vector stayed.
    """

    row: SeatRound
    number: int
    short: BidLine
    unchanged: bool


def detect_ignored(seat: Retail, params: Fill) -> Seen:
    """Vectors left as they were after a pass in which a line hardly won, out of the passes after such a one."""
    rules = seat.game.rules
    if rules.reveal == "none" or rules.bid_passes < 2:
        return unchecked("one pass per round" if rules.bid_passes < 2 else "passes tell nothing: reveal = none")
    # One `_Told` per pair of passes: each is one occasion to have raised a bid.
    told = [found for row in seat.rounds for found in _told(row, params)]
    return Seen([_ignored(found) for found in told if found.unchanged], len(told))


def _told(row: SeatRound, params: Fill) -> Iterator[_Told]:
    """The later pass of each pair of passes whose first one told the seat to raise a bid."""
    tick, passes = row.seat.game.rules.tick_cents, row.facts.passes
    for before, after in pairwise(passes):
        first, then = (closed.lines.get(row.seat.seat, []) for closed in (before, after))
        # Requested in full: that is what the budget of a vector counts.
        left = row.funds - sum(line[1] * line[2] for line in first)
        # Money for one tick more per unit: a seat that has spent all it has cannot raise anything.
        short = [line for line in first if line[3] < params.filled * line[1] and left >= tick * line[1]]
        if short:
            # Without the units won, and in any order: only what the seat asked for.
            same = sorted(line[:3] for line in first) == sorted(line[:3] for line in then)
            yield _Told(row, after.bid_pass, short[0], same)


def _ignored(told: _Told) -> Case:
    row, (item, asked, price, filled) = told.row, told.short
    because = (
        f"round {row.round}: pass {told.number - 1} filled {filled} of {asked} {row.item(item)} at {printed(price)}; "
        f"pass {told.number} asked the same again"
    )
    seq = [*row.waived(pass_phase(told.number)), row.order][0]
    # The closure of the earlier pass is what told the seat.
    shown = row.seat.game.passes_closed.get((row.round, told.number - 1), row.closed)
    return Case(seq, row.round, because, shown_by=shown)


# --- evidence_contradicted --------------------------------------------------------------------------------------------


def detect_contradicted(seat: Retail) -> Seen:
    """Bids below the lowest marginal price that the seat's own estimate of the phase had named."""
    if seat.privileged:
        return unchecked("privileged")
    judged = [
        (row, act, line, low)
        for row in seat.rounds
        for act in row.actions("submit_bids")
        for line in _settled_lines(row, act)
        if (low := _lowest(row, act, line[0])) is not None
    ]
    cases: list[Case] = []
    for row, act, (item, asked, price, filled), (low, told) in judged:
        # Below the lowest price of the estimate: at it, a bid may still win.
        if price < low:
            because = (
                f"round {row.round}: estimate of {row.item(item)} named {printed(low)} as the lowest price, "
                f"then bid {printed(price)} for {asked} and won {filled}"
            )
            cases.append(Case(act.seq, row.round, because, shown_by=told, about=row.item(item)))
    note = f"{seat.unread} estimates are not in the trace" if seat.unread else None
    return Seen(cases, len(judged), note=note)


def _settled_lines(row: SeatRound, act: Act) -> list[BidLine]:
    """The lines of the pass to which an accepted call belongs, with the units that they won."""
    found = [closed.lines for closed in row.facts.passes if pass_phase(closed.bid_pass) == act.phase]
    return found[0].get(row.seat.seat, []) if found else []


def _lowest(row: SeatRound, act: Act, item: int) -> tuple[int, int] | None:
    """(cents, event) of the latest estimate of the item in the phase, before the call and from any observation."""
    asked = [
        told
        for told in row.seat.estimates
        if told.item == item and (told.round, told.phase) == (act.round, act.phase) and told.seq < act.seq
    ]
    # An estimate without observations is no evidence.
    return (asked[-1].low, asked[-1].seq) if asked and asked[-1].n > 0 else None
