"""A trace as its market's typed rounds: scenario, closures, calls and lapses.

It reads facts and never re-executes, so that older traces stay readable. What does not fit is left out, or a finding.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from tradefair.contract import Scenario, ScenarioError, SeatId
from tradefair.contract.scenario import build_scenario
from tradefair.evaluation.read.objects import mapping, sequence
from tradefair.evaluation.reading import TraceReading, read_trace
from tradefair.tracestore import Trace

S = TypeVar("S", bound=Scenario)
F = TypeVar("F", bound=BaseModel)
M = TypeVar("M", bound=BaseModel)
# Of what a foreign trace may name: enough for every name of every market.
_MAX_NAME = 100


class Did(NamedTuple):
    """What a seat did: a call of `tool`, or a lapse, which has no tool and is never refused.

    `code` is that of a refusal; `refs` are what the answer showed, in order, None where it names nothing. `answer` is
    the decoded answer; None where there was none, it is not kept, or the trace has only its digest. `inner`: a program
    made the call.
    """

    seq: int
    round: int
    phase: str = ""
    tool: str | None = None
    status: str = "ok"
    code: str | None = None
    arguments: Mapping[str, Any] = {}
    refs: tuple[str, ...] | None = None
    answer: object = None
    revision: int = 0
    kind: str | None = None
    inner: bool = False

    @property
    def accepted(self) -> bool:
        """Whether it was carried out or queued."""
        return self.status == "ok"


class Closed(NamedTuple, Generic[F]):
    """A closed round: its number from 1, the event that closed it, and its hidden facts."""

    number: int
    seq: int
    facts: F


class End(NamedTuple):
    """The closure of a phase, or of a round with its last phase: its event, and what it made public."""

    seq: int
    round: int
    phase: str
    public: Mapping[str, Any]


@dataclass(frozen=True)
class Rounds(Generic[S, F]):
    """A read trace. `scenario` is null where `problem` says in a sentence why.

    `did` holds, by (seat, round), what the seat did in the order of events, `ends` all closures in theirs.
    """

    reading: TraceReading
    scenario: S | None
    problem: str | None
    closed: list[Closed[F]]
    did: Mapping[tuple[SeatId, int], list[Did]]
    ends: list[End]

    @cached_property
    def phases(self) -> Mapping[tuple[int, str], int]:
        """By (round, phase) the event that first closed it: an edited trace may repeat it."""
        return {(end.round, end.phase): end.seq for end in reversed(self.ends)}

    @cached_property
    def by_seat(self) -> Mapping[SeatId, list[Did]]:
        """What each seat of the manifest did in all rounds, in the order of events."""
        found: dict[SeatId, list[Did]] = {seat: [] for seat in self.reading.conduct}
        for (seat, _), did in self.did.items():
            found[seat] += did
        return {seat: sorted(did, key=lambda row: row.seq) for seat, did in found.items()}

    def acted(self, seat: SeatId, number: int, tool: str) -> int | None:
        """The event of the first accepted call of a tool in a round: rules accept no second, a forged trace might."""
        return next((did.seq for did in self.accepted(seat, number, tool)), None)

    def lapsed(self, seat: SeatId, number: int) -> int | None:
        """The event of the seat's last lapse in a round: it may lapse in its talk, and again where a quote is due."""
        return max([did.seq for did in self.did.get((seat, number), ()) if did.tool is None], default=None)

    def answers(self, seat: SeatId, number: int | None, tool: str, model: type[M]) -> Iterator[tuple[Did, M]]:
        """The accepted calls of a tool in a round, or in all, that answered what `model` holds, with their answers."""
        for did in self.accepted(seat, number, tool):
            with suppress(ValidationError):
                yield did, model.model_validate(did.answer)

    def accepted(self, seat: SeatId, number: int | None, tool: str) -> list[Did]:
        """The accepted calls of a tool in a round, or in all, in order."""
        done = self.by_seat.get(seat, ()) if number is None else self.did.get((seat, number), ())
        return [did for did in done if did.tool == tool and did.accepted]


def read_rounds(
    trace: Trace, scenario_type: type[S], facts_type: type[F], answered: Collection[str] = ()
) -> Rounds[S, F]:
    """Read an opened trace in one pass; `answered` are the tools whose answers are kept. Raises nothing for content."""
    did: dict[tuple[SeatId, int], list[Did]] = {}
    ends: list[End] = []

    def watch(seq: int, event: Mapping[str, Any]) -> None:
        number = event.get("round")
        # An exact type: to Python True is the number 1.
        if type(number) is not int:
            return
        phase = str(event.get("phase", ""))
        match event["event"]:
            # The reading has looked the seat up.
            case "tool_called":
                answer = answer_of(trace, event) if event.get("tool") in answered else None
                did.setdefault((event["seat"], number), []).append(did_of(seq, event, answer))
            case "seat_lapsed":
                did.setdefault((event["seat"], number), []).append(Did(seq, number, phase))
            case "phase_closed" | "round_closed":
                ends.append(End(seq, number, phase, mapping(event.get("public"))))
            case _:
                pass

    reading = read_trace(trace, lambda _: watch)
    scenario, problem = scenario_of(reading, scenario_type)
    closed: list[Closed[F]] = []
    for facts in reading.rounds:
        typed = reading.typed(facts, facts_type)
        if typed is not None and type(facts.round) is int:
            closed.append(Closed(facts.round, facts.seq, typed))
    return Rounds(reading, scenario, problem, closed, did, ends)


def did_of(seq: int, event: Mapping[str, Any], answer: object = None) -> Did:
    """A decoded `tool_called` event. Raises KeyError for one that is none."""
    error, refs = mapping(event.get("error")), event.get("refs")
    return Did(
        seq,
        event["round"],
        str(event.get("phase", "")),
        str(event.get("tool"))[:_MAX_NAME],
        str(event["status"])[:_MAX_NAME],
        str(error["code"])[:_MAX_NAME] if "code" in error else None,
        mapping(event.get("arguments")),
        None if refs is None else tuple(ref for ref in sequence(refs) if isinstance(ref, str)),
        answer,
        event.get("revision", 0),
        event.get("kind"),
        event.get("parent") is not None,
    )


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
