"""Traces in SQLite, JSONL or a PostgreSQL store, read behind one small class; the host writes them, importers whole."""

from fairground.tracestore.fetching import fetch_trace, fetched, stored_traces, trace_copy
from fairground.tracestore.manifest import Manifest
from fairground.tracestore.peek import Peek, peek
from fairground.tracestore.reader import SCHEMA, Trace, find_traces, jsonl_lines, open_trace
from fairground.tracestore.soundness import sound_head
from fairground.tracestore.source import NotATrace, SideRow, StoredEvent
from fairground.tracestore.store import StorePlace, is_store, is_whole_store, without_password
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
    "fetch_trace",
    "fetched",
    "find_traces",
    "is_store",
    "is_whole_store",
    "jsonl_lines",
    "open_trace",
    "peek",
    "sound_head",
    "stored_traces",
    "trace_copy",
    "without_password",
    "write_trace",
]
