"""What is decided of foreign items, once for all readers: runs, seats, statuses, and what is kept of each item.

`Intake` takes the items of a reader into a spool; `writing` makes traces of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, cast

import orjson

from tradefair.contract.answers import MAX_NAME, listed_tool
from tradefair.contract.chain import digest
from tradefair.contract.foreign import reduced
from tradefair.evaluation.foreign.importers.items import (
    EVERYBODY,
    LONG_ID,
    Answer,
    Call,
    Fact,
    Item,
    Odd,
    Said,
    Tallied,
)
from tradefair.evaluation.foreign.importers.settle import object_of, settle
from tradefair.evaluation.foreign.importers.spool import ANSWER, CALL, MAX_RUNS, ROUND, SAID, Row, Run, Spool
from tradefair.evaluation.foreign.interchange.own import ROLES
from tradefair.evaluation.read.objects import mapping
from tradefair.tracestore.redaction import Redactor

MAX_SEATS = 1_000
"""Seats of a run."""

_MAX_TOOLS = 2_000
_MAX_KEY = 400
_ROLES = frozenset({"agent", "subagent", "user"})
_PARTS = frozenset({"text", "reasoning", "media", "protocol"})
_KINDS = frozenset({"read", "analysis", "action", "note"})
_FIRST_AT, _MAX_AT = 10**17, 2**62


class Intake:
    """Takes the items of one file. `odd` gets what could not be used; the tallies are read at its end."""

    def __init__(
        self,
        spool: Spool,
        file: int,
        odd: Callable[[Odd], None],
        *,
        joins: bool = False,
        redact: Redactor | None = None,
    ) -> None:
        self.records = self.understood = 0
        self.left_out: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        """Calls that were taken, by tool."""
        self.answers = self.odds = 0
        self._spool = spool
        self._file = file
        self._odd = odd
        self._joins = joins
        self._redact = redact
        self._runs = 0
        self.full = False
        # Items of a run mostly stand together.
        self._last: tuple[str | None, Run | None] = (None, None)

    def take(self, item: Item, line: int) -> None:
        """The next item; `line` is where the file is being read."""
        if isinstance(item, Odd):
            self.odds += 1
            return self._odd(item._replace(field=self._plain(item.field), message=self._plain(item.message)))
        if isinstance(item, Tallied):
            self.records += item.records
            self.understood += item.understood
            for name, number in item.left_out:
                self.left_out[self._plain(name)] += number
            return None
        try:
            name, run = self._last
            if name != item.run or run is None:
                run = self._run(item.run, line)
                self._last = item.run, run
            if run is not None:
                self._kept(run, item if self._redact is None else self._named(item), line)
        # What no JSON of a file can hold and a reader may have made: lone surrogates, numbers without end.
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            self._odd(Odd(line, type(item).__name__.lower(), f"cannot be kept: {error}"[:200]))
        return None

    def _named(self, item: Call | Answer | Said | Fact) -> Call | Answer | Said | Fact:
        """The item without secrets in its names, which are written as they are."""
        if isinstance(item, Answer):
            return item._replace(key=self._plain(item.key))
        seat = item.seat if item.seat == EVERYBODY else self._plain(item.seat or "")
        if isinstance(item, Fact):
            return item if item.seat is None else item._replace(seat=seat)
        if isinstance(item, Said):
            return item._replace(seat=seat, name=item.name and self._plain(item.name))
        parent = item.parent and self._plain(item.parent)
        return item._replace(seat=seat, key=self._plain(item.key), tool=self._plain(item.tool), parent=parent)

    def _kept(self, run: Run, item: Call | Answer | Said | Fact, line: int) -> None:
        if isinstance(item, Fact):
            return self._fact(run, item)
        if isinstance(item, Call):
            if not 0 < len(item.tool) <= MAX_NAME:
                return self._odd(Odd(line, "tool", f"a tool's name has 1 to {MAX_NAME} characters"))
            if not self._seated(run, item.seat, line):
                return None
            self._call(run, item)
        elif isinstance(item, Answer):
            self._answer(run, item)
        elif item.role not in ROLES or item.part not in _PARTS:
            self._odd(Odd(line, "role", f"a message of {item.role[:40]!r} in part {item.part[:40]!r}"))
        elif self._seated(run, item.seat, line):
            extra = orjson.dumps((item.role, item.part))
            self._add(run, SAID, item, item.seat, None, item.name, extra, self._bytes(item.content))
        return None

    def _call(self, run: Run, call: Call) -> None:
        self.calls[call.tool if call.tool in self.calls or len(self.calls) < _MAX_TOOLS else ""] += 1
        if call.round is not None:
            self._round(run, call.round, call.at_ns)
        arguments, bad = object_of(call.arguments)
        kind = call.kind if call.kind in _KINDS else None
        parent = None if call.parent is None else call.parent[:_MAX_KEY]
        extra = orjson.dumps((kind, parent, bad)) if kind or parent or bad else None
        self._add(run, CALL, call, call.seat, call.key[:_MAX_KEY], call.tool, extra, self._bytes(arguments))

    def _answer(self, run: Run, answer: Answer) -> None:
        if answer.round is not None:
            self._round(run, answer.round, answer.at_ns)
        status, content = settle(answer.result, answer.error, answer.status)
        self.answers += 1
        self._add(run, ANSWER, answer, None, answer.key[:_MAX_KEY], status, None, self._bytes(content))

    def _round(self, run: Run, number: int, at_ns: int | None) -> None:
        if not 0 <= number < 2**31:
            return
        # Logs may begin in the middle: a first round of 40 does not make 39 empty ones.
        if run.round is None:
            run.facts["first_round"] = number
        elif number > run.round:
            at = run.at if at_ns is None else at_ns
            self._spool.add(Row(run.id, at, False, ROUND, self._file, number))
        run.round = max(number, run.round or 0)

    def _add(
        self,
        run: Run,
        kind: int,
        item: Call | Answer | Said,
        seat: str | None,
        key: str | None,
        name: str | None,
        extra: bytes | None,
        body: bytes,
    ) -> None:
        known = item.at_ns is not None and 0 <= item.at_ns < _MAX_AT
        # What has no time follows what came before it.
        at = cast("int", item.at_ns) if known else run.at
        # Before 1973 there were no agents: times that only count, as in our own exports, tell the order and no more.
        timed = at >= _FIRST_AT and known
        run.at = at
        self._spool.add(Row(run.id, at, timed, kind, self._file, item.step, seat, key, name, extra, body))

    def _bytes(self, value: Any) -> bytes:
        if self._redact is not None:
            value = self._redact.clean(value)
        return orjson.dumps(reduced(value))

    def _plain(self, text: str) -> str:
        return text if self._redact is None else self._redact.text(text)

    def _text(self, text: str) -> str:
        return self._plain(text)[:MAX_NAME]

    def _run(self, name: str, line: int) -> Run | None:
        """The run of this name; joined with that of another file where nobody else can have its id."""
        place = "" if self._joins and len(name) >= LONG_ID else str(self._file)
        if (plain := self._plain(name)) != name:
            # Names that become equal stay two runs; nobody can guess a name from the hash of one process.
            place += f" {hash(name)}"
        if len(plain) > _MAX_KEY:
            plain = f"{plain[:_MAX_KEY]}#{digest(plain.encode(errors='replace'))[:12]}"
        run = self._spool.run(f"{place}\0{plain}", self._runs < MAX_RUNS)
        if run is None:
            if not self.full:
                self.full = True
                self._odd(Odd(line, "run", f"more than {MAX_RUNS:,} runs: those after this line are left out"))
            return None
        if self._file not in run.files:
            self._runs += 1
            run.files.append(self._file)
        return run

    def _seated(self, run: Run, seat: str, line: int) -> bool:
        if seat in run.seats or seat == EVERYBODY:
            return True
        if len(run.seats) >= MAX_SEATS:
            self._odd(Odd(line, "seat", f"more than {MAX_SEATS:,} seats in a run"))
            return False
        run.seats[seat] = {}
        return True

    # --- facts ----------------------------------------------------------------------------------------------------

    def _seat_fact(self, run: Run, seat: str, name: str, value: Any) -> None:
        if isinstance(value, str) and (name == "agent" or value in _ROLES) and self._seated(run, seat, 0):
            run.seats[seat][name] = self._text(value)

    def _fact(self, run: Run, fact: Fact) -> None:
        seat, value = fact.seat or "", fact.value
        match fact.name:
            case "tools":
                self._tools(run, value)
            case "agent" | "role":
                self._seat_fact(run, seat, fact.name, value)
            case "passed":
                run.facts["passed"] = value if isinstance(value, bool) else None
            case "title":
                run.facts["title"] = self._text(str(value))
            case "reference":
                raw = self._bytes(value)
                if len(raw) <= 65_536:
                    run.facts["reference"] = orjson.loads(raw)
            case "round":
                if isinstance(value, int):
                    self._round(run, value, None)
            case "model" | "tokens" | "usd" | "stop":
                self._spent(run, seat, fact.name, value)
            case _:
                self.left_out[self._plain(f"fact {fact.name}")[:60]] += 1

    def _tools(self, run: Run, listed: Any) -> None:
        for tool in map(mapping, cast("list[Any]", listed) if isinstance(listed, list) else []):
            name = tool.get("name")
            if isinstance(name, str) and len(run.tools) < _MAX_TOOLS:
                hints = {key: tool[key] for key in ("readOnlyHint", "destructiveHint") if key in tool}
                name = self._text(name)
                known = run.tools.get(name)
                kept = run.tools[name] = listed_tool({"annotations": hints, **tool, "name": name})
                if known != kept:
                    self._schema(run, name, tool)

    def _schema(self, run: Run, name: str, tool: dict[str, Any]) -> None:
        definition = {"description": tool.get("description"), "schema": tool.get("schema") or tool.get("inputSchema")}
        raw = self._bytes(definition)
        run.room -= len(raw)
        if run.room >= 0:
            run.schemas[name] = orjson.loads(raw)
        else:
            self.left_out["definition of a tool"] += 1

    def _spent(self, run: Run, seat: str, name: str, value: Any) -> None:
        """What a reply of a model cost: one note a reply, as runners of our own make them."""
        if name in ("tokens", "model"):
            # The model of the last reply stays that of the next one, until the source says otherwise.
            self.noted(run, seat)
        note = run.loose.setdefault(seat, {})
        if name == "tokens":
            tokens = mapping(value)
            note |= {"input_tokens": tokens.get("input"), "output_tokens": tokens.get("output")}
            note |= {"cached_tokens": tokens["cached"]} if "cached" in tokens else {}
        elif name == "model":
            note["model"] = self._text(str(value))
        elif name == "stop":
            note["finish_reason"] = self._text(str(value))
        elif isinstance(value, int | float):
            note["cost_usd_micro"] = round(value * 1_000_000)

    def noted(self, run: Run, seat: str) -> None:
        """Keep the note that is being made of a seat, if it says what was spent."""
        note = run.loose.get(seat) or {}
        if "input_tokens" in note or "cost_usd_micro" in note:
            self._spool.note(run, seat, note_of(note))
            run.loose[seat] = {"model": note["model"]} if "model" in note else {}


def note_of(note: Mapping[str, Any]) -> bytes:
    """A note about one reply of a model, as `accounts` reads it; `role` tells it from a reply of a runner of ours."""
    empty = {"kind": "model_call", "role": "source", "input_tokens": None, "output_tokens": None}
    return orjson.dumps({**empty, **note})


def seat_ids(seats: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The seat id of every name that a source has for who acts, in order."""
    ids: dict[str, str] = {}
    for name in seats:
        plain_name = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or "agent"
        wanted = plain_name if plain_name[0].isalpha() else f"s{plain_name}"
        # Two long names may begin alike, and two strange ones may differ in what no id can hold.
        if len(wanted) > 40 or wanted in ids.values():
            wanted = f"{wanted[:27]}-{digest(name.encode(errors='replace'))[:12]}"
        ids[name] = wanted
    return ids
