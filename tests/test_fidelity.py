"""Published numbers beside ours: the form of their files, what a row may say, and files of others."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from benchmarks.fidelity import __main__ as command
from benchmarks.fidelity.__main__ import Beside, figures, page, summary
from benchmarks.fidelity.published import BUNDLED, PublishedError, Source, published, read_published
from benchmarks.fidelity.row import Asked, Figure, Made, Ours, compared, rows_of
from benchmarks.fidelity.seats import Seat, by_label, rows_of_labels

from tests.sample import sample_logs
from tradefair.evaluation.ratings.charts import leaderboard_charts
from tradefair.evaluation.ratings.leaderboards import leaderboards
from tradefair.evaluation.ratings.results import read_results

_FILE = """source = "A paper"
market = "retail"

[[table]]
id = "one"
title = "one table"
key = "model"
columns = ["model", "kind", "score"]
rows = [
    ["A", "big", 1.5],
    ["B", "", ""],
    ["C", "small", 20],
]

[[table]]
id = "two"
title = "a picture"
numbers = false
"""


def _read(folder: Path, text: str) -> Source:
    (folder / "paper.toml").write_text(text, encoding="utf-8")
    return read_published(folder)["paper"]


def _maker(made: Made) -> Callable[[Asked], Made]:
    return lambda _: made


def test_our_files_are_the_42_tables_and_figures_of_five_sources() -> None:
    sources = read_published()
    assert [*sources] == ["bazaar", "magentic", "market_bench", "pact", "retailbench"]
    assert sum(len(source.table) for source in sources.values()) == 42
    assert published("retailbench", "table_1")["Oracle Policy", "net_worth"] == 131510.42
    # Empty: not published.
    assert ("Oracle Policy", "expired_ratio") not in published("retailbench", "table_1")


def test_a_file_is_read_as_it_stands(tmp_path: Path) -> None:
    one, two = _read(tmp_path, _FILE).table
    assert one.values == {("A", "score"): 1.5, ("C", "score"): 20}
    assert one.decimals("score") == 1
    assert (two.numbers, two.values) == (False, {})


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('source = "A paper"', "", "source: Field required"),
        ('market = "retail"', 'market = "retail"\nyear = 2025', "year: Extra inputs"),
        ('market = "retail"', "market = [", "not valid TOML: .* line 4"),
        ("numbers = false", "numbers = true", "table two: numbers: Input should be False"),
        ("numbers = false", 'numbers = false\nkey = "model"', "table two: .*id and title alone"),
        ("numbers = false", "", "table two: .*columns are two different names"),
        ('id = "two"', 'id = "one"', "table one stands there twice"),
        ('key = "model"', 'key = "name"', "table one: .*key is one of model, kind, score"),
        ('"kind", "score"', '"kind", "kind"', "table one: .*different names"),
        ('["B", "", ""]', '["B", ""]', "table one: .*row 2 has 2 cells; there are 3 columns"),
        ('["B", "", ""]', '["A", "", ""]', "table one: .*row 2: 'A' stands there twice"),
        ('["B", "", ""]', '["", "", ""]', "table one: .*row 2: model is a text"),
        ('["B", "", ""]', "[2, 3, 4]", "table one: .*row 2: model is a text"),
        ('["B", "", ""]', '["B", "", "9 %"]', "table one: .*row 2: score is '9 %'; a column is numbers, or texts"),
        ('["B", "", ""]', '["B", "", nan]', "table one: row 2: nan is no cell; a cell is a finite number"),
        ('["B", "", ""]', '["B", "", true]', "table one: row 2: True is no cell"),
        ('["B", "", ""]', '"B"', "table one: row 2: Input should be a valid list"),
    ],
)
def test_a_malformed_file_names_table_and_row(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in _FILE
    with pytest.raises(PublishedError, match=rf"^paper\.toml: .*{said}"):
        _read(tmp_path, _FILE.replace(old, new))


def test_a_malformed_file_ends_the_command_before_anything_is_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def played(*_: object) -> None:
        pytest.fail("something was played")

    monkeypatch.setattr(command, "_beside", played)
    (tmp_path / "retailbench.toml").write_text(_FILE.replace("numbers = false", ""), encoding="utf-8")
    with pytest.raises(SystemExit, match=r"^retailbench\.toml: table two") as ended:
        command.main(["--published", str(tmp_path)])
    # A text as the code is printed, and the code is 1.
    assert isinstance(ended.value.code, str)
    for wrong in (["--published", str(tmp_path / "none")], ["--logs", str(tmp_path)], ["--runs", str(tmp_path)]):
        with pytest.raises(SystemExit, match=re.escape(str(tmp_path))):
            command.main(wrong)


@pytest.mark.parametrize(
    ("ours", "within", "said"),
    [
        (Ours(10.04), None, "equal"),
        (Ours(11, 9, 13), None, "in the interval"),
        (Ours(11, 10.5, 13), None, "differs: other goods"),
        (Ours(11), None, "differs: other goods"),
        (Ours(10.5, 10.4, 10.6), 0.05, "within 5 %"),
        # A tolerance that was agreed decides, whatever the interval.
        (Ours(11, 9, 13), 0.05, "differs: other goods"),
        (Ours(10.2, 9, 11), 0.025, "within 2.5 %"),
    ],
)
def test_a_row_says_by_which_measure_it_is_met(ours: Ours, within: float | None, said: str) -> None:
    verdict = compared(10.0, ours, 1, within, "other goods")
    assert (verdict.text, verdict.met) == (said, not said.startswith("differs"))


def test_a_row_that_differs_in_silence_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing says what differs"):
        compared(10.0, Ours(11), 1, None, "")


def test_every_maker_has_a_reason_and_a_table_of_its_own() -> None:
    known = {(name, table.id) for name, source in read_published().items() for table in source.table}
    assert figures().keys() <= known
    assert all(of.differs.get("") for of in figures().values() if of.make)
    assert all(of.make or of.draws for of in figures().values())


def test_rows_of_models_are_filled_by_label_and_others_say_what_they_need(tmp_path: Path) -> None:
    (table, picture) = _read(tmp_path, _FILE).table
    episodes = [
        [Seat("A", {"gain": 1.0}), Seat("A", {"gain": 2.0})],
        [Seat("A", {"gain": 1.5}), Seat("X", {"gain": 9})],
    ]
    of = Figure("tradefair play", needs="needs a model", columns={"score": "gain"}, differs={"": "other seeds"})
    asked = Asked(table, runs=[], logs=[])
    rows = rows_of(table, of._replace(make=_maker(by_label(episodes, of.columns))), asked)
    assert [(row.name, row.verdict.text) for row in rows] == [("A", "equal"), ("C", "needs a model")]
    assert rows[0].ours == Ours(1.5, 1.5, 1.5)
    # A column that nobody makes, and a table without a maker.
    of = of._replace(columns={}, make=_maker({}))
    assert {row.verdict.text for row in rows_of(table, of, asked)} == {"no figure of ours"}
    assert {row.verdict.text for row in rows_of(table, None, asked)} == {"no figure of ours"}
    assert rows_of(picture, None, asked) == []


def test_the_page_counts_tables_and_numbers_and_gives_a_row_per_number(tmp_path: Path) -> None:
    source = _read(tmp_path, _FILE.replace('"A"', '"A | B"'))
    table, picture = source.table
    of = Figure("tradefair play", needs="needs a model", columns={"score": "gain"}, differs={"": "other seeds"})
    made = of._replace(make=_maker({("A | B", "score"): Ours(1.7, 1.6, 1.8)}))
    own = [
        Beside(table, made, rows_of(table, made, Asked(table, [], []))),
        Beside(picture, Figure("tradefair rate", draws=["rating"]), []),
        Beside(picture, None, []),
    ]
    assert summary([(source, own)]) == [
        "3 tables and figures: 0 whole, 1 in part, 1 drawn, 1 without",
        "A paper, one: 1 of 2 numbers compared, 0 met",
        "A paper, two: drawn",
        "A paper, two: no figure of ours",
    ]
    text = page([(source, own)])
    assert "| A \\| B | score | 1.5 | 1.7 | 1.6 to 1.8 | differs: other seeds |" in text
    assert "| C | score | 20.0 | – | – | needs a model |" in text


def test_a_file_of_another_may_have_more_rows_and_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (BUNDLED / "magentic.toml").read_text(encoding="utf-8")
    text = text.replace('["model", "most"]', '["model", "most", "charm"]').replace(
        '["GPT-4.1", 1.0]', '["GPT-4.1", 1.0, 3], ["GPT-9", 2, ""]'
    )
    text = text.replace('["Sonnet-4.5", 1.0]', '["Sonnet-4.5", 1.0, ""]').replace(
        '["Gemini-2.5-Flash", 1.6]', '["Gemini-2.5-Flash", 1.6, ""]'
    )
    (tmp_path / "magentic.toml").write_text(text, encoding="utf-8")
    command.main(["--published", str(tmp_path)])
    shown = capsys.readouterr().out
    assert "| GPT-4.1 | charm | 3 | – | – | no figure of ours |" in shown
    assert "| GPT-9 | most | 2.0 | – | – | needs a model |" in shown
    assert "6 tables and figures: 0 whole, 0 in part, 5 drawn, 1 without" in shown


def test_labels_of_the_public_logs_are_rows() -> None:
    rows = {row for name in ("bazaar", "pact") for table in read_published()[name].table for row, _ in table.values}
    assert {*rows_of_labels().values()} <= rows


@pytest.mark.parametrize(
    ("source", "market", "score"), [("bazaar", "double_auction", "csa_logged"), ("pact", "bargaining", None)]
)
def test_logs_fill_the_leaderboard_and_every_picture_of_their_source_is_drawn(
    tmp_path: Path, source: str, market: str, score: str | None
) -> None:
    logs = sample_logs(source)[:3]
    (tmp_path / source).mkdir()
    for log in logs:
        (tmp_path / source / log.name).write_bytes(log.read_bytes())
    with ExitStack() as stack:
        traces = command.imported(market, tmp_path, stack)
        made = leaderboards(read_results(traces, series=True, proven=False), score=score)
        table = read_published()[source].table[0]
        rows = rows_of(table, figures()[source, "leaderboard"], Asked(table, [], traces))
    ids = {chart.id for board in made.boards for chart in leaderboard_charts(board)}
    assert {name for (known, _), of in figures().items() if known == source for name in of.draws} <= ids
    played = {rows_of_labels().get(row.label, row.label) for board in made.boards for row in board.rows}
    assert {row.name for row in rows if row.ours} == played & {row for row, _ in table.values}
    assert {row.verdict.text for row in rows if row.name not in played} == {"needs logs"}
