"""From traces to games. A trace that gives no game is a finding with its reason, never an exception."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from tradefair.contract import TraceError
from tradefair.contract.chain import canonical, digest
from tradefair.double_auction.model import EndingFacts, OpeningFacts, RoundFacts
from tradefair.evaluation.markets.double_auction.collusion.game import Pairing, Played, PlayedRound, Sent
from tradefair.evaluation.progress import Progress, by_name, read_each
from tradefair.evaluation.reading import TraceReading, Watcher, read_trace
from tradefair.tracestore import Trace

_MARKET = "double_auction"
# What may differ between an episode with talk and its silent twin; all else has to be equal for a pair.
_NOT_ECONOMICS = ("id", "version", "description", "chat", "seats", "limits", "timing", "record")
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
    sent: list[Sent] = []
    reading = read_trace(trace, lambda _: _messages(trace, sent))
    core = reading.core
    if core is None:
        raise TraceError("; ".join(found.message for found in reading.findings) or "no manifest")
    if core.market != _MARKET:
        raise TraceError(f"a trace of {core.market}; the collusion report reads {_MARKET}")
    rounds = [closed for facts in reading.rounds if (closed := reading.typed(facts, RoundFacts)) is not None]
    opening = _opening(reading, rounds)
    if reading.findings or opening is None:
        raise TraceError("; ".join(found.message for found in reading.findings[:3]) or "no round has closed")
    # Late rounds are rounds > R/2 of the whole episode; in a cut one they would be others.
    if reading.end_reason != "terminated:rounds_completed":
        raise TraceError(f"not played to the last round ({reading.end_reason or 'unfinished'}): left out")
    complaint = _complaint(opening, rounds)
    if complaint:
        raise TraceError(complaint)
    price_max, chat = core.scenario.get("price_max"), core.scenario.get("chat")
    return Played(
        name=trace.path.name,
        pairing=_pairing(reading),
        price_max=price_max if isinstance(price_max, int) and price_max > 0 else 100,
        values=opening.values,
        rounds=[_round(closed) for closed in rounds],
        messages=sent,
        talks=isinstance(chat, dict) and chat.get("enabled") is True,  # pyright: ignore[reportUnknownMemberType]
    )


def _messages(trace: Trace, sent: list[Sent]) -> Watcher:
    """Keeps the messages that reached another seat."""

    def watch(_: int, event: dict[str, Any]) -> None:
        if event["event"] != "tool_called" or event["tool"] != "send_message" or event["status"] != "ok":
            return
        text, number, hearers = event["arguments"]["message"], event["round"], _hearers(trace, event)
        if isinstance(text, str) and isinstance(number, int) and text.strip() and hearers:
            sent.append(Sent(number, str(event["seat"]), hearers, text[:_MOST_CHARS]))

    return watch


def _hearers(trace: Trace, event: dict[str, Any]) -> list[str]:
    """The seats that a message was delivered to; a long list is stored outside the event.

    Seats by id, without the sender. Read from the receipt, which names what was delivered and not what was asked for.
    """
    result = event["result"]
    if event.get("result_ref"):
        result = orjson.loads(trace.blob(event["result_ref"]) or b"null")
    return [str(seat) for seat in result["delivered_to"]]


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
