"""The viewer in a real browser: list, filter, sort, compare, follow."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.evaluation.browsing import watched
from tests.evaluation.playing import played
from tests.evaluation.ratings.playing import play_seats
from tests.evaluation.viewer.serving import Client, serving

from tradefair.tracestore.locks import Lease

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def viewer(folder: Path) -> Iterator[Client]:
    place = folder / "runs"
    for seed, policy in ((4, "zip"), (5, "truthful"), (6, "zic")):
        played(place / f"{policy}.trace", "double_auction/smoke", policy, seed=seed)
    (place / "<img src=x onerror=window.__pwned=1>.trace").write_bytes(b"damaged")
    with serving(place) as client:
        yield client


def test_traces_are_filtered_ordered_and_judged(browser: Browser, viewer: Client) -> None:
    with watched(browser) as seen:
        page = seen.show(viewer.url)
        rows = page.locator("table.traces tbody tr")
        count = page.locator(".list .count")
        assert count.inner_text().startswith("4 of 4 traces")
        assert page.locator("tr.damaged").count() == 1
        page.get_by_role("button", name="seed").click()
        page.locator('th[aria-sort="descending"]', has_text="seed").wait_for()
        assert rows.locator("td:nth-child(4)").all_inner_texts()[:3] == ["6", "5", "4"]
        # One line a row: 24 of them on a screen.
        assert {round(row.bounding_box()["height"]) for row in rows.all() if row.bounding_box()} <= {28, 29}  # pyright: ignore
        page.get_by_role("searchbox").fill("by:policy:zic")
        count.filter(has_text="1 of 4 traces").wait_for()
        assert "q=by%3Apolicy%3Azic" in page.url
        # What has to be computed comes by itself.
        rows.first.locator("td", has_text="reproduced").wait_for()
        page.get_by_role("button", name="Verdict on zic.trace").click()
        assert "zic.trace" in page.locator("tr.said").inner_text()
        page.reload()
        assert page.locator("tbody tr").count() == 1
        heads = page.locator("th[aria-sort]")
        seen_at: list[float] = page.locator("th.num").evaluate_all(
            "(all) => all.map((h) => h.getBoundingClientRect().right)"
        )
        assert max(seen_at[:3]) < 1280  # seed, score, findings
        assert "other seats: 0 (1)" in (
            page.get_by_role("button", name="findings", exact=True).get_attribute("title") or ""
        )
        page.set_viewport_size({"width": 390, "height": 844})
        heads.nth(1).filter(has_text="findings").wait_for()
        assert all((heads.nth(place).bounding_box() or {"x": 390})["x"] < 300 for place in (0, 1, 2))
        page.set_viewport_size({"width": 1280, "height": 900})
        page.get_by_role("searchbox").fill("sed:1")
        page.get_by_role("alert").filter(has_text="did you mean seed").wait_for()
        assert page.evaluate("window.__pwned") is None
        assert {address.startswith((viewer.url, "data:")) for address in seen.asked} == {True}
        assert seen.violations == []
        assert seen.errors == []


def test_a_killed_run_is_stopped_and_a_living_one_runs(browser: Browser, folder: Path) -> None:
    place = folder / "states"
    trace = played(place / "game.trace", "double_auction/smoke", "zip", seed=4)
    with closing(sqlite3.connect(trace)) as writer:
        writer.execute("DELETE FROM events WHERE seq > 9")
        writer.execute("UPDATE meta SET value = '{}' WHERE key = 'about'")
        writer.commit()
    lease = Lease(trace)
    with serving(place) as client, watched(browser, width=390) as seen:
        page = seen.show(client.url)
        page.locator("td .status.good", has_text="running").wait_for()
        lease.release()
        page.locator("td .status.bad", has_text="stopped").wait_for()
        page.get_by_role("button", name="Verdict on game.trace").click()
        told = page.locator("tr.said").inner_text()
        assert "tradefair play --resume game.trace" in told
        assert "`" not in told
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert seen.errors == []


def test_two_chosen_traces_are_compared(browser: Browser, viewer: Client) -> None:
    with watched(browser) as seen:
        page = seen.show(viewer.url)
        for policy in ("zip", "truthful"):
            page.get_by_role("checkbox", name=f"Choose {policy}.trace").check()
        page.get_by_role("link", name="Compare the two").click()
        page.wait_for_selector("body[data-ready]")
        assert page.locator("section#divergence").count() == 1
        page.locator(".leads .badge.good").nth(1).wait_for()
        assert page.locator(".leads .badge", has_text="not checked").count() == 0
        page.go_back()
        page.get_by_role("link", name="double_auction/smoke").first.click()
        page.locator(".badge.good").wait_for()
        assert "reproduced" in page.locator(".badge").inner_text()
        page.locator(".calls [role=option]").first.click()
        with page.expect_popup() as opened:
            page.get_by_role("link", name="Raw JSON").click()
        assert '"event":{"seq":2' in opened.value.content()


def test_a_running_episode_grows_on_the_page(browser: Browser, folder: Path) -> None:
    place = folder / "live"
    seats = {"B1": "zip", "B2": "truthful", "S1": "zic", "S2": "truthful"}
    trace = play_seats(place / "game.trace", "double_auction/smoke", seats, 4, compared=("B1",))
    with closing(sqlite3.connect(trace)) as writer:
        rows = writer.execute("SELECT * FROM events ORDER BY seq").fetchall()
        meta = dict(writer.execute("SELECT key, value FROM meta WHERE key IN ('about', 'closed_head')"))
        closures = [seq for (seq,) in writer.execute("SELECT seq FROM events WHERE closes ORDER BY seq")]

        def write(first: int, last: int, **stored: bytes) -> None:
            slots = ", ".join("?" * len(rows[0]))
            writer.executemany(f"INSERT INTO events VALUES ({slots})", rows[first:last])
            head = {"closed_head": f"{last}:{rows[last - 1][2].hex()}".encode(), **stored}
            writer.executemany("UPDATE meta SET value = ? WHERE key = ?", [(value, key) for key, value in head.items()])
            writer.commit()

        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("DELETE FROM events")
        begun, later = closures[0], closures[-3]
        write(0, begun, about=b"{}")
        with serving(place) as client, watched(browser) as seen:
            page = seen.show(client.url)
            page.get_by_role("link", name="double_auction/smoke").click()
            page.locator(".live", has_text=f"following · {begun} events").wait_for()
            page.locator(".badge", has_text=f"reproduced up to event {begun} of {begun}").wait_for()
            write(begun, later)
            page.locator(".badge", has_text=f"reproduced up to event {later} of {later}").wait_for()
            # The newest call stays in view until the reader scrolls.
            newest = page.locator(".calls [role=option][aria-selected=true]")
            assert int(newest.locator("span").first.inner_text()) > begun
            page.locator(".calls").press("ArrowUp")
            page.get_by_role("button", name="newest").click()
            write(later, len(rows), **meta)
            page.locator(".live", has_text="the episode has ended").wait_for()
            page.locator(".badge.good", has_text=f"{len(rows)} events, reproduced").wait_for()
            assert seen.errors == []
