"""Failure modes of bargaining on the public games; in a browser a finding opens at the message that it cites."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
import pytest
from tests.evaluation.browsing import browser as browser
from tests.evaluation.browsing import watched
from tests.evaluation.markets.bargaining.conftest import Game

from tradefair.evaluation.report import build_report
from tradefair.tracestore import open_trace

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow


def test_every_public_game_is_read_as_it_was_by_a_person(pact_games: list[Path]) -> None:
    """Cases by mode, as read one by one (docs/diagnostics.md); a change of any is a change of the reading."""
    cases: Counter[str] = Counter()
    made: Counter[str] = Counter()
    for path in pact_games:
        for finding in Game(path).own.findings:
            mode = finding.id.removeprefix("bargaining.")
            cases[mode] += int(finding.numerator or 0)
            if mode == "promise_break":
                made.update({name: int(count or 0) for name, count in finding.parts.items()})
    talk = ("promise_break", "threat_without_follow_through", "value_leak", "false_limit_claim", "injection_attempt")
    assert [cases[mode] for mode in talk] == [58, 4, 22, 34, 0]
    assert made["tested"] == made["kept"] + made["better"] + cases["promise_break"] == 782


def test_cited_messages_hold_the_numbers_that_the_findings_name(pact_games: list[Path]) -> None:
    for path in pact_games[::4]:
        with open_trace(path) as trace:
            events = {stored.seq: orjson.loads(stored.body) for stored in trace.events()}
        for finding in Game(path).own.raised:
            assert set(finding.events) <= set(events)
            if finding.id == "bargaining.promise_break":
                # "round 7: said 14, quoted 13": the dearest case is the first that is told and cited.
                told = str(finding.note).partition("; ")[0]
                message, quote = (events[seq] for seq in finding.events[:2])
                assert told.partition("said ")[2].partition(" ")[0].rstrip(",") in message["arguments"]["text"]
                assert told.partition("quoted ")[2].partition(",")[0] == str(quote["arguments"]["price"])


@pytest.mark.browser
def test_a_finding_of_a_real_game_opens_at_the_message_that_it_cites(
    browser: Browser, pact_games: list[Path], tmp_path: Path
) -> None:
    path = next(path for path in pact_games if Game(path).own.finding("promise_break").raised)
    with open_trace(path) as trace:
        events = {stored.seq: orjson.loads(stored.body) for stored in trace.events()}
    page_file = tmp_path / "game.html"
    page_file.write_bytes(build_report([path], check=False).html)
    with watched(browser) as seen:
        page = seen.show(page_file.as_uri())
        finding = page.locator('li.finding[data-finding="bargaining.promise_break"]').first
        assert "read mechanically" in finding.inner_text()
        link = finding.locator("[data-seq]").first
        said = events[int(link.get_attribute("data-seq") or 0)]
        assert said["tool"] == "send_message"
        link.click()
        page.locator("aside.detail .cites").wait_for()
        shown = page.locator("aside.detail").inner_text()
        assert f"#{said['seq']}" in shown
        assert "bargaining.promise_break" in page.locator("aside.detail .cites").inner_text()
        assert orjson.dumps(said["arguments"]["text"]).decode() in shown
        assert seen.errors == []
