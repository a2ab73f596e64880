"""Traces in SQLite, JSONL or a PostgreSQL store, read behind one small class; the host writes them, importers whole."""

from tradefair.files.folders import lines
from tradefair.tracestore.beside import PROMPTS, SIDE_TABLES, row_digest, sealed, sqlite_rows
from tradefair.tracestore.database import Database
from tradefair.tracestore.fetching import fetch_trace, fetched, stored_traces, trace_copy
from tradefair.tracestore.manifest import Manifest
from tradefair.tracestore.prompts import Exchange, Ledger, PromptCall, PromptRows
from tradefair.tracestore.reader import (
    MAX_TRACES,
    REFERENCES,
    TRACE_SUFFIXES,
    Trace,
    find_traces,
    is_reference,
    jsonl_lines,
    open_trace,
)
from tradefair.tracestore.schema import EVENT_COLUMNS, SCHEMA
from tradefair.tracestore.signing import (
    BadSignature,
    Signers,
    check_signable,
    sign_trace,
    signer_of,
    signers_of,
    signing_key,
)
from tradefair.tracestore.soundness import sound_head
from tradefair.tracestore.source import CutShort, NotATrace, SideRow, StoredEvent
from tradefair.tracestore.store import StorePlace, is_store, is_whole_store, without_password
from tradefair.tracestore.writer import WRITTEN_BY, Written, write_trace

__all__ = [
    "EVENT_COLUMNS",
    "MAX_TRACES",
    "PROMPTS",
    "REFERENCES",
    "SCHEMA",
    "SIDE_TABLES",
    "TRACE_SUFFIXES",
    "WRITTEN_BY",
    "BadSignature",
    "CutShort",
    "Database",
    "Exchange",
    "Ledger",
    "Manifest",
    "NotATrace",
    "PromptCall",
    "PromptRows",
    "SideRow",
    "Signers",
    "StorePlace",
    "StoredEvent",
    "Trace",
    "Written",
    "check_signable",
    "fetch_trace",
    "fetched",
    "find_traces",
    "is_reference",
    "is_store",
    "is_whole_store",
    "jsonl_lines",
    "lines",
    "open_trace",
    "row_digest",
    "sealed",
    "sign_trace",
    "signer_of",
    "signers_of",
    "signing_key",
    "sound_head",
    "sqlite_rows",
    "stored_traces",
    "trace_copy",
    "without_password",
    "write_trace",
]
