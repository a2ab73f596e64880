"""`atif`: trajectories of the Agent Trajectory Interchange Format, versions 1.x, one a document or a line.

Calls and observations stand in one step. Sub-agents that are embedded are seats of the run; those in files of their own
join it by the session's id.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from tradefair.evaluation.foreign.importers.items import Call, Counts, Fact, Head, Item, Odd, Reader, Source
from tradefair.evaluation.foreign.interchange.messages import At, facts, tools, used, walk
from tradefair.evaluation.foreign.interchange.own import extra_in, seat_in
from tradefair.evaluation.foreign.interchange.shapes import count, first, nanoseconds, text
from tradefair.evaluation.foreign.interchange.transcript import Transcript
from tradefair.evaluation.read.objects import mapping, sequence

_VERSIONS = tuple(f"ATIF-v1.{minor}" for minor in range(9))
_ROLES = {"agent": "assistant"}
_DEPTH = 20
"""Sub-agents below sub-agents."""

_BATCH = 100
"""Calls that may share one result."""

_FIELDS = ("schema_version", "session_id", "trajectory_id", "agent", "extra", "final_metrics")
_PARTS = ("steps.item", "subagent_trajectories.item")


def sniff(head: Head) -> int:
    """Sure of the version's name."""
    version = text(mapping(head.value).get("schema_version"))
    if version.startswith("ATIF-v"):
        return 100 if version.startswith("ATIF-v1") else 60
    return 95 if "schema_version" in head.keys and b'"ATIF-v1' in head.raw else 0


def read(source: Source) -> Iterator[Item]:
    """One run for each trajectory, or for each session of which they are parts."""
    reading = _Reading(source.stem)
    for line, places in _trajectories(source):
        yield from reading.trajectory(places, At("", line=line), 0)
    if not reading.tally.records and not source.refused:
        yield Odd(0, "steps", "no trajectory")
    yield reading.tally.total()


def _trajectories(source: Source) -> Iterator[tuple[int, Iterable[tuple[str, Any]]]]:
    """Line and parts of every trajectory: a line, an element of a list, or one of the documents of a file."""
    for line, value in source.values():
        yield from ((line, _places(mapping(held))) for held in sequence(value) or [value])
    if source.held:
        return
    if source.head.listed:
        yield from ((0, _places(mapping(held))) for _, held in source.elements("item"))
    else:
        # Read as it comes: a trajectory may be longer than what is held.
        for _, places in groupby(source.elements(*_FIELDS, *_PARTS), lambda _: source.document):
            yield 0, places


def _places(fields: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """A trajectory that is held, as the walk over a long document gives it."""
    yield from ((name, fields[name]) for name in _FIELDS if name in fields)
    for place in _PARTS:
        yield from ((place, part) for part in sequence(fields.get(place.removesuffix(".item"))))


class _Reading:
    """What is remembered over the trajectories of a file."""

    def __init__(self, stem: str) -> None:
        self.tally = Transcript()
        self._stem = stem

    def trajectory(self, places: Iterable[tuple[str, Any]], at: At, depth: int) -> Iterator[Item]:
        """A trajectory, part by part in the order of the file, and those of its sub-agents."""
        fields: dict[str, Any] = {}
        met = False
        for place, value in places:
            if place in _FIELDS:
                fields[place] = value
                continue
            if not met:
                met, at = True, at._replace(run=at.run or self._named(fields), seat=at.seat or seat_in(fields))
                yield from self._head(fields, at)
            if place == "steps.item":
                yield from self._step(value, at)
            else:
                yield from self._embedded(mapping(value), at, depth + 1)
        if not met:
            self.tally.records += 1
            yield at.odd("steps", "a trajectory without steps")
        elif not depth:
            usd = mapping(fields.get("final_metrics")).get("total_cost_usd")
            yield from facts(at._replace(seat=""), usd=usd)

    def _named(self, fields: dict[str, Any]) -> str:
        # Several trajectories of one session are one run.
        return text(first(fields, "session_id", "trajectory_id")) or self.tally.named(self._stem)

    def _embedded(self, fields: dict[str, Any], at: At, depth: int) -> Iterator[Item]:
        """A sub-agent: a seat of the run, called by its trajectory."""
        if depth > _DEPTH:
            yield at.odd("subagent_trajectories", f"sub-agents are read {_DEPTH} deep")
            return
        seat = text(first(fields, "trajectory_id", "session_id")) or text(mapping(fields.get("agent")).get("name"))
        yield Fact(at.run, seat or "subagent", "role", "subagent")
        yield from self.trajectory(_places(fields), at._replace(seat=seat or "subagent"), depth)

    def _head(self, fields: dict[str, Any], at: At) -> Iterator[Item]:
        """Who acts, with which model and tools."""
        version = text(fields.get("schema_version"))
        if version not in _VERSIONS and not at.seat:
            count(self.tally.left_out, f"what {version} adds")
        agent = mapping(fields.get("agent"))
        label = text(extra_in(fields).get("label")) or f"{text(agent.get('name'))} {text(agent.get('version'))}".strip()
        model, defined = text(agent.get("model_name")), tools(agent.get("tool_definitions"))
        yield from facts(at, agent=label, model=model, tools=defined, passed=extra_in(fields).get("passed"))

    def _step(self, value: Any, at: At) -> Iterator[Item]:
        """What was said and called in one step, and what was observed."""
        self.tally.records += 1
        fields = mapping(value)
        number = fields.get("step_id")
        at = at._replace(
            step=number if isinstance(number, int) and 0 < number < 2**31 else self.tally.records,
            at_ns=nanoseconds(fields.get("timestamp")),
            place=f"steps.{text(number)}",
        )
        if "source" not in fields:
            yield at.odd("source", "a step says who made it")
            return
        self.tally.understood += 1
        if fields.get("is_copied_context") is True:
            count(self.tally.left_out, "copied steps")
            return
        source = text(fields["source"])
        message = {**fields, "role": _ROLES.get(source, source), "content": fields.get("message")}
        told = [*walk(message, at, self.tally.left_out)]
        yield from told
        calls = [item.key for item in told if isinstance(item, Call)]
        yield from self._observed(sequence(mapping(fields.get("observation")).get("results")), calls, at)
        metrics = mapping(fields.get("metrics"))
        for name in ("logprobs", "prompt_token_ids", "completion_token_ids"):
            if metrics.get(name):
                count(self.tally.left_out, name)
        yield from used({"usage": metrics, "model": fields.get("model_name")}, at)

    def _observed(self, results: list[Any], calls: list[str], at: At) -> Iterator[Item]:
        """Answers: by the call's id; one without an id belongs to the step's only open call.

        Several calls with fewer results are a batch that was observed once: they share the last result. What was
        observed without a call is the surroundings' word.
        """
        told = [mapping(result) for result in results]
        named = {text(result.get("source_call_id")) for result in told}
        waiting = [key for key in calls if key not in named]
        for number, result in enumerate(told):
            extra = mapping(result.get("extra"))
            error = extra.get("tool_result_is_error")
            answer = {**result, "role": "tool", "is_error": error, "tradefair": extra.get("tradefair")}
            if result.get("source_call_id"):
                keys = [result["source_call_id"]]
            elif not waiting:
                answer, keys = {"role": "system", "name": "observation", "content": result.get("content")}, [None]
            else:
                keys = waiting[:_BATCH] if number == len(told) - 1 else [waiting.pop(0)]
            for key in keys:
                yield from walk({**answer, "tool_call_id": key}, at, self.tally.left_out)


_COUNTS = Counts(answers=(("source_call_id", ()),), silent=(("is_copied_context", (True,)),))

READER = Reader(
    "atif", "Agent Trajectory Interchange Format (ATIF) 1.x", sniff, read, unit="steps", joins=True, counts=_COUNTS
)
