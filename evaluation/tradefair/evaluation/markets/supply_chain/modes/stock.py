"""idle_capital, reorder_glut, dead_stock and empty_shelf: money and goods in the wrong place."""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.contract.money import currency
from tradefair.evaluation.arithmetic import ratio
from tradefair.evaluation.markets.supply_chain.modes.play import Retail, SeatRound
from tradefair.evaluation.modes.cases import Hit, proven, unchecked
from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.sign import Sign, sign_of


def detect_idle(seat: Retail, limits: Mapping[str, float]) -> Sign:
    """Rounds in which little was asked for although nearly everything had sold; parts: money left unused."""
    cheapest = seat.game.rules.cheapest_reserve_cents
    able = [(one, one.before) for one in seat.rounds if one.before and one.funds >= cheapest]
    idle = [
        one
        for one, before in able
        if one.asked_cents <= limits["asked"] * one.funds and (before.sell_through or 0) >= limits["sold"]
    ]
    unused = sum(one.funds - one.asked_cents for one in idle)
    parts: dict[str, float | None] = {"unused_per_round": currency(round(unused / len(idle)))} if idle else {}
    return proven([Hit(one.bid()) for one in idle], len(able), raised=len(idle) >= limits["rounds"], parts=parts)


def detect_glut(seat: Retail, limits: Mapping[str, float]) -> Sign:
    """Bids for items of which plenty is left; severity: money of those units that is still in stock at the end."""
    lines = [(one, before, line) for one in seat.rounds if (before := one.before) for line in one.lines]
    glut = [
        (one, line)
        for one, before, line in lines
        if one.own.opening[line[0]] >= max(limits["units"], limits["times"] * before.own.sold[line[0]])
    ]
    left = seat.rounds[-1].left if seat.rounds else []
    hits: list[Hit] = []
    for one, (item, _, price, filled) in reversed(glut):
        stuck = min(left[item], price * filled)
        left[item] -= stuck
        hits.append(Hit(one.bid(), stuck))
    often = (ratio(len(hits), len(lines)) or 0) > limits["share"]
    return proven(hits, len(lines), raised=often and len(hits) >= limits["least"])


def detect_dead(seat: Retail, limits: Mapping[str, float]) -> Sign:
    """Stock at cost that was never sold, written off or left at the end; severity: that money."""
    if not seat.game.terminated or not seat.rounds:
        return unchecked("the episode was cut short")
    last = seat.rounds[-1]
    dead = sum(last.own.book) + sum(one.own.write_off for one in seat.rounds)
    counted = share(currency(dead), currency(sum(one.own.spend for one in seat.rounds)), [last.closed] if dead else [])
    return sign_of((counted.value or 0) > limits["share"], counted, severity=currency(dead))


def detect_empty(seat: Retail, limits: Mapping[str, float]) -> Sign:
    """Visits of buyers to items that the seat posted without having a unit."""
    visits = {one: _to_nothing(one) for one in seat.rounds}
    dearest = sorted((one for one in visits if visits[one]), key=lambda one: (-visits[one], one.round))
    attempts = sum(sum(one.own.attempts) for one in seat.rounds)
    counted = share(sum(visits.values()), attempts, (seq for one in dearest for seq in one.offered()))
    return sign_of((counted.value or 0) >= limits["share"], counted)


def _to_nothing(one: SeatRound) -> int:
    return sum(tried for tried, held in zip(one.own.attempts, one.own.available, strict=True) if not held)
