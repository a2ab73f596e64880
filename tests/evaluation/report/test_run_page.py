"""The page of a run that no rules have made, as data: texts as a transcript shows them, tools, what was left out.

Also here:
- `tradefair report` as people and programs call it.
"""

from __future__ import annotations

import base64
import webbrowser
import zlib
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.evaluation.foreign_runs import DESK, Do, Say, write_run
from tests.evaluation.mutations import parts_of, write_parts
from tests.evaluation.playing import played
from tests.evaluation.report.playing import HOSTILE_TEXT

from tradefair.cli import run
from tradefair.contract import ScenarioError
from tradefair.evaluation.foreign.audit.auditing import Asked, audit_traces
from tradefair.evaluation.foreign.audit.map_file import load_map
from tradefair.evaluation.foreign.audit.show_audit import table_of
from tradefair.evaluation.report import build, build_report, episode_page
from tradefair.evaluation.report.build import MAX_RUNS, MAX_TRACES, check_count
from tradefair.evaluation.report.page_data import Packed
from tradefair.evaluation.report.runs import asked_of

SHAPES: list[dict[str, Any]] = [
    {"source": [1]}, {"tools": {"x": 1}}, {"tools": [1, {"name": []}]}, {"source": {"left_out": [1], "run": {}}},
]  # fmt: skip
BIG = {"rows": ["x" * 100] * 40}


def opened(packed: Packed) -> Any:
    chunks = [orjson.loads(zlib.decompress(base64.b64decode(chunk), -15)) for chunk in packed.chunks]
    return chunks[0] if packed.limit == 0 else [row for chunk in chunks for row in chunk]


def test_a_row_is_a_text_or_a_call_with_its_answer(tmp_path: Path) -> None:
    turns = [*DESK, Do("export", {}, BIG), Say("user", {"media_type": "image/png", "size": 9, "digest": "ab"}, "media")]
    page = episode_page(write_run(tmp_path / "desk.trace", turns))
    texts = [[text for text, _ in row] for row in opened(page.bodies)]
    assert texts[2] == ["Please cancel my order W7.", None]
    assert texts[4] == ['{"order_id":"W7"}', '{"order_id":"W7","status":"pending"}']
    assert texts[5] == ['{"order_id":"W9"}', "tool_error: no such order"]
    assert texts[8] == ["{}", orjson.dumps(BIG).decode()]
    assert orjson.loads(texts[9][0])["media_type"] == "image/png"
    columns = opened(page.events)
    named = [
        (columns["names"][role], columns["names"][speaker])
        for role, speaker in zip(columns["role"], columns["speaker"], strict=True)
    ]
    assert named[2] == ("user", "Mei")
    assert columns["step"] == [-1, 1, 2, 3, 5, 7, 9, 10, 12, 13, -1]


def test_tools_are_counted_with_their_times_and_where_their_kind_is_from(tmp_path: Path) -> None:
    lost = Do("cancel_order", {"order_id": "W1"}, error={"code": "no_answer"}, kind="action")
    offered = [{"name": "get_order", "readOnlyHint": True}, {"name": "refund"}]
    path = write_run(tmp_path / "desk.trace", [*DESK, lost], tools=offered, source={"left_out": {"media": 2, "x": "y"}})
    page = episode_page(path).foreign
    assert page is not None
    assert [
        (tool.tool, tool.calls, tool.refused, tool.unanswered, tool.median_us, tool.known) for tool in page.tools
    ] == [
        ("cancel_order", 3, 1, 1, 40_000, "name"),
        ("get_order", 1, 0, 0, 12_000, "annotation"),
        ("refund", 0, 0, 0, None, "name"),
    ]
    assert page.left_out == [("media", 2)]


@pytest.mark.parametrize("beside", SHAPES)
def test_whatever_stands_beside_the_chain_makes_a_page(tmp_path: Path, beside: dict[str, Any]) -> None:
    page = episode_page(write_run(tmp_path / "desk.trace", beside=beside))
    assert page.foreign is not None
    assert page.foreign.left_out == []
    assert page.verdict.foreign is not None
    assert page.verdict.foreign.run == "desk"


def test_a_market_has_nothing_of_it_and_a_page_of_a_run_no_script_of_it(tmp_path: Path) -> None:
    ours = build_report([played(tmp_path / "ours.trace", "double_auction/smoke", "zip")], check=False)
    data = ours.html.partition(b'id="data">')[2].partition(b"</script>")[0]
    assert b'"foreign":' not in data
    assert ours.data.episodes[0].foreign is None
    assert "step" not in opened(ours.data.episodes[0].events)
    hostile = write_run(
        tmp_path / "run.trace", [Say("user", HOSTILE_TEXT), Do(HOSTILE_TEXT, {HOSTILE_TEXT: 1}, HOSTILE_TEXT)]
    )
    html = build_report([hostile]).html
    assert html.count(b"</script>") == 2
    assert b"<img src=x" not in html


def test_a_chain_that_holds_is_all_that_is_asked_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_run(tmp_path / "desk.trace")
    assert run(["report", str(path)]) == 0
    path.write_bytes(path.read_bytes().replace(b"cancel my", b"delete my"))
    assert run(["report", str(path)]) == 1
    capsys.readouterr()


def test_a_page_holds_more_runs_than_episodes(tmp_path: Path) -> None:
    path = write_run(tmp_path / "desk.trace")
    check_count([path] * MAX_RUNS)
    with pytest.raises(ScenarioError, match="at most 40"):
        check_count([path] * (MAX_RUNS + 1))
    game = played(tmp_path / "ours.trace", "double_auction/smoke", "zip")
    with pytest.raises(ScenarioError, match="at most 40"):
        check_count([*[path] * MAX_TRACES, game])


MAP = """version = 1
[tools]
action = ["cancel_*"]
[first]
one_of = ["find_*"]
"""


def test_a_map_and_labels_make_rates_of_failed_and_passed_runs(tmp_path: Path) -> None:
    found = Do("find_user", {}, "u1")
    runs = [write_run(tmp_path / f"t{n}.trace", [found, *DESK] if n else DESK) for n in range(3)]
    labels = "".join(f'{{"id": "t{n}", "passed": {str(n > 0).lower()}}}\n' for n in range(3))
    (tmp_path / "labels.jsonl").write_text(labels)
    (tmp_path / "desk.toml").write_text(MAP)
    data = build_report(runs, asked=asked_of(tmp_path / "desk.toml", tmp_path / "labels.jsonl")).data
    assert data.rates is not None
    assert [row[:3] for row in data.rates.rows] == [["map.first", "1 of 1", "0 of 2"], ["any", "1 of 1", "0 of 2"]]
    assert data.verdict is not None
    assert "1 failed, 2 passed" in data.verdict.text
    first = data.episodes[0].verdict
    assert "failed, as its label says" in first.text
    assert "first, step 5, map.first: " in first.text
    # Without labels, and where the source states no result, how often a rule is wrong is not known.
    bare = build_report(runs, asked=asked_of(tmp_path / "desk.toml")).data
    assert bare.rates is None
    assert "how often a rule is wrong is not known" in bare.rates_note
    (tmp_path / "labels.jsonl").write_text("{}\n")
    with pytest.raises(ScenarioError, match=r"labels\.jsonl:1"):
        asked_of(None, tmp_path / "labels.jsonl")


def test_a_page_and_an_audit_show_one_table_of_rates_and_every_list_one_count(tmp_path: Path) -> None:
    # Two rules judge one call: one finding tells it, and each rule is raised.
    of = MAP + '[confirm]\nactions = ["cancel_*"]\n'
    (tmp_path / "desk.toml").write_text(of)
    runs = [write_run(tmp_path / f"t{n}.trace", turns, passed=n > 0) for n, turns in enumerate((DESK[4:], DESK))]
    table = table_of(audit_traces(runs, Asked(load_map(tmp_path / "desk.toml"))).rates)
    data = build_report(runs, asked=asked_of(tmp_path / "desk.toml")).data
    assert data.rates is not None
    assert data.rates.rows == [[cell or "–" for cell in row] for row in table.rows]
    found = [finding for episode in data.episodes for finding in (episode.diagnosis or pytest.fail("none")).findings]
    merged = [finding.id for finding in found if finding.status == "merged"]
    assert set(merged) & {row[0] for row in table.rows}, "no finding is merged: this test says nothing"
    assert [(episode.verdict.foreign or pytest.fail("none")).raised for episode in data.episodes] == [
        len((episode.diagnosis or pytest.fail("none")).raised) for episode in data.episodes
    ]


def test_many_runs_share_what_a_page_may_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "BUDGET", 40_000)
    path = write_run(tmp_path / "long.trace", [Say("user", "long " * 4_000)])
    assert [build_report([path] * runs).summary()["cut"] for runs in (1, 4, 20)] == [0, 0, 20]


@pytest.fixture(scope="module")
def games(folder: Path) -> tuple[Path, Path]:
    return (
        played(folder / "a" / "zip.trace", "double_auction/smoke", "zip", seed=2),
        played(folder / "b" / "truthful.trace", "double_auction/smoke", "truthful", seed=2),
    )


def test_it_says_what_it_wrote(games: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    assert run(["report", str(games[0]), "-o", str(page), "--json"]) == 0
    said = orjson.loads(capsys.readouterr().out)
    assert said["bytes"] == page.stat().st_size
    assert 0 < said["data_bytes"] < said["bytes"]
    assert (said["episodes"], said["checks"]) == (1, "reproduced")
    assert next(iter(said)) == "verdict"
    assert said["verdict"]["text"].endswith("reproduced.")


@pytest.mark.process
def test_without_a_name_the_page_stands_beside_its_trace_and_opens_in_a_browser(
    games: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = tmp_path / "told"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > "{told}"\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(browser))
    # `webbrowser` reads the variable once in a process.
    monkeypatch.setattr(webbrowser, "_tryorder", None)
    assert run(["report", str(games[1]), "--no-verify", "--open"]) == 0
    page = games[1].with_name("truthful.html")
    assert capsys.readouterr().out.startswith(f"{page}:")
    assert told.read_text() == page.as_uri()
    assert page.read_bytes().startswith(b"<!doctype html>")
    assert run(["report", str(games[0].parent), "--no-verify"]) == 0
    assert games[0].parent.with_suffix(".html").is_file()


def test_a_folder_gives_one_page_about_all_its_traces(
    games: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", str(games[0].parent.parent), "-o", str(tmp_path / "all.html"), "--no-verify"]) == 0
    told = capsys.readouterr().out
    assert "2 episodes" in told
    # A path stands whole; all else keeps within the width of a pipe.
    assert [line for line in told.splitlines() if len(line) > 80 and str(tmp_path) not in line] == []


def test_a_comparison_takes_two_traces(games: tuple[Path, Path], tmp_path: Path) -> None:
    page = tmp_path / "pair.html"
    assert run(["report", *map(str, games), "--compare", "-o", str(page)]) == 0
    assert b'"mode":"compare"' in page.read_bytes()
    assert run(["report", str(games[0]), "--compare", "-o", str(page)]) == 2


def test_more_traces_than_a_page_can_hold_are_refused(
    games: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", *[str(games[0])] * 41, "-o", str(tmp_path / "page.html")]) == 2
    assert "tradefair view" in capsys.readouterr().err


def test_a_trace_that_does_not_verify_is_shown_and_is_a_finding(games: tuple[Path, Path], tmp_path: Path) -> None:
    parts = parts_of(games[0])
    parts.bodies = [body.replace(b'"price":', b'"price": ') for body in parts.bodies]
    forged = write_parts(parts, tmp_path / "forged.trace")
    assert run(["report", str(forged), "-o", str(tmp_path / "forged.html")]) == 1
    assert (tmp_path / "forged.html").exists()


def test_what_is_no_trace_is_a_finding_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    odd = tmp_path / "odd.trace"
    odd.write_bytes(b"nothing of the kind")
    assert run(["report", str(odd), "-o", str(tmp_path / "page.html")]) == 1
    assert "not a trace" in capsys.readouterr().err
    assert not (tmp_path / "page.html").exists()


def test_a_page_that_cannot_be_written_is_said_in_a_line(
    games: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("no folder")
    (tmp_path / "page.html").mkdir()
    for page, code, said in (("file/page.html", 2, "there is no such folder"), ("page.html", 3, "cannot be written")):
        assert run(["report", str(games[0]), "-o", str(tmp_path / page), "--no-verify"]) == code
        assert said in capsys.readouterr().err
