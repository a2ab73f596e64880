"""Traces in SQLite, JSONL or a PostgreSQL store, read behind one small class; the host writes them, importers whole."""

from fairground.tracestore.fetching import fetch_trace, fetched, stored_traces
from fairground.tracestore.manifest import Manifest
from fairground.tracestore.peek import Peek, peek
from fairground.tracestore.reader import SCHEMA, Trace, connect_to_read, find_traces, jsonl_lines, open_trace
from fairground.tracestore.soundness import sound_head
from fairground.tracestore.source import NotATrace, SideRow, StoredEvent
from fairground.tracestore.store import StorePlace, is_store
from fairground.tracestore.writer import Written, write_trace

__all__ = [
    "SCHEMA",
    "Manifest",
    "NotATrace",
    "Peek",
    "SideRow",
    "StorePlace",
    "StoredEvent",
    "Trace",
    "Written",
    "connect_to_read",
    "fetch_trace",
    "fetched",
    "find_traces",
    "is_store",
    "jsonl_lines",
    "open_trace",
    "peek",
    "sound_head",
    "stored_traces",
    "write_trace",
]
