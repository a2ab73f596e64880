"""A seat of one episode on standard input and output: what `tradefair serve` plays, and goes on with."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tradefair.contract import ScenarioError, SeatId, TraceError, TradefairError
from tradefair.contract.kernel.core import Core
from tradefair.host.commands.asked import Asked, notice, say_where_it_belongs
from tradefair.host.commands.host_flags import ServeFlags
from tradefair.host.episode.episode import Episode
from tradefair.host.episode.setup import make_folder, new_episode, reopen_episode, resolved, scripted_seats, seating_of
from tradefair.host.episode.unbegun import Begun, First, Playable, Unbegun
from tradefair.host.sandbox.running import Sandbox
from tradefair.host.server.binding import build_server
from tradefair.host.server.going_on import Game, find, turn_of
from tradefair.host.server.opening import NOTHING, Heard
from tradefair.host.server.pipes import leave_on_signals, run_on_pipes
from tradefair.tracestore import find_traces


async def run_serve(asked: Asked, serving: ServeFlags, heard: Heard = NOTHING) -> None:
    """Serve one seat on standard input and output until the client goes; `heard`: what was read of it before."""
    with Sandbox() as sandbox:
        await _serve(await unbegun(asked, sandbox, go_on=serving.go_on), asked.seat, serving, heard)


async def run_resumed(path: Path, seat: str, serving: ServeFlags) -> None:
    """Serve a seat of a trace's episode, by default its first one, until the client goes."""
    with Sandbox() as sandbox:
        episode = await reopen_episode(_one_trace(path), sandbox=sandbox)
        try:
            served = seat or _outside_seats(episode)[0]
            say_where_it_belongs(episode.core.market_type, episode.core.scenario, served)
            notice(_line(episode))
            await _serve(episode, served, serving)
        finally:
            await episode.close()


async def _serve(episode: Playable, seat: SeatId, serving: ServeFlags, heard: Heard = NOTHING) -> None:
    async def close() -> None:
        await episode.close()
        begun = episode if isinstance(episode, Episode) else episode.episode
        if begun is not None and begun.core.ended is None:
            again = "the same command" if serving.go_on else f"tradefair serve --resume {begun.path}"
            notice(f"not over; to go on: {again}")

    try:
        if serving.wait is not None:
            episode.wait_s = serving.wait
        leave_on_signals(close)
        await run_on_pipes(build_server(episode, seat, transport="stdio", manner=serving.manner), heard)
    finally:
        await close()


async def unbegun(asked: Asked, sandbox: Sandbox, *, go_on: bool) -> Unbegun:
    """A seat of an episode that the first call begins, or with `go_on` finds.

    What can be wrong is said now and not to that call. Raises ScenarioError.
    """
    kind, scenario, plan, seed, fixed_seed, folder = asked
    known, _ = await resolved(kind, scenario)
    core = await asyncio.to_thread(Core.create, kind, known, seed)
    seating = seating_of(kind, known, plan, compared=plan.agents)
    await asyncio.to_thread(scripted_seats, kind, known, seating, seed)
    core.start(seating)
    game = Game(core.manifest, seating, fixed_seed)

    async def begin(first: First) -> Begun:
        try:
            if not go_on:
                return Begun(await fresh())
            make_folder(folder)
            async with turn_of(folder):
                found = await find(folder, game, first)
                if found is None:
                    return Begun(await fresh())
                return Begun(said(await reopen_episode(found.path, sandbox=sandbox)), found.over)
        except TradefairError as error:
            notice(str(error))
            raise

    async def fresh() -> Episode:
        return said(await new_episode(kind, scenario, seed, plan, folder, sandbox=sandbox))

    def said(episode: Episode) -> Episode:
        notice(_line(episode))
        return episode

    return Unbegun(core, begin)


def _one_trace(path: Path) -> Path:
    if not path.exists():
        raise ScenarioError(f"--resume {path}: there is no such file")
    found = find_traces(path)
    if len(found) != 1:
        raise ScenarioError(f"--resume {path}: name one of its {len(found)} traces")
    return found[0]


def _outside_seats(episode: Playable) -> list[SeatId]:
    found = episode.core.seating.agents
    if not found:
        raise TraceError(f"episode {episode.id}: every seat is scripted; there is none to serve")
    return found


def _line(episode: Episode) -> str:
    core = episode.core
    return f"{core.scenario.id}, seed {core.manifest.seed}, episode {episode.id}; trace {episode.path.absolute()}"
