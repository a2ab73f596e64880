"""The Parquet of a sweep, queried by DuckDB in bounded memory: slice by slice of whole episodes, in their order.

Needs the extra `analytics`. Nothing is ever downloaded: DuckDB's extensions are neither installed nor loaded.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tradefair.contract import ScenarioError, TraceError
from tradefair.contract.errors import needs_extra
from tradefair.evaluation.store.queries import Answer, Query
from tradefair.evaluation.store.tables import TABLES, Cell, Row, Table

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Events of the episodes in a slice. Their sums fit into 512 MB without spilling (docs/explanation/why/store.md).
_CALLS_PER_SLICE = 1_000_000
# A stranger's join can be as large as the square of a table: bounded, or it would fill the disk.
_MAX_SPILL = "8GB"
# DuckDB has integers of 128 bits, SQLite and Parquet readers have 64.
_LARGEST = 2**63
# Has no episode: what tools give is the same in every trace of a market.
_UNSLICED = ("gives",)


def open_duckdb(temporary: Path, *, memory_mb: int = 512, threads: int | None = None) -> DuckDBPyConnection:
    """A DuckDB in memory that spills into the folder `temporary`. ScenarioError when it is not installed.

    `memory_mb` bounds its buffers in megabytes; `threads` None takes one per core. With one thread rows
    keep their order.
    """
    try:
        import duckdb
    except ImportError:
        raise ScenarioError(needs_extra("Parquet (DuckDB)", "analytics")) from None
    settings: dict[str, Any] = {
        # DuckDB would download an extension when a query mentions a function of it; nothing here may
        # reach a network.
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
                f"{folder}: no tables here; tradefair export TRACES --format parquet -o {folder} makes them"
            )
        self._folder = folder
        # Not in the folder of the tables, which may be read-only and is only read.
        self._temporary = Path(tempfile.mkdtemp(prefix="tradefair-"))
        try:
            self._database = open_duckdb(self._temporary, memory_mb=memory_mb, threads=threads)
        # A KeyboardInterrupt while DuckDB opens must not leave the temporary folder behind.
        except BaseException:
            shutil.rmtree(self._temporary, ignore_errors=True)
            raise

    def __enter__(self) -> ParquetTables:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()
        shutil.rmtree(self._temporary, ignore_errors=True)

    def run(self, query: Query, *, limit: int | None = None, **parameters: int) -> Answer:
        """A named query's answer over all episodes, ordered by its key.

        `limit` bounds the rows; `parameters` replace the query's defaults. Raises ScenarioError for an
        unknown parameter, TraceError when the tables cannot be read.
        """
        bound, columns = query.parameters(parameters), list[str]()
        rows: list[Row] = []
        for _ in self._slices():
            # One row more than asked for: it says whether the answer is cut.
            missing = None if limit is None else limit + 1 - len(rows)
            if missing is not None and missing <= 0:
                break
            # The key begins with the episode, and slices come in the order of episodes.
            columns, found = self._answer(query.ordered + ("" if missing is None else f"\nLIMIT {missing}"), bound)
            rows += found
        cut = limit is not None and len(rows) > limit
        return Answer(columns, rows[:limit] if cut else rows, cut)

    def fold(self, query: Query, select: str, **parameters: int) -> list[Row]:
        """One row per slice: `SELECT <select>` over the query's answer, for sums that need not be held row by row.

        The caller adds up the slices: no episode is in two of them.
        """
        bound = query.parameters(parameters)
        rows: list[Row] = []
        for _ in self._slices():
            rows += self._answer(f"SELECT {select} FROM ({query.sql}) AS answer", bound)[1]
        return rows

    def ask(self, sql: str, *, limit: int, seconds: float) -> Answer:
        """The answer to a stranger's `SELECT` over the whole folder; afterwards nothing else can be asked.

        The tables it names are copied, then no file can be reached, and it ends in time. Raises ScenarioError
        with what DuckDB says of it, or when it takes longer than `seconds`.
        """
        import duckdb

        stop = threading.Timer(seconds, self._database.interrupt)
        stop.daemon = True
        stop.start()
        try:
            # Copying counts towards the time as well: the timer has started.
            self._lock(sql)
            statements = self._database.extract_statements(sql)
            # Judged by DuckDB's own parser: a text that looks like one SELECT may hold a second statement.
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise ScenarioError("DuckDB refuses the query: one SELECT over the tables is allowed")
            if stop.finished.is_set():  # between two statements there is nothing to interrupt
                raise duckdb.InterruptException
            cursor = self._database.execute(statements[0])
            columns = [str(column[0]) for column in cursor.description or ()]
            rows = cursor.fetchmany(limit + 1)
        except duckdb.InterruptException:
            raise ScenarioError(f"the query took longer than {seconds:g} s; narrow it, or raise --timeout") from None
        # Whatever a stranger's query makes DuckDB or the conversion of its cells raise is a refusal,
        # not our fault.
        except (duckdb.Error, MemoryError, OverflowError, ValueError) as error:
            raise ScenarioError(f"DuckDB refuses the query: {str(error)[:500]}") from None
        finally:
            stop.cancel()
        return Answer(columns, [tuple(map(_plain, row)) for row in rows[:limit]], cut=len(rows) > limit)

    def _lock(self, sql: str) -> None:
        """From here on only the tables that `sql` names exist, in memory; files and settings are out of reach.

        Views over the parts would need the files to be reachable, and a SELECT can contain `WITH x AS
        (COPY … TO …)`.
        """
        for name in TABLES:
            # A plain search may copy a table too many, never one too
            # few; a parser would have to know DuckDB's dialect.
            if name in sql.lower():
                self._database.execute(f"CREATE TABLE {name} AS SELECT {self._source(name)}")
        # Before the lock: afterwards DuckDB refuses every change of a setting, ours included.
        self._database.execute(f"SET max_temp_directory_size = {quoted(_MAX_SPILL)}")
        # The first one keeps SQL from reading Python variables of this process by their names.
        for setting in ("python_enable_replacements = false", "enable_external_access = false"):
            self._database.execute(f"SET {setting}")
        self._database.execute("SET lock_configuration = true")

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
        # So that the first episode opens the first slice.
        weight = _CALLS_PER_SLICE
        for episode, events in rows:
            if weight >= _CALLS_PER_SLICE:
                stretches.append((str(episode), str(episode)))
                weight = 0
            stretches[-1] = (stretches[-1][0], str(episode))
            weight += int(events or 0)
        return stretches

    def _view(self, name: str, within: str) -> None:
        """A view instead of a parameter: the texts of the named queries stay the same for both engines."""
        self._answer(f"CREATE OR REPLACE VIEW {name} AS SELECT {self._source(name)}{within}", {})

    def _source(self, name: str) -> str:
        """The columns of a table FROM its parts."""
        table = TABLES[name]
        # By name, which is the order of writing: parts are numbered.
        parts = sorted((self._folder / name).glob("*.parquet"))
        source = f"read_parquet([{', '.join(quoted(str(part)) for part in parts)}])" if parts else _nothing(table)
        return f"{', '.join(table.names)} FROM {source}"

    def _answer(self, sql: str, parameters: dict[str, int]) -> tuple[list[str], list[Row]]:
        """Columns and rows of one statement of ours. TraceError with what DuckDB says when a part cannot be read."""
        import duckdb

        # DuckDB refuses parameters that a text does not mention; SQLite ignores them.
        used = {name: value for name, value in parameters.items() if f"${name}" in sql}
        try:
            cursor = self._database.execute(sql, used)
            columns = [str(column[0]) for column in cursor.description or ()]
            return columns, cursor.fetchall()
        # Our statements name columns that each part of this version has.
        except duckdb.BinderException:
            raise TraceError(f"{self._folder}: tables of another version: export the traces again") from None
        except duckdb.Error as error:
            raise TraceError(f"{self._folder}: the tables cannot be read: {str(error)[:500]}") from None


def quoted(text: str) -> str:
    """A text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def _plain(cell: object) -> Cell:
    """A cell as SQLite could have answered it: lists, dates and numbers beyond 64 bits become text."""
    if isinstance(cell, bytes):
        return cell.hex()
    if isinstance(cell, Decimal):
        return float(cell)
    if isinstance(cell, int) and not -_LARGEST <= cell < _LARGEST:
        return str(cell)
    return cell if cell is None or isinstance(cell, int | float | str) else str(cell)


def _nothing(table: Table) -> str:
    """An empty table with the right columns, for a folder that has no part of it."""
    columns = ", ".join(f"CAST(NULL AS {column.type}) AS {column.name}" for column in table.columns)
    return f"(SELECT {columns} WHERE FALSE) AS nothing"
