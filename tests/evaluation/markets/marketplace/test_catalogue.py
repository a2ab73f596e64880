"""The catalogue in the trace: written once, small, exported as tables, and enough to compute every baseline again.

Also here:
- Pictures of a marketplace, as data and in a report.
"""

from __future__ import annotations

import subprocess
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from tests.evaluation.browsing import browser as browser
from tests.evaluation.browsing import watched
from tests.evaluation.markets.marketplace.modes.playing import Episode, play_market
from tests.evaluation.markets.marketplace.playing import C1, outcome, play
from tests.evaluation.mutations import parts_of, write_parts
from tests.evaluation.mutations import parts_of as trace_parts

from tradefair.catalog import load_scenario
from tradefair.contract.kernel.event import parts_named
from tradefair.evaluation.charts.chart import BarChart, Chart, IntervalChart, XYChart
from tradefair.evaluation.judge.evaluate import charts_of
from tradefair.evaluation.markets.marketplace.evaluator import EVALUATOR
from tradefair.evaluation.markets.marketplace.play import read_marketplace
from tradefair.evaluation.prove.verify import verify_file
from tradefair.evaluation.report import build_report
from tradefair.evaluation.store.rows import gather
from tradefair.host.episode.prefix import copied_records
from tradefair.marketplace.data import written
from tradefair.marketplace.data.data_source import catalogue_of
from tradefair.marketplace.model import Catalogue
from tradefair.tracestore import open_trace

PRESETS = ("small_demo", "near_fits", "contractors_10", "manipulation_high")
_ALONE = """
import sys
for name in ("generator", "designs"):
    sys.modules[f"tradefair.marketplace.data.{name}"] = None
from tradefair.evaluation.markets.marketplace.evaluator import EVALUATOR
from tradefair.tracestore import open_trace
with open_trace(sys.argv[1]) as trace:
    print(EVALUATOR.outcomes(trace).model_dump_json())
"""


def catalogue(preset: str) -> Catalogue:
    return catalogue_of(load_scenario("marketplace", preset), 1)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("preset", PRESETS)
def test_baselines_and_losses_follow_from_the_file_alone(tmp_path: Path, preset: str) -> None:
    path = play_market(tmp_path / "a.trace", Episode(f"marketplace/{preset}"))
    alone = subprocess.run([sys.executable, "-c", _ALONE, str(path)], check=True, capture_output=True)
    with open_trace(path) as trace:
        outcome = EVALUATOR.outcomes(trace)
    assert orjson.loads(alone.stdout) == orjson.loads(outcome.model_dump_json())
    market = outcome.market_outcome
    assert None not in (market.optimal, market.random_items, market.ceiling_item_names, market.loss_query)
    assert any(seat.list_price_optimum for seat in outcome.seats.values())


@pytest.mark.parametrize("preset", PRESETS)
def test_the_parts_give_back_the_catalogue_and_are_small(preset: str) -> None:
    known = catalogue(preset)
    parts = written.parts_of(known)
    assert written.catalogue_from(map(orjson.loads, parts)) == known
    lines = sum(len(shop.menu) for shop in known.businesses)
    # In a catalogue of three businesses the requests weigh more than the menus.
    assert sum(len(zlib.compress(part)) for part in parts) <= 40 * max(lines, 50)


def test_large_catalogues_are_cut_into_parts_that_follow_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(written, "MAX_PART", 4_000)
    path = play_market(tmp_path / "a.trace", Episode("marketplace/small_demo"))
    with open_trace(path) as trace:
        first = orjson.loads(next(iter(trace.events())).body)
        names = parts_named(first)
        bodies = [trace.blob(name) or b"" for name in names]
        assert read_marketplace(trace).reading.findings == []
        copied = [record.blob for record in copied_records(trace, trace_length(path) + 1) if record.blob]
        assert {name for name, _ in copied} == {name for name, _ in trace.blobs()}
    assert len(names) > 2
    assert max(map(len, bodies)) <= 4_000
    assert written.catalogue_from(map(orjson.loads, bodies)) == catalogue("small_demo")
    assert verify_file(path).verdict == "reproduced"


def trace_length(path: Path) -> int:
    with open_trace(path) as trace:
        return sum(1 for _ in trace.events())


def test_a_part_that_is_missing_or_another_is_damage(tmp_path: Path) -> None:
    path = play_market(tmp_path / "a.trace", Episode("marketplace/small_demo"))
    for number, change in enumerate((b"", b'{"menu":[]}')):
        parts = trace_parts(path)
        (name,) = parts_named(orjson.loads(parts.bodies[0]))
        parts.blobs = {key: body for key, body in parts.blobs.items() if key != name}
        if change:
            parts.blobs[name] = change
        found = verify_file(write_parts(parts, tmp_path / f"{number}.trace"))
        assert (found.verdict, "catalogue" in found.sentence) == ("damaged", True), found.sentence


def test_the_tables_hold_businesses_menus_and_requests(tmp_path: Path) -> None:
    path = play_market(tmp_path / "a.trace", Episode("marketplace/near_fits"))
    rows: dict[str, list[tuple[object, ...]]] = {}
    for item in gather(path):
        rows.setdefault(item.table, []).append(item.row[1:])
    known = catalogue("near_fits")
    assert [row[0] for row in rows["businesses"]] == [shop.id for shop in known.businesses]
    assert rows["menu"] == [
        (shop.id, line.item, line.price_cents / 100) for shop in known.businesses for line in shop.menu
    ]
    assert [row[:3] for row in rows["requests"]] == [(who.id, who.name, who.request) for who in known.customers]
    assert "findings" not in rows


def test_no_seat_sees_the_catalogue(tmp_path: Path) -> None:
    path = play_market(tmp_path / "a.trace", Episode("marketplace/near_fits"))
    tables = {item.table for item in gather(path, seat="customer_0001")}
    assert not tables & {"businesses", "menu", "requests"}


if TYPE_CHECKING:
    from playwright.sync_api import Browser

ALL = ["funnel", "welfare", "losses", "rounds", "customers", "positions", "bargains"]


def _charts(path: Path) -> dict[str, Chart]:
    with open_trace(path) as trace:
        drawn, problem = charts_of(trace, EVALUATOR)
    assert problem is None
    return {chart.id: chart for chart in drawn}


def _bars(chart: Chart) -> dict[str, float | None]:
    assert isinstance(chart, BarChart)
    return dict(zip(chart.names, chart.bars.values, strict=True))


def _marks(chart: Chart) -> dict[str, float | None]:
    assert isinstance(chart, BarChart)
    assert chart.marks is not None
    return dict(zip(chart.names, chart.marks.values, strict=True))


def test_the_pictures_say_what_the_outcome_says(tmp_path: Path) -> None:
    path = play(tmp_path / "a.trace", seats={C1: "double_payer"})
    drawn, market = _charts(path), outcome(path).market_outcome
    assert list(drawn) == ALL
    assert _bars(drawn["funnel"]) == {step.step: step.fitting for step in market.funnel}
    assert _marks(drawn["funnel"]) == {step.step: step.customers for step in market.funnel}
    welfare = _bars(drawn["welfare"])
    assert (welfare["played"], welfare["optimal (maximum)"]) == (market.welfare, market.optimal)
    assert welfare["random items (mean)"] == market.random_items
    assert set(_marks(drawn["welfare"]).values()) == {market.welfare}
    losses = _bars(drawn["losses"])
    assert sum(worth or 0 for worth in losses.values()) == pytest.approx(market.loss)
    assert sum(_bars(drawn["customers"])[seat] or 0 for seat in (C1, "customer_0002", "customer_0003")) == (
        pytest.approx(market.welfare)
    )


def test_what_happened_is_counted_up_to_each_round(tmp_path: Path) -> None:
    rounds = _charts(play(tmp_path / "a.trace"))["rounds"]
    assert isinstance(rounds, XYChart)
    ends = {line.name: line.y[-1] for line in rounds.lines}
    assert ends == {"messages to businesses": 27, "proposals": 9, "payments": 3}
    assert all(line.x == [0, 1, 2, 3] and line.y[0] == 0 for line in rounds.lines)


def test_a_trade_lies_between_floor_and_value_unless_it_does_not_fit(tmp_path: Path) -> None:
    trades = _charts(play(tmp_path / "a.trace", "amenity_blind"))["bargains"]
    assert isinstance(trades, IntervalChart)
    rows = list(zip(trades.lows, trades.values, trades.highs, strict=True))
    assert (None, None) in [(low, high) for low, _, high in rows]
    inside = [(low, value, high) for low, value, high in rows if low is not None and high is not None]
    assert inside
    assert all(low <= value <= high for low, value, high in inside)


def test_what_was_bought_stands_at_the_position_where_it_was_shown(tmp_path: Path) -> None:
    given_values: dict[str, Any] = {"search_algorithm": "optimal", "search_limit": 3}
    chart = _charts(play(tmp_path / "a.trace", "position_taker", **given_values))["positions"]
    assert _bars(chart)["position 1"] == 3
    assert sum(worth or 0 for worth in _marks(chart).values()) == 3
    unseen = _charts(play(tmp_path / "b.trace", seats={C1: "oracle"}, search_limit=1))["positions"]
    assert _bars(unseen)["not listed"] == 1


def test_many_customers_are_shown_by_those_who_lost_most(tmp_path: Path) -> None:
    given_values: dict[str, Any] = {"data": {"customers": 40}, "rounds_max": 4}
    drawn = _charts(play(tmp_path / "a.trace", "window_shopper", **given_values))
    customers = drawn["customers"]
    assert isinstance(customers, BarChart)
    assert len(customers.names) == 30
    assert "The 30 of 40 who lost most" in customers.note
    assert "bargains" not in drawn


def test_a_trace_that_does_not_say_who_was_there_has_no_pictures(tmp_path: Path) -> None:
    parts = parts_of(play(tmp_path / "a.trace"))
    parts.core = parts.core.replace(b'"seed":1', b'"seed":2').replace(b'"id":"marketplace/test"', b'"id":7')
    del parts.bodies[1:], parts.numbers[1:]
    assert _charts(write_parts(parts, tmp_path / "b.trace")) == {}


@pytest.mark.browser
def test_a_report_shows_the_pictures_and_the_tables(browser: Browser, tmp_path: Path) -> None:
    trace = play(tmp_path / "a.trace", "amenity_blind")
    page_file = tmp_path / "a.html"
    page_file.write_bytes(build_report([trace], check=False).html)
    with watched(browser) as seen:
        page = seen.show(page_file.as_uri())
        page.locator("#market > summary").click()
        page.wait_for_selector("figure svg.plot")
        titles = page.locator("figure figcaption, figure h3, figure h4").all_inner_texts()
        assert any("From the market to the payment" in title for title in titles)
        assert page.locator("figure svg.plot").count() >= len(ALL)
        assert page.get_by_text("random items + amenities", exact=True).first.is_visible()
        assert seen.errors == []
