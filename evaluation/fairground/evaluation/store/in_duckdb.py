"""The Parquet of a sweep, queried by DuckDB in bounded memory: slice by slice of whole episodes, in their order.

Needs the extra `analytics`. Nothing is ever downloaded: DuckDB's extensions are neither installed nor loaded.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairground.contract.errors import ScenarioError, TraceError
from fairground.evaluation.store.queries import Answer, Query
from fairground.evaluation.store.tables import TABLES, Row, Table

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["MISSING_DUCKDB", "ParquetTables", "open_duckdb", "quoted"]

MISSING_DUCKDB = "Parquet needs DuckDB: pip install 'fairground[analytics]'"

_CALLS_PER_SLICE = 1_000_000
_UNSLICED = ("gives",)


def open_duckdb(temporary: Path, *, memory_mb: int = 512, threads: int | None = None) -> DuckDBPyConnection:
    """A DuckDB in memory that spills into the folder `temporary`. ScenarioError when it is not installed."""
    try:
        import duckdb
    except ImportError:
        raise ScenarioError(MISSING_DUCKDB) from None
    settings: dict[str, Any] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "memory_limit": f"{memory_mb}MB",
        "temp_directory": str(temporary),
        "preserve_insertion_order": "true" if threads == 1 else "false",
    }
    if threads is not None:
        settings["threads"] = str(threads)
    database = duckdb.connect(":memory:", config=settings)
    # It would go to stdout, where JSON may be.
    database.execute("SET enable_progress_bar = false")
    return database


class ParquetTables:
    """The tables in a folder that `export --format parquet` wrote. A context manager.

    Raises ScenarioError without DuckDB, TraceError when the folder holds no such tables.
    """

    def __init__(self, folder: Path, *, memory_mb: int = 512, threads: int | None = None) -> None:
        if not any((folder / "episodes").glob("*.parquet")):
            raise TraceError(
                f"{folder}: no tables here; fairground export TRACES --format parquet -o {folder} makes them"
            )
        self._folder = folder
        self._temporary = Path(tempfile.mkdtemp(prefix="fairground-"))
        try:
            self._database = open_duckdb(self._temporary, memory_mb=memory_mb, threads=threads)
        except BaseException:
            shutil.rmtree(self._temporary, ignore_errors=True)
            raise

    def __enter__(self) -> ParquetTables:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()
        shutil.rmtree(self._temporary, ignore_errors=True)

    def run(self, query: Query, *, limit: int | None = None, **parameters: int) -> Answer:
        """A named query's answer over all episodes, ordered by its key."""
        bound, columns = query.parameters(parameters), list[str]()
        rows: list[Row] = []
        for _ in self._slices():
            missing = None if limit is None else limit + 1 - len(rows)
            if missing is not None and missing <= 0:
                break
            # The key begins with the episode, and slices come in the order of episodes.
            columns, found = self._answer(query.ordered + ("" if missing is None else f"\nLIMIT {missing}"), bound)
            rows += found
        cut = limit is not None and len(rows) > limit
        return Answer(columns, rows[:limit] if cut else rows, cut)

    def fold(self, query: Query, select: str, **parameters: int) -> list[Row]:
        """One row per slice: `SELECT <select>` over the query's answer, for sums that need not be held row by row."""
        bound = query.parameters(parameters)
        rows: list[Row] = []
        for _ in self._slices():
            rows += self._answer(f"SELECT {select} FROM ({query.sql}) AS answer", bound)[1]
        return rows

    def _slices(self) -> Iterator[None]:
        """Point the tables at one stretch of episodes after another."""
        for name in _UNSLICED:
            self._view(name, "")
        for first, last in self._stretches():
            within = f" WHERE episode BETWEEN {quoted(first)} AND {quoted(last)}"
            for name in TABLES:
                if name not in _UNSLICED:
                    self._view(name, within)
            yield

    def _stretches(self) -> list[tuple[str, str]]:
        """First and last episode of each slice: whole episodes of a million events together, at least one."""
        self._view("episodes", "")
        _, rows = self._answer("SELECT episode, events FROM episodes ORDER BY episode", {})
        stretches: list[tuple[str, str]] = []
        weight = _CALLS_PER_SLICE
        for episode, events in rows:
            if weight >= _CALLS_PER_SLICE:
                stretches.append((str(episode), str(episode)))
                weight = 0
            stretches[-1] = (stretches[-1][0], str(episode))
            weight += int(events or 0)
        return stretches

    def _view(self, name: str, within: str) -> None:
        table = TABLES[name]
        parts = sorted((self._folder / name).glob("*.parquet"))
        source = f"read_parquet([{', '.join(quoted(str(part)) for part in parts)}])" if parts else _nothing(table)
        columns = ", ".join(table.names)
        self._answer(f"CREATE OR REPLACE VIEW {name} AS SELECT {columns} FROM {source}{within}", {})

    def _answer(self, sql: str, parameters: dict[str, int]) -> tuple[list[str], list[Row]]:
        import duckdb

        used = {name: value for name, value in parameters.items() if f"${name}" in sql}
        try:
            cursor = self._database.execute(sql, used)
            columns = [str(column[0]) for column in cursor.description or ()]
            return columns, cursor.fetchall()
        except duckdb.Error as error:
            raise TraceError(f"{self._folder}: the tables cannot be read: {str(error)[:500]}") from None


def quoted(text: str) -> str:
    """A text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def _nothing(table: Table) -> str:
    columns = ", ".join(f"CAST(NULL AS {column.type}) AS {column.name}" for column in table.columns)
    return f"(SELECT {columns} WHERE FALSE) AS nothing"
