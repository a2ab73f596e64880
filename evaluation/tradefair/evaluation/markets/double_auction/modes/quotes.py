"""Quotes that could not trade: none at all, the same again and again, or far from every price."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import groupby

from tradefair.evaluation.markets.double_auction.modes.cases import proven
from tradefair.evaluation.markets.double_auction.modes.play import AuctionSeat, SeatRound, runs
from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.sign import Sign, sign_of


def forfeited_round(seat: AuctionSeat, limits: Mapping[str, float]) -> Sign:
    """Closed rounds that the seat gave away; severity: what the best quote would have earned in each."""
    given = [round_ for round_ in seat.rounds if round_.forfeited]
    # A refusal is another failure than silence: the seat tried and did not repair its call.
    refused = sum(round_.round in seat.refused for round_ in given)
    counted = share(len(given), len(seat.rounds), (seq for round_ in given for seq in _proof(seat, round_)))
    parts = {"silent": len(given) - refused, "refused": refused}
    # Every one of them could have been any quote, hence the best of all (10.1), not the best within the value.
    severity = math.fsum(round_.best for round_ in given)
    return sign_of(len(given) >= limits["forfeits"], counted, parts=parts, severity=severity)


def _proof(seat: AuctionSeat, round_: SeatRound) -> list[int]:
    """The last refusal, the lapse and the closure."""
    refused, lapsed = seat.refused.get(round_.round, [])[-1:], seat.lapsed.get(round_.round)
    return [*refused, *([] if lapsed is None else [lapsed]), round_.closed]


def frozen_quote(seat: AuctionSeat, limits: Mapping[str, float]) -> Sign:
    """Rounds of such stretches out of those with a quote; severity: what was missed in them."""
    quoted = [round_ for round_ in seat.rounds if not round_.forfeited]
    frozen = [
        run
        for run in _equal(quoted)
        # An equal quote is no mistake where nothing would have traded: some of its rounds must have been missed (10.1).
        if len(run) >= limits["rounds"] and sum(round_.missed for round_ in run) >= limits["missed"]
    ]
    costs = {round_: round_.best if round_.missed else 0.0 for run in frozen for round_ in run}
    parts = {"stretches": len(frozen), "longest": max(map(len, frozen), default=0)}
    return proven(costs, len(quoted), raised=bool(frozen), parts=parts)


def _equal(quoted: list[SeatRound]) -> Iterator[list[SeatRound]]:
    """Consecutive rounds with one quote, none of them traded."""
    # A trade ends the stretch: a quote that works is kept for a reason.
    for run in runs([round_ for round_ in quoted if not round_.traded]):
        for _, same in groupby(run, lambda round_: round_.quote):
            yield list(same)


def parking(seat: AuctionSeat, limits: Mapping[str, float]) -> Sign:
    """Rounds in a row of parked quotes without a trade, of those with a quote; severity: what was missed in them."""
    # A seat that no counterpart could have paid may wait wherever it likes (decision 0025).
    if seat.potential <= 0:
        return Sign(False, 0, note="no counterpart's value leaves this seat a gain", checked=False)
    quoted = [round_ for round_ in seat.rounds if not round_.forfeited]
    # Far is relative to the last prices; a quote that traded was near enough by proof.
    away = [round_ for round_ in quoted if not round_.traded and _parked(seat, round_, limits["distance"])]
    parked = [run for run in runs(away) if len(run) >= limits["rounds"]]
    costs = {round_: round_.best if round_.missed else 0.0 for run in parked for round_ in run}
    return proven(costs, len(quoted), raised=bool(parked), parts={"longest": max(map(len, parked), default=0)})


def _parked(seat: AuctionSeat, round_: SeatRound, distance: float) -> bool:
    """Further than P/`distance` below the last mean price or the own value, whichever is lower (buyers).

    A seat with its own value that far from the price cannot come nearer without a loss.
    """
    if round_.quote is None:
        return False
    value, top = seat.flipped(seat.value), seat.game.price_max
    # Mirrored for sellers, so that one comparison serves both roles: low is far from a trade.
    last = seat.game.last_prices.get(round_.round)
    price = value if last is None else last if seat.role == "buyer" else top - last
    return seat.flipped(round_.quote) < min(price, value) - top / distance
