"""A list of rows as it is shown: filtered, ordered, with what has still to be judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any

from tradefair.contract import ScenarioError
from tradefair.evaluation.record import Record
from tradefair.evaluation.viewer.filter import KEYS, Filter, parse
from tradefair.evaluation.viewer.row import Judged, Row

# Ids that one answer hands out to be judged: a page asks for them a few at a time.
_MOST_WAITING = 64

_NOTHING = Judged(check="")
_ORDERS: Mapping[str, Callable[[Row, Judged], Any]] = {
    "state": lambda row, _: row.state,
    "when": lambda row, _: row.created or row.changed,
    "scenario": lambda row, _: row.scenario or None,
    "seed": lambda row, _: row.seed,
    "seat": lambda row, _: ", ".join(row.seats) or None,
    "by": lambda row, _: ", ".join(row.players) or None,
    "run": lambda row, _: row.run or None,
    "result": lambda row, _: row.passed or None,
    "source": lambda row, _: row.source or None,
    "score": lambda _, judged: judged.score,
    "better": lambda _, judged: judged.better,
    "findings": lambda _, judged: judged.raised,
    "calls": lambda _, judged: judged.calls,
    "cost": lambda _, judged: judged.cost_usd_micro,
    "check": lambda _, judged: judged.check or None,
}
ORDERS = tuple(_ORDERS)
"""The columns of a list, by which it can be ordered."""
OF_VERDICTS = frozenset({"score", "better", "findings", "calls", "cost", "check"})
"""Those of them that are known once a trace is judged."""


class Listing(Record):
    """`fitting` of `total` rows fit the filter, of which `rows` are the first; `total_bytes` is the size of all files;
    `references` are not listed.

    `waiting` are ids of rows without a verdict, `unjudged` their number in all. `skipped` names files that are not
    opened, with the reason; `problem` says what is wrong with the filter.
    """

    rows: list[Row]
    fitting: int
    total: int
    total_bytes: int
    references: int
    waiting: list[str]
    unjudged: int
    skipped: list[tuple[str, str]]
    markets: list[str]
    keys: list[str]
    problem: str = ""


def listing_of(
    rows: Sequence[Row],
    query: str = "",
    key: str = "when",
    *,
    down: bool = True,
    limit: int = 300,
    skipped: Sequence[tuple[str, str]] = (),
) -> Listing:
    """Rows that fit the filter `query`, ordered by the column `key`; of a wrong filter all, with the problem.

    References are listed where the filter asks for a `kind`.
    """
    problem, wanted = "", Filter()
    try:
        wanted = parse(query)
    except ScenarioError as error:
        problem = str(error)
    # References are what episodes are measured against: five of them lie next to each.
    asked = wanted.names("kind")
    every, rows = rows, [row for row in rows if asked or row.kind == "episode"]
    fitting = ordered([row for row in rows if wanted.match(row)], key, down=down)
    # What is shown first; what could yet fit last.
    unjudged = [row.id for row in (*fitting, *rows) if row.judged is None and row.problem is None]
    waiting = list(dict.fromkeys(unjudged))
    return Listing(
        rows=fitting[:limit],
        fitting=len(fitting),
        total=len(rows),
        total_bytes=sum(row.bytes for row in rows),
        references=len(every) - len(rows),
        waiting=waiting[:_MOST_WAITING],
        unjudged=len(waiting),
        skipped=list(skipped),
        markets=sorted({row.market for row in rows if row.market}),
        keys=list(KEYS),
        problem=problem,
    )


def ordered(rows: Sequence[Row], key: str, *, down: bool) -> list[Row]:
    """Rows by one column, those where it is not known last in either direction; equal ones by scenario, seed and path.

    A series is often made within one second, and the paths of its traces are digests.
    """
    value = _ORDERS.get(key, _ORDERS["when"])
    keyed = [(value(row, row.judged or _NOTHING), row) for row in sorted(rows, key=_place)]
    known = sorted(((order, row) for order, row in keyed if order is not None), key=lambda pair: pair[0], reverse=down)
    return [row for _, row in known] + [row for order, row in keyed if order is None]


def _place(row: Row) -> tuple[bool, str, float, str]:
    # What cannot be read has no scenario, and comes after all that has.
    return row.problem is not None, row.scenario, inf if row.seed is None else row.seed, row.path
