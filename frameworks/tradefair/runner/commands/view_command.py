"""The command `view`. In the runner because a ledger is played; the pages are made in `evaluation`."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Generator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from tradefair import tracestore
from tradefair.cli.ports import is_loopback
from tradefair.cli.terminal import tell
from tradefair.evaluation.ledger import Extent

if TYPE_CHECKING:
    from tradefair.evaluation.viewer.folder import Folder


def view(
    place: Annotated[str, typer.Argument(metavar="DIR|STORE", help="A folder of traces, or postgresql://HOST/DB.")],
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port on this machine; 0 takes a free one.")] = 0,
    address: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    remote: Annotated[
        bool, typer.Option("--allow-remote", help="Listen on an address that others can reach, as in a container.")
    ] = False,
    map_file: Annotated[
        Path | None, typer.Option("--map", exists=True, help="Map of what the actions of imported agents rest on.")
    ] = None,
    ledger: Annotated[
        Extent, typer.Option(help="What every turn of a trace lost, when its page is opened: see report.")
    ] = Extent.AUTO,
    opened: Annotated[bool, typer.Option("--open/--no-open", help="Open the list in a browser.")] = True,
) -> None:
    """List, filter, compare and follow traces in the browser, from this machine only. Ctrl-C ends it.

    The folder is only read. A running episode is followed while it plays. There is no access control: what is reached
    by others shows them everything.
    """
    if not (remote or is_loopback(address)):
        raise typer.BadParameter(f"{address} can be reached by others: add --allow-remote if that is meant")
    with _folder(place) as folder:
        if map_file is not None:
            from tradefair.evaluation.report.runs import asked_of

            folder.foreign = asked_of(map_file).map
        _serve(folder, place, port, address, ledger, opened=opened)


@contextlib.contextmanager
def _folder(place: str) -> Generator[Folder]:
    """The folder that a place names; of a store, copies that go afterwards."""
    if tracestore.is_whole_store(place):
        from tradefair.evaluation.viewer.mirror import StoreFolder

        with (
            TemporaryDirectory(prefix="tradefair-") as copies,
            contextlib.closing(StoreFolder(place, Path(copies))) as folder,
        ):
            yield folder
        return
    from tradefair.evaluation.viewer.folder import Folder

    if not Path(place).is_dir():
        raise typer.BadParameter(f"{place}: there is no such folder; a store is postgresql://HOST/DB")
    yield Folder(Path(place))


def _serve(folder: Folder, place: str, port: int, address: str, ledger: Extent, *, opened: bool) -> None:
    from tradefair.evaluation.viewer.server import ViewerServer
    from tradefair.runner.commands.report_command import ledgers_for_pages

    server = ViewerServer(folder, port, address, ledgers_for_pages(ledger))
    # What a service manager sends ends it as Ctrl-C does: uvicorn raises its signal again once connections are closed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    shown = tracestore.StorePlace.of(place) if tracestore.is_whole_store(place) else place

    def announce() -> None:
        # Flushed before a request is answered: tests and scripts read the address from a pipe.
        tell(f"{shown}: {server.url} (Ctrl-C ends)")
        if opened:
            import webbrowser

            webbrowser.open(server.url)

    with contextlib.suppress(KeyboardInterrupt):
        # Whoever reads the address may press Ctrl-C at once: it is said when the server minds signals.
        server.run(announce)
