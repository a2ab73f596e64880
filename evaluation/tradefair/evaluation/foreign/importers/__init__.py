"""Importers turn logs of others into traces that everything else here reads: `importing` for all formats."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tradefair.contract.errors import ScenarioError, unknown

if TYPE_CHECKING:
    from tradefair.evaluation.foreign.importers.report import ImportReport

__all__ = ["run_importer"]


def run_importer(kind: str, files: list[Path], out: Path) -> ImportReport:
    """Re-execute game logs of one kind into the folder `out`. ScenarioError for an unknown kind.

    Damaged logs are findings. Every file of the list gets an entry in the report, also one that gave no trace.
    """
    from tradefair.evaluation.foreign.importers.detect import game_readers

    known = game_readers()
    if kind not in known:
        raise ScenarioError(unknown("importer", kind, known))
    return known[kind](files, out)
