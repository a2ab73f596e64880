"""One trace as tables in a private SQLite database: the trace file itself is only read."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from tradefair.contract import ScenarioError
from tradefair.evaluation.store.queries import Answer, Query
from tradefair.evaluation.store.rows import TableRow, gather
from tradefair.evaluation.store.tables import TABLES, create_statements

# What SQLite's authorizer may let pass. A list of what is allowed: new actions of later versions stay forbidden.
_READING = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE})
# Rows per transaction.
_CHUNK = 5_000
# Steps of SQLite's virtual machine between two looks at the clock.
_STEPS_BETWEEN = 10_000
# `SELECT zeroblob(1000000000)` would otherwise fill the memory with one cell; the second limit is for many cells.
_MAX_CELL_BYTES = 16_000_000
_MAX_HEAP_BYTES = 1_000_000_000


class TraceTables:
    """The tables of one trace, or of the part of it that a seat saw. A context manager.

    `rows` are read to their end at once; the tables can only be read afterwards.
    """

    def __init__(self, rows: Iterable[TableRow]) -> None:
        # A nameless database lives in memory and moves to a file of its own where that becomes too
        # little. `isolation_level=None`: Python would open transactions on its own; here `_insert`
        # begins and commits them.
        self._database = sqlite3.connect("", isolation_level=None)
        for statement in create_statements():
            self._database.execute(statement)
        # Filled first, locked afterwards: the lock forbids our own INSERT as well.
        self._fill(rows)
        self._lock()

    @classmethod
    def of_file(cls, path: Path, *, seat: str | None = None) -> TraceTables:
        """A trace file. Raises TraceError when it is none, SeatError for a seat that it has not."""
        return cls(gather(path, seat=seat))

    def __enter__(self) -> TraceTables:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def run(self, query: Query, *, limit: int | None = None, **parameters: int) -> Answer:
        """A named query's answer, ordered by its key.

        `limit` bounds the rows; `parameters` replace the query's
        defaults. Raises ScenarioError for an unknown parameter.
        """
        return self._answer(query.ordered, query.parameters(parameters), limit)

    def select(self, sql: str, parameters: Iterable[object] = ()) -> Answer:
        """The answer to a statement of our own; `parameters` are bound to its question marks in their order."""
        return self._answer(sql, tuple(parameters), None)

    def ask(self, sql: str, *, limit: int, seconds: float) -> Answer:
        """The answer to a stranger's `SELECT`: nothing can be changed, attached or loaded, and it ends in time.

        Raises ScenarioError with what SQLite says of it, or when it takes longer than `seconds`.
        """
        deadline = time.monotonic() + seconds
        self._database.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS_BETWEEN)
        try:
            return self._answer(sql, (), limit)
        # Python's sqlite3 raises a Warning for a second statement in versions before 3.12, later a ProgrammingError.
        except sqlite3.Warning as error:
            raise ScenarioError(f"one statement at a time: {error}") from None
        except sqlite3.OperationalError as error:
            # The progress handler's stop arrives as an OperationalError like any other; only the text
            # tells it apart.
            if "interrupted" in str(error):
                raise ScenarioError(
                    f"the query took longer than {seconds:g} s; narrow it, or raise --timeout"
                ) from None
            raise ScenarioError(f"SQLite refuses the query: {error}") from None
        except (sqlite3.Error, MemoryError, OverflowError, ValueError) as error:
            hint = "; one SELECT over the tables is allowed" if "authoriz" in str(error) else ""
            raise ScenarioError(f"SQLite refuses the query: {error}{hint}") from None
        finally:
            # The next question gets a time of its own.
            self._database.set_progress_handler(None, 0)

    def _answer(self, sql: str, parameters: Any, limit: int | None) -> Answer:
        """Columns and at most `limit` rows of a statement."""
        with closing(self._database.execute(sql, parameters)) as cursor:
            columns = [column[0] for column in cursor.description or ()]
            # One row more than asked for: it says whether the answer is cut.
            rows = cursor.fetchall() if limit is None else cursor.fetchmany(limit + 1)
        cut = limit is not None and len(rows) > limit
        return Answer(columns, rows[:limit] if cut else rows, cut)

    def _fill(self, rows: Iterable[TableRow]) -> None:
        """Insert the rows, collected by table: one transaction for thousands of rows instead of one each."""
        waiting: dict[str, list[Any]] = {name: [] for name in TABLES}
        for table, row in rows:
            waiting[table].append(row)
            if len(waiting[table]) == _CHUNK:
                self._insert(table, waiting[table])
        for table, some in waiting.items():
            self._insert(table, some)

    def _insert(self, table: str, rows: list[Any]) -> None:
        """Insert rows and empty the list, which the caller goes on filling."""
        marks = ", ".join("?" for _ in TABLES[table].columns)
        self._database.execute("BEGIN")
        self._database.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
        self._database.execute("COMMIT")
        rows.clear()

    def _lock(self) -> None:
        """From here on the tables can only be read, by statements of bounded size."""
        self._database.execute(f"PRAGMA hard_heap_limit = {_MAX_HEAP_BYTES}")
        self._database.execute("PRAGMA query_only = ON")
        self._database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_CELL_BYTES)
        # The authorizer forbids ATTACH already; a second door costs nothing and does not depend on its list.
        self._database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        self._database.set_authorizer(_authorize)


def _authorize(action: int, first: str | None, second: str | None, *_: object) -> int:
    """Called by SQLite for everything that a statement is about to do, while it is compiled."""
    # `load_extension` is a function too, so a list of actions alone would let it pass.
    if action not in _READING or (action == sqlite3.SQLITE_FUNCTION and second == "load_extension"):
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK
