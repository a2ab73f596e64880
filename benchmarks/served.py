"""A `tradefair host` in a process of its own, as benchmarks and soaks use it: watched, killed, started again."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from tradefair.contract import HarnessFailure
from tradefair.host.clients.client_config import CONTROL_TOKEN_VARIABLE
from tradefair.host.doors.control_client import ControlClient

_TRADEFAIR = Path(sys.executable).parent / "tradefair"
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Usage(NamedTuple):
    """What a process has used: CPU seconds (user and system) so far, and memory now."""

    cpu_s: float
    resident_mib: float


class HostProcess:
    """One host over one folder, whose registry it goes on with after the first start."""

    def __init__(self, folder: Path, **options: Any) -> None:
        """Options of its file, a dash of a name as an underscore."""
        self.folder = folder
        self.starts: int = 0
        self.url = ""
        self.token = secrets.token_urlsafe(32)
        """The control plane's."""
        self.control_url = ""
        self._process: subprocess.Popen[bytes] | None = None
        self.log = folder.parent / f"{folder.name}.log"
        folder.parent.mkdir(parents=True, exist_ok=True)
        self._options = folder.parent / f"{folder.name}.toml"
        lines = [f"{name.replace('_', '-')} = {json.dumps(value)}\n" for name, value in options.items()]
        self._options.write_text("".join(lines), encoding="utf-8")
        self._log = self.log.open("ab")

    def start(self) -> None:
        """Start it, or go on on the same port; returns when it serves."""
        port = self.url.rpartition(":")[2].partition("/")[0] or "0"
        given = ["--resume", str(self.folder)] if self.starts else ["--out", str(self.folder)]
        self._process = subprocess.Popen(
            [
                str(_TRADEFAIR),
                "host",
                *given,
                "--port",
                port,
                "--control-port",
                "0",
                "--json",
                "--config",
                self._options,
            ],
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, CONTROL_TOKEN_VARIABLE: self.token},
        )
        assert self._process.stdout is not None
        told = self._process.stdout.readline()
        if not told:
            raise HarnessFailure(f"the host did not start: see {self._log.name}")
        ready: dict[str, Any] = orjson.loads(told)
        self.url, self.control_url = ready["url"], ready["control"]["url"]
        self.starts += 1

    def control(self) -> ControlClient:
        """A client of its control plane."""
        return ControlClient(self.control_url, self.token)

    def usage(self) -> Usage:
        """What this process has used since its start."""
        stat = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        pages = int(Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()[1])
        return Usage((int(stat[11]) + int(stat[12])) / _TICKS_PER_S, pages * _PAGE / 2**20)

    def peak_mib(self) -> float:
        """The most memory that it has had."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024

    def kill(self) -> None:
        """kill -9."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        return self._end(signal.SIGTERM)

    def close(self) -> None:
        """Whatever has happened, nothing is left running."""
        if self._process is not None and self._process.poll() is None:
            self.kill()
        self._log.close()

    @property
    def pid(self) -> int:
        """Of the process that runs now."""
        assert self._process is not None
        return self._process.pid

    def _end(self, how: signal.Signals) -> int:
        assert self._process is not None
        self._process.send_signal(how)
        code = self._process.wait(timeout=120)
        assert self._process.stdout is not None
        self._process.stdout.close()
        return code
