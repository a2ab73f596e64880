"""Episode: the one narrow seam. Core + one log + waiters; whatever anybody does to a market goes through here."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec

import orjson
from pydantic import BaseModel, JsonValue

from tradefair.contract.chain import canonical, digest
from tradefair.contract.core import Core, Done, Record, Ticket, TurnMark
from tradefair.contract.errors import (
    INTERNAL_ERROR,
    EpisodeOver,
    ErrorInfo,
    HarnessFailure,
    IllegalAction,
    SeatError,
    StorageUnavailable,
    TraceError,
)
from tradefair.contract.kernel_tools import AWAIT_TURN, EXECUTE_CODE, CodeResult
from tradefair.contract.market import EndReason, LapseReason, MarketType
from tradefair.contract.policy import TurnView
from tradefair.contract.replay import Replayed
from tradefair.contract.scenario import Scenario
from tradefair.contract.seats import SeatId
from tradefair.contract.tool import Tool
from tradefair.host.log import FILES, EventLog, LogStore, Row, Side
from tradefair.host.sandbox import InnerAnswer, Sandbox, ToolSignature
from tradefair.host.scripted import Scripted, ScriptedFailure
from tradefair.host.services import Services, ServiceUnavailable
from tradefair.host.writer import Writer
from tradefair.tracestore import Manifest

P = ParamSpec("P")

MAX_WAIT_S = 45.0
_MAX_CALL_KEY = 128
_SEAL_AGAIN_S = 1.0

logger = logging.getLogger("tradefair.host")

_NO_SIDE = Side()


class CallResult(NamedTuple):
    """What a call answers: the result's JSON bytes, or the refusal; `turn` is the seat's clock."""

    call: str | None
    tool: Tool | None
    status: str
    body: bytes | None
    error: ErrorInfo | None
    turn: TurnMark


class _Keyed(NamedTuple):
    """A call key that has been used: the request behind it and, while it is in flight, who waits for it.

    `seq` is its event, 0 before there is one.
    """

    request: str
    seq: int
    pending: asyncio.Future[None] | None

    def done(self) -> None:
        """Wake whoever waits."""
        if self.pending is not None and not self.pending.done():
            self.pending.set_result(None)


class Episode:
    """One run of one market. All methods belong to the event loop that created it."""

    def __init__(
        self,
        log: EventLog,
        core: Core,
        *,
        episode_id: str,
        path: Path,
        scripted: Scripted,
        services: Services,
        sandbox: Sandbox | None,
    ) -> None:
        self.id = episode_id
        self.path = path
        self.core = core
        self.scripted = scripted
        self._log = log
        self._services = services
        scripted.answer = services.at_once if services else None
        self._sandbox = sandbox
        self._keys: dict[tuple[SeatId, str], _Keyed] = {}
        self._coding: dict[SeatId, asyncio.Task[CallResult]] = {}
        self._pulse = asyncio.Event()
        self._over = asyncio.Event()
        self._listeners: list[Callable[[], None]] = []
        self._stale = False
        self._rebuild: asyncio.Task[bool] | None = None
        self._doom: EndReason | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._ticking: asyncio.TimerHandle | None = None
        self._told: dict[SeatId, int] = {}
        self._awaits_counted = 0
        self._moved = 0
        self._sealing: asyncio.Task[None] | None = None
        self._seal_again: asyncio.TimerHandle | None = None
        self._writer = Writer(log, self._committed, self._lost)

    # --- life -------------------------------------------------------------------------------------------------------

    @classmethod
    async def create(
        cls,
        path: Path,
        market_type: MarketType,
        scenario: Scenario,
        seed: int,
        *,
        episode_id: str,
        scripted: Scripted | None = None,
        services: Services | None = None,
        sandbox: Sandbox | None = None,
        about: Mapping[str, Any] | None = None,
        logs: LogStore = FILES,
    ) -> Episode:
        """A fresh episode with its log at `path`; the scripted seats have played up to the first outside decision.

        Raises ScenarioError, StorageUnavailable, TraceError (the file exists).
        """
        core = Core.create(market_type, scenario, seed)
        core_bytes = canonical(core.manifest.model_dump(mode="json"))
        created = datetime.now(UTC).isoformat(timespec="seconds")
        log = await logs.create(
            path, Manifest(core_bytes, {"episode": episode_id, "created": created, **(about or {})})
        )
        episode = cls(
            log,
            core,
            episode_id=episode_id,
            path=path,
            scripted=scripted or Scripted({}),
            services=services or Services(),
            sandbox=sandbox,
        )
        try:
            await episode._begin(core.start().records)
        except BaseException:
            await episode.close()
            raise
        return episode

    @classmethod
    async def open(
        cls,
        path: Path,
        market_type: MarketType,
        *,
        scripted: Scripted | None = None,
        services: Services | None = None,
        sandbox: Sandbox | None = None,
        logs: LogStore = FILES,
    ) -> Episode:
        """Go on with an episode: its commands are re-executed, byte by byte. Raises TraceError rather than guess."""
        log = await logs.open(path)
        try:
            players = scripted or Scripted({})
            core = await _rebuilt(log, market_type, players)
        except BaseException:
            await log.close()
            raise
        episode = cls(
            log,
            core,
            episode_id=str(log.manifest.about.get("episode", path.stem)),
            path=path,
            scripted=players,
            services=services or Services(),
            sandbox=sandbox,
        )
        episode._keys = {key: _Keyed(request, seq, None) for key, (seq, request) in (await log.call_keys()).items()}
        try:
            await episode._begin(core.start().records if core.seq == 0 else [])
        except BaseException:
            await episode.close()
            raise
        return episode

    async def _begin(self, records: Sequence[Record]) -> None:
        await self._commit(records)
        await self._play_alone()
        self._arm_deadline()
        self._arm_tick()

    async def close(self) -> None:
        """Commit what is queued and let go of the log. The episode can be opened again unless it is over."""
        for timer in (self._deadline, self._ticking):
            if timer is not None:
                timer.cancel()
        if self._rebuild is not None:
            await asyncio.wait([self._rebuild])
        await self._writer.close()
        if self._sealing is not None:  # the last commit may have begun it
            await asyncio.wait([self._sealing])
        if self._seal_again is not None:
            self._seal_again.cancel()
        await self._log.close()

    async def end(self, reason: EndReason) -> None:
        """Truncate the episode (`truncated:cancelled`)."""
        await self._ready()
        await self._commit(self._carry_out(self.core.end, reason))
        await self._finish()

    async def wait_ended(self) -> EndReason:
        """Wait until the episode is over and sealed; its end reason."""
        await self._over.wait()
        return self.core.ended or ""

    @property
    def between_rounds(self) -> bool:
        """Whether no seat outside has acted in the open round, as far as this process knows."""
        return self._moved != self.core.market.clock.round

    @property
    def manifest(self) -> Manifest:
        """Core and about as they are stored."""
        return self._log.manifest

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` after each commit that closed a phase; gives a function that stops it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    async def note(self, seat: SeatId, body: Mapping[str, Any]) -> None:
        """Keep something about an agent beside the chain."""
        await self._log.note(seat, body)

    # --- calls ------------------------------------------------------------------------------------------------------

    async def call(
        self,
        seat: SeatId,
        tool: str,
        arguments: object,
        *,
        call_key: str | None = None,
        side: Side | None = None,
    ) -> CallResult:
        """One tool call of a seat. Whatever a client sends is an answer; only an unknown seat raises (SeatError)."""
        declared = self.core.tools(seat).get(tool)
        place = side or _NO_SIDE
        try:
            await self._ready()
            if tool == AWAIT_TURN:
                return await self._await_tool(seat, arguments)
            if seat in self._coding:
                return await self._refuse(seat, tool, arguments, _BUSY, place)
            if call_key is not None and declared is not None and declared.kind == "action":
                return await self._call_once(seat, tool, arguments, call_key, place)
            if tool == EXECUTE_CODE and declared is not None:
                return await self._execute_code(seat, arguments, place)
            return await self._call(seat, tool, arguments, None, place)
        except EpisodeOver as over:
            return CallResult(None, declared, "denied", None, over.info, self.core.turn_mark(seat))
        except StorageUnavailable:
            return CallResult(None, declared, "failed", None, _NO_STORAGE, self.core.turn_mark(seat))
        except Exception:
            logger.exception("%s of %s failed outside the tool", tool[:100], seat)
            return await self._fault(seat, tool, arguments, place)

    async def _fault(self, seat: SeatId, tool: str, arguments: object, side: Side) -> CallResult:
        """After a fault that Core could not contain: rebuild the market, then record the refusal."""
        self._lost()
        declared = self.core.tools(seat).get(tool)
        try:
            await self._ready()
            return await self._refuse(seat, tool, arguments, INTERNAL_ERROR, side)
        except (EpisodeOver, StorageUnavailable):
            return CallResult(None, declared, "failed", None, INTERNAL_ERROR, self.core.turn_mark(seat))

    async def await_turn(self, seat: SeatId, timeout_s: float = 20) -> TurnView:
        """Wait until the seat is awaited or the episode is over; `still_open` is an answer, not an error.

        Under a free clock: until there are news that no earlier wait has told of, so that none is ever missed.
        """
        await self._ready()
        loop = asyncio.get_running_loop()
        until = loop.time() + min(max(timeout_s, 0.0), MAX_WAIT_S)
        self._awaits_counted += 1
        await self._writer.drain()
        await self._ready()
        while not self._turn_has_come(seat):
            pulse = self._pulse
            try:
                async with asyncio.timeout_at(until):
                    await pulse.wait()
            except TimeoutError:
                return self.core.turn_view(seat, still_open=True)
        self._told[seat] = self.core.market.news_mark(seat)
        return self.core.turn_view(seat)

    async def settled(self) -> Core:
        """The Core once everything that was answered is committed; for reads that are no events.

        Raises StorageUnavailable. What it shows of open phases is not committed: read closed rounds only.
        """
        await self._writer.drain()
        await self._ready()
        return self.core

    async def lapse(self, seat: SeatId, reason: LapseReason) -> None:
        """Take the default action for a seat that does not act; nothing when it is not awaited.

        Raises HarnessFailure when the rules fail at it; nothing has happened then.
        """
        await self._ready()
        await self._commit(self._carry_out(self.core.lapse, seat, reason))

    async def feed(self, source: str, payload: JsonValue) -> None:
        """A clock tick or an operator's word. Raises IllegalAction when the market takes no such input."""
        await self._ready()
        await self._commit(self._carry_out(self.core.feed, source, payload))

    def _carry_out(self, command: Callable[P, Done], *args: P.args, **kwargs: P.kwargs) -> list[Record]:
        """A command that no call of a seat is; the market is rebuilt when the rules fail at it."""
        try:
            return command(*args, **kwargs).records
        except (IllegalAction, SeatError):
            raise  # before anything has changed
        except Exception as fault:
            self._lost()
            raise HarnessFailure(f"the rules of {self.id} failed: {fault!r}") from fault

    # --- the synchronous section and its commit ---------------------------------------------------------------------

    async def _call(
        self, seat: SeatId, tool: str, arguments: object, key: tuple[str, str] | None, side: Side
    ) -> CallResult:
        started = time.perf_counter_ns()
        inputs = await self._inputs(seat, tool, arguments)
        if isinstance(inputs, ErrorInfo):
            return await self._refuse(seat, tool, arguments, inputs, side)
        done = self.core.call(seat, tool, arguments, inputs=inputs)
        return await self._answer(seat, done, key, side, started)

    async def _answer(
        self, seat: SeatId, done: Done, key: tuple[str, str] | None, side: Side, started: int
    ) -> CallResult:
        """Enqueue a call's batch and wait for its commit where that is promised. No await before the enqueue."""
        answer = done.answer
        assert answer is not None
        result = CallResult(answer.call, answer.tool, answer.status, answer.body, answer.error, answer.turn)
        if answer.fault is not None:
            logger.error("%s of %s failed", answer.call, seat, exc_info=answer.fault)
        latency = (time.perf_counter_ns() - started) // 1000
        rows = [self._row(record, seat, side, latency) for record in done.records]
        if key is not None:
            index = next(i for i, row in enumerate(rows) if row.record.seq == answer.seq)
            rows[index] = rows[index]._replace(call_key=key[0], request_digest=key[1])
        acts = answer.tool is not None and not answer.tool.read_only
        if answer.tool is not None and answer.tool.kind == "action" and answer.status == "ok":
            self._moved = answer.turn.round
        future = self._writer.submit(rows, urgent=acts or len(rows) > 1)
        if answer.status == "failed" and acts:
            self._lost()
            return result
        if future is None:
            return result
        if answer.status == "ok" or len(rows) > 1:
            future = self._play_scripted() or future
        if key is not None:
            self._keys[seat, key[0]] = _Keyed(key[1], answer.seq, future)
        await self._committed_by(future)
        return result

    async def _commit(self, records: Sequence[Record]) -> None:
        """Commit the consequences of something that no call of a seat caused, and what scripted seats make of it."""
        future = self._enqueue(records, urgent=True) if records else None
        future = self._play_scripted() or future
        if future is not None:
            await self._committed_by(future)

    async def _committed_by(self, future: asyncio.Future[None]) -> None:
        # One cancelled waiter must not cancel the commit for the others.
        await asyncio.shield(future)
        if self.core.ended is not None:
            await self._finish()

    def _enqueue(self, records: Sequence[Record], *, urgent: bool) -> asyncio.Future[None] | None:
        return self._writer.submit([self._row(record) for record in records], urgent=urgent)

    def _play_scripted(self) -> asyncio.Future[None] | None:
        """Let scripted seats act until only outside seats are awaited, one commit per phase.

        With nobody outside there is nothing to be ahead of: one phase, and `_play_alone` does the rest.
        """
        future: asyncio.Future[None] | None = None
        while records := self._scripted_phase():
            future = self._enqueue(records, urgent=True)
            if self.scripted.plays_alone(self.core):
                break
        return future

    def _scripted_phase(self) -> list[Record]:
        if self._stale:
            return []
        try:
            return self.scripted.run(self.core)
        except ScriptedFailure as failure:
            logger.exception("a scripted seat of %s failed", self.id)
            # What has happened is kept; the end follows on a market rebuilt from it, as this one may be half changed.
            self._doom = "truncated:harness_failure"
            self._lost()
            return failure.records

    async def _play_alone(self) -> None:
        """An episode of scripted seats only: phase by phase, each committed before the next."""
        seq = -1
        while self.core.ended is None and self.core.seq > seq and self.scripted.plays_alone(self.core):
            seq = self.core.seq
            await self._commit([])
            await self._ready()
        await self._finish()

    def _row(
        self, record: Record, seat: SeatId | None = None, side: Side = _NO_SIDE, latency: int | None = None
    ) -> Row:
        return Row(record, seat, None, None, int(time.time() * 1000), latency, side)

    def _committed(self, rows: Sequence[Row]) -> None:
        # Under a free clock news reaches a seat without a closure.
        if self.core.scenario.clock == "free" or any(row.record.closes for row in rows):
            self._pulse.set()
            self._pulse = asyncio.Event()
            self._arm_deadline()
            if self.core.ended is not None:
                self._begin_sealing()
            self._tell_listeners()

    def _tell_listeners(self) -> None:
        for listener in list(self._listeners):
            try:
                listener()
            except Exception:  # who listens must not stop the writer
                logger.exception("a listener of %s failed", self.id)

    # --- inputs, refusals -------------------------------------------------------------------------------------------

    async def _inputs(self, seat: SeatId, name: str, arguments: object) -> dict[str, JsonValue] | ErrorInfo:
        """Answers to what the market asks of outside services before this call; asked again until it is the same."""
        tool = self.core.tools(seat).get(name)
        if tool is None or tool.needs is None:
            return {}
        try:
            given = tool.parameters.model_validate_json(orjson.dumps(arguments), strict=True)
        except (ValueError, TypeError):
            return {}  # Core refuses the arguments
        answered: tuple[object, JsonValue] | None = None
        while True:
            request = self.core.market_type.request(self.core.market, seat, name, given)
            if request is None:
                return {}
            if answered is not None and answered[0] == request:
                return {request.source: answered[1]}
            try:
                answered = (request, await self._services.answer(request))
            except ServiceUnavailable as missing:
                return missing.info
            finally:
                await self._ready()

    async def _refuse(self, seat: SeatId, tool: str, arguments: object, error: ErrorInfo, side: Side) -> CallResult:
        done = self.core.refuse(seat, tool, arguments, error)
        return await self._answer(seat, done, None, side, time.perf_counter_ns())

    async def _await_tool(self, seat: SeatId, arguments: object) -> CallResult:
        tool = self.core.tools(seat)[AWAIT_TURN]
        try:
            given = tool.parameters.model_validate_json(orjson.dumps(arguments), strict=True)
        except (ValueError, TypeError):
            # Core explains and records the refusal.
            return await self._call(seat, AWAIT_TURN, arguments, None, _NO_SIDE)
        view = await self.await_turn(seat, given.__dict__["timeout_s"])
        body = view.__pydantic_serializer__.to_json(view)
        return CallResult(None, tool, "ok", body, None, self.core.turn_mark(seat))

    # --- call keys --------------------------------------------------------------------------------------------------

    async def _call_once(self, seat: SeatId, tool: str, arguments: object, key: str, side: Side) -> CallResult:
        """A keyed action: the first is carried out, a repeat gets the stored answer, anything else is `key_reused`."""
        if not (0 < len(key) <= _MAX_CALL_KEY and key.isprintable()):
            error = ErrorInfo(
                "invalid_arguments", f"a call key has 1 to {_MAX_CALL_KEY} printable characters", "use a UUID", True
            )
            return await self._refuse(seat, tool, arguments, error, side)
        request = _request_digest(tool, arguments)
        while (known := self._keys.get((seat, key))) is not None:
            if known.request != request:
                return await self._refuse(seat, tool, arguments, _KEY_REUSED, side)
            if known.pending is not None:
                await asyncio.shield(known.pending)
            if known.seq:
                return self._stored(seat, await self._log.event(known.seq))
        # Taken at once: the inputs of the call may have to be waited for. Given back when no event came of it.
        taken = _Keyed(request, 0, asyncio.get_running_loop().create_future())
        self._keys[seat, key] = taken
        try:
            return await self._call(seat, tool, arguments, (key, request), side)
        finally:
            if self._keys.get((seat, key)) is taken:
                del self._keys[seat, key]
            taken.done()

    def _stored(self, seat: SeatId, event: Mapping[str, Any]) -> CallResult:
        error = ErrorInfo(**event["error"]) if event["error"] else None
        body = orjson.dumps(event["result"]) if event["status"] == "ok" else None
        tool = self.core.tools(seat).get(event["tool"])
        return CallResult(event["call"], tool, event["status"], body, error, self.core.turn_mark(seat))

    # --- waiting ----------------------------------------------------------------------------------------------------

    def _turn_has_come(self, seat: SeatId) -> bool:
        if self.core.ended is not None or self.core.awaits(seat):
            return True
        return self.core.scenario.clock == "free" and self.core.market.news_mark(seat) > self._told.get(seat, 0)

    def _arm_tick(self) -> None:
        """Under a free clock the host says when a round is over; with nobody outside the seats need no clock."""
        limit = self.core.scenario.timing.tick_s
        if limit is None or self.core.scenario.clock != "free" or self.scripted.plays_alone(self.core):
            return
        if self._stale or self.core.ended is None:
            self._ticking = asyncio.get_running_loop().call_later(limit, self._tick)

    def _tick(self) -> None:
        """A tick of the free clock; recorded, so that re-execution needs no clock."""
        if self._stale:
            self._lost()  # try again: perhaps nobody calls
        elif self.core.ended is None:
            try:
                self._enqueue(self._carry_out(self.core.feed, "clock_tick", None), urgent=True)
            except HarnessFailure:
                logger.exception("%s cannot go on to its next tick", self.id)
                self._doom = "truncated:harness_failure"
                return
            self._play_scripted()
        self._arm_tick()

    def _arm_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        limit = self.core.scenario.timing.decision_deadline_s
        # A market ahead of its log may have an end that is not there.
        if limit is not None and (self._stale or self.core.ended is None):
            self._deadline = asyncio.get_running_loop().call_later(limit, self._deadline_passed)

    def _deadline_passed(self) -> None:
        """Lapse everybody who is still awaited; recorded, so that re-execution needs no clock."""
        if self._stale:
            self._lost()  # try again: perhaps nobody calls
            self._arm_deadline()
            return
        for seat in sorted(self.core.market.awaited()):
            try:
                records = self._carry_out(self.core.lapse, seat, "deadline")
            except HarnessFailure:
                logger.exception("the deadline of %s cannot lapse %s", self.id, seat)
                self._doom = "truncated:harness_failure"
                self._arm_deadline()
                return
            if records:
                self._enqueue(records, urgent=True)
        self._play_scripted()
        self._arm_deadline()

    async def _finish(self) -> None:
        """Wait until the manifest of an ended episode is sealed, or cannot be now; nothing before the end."""
        if self.core.ended is not None and not self._over.is_set():
            await asyncio.shield(self._begin_sealing())

    def _begin_sealing(self) -> asyncio.Task[None]:
        # A task of its own: whoever took the last action may be cancelled, and the end must be sealed all the same.
        if self._sealing is None or self._sealing.done():
            self._sealing = asyncio.create_task(self._seal(), name="tradefair-seal")
        return self._sealing

    async def _seal(self) -> None:
        """Seal the manifest once the end is committed; again after a while when it cannot be written."""
        await self._writer.drain()
        if self._stale or self.core.ended is None:
            return  # the end is not in the log
        if not self._log.manifest.sealed:
            head = self._log.head
            about = {
                **self._log.manifest.about,
                "finished": datetime.now(UTC).isoformat(timespec="seconds"),
                "end_reason": self.core.ended,
                "head_seq": head.seq,
                "head_hash": head.hash.hex(),
                "outcome_digest": self.core.outcome_digest,
                "awaits": self._awaits_counted,
            }
            try:
                await self._log.seal(about)
            except StorageUnavailable:
                logger.warning("%s has ended and cannot be sealed now", self.id, exc_info=True)
                if self._seal_again is not None:
                    self._seal_again.cancel()
                self._seal_again = asyncio.get_running_loop().call_later(_SEAL_AGAIN_S, self._begin_sealing)
                return
        self._over.set()

    # --- execute_code -----------------------------------------------------------------------------------------------

    async def _execute_code(self, seat: SeatId, arguments: object, side: Side) -> CallResult:
        """Run a seat's code in a worker thread; its inner calls hop back to this loop and are events of their own."""
        started = time.perf_counter_ns()
        core = self.core
        if self._sandbox is None:
            return await self._refuse(seat, EXECUTE_CODE, arguments, _NO_CODE, side)
        ticket = core.begin(seat, EXECUTE_CODE, arguments)
        if isinstance(ticket, Done):
            return await self._answer(seat, ticket, None, side, started)
        running = asyncio.create_task(self._finish_code(core, seat, ticket, side, started), name="tradefair-code")
        self._coding[seat] = running
        # A caller that goes away stops neither its program nor the record of it, and is busy until both are done.
        return await asyncio.shield(running)

    async def _finish_code(self, core: Core, seat: SeatId, ticket: Ticket, side: Side, started: int) -> CallResult:
        try:
            result, error = await self._run_code(seat, ticket, side)
        finally:
            del self._coding[seat]
        if core is not self.core or self._stale:
            raise StorageUnavailable("the market was rebuilt while the code ran")
        return await self._answer(seat, core.finish(ticket, result, error), None, side, started)

    async def _run_code(self, seat: SeatId, ticket: Ticket, side: Side) -> tuple[BaseModel | None, ErrorInfo | None]:
        loop = asyncio.get_running_loop()
        core, sandbox = self.core, self._sandbox
        assert sandbox is not None

        async def inner(name: str, arguments: dict[str, JsonValue]) -> InnerAnswer:
            return await self._inner(core, seat, name, arguments, ticket.call, side)

        def call(name: str, arguments: dict[str, JsonValue]) -> InnerAnswer:
            return asyncio.run_coroutine_threadsafe(inner(name, arguments), loop).result()

        signatures = {
            tool.name: ToolSignature.of(tool)
            for tool in core.tools(seat).values()
            if tool.read_only and tool.name not in (AWAIT_TURN, EXECUTE_CODE)
        }
        # Not from the episode's seed: a program can find its seed out, and a small one could then be searched for.
        seed = hashlib.blake2b(ticket.call.encode(), digest_size=8).digest()
        report = await asyncio.to_thread(
            sandbox.run,
            ticket.arguments.__dict__["code"],
            constants=core.market.code_constants(seat),
            tools=signatures,
            call=call,
            seed=int.from_bytes(seed, "big"),
            day=core.market.clock.round,
        )
        if report.error is not None:
            return None, report.error
        return CodeResult(output=report.output, value=report.value, inner_calls=report.inner_calls), None

    async def _inner(
        self, core: Core, seat: SeatId, name: str, arguments: dict[str, JsonValue], parent: str, side: Side
    ) -> InnerAnswer:
        try:
            inputs = await self._inputs(seat, name, arguments)
            if isinstance(inputs, ErrorInfo):
                return InnerAnswer(error=inputs)
            if core is not self.core or self._stale:
                return InnerAnswer(error=_NO_STORAGE)
            done = core.call(seat, name, arguments, parent=parent, inputs=inputs)
        except IllegalAction as refusal:
            return InnerAnswer(error=refusal.info)
        except StorageUnavailable:
            return InnerAnswer(error=_NO_STORAGE)
        self._writer.submit([self._row(record, seat, side) for record in done.records], urgent=False)
        answer = done.answer
        assert answer is not None
        return InnerAnswer(orjson.loads(answer.body or b"null"), answer.error)

    # --- after a lost commit ----------------------------------------------------------------------------------------

    async def _ready(self) -> None:
        """Wait until memory and log agree. Raises StorageUnavailable when the log cannot be read now."""
        while self._stale:
            if not await asyncio.shield(self._lost()):
                raise StorageUnavailable(f"{self.id} cannot be rebuilt from its log")

    def _lost(self) -> asyncio.Task[bool]:
        """The state in memory is ahead of the log, or half changed: rebuild it before the next call."""
        self._stale = True
        if self._rebuild is None:
            self._rebuild = asyncio.create_task(self._reload(), name="tradefair-rebuild")
        return self._rebuild

    async def _reload(self) -> bool:
        try:
            await self._writer.drain()
            players = self.scripted if self._doom is None else Scripted({})
            core = await _rebuilt(self._log, self.core.market_type, players)
            keys = await self._log.call_keys()
        except Exception:
            logger.exception("%s cannot be rebuilt from its log", self.id)
            self._arm_deadline()
            return False
        finally:
            self._rebuild = None
        self.core = core
        self._keys = {key: _Keyed(request, seq, None) for key, (seq, request) in keys.items()}
        self._stale = False
        self._arm_deadline()
        if self._doom is not None and core.ended is None:
            self._enqueue(core.end(self._doom).records, urgent=True)
        if core.ended is not None:
            self._begin_sealing()
        return True


async def _rebuilt(log: EventLog, market_type: MarketType, scripted: Scripted) -> Core:
    """The Core that a log leads to, its scripted policies brought up to date on the way."""
    manifest = log.manifest.core
    follower = Replayed(Core.restore(market_type, manifest))
    scripted.reset()
    for body in await log.bodies():
        command = not follower.due()
        if command:
            scripted.follow(follower.core, _event(body))
        step = follower.step(body)
        if command:
            scripted.followed(follower.core, step.event, follower.answer)
    follower.finish()
    return follower.core


def _event(body: bytes) -> Mapping[str, Any]:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        raise TraceError("the log holds bytes that are no event; run tradefair verify") from None


def _request_digest(tool: str, arguments: object) -> str:
    try:
        return digest(canonical([tool, arguments]))
    except (TypeError, ValueError, RecursionError):
        return "unencodable"


_BUSY = ErrorInfo("busy", "your code is still running", "wait for the answer of execute_code", True)
_NO_STORAGE = ErrorInfo("storage_unavailable", "the log could not be written; nothing has changed", "call again", True)
_NO_CODE = ErrorInfo("tool_unavailable", "this server runs no code", "call the read tools one by one", False)
_KEY_REUSED = ErrorInfo("key_reused", "this call key belongs to another call", "use a fresh key for a new call", False)
