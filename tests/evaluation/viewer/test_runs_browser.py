"""The viewer on runs that no rules have made: listed by what their source says, filtered, followed while recorded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest
from tests.evaluation.browsing import watched
from tests.evaluation.foreign_runs import DESK, Do, write_run
from tests.evaluation.playing import played
from tests.evaluation.viewer.serving import Client, serving

from tradefair.cli import run
from tradefair.contract.foreign import RECORDED, ForeignEvents, foreign_core
from tradefair.tracestore.append import Beside, TraceLog

if TYPE_CHECKING:
    from playwright.sync_api import Browser

LOOP = [Do("get_order", {"order_id": "W7"}, {"status": "pending"})] * 8


@pytest.fixture(scope="module")
def runs(folder: Path) -> Path:
    place = folder / "runs"
    write_run(place / "a.trace", [*DESK, *LOOP], passed=False)
    write_run(place / "b.trace", DESK, passed=True)
    write_run(place / "c.trace", [Do("refund", {}, 1)])
    return place


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("passed:true", "b"), ("passed:false", "a"), ("passed:unknown", "c"), ("-passed:true", "ac"),
        ("rule:loop", "a"), ("tool:refund", "c"), ("tool:get_order passed:true", "b"),
        ("source:openai run:b", "b"), ("findings>=1", "a"), ("calls>2", "ab"),
    ],
)  # fmt: skip
def test_runs_are_filtered_by_result_rule_and_tool(
    runs: Path, text: str, found: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["list", str(runs), "--filter", text, "--sort", "run"]) == 0
    shown = [line.split(".")[0] for line in capsys.readouterr().out.splitlines() if ".trace" in line]
    assert "".join(shown) == found


def test_a_map_is_asked_and_its_findings_are_remembered_for_it_alone(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = tmp_path / "desk.toml"
    desk.write_text('version = 1\n[tools]\naction = ["refund", "cancel_*"]\n[first]\none_of = ["find_*"]\n')
    for given, found in (([], 0), (["--map", str(desk)], 3), ([], 0)):
        assert run(["list", str(runs), "--filter", "rule:map.first", *given]) == 0
        assert capsys.readouterr().out.count(".trace") == found


def test_an_episode_of_a_market_stands_beside_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    played(folder / "mixed" / "ours.trace", "double_auction/smoke", "zip")
    write_run(folder / "mixed" / "theirs.trace", DESK, passed=False)
    assert run(["list", str(folder / "mixed")]) == 0
    lines = {line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines() if ".trace" in line}
    assert lines["ours.trace"][1:3] == ["–", "1"]
    assert lines["theirs.trace"][1:3] == ["failed", "–"]


@pytest.mark.browser
def test_the_list_has_the_columns_of_runs_and_filters_by_a_click(browser: Browser, viewer: Client) -> None:
    with watched(browser) as seen:
        page = seen.show(viewer.url)
        page.get_by_role("button", name="rule:loop").wait_for()
        heads = page.locator("thead th[aria-sort]").all_inner_texts()
        assert [head.split(" ")[0].strip("↓↑") for head in heads][:5] == ["run", "result", "findings", "rules", "calls"]
        page.get_by_role("button", name="tool:refund").click()
        page.locator(".list .count", has_text="1 of 3 traces").wait_for()
        assert page.locator("table.traces tbody tr").inner_text().split()[1:4] == ["c", "not", "stated"]
        page.get_by_role("button", name="tool:refund").click()
        page.get_by_role("link", name="a", exact=True).click()
        page.locator(".step.cited").first.wait_for()
        page.locator(".badge.good", has_text="chain holds; not re-executable: no rules").wait_for()
        assert "not checked" not in page.locator(".effort").inner_text()
        assert seen.errors == []


@pytest.mark.browser
def test_a_recording_is_followed(browser: Browser, folder: Path) -> None:
    events, place = ForeignEvents(), folder / "live"
    place.mkdir()
    log = TraceLog(
        place / "live.trace",
        foreign_core("live", RECORDED, {"client": "client"}),
        {"source": {"format": "mcp", "run": "live"}},
        events.started({"players": {"client": {"label": "client"}}, "origin": {"recorded_from": {"format": "mcp"}}}),
        Beside(),
    )

    def call(number: int, status: Literal["ok", "rejected"] = "ok") -> None:
        told: dict[str, Any] = (
            {"result": number} if status == "ok" else {"error": {"code": "tool_error", "message": "not found"}}
        )
        _, stored = events.called("client", "get_order", {"n": number}, kind="read", status=status, step=number, **told)
        with log.batch():
            log.append(stored, Beside("client", at_ms=number, latency_us=900, transport="stdio"))

    try:
        for number in range(1, 61):
            call(number)
        with serving(place) as client, watched(browser) as seen:
            page = seen.show(f"{client.url}/trace/{client.rows()['live.trace']['id']}")
            page.locator(".live", has_text="following · 61 events").wait_for()
            assert "still recorded" in page.locator(".verdict").inner_text()
            call(61)
            page.locator('.step[data-step="61"]').wait_for()
            assert page.locator(".step").count() == 61
            # A finding comes to rows that are there already.
            for number in range(62, 66):
                call(number, "rejected")
            page.locator('.step[data-step="65"]').wait_for()
            page.locator('.step[data-step="62"] .said-of', has_text="Refused calls").wait_for()
            assert page.locator(".step").count() == 65
            page.locator(".steps").dispatch_event("wheel")
            page.get_by_role("button", name="newest").wait_for()
            with log.batch():
                log.append(events.ended("truncated:log_ended"), Beside())
                log.seal({"source": {"format": "mcp", "run": "live"}, "end_reason": "truncated:log_ended"})
            page.locator(".live", has_text="the recording has ended").wait_for()
            page.locator(".badge.good", has_text="chain holds").wait_for()
            assert seen.errors == []
    finally:
        log.close()
