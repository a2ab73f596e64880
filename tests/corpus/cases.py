"""The register of the corpus: every case is a function that makes files in a folder and returns the one to be read."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from tests.corpus.bases import Bases

Make: TypeAlias = Callable[[Bases, Path], Path]
"""(the honest bases, an empty folder) -> the file in it that commands are given."""

CASES: dict[str, dict[str, Make]] = {}
"""Group -> name of the case -> how it is made; expected.toml has an entry under the same two names."""


def case(group: str) -> Callable[[Make], Make]:
    """Register a function as a case of `group`, under its own name."""

    def register(make: Make) -> Make:
        add(group, make.__name__.lstrip("_"), make)
        return make

    return register


def add(group: str, name: str, make: Make) -> None:
    """Register a case that is no function of its own."""
    known = CASES.setdefault(group, {})
    assert name not in known, f"{group}: two cases are called {name}"
    known[name] = make


def copied(source: Path, folder: Path) -> Path:
    """A copy of an honest trace in the case's folder."""
    return Path(shutil.copy(source, folder / "case.trace"))


def canary(folder: Path) -> Path:
    """A sound trace outside the case's folder, which no command may read by a link or change."""
    return folder.parent / "canary.trace"
