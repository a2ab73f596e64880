"""`tradefair play --agent person` in a real browser: whole episodes by clicks."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.evaluation.browsing import browser as browser
from tests.waiting import LONG, until

from tradefair.evaluation import evaluate
from tradefair.evaluation.prove.verify import verify_file
from tradefair.evaluation.reading import PersonMoves
from tradefair.tracestore import open_trace

pytestmark = pytest.mark.browser


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Any]:
    """Starts `tradefair play … --agent person` with a BROWSER that writes the address down; gives both."""
    running: list[subprocess.Popen[str]] = []
    told = tmp_path / "address"
    opener = tmp_path / "opener"
    opener.write_text(f'#!/bin/sh\nprintf %s "$1" > {told}.new && mv {told}.new {told}\n')
    opener.chmod(0o700)

    def started(*words: str) -> tuple[subprocess.Popen[str], str]:
        command = [sys.executable, "-m", "tradefair.cli", "play", *words, "--out", str(tmp_path / "out")]
        process = subprocess.Popen(
            command,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "BROWSER": str(opener)},
        )
        running.append(process)
        until(told.exists, "a browser that is opened", while_runs=process)
        return process, told.read_text()

    yield started
    for process in running:
        process.kill()
        process.wait(LONG)


def the_board(page: Any, address: str) -> Any:
    """The board in its frame, once it has drawn itself."""
    page.goto(address)
    page.wait_for_selector("iframe:not([hidden])")
    frame = page.frame_locator("iframe")
    frame.locator("body[data-ready]").wait_for()
    return frame


class Move(NamedTuple):
    """What a person does when the form of `tool` is shown."""

    tool: str
    field: str
    value: str
    final: bool


SAY = Move("send_message", "textarea", "<b>60?</b>", final=False)
EPISODES: dict[str, tuple[str, list[Move]]] = {
    "bargaining": ("B1", [SAY, Move("submit_quote", "input", "60", final=True)] * 3),
    "pricing": ("F1", [Move("set_price", "input", price, final=True) for price in ("1500", "1473", "1450")]),
    "order_book": ("B1", [Move("submit_order", "input", price, final=True) for price in ("80", "85", "95")]),
}


def the_report(page: Any, address: str, path: Path, out: str, err: str) -> None:
    """After the last round the browser shows what turns lost, as the terminal does."""
    assert address == path.with_suffix(".html").as_uri()
    assert f"what your turns lost: {path.with_suffix('.html')}" in err
    (whole,) = [line.split()[1] for line in out.splitlines() if line.startswith("sum ")]
    page.goto(address)
    last = page.locator("table.ledger tbody tr").last
    last.wait_for()
    assert last.inner_text().split()[:2] == ["sum", whole]
    first = out.splitlines()[0]
    assert " ".join(first.split()[:4]) in " ".join(page.locator("body").inner_text().split())


@pytest.mark.parametrize("market", EPISODES)
def test_a_person_plays_a_whole_episode_by_clicks(market: str, browser: Any, play: Any, tmp_path: Path) -> None:
    seat, moves = EPISODES[market]
    process, address = play(market, "--scenario", f"{market}/smoke", "--agent", "person", "--seed", "1")
    page = browser.new_page()
    page.set_default_timeout(1_000 * LONG)
    errors: list[str] = []

    def heard(line: Any) -> None:
        if getattr(line, "type", "error") == "error":
            errors.append(str(getattr(line, "text", line)))

    page.on("pageerror", heard)
    page.on("console", heard)
    board = the_board(page, address)
    assert "token" not in page.url
    heading = board.locator("h1")
    for move in moves:
        heading.filter(has_text="Your turn").wait_for()
        # The page shows the form of what is awaited: each round of a bargain a message, then a quote.
        form = board.locator(f".acting .tool-form[data-tool={move.tool}]")
        form.wait_for()
        form.locator(move.field).first.fill(move.value)
        moment = board.locator(".strip .num").inner_text()
        form.locator("button.main").first.click()
        if move.final:  # what cannot be taken back is asked once more
            board.get_by_role("button", name="Yes, do it").click()
        board.locator("h1:has-text('over'), .strip .num").filter(has_not_text=moment).first.wait_for()
    heading.filter(has_text="The episode is over").wait_for()
    page.get_by_text("The episode is over").first.wait_for()
    out, err = process.communicate(timeout=LONG)
    assert process.returncode == 0, err
    assert out.startswith("person ")
    (path,) = (tmp_path / "out").glob("*.trace")
    the_report(page, (tmp_path / "address").read_text(), path, out, err)
    assert verify_file(path).verdict == "reproduced"
    with open_trace(path) as trace:
        by = {row.seq: row.by for row in trace.side()}
        calls = [event for event in trace.decoded() if event["event"] == "tool_called" and event["seat"] == seat]
        assert trace.seating().labels[seat] == "person"
        assert evaluate(trace).seats[seat].person_moves == PersonMoves(clicked=len(moves), of=len(moves))
    assert {by[event["seq"]] for event in calls} == {"person"}
    assert [event["tool"] for event in calls if event["kind"] == "action"] == [move.tool for move in moves]
    assert errors == []
