"""A trace taken apart, changed, and written again with everything that a forger can recompute.

    forge = Forge.load(path)
    forge.change(forge.seq_of(tool="submit_quote"), status="rejected")
    forge.save(target)                      # chain, head of the last closure and seal fit again

What reads the result is not saved by the check of the chain: only rules, policies and a seal from before can tell.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tradefair.contract.chain import canonical, digest, first_hash, next_hash, seal
from tradefair.contract.kernel.core import INLINE_BYTES
from tradefair.tracestore import EVENT_COLUMNS, SCHEMA, open_trace, sealed, sign_trace, sqlite_rows

CLOSURES = ("phase_closed", "round_closed", "episode_ended")
_CLOSURE = re.compile(rb'"event":"(?:%s)"' % "|".join(CLOSURES).encode())
_NUMBER = re.compile(rb'^\{"seq":\d+')
# The columns of `events` behind number, body, hash, closes and blob.
SIDE_COLUMNS = EVENT_COLUMNS[6:]


@dataclass
class Forge:
    """`bodies` are the exact bytes of the events, `numbers` those under which they stand, `side` their other columns.

    `blobs` are stored with the first event that names them; `notes` are (seat, bytes), as written.
    """

    core: bytes
    about: dict[str, Any]
    bodies: list[bytes]
    numbers: list[int]
    blobs: dict[str, bytes] = field(default_factory=dict[str, bytes])
    notes: list[tuple[str, bytes]] = field(default_factory=list[tuple[str, bytes]])
    side: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    amend: Callable[[dict[str, Any]], object] = lambda about: None
    """What is done to `about` after all else and before its seal."""

    @classmethod
    def load(cls, path: Path) -> Forge:
        """An honest trace file taken apart."""
        with open_trace(path) as trace:
            manifest, stored = trace.manifest, list(trace.events())
            blobs, notes = dict(trace.blobs()), list(trace.notes())
            rows = list(trace.side_rows("calls") or ())
        return cls(
            core=manifest.core_bytes,
            about=dict(manifest.about),
            bodies=[event.body for event in stored],
            numbers=[event.seq for event in stored],
            blobs=blobs,
            notes=notes,
            side=[dict(zip(SIDE_COLUMNS, row, strict=True)) for row in rows],
        )

    def copy(self) -> Forge:
        """The same again, so that a change spoils nothing but its own."""
        about = orjson.loads(orjson.dumps(self.about))
        side = [dict(row) for row in self.side]
        return replace(
            self,
            about=about,
            bodies=[*self.bodies],
            numbers=[*self.numbers],
            blobs={**self.blobs},
            notes=[*self.notes],
            side=side,
        )

    # --- looking --------------------------------------------------------------------------------------------------

    def events(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """(place from 1 on, event) of all that are JSON objects."""
        for place, body in enumerate(self.bodies, 1):
            yield place, orjson.loads(body)

    def seq_of(self, skip: int = 0, **fields: Any) -> int:
        """The place of the first event with these fields, after `skip` others. LookupError where there is none."""
        for place, event in self.events():
            if all(event.get(name) == value for name, value in fields.items()):
                if not skip:
                    return place
                skip -= 1
        raise LookupError(f"no event with {fields}")

    def event(self, place: int) -> dict[str, Any]:
        """One event as plain data."""
        return orjson.loads(self.bodies[place - 1])

    # --- changing -------------------------------------------------------------------------------------------------

    def change(self, place: int, /, **fields: Any) -> None:
        """Set fields of one event."""
        self.bodies[place - 1] = orjson.dumps({**self.event(place), **fields})

    def edit(self, place: int, change: Callable[[dict[str, Any]], object]) -> None:
        """Let `change` work on one event."""
        event = self.event(place)
        change(event)
        self.bodies[place - 1] = orjson.dumps(event)

    def edit_core(self, change: Callable[[dict[str, Any]], object]) -> None:
        """Let `change` work on the manifest's core, which is written in its canonical form again."""
        core = orjson.loads(self.core)
        change(core)
        self.core = canonical(core)

    def set_result(self, place: int, result: object) -> None:
        """Give a call another result, with the digest and size that belong to it, stored apart where it is large."""
        body = orjson.dumps(result)
        name, large = digest(body), len(body) > INLINE_BYTES
        if large:
            self.blobs[name] = body
        self.blobs.pop(self.event(place)["result_ref"], None)
        said = {"result": None if large else result, "result_ref": name if large else None}
        self.change(place, **said, result_digest=name, result_size=len(body))

    def insert(self, place: int, event: Mapping[str, Any] | bytes, **side: Any) -> None:
        """Put an event before the one at `place`; numbers close up."""
        self.bodies.insert(place - 1, event if isinstance(event, bytes) else orjson.dumps(event))
        if self.side:
            self.side.insert(place - 1, {**dict.fromkeys(SIDE_COLUMNS), **side})
        self.renumber()

    def remove(self, first: int, last: int | None = None) -> None:
        """Take the events `first` to `last` out (without `last`: one); numbers close up."""
        gone = slice(first - 1, last or first)
        del self.bodies[gone], self.side[gone]
        self.renumber()

    def renumber(self) -> None:
        """Number all events from 1 on, in the order in which they stand."""
        self.bodies = [_NUMBER.sub(b'{"seq":%d' % seq, body) for seq, body in enumerate(self.bodies, 1)]
        self.numbers = [*range(1, len(self.bodies) + 1)]

    def unseal(self) -> None:
        """Take out of `about` what only a sealed trace says."""
        for key in ("finished", "end_reason", "head_seq", "head_hash", "outcome_digest", "awaits", "beside", "seal"):
            self.about.pop(key, None)

    # --- writing --------------------------------------------------------------------------------------------------

    def save(self, path: Path, *, signer: int | None = None) -> Path:
        """A trace file of these parts: SQLite, or JSONL where the name ends in `.jsonl`. An existing file goes.

        `signer` is the number of a key that signs the seal.
        """
        plain = path.suffix == ".jsonl"
        place = path.with_suffix(".draft") if plain else path
        place.unlink(missing_ok=True)
        with closing(sqlite3.connect(place)) as database:
            # Half a second per file would go into syncing what nobody keeps.
            database.execute("PRAGMA synchronous = OFF")
            database.executescript(SCHEMA)
            # In JSONL an event has the number of its line.
            self._fill(database, range(1, len(self.bodies) + 1) if plain else self.numbers)
        if plain:
            path.write_bytes(b"".join(line + b"\n" for line in _lines(place)))
            place.unlink()
        if signer is not None:
            sign_trace(path, Ed25519PrivateKey.from_private_bytes(bytes([signer]) * 32))
        return path

    def _fill(self, database: sqlite3.Connection, places: Sequence[int]) -> None:
        head, closed, left = first_hash(self.core), "", dict(self.blobs)
        insert = f"INSERT OR IGNORE INTO events VALUES ({', '.join('?' * len(EVENT_COLUMNS))})"
        for index, (seq, body) in enumerate(zip(self.numbers, self.bodies, strict=True)):
            head = next_hash(head, body)
            named = next((name for name in left if name.encode() in body), None)
            side = self.side[index] if index < len(self.side) else {}
            # `closes` is 0, or the schema's trigger would write the head of the last closure.
            row = (places[index], body, head, 0, named, left.pop(named) if named else None)
            database.execute(insert, (*row, *(side.get(name) for name in SIDE_COLUMNS)))
            if _CLOSURE.search(body):
                closed = f"{seq}:{head.hex()}"
        # Before the seal, which covers them.
        database.executemany("INSERT INTO agent_events (seat, body) VALUES (?, ?)", self.notes)
        about = {key: value for key, value in self.about.items() if key != "seal"}
        if "head_seq" in about:
            about |= {"head_seq": self.numbers[-1] if self.numbers else 0, "head_hash": head.hex()}
            about = sealed(about, partial(sqlite_rows, database))
            self.amend(about)
            about["seal"] = seal(about)
        meta = {"core": self.core, "about": orjson.dumps(about), "closed_head": closed.encode()}
        database.executemany("INSERT INTO meta VALUES (?, ?)", [pair for pair in meta.items() if pair[1]])
        database.commit()


def _lines(place: Path) -> Iterator[bytes]:
    """A trace file as lines of JSON. Not by our reader: it refuses what a forgery may hold."""
    with closing(sqlite3.connect(place)) as database:
        meta = dict(database.execute("SELECT key, value FROM meta").fetchall())
        yield b'{"about":%b,"core":%b}' % (meta["about"], meta["core"])
        for body, found in database.execute("SELECT body, lower(hex(hash)) FROM events ORDER BY seq"):
            yield b'{"hash":"%b","event":%b}' % (found.encode(), body)
        if "closed_head" in meta:
            seq, _, head = meta["closed_head"].decode().partition(":")
            yield orjson.dumps({"closed_head": [int(seq), head]})
        for name, blob in database.execute("SELECT blob_digest, blob FROM events WHERE blob IS NOT NULL ORDER BY seq"):
            yield b'{"blob":"%b","body":%b}' % (name.encode(), blob)
