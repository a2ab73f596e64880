"""Public game logs as traces: followed, re-executed, compared in every fact and written. Needs the sample data."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.figures import Figure, Stopwatch
from tradefair.evaluation.foreign.importers import run_importer

_SAMPLES = {"pact-log": "pact", "bazaar-log": "bazaar", "collusion-log": "emergent_collusion"}


def measure(*, tiny: bool) -> list[Figure]:
    """Games per CPU second of each importer; nothing without `TRADEFAIR_DATA`."""
    data = os.environ.get("TRADEFAIR_DATA")
    return [_rate(kind, Path(data) / "logs" / folder, tiny) for kind, folder in _SAMPLES.items()] if data else []


def _rate(kind: str, folder: Path, tiny: bool) -> Figure:
    logs = sorted(folder.glob("*.jsonl"))
    with TemporaryDirectory() as out:
        run_importer(kind, logs[:1], Path(out) / "first")  # what is imported once is not charged to a game
        files = logs[: 1 if tiny else None]
        watch = Stopwatch()
        report = run_importer(kind, files, Path(out) / "all")
        seconds = watch.seconds()
    assert report.sound
    return Figure(
        f"{kind}: games", len(files) / seconds, "per CPU s", how=f"{len(files)} sample games, one after another"
    )
