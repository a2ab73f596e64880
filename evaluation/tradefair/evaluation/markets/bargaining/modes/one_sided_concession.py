"""one_sided_concession: giving way for nothing: after a trade, to one who does not move, or in one leap."""

from __future__ import annotations

from itertools import pairwise

from pydantic import NonNegativeInt, PositiveInt

from tradefair.evaluation.markets.bargaining.modes.play import Side
from tradefair.evaluation.modes.diagnosis import Case, Part, Seen


def detect(
    side: Side,
    *,
    ticks: PositiveInt,
    still: PositiveInt,
    leap: PositiveInt,
    leap_from: PositiveInt,
    deadline: NonNegativeInt,
    leap_share: Part,
) -> Seen:
    """Steps that gave ticks for nothing, weighed by what they gave; parts: how many are of which form.

    `ticks`: given although the quote before had traded, or although the counterpart's had come no nearer in `still`
    steps. `leap`: ticks given in one step from round `leap_from` on and before the last `deadline` rounds, at least
    `leap_share` of what separated both. Out of steps between two rounds in which both quoted.
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
        earlier = side.their_quote(sooner.number - still)
        # Early both feel their way, and near the end a leap may save the trade.
        settled = leap_from <= later.number <= side.game.length - deadline
        if given >= ticks and sooner.traded and side.crosses(before, theirs):
            form, gift = "after_trade", given
        elif given >= ticks and earlier is not None and side.gives(earlier, stood) <= 0 and not sooner.traded:
            form, gift = "unanswered", given
        elif settled and leapt >= max(leap, leap_share * side.gives(stood, best)):
            form, gift = "leap", leapt
        else:
            continue
        parts[form] += 1
        traded = " had traded" if sooner.traded else ""
        moved = f"stayed at {theirs}" if stood == theirs else f"went from {stood} to {theirs}"
        cases.append(
            side.case(later, f"{side.named(own)} after {before}{traded}, the {side.word('answer')} {moved}", gift)
        )
    return Seen(cases, steps, parts)
