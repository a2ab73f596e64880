"""The page of a report in a real browser, from the file system."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.evaluation.browsing import watched
from tests.evaluation.markets.marketplace.playing import play as play_marketplace
from tests.evaluation.mutations import parts_of, write_parts
from tests.evaluation.playing import played
from tests.evaluation.report.playing import HOSTILE_TEXT, hostile_trace, note

from tradefair.evaluation.charts import Axis, BarChart, Bars
from tradefair.evaluation.report import PageData, build_report, episode_page, html_page
from tradefair.evaluation.report.packing import pack_json

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def store_page(folder: Path) -> str:
    """Two weeks of a supermarket whose manager fumbles: findings with events, several kinds of calls."""
    trace = played(folder / "store.trace", "retail/smoke", "fumbler", seed=3)
    page = folder / "store.html"
    page.write_bytes(build_report([trace], check=False).html)
    return page.as_uri()


@pytest.fixture(scope="module")
def games(folder: Path) -> tuple[Path, Path]:
    """The same luck, played by two policies; the first with notes about a model."""
    zip_game = played(folder / "zip.trace", "double_auction/smoke", "zip", seed=4)
    parts = parts_of(zip_game)
    parts.notes = [("B1", note(1, ["view_my_value", "submit_quote"]))]
    write_parts(parts, zip_game)
    return zip_game, played(folder / "truthful.trace", "double_auction/smoke", "truthful", seed=4)


def _write(path: Path, html: bytes) -> str:
    path.write_bytes(html)
    return path.as_uri()


def _title(page: Page) -> str:
    return page.locator("aside.detail h2").inner_text()


def test_a_report_opens_from_a_file_and_asks_for_nothing_else(browser: Browser, store_page: str) -> None:
    with watched(browser) as seen:
        page = seen.show(store_page)
        page.wait_for_selector("figure svg.plot")
        assert page.locator("section#findings li.finding").count() > 0
        assert [address for address in seen.asked if not address.startswith("data:")] == [store_page]
        assert seen.errors == []
        assert seen.violations == []


def test_every_picture_is_drawn_as_soon_as_its_part_is_unfolded(browser: Browser, store_page: str) -> None:
    with watched(browser) as seen:
        page = seen.show(store_page)
        page.locator("#market > summary").click()
        figures = page.locator("#did figure, #market figure")
        names = [figure.get_attribute("data-chart") for figure in figures.all()]
        assert names == ["worth", "stock", "empty_shelves", "sales", "gain"]
        for figure in figures.all():
            figure.locator("svg.plot").first.wait_for()


def test_a_filter_says_how_many_calls_are_left(browser: Browser, store_page: str) -> None:
    with watched(browser) as seen:
        page = seen.show(store_page)
        page.get_by_text("filter calls").click()
        count = page.locator("#timeline .count")
        shown, _, everything = count.inner_text().removesuffix(" calls").partition(" of ")
        assert shown == everything
        assert count.get_attribute("aria-live") == "polite"
        chip = page.locator('[data-chip="rejected"]')
        refused = chip.locator(".num").inner_text()
        chip.click()
        assert count.inner_text() == f"{refused} of {everything} calls"
        assert set(page.locator(".calls [role=option] span:nth-child(6)").all_inner_texts()) == {"rejected"}
        page.locator('[data-chip="rejected"]').click()
        page.get_by_role("searchbox").fill("no such text anywhere")
        count.filter(has_text=re.compile("^0 of")).wait_for()
        assert page.locator(".calls .empty").is_visible()


def test_a_mark_of_the_timeline_opens_its_call(browser: Browser, games: tuple[Path, Path], folder: Path) -> None:
    address = _write(folder / "game.html", build_report([games[0]]).html)
    with watched(browser) as seen:
        page = seen.show(address)
        # The first cell of the first lane: a column begins 92 pixels from the left, a lane 22 from the top.
        page.locator("canvas.marks").click(position={"x": 92 + 4, "y": 22 + 4})
        page.locator("aside.detail section").first.wait_for()
        assert _title(page).split() == ["#2", "view_my_value"]
        assert page.evaluate("location.hash") == "#seq=2"
        shown = page.locator("aside.detail").inner_text()
        assert "I quote my value." in shown
        assert "1,200" in shown
        assert "250 ms" in shown
        assert "reproduced" in page.locator(".badge").inner_text()


def test_a_finding_leads_to_the_calls_that_prove_it(browser: Browser, store_page: str) -> None:
    with watched(browser) as seen:
        page = seen.show(store_page)
        finding = page.locator('li.finding[data-finding="refused_calls"]')
        link = finding.locator("[data-seq]").first
        seq = link.get_attribute("data-seq")
        link.click()
        page.locator("aside.detail .cites").wait_for()
        assert _title(page).startswith(f"#{seq}")
        assert "Refused calls" in page.locator("aside.detail .cites").inner_text()
        page.keyboard.press("Escape")
        assert page.locator("aside.detail").is_hidden()
        finding.get_by_text("shown on the timeline").click()
        page.locator("#timeline .cited").get_by_text("Refused calls").wait_for()


def test_of_many_findings_the_first_to_read_are_shown_and_the_others_unfold(browser: Browser, folder: Path) -> None:
    trace = play_marketplace(folder / "crowd.trace", "first_taker", data={"customers": 16})
    report = build_report([trace], check=False)
    raised = [raised.finding for raised in report.data.episodes[0].raised]
    assert len(raised) > 10
    assert [finding.rank for finding in raised] == list(range(1, len(raised) + 1))
    named = [(finding.id, *finding.seats) for finding in raised]
    with watched(browser) as seen:
        page = seen.show(_write(folder / "crowd.html", report.html))
        cards = page.locator("section#findings li.finding")

        def shown() -> list[tuple[str | None, ...]]:
            return [(card.get_attribute("data-finding"), card.get_attribute("data-seat")) for card in cards.all()]

        assert shown() == named[:3]
        page.get_by_text(f"{len(raised) - 3} more finding").click()
        cards.nth(len(raised) - 1).wait_for()
        assert shown() == named
        cards.last.get_by_text("shown on the timeline").click()
        page.locator("#opponents > summary").click()
        seats = page.locator("#opponents")
        assert seats.get_by_text("business_0048").count() == 0
        seats.get_by_text("28 more seats").click()
        seats.get_by_text("business_0048").wait_for()
        assert seen.errors == []


def test_the_timeline_is_offered_only_to_findings_that_cite_calls_and_a_title_says_the_whole_id(
    browser: Browser, store_page: str, folder: Path
) -> None:
    # A reply before any call cites the start of the episode, which is no mark of the timeline.
    silent = played(folder / "silent.trace", "retail/smoke", "passive", seed=3)
    parts = parts_of(silent)
    parts.notes = [("manager", note(0, []))]
    write_parts(parts, silent)
    with watched(browser) as seen:
        page = seen.show(_write(folder / "silent.html", build_report([silent], check=False).html))
        idle = page.locator('li.finding[data-finding="retail.idle_days"]')
        assert "retail.idle_days" in (idle.locator("h3 .term").get_attribute("data-tip") or "")
        assert idle.get_by_text("shown on the timeline").count() == 1
        finding = page.locator('li.finding[data-finding="malformed_replies"]')
        assert "malformed_replies" in (finding.locator("h3 .term").get_attribute("data-tip") or "")
        assert finding.locator("[data-seq]").count() > 0
        assert finding.get_by_text("shown on the timeline").count() == 0
        page = seen.show(store_page)
        finding = page.locator('li.finding[data-finding="refused_calls"]')
        assert "refused_calls" in (finding.locator("h3 .term").get_attribute("data-tip") or "")
        assert finding.get_by_text("shown on the timeline").count() == 1


def test_an_address_with_an_event_opens_it(browser: Browser, store_page: str) -> None:
    with watched(browser) as seen:
        page = seen.show(f"{store_page}#seq=5")
        page.locator("aside.detail .body section").first.wait_for()
        assert _title(page).startswith("#5")


def test_the_timeline_is_walked_with_the_keyboard_alone(
    browser: Browser, games: tuple[Path, Path], folder: Path
) -> None:
    address = _write(folder / "keys.html", build_report([games[0]], check=False).html)
    with watched(browser) as seen:
        page = seen.show(address)
        for _ in range(80):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.classList.contains('lanes')"):
                break
        page.keyboard.press("ArrowRight")
        said = page.locator(".timeline [aria-live]")
        assert said.inner_text().startswith("#2 · round 1 · B1 · view_my_value · ok")
        page.keyboard.press("ArrowDown")
        assert "B2" in said.inner_text()
        page.keyboard.press("PageDown")
        assert "round 2 · B2" in said.inner_text()
        page.keyboard.press("Enter")
        page.locator("aside.detail .body section").first.wait_for()
        assert page.evaluate("document.activeElement === document.querySelector('aside.detail h2')")
        before = _title(page)
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.locator("aside.detail h2").filter(has_not_text=before.split()[0]).wait_for()
        page.keyboard.press("Escape")
        assert page.evaluate("document.activeElement.classList.contains('lanes')")


def test_two_episodes_are_compared_and_lead_to_where_they_part(
    browser: Browser, games: tuple[Path, Path], folder: Path
) -> None:
    address = _write(folder / "pair.html", build_report(games, compare=True, check=False).html)
    with watched(browser) as seen:
        page = seen.show(address)
        assert page.locator("section#pictures .two").first.locator("figure").count() == 2
        assert "policy:truthful" in page.locator("section#summary table").first.inner_text()
        sides = page.locator("section#divergence .side")
        assert sides.count() == 2
        link = sides.nth(1).get_by_role("button")
        seq = link.get_attribute("data-seq")
        link.click()
        page.locator("aside.detail .body section").first.wait_for()
        assert _title(page).startswith(f"#{seq}")
        page.keyboard.press("Escape")
        page.get_by_role("tab").nth(2).click()
        assert page.locator("#evidence").is_visible()
        assert seen.errors == []


def test_hostile_text_is_shown_as_text_and_runs_nothing(
    browser: Browser, games: tuple[Path, Path], folder: Path
) -> None:
    hostile = episode_page(hostile_trace(games[0], folder / "hostile.trace"))
    bars = BarChart(
        id="hostile", title=HOSTILE_TEXT, note=HOSTILE_TEXT, x=Axis(label=HOSTILE_TEXT), y=Axis(label=HOSTILE_TEXT),
        names=[HOSTILE_TEXT], bars=Bars(name=HOSTILE_TEXT, values=[1]),
    )  # fmt: skip
    episode = hostile.model_copy(update={"charts": [bars]})
    address = _write(folder / "hostile.html", html_page(PageData(mode="report", version="0", episodes=[episode])))
    with watched(browser) as seen:
        page = seen.show(address)
        page.wait_for_selector("figure svg.plot")
        page.locator(".calls [role=option]").first.click()
        page.locator("aside.detail .said").wait_for()
        page.locator("aside.detail summary").last.click()
        shown = page.evaluate("document.getElementById('app').textContent")
        assert "</script><img src=x onerror=" in page.locator("aside.detail .said").inner_text()
        for symbol in ("bell⟦U+0007⟧", "nul⟦U+0000⟧", "⟦U+202E⟧esrever", "⟦U+2028⟧line", "&amp; {{7*7}}"):
            assert symbol in page.locator("aside.detail .said").inner_text()
        assert "\u202e" not in shown
        assert page.locator("#market bdi", has_text="<b>bold</b>").count() == 1
        assert page.locator("body img, body b:text-is('bold')").count() == 0
        assert page.evaluate("window.__pwned") is None
        assert [address for address in seen.asked if not address.startswith("data:")] == [address]
        assert seen.violations == []
        assert seen.errors == []


def test_twenty_thousand_calls_do_not_fill_the_document(
    browser: Browser, games: tuple[Path, Path], folder: Path
) -> None:
    episode = episode_page(games[0], check=False)
    count = 20_000
    columns: dict[str, Any] = {
        "names": ["tool_called", "quote", "B1", "submit_quote", "action", "ok", ""],
        "seq": list(range(1, count + 1)),
        "round": [1 + row // 100 for row in range(count)],
        **{name: [word] * count for name, word in
           (("event", 0), ("phase", 1), ("seat", 2), ("tool", 3), ("kind", 4), ("status", 5), ("parent", -1),
            ("latency_us", 10), ("size", 100), ("reply", -1), ("argument", "41"))},
        "clicked": [],
    }  # fmt: skip
    large = episode.model_copy(update={"events": pack_json(columns)})
    address = _write(folder / "large.html", html_page(PageData(mode="report", version="0", episodes=[large])))
    with watched(browser) as seen:
        page = seen.show(address)
        assert page.locator("#timeline .count").inner_text() == "20,000 of 20,000 calls"
        assert page.evaluate("document.querySelectorAll('*').length") < 4_000
        page.locator(".calls").focus()
        page.keyboard.press("End")
        page.wait_for_selector(".calls [aria-posinset='20000'][aria-selected=true]")
        assert seen.errors == []


def test_a_narrow_screen_needs_no_sideways_scrolling(browser: Browser, store_page: str) -> None:
    with watched(browser, width=390) as seen:
        page = seen.show(store_page)
        page.wait_for_selector("figure svg.plot")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
