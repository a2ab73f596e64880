"""The wheel alone: what the page promises as one line runs where nothing else of the project is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from release.wheel import build, try_out
from tests.release.reach import uv


def test_uvx_runs_what_people_run_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Nothing of this environment, and a cache of its own: as on a machine that has uv alone.
    for name in ("PYTHONPATH", "VIRTUAL_ENV", "TRADEFAIR_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", os.pathsep.join([str(uv().parent), "/usr/local/bin", "/usr/bin", "/bin"]))
    monkeypatch.setenv("HOME", str(tmp_path))
    wheel = build(tmp_path / "dist")
    folder = tmp_path / "empty"
    folder.mkdir()
    try_out([str(uv().parent / "uvx"), "--from", str(wheel), "tradefair"], folder)
    assert sorted(path.name for path in folder.iterdir()) == [
        *("gate.baseline.json", "gate.toml", "gate.xml", "report.html", "runs")
    ]
