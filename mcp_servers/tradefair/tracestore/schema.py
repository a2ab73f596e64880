"""The tables of a `.trace` file, in three forms. A file with any other table, index, view or trigger is none."""

from __future__ import annotations

EVENT_COLUMNS = (
    "seq", "body", "hash", "closes", "blob_digest", "blob", "seat", "call_key", "request_digest", "at_ms", "latency_us",
    "transport", "client", "request_id", "traceparent", "by",
)  # fmt: skip
"""The columns of `events`, in their order: writers insert by position. `by` is "person" where a person has clicked."""

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    body BLOB NOT NULL,
    hash BLOB NOT NULL,
    closes INTEGER NOT NULL,
    blob_digest TEXT,
    blob BLOB,
    seat TEXT,
    call_key TEXT,
    request_digest TEXT,
    at_ms INTEGER,
    latency_us INTEGER,
    transport TEXT,
    client TEXT,
    request_id TEXT,
    traceparent TEXT%s
);
CREATE UNIQUE INDEX blobs ON events (blob_digest) WHERE blob_digest IS NOT NULL;
CREATE UNIQUE INDEX call_keys ON events (seat, call_key) WHERE call_key IS NOT NULL;
CREATE TABLE agent_events (id INTEGER PRIMARY KEY, seat TEXT NOT NULL, body BLOB NOT NULL);
CREATE TRIGGER keep_sealed_head AFTER INSERT ON events WHEN NEW.closes BEGIN
    INSERT OR REPLACE INTO meta VALUES ('closed_head', NEW.seq || ':' || lower(hex(NEW.hash)));
END;
"""
# What models were sent, each part once, deflated; and the calls that a recorder has handed on and not yet seen
# answered (`body` is the redacted request, `cancelled` 0 or 1). All three lie beside the chain and may be empty.
_BESIDE = """
CREATE TABLE prompt_parts (n INTEGER PRIMARY KEY, digest BLOB UNIQUE, body BLOB NOT NULL);
CREATE TABLE prompt_calls (
    id INTEGER PRIMARY KEY,
    seat TEXT NOT NULL,
    call TEXT NOT NULL,
    same INTEGER NOT NULL,
    parts BLOB NOT NULL,
    tools INTEGER,
    params BLOB NOT NULL,
    answer BLOB NOT NULL
);
CREATE TABLE pending (
    id INTEGER PRIMARY KEY,
    seat TEXT NOT NULL,
    request_id TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    body BLOB NOT NULL,
    cancelled INTEGER NOT NULL
);
"""

SCHEMA = _TABLES % ",\n    by TEXT" + _BESIDE
"""The format of a `.trace` file. `closed_head` moves in the same statement as the closure that it names.

So a writer that is killed between two statements leaves a head that names an event of the file.
"""

SCHEMA_1 = _TABLES % ""
"""The tables of `tradefair.trace/1`: such files are still read, never written."""

# Without types and line breaks, so that both statements fit on the first page.
_BARE_COLUMNS = ", ".join(name for name in EVENT_COLUMNS[1:] if not name.startswith("blob"))
SCHEMA_SMALL = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE events (seq INTEGER PRIMARY KEY, {_BARE_COLUMNS});
"""
"""The format of a small trace that was written whole: what it leaves empty, and what only a writer needs, is left out.

That is no blobs, no notes, no prompts and no pending calls. Who opens its log gets all tables first (`enlarge`).
"""
