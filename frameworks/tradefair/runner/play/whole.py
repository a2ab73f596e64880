"""Episodes that no outside seat can join: played through Core at once, and their traces written whole.

No client waits for a commit, so there is nobody to serve while they are played: a run that is stopped leaves a
finished trace or none (docs/explanation/why/runner.md). Events, their order and their hashes are those of the live
episode; only the notes of a live run are missing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Any

from tradefair.contract import HarnessFailure, MarketType, Scenario
from tradefair.contract.kernel.core import Core
from tradefair.contract.kernel.players import Seating
from tradefair.host.episode.setup import SOFTWARE, remarks_of, scripted_seats
from tradefair.host.seats.scripted import Scripted
from tradefair.tracestore import Manifest, Written, write_trace


def play_whole(
    path: Path,
    kind: MarketType,
    scenario: Scenario,
    seed: int,
    seating: Seating,
    episode_id: str,
    *,
    stopped: Callable[[], bool] = lambda: False,
) -> Manifest:
    """Play a closed episode to its end and write its trace; the manifest of what is written.

    Raises HarnessFailure when a policy or the rules fail, and where `stopped` says so between two phases;
    ScenarioError, StorageUnavailable. Then nothing is written.
    """
    core = Core.create(kind, scenario, seed)
    scripted = scripted_seats(kind, scenario, seating, seed)
    remarks = remarks_of(kind, scenario)
    about: dict[str, Any] = {
        "episode": episode_id,
        "created": _now(),
        "software": SOFTWARE,
        # Left out where there are none, as in a live episode: both write the same manifest.
        **({"remarks": remarks} if remarks else {}),
    }
    # Written while it is played: a long episode need not fit into memory.
    return write_trace(path, core.manifest, about, _played(core, scripted, seating, about, stopped), compact=True)


async def play_whole_aside(
    path: Path, kind: MarketType, scenario: Scenario, seed: int, seating: Seating, episode_id: str
) -> Manifest:
    """As `play_whole`, in a thread: the event loop has other things to do. Cancelled, it stops after the open phase."""
    stop = Event()
    try:
        return await asyncio.to_thread(play_whole, path, kind, scenario, seed, seating, episode_id, stopped=stop.is_set)
    finally:
        # A thread cannot be cancelled, and the interpreter waits for it when it ends.
        stop.set()


def _played(
    core: Core, scripted: Scripted, seating: Seating, about: dict[str, Any], stopped: Callable[[], bool]
) -> Iterator[Written]:
    """The events of the episode, each as it happens; `about` gets what is known at the end."""
    records = core.start(seating).records
    while True:
        # The time of day of a phase, and not of each event: nothing was waited for in between.
        at_ms = int(time.time() * 1000)
        for record in records:
            yield Written(record, None, at_ms)
        if core.ended is not None:
            break
        records = scripted.run(core)
        # Without this a market that awaits no seat would loop here without end.
        if not records:
            raise HarnessFailure(f"{core.scenario.id} awaits no seat and does not end")
        if stopped():
            raise HarnessFailure(f"{core.scenario.id} was stopped")
    about |= {"finished": _now(), **end_of(core)}


def end_of(core: Core) -> dict[str, Any]:
    """What a manifest says of the end of an episode in which nobody waited."""
    return {"end_reason": core.ended, "outcome_digest": core.outcome_digest, "awaits": 0}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
