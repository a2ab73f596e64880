"""Who writes a trace, asked without disturbing whoever does."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.waiting import LONG

from tradefair.contract import TraceError
from tradefair.tracestore import locks
from tradefair.tracestore.locks import Lease, held

_KEEP = "import sys, pathlib; from tradefair.tracestore.locks import Lease; l = Lease(pathlib.Path(sys.argv[1])); "


def test_a_lock_says_who_writes_and_dies_with_its_writer(tmp_path: Path) -> None:
    path = tmp_path / "x.trace"
    assert held(path) is False
    script = _KEEP + "print('taken', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"taken\n"
        assert held(path) is True
        with pytest.raises(TraceError, match="open for writing"):
            Lease(path)
        writer.kill()
    # The file of a killed writer stays; nobody holds it.
    assert (tmp_path / "x.trace.lock").exists()
    assert held(path) is False
    lease = Lease(path)
    assert held(path) is True
    lease.release()
    assert held(path) is False
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_asked_is_not_known(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.trace.lock")
    (tmp_path / "else").write_text("")
    (tmp_path / "link.trace.lock").symlink_to(tmp_path / "else")
    (tmp_path / "folder.trace.lock").mkdir()
    assert {held(tmp_path / f"{name}.trace") for name in ("pipe", "link", "folder")} == {None}
    assert held(tmp_path / "no\0name.trace") is None


def test_five_hundred_probes_refuse_none_of_two_hundred_writers(tmp_path: Path) -> None:
    path, seen = tmp_path / "x.trace", set[bool | None]()
    begun, over = threading.Event(), threading.Event()

    def probe() -> None:
        for count in range(100_000):
            if count >= 500 and over.is_set():
                return
            seen.add(held(path))
            begun.set()

    asking = threading.Thread(target=probe)
    asking.start()
    assert begun.wait(LONG)
    for _ in range(200):
        Lease(path).release()
    over.set()
    asking.join(LONG)
    assert not asking.is_alive()
    assert seen <= {True, False}


def test_a_writer_waits_until_a_probe_lets_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.trace"
    pauses: list[float] = []
    with (tmp_path / "x.trace.lock").open("w") as asked:
        fcntl.flock(asked, fcntl.LOCK_SH)

        def pause(seconds: float) -> None:
            pauses.append(seconds)
            fcntl.flock(asked, fcntl.LOCK_UN)

        monkeypatch.setattr(locks.time, "sleep", pause)
        Lease(path).release()
    assert pauses == [0.004]
