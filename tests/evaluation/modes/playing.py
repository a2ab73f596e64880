"""What the tests of general diagnostics share: the types of their fixture, and what is found in a trace."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Set
from pathlib import Path
from typing import Any, Protocol
from unittest.mock import patch

import orjson
from tests.evaluation.mutations import Parts, parts_of, write_parts
from tests.evaluation.playing import Player, played_by

from tradefair.contract import TraceError
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.judge.evaluate import evaluate_file, insight_of
from tradefair.evaluation.modes.diagnosis import Diagnosis, Finding
from tradefair.evaluation.modes.play import SeatPlay
from tradefair.evaluation.modes.reading import read_play
from tradefair.tracestore import Trace, open_trace

Seats = Mapping[str, Player]
Notes = Iterable[tuple[str, Mapping[str, Any]]]


class PlaySeats(Protocol):
    def __call__(
        self, scenario: str, seats: Seats, *, seed: int = ..., notes: Notes = ..., **overrides: Any
    ) -> Path: ...


def play_episode(
    path: Path, scenario: str, seats: Seats, *, seed: int = 1, notes: Notes = (), **overrides: Any
) -> Path:
    """A real episode: each seat plays a policy of the market, by its name, or turns of the test's own."""
    return with_notes(played_by(path, scenario, seats, seed, None, **overrides), notes)


def with_notes(path: Path, notes: Notes) -> Path:
    """The trace with what a runner would have noted beside it."""
    parts = parts_of(path)
    parts.notes = [(seat, orjson.dumps(body)) for seat, body in notes]
    return write_parts(parts, path) if parts.notes else path


def diagnosis_of(path: Path) -> Diagnosis:
    evaluation = evaluate_file(path)
    assert evaluation.diagnosis is not None, evaluation.problem
    assert evaluation.outcome is not None
    assert evaluation.outcome.findings == []
    return evaluation.diagnosis


def diagnosed(parts: Parts, path: Path, diagnose: Callable[[Trace], Diagnosis], names: Set[str]) -> Diagnosis | None:
    """The diagnosis of a mutated trace: of all `names`, citing events that exist; None for a damaged manifest only."""
    with open_trace(write_parts(parts, path)) as trace:
        try:
            # As users run it: facts that no rules have made leave a mode unchecked.
            with patch.dict(os.environ):
                os.environ.pop("TRADEFAIR_STRICT", None)
                diagnosis = diagnose(trace)
        except TraceError:
            assert _manifest_is_damaged(trace)
            return None
    assert {finding.id for finding in diagnosis.findings} == names
    for finding in diagnosis.findings:
        assert len(finding.events) <= 50
        assert set(finding.events) <= set(parts.numbers)
    return diagnosis


def _manifest_is_damaged(trace: Trace) -> bool:
    try:
        return not trace.manifest.core.market
    except TraceError:
        return True


def found(path: Path, name: str, seat: str) -> Finding:
    """The general finding that is about this seat; one that is clear is about several, and its figures are theirs."""
    return diagnosis_of(path).of_seat(seat)[name]


def seat_play(path: Path, seat: str) -> SeatPlay:
    """What the general detectors read of this seat alone."""
    with open_trace(path) as trace:
        return read_play(trace, insight_of(trace, evaluator_of(trace.manifest.core.market))).seats[seat]
