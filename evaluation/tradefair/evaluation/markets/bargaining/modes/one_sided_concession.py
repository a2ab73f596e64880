"""one_sided_concession: giving way to somebody who does not: after a trade, in a leap, or step by step."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

from pydantic import Field, NonNegativeInt, PositiveInt

from tradefair.evaluation.markets.bargaining.modes.play import Round, Side
from tradefair.evaluation.modes.diagnosis import Case, Record, Seen


class Concession(Record):
    """What a one-sided concession is, in ticks and steps from one round to the next.

    `after_trade`: ticks given although the quote before had traded. `leap`: ticks given in one step from round
    `leap_from` on and before the last `deadline` rounds, at least `leap_share` of what separated both. Too soon is what
    was given beyond the quote that the counterpart would have reached at its pace of the last `pace` steps, where that
    earns `more` times what the trade does. A window of at
    least `steps` steps, `positive_steps` of them concessions, gave `ticks` or `share` of the first gap and got nothing.
    """

    after_trade: PositiveInt
    leap: PositiveInt
    leap_from: PositiveInt
    deadline: NonNegativeInt
    leap_share: float = Field(gt=0, le=1)
    pace: PositiveInt
    more: float = Field(gt=1)
    steps: PositiveInt
    positive_steps: PositiveInt
    ticks: PositiveInt
    share: float = Field(gt=0, le=1)


class _Step(NamedTuple):
    """From one round to the next: what the seat gave and what the counterpart did, in ticks; `best`: given before."""

    sooner: Round
    later: Round
    given: float
    got: float
    leapt: float


def _form(side: Side, step: _Step, params: Concession, hasty: Collection[int], slow: Collection[int]) -> str | None:
    """How a step gave way, the first form that holds; `hasty` and `slow` are rounds that end such steps."""
    if _after_trade(side, step, params):
        return "after_trade"
    if _leaps(side, step, params):
        return "leap"
    return "too_soon" if step.later.number in hasty else "step_by_step" if step.later.number in slow else None


def detect(side: Side, params: Concession) -> Seen:
    """Steps that gave ticks for nothing, weighed by what they gave; parts: how many are of which form."""
    chains = [list(_steps(side, chain)) for chain in _chains(side.rounds)]
    # The first round in which both quoted: a share of that gap, so that small steps in a wide game are none.
    first = next((steps[0].sooner for steps in chains if steps), None)
    opening = 0.0 if first is None else abs(side.gives(_quote(first, side.seat), _quote(first, side.other)))
    least = max(params.ticks, params.share * opening)
    slow = {step.later.number for steps in chains for step in _windows(steps, least, params) if step.given > 0}
    cases: list[Case] = []
    hasty = {case.round: case for steps in chains for case in _too_soon(side, steps, params)}
    parts = {"after_trade": 0, "leap": 0, "too_soon": 0, "step_by_step": 0}
    for step in (step for steps in chains for step in steps):
        form = _form(side, step, params, hasty, slow)
        if form is not None:
            parts[form] += 1
            given = step.leapt if form == "leap" else step.given
            cases.append(_case(side, step, given) if form != "too_soon" else hasty[step.later.number])
    return Seen(cases, sum(len(steps) for steps in chains), parts)


def _chains(rounds: Sequence[Round]) -> Iterator[list[Round]]:
    """Runs of consecutive rounds in which both quoted.

    A forfeit or a missing round ends a chain: a concession is a change between two quotes.
    """
    chain: list[Round] = []
    for closed in rounds:
        whole = None not in closed.quotes.values()
        if chain and (not whole or closed.number != chain[-1].number + 1):
            yield chain
            chain = []
        if whole:
            chain.append(closed)
    if chain:
        yield chain


def _steps(side: Side, chain: Sequence[Round]) -> Iterator[_Step]:
    best = _quote(chain[0], side.seat)
    for sooner, later in pairwise(chain):
        own = _quote(later, side.seat)
        given = side.gives(own, _quote(sooner, side.seat))
        got = side.gives(_quote(sooner, side.other), _quote(later, side.other))
        # A leap is measured from the most that was ever offered: to come back from a retreat is no concession.
        leapt = side.gives(own, best)
        yield _Step(sooner, later, given, got, leapt)
        best = own if leapt > 0 else best


def _after_trade(side: Side, step: _Step, params: Concession) -> bool:
    """Whether the quote before had just traded, and would have traded again."""
    again = side.crosses(_quote(step.sooner, side.seat), _quote(step.later, side.other))
    return step.sooner.traded and again and step.given >= params.after_trade


def _leaps(side: Side, step: _Step, params: Concession) -> bool:
    apart = side.gives(_quote(step.sooner, side.other), _quote(step.later, side.seat)) + step.leapt
    # Without anything between both, whatever is given is all of it.
    far = step.leapt >= params.leap_share * max(0.0, apart)
    # Early both feel their way, and near the end a leap may save the trade.
    settled = params.leap_from <= step.later.number <= side.game.length - params.deadline
    return settled and step.leapt >= params.leap and far


def _too_soon(side: Side, steps: Sequence[_Step], params: Concession) -> Iterator[Case]:
    """The steps to the first trade that gave what the counterpart would have come to by itself, at its own pace."""
    first = next((place for place, step in enumerate(steps) if step.later.traded), 0)
    # A trade in the first round that is seen shows no pace.
    if not steps or first == 0:
        return
    trade = steps[first].later
    pace = fmean(step.got for step in steps[max(0, first + 1 - params.pace) : first + 1])
    left = side.game.length - trade.number + 1
    near = side.slack(_quote(trade, side.other))
    # It comes no nearer than its own limit, and each round of waiting is one without a trade.
    worth = [min(side.game.gap, near + wait * pace) for wait in range(left)]
    wait = max(range(left), key=lambda wait: (left - wait) * worth[wait])
    earned = max(0, trade.profits[side.seat]) * left
    gained = (left - wait) * worth[wait] - earned
    if not wait or gained < max(1.0, (params.more - 1) * earned):
        return
    beyond = [
        (step, ticks)
        for step in steps[: first + 1]
        if (ticks := min(step.given, worth[wait] - side.slack(_quote(step.later, side.seat)))) > 0
    ]
    whole = sum(ticks for _, ticks in beyond)
    for step, ticks in beyond:
        until = f"; traded at {trade.price} in round {trade.number}, its {side.word('answer')} moved {pace:g} a round"
        yield _case(side, step, ticks, gained * ticks / whole, until)


def _windows(steps: Sequence[_Step], least: float, params: Concession) -> Iterator[_Step]:
    """The steps of the longest window that qualifies, and of those before and after it."""
    # From long to short: the longest window tells the whole concession, its parts would tell it several times.
    for length in range(len(steps), params.steps - 1, -1):
        for first in range(len(steps) - length + 1):
            window = steps[first : first + length]
            if _qualifies(window, least, params):
                yield from _windows(steps[:first], least, params)
                yield from window
                yield from _windows(steps[first + length :], least, params)
                return


def _qualifies(window: Sequence[_Step], least: float, params: Concession) -> bool:
    """Three tests: enough given in all, nothing gained net from the counterpart, and enough steps of giving."""
    # Net over the window: steps back and forth of either side cancel.
    if sum(step.given for step in window) < least or sum(step.got for step in window) > 0:
        return False
    return sum(step.given > 0 for step in window) >= params.positive_steps


def _quote(closed: Round, seat: str) -> int:
    return closed.quotes[seat] or 0


def _case(side: Side, step: _Step, given: float, cost: float | None = None, then: str = "") -> Case:
    """It costs half of what was given beyond need in every later trade: the price lies in the middle of both quotes."""
    if cost is None:
        later = [closed for closed in side.rounds if closed.traded and closed.number >= step.later.number]
        beyond = (side.gives(_quote(closed, side.seat), _quote(closed, side.other)) for closed in later)
        cost = sum(min(given, max(0.0, excess)) / 2 for excess in beyond)
    before, after = (closed.quotes for closed in (step.sooner, step.later))
    traded = " had traded" if step.sooner.traded else ""
    moved = f"{side.word('answer')} {before[side.other]} then {after[side.other]}"
    said = f"{side.named(after[side.seat])} after {before[side.seat]}{traded}, {moved}{then}"
    return side.case(step.later, said, cost, given)
