"""How many calls and answers the raw records of a file hold, counted without reading them: the conscience of an import.

A reader says which objects of its format call or answer (`Counts`); nothing of what it yields is looked at here. What
is told more than once (in a reply, in a span, in later prompts) is counted once for each telling: a run has at least
as many calls of a tool as the fullest of them, and at most as many as there are ids.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from tradefair.evaluation.foreign.interchange.shapes import first, parsed, text
from tradefair.evaluation.foreign.interchange.spans import attributes_of
from tradefair.evaluation.read.objects import mapping, sequence

if TYPE_CHECKING:
    from tradefair.evaluation.foreign.importers.spool import Spool

CALLS, ANSWERS = "calls", "answers"

PROMPT = "prompt"
"""The telling that repeats what was said before: an id counts once there, and says how many calls there may be."""

_UNION = ""
_HELD = 10_000
LONG_ID = 16
"""Characters from which on nobody else has the id of a run."""
_CALLING = ("tool_use", "tool_call", "server_tool_use", "mcp_tool_use", "function_call", "functionCall")
_FIELDS = ("tool_calls", "toolCalls", "function_call", "functionCall")
_ANSWERING = ("tool_result", "tool_call_response", "function_response", "functionResponse", "function_call_output",
              "function_call_result")  # fmt: skip
_IDS = ("call_id", "tool_call_id", "tool_use_id", "source_call_id", "callId", "toolCallId", "id")
_NAMES = ("name", "function_name", "toolName", "tool", "function")
_FIRST_ONLY = ("choices", "generations")
"""Lists of which only the first entry was said."""

_NEVER = frozenset({"tools", "tool_definitions", "metadata", "additional_kwargs", "response_metadata", "raw_data"})
_FLAT = re.compile(r"^(.*tool_calls\.\d+)\.(.*\.)?(id|name)$")

Sign = tuple[str, tuple[Any, ...]]
"""A field, and the values by which it tells."""


class Spans(NamedTuple):
    """How spans call: `tools` marks a tool's span, `names` and `results` are fields of it, `inner` marks one of MCP.

    Fields stand in a span or among its attributes. `models` marks spans whose messages are looked at; none: all.
    `replies` is how fields of replies begin.
    """

    tools: tuple[Sign, ...]
    names: tuple[str, ...]
    results: tuple[str, ...]
    replies: tuple[str, ...]
    keys: tuple[str, ...] = ()
    models: tuple[Sign, ...] = ()
    inner: tuple[Sign, ...] = ()


class Counts(NamedTuple):
    """How calls and answers are told in the raw records of a format; shapes of messages are known without it.

    `seen` counts the calls and answers of an object itself, which is not looked into then; None: by its shape.
    """

    once: tuple[str, ...] | None = None
    """Fields that name where an id is that counts once: it is told again as a call goes on. None: ids say nothing."""
    skip: frozenset[str] = frozenset()
    """Fields that are not looked into: they repeat what others say, or are of no run."""
    silent: tuple[Sign, ...] = ()
    """Objects that are not looked into."""
    calls: tuple[Sign, ...] = ()
    answers: tuple[Sign, ...] = ()
    tellings: Mapping[str, str] = {}
    """From a field to the telling that stands below it, where a record tells calls several times."""
    texts: bool = False
    """Whether texts may hold records as JSON."""
    seen: Callable[[dict[str, Any]], Iterable[Seen] | None] | None = None
    spans: Spans | None = None

    @property
    def looked_for(self) -> str:
        """Fields by which a call, an answer or a message of the format is known, as a list of words."""
        signs = [*self.calls, *self.answers]
        names = [name for name, _ in signs]
        if self.spans is not None:
            names = [name for name, _ in (*self.spans.tools, *self.spans.models)] + [*self.spans.replies]
        return ", ".join(dict.fromkeys(names or ("role", "type", *_FIELDS[:1])))


class Seen(NamedTuple):
    """Calls or answers (`kind`) of a tool, in one of their tellings; of a run where it has several tellings."""

    kind: str
    tool: str
    telling: str = "once"
    run: str = ""
    number: int = 1


class _Around(NamedTuple):
    run: str = ""
    telling: str = "once"
    field: str = ""


class Census:
    """Counts one file, whose number in its import is `file`. Small: what grows lies in the spool."""

    def __init__(self, counts: Counts, spool: Spool, file: int) -> None:
        self._counts, self._spool, self._file = counts, spool, file
        self._held: Counter[tuple[str, str, str, str]] = Counter()
        self._records = 0

    def take(self, place: str, value: Any) -> None:
        """The next raw record, or element of a document, as it was parsed; `place` as in `Source.elements`."""
        self._records += 1
        run = str(self._records) if self._counts.tellings else ""
        field = place.removesuffix(".item").rpartition(".")[2]
        if field in self._counts.skip:
            return
        self._look(value, _Around(run, self._counts.tellings.get(field, "once"), field))

    def bounds(self, kind: str) -> dict[str, tuple[int, int]]:
        """By tool: how many calls or answers (`kind`) the file holds, at least and at most."""
        self._spool.counted(self._file, self._held)
        self._held.clear()
        return self._spool.bounds(self._file, kind)

    def _look(self, value: Any, at: _Around) -> None:
        if isinstance(value, list):
            entries = sequence(value)  # pyright: ignore[reportUnknownArgumentType]
            for entry in entries[:1] if at.field in _FIRST_ONLY else entries:
                self._look(entry, at)
            return
        if self._counts.texts and isinstance(value, str):
            value = parsed(value)
        fields = mapping(value)
        if not fields or _tells(fields, self._counts.silent):
            return
        found = None if self._counts.seen is None else self._counts.seen(fields)
        if found is not None:
            for seen in found:
                self._add(seen, at, "")
        elif self._counts.spans is not None and (trace := _trace(fields, at)):
            self._span(self._counts.spans, fields, at._replace(run=trace))
        elif not self._shape(fields, at):
            self._inside(fields, at)

    def _inside(self, fields: dict[str, Any], at: _Around) -> None:
        names = ("id",) if "observations" in fields else self._counts.once or ()
        run = text(first(fields, *names)) or at.run
        # Some dialects list the calls of the content once more.
        told = {text(first(mapping(part), *_IDS)) for part in sequence(fields.get("content")) if _calls(mapping(part))}
        for name, value in fields.items():
            if name in _NEVER or name in self._counts.skip or not isinstance(value, dict | list | str):
                continue
            if told and name in _FIELDS and isinstance(value, list):
                entries = sequence(value)  # pyright: ignore[reportUnknownArgumentType]
                value = [entry for entry in entries if text(first(mapping(entry), *_IDS)) not in told]
            # What repeats does so however its fields are called.
            repeats = at.telling.startswith(PROMPT)
            self._look(
                value, _Around(run, at.telling if repeats else self._counts.tellings.get(name, at.telling), name)
            )

    def _shape(self, fields: dict[str, Any], at: _Around) -> bool:
        """Count an object that is a call or an answer; whether it is."""
        key, kind = text(first(fields, *_IDS)), text(fields.get("type")).replace("-", "_")
        if at.field in _FIELDS or _tells(fields, self._counts.calls) or ("role" not in fields and _calls(fields)):
            called = mapping(first(fields, "function", "custom")) or fields
            tool = text(first(called, *_NAMES)) or kind.removesuffix("_call")
            self._add(Seen(CALLS, tool, at.telling), at, key)
            if "result" in fields or (kind.endswith("_call") and kind not in _CALLING and "call_id" not in fields):
                self._add(Seen(ANSWERS, "", at.telling), at, key)
            return True
        if _answers(fields, at.field) or _tells(fields, self._counts.answers):
            self._add(Seen(ANSWERS, "", at.telling), at, key)
            return True
        if (text(fields.get("role")) or kind) in ("tool", "function"):
            held = [*sequence(fields.get("tool_messages")), *sequence(fields.get("parts"))]
            held += [part for part in sequence(fields.get("content")) if _answers(mapping(part), "")]
            self._add(Seen(ANSWERS, "", at.telling, number=len(held) or 1), at, key)
            return True
        return False

    def _span(self, spans: Spans, fields: dict[str, Any], at: _Around) -> None:
        """A span: of a tool, or with messages; what lies below it, where the format nests them."""
        attributes = attributes_of(fields.get("attributes"))
        whole = {**fields, **attributes}
        own = text(first(whole, "spanId", "span_id", "id")) or text(mapping(fields.get("context")).get("span_id"))
        for child in sequence(fields.get("child_runs")):
            self._look({"trace_id": at.run, **mapping(child)}, at)
        is_log = "body" in fields
        if own and not is_log and self._met("span", at.run, own):
            return
        inner = _tells(whole, spans.inner)
        if inner or _tells(whole, spans.tools):
            name = text(fields.get("name"))
            tool = text(first(whole, *spans.names)) or name.rpartition(" ")[2]
            at = at._replace(telling=f"inner {name}" if inner else f"span {name}")
            key, answers = text(first(whole, *spans.keys)), int(any(name in whole for name in spans.results))
            above = text(first(whole, "parentSpanId", "parent_span_id", "parent_id", "parent_run_id"))
            self._add(Seen(CALLS, tool, f"{PROMPT} {at.telling}"), at, "")
            self._add(Seen(ANSWERS, "", f"{PROMPT} {at.telling}", number=answers), at, "")
            if not self._repeats(at, tool, key, own, above):
                self._add(Seen(CALLS, tool, at.telling), at, key)
                self._add(Seen(ANSWERS, "", at.telling, number=answers), at, "")
        elif not spans.models or _tells(whole, spans.models):
            self._said(spans, whole, at, own)

    def _repeats(self, at: _Around, tool: str, key: str, own: str, above: str) -> bool:
        """Whether a tool's span may tell what another one of its name tells: by the call's id, else inside of it."""
        if key:
            return self._met(at.telling, at.run, f"{tool} {key}")
        # Either of the two may come first.
        inside = self._met(f"in {at.telling}", at.run, f"{tool} {above}", keep=False)
        around = self._met(f"around {at.telling}", at.run, f"{tool} {own}", keep=False)
        self._met(f"in {at.telling}", at.run, f"{tool} {own}")
        self._met(f"around {at.telling}", at.run, f"{tool} {above}")
        return inside or around

    def _said(self, spans: Spans, whole: dict[str, Any], at: _Around, own: str) -> None:
        """What the messages of a span call: of its prompt, and of its reply."""
        asked, replied = f"{PROMPT} {own}", f"reply {text(whole.get('name'))}"
        flat: dict[str, dict[str, str]] = {}
        for name, value in whole.items():
            telling = replied if name.startswith(spans.replies) else asked
            if match := _FLAT.match(name):
                flat.setdefault(match[1], {"telling": telling})[match[3]] = text(value)
            elif name == "body":
                told = replied if "choice" in text(first(whole, "eventName", "event_name", "name")) else asked
                self._look(attributes_of([{"key": "", "value": value}])[""], _Around(at.run, told))
            elif isinstance(value, list | dict | str) and name not in ("attributes", "child_runs", "events"):
                field = "tool_calls" if name.endswith("toolCalls") else ""
                self._look(parsed(value), _Around(at.run, telling, field))
        for call in flat.values():
            self._add(Seen(CALLS, call.get("name", ""), call["telling"]), at, call.get("id", ""))
        for event in map(mapping, sequence(whole.get("events"))):
            telling = replied if "choice" in text(event.get("name")) else asked
            for value in attributes_of(event.get("attributes")).values():
                self._look(parsed(value), _Around(at.run, telling))

    def _add(self, seen: Seen, at: _Around, key: str) -> None:
        run, kind = seen.run or at.run, seen.kind
        tool = seen.tool if kind == CALLS else ""
        several = bool(self._counts.tellings) or self._counts.spans is not None
        if several and key and not self._met(kind, run, f"{tool} {key}"):
            self._held[kind, run, tool, _UNION] += seen.number
        again = (seen.telling if several else "once") if seen.telling.startswith(PROMPT) else ""
        if key and (again or self._counts.once is not None) and self._met(f"{kind} {again}", run, key):
            return
        self._held[kind, "" if seen.telling == "once" else run, tool, seen.telling] += seen.number
        if len(self._held) >= _HELD:
            self._spool.counted(self._file, self._held)
            self._held.clear()

    def _met(self, *names: str, keep: bool = True) -> bool:
        # A run of a short id is another one in every file.
        own = 0 if len(names[1]) >= LONG_ID else self._file + 1
        return self._spool.met(hash(("counted", own, *names)), keep=keep)


def _tells(fields: Mapping[str, Any], signs: tuple[Sign, ...]) -> bool:
    for name, values in signs:
        value = fields.get(name)
        if isinstance(value, str | int) and (value in values if values else value):
            return True
    return False


def _calls(fields: dict[str, Any]) -> bool:
    kind = text(fields.get("type")).replace("-", "_")
    return kind in _CALLING or kind.endswith("_call")


def _answers(fields: dict[str, Any], field: str) -> bool:
    kind = text(fields.get("type")).replace("-", "_") or next(iter(fields), "")
    return kind.endswith(("_tool_result", "_call_output")) or kind in _ANSWERING or field in _ANSWERING


def _trace(fields: dict[str, Any], at: _Around) -> str:
    """The trace of a span: its own, or that of the record around it; empty where it is no span."""
    found = text(first({**mapping(fields.get("context")), **fields}, "traceId", "trace_id"))
    return found or (at.run if at.field == "observations" else text(fields.get("id")) if "run_type" in fields else "")
