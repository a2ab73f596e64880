"""deadlock and persistent_no_trade: rounds that pass without a trade although both could gain (one family)."""

from __future__ import annotations

from itertools import pairwise

from tradefair.evaluation.markets.bargaining.modes.play import Side
from tradefair.evaluation.modes.diagnosis import Seen, unchecked

_NOTHING_TO_GAIN = "no trade can gain anything: v <= c"


def detect_deadlock(side: Side) -> Seen:
    """Rounds without trade in which neither quote moved and the seat had slack, out of closed rounds.

    A forfeit is no frozen quote: deadlock needs two seats that insist. Unchecked where v <= c.
    """
    if side.game.gap <= 0:
        return unchecked(_NOTHING_TO_GAIN)
    # A round may be missing between two of a damaged trace.
    after = [(closed, before) for before, closed in pairwise(side.rounds) if closed.number == before.number + 1]
    cases = [
        side.case(
            closed,
            f"{side.named(quote)} and {side.answered(closed.quotes[side.other])} as before, no trade; "
            f"{side.word('limit')} {side.limit}",
        )
        for closed, before in after
        if not closed.traded and closed.quotes == before.quotes and None not in closed.quotes.values()
        if (quote := closed.quotes[side.seat]) is not None and side.slack(quote) > 0
    ]
    return Seen(cases, len(side.rounds))


def detect_persistent(side: Side) -> Seen:
    """Quotes after the seat's last trade although the counterpart's last quote was within its limit.

    Out of closed rounds. A seat may wait for a better price as long as it trades in the end: unchecked for a game that
    was cut, and where v <= c. A forfeit is told as one (`idle_drift`).
    """
    if side.game.gap <= 0:
        return unchecked(_NOTHING_TO_GAIN)
    if side.game.last_round < side.game.length:
        return unchecked("the last rounds were not played")
    traded = max((closed.number for closed in side.rounds if closed.traded), default=0)
    cases = [
        side.case(
            closed,
            f"{side.named(quote)}, no trade; the last {side.word('answer')} was {shown}, "
            f"the {side.word('limit')} is {side.limit}",
        )
        for closed in side.rounds
        if closed.number > traded and (quote := closed.quotes[side.seat]) is not None
        if (shown := side.shown.get(closed.number)) is not None and side.slack(shown) > 0
    ]
    return Seen(cases, len(side.rounds))
