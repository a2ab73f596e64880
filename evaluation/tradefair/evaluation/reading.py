"""One pass over a trace that keeps what outcomes are made of. Never raises: what cannot be read is listed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast
from weakref import WeakKeyDictionary

import orjson
from pydantic import BaseModel, ValidationError

from tradefair.contract import SeatId, TraceError
from tradefair.contract.arguments import event_as_meant
from tradefair.contract.foreign import FOREIGN
from tradefair.contract.kernel.event import ManifestCore
from tradefair.contract.kernel.players import MAX_LABEL, PERSON, Seating
from tradefair.contract.text import clean_line
from tradefair.evaluation.figure import figure
from tradefair.evaluation.hands import handovers, shown_hands
from tradefair.evaluation.progress import Progress, watched
from tradefair.evaluation.record import Record
from tradefair.tracestore import Trace, open_trace

MAX_FINDINGS = 100
NOBODY = Seating(players={})
"""Who plays where a trace does not say it."""
# Of the names that clients gave themselves: characters of one, and clients of a seat.
_MAX_CLIENT, _MAX_CLIENTS = 60, 5
_AND_PERSON = " + person"

M = TypeVar("M", bound=BaseModel)
R = TypeVar("R")


class PersonMoves(Record):
    """How many of a seat's accepted actions somebody has clicked, `of` all of them."""

    clicked: int = figure("moves that a person made", "moves")
    """accepted actions that somebody has clicked on the board

    Null: never; left out with the others
    """
    of: int = figure("moves", "moves")
    """accepted actions of the seat

    Null: never; left out with the others
    """


class Unusable(Record):
    """Something in a trace that could not be used; `seq` is null when it belongs to no event."""

    seq: int | None = figure("event", "number")
    """the event that could not be used

    Null: it belongs to no event
    """
    message: str = figure("message", "text")
    """what is wrong with it"""


class Facts(NamedTuple):
    """The hidden truth that one closing event carries, with the event's number; `round` is what it says it closed."""

    seq: int
    content: object
    round: object = None


@dataclass
class Conduct:
    """How a seat went about its calls: all of them, those refused, and its lapses by reason."""

    calls: int = 0
    refused: int = 0
    lapses: Counter[str] = field(default_factory=Counter[str])


@dataclass
class TraceReading:
    """What a trace says. `core` is null when the manifest cannot be read; `end_reason` while the episode is open."""

    core: ManifestCore | None = None
    seating: Seating = NOBODY
    rounds: list[Facts] = field(default_factory=list[Facts])
    ending: Facts | None = None
    end_reason: str | None = None
    # The last event that was read; 0 before the first.
    last: int = 0
    conduct: dict[SeatId, Conduct] = field(default_factory=dict[SeatId, Conduct])
    findings: list[Unusable] = field(default_factory=list[Unusable])
    person_moves: Mapping[SeatId, PersonMoves] = field(default_factory=dict[SeatId, PersonMoves])
    # Events of refused calls, and the MCP clients that sent those of a seat; "" for one that gave no name.
    refused_at: set[int] = field(default_factory=set[int])
    refused_by: Mapping[SeatId, list[str]] = field(default_factory=dict[SeatId, list[str]])

    def found(self, seq: int | None, message: str) -> None:
        """Keep what could not be used; the first hundred are enough to see what is wrong, and bound the memory."""
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(Unusable(seq=seq, message=message))

    @cached_property
    def roles(self) -> Mapping[SeatId, str]:
        """Roles of the manifest's seats."""
        return {seat.id: seat.role for seat in self.core.seats} if self.core else {}

    def label(self, seat: SeatId) -> str | None:
        """What the seat's player is called; None where the trace does not say it."""
        player = self.seating.players.get(seat)
        return None if player is None else player.label

    def typed(self, facts: Facts, model: type[M]) -> M | None:
        """Facts as the market's model; None, and an entry in `findings`, when they are not."""
        try:
            return model.model_validate(facts.content)
        except ValidationError as error:
            # The first error only: facts of another market break every field, and inputs may be long.
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"])) or "facts"
            self.found(facts.seq, f"the facts are not of this market: {where}: {first['msg']}")
            return None


Watcher = Callable[[int, dict[str, Any]], None]
"""Takes (seq, event) of every event of the pass, after the reading has; its errors are its own affair."""


def read_trace(trace: Trace, watch: Callable[[TraceReading], Watcher] | None = None) -> TraceReading:
    """Read manifest and events of an opened trace; stops at the first event that cannot be read.

    `watch` is given the reading once its manifest is there, and makes what else a market wants of the same pass.
    """
    reading = TraceReading()
    try:
        manifest = trace.manifest
        reading.core = manifest.core
        reading.seating = seating_in(trace)
        reading.person_moves = person_moves(trace)
        # Every seat of the manifest has a record, so that a silent seat counts 0 calls rather than nothing.
        reading.conduct = {seat.id: Conduct() for seat in reading.core.seats}
        watcher = watch(reading) if watch is not None else None
        for seq, event in events_of(trace):
            if isinstance(event, orjson.JSONDecodeError):
                raise event
            # The reading first: a watcher may ask it for roles and labels.
            _take(reading, seq, event)
            reading.last = seq
            if watcher is not None:
                watcher(seq, event)
    except TraceError as error:
        reading.found(None, str(error))
    # An event that does not fit ends the reading: sums over a gap would look complete.
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        reading.found(None, f"the trace cannot be read further: {error!r}"[:300])
    reading.refused_by = _senders(trace, reading.refused_at)
    return reading


def _senders(trace: Trace, calls: Collection[int]) -> dict[SeatId, list[str]]:
    """The clients that sent these calls, by seat; none where no MCP client did. Never raises."""
    found: dict[SeatId, set[str]] = {}
    # Side columns lie outside the chain: where they are damaged, or left out as in JSONL, no client is known.
    with suppress(TraceError):
        for row in trace.side() if calls else ():
            if row.seq in calls and isinstance(row.seat, str) and row.transport is not None:
                name = clean_line(row.client)[:_MAX_CLIENT] if isinstance(row.client, str) else ""
                found.setdefault(row.seat, set()).add(name)
    return {seat: sorted(names)[:_MAX_CLIENTS] for seat, names in found.items()}


def once_per_trace(read: Callable[[Trace], R]) -> Callable[[Trace], R]:
    """`read`, done once per opened trace however often it is asked for. What it gives must not hold the trace."""
    # Weak keys, so that a folder of traces is not kept in memory: a result that held its trace would keep both.
    known: WeakKeyDictionary[Trace, R] = WeakKeyDictionary()

    @wraps(read)
    def once(trace: Trace) -> R:
        if trace not in known:
            known[trace] = read(trace)
        return known[trace]

    return once


def events_of(trace: Trace) -> Iterator[tuple[int, Any]]:
    """(number, event as it is meant) of all events; in place of one that is no JSON the JSONDecodeError.

    Of a trace that is held in memory (`Trace.hold`) decoded once for all readers: none of them changes an event. Raises
    TraceError.
    """
    return iter(_decoded(trace)) if trace.held else _decode(trace)


@once_per_trace
def _decoded(trace: Trace) -> list[tuple[int, Any]]:
    return list(_decode(trace))


def _decode(trace: Trace) -> Iterator[tuple[int, Any]]:
    for stored in trace.events():
        try:
            event = event_as_meant(stored.body)
        except orjson.JSONDecodeError as fault:
            event = fault
        yield stored.seq, event


def _take(reading: TraceReading, seq: int, event: dict[str, Any]) -> None:
    """Take one event in; events that say nothing of outcomes are passed over.

    Raises KeyError, TypeError or AttributeError for one that does not fit.
    """
    match event["event"]:
        case "tool_called":
            conduct = reading.conduct[event["seat"]]
            conduct.calls += 1
            # Whatever was not carried out counts, faults of ours too: this is a number about calls, no verdict.
            if event["status"] != "ok":
                conduct.refused += 1
                reading.refused_at.add(seq)
        case "seat_lapsed":
            reading.conduct[event["seat"]].lapses[str(event["reason"])] += 1
        case "round_closed":
            reading.rounds.append(Facts(seq, event["facts"], event.get("round")))
        case "episode_ended":
            reading.ending = Facts(seq, event["facts"])
            reading.end_reason = str(event["reason"])
        case _:
            pass


@once_per_trace
def person_moves(trace: Trace) -> Mapping[SeatId, PersonMoves]:
    """Seats of which somebody has clicked an accepted action, as far as the trace can be read. Never raises."""
    moves: Counter[SeatId] = Counter()
    clicked: Counter[SeatId] = Counter()
    try:
        by_person = {row.seq for row in trace.side(by=PERSON)}
        # Nearly always: then the events need not be read.
        for stored in trace.events() if by_person else ():
            event = orjson.loads(stored.body)
            if event["event"] == "tool_called" and event["kind"] == "action" and event["status"] == "ok":
                moves[event["seat"]] += 1
                clicked[event["seat"]] += stored.seq in by_person
    except (TraceError, orjson.JSONDecodeError, KeyError, TypeError):
        pass  # whoever reads the events says what is wrong with them
    return {seat: PersonMoves(clicked=count, of=moves[seat]) for seat, count in clicked.items() if count}


@once_per_trace
def shown_seating(trace: Trace) -> Seating:
    """Who plays at the end of a trace. Raises TraceError where it does not say it.

    An agent whose seat a person has moved, too, is called `… + person`, a seat that changed hands "A until event 150,
    then B": no table may take their play for its own.
    """
    seating = trace.seating()
    labels = {seat: clean_line(label) for seat, label in shown_hands(handovers(trace)).items()}
    for seat in person_moves(trace):
        player = seating.players.get(seat)
        if player is not None and not (player.agent and player.agent.framework == PERSON):
            labels[seat] = f"{labels.get(seat, player.label)[: MAX_LABEL - len(_AND_PERSON)]}{_AND_PERSON}"
    changed = {seat: seating.players[seat].model_copy(update={"label": label}) for seat, label in labels.items()}
    return seating.model_copy(update={"players": {**seating.players, **changed}})


def seating_in(trace: Trace) -> Seating:
    """As `shown_seating`; nobody where the trace does not say who plays."""
    try:
        return shown_seating(trace)
    except TraceError:
        return NOBODY


def agent_seats(seating: Seating) -> list[SeatId]:
    """The seats under test: those that the runner named, else those that agents play; in the market's order."""
    # A policy in an agent's place plays natively and is late (docs/explanation/why/runner.md): it counts as the agent.
    in_place = {seat for seat, player in seating.players.items() if player.policy is None or player.late}
    # An importer knows no runner: whoever compares its traces names the seats.
    named = seating.compared or (() if imported(seating) else in_place)
    return [seat for seat in seating.players if seat in named]


def foreign(core: ManifestCore) -> bool:
    """Whether no rules have made the trace: it was imported from a log of others, or recorded."""
    return core.rules_version in FOREIGN


def was_told(trace: Trace) -> bool:
    """Whether the trace holds what agents were told: those of rules do, a foreign one whose source has messages."""
    said: Any = trace.manifest.about.get("source")
    messages = cast("dict[str, Any]", said).get("messages") if isinstance(said, dict) else 0
    return not foreign(trace.manifest.core) or bool(messages)


def imported(seating: Seating) -> bool:
    """Whether the episode was played elsewhere and its log was read in."""
    return "imported_from" in (seating.origin or {})


def read_each(
    files: Sequence[Path], progress: Progress | None, read: Callable[[Trace], R]
) -> tuple[list[R], list[tuple[Path, str]]]:
    """What `read` makes of each trace, and the files of which it makes nothing, each with the reason."""
    found: list[R] = []
    left_out: list[tuple[Path, str]] = []
    for file in watched(files, progress, lambda file: file.name):
        try:
            with open_trace(file) as trace:
                found.append(read(trace))
        # Only this one: a trace that is damaged, cut short or of another market is left out, any other error is ours.
        except TraceError as error:
            left_out.append((file, str(error).removeprefix(f"{file}: ")))
    return found, left_out


def by_name(left_out: Sequence[tuple[Path, str]]) -> list[str]:
    """A sentence for each file that was left out."""
    return [f"{file.name}: {why}" for file, why in left_out]
