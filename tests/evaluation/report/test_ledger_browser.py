"""What turns lost, in a real browser: drops lead to what was done in them, next to what would have been done."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.evaluation.browsing import watched
from tests.evaluation.mutations import parts_of, write_parts
from tests.evaluation.ratings.playing import play_seats
from tests.evaluation.report.playing import note
from tests.evaluation.viewer.serving import serving

from tradefair.evaluation.report.build import Report, build_report
from tradefair.runner.ledger.ledger import with_ledgers

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

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
