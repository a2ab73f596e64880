"""The command `view`."""

from __future__ import annotations

import contextlib
import signal
from pathlib import Path
from typing import Annotated

import typer

from tradefair.cli.terminal import tell


def view(
    folder: Annotated[Path, typer.Argument(metavar="DIR", exists=True, file_okay=False, help="A folder of traces.")],
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port on this machine; 0 takes a free one.")] = 0,
    opened: Annotated[bool, typer.Option("--open/--no-open", help="Open the list in a browser.")] = True,
) -> None:
    """List, filter, compare and follow traces in the browser, from this machine only. Ctrl-C ends it.

    The folder is only read. A running episode is followed while it plays.
    """
    from tradefair.evaluation.viewer.server import ViewerServer

    server = ViewerServer(folder, port)
    # What a service manager sends ends it as Ctrl-C does: uvicorn raises its signal again once connections are closed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # Around the announcement too: whoever reads the address may press Ctrl-C at once.
    with contextlib.suppress(KeyboardInterrupt):
        # Flushed before serving begins: tests and scripts read the address from a pipe.
        tell(f"{folder}: {server.url} (Ctrl-C ends)")
        if opened:
            import webbrowser

            webbrowser.open(server.url)
        server.run()
