"""The named queries: one text each, in the dialect that SQLite and DuckDB share.

The texts are the `.sql` files in `queries`. Parameters are written `$name`, which both engines bind. Each text says
what its rows are, and what it does where nothing is there to be counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any, NamedTuple

from tradefair.contract.errors import ScenarioError, unknown
from tradefair.evaluation.store.tables import Row


class Answer(NamedTuple):
    """Columns and rows, in order. `cut` says whether there were more rows than were asked for."""

    columns: Sequence[str]
    rows: Sequence[Row]
    cut: bool = False

    def dicts(self) -> list[dict[str, Any]]:
        """The rows as plain data: one mapping of column to cell per row."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True)
class Query:
    """A named query. The first `key` columns tell its rows apart and put them in order."""

    name: str
    about: str
    key: int
    defaults: Mapping[str, int]

    @cached_property
    def sql(self) -> str:
        """The text, without an order.

        Callers that need rows in order use `ordered`; sums over the answer (`ParquetTables.fold`) would
        sort for nothing.
        """
        return files("tradefair.evaluation.store").joinpath("queries", f"{self.name}.sql").read_text(encoding="utf-8")

    @property
    def ordered(self) -> str:
        """The text, ordered by its key. Numbers of columns, not names: both engines understand these in any query."""
        return f"{self.sql}\nORDER BY {', '.join(str(place) for place in range(1, self.key + 1))}"

    def parameters(self, given: Mapping[str, int]) -> dict[str, int]:
        """The defaults with what is given. Raises ScenarioError, which names the known parameters, for another one."""
        # A misspelt parameter would otherwise be ignored, and the answer would be to another question.
        unknown = sorted(given.keys() - self.defaults.keys())
        if unknown:
            known = ", ".join(self.defaults) or "none"
            raise ScenarioError(f"{self.name} has no parameter {unknown[0]!r}; it has {known}")
        return {**self.defaults, **given}


_ALL = (
    Query("outcomes", "Conduct of every seat: calls, refusals, actions, lapses, how the episode ended.", 2, {}),
    Query("evidence", "For each accepted action: the share of the evidence it needs that was looked at before.", 4, {}),
    Query("follow_up", "After each look at an object: the next action on it within some rounds.", 4, {"rounds": 1}),
    Query("loops", "The same look with the same answer again and again, with no action between.", 3, {"times": 3}),
    Query("repeated_refusals", "Refused calls that had just been refused with the same arguments.", 3, {}),
)

QUERIES: Mapping[str, Query] = {query.name: query for query in _ALL}


def query_named(name: str) -> Query:
    """The query called `name`, hyphens or underscores. ScenarioError naming what there is."""
    # Hyphens are what people type on a command line.
    found = QUERIES.get(name.replace("-", "_"))
    if found is None:
        raise ScenarioError(unknown("query", name, QUERIES))
    return found
