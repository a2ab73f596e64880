"""Recorded model calls: a JSONL file that is appended to, or a trace that keeps prompts, and answers again.

    {"kind": "model_calls", "version": 1}
    {"kind": "seat", "seat": "B1", "model": "gpt-x", "options": {}}             one per gateway that recorded here
    {"kind": "part", "id": "9f…", "body": {"role": "user", …}}                  a message or the tools, once
    {"kind": "call", "seat": "B1", "key": "1c…", "occurrence": 1, "messages": ["9f…"], "status": 200, "body": {…}, …}

A call's parts and the call are written at once and flushed, so that a killed run leaves at most one broken line, the
last one, which is passed over. Credentials are in none of it.
"""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import FileIO
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal, NamedTuple, cast

import orjson
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from tradefair.contract import HarnessFailure, ScenarioError, TraceError
from tradefair.files.folders import lines
from tradefair.files.user_files import regular
from tradefair.frameworks.models.canonical import (
    Canonical,
    Part,
    canonical_of,
    first_difference,
    key_of,
    part_of,
    stripped,
)
from tradefair.frameworks.models.reply import usage_of
from tradefair.frameworks.models.wire import Answer, error_answer
from tradefair.tracestore import Trace, open_trace
from tradefair.tracestore.database import MAGIC

NOT_RECORDED = "not_recorded"
"""The code of an answer to a request that a recording does not hold."""

# Of the file's form; another number is refused by the header's type.
_VERSION = 1
# Bytes. A request has at most 16 MiB; JSON escapes may make it several times longer.
_NEVER = "A changed prompt, tool, model or seed needs a new recording (--record)."


class NotRecorded(HarnessFailure):
    """A recording was asked for something that it does not hold; going on with the run would meet the same."""


class _Line(BaseModel):
    # Unknown fields are ignored, so that fields which are added later do not make a file unreadable here.
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Header(_Line):
    kind: Literal["model_calls"] = "model_calls"
    version: Literal[1] = _VERSION


class _Seat(_Line):
    kind: Literal["seat"] = "seat"
    seat: str | None
    model: str
    options: dict[str, Any] = Field(default_factory=dict[str, Any])


class _Part(_Line):
    kind: Literal["part"] = "part"
    id: str
    body: Any


class _Call(_Line):
    kind: Literal["call"] = "call"
    seat: str | None
    key: str
    occurrence: int = Field(ge=1)
    messages: list[str]
    tools: str | None
    params: dict[str, Any]
    # Checked, because answers go out over HTTP as they stand here.
    status: int = Field(ge=100, le=599)
    body: dict[str, Any]
    usage: dict[str, Any]
    latency_s: float
    fault: str | None = None


_LINES: TypeAdapter[_Header | _Seat | _Part | _Call] = TypeAdapter(
    Annotated[_Header | _Seat | _Part | _Call, Field(discriminator="kind")]
)


@dataclass
class SeatRecording:
    """What was recorded of one seat, in order; `name` is what errors call the recording."""

    seat: str | None
    model: str
    options: Mapping[str, Any]
    name: str = "the recording"
    calls: list[tuple[Canonical, int, Answer]] = field(default_factory=list[tuple[Canonical, int, Answer]])
    _answers: dict[tuple[str, int], Answer] = field(default_factory=dict[tuple[str, int], Answer])
    _given: set[str] = field(default_factory=set[str])

    def add(self, asked: Canonical, occurrence: int, answer: Answer) -> None:
        """A recorded call; a later one of the same request and occurrence was a retry and replaces the earlier."""
        self.calls.append((asked, occurrence, answer))
        # The later one wins: in a replay nothing fails, so the answer that the retry brought is the one to give.
        self._answers[asked.key, occurrence] = answer

    @property
    def max_reply(self) -> int:
        """The bound of a reply in the recorded requests; 0 where they had none."""
        bound = self.calls[0][0].params.get("max_tokens") if self.calls else None
        return bound if isinstance(bound, int) and bound > 0 else 0

    @property
    def counts(self) -> dict[str, int]:
        """How often each request was asked."""
        # Sorted by occurrence within a request, so that the highest one remains.
        return dict(sorted(self._answers))

    def answer(self, asked: Canonical, occurrence: int) -> Answer:
        """The recorded answer, or status 400 with what first differs from the nearest request."""
        found = self._answers.get((asked.key, occurrence))
        # A miss is an error of the run, not of an endpoint: asking again would give the same.
        if found is None:
            return error_answer(400, self._miss(asked, occurrence), NOT_RECORDED, retry=False)
        self._given.add(asked.key)
        return found

    def _miss(self, asked: Canonical, occurrence: int) -> str:
        seat = f"seat {self.seat}" if self.seat else "no seat"
        # The request is there and was asked too often: there is no difference to show.
        if occurrence > 1:
            return f"{self.name} ({seat}) holds this request {occurrence - 1} times only; it was asked once more"
        nearest = self._nearest(asked)
        if nearest is None:
            return f"{self.name} holds no call of {seat}. {_NEVER}"
        return f"{self.name} ({seat}) does not hold this request: {first_difference(asked, nearest)}. {_NEVER}"

    def _nearest(self, asked: Canonical) -> Canonical | None:
        """The request with the longest equal beginning; among equals the first that was not asked again yet."""

        # Beginnings are compared because requests of one round repeat each other; the first difference is the cause.
        def rank(other: Canonical) -> tuple[int, bool]:
            same = 0
            for mine, theirs in zip(asked.messages, other.messages, strict=False):
                if mine.id != theirs.id:
                    break
                same += 1
            return same, other.key not in self._given

        return max((call[0] for call in self.calls), key=rank, default=None)


class Recording:
    """A recording in memory, from its file or from a trace. Raises ScenarioError, with the line, for other files.

    Every digest is computed again: an edited recording would otherwise answer to requests that were never made.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.parts: dict[str, Part] = {}
        self.seats: dict[str | None, SeatRecording] = {}
        try:
            with regular(path) as file:
                of_trace = file.read(len(MAGIC)) == MAGIC
            if of_trace:
                self._take_prompts()
            else:
                for number, line in _lines(path):
                    self._take(number, line)
        except TraceError as error:
            raise ScenarioError(f"{path}: its model calls cannot be read: {error}") from None
        except OSError as error:
            raise ScenarioError(f"{path}: the recording cannot be read: {error.strerror}") from None

    def seat(self, seat: str | None) -> SeatRecording:
        """The calls of a seat; without a name those of the only one. ScenarioError lists the seats there are."""
        if seat is None and len(self.seats) == 1:
            seat = next(iter(self.seats))
        if seat not in self.seats:
            known = ", ".join(sorted(str(name) for name in self.seats)) or "none"
            raise ScenarioError(f"{self.path}: nothing is recorded for seat {seat}; recorded seats: {known}")
        # A recording answers in several episodes; what one of them was given does not concern the next.
        # A copy shares the answers and has its own memory of what was given.
        return replace(self.seats[seat], _given=set())

    def _take_prompts(self) -> None:
        """Take the prompts of a trace. Raises TraceError."""
        with open_trace(self.path) as trace:
            for seat, asked, occurrence, answer in kept_calls(trace):
                named = str(asked.params.get("model", ""))
                calls = self.seats.setdefault(seat, SeatRecording(seat, named, {}, f"replay:{self.path.name}"))
                calls.add(asked, occurrence, answer)
        if not self.seats:
            raise ScenarioError(f"{self.path}: the trace keeps no prompts (`prompts = false`, or a stripped copy)")

    def _take(self, number: int, line: bytes) -> None:
        try:
            entry = _LINES.validate_json(line)
            # Only the header says that the file is a recording at all.
            if (number == 1) != isinstance(entry, _Header):
                raise ValueError("the first line, and no other, says what the file is")
            if isinstance(entry, _Part):
                self.parts[entry.id] = Part(entry.id, entry.body)
                if part_of(entry.body).id != entry.id:
                    raise ValueError("the part does not have its digest")
            elif isinstance(entry, _Seat):
                # A resumed run announces its seat once more; its model and options then hold for what follows.
                known = self.seats.get(entry.seat)
                calls = known or SeatRecording(entry.seat, entry.model, entry.options, f"replay:{self.path.name}")
                calls.model, calls.options = entry.model, entry.options
                self.seats[entry.seat] = calls
            elif isinstance(entry, _Call):
                self._take_call(entry)
        except (ValueError, KeyError) as error:
            raise ScenarioError(f"{self.path}, line {number}: not a recording of model calls: {_said(error)}") from None

    def _take_call(self, call: _Call) -> None:
        # A KeyError here is a part that is missing, and is reported with its digest.
        messages = tuple(self.parts[part] for part in call.messages)
        tools = None if call.tools is None else self.parts[call.tools]
        if key_of(call.messages, call.tools, call.params) != call.key:
            raise ValueError("the call's key is not the digest of its request")
        # Made anew: recordings of earlier releases name some parameters otherwise.
        asked = canonical_of(messages, tools, call.params)
        if call.seat not in self.seats:
            # Order matters in the file: a seat's line stands before its first call.
            raise ValueError(f"the seat {call.seat} was not announced")
        self.seats[call.seat].add(asked, call.occurrence, Answer(call.status, call.body))


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The whole lines of a file; a last one that was cut off by a kill is passed over."""
    number = 0
    with regular(path) as file:
        for number, line in enumerate(lines(file), 1):
            if not line.endswith(b"\n"):
                break
            yield number, line
    if number == 0:
        raise ScenarioError(f"{path}: the recording is empty")


def _said(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return f"part {error} is missing" if isinstance(error, KeyError) else str(error)


class KeptCall(NamedTuple):
    """A model call of a trace, as a recording has it."""

    seat: str
    asked: Canonical
    occurrence: int
    answer: Answer


def kept_calls(trace: Trace) -> Iterator[KeptCall]:
    """The model calls whose prompts a trace keeps, in order. Raises TraceError."""
    parts: dict[int, Part] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for call in trace.prompts():
        # Hashed once: every request repeats most of the one before.
        for number in (*call.numbers[call.same :], *([] if call.tools is None else [call.tools])):
            if number not in parts:
                parts[number] = part_of(stripped(call.part(number)))
        tools = None if call.tools is None else parts[call.tools]
        asked = canonical_of(tuple(parts[number] for number in call.numbers), tools, call.params)
        status, body = call.answer.get("status"), call.answer.get("body")
        # Answers go out over HTTP as they stand here.
        if not isinstance(status, int) or not 100 <= status <= 599 or not isinstance(body, dict):
            raise TraceError(f"{trace.path.name}: an answer of a model is damaged")
        name = (call.seat, asked.key)
        yield KeptCall(call.seat, asked, counts[name] + 1, Answer(status, cast("dict[str, Any]", body)))
        # What failed was asked again under the same number.
        counts[name] += status < 400


def write_recording(trace: Trace, path: Path) -> None:
    """Add the model calls of a trace to a recording that does not hold them yet; an own line names each seat.

    Raises ScenarioError for a file of another kind, HarnessFailure where it cannot be written, TraceError.
    """
    recorders: dict[str, Recorder] = {}
    before: dict[str, dict[str, int]] = {}
    try:
        for seat, asked, occurrence, answer in kept_calls(trace):
            if seat not in recorders:
                recorders[seat] = Recorder(path, seat, str(asked.params.get("model", "")), {})
                before[seat] = recorders[seat].counts
            if occurrence > before[seat].get(asked.key, 0):
                recorders[seat].add(asked, occurrence, answer, 0.0, None)
    finally:
        for recorder in recorders.values():
            recorder.close()


class Recorder:
    """Appends the calls of one seat to a file; several seats may share one.

    Raises ScenarioError for a file of another kind, HarnessFailure when it can no longer be written.
    """

    def __init__(self, path: Path, seat: str | None, model: str, options: Mapping[str, Any]) -> None:
        self._seat = seat
        self._known: set[str] = set()
        self.counts: dict[str, int] = {}
        # An empty file is new: a kill between creation and header may have left one.
        if path.exists() and path.stat().st_size:
            earlier = Recording(path)
            self._known = set(earlier.parts)
            self.counts = earlier.seats[seat].counts if seat in earlier.seats else {}
        self._path = path
        self._file = _appending(path)
        # By the position at the end and not by existence: an existing file may be empty.
        opening: list[_Line] = [] if self._file.tell() else [_Header()]
        self._write([*opening, _Seat(seat=seat, model=model, options=dict(options))])

    def add(self, asked: Canonical, occurrence: int, answer: Answer, latency_s: float, fault: str | None) -> None:
        """Write one call, with those of its parts that are not in the file yet."""
        parts = [*asked.messages, *([asked.tools] if asked.tools else [])]
        # By id, so that a message that stands twice in one request is written once.
        fresh = {part.id: part for part in parts if part.id not in self._known}
        call = _Call(
            seat=self._seat,
            key=asked.key,
            occurrence=occurrence,
            messages=[part.id for part in asked.messages],
            tools=asked.tools and asked.tools.id,
            params=dict(asked.params),
            status=answer.status,
            body=answer.body,
            usage=usage_of(answer.body)._asdict(),
            latency_s=round(latency_s, 4),
            fault=fault,
        )
        self._write([*(_Part(id=part.id, body=part.body) for part in fresh.values()), call])
        # After the write: parts that did not reach the file must be written by the next call.
        self._known |= fresh.keys()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, lines: Sequence[_Line]) -> None:
        block = b"".join(orjson.dumps(line.model_dump()) + b"\n" for line in lines)
        try:
            # One unbuffered write: seats that share the file do not mix their lines.
            # A full disk may take a part of the block; the raw file says so by its count only.
            if self._file.write(block) != len(block):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            raise HarnessFailure(f"{self._path}: the recording cannot be written: {error.strerror}") from None


def _appending(path: Path) -> FileIO:
    """The file, open at its end, without the broken line that a killed run may have left."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # A broken line that stayed would swallow the first line of this run.
        with path.open("ab+") as file:
            _cut_broken_line(file)
        # Unbuffered: a killed run must lose at most the block that it was writing.
        file = path.open("ab", buffering=0)
    except OSError as error:
        raise ScenarioError(f"{path}: the recording cannot be written: {error.strerror}") from None
    file.seek(0, 2)
    return file


def _cut_broken_line(file: BinaryIO) -> None:
    end = file.seek(0, 2)
    while end:
        # In blocks from the end: only the last line break matters.
        start = max(0, end - 65_536)
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            file.truncate(start + found + 1)
            return
        if not start:
            # No line break at all: the file is one broken line.
            file.truncate(0)
        end = start
