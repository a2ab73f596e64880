"""Trace files: SQLite and JSONL read behind one small class; the host writes them, importers whole ones at once."""

from fairground.tracestore.manifest import Manifest
from fairground.tracestore.peek import Peek, peek
from fairground.tracestore.reader import (
    SCHEMA,
    NotATrace,
    SideRow,
    StoredEvent,
    Trace,
    find_traces,
    jsonl_lines,
    open_trace,
)
from fairground.tracestore.soundness import sound_head
from fairground.tracestore.writer import Written, write_trace

__all__ = [
    "SCHEMA",
    "Manifest",
    "NotATrace",
    "Peek",
    "SideRow",
    "StoredEvent",
    "Trace",
    "Written",
    "find_traces",
    "jsonl_lines",
    "open_trace",
    "peek",
    "sound_head",
    "write_trace",
]
