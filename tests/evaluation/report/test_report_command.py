"""`tradefair report` as people and programs call it."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import orjson
import pytest
from tests.evaluation.mutations import parts_of, write_parts
from tests.evaluation.playing import played

from tradefair.cli import run


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
    assert run(["report", str(games[0]), "-o", str(tmp_path / "file" / "page.html"), "--no-verify"]) == 3
    assert "cannot be written" in capsys.readouterr().err
