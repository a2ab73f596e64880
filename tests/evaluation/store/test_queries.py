"""One text per query, two engines, and plain Python beside: all three say the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.evaluation.markets.marketplace.playing import play as play_marketplace
from tests.evaluation.store.reference import REFERENCE, tables_of

from tradefair.contract import ScenarioError
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.store import QUERIES, TABLES, TraceTables, gather, query_named
from tradefair.evaluation.store.in_duckdb import ParquetTables
from tradefair.evaluation.store.queries import Query
from tradefair.evaluation.store.rows import TableRow
from tradefair.evaluation.store.to_parquet import ParquetFolder

Play = Callable[..., Path]

each_query = pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)

CATEGORIES = ("price", "cost", "stock")
TOOLS = {"order": "action", "reprice": "action", "wait": "action", "look": "read", "weigh": "analysis", "note": "note"}
PATHS = {"order": "lines.product_id", "reprice": "product_id"}


def expected(query: Query, rows: Sequence[TableRow], **parameters: int) -> list[tuple[Any, ...]]:
    answer = REFERENCE[query.name](tables_of(rows), **query.parameters(parameters))
    return sorted((tuple(row) for row in answer), key=lambda row: row[: query.key])


def in_sqlite(query: Query, rows: Sequence[TableRow], **parameters: int) -> list[tuple[Any, ...]]:
    with TraceTables(rows) as tables:
        return [tuple(row) for row in tables.run(query, **parameters).rows]


def in_parquet(query: Query, rows: Sequence[TableRow], **parameters: int) -> list[tuple[Any, ...]]:
    with TemporaryDirectory() as place:
        with ParquetFolder(Path(place) / "tables") as folder:
            folder.add(rows)
        with ParquetTables(Path(place) / "tables", threads=1) as tables:
            return [tuple(row) for row in tables.run(query, **parameters).rows]


@st.composite
def made_up_rows(draw: st.DrawFn) -> list[TableRow]:
    """Episodes as no market would play them: odd clocks, no calls, needs of every kind."""
    rows: list[TableRow] = []
    for tool in ("look", "weigh"):
        for category in draw(st.sets(st.sampled_from(CATEGORIES))):
            rows.append(TableRow("gives", ("m", tool, category)))
    for episode in ("e1", "e2")[: draw(st.integers(1, 2))]:
        closed = draw(st.integers(0, 4))
        rows.append(TableRow("episodes", (episode, "m", "1", "m/x", "0", "unfinished", closed, 9)))
        rows += [TableRow("seats", (episode, seat, f"role {seat}", "")) for seat in ("A", "B")]
        rows += _needs(draw, episode)
        for seq in range(2, 2 + draw(st.integers(0, 14))):
            rows += _call(draw, episode, seq)
        if draw(st.booleans()):
            rows.append(TableRow("lapses", (episode, 40, 1, "A", "deadline", "pass")))
    return rows


def _needs(draw: st.DrawFn, episode: str) -> list[TableRow]:
    rows: list[TableRow] = []
    for tool, role in product(("order", "wait"), ("role A", "role B")):
        for number in range(draw(st.integers(0, 2))):
            reach, first = draw(st.sampled_from((-1, 0, 1, 2, 3))), draw(st.integers(1, 2))
            path = draw(st.sampled_from(("", PATHS.get(tool, ""))))
            for category in draw(st.sets(st.sampled_from(CATEGORIES), min_size=1)):
                rows.append(TableRow("needs", (episode, tool, role, number, category, reach, first, path)))
    return rows


def _call(draw: st.DrawFn, episode: str, seq: int) -> list[TableRow]:
    tool = draw(st.sampled_from(sorted(TOOLS)))
    seat, status = draw(st.sampled_from("AB")), draw(st.sampled_from(("ok", "ok", "rejected", "invalid")))
    number, revision = draw(st.integers(1, 4)), draw(st.integers(0, 3))
    kind, same = TOOLS[tool], draw(st.sampled_from("xy"))
    code = "" if status == "ok" else "no"
    call = (episode, "m", seq, number, "open", revision, seat, f"c{seq}", "", tool, kind, status, code)
    rows = [TableRow("calls", (*call, "[]", 0, "{}", same, same if status == "ok" else "", 1, None, None, "", ""))]
    if kind != "note":
        objects = draw(st.sets(st.sampled_from(("P1", "P2", "*")), min_size=1))
        when = (episode, "m", seq, number, revision, seat, tool, kind, status)
        rows += [TableRow("objects", (*when, "" if name == "*" else PATHS.get(tool, "id"), name)) for name in objects]
    return rows


@each_query
@settings(deadline=None, max_examples=15)
@given(rows=made_up_rows(), number=st.integers(0, 3))
def test_sqlite_says_what_plain_python_says(query: Query, rows: list[TableRow], number: int) -> None:
    parameters = dict.fromkeys(query.defaults, number)
    assert in_sqlite(query, rows, **parameters) == expected(query, rows, **parameters)


@each_query
@settings(deadline=None, max_examples=3, suppress_health_check=[HealthCheck.too_slow])
@given(rows=made_up_rows(), number=st.integers(0, 3))
def test_duckdb_over_parquet_says_what_plain_python_says(query: Query, rows: list[TableRow], number: int) -> None:
    parameters = dict.fromkeys(query.defaults, number)
    assert in_parquet(query, rows, **parameters) == expected(query, rows, **parameters)


@pytest.fixture
def real(play: Play, tmp_path: Path) -> list[TableRow]:
    """Rows of real traces of several markets and of the one for docs, ids set apart."""
    traces = [
        play("double_auction/bazaar", seed=3, name="bazaar", rounds=6, seats={}),
        play("retail/smoke", "careful_reader", seed=3, name="shop", horizon_days=4, seats={}),
        play("teaching/pie", "half", seed=3, name="pie", seats={}),
        play_marketplace(tmp_path / "services.trace", seed=3),
    ]
    return [row for path in traces for row in gather(path)]


def test_real_traces_of_every_market_give_the_same_three_times(real: list[TableRow]) -> None:
    for query in QUERIES.values():
        wanted = expected(query, real)
        assert in_sqlite(query, real) == wanted, query.name
        assert in_parquet(query, real) == wanted, query.name
        assert wanted or query.name in ("loops", "repeated_refusals")


def test_no_answer_holds_a_null(real: list[TableRow]) -> None:
    for query in QUERIES.values():
        assert all(cell is not None for row in in_sqlite(query, real) for cell in row), query.name


def test_evidence_agrees_with_the_diagnosis_that_knows_the_market(play: Play) -> None:
    path = play("retail/smoke", "price_first", seed=5, name="shop", horizon_days=5, seats={})
    diagnosis = evaluate_file(path).diagnosis
    assert diagnosis is not None
    missing = diagnosis.finding("missing_evidence")
    rows = in_sqlite(QUERIES["evidence"], list(gather(path)))
    assert (len(rows), sum(row[-2] < row[-3] for row in rows)) == (missing.of, missing.count)
    assert missing.share is not None
    # A case weighs what it lacks of its needs.
    assert 1 - sum(row[-1] for row in rows) / len(rows) == pytest.approx(missing.share)
    assert 0 < missing.share < 1


def test_what_was_not_looked_at_is_named_as_missing(play_quotes: Callable[..., Path]) -> None:
    path = play_quotes((90, 60), (20, 50), [{"B1": 60, "S1": 30}, {"B1": 58}], name="quotes")
    shares = {(row[1], row[4]): row[-3:] for row in in_sqlite(QUERIES["evidence"], list(gather(path)))}
    # The value was looked at; what happened in the first round was not.
    assert shares == {("B1", 1): (1, 1, 1.0), ("S1", 1): (1, 1, 1.0), ("B1", 2): (2, 1, 0.5)}


def test_an_unknown_query_or_parameter_is_refused_with_what_there_is() -> None:
    with pytest.raises(ScenarioError, match="follow_up"):
        query_named("followup")
    assert query_named("follow-up") is QUERIES["follow_up"]
    with pytest.raises(ScenarioError, match="it has rounds"):
        QUERIES["follow_up"].parameters({"days": 3})


def test_a_limit_says_that_there_was_more(real: list[TableRow], tmp_path: Path) -> None:
    query = QUERIES["evidence"]
    with TraceTables(real) as tables:
        everything, some = tables.run(query), tables.run(query, limit=3)
    assert (some.rows, some.cut) == (everything.rows[:3], True)
    with ParquetFolder(tmp_path / "tables") as folder:
        folder.add(real)
    with ParquetTables(tmp_path / "tables", threads=1) as tables:
        assert tables.run(query, limit=3) == some
        assert not tables.run(query, limit=len(everything.rows)).cut


def test_the_page_names_every_table_column_and_query() -> None:
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "queries.md").read_text(encoding="utf-8")
    for name, table in TABLES.items():
        columns = ", ".join(f"`{column}`" for column in table.names)
        assert f"| `{name}` | {table.about} | {columns} |" in page
    assert all(f"| `{name}` |" in page for name in QUERIES)
