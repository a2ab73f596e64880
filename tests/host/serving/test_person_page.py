"""The local page of a person in a real browser: its own half of MCP Apps, over real processes."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from benchmarks.served import HostProcess
from tests.board_seats import Seat, seated, serve_at
from tests.evaluation.browsing import browser as browser
from tests.evaluation.browsing import watched
from tests.options_files import options_file
from tests.waiting import LONG

from tradefair.host.server.board import page_text

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Frame, Page

pytestmark = pytest.mark.browser

TRADEFAIR = Path(sys.executable).parent / "tradefair"
SHOTS = Path("build/shots")
CLOSED = """(before) => document.querySelector(".strip .num").innerText !== before
    || document.querySelector("h1").innerText === "The episode is over\""""


class Open(NamedTuple):
    """The page with the board in it."""

    page: Page
    board: Frame
    errors: list[str]

    def said(self) -> str:
        return self.page.inner_text("main > .live")

    def claim(self, slices: str) -> None:
        """Play a round of the teaching market, and wait until it has closed."""
        before = self.board.inner_text(".strip .num")
        self.click(slices)
        self.board.wait_for_function(CLOSED, arg=before)

    def click(self, slices: str) -> None:
        self.board.get_by_role("spinbutton", name="Slices").fill(slices)
        self.board.click(".go > .act.main")
        # Final moves are asked about.
        self.board.click(".sure .act.main")


@contextmanager
def opened(browser: Browser, address: str, width: int = 800) -> Generator[Open]:
    with watched(browser, width=width) as seen:
        seen.page.goto(address)
        seen.page.wait_for_selector("iframe:not([hidden])")
        (board,) = (frame for frame in seen.page.frames if frame != seen.page.main_frame)
        board.wait_for_selector("body[data-ready]")
        yield Open(seen.page, board, seen.errors)


@contextmanager
def playing(folder: Path) -> Generator[tuple[subprocess.Popen[str], str]]:
    """`play --agent person` in a process, and the address that it prints."""
    game = (
        "teaching",
        "--agent",
        "person",
        "--others",
        "half",
        "--seed",
        "3",
        *options_file(folder, open=False),
        "--out",
        str(folder),
    )
    command = [str(TRADEFAIR), "play", *game]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            lines = iter(process.stderr.readline, "")
            address = next(found[0] for line in lines if (found := re.search(r"http://\S+#token=\S+", line)))
            yield process, address
        finally:
            process.kill()


def test_a_person_plays_an_episode_to_its_end(browser: Browser, tmp_path: Path) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    with playing(tmp_path) as (process, address), opened(browser, address) as shown:
        # The token is in no address any longer, nor in the history.
        assert shown.page.url == address.split("#")[0]
        shown.page.go_back()
        assert "token" not in shown.page.url
    with playing(tmp_path / "whole") as (process, address), opened(browser, address) as shown:
        assert "divide a pie" in (shown.page.locator("details.part").text_content() or "")
        shown.page.screenshot(path=SHOTS / "person-800-light.png", full_page=True)
        # A reload finds the seat again.
        shown.page.reload()
        shown.page.wait_for_selector("iframe:not([hidden])")
        (board,) = (frame for frame in shown.page.frames if frame != shown.page.main_frame)
        board.wait_for_selector("body[data-ready]")
        shown = Open(shown.page, board, shown.errors)
        for _ in range(3):
            shown.claim("5")
        shown.page.wait_for_selector("main > .live:has-text('The episode is over')")
        assert process.wait(LONG) == 0
        # What is drawn stays when the host has ended with its episode.
        assert shown.board.inner_text("h1") == "The episode is over"
        assert "The episode is over" in shown.said()
        shown.page.screenshot(path=SHOTS / "person-over-800-light.png", full_page=True)
    (trace,) = (tmp_path / "whole").glob("*.trace")
    assert Seat("", "", trace).clicks() == ["claim"] * 3


def test_a_token_that_opens_nothing_is_said_plainly(browser: Browser, tmp_path: Path) -> None:
    with playing(tmp_path) as (_, address), watched(browser) as seen:
        home = address.split("#")[0]
        seen.page.goto(f"{home}#token=nonsense")
        seen.page.wait_for_selector(".live:has-text('refuses this token')")
        assert seen.page.locator("iframe").count() == 0
        seen.page.goto("about:blank")
        seen.page.goto(home)
        seen.page.wait_for_selector(".warning:has-text('There is no token')")


@pytest.fixture
def host(tmp_path: Path) -> Iterator[HostProcess]:
    made = HostProcess(tmp_path / "host")
    made.start()
    yield made
    made.close()


def test_the_page_goes_on_when_its_host_is_started_again(browser: Browser, host: HostProcess) -> None:
    (seat,) = seated(host, "teaching", "pie", "P1", others="half")
    with watched(browser) as seen:
        # `host` serves no pages: they are put in front of it, on its own address.
        serve_at(seen.page, f"{seat.base}/", page_text("person.html"))
        serve_at(seen.page, f"{seat.base}/board.html", page_text("board.html"))
        seen.page.goto(f"{seat.base}/#token={seat.token}")
        seen.page.wait_for_selector("iframe:not([hidden])")
        (board,) = (frame for frame in seen.page.frames if frame != seen.page.main_frame)
        board.wait_for_selector("h1.awaited")
        shown = Open(seen.page, board, seen.errors)
        shown.claim("5")
        host.kill()
        # Clicked while nobody is there: the call waits for the host, and is made once.
        shown.click("4")
        board.wait_for_selector(".go > [aria-busy=true]")
        host.start()
        board.wait_for_selector(".strip .num:has-text('round 3')", timeout=1_000 * LONG)
        assert shown.said() == "Connected."
    assert seat.clicks() == ["claim", "claim"]
