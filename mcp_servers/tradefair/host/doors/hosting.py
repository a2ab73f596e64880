"""A host: its episodes by id, the orders that wait, the tokens, and when each of them begins, rests and ends.

There is no HTTP in here: `app` serves the seats of a host, `control` its operator.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections import OrderedDict
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import anyio
import anyio.abc

from tradefair.contract import EndReason, HarnessFailure, SeatError, SeatId, TradefairError
from tradefair.contract.bounds import MAX_WAIT_S
from tradefair.contract.errors import StorageUnavailable, unknown
from tradefair.contract.kernel.players import AGENT
from tradefair.host.doors.collecting import collect, without_passes
from tradefair.host.doors.doors import Doors
from tradefair.host.doors.registry import HostFile, save_host_file
from tradefair.host.doors.space import Space
from tradefair.host.episode.log import FILES, LogStore
from tradefair.host.episode.orders import Checked, Mark, Order, Terms, begin, check_labelled
from tradefair.host.server.bounds import EPISODE_BYTES, MAX_EPISODES, MAX_SEATS
from tradefair.host.server.observing import public_reads
from tradefair.host.server.quotas import Gate, Quotas
from tradefair.host.server.seat_auth import OBSERVER, OBSERVER_SCOPE, Grant, SeatTokens
from tradefair.host.server.wire import PLAIN, Manner

if TYPE_CHECKING:
    from tradefair.host.doors.oauth import Issuer
    from tradefair.host.episode.episode import Episode
    from tradefair.host.sandbox.running import Sandbox

BODY_LIMIT = 1_048_576  # bytes of one request; a call's arguments may take a sixteenth of it
_MAX_PAST = 2_000  # closed episodes that the status page still names
# Seconds between two attempts to write to a store that cannot be reached.
_AGAIN_S = 1.0
_SAVE_DELAY_S = 0.2  # many episodes that end at once are one write of the registry
# Seconds after an episode is closed; several that close together are one collection.
_TIDY_DELAY_S = 3.0
# A collection goes through all that lives, and episodes may come and go all the time: at most a twentieth of it.
_TIDY_SHARE = 20

TTL: EndReason = "truncated:ttl"
IDLE: EndReason = "truncated:idle"
_HOSTS_OWN = Terms()

_log = logging.getLogger("tradefair.host")


class TooManyEpisodes(TradefairError):
    """The host has `max_episodes` episodes and orders, and takes no more.

    Raised before anything of an order is made; the operator may cancel episodes and order again.
    """


class LowSpace(StorageUnavailable):
    """The disk is nearly full, and the host takes no more episodes."""


class Past(NamedTuple):
    """An episode that is over and closed: why it ended, what it was, and the path of its trace."""

    reason: str
    scenario: str
    seed: int
    trace: Path
    mark: Mark = Mark()


class Host:
    """Episodes by id, orders that wait for their start, tokens, and the doors behind them.

    With a `folder` the registry is kept in its `host.json`; the traces lie there too, or where `logs` puts them. With
    `linger_s` a served host retires each episode that many seconds after its end, and its tokens with it. `ttl_s` is
    the time to live of each episode in seconds, from its creation, and `idle_s` how long none of its seats may call;
    an order may name shorter ones. `body_limit` is in
    bytes, and so are `episode_bytes`, what the log of one episode may take (None: any), and `keep_free`, below which
    the disk of the traces counts as nearly full. `max_seats` bounds the episodes that the control plane orders.
    `wait_s` is how long an `await_turn` waits that names no time (None: as the scenario says); `manner`: how clients
    are served, where their order does not say it. `issuer`: whose access tokens open seats besides the host's own.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        tokens: SeatTokens | None = None,
        body_limit: int = BODY_LIMIT,
        linger_s: float | None = None,
        ttl_s: float | None = None,
        idle_s: float | None = None,
        max_episodes: int = MAX_EPISODES,
        max_seats: int = MAX_SEATS,
        episode_bytes: int | None = EPISODE_BYTES,
        keep_free: int = 0,
        quotas: Quotas | None = None,
        sandbox: Sandbox | None = None,
        logs: LogStore = FILES,
        wait_s: float | None = None,
        manner: Manner = PLAIN,
        issuer: Issuer | None = None,
    ) -> None:
        self.episodes: dict[str, Episode] = {}
        # Orders that are checked and not begun: no log, no clock.
        self.pending: dict[str, Checked] = {}
        self.past: OrderedDict[str, Past] = OrderedDict()
        self.tokens = tokens or SeatTokens()
        self.folder = folder
        self.logs = logs
        self.body_limit = body_limit
        self.manner = manner
        self.issuer = issuer
        self.max_episodes = max_episodes
        self.max_seats = max_seats
        self.quotas = quotas or Quotas()
        # A shared store has its room elsewhere.
        self.space = Space(folder if logs.address is None else None, keep_free)
        self.doors = Doors()
        self.draining = False
        self.control: str | None = None
        """The digest of the control plane's token, kept with the registry."""
        self.terms_of: dict[str, Terms] = {}
        """The terms of episodes and orders that have other than the host's own."""
        self.started_at = time.monotonic()
        self._linger_s = linger_s
        self._ttl_s = ttl_s
        self._idle_s = idle_s
        self._episode_bytes = episode_bytes
        self._sandbox = sandbox
        self._wait_s = wait_s
        self._empty = anyio.Event()
        # By (episode, seat): kept for the episode's life, however its connections come and go.
        self._gates: dict[tuple[str, str], Gate] = {}
        # Episodes that have finished a round while the host goes down: no further call may begin another round.
        self._resting: set[str] = set()
        self._too_large: set[str] = set()
        self._starting: set[str] = set()
        self._tasks: anyio.abc.TaskGroup | None = None
        self._watching: dict[str, anyio.CancelScope] = {}
        self._unsaved = 0
        self._saving: asyncio.TimerHandle | None = None
        self._tidying: asyncio.TimerHandle | None = None
        self._tidy_s = 0.0  # CPU time of the last collection

    # --- episodes ---------------------------------------------------------------------------------------------------

    def add(self, episode: Episode, *, used: Mapping[SeatId, int] | None = None, save: bool = True) -> None:
        """Take an episode in. `used` is the number of calls that each of its seats has made in an earlier process."""
        self.episodes[episode.id] = episode
        if self._wait_s is not None:
            episode.wait_s = self._wait_s
        # Before the first call: a budget of the episode counts what an earlier process let through.
        calls = used or {}
        for seat in {*calls, *(seat for seat in episode.stored if seat is not None)}:
            self._gates[episode.id, seat] = self._new_gate(episode.id, seat, calls.get(seat, 0))
        if self._tasks is not None:
            self._tasks.start_soon(self._watch, episode)
        if save:
            self._save()

    def order(self, wanted: Checked, episode_id: str) -> None:
        """Accept an order, which `start` carries out.

        Raises TooManyEpisodes, and HarnessFailure while the host drains.
        """
        self.check_room(1)
        self.order_again(wanted, episode_id)
        self._save()

    def order_again(self, wanted: Checked, episode_id: str) -> None:
        """Accept an order of an earlier host of the folder: it was counted then, and the registry names it already."""
        self.pending[episode_id] = wanted
        self.set_terms(episode_id, wanted.order.terms)

    def set_terms(self, episode: str, terms: Terms) -> None:
        """Keep what was ordered with an episode, as far as it differs from the host's own."""
        if terms != _HOSTS_OWN:
            self.terms_of[episode] = terms

    async def start(self, episode: str) -> Episode:
        """Begin an ordered episode. Raises SeatError (no such order), ScenarioError, StorageUnavailable, LowSpace."""
        self._check_space()
        wanted = self.pending.get(episode)
        if wanted is None or self.folder is None or episode in self._starting:
            raise SeatError(f"no episode {episode[:80]!r} waits for its start")
        # Until the log is there the order stays pending; a second start must not make a second log.
        self._starting.add(episode)
        try:
            with without_passes():
                begun = await begin(wanted, self.folder, episode, self._sandbox, self.logs)
        finally:
            self._starting.discard(episode)
        if self.pending.pop(episode, None) is None:  # it was cancelled while its log was being made
            await begun.close()
            raise SeatError(f"{episode} was cancelled while it started")
        # The registry may be late here: a restart that finds the trace of an order knows that it has begun.
        self.add(begun, save=False)
        self._save_soon()
        _log.info("episode started", extra={"episode": episode, "scenario": begun.core.scenario.id})
        return begun

    def check_room(self, wanted: int) -> None:
        """Check that `wanted` more episodes may come.

        Raises TooManyEpisodes, LowSpace, and HarnessFailure while the host drains.
        """
        if self.draining:
            raise HarnessFailure("the host is going down and takes no more episodes")
        kept = len(self.episodes) + len(self.pending)
        if kept + wanted > self.max_episodes:
            over = sum(episode.core.ended is not None for episode in self.episodes.values())
            told = f", {over} of them over and still to be read" if over else ""
            raise TooManyEpisodes(f"this host keeps at most {self.max_episodes} episodes; it has {kept}{told}")
        self._check_space()

    def _check_space(self) -> None:
        if self.space.low():
            raise LowSpace("the disk is nearly full, and this host takes no more episodes")

    async def cancel(self, episode: str) -> None:
        """End an episode (`truncated:cancelled`), or drop an order. Raises SeatError for an unknown one."""
        # An order has no log yet, so nothing has to be ended.
        if self.pending.pop(episode, None) is not None:
            self.terms_of.pop(episode, None)
            self.doors.shut(grant.id for grant in self.tokens.expire(episode))
            self._save()
            return
        await self.episode(episode).end("truncated:cancelled")

    async def remove(self, episode: str) -> EndReason | None:
        """Cancel an episode, if it runs, and retire it at once; its trace stays. Twice is as good as once.

        How it ended; None for an order. Raises SeatError for an unknown one, StorageUnavailable.
        """
        if episode not in self.past:
            if episode in self.pending or self.episode(episode).core.ended is None:
                await self.cancel(episode)
            # Another request may have been faster.
            if episode in self.episodes:
                await self.retire(episode)
        past = self.past.get(episode)
        return None if past is None else past.reason

    async def label(self, episode: str, labels: Mapping[SeatId, str]) -> dict[SeatId, str]:
        """Call the players of outside seats otherwise from now on; what all of them are called.

        Raises SeatError for an unknown episode, ScenarioError for other seats, EpisodeOver, StorageUnavailable.
        """
        waiting = self.pending.get(episode)
        if waiting is not None:
            check_labelled(labels, waiting.plan.agents)
            order = waiting.order.model_copy(update={"labels": {**waiting.order.labels, **labels}})
            self.pending[episode] = waiting._replace(order=order)
            self._save()
            return {seat: order.labels.get(seat, AGENT) for seat in waiting.plan.agents}
        live = self.episode(episode)
        check_labelled(labels, live.seating.agents)
        await live.seat(live.seating.relabelled(labels))
        return {seat: live.seating.labels[seat] for seat in live.seating.agents}

    def episode(self, name: str) -> Episode:
        """A running episode, or one that has ended and is not closed yet. Raises SeatError."""
        found = self.episodes.get(name)
        if found is None:
            raise SeatError(f"there is no episode {name[:80]!r} here")
        return found

    def mark(self, name: str) -> Mark:
        """Of which task an episode or order is, and whether its seed is sealed. Raises SeatError for an unknown one."""
        if name in self.pending:
            order = self.pending[name].order
            return Mark(order.task, order.sealed)
        if name in self.past:
            return self.past[name].mark
        return Mark.of(self.episode(name).manifest.about)

    def trace_of(self, name: str) -> Path:
        """Where the trace of an episode is, closed or not. Raises SeatError for an unknown one."""
        if name in self.episodes:
            return self.episodes[name].path
        if name in self.past:
            return self.past[name].trace
        raise SeatError(f"there is no trace of {name[:80]!r} here")

    def manner_for(self, episode: str) -> Manner:
        """How the clients of an episode are served."""
        terms = self._terms(episode)
        return Manner(self.manner.slim or terms.tools == "slim", terms.refusals or self.manner.refusals)

    def _terms(self, episode: str) -> Terms:
        return self.terms_of.get(episode, _HOSTS_OWN)

    async def retire(self, episode: str) -> None:
        """Close an episode for good: its tokens expire with it."""
        gone = self.episodes.pop(episode, None)
        # Before anything is awaited: no request may reach an episode that is being closed.
        self.doors.shut(grant.id for grant in self.tokens.expire(episode))
        for key in [key for key in self._gates if key[0] == episode]:
            del self._gates[key]
        self._resting.discard(episode)
        self._too_large.discard(episode)
        self.terms_of.pop(episode, None)
        if gone is not None:
            core, mark = gone.core, Mark.of(gone.manifest.about)
            self.past[episode] = Past(core.ended or "", core.scenario.id, core.manifest.seed, gone.path, mark)
            while len(self.past) > _MAX_PAST:
                self.past.popitem(last=False)
            # Shielded: the end of the host cancels this task, and then the log of the episode would stay open.
            with anyio.CancelScope(shield=True):
                await gone.close()
        self._save_soon()
        self._tidy_soon()
        if not self.episodes and not self.pending:
            self._empty.set()
        # Otherwise it would keep the episode in memory for the linger time. Last, as it may be the watch that retires.
        if (watch := self._watching.pop(episode, None)) is not None:
            watch.cancel()

    async def wait_empty(self) -> None:
        """Wait until the last episode has been retired.

        A host that never had an episode is not empty in this sense: the wait ends when one is retired.
        """
        await self._empty.wait()

    def shut(self) -> None:
        """End all sessions and streams, so that a shutdown need not wait for them."""
        self.doors.shut()

    async def close(self) -> None:
        """Close every episode; registry and tokens stay valid for the next start."""
        self.shut()
        for episode in self.episodes.values():
            await episode.close()
        if self._saving is not None:
            self._save()
        if self._tidying is not None:
            self._tidying.cancel()

    # --- tokens -----------------------------------------------------------------------------------------------------

    def invite(self, episode: str, seat: SeatId) -> tuple[str, Grant]:
        """A token for a seat, to be shown once. Raises SeatError for an unknown episode or seat, TooManyTokens."""
        self._check_seat(episode, seat)
        invitation = self.tokens.issue(episode, seat)
        self._save()
        return invitation

    def invite_subject(self, episode: str, seat: SeatId, subject: str) -> Grant:
        """Let whom the issuer's access tokens name `subject` take a seat with them.

        Raises SeatError without an issuer, for an unknown episode or seat and for a subject that has a seat,
        TooManyTokens.
        """
        if self.issuer is None:
            raise SeatError('this host takes no issuer\'s tokens: start it with auth = "oauth", issuer = URL')
        self._check_seat(episode, seat)
        grant = self.tokens.seat_subject(episode, seat, self.issuer.url, subject)
        self._save()
        return grant

    def _check_seat(self, episode: str, seat: SeatId) -> None:
        if episode in self.pending:
            seats = self.pending[episode].plan.seats
            if seat not in seats:
                raise SeatError(unknown("seat", seat, seats))
        else:
            self.episode(episode).core.tools(seat)

    def invite_observer(self, episode: str) -> tuple[str, Grant]:
        """A token for the public reads of an episode.

        Raises SeatError for an unknown episode, or where none are, and TooManyTokens.
        """
        # An order has no Core yet; its scenario already says what is public.
        if episode in self.pending:
            _, kind, scenario, _ = self.pending[episode]
        else:
            core = self.episode(episode).core
            kind, scenario = core.market_type, core.scenario
        if not public_reads(kind, scenario):
            raise SeatError(f"{kind.name} has nothing to show to an observer: no tool of it is public")
        invitation = self.tokens.issue(episode, OBSERVER, OBSERVER_SCOPE)
        self._save()
        return invitation

    def revoke(self, grant_id: str) -> None:
        """Make a token worthless and end what was opened with it. Raises SeatError for an unknown one."""
        # First forgotten, then shut: no new door can be opened with it in between.
        self.tokens.revoke(grant_id)
        self.doors.shut([grant_id])
        self._save()

    def set_control(self, digest: str) -> None:
        """Keep the digest of the control plane's token with the registry."""
        self.control = digest
        self._save()

    # --- quotas -----------------------------------------------------------------------------------------------------

    def gate(self, episode: str, name: str, *, observer: bool = False) -> Gate:
        """The gate of a seat; with `observer`, that of one observer's token, by the id of its grant."""
        key = episode, f"{OBSERVER}/{name}" if observer else name
        if key not in self._gates:
            self._gates[key] = self._new_gate(*key, 0)
        return self._gates[key]

    def _new_gate(self, episode: str, name: str, used: int) -> Gate:
        def spent() -> None:
            here = self.episodes.get(episode)
            if self._tasks is not None and here is not None and name in here.core.market.seats:
                self._tasks.start_soon(self._stand_in, here, name)

        def stored() -> int:
            here = self.episodes.get(episode)
            return 0 if here is None else here.stored[name]

        # Asked at each call: an episode may rest later.
        return Gate(
            self.quotas,
            used=used,
            on_spent=spent,
            closed=lambda: episode in self._resting,
            low=self.space.low,
            stored=stored,
            on_left=lambda: self._mind_the_size(episode),
        )

    async def _stand_in(self, episode: Episode, seat: SeatId) -> None:
        """Take the default action for a seat that has used up its calls, so that no other seat waits for it."""
        _log.info("budget spent", extra={"episode": episode.id, "seat": seat})
        if episode.core.scenario.clock == "free":
            return  # under a free clock no seat is awaited
        # The gate refuses every further call of this seat, so the host acts for it until the end.
        while episode.core.ended is None:
            try:
                if (await episode.await_turn(seat, MAX_WAIT_S)).awaited:
                    await episode.lapse(seat, "call_limit")
            except StorageUnavailable:
                await anyio.sleep(_AGAIN_S)
            except (HarnessFailure, ValueError):  # the rules failed, or the episode was closed meanwhile
                return

    # --- life -------------------------------------------------------------------------------------------------------

    def attach(self, tasks: anyio.abc.TaskGroup | None) -> None:
        """Watch over the episodes in this task group from now on; None stops."""
        self._tasks = tasks
        for episode in self.episodes.values() if tasks is not None else ():
            assert tasks is not None
            tasks.start_soon(self._watch, episode)

    @property
    def tasks(self) -> anyio.abc.TaskGroup | None:
        """The task group in which doors run; None while the host is not served."""
        return self._tasks

    async def _watch(self, episode: Episode) -> None:
        with anyio.CancelScope() as scope:
            self._watching[episode.id] = scope
            await self._see_to_its_end(episode)

    async def _see_to_its_end(self, episode: Episode) -> None:
        try:
            # Budgets that an earlier process used up: their seats are still to be stood in for.
            for (name, _), gate in list(self._gates.items()):
                if name == episode.id:
                    gate.say_if_spent()
            episode.on_change(lambda: self._mind_the_size(episode.id))
            self._mind_the_size(episode.id)
            given_up = await self._out_of_time(episode)
            if given_up is not None:
                await self._end(episode, given_up)
            await episode.wait_ended()
            _log.info("episode ended", extra={"episode": episode.id, "reason": episode.core.ended})
            if given_up == IDLE:
                # Nobody is there who could still look at it, and somebody may wait for its place.
                await self.retire(episode.id)
            elif self._linger_s is not None:
                await anyio.sleep(self._linger_s)
                await self.retire(episode.id)
        except Exception:  # the fault of one episode must not end the others
            _log.exception("%s is no longer watched", episode.id)

    async def _out_of_time(self, episode: Episode) -> EndReason | None:
        """Wait until the episode is over, or no longer may go on: then the reason."""
        began = time.monotonic()
        while True:
            left = {TTL: self._seconds_left(episode), IDLE: self._seconds_to_idle(episode, began)}
            reason, seconds = min(left.items(), key=lambda item: item[1])
            if seconds <= 0 and episode.core.ended is None:
                return reason
            with anyio.move_on_after(seconds):
                await episode.wait_ended()
                return None

    def _seconds_left(self, episode: Episode) -> float:
        """What is left of the time to live, which also runs while the host is down; infinite where it has none."""
        most = _shorter(self._ttl_s, self._terms(episode.id).ttl_s)
        # By the wall clock, because the time also counts while no host runs.
        return most if most == inf else most - (datetime.now(UTC) - created_at(episode)).total_seconds()

    def _seconds_to_idle(self, episode: Episode, began: float) -> float:
        """For how long the clients of all seats may still be silent; infinite where nothing limits that.

        Counted from the last call of a seat or its answer, and from `began` before the first: no client can call while
        the host is down.
        """
        most = _shorter(self._idle_s, self._terms(episode.id).idle_s)
        if most == inf:
            return most
        # Of seats alone: whoever only watches keeps no episode alive.
        gates = (self._gates.get((episode.id, seat)) for seat in episode.core.market.seats)
        silences = [gate.quiet_s() for gate in gates if gate is not None]
        return most - min((time.monotonic() - began, *(silence for silence in silences if silence is not None)))

    def _mind_the_size(self, name: str) -> None:
        """End an episode whose log has as many bytes as it may; asked after each call, and where a phase closes."""
        episode, most = self.episodes.get(name), self._episode_bytes
        if self._tasks is None or episode is None or most is None or name in self._too_large:
            return
        if episode.core.ended is None and episode.stored.total() >= most:
            self._too_large.add(name)
            self._tasks.start_soon(self._end, episode, "truncated:storage_limit")

    async def _end(self, episode: Episode, reason: EndReason) -> None:
        while episode.core.ended is None:
            try:
                await episode.end(reason)
            except StorageUnavailable:
                await anyio.sleep(_AGAIN_S)

    # --- going down -------------------------------------------------------------------------------------------------

    async def drain(self, patience_s: float) -> None:
        """Let each episode finish its round, then take no more calls for it. Takes `patience_s` seconds at most."""
        self.draining = True
        _log.info("draining", extra={"episodes": len(self.episodes), "patience_s": patience_s})
        # Rounds that take longer stay open; a later host goes on with them.
        with anyio.move_on_after(patience_s):
            async with anyio.create_task_group() as group:
                for episode in list(self.episodes.values()):
                    group.start_soon(self._rest, episode)

    async def _rest(self, episode: Episode) -> None:
        changed = asyncio.Event()
        forget = episode.on_change(changed.set)
        try:
            while episode.core.ended is None and not episode.between_rounds:
                await changed.wait()
                changed.clear()
        finally:
            forget()
        # From now on the gate of the episode is closed.
        self._resting.add(episode.id)

    def _tidy_soon(self) -> None:
        if self._tidying is None:
            delay = max(_TIDY_DELAY_S, _TIDY_SHARE * self._tidy_s)
            self._tidying = asyncio.get_running_loop().call_later(delay, self._tidy)

    def _tidy(self) -> None:
        """Return the memory of closed episodes.

        Servers and sessions refer to each other, so only the collector frees them.
        """
        self._tidying = None
        begun = time.thread_time()
        collect()
        give_memory_back()
        self._tidy_s = time.thread_time() - begun

    # --- the registry -----------------------------------------------------------------------------------------------

    @contextmanager
    def saved_once(self) -> Generator[None]:
        """Write the registry once, at the end of the body. The body must not await: a crash would lose what it did."""
        self._unsaved += 1
        try:
            yield
        finally:
            self._unsaved -= 1
            self._save()

    def _save_soon(self) -> None:
        """Write the registry a little later: for what a restart finds out anyway, such as the end of an episode."""
        if self._saving is None:
            self._saving = asyncio.get_running_loop().call_later(_SAVE_DELAY_S, self._save)

    def _save(self) -> None:
        if self._unsaved:
            return
        if self._saving is not None:
            # A write that was due later is made now.
            self._saving.cancel()
            self._saving = None
        if self.folder is not None:
            traces = {name: episode.path.name for name, episode in self.episodes.items()}
            file = HostFile(traces, self.tokens, self._orders(), self.control, self._begun_terms(), self.logs.address)
            try:
                save_host_file(self.folder, file)
            except OSError as error:
                raise StorageUnavailable(f"{self.folder}: the registry cannot be written: {error.strerror}") from None

    def _begun_terms(self) -> dict[str, Terms]:
        return {name: terms for name, terms in self.terms_of.items() if name in self.episodes}

    def _orders(self) -> dict[str, Order]:
        return {name: wanted.order for name, wanted in self.pending.items()}


def _shorter(*limits: float | None) -> float:
    """The host's own limit or the order's, in seconds; infinite where there is none."""
    return min((limit for limit in limits if limit is not None), default=inf)


def give_memory_back() -> None:
    """Ask glibc to return freed memory that its arenas keep, one per thread. Does nothing on other systems."""
    if sys.platform == "linux":
        import ctypes

        # Not there with another libc, such as that of Alpine.
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def created_at(episode: Episode) -> datetime:
    """When an episode was created; now where its manifest does not say, as anyone may have edited it."""
    try:
        made = datetime.fromisoformat(str(episode.manifest.about.get("created")))
    except ValueError:
        return datetime.now(UTC)
    return made if made.tzinfo is not None else made.replace(tzinfo=UTC)
