"""`claude-code`: session logs of a coding agent, a line a record, its sub-agents in the same file or in their own.

The format is internal to its maker: what is not known is counted and never stops a file. The agent's own output stream
(`session_id`, `parent_tool_use_id`) is read too.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from tradefair.evaluation.foreign.importers.items import LONG_ID, Call, Counts, Fact, Head, Item, Odd, Reader, Source
from tradefair.evaluation.foreign.interchange.messages import At, calls_or_answers, facts, used, walk
from tradefair.evaluation.foreign.interchange.shapes import count, first, text
from tradefair.evaluation.foreign.interchange.transcript import Transcript
from tradefair.evaluation.read.objects import mapping, sequence

_TALK = ("user", "assistant")
_KNOWN = (*_TALK, "system", "summary")
_REMEMBERED = 20_000
"""Lines and calls that are told from their repetitions; longer ago is not looked for, so that memory stays bounded."""

_SEATS = 10_000
"""Replies of a model that may be open at once, each in a seat of its own."""


def sniff(head: Head) -> int:
    """Sure of a session's id next to a known type; lines of other types may stand in front."""
    fields = mapping(head.value)
    if "sessionId" in fields and (fields.get("type") in _KNOWN or "uuid" in fields):
        return 95
    if "session_id" in fields and fields.get("type") in (*_KNOWN, "result") and {"subtype", "message"} & fields.keys():
        return 90
    return 85 if b'"sessionId"' in head.raw and (b'"parentUuid"' in head.raw or b'"isSidechain"' in head.raw) else 0


def read(source: Source) -> Iterator[Item]:
    """All sessions of a file; a session is a run, a sub-agent a seat of it."""
    log = _Log(source.met)
    for line, value in source.lines():
        yield from log.line(value, line)
    yield from log.rest()


class _Log(Transcript):
    """What is remembered from line to line, all of it bounded."""

    def __init__(self, met: Callable[[int], bool]) -> None:
        self._met_elsewhere = met
        super().__init__()
        self._seen: OrderedDict[int, None] = OrderedDict()
        self._spent: OrderedDict[tuple[str, str], tuple[str, list[Fact]]] = OrderedDict()
        self._seats: set[tuple[str, str]] = set()

    def line(self, value: Any, line: int) -> Iterator[Item]:
        """One record. Lines that carry no talk are understood and counted by their type."""
        return self.used(self._record(mapping(value), line, known=isinstance(value, dict)))

    def _record(self, fields: dict[str, Any], line: int, *, known: bool) -> Iterator[Item]:
        kind, run = text(fields.get("type")), text(first(fields, "sessionId", "session_id"))
        at = At(run, self._seat(fields), line=line, place="message")
        if not known:
            yield Odd(line, "", "a record is an object")
        elif kind in _TALK and not run:
            yield Odd(line, "sessionId", "no session")
        elif fields.get("uuid") and self._repeated(run, text(fields["uuid"])):
            count(self.left_out, "repeated lines")
            # A file that only repeats what others hold is a file of the run all the same.
            yield from self._introduced(fields, at) if kind in _TALK else ()
        elif fields.get("isCompactSummary"):
            # It says once more what was said before.
            count(self.left_out, "compact summaries")
        elif kind in _TALK:
            yield from self._talk(fields, kind, self.here(fields, at))
        elif kind == "system" and run and isinstance(fields.get("content"), str):
            message = {"role": "system", "content": fields["content"], "name": fields.get("subtype")}
            yield from walk(message, self.here(fields, at), self.left_out)
        elif kind == "result" and run:
            yield from self._result(fields, run)
        elif not kind:
            yield Odd(line, "type", "a record of no type")
        elif calls_or_answers(fields):
            yield Odd(line, "type", f"a record of an unknown type {kind[:40]!r} that calls or answers")
        else:
            count(self.left_out, f"lines of type {kind}")

    def rest(self) -> Iterator[Item]:
        """What the last replies cost, and the tally."""
        for _, spent in self._spent.values():
            yield from spent
        yield self.total()

    def _talk(self, fields: dict[str, Any], kind: str, at: At) -> Iterator[Item]:
        message = mapping(fields.get("message"))
        yield from self._met(fields, message, at)
        if fields.get("toolUseResult") is not None or fields.get("tool_use_result") is not None:
            count(self.left_out, "structured results")
        # What the program says in the user's place (`isMeta`) is no word of the user.
        role = "system" if fields.get("isMeta") and kind == "user" else kind
        for item in walk({**message, "role": role}, at, self.left_out):
            if isinstance(item, Call) and self._repeated(at.run, f"{at.seat} {item.key}"):
                count(self.left_out, "repeated calls")
            else:
                yield item

    def _met(self, fields: dict[str, Any], message: dict[str, Any], at: At) -> Iterator[Item]:
        """Who acts; and what its reply before cost, once another reply begins.

        A reply is several lines, and only the last of them has its whole cost.
        """
        yield from self._introduced(fields, at)
        seat = (at.run, at.seat)
        reply = text(message.get("id"))
        if reply and message.get("model") != "<synthetic>":
            before, spent = self._spent.pop(seat, ("", []))
            if before != reply:
                yield from spent
            self._spent[seat] = (reply, list(used(message, at)))
            if len(self._spent) > _SEATS:
                yield from self._spent.popitem(last=False)[1][1]
        yield from facts(at, usd=fields.get("costUSD"))

    def _introduced(self, fields: dict[str, Any], at: At) -> Iterator[Item]:
        """Who acts, when first met."""
        seat = (at.run, at.seat)
        if seat not in self._seats and len(self._seats) < _SEATS:
            self._seats.add(seat)
            version = text(fields.get("version"))
            label = text(first(fields, "agentName", "subagent_type")) or f"claude-code {version}".strip()
            yield Fact(*seat, "agent", label)
            if at.seat:
                yield Fact(*seat, "role", "subagent")

    def _result(self, fields: dict[str, Any], run: str) -> Iterator[Item]:
        """The end of an output stream: its price, and whom it was denied what."""
        yield from facts(At(run), usd=fields.get("total_cost_usd"))
        for _ in sequence(fields.get("permission_denials")):
            count(self.left_out, "permission denials")

    def _seat(self, fields: dict[str, Any]) -> str:
        """A sub-agent's own name; those of one file without names are one seat."""
        # The answer to the call that started a sub-agent names it too, and belongs to the caller.
        side = fields.get("isSidechain") is True
        agent = text(first(fields, "agentId" if side else "", "parent_tool_use_id"))
        return f"subagent-{agent}" if agent else "subagent" if side else ""

    def _repeated(self, run: str, name: str) -> bool:
        mark = hash((run, name))
        # A session of a short id is another one in every file.
        if mark in self._seen or (len(run) >= LONG_ID and self._met_elsewhere(mark)):
            return True
        self._seen[mark] = None
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        return False


_COUNTS = Counts(
    once=("sessionId", "session_id"),
    skip=frozenset({"toolUseResult", "tool_use_result", "data", "permission_denials"}),
    silent=(("isCompactSummary", (True,)),),
)

READER = Reader("claude-code", "session logs of Claude Code", sniff, read, joins=True, counts=_COUNTS)
