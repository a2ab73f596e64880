"""One run of somebody's agent as auditors read it: calls with their answers, and messages, in the trace's order.

Whatever stands in a trace is hostile: a field of another shape counts as absent, and nothing here raises for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext, suppress
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import orjson

from tradefair.contract import TraceError
from tradefair.contract.answers import content_of, kind_by_name
from tradefair.evaluation.foreign.interchange.shapes import parsed, text
from tradefair.evaluation.read.objects import mapping, sequence
from tradefair.tracestore import Trace, open_trace

FAILED_ANSWER = r"^(Error|Exception|Traceback)\b"
"""How the answer to a refused call begins, where a format has no flag for it."""

HAND_OVER = re.compile(r"^(transfer|escalate|hand_?over|hand_?off)(_|$)", re.IGNORECASE)
"""Tools that give the case to somebody else, where no map says which do."""


class Call(NamedTuple):
    """A tool call with its answer. `step` is what labels and people cite: its message's ordinal in the run, from 1.

    `kind` is read, analysis, action, note or hand_over: what the map says, else the trace, else the name.
    `status` is ok, rejected, invalid, denied or failed; `answer` what an accepted call gave, decoded where it is JSON
    in a text; `error` the words of a refusal. `arguments` are an object, or whatever stood there instead.
    """

    seq: int
    step: int | None
    seat: str
    tool: str
    kind: str
    status: str
    arguments: Any
    answer: Any
    error: str = ""
    round: int = 1

    @property
    def accepted(self) -> bool:
        """Whether the tool did it."""
        return self.status == "ok"

    @property
    def words(self) -> str:
        """The answer as text: JSON unless it is a text itself; the error where it was refused."""
        if not self.accepted:
            return self.error
        return self.answer if isinstance(self.answer, str) else as_json(self.answer)


class Said(NamedTuple):
    """A message as text: no reasoning, no media. `role` is system, user, assistant, server or client."""

    seq: int
    step: int | None
    seat: str | None
    role: str
    text: str


Turn: TypeAlias = Call | Said


class RuleCase(NamedTuple):
    """One time that a rule of a map was broken, e.g. `map.look`: the call or message, and in a sentence what is wrong.

    `shown_by` is the event that proves it, where that is another one: a look, a message. `about` names the object.
    """

    rule: str
    step: int | None
    seq: int
    seat: str
    tool: str
    why: str
    shown_by: int | None = None
    round: int = 1
    about: str | None = None


class Run(NamedTuple):
    """A trace that was read. `passed` is what its source says, `roles` the role of each seat: agent, subagent, user.

    `hints` are annotations by tool (`readOnlyHint`, `destructiveHint`), `reference` {actions, outputs} as the source
    has them, or empty.
    """

    id: str
    path: Path
    passed: bool | None
    turns: tuple[Turn, ...]
    roles: Mapping[str, str] = {}
    hints: Mapping[str, Mapping[str, Any]] = {}
    reference: Mapping[str, Any] = {}
    reconciled: bool = True
    """Whether the import used as many calls as the source holds by its own count."""

    @property
    def calls(self) -> Iterator[Call]:
        """What agents called; a user with tools of its own is no agent."""
        return (turn for turn in self.turns if isinstance(turn, Call) and self.roles.get(turn.seat) != "user")

    @property
    def said(self) -> Iterator[Said]:
        """The messages."""
        return (turn for turn in self.turns if isinstance(turn, Said))


def read_run(path: str | Path, kind_of: Callable[[str, str | None], str | None] | None = None, failed: str = "") -> Run:
    """A trace as a run; see `turns_of` for `kind_of` and `failed`. Raises TraceError where it is none."""
    with open_trace(path) as trace:
        return run_of_trace(trace, kind_of, failed)


def run_of_trace(
    trace: Trace,
    kind_of: Callable[[str, str | None], str | None] | None = None,
    failed: str = "",
    *,
    whole: bool = True,
) -> Run:
    """An opened trace as a run, as `read_run` gives it; of a damaged one not `whole` what can be read."""
    about = trace.manifest.about
    source = mapping(about.get("source"))
    passed = source.get("passed")
    turns: list[Turn] = []
    with nullcontext() if whole else suppress(TraceError):
        turns.extend(turns_of(trace, kind_of, failed))
    return Run(
        text(source.get("run")) or trace.path.name.partition(".trace")[0],
        trace.path,
        passed if isinstance(passed, bool) else None,
        tuple(turns),
        {seat.id: seat.role for seat in trace.manifest.core.seats},
        {text(tool.get("name")): tool for tool in map(mapping, sequence(about.get("tools")))},
        mapping(source.get("reference")),
        source.get("reconciled") is not False,
    )


def turns_of(
    trace: Trace, kind_of: Callable[[str, str | None], str | None] | None = None, failed: str = ""
) -> Iterator[Turn]:
    """Calls and messages of an opened trace, in order; raises TraceError where it is damaged.

    `kind_of` says of a tool and the kind in the trace what it does; the answer to an accepted call whose text `failed`
    matches is a refusal.
    """
    refused = re.compile(failed) if failed else None
    # What a recorder that is gone has left open was never answered.
    for event in chain(trace.decoded(), trace.left_open()):
        kind = event.get("event")
        if kind == "tool_called":
            call = _call(event)
            if kind_of is not None:
                call = call._replace(kind=kind_of(call.tool, call.kind) or call.kind)
            if refused is not None and call.accepted and isinstance(call.answer, str) and refused.search(call.answer):
                call = call._replace(status="rejected", answer=None, error=call.answer)
            yield call
        elif kind == "message" and event.get("part", "text") == "text" and isinstance(event.get("content"), str):
            seat, role = text(event.get("seat")) or None, text(event.get("role"))
            yield Said(_whole(event.get("seq")) or 0, _whole(event.get("step")), seat, role, event["content"])


def _call(event: Mapping[str, Any]) -> Call:
    status, kind = text(event.get("status")), event.get("kind")
    return Call(
        _whole(event.get("seq")) or 0,
        _whole(event.get("step")),
        text(event.get("seat")),
        text(event.get("tool")),
        guessed_kind(text(event.get("tool")), kind if isinstance(kind, str) else None),
        status,
        _decoded(event.get("arguments")),
        _decoded(content_of(event.get("result"))) if status == "ok" else None,
        text(mapping(event.get("error")).get("message")),
        _whole(event.get("round")) or 1,
    )


def guessed_kind(tool: str, kind: str | None = None) -> str:
    """What a tool does where no map says it: `kind` if the trace has one, else its name; hand-overs by their name."""
    known = kind or kind_by_name(tool)
    return "hand_over" if known == "action" and HAND_OVER.match(tool) else known


def _decoded(value: Any) -> Any:
    """What a text of JSON means; {text} of an MCP answer is the text itself."""
    fields = mapping(value)
    return parsed(fields["text"] if len(fields) == 1 and "text" in fields else value)


def as_json(value: Any) -> str:
    """A value as canonical JSON: equal for values that are equal; numbers that are whole are written whole."""
    try:
        return orjson.dumps(_plain(value), option=orjson.OPT_SORT_KEYS).decode()
    except (orjson.JSONEncodeError, RecursionError):
        return repr(value)


def _plain(value: Any) -> Any:
    """1.0 and 1 are one number in JSON."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in mapping(value).items()}
    if isinstance(value, list):
        return [_plain(part) for part in sequence(value)]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
