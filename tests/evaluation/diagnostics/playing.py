"""What the tests of general diagnostics share: the types of their fixture, and what is found in a trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

import orjson
from tests.evaluation.mutations import parts_of, write_parts

from fairground.contract.policy import Turns, TurnView
from fairground.evaluation.diagnostics.model import Diagnosis, Finding
from fairground.evaluation.evaluate import evaluate_file

Seats = Mapping[str, "str | Callable[[TurnView], Turns]"]
Notes = Iterable[tuple[str, Mapping[str, Any]]]


class PlaySeats(Protocol):
    def __call__(
        self, scenario: str, seats: Seats, *, seed: int = ..., notes: Notes = ..., **overrides: Any
    ) -> Path: ...


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


def found(path: Path, name: str, seat: str) -> Finding:
    """The general finding that is about this seat."""
    return diagnosis_of(path).of_seat(seat)[name]
