"""Rows of a public game's log, changed one at a time."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any, TypeAlias

Row: TypeAlias = dict[str, Any]
Rows: TypeAlias = list[Row]
Change: TypeAlias = Callable[[Rows], Any]


def row_of(rows: Rows, kind: str, skip: int = 0) -> Row:
    """The first row of a type, after `skip` others of it."""
    return [row for row in rows if row["type"] == kind][skip]


def setter(kind: str, path: str, change: Callable[[Any], Any], skip: int = 0) -> Callable[[Rows], Row]:
    """Changes what a dotted path of such a row holds, and returns the row."""
    *parents, last = path.split(".")

    def _set(rows: Rows) -> Row:
        row = row_of(rows, kind, skip)
        place: Any = reduce(getitem, parents, row)
        place[last] = change(place[last])
        return row

    return _set


def without(kind: str, path: str) -> Change:
    """Takes out what a dotted path of the first such row holds."""
    above, _, last = path.rpartition(".")
    return setter(kind, above, lambda held: {name: value for name, value in held.items() if name != last})


def traded_quote(rows: Rows) -> None:
    """Another price in the round of the first trade."""
    traded = row_of(rows, "trade")["round"]
    next(row for row in rows if row["type"] == "bid_ask" and row["round"] == traded)["price"] += 1


SEED = setter("init", "data.random_seed_value", lambda seed: seed + 1)
PAYOFF = setter("final", "data.final_payoff_map.B1", lambda payoff: payoff + 1)


def tampered(log: Path, out: Path, change: Change) -> Path:
    """A copy of the log in the folder `out`, changed and numbered anew."""
    rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    change(rows)
    copy = out / log.name
    copy.write_text("".join(f"{json.dumps({**row, 'log_sequence': number})}\n" for number, row in enumerate(rows, 1)))
    return copy
