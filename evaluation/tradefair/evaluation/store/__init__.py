"""Traces as tables: the same SQL in SQLite on one trace and in DuckDB over the Parquet of a sweep."""

from __future__ import annotations

from tradefair.evaluation.store.gathering import gather
from tradefair.evaluation.store.in_sqlite import TraceTables
from tradefair.evaluation.store.queries import QUERIES, Answer, Query, QueryEngine, query_named
from tradefair.evaluation.store.tables import SCHEMA_VERSION, TABLES

__all__ = [
    "QUERIES",
    "SCHEMA_VERSION",
    "TABLES",
    "Answer",
    "Query",
    "QueryEngine",
    "TraceTables",
    "gather",
    "query_named",
]
