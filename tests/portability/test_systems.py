"""What systems do differently, made here by hand: files in use, limits that a kernel refuses, encodings, signals."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.waiting import LONG, SOON

from tradefair.files.folders import move_onto, new_private

REPO = Path(__file__).resolve().parents[2]
# What not every system has, and the one module that may ask for it.
_ONE_PLACE = {
    "fcntl": "tracestore/locks.py", "msvcrt": "tracestore/locks.py", "add_signal_handler": "server/signals.py",
    "add_reader": "", "pass_fds": "", "preexec_fn": "", "os.fork": "", "os.statvfs": "", "os.sysconf": "",
    "os.getuid": "prove/known.py", "os.fchmod": "", "os.O_NONBLOCK": "", "os.O_NOFOLLOW": "", "import resource": "",
}  # fmt: skip


def test_what_not_every_system_has_stands_in_one_place() -> None:
    asked = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in _ONE_PLACE))
    found = {
        (name, f"{path.parent.name}/{path.name}")
        for root in ("mcp_servers", "agent_graphs", "frameworks", "evaluation")
        for path in (REPO / root).rglob("*.py")
        for name in asked.findall(path.read_text(encoding="utf-8"))
    }
    assert found == {(name, place) for name, place in _ONE_PLACE.items() if place}


@pytest.fixture
def in_use(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """While the event is not set, files cannot be replaced, as on Windows where a reader has them open."""
    free, replace = threading.Event(), os.replace

    def refused(source: Path, target: Path) -> None:
        if not free.is_set():
            raise PermissionError(13, "Access is denied", str(source))
        replace(source, target)

    monkeypatch.setattr(os, "replace", refused)
    return free


def test_a_file_that_a_reader_holds_is_replaced_when_the_reader_lets_go(
    in_use: threading.Event, tmp_path: Path
) -> None:
    old, fresh = tmp_path / "old", tmp_path / "fresh"
    old.write_bytes(b"old")
    fresh.write_bytes(b"fresh")
    with pytest.raises(PermissionError, match="Access is denied"):
        move_onto(fresh, old)
    assert old.read_bytes() == b"old"
    threading.Timer(SOON, in_use.set).start()
    assert move_onto(fresh, old) == old
    assert old.read_bytes() == b"fresh"


def test_a_private_file_is_new_and_its_owners_and_keeps_its_line_ends(tmp_path: Path) -> None:
    with new_private(tmp_path / "secret") as file:
        file.write(b"a\nb\r\n\x1a")
    assert (tmp_path / "secret").read_bytes() == b"a\nb\r\n\x1a"
    if sys.platform != "win32":
        assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        new_private(tmp_path / "secret")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limits")
def test_a_kernel_that_refuses_many_files_is_asked_for_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    from tradefair.host.doors.places import allow_many_files

    asked: list[int] = []

    def allowing(files: int) -> Callable[[int], tuple[int, int]]:
        return lambda limit: (files, resource.RLIM_INFINITY)

    def refuse(limit: int, wanted: tuple[int, int]) -> None:
        asked.append(wanted[0])
        if wanted[0] > 10_240:
            raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr(resource, "getrlimit", allowing(256))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    allow_many_files()
    assert asked == [65_536, 32_768, 16_384, 8_192]
    asked.clear()
    monkeypatch.setattr(resource, "getrlimit", allowing(100_000))
    allow_many_files()
    assert asked == []


def test_a_pipe_whose_encoding_lacks_a_sign_gets_the_rest() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    program = (
        "import sys; from tradefair.cli import main; from tradefair.cli.terminal import tell; import tradefair.cli\n"
    )
    program += "tradefair.cli.run = lambda told: tell('3 − 1 …') or 0\nmain()"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, env=environment, timeout=LONG
    )
    assert done.stdout.split() == [b"3", b"?", b"1", b"?"]


async def test_a_signal_is_what_it_was_once_nothing_reacts_to_it() -> None:
    import signal

    from tradefair.host.server.signals import on_signals

    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    seen = asyncio.Event()
    end = on_signals(seen.set)
    try:
        signal.raise_signal(signal.SIGTERM)
        await asyncio.wait_for(seen.wait(), LONG)
    finally:
        end()
        after = signal.signal(signal.SIGTERM, before)
    assert after == signal.SIG_DFL
