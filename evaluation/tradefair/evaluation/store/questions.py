"""Questions about one trace, for people and programs: small tables, with the numbers of events to look up.

The SQL here is ours and runs in SQLite only; named queries (`queries.py`) run in DuckDB as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tradefair.contract.errors import ScenarioError, unknown
from tradefair.evaluation.store.queries import QUERIES, Answer, query_named

if TYPE_CHECKING:
    from tradefair.evaluation.store.in_duckdb import ParquetTables
    from tradefair.evaluation.store.in_sqlite import TraceTables


class Part(NamedTuple):
    """One table of an answer, under its title. A question may be answered by several."""

    title: str
    answer: Answer


class Filters(NamedTuple):
    """Which calls are wanted; null: all. `limit` rows at most in each table, a stranger's SQL `seconds` long at most.

    `within` and `times` replace the parameters `rounds` and `times` of named queries.
    """

    seat: str | None = None
    tool: str | None = None
    status: str | None = None
    round: int | None = None
    object: str | None = None
    limit: int = 100
    seconds: float = 10
    within: int | None = None
    times: int | None = None


class Question(NamedTuple):
    """A question by name. `argument` says what it takes in addition to filters; empty: nothing."""

    about: str
    argument: str
    answer: Callable[[TraceTables, str, Filters], Sequence[Part]]


def ask(tables: TraceTables, name: str, argument: str | None, filters: Filters) -> Sequence[Part]:
    """The answer to a question or a named query. ScenarioError for one that there is not, or without its argument."""
    question = QUESTIONS.get(name)
    # `evidence` is both: with SEQ the question about one action, without it the named query about all.
    if question is None or (name in QUERIES and argument is None):
        if name.replace("-", "_") not in QUERIES:
            raise ScenarioError(unknown("query", name, dict.fromkeys(["messages", "show", *QUESTIONS, *QUERIES])))
        return named_query(tables, name, filters)
    if question.argument and argument is None:
        raise ScenarioError(f"{name} needs {question.argument}: tradefair trace TRACE {name} {question.argument}")
    return question.answer(tables, argument or "", filters)


def named_query(tables: Any, name: str, filters: Filters) -> Sequence[Part]:
    """A named query over one trace or a folder of Parquet."""
    query = query_named(name)
    given = {"rounds": filters.within, "times": filters.times}
    # Filters are shared by all questions: those that a query does not know are left out, not refused.
    parameters = {key: value for key, value in given.items() if value is not None and key in query.defaults}
    return [Part(query.about, tables.run(query, limit=filters.limit, **parameters))]


# --- the questions ------------------------------------------------------------------------------------------------


# Columns of the query `outcomes` that the table "episode" shows once, above the seats.
_OF_EPISODE = ("episode", "market", "scenario", "end_reason", "rounds")


def _summary(tables: TraceTables, _: str, filters: Filters) -> Sequence[Part]:
    """The episode, its seats, its tools by number of calls, and findings where there are any."""
    by_tool = (
        "SELECT tool, kind, COUNT(*) AS calls, SUM(CASE WHEN status <> 'ok' THEN 1 ELSE 0 END) AS refused,"
        " MIN(seq) AS first_seq, MAX(seq) AS last_seq FROM calls GROUP BY tool, kind ORDER BY COUNT(*) DESC, tool, kind"
    )
    outcomes = tables.run(QUERIES["outcomes"])
    keep = [place for place, name in enumerate(outcomes.columns) if name not in _OF_EPISODE]
    seats = Answer([outcomes.columns[p] for p in keep], [tuple(row[p] for p in keep) for row in outcomes.rows])
    return [
        Part("episode", tables.select("SELECT * FROM episodes")),
        Part("seats", seats),
        Part("tools", _cut(tables.select(by_tool), filters)),
        *_odd(tables),
    ]


def _calls(tables: TraceTables, _: str, filters: Filters) -> Sequence[Part]:
    clicked = tables.select("SELECT 1 FROM calls WHERE made_by <> '' LIMIT 1").rows
    columns = f"seq, round, seat, {'made_by, ' if clicked else ''}tool, kind, status, error_code, arguments"
    found = f"SELECT {columns} FROM calls AS c"
    sql, values = _where(found, "c", filters)
    # One row more than the limit, so that `_cut` knows whether there are more.
    return [Part("calls", _cut(tables.select(f"{sql} ORDER BY seq LIMIT ?", [*values, filters.limit + 1]), filters))]


def _object(tables: TraceTables, name: str, filters: Filters) -> Sequence[Part]:
    """Sums by seat and kind of call, then the calls about the object in order."""
    # The object is the question itself here, not one filter more.
    narrowed = filters._replace(object=None)
    found = (
        "SELECT o.seq, o.round, o.seat, o.tool, o.kind, o.status, o.path, c.arguments"
        " FROM objects AS o JOIN calls AS c ON c.seq = o.seq"
    )
    sql, values = _where(found, "o", narrowed, "o.object = ?", name)
    calls = _cut(tables.select(f"{sql} ORDER BY o.seq LIMIT ?", [*values, filters.limit + 1]), filters)
    sums = (
        "SELECT seat, kind, COUNT(*) AS calls, SUM(CASE WHEN status <> 'ok' THEN 1 ELSE 0 END) AS refused,"
        " MIN(round) AS first_round, MAX(round) AS last_round FROM objects WHERE object = ? GROUP BY seat, kind"
        " ORDER BY seat, kind"
    )
    return [Part(f"{name}: sums", tables.select(sums, [name])), Part(f"{name}: calls", calls)]


def _errors(tables: TraceTables, _: str, filters: Filters) -> Sequence[Part]:
    """Refused calls by seat, tool and code, the most frequent first; then those repeated with equal arguments."""
    grouped = (
        "SELECT seat, tool, status, error_code, COUNT(*) AS calls, MIN(seq) AS first_seq, MAX(seq) AS last_seq"
        " FROM calls AS c"
    )
    sql, values = _where(grouped, "c", filters, "c.status <> ?", "ok")
    order = " GROUP BY seat, tool, status, error_code ORDER BY COUNT(*) DESC, seat, tool, status, error_code"
    repeated = tables.run(QUERIES["repeated_refusals"], limit=filters.limit)
    return [
        Part("refused calls", _cut(tables.select(sql + order, values), filters)),
        Part("refused again with the same arguments", repeated),
    ]


def _lapses(tables: TraceTables, _: str, filters: Filters) -> Sequence[Part]:
    sql, values = _where(
        "SELECT seq, round, seat, reason, default_action FROM lapses AS c",
        "c",
        # A lapse has neither: a filter by tool would compare with a column that does not exist.
        filters._replace(tool=None, status=None),
    )
    return [Part("lapses", _cut(tables.select(f"{sql} ORDER BY seq", values), filters))]


# The needs that existed in the action's round, and of each alternative the last look within its window.
# `look_seq` 0 means none. '*' is a look at everything, which covers every object.
_RESTS_ON = """
SELECT DISTINCT n.need, n.category, CASE WHEN n.path = '' THEN '' ELSE o.object END AS object,
       CASE n.reach WHEN 0 THEN 'episode' WHEN -1 THEN 'since a closure' WHEN 1 THEN 'this round'
            ELSE n.reach || ' rounds' END AS within,
       COALESCE((
           SELECT MAX(l.seq) FROM objects AS l JOIN gives AS g ON g.market = l.market AND g.tool = l.tool
           WHERE g.category = n.category AND l.status = 'ok' AND l.kind IN ('read', 'analysis') AND l.seat = o.seat
             AND l.seq < o.seq AND (n.path = '' OR l.object IN (o.object, '*'))
             AND (n.reach = 0 OR (n.reach = -1 AND l.revision = o.revision)
                  OR (n.reach > 0 AND l.round BETWEEN o.round - n.reach + 1 AND o.round))
       ), 0) AS look_seq
FROM objects AS o
JOIN seats AS s ON s.seat = o.seat
JOIN needs AS n ON n.tool = o.tool AND n.role = s.role AND (n.path = '' OR n.path = o.path)
WHERE o.seq = ? AND o.kind = 'action' AND o.round >= n.from_round
ORDER BY object, n.need, n.category
"""

# Where the seat first and last met each id that the call names. An id without a look did not come from
# any tool that the seat had asked.
_CAME_TO_KNOW = """
SELECT n.path, n.object, n.first_seq, COALESCE(c.tool, '') AS first_tool, n.last_seq
FROM (
    SELECT o.path, o.object, COALESCE(MIN(l.seq), 0) AS first_seq, COALESCE(MAX(l.seq), 0) AS last_seq
    FROM objects AS o
    LEFT JOIN objects AS l
        ON l.seat = o.seat AND l.object = o.object AND l.seq < o.seq AND l.status = 'ok'
        AND l.kind IN ('read', 'analysis')
    WHERE o.seq = ? AND o.path <> ''
    GROUP BY o.path, o.object
) AS n
LEFT JOIN calls AS c ON c.seq = n.first_seq
ORDER BY n.path, n.object
"""

# Looks in the same round about the same objects, needed or not.
_LOOKED_AT = """
SELECT DISTINCT l.seq, l.tool, l.object
FROM objects AS o
JOIN objects AS l ON l.seat = o.seat AND l.round = o.round AND l.seq < o.seq AND l.object IN (o.object, '*')
WHERE o.seq = ? AND l.status = 'ok' AND l.kind IN ('read', 'analysis')
ORDER BY l.seq, l.object
"""


def _evidence(tables: TraceTables, argument: str, filters: Filters) -> Sequence[Part]:
    """What an action needed, what it named, and what its seat had looked at before."""
    seq = _number(argument, "SEQ")
    action = tables.select(
        "SELECT seq, round, seat, tool, kind, status, object_ids, arguments FROM calls WHERE seq = ?", [seq]
    )
    if not action.rows:
        raise ScenarioError(f"event {seq} is no tool call; tradefair trace TRACE calls lists them")
    return [
        Part("the call", action),
        Part("what it needs, and the last look that gave it (0: none)", _cut(tables.select(_RESTS_ON, [seq]), filters)),
        Part(
            "what it names, and the first and last look at it (0: none)",
            _cut(tables.select(_CAME_TO_KNOW, [seq]), filters),
        ),
        Part("looked at before in the same round", _cut(tables.select(_LOOKED_AT, [seq]), filters)),
    ]


def ask_sql(tables: TraceTables | ParquetTables, statement: str | None, filters: Filters) -> Sequence[Part]:
    """The answer to a stranger's `SELECT`. ScenarioError when there is none, or when it is refused.

    `filters` bound its rows (`limit`) and its time (`seconds`); the other filters are not applied to a
    statement of others.
    """
    if statement is None or not statement.strip():
        raise ScenarioError(
            'sql needs a SELECT: tradefair trace TRACE sql "SELECT tool, COUNT(*) FROM calls GROUP BY 1"'
        )
    return [Part("rows", tables.ask(statement, limit=filters.limit, seconds=filters.seconds))]


QUESTIONS: Mapping[str, Question] = {
    "summary": Question("The episode, its seats and tools, and what is odd.", "", _summary),
    "calls": Question("Tool calls, by --seat, --tool, --status, --round and --object.", "", _calls),
    "evidence": Question("What an action rested on; without SEQ: the shares of all actions.", "SEQ", _evidence),
    "object": Question("Everything about an object.", "ID", _object),
    "errors": Question("Refused calls, and those that were refused again.", "", _errors),
    "lapses": Question("Silent seats and what was done for them.", "", _lapses),
    "sql": Question("A SELECT of your own over the tables of docs/how-to/queries.md.", "SELECT", ask_sql),
}


# --- parts of questions -------------------------------------------------------------------------------------------


def _where(found: str, table: str, filters: Filters, *first: str) -> tuple[str, list[object]]:
    """`found` with a WHERE of the filters; `first`: a condition and its value that come before them."""
    conditions, values = ([first[0]], [first[1]]) if first else ([], [])
    # Values are bound, never written into the text: they come from the command line.
    values = list[object](values)
    for name in ("seat", "tool", "status", "round"):
        value = getattr(filters, name)
        if value is not None:
            conditions.append(f"{table}.{name} = ?")
            values.append(value)
    if filters.object is not None:
        conditions.append(f"{table}.seq IN (SELECT seq FROM objects WHERE object = ?)")
        values.append(filters.object)
    return found + (f" WHERE {' AND '.join(conditions)}" if conditions else ""), values


def _cut(answer: Answer, filters: Filters) -> Answer:
    cut = len(answer.rows) > filters.limit
    return Answer(answer.columns, answer.rows[: filters.limit], cut)


def _odd(tables: TraceTables) -> Iterator[Part]:
    answer = tables.select("SELECT seq, message FROM findings ORDER BY seq, message")
    if answer.rows:
        yield Part("what could not be used", answer)


def _number(text: str, what: str) -> int:
    """A number of an event from the command line. Raises ScenarioError for anything else."""
    # 18 digits stay within 64 bits, the largest number that SQLite binds.
    if not text.isdecimal() or len(text) > 18:
        raise ScenarioError(f"{what} is the number of an event, not {text[:40]!r}")
    return int(text)
