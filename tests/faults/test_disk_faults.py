"""A disk that fails in any one call, or from then on: nothing acknowledged is lost or doubled, and the trace is sound.

The faults are real: a shim that is loaded into the process answers SQLite's calls (docs/explanation/security.md).
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import orjson
import pytest
from tests.faults.kills import build
from tests.waiting import LONGER

_HERE = Path(__file__).parent
_WRITE, _SYNC, _TRUNCATE, _READ, _CLOCK = range(5)  # as in shim.c
_DAY = 86_400  # seconds, which the clock leaps by
# What fails, whether from then on, how; and every how-many-th call in the fast and in the whole run.
_FAULTS = {
    "a write cannot be done": (_WRITE, 0, errno.EIO, 17),
    "no write can be done any more": (_WRITE, 1, errno.EIO, 17),
    "the disk is full for a moment": (_WRITE, 0, errno.ENOSPC, 17),
    "the disk is full": (_WRITE, 1, errno.ENOSPC, 17),
    "half a write is done": (_WRITE, 0, 0, 17),
    "a sync fails": (_SYNC, 0, errno.EIO, 3),
    "every sync fails": (_SYNC, 1, errno.EIO, 3),
    "a file cannot be cut": (_TRUNCATE, 0, errno.EIO, 2),
    "a read fails": (_READ, 0, errno.EIO, 17),
    "no read is answered any more": (_READ, 1, errno.EIO, 17),
    "the clock leaps a day ahead": (_CLOCK, 1, _DAY, 5),
    "the clock leaps back": (_CLOCK, 1, -_DAY, 5),
}


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shim, built for this machine."""
    if shutil.which("cc") is None or not sys.platform.startswith("linux"):
        pytest.skip("faults of a disk need Linux and a C compiler (cc)")
    return build(tmp_path_factory.mktemp("shim"))


def _struck(shim: Path, faults: Sequence[tuple[int, int, int, int]]) -> list[dict[str, object]]:
    """What came of each of these faults in every how-many-th call of a small episode, reopened twice."""
    child = subprocess.run(
        [sys.executable, str(_HERE / "child.py"), *(str(number) for fault in faults for number in fault)],
        env={**os.environ, "LD_PRELOAD": str(shim)},
        capture_output=True,
        text=True,
        check=False,
        timeout=LONGER,
    )
    assert child.returncode == 0, child.stderr[-2_000:]
    return [orjson.loads(line) for line in child.stdout.splitlines()]


@pytest.fixture(scope="module")
def all_struck(shim: Path) -> list[dict[str, object]]:
    """What came of all faults, one process for all."""
    return _struck(shim, [*_FAULTS.values()])


@pytest.mark.parametrize("fault", _FAULTS)
def test_no_fault_loses_or_doubles_an_acknowledged_call(all_struck: list[dict[str, object]], fault: str) -> None:
    struck = [line for line in all_struck if line["kind"] == [*_FAULTS].index(fault)]
    assert len(struck) >= 2, "the shim meets no such call: SQLite here makes others"
    assert [line for line in struck if line["wrong"]] == []


@pytest.mark.parametrize("fault", [fault for fault in _FAULTS if "clock" not in fault])
def test_no_fault_in_any_call_loses_or_doubles_an_acknowledged_call(shim: Path, fault: str) -> None:
    struck = _struck(shim, [(*_FAULTS[fault][:3], 1)])
    assert len(struck) > 4
    assert [line for line in struck if line["wrong"]] == []
