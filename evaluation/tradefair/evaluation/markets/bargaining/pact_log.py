"""`pact-log`: public PACT games, re-executed by our rules and compared with everything that their logs say.

A row of `conversation` becomes the message that it logs, no row silence, a `communication_violation` a lapse.
The engine's generation is found by replay.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from tradefair.bargaining.model import BUYER, SELLER, RoundFacts
from tradefair.evaluation.foreign.importers.game_logs import game_reader
from tradefair.evaluation.foreign.importers.game_replay import (
    ReplayedGame,
    extra_field,
    open_game,
    origin_of,
    write_game,
)
from tradefair.evaluation.foreign.importers.log_stream import replayed_game
from tradefair.evaluation.foreign.importers.report import GameReport
from tradefair.trading.chance import ChanceKind
from tradefair.trading.game_log import Final, GameLog, Init, LoggedRound, Row

IMPORTER = "pact-log"
# The source took an answer's price from exactly one such tag.
_PRICE_TAG = re.compile(r"<price>\s*\d{1,3}\s*</price>")


def import_game(file: Path, out: Path) -> GameReport:
    """Parse, follow, re-execute, compare and write one game.

    A log that is damaged or that the rules refuse gives findings and no trace. One that differs in some fact still
    becomes a trace.
    """
    report = GameReport(file.name)
    opened = open_game(file, report)
    if opened is None:
        return report
    raw, game, init, _ = opened
    # More seats are a game of the double auction; both markets share the format of the log.
    if sorted(init.seat_order) != [BUYER, SELLER]:
        report.found(init.line, "data.agents", f"a pact-log has the seats {BUYER} and {SELLER}, and no others")
        return report

    def origin(chance: ChanceKind) -> dict[str, Any]:
        # Generations differ in how a trade's maker is drawn: without a trade both follow the log.
        traded = any(logged.trades for logged in game.rounds)
        generation = chance.removeprefix("log_") if traded else "undetermined"
        known = origin_of(raw, game.name, init, IMPORTER)
        return {**known, "generation": generation, "substituted": _substituted(game, init, report)}

    played = replayed_game("bargaining", game, init, report, origin, _scenario, _play_round)
    if played is not None:
        _compare(game, init, [written.record.body for written in played.events], report)
        write_game(out, played, game, report)
    return report


def _play_round(played: ReplayedGame, logged: LoggedRound) -> None:
    # One message per seat and round, so that a seat finds its own.
    """One logged round through the rules: first the talk, speaker by speaker, then both quotes."""
    messages: dict[str, Row] = {row.player_id: row for row in logged.messages}
    dropped = {row.player_id: row for row in logged.violations}
    market = played.core.market
    # The rules ask one speaker at a time, in the order that the seed gave. Without chat the loop never runs.
    while market.clock.phase != "quote" and market.terminated is None:
        (seat,) = market.awaited()
        said, violation = messages.get(seat), dropped.get(seat)
        if said is None and violation is not None:
            # The source dropped the message: for the counterpart that was silence, but no choice of the seat.
            played.lapse(seat, violation)
        else:
            # No row is silence, which is an empty message here.
            text = str(getattr(said, "message", ""))
            played.act(seat, "send_message", {"text": text}, said)
    for quote in logged.quotes:
        # In the logged order. Both quotes are sealed, so that it is part of the record and not of the play.
        played.act(quote.agent_id, "submit_quote", {"price": quote.price}, quote)


def _scenario(init: Init, chance: ChanceKind) -> dict[str, Any]:
    """The rules' defaults are the source's values for what is not named here."""
    return {
        "id": "bargaining/pact_log",
        "description": "A public PACT game.",
        "rounds": init.data.num_rounds,
        "chat": init.data.communication_enabled,
        # What the source took is not refused afterwards.
        "max_words": 500,
        "max_chars": 8_000,
        "distribution": init.law,
        "chance": chance,
        "seat_order": list(init.seat_order),
    }


def _substituted(game: GameLog, init: Init, report: GameReport) -> list[dict[str, Any]] | None:
    """Quotes that the source put in place of an answer without a price: the own limit, with no price tag.

    Both signs are needed: a seat may quote its limit on purpose, and a damaged answer may still show a price. Null
    where the log has no answer to one of the quotes at the own limit.
    """
    quotes = [(logged.number, quote) for logged in game.rounds for quote in logged.quotes]
    at_limit = [(number, quote) for number, quote in quotes if quote.price == init.values[quote.agent_id]]
    answers = [extra_field(quote, "raw_response") for _, quote in at_limit]
    for (_, quote), answer in zip(at_limit, answers, strict=True):
        report.lacks("raw_response", quote.line, "raw_response", missing=not isinstance(answer, str))
    if not all(isinstance(answer, str) for answer in answers):
        return None
    return [
        {"round": number, "seat": quote.agent_id}
        for (number, quote), answer in zip(at_limit, answers, strict=True)
        # An own limit with one valid tag was quoted on purpose.
        if len(_PRICE_TAG.findall(str(answer))) != 1
    ]


# --- everything that the log says -------------------------------------------------------------------------------------


def _compare(game: GameLog, init: Init, bodies: Sequence[bytes], report: GameReport) -> None:
    """Every fact of the log with our facts of the same round. The count of each kind is in `report.checks`."""
    rounds = [RoundFacts.model_validate(orjson.loads(body)["facts"]) for body in bodies if _closes_round(body)]
    said = [orjson.loads(body)["public"] for body in bodies if b'"event":"phase_closed"' in body[:60]]
    if not rounds or game.final is None:
        report.found(1, "", "no round could be re-executed")
        return
    opening = rounds[0].opening
    limits = {BUYER: opening.buyer_value, SELLER: opening.seller_cost}
    for seat, limit in init.values.items():
        report.compare("limits", limit, limits[seat], init.line, f"data.agents.{seat}")
    before = {BUYER: 0, SELLER: 0}
    for logged, facts in zip(game.rounds, rounds, strict=False):
        _compare_talk(logged, facts, [message for message in said if message["round"] == logged.number], report)
        _compare_trade(logged, facts, report)
        _compare_money(logged, facts, before, report)
        before = dict(facts.profit)
    _compare_final(game.final, rounds, report)


def _closes_round(body: bytes) -> bool:
    return b'"event":"round_closed"' in body[:60]


def _compare_talk(logged: LoggedRound, facts: RoundFacts, said: Sequence[dict[str, Any]], report: GameReport) -> None:
    """Messages by seat, the order of the speakers, and silence where the source had dropped a message."""
    heard = {message["seat"]: message["text"] for message in said}
    for row in logged.messages:
        report.compare("messages", row.message, heard.get(row.player_id), row.line, "message")
    # One message alone does not tell which seat the seed let speak first.
    if len(logged.messages) == 2:
        order = list(facts.record.speaking_order or ())
        report.compare("speaking_orders", list(logged.speakers), order, logged.messages[0].line, "player_id")
    for row in logged.violations:
        # The lapse has to look like silence to the counterpart: nothing of the dropped text may have got through.
        report.compare("violations", "", heard.get(row.player_id), row.line, "player_id")


def _compare_trade(logged: LoggedRound, facts: RoundFacts, report: GameReport) -> None:
    """Quotes and their order, then the trade: price, exact midpoint, maker, and the coin where one was needed."""
    record, line = facts.record, logged.quotes[0].line
    report.compare("quote_orders", list(logged.quote_order), record.quote_order, line, "agent_id")
    quotes = (logged.bids.get(BUYER), logged.asks.get(SELLER))
    report.compare("quotes", quotes, (record.bid, record.ask), line, "price")
    report.compare("trade_counts", len(logged.trades), int(record.price is not None), line, "type")
    for trade in logged.trades:
        report.compare("prices", trade.cleared_price, record.price, trade.line, "cleared_price")
        # Our records keep twice the midpoint, a whole number; half of it is exact in binary.
        midpoint = None if record.midpoint_x2 is None else record.midpoint_x2 / 2
        report.compare("midpoints", trade.midpoint_exact, midpoint, trade.line, "midpoint_exact")
        report.compare("makers", trade.maker_id, record.maker, trade.line, "maker_id")
        # Only an odd sum leaves half a tick for the coin.
        if (trade.bid + trade.ask) % 2:
            coin = trade.clearing_random_pick
            report.compare("half_ticks", coin, record.rounded_up, trade.line, "clearing_random_pick")


def _compare_money(logged: LoggedRound, facts: RoundFacts, before: dict[str, int], report: GameReport) -> None:
    """Changes of payoff and the totals of the round, in ticks. `payoff_map` is cumulative."""
    for change in logged.payoff_changes:
        seat = change.seat_id
        there = (change.old_payoff, change.new_payoff, change.delta)
        here = (before[seat], facts.profit[seat], facts.profit[seat] - before[seat])
        report.compare("payoffs", there, here, change.line, "new_payoff")
    # A round without a `round_end` row has nothing more to compare; `final` holds the totals.
    end = logged.end
    if end is None:
        return
    price, surplus = facts.record.price, facts.record.profit_buyer + facts.record.profit_seller
    for seat, profit in facts.profit.items():
        report.compare("round_payoffs", end.data.payoff_map.get(seat), profit, end.line, f"data.payoff_map.{seat}")
    prices = [] if price is None else [price]
    report.compare("round_prices", end.data.clearing_prices, prices, end.line, "data.clearing_prices")
    report.compare("round_surplus", end.data.round_surplus, surplus, end.line, "data.round_surplus")
    report.compare("round_max_surplus", end.data.max_surplus, facts.opening.gap, end.line, "data.max_surplus")


def _compare_final(final: Final, rounds: Sequence[RoundFacts], report: GameReport) -> None:
    """The totals of the game, in ticks or as shares of R·G. The potential is G of one round, as the source has it."""
    data, line, last = final.data, final.line, rounds[-1]
    most = last.opening.gap * len(rounds)
    for seat, profit in last.profit.items():
        report.compare("final_payoffs", data.final_payoff_map.get(seat), profit, line, f"data.final_payoff_map.{seat}")
        potential = data.seat_max_potential_surplus_map.get(seat)
        report.compare("final_potentials", potential, last.opening.gap, line, "data.seat_max_potential_surplus_map")
        # Above 1 where the other seat traded at a loss; 0 where nothing can be gained.
        share = max(0, profit) / most if most > 0 else 0.0
        shares = data.seat_surplus_share_map
        report.compare("final_shares", shares.get(seat), share, line, f"data.seat_surplus_share_map.{seat}")
    surplus = sum(last.profit.values())
    report.compare("final_surplus", data.total_surplus, surplus, line, "data.total_surplus")
    report.compare("final_max_surplus", data.max_surplus, most, line, "data.max_surplus")
    efficiency = surplus / most if most else 0.0
    report.compare("final_efficiency", data.market_efficiency, efficiency, line, "data.market_efficiency")


READER = game_reader(IMPORTER, "public PACT game logs, re-executed by the rules of bargaining", "pair", import_game)
