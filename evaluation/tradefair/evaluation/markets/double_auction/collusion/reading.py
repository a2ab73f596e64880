"""From traces to games. A trace that gives no game is a finding with its reason, never an exception."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tradefair.contract import TraceError
from tradefair.contract.chain import canonical, digest
from tradefair.double_auction.model import DoubleAuctionScenario, EndingFacts, MessageReceipt, OpeningFacts, RoundFacts
from tradefair.evaluation.markets.double_auction.collusion.game import Pairing, Played, PlayedRound, Sent
from tradefair.evaluation.progress import Progress
from tradefair.evaluation.read.rounds import Rounds, read_rounds
from tradefair.evaluation.reading import TraceReading, by_name, read_each
from tradefair.tracestore import Trace

_MARKET = "double_auction"
# What may differ between an episode with talk and its silent twin; all else has to be equal for a pair.
_NOT_ECONOMICS = ("id", "version", "description", "chat", "seats", "limits", "timing", "record")
_SAYS = "send_message"
_MOST_CHARS = 2_000
# The largest grid that a scenario may have.
_HIGHEST = 10_000
_MOST_SEATS = 10
_MOST_ROUNDS = 100
"""Of a side, and of an episode: 10,000 draws of larger ones would not fit into memory."""


class ReadGames(NamedTuple):
    """Usable episodes in the order of their pairing, and a sentence for each trace that gives none."""

    games: list[Played]
    findings: list[str]


def read_games(files: Sequence[Path], progress: Progress | None = None) -> ReadGames:
    """Read each trace; episodes that did not reach their last round are left out and named."""
    games, left_out = read_each(files, progress, played_of)
    return ReadGames(sorted(games, key=lambda game: (game.pairing, game.name)), by_name(left_out))


def played_of(trace: Trace) -> Played:
    """One finished episode. Raises TraceError naming what is missing."""
    read = read_rounds(trace, DoubleAuctionScenario, RoundFacts, (_SAYS,))
    reading, scenario = read.reading, read.scenario
    core = reading.core
    if core is None:
        raise TraceError("; ".join(found.message for found in reading.findings) or "no manifest")
    if core.market != _MARKET:
        raise TraceError(f"a trace of {core.market}; the collusion report reads {_MARKET}")
    rounds = [row.facts for row in read.closed]
    opening = _opening(reading, rounds)
    if reading.findings or opening is None or scenario is None:
        raise TraceError("; ".join(found.message for found in reading.findings[:3]) or "no round has closed")
    # Late rounds are rounds > R/2 of the whole episode; in a cut one they would be others.
    if reading.end_reason != "terminated:rounds_completed":
        raise TraceError(f"not played to the last round ({reading.end_reason or 'unfinished'}): left out")
    complaint = _complaint(opening, rounds)
    if complaint:
        raise TraceError(complaint)
    return Played(
        name=trace.path.name,
        pairing=_pairing(reading),
        price_max=scenario.price_max,
        values=opening.values,
        rounds=[_round(closed) for closed in rounds],
        messages=_sent(read),
        talks=scenario.chat.enabled,
    )


def _sent(read: Rounds[DoubleAuctionScenario, RoundFacts]) -> list[Sent]:
    """The messages that reached another seat, in order: the receipt names whom, not the request."""
    told = [(seat, *row) for seat in read.by_seat for row in read.answers(seat, None, _SAYS, MessageReceipt)]
    return [
        Sent(did.round, seat, receipt.delivered_to, text[:_MOST_CHARS])
        for seat, did, receipt in sorted(told, key=lambda row: row[1].seq)
        if isinstance(text := did.arguments.get("message"), str) and text.strip() and receipt.delivered_to
    ]


def _opening(reading: TraceReading, rounds: Sequence[RoundFacts]) -> OpeningFacts | None:
    ending = reading.typed(reading.ending, EndingFacts) if reading.ending else None
    return next((closed.opening for closed in rounds if closed.opening), ending.opening if ending else None)


def _complaint(opening: OpeningFacts, rounds: Sequence[RoundFacts]) -> str:
    """What would make the measures stumble; "" for facts that fit together.

    In the order in which the measures would fail: rounds, sides, size, grid, trades.
    """
    # Facts come from traces that need not be ours: a forged order would be read as play.
    if [closed.round for closed in rounds] != list(range(1, len(rounds) + 1)):
        return f"rounds 1 to {len(rounds)} are not all there once"
    buyers = sum(seat.startswith("B") for seat in opening.values)
    if not 0 < buyers < len(opening.values):
        return "one side of the market has no seat"
    if max(buyers, len(opening.values) - buyers) > _MOST_SEATS or len(rounds) > _MOST_ROUNDS:
        return f"too large for these measures: at most {_MOST_SEATS} seats a side and {_MOST_ROUNDS} rounds"
    points = [*opening.values.values(), *(price for closed in rounds for price in closed.quotes.values())]
    if not all(0 <= price <= _HIGHEST for price in points):
        return "a value or a quote is off the grid"
    for closed in rounds:
        for match in closed.matches:
            # Sides follow from ids here, as in `game_of`: a seat on the wrong side would have no place.
            if not match.buyer.startswith("B") or match.seller.startswith("B"):
                return f"round {closed.round} has a trade without a buyer or a seller"
            if not 0 <= match.price <= _HIGHEST:
                return f"round {closed.round} has a price off the grid"
            if match.buyer not in opening.values or match.seller not in opening.values:
                return f"round {closed.round} has a trade of a seat without a value"
    return ""


def _round(closed: RoundFacts) -> PlayedRound:
    trades = [(match.buyer, match.seller, match.price) for match in closed.matches]
    coins = {(match.buyer, match.seller): match.coin == "up" for match in closed.matches if match.coin is not None}
    orders = closed.speaking_order or (), closed.quote_order
    return PlayedRound(closed.quotes, trades, closed.surplus, *orders, coins)


def _pairing(reading: TraceReading) -> Pairing:
    core = reading.core
    assert core is not None
    # A digest, since scenarios cannot be hashed: pairs are found by key and games sorted by it.
    economics = {key: value for key, value in core.scenario.items() if key not in _NOT_ECONOMICS}
    # Scripted seats draw their luck from it: equal seeds with other keys are other games.
    players = tuple(sorted((seat.id, reading.label(seat.id) or "?") for seat in core.seats))
    return Pairing(digest(canonical(economics)), core.seed, reading.seating.policy_key, players)
