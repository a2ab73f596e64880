"""A table that an evaluator wants people to see besides the common ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

__all__ = ["FOOTNOTES", "Table", "number_text"]

FOOTNOTES: Mapping[str, str] = {
    "share_of_oracle": "0 is passive, 1 the oracle, a strong rule and no maximum: more than 1 is possible",
    "empty_demand": "latent demand of empty shelves, expected: nobody was there to be counted",
    "net_lost_units": "demand beyond the day's stock, and the expected sales that categories lost by empty shelves",
    "dynamic_regret": "against the best quote of each round, known afterwards only",
}
"""Figures, by field, that are misread without a word beside them."""


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
