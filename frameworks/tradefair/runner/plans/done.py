"""The table of a sweep's episodes: SQLite, one row per episode under its digest, in the folder of the traces.

It makes a sweep idempotent: a command that is run again plays what is not done. And it lets several commands play one
plan: each takes a lease on the episodes that it plays next, and what a dead command held is free for the others.
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from tradefair.contract import ScenarioError, SeatId
from tradefair.contract.errors import StorageUnavailable
from tradefair.host.episode.setup import make_folder
from tradefair.runner.plans.episodes import EpisodeSpec, Workload
from tradefair.runner.plans.lease import Lease, is_alive, lease_names
from tradefair.runner.plans.play import Spent, SweepResult

TABLE = "sweep.sqlite"
# Seconds that a command waits for the transaction of another one.
_PATIENCE_S = 60.0

_META = "CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"
_EPISODES = """CREATE TABLE IF NOT EXISTS episodes (
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
    finished_at INTEGER,
    lease TEXT,
    spent TEXT,
    agent_key INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID"""
_INDICES = (
    "CREATE INDEX IF NOT EXISTS by_status ON episodes (status, place)",
    "CREATE INDEX IF NOT EXISTS by_lease ON episodes (lease) WHERE lease IS NOT NULL",
)
_LATER_COLUMNS = ("lease TEXT", "spent TEXT", "agent_key INTEGER NOT NULL DEFAULT 0")
"""Columns that folders of earlier versions do not have."""

# Two folders and a file: a path that climbs out of the sweep's folder does not match.
_PATH = re.compile(r"\w[\w.-]*/\w[\w.-]*/(?P<id>[0-9a-f]{12})\.trace", re.ASCII)
_ROW = "place, digest, variant, seed, players, path, agent_key"
_INSERT = f"INSERT INTO episodes ({_ROW}) VALUES (?, ?, ?, ?, ?, ?, ?)"
# Only its position may change: a longer plan moves episodes, and what is known of them stays.
_SEEN = "ON CONFLICT (digest) DO UPDATE SET place = excluded.place, variant = excluded.variant"
_CLAIM = f"""UPDATE episodes SET lease = ? WHERE digest IN (
    SELECT digest FROM episodes WHERE status = 'open' AND lease IS NULL ORDER BY place LIMIT ?
) RETURNING {_ROW}"""
_RESULT = """UPDATE episodes SET
status = ?, end_reason = ?, head_hash = ?, problem = ?, cpu_ms = ?, size = ?, spent = ?,
finished_at = ?, tries = tries + 1, lease = NULL WHERE digest = ?"""


class Counts(NamedTuple):
    """How many episodes there are, are done, and failed at their last try."""

    total: int
    done: int
    failed: int

    @property
    def left(self) -> int:
        """Episodes that are still to be played."""
        return self.total - self.done


class Totals(NamedTuple):
    """Of everything that is done: bytes of traces and CPU seconds."""

    size: int
    cpu_seconds: float


class SweepTable:
    """An opened table. Use as a context manager; `take_in` a plan before the first `claim`."""

    def __init__(self, folder: Path) -> None:
        """Opens the table of `folder`, made if need be. Raises StorageUnavailable."""
        make_folder(folder)
        self.folder = folder
        self._lease: Lease | None = None
        try:
            # Transactions are begun by hand: the module would otherwise begin them late, without a write lock.
            self._db = sqlite3.connect(folder / TABLE, isolation_level=None, timeout=_PATIENCE_S)
            # Readers such as a second command's counts do not wait for a writer.
            self._db.execute("PRAGMA journal_mode = WAL")
            # A crash of the machine may lose the last results; their traces are found again, so that costs nothing.
            self._db.execute("PRAGMA synchronous = NORMAL")
            with self._writing():
                self._make()
        except sqlite3.Error as error:
            raise StorageUnavailable(f"{folder / TABLE}: {error}") from None

    def __enter__(self) -> SweepTable:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self._lease is not None:
                with self._writing():
                    # What was claimed and not played is open for other commands at once.
                    self._db.execute("UPDATE episodes SET lease = NULL WHERE lease = ?", (self._lease.name,))
                    self._lease.release()
        finally:
            self._db.close()

    @property
    def lease(self) -> Lease:
        """This command's; it begins when the plan is taken in."""
        assert self._lease is not None, "take_in a plan first"
        return self._lease

    def take_in(self, work: Workload) -> None:
        """Make a row for every episode of a plan; those that are there keep what is known of them.

        What failed, or was done and has lost its trace, is open again. Raises ScenarioError when the folder holds
        episodes that the plan does not mean, or when another plan is being played in it.
        """
        with self._writing():
            # Dead leases are freed first: a command that was killed must not count as one that plays.
            alone = not self._free_dead()
            # The same plan as before needs no rows: with a million episodes that saves most of the start.
            if self._said("plan") != work.digest:
                if not alone:
                    raise ScenarioError(
                        f"{self.folder}: another plan is being played here; wait for it, or name another folder"
                    )
                self._take_rows(work)
            # A new command tries again what failed: the reason may be gone.
            self._db.execute("UPDATE episodes SET status = 'open' WHERE status = 'failed'")
            self._open_lost()
            # Within the transaction, as `Lease` asks for.
            self._lease = self._lease or Lease(self.folder)
        # Drafts are files of a writer that is at work, unless no other command lives.
        if alone:
            for draft in self.folder.glob("*/*/.*.draft"):
                draft.unlink(missing_ok=True)

    def claim(self, most: int) -> list[EpisodeSpec]:
        """Take the lease of up to `most` open episodes without a lease, in the order of the plan.

        Raises ScenarioError for a row that no plan has written: a table may come with a stranger's folder.
        """
        with self._writing():
            claimed = [self._episode(row) for row in self._db.execute(_CLAIM, (self.lease.name, most))]
        # SQLite returns updated rows in no order; `place` is the first field of an episode.
        return sorted(claimed)

    def held_by_others(self) -> int:
        """Episodes that living commands play elsewhere; those of dead ones are free afterwards."""
        with self._writing():
            self._free_dead()
        sql = "SELECT count(*) FROM episodes WHERE lease IS NOT NULL AND lease <> ?"
        return self._read(sql, self.lease.name)[0][0]

    def finish(self, results: Iterable[SweepResult]) -> None:
        """Write down what became of episodes, and give their leases back.

        Each result counts as a try. A later result of the same episode replaces the earlier one.
        """
        now = int(time.time())
        plain = [result.plain for result in results]
        rows = [(*said, orjson.dumps(spent).decode(), now, digest) for digest, *said, spent in plain]
        if rows:
            with self._writing():
                self._db.executemany(_RESULT, rows)

    def counts(self) -> Counts:
        """How far the sweep is.

        Of all commands in this folder, as far as they have written it down.
        """
        by_status: Mapping[str, int] = dict(self._read("SELECT status, count(*) FROM episodes GROUP BY status"))
        return Counts(sum(by_status.values()), by_status.get("done", 0), by_status.get("failed", 0))

    def totals(self) -> Totals:
        """What everything that is done took."""
        sql = "SELECT coalesce(sum(size), 0), coalesce(sum(cpu_ms), 0) FROM episodes WHERE status = 'done'"
        ((size, cpu_ms),) = self._read(sql)
        return Totals(size, cpu_ms / 1000)

    def spent(self) -> dict[str, Spent]:
        """Tokens and cost by label of agent, of all episodes, failed and unfinished ones too."""
        sql = """SELECT key, sum(json_extract(value, '$[0]')), sum(json_extract(value, '$[1]'))
        FROM episodes, json_each(episodes.spent) WHERE spent IS NOT NULL AND spent <> '{}' GROUP BY key"""
        return {label: Spent(tokens, cost) for label, tokens, cost in self._read(sql)}

    def failures(self) -> Iterator[tuple[str, str, int]]:
        """(path, problem, tries) of the episodes that failed at their last try."""
        sql = "SELECT path, coalesce(problem, ''), tries FROM episodes WHERE status = 'failed' ORDER BY place"
        yield from self._read(sql)

    def states(self) -> Iterator[tuple[int, int, Mapping[SeatId, str], str, str]]:
        """(variant, seed, players, path, state) of all episodes in the plan's order; `players` has labels by seat.

        State: done, failed, running (here or in another command) or open.
        """
        state = "CASE WHEN status = 'open' AND lease IS NOT NULL THEN 'running' ELSE status END"
        for variant, seed, players, path, now in self._read(
            f"SELECT variant, seed, players, path, {state} FROM episodes ORDER BY place"
        ):
            yield variant, seed, orjson.loads(players), path, now

    def _make(self) -> None:
        """Make what is missing of tables, later columns and indices."""
        self._db.execute(_META)
        self._db.execute(_EPISODES)
        # `ADD COLUMN` knows no IF NOT EXISTS.
        there = {row[1] for row in self._db.execute("PRAGMA table_info(episodes)")}
        for column in _LATER_COLUMNS:
            if column.partition(" ")[0] not in there:
                self._db.execute(f"ALTER TABLE episodes ADD COLUMN {column}")
        for index in _INDICES:
            self._db.execute(index)

    def _take_rows(self, work: Workload) -> None:
        """Put in the plan's episodes, and refuse those in the table that it does not mean. Raises ScenarioError."""
        # A table and not a list: a plan may mean a million episodes.
        self._db.execute("CREATE TEMP TABLE IF NOT EXISTS meant (digest TEXT PRIMARY KEY) WITHOUT ROWID")
        # A generator in parts of a thousand, so that they are never all in memory.
        rows = (_row(episode) for episode in work.episodes())
        while part := list(islice(rows, 1_000)):
            self._db.executemany(f"{_INSERT} {_SEEN}", part)
            self._db.executemany("INSERT INTO meant VALUES (?)", [(row[1],) for row in part])
        strange = "SELECT count(*) FROM episodes WHERE digest NOT IN (SELECT digest FROM meant)"
        others = self._db.execute(strange).fetchone()[0]
        # Inside the transaction: raising rolls back the rows that were put in.
        if others:
            raise ScenarioError(
                f"{self.folder} holds {others:,} episodes that this plan does not mean (it is another plan, or "
                "the rules have changed): name another folder with --out"
            )
        self._db.execute("DROP TABLE meant")
        said = (("plan", work.digest), ("name", work.name))
        self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", said)

    def _open_lost(self) -> None:
        """Open the episodes that were done and have lost their traces: they are to be played again."""
        # As text: paths of a large folder are many, and made into objects they take seconds.
        there = {
            f"{variant.name}/{part.name}/{trace.name}"
            for variant in _folders(self.folder)
            for part in _folders(variant.path)
            for trace in os.scandir(part.path)
        }
        done = self._db.execute("SELECT digest, path FROM episodes WHERE status = 'done'")
        lost = [(digest,) for digest, path in done if path not in there]
        self._db.executemany("UPDATE episodes SET status = 'open' WHERE digest = ?", lost)

    def _free_dead(self) -> list[str]:
        """Free what dead commands held, and return the leases of the other living ones."""
        mine = "" if self._lease is None else self._lease.name
        living = [name for name in lease_names(self.folder) if name != mine and is_alive(self.folder, name)]
        # "" stands for no lease of this command yet; no episode has that name.
        known = (mine, *living)
        slots = ", ".join("?" * len(known))
        self._db.execute(f"UPDATE episodes SET lease = NULL WHERE lease IS NOT NULL AND lease NOT IN ({slots})", known)
        return living

    def _said(self, key: str) -> str | None:
        """A value of the table `meta`; None where it is missing."""
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else row[0]

    def _read(self, sql: str, *given: object) -> list[Any]:
        try:
            return self._db.execute(sql, given).fetchall()
        except sqlite3.Error as error:
            raise StorageUnavailable(f"{self.folder / TABLE}: {error}") from None

    def _episode(self, row: Sequence[Any]) -> EpisodeSpec:
        """A row as an episode, if it lies where a plan has put it."""
        place, digest, variant, seed, players, path, agent_key = row
        try:
            episode = EpisodeSpec(place, digest, variant, seed, orjson.loads(players), path, agent_key)
            lies = _PATH.fullmatch(path)
            if lies is not None and lies["id"] == episode.id:
                return episode
        # A row that cannot be read is as damaged as one that lies elsewhere: one message for both.
        except (TypeError, ValueError):
            pass
        raise ScenarioError(f"{self.folder / TABLE}: damaged: no plan has put an episode at {str(path)[:80]!r}")

    def _writing(self) -> _Transaction:
        return _Transaction(self._db, self.folder / TABLE)


class _Transaction:
    """A write transaction; SQLite's errors become StorageUnavailable."""

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db = db
        self._path = path

    def __enter__(self) -> None:
        try:
            # The write lock at once: two commands that read first and write later could claim the same episodes.
            self._db.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            raise StorageUnavailable(f"{self._path}: {error}") from None

    def __exit__(self, kind: object, error: BaseException | None, *_: object) -> None:
        try:
            if kind is None:
                self._db.execute("COMMIT")
        except sqlite3.Error as failed:
            error = failed
        # A failed COMMIT leaves it open as well.
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")
        if isinstance(error, sqlite3.Error):
            raise StorageUnavailable(f"{self._path}: {error}") from None


def _row(episode: EpisodeSpec) -> tuple[object, ...]:
    """An episode as the values of a new row."""
    players = orjson.dumps(episode.players).decode()
    return (episode.place, episode.digest, episode.variant, episode.seed, players, episode.path, episode.agent_key)


def _folders(path: str | Path) -> Iterator[os.DirEntry[str]]:
    return (entry for entry in os.scandir(path) if entry.is_dir())
