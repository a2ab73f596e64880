"""The commands `serve`, `host` and `connect`. Whatever speaks MCP is imported when a command runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tradefair import tracestore
from tradefair.catalog import use_data
from tradefair.cli.logs import LogFormat, LogLevel, log_to_stderr
from tradefair.cli.options import EpisodeFlags, grouped
from tradefair.cli.ports import is_loopback
from tradefair.host.clients.client_config import TOKEN_VARIABLE, read_token
from tradefair.host.commands.host_flags import HostFlags, ServeFlags

_Seat = Annotated[str, typer.Option(help="The seat to serve; default: the scenario's first agent seat.")]


@dataclass(frozen=True)
class _Served(EpisodeFlags):
    out: Annotated[Path | None, typer.Option(help="Folder of the trace; default ./runs/<time>-<market>.")] = None


@grouped
def serve(episode: _Served, serving: ServeFlags, seat: _Seat = "") -> None:
    """Serve one seat of one episode on standard input and output, scripted policies on the others.

    This is what a desktop client starts (see `tradefair config`). The episode begins with the first call; with
    --continue that call goes on with the one that an earlier server left. Standard output carries the protocol only;
    seed and the trace's path are shown on standard error.
    """
    import asyncio

    from tradefair.host.commands.serve import run_serve

    if serving.resume is not None and serving.go_on:
        raise typer.BadParameter("--resume names a trace, --continue looks for one: give one of them")
    use_data(episode.data)
    asyncio.run(run_serve(episode, seat, serving))


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
    import asyncio

    from tradefair.host.commands.launch import run_host
    from tradefair.host.doors.places import Places

    if not hosting.remote and not is_loopback(hosting.address):
        raise typer.BadParameter(f"{hosting.address} can be reached by others: add --allow-remote if that is meant")
    if hosting.goes_on and episode.out is None:
        raise typer.BadParameter("--continue goes on with the host of a folder: name it with --out")
    try:
        Places(hosting.bounds)
    except ValueError as wrong:
        raise typer.BadParameter(f"--proxy takes an IP address: {wrong}") from None
    if hosting.store is not None and not tracestore.is_whole_store(hosting.store):
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
    import asyncio

    from tradefair.host.commands.connect import run_connect

    asyncio.run(run_connect(url, read_token(token_env, token_file)))
