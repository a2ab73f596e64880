"""The commands `serve` and `connect`. Whatever speaks MCP is imported when a command runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tradefair.catalog import use_data
from tradefair.cli.options import EpisodeFlags
from tradefair.cli.options_file import configured
from tradefair.host.clients.client_config import TOKEN_VARIABLE, read_token
from tradefair.host.commands.host_flags import ServeFlags

_Seat = Annotated[str, typer.Option(help="The seat to serve; default: the scenario's first agent seat.")]


@configured("serve", "wait slim-tools refusals")
def serve(episode: EpisodeFlags, serving: ServeFlags, seat: _Seat = "") -> None:
    """Serve one seat of one episode on standard input and output, scripted policies on the others.

    This is what a desktop client starts (see `tradefair config`). The episode begins with the first call; with
    --continue that call goes on with the one that an earlier server left. Standard output carries the protocol only;
    seed and the trace's path are shown on standard error.
    """
    from tradefair.host.commands.asked import ask
    from tradefair.host.seats.plans import asks_outside
    from tradefair.host.server.opening import NOTHING, end_on_signals, hear, seat_opening

    if serving.resume is not None and serving.go_on:
        raise typer.BadParameter("--resume names a trace, --continue looks for one: give one of them")
    use_data(episode.data)
    if serving.resume is not None:
        import asyncio

        from tradefair.host.commands.serve import run_resumed

        asyncio.run(run_resumed(serving.resume, seat, serving))
        return
    with end_on_signals():
        asked = ask(episode, seat, gathered=serving.go_on)
        # What a service completes is not known yet.
        outside = asks_outside(asked.kind, asked.scenario)
        heard = NOTHING if outside else hear(seat_opening(asked.kind, asked.scenario, asked.seat))
        if heard is None:
            return
        # Behind the first answer: what plays takes longer to import than some clients wait for that.
        import asyncio

        from tradefair.host.commands.serve import run_serve

        asyncio.run(run_serve(asked, serving, heard))


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
