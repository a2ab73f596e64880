"""one_sided_concession: giving way for nothing: after a trade, to one who does not move, or in one leap."""

from __future__ import annotations

from itertools import pairwise

from pydantic import Field, NonNegativeInt, PositiveInt

from tradefair.evaluation.markets.bargaining.modes.play import Side
from tradefair.evaluation.modes.diagnosis import Case, Record, Seen


class Concession(Record):
    """What a one-sided concession is, in ticks from one round to the next.

    `ticks`: given although the quote before had traded, or although the counterpart's had come no nearer in `still`
    steps. `leap`: ticks given in one step from round `leap_from` on and before the last `deadline` rounds, at least
    `leap_share` of what separated both.
    """

    ticks: PositiveInt
    still: PositiveInt
    leap: PositiveInt
    leap_from: PositiveInt
    deadline: NonNegativeInt
    leap_share: float = Field(gt=0, le=1)


def detect(side: Side, params: Concession) -> Seen:
    """Steps that gave ticks for nothing, weighed by what they gave; parts: how many are of which form.

    Out of steps between two rounds in which both quoted: a concession is a change between two quotes.
    """
    cases: list[Case] = []
    parts = {"after_trade": 0, "unanswered": 0, "leap": 0}
    steps = 0
    best: int | None = None
    for sooner, later in pairwise(side.rounds):
        before, own = sooner.quotes[side.seat], later.quotes[side.seat]
        stood, theirs = sooner.quotes[side.other], later.quotes[side.other]
        if later.number != sooner.number + 1 or before is None or own is None or stood is None or theirs is None:
            continue
        steps += 1
        # A leap is measured from the most that was ever offered: to come back from a retreat is no concession.
        best = before if best is None or side.gives(before, best) > 0 else best
        given, leapt = side.gives(own, before), side.gives(own, best)
        earlier = side.their_quote(sooner.number - params.still)
        # Early both feel their way, and near the end a leap may save the trade.
        settled = params.leap_from <= later.number <= side.game.length - params.deadline
        if given >= params.ticks and sooner.traded and side.crosses(before, theirs):
            form, ticks = "after_trade", given
        elif given >= params.ticks and earlier is not None and side.gives(earlier, stood) <= 0 and not sooner.traded:
            form, ticks = "unanswered", given
        elif settled and leapt >= max(params.leap, params.leap_share * side.gives(stood, best)):
            form, ticks = "leap", leapt
        else:
            continue
        parts[form] += 1
        traded = " had traded" if sooner.traded else ""
        moved = f"{side.word('answer')} {stood} then {theirs}"
        cases.append(side.case(later, f"{side.named(own)} after {before}{traded}, {moved}", ticks))
    return Seen(cases, steps, parts)
