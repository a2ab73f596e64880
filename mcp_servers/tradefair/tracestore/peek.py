"""What a list of many traces needs from each of them: manifest and last closure by one query.

That is half the work of opening a trace, and lists have thousands.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import orjson

from tradefair.tracestore.manifest import Manifest
from tradefair.tracestore.reader import connect_to_read, open_trace


class Peek(NamedTuple):
    """`closed_seq` is the number of the last closure, as noted outside the chain; None before it, and in JSONL."""

    manifest: Manifest
    closed_seq: int | None


def peek(path: Path) -> Peek:
    """Manifest and last closure of a trace file. TraceError when it is not a trace, or damaged."""
    try:
        with closing(connect_to_read(path)) as database:
            stored = dict(database.execute("SELECT key, value FROM meta").fetchall())
        core, about = stored.get("core"), orjson.loads(stored.get("about", b"{}"))
        # A trigger writes this one, as text.
        closed = str(stored.get("closed_head", "")).partition(":")[0]
        if isinstance(core, bytes) and isinstance(about, dict):
            # A damaged head may be any text, and long digits would keep int() busy.
            seq = int(closed) if closed.isascii() and closed.isdecimal() and len(closed) < 16 else None
            return Peek(Manifest(core, about), seq)  # pyright: ignore[reportUnknownArgumentType]
    except (sqlite3.Error, orjson.JSONDecodeError, TypeError):
        pass
    # JSONL, or not a sound file: opening it says what is wrong.
    with open_trace(path) as trace:
        return Peek(trace.manifest, None)
