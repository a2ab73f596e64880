"""overpay, floor_fixation, ignored_feedback and evidence_contradicted: bids against what the auction had told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from tradefair.contract.money import currency
from tradefair.evaluation.arithmetic import ratio
from tradefair.evaluation.markets.supply_chain.modes.cases import runs
from tradefair.evaluation.markets.supply_chain.modes.play import Act, BidLine, Retail, SeatRound, pass_phase
from tradefair.evaluation.modes.cases import Hit, proven, unchecked
from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.sign import Sign, sign_of


def detect_overpay(seat: Retail, limits: Mapping[str, float]) -> Sign:
    """Money above the prices that would have won for sure, out of all that was spent; rivals' bids as they were."""
    paid = {row: sum(regret.overpaid for regret in row.regrets.values()) for row in seat.rounds}
    worst = sorted((row for row in paid if paid[row]), key=lambda row: (-paid[row], row.round))
    over, spend = sum(paid.values()), sum(row.own.spend for row in seat.rounds)
    # The costliest rounds come first: citations are cut at a limit.
    counted = share(currency(over), currency(spend), (seq for row in worst for seq in row.bid()))
    return sign_of((counted.value or 0) > limits["share"], counted, severity=currency(over))


def detect_floor(seat: Retail, limits: Mapping[str, float]) -> Sign:
    """Bids at the floor that hardly win, below the disclosed price of the round before, round after round.

    Not checked where marginal prices are not disclosed: the seat could not know better.
    """
    rules = seat.game.rules
    if rules.reveal not in ("summary", "book"):
        return unchecked(f"marginal prices are not disclosed: reveal = {rules.reveal}")
    # A line of 0 units asks for nothing.
    lines = [(row, line) for row in seat.rounds if row.before for line in row.lines if line[1] > 0]
    low: dict[int, list[tuple[int, SeatRound]]] = {}
    for row, line in lines:
        if _at_floor(row, line, limits):
            low.setdefault(line[0], []).append((row.round, row))
    stretches = [(item, run) for item, ones in low.items() for run in runs(ones)]
    # Per item: bids at the floor on different items in turn are no stretch.
    longest = max((len(run) for _, run in stretches), default=0)
    held = [(item, row) for item, run in stretches if len(run) >= limits["in_a_row"] for row in run]
    hits = [Hit(row.bid(), row.regrets[item].underbid) for item, row in held]
    return proven(
        hits, len(lines), raised=bool(hits), parts={"longest_run": longest, "items": len({i for i, _ in held})}
    )


def _at_floor(row: SeatRound, line: BidLine, limits: Mapping[str, float]) -> bool:
    """Whether a line bids at most a tick above the reserve, wins little, and lies below the last marginal price."""
    item, asked, price, filled = line
    rules, before = row.seat.game.rules, row.before
    near = price <= rules.items[item].base_cents + rules.tick_cents
    return (
        near
        and filled < limits["filled"] * asked
        and before is not None
        and before.facts.passes[-1].marginal[item] > price
    )


# --- ignored_feedback -------------------------------------------------------------------------------------------------


class _Told(NamedTuple):
    """A pass that came after one in which a line had hardly won although there was money to raise it.

    `number` is that of the later pass, `items` those that had hardly won; `settles` says whether the later pass moved
    goods, `unchanged` whether the vector stayed as it was.
    """

    row: SeatRound
    number: int
    items: frozenset[int]
    settles: bool
    unchanged: bool


def detect_ignored(seat: Retail, limits: Mapping[str, float]) -> Sign:
    """Vectors left as they were after a pass in which a line hardly won; severity: what the settling ones missed.

    A provisional pass costs nothing yet.
    """
    rules = seat.game.rules
    if rules.reveal == "none" or rules.bid_passes < 2:
        reason = "one pass per round" if rules.bid_passes < 2 else "passes tell nothing: reveal = none"
        return unchecked(reason)
    # One `_Told` per pair of passes: each is one occasion to have raised a bid.
    told = [found for row in seat.rounds for found in _told(row, limits)]
    hits = [_ignored(found) for found in told if found.unchanged]
    often = (ratio(len(hits), len(told)) or 0) >= limits["share"]
    return proven(hits, len(told), raised=often and len(hits) >= limits["least"])


def _told(row: SeatRound, limits: Mapping[str, float]) -> Iterator[_Told]:
    """The later pass of each pair of passes whose first one told the seat to raise a bid."""
    tick, passes = row.seat.game.rules.tick_cents, row.facts.passes
    for before, after in pairwise(passes):
        first, then = (closed.lines.get(row.seat.seat, []) for closed in (before, after))
        # Requested in full: that is what the budget of a vector counts.
        left = row.funds - sum(line[1] * line[2] for line in first)
        # Money for one tick more per unit: a seat that has spent all it has cannot raise anything.
        short = {line[0] for line in first if line[3] < limits["filled"] * line[1] and left >= tick * line[1]}
        if short:
            # Without the units won, and in any order: only what the seat asked for.
            same = sorted(line[:3] for line in first) == sorted(line[:3] for line in then)
            yield _Told(row, after.bid_pass, frozenset(short), after is passes[-1], same)


def _ignored(told: _Told) -> Hit:
    # The closure of the earlier pass is what told the seat.
    row = told.row
    pass_told = row.seat.game.passes_closed.get((row.round, told.number - 1))
    events = [*([] if pass_told is None else [pass_told]), *row.waived(pass_phase(told.number)), row.closed]
    missed = sum(row.regrets[item].underbid for item in told.items if item in row.regrets)
    # A provisional pass moves no goods: leaving a vector as it is costs nothing there.
    return Hit(events, missed if told.settles else None)


# --- evidence_contradicted --------------------------------------------------------------------------------------------


def detect_contradicted(seat: Retail, limits: Mapping[str, float]) -> Sign:
    """Bids below the lowest marginal price that the seat's own estimate of the phase had named.

    Severity only for bids of the settling pass.
    """
    if seat.privileged:
        return unchecked("privileged")
    judged = [
        (row, act, line, low)
        for row in seat.rounds
        for act in row.actions("submit_bids")
        for line in _settled_lines(row, act)
        if (low := _lowest(row, act, line[0])) is not None
    ]
    hits = [
        Hit((low[1], act.seq, row.closed), row.regrets[line[0]].underbid if _settles(row, act) else None)
        for row, act, line, low in judged
        # Below the lowest price of the estimate: at it, a bid may still win.
        if line[2] < low[0]
    ]
    often = (ratio(len(hits), len(judged)) or 0) >= limits["share"]
    note = f"{seat.unread} estimates are not in the trace" if seat.unread else None
    return proven(hits, len(judged), raised=bool(hits) and often, note=note)


def _settled_lines(row: SeatRound, act: Act) -> list[BidLine]:
    """The lines of the pass to which an accepted call belongs, with the units that they won."""
    found = [closed.lines for closed in row.facts.passes if pass_phase(closed.bid_pass) == act.phase]
    return found[0].get(row.seat.seat, []) if found else []


def _settles(row: SeatRound, act: Act) -> bool:
    """Whether a call belongs to the pass that moved goods."""
    return act.phase == pass_phase(row.facts.passes[-1].bid_pass)


def _lowest(row: SeatRound, act: Act, item: int) -> tuple[int, int] | None:
    """(cents, event) of the latest estimate of the item in the phase, before the call and from any observation."""
    asked = [
        told
        for told in row.seat.estimates
        if told.item == item and (told.round, told.phase) == (act.round, act.phase) and told.seq < act.seq
    ]
    # An estimate without observations is no evidence.
    return (asked[-1].low, asked[-1].seq) if asked and asked[-1].n > 0 else None
