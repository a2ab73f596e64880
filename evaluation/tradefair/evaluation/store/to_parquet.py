"""Traces written as Parquet: a folder of tables, each a folder of parts. DuckDB writes it (extra `analytics`)."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import orjson

from tradefair.contract import ScenarioError
from tradefair.contract.errors import StorageUnavailable
from tradefair.evaluation.store.in_duckdb import open_duckdb, quoted
from tradefair.evaluation.store.rows import TableRow
from tradefair.evaluation.store.tables import SCHEMA_VERSION, TABLES, Row
from tradefair.files.folders import move_onto

EXPORT_NOTE = "export.json"
"""Says what the folder holds; by it an older export is known that may be replaced."""

# Of JSON lines, before compression: the temporary file of a table hardly grows beyond it.
_PART_BYTES = 256_000_000
# `read_json` gets the type of every column: left to guess, DuckDB would take it from the values.
_JSON_TYPES = {"TEXT": "VARCHAR"}


class ParquetFolder:
    """A folder of Parquet tables in the making: rows go in, and it stands under its name when all went well.

    A context manager. Raises ScenarioError without DuckDB or when `folder` holds something else than an earlier export,
    StorageUnavailable when it cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        # Checked before any row is written: exporting a sweep can take long.
        if folder.exists() and not (folder.is_dir() and _replaceable(folder)):
            raise ScenarioError(f"{folder}: is there and is no earlier export; name a new folder with -o")
        self._folder = folder
        # Next to the folder, so that the final rename stays within one file system.
        self._draft = folder.with_name(f".{folder.name}.{os.getpid()}.draft")
        self._lines: dict[str, IO[bytes]] = {}
        self._sizes: Counter[str] = Counter()
        self._parts: Counter[str] = Counter()
        self._given: set[Row] = set()
        self._about: dict[str, Any] = {}
        self.rows: Counter[str] = Counter()

    def __enter__(self) -> ParquetFolder:
        try:
            # What a killed run of the same process id left.
            shutil.rmtree(self._draft, ignore_errors=True)
            self._draft.mkdir(parents=True)
            # One thread keeps the rows in their order, which is what makes the same traces the same bytes.
            self._database = open_duckdb(self._draft / "spill", threads=1)
        except OSError as error:
            raise StorageUnavailable(f"{self._folder}: cannot be written: {error.strerror}") from None
        except BaseException:
            shutil.rmtree(self._draft, ignore_errors=True)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: BaseException | TracebackType | None) -> None:
        try:
            if kind is None:
                self._finish()
        finally:
            self._database.close()
            for file in self._lines.values():
                file.close()
            shutil.rmtree(self._draft, ignore_errors=True)

    def add(self, rows: Iterable[TableRow]) -> None:
        """Rows of one episode, or of several one after another in the order of their ids."""
        for table, row in rows:
            if table == "gives":
                # Every trace of a market says the same of its tools.
                if row in self._given:
                    continue
                self._given.add(row)
            line = orjson.dumps(dict(zip(TABLES[table].names, row, strict=True))) + b"\n"
            self._file(table).write(line)
            self.rows[table] += 1
            self._sizes[table] += len(line)
            if self._sizes[table] >= _PART_BYTES:
                self._write_part(table)

    def describe(self, **about: Any) -> None:
        """Add entries to the note in the folder, next to its schema and the number of rows."""
        self._about = about

    def _file(self, table: str) -> IO[bytes]:
        if table not in self._lines:
            self._lines[table] = (self._draft / f"{table}.ndjson").open("wb")
        return self._lines[table]

    def _write_part(self, table: str) -> None:
        """Turn the JSON lines collected for a table into its next numbered part, and remove them."""
        self._lines.pop(table).close()
        columns = TABLES[table].columns
        types = ", ".join(f"{quoted(column.name)}: {quoted(_type(column.type))}" for column in columns)
        lines = self._draft / f"{table}.ndjson"
        (self._draft / table).mkdir(exist_ok=True)
        part = self._draft / table / f"{self._parts[table]:04}.parquet"
        self._run(
            f"COPY (SELECT {', '.join(column.name for column in columns)} FROM read_json({quoted(str(lines))}, "
            f"format = 'newline_delimited', columns = {{{types}}})) TO {quoted(str(part))} "
            f"(FORMAT parquet, COMPRESSION zstd, KV_METADATA {{tradefair: {quoted(SCHEMA_VERSION)}}})"
        )
        lines.unlink()
        self._parts[table] += 1
        self._sizes[table] = 0

    def _run(self, sql: str) -> None:
        """Run one statement. StorageUnavailable with what DuckDB says when it fails."""
        import duckdb

        try:
            self._database.execute(sql)
        except duckdb.Error as error:
            raise StorageUnavailable(f"{self._folder}: cannot be written: {str(error)[:500]}") from None

    def _finish(self) -> None:
        """Write the last parts and the note, then put the folder in the place of an older export."""
        for table in TABLES:
            # Every table gets at least one part, if empty: a reader need not know which tables may be missing.
            if self._sizes[table] or not self._parts[table]:
                self._file(table)
                self._write_part(table)
        # Written last: a folder with a note is complete.
        note = {"schema": SCHEMA_VERSION, **self._about, "rows": {name: self.rows[name] for name in TABLES}}
        (self._draft / EXPORT_NOTE).write_bytes(orjson.dumps(note, option=orjson.OPT_INDENT_2) + b"\n")
        shutil.rmtree(self._draft / "spill", ignore_errors=True)
        try:
            # Renaming onto a folder that is not empty fails, so the older export goes first.
            if self._folder.exists():
                shutil.rmtree(self._folder)
            move_onto(self._draft, self._folder)
        except OSError as error:
            raise StorageUnavailable(f"{self._folder}: cannot be written: {error.strerror}") from None


def _type(column: str) -> str:
    return _JSON_TYPES.get(column, column)


def _replaceable(folder: Path) -> bool:
    """Whether a folder is empty or one of ours: nothing in it but the note and the tables.

    Anything else in it could be a file of the user's, and replacing would delete it.
    """
    names: Sequence[str] = [item.name for item in folder.iterdir()]
    return not names or (EXPORT_NOTE in names and set(names) <= {EXPORT_NOTE, *TABLES})
