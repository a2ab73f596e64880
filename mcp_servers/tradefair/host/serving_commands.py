"""The commands `serve`, `host`, `connect` and `config`. Whatever speaks MCP is imported when a command runs."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tradefair.catalog import use_data
from tradefair.cli.logs import LogFormat, LogLevel, log_to_stderr
from tradefair.cli.options import EpisodeFlags, grouped
from tradefair.cli.terminal import print_json
from tradefair.contract.errors import ScenarioError, unknown
from tradefair.host.client_config import CLIENTS, TOKEN_VARIABLE, read_token, snippet
from tradefair.host.host_flags import HostFlags
from tradefair.tracestore import is_whole_store

_Seat = Annotated[str, typer.Option(help="The seat to serve; default: the scenario's first agent seat.")]


@dataclass(frozen=True)
class _Served(EpisodeFlags):
    out: Annotated[Path | None, typer.Option(help="Folder of the trace; default ./runs/<time>-<market>.")] = None


@grouped
def serve(
    episode: _Served,
    seat: _Seat = "",
    resume: Annotated[Path | None, typer.Option(help="Go on with this trace instead of a new episode.")] = None,
) -> None:
    """Serve one seat of one episode on standard input and output, scripted policies on the others.

    This is what a desktop client starts (see `tradefair config`). Standard output carries the protocol only; seed
    and the trace's path are shown on standard error.
    """
    from tradefair.host.launch import run_serve

    use_data(episode.data)
    asyncio.run(run_serve(episode, seat, resume))


@dataclass(frozen=True)
class _Hosted(EpisodeFlags):
    out: Annotated[Path | None, typer.Option(help="Folder of registry and traces; default ./runs/<time>-…")] = None


@grouped
def host(
    episode: _Hosted,
    hosting: HostFlags,
    resume: Annotated[
        Path | None, typer.Option(exists=True, help="Folder of an earlier host: its tokens stay valid.")
    ] = None,
    log_format: Annotated[LogFormat, typer.Option(help="Lines on standard error: text or json.")] = "text",
    log_level: Annotated[LogLevel, typer.Option(help="From which level on.")] = "warning",
) -> None:
    """Host episodes over streamable HTTP, one bearer token per seat.

    Tokens are shown once; only their digests are kept, in host.json in the folder of --out, beside the traces, or with
    the address of the store that holds them. With --control-port episodes are
    made and ended while it runs (tradefair control), and no market need be named. SIGTERM lets open rounds end, takes
    no more requests and closes the episodes; --resume FOLDER goes on with them.
    """
    from tradefair.host.launch import run_host
    from tradefair.host.places import Places, is_loopback

    if not hosting.remote and not is_loopback(hosting.address):
        raise typer.BadParameter(f"{hosting.address} can be reached by others: add --allow-remote if that is meant")
    try:
        Places(hosting.bounds)
    except ValueError as wrong:
        raise typer.BadParameter(f"--proxy takes an IP address: {wrong}") from None
    if hosting.store is not None and not is_whole_store(hosting.store):
        raise typer.BadParameter("--store takes the URL of a PostgreSQL database: postgresql://HOST/DB")
    log_to_stderr(log_format, log_level)
    use_data(episode.data)
    asyncio.run(run_host(episode, hosting, resume))


def connect(
    url: Annotated[str, typer.Argument(help="The host's URL, ending in /mcp.")],
    token_env: Annotated[str, typer.Option(help="Environment variable that holds the token.")] = TOKEN_VARIABLE,
    token_file: Annotated[Path | None, typer.Option(help="File that holds the token, instead.")] = None,
) -> None:
    """Stand for a hosted seat on standard input and output, for clients that cannot open a remote URL.

    The token comes from the environment or a file, never from the command line, which others can see.
    """
    from tradefair.host.connect import run_connect

    asyncio.run(run_connect(url, read_token(token_env, token_file)))


@dataclass(frozen=True)
class _Configured(EpisodeFlags):
    market: Annotated[str, typer.Argument(help="The market to serve; not with --url.")] = ""
    out: Annotated[Path | None, typer.Option(help="Folder of the traces; default ./runs, made absolute.")] = None


@grouped
def config(
    episode: _Configured,
    client: Annotated[str, typer.Option(help=f"Whose configuration: {', '.join(CLIENTS)}.")] = "claude",
    seat: _Seat = "",
    url: Annotated[str, typer.Option(help="A hosted seat's URL: the client goes through `tradefair connect`.")] = "",
) -> None:
    """Print the configuration snippet (JSON) with which a desktop client starts a server.

    Where it goes: claude_desktop_config.json (claude), .cursor/mcp.json (cursor), .vscode/mcp.json (vscode), .mcp.json
    (claude-code).
    """
    if client not in CLIENTS:
        raise ScenarioError(unknown("client", client, CLIENTS))
    if url:
        made = snippet(client, "tradefair", ["connect", url], remote=True)
    else:
        use_data(episode.data)
        made = snippet(client, f"tradefair-{episode.market}", _serve_arguments(episode, seat))
    print_json(made)


def _serve_arguments(episode: EpisodeFlags, seat: str) -> list[str]:
    """The arguments of `serve`, checked, with absolute paths: the client starts it somewhere else."""
    from tradefair.host.launch import choose, seat_alone

    kind, chosen = choose(episode)
    named = episode.scenario
    options = {
        "--scenario": str(Path(named).absolute()) if named.endswith(".toml") else chosen.id,
        "--seat": seat_alone(kind, chosen, seat, episode.others).agents[0],
        "--others": episode.others,
        "--seed": "" if episode.seed is None else str(episode.seed),
        "--data": "" if episode.data is None else str(episode.data.absolute()),
        "--out": str((episode.out or Path("runs")).absolute()),
    }
    given = [word for name, value in options.items() if value for word in (name, value)]
    return ["serve", episode.market, *given, *(word for text in episode.overrides or () for word in ("--set", text))]
