"""deadlock and persistent_no_trade: rounds that pass without a trade although both could gain (one family)."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, NonNegativeInt

from tradefair.evaluation.markets.bargaining.modes.play import Round, Side
from tradefair.evaluation.modes.diagnosis import Case, Seen, unchecked

_NOTHING_TO_GAIN = "no trade can gain anything: v <= c"


class Frozen(BaseModel):
    """A quote is frozen within `within` ticks of the one before; a round is a near miss within `near_miss` ticks."""

    model_config = ConfigDict(frozen=True, extra="forbid")

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


def detect_persistent(side: Side) -> Seen:
    """The rounds without trade at the end of the game in which the counterpart's quote before left a profit.

    Only those to the very end: up to it a seat may wait for a better price, at the end there is none to wait for.
    Unchecked where v <= c, and for a game that was cut. Part `lapsed`: those that the seat forfeited.
    """
    if side.game.gap <= 0:
        return unchecked(_NOTHING_TO_GAIN)
    if side.game.last_round < side.game.length:
        return unchecked("the last rounds were not played")
    run: list[Round] = []
    for closed in reversed(side.rounds):
        if closed.traded or side.slack(side.shown.get(closed.number, side.limit)) <= 0:
            break
        run.append(closed)
    run.reverse()
    return Seen(
        [_case(side, closed) for closed in run],
        len(side.rounds),
        {"lapsed": sum(closed.quotes[side.seat] is None for closed in run)},
    )


def _case(side: Side, closed: Round) -> Case:
    """It costs what the counterpart's own quote would have earned, had the seat met it."""
    theirs = closed.quotes[side.other]
    earned = 0.0 if theirs is None else max(0.0, side.slack(theirs))
    said = f"{side.named(closed.quotes[side.seat])}, {side.answered(theirs)}, no trade"
    would = f"; {theirs} would have earned {earned:g}" if earned else f"; {side.word('limit')} {side.limit}"
    return side.case(closed, said + would, earned)
