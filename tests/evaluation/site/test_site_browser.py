"""A site in a real browser, from the file system: what a person sees first, the filter, and the way there and back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.evaluation.browsing import browser as browser
from tests.evaluation.browsing import watched
from tests.evaluation.ratings.playing import play_seats

from tradefair.evaluation.site.build import build_site
from tradefair.evaluation.site.plan import Wanted
from tradefair.evaluation.viewer.filter import parse
from tradefair.evaluation.viewer.folder import Folder
from tradefair.evaluation.viewer.index import Index
from tradefair.files.folders import cache_folder

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

_QUERIES = [
    "by:zip", "-by:zip", "seed:2", "seed:2.. by:truthful", "score>0", "-score>0", "findings>=1 or by:truthful",
    "smoke zip",
    '"policy:zip"', "zip", "check:reproduced cost<1", "market=double", "calls>1000", "end:completed",
]  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    place = tmp_path_factory.mktemp("sited") / "runs"
    for policy in ("zip", "truthful"):
        for seed in (1, 2):
            seats = {"B1": policy, "B2": "truthful", "S1": "zic", "S2": "truthful"}
            path = place / f"{policy}-{seed}.trace"
            play_seats(path, "double_auction/smoke", seats, seed, compared=("B1",), created=f"2026-11-0{seed}")
    (place / "<img src=x onerror=window.__pwned=1>.trace").write_bytes(b"damaged")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRADEFAIR_CACHE", str(tmp_path_factory.mktemp("cache")))
        build_site(runs := place, place.parent / "site", Wanted("Our runs"))
        yield runs


def test_a_site_opens_from_the_file_system(browser: Browser, runs: Path) -> None:
    site = runs.parent / "site"
    with watched(browser) as seen:
        page = seen.show((site / "index.html").as_uri())
        assert page.locator("h1").inner_text() == "Our runs"
        first = page.locator("#newest article p").first.bounding_box()
        assert first is not None
        assert first["y"] + first["height"] < 900
        assert "cannot be read" in page.locator(".left-out").inner_text() or "not a trace" in page.content()
        assert page.locator("table.traces tbody tr").count() == 4
        page.locator("#boards a").first.click()
        page.wait_for_selector("body[data-ready=leaderboards]")
        assert "2 of 2 reproduced" in page.locator("main").inner_text()
        page.get_by_role("link", name="All episodes").click()
        page.wait_for_selector("body[data-ready]")
        page.locator("table.traces th a").first.click()
        page.locator(".badge.good", has_text="reproduced").wait_for()
        assert page.evaluate("window.__pwned") is None
        assert {address.startswith((site.as_uri(), "data:")) for address in seen.asked} == {True}
        assert seen.violations == []
        assert seen.errors == []


def test_a_sites_filter_lets_through_what_the_viewers_does(browser: Browser, runs: Path) -> None:
    rows = [row for _, row in Index(Folder(runs), cache_folder()).judged_rows() if row.problem is None]
    with watched(browser, width=390) as seen:
        page = seen.show((runs.parent / "site" / "index.html").as_uri())
        count = page.locator(".list .count")
        for query in _QUERIES:
            wanted = sum(parse(query).match(row) for row in rows)
            page.get_by_role("searchbox").fill(query)
            count.filter(has_text=f"{wanted} of 4 traces").wait_for()
        page.get_by_role("searchbox").fill("sed:1")
        page.get_by_role("alert").filter(has_text="no filter key").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert seen.errors == []
