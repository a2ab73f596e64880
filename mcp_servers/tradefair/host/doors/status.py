"""The state of a host: what its control plane answers and its status page shows. Nothing here is for seats."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict

from tradefair.contract import SeatError, SeatId
from tradefair.contract.kernel.players import seats_of
from tradefair.host.doors.hosting import Host, created_at
from tradefair.host.episode.orders import Mark
from tradefair.host.server.seat_auth import OBSERVER_SCOPE, GrantScope

if TYPE_CHECKING:
    from tradefair.host.episode.episode import Episode

EpisodeState = Literal["pending", "running", "ended", "closed"]
_LEAST_FREE_BYTES = 16 * 2**20  # with less left, the next batches of many episodes may not fit


class _Report(BaseModel):
    model_config = ConfigDict(frozen=True)


class TokenStatus(_Report):
    """A valid token, without the token itself."""

    grant: str
    scope: GrantScope
    seat: SeatId | None
    # Of an issuer's tokens: whom they name.
    subject: str | None = None


class SeatStatus(_Report):
    """A seat: who decides for it, whether the market waits for it, and what its clients have done so far.

    `idle_s` is in seconds since the last call; None before the first. Counts begin with this process.
    """

    seat: SeatId
    role: str
    player: str
    awaited: bool
    calls: int
    refused_by_host: int
    open_calls: int
    idle_s: float | None


class EpisodeSummary(_Report):
    """An episode in a line. An `ended` one can still be read by its seats; of a `closed` one only the trace is left.

    `task` is the order's name, where it has one; the seed of a `sealed` one is null.
    `slow_disk`: its last small commits took over 5 ms each, so for a minute they are made off the event loop.
    """

    episode: str
    state: EpisodeState
    scenario: str
    seed: int | None
    created: datetime | None
    round: int | None
    phase: str | None
    awaited: int
    events: int
    end_reason: str | None
    trace: str | None
    task: str | None = None
    sealed: bool = False
    slow_disk: bool = False


class EpisodeStatus(EpisodeSummary):
    """An episode with its seats and tokens."""

    seats: list[SeatStatus]
    tokens: list[TokenStatus]


class HostStatus(_Report):
    """The host as a whole. `episodes` are the newest of those asked for, `total` is the number of all of them."""

    ready: bool
    reasons: list[str]
    uptime_s: float
    max_episodes: int
    pending: int
    running: int
    ended: int
    closed: int
    open_doors: int
    resident_mib: float | None
    total: int
    episodes: list[EpisodeSummary]

    @property
    def memory(self) -> str:
        """Memory of the host's process in words."""
        return "unknown" if self.resident_mib is None else f"{self.resident_mib:,.0f} MiB"


async def readiness(host: Host) -> list[str]:
    """The reasons why the host takes no calls or no episodes now; empty when it does.

    Texts name no path and no address: `/health/ready` is answered without a token.
    """
    reasons: list[str] = []
    if host.tasks is None:
        reasons.append("not serving yet")
    if host.draining:
        reasons.append("draining")
    if host.folder is not None:
        reasons += _storage_troubles(str(host.folder))
    if host.space.low():
        reasons.append("low_space: the disk is nearly full")
    if await host.logs.trouble() is not None:  # the reason goes to the log: this answer needs no token
        reasons.append("storage: the store cannot be reached")
    return reasons


def _storage_troubles(folder: str) -> list[str]:
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return [f"storage: {error.strerror}"]
    if not os.access(folder, os.W_OK):
        return ["storage: the folder cannot be written"]
    return ["storage: the disk is full"] if free < _LEAST_FREE_BYTES else []


async def host_status(host: Host, *, state: EpisodeState | None = None, limit: int = 100) -> HostStatus:
    """Figures of the host and up to `limit` episodes, newest first.

    Counts are of the whole host; only `episodes` and `total` follow `state`.
    """
    reasons = await readiness(host)
    alive = [_summary(host, episode) for episode in host.episodes.values()]
    lines = [*_past(host), *alive, *(_pending(host, name) for name in host.pending)]
    # Newest first: they were added last.
    chosen = [line for line in reversed(lines) if state is None or line.state == state]
    ended = sum(line.state == "ended" for line in alive)
    return HostStatus(
        ready=not reasons,
        reasons=reasons,
        uptime_s=round(time.monotonic() - host.started_at, 1),
        max_episodes=host.max_episodes,
        pending=len(host.pending),
        running=len(alive) - ended,
        ended=ended,
        closed=len(host.past),
        open_doors=len(host.doors),
        resident_mib=_resident_mib(),
        total=len(chosen),
        episodes=chosen[:limit],
    )


def episode_status(host: Host, name: str) -> EpisodeStatus:
    """One episode with its seats and tokens. Raises SeatError for an unknown one."""
    tokens = [
        TokenStatus(
            grant=grant.id,
            scope=grant.scope,
            seat=None if grant.scope == OBSERVER_SCOPE else grant.seat,
            subject=grant.subject,
        )
        for grant in host.tokens.of(name)
    ]
    if name in host.pending:
        line, seats = _pending(host, name), _ordered_seats(host, name)
    elif name in host.episodes:
        line, seats = _summary(host, host.episodes[name]), _seats(host, host.episodes[name])
    else:
        line, seats = next((past for past in _past(host) if past.episode == name), None), []
    if line is None:
        raise SeatError(f"there is no episode {name[:80]!r} here")
    return EpisodeStatus(**line.__dict__, seats=seats, tokens=tokens)


def seed_words(seed: int | None) -> str:
    """A seed in a line of text."""
    return "sealed seed" if seed is None else f"seed {seed}"


def _summary(host: Host, episode: Episode) -> EpisodeSummary:
    core = episode.core
    clock = core.market.clock
    mark = host.mark(episode.id)
    return EpisodeSummary(
        episode=episode.id,
        state="running" if core.ended is None else "ended",
        scenario=core.scenario.id,
        seed=None if mark.sealed else core.manifest.seed,
        created=created_at(episode).astimezone(UTC),
        round=clock.round,
        phase=clock.phase,
        awaited=0 if core.ended is not None else len(core.market.awaited()),
        events=core.seq,
        end_reason=core.ended,
        trace=host.logs.shown(episode.path),
        task=mark.task,
        sealed=mark.sealed,
        slow_disk=episode.slow_disk,
    )


def _pending(host: Host, name: str) -> EpisodeSummary:
    wanted = host.pending[name]
    return _bare(name, "pending", wanted.scenario.id, wanted.order.seed, None, None, host.mark(name))


def _past(host: Host) -> list[EpisodeSummary]:
    return [
        _bare(name, "closed", past.scenario, past.seed, past.reason, host.logs.shown(past.trace), past.mark)
        for name, past in host.past.items()
    ]


def _bare(
    name: str, state: EpisodeState, scenario: str, seed: int, reason: str | None, trace: str | None, mark: Mark
) -> EpisodeSummary:
    return EpisodeSummary(
        episode=name,
        state=state,
        scenario=scenario,
        seed=None if mark.sealed else seed,
        created=None,
        round=None,
        phase=None,
        awaited=0,
        events=0,
        end_reason=reason,
        trace=trace,
        task=mark.task,
        sealed=mark.sealed,
    )


def _seats(host: Host, episode: Episode) -> list[SeatStatus]:
    core, players = episode.core, episode.seating.players
    awaited = frozenset[str]() if core.ended is not None else core.market.awaited()
    rows: list[SeatStatus] = []
    for seat, spec in core.market.seats.items():
        gate = host.gate(episode.id, seat)
        idle = gate.idle_s()
        rows.append(
            SeatStatus(
                seat=seat,
                role=spec.role,
                player=players[seat].policy or players[seat].label,
                awaited=seat in awaited,
                calls=gate.calls,
                refused_by_host=gate.refused,
                open_calls=gate.open,
                idle_s=None if idle is None else round(idle, 1),
            )
        )
    return rows


def _ordered_seats(host: Host, name: str) -> list[SeatStatus]:
    order, kind, scenario, plan = host.pending[name]
    players = {**plan.seats, **order.labels}
    idle = {"awaited": False, "calls": 0, "refused_by_host": 0, "open_calls": 0, "idle_s": None}
    return [
        SeatStatus.model_validate({"seat": seat, "role": spec.role, "player": players[seat], **idle})
        for seat, spec in seats_of(kind, scenario).items()
    ]


def _resident_mib() -> float | None:
    """Memory of this process now; None where the system does not say (macOS and Windows have no /proc)."""
    # By name, because Windows has no such function.
    sysconf: Callable[[str], int] | None = getattr(os, "sysconf", None)
    if sysconf is None:
        return None
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:
            return round(int(statm.read().split()[1]) * sysconf("SC_PAGE_SIZE") / 2**20, 1)
    except OSError:
        return None
