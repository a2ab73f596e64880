"""A table that an evaluator wants people to see besides the common ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Table", "number_text"]


class Table(NamedTuple):
    """Cells are ready text; the first column holds names, the others numbers."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def number_text(value: object) -> str:
    """A number as tables show it: three decimals at most, a dash for null."""
    if value is None:
        return "–"
    return f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
