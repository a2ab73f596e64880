"""The list of traces: cheap facts from manifests at once, outcomes when they are asked for. Both are remembered."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict

from tradefair.contract import SeatId, TraceError
from tradefair.contract.players import Seating
from tradefair.evaluation.compare.runs import primary_metrics
from tradefair.evaluation.evaluate import Evaluation, evaluate_file
from tradefair.evaluation.outcome import Outcome
from tradefair.evaluation.reading import NOBODY, agent_seats, seating_in
from tradefair.evaluation.table import number_text
from tradefair.evaluation.verify import verify_file
from tradefair.evaluation.viewer.folder import Place
from tradefair.tracestore import Trace, open_trace

# Seats that are named in a row's outcome; a double auction can have hundreds.
_MAX_SEATS = 4
# Characters of any text in a row: what a trace says of itself has no bound.
_MAX_TEXT = 200

T = TypeVar("T")


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Listed(_Record):
    """One row of the list. `problem` says why a file cannot be read; `open`: it has no seal, it may still be running.

    `events` is the number of the last event, of an open trace that of the last closure.
    """

    id: str
    path: str
    bytes: int
    changed: str
    problem: str | None = None
    market: str = ""
    scenario: str = ""
    seed: int | None = None
    labels: str = ""
    created: str = ""
    end: str | None = None
    events: int | None = None
    sealed: bool = False
    open: bool = False


class Computed(_Record):
    """What takes an evaluation: the market's first primary metric of the agents' seats, findings, the hash chain.

    `outcome` is a line of text, `value` the number in it, both empty where no seat has the metric.
    """

    outcome: str
    value: float | None
    findings: int | None
    chain: str
    problem: str | None


class Remembered(Generic[T]):
    """Values by trace, valid while its file has not changed; the oldest are dropped when there are too many.

    `most` is the number of values. Not locked: a lost update costs one computation.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: dict[str, tuple[tuple[int, ...], T]] = {}

    def get(self, place: Place) -> T | None:
        """The value for this state of the file."""
        known = self._values.get(place.id)
        return known[1] if known is not None and known[0] == place.stamp else None

    def put(self, place: Place, value: T) -> T:
        """Keep a value for this state of the file; returns the value."""
        # Removed first, so that a renewed value moves to the end of the order and is not the next one dropped.
        self._values.pop(place.id, None)
        self._values[place.id] = (place.stamp, value)
        while len(self._values) > self._most:
            del self._values[next(iter(self._values))]
        return value


def listed(place: Place) -> Listed:
    """The row of one file, from its manifest. Never raises: a damaged file is a row with `problem`."""
    known: dict[str, Any] = {
        "id": place.id,
        "path": place.shown,
        "bytes": place.bytes,
        "changed": datetime.fromtimestamp(place.changed_ns / 1e9, UTC).isoformat(timespec="seconds"),
    }
    try:
        with open_trace(place.path) as trace:
            return Listed(**known, **_facts(trace))
    except (TraceError, OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError) as error:
        # The reason without the folder: the list shows paths relative to its root.
        return Listed(**known, problem=str(error).replace(str(place.path), place.path.name)[:_MAX_TEXT] or repr(error))


def compute(place: Place) -> Computed:
    """Evaluate one file and check its hash chain; takes up to seconds. Never raises."""
    # Re-execution takes as long as playing did; the page of one trace asks for that.
    chain = verify_file(place.path, chain_only=True)
    evaluation = evaluate_file(place.path)
    if evaluation.outcome is None:
        problem = (evaluation.problem or "").replace(str(place.path), place.path.name)
        return Computed(outcome="", value=None, findings=None, chain=chain.verdict, problem=problem[:_MAX_TEXT])
    text, value = _primary(evaluation.outcome, agent_seats(_seating(place)))
    found = _findings(evaluation, evaluation.outcome)
    return Computed(outcome=text[:_MAX_TEXT], value=value, findings=found, chain=chain.verdict, problem=None)


def _facts(trace: Trace) -> dict[str, Any]:
    """The fields of a row that the manifest gives. Raises what wrong types raise; `listed` catches it."""
    core: Any = orjson.loads(trace.manifest.core_bytes)
    about, sealed = trace.manifest.about, trace.manifest.sealed
    # Counting events would mean reading the file; seal and closure both store a number.
    head = about.get("head_seq") if sealed else (trace.closed_head() or (None,))[0]
    seed: Any = core["seed"]
    return {
        "market": str(core["market"])[:_MAX_TEXT],
        "scenario": str(core["scenario"].get("id", ""))[:_MAX_TEXT],
        # A browser would round a larger seed, and a rounded seed is worse than none.
        "seed": seed if isinstance(seed, int) and abs(seed) < 2**53 else None,
        "labels": _labels(seating_in(trace)),
        "created": str(about.get("created", ""))[:40],
        "end": str(about["end_reason"])[:_MAX_TEXT] if sealed and about.get("end_reason") is not None else None,
        "events": head if isinstance(head, int) and head >= 0 else None,
        "sealed": sealed,
        "open": not sealed,
    }


def _labels(seating: Seating) -> str:
    """What played the seats under test; without any, whatever is named."""
    players = seating.players
    return ", ".join(dict.fromkeys(players[seat].label for seat in agent_seats(seating) or players))[:_MAX_TEXT]


def _seating(place: Place) -> Seating:
    """Who plays; nobody where the file does not say so."""
    try:
        with open_trace(place.path) as trace:
            return seating_in(trace)
    except TraceError:
        return NOBODY


def _primary(outcome: Outcome[Any, Any], agents: Collection[SeatId]) -> tuple[str, float | None]:
    """The first primary metric of these roles: the mean over the agents' seats, else over all seats.

    Returns the line that the list shows and the number in it.
    """
    seats = [seat for seat in outcome.seats if seat in agents] or list(outcome.seats)
    metric = next(iter(primary_metrics(outcome.market, frozenset(outcome.seats[seat].role for seat in seats))), None)
    found = [(seat, getattr(outcome.seats[seat], metric.name, None)) for seat in seats] if metric else []
    known = {seat: float(value) for seat, value in found if isinstance(value, int | float)}
    if metric is None or not known:
        return "", None
    mean = sum(known.values()) / len(known)
    more = f" and {len(known) - _MAX_SEATS} more" if len(known) > _MAX_SEATS else ""
    of = ", ".join(list(known)[:_MAX_SEATS]) + more
    return f"{metric.name.replace('_', ' ')} of {of}: {number_text(mean)} {metric.unit or ''}".strip(), mean


def _findings(evaluation: Evaluation, outcome: Outcome[Any, Any]) -> int:
    """How many findings the list shows: of the evaluator, and raised failure modes."""
    return len(outcome.findings) + (len(evaluation.diagnosis.raised) if evaluation.diagnosis else 0)
