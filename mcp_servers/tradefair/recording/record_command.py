"""The command `record`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tradefair.contract.bounds import RECORDER_PORT


def record(
    out: Annotated[Path, typer.Option("--out", help="Folder of the traces; one per session.")],
    command: Annotated[list[str] | None, typer.Argument(metavar="-- CMD ARGS…", help="The server to start.")] = None,
    url: Annotated[str, typer.Option(help="The URL of a running server, instead of a command.")] = "",
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="With --url: where clients find the recorder, at /mcp; 0: any.")
    ] = RECORDER_PORT,
    name: Annotated[str, typer.Option(help="How the traces' names begin; default: the command's or host's.")] = "",
    redact: Annotated[
        list[str] | None, typer.Option(metavar="REGEX", help="What else is a secret; may be repeated.")
    ] = None,
    redact_field: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Further fields of secrets.")] = None,
    keep_field: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Fields that hold no secret.")] = None,
    redact_unknown: Annotated[
        bool, typer.Option(help="Take out what looks random, from 24 characters on; default: yes.")
    ] = True,
    digest_results: Annotated[bool, typer.Option("--digest-results", help="Keep answers as size and digest.")] = False,
    lossy: Annotated[bool, typer.Option("--lossy", help="Go on unrecorded when the log cannot be written.")] = False,
) -> None:
    """Record what an agent and an MCP server say to each other, as a trace per session.

    tradefair record --out runs/live -- npx -y some-mcp-server stands in the client's configuration in the place of the
    server's command. With --url, clients open http://127.0.0.1:8931/mcp in the place of the server's address. Every
    byte is passed on as it is. Passwords, tokens and keys are taken out before anything is written, by the table of
    docs/reference/redaction.md; one of no known name, place or shape is not found. The exit code is the server's, or 3
    when the log cannot be written.
    """
    from tradefair.recording.direct import Taken, Wish, carried_out

    if bool(command) == bool(url):
        raise typer.BadParameter(
            "name the server to start, or its --url: tradefair record --out runs/live -- CMD ARGS, or --url URL"
        )
    taken = Taken(redact or (), redact_field or (), keep_field or (), redact_unknown)
    wish = Wish(out, name, taken, digest_results, lossy, command or (), url, port)
    raise typer.Exit(carried_out(wish))
