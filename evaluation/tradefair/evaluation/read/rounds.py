"""A trace as its market's typed rounds: scenario, closures, calls and lapses. Pricing, bargaining and the
double auction read through here; the other markets still watch events themselves (`read_with`).

It reads facts and never re-executes, so that older traces stay readable. What does not fit is left out, or a finding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from tradefair.contract import Scenario, ScenarioError, SeatId
from tradefair.contract.scenario import build_scenario
from tradefair.evaluation.read.objects import mapping
from tradefair.evaluation.reading import TraceReading, read_trace
from tradefair.tracestore import Trace

S = TypeVar("S", bound=Scenario)
F = TypeVar("F", bound=BaseModel)
M = TypeVar("M", bound=BaseModel)


class Did(NamedTuple):
    """What a seat did in a round: a call of `tool`, or a lapse, which has no tool and is never refused.

    `answer` is the decoded answer; None where there was none, or the trace keeps only its digest.
    """

    seq: int
    tool: str | None
    accepted: bool
    arguments: Mapping[str, Any]
    answer: object


class Closed(NamedTuple, Generic[F]):
    """A closed round: its number from 1, the event that closed it, and its hidden facts."""

    number: int
    seq: int
    facts: F


@dataclass(frozen=True)
class Rounds(Generic[S, F]):
    """A read trace. `scenario` is null where `problem` says in a sentence why.

    `did` holds, by (seat, round), what the seat did in the order of events, `phases` by (round, phase) the event that
    first closed it; the last phase of a round closes with the round and is not in it.
    """

    reading: TraceReading
    scenario: S | None
    problem: str | None
    closed: list[Closed[F]]
    did: Mapping[tuple[SeatId, int], list[Did]]
    phases: Mapping[tuple[int, str], int]

    def acted(self, seat: SeatId, number: int, tool: str) -> int | None:
        """The event of the first accepted call of a tool in a round: rules accept no second, a forged trace might."""
        return next((did.seq for did in self.accepted(seat, number, tool)), None)

    def lapsed(self, seat: SeatId, number: int) -> int | None:
        """The event of the seat's last lapse in a round: it may lapse in its talk, and again where a quote is due."""
        return max([did.seq for did in self.did.get((seat, number), ()) if did.tool is None], default=None)

    def answers(self, seat: SeatId, number: int, tool: str, model: type[M]) -> list[tuple[int, M]]:
        """(event, answer) of the accepted calls of a tool in a round, those that answered what `model` holds."""
        found: list[tuple[int, M]] = []
        for did in self.accepted(seat, number, tool):
            with suppress(ValidationError):
                found.append((did.seq, model.model_validate(did.answer)))
        return found

    def accepted(self, seat: SeatId, number: int, tool: str) -> list[Did]:
        """The accepted calls of a tool in a round, in order."""
        return [did for did in self.did.get((seat, number), ()) if did.tool == tool and did.accepted]


def read_rounds(trace: Trace, scenario_type: type[S], facts_type: type[F], tools: Sequence[str]) -> Rounds[S, F]:
    """Read an opened trace in one pass; `tools` are those whose calls are kept. Raises nothing for what it holds."""
    did: dict[tuple[SeatId, int], list[Did]] = {}
    phases: dict[tuple[int, str], int] = {}

    def watch(seq: int, event: Mapping[str, Any]) -> None:
        kind, tool, number = event["event"], event.get("tool"), event.get("round")
        # An exact type: to Python True is the number 1.
        if type(number) is not int:
            return
        # Lists of tools are short; a set could not look for what an edited trace may name a tool.
        if kind == "tool_called" and tool in tools:
            accepted = event["status"] == "ok"
            answer = answer_of(trace, event) if accepted else None
            row = Did(seq, tool, accepted, mapping(event.get("arguments")), answer)
        elif kind == "seat_lapsed":
            row = Did(seq, None, True, {}, None)
        else:
            if kind == "phase_closed" and isinstance(phase := event.get("phase"), str):
                phases.setdefault((number, phase), seq)
            return
        # The reading has looked the seat up.
        did.setdefault((event["seat"], number), []).append(row)

    reading = read_trace(trace, lambda _: watch)
    scenario, problem = scenario_of(reading, scenario_type)
    closed: list[Closed[F]] = []
    for facts in reading.rounds:
        typed = reading.typed(facts, facts_type)
        if typed is not None and type(facts.round) is int:
            closed.append(Closed(facts.round, facts.seq, typed))
    return Rounds(reading, scenario, problem, closed, did, phases)


def answer_of(trace: Trace, event: Mapping[str, Any]) -> object:
    """What a call answered; None when the trace keeps only its digest, or it is no JSON."""
    result, reference = event.get("result"), event.get("result_ref")
    if result is not None or not isinstance(reference, str):
        return result
    body = trace.blob(reference)
    try:
        return None if body is None else orjson.loads(body)
    # A foreign log may hold any text as an answer.
    except orjson.JSONDecodeError:
        return None


def scenario_of(reading: TraceReading, kind: type[S]) -> tuple[S | None, str | None]:
    """The scenario of the manifest, as its market checks one; else null, and in a sentence why, which is a finding."""
    if reading.core is None:
        return None, "the manifest cannot be read"
    try:
        return build_scenario(kind, reading.core.scenario, source="manifest"), None
    # A manifest of another version may name fields that this one does not know.
    except ScenarioError as error:
        problem = f"the scenario cannot be read: {error}"[:300]
        reading.found(None, problem)
        return None, problem
