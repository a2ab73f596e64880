"""Traces from Python: load, verify, evaluate, compare, report, and the tables of findings, calls and messages.

Also here:
- Frames: typed columns that need no library, and that pandas and polars take without losing a value.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Any, get_args

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.api.conftest import DUEL, FEW

import tradefair.api as tf
from tradefair.api.frames import Kind
from tradefair.cli import run
from tradefair.evaluation.modes.diagnosis import Status
from tradefair.evaluation.store.tables import TABLES
from tradefair.tracestore import jsonl_lines, open_trace


@pytest.fixture
def damaged(duel: tf.Trace, tmp_path: Path) -> Path:
    """A folder with a sound trace, one with a changed byte, and two files that are no traces."""
    folder = tmp_path / "mixed"
    (folder / "deep").mkdir(parents=True)
    shutil.copyfile(duel.path, folder / "deep" / "a.trace")
    with open_trace(duel.path) as opened:
        lines = list(jsonl_lines(opened))
    (folder / "b.trace.jsonl").write_bytes(b"\n".join(lines).replace(b'"price":', b'"prise":', 1) + b"\n")
    (folder / "c.trace").write_bytes(b"")
    (folder / "d.trace").write_bytes(b"SQLite format 3\x00" + b"\xff" * 4_000)
    return folder


def test_a_trace_says_what_was_played(duel: tf.Trace) -> None:
    assert (duel.market, duel.scenario, duel.seed) == ("double_auction", DUEL, 3)
    assert set(duel.outcome.seats) == {"B1", "S1"}
    assert [event["event"] for event in duel.events()][-1] == "episode_ended"
    assert {finding.id for finding in duel.raised} <= {str(name) for name in duel.findings()["mode"]}
    assert duel.verify() == tf.verify(duel.path)
    assert repr(duel) == f"Trace({str(duel.path)!r})"


def test_what_is_printed_is_the_verdict(duel: tf.Trace) -> None:
    assert str(duel) == str(duel.verdict)
    assert str(duel).startswith(duel.verdict.sentences[0])
    both = tf.Traces([duel, duel])
    assert str(both) == str(both.verdict)
    assert str(both[:0]) == "Traces(0 of a selection)"


def test_a_wrong_name_of_the_module_names_those_that_are_like_it() -> None:
    with pytest.raises(AttributeError, match="did you mean play"):
        getattr(tf, "plya")  # noqa: B009
    assert not hasattr(tf, "__wrapped__")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_missing_library_of_tables_says_what_to_install(
    library: str, duel: tf.Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=f"{library} is not installed: pip install {library}"):
        getattr(duel.findings(), f"to_{library}")()


def test_the_words_of_status_in_the_page_are_those_of_the_code() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "python.md").read_text(encoding="utf-8")
    line = next(line for line in page.splitlines() if line.startswith("- `status` is"))
    assert set(re.findall(r"`(\w+)`", line.partition("`count`")[0])) == {"status", *get_args(Status)}


def test_evaluate_is_what_the_command_prints(duel: tf.Trace, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    run(["evaluate", str(duel.path), "--json", "--ledger", "off"])
    printed = orjson.loads(capsysbinary.readouterr().out)["traces"][0]
    assert tf.evaluate(duel).to_json() == printed


def test_load_takes_a_file_a_folder_and_the_folders_in_it(duel: tf.Trace, tmp_path: Path) -> None:
    assert [trace.path for trace in tf.load(duel.path)] == [duel.path]
    found = tf.load(tmp_path)
    assert [trace.path for trace in found] == [duel.path]
    assert isinstance(found[:1], tf.Traces)
    assert found[0].seed == 3


@pytest.mark.parametrize("missing", ["nowhere", "empty", "null\0name"])
def test_where_there_is_no_trace_load_says_so(tmp_path: Path, missing: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(tf.TraceError, match="no trace here"):
        tf.load(tmp_path / missing)


def test_a_damaged_trace_is_a_trace_that_says_so(damaged: Path) -> None:
    traces = tf.load(damaged)
    verdicts = {trace.path.name: trace.verify().verdict for trace in traces}
    assert verdicts["a.trace"] == "reproduced"
    assert verdicts["b.trace.jsonl"] == "damaged"
    assert not any(check.sound for check in traces.verify() if not check.path.endswith("a.trace"))
    evaluations = {trace.path.name: tf.evaluate(trace) for trace in traces}
    assert evaluations["b.trace.jsonl"].unsound is not None
    for name in ("c.trace", "d.trace"):
        assert evaluations[name].outcome is None
        assert evaluations[name].problem


def test_what_cannot_be_read_raises_and_is_left_out_of_tables_with_a_warning(damaged: Path) -> None:
    traces = tf.load(damaged)
    broken = next(trace for trace in traces if trace.path.name == "c.trace")
    for name in ("market", "scenario", "seed", "outcome", "raised"):
        with pytest.raises(tf.TraceError):
            getattr(broken, name)
    with pytest.warns(UserWarning, match="2 of 4 traces cannot be read"):
        frame = traces.outcomes()
    assert {Path(name).name for name in frame["trace"]} == {"a.trace", "b.trace.jsonl"}
    with pytest.warns(UserWarning, match="1 of 1 traces"):
        assert broken.messages().height == 0


def test_a_name_in_the_file_that_is_no_text_is_damage(duel: tf.Trace, tmp_path: Path) -> None:
    # SQLite names the broken table in its message, which Python cannot decode.
    broken = tmp_path / "broken.trace"
    named = duel.path.read_bytes().replace(b"CREATE TABLE meta", b"CREATE TABLE m\xecta")
    broken.write_bytes(named.replace(b"tablemeta", b"tablem\xecta"))
    assert not tf.verify(broken).sound
    assert tf.evaluate(broken).problem


@pytest.mark.parametrize("place", ["nowhere", "null\0name", "postgresql://nobody@127.0.0.1:1/none#x"])
def test_verify_and_evaluate_never_raise(place: str) -> None:
    assert not tf.verify(place).sound
    assert tf.evaluate(place).problem
    assert "nobody" not in tf.Trace(place).name


def test_calls_and_outcomes_have_the_columns_of_the_tables_and_the_trace(duel: tf.Trace) -> None:
    for name, frame in (("calls", duel.calls()), ("outcomes", duel.outcomes())):
        assert list(frame) == ["trace", *TABLES[name].names]
        assert set(frame["trace"]) == {str(duel.path)}
    payoff = {row["seat"]: row["value"] for row in duel.outcomes().rows() if row["name"] == "payoff"}
    assert payoff == {seat: result.payoff for seat, result in duel.outcome.seats.items()}


def test_findings_have_one_row_per_mode_and_seat(duel: tf.Trace) -> None:
    frame = duel.findings()
    rows = list(frame.rows())
    names = "trace seat mode status count of share lost seq because"
    assert list(frame) == names.split()
    assert {row["status"] for row in rows} <= {"raised", "condition", "clear", "unchecked", "merged"}
    assert len({(row["seat"], row["mode"]) for row in rows}) == len(rows)
    for row in rows:
        if row["status"] == "unchecked":
            assert row["because"]
        elif row["of"]:
            assert row["share"] == pytest.approx(row["count"] / row["of"])


@pytest.mark.many
def test_a_ledger_has_a_flat_row_a_turn_that_add_up_to_its_gap(duel: tf.Trace) -> None:
    ledger = duel.ledger("B1")
    rows = ledger.to_rows()
    assert [row["turn"] for row in rows] == list(range(1, len(rows) + 1))
    assert sum(row["lost"] for row in rows) == pytest.approx(ledger.gap)
    assert all(row[f"value_{name}"] is not None for row in rows for name in ledger.of)
    named = {name for row in rows for name in row["names"]}
    assert named <= {finding.id for finding in duel.raised if "B1" in finding.seats}


@pytest.mark.many
def test_a_verdict_prints_what_turns_lost_once_it_is_asked_for(
    duel: tf.Trace, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    run(["evaluate", str(duel.path)])
    table = [line for line in capsys.readouterr().out.splitlines() if line.startswith(("round ", "sum "))]
    told = str(duel.verdict)
    assert table
    assert [line for line in told.splitlines() if line.startswith(("round ", "sum "))] == table
    assert duel.verdict.seats[0].gap == duel.ledger().gap
    assert "<caption>what B1 lost, in points</caption>" in duel.verdict._repr_html_()  # pyright: ignore[reportPrivateUsage]
    # Outcome and findings take no time: they have no ledger unless the trace was given one.
    assert not duel.evaluate().ledgers
    whole = tf.Trace(duel.path, ledger="full")
    assert whole.evaluate().ledgers["B1"].own == duel.outcome.seats["B1"].payoff


def test_a_verdict_has_no_ledger_where_it_is_left_out(duel: tf.Trace) -> None:
    verdict = tf.load(duel.path, ledger="off")[0].verdict
    assert (verdict.seats[0].gap, verdict.seats[0].ledger) == (None, None)
    assert str(verdict) == verdict.text
    wrong: Any = "none"
    with pytest.raises(tf.ScenarioError, match="it must be auto, full, off"):
        tf.load(duel.path, ledger=wrong)


@pytest.mark.many
def test_traces_tell_which_kinds_of_turns_lost_only_where_it_is_asked_for(tmp_path: Path) -> None:
    for seed in range(3):
        tf.play("double_auction", scenario="double_auction/smoke", seed=seed, agent="policy:zic", folder=tmp_path)
    assert tf.load(tmp_path).verdict.seats[0].ledgers is None
    series = tf.load(tmp_path, ledger="auto").verdict
    (seat,) = series.seats
    assert seat.ledgers is not None
    assert sum(row["lost"] for row in seat.ledgers.to_rows()) == pytest.approx(seat.gap)
    assert (seat.ledgers.episodes, seat.ledgers.of) == (3, 3)
    assert str(series).splitlines()[-1].startswith("mean gap ")


def test_messages_are_what_other_seats_could_read(tmp_path: Path) -> None:
    async def talker(seat: tf.Seat) -> None:
        async for turn in seat:
            if turn.phase != "quote":
                await seat.call("send_message", text=f"<b>{turn.round}</b>")
                with pytest.raises(tf.Refused):
                    await seat.call("send_message", text="again")

    trace = tf.play("bargaining", scenario="bargaining/smoke", seed=7, agent=talker, folder=tmp_path)
    own = [
        row for row in trace.messages().rows() if row["seat"] in trace.outcome.seats and row["text"].startswith("<b>")
    ]
    assert own
    assert own[0]["tool"] == "send_message"
    assert orjson.loads(own[0]["arguments"]) == {"text": own[0]["text"]}
    assert "<b>" not in trace.messages()._repr_html_()  # pyright: ignore[reportPrivateUsage]


def test_two_folders_are_compared_on_the_same_luck(tmp_path: Path) -> None:
    for name in ("zip", "gd"):
        for seed in range(2):
            tf.play(
                "double_auction", scenario=DUEL, seed=seed, agent=f"policy:{name}", settings=FEW, folder=tmp_path / name
            )
    found = tf.compare(tmp_path / "zip", str(tmp_path / "gd"))
    assert len(found.pairs) == 2
    assert str(found.verdict).startswith("2 pairs are too few to test")
    assert found.verdict.kind == "comparison"
    loaded = tf.compare(tf.load(tmp_path / "zip"), tf.load(tmp_path / "gd"))
    assert loaded == found
    assert len(tf.compare(tf.load(tmp_path / "zip")[:1], tf.load(tmp_path / "gd")).pairs) == 1
    with pytest.raises(tf.ScenarioError, match="reads files"):
        tf.compare(tmp_path / "zip", "postgresql://host/store#episode")
    bargain = tf.play("bargaining", scenario="bargaining/smoke", seed=1, folder=tmp_path / "other")
    with pytest.raises(tf.TraceError, match="only one market can be compared"):
        tf.compare(tmp_path / "zip", bargain.path)


@pytest.mark.many
def test_a_report_is_one_page_beside_its_traces(duel: tf.Trace, tmp_path: Path) -> None:
    page = duel.report()
    assert page == duel.path.with_suffix(".html")
    assert page.read_bytes().startswith(b"<!")
    assert tf.load(duel.path.parent).report() == duel.path.with_suffix(".html")
    shutil.copyfile(duel.path, duel.path.with_name("second.trace"))
    assert tf.report(duel.path.parent) == duel.path.parent / "report.html"
    assert tf.report(str(duel.path), tmp_path / "here.html") == tmp_path / "here.html"
    with pytest.raises(tf.ScenarioError, match="name the page's file"):
        tf.Traces([duel, duel]).report()
    with pytest.raises(tf.ScenarioError, match="at most 40"):
        tf.Traces([duel] * 41).report(tmp_path / "many.html")
    with pytest.raises(tf.TraceError):
        tf.report(tmp_path / "nowhere")


TYPES: dict[str, Kind] = {"name": "TEXT", "count": "BIGINT", "share": "DOUBLE"}
ROWS = st.lists(
    st.tuples(
        st.none() | st.text(st.characters(exclude_categories=["Cs"])),
        st.none() | st.integers(-(2**63), 2**63 - 1),
        st.none() | st.floats(allow_nan=False),
    ),
    max_size=8,
)


def test_a_frame_is_a_mapping_of_columns() -> None:
    frame = tf.Frame(TYPES, [("a", 1, 0.5), ("b", None, None)])
    assert dict(frame) == {"name": ["a", "b"], "count": [1, None], "share": [0.5, None]}
    assert list(frame.rows())[1] == {"name": "b", "count": None, "share": None}
    assert (len(frame), frame.height, frame.types) == (3, 2, TYPES)
    assert repr(frame) == "Frame(2 rows: name, count, share)"


def test_a_row_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        tf.Frame(TYPES, [("a", 1)])


def test_a_notebook_shows_the_first_rows_and_no_strangers_markup() -> None:
    html = tf.Frame({"x": "TEXT"}, [("<script>",)] * 30)._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert "<script>" not in html
    assert html.count("<tr>") == 21
    assert "30 rows, 20 shown" in html


def back(values: Any, missing: Any) -> list[Any]:
    return [None if missing(value) else value for value in values]


@given(ROWS)
def test_pandas_keeps_every_value(rows: list[tuple[Any, ...]]) -> None:
    pandas: Any = pytest.importorskip("pandas", reason="pandas is no dependency of ours")
    frame = tf.Frame(TYPES, rows)
    made = frame.to_pandas()
    assert {name: back(made[name], pandas.isna) for name in made} == dict(frame)
    assert str(made["count"].dtype) == ("Int64" if None in frame["count"] else "int64")


@given(ROWS)
def test_polars_keeps_every_value(rows: list[tuple[Any, ...]]) -> None:
    polars: Any = pytest.importorskip("polars", reason="polars is no dependency of ours")
    frame = tf.Frame(TYPES, rows)
    made = frame.to_polars()
    assert made.to_dict(as_series=False) == dict(frame)
    assert made.schema == {"name": polars.String, "count": polars.Int64, "share": polars.Float64}


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_without_the_library_the_method_says_so(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=name):
        getattr(tf.Frame(TYPES), f"to_{name}")()
