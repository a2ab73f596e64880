"""The page of a run that no rules have made, in a real browser: transcript first, findings at their steps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.evaluation.browsing import let_draw, watched
from tests.evaluation.foreign_runs import DESK, Do, Say, write_run
from tests.evaluation.playing import played
from tests.evaluation.report.playing import HOSTILE_TEXT

from tradefair.evaluation.report import build_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

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
        assert wrong.locator(".whole pre").count() == 2
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
