"""A seat of one episode on standard input and output: what `tradefair serve` does, and what `host` shares with it.

Apart from `launch`: a desktop client that starts a server for a glance must not wait for what serves HTTP.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

from tradefair.catalog import default_scenario, load_scenario, market_names, market_type
from tradefair.cli.options import EpisodeFlags
from tradefair.cli.terminal import say
from tradefair.contract import MarketType, Scenario, ScenarioError, SeatId, TraceError, TradefairError
from tradefair.contract.kernel.core import Core
from tradefair.contract.scenario import parse_override
from tradefair.host.commands.host_flags import ServeFlags
from tradefair.host.episode.episode import Episode
from tradefair.host.episode.setup import (
    SeatPlan,
    check_folder,
    check_seed,
    default_folder,
    left_alone,
    make_folder,
    new_episode,
    new_seed,
    plan_seats,
    reopen_episode,
    resolved,
    scripted_seats,
    seating_of,
)
from tradefair.host.episode.unbegun import Begun, First, Playable, Unbegun
from tradefair.host.sandbox.running import Sandbox
from tradefair.host.server.binding import build_server
from tradefair.host.server.going_on import Game, find, turn_of
from tradefair.host.server.pipes import leave_on_signals, open_pipes, typed_into
from tradefair.host.server.wire import Manner
from tradefair.tracestore import find_traces


def choose(options: EpisodeFlags) -> tuple[MarketType, Scenario]:
    """The market and its scenario (the first one by default). Raises ScenarioError."""
    if not options.market:
        raise ScenarioError(f"name a market: {', '.join(market_names())}")
    kind = market_type(options.market)
    name = options.scenario or default_scenario(options.market)
    return kind, load_scenario(options.market, name, dict(map(parse_override, options.overrides or ())))


def seat_alone(kind: MarketType, scenario: Scenario, seat: str, others: str) -> SeatPlan:
    """One seat played from outside, by default the scenario's first agent seat; policies on all others.

    Where other agents would sit, the stand-ins of their roles do.
    """
    if not seat:
        agents = plan_seats(kind, scenario, others=others or None).agents
        if not agents:
            raise ScenarioError(f"{scenario.id} has no seat for an agent: name one with --seat")
        seat = agents[0]
    return left_alone(kind, scenario, plan_seats(kind, scenario, agents=[seat], others=others or None), [seat])


async def run_serve(options: EpisodeFlags, seat: str, serving: ServeFlags) -> None:
    """Serve one seat on standard input and output until the client goes."""
    with Sandbox() as sandbox:
        if serving.resume is None:
            episode = await unbegun(options, seat, serving, sandbox)
        else:
            episode = await reopen_episode(_one_trace(serving.resume), sandbox=sandbox)

        async def close() -> None:
            await episode.close()
            begun = episode if isinstance(episode, Episode) else episode.episode
            if begun is not None and begun.core.ended is None:
                again = "the same command" if serving.go_on else f"tradefair serve --resume {begun.path}"
                notice(f"not over; to go on: {again}")

        try:
            served = seat or _outside_seats(episode)[0]
            if isinstance(episode, Episode):
                _say_where_it_belongs(episode.core, served)
                notice(_line(episode))
            if serving.wait is not None:
                episode.wait_s = serving.wait
            leave_on_signals(close)
            await _run_stdio(episode, served, serving.manner)
        finally:
            await close()


async def unbegun(options: EpisodeFlags, seat: str, serving: ServeFlags, sandbox: Sandbox) -> Unbegun:
    """A seat of an episode that the first call begins, or with `go_on` finds.

    What can be wrong is said now and not to that call. Raises ScenarioError, StorageUnavailable.
    """
    kind, scenario = choose(options)
    plan = seat_alone(kind, scenario, seat, options.others)
    seed = new_seed() if options.seed is None else options.seed
    check_seed(seed)
    folder = folder_of(options, gathered=serving.go_on)
    check_folder(folder)
    known, _ = await resolved(kind, scenario)
    core = await asyncio.to_thread(Core.create, kind, known, seed)
    seating = seating_of(kind, known, plan, compared=plan.agents)
    await asyncio.to_thread(scripted_seats, kind, known, seating, seed)
    core.start(seating)
    game = Game(core.manifest, seating, options.seed)

    async def begin(first: First) -> Begun:
        try:
            if not serving.go_on:
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

    _say_where_it_belongs(core, plan.agents[0])
    notice(f"{scenario.id}, seat {plan.agents[0]}; the first call begins an episode, its trace in {folder.absolute()}")
    return Unbegun(core, begin)


async def _run_stdio(episode: Playable, seat: SeatId, manner: Manner) -> None:
    """Serve one seat on standard input and output until the client goes; the caller closes the episode."""
    server = build_server(episode, seat, transport="stdio", manner=manner)
    async with open_pipes() as pipes:
        await server.run(pipes.reading, pipes.writing, server.create_initialization_options())


def folder_of(options: EpisodeFlags, *, gathered: bool = False) -> Path:
    """The trace's folder; desktop clients start servers in folders where nothing can or should be written.

    `gathered`: one for all episodes instead of one for each, so that they are found again.
    """
    if options.out is not None:
        return options.out
    here = Path.cwd()
    writable = here != Path(here.anchor) and os.access(here, os.W_OK)
    own = Path("runs") if gathered else default_folder(options.market or "host")
    return (here if writable else Path(tempfile.gettempdir()) / "tradefair") / own


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


def notice(line: str) -> None:
    """Standard output belongs to the protocol."""
    say(f"tradefair: {line}")


def _say_where_it_belongs(core: Core, seat: SeatId) -> None:
    """To a person who has typed the command of a client."""
    if typed_into():
        put = f"tradefair config {core.manifest.market} --scenario {core.scenario.id} --seat {seat}"
        notice(f"this speaks MCP on standard input; put it into a client: {put}")


def _line(episode: Episode) -> str:
    core = episode.core
    return f"{core.scenario.id}, seed {core.manifest.seed}, episode {episode.id}; trace {episode.path.absolute()}"
