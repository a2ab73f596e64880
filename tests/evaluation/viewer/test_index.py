"""What is remembered of a folder: in the user's cache, never beside the traces, and never longer than it is true.

Also here:
- The filter of lists: one language in the viewer, on the command line and in Python.
"""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluation.playing import played

from tradefair.api import load
from tradefair.cli import run
from tradefair.contract import ScenarioError
from tradefair.evaluation.commands import list_command
from tradefair.evaluation.prove.verify import Check
from tradefair.evaluation.viewer import index as indexing
from tradefair.evaluation.viewer.filter import KEYS, parse
from tradefair.evaluation.viewer.folder import Folder, Place
from tradefair.evaluation.viewer.index import Index
from tradefair.evaluation.viewer.listing import ORDERS, listing_of, ordered
from tradefair.evaluation.viewer.row import Judged, Row
from tradefair.files.folders import cache_folder


@pytest.fixture(scope="module")
def game(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return played(tmp_path_factory.mktemp("played") / "game.trace", "teaching/pie", "half", seed=4)


@pytest.fixture
def runs(tmp_path: Path, game: Path) -> Path:
    place = tmp_path / "runs"
    place.mkdir()
    for name in ("a", "b"):
        shutil.copy(game, place / f"{name}.trace")
    return place


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The traces that are evaluated, in order."""
    made: list[Path] = []
    plain = indexing.judged

    def judged(place: Path, check: Check, foreign: None) -> object:
        made.append(place)
        return plain(place, check, foreign)

    monkeypatch.setattr(indexing, "judged", judged)
    return made


def judged_names(runs: Path, cache: Path | None) -> list[str]:
    return [row.path for row in Index(Folder(runs), cache).rows() if row.judged]


def test_a_verdict_outlives_the_viewer_and_lies_in_the_cache(runs: Path, tmp_path: Path, counted: list[Path]) -> None:
    cache = tmp_path / "cache"
    before = {path: path.stat().st_mtime_ns for path in runs.iterdir()}
    rows = [row for _, row in Index(Folder(runs), cache).judged_rows()]
    assert [row.judged.check for row in rows if row.judged] == ["reproduced", "reproduced"]
    assert {path: path.stat().st_mtime_ns for path in runs.iterdir()} == before
    assert Index(Folder(runs), cache).rows() == rows
    assert [row for _, row in Index(Folder(runs), cache).judged_rows()] == rows
    assert len(counted) == 2
    # It may be deleted at any time, also under a viewer that is open.
    opened = Index(Folder(runs), cache)
    shutil.rmtree(cache)
    assert opened.rows() == rows
    assert judged_names(runs, cache) == []


def test_a_verdict_is_made_again_where_its_trace_release_or_references_changed(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    Index(Folder(runs), cache).judged_rows()
    (runs / "a.trace").touch()
    assert judged_names(runs, cache) == ["b.trace"]
    Index(Folder(runs), cache).judged_rows()
    (runs / "references").mkdir()
    shutil.copy(runs / "a.trace", runs / "references" / "passive.trace")
    assert judged_names(runs, cache) == []
    Index(Folder(runs), cache).judged_rows()
    (runs / "a.trace").unlink()
    assert judged_names(runs, cache) == ["b.trace"]
    monkeypatch.setattr(indexing, "_FORMAT", 9)
    assert judged_names(runs, cache) == []


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + b"\xff" * 4_096])
def test_a_damaged_cache_is_begun_anew(runs: Path, tmp_path: Path, content: bytes) -> None:
    cache = tmp_path / "cache"
    Index(Folder(runs), cache).judged_rows()
    (file,) = (cache / "lists").iterdir()
    file.write_bytes(content)
    assert judged_names(runs, cache) == []
    Index(Folder(runs), cache).judged_rows()
    assert judged_names(runs, cache) == ["a.trace", "b.trace"]


def test_a_row_that_no_release_wrote_is_ignored(runs: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    Index(Folder(runs), cache).judged_rows()
    (file,) = (cache / "lists").iterdir()
    with sqlite3.connect(file) as database:
        database.execute("UPDATE rows SET row = ? WHERE path = 'a.trace'", (b'{"path": 3}',))
    assert judged_names(runs, cache) == ["b.trace"]


def test_without_a_cache_folder_rows_are_kept_in_memory(runs: Path, tmp_path: Path, counted: list[Path]) -> None:
    (tmp_path / "file").touch()
    for cache in (None, tmp_path / "file" / "cache"):
        counted.clear()
        known = Index(Folder(runs), cache)
        assert known.judged_rows() == known.judged_rows()
        assert len(counted) == 2


def test_the_cache_holds_few_folders(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "_MOST_FOLDERS", 2)
    for number in range(4):
        place = tmp_path / f"runs{number}"
        place.mkdir()
        Index(Folder(place), tmp_path / "cache")
    assert len(list((tmp_path / "cache" / "lists").iterdir())) == 2


def test_the_cache_is_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRADEFAIR_CACHE", "/one")
    assert cache_folder() == Path("/one")
    monkeypatch.delenv("TRADEFAIR_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/two")
    assert cache_folder() == Path("/two/tradefair")


def test_the_command_and_python_filter_as_the_viewer_does(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRADEFAIR_CACHE", str(tmp_path / "cache"))
    assert run(["list", str(runs), "--filter", "check:reproduced path=a.trace", "--json"]) == 0
    (found,) = orjson.loads(capsys.readouterr().out)["traces"]
    assert (found["path"], found["seed"], found["judged"]["check"]) == ("a.trace", 4, "reproduced")
    assert [trace.path.name for trace in load(runs).where("seed:4 path:/a. check:reproduced")] == ["a.trace"]
    assert run(["list", str(runs), "--sort", "scor"]) == 2
    assert "did you mean score" in capsys.readouterr().err
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["list", str(runs), "--filter", "seed>1"]) == 0
    shown = capsys.readouterr()
    assert "2 traces" in shown.err
    # What tells the traces apart has room at 80 columns; what all share is said once.
    titles = next(line for line in shown.out.splitlines() if line.startswith("trace "))
    assert shown.out.startswith("all: scenario teaching/pie, ")
    assert titles.split()[:4] == ["trace", "seed", "score", "mistakes"]
    assert "scenario" not in titles


def test_the_command_prints_each_row_before_the_next_is_judged(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRADEFAIR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(list_command, "_MEASURED", 1)
    printed: list[str] = []
    judge = Index.judge

    def watched(self: Index, place: Place) -> Row:
        printed.append(capsys.readouterr().out)
        return judge(self, place)

    monkeypatch.setattr(Index, "judge", watched)
    assert run(["list", str(runs), "--sort", "seed"]) == 0
    rest = capsys.readouterr().out
    # The first row stands there before the second trace is judged; in an order of verdicts all are judged before.
    assert [".trace" in text for text in printed] == [False, *[True] * (len(printed) - 1)]
    assert len(printed) > 1
    assert ".trace" in rest
    printed.clear()
    assert run(["list", str(runs), "--sort", "-score"]) == 0
    assert not any(".trace" in text for text in printed)


def test_traces_of_one_second_stand_in_the_order_of_their_seeds() -> None:
    rows = [Row(path=f"{11 - seed}.trace", scenario="s", seed=seed, created="now") for seed in (2, 10, 1)]
    later = Row(path="0.trace", scenario="s", seed=5, created="then")
    assert [row.seed for row in ordered([*rows, later], "when", down=True)] == [5, 1, 2, 10]


def test_a_scripted_agents_score_is_that_of_play(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRADEFAIR_CACHE", str(tmp_path / "cache"))
    line = "play double_auction --scenario double_auction/smoke --agent policy --model policy:zip --seat B1 --seed 19"
    assert run([*line.split(), "--out", str(tmp_path / "runs"), "--json"]) == 0
    (seat,) = orjson.loads(capsys.readouterr().out)["verdict"]["seats"]
    assert run(["list", str(tmp_path / "runs"), "--json"]) == 0
    (row,) = orjson.loads(capsys.readouterr().out)["traces"]
    assert (row["seats"], row["judged"]["score"]) == ([seat["seat"]], seat["score"]["value"])
    assert row["judged"]["raised"] == seat["raised"]


def row(path: str, score: float | None = None, **known: object) -> Row:
    judged = Judged(score=score, check="reproduced", raised=2, modes=["retail.idle_days"], cost_usd_micro=60_000)
    basis = {"market": "retail", "scenario": "retail/smoke", "seed": 7, "seats": ["B1"], "players": ["react/openai:x"]}
    return Row.model_validate({"path": path, "state": "ended", **basis, "judged": judged, **known})


ROWS = [
    row("a.trace", 404.0, seed=1),
    row("b.trace", -3.5, seed=20, players=["policy:zip"], state="stopped"),
    row("c c.trace", None, seed=None, market="bargaining", scenario="bargaining/pact"),
    row("d.trace", judged=None),
]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "abcd"), ("market:retail", "abd"), ("market=retail", "abd"), ("market=ret", ""), ("-market:retail", "c"),
        ("score>100", "a"), ("score>=-3.5 score<0", "b"), ("-score>100", "bcd"), ("seed:1..20", "abd"),
        ("seed:8..", "b"),
        ("seed:20", "b"), ("by:react", "acd"), ("by:policy:zip", "b"), ("zip", "b"), ('"c c"', "c"),
        ('-"c c" by:react', "ad"),
        ("state:stopped or score>100", "ab"), ("findings>=2", "abc"), ("mode:idle_days -seed:1", "bc"),
        ("cost<$0.06", ""),
        ("cost:0.06", "abc"), ("RETAIL/smoke", "abd"), ('by:"react/openai:x" market:barg', "c"),
        ("or or", "abcd"), ("-", ""),
    ],
)  # fmt: skip
def test_a_line_says_which_rows_are_wanted(text: str, found: str) -> None:
    wanted = parse(text)
    matched = "".join(line.path[0] for line in ROWS if wanted.match(line))
    assert matched == found


@pytest.mark.parametrize(
    ("text", "said"),
    [("scor>1", "did you mean score"), ("score>x", "score is a number"), ("seed:1..x", "seed is a number"),
     ("x" * 1_001, "at most 1,000")],
)  # fmt: skip
def test_what_is_wrong_is_said(text: str, said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        parse(text)
    listing = listing_of(ROWS, text)
    assert said in listing.problem
    assert listing.fitting == len(ROWS)


@given(st.text(max_size=60))
def test_any_text_is_a_filter_or_an_error(text: str) -> None:
    try:
        wanted = parse(text)
    except ScenarioError:
        return
    assert [wanted.match(line) for line in ROWS] == [parse(text).match(line) for line in ROWS]


@pytest.mark.parametrize("key", ORDERS)
@pytest.mark.parametrize("down", [True, False])
def test_what_is_not_known_comes_last(key: str, down: bool) -> None:
    empty = Row(path="z.trace", problem="damaged")
    rows = listing_of([empty, *ROWS], key=key, down=down).rows
    if key not in ("state", "when"):
        assert rows[-1] is empty
    assert rows == listing_of([*ROWS, empty], key=key, down=down).rows


def test_references_are_listed_where_they_are_asked_for() -> None:
    rows = [*ROWS, row("references/x.trace", kind="reference")]
    assert [listing_of(rows, query).total for query in ("", "kind:reference", "kind:")] == [4, 5, 5]
    assert listing_of(rows, "kind:reference").fitting == 1
    assert listing_of(rows, "").references == 1


def test_only_what_takes_an_evaluation_asks_for_one() -> None:
    told = {key for key in KEYS if parse(f"{key}:1").judged}
    judged = "reference mode rule tool check status score better findings others calls cost"
    assert told == set(judged.split())
