"""The real public data, where TRADEFAIR_DATA names its folder; tests that need a part of it skip without it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def sample(name: str) -> Path:
    """A file or folder of the data, by its path there."""
    folder = os.environ.get("TRADEFAIR_DATA")
    if not folder or not Path(folder, name).exists():
        pytest.skip(f"TRADEFAIR_DATA does not name a folder with {name}")
    return Path(folder, name)


def sample_logs(study: str) -> list[Path]:
    """The game logs of a study, by name."""
    return sorted(sample(f"logs/{study}").glob("*.jsonl"))
