"""Hostile trace files, third part: what models were sent. Chain and seal hold; whoever reads the prompts pays."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import orjson
from tests.corpus.bases import Bases
from tests.corpus.cases import add, copied

from tradefair.tracestore import sealed, sqlite_rows

Fill = Callable[[sqlite3.Connection], object]
_PART = "INSERT INTO prompt_parts VALUES (?, ?, ?)"
_CALL = """INSERT INTO prompt_calls (seat, call, same, parts, tools, params, answer)
VALUES ('S1', ?, ?, ?, ?, '{"model": "m", "messages": null}', ?)"""
_MANY = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {}) INSERT INTO {} SELECT {} FROM n"


def packed(value: Any) -> bytes:
    return zlib.compress(orjson.dumps(value))


def bomb() -> bytes:
    """A megabyte that unpacks to a gigabyte: one block of zeros, again and again."""
    block = zlib.compressobj(wbits=-15)
    zeros = block.compress(bytes(1 << 20)) + block.flush(zlib.Z_FULL_FLUSH)
    # The header of a stream; it never gets to its end.
    return b"\x78\x9c" + 1_024 * zeros


REPLY = packed({"status": 200, "body": {"choices": [{"message": {"role": "assistant", "content": "ok"}}]}})
HELLO = packed({"role": "user", "content": "hello"})


def messages_that_add_up(database: sqlite3.Connection) -> None:
    """Each is within bounds, all together are not."""
    long = packed({"role": "user", "content": "x" * (2_000_000)})
    database.executemany(_PART, ((number, bytes([number % 256, number >> 8]), long) for number in range(1, 1_500)))
    database.execute(_CALL, ("", 0, orjson.dumps(list(range(1, 1_500))), None, REPLY))


def lists_without_end(database: sqlite3.Connection) -> None:
    """Each request takes over all messages of the one before, and adds as many."""
    database.execute(_PART, (1, b"1", HELLO))
    fresh = orjson.dumps([1] * 2_000)
    database.executemany(_CALL, (("", 2_000 * number, fresh, None, REPLY) for number in range(2_000)))


def controls(database: sqlite3.Connection) -> None:
    """What a terminal obeys, in every text that is shown."""
    evil = "\x1b[2J\u202e[red]\r\x07x"
    call = {"id": evil, "function": {"name": evil, "arguments": evil}}
    database.execute(_PART, (1, b"1", packed({"role": evil, "content": evil, "tool_calls": [call], "cut": -1})))
    database.execute(_PART, (2, b"2", packed([{"function": {"name": evil}}])))
    answer = {"status": 2**62, "body": {"choices": [{"message": {"content": [{"text": evil}]}, "finish_reason": evil}]}}
    database.execute(_CALL, ("r1.0", 0, b"[1]", 2, packed(answer)))
    note = {"kind": "model_call", "reply": "r1.0", "round": 2**62, "phase": evil, "calls": [evil]}
    database.execute("INSERT INTO agent_events (seat, body) VALUES ('S1', ?)", (zlib.decompress(packed(note)),))


def types(database: sqlite3.Connection) -> None:
    """SQLite lets any type stand in any column."""
    database.execute("INSERT INTO prompt_parts VALUES (1, 'digest', 7)")
    row = "INSERT INTO prompt_calls (seat, call, same, parts, tools, params, answer) VALUES "
    database.execute(row + "('S1', 1, 'same', 2, 'tools', 3, 4), (5, x'00', -1, x'00', 15, x'ff', 'text')")


def _one(part: bytes, answer: bytes = REPLY) -> Fill:
    def fill(database: sqlite3.Connection) -> None:
        database.execute(_PART, (1, b"1", part))
        database.execute(_CALL, ("", 0, b"[1]", None, answer))

    return fill


def _rows(count: int, table: str, columns: str) -> Fill:
    return lambda database: database.execute(_MANY.format(count, table, columns))


CASES_OF_PROMPTS: dict[str, Fill] = {
    "a_bomb_of_a_message": _one(bomb()),
    "a_bomb_of_an_answer": _one(HELLO, bomb()),
    "messages_that_add_up": messages_that_add_up,
    "lists_without_end": lists_without_end,
    "requests_without_end": _rows(
        60_000, "prompt_calls", "i, 'S1', '', 0, '[]', NULL, '{}', x'" + packed({"status": 200}).hex() + "'"
    ),
    "messages_without_end": _rows(220_000, "prompt_parts", "i, CAST(i AS BLOB), x'00'"),
    "a_message_that_is_missing": lambda database: database.execute(_CALL, ("", 0, b"[7]", None, REPLY)),
    "more_taken_over_than_there_was": lambda database: database.execute(_CALL, ("", 9, b"[]", None, REPLY)),
    "lists_in_lists_in_a_message": _one(zlib.compress(b"[" * 1_000_000)),
    "other_types": types,
    "controls_in_messages": controls,
}
"""Name of a case -> what fills the two tables."""


def _filled(fill: Fill, bases: Bases, folder: Path) -> Path:
    path = copied(bases.auction, folder)
    with closing(sqlite3.connect(path)) as database:
        fill(database)
        about = orjson.loads(database.execute("SELECT value FROM meta WHERE key = 'about'").fetchone()[0])
        again = sealed(about, partial(sqlite_rows, database))
        database.execute("UPDATE meta SET value = ? WHERE key = 'about'", (orjson.dumps(again),))
        database.commit()
    return path


for _name, _fill in CASES_OF_PROMPTS.items():
    add("prompts", _name, partial(_filled, _fill))
