"""The page of a report in a real browser, from the file system.

Also here:
- What turns lost, in a real browser: drops lead to what was done in them, next to what would have been done.
- The page of a run that no rules have made, in a real browser: transcript first, findings at their steps.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.evaluation.browsing import let_draw, watched
from tests.evaluation.foreign_runs import DESK, Do, Say, write_run
from tests.evaluation.markets.marketplace.playing import play as play_marketplace
from tests.evaluation.mutations import parts_of, write_parts
from tests.evaluation.playing import played
from tests.evaluation.ratings.playing import play_seats
from tests.evaluation.report.playing import HOSTILE_TEXT, hostile_trace, note
from tests.evaluation.viewer.serving import serving

from tradefair.evaluation.charts import Axis, BarChart, Bars
from tradefair.evaluation.report import PageData, episode_page, html_page
from tradefair.evaluation.report.build import Report, build_report
from tradefair.evaluation.report.packing import pack_json
from tradefair.runner.ledger.ledger import with_ledgers

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


if TYPE_CHECKING:
    from playwright.sync_api import Browser


SEATS = {"B1": "random_legal", "B2": "zip", "S1": "zip", "S2": "zip"}


@pytest.fixture(scope="module")
def trace(folder: Path) -> Path:
    """Three rounds of an auction: the first two bids are far too low, and the last one gains a little."""
    return play_seats(folder / "runs" / "low.trace", "double_auction/smoke", SEATS, 4, compared=["B1"])


@pytest.fixture(scope="module")
def report(trace: Path) -> Report:
    return build_report([trace], check=False, ledgers=with_ledgers)


def _written(report: Report, path: Path) -> str:
    path.write_bytes(report.html)
    return path.as_uri()


def _sides(report: Report, number: int) -> list[str]:
    """What a page says of a turn: what the seat did, what the best policy would have done."""
    (ledger,) = report.data.episodes[0].ledgers
    return [*ledger.turns[number].did, *ledger.turns[number].would]


def test_a_drop_opens_its_turn_with_what_would_have_been_done(browser: Browser, report: Report, folder: Path) -> None:
    address = _written(report, folder / "low.html")
    turns = report.data.episodes[0].ledgers[0].turns
    with watched(browser) as seen:
        page = seen.show(address)
        bars, detail = page.locator("#ledger .pick"), page.locator("aside.detail .turn")
        bars.nth(1).click()
        detail.wait_for()
        assert detail.locator("dd").all_inner_texts() == _sides(report, 1)
        assert "Round 2 lost 39.25 points" in detail.inner_text()
        assert page.evaluate("location.hash") == f"#seq={turns[1].seqs[0]}"
        page.keyboard.press("Escape")
        # The bar has the focus again, and the arrow keys go from one to the next.
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        detail.filter(has_text="Round 3 gained 0.25 points").wait_for()
        assert page.evaluate("location.hash") == f"#seq={turns[2].seqs[0]}"
        assert seen.errors == []
        assert seen.violations == []
        assert [asked for asked in seen.asked if not asked.startswith("data:")] == [address]


def test_a_drop_of_a_model_opens_the_transcript_at_its_reply(browser: Browser, trace: Path, folder: Path) -> None:
    parts = parts_of(trace)
    parts.notes = [("B1", note(number, ["view_my_value", "submit_quote"])) for number in (1, 2, 3)]
    write_parts(parts, folder / "model.trace")
    report = build_report([folder / "model.trace"], check=False, ledgers=with_ledgers)
    with watched(browser, width=390) as seen:
        page = seen.show(_written(report, folder / "model.html"))
        page.locator("#ledger .pick").nth(1).click()
        reply = page.locator(".exchange").nth(1)
        reply.locator(".turn").wait_for()
        assert reply.evaluate("(part) => part === document.activeElement")
        assert reply.locator(".turn dd").all_inner_texts() == _sides(report, 1)
        assert page.locator("aside.detail").is_hidden()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert seen.errors == []


def test_the_viewer_computes_what_turns_lost_when_a_trace_is_opened(
    browser: Browser, trace: Path, report: Report
) -> None:
    (ledger,) = report.data.episodes[0].ledgers
    with serving(trace.parent, with_ledgers) as client, watched(browser) as seen:
        page = seen.show(client.url)
        page.locator("table.traces tbody a").first.click()
        rows = page.locator("#ledger table.ledger tbody tr")
        rows.first.wait_for()
        assert [[*row.locator("th, td").all_inner_texts()] for row in rows.all()] == [
            [cell for cell in row if cell or row[1]] for row in ledger.table.rows
        ]
        lost = page.locator(".calls .row span:nth-child(8)").all_inner_texts()
        assert [text for text in lost if text] == ["27.25", "39.25", "−0.25"]
        assert seen.errors == []


def test_the_viewer_says_why_it_does_not_know_what_turns_lost(browser: Browser, trace: Path, folder: Path) -> None:
    parts = parts_of(trace)
    parts.core = parts.core.replace(b'"rules_version":"', b'"rules_version":"0.')
    (folder / "older").mkdir()
    write_parts(parts, folder / "older" / "other.trace")
    with serving(folder / "older", with_ledgers) as client, watched(browser) as seen:
        page = seen.show(client.url)
        page.locator("table.traces tbody a").first.click()
        page.locator(".no-ledger", has_text="double_auction 0.3").wait_for()
        assert page.locator("#ledger").count() == 0


if TYPE_CHECKING:
    from playwright.sync_api import Browser


LOOP = [Do("get_order", {"order_id": "W7"}, {"status": "pending"}, latency_us=9_000)] * 8
# Three loops of CPU time and 1,500 elements are usual.
MAX_LOOPS, MAX_ELEMENTS = 25, 4_000
LOOP_OF_THE_BROWSER = "let total = 0; for (let n = 0; n < 1e8; n++) total += n & 7; total"


def page_of(*traces: Path) -> str:
    page = traces[0].with_suffix(".html")
    page.write_bytes(build_report(traces).html)
    return page.as_uri()


@pytest.fixture(scope="module")
def desk(folder: Path) -> str:
    turns = [
        *DESK[:3], *LOOP, *DESK[3:],
        Do("search", {"q": "x"}, {"content": [{"type": "text", "text": "found"}, {"type": "image"}]}, seat="helper"),
        Say("user", {"media_type": "image/png", "size": 90, "digest": "abcdef"}, "media"),
        Say("system", "long " * 400),
    ]  # fmt: skip
    about = {"left_out": {"stream deltas": 3}}
    return page_of(
        write_run(
            folder / "desk.trace", turns, passed=False, source=about, seats={"agent": "agent", "helper": "subagent"}
        )
    )


def test_the_page_opens_on_the_transcript_and_asks_for_nothing(browser: Browser, desk: str) -> None:
    with watched(browser) as seen:
        page = seen.show(desk)
        page.locator(".step").first.wait_for()
        assert page.locator("main section").first.get_attribute("id") == "transcript"
        assert page.locator("h1").inner_text().startswith("Run desk of talks.jsonl (openai, imported)")
        assert page.locator("h1 .outcome.bad").inner_text() == "failed"
        assert page.locator("figure").count() == 0
        first = page.locator(".step").nth(1)
        assert first.inner_text().split("\n") == ["2", "user · Mei", "Please cancel my order W7."]
        # Calls are one line until they are opened; a refused one says so.
        wrong = page.locator(".step.wrong")
        assert 'cancel_order(order_id: "W9") → refused tool_error: no such order' in wrong.inner_text()
        wrong.locator("summary").click()
        wrong.locator(".whole pre").nth(1).wait_for()
        assert page.locator(".step.deep").get_attribute("data-step") == "28"
        assert "→ found [image]" in page.locator(".step.deep").inner_text()
        assert (
            "image/png, 90 B; its bytes are not in the trace"
            in page.locator(".step", has_text="image/png").inner_text()
        )
        # A long text shows its beginning.
        assert page.locator(".step").last.locator("pre").inner_text().endswith(" …")
        page.get_by_role("button", name="all 2,000 characters").click()
        assert len(page.locator(".step").last.locator("pre").inner_text()) > 1_990
        assert [section.get_attribute("id") for section in page.locator("section").all()] == [
            "transcript", "findings", "tools", "spent", "left-out"]  # fmt: skip
        assert "3 stream deltas" in page.locator("#left-out").inner_text()
        row = page.locator("#tools tbody tr").first.inner_text().split()
        assert (row[0], row[3], row[-2:]) == ("get_order", "9", ["12", "ms"])
        assert [address for address in seen.asked if not address.startswith("data:")] == [desk]
        assert (seen.errors, seen.violations) == ([], [])


def test_findings_stand_at_their_steps_and_marks_go_there(browser: Browser, desk: str) -> None:
    with watched(browser) as seen:
        page = seen.show(desk)
        page.locator(".step").first.wait_for()
        cited = page.locator(".step.cited")
        assert cited.first.locator(".said-of").inner_text() == "Loop get_order was called 8 times with one answer"
        marks = page.locator(".mark")
        assert marks.count() == cited.count() == 7
        marks.last.click()
        page.locator(".step.cited:focus").wait_for()
        assert page.locator(".step.cited:focus").get_attribute("data-seq") == marks.last.get_attribute("data-seq")
        page.locator("#which-steps").select_option("refused calls")
        assert page.locator(".step").count() == 1
        # One round, which says nothing, is named nowhere.
        assert page.locator("#findings .because").count() > 0
        assert "round 1" not in page.locator("body").inner_text()
        # A finding whose step is hidden shows every step again.
        page.locator("button.mistake").click()
        page.locator(".step.cited:focus").wait_for()
        page.locator("#find-step").fill("w9")
        page.locator(".find .num", has_text="1 of").wait_for()
        page.locator(".step mark").first.wait_for()
        assert page.locator(".step mark").first.inner_text() == "W9"


def test_a_link_to_an_event_goes_to_its_step(browser: Browser, desk: str) -> None:
    with watched(browser) as seen:
        page = seen.show(f"{desk}#seq=14")
        page.locator('.step[data-seq="14"]:focus').wait_for()
        assert page.locator("aside.detail").is_hidden()


@pytest.mark.parametrize("width", [1280, 390])
def test_hostile_texts_are_texts(browser: Browser, folder: Path, width: int) -> None:
    name = HOSTILE_TEXT[:90]
    turns = [
        Say(role, HOSTILE_TEXT, part, name=name)
        for role in ("system", "user", "assistant")
        for part in ("text", "reasoning")
    ]
    turns += [Say("server", {"method": HOSTILE_TEXT}, "protocol"), Say("user", {"media_type": HOSTILE_TEXT}, "media")]
    turns += [
        Do(name, {name: HOSTILE_TEXT}, HOSTILE_TEXT),
        Do(name, HOSTILE_TEXT, error={"code": name, "message": HOSTILE_TEXT}),
    ]
    tools = [{"name": HOSTILE_TEXT, "readOnlyHint": True}]
    about = {"run": HOSTILE_TEXT, "title": HOSTILE_TEXT, "file": HOSTILE_TEXT, "left_out": {HOSTILE_TEXT: 1}}
    runs = [
        write_run(folder / f"hostile{width}{n}.trace", turns, source=about, tools=tools, passed=True) for n in range(2)
    ]
    for address in (page_of(runs[0]), page_of(*runs)):
        with watched(browser, width=width) as seen:
            page = seen.show(address)
            if "hostile" in address and page.locator(".of-runs").count():
                page.locator(".of-runs button").first.click()
            page.locator(".step").first.wait_for()
            for fold in page.locator("details").all():
                fold.evaluate("(details) => { details.open = true; }")
            let_draw(page)
            assert page.evaluate("window.__pwned") is None
            assert page.locator("main img, main script, main b:text-is('bold')").count() == 0
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert (seen.errors, seen.violations) == ([], [])


def _cpu_of_page(session: Any) -> float:
    """CPU seconds that the page has taken so far."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return {metric["name"]: metric["value"] for metric in metrics}["TaskDuration"]


def test_ten_thousand_steps_are_few_elements(browser: Browser, folder: Path) -> None:
    turns = [
        Say("assistant", f"turn {number} " * 30) if number % 2 else Do("get", {"n": number}, {"n": number})
        for number in range(6_667)
    ]
    refused: Any = {"error": {"code": "tool_error"}, "kind": "action"}
    turns[3_000:3_000] = [Do("cancel_order", {"order_id": f"W{number}"}, **refused) for number in range(40)]
    address = page_of(write_run(folder / "many.trace", turns))
    with watched(browser) as seen:
        session: Any = seen.page.context.new_cdp_session(seen.page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        page = seen.show(address)
        page.locator(".step").first.wait_for()
        drawn = _cpu_of_page(session)
        page.evaluate(LOOP_OF_THE_BROWSER)
        assert drawn < MAX_LOOPS * (_cpu_of_page(session) - drawn)
        for share in range(0, 101, 20):
            page.evaluate(f"scrollTo(0, {share / 100} * document.documentElement.scrollHeight)")
            let_draw(page)
        assert page.evaluate("document.querySelectorAll('*').length") < MAX_ELEMENTS
        page.get_by_role("button", name="finding →").click()
        page.locator(".step.cited:focus").wait_for()
        box = page.locator(".step.cited:focus").bounding_box()
        assert box is not None
        assert 0 < box["y"] < 900
        assert "of 10,081" in page.locator(".bar-line").inner_text()


def test_several_runs_begin_with_those_that_have_findings(browser: Browser, folder: Path) -> None:
    runs = [write_run(folder / f"r{n}.trace", [*DESK, *(LOOP if n == 2 else [])], passed=n != 1) for n in range(3)]
    address = page_of(*runs)
    with watched(browser) as seen:
        page = seen.show(address)
        assert page.locator("h1").inner_text() == "3 runs (talks.jsonl, openai, imported)"
        rows = page.locator(".of-runs tbody tr")
        assert [row.get_attribute("data-run") for row in rows.all()] == ["r2", "r1", "r0"]
        assert "Loop get_order was called 8 times" in rows.first.inner_text()
        page.get_by_label("result").select_option("failed")
        assert [row.get_attribute("data-run") for row in rows.all()] == ["r1"]
        rows.first.get_by_role("button").click()
        page.locator(".step").first.wait_for()
        assert page.url.endswith("#tab=1")
        page.go_back()
        page.locator(".of-runs").wait_for()
        assert page.locator("[role=tab]").count() == 0
        assert seen.errors == []


def test_two_runs_stand_side_by_side_and_a_run_stands_beside_an_episode(browser: Browser, folder: Path) -> None:
    runs = [write_run(folder / f"side{n}.trace", [*DESK, *(LOOP if n else [])]) for n in range(2)]
    pair = folder / "pair.html"
    pair.write_bytes(build_report(runs, compare=True).html)
    with watched(browser) as seen:
        page = seen.show(pair.as_uri())
        assert page.locator(".badge.good", has_text="chain holds").count() == 2
        page.get_by_text("Calls as a list").first.click()
        page.locator(".calls .row").first.click()
        page.locator("aside.detail h3", has_text="Arguments").wait_for()
        assert "W7" in page.locator("aside.detail").inner_text()
        assert seen.errors == []
    mixed = page_of(runs[0], played(folder / "ours.trace", "double_auction/smoke", "zip"))
    with watched(browser) as seen:
        page = seen.show(mixed)
        page.locator(".step").first.wait_for()
        page.get_by_role("tab").last.click()
        page.locator("#timeline").wait_for()
        assert "null" not in page.locator(".tabs").inner_text()
        assert seen.errors == []
