"""deadlock and persistent_no_trade: rounds that pass without a trade although both could gain (one family)."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import takewhile

from pydantic import Field, NonNegativeInt

from tradefair.evaluation.markets.bargaining.modes.play import Round, Side
from tradefair.evaluation.modes.diagnosis import Case, Record, Seen, unchecked

_NOTHING_TO_GAIN = "no trade can gain anything: v <= c"


class Frozen(Record):
    """A quote is frozen within `within` ticks of the one before; a round is a near miss within `near_miss` ticks."""

    within: NonNegativeInt
    near_miss: NonNegativeInt


def detect_deadlock(side: Side, params: Frozen) -> Seen:
    """Rounds without trade in which neither quote moved and the seat had slack; `near_miss`: a little would have done.

    A forfeit is no frozen quote: deadlock needs two seats that insist. Unchecked where v <= c.
    """
    if side.game.gap <= 0:
        return unchecked(_NOTHING_TO_GAIN)
    cases: list[Case] = []
    near = 0
    for closed in side.rounds:
        before, quote = side.game.rounds.get(closed.number - 1), closed.quotes[side.seat]
        if closed.traded or before is None or quote is None or side.slack(quote) <= 0:
            continue
        if all(_frozen(before, closed, seat, params.within) for seat in (side.seat, side.other)):
            near += abs(quote - (closed.quotes[side.other] or 0)) <= params.near_miss
            cases.append(_case(side, closed))
    return Seen(cases, len(side.rounds), {"near_miss": near})


def _frozen(before: Round, closed: Round, seat: str, within: int) -> bool:
    old, new = before.quotes[seat], closed.quotes[seat]
    return old is not None and new is not None and abs(new - old) <= within


class Waited(Record):
    """Waiting cost enough where the quote earns `more` times what came after it, and `share` of R·G beyond that."""

    more: float = Field(ge=1)
    share: float = Field(ge=0, le=1)


def detect_persistent(side: Side, params: Waited) -> Seen:
    """The rounds without trade from the one on in which taking the counterpart's last quote would have gained most.

    A seat may wait for a better price as long as waiting pays; from there on it has earned less than that quote in
    every round left. Unchecked where v <= c, and for a game that was cut. Part `lapsed`: those that the seat forfeited.
    """
    if side.game.gap <= 0:
        return unchecked(_NOTHING_TO_GAIN)
    if side.game.last_round < side.game.length:
        return unchecked("the last rounds were not played")
    start = max(side.shown, key=lambda number: operator.sub(*_taken(side, number)), default=None)
    taken, earned = (0.0, 0.0) if start is None else _taken(side, start)
    least = max(params.share * side.game.gap * side.game.length, (params.more - 1) * earned)
    if start is None or taken <= 0 or taken - earned < least:
        return Seen([], len(side.rounds), {"lapsed": 0, "at_end": 0})
    missed = [closed for closed in side.rounds if closed.number >= start and not closed.traded]
    quoted = [closed for closed in missed if closed.quotes[side.seat] is not None]
    cases = [_case(side, closed, side.shown[start]) for closed in quoted]
    # A forfeit is told as one (`idle_drift`).
    return Seen(cases, len(side.rounds), {"lapsed": len(missed) - len(quoted), "at_end": _at_end(side, quoted)})


def _at_end(side: Side, missed: Sequence[Round]) -> int:
    """How many of them end the game: nothing traded any more."""
    numbers = {closed.number for closed in missed}
    return sum(1 for _ in takewhile(lambda closed: closed.number in numbers, reversed(side.rounds)))


def _taken(side: Side, number: int) -> tuple[float, float]:
    """What the counterpart's last quote before a round, held from it on, would have earned, and what came instead."""
    stood = side.shown[number]
    rest = [closed for closed in side.rounds if closed.number >= number and closed.quotes[side.seat] is not None]
    # Priced at that quote: a counterpart that trades has no need to give more.
    trades = sum((theirs := closed.quotes[side.other]) is not None and side.crosses(stood, theirs) for closed in rest)
    return trades * side.slack(stood), sum(closed.profits[side.seat] for closed in rest)


def _case(side: Side, closed: Round, stood: int | None = None) -> Case:
    """It costs what the counterpart's own quote would have earned, had the seat met it; `stood`: an earlier one."""
    theirs = closed.quotes[side.other]
    met = theirs if theirs is None or stood is None or not side.crosses(stood, theirs) else stood
    earned = 0.0 if met is None else max(0.0, side.slack(met))
    said = f"{side.named(closed.quotes[side.seat])}, {side.answered(theirs)}, no trade"
    would = f"; {met} would have earned {earned:g}" if earned else f"; {side.word('limit')} {side.limit}"
    return side.case(closed, said + would, earned)
