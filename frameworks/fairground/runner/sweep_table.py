"""The table of a sweep's episodes: SQLite, one row per episode under its digest, beside the traces.

It is what makes a sweep idempotent: a command that is run again plays what is not done. One process writes; a lock that
its workers share keeps a second sweep out of the folder until the last of them is gone.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import orjson

from fairground.contract.errors import ScenarioError, StorageUnavailable
from fairground.host.setup import make_folder
from fairground.runner.plan_episodes import EpisodeSpec, Workload
from fairground.runner.sweep_play import SweepResult

__all__ = ["TABLE", "Counts", "SweepTable"]

TABLE = "sweep.sqlite"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS episodes (
    digest TEXT PRIMARY KEY,
    place INTEGER NOT NULL,
    variant INTEGER NOT NULL,
    seed INTEGER NOT NULL,
    players TEXT NOT NULL,
    path TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'open',
    tries INTEGER NOT NULL DEFAULT 0,
    end_reason TEXT,
    head_hash TEXT,
    problem TEXT,
    cpu_ms INTEGER,
    size INTEGER,
    finished_at INTEGER
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_status ON episodes (status, place);
"""
_ROW = "SELECT place, digest, variant, seed, players, path FROM episodes"
_INSERT = "INSERT INTO episodes (place, digest, variant, seed, players, path) VALUES (?, ?, ?, ?, ?, ?)"
_SEEN = "ON CONFLICT (digest) DO UPDATE SET place = excluded.place, variant = excluded.variant"
_RESULT = """UPDATE episodes SET status = ?, end_reason = ?, head_hash = ?, problem = ?, cpu_ms = ?, size = ?,
finished_at = ?, tries = tries + 1 WHERE digest = ?"""


class Counts(NamedTuple):
    """How many episodes there are, are done, and failed at their last try."""

    total: int
    done: int
    failed: int

    @property
    def left(self) -> int:
        """Episodes that are still to be played."""
        return self.total - self.done


class SweepTable:
    """An opened table. Use as a context manager."""

    def __init__(self, folder: Path) -> None:
        """Opens the table of `folder`, made if need be.

        Raises StorageUnavailable, ScenarioError when another sweep runs there.
        """
        make_folder(folder)
        self.folder = folder
        self.lock = _locked(folder / f"{TABLE}.lock")
        try:
            self._db = sqlite3.connect(folder / TABLE, isolation_level=None)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.executescript(_SCHEMA)
        except sqlite3.Error as error:
            os.close(self.lock)
            raise StorageUnavailable(f"{folder / TABLE}: {error}") from None

    def __enter__(self) -> SweepTable:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()
        os.close(self.lock)

    def take_in(self, work: Workload) -> None:
        """Make a row for every episode of a plan; those that are there keep what is known of them.

        Raises ScenarioError when the folder holds episodes that the plan does not mean.
        """
        if self._said("plan") == work.digest:
            self._open_lost()
            return
        with _Transaction(self._db):
            self._db.execute("CREATE TEMP TABLE meant (digest TEXT PRIMARY KEY) WITHOUT ROWID")
            rows = (_row(episode) for episode in work.episodes())
            for part in _parts(rows, 1_000):
                self._db.executemany(f"{_INSERT} {_SEEN}", part)
                self._db.executemany("INSERT INTO meant VALUES (?)", [(row[1],) for row in part])
            strange = "SELECT count(*) FROM episodes WHERE digest NOT IN (SELECT digest FROM meant)"
            others = self._db.execute(strange).fetchone()[0]
            if others:
                raise ScenarioError(
                    f"{self.folder} holds {others:,} episodes that this plan does not mean (it is another plan, or "
                    "the rules have changed): name another folder with --out"
                )
            self._db.execute("DROP TABLE meant")
            self._db.execute("INSERT OR REPLACE INTO meta VALUES ('plan', ?)", (work.digest,))
            self._db.execute("INSERT OR REPLACE INTO meta VALUES ('name', ?)", (work.name,))
        self._open_lost()

    def _open_lost(self) -> None:
        """Episodes that were done and whose traces are gone are to be played again; drafts of killed workers go."""
        for draft in self.folder.glob("*/*/.*.draft"):
            draft.unlink(missing_ok=True)
        there = {str(file.relative_to(self.folder)) for file in self.folder.glob("*/*/*.trace")}
        done = self._db.execute("SELECT digest, path FROM episodes WHERE status = 'done'")
        lost = [(digest,) for digest, path in done if path not in there]
        with _Transaction(self._db):
            self._db.executemany("UPDATE episodes SET status = 'open' WHERE digest = ?", lost)

    def counts(self) -> Counts:
        """How far the sweep is."""
        by_status: Mapping[str, int] = dict(self._db.execute("SELECT status, count(*) FROM episodes GROUP BY status"))
        return Counts(sum(by_status.values()), by_status.get("done", 0), by_status.get("failed", 0))

    def due(self) -> list[EpisodeSpec]:
        """What is to be played now, in the order of the plan: open ones, and those that failed."""
        rows = self._db.execute(f"{_ROW} WHERE status <> 'done' ORDER BY place")
        return [EpisodeSpec(row[0], row[1], row[2], row[3], orjson.loads(row[4]), row[5]) for row in rows]

    def totals(self) -> tuple[int, float]:
        """(bytes of traces, CPU seconds) of everything that is done."""
        sql = "SELECT coalesce(sum(size), 0), coalesce(sum(cpu_ms), 0) FROM episodes WHERE status = 'done'"
        size, cpu_ms = self._db.execute(sql).fetchone()
        return size, cpu_ms / 1000

    def failures(self) -> Iterator[tuple[str, str, int]]:
        """(path, problem, tries) of the episodes that failed at their last try."""
        sql = "SELECT path, coalesce(problem, ''), tries FROM episodes WHERE status = 'failed' ORDER BY place"
        yield from self._db.execute(sql)

    def finish(self, results: Iterable[SweepResult]) -> None:
        """Write down what became of episodes."""
        now = int(time.time())
        rows = [(*result[1:], now, result.digest) for result in results]
        try:
            with _Transaction(self._db):
                self._db.executemany(_RESULT, rows)
        except sqlite3.Error as error:
            raise StorageUnavailable(f"{self.folder / TABLE}: {error}") from None

    def _said(self, key: str) -> str | None:
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else row[0]


class _Transaction:
    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def __enter__(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, *_: object) -> None:
        self._db.execute("COMMIT" if kind is None else "ROLLBACK")


def _row(episode: EpisodeSpec) -> tuple[object, ...]:
    players = orjson.dumps(episode.players).decode()
    return (episode.place, episode.digest, episode.variant, episode.seed, players, episode.path)


def _parts(rows: Iterable[tuple[object, ...]], size: int) -> Iterator[list[tuple[object, ...]]]:
    part: list[tuple[object, ...]] = []
    for row in rows:
        part.append(row)
        if len(part) == size:
            yield part
            part = []
    if part:
        yield part


def _locked(path: Path) -> int:
    """The lock's file descriptor; workers inherit it, and it is free when the last of them is gone."""
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise StorageUnavailable(f"{path}: {error.strerror}") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise ScenarioError(
            f"{path.parent}: a sweep is running here, or the workers of one that was killed finish their episodes; "
            "wait a moment and run the command again"
        ) from None
    return lock
