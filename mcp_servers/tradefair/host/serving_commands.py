"""The commands `serve`, `host`, `connect` and `config`. Whatever speaks MCP is imported when a command runs."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Annotated

import orjson
import typer

from tradefair.catalog import use_data
from tradefair.contract.errors import SeatError
from tradefair.host.client_config import CLIENTS, CONTROL_TOKEN_VARIABLE, TOKEN_VARIABLE, read_token, snippet
from tradefair.host.logs import LogFormat, LogLevel, log_to_stderr
from tradefair.tracestore import is_whole_store

_MIN_CONTROL_TOKEN_CHARS = 20
_MIB = 1_048_576

_Market = Annotated[str, typer.Argument(help="The market, such as double_auction; not with --resume.")]
_Scenario = Annotated[str, typer.Option(help="Scenario id or .toml file; default: the market's first.")]
_Seat = Annotated[str, typer.Option(help="The seat to serve; default: the scenario's first agent seat.")]
_Others = Annotated[str, typer.Option(help="Policy of every other seat; default: the scenario's.")]
_Seed = Annotated[int | None, typer.Option(help="Fixes all chance; default: a fresh one, shown.")]
_Set = Annotated[list[str] | None, typer.Option("--set", help="Scenario value to change: key=value.")]
_Data = Annotated[Path | None, typer.Option("--data", metavar="DIR", help="Folder of data; default: TRADEFAIR_DATA.")]
_Out = Annotated[Path | None, typer.Option(help="Folder of the trace; default ./runs/<time>-<market>.")]


def serve(
    market: _Market = "",
    scenario: _Scenario = "",
    seat: _Seat = "",
    others: _Others = "",
    seed: _Seed = None,
    overrides: _Set = None,
    data: _Data = None,
    out: _Out = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with this trace instead of a new episode.")] = None,
) -> None:
    """Serve one seat of one episode on standard input and output, scripted policies on the others.

    This is what a desktop client starts (see `tradefair config`). Standard output carries the protocol only; seed
    and the trace's path are shown on standard error.
    """
    from tradefair.host.launch import EpisodeOptions, run_serve

    log_to_stderr()
    use_data(data)
    asyncio.run(run_serve(EpisodeOptions(market, scenario, others, seed, overrides or (), out), seat, resume))


def host(
    market: _Market = "",
    scenario: _Scenario = "",
    seats: Annotated[str, typer.Option(help="Seats to invite: B1,S1, or all; default: the scenario's agents.")] = "",
    others: _Others = "",
    seed: _Seed = None,
    overrides: _Set = None,
    data: _Data = None,
    episodes: Annotated[int, typer.Option(min=1, max=1_000, help="Episodes to host, on consecutive seeds.")] = 1,
    address: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen on; 0 takes a free one.")] = 0,
    remote: Annotated[bool, typer.Option("--allow-remote", help="Listen on an address that others can reach.")] = False,
    names: Annotated[list[str] | None, typer.Option("--name", help="Further host name that clients may use.")] = None,
    body_limit: Annotated[int, typer.Option(min=1_024, help="Largest request body in bytes.")] = _MIB,
    out: Annotated[Path | None, typer.Option(help="Folder of registry and traces; default ./runs/<time>-…")] = None,
    store: Annotated[
        str | None,
        typer.Option(envvar="TRADEFAIR_STORE", help="postgresql://HOST/DB for the traces; --out holds the registry."),
    ] = None,
    resume: Annotated[Path | None, typer.Option(help="Folder of an earlier host: its tokens stay valid.")] = None,
    until_over: Annotated[bool, typer.Option("--until-over", help="Exit when no episode is left.")] = False,
    linger: Annotated[float, typer.Option(min=0, help="Seconds that an ended episode can still be read.")] = 60,
    observers: Annotated[int, typer.Option(min=0, max=16, help="Observers to invite to each episode.")] = 0,
    control: Annotated[
        int | None, typer.Option("--control-port", min=0, max=65_535, help="Port of the control plane; default: none.")
    ] = None,
    control_env: Annotated[
        str, typer.Option("--control-token-env", help="Environment variable with its token; unset: one is made.")
    ] = CONTROL_TOKEN_VARIABLE,
    control_file: Annotated[
        Path | None, typer.Option("--control-token-file", help="File that holds its token, instead.")
    ] = None,
    most: Annotated[int, typer.Option("--max-episodes", min=1, max=100_000, help="Episodes to keep at most.")] = 1_000,
    ttl: Annotated[float, typer.Option(min=0, help="Seconds that an episode may last; 0: for ever.")] = 604_800,
    rate: Annotated[float, typer.Option(min=0, help="Calls per second and seat; 0: as many as come.")] = 50,
    burst: Annotated[int, typer.Option(min=1, max=100_000, help="Calls of a seat that may come at once.")] = 200,
    budget: Annotated[int, typer.Option("--call-budget", min=0, help="Calls per seat and episode; 0: any.")] = 0,
    drain: Annotated[float, typer.Option(min=0, help="Seconds that SIGTERM lets open rounds end.")] = 10,
    log_format: Annotated[LogFormat, typer.Option(help="Lines on standard error: text or json.")] = "text",
    log_level: Annotated[LogLevel, typer.Option(help="From which level on.")] = "warning",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object when ready, then serve on.")] = False,
) -> None:
    """Host episodes over streamable HTTP, one bearer token per seat.

    Tokens are shown once; only their digests are kept, in host.json in the folder of --out, beside the traces, or with
    the address of the store that holds them. With --control-port episodes are
    made and ended while it runs (tradefair control), and no market need be named. SIGTERM lets open rounds end, takes
    no more requests and closes the episodes; --resume FOLDER goes on with them.
    """
    from tradefair.host.launch import EpisodeOptions, HostOptions, run_host
    from tradefair.host.listening import is_loopback
    from tradefair.host.quotas import Quotas

    if not remote and not is_loopback(address):
        raise typer.BadParameter(f"{address} can be reached by others: add --allow-remote if that is meant")
    if store is not None and not is_whole_store(store):
        raise typer.BadParameter("--store takes the URL of a PostgreSQL database: postgresql://HOST/DB")
    log_to_stderr(log_format, log_level)
    use_data(data)
    hosting = HostOptions(
        seats=seats,
        episodes=episodes,
        observers=observers,
        address=address,
        port=port,
        names=names or (),
        body_limit=body_limit,
        linger_s=linger,
        until_over=until_over,
        as_json=as_json,
        control_port=control,
        control_token=None if control is None else _control_token(control_env, control_file),
        max_episodes=most,
        ttl_s=ttl or None,
        drain_s=drain,
        quotas=Quotas(rate or None, burst, budget or None),
        store=store,
    )
    asyncio.run(run_host(EpisodeOptions(market, scenario, others, seed, overrides or (), out), hosting, resume))


def connect(
    url: Annotated[str, typer.Argument(help="The host's URL, ending in /mcp.")],
    token_env: Annotated[str, typer.Option(help="Environment variable that holds the token.")] = TOKEN_VARIABLE,
    token_file: Annotated[Path | None, typer.Option(help="File that holds the token, instead.")] = None,
) -> None:
    """Stand for a hosted seat on standard input and output, for clients that cannot open a remote URL.

    The token comes from the environment or a file, never from the command line, which others can see.
    """
    from tradefair.host.connect import run_connect

    log_to_stderr()
    asyncio.run(run_connect(url, read_token(token_env, token_file)))


def config(
    market: Annotated[str, typer.Argument(help="The market to serve; not with --url.")] = "",
    client: Annotated[str, typer.Option(help=f"Whose configuration: {', '.join(CLIENTS)}.")] = "claude",
    scenario: _Scenario = "",
    seat: _Seat = "",
    others: _Others = "",
    seed: _Seed = None,
    overrides: _Set = None,
    data: _Data = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the traces; default ./runs, made absolute.")] = None,
    url: Annotated[str, typer.Option(help="A hosted seat's URL: the client goes through `tradefair connect`.")] = "",
) -> None:
    """Print the configuration snippet (JSON) with which a desktop client starts a server.

    Where it goes: claude_desktop_config.json (claude), .cursor/mcp.json (cursor), .vscode/mcp.json (vscode), .mcp.json
    (claude-code).
    """
    if client not in CLIENTS:
        raise typer.BadParameter(f"{client[:40]!r} is not one of {', '.join(CLIENTS)}")
    if url:
        made = snippet(client, "tradefair", ["connect", url], remote=True)
    else:
        use_data(data)
        arguments = _serve_arguments(market, scenario, seat, others, seed, overrides or [], out, data)
        made = snippet(client, f"tradefair-{market}", arguments)
    print(orjson.dumps(made, option=orjson.OPT_INDENT_2).decode())


def _serve_arguments(
    market: str,
    scenario: str,
    seat: str,
    others: str,
    seed: int | None,
    overrides: list[str],
    out: Path | None,
    data: Path | None,
) -> list[str]:
    """The arguments of `serve`, checked, with absolute paths: the client starts it somewhere else."""
    from tradefair.host.launch import EpisodeOptions, choose, seat_alone

    kind, chosen = choose(EpisodeOptions(market, scenario, others, seed, overrides, out))
    options = {
        "--scenario": str(Path(scenario).absolute()) if scenario.endswith(".toml") else chosen.id,
        "--seat": seat_alone(kind, chosen, seat, others).agents[0],
        "--others": others,
        "--seed": "" if seed is None else str(seed),
        "--data": "" if data is None else str(data.absolute()),
        "--out": str((out or Path("runs")).absolute()),
    }
    given = [word for name, value in options.items() if value for word in (name, value)]
    return ["serve", market, *given, *(word for text in overrides for word in ("--set", text))]


def _control_token(variable: str, file: Path | None) -> str | None:
    """The control plane's token, where one is given. Raises SeatError for one that could be guessed."""
    if file is None and not os.environ.get(variable, "").strip():
        return None
    token = read_token(variable, file)
    if len(token) < _MIN_CONTROL_TOKEN_CHARS:
        raise SeatError(f"the control plane's token needs at least {_MIN_CONTROL_TOKEN_CHARS} random characters")
    return token
