"""A table that an evaluator wants people to see besides the common ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Table"]


class Table(NamedTuple):
    """Cells are ready text; the first column holds names, the others numbers."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
