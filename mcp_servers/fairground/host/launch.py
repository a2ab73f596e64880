"""From a command line to a running server: the episodes that `serve` and `host` start or go on with."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import orjson

from fairground.catalog import default_scenario, load_scenario, market_names, market_type
from fairground.contract.errors import HarnessFailure, ScenarioError, TraceError
from fairground.contract.market import MarketType
from fairground.contract.scenario import Scenario, parse_override
from fairground.contract.seats import SeatId
from fairground.host.app import Host, HttpServer, run_stdio
from fairground.host.episode import Episode
from fairground.host.registry import load_host_file
from fairground.host.sandbox import Sandbox
from fairground.host.setup import (
    AGENT,
    SeatPlan,
    default_folder,
    make_folder,
    new_episode,
    new_seed,
    plan_seats,
    reopen_episode,
)
from fairground.tracestore import find_traces

__all__ = ["EpisodeOptions", "HostOptions", "choose", "run_host", "run_serve", "seat_alone"]


class EpisodeOptions(NamedTuple):
    """What to play: names as they were given, empty or None where nothing was said."""

    market: str
    scenario: str
    others: str
    seed: int | None
    overrides: Sequence[str]
    out: Path | None


class HostOptions(NamedTuple):
    """Where and how to host."""

    seats: str
    episodes: int
    address: str
    port: int
    names: Sequence[str]
    body_limit: int
    linger_s: float
    until_over: bool
    as_json: bool


def choose(options: EpisodeOptions) -> tuple[MarketType, Scenario]:
    """The market and its scenario (the first one by default). Raises ScenarioError."""
    if not options.market:
        raise ScenarioError(f"name a market: {', '.join(market_names())}")
    kind = market_type(options.market)
    name = options.scenario or default_scenario(options.market)
    return kind, load_scenario(options.market, name, dict(map(parse_override, options.overrides)))


def seat_alone(kind: MarketType, scenario: Scenario, seat: str, others: str) -> SeatPlan:
    """One seat played from outside, by default the scenario's first agent seat; policies on all others."""
    if not seat:
        agents = plan_seats(kind, scenario, others=others or None).agents
        if not agents:
            raise ScenarioError(f"{scenario.id} has no seat for an agent: name one with --seat")
        seat = agents[0]
    return plan_seats(kind, scenario, agents=[seat], others=others or None)


async def run_serve(options: EpisodeOptions, seat: str, resume: Path | None) -> None:
    """Serve one seat on standard input and output until the client goes."""
    with Sandbox() as sandbox:
        if resume is None:
            kind, scenario = choose(options)
            plan = seat_alone(kind, scenario, seat, options.others)
            episode = await _new(kind, scenario, options, plan, _folder(options), sandbox)
        else:
            episode = await reopen_episode(_one_trace(resume), sandbox=sandbox)
        try:
            _say(_line(episode))
            await run_stdio(episode, seat or _outside_seats(episode)[0])
        finally:
            await episode.close()
        if episode.core.ended is None:
            _say(f"not over; to go on: fairground serve --resume {episode.path}")


async def run_host(options: EpisodeOptions, hosting: HostOptions, resume: Path | None) -> None:
    """Host episodes over HTTP until SIGTERM, or until they are over. Raises HarnessFailure for a taken address."""
    with Sandbox() as sandbox:
        folder = resume or _folder(options)
        if resume is None:
            host, tokens = await _fresh_host(options, hosting, folder, sandbox)
        else:
            host, tokens = await _reopened_host(hosting, folder, sandbox), {}
        try:
            await _serve_host(host, hosting, folder, tokens)
        finally:
            await host.close()


async def _serve_host(host: Host, hosting: HostOptions, folder: Path, tokens: Mapping[tuple[str, SeatId], str]) -> None:
    try:
        server = HttpServer(host, address=hosting.address, port=hosting.port, public_names=hosting.names)
    except OSError as error:
        raise HarnessFailure(f"cannot listen on {hosting.address} port {hosting.port}: {error.strerror}") from None

    def announce() -> None:
        report = _report(host, server.url, folder, tokens)
        print(orjson.dumps(report).decode() if hosting.as_json else _readable(report), flush=True)

    async def stop_when_empty() -> None:
        await host.wait_empty()
        server.stop()

    hosted = dict(host.episodes)
    stopping = asyncio.create_task(stop_when_empty()) if hosting.until_over else None
    try:
        await server.serve(announce)
    finally:
        if stopping is not None:
            stopping.cancel()
        _say_farewell(hosted, folder)


async def _fresh_host(
    options: EpisodeOptions, hosting: HostOptions, folder: Path, sandbox: Sandbox
) -> tuple[Host, dict[tuple[str, SeatId], str]]:
    kind, scenario = choose(options)
    plan = plan_seats(kind, scenario, agents=_named(kind, scenario, hosting.seats), others=options.others or None)
    if not plan.agents:
        raise ScenarioError(f"{scenario.id} has no seat for an agent: name some with --seats")
    make_folder(folder)
    host = Host(folder, body_limit=hosting.body_limit, linger_s=hosting.linger_s)
    for index in range(hosting.episodes):
        seed = None if options.seed is None else options.seed + index
        host.add(await _new(kind, scenario, options._replace(seed=seed), plan, folder, sandbox))
    tokens = {(name, seat): host.invite(name, seat)[0] for name in host.episodes for seat in plan.agents}
    return host, tokens


async def _reopened_host(hosting: HostOptions, folder: Path, sandbox: Sandbox) -> Host:
    """The host of a folder as it was; episodes that ended meanwhile are left out, and their tokens expire."""
    file = load_host_file(folder)
    host = Host(folder, tokens=file.tokens, body_limit=hosting.body_limit, linger_s=hosting.linger_s)
    try:
        for name in file.traces.values():
            episode = await reopen_episode(folder / name, sandbox=sandbox)
            host.add(episode)
            if episode.core.ended is not None:
                await host.retire(episode.id)
    except BaseException:
        await host.close()
        raise
    if not host.episodes:
        raise TraceError(f"{folder}: every episode is over; there is nothing to go on with")
    return host


async def _new(
    kind: MarketType, scenario: Scenario, options: EpisodeOptions, plan: SeatPlan, folder: Path, sandbox: Sandbox
) -> Episode:
    seed = new_seed() if options.seed is None else options.seed
    return await new_episode(kind, scenario, seed, plan, folder, sandbox=sandbox)


def _named(kind: MarketType, scenario: Scenario, text: str) -> list[SeatId] | None:
    if text == "all":
        return list(kind.create(scenario, 0).seats)
    return [seat.strip() for seat in text.split(",")] if text else None


def _folder(options: EpisodeOptions) -> Path:
    """The trace's folder; desktop clients start servers in folders where nothing can or should be written."""
    if options.out is not None:
        return options.out
    here = Path.cwd()
    writable = here != Path(here.anchor) and os.access(here, os.W_OK)
    return (here if writable else Path(tempfile.gettempdir()) / "fairground") / default_folder(options.market)


def _one_trace(path: Path) -> Path:
    if not path.exists():
        raise ScenarioError(f"--resume {path}: there is no such file")
    found = find_traces(path)
    if len(found) != 1:
        raise ScenarioError(f"--resume {path}: name one of its {len(found)} traces")
    return found[0]


def _outside_seats(episode: Episode) -> list[SeatId]:
    seats: Mapping[SeatId, str] = episode.manifest.about.get("seats", {})
    found = [seat for seat in episode.core.market.seats if seats.get(seat, AGENT) == AGENT]
    if not found:
        raise TraceError(f"{episode.path}: every seat is scripted; there is none to serve")
    return found


# --- what is shown ------------------------------------------------------------------------------------------------


def _say(line: str) -> None:
    """Standard output belongs to the protocol."""
    print(f"fairground: {line}", file=sys.stderr, flush=True)


def _line(episode: Episode) -> str:
    core = episode.core
    return f"{core.scenario.id}, seed {core.manifest.seed}, episode {episode.id}; trace {episode.path.absolute()}"


def _say_farewell(hosted: Mapping[str, Episode], folder: Path) -> None:
    """How the episodes stand when serving ends, where they are, and how to go on with those that are not over."""
    ends = Counter(episode.core.ended or "not over" for episode in hosted.values())
    counts = ", ".join(f"{count} {end}" for end, count in sorted(ends.items()))
    _say(f"no longer serving; episodes: {counts}; traces in {folder.absolute()}")
    if ends["not over"]:
        _say(f"to go on: fairground host --resume {folder}")


def _report(host: Host, url: str, folder: Path, tokens: Mapping[tuple[str, SeatId], str]) -> dict[str, object]:
    """What `--json` prints. A token is null where it was shown before a restart."""
    episodes = [
        {
            "episode": episode.id,
            "scenario": episode.core.scenario.id,
            "seed": episode.core.manifest.seed,
            "trace": str(episode.path.absolute()),
            "seats": [
                {"seat": grant.seat, "grant": grant.id, "token": tokens.get((episode.id, grant.seat))}
                for grant in host.tokens
                if grant.episode == episode.id and not grant.revoked
            ],
        }
        for episode in host.episodes.values()
    ]
    return {"url": url, "folder": str(folder.absolute()), "episodes": episodes}


def _readable(report: Mapping[str, object]) -> str:
    lines = [f"serving {report['url']} (health at /health); registry and traces in {report['folder']}"]
    episodes = report["episodes"]
    assert isinstance(episodes, list)
    for episode in episodes:  # pyright: ignore[reportUnknownVariableType]
        lines.append("{episode}: {scenario}, seed {seed}, trace {trace}".format_map(episode))  # pyright: ignore[reportUnknownArgumentType]
        for seat in episode["seats"]:  # pyright: ignore[reportUnknownVariableType]
            lines.append(f"  {seat['seat']}: {seat['token'] or '(token as shown before)'}")
    lines.append("Clients send the header  Authorization: Bearer <token>. Tokens are not shown again.")
    return "\n".join(lines)
