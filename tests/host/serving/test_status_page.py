"""The status page in a real browser: it asks for the token, shows the episodes, and runs nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from benchmarks.served import HostProcess
from tests.evaluation.browsing import browser as browser
from tests.waiting import LONG

from tradefair.host.doors.control_bodies import Create

pytestmark = pytest.mark.browser


@pytest.fixture
def host(tmp_path: Path) -> Iterator[HostProcess]:
    made = HostProcess(tmp_path / "host", linger=LONG)
    made.start()
    yield made
    made.close()


def test_a_browser_shows_the_episodes_to_whoever_has_the_token(browser: Any, host: HostProcess) -> None:
    with host.control() as control:
        running = control.create(Create(market="double_auction", count=2, seed=7)).episodes
        waiting = control.create(Create(market="teaching", start=False)).episodes
        control.cancel(running[0].episode)
    assert httpx2.get(host.control_url).headers["WWW-Authenticate"].startswith("Basic ")
    context = browser.new_context(http_credentials={"username": "any", "password": host.token})
    page = context.new_page()
    page.set_default_timeout(1_000 * LONG)
    said: list[str] = []

    def heard(message: Any) -> None:
        said.append(message.text)

    page.on("console", heard)
    assert page.goto(host.control_url).status == 200
    rows = [row.inner_text().split("\t") for row in page.query_selector_all("tbody tr")]
    assert [row[:3] for row in rows] == [
        [waiting[0].episode, "pending", "teaching/pie"],
        [running[1].episode, "running", "double_auction/bazaar"],
        [running[0].episode, "ended", "double_auction/bazaar"],
    ]
    assert rows[2][-1] == "truncated:cancelled"
    figures = dict(zip(page.locator("dt").all_inner_texts(), page.locator("dd").all_inner_texts(), strict=True))
    assert (figures["Running"], figures["Ended, still readable"], figures["Room for"]) == ("1", "1", "997")
    page.set_viewport_size({"width": 380, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.evaluate("document.scripts.length") == 0
    assert said == []
