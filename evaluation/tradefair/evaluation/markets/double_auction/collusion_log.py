"""`collusion-log`: public games of the emergent-collusion study, re-executed by the double auction's rules with talk.

A row of `conversation` becomes the message that it logs, no row silence. Everything else is as in `bazaar_log`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from tradefair.contract import SeatId
from tradefair.double_auction.model import Message
from tradefair.double_auction.rules import DoubleAuction
from tradefair.evaluation.foreign.importers.game_logs import game_reader
from tradefair.evaluation.foreign.importers.game_replay import ReplayedGame, open_game, origin_of, write_game
from tradefair.evaluation.foreign.importers.log_stream import pairs_fit, replayed_game
from tradefair.evaluation.foreign.importers.report import GameReport
from tradefair.evaluation.markets.double_auction.bazaar_compare import compare_game
from tradefair.evaluation.markets.double_auction.bazaar_log import log_scenario
from tradefair.trading.chance import ChanceKind
from tradefair.trading.game_log import Conversation, GameLog, Init, LoggedRound

IMPORTER = "collusion-log"


def import_game(file: Path, out: Path) -> GameReport:
    """Parse, follow, re-execute, compare and write one game."""
    report = GameReport(file.name)
    opened = open_game(file, report)
    if opened is None:
        return report
    raw, game, init, _ = opened
    if not init.data.communication_enabled:
        report.found(init.line, "data.communication_enabled", "a game without messages is not a collusion-log")
        return report
    # The formats are the same, but a pair with talk is the game of bargaining, with rules of its own.
    if len(init.roster.seats) == 2:
        report.found(init.line, "data.agents", "one buyer and one seller: that is a pact-log")
        return report
    # See `bazaar_log`: without equal pairs there is no chance that could be followed or fed.
    fits = pairs_fit(game, report)
    origin = origin_of(raw, game.name, init, IMPORTER)
    played = (
        replayed_game("double_auction", game, init, report, lambda _: origin, _scenario, _play_round) if fits else None
    )
    if played is not None:
        compare_game(game, [written.record.body for written in played.events], report)
        _compare_talk(game, init, cast("DoubleAuction", played.core.market), report)
        write_game(out, played, game, report)
    return report


def _scenario(init: Init, chance: ChanceKind) -> dict[str, Any]:
    return {
        **log_scenario(init, chance),
        "id": "double_auction/collusion_log",
        "description": "A public game of the emergent-collusion study.",
        # What the source took is not refused afterwards.
        "chat": {"enabled": True, "max_words": 200, "max_chars": 2_000},
    }


def _play_round(played: ReplayedGame, logged: LoggedRound) -> None:
    """Messages and silences in the logged order of quotes, the speakers first; then the quotes."""
    for row in logged.messages:
        arguments = {"recipient": row.recipient_id, "message": row.message}
        played.act(row.player_id, "send_message", arguments, row)
    for seat in logged.quote_order:
        # Silence has to be said: the talk phase closes when all seats have acted. The log has no row for it.
        if seat not in logged.speakers:
            played.act(seat, "send_message", {"recipient": "all_traders", "message": ""}, None)
    for quote in logged.quotes:
        played.act(quote.agent_id, "submit_quote", {"price": quote.price}, quote)


# --- what was said, and to whom ---------------------------------------------------------------------------------------


def _compare_talk(game: GameLog, init: Init, market: DoubleAuction, report: GameReport) -> None:
    """Each message with its recipient; and each seat's inbox: what it could read, and nothing else.

    This is what the study's findings rest on: a message that reached other seats than the log says would be another
    game.
    """
    said = {(message.round, message.sender): message for message in market.state.messages}
    rows = [row for logged in game.rounds for row in logged.messages]
    for row in rows:
        # One message per seat and round, by the rules; that is why a pair of both is a key.
        here = said.get((row.round, row.player_id))
        report.compare("messages", row.message, here.text if here else None, row.line, "message")
        report.compare("recipients", row.recipient_id, here.recipient if here else None, row.line, "recipient_id")
    # A message of ours that the log lacks would not be met by the loop over the log's rows.
    report.compare("message_counts", len(rows), len(said), rows[-1].line if rows else init.line, "type")
    for seat in init.seat_order:
        # An inbox holds own messages as well; the log's rows are compared in the same order.
        there = [_read(row) for row in rows if seat == row.player_id or seat in _reached(init, row)]
        inbox = [_delivered(message) for message in market.state.inbox[seat]]
        report.compare("visibility", there, inbox, rows[-1].line if rows else init.line, f"recipient_id.{seat}")


def _reached(init: Init, row: Conversation) -> Sequence[SeatId]:
    """The seats that the log's recipient stands for: a group, or one seat."""
    roster = init.roster
    groups = {"all_traders": roster.seats, "all_sellers": roster.sellers, "all_buyers": roster.buyers}
    return groups.get(row.recipient_id, (row.recipient_id,))


def _read(row: Conversation) -> tuple[object, ...]:
    return row.round, row.player_id, row.message


def _delivered(message: Message) -> tuple[object, ...]:
    return message.round, message.sender, message.text


READER = game_reader(
    IMPORTER, "public game logs of the emergent-collusion study, re-executed with their messages", "talk", import_game
)
