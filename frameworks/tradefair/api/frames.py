"""Tables in memory: typed columns that pandas and polars take as they are. Needs neither of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib import import_module
from typing import Any, Literal, TypeAlias

from tradefair.evaluation.store.tables import Cell

Kind: TypeAlias = Literal["TEXT", "BIGINT", "DOUBLE"]
"""Type of a column: text, integers of 64 bits, or floating-point numbers. Every cell may also be None."""

_SHOWN_ROWS = 20


class Frame(Mapping[str, Sequence[Any]]):
    """A table: a mapping of column name to the list of its cells, all lists equally long.

    `types` maps column names to TEXT, BIGINT or DOUBLE, in the order of the columns; a cell that is not known is None.
    `len(frame)` counts columns, `frame.height` rows. `to_pandas` and `to_polars` keep the types; any library that takes
    a mapping of lists takes `dict(frame)`.
    """

    def __init__(self, types: Mapping[str, Kind], rows: Iterable[Sequence[Cell]] = ()) -> None:
        """`rows` hold one cell per column, in the order of `types`. Raises ValueError for a row of another length."""
        self.types = dict(types)
        self._columns: dict[str, list[Cell]] = {name: [] for name in types}
        columns = list(self._columns.values())
        self.height = 0
        for row in rows:
            # Strict: a row of another length would shift every later row of the longer columns.
            for column, cell in zip(columns, row, strict=True):
                column.append(cell)
            self.height += 1

    def __getitem__(self, name: str) -> Sequence[Any]:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Each row as a mapping of column name to cell."""
        for cells in zip(*self._columns.values(), strict=True):
            yield dict(zip(self._columns, cells, strict=True))

    def to_pandas(self) -> Any:
        """A pandas DataFrame. BIGINT becomes int64, or Int64 where a cell is None; DOUBLE float64, with NaN for None.

        Raises ImportError, which says what to install, where pandas is missing.
        """
        # Imported here: the tables themselves need neither library.
        pandas = _library("pandas")
        made: dict[str, Any] = {}
        for name, cells in self._columns.items():
            # Left to itself, pandas makes floats of integers with gaps, and loses those above 2**53.
            if self.types[name] == "BIGINT":
                cells = pandas.array(cells, dtype="Int64" if None in cells else "int64")
            elif self.types[name] == "DOUBLE":
                cells = pandas.array(cells, dtype="float64")
            made[name] = cells
        return pandas.DataFrame(made)

    def to_polars(self) -> Any:
        """A polars DataFrame with columns of String, Int64 and Float64, null for None.

        Raises ImportError, which says what to install, where polars is missing.
        """
        polars = _library("polars")
        kinds: Any = {"TEXT": polars.String, "BIGINT": polars.Int64, "DOUBLE": polars.Float64}
        schema = {name: kinds[kind] for name, kind in self.types.items()}
        return polars.DataFrame(self._columns, schema=schema)

    def __repr__(self) -> str:
        return f"Frame({self.height} rows: {', '.join(self._columns)})"

    def _repr_html_(self) -> str:
        """The first 20 rows as an HTML table, for notebooks."""
        head = "".join(f"<th>{escape(name)}</th>" for name in self._columns)
        body = "".join(
            f"<tr>{''.join(f'<td>{_shown(cell)}</td>' for cell in cells)}</tr>"
            for cells, _ in zip(zip(*self._columns.values(), strict=True), range(_SHOWN_ROWS), strict=False)
        )
        more = f"<p>{self.height:,} rows, {_SHOWN_ROWS} shown</p>" if self.height > _SHOWN_ROWS else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _shown(cell: Cell) -> str:
    # A trace may hold anything that a stranger wrote: text is escaped before it reaches a notebook.
    return "" if cell is None else escape(str(cell))


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as missing:
        # A part of the library that is missing is another fault.
        if missing.name != name:
            raise
        raise ImportError(f"{name} is not installed: pip install {name}; the columns themselves need it not") from None
