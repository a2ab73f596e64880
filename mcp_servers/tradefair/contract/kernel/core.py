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
import re
from collections import deque
from collections.abc import Mapping
from copy import deepcopy
from operator import itemgetter
from typing import Any

import orjson
from pydantic import BaseModel, JsonValue

from tradefair.contract.arguments import (
    BadArguments,
    Remains,
    WrongArguments,
    cut_arguments,
    encode_arguments,
    kept_arguments,
    read_arguments,
    storable_arguments,
    storable_name,
    wrong_arguments,
)
from tradefair.contract.chain import INLINE_BYTES, canonical, digest
from tradefair.contract.errors import (
    BUSY,
    CODE_ERRORS,
    CODE_LOST,
    INTERNAL_ERROR,
    Divergence,
    EpisodeOver,
    ErrorInfo,
    HarnessFailure,
    IllegalAction,
    ScenarioError,
    SeatError,
    TraceError,
    unknown,
)
from tradefair.contract.kernel.call_ids import CallBook, Program
from tradefair.contract.kernel.event import OLD_SCHEMAS, TRACE_SCHEMA, ManifestCore, derived_core
from tradefair.contract.kernel.kernel_tools import EXECUTE_CODE, CodeResult, Note
from tradefair.contract.kernel.kernel_tools import full_table as full_table
from tradefair.contract.kernel.players import MAX_SEATINGS, Seating
from tradefair.contract.kernel.records import Answer as Answer
from tradefair.contract.kernel.records import Done as Done
from tradefair.contract.kernel.records import Draft, Encoded, Status
from tradefair.contract.kernel.records import Record as Record
from tradefair.contract.kernel.records import Ticket as Ticket
from tradefair.contract.kernel.records import TurnMark as TurnMark
from tradefair.contract.kernel.results import Results, json_of, plain_of
from tradefair.contract.kernel.turns import closed, open_actions
from tradefair.contract.market import Clock, EndReason, LapseReason, Market, MarketType
from tradefair.contract.policy import TurnView
from tradefair.contract.scenario import Limit, LimitBook, Scenario, SeatId, build_scenario
from tradefair.contract.tool import Result, Tool, built, may_deny

MAX_RESULT_BYTES = 262_144
# Tables show it, and the rules' own ends are called otherwise.
_TRUNCATED = re.compile(r"truncated:[a-z0-9_]{1,60}")


class Core:
    """One episode's market, notes, limits and event counter.

    `market` must only be changed through this class. After a `failed` answer to anything but a read the market may be
    half changed: throw the Core away and rebuild it from the log.

    Each command returns a `Done` with the events to append, in order. The caller stores them; Core keeps no event.
    """

    def __init__(
        self, market_type: MarketType, manifest: ManifestCore, scenario: Scenario, market: Market | None = None
    ) -> None:
        """`market`: the fresh market of this manifest, where the caller has made it already."""
        self.market_type = market_type
        self.manifest = manifest
        self.scenario = scenario
        self.market: Market = market_type.create(scenario, manifest.seed) if market is None else market
        self.seq = 0
        self.silent = False
        """Whether events are empty and no outcome digest is kept: for play of which only the rules' end counts."""
        self.seating = Seating(players={})  # nobody has a seat before `start`
        self._seated = 1  # events that say who plays
        self.ended: EndReason | None = None
        self.notes: dict[SeatId, dict[int, Note]] = {seat: {} for seat in self.market.seats}
        # Counted apart from the notes: the number of a removed note does not come back.
        self._note_numbers = dict.fromkeys(self.market.seats, 0)
        self._table = full_table(market_type)
        visible = {
            role: {name: tool for name, tool in self._table.items() if tool.visible(scenario, role)}
            for role in {spec.role for spec in self.market.seats.values()}
        }
        self._acts = {role: [tool for tool in has.values() if tool.kind == "action"] for role, has in visible.items()}
        self._free = scenario.clock == "free"
        self._visible = {seat: visible[spec.role] for seat, spec in self.market.seats.items()}
        # Tools whose results the log holds, not only their digests. A repeated call key is answered from the log, and
        # a recorded tool is never re-run: both have no other source.
        full = ("full",) if manifest.record == "full" else ()
        kept = (tool for tool in self._table.values() if not tool.read_only or tool.recorded or tool.record in full)
        self._kept = {tool.name for tool in kept}
        self._limits = LimitBook(scenario.limits)
        self._limited = bool(self._limits)
        self._calls = CallBook(self.market.seats, self.market.clock.round)
        self.programs: Mapping[SeatId, Program] = self._calls.programs
        """Programs that run, at most one of each seat; `begin` opens one, `finish` and `lose` close it."""
        # seat -> highest row number of its inbox that an answer has shown; the next action moves the read mark there
        self._shown: dict[SeatId, int] = {}
        # The round in which a limit has lapsed a seat, which then lapses in all later phases of it too.
        self._lapsed_round: dict[SeatId, int] = {}
        self._blobs: set[str] = set()  # digests of those that the log holds already
        # (digest, bytes) of the catalogue's parts that no event has carried yet
        self._parts: deque[tuple[str, bytes]] = deque()
        self._results = Results()
        self._actions: list[tuple[SeatId, str, BaseModel]] = []  # accepted since the last closure
        self._outcome = hashlib.blake2b(digest_size=32)

    @classmethod
    def create(cls, market_type: MarketType, scenario: Scenario, seed: int) -> Core:
        """A fresh episode. Raises ScenarioError when the scenario cannot be played or the seed is out of range."""
        # The seats are known only once the market exists, and __init__ wants a complete manifest.
        market = market_type.create(scenario, seed)
        return cls(market_type, derived_core(market_type, scenario, seed, market), scenario, market)

    @classmethod
    def restore(cls, market_type: MarketType, manifest: ManifestCore) -> Core:
        """The fresh episode that a manifest describes. TraceError when these rules are not the ones that wrote it.

        Everything in the manifest follows from scenario and seed: Divergence where it says something else.
        """
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
        core = cls(market_type, manifest, scenario)
        derived = derived_core(market_type, scenario, manifest.seed, core.market).model_dump(mode="json")
        for name, value in manifest.model_dump(mode="json").items():
            here, stored = canonical(derived[name]), canonical(value)
            if here != stored:
                raise Divergence(0, f"{name} does not follow from scenario and seed", in_log=stored, re_executed=here)
        return core

    def __deepcopy__(self, memo: dict[int, Any]) -> Core:
        """A second course of the episode from here; it shares what no course changes."""
        for part in (self.market_type, self.manifest, self.scenario, self._table, self._acts, self._visible):
            memo[id(part)] = part
        twin = memo[id(self)] = object.__new__(Core)
        twin.__dict__ = deepcopy(self.__dict__, memo)
        return twin

    # --- what a seat sees -------------------------------------------------------------------------------------------

    def tools(self, seat: SeatId) -> Mapping[str, Tool]:
        """The tools that this seat is offered. SeatError for an unknown seat."""
        try:
            return self._visible[seat]
        except KeyError:
            raise SeatError(unknown("seat", seat, self._visible)) from None

    def turn_view(self, seat: SeatId, *, still_open: bool = False) -> TurnView:
        """The answer of `view_turn` and `await_turn`; `still_open` says that a wait has ended without either event."""
        market = self.market
        clock = market.clock
        return built(
            TurnView,
            seat=seat,
            role=market.seats[seat].role,
            round=clock.round,
            phase=clock.phase,
            revision=clock.revision,
            awaited=self.awaits(seat),
            actions=self.open_actions(seat),
            over=self.ended is not None,
            end_reason=self.ended,
            still_open=still_open,
            limits=self._limits.states(seat, clock[:2]) if self._limited else [],
            market=plain_of(market.turn_view(seat)),
        )

    def open_actions(self, seat: SeatId) -> list[str]:
        """The actions that this seat may take now; none after the end."""
        if self.ended is not None:
            return []
        return open_actions(self._acts[self.market.seats[seat].role], self.market, seat, free=self._free)

    def awaits(self, seat: SeatId) -> bool:
        """Whether the clock waits for this seat."""
        return self.ended is None and seat in self.market.awaited()

    def turn_mark(self, seat: SeatId) -> TurnMark:
        """The seat's `_meta` as of now."""
        clock = self.market.clock
        # Under the free clock no seat is ever awaited, and a turn ends when the seat says so.
        free = self._free and self.ended is None
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
        seating.check(self.market.seats, whole=True)
        written = getattr(self.market, "catalogue_parts", None)
        self._parts.extend((digest(part), part) for part in (written() if written is not None else ()))
        facts = {"facts": {"catalogue": [name for name, _ in self._parts]}} if self._parts else {}
        self.seating = seating
        fields = {"seating": orjson.Fragment(json_of(seating)), **facts}
        records = [self._event("episode_started", None, self.market.clock, fields)]
        # A market may open with a phase in which no seat is awaited.
        self._settle(records)
        return Done(records)

    def seat(self, seating: Seating) -> Done:
        """Other players take seats, under the draws that `seating` names; it holds the seats that change hands only.

        An event without consequences: rules know no players. Raises EpisodeOver, SeatError for seats that do not exist,
        ScenarioError for one change too many.
        """
        if self.ended is not None:
            raise EpisodeOver(self.ended)
        seating.check(self.market.seats)
        # Readers of a trace take no more: whoever relabels a seat without end would make it unreadable.
        if self._seated == MAX_SEATINGS:
            raise ScenarioError(f"seats have changed hands {MAX_SEATINGS:,} times, and no trace holds more")
        self._seated += 1
        self.seating = self.seating.later(seating)
        fields = {"seating": orjson.Fragment(json_of(seating))}
        return Done([self._event("seated", None, self.market.clock, fields)])

    def call(
        self,
        seat: SeatId,
        name: str,
        arguments: object,
        *,
        parent: str | None = None,
        inputs: Mapping[str, JsonValue] | None = None,
    ) -> Done:
        """One tool call: its event, and whatever follows from it.

        `arguments` is what the client sent, of any type. `parent` is the id of the program that makes this call, which
        may then only read. `inputs` are the answers to `MarketType.request` by source. Raises SeatError for an unknown
        seat, EpisodeOver after the end, and HarnessFailure for a recorded tool and for a call that a running program
        or the lack of one forbids; everything else is an answer and an event.
        """
        admitted = self._admit_here(seat, name, arguments, parent)
        if isinstance(admitted, Done):
            return admitted
        return self._carry_out(admitted, parent, inputs or {})

    def begin(self, seat: SeatId, name: str, arguments: object) -> Ticket | Done:
        """Admit a program, which is open from now on; the host runs it and hands the result to `finish`."""
        admitted = self._admit(seat, name, arguments, None)
        if isinstance(admitted, Ticket):
            self._calls.programs[seat] = Program((admitted.call,))
        return admitted

    def finish(self, ticket: Ticket, result: CodeResult | None, error: ErrorInfo | None) -> Done:
        """Record what a program gave: `result`, or None and the `error`, one of `CODE_ERRORS` (None: a fault of ours).

        Raises EpisodeOver when the episode has ended meanwhile, HarnessFailure when the program is not open.
        """
        if self.ended is not None:
            raise EpisodeOver(self.ended)
        program = self.programs.get(ticket.seat)
        if program is None or program.calls != (ticket.call,):
            raise HarnessFailure(f"the program {ticket.call} is not running")
        error = error or INTERNAL_ERROR
        if result is None and not any(template.fits(error) for template in CODE_ERRORS.values()):
            raise HarnessFailure(f"no program ends with {error.code[:40]}: {error.message[:80]}")
        del self._calls.programs[ticket.seat]
        # The event is numbered now, behind the inner calls that the code has made since `begin`.
        draft = self._draft(ticket.seat, ticket.tool.name, ticket.tool, ticket.call, None, ticket.encoded)
        # As of now, not of `begin`: the inner calls cannot act, but other seats could meanwhile.
        turn = self.turn_mark(ticket.seat)
        if result is None:
            return self._refuse(draft, "rejected", error, turn)
        self._limits.add(ticket.seat, (ticket.tool.kind, "accepted"), draft.clock[:2])
        # Those that reached the rules: the sandbox refuses some by itself.
        encoded = self._results.encoded(ticket.tool, result.model_copy(update={"inner_calls": program.children}))
        record = self._tool_called(draft, "ok", None, encoded, None, None)
        return Done([record], Answer(draft.call, ticket.tool, "ok", encoded.body, None, turn, draft.seq))

    def lose(self, seat: SeatId) -> Done:
        """Finish the open program of a seat as `code_lost`: its host was restarted and knows it no longer.

        Its arguments were in no event, so they are recorded as `{}`. Raises EpisodeOver, HarnessFailure without one.
        """
        program = self.programs.get(seat)
        if program is None:
            raise HarnessFailure(f"no program of {seat[:80]} is running")
        # Of the ids that it can have the earliest: nothing has named it, so any would do.
        ticket = Ticket(seat, self.tools(seat)[EXECUTE_CODE], program.calls[0], {}, _UNKNOWN)
        self._calls.programs[seat] = Program((ticket.call,), program.children)
        return self.finish(ticket, None, CODE_LOST)

    def refuse(self, seat: SeatId, name: str, arguments: object, error: ErrorInfo) -> Done:
        """Record a call that the host denies before it reaches the market; `error` is one of `HOST_REFUSALS`.

        A seat is `busy` exactly while its program runs. Raises EpisodeOver, and HarnessFailure for another refusal.
        """
        if self.ended is not None:
            raise EpisodeOver(self.ended)
        tool = self.tools(seat).get(name)
        if not may_deny(error, tool) or (error == BUSY) != (seat in self.programs):
            raise HarnessFailure(f"no host denies this call with {error.code[:40]}: {error.message[:80]}")
        call = self._calls.number(seat, self.market.clock.round)
        draft = self._draft(seat, name, tool, call, None, storable_arguments(arguments))
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
        """Truncate the episode; nothing when it is over. TraceError for a reason other than `truncated:some_code`."""
        if _TRUNCATED.fullmatch(reason) is None:
            raise TraceError(f"no episode is cut short as {reason[:80]!r}: truncated: and a code in small letters")
        records: list[Record] = []
        # The rules may have ended it first; their reason stays.
        if self.ended is None:
            self._end(reason, records)
        return Done(records)

    # --- commands that only replay gives ----------------------------------------------------------------------------

    def fail(
        self,
        seat: SeatId,
        name: str,
        arguments: object,
        *,
        parent: str | None = None,
        inputs: Mapping[str, JsonValue] | None = None,
    ) -> Done:
        """Record a call that failed by a fault of ours. The fault is not made again: it has changed nothing."""
        admitted = self._admit_here(seat, name, arguments, parent)
        if isinstance(admitted, Done):
            return admitted
        records = self._taken_in(admitted, inputs or {})
        draft = self._draft(seat, name, admitted.tool, admitted.call, parent, admitted.encoded)
        return self._fail(draft, HarnessFailure("recorded as failed"), records)

    def show_program(self, seat: SeatId, call: str) -> None:
        """Take in that an event names `call` as a program of this seat, which opens it where none has before.

        Raises TraceError where no program of this id can be running.
        """
        self._check_begun(seat, self._calls.show(seat, call, self.market.clock.round))

    def show_busy(self, seat: SeatId, call: str) -> None:
        """Take in that a call of this seat was answered `busy`: the first such answer opens its program. TraceError."""
        self._check_begun(seat, self._calls.show_busy(seat, call, self.market.clock.round))

    def _check_begun(self, seat: SeatId, begun: int | None) -> None:
        # By the round in which it began: a limit that was used up then would have refused it.
        sorts, phase = _sorts(self._table[EXECUTE_CODE], False), self.market.clock.phase
        if EXECUTE_CODE not in self.tools(seat) or (
            begun is not None and self._limits.exceeded(seat, sorts, (begun, phase)) is not None
        ):
            raise TraceError(f"a program of {seat} would not have been admitted")

    def ticket(self, seat: SeatId, name: str, arguments: object) -> Ticket:
        """The ticket of the open program that an event names, for `finish`. Raises BadArguments, WrongArguments."""
        tool, encoded = self.tools(seat)[name], encode_arguments(arguments)
        validated = read_arguments(encoded, tool.parameters, name)
        return Ticket(seat, tool, self.programs[seat].calls[0], encoded, validated)

    # --- one call ---------------------------------------------------------------------------------------------------

    def _admit_here(self, seat: SeatId, name: str, arguments: object, parent: str | None) -> Ticket | Done:
        """As `_admit`, for a call that the rules carry out. HarnessFailure for one that the host runs and records."""
        admitted = self._admit(seat, name, arguments, parent)
        if isinstance(admitted, Ticket) and admitted.tool.recorded:
            raise HarnessFailure(f"{name} is recorded by the host")
        return admitted

    def _admit(self, seat: SeatId, name: str, arguments: object, parent: str | None) -> Ticket | Done:
        """Number, encode, limit and validate a call; a Done is its refusal."""
        tool = self.tools(seat).get(name)
        if self.ended is not None:
            raise EpisodeOver(self.ended)
        if parent is not None or seat in self.programs:
            self._calls.child(seat, parent)
        # The order of these checks is part of the trace format: replay must meet the same refusal.
        call = self._calls.number(seat, self.market.clock.round)
        # A call with a parent comes from `execute_code`, which offers its programs no actions.
        if tool is None or (parent is not None and not tool.read_only):
            draft = self._draft(seat, name, tool, call, parent, storable_arguments(arguments))
            return self._refuse(draft, "denied", self._unavailable(seat, name), self.turn_mark(seat))
        remains = arguments if isinstance(arguments, Remains) else None
        try:
            encoded: Any = kept_arguments(arguments) if remains else encode_arguments(arguments)
        except BadArguments as bad:
            draft = self._draft(seat, name, tool, call, parent, {"unencodable": bad.reason})
            return self._refuse(draft, "invalid", bad.error(name), self.turn_mark(seat))
        if self._limited and tool.counted:
            limit = self._limits.exceeded(seat, _sorts(tool, parent is not None), self.market.clock[:2])
            if limit is not None:
                return self._over_limit(self._draft(seat, name, tool, call, parent, encoded), limit)
        # Nothing is left to validate: what the log says of the outcome stands.
        if remains is not None:
            if remains.message is None:
                return Ticket(seat, tool, call, encoded, _UNKNOWN)
            error = wrong_arguments(remains.message, tool.parameters, name)
            return self._refuse(
                self._draft(seat, name, tool, call, parent, encoded), "invalid", error, self.turn_mark(seat)
            )
        try:
            # From the encoded bytes, not from the objects: live calls and replay validate the very same input.
            validated = read_arguments(encoded, tool.parameters, name)
        except WrongArguments as wrong:
            draft = self._draft(seat, name, tool, call, parent, encoded)
            return self._refuse(draft, wrong.status, wrong.error, self.turn_mark(seat))
        return Ticket(seat, tool, call, encoded, validated)

    def _acted(
        self, seat: SeatId, tool: Tool, arguments: Any, result: Any, read_through: int | None, records: list[Record]
    ) -> Any:
        """What follows from an action, into `records`; its result with what that made known."""
        market = self.market
        if read_through is not None:
            market.read_marks[seat] = max(read_through, market.read_marks.get(seat, 0))
        if not self.silent:
            self._actions.append((seat, tool.name, arguments))
        self._settle(records)
        return result if tool.finish is None else tool.finish(market, seat, result)

    def _carry_out(self, ticket: Ticket, parent: str | None, inputs: Mapping[str, JsonValue]) -> Done:
        """Run an admitted call through the market.

        Order of the events: the inputs, the call itself, then what follows from it. The call's event is made last,
        because it holds the result, and inserted at its place (`_draft` has reserved its number).
        """
        seat, tool, call, encoded, arguments = ticket
        records = self._taken_in(ticket, inputs) if inputs else []
        draft = self._draft(seat, tool.name, tool, call, parent, encoded)
        market = self.market
        subject = market if tool.subject == "market" else self
        # An action acknowledges what the seat was shown before; a refused one leaves the read mark where it was.
        read_through = self._shown.get(seat) if tool.kind == "action" else None
        # Only a tool that declares a need has the parameter `inputs`.
        extra = {"inputs": inputs} if tool.needs else {}
        try:
            if tool.open is not None and not tool.open(market, seat):
                raise closed(tool.name, market.clock, self.open_actions(seat))
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
                result = self._acted(seat, tool, arguments, result, read_through, records)
            body = self._results.encoded(tool, result)
            # A read may be refused for its size; an action has happened, so too large an answer is a fault of ours.
            if len(body.body) > MAX_RESULT_BYTES and not tool.read_only:
                raise HarnessFailure(f"{tool.name} answers {len(body.body)} bytes after it has acted")
        except Exception as fault:
            # Without the consequences: the caller rebuilds the market, in which they have not happened.
            return self._fail(draft, fault, records[:place])
        if len(body.body) > MAX_RESULT_BYTES:
            return self._refuse(draft, "rejected", _too_large(tool), turn, records)
        if self._limited:
            self._count(seat, tool, "ok", parent is not None, draft.clock)
        if tool.shown is not None:
            self._shown[seat] = max(self._shown.get(seat, 0), tool.shown(result) or 0)
        refs = None if tool.refs is None else list(tool.refs(result))
        # Behind its inputs and before its consequences, where its reserved number belongs.
        records.insert(place, self._tool_called(draft, "ok", None, body, refs, read_through))
        return Done(records, Answer(call, tool, "ok", body.body, None, turn, draft.seq))

    def _taken_in(self, ticket: Ticket, inputs: Mapping[str, JsonValue]) -> list[Record]:
        """The events of a call's inputs. HarnessFailure for an input that the market has not asked for.

        Before the call: the rules may have consumed them even where the call is refused, so replay needs them too.
        """
        if inputs.keys() - {ticket.tool.needs}:
            raise HarnessFailure(f"{ticket.tool.name} needs no {', '.join(inputs)[:80]}")
        return [self._input(ticket.seat, ticket.call, source, payload) for source, payload in inputs.items()]

    def _refuse(
        self, draft: Draft, status: Status, error: ErrorInfo, turn: TurnMark, records: list[Record] | None = None
    ) -> Done:
        # Denied calls (no such tool, over a limit, refused by the host) count against no limit.
        if draft.tool is not None and status != "denied":
            self._count(draft.seat, draft.tool, status, draft.parent is not None, draft.clock)
        record = self._tool_called(draft, status, error, None, None, None)
        return Done([*(records or ()), record], Answer(draft.call, draft.tool, status, None, error, turn, draft.seq))

    def _fail(self, draft: Draft, fault: Exception, records: list[Record]) -> Done:
        """Our own fault. The caller rebuilds the market when the call could have changed it."""
        # Back to the call's own number: its consequences are dropped and their numbers are used again.
        self.seq = draft.seq
        done = self._refuse(draft, "failed", INTERNAL_ERROR, self.turn_mark(draft.seat), records)
        return done._replace(answer=done.answer._replace(fault=fault) if done.answer else None)

    def _over_limit(self, draft: Draft, limit: Limit) -> Done:
        """Deny a call beyond a limit, and lapse the seat where the limit says so."""
        sorts = ", ".join(limit.counts)
        # A free clock awaits no seat, so there is nothing that could lapse.
        refuses = limit.then == "refuse" or self._free
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
        if limit is None or limit.then == "refuse" or self._free:
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
        if self._limited and tool.counted:
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
        if not self._free:
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
        self._results.forget()
        if self.silent:
            records.append(self._event("closed", None, clock, {}, closes=True))
            return
        public = orjson.Fragment(json_of(closure.public))
        facts = b"null" if closure.facts is None else json_of(closure.facts)
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
        self.ended = reason
        if self.silent:
            records.append(self._event("episode_ended", None, self.market.clock, {}, closes=True))
            return
        # The truth at the end enters the outcome digest too, whatever ended the episode.
        facts, state = json_of(self.market.ending_facts()), self.market.digest().hex()
        fields = {"reason": reason, "facts": orjson.Fragment(facts), "state_digest": state}
        records.append(self._event("episode_ended", None, self.market.clock, fields, closes=True))
        self._note_outcome(facts, state)

    def _note_outcome(self, facts: bytes, state: str) -> None:
        """Enter a closure into the outcome digest."""
        # What an action means, however a client writes it: every parameter, defaults included, in one order.
        actions = [(seat, name, arguments.__dict__) for seat, name, arguments in self._actions]
        # Stable and by seat only: a seat's own actions stay in their order, the order among seats disappears.
        actions.sort(key=itemgetter(0))
        self._actions = []
        self._outcome.update(
            orjson.dumps(actions, default=_plain, option=orjson.OPT_SORT_KEYS) + facts + state.encode()
        )

    # --- events -----------------------------------------------------------------------------------------------------

    def _event(
        self, tag: str, seat: SeatId | None, clock: Clock, fields: Mapping[str, Any], *, closes: bool = False
    ) -> Record:
        self.seq += 1
        if self.silent:
            return Record(self.seq, b"", None, closes)
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
    ) -> Draft:
        """Reserve the call's number in the order of events; the event is written once its result is known."""
        self.seq += 1
        return Draft(seat, name, tool, call, parent, self.market.clock, arguments, self.seq)

    def _tool_called(
        self,
        draft: Draft,
        status: Status,
        error: ErrorInfo | None,
        result: Encoded | None,
        refs: list[str] | None,
        read_through: int | None,
    ) -> Record:
        """The event of a call. The order of its fields is part of the trace format: replay compares bytes."""
        if self.silent:
            return Record(draft.seq, b"")
        clock, tool, arguments = draft.clock, draft.tool, draft.arguments
        if isinstance(arguments, bytes):
            # What is carried out again is kept whole; what never reached the rules is cut.
            whole = status in ("ok", "rejected") or len(arguments) <= INLINE_BYTES
            arguments = orjson.Fragment(arguments) if whole else cut_arguments(arguments)
        inline: object = None
        ref: str | None = None
        blob: tuple[str, bytes] | None = None
        if result is not None and tool is not None and tool.name in self._kept:
            if len(result.body) <= INLINE_BYTES:
                inline = orjson.Fragment(result.body)
            else:
                ref = result.digest
                # Stored with the first event that holds it: later ones name the digest.
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
                "tool": storable_name(draft.name) if tool is None else tool.name,
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


# Stands where the arguments themselves are not known.
_UNKNOWN = Result()


def _sorts(tool: Tool, inner: bool) -> tuple[str, ...]:
    """What a call would count as if it were accepted."""
    return ("inner", "accepted") if inner else (tool.kind, "accepted")


def _plain(value: object) -> object:
    return value.__dict__ if isinstance(value, BaseModel) else str(value)


def _too_large(tool: Tool) -> ErrorInfo:
    arguments = ", ".join(tool.input_schema.get("properties", {})) or "its arguments"
    wrong = f"the answer would take more than {MAX_RESULT_BYTES} bytes"
    return ErrorInfo("too_many_rows", wrong, f"narrow {arguments} and call {tool.name} again", True)
