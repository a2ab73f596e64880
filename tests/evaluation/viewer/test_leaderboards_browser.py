"""Leaderboards in a real browser: the viewer's page, the tab of a report, the page of `tradefair rate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.evaluation.browsing import watched
from tests.evaluation.ratings.playing import auction, bargain, play_seats
from tests.evaluation.viewer.serving import Client

from tradefair.evaluation.ratings.leaderboards import leaderboards
from tradefair.evaluation.ratings.results import Results
from tradefair.evaluation.report import build_report
from tradefair.evaluation.report.boards import figure_of_boards
from tradefair.evaluation.report.outputs import write

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=window.__pwned=1>\u202eesrever"


@pytest.fixture(scope="module")
def runs(folder: Path) -> Path:
    place = folder / "rated"
    for seed in (1, 2):
        seats = {"B1": "zip", "B2": "truthful", "S1": "zic", "S2": "truthful"}
        play_seats(place / f"{seed}.trace", "double_auction/smoke", seats, seed)
        play_seats(place / f"b{seed}.trace", "bargaining/smoke", {"B1": "truthful", "S1": "conceder"}, seed)
    (place / "none.trace").write_bytes(b"damaged")
    return place


def test_the_viewer_rates_its_folder(browser: Browser, viewer: Client) -> None:
    with watched(browser) as seen:
        page = seen.show(viewer.url)
        page.get_by_role("link", name="Leaderboards").click()
        page.wait_for_selector("body[data-ready=leaderboards]")
        assert page.locator("section h2").all_inner_texts() == [
            "bargaining/smoke · 2 games · 2 labels",
            "double_auction/smoke · 2 games · 3 labels · ranked by share of possible",
        ]
        names = [figure.get_attribute("data-chart") for figure in page.locator("figure").all()]
        assert names == ["score", "glicko", "head_to_head", "rating", "score"]
        page.locator("figure svg.plot").nth(4).wait_for()
        page.locator("figure[data-chart=head_to_head] summary").click()
        rows = page.locator("figure[data-chart=head_to_head] tbody tr")
        rows.first.wait_for()
        assert rows.count() == 2
        # Who leads stands above the leaderboards, with what none of them counts.
        assert "lead" in page.locator(".boards > :first-child").inner_text()
        assert "cannot be read" in page.locator(".boards > .lead").inner_text()
        assert seen.violations == []
        assert seen.errors == []
    # What was read is remembered; asking again gives the same.
    assert viewer.ask("/leaderboards.json").json() == viewer.ask("/leaderboards.json").json()


def test_a_report_of_several_runs_has_a_tab_of_leaderboards(browser: Browser, runs: Path, folder: Path) -> None:
    page_file = folder / "runs.html"
    report = build_report([runs / "1.trace", runs / "2.trace"], check=False)
    page_file.write_bytes(report.html)
    assert report.data.verdict is not None
    with watched(browser) as seen:
        page = seen.show(page_file.as_uri())
        page.get_by_role("tab", name="Leaderboards").click()
        page.locator("figure[data-chart=rating] svg.plot").wait_for()
        said = page.locator(".verdict h1, .verdict .second").all_inner_texts()
        assert " ".join(said) == report.data.verdict.text
        assert page.locator("section table").count() >= 2
        page.get_by_role("tab").nth(1).click()
        page.wait_for_selector("#timeline")
        assert seen.errors == []


def test_hostile_labels_are_text_and_a_wide_matrix_fits_a_narrow_page(browser: Browser, folder: Path) -> None:
    names = [HOSTILE, *(f"a label of quite some length, number {number}" for number in range(11))]
    games = [
        bargain(one, two, (10.0 * place, 30.0), 100 * place + other)
        for place, one in enumerate(names)
        for other, two in enumerate(names)
        if one != two
    ]
    made = leaderboards(Results([*games, auction("ab", (0.1, 0.4), 1)], []))
    page_file = folder / "hostile.html"
    write(figure_of_boards(made), page_file)
    with watched(browser, width=420) as seen:
        page = seen.show(page_file.as_uri())
        page.locator("figure[data-chart=head_to_head] svg.plot").wait_for()
        assert page.evaluate("window.__pwned") is None
        assert page.locator("main img").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 420
        assert [address for address in seen.asked if not address.startswith("data:")] == [page_file.as_uri()]
        assert seen.errors == []
