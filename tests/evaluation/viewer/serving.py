"""The viewer on a real socket, asked by a client that sends paths and headers as they are."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from tests.waiting import LONG

from tradefair.evaluation.report.build import Ledgers
from tradefair.evaluation.viewer.folder import Folder
from tradefair.evaluation.viewer.server import ViewerServer


class Answer(NamedTuple):
    """Status, headers in lower case, body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return orjson.loads(self.body)


class Client:
    """Asks a viewer; nothing tidies the path."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"

    def ask(self, path: str, method: str = "GET", **headers: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LONG)
        try:
            connection.putrequest(method, path, skip_host="host" in headers)
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.endheaders()
            answer = connection.getresponse()
            return Answer(answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def rows(self) -> dict[str, dict[str, Any]]:
        """The list as the page carries it, by path."""
        page = self.ask("/").body
        data = page[page.index(b'id="data">') + 10 :].partition(b"</script>")[0]
        return {row["path"]: row for row in orjson.loads(data)["listing"]["rows"]}


@contextmanager
def serving(folder: Path | Folder, ledgers: Ledgers | None = None) -> Generator[Client]:
    """A viewer of this folder, in a thread of its own; `ledgers` says what turns lost."""
    server = ViewerServer(Folder(folder) if isinstance(folder, Path) else folder, ledgers=ledgers)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield Client(server.port)
    finally:
        server.stop()
        thread.join(LONG)
