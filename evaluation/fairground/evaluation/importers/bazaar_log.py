"""`bazaar-log`: public BAZAAR games, re-executed by our rules and compared with everything that their logs say.

The random stream of a game is followed from its seed where that is possible; a game with baselines that drew from the
same stream is fed its orders, coins and makers round by round (double_auction page, 7.2 and 11.1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from fairground.contract.errors import FairgroundError
from fairground.evaluation.importers.bazaar_compare import compare_game
from fairground.evaluation.importers.game_replay import (
    Departure,
    ReplayedGame,
    open_game,
    unlike_speakers,
    unlike_trades,
    write_game,
)
from fairground.evaluation.importers.report import GameReport, ImportReport
from fairground.trading.chance import ChanceKind, open_chance
from fairground.trading.clearing import Match, clear
from fairground.trading.game_log import GameLog, Init, LoggedRound, Trade
from fairground.trading.values import Acceptance

__all__ = ["IMPORTER", "import_game", "import_games", "log_scenario", "replayed_game"]

IMPORTER = "bazaar-log"
_MARKET = "double_auction"
_GENERATIONS: tuple[ChanceKind, ...] = ("log_maker_draw", "log_maker_order")


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
    if init.data.communication_enabled:
        report.found(init.line, "data.communication_enabled", "a game with messages is not a bazaar-log")
    else:
        played = replayed_game(game, init, report, log_scenario, _play_round)
        if played is not None:
            compare_game(game, [written.record.body for written in played.events], report)
            path = out / f"{file.stem}.trace"
            write_game(path, played, raw, game, IMPORTER)
            report.trace = str(path)
    return report


def replayed_game(
    game: GameLog,
    init: Init,
    report: GameReport,
    scenario: Callable[[Init, ChanceKind], dict[str, Any]],
    play_round: Callable[[ReplayedGame, LoggedRound], None],
) -> ReplayedGame | None:
    """The game by our rules; None and findings when they cannot follow it. `report.chance` becomes what follows it."""
    played: ReplayedGame | None = None
    if not _pairs_fit(game, report):
        return None
    try:
        report.chance = _chance_of(game, init, report)
        played = ReplayedGame(_MARKET, scenario(init, report.chance), init)
        played.start()
        for logged in game.rounds:
            if report.chance == "recorded":
                played.feed(logged.recorded(chat=init.data.communication_enabled).payload())
            play_round(played, logged)
    except FairgroundError as error:
        report.found(played.line if played else init.line, "", f"cannot be re-executed: {error}"[:500])
        return None
    return played


def _play_round(played: ReplayedGame, logged: LoggedRound) -> None:
    for quote in logged.quotes:
        played.act(quote.agent_id, "submit_quote", {"price": quote.price}, quote)


def log_scenario(init: Init, chance: ChanceKind) -> dict[str, Any]:
    """The scenario of a log, without its talk."""
    return {
        "id": "double_auction/bazaar_log",
        "description": "A public BAZAAR game.",
        "n_buyers": init.data.num_buyers,
        "n_sellers": init.data.num_sellers,
        "rounds": init.data.num_rounds,
        "distribution": init.law,
        "chance": chance,
        "seat_order": list(init.seat_order),
    }


# --- following the stream -------------------------------------------------------------------------------------------


def _pairs_fit(game: GameLog, report: GameReport) -> bool:
    """Whether the logged trades are those of the logged quotes; without that no chance can be fed."""
    for logged in game.rounds:
        here = clear(logged.bids, logged.asks, logged.quote_order, lambda pair: False)
        for departure in unlike_trades(logged, [(match.buyer, match.seller) for match in here], _pair_of, "buyer_id"):
            report.found(*departure)
    return not report.findings


def _chance_of(game: GameLog, init: Init, report: GameReport) -> ChanceKind:
    """The generation that follows the game; a game that should be followed and cannot be is a finding."""
    if init.shares_stream:
        return "recorded"
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
        yield Departure(init.line, "data.agents", f"the seed gives the values {values}")
    for logged in game.rounds:
        number = logged.number
        if chat:
            yield from unlike_speakers(logged, chance.speaking_order(number))
        order = chance.quote_order(number)
        if order != logged.quote_order:
            message = f"the seed gives the quote order {', '.join(order)}"
            yield Departure(logged.quotes[0].line, "agent_id", message)
        here = clear(
            logged.bids,
            logged.asks,
            order,
            lambda pair, number=number: chance.round_up(number, pair),
            lambda pair, earlier, number=number: chance.maker(number, pair, earlier),
        )
        yield from unlike_trades(logged, [_luck(match) for match in here], _logged_luck, "maker_id")


def _pair_of(trade: Trade) -> tuple[object, ...]:
    return trade.buyer_id, trade.seller_id


def _luck(match: Match) -> tuple[object, ...]:
    return match.buyer, match.seller, match.coin == "up", match.maker


def _logged_luck(trade: Trade) -> tuple[object, ...]:
    return trade.buyer_id, trade.seller_id, trade.clearing_random_pick, trade.maker_id
