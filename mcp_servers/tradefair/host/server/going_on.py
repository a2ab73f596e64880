"""`serve --continue`: the newest unfinished episode of the same game in a folder, for clients with a process per call.

Such a client ends one server and starts the next between any two calls, and makes some of them at the same time.
"""

from __future__ import annotations

import asyncio
import stat
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from tradefair.contract import TraceError
from tradefair.contract.kernel.event import ManifestCore
from tradefair.contract.kernel.players import Seating
from tradefair.host.episode.unbegun import First
from tradefair.tracestore import Manifest, Trace, open_trace
from tradefair.tracestore.locks import Lease, held

# Seconds that a first call waits for a process that plays the episode: calls made at once come one after the other,
# and a client that keeps its server does not hold up another one for long.
_PATIENCE_S = 4.0
_PAUSE_S = 0.05
# Seconds that an episode of an earlier process can still be looked at after its end, as on a host: a client with a
# process per call asks once more, and would begin another episode instead of learning that this one is over.
_LINGER_S = 60.0
# How long a trace that cannot be read may still be one that its writer closes.
_JUST_NOW_NS = 2_000_000_000
_MOST = 500  # traces of a folder that are looked at, the newest first


class Game(NamedTuple):
    """What makes an episode the same game: market, rules, tools and scenario, who plays, the seed (None: any)."""

    core: ManifestCore
    seating: Seating
    seed: int | None

    def played_in(self, manifest: Manifest, seating: Seating) -> bool:
        """Whether a trace is of this game, and was neither forked nor imported."""
        core = manifest.core
        wanted = self.core.model_copy(update={"drawn_from": core.seed if self.seed is None else self.seed})
        return core == wanted and seating.origin is None and seating.players == self.seating.players


class Found(NamedTuple):
    """A trace to go on with, or with `over` one to show."""

    path: Path
    over: bool


@asynccontextmanager
async def turn_of(folder: Path) -> AsyncGenerator[None]:
    """One process at a time looks for an episode in the folder, and makes one where there is none."""
    lease: Lease | None = None
    # Without the lease after a while: a process that hangs must not keep all others from playing.
    deadline = asyncio.get_running_loop().time() + _PATIENCE_S
    while lease is None and asyncio.get_running_loop().time() < deadline:
        try:
            lease = await asyncio.to_thread(Lease, folder / "continue")
        except TraceError:
            await asyncio.sleep(_PAUSE_S)
    try:
        yield
    finally:
        if lease is not None:
            lease.release()


async def find(folder: Path, game: Game, first: First) -> Found | None:
    """The newest unfinished episode of the game that no process plays; None where there is none.

    Where the newest of all is over, that one: for a look within a minute, and for a call that it has answered before.
    """
    deadline = asyncio.get_running_loop().time() + _PATIENCE_S
    while True:
        with suppress(_Unsettled):
            found = await asyncio.to_thread(_newest, folder, game, first)
            if found is None or found.over or not held(found.path):
                return found
        if asyncio.get_running_loop().time() >= deadline:
            return None
        await asyncio.sleep(_PAUSE_S)


class _Unsettled(Exception):
    """A trace that was written just now cannot be read: its writer may be closing it."""


def _newest(folder: Path, game: Game, first: First) -> Found | None:
    newest = True
    for trace in _of_game(folder, game):
        if not trace.manifest.sealed:
            return Found(trace.path, over=False)
        if newest and _still_asked(trace, first):
            return Found(trace.path, over=True)
        newest = False
    return None


def _still_asked(trace: Trace, first: First) -> bool:
    # Whoever lost the answer of its last action asks for it with the same key.
    repeated = first.key is not None and any(row.call_key == first.key for row in trace.side())
    return repeated or (first.looks and _ago_s(trace.manifest.about) < _LINGER_S)


def _of_game(folder: Path, game: Game) -> Iterator[Trace]:
    """The folder's traces of the game, each open while it is looked at, the one that was written last first."""
    found = ((_written(path), path) for path in folder.glob("*.trace"))
    by_age = [(written, path) for written, path in sorted(found, reverse=True) if written]
    for written, path in by_age[:_MOST]:
        try:
            with open_trace(path) as trace:
                if game.played_in(trace.manifest, trace.seatings()[0][1]):
                    yield trace
        except (TraceError, OSError):
            # Damaged, foreign, or gone since: not one to go on with. But one that its writer closes just now loses
            # its log while it is opened.
            if abs(time.time_ns() - written) < _JUST_NOW_NS:
                raise _Unsettled from None


def _written(path: Path) -> int:
    """When a file was written, in nanoseconds; 0 for what is no file: a link could lead out of the folder."""
    try:
        found = path.lstat()
    except OSError:
        return 0
    return found.st_mtime_ns if stat.S_ISREG(found.st_mode) else 0


def _ago_s(about: dict[str, Any]) -> float:
    """Seconds since the end of a sealed episode."""
    try:
        return (datetime.now(UTC) - datetime.fromisoformat(about["finished"])).total_seconds()
    except (KeyError, TypeError, ValueError):
        return _LINGER_S
