"""One text per query, two engines, and plain Python beside: all three say the same.

Also here:
- `tradefair trace`: what it answers, in tables and as JSON, and what it refuses.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import orjson
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.evaluation.markets.marketplace.playing import play as play_marketplace
from tests.evaluation.mutations import (
    DAMAGES,
    Damage,
    Mutation,
    Parts,
    damage,
    mutated_parts,
    mutations,
    parts_of,
    write_parts,
)
from tests.evaluation.playing import played as played_trace
from tests.evaluation.playing import played_by
from tests.evaluation.store.reference import REFERENCE, tables_of

from tradefair.cli import run
from tradefair.contract import ScenarioError
from tradefair.evaluation.foreign.export.to_files import export_files
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.store import QUERIES, TABLES, TraceTables, gather, query_named
from tradefair.evaluation.store.in_duckdb import ParquetTables
from tradefair.evaluation.store.queries import Query
from tradefair.evaluation.store.rows import TableRow
from tradefair.evaluation.store.to_parquet import ParquetFolder
from tradefair.tracestore import open_trace

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


Ask = Callable[..., Any]


@pytest.fixture
def ask(capsysbinary: pytest.CaptureFixture[bytes]) -> Ask:
    """The rows of the first table of an answer; the error's text where a code is expected."""

    def _ask(*arguments: object, code: int = 0, whole: bool = False) -> Any:
        assert run(["trace", *map(str, arguments), "--json"]) == code
        captured = capsysbinary.readouterr()
        if code:
            return captured.err.decode()
        content = orjson.loads(captured.out)
        return content if whole else content["tables"][0]["rows"]

    return _ask


@pytest.fixture
def quotes(play_quotes: Play) -> Path:
    rounds = [{"B1": 60, "B2": 55, "S1": 30, "S2": 50}, {"B1": 58, "S1": 31, "S2": 90}]
    return play_quotes((90, 60), (20, 50), rounds)


def calls_of(path: Path) -> list[dict[str, Any]]:
    with open_trace(path) as trace:
        return [event for event in trace.decoded() if event["event"] == "tool_called"]


def test_a_summary_names_episode_seats_and_tools(quotes: Path, ask: Ask) -> None:
    episode, seats, tools = ask(quotes, whole=True)["tables"]
    assert episode["rows"][0]["end_reason"] == "terminated:rounds_completed"
    assert {row["seat"]: row["lapses"] for row in seats["rows"]} == {"B1": 0, "B2": 1, "S1": 0, "S2": 0}
    assert {row["tool"]: row["calls"] for row in tools["rows"]} == {"view_my_value": 8, "submit_quote": 7}


def test_a_wide_table_keeps_seats_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    path = played_by(tmp_path / "duel.trace", "supply_chain/duel", {}, others="passive", rounds=1)
    assert run(["trace", str(path), "outcomes"]) == 0
    told = capsys.readouterr().out
    assert all(seat in told for seat in ("retailer_01", "retailer_02", "retailer_03"))


def test_calls_are_found_by_seat_tool_status_and_round(quotes: Path, ask: Ask) -> None:
    wanted = [
        call["seq"] for call in calls_of(quotes) if (call["seat"], call["round"], call["kind"]) == ("S1", 2, "action")
    ]
    found = ask(quotes, "calls", "--seat", "S1", "--round", 2, "--tool", "submit_quote", "--status", "ok")
    assert [row["seq"] for row in found] == wanted
    assert orjson.loads(found[0]["arguments"]) == {"price": 31}
    cut = ask(quotes, "calls", "--limit", 2, whole=True)["tables"][0]
    assert (len(cut["rows"]), cut["cut"]) == (2, True)


def test_an_event_is_shown_in_full_with_what_became_public_before_it(quotes: Path, ask: Ask) -> None:
    last = calls_of(quotes)[-1]
    shown = ask(quotes, "show", last["seq"], whole=True)
    assert shown["event"] == last
    view = next(call for call in calls_of(quotes) if call["round"] == 2 and call["seat"] == "B2")
    closed = ask(quotes, "show", view["seq"], whole=True)["public_since_its_last_call"]
    with open_trace(quotes) as trace:
        events = {event["seq"]: event["event"] for event in trace.decoded()}
    assert [events[seq] for seq in closed] == ["round_closed"]
    assert "there is no event 999" in ask(quotes, "show", 999, code=2)
    assert "did you mean messages" in ask(quotes, "massages", code=2)
    assert "show SEQ" in ask(quotes, "show", "x", code=2)


def test_evidence_of_an_action_names_each_need_and_the_look_that_met_it(quotes: Path, ask: Ask) -> None:
    action = next(call for call in calls_of(quotes) if call["round"] == 2 and call["kind"] == "action")
    _, needs, _, _ = ask(quotes, "evidence", action["seq"], whole=True)["tables"]
    met = {row["category"]: row["look_seq"] for row in needs["rows"]}
    looks = [call["seq"] for call in calls_of(quotes) if call["seat"] == action["seat"] and call["kind"] == "read"]
    assert met["private_value"] == max(seq for seq in looks if seq < action["seq"])
    assert met["market_history"] == 0
    (share,) = [row for row in ask(quotes, "evidence") if row["seq"] == action["seq"]]
    assert (share["needs"], share["met"]) == (2, 1)


def test_the_needs_of_every_action_agree_with_the_shares_of_the_query(play: Play, ask: Ask) -> None:
    path = play("retail/smoke", "price_first", seed=3, seats={}, horizon_days=2)
    shares = ask(path, "evidence", "--limit", 10_000)
    assert 0 < sum(row["met"] for row in shares) < sum(row["needs"] for row in shares)
    for row in shares[:8]:
        _, needs, _, _ = ask(path, "evidence", row["seq"], whole=True)["tables"]
        own = [need for need in needs["rows"] if need["object"] == row["object"]]
        assert len({need["need"] for need in own}) == row["needs"]
        assert len({need["need"] for need in own if need["look_seq"]}) == row["met"]


def test_evidence_of_messages_and_payments_names_the_looks_that_made_them_possible(tmp_path: Path, ask: Ask) -> None:
    path = play_marketplace(tmp_path / "services.trace")
    calls = [call for call in calls_of(path) if call["seat"] == "customer_0001" and call["status"] == "ok"]
    by_tool = {call["tool"]: call for call in reversed(calls)}
    asked, search = by_tool["send_message"], by_tool["search_businesses"]
    _, needs, names, _ = ask(path, "evidence", asked["seq"], whole=True)["tables"]
    listed = {row["object"]: row["look_seq"] for row in needs["rows"] if row["category"] == "market_listing"}
    assert listed == dict.fromkeys(asked["arguments"]["to"], search["seq"])
    assert {(row["first_seq"], row["first_tool"]) for row in names["rows"]} == {(search["seq"], "search_businesses")}
    paid = by_tool["pay_proposal"]
    _, needs, names, _ = ask(path, "evidence", paid["seq"], whole=True)["tables"]
    met = {(row["category"], row["object"]): row["look_seq"] for row in needs["rows"]}
    proposal = paid["arguments"]["proposal"]
    assert met["own_objective", ""] == by_tool["view_my_request"]["seq"]
    assert met["offer_comparison", proposal] == by_tool["compare_proposals"]["seq"]
    (known,) = names["rows"]
    assert (known["object"], known["first_tool"], known["first_seq"], known["last_seq"]) == (
        *(proposal, "receive_messages", by_tool["receive_messages"]["seq"], by_tool["compare_proposals"]["seq"]),
    )


def test_nobody_needs_evidence_that_no_tool_of_its_role_gives(tmp_path: Path, ask: Ask) -> None:
    path = play_marketplace(tmp_path / "services.trace")
    needed = ask(path, "sql", "SELECT DISTINCT tool, role, category FROM needs")
    assert {row["role"] for row in needed if row["tool"] == "send_message"} == {"customer"}
    answer = next(call for call in calls_of(path) if (call["tool"], call["seat"][:4]) == ("send_message", "busi"))
    _, needs, names, _ = ask(path, "evidence", answer["seq"], whole=True)["tables"]
    assert (needs["rows"], [row["first_tool"] for row in names["rows"]]) == ([], ["receive_messages"])


def test_an_object_a_refusal_and_a_lapse_are_found(play: Play, quotes: Path, ask: Ask) -> None:
    path = play("retail/smoke", "fumbler", seed=3, seats={}, horizon_days=2)
    sums, about = ask(path, "object", "P001", whole=True)["tables"]
    named = [call["seq"] for call in calls_of(path) if b'"P001"' in orjson.dumps(call["arguments"])]
    assert {row["seq"] for row in about["rows"]} >= set(named)
    assert sum(row["calls"] for row in sums["rows"]) == len(about["rows"])
    refused = [call for call in calls_of(path) if call["status"] != "ok"]
    assert refused
    assert sum(row["calls"] for row in ask(path, "errors")) == len(refused)
    assert [(row["seat"], row["round"]) for row in ask(quotes, "lapses")] == [("B2", 2)]


def test_sql_reads_and_does_nothing_else(quotes: Path, ask: Ask, tmp_path: Path) -> None:
    before = quotes.read_bytes()
    assert ask(quotes, "sql", "SELECT COUNT(*) AS n, x'00ff' AS raw FROM calls") == [{"n": 15, "raw": "00ff"}]
    for statement in (
        f"ATTACH '{tmp_path}/x.db' AS x",
        f"VACUUM INTO '{tmp_path}/x.db'",
        "DELETE FROM calls",
        "CREATE TEMP TABLE x (a)",
        "PRAGMA query_only = OFF",
        "SELECT load_extension('x')",
        "SELECT 1; DELETE FROM calls",
        "SELECT zeroblob(900000000)",
        "SELECT nosuch FROM calls",
        "\x00",
    ):
        assert "SQLite refuses the query" in ask(quotes, "sql", statement, code=2)
    for nothing in ("", " "):
        assert "sql needs a SELECT" in ask(quotes, "sql", nothing, code=2)
    assert quotes.read_bytes() == before
    assert not (tmp_path / "x.db").exists()


def test_sql_without_end_is_stopped(quotes: Path, ask: Ask) -> None:
    forever = "WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT COUNT(*) FROM c"
    assert "longer than 0.2 s" in ask(quotes, "sql", forever, "--timeout", 0.2, code=2)


def test_sql_over_a_folder_reads_its_tables_and_does_nothing_else(quotes: Path, ask: Ask, tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    export_files([quotes], form="parquet", output=folder)
    before = {path: path.read_bytes() for path in folder.rglob("*.parquet")}
    own = "SELECT seat, COUNT(*) AS n FROM calls GROUP BY seat ORDER BY seat"
    assert ask(folder, "sql", own) == ask(quotes, "sql", own)
    odd = "SELECT SUM(1.5) AS d, 10000000000000000000000::HUGEINT AS h, [1, 2] AS l, '\\x00'::BLOB AS b"
    (row,) = ask(folder, "sql", odd)
    assert (row["d"], row["h"], row["l"], row["b"]) == (1.5, "10000000000000000000000", "[1, 2]", "00")
    cut = ask(folder, "sql", "SELECT * FROM range(1000000000)", "--limit", 2, whole=True)["tables"][0]
    assert (len(cut["rows"]), cut["cut"]) == (2, True)
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    part = next(iter(before))
    for statement in (
        f"SELECT * FROM read_csv('{tmp_path}/other.csv')",
        f"SELECT * FROM '{tmp_path}/other.csv'",
        f"SELECT content FROM read_text('{tmp_path}/other.csv')",
        "SELECT * FROM glob('/*')",
        f"COPY (SELECT 1) TO '{tmp_path}/x.csv'",
        f"COPY (SELECT 1 AS a) TO '{part}' (FORMAT parquet)",
        f"WITH x AS (COPY (SELECT 1 AS a) TO '{part}' (FORMAT parquet)) SELECT COUNT(*) FROM calls",
        f"SELECT * FROM read_parquet('{part}')",
        f"ATTACH '{tmp_path}/x.db' AS x",
        f"EXPORT DATABASE '{tmp_path}/x'",
        "CREATE TABLE x (a INT)",
        "SET enable_external_access = true",
        "RESET lock_configuration",
        "PRAGMA enable_profiling",
        "LOAD httpfs",
        "INSTALL httpfs",
        "CALL pragma_version()",
        "EXPLAIN ANALYZE SELECT 1",
        "SELECT 1; SELECT 2",
        "SELECT nosuch FROM calls",
        "SELECT * FROM statement",
        "/* nothing */",
        "\x00",
    ):
        assert "DuckDB refuses the query" in ask(folder, "sql", statement, code=2), statement
    endless = (
        "SELECT SUM(a.range * b.range) FROM range(10000000) AS a, range(10000000) AS b WHERE a.range % 7 = b.range % 5"
    )
    assert "longer than 0.2 s" in ask(folder, "sql", endless, "--timeout", 0.2, code=2)
    assert "sql needs a SELECT" in ask(folder, "sql", code=2)
    assert {path: path.read_bytes() for path in folder.rglob("*.parquet")} == before
    assert not [*tmp_path.glob("x*")]


def test_named_queries_are_asked_of_a_trace_and_of_a_folder_alike(quotes: Path, ask: Ask, tmp_path: Path) -> None:
    export_files([quotes], form="parquet", output=tmp_path / "tables")
    for name in ("outcomes", "evidence", "follow-up", "loops", "repeated_refusals"):
        assert ask(tmp_path / "tables", name) == ask(quotes, name)
    assert "no tables here" in ask(tmp_path, "outcomes", code=1)
    assert "there is no query 'calls'" in ask(tmp_path / "tables", "calls", code=2)


def test_what_is_not_a_question_is_refused_with_those_that_there_are(quotes: Path, ask: Ask, tmp_path: Path) -> None:
    assert "summary, calls" in ask(quotes, "sumary", code=2)
    assert "object needs ID" in ask(quotes, "object", code=2)
    assert "is no tool call" in ask(quotes, "evidence", 1, code=2)
    (tmp_path / "x.trace").write_bytes(b"?")
    assert "not a trace" in ask(tmp_path / "x.trace", code=1)


def test_what_a_trace_says_is_no_command_to_the_terminal(
    quotes: Path, editor: Callable[[Path], Any], capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    edited = editor(quotes)
    bodies = [body.replace(b'"view_my_value"', b'"\\u001b[2J[red]x"') for body in edited.bodies()]
    edited.rewrite(bodies)
    run(["trace", str(quotes), "calls"])
    shown = capsysbinary.readouterr().out
    assert b"\x1b[2J" not in shown
    assert b"\\x1b[2J[red]x" in shown.replace(b"\n", b"").replace(b" ", b"")


@pytest.mark.parametrize("query", ["summary", "calls"])
@pytest.mark.parametrize("width", [60, 140])
def test_no_line_of_a_table_ends_in_blanks(
    quotes: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, query: str, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert run(["trace", str(quotes), query]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 4
    assert [line for line in lines if line != line.rstrip()] == []


PLAYED = (("retail/smoke", "fumbler", {"horizon_days": 1}), ("double_auction/smoke", "zip", {"rounds": 2}))


@pytest.fixture(scope="module")
def played() -> Sequence[Parts]:
    """A short trace of either market, taken apart."""
    with TemporaryDirectory() as place:
        return [_parts(Path(place) / "x.trace", *given) for given in PLAYED]


def _parts(path: Path, scenario: str, policy: str, overrides: dict[str, int]) -> Parts:
    parts = parts_of(played_trace(path, scenario, policy, 5, seats={}, **overrides))
    note = orjson.dumps({"kind": "model_call", "calls": ["view_my_value"], "text": "x"})
    about = {**parts.about, "episode": "e"}
    return Parts(parts.core, about, parts.bodies, parts.numbers, parts.blobs, [("B1", note), ("manager", note)])


class Printed(NamedTuple):
    code: int
    errors: str


def ran(*arguments: object) -> Printed:
    errors, out = io.StringIO(), io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = run([str(argument) for argument in arguments])
    return Printed(code, errors.getvalue())


def ask_everything(path: Path) -> None:
    """Every command of ours on one file: fine, findings or usage (a seat that it has not), and never our fault."""
    for seat in ((), ("--seat", "B1")):
        for form in ("jsonl", "otlp", "openai"):
            told = ran("export", path, "--format", form, *seat)
            assert told.code in (0, 1, 2), (form, told)
            assert told.code != 2 or "there is no seat" in told.errors
    for query in ("summary", "errors", "evidence", "follow_up", "loops"):
        told = ran("trace", path, query, "--json")
        assert told.code in (0, 1), (query, told)
    for query in ("show", "evidence"):
        assert ran("trace", path, query, 4).code in (0, 1, 2)


@pytest.mark.many
@settings(deadline=None, max_examples=12)
@given(which=st.integers(0, 1), changes=mutations(), plain=st.booleans())
@example(which=0, changes=[Mutation("future_schema", 0, 0)], plain=False)
@example(which=1, changes=[Mutation("empty", 0, 0)], plain=True)
def test_a_mutated_trace_is_answered(
    which: int, changes: Sequence[Mutation], plain: bool, played: Sequence[Parts]
) -> None:
    with TemporaryDirectory() as place:
        ask_everything(
            write_parts(mutated_parts(played[which], changes), Path(place) / ("x.jsonl" if plain else "x.trace"))
        )


@settings(deadline=None, max_examples=10)
@given(how=st.tuples(st.sampled_from(DAMAGES), st.integers(0, 10**7)), plain=st.booleans())
def test_a_damaged_file_is_answered(how: Damage, plain: bool, played: Sequence[Parts]) -> None:
    with TemporaryDirectory() as place:
        ask_everything(damage(write_parts(played[1], Path(place) / ("x.jsonl" if plain else "x.trace")), how))


@pytest.mark.many
@settings(deadline=None, max_examples=4)
@given(changes=mutations(8))
def test_tables_of_mutated_traces_are_the_same_in_both_engines(
    changes: Sequence[Mutation], played: Sequence[Parts]
) -> None:
    with TemporaryDirectory() as place:
        files = [
            write_parts(mutated_parts(parts, changes), Path(place) / f"{number}.trace")
            for number, parts in enumerate(played)
        ]
        exported = export_files(files, form="parquet", output=Path(place) / "tables")
        if not exported.traces:
            return
        with ParquetTables(Path(place) / "tables", threads=1) as parquet:
            for query in QUERIES.values():
                rows = parquet.run(query).rows
                assert all(cell is not None for row in rows for cell in row)
                if exported.traces == len(files) and query.name != "outcomes":
                    assert len(rows) == sum(len(_rows(file, query.name)) for file in files)


def _rows(path: Path, name: str) -> Sequence[object]:
    with TraceTables(gather(path)) as tables:
        return tables.run(QUERIES[name]).rows


def test_what_could_not_be_used_is_named_with_its_event(played: Sequence[Parts], tmp_path: Path) -> None:
    parts = played[1].copy()
    call = orjson.loads(parts.bodies[2])
    parts.bodies[2] = orjson.dumps({**call, "round": "first"})
    parts.bodies[4] = b"{"
    parts.bodies[5] = orjson.dumps({**orjson.loads(parts.bodies[5]), "event": "message_sent"})
    path = write_parts(parts, tmp_path / "odd.trace")
    with TraceTables.of_file(path) as tables:
        found = {row[0]: str(row[1]) for row in tables.select("SELECT seq, message FROM findings").rows}
    assert "round is not a whole number" in found[3]
    assert "no JSON object" in found[5]
    assert "unknown kind: message_sent" in found[6]
    exported = export_files([path], form="parquet", output=tmp_path / "tables")
    assert {problem.seq for problem in exported.problems} >= {3, 5, 6}
    assert ran("export", path, "--format", "parquet", "-o", tmp_path / "tables").code == 1


def test_rules_of_another_version_are_said_not_to_tell_what_actions_needed(
    played: Sequence[Parts], tmp_path: Path
) -> None:
    parts = played[1].copy()
    parts.core = orjson.dumps({**orjson.loads(parts.core), "rules_version": "0"}, option=orjson.OPT_SORT_KEYS)
    with TraceTables.of_file(write_parts(parts, tmp_path / "old.trace")) as tables:
        (found,) = tables.select("SELECT message FROM findings WHERE message LIKE '%version 0%'").rows
        assert "is installed" in str(found[0])
        assert tables.run(QUERIES["evidence"]).rows == []
