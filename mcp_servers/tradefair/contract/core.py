"""Core: commands in, event bytes out. Pure and synchronous; live calls, resume and verify are this one class.

A command is a call, a lapse, an input or an end. Whatever it does to the market is written as events, and events are
bytes from the start: `replay` runs the recorded commands through the same methods and compares whole bytes. So nothing
here may ask a clock, draw a random number or depend on the order of a set: it would show as a divergence later.

One call passes through four steps:

    _admit       number the call, encode its arguments, check limits and types     -> Ticket, or a refusal
    _carry_out   run the tool's function on the market                             -> result, or a refusal
    _settle      close phases while no seat is awaited, end the episode            -> consequences
    _tool_called write the event with the result, before its consequences          -> Done
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

import orjson
from pydantic import BaseModel, JsonValue, ValidationError

from tradefair.contract.arguments import BadArguments, encode_arguments, explain
from tradefair.contract.chain import digest
from tradefair.contract.errors import (
    INTERNAL_ERROR,
    EpisodeOver,
    ErrorInfo,
    HarnessFailure,
    IllegalAction,
    SeatError,
    TraceError,
)
from tradefair.contract.event import OLD_SCHEMAS, TRACE_SCHEMA, ManifestCore, SeatRecord
from tradefair.contract.kernel_tools import KERNEL_TOOLS, Note
from tradefair.contract.limits import Limit, LimitBook
from tradefair.contract.market import Clock, EndReason, LapseReason, Market, MarketType
from tradefair.contract.players import Seating
from tradefair.contract.policy import TurnView
from tradefair.contract.scenario import Scenario, build_scenario
from tradefair.contract.seats import SeatId
from tradefair.contract.tool import Tool, ToolTable

Status = Literal["ok", "rejected", "invalid", "denied", "failed"]

# Larger results go into a blob that is stored once per episode, and larger arguments of refused calls are cut.
INLINE_BYTES = 2_048
MAX_RESULT_BYTES = 262_144
# Results that are shared between seats; a market with more public answers per phase encodes some of them twice.
_MAX_MEMO = 64
# Characters of a tool name that does not exist: the client chose it, and it may have any length.
_MAX_NAME = 100


class TurnMark(NamedTuple):
    """`_meta["tradefair/turn"]` of a result: how an agent knows that its turn is over.

    `turn_over`: no further act of this seat is awaited in the open phase. `over`: the episode has ended.
    """

    round: int
    phase: str
    turn_over: bool
    over: bool


class Record(NamedTuple):
    """One event to be stored. `blob` is (digest, bytes) when this event is the first to hold a large result.

    `closes` marks the end of a phase, a round or the episode.
    """

    seq: int
    body: bytes
    blob: tuple[str, bytes] | None = None
    closes: bool = False


class Answer(NamedTuple):
    """What a call answers: `body` (JSON bytes) with status ok, else `error`.

    `seq` is the number of the call's event. `turn` was taken when the call was carried out, before its consequences.
    `fault` is the exception behind status failed, for our own log only: agents read INTERNAL_ERROR.
    """

    call: str
    tool: Tool | None
    status: Status
    body: bytes | None
    error: ErrorInfo | None
    turn: TurnMark
    seq: int
    fault: Exception | None = None


class Done(NamedTuple):
    """The outcome of a command: the events to append, in order, and the answer of a call."""

    records: list[Record]
    answer: Answer | None = None


class Ticket(NamedTuple):
    """A call of a recorded tool that has been admitted and waits for its result."""

    seat: SeatId
    tool: Tool
    call: str
    encoded: bytes
    arguments: BaseModel


class _Encoded(NamedTuple):
    body: bytes
    digest: str


class _Draft(NamedTuple):
    """A `tool_called` event before its result is encoded."""

    seat: SeatId
    name: str
    tool: Tool | None
    call: str
    parent: str | None
    clock: Clock
    arguments: object
    seq: int


class Core:
    """One episode's market, notes, limits and event counter.

    `market` must only be changed through this class. After a `failed` answer to anything but a read the market may be
    half changed: throw the Core away and rebuild it from the log.

    Each command returns a `Done` with the events to append, in order. The caller stores them; Core keeps no event.
    """

    def __init__(self, market_type: MarketType, manifest: ManifestCore, scenario: Scenario) -> None:
        self.market_type = market_type
        self.manifest = manifest
        self.scenario = scenario
        self.market: Market = market_type.create(scenario, manifest.seed)
        self.seq = 0
        # As of now; nobody has a seat before `start`.
        self.seating = Seating(players={})
        self.ended: EndReason | None = None
        self.notes: dict[SeatId, dict[int, Note]] = {seat: {} for seat in self.market.seats}
        # Counted apart from the notes: the number of a removed note does not come back.
        self._note_numbers = dict.fromkeys(self.market.seats, 0)
        self._table = full_table(market_type)
        self._visible = {
            seat: {name: tool for name, tool in self._table.items() if tool.visible(scenario, spec.role)}
            for seat, spec in self.market.seats.items()
        }
        self._limits = LimitBook(scenario.limits)
        # seat -> (round, calls numbered in it)
        self._calls: dict[SeatId, tuple[int, int]] = {}
        # seat -> highest row number of its inbox that an answer has shown; the next action moves the read mark there
        self._shown: dict[SeatId, int] = {}
        # seat -> the round in which a limit has lapsed it: it lapses in all later phases of that round too
        self._lapsed_round: dict[SeatId, int] = {}
        # digests of the blobs that the log holds already
        self._blobs: set[str] = set()
        # (digest, bytes) of the catalogue's parts that no event has carried yet
        self._parts: deque[tuple[str, bytes]] = deque()
        # id(result) -> (result, its bytes); holding the result keeps its id from being given to another object
        self._memo: dict[int, tuple[BaseModel, _Encoded]] = {}
        # accepted actions since the last closure, for the outcome digest
        self._actions: list[tuple[SeatId, str, BaseModel]] = []
        self._outcome = hashlib.blake2b(digest_size=32)

    @classmethod
    def create(cls, market_type: MarketType, scenario: Scenario, seed: int) -> Core:
        """A fresh episode. Raises ScenarioError when the scenario cannot be played or the seed is out of range."""
        # The seats are known only once the market exists, and __init__ wants a complete manifest.
        probe = market_type.create(scenario, seed)
        manifest = ManifestCore(
            trace_schema=TRACE_SCHEMA,
            market=market_type.name,
            rules_version=market_type.version,
            scenario=scenario.model_dump(mode="json"),
            seed=seed,
            seats=tuple(SeatRecord(id=spec.id, role=spec.role) for spec in probe.seats.values()),
            tool_schema_digest=full_table(market_type).schema_digest,
            limits=scenario.limits,
            record=scenario.record,
        )
        return cls(market_type, manifest, scenario)

    @classmethod
    def restore(cls, market_type: MarketType, manifest: ManifestCore) -> Core:
        """The fresh episode that a manifest describes. TraceError when these rules are not the ones that wrote it."""
        # Cut, because a foreign manifest may hold any text here, and this one ends on a terminal.
        if manifest.trace_schema in OLD_SCHEMAS:
            raise TraceError("trace schema 1 does not say in its chain who played; it is read and not re-executed")
        if manifest.trace_schema != TRACE_SCHEMA:
            raise TraceError(f"the trace has schema {manifest.trace_schema[:80]!r}; this version reads {TRACE_SCHEMA}")
        found = (market_type.name, market_type.version)
        if (manifest.market, manifest.rules_version) != found:
            raise TraceError(
                f"the trace was written by {manifest.market} {manifest.rules_version}; installed is {' '.join(found)}"
            )
        # Another schema validates arguments otherwise: the events might agree by luck and mean something else.
        if manifest.tool_schema_digest != full_table(market_type).schema_digest:
            raise TraceError(f"the tools of {market_type.name} have changed since the trace was written")
        scenario = build_scenario(market_type.scenario_model, manifest.scenario, source="manifest")
        return cls(market_type, manifest, scenario)

    # --- what a seat sees -------------------------------------------------------------------------------------------

    def tools(self, seat: SeatId) -> Mapping[str, Tool]:
        """The tools that this seat is offered. SeatError for an unknown seat."""
        try:
            return self._visible[seat]
        except KeyError:
            raise SeatError(f"there is no seat {seat[:80]!r}; seats are {', '.join(self._visible)}") from None

    def turn_view(self, seat: SeatId, *, still_open: bool = False) -> TurnView:
        """The answer of `view_turn` and `await_turn`; `still_open` says that a wait has ended without either event."""
        market = self.market
        clock = market.clock
        # model_construct: validation would only repeat what is typed here, once per look and per wait.
        return TurnView.model_construct(
            seat=seat,
            role=market.seats[seat].role,
            round=clock.round,
            phase=clock.phase,
            revision=clock.revision,
            awaited=self.awaits(seat),
            over=self.ended is not None,
            end_reason=self.ended,
            still_open=still_open,
            limits=self._limits.states(seat, clock[:2]) if self._limits else [],
            market=market.turn_view(seat).model_dump(mode="json"),
        )

    def awaits(self, seat: SeatId) -> bool:
        """Whether the clock waits for this seat."""
        return self.ended is None and seat in self.market.awaited()

    def turn_mark(self, seat: SeatId) -> TurnMark:
        """The seat's `_meta` as of now."""
        clock = self.market.clock
        # Under the free clock no seat is ever awaited, and a turn ends when the seat says so.
        free = self.scenario.clock == "free" and self.ended is None
        return TurnMark(clock.round, clock.phase, not free and not self.awaits(seat), self.ended is not None)

    def next_note(self, seat: SeatId) -> int:
        """A fresh note number of this seat."""
        self._note_numbers[seat] += 1
        return self._note_numbers[seat]

    @property
    def outcome_digest(self) -> str:
        """Digest of accepted actions per phase sorted by seat, facts and state digests: free of arrival order.

        Two episodes with equal digests had the same economic course, whatever the seats read and in which order they
        acted.
        """
        return self._outcome.copy().hexdigest()

    # --- commands ---------------------------------------------------------------------------------------------------

    def start(self, seating: Seating | None = None) -> Done:
        """Open the episode: the first command, once. `seating` says who plays; None: agents that nobody has named.

        A market with `catalogue_parts()` has its data written into the log: digests here, the parts as blobs. Raises
        SeatError unless all seats are given, in the market's order.
        """
        seating = seating or Seating.outside(self.market.seats)
        if list(seating.players) != list(self.market.seats):
            raise SeatError(f"the seating names {_few(seating.players)}; the seats are {_few(self.market.seats)}")
        written = getattr(self.market, "catalogue_parts", None)
        self._parts.extend((digest(part), part) for part in (written() if written is not None else ()))
        facts = {"facts": {"catalogue": [name for name, _ in self._parts]}} if self._parts else {}
        self.seating = seating
        fields = {"seating": orjson.Fragment(_dump(seating)), **facts}
        records = [self._event("episode_started", None, self.market.clock, fields)]
        # A market may open with a phase in which no seat is awaited.
        self._settle(records)
        return Done(records)

    def seat(self, seating: Seating) -> Done:
        """Other players take seats, under the draws that `seating` names; it holds the seats that change hands only.

        An event without consequences: rules know no players. Raises EpisodeOver, SeatError for seats that do not exist.
        """
        if self.ended is not None:
            raise EpisodeOver(self.ended)
        unknown = [seat for seat in seating.players if seat not in self.market.seats]
        if unknown:
            raise SeatError(f"there are no seats {_few(unknown)}; seats are {_few(self.market.seats)}")
        self.seating = self.seating.later(seating)
        fields = {"seating": orjson.Fragment(_dump(seating))}
        return Done([self._event("seated", None, self.market.clock, fields)])

    def call(
        self,
        seat: SeatId,
        name: str,
        arguments: object,
        *,
        parent: str | None = None,
        inputs: Mapping[str, JsonValue] | None = None,
        call: str | None = None,
    ) -> Done:
        """One tool call: its event, and whatever follows from it.

        `arguments` is what the client sent, of any type. `parent` is the id of the `execute_code` call that makes this
        one, which may then only read. `inputs` are the answers to `MarketType.request` by source; `call` is given by
        replay only. Raises SeatError for an unknown seat, EpisodeOver after the end and HarnessFailure for a recorded
        tool; everything else is an answer and an event.
        """
        admitted = self._admit(seat, name, arguments, parent, call)
        if isinstance(admitted, Done):
            return admitted
        if admitted.tool.recorded:
            raise HarnessFailure(f"{name} is recorded by the host")
        return self._carry_out(admitted, parent, inputs or {})

    def begin(self, seat: SeatId, name: str, arguments: object) -> Ticket | Done:
        """Admit a call of a recorded tool (execute_code); the host runs it and hands the result to `finish`."""
        return self._admit(seat, name, arguments, None, None)

    def finish(self, ticket: Ticket, result: BaseModel | None, error: ErrorInfo | None) -> Done:
        """Record what a recorded tool gave: `result`, or None and the `error` (None: a fault of ours).

        Raises EpisodeOver when the episode has ended meanwhile.
        """
        if self.ended is not None:
            raise EpisodeOver(self.ended)
        # The event is numbered now, behind the inner calls that the code has made since `begin`.
        draft = self._draft(ticket.seat, ticket.tool.name, ticket.tool, ticket.call, None, ticket.encoded)
        # As of now, not of `begin`: the inner calls cannot act, but other seats could meanwhile.
        turn = self.turn_mark(ticket.seat)
        if result is None:
            return self._refuse(draft, "rejected", error or INTERNAL_ERROR, turn)
        self._limits.add(ticket.seat, (ticket.tool.kind, "accepted"), draft.clock[:2])
        encoded = self._encode(ticket.tool, result)
        record = self._tool_called(draft, "ok", None, encoded, None, None)
        return Done([record], Answer(draft.call, ticket.tool, "ok", encoded.body, None, turn, draft.seq))

    def refuse(self, seat: SeatId, name: str, arguments: object, error: ErrorInfo) -> Done:
        """Record a call that the host denies before it reaches the market (key_reused, busy)."""
        if self.ended is not None:
            raise EpisodeOver(self.ended)
        tool = self.tools(seat).get(name)
        draft = self._draft(seat, name, tool, self._number(seat), None, _storable(arguments))
        return self._refuse(draft, "denied", error, self.turn_mark(seat))

    def lapse(self, seat: SeatId, reason: LapseReason) -> Done:
        """The default action for a silent seat; no event when it is not, or no longer, awaited."""
        records: list[Record] = []
        self.tools(seat)  # SeatError for an unknown seat
        if self.awaits(seat):
            self._lapse(seat, reason, records)
            self._settle(records)
        return Done(records)

    def feed(self, source: str, payload: JsonValue) -> Done:
        """An external input that belongs to no call: a clock tick, an operator's order, recorded chance.

        A clock tick closes the open phase. Raises EpisodeOver, and IllegalAction where the market takes no such input.
        """
        if self.ended is not None:
            raise EpisodeOver(self.ended)
        clock = self.market.clock
        # The clock of the event is from before: the input may move it.
        self.market.feed(source, payload)
        records = [self._event("input", None, clock, {"for": None, "source": source, "payload": payload})]
        if source == "clock_tick" and self.market.terminated is None:
            self._close(records)
        self._settle(records)
        return Done(records)

    def end(self, reason: EndReason) -> Done:
        """Truncate the episode; nothing when it is over."""
        records: list[Record] = []
        # The rules may have ended it first; their reason stays.
        if self.ended is None:
            self._end(reason, records)
        return Done(records)

    def copy(self, event: Mapping[str, Any], body: bytes) -> Done:
        """Take over a recorded call that is never re-run: refused before the rules, failed, or recorded by the host.

        `event` is the parsed `body`. The call counts against limits as it did. TraceError where it does not fit here.
        """
        if self.ended is not None:
            raise EpisodeOver(self.ended)
        seat, tool = event["seat"], self.tools(event["seat"]).get(event["tool"])
        clock = self.market.clock
        if (event["round"], event["phase"], event["revision"]) != clock:
            raise TraceError(f"a call at another clock than {tuple(clock)}")
        # Later calls and events are numbered as if this one had been made here.
        self._take_number(seat, event["call"])
        self.seq += 1
        if event["result_ref"]:
            self._blobs.add(event["result_ref"])
        records = [self._carrying(Record(self.seq, body))]
        inner = event["parent"] is not None
        # A call over the limit is not counted, but may have lapsed the seat: that consequence is made again.
        if event["status"] == "denied" and event["error"]["code"] == "call_limit" and tool is not None:
            self._lapse_by(self._limits.exceeded(seat, _sorts(tool, inner), clock[:2]), seat, records)
        elif tool is not None and event["status"] != "denied":
            self._count(seat, tool, event["status"], inner, clock)
        return Done(records)

    # --- one call ---------------------------------------------------------------------------------------------------

    def _admit(self, seat: SeatId, name: str, arguments: object, parent: str | None, call: str | None) -> Ticket | Done:
        """Number, encode, limit and validate a call; a Done is its refusal."""
        tool = self.tools(seat).get(name)
        if self.ended is not None:
            raise EpisodeOver(self.ended)
        # The order of these checks is part of the trace format: replay must meet the same refusal.
        if call is None:
            call = self._number(seat)
        else:
            self._take_number(seat, call)
        # A call with a parent comes from `execute_code`, which offers its programs no actions.
        if tool is None or (parent is not None and not tool.read_only):
            draft = self._draft(seat, name, tool, call, parent, _storable(arguments))
            return self._refuse(draft, "denied", self._unavailable(seat, name), self.turn_mark(seat))
        try:
            encoded = encode_arguments(arguments)
        except BadArguments as bad:
            draft = self._draft(seat, name, tool, call, parent, {"unencodable": bad.reason})
            error = ErrorInfo("invalid_arguments", bad.reason, f"call {name} again with plain JSON values", True)
            return self._refuse(draft, "invalid", error, self.turn_mark(seat))
        if self._limits and tool.counted:
            limit = self._limits.exceeded(seat, _sorts(tool, parent is not None), self.market.clock[:2])
            if limit is not None:
                return self._over_limit(self._draft(seat, name, tool, call, parent, encoded), limit)
        try:
            # From the encoded bytes, not from the objects: live calls and replay validate the very same input.
            validated = tool.parameters.__pydantic_validator__.validate_json(encoded, strict=True)
        except ValidationError as wrong:
            draft = self._draft(seat, name, tool, call, parent, encoded)
            return self._refuse(draft, "invalid", explain(wrong, tool.parameters, name), self.turn_mark(seat))
        return Ticket(seat, tool, call, encoded, validated)

    def _carry_out(self, ticket: Ticket, parent: str | None, inputs: Mapping[str, JsonValue]) -> Done:
        """Run an admitted call through the market.

        Order of the events: the inputs, the call itself, then what follows from it. The call's event is made last,
        because it holds the result, and inserted at its place (`_draft` has reserved its number).
        """
        seat, tool, call, encoded, arguments = ticket
        # Before the call: the rules may have consumed them even where the call is refused, so replay needs them too.
        records = [self._input(seat, call, source, payload) for source, payload in inputs.items()]
        draft = self._draft(seat, tool.name, tool, call, parent, encoded)
        market = self.market
        subject = market if tool.subject == "market" else self
        # An action acknowledges what the seat was shown before; a refused one leaves the read mark where it was.
        read_through = self._shown.get(seat) if tool.kind == "action" else None
        # Only a tool that declares a need has the parameter `inputs`.
        extra = {"inputs": inputs} if tool.needs else {}
        try:
            result = tool.function(subject, seat, **arguments.__dict__, **extra)
        except IllegalAction as refusal:
            return self._refuse(draft, "rejected", refusal.info, self.turn_mark(seat), records)
        # What is no refusal is a fault of the market, and agents read INTERNAL_ERROR instead of its text.
        except Exception as fault:
            return self._fail(draft, fault, records)
        # Taken before the phase can close: the seat that closes it by its act has still ended its own turn.
        turn = self.turn_mark(seat)
        place = len(records)
        try:
            if tool.kind == "action":
                if read_through is not None:
                    market.read_marks[seat] = max(read_through, market.read_marks.get(seat, 0))
                self._actions.append((seat, tool.name, arguments))
                self._settle(records)
                if tool.finish is not None:
                    result = tool.finish(market, seat, result)
            body = self._encode(tool, result)
            # A read may be refused for its size; an action has happened, so too large an answer is a fault of ours.
            if len(body.body) > MAX_RESULT_BYTES and not tool.read_only:
                raise HarnessFailure(f"{tool.name} answers {len(body.body)} bytes after it has acted")
        except Exception as fault:
            # Without the consequences: the caller rebuilds the market, in which they have not happened.
            return self._fail(draft, fault, records[:place])
        if len(body.body) > MAX_RESULT_BYTES:
            return self._refuse(draft, "rejected", _too_large(tool), turn, records)
        self._count(seat, tool, "ok", parent is not None, draft.clock)
        if tool.shown is not None:
            self._shown[seat] = max(self._shown.get(seat, 0), tool.shown(result) or 0)
        refs = None if tool.refs is None else list(tool.refs(result))
        # Behind its inputs and before its consequences, where its reserved number belongs.
        records.insert(place, self._tool_called(draft, "ok", None, body, refs, read_through))
        return Done(records, Answer(call, tool, "ok", body.body, None, turn, draft.seq))

    def _refuse(
        self, draft: _Draft, status: Status, error: ErrorInfo, turn: TurnMark, records: list[Record] | None = None
    ) -> Done:
        # Denied calls (no such tool, over a limit, refused by the host) count against no limit.
        if draft.tool is not None and status != "denied":
            self._count(draft.seat, draft.tool, status, draft.parent is not None, draft.clock)
        record = self._tool_called(draft, status, error, None, None, None)
        return Done([*(records or ()), record], Answer(draft.call, draft.tool, status, None, error, turn, draft.seq))

    def _fail(self, draft: _Draft, fault: Exception, records: list[Record]) -> Done:
        """Our own fault. The caller rebuilds the market when the call could have changed it."""
        # Back to the call's own number: its consequences are dropped and their numbers are used again.
        self.seq = draft.seq
        done = self._refuse(draft, "failed", INTERNAL_ERROR, self.turn_mark(draft.seat), records)
        return done._replace(answer=done.answer._replace(fault=fault) if done.answer else None)

    def _over_limit(self, draft: _Draft, limit: Limit) -> Done:
        """Deny a call beyond a limit, and lapse the seat where the limit says so."""
        sorts = ", ".join(limit.counts)
        # A free clock awaits no seat, so there is nothing that could lapse.
        refuses = limit.then == "refuse" or self.scenario.clock == "free"
        error = ErrorInfo(
            "call_limit",
            f"at most {limit.max} calls ({sorts}) per {limit.per} are allowed",
            "tools that end the turn still work; await_turn waits for the next one"
            if refuses
            else "your turn has been ended by the default action; call await_turn",
            refuses and limit.per == "phase",
        )
        turn = self.turn_mark(draft.seat)
        if not refuses:
            # The lapse follows in this command; the answer must already say that the turn is over.
            turn = turn._replace(turn_over=True)
        done = self._refuse(draft, "denied", error, turn)
        self._lapse_by(limit, draft.seat, done.records)
        return done

    def _lapse_by(self, limit: Limit | None, seat: SeatId, records: list[Record]) -> None:
        if limit is None or limit.then == "refuse" or self.scenario.clock == "free":
            return
        # For the rest of the round, in phases that are not open yet: `_settle` looks here at each closure.
        if limit.then == "lapse":
            self._lapsed_round[seat] = self.market.clock.round
        if self.awaits(seat):
            self._lapse(seat, "reject_limit" if "rejected" in limit.counts else "call_limit", records)
            self._settle(records)

    def _unavailable(self, seat: SeatId, name: str) -> ErrorInfo:
        """The refusal of a tool that is not offered to this seat, or of an inner call that would act."""
        if name in self._table:
            return ErrorInfo("tool_unavailable", f"{name} is not available to {seat} here", "view_rules", False)
        offered = ", ".join(self._visible[seat])
        return ErrorInfo("tool_unavailable", "there is no such tool", f"tools are {offered}", False)

    def _count(self, seat: SeatId, tool: Tool, status: str, inner: bool, clock: Clock) -> None:
        """Count a call against the limits. Calls made by code count as `inner` only, or they would count twice."""
        if self._limits and tool.counted:
            sorts = ("inner",) if inner else (tool.kind,)
            if status == "ok":
                sorts = (*sorts, "accepted")
            elif status in ("rejected", "invalid"):
                sorts = (*sorts, "rejected")
            # By the clock of the call: it may have closed its own phase or round since.
            self._limits.add(seat, sorts, clock[:2])

    # --- the clock --------------------------------------------------------------------------------------------------

    def _settle(self, records: list[Record]) -> None:
        """Close phases while no seat is awaited, then end the episode if the rules say so.

        A loop, because a closure may open a phase in which no seat acts, or only seats that a limit has lapsed.
        """
        market = self.market
        if self.scenario.clock == "turns":
            while market.terminated is None:
                awaited = market.awaited()
                if not awaited:
                    self._close(records)
                    continue
                gone = [seat for seat in self._lapsed_round if self._skips(seat) and seat in awaited]
                if not gone:
                    break
                # Sorted: the order in which limits were exceeded depends on arrival.
                for seat in sorted(gone):
                    self._lapse(seat, "call_limit", records)
        if market.terminated is not None and self.ended is None:
            self._end(market.terminated, records)

    def _skips(self, seat: SeatId) -> bool:
        """Whether a limit has lapsed this seat for the rest of the open round."""
        return self._lapsed_round[seat] == self.market.clock.round

    def _close(self, records: list[Record]) -> None:
        """Close the open phase: one event, stamped with the clock as it was before."""
        clock = self.market.clock
        closure = self.market.advance()
        # Results are shared within a phase; what a market answers after a closure is another object.
        self._memo.clear()
        public = orjson.Fragment(_dump(closure.public))
        facts = b"null" if closure.facts is None else _dump(closure.facts)
        state = ""
        if closure.kind == "phase":
            records.append(self._event("phase_closed", None, clock, {"public": public}, closes=True))
        else:
            state = self.market.digest().hex()
            fields = {"public": public, "facts": orjson.Fragment(facts), "state_digest": state}
            records.append(self._event("round_closed", None, clock, fields, closes=True))
        self._note_outcome(facts, state)

    def _lapse(self, seat: SeatId, reason: LapseReason, records: list[Record]) -> None:
        clock = self.market.clock
        action = self.market.lapse(seat, reason)
        # A market that goes on waiting would be lapsed again and again.
        if seat in self.market.awaited() and self.market.clock == clock:
            raise HarnessFailure(f"{self.market_type.name} still awaits {seat} after its lapse")
        records.append(self._event("seat_lapsed", seat, clock, {"reason": reason, "default_action": action}))

    def _end(self, reason: EndReason, records: list[Record]) -> None:
        # The truth at the end enters the outcome digest too, whatever ended the episode.
        facts, state = _dump(self.market.ending_facts()), self.market.digest().hex()
        fields = {"reason": reason, "facts": orjson.Fragment(facts), "state_digest": state}
        records.append(self._event("episode_ended", None, self.market.clock, fields, closes=True))
        self._note_outcome(facts, state)
        self.ended = reason

    def _note_outcome(self, facts: bytes, state: str) -> None:
        """Enter a closure into the outcome digest."""
        # What an action means, however a client writes it: every parameter, defaults included, in one order.
        actions = [(seat, name, arguments.__dict__) for seat, name, arguments in self._actions]
        # Stable and by seat only: a seat's own actions stay in their order, the order among seats disappears.
        actions.sort(key=lambda action: action[0])
        self._actions = []
        self._outcome.update(
            orjson.dumps(actions, default=_plain, option=orjson.OPT_SORT_KEYS) + facts + state.encode()
        )

    # --- events -----------------------------------------------------------------------------------------------------

    def _event(
        self, tag: str, seat: SeatId | None, clock: Clock, fields: Mapping[str, Any], *, closes: bool = False
    ) -> Record:
        self.seq += 1
        head = {
            "seq": self.seq,
            "event": tag,
            "round": clock.round,
            "phase": clock.phase,
            "revision": clock.revision,
            "seat": seat,
        }
        return self._carrying(Record(self.seq, orjson.dumps({**head, **fields}), None, closes))

    def _carrying(self, record: Record) -> Record:
        """The record with the next part of the catalogue, where it has no blob of its own: an event carries one."""
        return record._replace(blob=self._parts.popleft()) if self._parts and record.blob is None else record

    def _input(self, seat: SeatId, call: str, source: str, payload: JsonValue) -> Record:
        fields = {"for": call, "source": source, "payload": payload}
        return self._event("input", seat, self.market.clock, fields)

    def _draft(
        self, seat: SeatId, name: str, tool: Tool | None, call: str, parent: str | None, arguments: object
    ) -> _Draft:
        """Reserve the call's number in the order of events; the event is written once its result is known."""
        self.seq += 1
        return _Draft(seat, name, tool, call, parent, self.market.clock, arguments, self.seq)

    def _tool_called(
        self,
        draft: _Draft,
        status: Status,
        error: ErrorInfo | None,
        result: _Encoded | None,
        refs: list[str] | None,
        read_through: int | None,
    ) -> Record:
        """The event of a call. The order of its fields is part of the trace format: replay compares bytes."""
        clock, tool, arguments = draft.clock, draft.tool, draft.arguments
        if isinstance(arguments, bytes):
            # What is re-executed is kept whole; what is only copied on replay is cut.
            whole = status in ("ok", "rejected") or len(arguments) <= INLINE_BYTES
            arguments = orjson.Fragment(arguments) if whole else _cut(arguments)
        inline: object = None
        ref: str | None = None
        blob: tuple[str, bytes] | None = None
        if result is not None and tool is not None and self._keeps_result(tool):
            if len(result.body) <= INLINE_BYTES:
                inline = orjson.Fragment(result.body)
            else:
                ref = result.digest
                # Stored with the first event that holds it: later ones name the digest (docs/decisions/0007).
                if ref not in self._blobs:
                    self._blobs.add(ref)
                    blob = (ref, result.body)
        body = orjson.dumps(
            {
                "seq": draft.seq,
                "event": "tool_called",
                "round": clock.round,
                "phase": clock.phase,
                "revision": clock.revision,
                "seat": draft.seat,
                "call": draft.call,
                "parent": draft.parent,
                "tool": _storable_name(draft.name) if tool is None else tool.name,
                "kind": None if tool is None else tool.kind,
                "arguments": arguments,
                "read_through": read_through,
                "refs": refs,
                "status": status,
                "error": None if error is None else error._asdict(),
                "result": inline,
                "result_ref": ref,
                "result_digest": None if result is None else result.digest,
                "result_size": None if result is None else len(result.body),
            }
        )
        return self._carrying(Record(draft.seq, body, blob))

    def _keeps_result(self, tool: Tool) -> bool:
        """Whether the log holds the body, not only its digest.

        A repeated call key is answered from the log, and a recorded tool is never re-run: both have no other source.
        """
        if not tool.read_only or tool.recorded:
            return True
        return self.manifest.record == "full" and tool.record == "full"

    def _encode(self, tool: Tool, result: BaseModel) -> _Encoded:
        """A result's bytes and digest; a result object that several seats share is encoded once per phase."""
        # An action's result belongs to one call; keeping it would only fill the memo.
        if tool.kind == "action":
            body = _dump(result)
            return _Encoded(body, digest(body))
        known = self._memo.get(id(result))
        if known is not None and known[0] is result:
            return known[1]
        body = _dump(result)
        encoded = _Encoded(body, digest(body))
        if len(self._memo) >= _MAX_MEMO:
            self._memo.clear()
        self._memo[id(result)] = (result, encoded)
        return encoded

    # --- call ids ---------------------------------------------------------------------------------------------------

    def _number(self, seat: SeatId) -> str:
        """The next call id of this seat: `r<round>.<seat>.<n>`, n from 1 in each round."""
        now = self.market.clock.round
        at, used = self._calls.get(seat, (now, 0))
        number = used + 1 if at == now else 1
        self._calls[seat] = (now, number)
        return f"r{now}.{seat}.{number}"

    def _take_number(self, seat: SeatId, call: str) -> None:
        """Follow a recorded call id; nearly always it is the next one.

        Not always: a call that was begun in the host and never finished has used up a number without an event.
        """
        now = self.market.clock.round
        at, used = self._calls.get(seat, (now, 0))
        due = used + 1 if at == now else 1
        if call == f"r{now}.{seat}.{due}":
            self._calls[seat] = (now, due)
            return
        try:
            head, number = call.rsplit(".", 1)
            self._follow(seat, int(head.split(".", 1)[0][1:]), int(number))
        except (ValueError, IndexError):
            raise TraceError(f"{call[:80]!r} is not a call id") from None

    def _follow(self, seat: SeatId, at: int, number: int) -> None:
        """Never backwards: code that was begun early is recorded behind calls with higher numbers."""
        known_at, known = self._calls.get(seat, (at, 0))
        self._calls[seat] = max((known_at, known), (at, number))


def full_table(market_type: MarketType) -> ToolTable:
    """A market's own tools and the kernel's, made once per market type."""
    # By identity and not by name: tests and authors build several types of one name.
    known = _TABLES.get(id(market_type))
    if known is None or known[0] is not market_type:
        known = (market_type, ToolTable(*market_type.tools.values(), *KERNEL_TOOLS.values()))
        _TABLES[id(market_type)] = known
    return known[1]


_TABLES: dict[int, tuple[MarketType, ToolTable]] = {}


def _sorts(tool: Tool, inner: bool) -> tuple[str, ...]:
    """What a call would count as if it were accepted."""
    return ("inner", "accepted") if inner else (tool.kind, "accepted")


def _plain(value: object) -> object:
    return value.__dict__ if isinstance(value, BaseModel) else str(value)


def _dump(model: BaseModel) -> bytes:
    return model.__pydantic_serializer__.to_json(model)


def _few(seats: Iterable[SeatId]) -> str:
    """Names of seats for a message, which a stranger may have chosen."""
    names = [seat[:80] for seat in seats]
    return ", ".join(names[:10]) + (f" … ({len(names)} in all)" if len(names) > 10 else "")


def _cut(encoded: bytes) -> dict[str, Any]:
    """The beginning of large arguments that are never re-run, with size and digest of the whole."""
    return {"cut": encoded[:INLINE_BYTES].decode(errors="ignore"), "size": len(encoded), "digest": digest(encoded)}


def _storable_name(name: str) -> str:
    # In process, lone surrogates arrive as they are; orjson would refuse to write the event.
    return name[:_MAX_NAME].encode(errors="replace").decode()


def _storable(arguments: object) -> object:
    try:
        return encode_arguments(arguments)
    except BadArguments as bad:
        return {"unencodable": bad.reason}


def _too_large(tool: Tool) -> ErrorInfo:
    arguments = ", ".join(tool.input_schema.get("properties", {})) or "its arguments"
    return ErrorInfo(
        "too_many_rows",
        f"the answer would take more than {MAX_RESULT_BYTES} bytes",
        f"narrow {arguments} and call {tool.name} again",
        True,
    )
