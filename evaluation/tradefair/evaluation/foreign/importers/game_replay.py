"""What importers of public games share: play through Core in the logged order, keep times and origin of the log."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tradefair.catalog import market_type
from tradefair.contract import TradefairError
from tradefair.contract.kernel.core import Core, Done
from tradefair.contract.scenario import build_scenario
from tradefair.evaluation.foreign.importers.items import Odd
from tradefair.evaluation.foreign.importers.report import GameReport, imported_seating
from tradefair.files.user_files import MIB, read_regular
from tradefair.tracestore import Written, write_trace
from tradefair.trading.game_log import Final, GameLog, Init, LoggedRound, Row, read_game

_TRANSPORT = "import"
# Bytes; the largest public game has 2 MB.
_MAX_LOG = 64 * MIB
# About 32 years in seconds, far above any real wait: beyond it the number is damaged.
_MAX_RESPONSE_S = 1e9


class ReplayedGame:
    """A game that is played through Core in the logged order; `line` is the row that is being played.

    Core is created at once and nothing is written yet. Raises ScenarioError for a log whose shape the rules refuse.
    """

    def __init__(self, market: str, scenario: dict[str, Any], init: Init) -> None:
        kind = market_type(market)
        self.line = init.line
        # The same Core that a host plays through, so that an imported trace re-executes and verifies like any other.
        self.core = Core.create(kind, build_scenario(kind.scenario_model, scenario, source="init"), init.seed)
        self.events: list[Written] = []

    def start(self, labels: Mapping[str, str], origin: Mapping[str, Any]) -> None:
        """Write the first event: who played, and where the log came from."""
        self._keep(self.core.start(imported_seating(self.core.market.seats, labels, origin)), None, None)

    def feed(self, payload: dict[str, Any]) -> None:
        """Feed a round's recorded luck: orders, coins and makers.

        Before the round's first action. Only scenarios with the chance `recorded` take it.
        """
        # An event of the chain, like everything that play depends on: a replay needs the recorded luck again.
        self._keep(self.core.feed("recorded_chance", payload), None, None)

    def lapse(self, seat: str, row: Row) -> None:
        """Let a seat lapse: the source could not use its answer."""
        self.line = row.line
        self._keep(self.core.lapse(seat, "reject_limit"), None, row)

    def act(self, seat: str, tool: str, arguments: dict[str, Any], row: Row | None) -> None:
        """One logged action; TradefairError when the rules refuse it.

        `row` carries the time and the response time of the source; None for an action that left no row.
        """
        # Silence has no row: a finding about it then points to the last row that was played.
        self.line = row.line if row else self.line
        done = self.core.call(seat, tool, arguments)
        self._keep(done, seat, row)
        answer = done.answer
        # The log says that the source took this action: a refusal means that its rules were other ones.
        if answer is not None and answer.status != "ok":
            said = answer.fault or (answer.error.message if answer.error else answer.status)
            raise TradefairError(f"{tool} of {seat} is {answer.status}: {said}")

    def _keep(self, done: Done, seat: str | None, row: Row | None) -> None:
        """A call's own event carries the seat and its response time; closures share the time."""
        moment = _moment(row) if row else None
        at_ms = int(moment.timestamp() * 1000) if moment else None
        for index, record in enumerate(done.records):
            # The first record is the call itself, the rest are closures that it brought about and that no seat sent.
            own = seat if index == 0 else None
            response = _response_us(row) if own and row else None
            self.events.append(Written(record, own, at_ms, response, _TRANSPORT if own else None))


def open_game(file: Path, report: GameReport) -> tuple[bytes, GameLog, Init, Final] | None:
    """A log's bytes, its parsed game, first and last row; None, with findings in `report`, when the log is damaged.

    The raw bytes are returned for their digest. Sets game, rounds and trades of the report.
    """
    try:
        # Read once: the digest has to be of the very bytes that were parsed.
        raw = read_regular(file, _MAX_LOG)
    except OSError as error:
        report.found(0, "", f"cannot be read: {error.strerror}")
        return None
    game = read_game(raw.splitlines(), file.name)
    report.findings.extend(game.findings)
    # A game without its last line may have been cut: its totals could not be checked.
    if game.init is None or game.final is None or not game.sound:
        return None
    report.game_id, report.rounds = game.init.game_id, len(game.rounds)
    report.trades = sum(len(logged.trades) for logged in game.rounds)
    return raw, game, game.init, game.final


def origin_of(raw: bytes, file: str, init: Init, importer: str) -> dict[str, Any]:
    """What the trace of a game says of the log that it was made from."""
    return {
        "format": importer,
        "file": file,
        "game_id": init.game_id,
        "schema_version": init.schema_version,
        "blake2b": hashlib.blake2b(raw, digest_size=32).hexdigest(),
    }


def write_game(out: Path, played: ReplayedGame, game: GameLog, report: GameReport) -> None:
    """The trace of a replayed game: whole or not at all (docs/explanation/why/tracestore.md).

    It lies in the folder `out`, named after the log, and the report names it. Importing again replaces the file by
    equal content.
    """
    path = out / f"{Path(game.name).stem}.trace"
    # Only what seats did has the source's clock; `min` and `max` need no order of the rows.
    rows: list[Row] = [row for logged in game.rounds for row in (*logged.messages, *logged.quotes)]
    moments = [moment.isoformat(timespec="seconds") for row in rows if (moment := _moment(row)) is not None]
    about: dict[str, Any] = {
        "episode": path.stem,
        # ISO texts of one zone and one precision sort as times do.
        "created": min(moments, default=None),
        "finished": max(moments, default=None),
        "end_reason": played.core.ended,
        "outcome_digest": played.core.outcome_digest,
    }
    write_trace(path, played.core.manifest, about, played.events)
    report.trace = str(path)


def unlike_speakers(logged: LoggedRound, order: Sequence[str]) -> Iterator[Odd]:
    """A departure where messages are in another order than the seed's speaking order; silent seats left no row."""
    # Order and silence are apart: which seats kept silent the seed does not decide.
    spoke = tuple(seat for seat in order if seat in logged.speakers)
    if spoke != logged.speakers:
        yield Odd(logged.messages[0].line, "player_id", f"the seed lets {', '.join(order)} speak")


def unlike_trades(logged: LoggedRound, here: Sequence[tuple[object, ...]], of: Any, path: str) -> Iterator[Odd]:
    """Departures where trades of a round differ from the log; `of` makes a logged trade comparable.

    One departure per trade that differs, in rank order; the paths are fields of the log's row.
    """
    there = [of(trade) for trade in logged.trades]
    for index in range(max(len(there), len(here))):
        ours = here[index] if index < len(here) else None
        theirs = there[index] if index < len(there) else None
        if ours != theirs:
            # A trade that the log lacks has no line of its own: the round's last quote stands before where it should
            # be.
            row: Row = logged.trades[index] if theirs is not None else logged.quotes[-1]
            message = f"trade {index + 1} of round {logged.number} is {theirs} in the log and {ours} by the rules"
            yield Odd(row.line, path, message)


def extra_field(row: Row, name: str) -> object:
    """A field of the row that the parser does not know by name."""
    # The parser models what rules and comparisons need; the rest of a row is kept as it was.
    return (row.model_extra or {}).get(name)


def _moment(row: Row) -> datetime | None:
    """The log's clock names no zone; it is taken as UTC."""
    stamp = extra_field(row, "timestamp")
    try:
        # A zone in the stamp would be dropped; the public logs name none.
        return datetime.fromisoformat(stamp).replace(tzinfo=UTC) if isinstance(stamp, str) else None
    # A damaged time is no reason to lose the game: the event is kept without one.
    except ValueError:
        return None


def _response_us(row: Row) -> int | None:
    """Microseconds; null for what is no number of seconds from 0 to below 10⁹."""
    seconds = extra_field(row, "response_time_s")
    # The last test also refuses NaN and negative numbers: both comparisons with NaN are false.
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < _MAX_RESPONSE_S:
        return None
    return round(seconds * 1_000_000)
