"""The tables that a trace becomes: the same in SQLite, in DuckDB and as Parquet. No key contains nulls.

`BIGINT`, `TEXT` and `DOUBLE` mean the same to both engines (`INTEGER` and `REAL` do not).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

# Written into every Parquet part, so that a reader can tell which columns to expect.
SCHEMA_VERSION = "tradefair.tables/2"

EVERYTHING = "*"
"""The object of a call that is about no object in particular, and so about every one."""

Cell: TypeAlias = str | int | float | None
Row: TypeAlias = tuple[Cell, ...]


class Column(NamedTuple):
    """One column. Only what `nullable` says may be unknown."""

    name: str
    type: str
    about: str
    nullable: bool = False


class Table(NamedTuple):
    """One table; `about` says what a row is."""

    about: str
    columns: Sequence[Column]

    @property
    def names(self) -> list[str]:
        """The columns' names."""
        return [column.name for column in self.columns]


def _columns(*specs: tuple[str, str] | tuple[str, str, str]) -> list[Column]:
    """Columns from (name, what it is[, type]); types default to TEXT, and a type that ends in `?` may be null."""
    found: list[Column] = []
    for name, about, *rest in specs:
        kind = rest[0] if rest else "TEXT"
        found.append(Column(name, kind.rstrip("?"), about, kind.endswith("?")))
    return found


# Repeated in every table of events: queries by round then need no join with `calls`.
_WHEN = (("seq", "number of the event", "BIGINT"), ("round", "the market's clock before the call", "BIGINT"))
_EPISODE = ("episode", "id of the episode")

TABLES: Mapping[str, Table] = {
    "episodes": Table(
        "one per episode",
        _columns(
            _EPISODE,
            ("market", "name of the market"),
            ("rules_version", "version of its rules"),
            ("scenario", "id of the scenario"),
            ("seed", "the seed, as text; empty in one seat's view and where nothing was drawn"),
            ("end_reason", "'unfinished' while it is open"),
            ("rounds", "closed rounds", "BIGINT"),
            ("events", "events that could be read", "BIGINT"),
        ),
    ),
    "seats": Table(
        "one per seat of an episode",
        _columns(_EPISODE, ("seat", "id of the seat"), ("role", "its role"), ("label", "what played it, if known")),
    ),
    "calls": Table(
        "one per tool call, whatever became of it",
        _columns(
            _EPISODE,
            ("market", "name of the market"),
            *_WHEN,
            ("phase", "phase of the round"),
            ("revision", "closures so far", "BIGINT"),
            ("seat", "who called"),
            ("call", "id of the call within the episode"),
            ("parent", "the execute_code call that made it, or empty"),
            ("tool", "name of the tool"),
            ("kind", "read, analysis, action or note; empty for a tool that there is not"),
            ("status", "ok, rejected, invalid, denied or failed"),
            ("error_code", "code of the refusal, or empty"),
            ("object_ids", "objects that it was about, as a JSON array"),
            ("refs", "ids that the answer showed", "BIGINT"),
            ("arguments", "the arguments as JSON"),
            ("arguments_digest", "32 hex digits; equal for equal arguments"),
            ("result_digest", "digest of the answer, or empty"),
            ("result_size", "bytes of the answer, 0 without one", "BIGINT"),
            ("at_ms", "when it was committed, ms since the epoch", "BIGINT?"),
            ("latency_us", "microseconds until it was answered", "BIGINT?"),
            ("transport", "how it came, or empty"),
            ("made_by", "person where somebody has clicked it, else empty"),
        ),
    ),
    # Clock, seat and status repeat those of the call: a join of ten million rows with ten million is saved.
    "objects": Table(
        "one per call and object that it was about; a look or action about none in particular has the object '*'",
        _columns(
            _EPISODE,
            ("market", "name of the market"),
            *_WHEN,
            ("revision", "closures so far", "BIGINT"),
            ("seat", "who called"),
            ("tool", "name of the tool"),
            ("kind", "read, analysis or action"),
            ("status", "what became of the call"),
            ("path", "where the arguments name it (lines.product_id); 'refs' or 'result' where the answer did"),
            ("object", "id of the object"),
        ),
    ),
    "lapses": Table(
        "one per silent seat and phase",
        _columns(_EPISODE, *_WHEN, ("seat", "who"), ("reason", "why"), ("default_action", "what was done instead")),
    ),
    "facts": Table(
        "one per closure and end: what all seats saw, and the hidden truth",
        _columns(
            _EPISODE,
            *_WHEN,
            ("event", "phase_closed, round_closed or episode_ended"),
            ("public", "what all seats now see, as JSON; empty without"),
            ("facts", "the hidden truth as JSON; empty without, and in one seat's view"),
        ),
    ),
    "businesses": Table(
        "one per business of the catalogue that a market wrote down; empty in one seat's view, as the next two",
        _columns(
            _EPISODE,
            ("business", "its seat"),
            ("name", "its name"),
            ("description", "its text"),
            ("rating", "its first rating", "DOUBLE"),
            ("floor", "its floor as a share of list prices", "DOUBLE"),
            ("progenitor", "the customer it was made for, or empty"),
            ("amenities", "each listed amenity and whether it truly has it, as a JSON object"),
        ),
    ),
    "menu": Table(
        "one per line of a business's menu",
        _columns(_EPISODE, ("business", "its seat"), ("item", "the item"), ("price", "list price of one", "DOUBLE")),
    ),
    "requests": Table(
        "one per customer of the catalogue",
        _columns(
            _EPISODE,
            ("customer", "its seat"),
            ("name", "its name"),
            ("request", "the request in prose"),
            ("items", "wanted items with quantity and mean price, as a JSON array"),
            ("amenities", "wanted amenities, as a JSON array"),
        ),
    ),
    "outcomes": Table(
        "one per number of an outcome; its nulls have no row. Empty in one seat's view",
        _columns(_EPISODE, ("seat", "whose, or empty: the market's"), ("name", "its name"), ("value", "", "DOUBLE")),
    ),
    "gives": Table(
        "evidence that a look of a tool gives",
        _columns(("market", "name of the market"), ("tool", "name of the tool"), ("category", "what it tells about")),
    ),
    "needs": Table(
        "evidence that an action of a role should rest on: one of the categories that share a need",
        _columns(
            _EPISODE,
            ("tool", "name of the action"),
            ("role", "role of the seats that have the need: their tools can meet it"),
            ("need", "number of the need", "BIGINT"),
            ("category", "one category that meets it"),
            ("reach", "rounds of the window, the open one included; 0: the episode, -1: since a closure", "BIGINT"),
            ("from_round", "first round in which the need exists", "BIGINT"),
            ("path", "where the action names the object, or empty: evidence about anything does"),
        ),
    ),
    "findings": Table(
        "what in a trace could not be used",
        _columns(_EPISODE, ("seq", "event, 0: none in particular", "BIGINT"), ("message", "what is wrong")),
    ),
}


def create_statements() -> list[str]:
    """`CREATE TABLE` for each table, in the dialect that both engines share.

    Without keys and indices: what is filled once and read by whole scans needs none.
    """
    return [
        f"CREATE TABLE {name} ({', '.join(f'{column.name} {column.type}' for column in table.columns)})"
        for name, table in TABLES.items()
    ]
