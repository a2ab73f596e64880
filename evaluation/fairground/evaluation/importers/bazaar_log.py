"""`bazaar-log`: public BAZAAR games, re-executed by our rules and compared with everything that their logs say.

The random stream of a game is followed from its seed where that is possible; a game with baselines that drew from the
same stream is fed its orders, coins and makers round by round (double_auction page, 7.2 and 11.1).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from fairground.catalog import market_type
from fairground.contract.core import Core, Done
from fairground.contract.errors import FairgroundError
from fairground.contract.scenario import build_scenario
from fairground.evaluation.importers.bazaar_compare import compare_game
from fairground.evaluation.importers.report import GameReport, ImportReport
from fairground.tracestore import Written, write_trace
from fairground.trading.chance import ChanceKind, open_chance
from fairground.trading.clearing import Match, clear
from fairground.trading.game_log import BidAsk, GameLog, Init, LoggedRound, Row, Trade, read_game
from fairground.trading.values import Acceptance

__all__ = ["IMPORTER", "import_game", "import_games"]

IMPORTER = "bazaar-log"
_MARKET = "double_auction"
_TRANSPORT = "import"
_MAX_RESPONSE_S = 1e9
_GENERATIONS: tuple[ChanceKind, ...] = ("log_maker_draw", "log_maker_order")


def import_games(files: Sequence[Path], out: Path) -> ImportReport:
    """One trace per sound log in the folder `out`, named after the log. Damaged logs are findings."""
    return ImportReport(IMPORTER, [import_game(file, out) for file in files])


def import_game(file: Path, out: Path) -> GameReport:
    """Parse, follow, re-execute, compare and write one game."""
    report = GameReport(file.name)
    try:
        raw = file.read_bytes()
    except OSError as error:
        report.found(0, "", f"cannot be read: {error.strerror}")
        return report
    game = read_game(raw.splitlines(), file.name)
    report.findings.extend(game.findings)
    init = game.init
    if init is None or game.final is None or not game.sound:
        return report
    report.game_id, report.rounds = init.game_id, len(game.rounds)
    report.trades = sum(len(logged.trades) for logged in game.rounds)
    if init.data.communication_enabled:
        report.found(init.line, "data.communication_enabled", "a game with messages is not a bazaar-log")
    elif _pairs_fit(game, report):
        played = _replayed(game, init, report)
        if played is not None:
            compare_game(game, [written.record.body for written in played.events], report)
            path = out / f"{file.stem}.trace"
            write_trace(path, played.core.manifest, _about(raw, game, init, played.core), played.events)
            report.trace = str(path)
    return report


def _replayed(game: GameLog, init: Init, report: GameReport) -> _Played | None:
    """The game by our rules; None and a finding when they cannot follow it."""
    played: _Played | None = None
    try:
        report.chance = _chance_of(game, init, report)
        played = _Played(game, init, report.chance)
        played.run()
    except FairgroundError as error:
        report.found(played.line if played else init.line, "", f"cannot be re-executed: {error}"[:500])
        return None
    return played


class _Played:
    """A game that is played through Core in the logged order; `line` is the row that is being played."""

    def __init__(self, game: GameLog, init: Init, chance: ChanceKind) -> None:
        kind = market_type(_MARKET)
        scenario = build_scenario(kind.scenario_model, _scenario(init, chance), source="init")
        self._game = game
        self._fed = chance == "recorded"
        self.line = init.line
        self.core = Core.create(kind, scenario, init.seed)
        self.events: list[Written] = []

    def run(self) -> None:
        """Every quote of every round; raises FairgroundError when one is refused."""
        self._keep(self.core.start(), None)
        for logged in self._game.rounds:
            if self._fed:
                self._keep(self.core.feed("recorded_chance", logged.recorded(chat=False).payload()), None)
            for quote in logged.quotes:
                self.line = quote.line
                self._quote(quote)

    def _quote(self, quote: BidAsk) -> None:
        done = self.core.call(quote.agent_id, "submit_quote", {"price": quote.price})
        self._keep(done, quote)
        answer = done.answer
        if answer is not None and answer.status != "ok":
            said = answer.fault or (answer.error.message if answer.error else answer.status)
            raise FairgroundError(f"the quote of {quote.agent_id} is {answer.status}: {said}")

    def _keep(self, done: Done, quote: BidAsk | None) -> None:
        """A call's own event carries the seat and its response time; closures share the time."""
        moment = _moment(quote) if quote else None
        at_ms = int(moment.timestamp() * 1000) if moment else None
        for index, record in enumerate(done.records):
            own = quote if index == 0 else None
            self.events.append(
                Written(record, own.agent_id if own else None, at_ms, _response_us(own), _TRANSPORT if own else None)
            )


def _scenario(init: Init, chance: ChanceKind) -> dict[str, Any]:
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


def _about(raw: bytes, game: GameLog, init: Init, core: Core) -> dict[str, Any]:
    quotes = [quote for logged in game.rounds for quote in logged.quotes]
    moments = [moment.isoformat(timespec="seconds") for quote in quotes if (moment := _moment(quote)) is not None]
    return {
        "episode": Path(game.name).stem,
        "labels": init.labels,
        "created": min(moments, default=None),
        "finished": max(moments, default=None),
        "end_reason": core.ended,
        "outcome_digest": core.outcome_digest,
        "imported_from": {
            "format": IMPORTER,
            "file": game.name,
            "game_id": init.game_id,
            "schema_version": init.schema_version,
            "blake2b": hashlib.blake2b(raw, digest_size=32).hexdigest(),
        },
    }


def _extra(row: Row, name: str) -> object:
    return (row.model_extra or {}).get(name)


def _moment(row: Row) -> datetime | None:
    """The log's clock names no zone; it is taken as UTC."""
    stamp = _extra(row, "timestamp")
    try:
        return datetime.fromisoformat(stamp).replace(tzinfo=UTC) if isinstance(stamp, str) else None
    except ValueError:
        return None


def _response_us(row: Row | None) -> int | None:
    seconds = _extra(row, "response_time_s") if row else None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < _MAX_RESPONSE_S:
        return None
    return round(seconds * 1_000_000)


# --- following the stream -------------------------------------------------------------------------------------------


class _Departure(NamedTuple):
    """Where a log leaves the stream of its seed."""

    line: int
    path: str
    message: str


def _pairs_fit(game: GameLog, report: GameReport) -> bool:
    """Whether the logged trades are those of the logged quotes; without that no chance can be fed."""
    for logged in game.rounds:
        here = clear(logged.bids, logged.asks, logged.quote_order, lambda pair: False)
        for departure in _unlike(logged, [(match.buyer, match.seller) for match in here], _pair_of, "buyer_id"):
            report.found(*departure)
    return not report.findings


def _chance_of(game: GameLog, init: Init, report: GameReport) -> ChanceKind:
    """The generation that follows the game; a game that should be followed and cannot be is a finding."""
    if init.shares_stream:
        return "recorded"
    departures: list[_Departure] = []
    for generation in _GENERATIONS:
        departure = next(_departures(game, init, generation), None)
        if departure is None:
            return generation
        departures.append(departure._replace(message=f"as {generation}: {departure.message}"))
    for departure in departures:
        report.found(*departure)
    return "recorded"


def _departures(game: GameLog, init: Init, generation: ChanceKind) -> Iterator[_Departure]:
    """What the seed gives otherwise than the log says, first things first."""
    chance = open_chance(generation, init.seed, init.roster, seat_order=init.seat_order)
    values = chance.limits(init.law, Acceptance()).values
    if values != init.values:
        yield _Departure(init.line, "data.agents", f"the seed gives the values {values}")
    for logged in game.rounds:
        number = logged.number
        order = chance.quote_order(number)
        if order != logged.quote_order:
            message = f"the seed gives the quote order {', '.join(order)}"
            yield _Departure(logged.quotes[0].line, "agent_id", message)
        here = clear(
            logged.bids,
            logged.asks,
            order,
            lambda pair, number=number: chance.round_up(number, pair),
            lambda pair, earlier, number=number: chance.maker(number, pair, earlier),
        )
        yield from _unlike(logged, [_luck(match) for match in here], _logged_luck, "maker_id")


def _pair_of(trade: Trade) -> tuple[object, ...]:
    return trade.buyer_id, trade.seller_id


def _luck(match: Match) -> tuple[object, ...]:
    return match.buyer, match.seller, match.coin == "up", match.maker


def _logged_luck(trade: Trade) -> tuple[object, ...]:
    return trade.buyer_id, trade.seller_id, trade.clearing_random_pick, trade.maker_id


def _unlike(logged: LoggedRound, here: Sequence[tuple[object, ...]], of: Any, path: str) -> Iterator[_Departure]:
    """Trades of a round that are otherwise here than in the log."""
    there = [of(trade) for trade in logged.trades]
    for index in range(max(len(there), len(here))):
        ours = here[index] if index < len(here) else None
        theirs = there[index] if index < len(there) else None
        if ours != theirs:
            row: Row = logged.trades[index] if theirs is not None else logged.quotes[-1]
            message = f"trade {index + 1} of round {logged.number} is {theirs} in the log and {ours} by the rules"
            yield _Departure(row.line, path, message)
