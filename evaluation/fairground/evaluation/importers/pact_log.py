"""`pact-log`: public PACT games, re-executed by our rules and compared with everything that their logs say.

A row of `conversation` becomes the message that it logs, no row silence, a `communication_violation` a lapse
(bargaining page, 11). The engine's generation is found by replay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from fairground.bargaining.model import BUYER, SELLER, RoundFacts
from fairground.contract.errors import FairgroundError
from fairground.evaluation.importers.game_replay import (
    Departure,
    ReplayedGame,
    extra_field,
    open_game,
    unlike_speakers,
    unlike_trades,
    write_game,
)
from fairground.evaluation.importers.report import GameReport, ImportReport
from fairground.trading.chance import ChanceKind, open_chance
from fairground.trading.clearing import clear
from fairground.trading.game_log import BidAsk, Final, GameLog, Init, LoggedRound, Row, Trade
from fairground.trading.values import Acceptance

__all__ = ["IMPORTER", "import_game", "import_games"]

IMPORTER = "pact-log"
_MARKET = "bargaining"
_GENERATIONS: tuple[ChanceKind, ...] = ("log_maker_draw", "log_maker_order")
_PRICE_TAG = re.compile(r"<price>\s*\d{1,3}\s*</price>")


def import_games(files: Sequence[Path], out: Path) -> ImportReport:
    """One trace per sound log in the folder `out`, named after the log. Damaged logs are findings."""
    return ImportReport(IMPORTER, [import_game(file, out) for file in files])


def import_game(file: Path, out: Path) -> GameReport:
    """Parse, follow, re-execute, compare and write one game."""
    report = GameReport(file.name)
    opened = open_game(file, report)
    if opened is None or opened[1].init is None:
        return report
    raw, game = opened
    init = opened[1].init
    if sorted(init.seat_order) != [BUYER, SELLER]:
        report.found(init.line, "data.agents", f"a pact-log has the seats {BUYER} and {SELLER}, and no others")
        return report
    played = _replayed(game, init, report)
    if played is not None:
        _compare(game, init, [written.record.body for written in played.events], report)
        path = out / f"{file.stem}.trace"
        traded = any(logged.trades for logged in game.rounds)
        generation = (report.chance or "").removeprefix("log_") if traded else "undetermined"
        write_game(path, played, raw, game, IMPORTER, generation=generation, substituted=_substituted(game, init))
        report.trace = str(path)
    return report


def _replayed(game: GameLog, init: Init, report: GameReport) -> ReplayedGame | None:
    """The game by our rules; None and a finding when they cannot follow it."""
    played: ReplayedGame | None = None
    try:
        report.chance = _chance_of(game, init, report)
        played = ReplayedGame(_MARKET, _scenario(init, report.chance), init)
        played.start()
        for logged in game.rounds:
            if report.chance == "recorded":
                played.feed(logged.recorded(chat=init.data.communication_enabled).payload())
            _play_round(played, logged)
    except FairgroundError as error:
        report.found(played.line if played else init.line, "", f"cannot be re-executed: {error}"[:500])
        return None
    return played


def _play_round(played: ReplayedGame, logged: LoggedRound) -> None:
    messages: dict[str, Row] = {row.player_id: row for row in logged.messages}
    dropped = {row.player_id: row for row in logged.violations}
    market = played.core.market
    while market.clock.phase != "quote" and market.terminated is None:
        (seat,) = market.awaited()
        said, violation = messages.get(seat), dropped.get(seat)
        if said is None and violation is not None:
            played.lapse(seat, violation)
        else:
            text = str(getattr(said, "message", ""))
            played.act(seat, "send_message", {"text": text}, said)
    for quote in logged.quotes:
        played.act(quote.agent_id, "submit_quote", {"price": quote.price}, quote)


def _scenario(init: Init, chance: ChanceKind) -> dict[str, Any]:
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


def _substituted(game: GameLog, init: Init) -> list[dict[str, Any]]:
    """Quotes that the source put in place of an answer without a price: the own limit, with no price tag."""
    return [
        {"round": logged.number, "seat": quote.agent_id}
        for logged in game.rounds
        for quote in logged.quotes
        if _is_substituted(quote, init)
    ]


def _is_substituted(quote: BidAsk, init: Init) -> bool:
    answer = extra_field(quote, "raw_response")
    if not isinstance(answer, str) or quote.price != init.values[quote.agent_id]:
        return False
    return len(_PRICE_TAG.findall(answer)) != 1


# --- following the stream ---------------------------------------------------------------------------------------------


def _chance_of(game: GameLog, init: Init, report: GameReport) -> ChanceKind:
    """The generation that follows the game; a game that none follows is a finding and fed its luck."""
    departures: list[Departure] = []
    for generation in _GENERATIONS:
        departure = next(_departures(game, init, generation), None)
        if departure is None:
            return generation
        departures.append(departure._replace(message=f"as {generation}: {departure.message}"))
    for departure in departures:
        report.found(*departure)
    return "recorded"


def _departures(game: GameLog, init: Init, generation: ChanceKind) -> Iterator[Departure]:
    """What the seed gives otherwise than the log says, first things first."""
    chat = init.data.communication_enabled
    chance = open_chance(generation, init.seed, init.roster, seat_order=init.seat_order, chat=chat)
    values = chance.limits(init.law, Acceptance()).values
    if values != init.values:
        yield Departure(init.line, "data.agents", f"the seed gives the limits {values}")
    for logged in game.rounds:
        number = logged.number
        if chat:
            yield from unlike_speakers(logged, chance.speaking_order(number))
        order = chance.quote_order(number)
        if order != logged.quote_order:
            yield Departure(logged.quotes[0].line, "agent_id", f"the seed gives the quote order {', '.join(order)}")
        here = clear(
            logged.bids,
            logged.asks,
            order,
            lambda pair, number=number: chance.round_up(number, pair),
            lambda pair, earlier, number=number: chance.maker(number, pair, earlier),
        )
        luck = [(match.coin == "up", match.maker) for match in here]
        yield from unlike_trades(logged, luck, _logged_luck, "maker_id")


def _logged_luck(trade: Trade) -> tuple[object, ...]:
    return trade.clearing_random_pick, trade.maker_id


# --- everything that the log says -------------------------------------------------------------------------------------


def _compare(game: GameLog, init: Init, bodies: Sequence[bytes], report: GameReport) -> None:
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
        _compare_talk(logged, facts, [one for one in said if one["round"] == logged.number], report)
        _compare_trade(logged, facts, report)
        _compare_money(logged, facts, before, report)
        before = dict(facts.profit)
    _compare_final(game.final, rounds, report)


def _closes_round(body: bytes) -> bool:
    return b'"event":"round_closed"' in body[:60]


def _compare_talk(logged: LoggedRound, facts: RoundFacts, said: Sequence[dict[str, Any]], report: GameReport) -> None:
    heard = {one["seat"]: one["text"] for one in said}
    for row in logged.messages:
        report.compare("messages", row.message, heard.get(row.player_id), row.line, "message")
    if len(logged.messages) == 2:
        order = list(facts.record.speaking_order or ())
        report.compare("speaking_orders", list(logged.speakers), order, logged.messages[0].line, "player_id")
    for row in logged.violations:
        report.compare("violations", "", heard.get(row.player_id), row.line, "player_id")


def _compare_trade(logged: LoggedRound, facts: RoundFacts, report: GameReport) -> None:
    record, line = facts.record, logged.quotes[0].line
    report.compare("quote_orders", list(logged.quote_order), record.quote_order, line, "agent_id")
    quotes = (logged.bids.get(BUYER), logged.asks.get(SELLER))
    report.compare("quotes", quotes, (record.bid, record.ask), line, "price")
    report.compare("trade_counts", len(logged.trades), int(record.price is not None), line, "type")
    for trade in logged.trades:
        report.compare("prices", trade.cleared_price, record.price, trade.line, "cleared_price")
        midpoint = None if record.midpoint_x2 is None else record.midpoint_x2 / 2
        report.compare("midpoints", trade.midpoint_exact, midpoint, trade.line, "midpoint_exact")
        report.compare("makers", trade.maker_id, record.maker, trade.line, "maker_id")
        if (trade.bid + trade.ask) % 2:
            coin = trade.clearing_random_pick
            report.compare("half_ticks", coin, record.rounded_up, trade.line, "clearing_random_pick")


def _compare_money(logged: LoggedRound, facts: RoundFacts, before: dict[str, int], report: GameReport) -> None:
    for change in logged.payoff_changes:
        seat = change.seat_id
        there = (change.old_payoff, change.new_payoff, change.delta)
        here = (before[seat], facts.profit[seat], facts.profit[seat] - before[seat])
        report.compare("payoffs", there, here, change.line, "new_payoff")
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
    data, line, last = final.data, final.line, rounds[-1]
    most = last.opening.gap * len(rounds)
    for seat, profit in last.profit.items():
        report.compare("final_payoffs", data.final_payoff_map.get(seat), profit, line, f"data.final_payoff_map.{seat}")
        potential = data.seat_max_potential_surplus_map.get(seat)
        report.compare("final_potentials", potential, last.opening.gap, line, "data.seat_max_potential_surplus_map")
        share = max(0, profit) / most if most else 0.0
        report.compare(
            "final_shares", data.seat_surplus_share_map.get(seat), share, line, "data.seat_surplus_share_map"
        )
    surplus = sum(last.profit.values())
    report.compare("final_surplus", data.total_surplus, surplus, line, "data.total_surplus")
    report.compare("final_max_surplus", data.max_surplus, most, line, "data.max_surplus")
    efficiency = surplus / most if most else 0.0
    report.compare("final_efficiency", data.market_efficiency, efficiency, line, "data.market_efficiency")
