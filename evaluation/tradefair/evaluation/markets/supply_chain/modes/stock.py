"""idle_capital, reorder_glut, dead_stock and empty_shelf: money and goods in the wrong place.

Detectors read one retailer's closed rounds up to its bankruptcy and count cases out of opportunities; `limits` are the
thresholds of the mode's row in `modes.toml`. Facts hold cents; findings show currency units.
"""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.contract.money import currency
from tradefair.evaluation.arithmetic import ratio
from tradefair.evaluation.markets.supply_chain.modes.play import Retail, SeatRound
from tradefair.evaluation.modes.cases import Hit, proven, unchecked
from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.sign import Sign, sign_of


def detect_idle(seat: Retail, limits: Mapping[str, float]) -> Sign:
    """Rounds in which little was asked for although nearly everything had sold, out of rounds with money for a unit.

    `limits`: `asked`, a share of the funds at most; `sold`, a share of the last round's stock at least; `rounds`, how
    many such rounds raise the mode. Part `unused_per_round`: money left unused, in currency units.
    """
    cheapest = seat.game.rules.cheapest_reserve_cents
    # The first round has no sales to learn from, and who cannot pay for a unit is poor, not idle.
    able = [(row, row.before) for row in seat.rounds if row.before and row.funds >= cheapest]
    idle = [
        row
        for row, before in able
        if row.asked_cents <= limits["asked"] * row.funds and (before.sell_through or 0) >= limits["sold"]
    ]
    # What lay idle in these rounds, not a loss: what it would have earned is not known.
    unused = sum(row.funds - row.asked_cents for row in idle)
    parts: dict[str, float | None] = {"unused_per_round": currency(round(unused / len(idle)))} if idle else {}
    return proven([Hit(row.bid()) for row in idle], len(able), raised=len(idle) >= limits["rounds"], parts=parts)


def detect_glut(seat: Retail, limits: Mapping[str, float]) -> Sign:
    """Bid lines for items of which plenty is left, out of all lines from round 2 on.

    Plenty: an opening stock of at least `units`, and of `times` the units that the seat sold in the round before. The
    mode is raised above a `share` of the lines, if there are at least `least`. Severity: money of the units bought by
    these lines that is still in stock at the end.
    """
    lines = [(row, before, line) for row in seat.rounds if (before := row.before) for line in row.lines]
    glut = [
        (row, line)
        for row, before, line in lines
        if row.own.opening[line[0]] >= max(limits["units"], limits["times"] * before.own.sold[line[0]])
    ]
    left = seat.rounds[-1].left if seat.rounds else []
    hits: list[Hit] = []
    # Books hold an average cost and do not say which units are left: those bought last are taken for them. What a line
    # is blamed for is taken off, so that the lines of one item never cost more together than what is left of it.
    for row, (item, _, price, filled) in reversed(glut):
        stuck = min(left[item], price * filled)
        left[item] -= stuck
        hits.append(Hit(row.bid(), stuck))
    often = (ratio(len(hits), len(lines)) or 0) > limits["share"]
    return proven(hits, len(lines), raised=often and len(hits) >= limits["least"])


def detect_dead(seat: Retail, limits: Mapping[str, float]) -> Sign:
    """Stock at cost that was never sold, written off or left at the end, out of the money spent; severity: that money.

    Raised above a `share`. Nothing to check where the episode was cut short.
    """
    # Stock that is left in the middle of an episode may still be sold.
    if not seat.game.terminated or not seat.rounds:
        return unchecked("the episode was cut short")
    last = seat.rounds[-1]
    dead = sum(last.own.book) + sum(row.own.write_off for row in seat.rounds)
    spent = sum(row.own.spend for row in seat.rounds)
    counted = share(currency(dead), currency(spent), [last.closed] if dead else [])
    return sign_of((counted.value or 0) > limits["share"], counted, severity=currency(dead))


def detect_empty(seat: Retail, limits: Mapping[str, float]) -> Sign:
    """Visits of buyers to items that the seat posted without having a unit, out of all its visits.

    Raised from a `share` on. No severity: whether these buyers would have paid is not known.
    """
    visits = {row: _visits_to_nothing(row) for row in seat.rounds}
    costliest = sorted((row for row in visits if visits[row]), key=lambda row: (-visits[row], row.round))
    attempts = sum(sum(row.own.attempts) for row in seat.rounds)
    # An offer stands until it is replaced: cited is the one in force, which may be of an earlier round.
    counted = share(sum(visits.values()), attempts, (seq for row in costliest for seq in row.offered()))
    return sign_of((counted.value or 0) >= limits["share"], counted)


def _visits_to_nothing(row: SeatRound) -> int:
    """Visits to items without a unit when the shop opened: one that sold out later was rightly posted."""
    return sum(tried for tried, held in zip(row.own.attempts, row.own.available, strict=True) if not held)
