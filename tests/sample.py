"""The real public data, where TRADEFAIR_DATA names its folder; tests that need a part of it skip without it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tradefair.evaluation.prove.verify import verify_file
from tradefair.tracestore import open_trace


def sample(name: str) -> Path:
    """A file or folder of the data, by its path there."""
    folder = os.environ.get("TRADEFAIR_DATA")
    if not folder or not Path(folder, name).exists():
        pytest.skip(f"TRADEFAIR_DATA does not name a folder with {name}")
    return Path(folder, name)


def sample_logs(study: str) -> list[Path]:
    """The game logs of a study, by name."""
    return sorted(sample(f"logs/{study}").glob("*.jsonl"))


def check_traces(games: Iterable[Any], log_format: str) -> None:
    """Imported games verify, and say from which file of which format they are."""
    for game in games:
        assert game.trace is not None
        assert verify_file(game.trace).verdict == "reproduced"
        with open_trace(game.trace) as trace:
            origin: Any = (trace.seating().origin or {})["imported_from"]
        assert (origin["format"], origin["file"]) == (log_format, game.file)
