"""A few of the kills of `tests/faults/kills.py`, which does more of them on demand."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from tests.faults.kills import build, campaign

KILLS = 4  # of each sort


def test_no_kill_in_a_write_loses_or_doubles_a_call_of_host_serve_play_or_sweep(tmp_path: Path) -> None:
    if shutil.which("cc") is None or not sys.platform.startswith("linux"):
        pytest.skip("kills in a write need Linux and a C compiler (cc)")
    found = dict(campaign(build(tmp_path), KILLS, tmp_path, 5))
    assert list(found) == ["host", "serve", "play", "sweep"]
    assert [complaint for count in found.values() for complaint in count.complaints] == []
    assert {count.kills for count in found.values()} == {KILLS}
    assert all(count.acknowledged for count in found.values())
