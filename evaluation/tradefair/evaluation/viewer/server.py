"""The viewer on a socket of this machine."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn

from tradefair.cli.ports import listen
from tradefair.evaluation.report.build import Ledgers
from tradefair.evaluation.viewer.app import viewer_app
from tradefair.evaluation.viewer.folder import Folder

_LOOPBACK = "127.0.0.1"


class ViewerServer:
    """Serves one folder. `port` 0 takes a free one; `url`, this machine's, is known before anything is served.
    `ledgers` says what turns lost; without it no page does.

    A folder of traces has no access control: `address` is the loopback, or that of a container whose port only its own
    machine can reach. Either way this machine's names alone are answered. Raises ScenarioError when the port cannot be
    had.
    """

    def __init__(self, folder: Folder, port: int = 0, address: str = _LOOPBACK, ledgers: Ledgers | None = None) -> None:
        # Bound here and not by uvicorn: the port is known at once, and a taken port is a typed error.
        self._socket = listen(address, port)
        self.port: int = self._socket.getsockname()[1]
        self.url = f"http://{_LOOPBACK}:{self.port}/"
        # Only these Host values are answered; see `Shield` for the attack that this prevents.
        app = viewer_app(folder, [f"{name}:{self.port}" for name in (_LOOPBACK, "localhost")], ledgers)
        self._server = _Server(
            # No WebSockets and no server header: the pages poll, and less is offered to whoever probes the port.
            uvicorn.Config(app, log_level="warning", access_log=False, ws="none", server_header=False)
        )

    def run(self, on_ready: Callable[[], None] | None = None) -> None:
        """Serve until `stop` or Ctrl-C (KeyboardInterrupt); `on_ready` is called once requests are answered."""
        self._server.on_ready = on_ready
        self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """Let `run` return, from any thread."""
        self._server.should_exit = True


class _Server(uvicorn.Server):
    """Says when it is ready: from then on signals are its own, and none can hit a loop that is half made."""

    on_ready: Callable[[], None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.on_ready is not None:
            self.on_ready()
