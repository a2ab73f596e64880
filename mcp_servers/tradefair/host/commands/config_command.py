"""The command `config`: a seat in the configuration of a client, printed or written into the client's file."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from tradefair.catalog import use_data
from tradefair.cli.options import EpisodeFlags
from tradefair.cli.options_file import configured
from tradefair.cli.terminal import print_bytes, print_json, say, tell
from tradefair.contract.bounds import RECORDER_PORT
from tradefair.contract.errors import ScenarioError, unknown
from tradefair.contract.text import clean_line
from tradefair.host.clients import client_config
from tradefair.host.clients.client_config import LAUNCHERS, Client, Server
from tradefair.host.commands.host_flags import SeatFlags

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True)
class _Configured(EpisodeFlags):
    market: Annotated[str, typer.Argument(help="The market to serve; or a file of options, play.toml.")] = ""
    out: Annotated[Path | None, typer.Option(help="Folder of the traces; default ./runs, made absolute.")] = None


@dataclass(frozen=True)
class _Entry:
    """How the entry is made, and where it goes."""

    client: Annotated[str, typer.Option(help=f"Whose configuration: {', '.join(client_config.clients())}.")] = "claude"
    url: Annotated[str, typer.Option(help="The URL of a hosted seat, ending in /mcp, instead of a market.")] = ""
    record: Annotated[
        str, typer.Option(metavar="NAME", help="Record any server under this name: -- CMD ARGS, or --url.")
    ] = ""
    port: Annotated[int, typer.Option(min=1, max=65_535, help="With --record --url: where the recorder listens.")] = (
        RECORDER_PORT
    )
    token_file: Annotated[
        Path | None, typer.Option(help="The seat's token is in this file: go through `tradefair connect`.")
    ] = None
    name: Annotated[str, typer.Option(help="Name of the server; default: tradefair-<market>, or tradefair.")] = ""
    launcher: Annotated[str, typer.Option(help=f"What starts tradefair: {', '.join(LAUNCHERS)}.")] = "script"
    write: Annotated[bool, typer.Option("--write", help="Merge it into the client's file; a backup stays.")] = False
    file: Annotated[Path | None, typer.Option(help="With --write: this file instead of the client's own.")] = None
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object: file, format, entry, advice.")] = False


@configured(
    "serve",
    "others seed set data wait slim-tools refusals",
    keys="scenario others seed set data out wait slim-tools refusals seat",
)
def config(
    episode: _Configured,
    made: _Entry,
    shown: SeatFlags,  # of the file, which is read to be checked
    seat: Annotated[str, typer.Option(help="The seat to serve; default: the scenario's first agent seat.")] = "",
    command: Annotated[list[str] | None, typer.Argument(metavar="-- CMD ARGS", help="With --record: a server.")] = None,
    config: Path | None = None,
) -> None:
    """Print the configuration with which a client starts a server or opens a hosted seat; --write merges it in.

    With --record it is any MCP server, whose sessions become traces in --out: `config --record NAME -- CMD ARGS`.

    The file and the form are those of the client's own documentation (docs/how-to/seat-a-client.md). A token is never
    part of them: the client refers to the variable TRADEFAIR_TOKEN, asks for it, or reads it from a file.
    """
    if episode.market.endswith(".toml"):
        if made != _Entry(write=made.write):
            raise ScenarioError("a file of options is printed, or written with --write; it takes no other option")
        _print_options(Path(episode.market), write=made.write)
        return
    client = client_config.client_named(made.client)
    launch = client_config.launcher(made.launcher)
    first = [episode.market] if episode.market else []
    if made.record:
        if config or seat or replace(episode, market="", out=None) != _Configured():
            raise ScenarioError(
                "--record is of any server: it goes with --out, --url or -- CMD ARGS, and no market's options"
            )
        _answer(*_recorded(client, launch, made, episode.out or Path("runs"), [*first, *(command or ())]), made)
        return
    if command:
        raise ScenarioError("one market is configured at a time; a server's command goes with --record NAME")
    if made.url:
        if episode.market or config:
            raise ScenarioError("a hosted seat is as its host has it: leave out the market and --config")
        token_file = made.token_file.absolute() if made.token_file else None
        server = Server(_named(made.name or "tradefair"), launch, _checked(made.url), token_file)
    else:
        use_data(episode.data)
        arguments = _serve_arguments(episode, seat, config)
        server = Server(_named(made.name or f"tradefair-{episode.market}"), [*launch, *arguments])
    _answer(client, server, client_config.token_advice(client, server), made)


def _print_options(file: Path, *, write: bool) -> None:
    """Print the file of options of the command that its name says, or write it. Raises ScenarioError."""
    # Imported here: the entry of a client needs no parser of other commands.
    from tradefair.cli.invoke import parser_of
    from tradefair.cli.options_file import CONFIGURED, file_template

    name = file.stem.replace("-", " ")
    if name not in CONFIGURED:
        raise ScenarioError(
            unknown("file of options", file.name, [f"{known.replace(' ', '-')}.toml" for known in CONFIGURED])
        )
    text = file_template(parser_of(name), name)
    if not write:
        tell(text, end="")
        return
    try:
        # Never over what somebody has filled in.
        with file.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise ScenarioError(f"{file}: cannot be written: {error.strerror}") from None
    tell(f"{file}: written; tradefair {name} --config {file}")


def _recorded(
    client: Client, launch: list[str], made: _Entry, out: Path, command: list[str]
) -> tuple[Client, Server, str]:
    """The entry with which a client reaches a server through a recorder, and what is left to do.

    A command is started through it; for a URL the recorder has to run, and the entry holds its address.
    """
    if bool(command) == bool(made.url):
        raise ScenarioError("--record takes a server: -- CMD ARGS, or --url https://example.org/mcp")
    name = _named(made.record)
    record = ["record", "--out", str(out.absolute()), "--name", name]
    if command:
        return client, Server(_named(made.name or name), [*launch, *record, "--", *command]), ""
    line = shlex.join(["tradefair", *record, "--port", str(made.port), "--url", _checked(made.url)])
    local = Server(_named(made.name or name), launch, f"http://127.0.0.1:{made.port}/mcp")
    advice = (
        f"start the recorder first: {line}; what the server asks for, such as a token, goes into this entry as before"
    )
    return client_config.recorded(client), local, advice


def _answer(client: Client, server: Server, advice: str, made: _Entry) -> None:
    """Print the snippet or write it, and say what is left to do."""
    for word in (*server.command, str(server.token_file)):
        # Names of files are bytes; a client's file is text.
        if not word.isprintable():
            raise ScenarioError(f"a path that no client's file can hold: {clean_line(word)[:80]}")
    from tradefair.host.clients.client_files import rendered, write

    written = write(client, server, made.file) if made.write else None
    file = written.file if written else made.file or client.place(server.name)[0]
    snippet = client_config.snippet(client, server)
    line = client_config.shell_line(client, server)
    if made.as_json:
        facts = {"client": made.client, "title": client.title, "page": client.page, "file": str(file)}
        facts |= {"format": client.format, "key": client.key, "name": server.name, "content": snippet}
        facts |= {"token": advice, "line": line, "unconfirmed": client.unconfirmed}
        if written:
            facts |= {"changed": written.changed, "backup": str(written.backup) if written.backup else None}
        print_json(facts)
        return
    if written is None:
        print_bytes(rendered(snippet, client.format).encode())
        say(f"{client.title} reads it from {file}; --write merges it in ({client.page})")
    elif not written.changed:
        tell(f"{file}: already says so")
    else:
        tell(f"{file}: written" + (f"; the file as it was: {written.backup}" if written.backup else ""))
        say(f"start {client.title} again")
    if client.unconfirmed:
        say(f"not in {client.title}'s documentation: {client.unconfirmed}")
    if advice:
        say(advice)
    if line:
        say(f"or: {line}")


def _named(name: str) -> str:
    """A server's name, which every client takes. Raises ScenarioError."""
    if not _NAME.fullmatch(name):
        raise ScenarioError(f"a server's name is 1 to 64 letters, digits, - and _, not '{clean_line(name)[:40]}'")
    return name


def _checked(url: str) -> str:
    """A URL that a client can open. Raises ScenarioError."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None
        _ = parts.port
    except ValueError:
        good = False
    # What clients would read as the name of a variable, and what no URL holds unescaped.
    if not good or not url.isascii() or not url.isprintable() or re.search(r"[\s{}$\"'<>\\^`|]", url):
        # Not repeated: it may hold a password.
        raise ScenarioError("--url takes a host's address, such as http://127.0.0.1:8765/mcp")
    return url


def _serve_arguments(episode: EpisodeFlags, seat: str, config: Path | None) -> list[str]:
    """The arguments of `serve`, checked, with absolute paths: the client starts it somewhere else.

    Its file of options, which was read and holds what is not among them, goes along.
    """
    from tradefair.host.commands.asked import choose, seat_alone

    kind, chosen = choose(episode)
    named = episode.scenario
    options = {
        "--scenario": str(Path(named).absolute()) if named.endswith(".toml") else chosen.id,
        "--seat": seat_alone(kind, chosen, seat, episode.others).agents[0],
        "--data": "" if episode.data is None else str(episode.data.absolute()),
        "--out": str((episode.out or Path("runs")).absolute()),
        "--config": "" if config is None else str(config.absolute()),
    }
    given = [word for name, value in options.items() if value for word in (name, value)]
    # Clients start a server more than once for one game, some for every call.
    return ["serve", episode.market, *given, "--continue"]
