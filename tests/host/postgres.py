"""A PostgreSQL server of one's own on the loopback, from the system's packages."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from tests.waiting import LONGER

_USER = "postgres"
"""Whom the packages make: the server refuses to run as root."""


def missing() -> str | None:
    """Why there can be no server here."""
    if find_spec("psycopg") is None:
        return "psycopg is not installed (extra: postgres)"
    if _programs() is None:
        return "PostgreSQL's programs are not installed (Debian: postgresql)"
    return None


class Server:
    """A server and its one database."""

    def __init__(self, programs: Path, data: Path) -> None:
        self._programs = programs
        self._data = data
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.dsn = f"postgresql://tradefair@127.0.0.1:{self.port}/postgres"

    def make(self) -> None:
        """A fresh cluster."""
        self._run("initdb", "-D", str(self._data), "-A", "trust", "-U", "tradefair", "--no-sync", "-E", "UTF8")

    def start(self) -> None:
        """Returns when it takes connections."""
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
        self._run("pg_ctl", "-D", str(self._data), "-l", str(self._data / "log"), "-o", options, "-w", "start")

    def kill(self) -> None:
        """Without a checkpoint, as after a crash."""
        self._run("pg_ctl", "-D", str(self._data), "-m", "immediate", "-w", "stop")

    def _run(self, program: str, *arguments: str) -> None:
        user = ["runuser", "-u", _USER, "--"] if os.geteuid() == 0 else []
        # Not through pipes: the server keeps the ones of pg_ctl open.
        with (self._data.parent / "said").open("w+") as said:
            done = subprocess.run(
                [*user, str(self._programs / program), *arguments],
                stdout=said,
                stderr=subprocess.STDOUT,
                timeout=LONGER,
                check=False,
                cwd="/",
            )
            said.seek(0)
            assert done.returncode == 0, said.read()


@contextmanager
def running_server() -> Generator[Server]:
    """A server, gone afterwards."""
    programs = _programs()
    assert programs is not None
    # Not in pytest's folders: those are closed to the server's user.
    folder = Path(tempfile.mkdtemp(prefix="tradefair-postgres-"))
    server = Server(programs, folder / "data")
    if os.geteuid() == 0:
        shutil.chown(folder, _USER)
    try:
        server.make()
        server.start()
        yield server
        server.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _programs() -> Path | None:
    """The folder of the newest version's programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    on_path = shutil.which("initdb")
    if found:
        return found[-1].parent
    return Path(on_path).parent if on_path else None
