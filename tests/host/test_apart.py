"""A connection with a thread of its own: what is done there is done whole, and nothing waits for it in vain."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.waiting import LONG

from tradefair.host.episode.apart import Apart
from tradefair.tracestore.append import connect


def opened(path: Path) -> Apart:
    return Apart(lambda: connect(path))


async def test_work_is_done_in_one_thread_and_whole_though_its_caller_goes(tmp_path: Path) -> None:
    apart = opened(tmp_path / "a.db")
    await apart
    go, names = threading.Event(), list[str]()

    def work() -> int:
        go.wait(LONG)
        names.append(threading.current_thread().name)
        apart.own.execute("CREATE TABLE t (n)")
        apart.own.execute("INSERT INTO t VALUES (7)")
        return 7

    left = apart.run(work)
    left.cancel()
    go.set()
    assert await apart.run(lambda: apart.own.execute("SELECT n FROM t").fetchall()) == [(7,)]
    assert await apart.run(lambda: threading.current_thread().name) == names[0]
    with pytest.raises(sqlite3.OperationalError):
        await apart.run(lambda: apart.own.execute("SELECT n FROM missing"))
    await apart.close()


async def test_what_is_queued_is_done_before_it_is_closed_and_nothing_afterwards(tmp_path: Path) -> None:
    apart = opened(tmp_path / "a.db")
    await apart
    queued = apart.run(lambda: apart.own.execute("SELECT 1").fetchone())
    await asyncio.gather(apart.close(), apart.close())
    assert await queued == (1,)
    with pytest.raises(sqlite3.ProgrammingError):
        await apart.run(lambda: 1)
    await apart.close()


async def test_what_cannot_be_opened_says_why(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError):
        await opened(tmp_path / "missing" / "a.db")


def test_what_nobody_closes_holds_no_process(tmp_path: Path) -> None:
    program = """
import asyncio, sys
from tradefair.host.episode.apart import Apart
from tradefair.tracestore.append import connect
async def leave():
    global kept
    kept = Apart(lambda: connect(sys.argv[1]))
    await kept
asyncio.run(leave())
"""
    place = str(tmp_path / "a.db")
    subprocess.run([sys.executable, "-c", program, place], timeout=LONG, check=True)
