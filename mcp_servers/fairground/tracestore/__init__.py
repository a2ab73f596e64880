"""Reading trace files: SQLite and JSONL behind one small class. Only the host writes them."""

from fairground.tracestore.manifest import Manifest
from fairground.tracestore.reader import (
    SCHEMA,
    SideRow,
    StoredEvent,
    Trace,
    find_traces,
    jsonl_lines,
    open_trace,
)

__all__ = ["SCHEMA", "Manifest", "SideRow", "StoredEvent", "Trace", "find_traces", "jsonl_lines", "open_trace"]
