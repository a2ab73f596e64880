"""Episode: one run of one market, and the only way to act in it.

An episode holds a `Core` (rules and chance, in memory), one log (what is durable) and those who wait for a turn. Memory
may be ahead of the log for as long as a commit takes, never longer: an answer leaves after its event is committed, and
a commit that fails makes the memory *stale*, to be rebuilt from the log before anything else happens. Core's calls are
synchronous, so between two awaits of this module no other seat can act.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec

import orjson
from pydantic import JsonValue

from tradefair.contract import (
    EndReason,
    EpisodeOver,
    ErrorInfo,
    HarnessFailure,
    IllegalAction,
    LapseReason,
    MarketType,
    Scenario,
    SeatError,
    SeatId,
    Tool,
    TurnView,
)
from tradefair.contract.arguments import accepted_arguments
from tradefair.contract.bounds import MAX_WAIT_S
from tradefair.contract.chain import canonical
from tradefair.contract.errors import BAD_KEY, BUSY, INTERNAL_ERROR, KEY_REUSED, NO_CODE, NO_STORAGE, StorageUnavailable
from tradefair.contract.kernel.core import Core, Done, Record
from tradefair.contract.kernel.kernel_tools import AWAIT_TURN, EXECUTE_CODE
from tradefair.contract.kernel.players import Seating
from tradefair.host.episode.call_keys import CallKeys, Key, bad_key, request_digest, takes_key
from tradefair.host.episode.log import FILES, EventLog, LogStore, Row, Side
from tradefair.host.episode.looking import CallResult, look
from tradefair.host.episode.moves import SLICE_S, Moves
from tradefair.host.episode.rebuilding import rebuilt
from tradefair.host.episode.waiting import Pending, Waiting
from tradefair.host.episode.writer import Writer
from tradefair.host.sandbox.programs import run_program
from tradefair.host.sandbox.running import InnerAnswer, Sandbox
from tradefair.host.seats.scripted import Scripted, ScriptedFailure
from tradefair.host.seats.services import Services, ServiceUnavailable, request_of
from tradefair.tracestore import Exchange, Manifest

P = ParamSpec("P")

_SEAL_AGAIN_S = 1.0  # until a seal is tried again that could not be written

logger = logging.getLogger("tradefair.host")

_NO_SIDE = Side()


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
        self.wait_s = core.scenario.timing.wait_s  # a host may set another
        self._log = log
        self._services = services
        # Scripted seats play without an await, so they need services that answer at once.
        scripted.answer = services.at_once if services else None
        self._sandbox = sandbox
        self._keys = CallKeys()
        self._coding: dict[SeatId, asyncio.Task[CallResult]] = {}  # the last program of each seat, while it runs
        self._waiting = Waiting()
        self._over = asyncio.Event()
        self._listeners: list[Callable[[], None]] = []
        self._stale = False  # the memory is ahead of the log, or half changed: `_ready` rebuilds it
        self._behind = False  # the log has ended in the middle of something: `_ready` goes on with it
        self._closing = False
        self._rebuild: asyncio.Task[bool] | None = None
        self._doom: EndReason | None = None  # how the episode ends as soon as its market is rebuilt
        self._deadline: asyncio.TimerHandle | None = None
        self._ticking: asyncio.TimerHandle | None = None
        self._moved = 0  # the last round in which a seat outside has acted
        self._sealing: asyncio.Task[None] | None = None
        self._seal_again: asyncio.TimerHandle | None = None
        self._writer = Writer(log, self._committed, self._lost)
        self.stored = self._writer.stored
        """Bytes in the log, or on their way there, by the seat whose calls they are; None: closures, scripted seats."""
        self._moves = Moves(
            self._scripted_slice, partial(self._enqueue, urgent=True), lambda: scripted.plays_alone(self.core)
        )

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
        seating: Seating | None = None,
        about: Mapping[str, Any] | None = None,
        logs: LogStore = FILES,
    ) -> Episode:
        """A fresh episode with its log at `path`; the scripted seats have played up to the first outside decision.

        `seed` (0 to 2**63 - 1) fixes all chance. `seating` says who plays (None: agents that nobody has named); `about`
        is kept in the manifest, outside the chain. Raises ScenarioError when the scenario cannot be played,
        StorageUnavailable when the log cannot be written, TraceError when it exists.
        """
        # Checked and built in memory first: a scenario that cannot be played leaves no file. In a thread: the largest
        # markets take a second.
        core, core_bytes, first = await asyncio.to_thread(_made, market_type, scenario, seed, seating)
        created = datetime.now(UTC).isoformat(timespec="seconds")
        manifest = Manifest(core_bytes, {"episode": episode_id, "created": created, **(about or {})})
        log = await logs.create(path, manifest, first)
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
            await episode._begin()
        except BaseException:
            # The lease on the log and the timers would outlive an episode to which no caller has a reference.
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
        change: Seating | None = None,
        services: Services | None = None,
        sandbox: Sandbox | None = None,
        logs: LogStore = FILES,
    ) -> Episode:
        """The episode of an existing log, ready to go on: its commands are re-executed, byte by byte.

        Unless it is over, it goes on with the players that `change` names, which `scripted` holds already. Raises
        TraceError rather than guess: when the log is damaged, open elsewhere, or was written by other rules.
        """
        log = await logs.open(path)
        try:
            players = scripted or Scripted({})
            core = await rebuilt(log, market_type, players)
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
        episode._behind = True
        try:
            episode._keys.load(await log.call_keys())
            await episode._begin(change if core.ended is None else None)
        except BaseException:
            await episode.close()
            raise
        return episode

    async def _begin(self, change: Seating | None = None) -> None:
        self.stored.update(await self._log.sizes())
        if change is not None:
            # Before anybody moves: the next move is that of the new player.
            await self._commit(self._carry_out(self.core.seat, change))
        await self._ready()
        await self._commit([])
        await self._play_alone()
        self._arm_deadline()
        self._arm_tick()

    async def close(self) -> None:
        """Commit what is queued and let go of the log. The episode can be opened again unless it is over."""
        self._cancel_timers()
        self._closing = True  # scripted seats stop at the end of a slice, and go on when the episode is opened again
        if self._rebuild is not None:
            await asyncio.wait([self._rebuild])
        await self._moves.over()
        await self._writer.close()
        # After the writer: its last commit may have begun the sealing.
        if self._sealing is not None:
            await asyncio.wait([self._sealing])
        # Again: a rebuild and the last commit each set the deadline again, and a seal that failed its next try.
        self._cancel_timers()
        await self._log.close()

    def _cancel_timers(self) -> None:
        for timer in (self._deadline, self._ticking, self._seal_again):
            if timer is not None:
                timer.cancel()

    async def end(self, reason: EndReason) -> None:
        """End the episode now, as `truncated:…`; an end that was reached before stays. Raises StorageUnavailable."""
        await self._ready()
        await self._commit(self._carry_out(self.core.end, reason))
        await self._finish()

    async def wait_ended(self) -> EndReason:
        """Wait until the episode is over and sealed; its end reason."""
        await self._over.wait()
        return self.core.ended or ""

    @property
    def between_rounds(self) -> bool:
        """Whether no outside seat has acted in the open round, as far as this process knows: a good moment to stop."""
        return self._moved != self.core.market.clock.round

    @property
    def manifest(self) -> Manifest:
        """The manifest as it is stored: `core` is in the chain, `about` next to it."""
        return self._log.manifest

    @property
    def slow_disk(self) -> bool:
        """Whether its log is too slow at present for commits on the event loop (`EventLog.slow`)."""
        return self._log.slow

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` after each commit that closed a phase; returns a function that stops it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    @property
    def seating(self) -> Seating:
        """Who plays now."""
        return self.core.seating

    async def seat(self, seating: Seating) -> None:
        """Other players take the seats that `seating` names. Raises SeatError, EpisodeOver, StorageUnavailable."""
        await self._ready()
        await self._commit(self._carry_out(self.core.seat, seating))

    async def note(self, seat: SeatId, body: Mapping[str, Any], prompts: Sequence[Exchange] = ()) -> None:
        """Keep something about the agent of `seat` next to the chain, and what its model was sent (`EventLog.note`)."""
        await self._log.note(seat, body, prompts)

    # --- calls ------------------------------------------------------------------------------------------------------

    async def call(
        self, seat: SeatId, tool: str, arguments: object, *, call_key: str | None = None, side: Side = _NO_SIDE
    ) -> CallResult:
        """Carry out one tool call of a seat.

        `arguments` may be anything: what does not fit the tool is refused, and the refusal is an event too. A repeated
        `call_key` (1 to 128 printable characters) of an action, a note or a program gets the first answer again, also
        in a later process; reads ignore it. `side` says where the call came from. Raises SeatError for an unknown seat
        and nothing else.
        """
        declared = self.core.tools(seat).get(tool)
        try:
            await self._ready()
            # A wait is no event: how often an agent polls must not change the trace.
            if tool == AWAIT_TURN:
                return await self._await_tool(seat, arguments)
            if call_key is not None and declared is not None and takes_key(declared):
                return await self._call_once(seat, tool, arguments, call_key, side)
            return await self._call(seat, tool, arguments, None, side)
        except EpisodeOver as over:
            return await self._after_the_end(seat, declared, arguments, over)
        except StorageUnavailable:
            return CallResult(None, declared, "failed", None, NO_STORAGE, self.core.turn_mark(seat))
        except Exception:
            logger.exception("%s of %s failed outside the tool", tool[:100], seat)
            return await self._fault(seat, tool, arguments, side)

    async def _after_the_end(self, seat: SeatId, tool: Tool | None, arguments: object, over: EpisodeOver) -> CallResult:
        """A look at the final state, which leaves no event; whatever else is refused."""
        turn = self.core.turn_mark(seat)
        if tool is None or not tool.read_only or tool.recorded:
            return CallResult(None, tool, "denied", None, over.info, turn)
        try:
            inputs = await self._inputs(seat, tool.name, arguments)
            if isinstance(inputs, ErrorInfo):
                return CallResult(None, tool, "denied", None, inputs, turn)
            return look(self.core, seat, tool, arguments, turn, inputs)
        except Exception:
            logger.exception("%s of %s failed after the end", tool.name, seat)
            return CallResult(None, tool, "failed", None, INTERNAL_ERROR, turn)

    async def _fault(self, seat: SeatId, tool: str, arguments: object, side: Side) -> CallResult:
        """Answer `internal_error` after a fault that Core did not contain.

        The market may be half changed, so it is rebuilt first; the refusal is then an event like any other.
        """
        self._lost()
        declared = self.core.tools(seat).get(tool)
        try:
            await self._ready()
            return await self._refuse(seat, tool, arguments, INTERNAL_ERROR, side)
        except (EpisodeOver, StorageUnavailable):
            return CallResult(None, declared, "failed", None, INTERNAL_ERROR, self.core.turn_mark(seat))

    async def await_turn(self, seat: SeatId, timeout_s: float | None = None) -> TurnView:
        """Wait until the seat is awaited or the episode is over, at most `timeout_s` (0 to 45; None: `wait_s`) seconds.

        When the time is up first, the view says `still_open`: that is an answer, not an error. Under a free clock the
        wait ends when there is news that no earlier wait has reported, so that none is missed.
        """
        wait_s = min(self.wait_s if timeout_s is None else timeout_s, MAX_WAIT_S)
        until = asyncio.get_running_loop().time() + wait_s
        self._waiting.counted += 1
        # What a waiter is told must be durable: an agent that acts on it could not be taken back.
        await self.settled()
        while self._moves.under_way or not self._waiting.has_come(self.core, seat):
            if self._moves.under_way:
                await self.settled()
            elif not await self._waiting.change(until):
                return self.core.turn_view(seat, still_open=True)
        self._waiting.tell(self.core, seat)
        return self.core.turn_view(seat)

    async def settled(self) -> Core:
        """The Core, once all that was answered is committed; for readers that are no seat, such as observers.

        What it shows of an open phase may still be lost: read closed rounds only. Raises StorageUnavailable.
        """
        await self._ready()
        await self._writer.drain()
        # Once only, without waiting for new moves: an episode of scripted seats is nearly always in the middle of some.
        if self._stale:
            await self._ready()
        return self.core

    async def lapse(self, seat: SeatId, reason: LapseReason) -> None:
        """Take the default action for a seat that does not act. Does nothing when the seat is not awaited.

        Raises HarnessFailure when the market's own default action fails; then nothing has changed.
        """
        await self._ready()
        await self._commit(self._carry_out(self.core.lapse, seat, reason))

    async def feed(self, source: str, payload: JsonValue) -> None:
        """Give the market an input that no seat causes: a clock tick, an operator's message.

        Raises IllegalAction when the market takes no such input, HarnessFailure when its rules fail.
        """
        await self._ready()
        await self._commit(self._carry_out(self.core.feed, source, payload))

    def _carry_out(self, command: Callable[P, Done], *args: P.args, **kwargs: P.kwargs) -> list[Record]:
        """Carry out a command that is no call of a seat; its records. When the rules fail, the market is rebuilt."""
        try:
            return command(*args, **kwargs).records
        except (IllegalAction, SeatError):
            raise  # these are raised before anything has changed
        except Exception as fault:
            self._lost()
            raise HarnessFailure(f"the rules of {self.id} failed: {fault!r}") from fault

    # --- the synchronous section and its commit ---------------------------------------------------------------------

    async def _call(self, seat: SeatId, tool: str, arguments: object, key: Key | None, side: Side) -> CallResult:
        # A seat has one program at a time, or its inner calls and its own could not be told apart.
        if seat in self.core.programs:
            return await self._refuse(seat, tool, arguments, BUSY, side)
        # The latency that the trace records includes the wait for outside services.
        started = time.perf_counter_ns()
        if tool == EXECUTE_CODE and tool in self.core.tools(seat):
            return await self._execute_code(seat, arguments, key, side, started)
        inputs = await self._inputs(seat, tool, arguments)
        if isinstance(inputs, ErrorInfo):
            return await self._refuse(seat, tool, arguments, inputs, side)
        # Since the service was asked the seat may have begun a program.
        if seat in self.core.programs:
            return await self._refuse(seat, tool, arguments, BUSY, side)
        done = self.core.call(seat, tool, arguments, inputs=inputs)
        return await self._answer(seat, done, key, side, started)

    async def _answer(self, seat: SeatId, done: Done, key: Key | None, side: Side, started: int) -> CallResult:
        """Queue a call's events and wait for their commit where that is promised.

        There is no await before `submit`: the events of two calls must reach the log in the order in which Core applied
        them.
        """
        answer = done.answer
        assert answer is not None
        result = CallResult(answer.call, answer.tool, answer.status, answer.body, answer.error, answer.turn)
        if answer.fault is not None:
            logger.error("%s of %s failed", answer.call, seat, exc_info=answer.fault)
        latency = (time.perf_counter_ns() - started) // 1000
        rows = [_row(record, seat, side, latency, key if record.seq == answer.seq else None) for record in done.records]
        # Reads need no commit of their own before they are answered; they travel with the next urgent batch.
        acts = answer.tool is not None and not answer.tool.read_only
        if answer.tool is not None and answer.tool.kind == "action" and answer.status == "ok":
            self._moved = answer.turn.round
        # A program that has a key is promised to be there once only, so its answer waits for its commit too.
        commit = self._writer.submit(rows, urgent=acts or len(rows) > 1 or key is not None)
        if answer.status == "failed" and acts:
            # The rules raised in mid-action: the refusal is recorded, and the half-changed market is thrown away.
            self._lost()
            return result
        if commit is None:
            return result
        if (answer.status == "ok" and acts) or len(rows) > 1:
            self._moves.play()
        if key is not None:
            self._keys.keep(seat, *key, answer.seq, commit)
        await commit.wait()
        with suppress(StorageUnavailable):  # the call itself is durable; what was lost after it is played again
            await self._moves.committed()
        await self._finish()
        return result

    async def _commit(self, records: Sequence[Record]) -> None:
        """Commit events that no call of a seat caused, and what the scripted seats do in consequence."""
        commit = self._enqueue(records, urgent=True) if records else None
        self._moves.play()
        if commit is not None:
            await commit.wait()
        await self._moves.committed()
        await self._finish()

    def _enqueue(self, records: Sequence[Record], *, urgent: bool) -> Pending | None:
        return self._writer.submit([_row(record) for record in records], urgent=urgent)

    def _scripted_slice(self, slice_s: float) -> list[Record]:
        if self._stale or self._closing:
            return []
        try:
            return self.scripted.run(self.core, slice_s=slice_s)
        except ScriptedFailure as failure:
            logger.exception("a scripted seat of %s failed", self.id)
            # What has happened is kept. The end follows on a rebuilt market, because this one may be half changed.
            self._doom = "truncated:harness_failure"
            self._lost()
            return failure.records

    async def _play_alone(self) -> None:
        """Play an episode of scripted seats only, phase by phase, each committed before the next."""
        seq = -1  # a market that does not move on must not spin
        while self.core.ended is None and self.core.seq > seq and self.scripted.plays_alone(self.core):
            seq = self.core.seq
            await self._commit([])
            await self._ready()
        await self._finish()

    def _committed(self, rows: Sequence[Row]) -> None:
        # Under a free clock news reaches a seat without a closure.
        if self.core.scenario.clock == "free" or any(row.record.closes for row in rows):
            self._waiting.wake()
            self._arm_deadline()
            if self.core.ended is not None:
                self._begin_sealing()
            self._tell_listeners()

    def _tell_listeners(self) -> None:
        for listener in list(self._listeners):
            try:
                listener()
            except Exception:  # a listener's fault must not stop the writer
                logger.exception("a listener of %s failed", self.id)

    # --- inputs, refusals -------------------------------------------------------------------------------------------

    async def _inputs(self, seat: SeatId, name: str, arguments: object) -> dict[str, JsonValue] | ErrorInfo:
        """What outside services answer to the market's request for this call: source -> answer, or why there is none.

        While a service is asked, other seats may act and change what the market would ask for. So the request is made
        again until it equals the one that was answered; only then is the call applied, with no await in between.
        """
        answered: tuple[object, JsonValue] | None = None
        while (request := request_of(self.core, seat, name, arguments)) is not None:
            if answered is not None and answered[0] == request:
                return {request.source: answered[1]}
            try:
                answered = (request, await self._services.answer(request))
            except ServiceUnavailable as missing:
                return missing.info
            finally:
                await self._ready()
        return {}

    async def _refuse(
        self, seat: SeatId, tool: str, arguments: object, error: ErrorInfo, side: Side, key: Key | None = None
    ) -> CallResult:
        # Whatever else is wrong with a call: while its seat's program runs it is busy (`Core.refuse`).
        done = self.core.refuse(seat, tool, arguments, BUSY if seat in self.core.programs else error)
        return await self._answer(seat, done, key, side, time.perf_counter_ns())

    async def _await_tool(self, seat: SeatId, arguments: object) -> CallResult:
        tool = self.core.tools(seat)[AWAIT_TURN]
        given = accepted_arguments(arguments, tool)
        if given is None:
            # Unlike a wait, invalid arguments are an event: Core explains and records the refusal.
            return await self._call(seat, AWAIT_TURN, arguments, None, _NO_SIDE)
        view = await self.await_turn(seat, given.__dict__["timeout_s"])
        body = view.__pydantic_serializer__.to_json(view)
        return CallResult(None, tool, "ok", body, None, self.core.turn_mark(seat))

    # --- call keys --------------------------------------------------------------------------------------------------

    async def _call_once(self, seat: SeatId, tool: str, arguments: object, key: str, side: Side) -> CallResult:
        """A call with a key: the first is carried out, a repeat gets the stored answer, another request is refused.

        Refusals keep the key too, but for those of the host after which the same call may succeed (`busy`).
        """
        if bad_key(key):
            return await self._refuse(seat, tool, arguments, BAD_KEY, side)
        request = request_digest(tool, arguments)
        while (known := self._keys.known(seat, key)) is not None:
            if known != request:
                return await self._refuse(seat, tool, arguments, KEY_REUSED, side)
            if seq := await self._keys.answered(seat, key):
                return self._stored(seat, await self._log.event(seq))
            await self._ready()
        # Taken before anything is awaited, or a repeat that arrives meanwhile would act a second time. Given back when
        # no event came of it.
        taken = self._keys.take(seat, key, request)
        release = partial(self._keys.release, seat, key, taken)
        try:
            return await self._call(seat, tool, arguments, (key, request), side)
        finally:
            running = self._coding.get(seat)
            # The caller has gone away and its program runs on: a repeat must wait for that one's answer.
            if tool == EXECUTE_CODE and running is not None:
                running.add_done_callback(lambda _: release())
            else:
                release()

    def _stored(self, seat: SeatId, event: Mapping[str, Any]) -> CallResult:
        error = ErrorInfo(**event["error"]) if event["error"] else None
        body = orjson.dumps(event["result"]) if event["status"] == "ok" else None
        tool = self.core.tools(seat).get(event["tool"])
        return CallResult(event["call"], tool, event["status"], body, error, self.core.turn_mark(seat))

    # --- timers -----------------------------------------------------------------------------------------------------

    def _arm_tick(self) -> None:
        """Start the timer of the next tick. Only a free clock has ticks, and only where an outside seat plays."""
        limit = self.core.scenario.timing.tick_s
        if limit is None or self.core.scenario.clock != "free" or self.scripted.plays_alone(self.core):
            return
        if self._stale or self.core.ended is None:
            self._ticking = asyncio.get_running_loop().call_later(limit, self._tick)

    def _tick(self) -> None:
        """Feed the market a tick of the free clock. It is recorded, so that re-execution needs no clock."""
        if self._moves.under_way:
            self._ticking = asyncio.get_running_loop().call_later(SLICE_S, self._tick)
            return
        if self._stale:
            self._lost()  # try to rebuild again: there may be no call that would
        elif self.core.ended is None:
            try:
                self._enqueue(self._carry_out(self.core.feed, "clock_tick", None), urgent=True)
            except HarnessFailure:
                logger.exception("%s cannot go on to its next tick", self.id)
                self._doom = "truncated:harness_failure"
                # The rebuild ends the episode. If the log cannot be read now, the next tick asks for it again.
                self._arm_tick()
                return
            self._moves.play()
        self._arm_tick()

    def _arm_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        limit = self.core.scenario.timing.decision_deadline_s
        # A stale market may have an end that never reached the log.
        if limit is not None and (self._stale or self.core.ended is None):
            self._deadline = asyncio.get_running_loop().call_later(limit, self._deadline_passed)

    def _deadline_passed(self) -> None:
        """Lapse every seat that is still awaited. Lapses are recorded, so that re-execution needs no clock."""
        if self._moves.under_way:
            self._deadline = asyncio.get_running_loop().call_later(SLICE_S, self._deadline_passed)
            return
        if self._stale:
            self._lost()  # try to rebuild again: there may be no call that would
            self._arm_deadline()
            return
        # Sorted: the order of lapses must not depend on how a set is laid out.
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
        self._moves.play()
        self._arm_deadline()

    async def _finish(self) -> None:
        """Wait until the manifest of an ended episode is sealed, or cannot be now; nothing before the end."""
        if self.core.ended is not None and not self._over.is_set():
            await asyncio.shield(self._begin_sealing())

    def _begin_sealing(self) -> asyncio.Task[None]:
        # A task of its own: the caller of the last action may be cancelled, and the end must be sealed all the same.
        if self._sealing is None or self._sealing.done():
            self._sealing = asyncio.create_task(self._seal(), name="tradefair-seal")
        return self._sealing

    async def _seal(self) -> None:
        """Seal the manifest once the end is committed; again after a while when it cannot be written."""
        await self._writer.drain()
        if self._stale or self.core.ended is None:
            return  # the end did not reach the log
        if not self._log.manifest.sealed:
            head = self._log.head
            about = {
                **self._log.manifest.about,
                "finished": datetime.now(UTC).isoformat(timespec="seconds"),
                "end_reason": self.core.ended,
                "head_seq": head.seq,
                "head_hash": head.hash.hex(),
                "outcome_digest": self.core.outcome_digest,
                "awaits": self._waiting.counted,
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

    async def _execute_code(
        self, seat: SeatId, arguments: object, key: Key | None, side: Side, started: int
    ) -> CallResult:
        """Run a seat's program in a worker thread.

        Its inner calls come back to this loop and are events of their own.
        """
        core, sandbox = self.core, self._sandbox
        if sandbox is None:
            return await self._refuse(seat, EXECUTE_CODE, arguments, NO_CODE, side, key)
        ticket = core.begin(seat, EXECUTE_CODE, arguments)
        if isinstance(ticket, Done):
            return await self._answer(seat, ticket, key, side, started)

        async def finish() -> CallResult:
            inner = partial(self._inner, core, seat, ticket.call, side)
            result, error = await run_program(sandbox, core, seat, ticket, inner)
            await self._ready()
            # The ticket belongs to the Core that issued it; a rebuilt market has never heard of it.
            if core is not self.core:
                raise StorageUnavailable("the market was rebuilt while the code ran")
            done = core.finish(ticket, result, error)
            # Where all workers were busy, the same call may succeed later: its key stays free.
            return await self._answer(seat, done, None if error and error.code == BUSY.code else key, side, started)

        running = self._coding[seat] = asyncio.create_task(finish(), name="tradefair-code")
        running.add_done_callback(lambda _: self._coding.pop(seat) if self._coding.get(seat) is running else None)
        # A caller that goes away stops neither its program nor the record of it; its seat is busy until both are done.
        return await asyncio.shield(running)

    async def _inner(
        self, core: Core, seat: SeatId, parent: str, side: Side, name: str, arguments: dict[str, JsonValue]
    ) -> InnerAnswer:
        try:
            inputs = await self._inputs(seat, name, arguments)
            if isinstance(inputs, ErrorInfo):
                return InnerAnswer(error=inputs)
            await self._ready()
            if core is not self.core:
                return InnerAnswer(error=NO_STORAGE)
            done = core.call(seat, name, arguments, parent=parent, inputs=inputs)
        except IllegalAction as refusal:
            return InnerAnswer(error=refusal.info)
        except StorageUnavailable:
            return InnerAnswer(error=NO_STORAGE)
        self._writer.submit([_row(record, seat, side) for record in done.records], urgent=False)
        answer = done.answer
        assert answer is not None
        return InnerAnswer(orjson.loads(answer.body or b"null"), answer.error)

    # --- after a lost commit ----------------------------------------------------------------------------------------

    async def _ready(self) -> None:
        """Wait until memory and log agree and no scripted seat is in the middle of its moves.

        Raises StorageUnavailable when the log cannot be read now.
        """
        # A loop: the next commit after a rebuild may be lost as well.
        while self._stale or self._behind or self._moves.under_way:
            if self._stale:
                if not await asyncio.shield(self._lost()):
                    raise StorageUnavailable(f"{self.id} cannot be rebuilt from its log")
            elif self._moves.under_way:
                await self._moves.over()
            else:
                self._catch_up()

    def _catch_up(self) -> None:
        """Go on where the log ends: scripted seats in the middle of their moves, then programs that were lost with it.

        Only when a call comes, not at once after a rebuild: on a full disk it would be lost again and again.
        """
        self._moves.play()
        if self._moves.under_way or self._stale:
            return
        self._behind = False
        for seat in list(self.core.programs) if self.core.ended is None else ():
            self._enqueue(self.core.lose(seat).records, urgent=True)

    def _lost(self) -> asyncio.Task[bool]:
        """Mark the memory as stale: ahead of the log, or half changed. The task that rebuilds it; one at a time."""
        self._stale = True
        if self._rebuild is None:
            self._rebuild = asyncio.create_task(self._reload(), name="tradefair-rebuild")
        return self._rebuild

    async def _reload(self) -> bool:
        try:
            await self._moves.over()
            await self._writer.drain()
            # A doomed episode is rebuilt without its scripted seats: one of them is why it must end.
            players = self.scripted if self._doom is None else Scripted({})
            core = await rebuilt(self._log, self.core.market_type, players)
            keys = await self._log.call_keys()
        except Exception:
            logger.exception("%s cannot be rebuilt from its log", self.id)
            self._arm_deadline()
            return False
        finally:
            self._rebuild = None
        self.core = core
        self._keys.load(keys)
        self._stale, self._behind = False, True
        self._arm_deadline()
        if self._doom is not None and core.ended is None:
            self._enqueue(core.end(self._doom).records, urgent=True)
        if core.ended is not None:
            self._begin_sealing()
        return True


def _made(kind: MarketType, scenario: Scenario, seed: int, seating: Seating | None) -> tuple[Core, bytes, list[Row]]:
    """A market that has begun, the bytes of its manifest's core, and its first events."""
    core = Core.create(kind, scenario, seed)
    first = [_row(record) for record in core.start(seating).records]
    return core, canonical(core.manifest.model_dump(mode="json")), first


def _row(
    record: Record,
    seat: SeatId | None = None,
    side: Side = _NO_SIDE,
    latency: int | None = None,
    key: Key | None = None,
) -> Row:
    call_key, request = key or (None, None)
    return Row(record, seat, call_key, request, int(time.time() * 1000), latency, side)
