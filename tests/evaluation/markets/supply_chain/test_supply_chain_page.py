"""The pictures of a supply chain in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.evaluation.browsing import browser as browser
from tests.evaluation.browsing import watched
from tests.evaluation.markets.supply_chain.conftest import DUEL, Episode, play_game

from tradefair.evaluation.report import build_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


def test_the_slogan_map_fills_its_cells_alike_and_writes_the_tribe_into_each(browser: Browser, tmp_path: Path) -> None:
    said = {
        "retailer_01": "cost_plus(slogan=hype.1)",
        "retailer_02": "cost_plus(slogan=thrifty.1)",
        "retailer_03": "cost_plus(slogan=Zebra)",
    }
    trace = play_game(tmp_path / "duel.trace", Episode(DUEL, said, overrides={"rounds": 2}))
    page = tmp_path / "duel.html"
    page.write_bytes(build_report([trace], check=False).html)
    with watched(browser) as seen:
        shown = seen.show(page.as_uri())
        shown.locator("#market > summary").click()
        drawn = shown.locator("figure[data-chart=slogan_map]")
        drawn.locator("svg.plot").wait_for()
        cells = drawn.locator("svg.plot g[aria-label=rect] rect")
        assert cells.count() == 4, "a slogan that is like nobody has none"
        assert len({cell.get_attribute("height") for cell in cells.all()}) == 1
        names = drawn.locator("svg.plot g[aria-label=text] text").all_text_contents()
        assert sorted(names) == ["hype", "hype", "thrifty", "thrifty"]
        assert drawn.locator("ul.legend li").all_inner_texts() == ["thrifty", "ethical", "hype", "quality"]
        assert seen.errors == []
