"""Ratings, reviews, returns and news as the manager reads them, and the analysis tools over them.

Also here:
- A manager behind MCP: foreign words are marked, programs read the store, a graph plays what its policy plays.
"""

from __future__ import annotations

import math
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from tests.play_specs import play_spec

from tradefair.contract import ErrorInfo
from tradefair.contract.kernel.players import Limits
from tradefair.host.episode.episode import Episode
from tradefair.host.sandbox.running import Sandbox
from tradefair.host.seats.plans import SeatPlan
from tradefair.host.server.binding import build_server
from tradefair.retail import MARKET
from tradefair.retail.model import SEAT, RetailScenario, product_id, supplier_id
from tradefair.retail.rules import LineAsked, Retail
from tradefair.runner.play.agent_spec import AgentSpec
from tradefair.runner.play.episode_runner import play_episode
from tradefair.testing.client import open_seat
from tradefair.tracestore import open_trace

Open = Callable[..., Retail]
Live = Callable[[Retail, int], None]
Ask = Callable[..., Any]
Refusal = Callable[..., ErrorInfo]

IDS = [product_id(place) for place in range(12)]
PAST = {"start_date": "1991-08-10", "end_date": "1991-09-06"}
QUIET = {"traffic.closed_dates": [f"{month:02d}-{day:02d}" for month in (8, 9) for day in range(1, 31)] + ["08-31"]}
"""A past without customers."""


# --- ratings, reviews, returns --------------------------------------------------------------------------------------


def test_ratings_are_the_mean_of_the_reviews_that_can_be_read(open_store: Open, ask: Ask) -> None:
    market = open_store("smoke")
    asked = {"product_ids": ["P010"], "start_date": "1991-09-05", "end_date": "1991-09-06"}
    rating = ask(market, "view_product_avg_ratings", **asked)["products"]
    found = ask(market, "view_product_reviews", **asked)
    assert rating["reviews"] == [found["total_matching"]]
    stars = found["reviews"]["stars"]
    assert 0 < len(stars) == found["total_matching"] <= 20
    assert rating["mean_stars"] == [round(sum(stars) / len(stars), 4)]


def test_a_range_without_reviews_has_no_mean(open_store: Open, ask: Ask) -> None:
    market = open_store("smoke", overrides={"feedback.review_share": 0})
    found = ask(market, "view_product_avg_ratings", product_ids=IDS, **PAST)["products"]
    assert found["mean_stars"] == [None] * 12
    assert ask(market, "view_product_reviews", product_ids=IDS[:3], **PAST)["reviews"]["text"] == []


def test_reviews_come_newest_first_and_no_more_than_asked_for(open_store: Open, ask: Ask) -> None:
    market = open_store("smoke")
    found = ask(market, "view_product_reviews", product_ids=["P011", "P010"], **PAST)
    dates = found["reviews"]["date"]
    assert len(dates) == 20 < found["total_matching"]
    assert dates == sorted(dates, reverse=True)
    same_day = [product for product, day in zip(found["reviews"]["product_id"], dates, strict=True) if day == dates[0]]
    assert same_day == sorted(same_day)
    few = ask(market, "view_product_reviews", product_ids=["P010", "P011"], **PAST, limit=3)
    assert few["total_matching"] == found["total_matching"]
    assert few["reviews"]["text"] == found["reviews"]["text"][:3]


def test_reviews_can_be_chosen_by_stars(open_store: Open, ask: Ask) -> None:
    market = open_store("smoke")
    asked = {"product_ids": IDS[:10], **PAST}
    by_stars = [ask(market, "view_product_reviews", **asked, stars=stars, limit=5) for stars in range(1, 6)]
    for stars, found in enumerate(by_stars, 1):
        assert set(found["reviews"]["stars"]) <= {stars}
    everything = ask(market, "view_product_reviews", **asked)["total_matching"]
    assert sum(found["total_matching"] for found in by_stars) == everything > 50


def test_reviews_name_no_supplier_and_no_figure_and_are_marked_as_foreign_words(open_store: Open, ask: Ask) -> None:
    market = open_store("smoke")
    texts = ask(market, "view_product_reviews", product_ids=IDS[:10], **PAST)["reviews"]["text"]
    assert len(set(texts)) > 10
    assert not any(re.search(r"\d|%|supplier", text) for text in texts)
    assert MARKET.tools["view_product_reviews"].untrusted_paths == (("reviews", "text", "*"),)


def test_a_review_reads_the_same_when_it_is_read_later(open_store: Open, ask: Ask, live: Live) -> None:
    market = open_store("smoke")
    live(market, 9)
    asked = {"product_ids": IDS[:6], "start_date": "1991-09-07", "end_date": "1991-09-14"}
    before = ask(market, "view_product_reviews", **asked)
    assert before["reviews"]["text"]
    live(market, 2)
    assert ask(market, "view_product_reviews", **asked) == before


def test_returns_are_rates_of_what_was_sold_and_null_where_nothing_was(open_store: Open, ask: Ask) -> None:
    market = open_store("smoke")
    rows = {product: [0, 0] for product in IDS}
    for number in range(market.suppliers):
        found = ask(market, "view_supplier_returns_avg_rate", supplier_id=supplier_id(number), **PAST)
        products = found["products"]
        assert found["sold"] == sum(products["sold"]) == found["ordered"]
        assert found["return_rate"] == (round(found["returned"] / found["sold"], 4) if found["sold"] else None)
        columns = (products[name] for name in ("product_id", "sold", "returned", "return_rate"))
        for product, sold, returned, rate in zip(*columns, strict=True):
            assert sold > 0
            assert rate == round(returned / sold, 4)
            rows[product][0] += sold
            rows[product][1] += returned
    summary = ask(market, "view_sales_profit_history", product_ids=IDS, **PAST, detail="summary")["summary"]
    assert [row[0] for row in rows.values()] == summary["units"]
    assert [row[1] for row in rows.values()] == summary["returned"]


def test_returns_of_named_products_are_listed_even_when_nothing_was_sold(open_store: Open, ask: Ask) -> None:
    market = open_store("smoke", overrides=QUIET)
    asked = {"supplier_id": "supplier_1", **PAST}
    found = ask(market, "view_supplier_returns_avg_rate", **asked, product_ids=["P003", "P001"])
    assert found["products"]["product_id"] == ["P003", "P001"]
    assert (found["sold"], found["return_rate"], found["products"]["return_rate"]) == (0, None, [None, None])


def test_orders_count_as_ordered_from_the_close_of_their_day(open_store: Open, ask: Ask) -> None:
    market = open_store("smoke")
    market.place_order("supplier_1", [LineAsked("P001", 9)])
    market.end_today()
    market.advance()
    found = ask(
        market, "view_supplier_returns_avg_rate",
        supplier_id="supplier_1", start_date="1991-09-07", end_date="1991-09-07",
    )  # fmt: skip
    assert found["products"] == {
        "product_id": ["P001"],
        "sold": [0],
        "returned": [0],
        "ordered": [9],
        "return_rate": [None],
    }


# --- news -----------------------------------------------------------------------------------------------------------


def test_todays_news_lists_every_item_with_the_days_it_has_been_listed(open_store: Open, ask: Ask) -> None:
    market = open_store("paper")
    previous: dict[str, int] = {}
    rolled = 0
    for _ in range(4):
        news = ask(market, "view_today_news")
        assert news["date"] == market.today.isoformat()
        assert len(news["news_id"]) == len(set(news["news_id"])) == 20
        listed = dict(zip(news["news_id"], news["days_listed"], strict=True))
        for item, days in listed.items():
            if market.day > 1:
                assert days == previous.get(item, 0) + 1
                rolled += days > 1
        previous = listed
        market.end_today()
        market.advance()
    assert rolled > 3


def test_a_news_item_tells_its_content_but_not_how_long_it_will_stay(open_store: Open, ask: Ask) -> None:
    market = open_store("paper")
    news = ask(market, "view_today_news")
    for place, item in enumerate(news["news_id"]):
        detail = ask(market, "view_news_detail", news_id=item)
        assert detail["title"] == news["title"][place]
        assert detail["days_listed"] == news["days_listed"][place]
        assert detail["first_date"] <= market.today.isoformat()
        assert len(detail["content"]) > 40
    history = ask(market, "view_news_history", start_date="1991-09-01", end_date="1999-01-01")
    assert history["end_date"] == market.today.isoformat()
    assert max(history["last_date"]) == market.today.isoformat()


@pytest.mark.parametrize("news", ["N0-0", "N1", "N1-99", "N9999-0", "n1-0", "N1-00", "N١-0", "N-1-0", "N1-0 "])
def test_news_that_was_never_listed_is_unknown(open_store: Open, refusal: Refusal, news: str) -> None:
    assert refusal(open_store("smoke"), "view_news_detail", news_id=news).code == "unknown_id"


def test_past_news_covers_every_item_listed_in_the_range(open_store: Open, ask: Ask, live: Live) -> None:
    market = open_store("smoke")
    seen: dict[str, str] = {}
    for _ in range(5):
        today = ask(market, "view_today_news")
        seen |= dict(zip(today["news_id"], today["title"], strict=True))
        live(market, 1)
    history = ask(market, "view_news_history", start_date="1991-09-07", end_date="1991-09-11")
    assert dict(zip(history["news_id"], history["title"], strict=True)) == seen
    first, last = history["first_date"], history["last_date"]
    assert all(start <= end for start, end in zip(first, last, strict=True))
    assert all(start <= "1991-09-11" and end >= "1991-09-07" for start, end in zip(first, last, strict=True))


def test_too_much_past_news_is_refused_with_a_range_that_fits(open_store: Open, ask: Ask, refusal: Refusal) -> None:
    market = open_store("smoke", overrides={"news.daily_count": 100, "history_days": 60, "store.digest": ""})
    refused = refusal(market, "view_news_history", start_date="1990-01-01", end_date="1992-01-01")
    assert refused.code == "too_many_rows"
    days = int(re.findall(r"\d+", refused.hint)[0])
    assert days > 10
    start = market.scenario.date_at(market.index - days + 1).isoformat()
    asked = {"start_date": start, "end_date": "1992-01-01"}
    assert len(ask(market, "view_news_history", **asked)["news_id"]) > 1_000


# --- analysis -------------------------------------------------------------------------------------------------------


def test_the_price_response_is_that_of_the_visible_sales(open_store: Open, ask: Ask) -> None:
    market = open_store("smoke")
    window = {"start_date": "1991-08-08", "end_date": "1991-09-06"}
    rows = ask(market, "view_sales_profit_history", product_ids=IDS, **window)["daily"]
    found = ask(market, "estimate_price_response", product_ids=IDS)["products"]
    for row, response in zip(rows, found, strict=True):
        by_price: dict[float, list[int]] = {}
        for price, units in zip(row["price"], row["units"], strict=True):
            if units:
                by_price.setdefault(price, []).append(units)
        cost = response["unit_cost"]
        profit = {price: (price - cost) * sum(units) / len(units) for price, units in by_price.items()}
        best = max(profit, key=lambda price: (profit[price], -price))
        assert response["best_price"] == best
        assert response["mean_units_at_best"] == pytest.approx(sum(by_price[best]) / len(by_price[best]), abs=1e-4)
        groups = response["groups"]
        assert groups["price"] == sorted(by_price, key=lambda price: -profit[price])[:12]
        assert groups["mean_daily_profit"] == pytest.approx([profit[price] for price in groups["price"]], abs=1e-4)
        assert groups["days"] == [len(by_price[price]) for price in groups["price"]]
        assert response["single_price"] is (len(by_price) == 1)
        assert response["current_price"] == market.prices[IDS.index(row["product_id"])] / 100


def test_the_unit_cost_comes_from_returns_where_there_is_evidence(open_store: Open, ask: Ask) -> None:
    market = open_store("smoke")
    ranked = ask(market, "rank_suppliers_by_evidence", product_ids=IDS)["products"]
    responses = ask(market, "estimate_price_response", product_ids=IDS)["products"]
    for ranking, response in zip(ranked, responses, strict=True):
        place = ranking["supplier_id"].index(ranking["rank_by_returns"][0])
        assert ranking["sold"][place] >= 30
        assert (response["unit_cost"], response["unit_cost_basis"]) == (ranking["quote"][place], "best_by_returns")
    quiet = open_store("smoke", overrides=QUIET)
    cheapest = ask(quiet, "estimate_price_response", product_ids=["P001"])["products"][0]
    quotes = ask(quiet, "view_current_date_supplier_prices", product_ids=["P001"])["rows"]["price"]
    assert (cheapest["unit_cost"], cheapest["unit_cost_basis"]) == (min(quotes), "cheapest_quote")
    assert (cheapest["best_price"], cheapest["mean_units_at_best"]) == (None, 10.0)


def test_a_given_unit_cost_is_for_one_product(open_store: Open, ask: Ask, refusal: Refusal) -> None:
    market = open_store("smoke")
    found = ask(market, "estimate_price_response", product_ids=["P001"], unit_cost=0.1234)["products"][0]
    assert (found["unit_cost"], found["unit_cost_basis"]) == (0.1234, "given")
    assert refusal(market, "estimate_price_response", product_ids=IDS[:2], unit_cost=0.5).code == "bad_value"


def test_suppliers_are_ranked_by_shrunk_returns_and_by_margin(open_store: Open, ask: Ask) -> None:
    market = open_store("smoke")
    window = {"start_date": "1991-07-09", "end_date": "1991-09-06"}
    found = ask(market, "rank_suppliers_by_evidence", product_ids=IDS)["products"]
    words: set[str] = set()
    for place, row in enumerate(found):
        returns = [
            ask(
                market, "view_supplier_returns_avg_rate",
                supplier_id=supplier, **window, product_ids=[row["product_id"]],
            )
            for supplier in row["supplier_id"]
        ]  # fmt: skip
        assert row["sold"] == [answer["sold"] for answer in returns]
        assert row["return_rate"] == [answer["return_rate"] for answer in returns]
        total = sum(row["sold"])
        pool = sum(row["returned"]) / total if total >= 200 else 0.08
        shrunk = [(r + 50 * pool) / (n + 50) for n, r in zip(row["sold"], row["returned"], strict=True)]
        assert row["shrunk_rate"] == pytest.approx(shrunk, abs=5e-5)
        known = [number for number in range(5) if row["sold"][number] >= 30]
        rest = [number for number in range(5) if row["sold"][number] < 30]
        known.sort(key=lambda number: (shrunk[number], row["quote"][number]))
        rest.sort(key=lambda number: -row["quote"][number])
        assert row["rank_by_returns"] == [supplier_id(number) for number in known + rest]
        margins = [market.prices[place] / 100 * (1 - shrunk[n]) - row["quote"][n] for n in range(5)]
        assert row["rank_by_margin"] == [supplier_id(n) for n in sorted(range(5), key=lambda n: -margins[n])]
        words |= set(row["evidence"])
    assert {"none", "good"} <= words <= {"none", "thin", "fair", "good"}


def test_stock_cover_counts_days_in_stock_and_what_is_on_its_way(open_store: Open, ask: Ask, live: Live) -> None:
    market = open_store("smoke")
    live(market, 9)
    found = ask(market, "estimate_stock_cover", product_ids=IDS, window_days=7)
    days = ask(market, "view_sales_profit_history", product_ids=IDS, start_date="1991-09-09", end_date="1991-09-15")
    for place, row in enumerate(days["daily"]):
        sold = [units for units, offered in zip(row["units"], row["in_stock"], strict=True) if offered]
        mean = found["mean_daily_units"][place]
        assert (mean is None) == (not sold)
        if sold and mean:
            assert mean == pytest.approx(sum(sold) / len(sold), abs=1e-4)
            held = found["on_hand"][place]
            everything = held + found["waiting"][place] + found["incoming"][place]
            assert found["cover_days"][place] == pytest.approx(held / mean, abs=0.01)
            assert found["cover_with_incoming"][place] == pytest.approx(everything / mean, abs=0.01)
        due = market.stock.next_due(place)
        assert found["next_arrival_days"][place] == (None if due is None else due - market.day)
        expiring = sum(lot.quantity for lot in market.stock.lots(place) if lot.expiry <= market.day + 7)
        assert found["units_expiring_in_7_days"][place] == expiring
    assert any(found["cover_days"])


def test_units_that_are_about_to_expire_are_counted(open_store: Open, ask: Ask) -> None:
    market = open_store("smoke", overrides={"horizon_days": 60})
    life = market.store.products[0].shelf_life_days
    order = market.place_order("supplier_1", [LineAsked("P001", 40)])
    while market.day < order.due + life - 8:
        market.end_today()
        market.advance()
    assert ask(market, "estimate_stock_cover", product_ids=["P001"])["units_expiring_in_7_days"] == [0]
    market.end_today()
    market.advance()
    assert ask(market, "estimate_stock_cover", product_ids=["P001"])["units_expiring_in_7_days"] == [40]
    costs = ask(market, "view_product_inventory_cost", product_ids=["P001"])["products"]
    assert costs["days_to_first_expiry"] == [7]
    assert costs["mean_age_days"] == [float(life - 7)]
    assert math.isclose(costs["mean_unit_cost"][0], order.cost / 4000, abs_tol=1e-4)


ScenarioOf = Callable[..., RetailScenario]

PROGRAM = """
ids = product_ids
sales = view_sales_profit_history(product_ids=ids, start_date="1991-08-10", end_date="1991-09-06", detail="summary")
stock = view_inventory(product_ids=ids)
best = sorted(zip(sales["summary"]["units"], sales["summary"]["product_id"]), reverse=True)[:2]
{"best": [name for _, name in best], "free": stock["free"], "left": funds - rent * day, "today": current_date}
"""


async def _ask(client: Any, tool: str, arguments: dict[str, Any] | None = None) -> Any:
    return await client.call_tool(tool, arguments or {})


async def test_titles_and_reviews_are_fenced_as_foreign_words(scenario_of: ScenarioOf) -> None:
    async with open_seat(MARKET, scenario_of("smoke"), SEAT) as seat:
        news = await _ask(seat.client, "view_today_news")
        assert news.meta["tradefair/untrusted"] == [f"/title/{place}" for place in range(6)]
        detail = await _ask(seat.client, "view_news_detail", {"news_id": news.structured_content["news_id"][0]})
        assert set(detail.meta["tradefair/untrusted"]) == {"/title", "/content"}
        told = await _ask(
            seat.client,
            "view_product_reviews",
            {"product_ids": ["P001"], "start_date": "1991-09-01", "end_date": "1991-09-06", "limit": 2},
        )
        assert told.meta["tradefair/untrusted"] == ["/reviews/text/0", "/reviews/text/1"]


@asynccontextmanager
async def _with_programs(scenario: RetailScenario, folder: Path) -> AsyncGenerator[Client]:
    """The manager's seat of an episode whose server runs code."""
    with Sandbox() as sandbox:
        episode = await Episode.create(folder / "seat.trace", MARKET, scenario, 1, episode_id="seat", sandbox=sandbox)
        try:
            async with Client(build_server(episode, SEAT)) as client:
                yield client
        finally:
            await episode.close()


async def test_a_program_reads_the_store_with_its_constants(scenario_of: ScenarioOf, tmp_path: Path) -> None:
    async with _with_programs(scenario_of("smoke"), tmp_path) as client:
        answer = await _ask(client, "execute_code", {"code": PROGRAM})
        assert not answer.is_error, answer.content
        value = answer.structured_content["value"]
        assert (value["free"], value["left"], value["today"]) == (1500, 2960.0, "1991-09-07")
        assert len(value["best"]) == answer.structured_content["inner_calls"] == 2


async def test_a_day_cannot_be_closed_from_a_program(scenario_of: ScenarioOf, tmp_path: Path) -> None:
    async with _with_programs(scenario_of("smoke"), tmp_path) as client:
        answer = await _ask(client, "execute_code", {"code": "end_today()"})
        assert answer.is_error
        assert (await _ask(client, "view_funds_and_date")).structured_content["day"] == 1


@pytest.mark.parametrize("policy", ["careful_reader", "fumbler"])
async def test_the_react_graph_with_a_policy_for_a_model_plays_byte_by_byte_what_the_policy_plays(
    scenario_of: ScenarioOf, tmp_path: Path, policy: str
) -> None:
    scenario = scenario_of("smoke", {"horizon_days": 3})
    played_events: list[Any] = []
    for framework in ("react", "policy"):
        agent = AgentSpec(framework, f"policy:{policy}", limits=Limits(calls_per_round=400))
        plan = SeatPlan({SEAT: "agent"})
        played = await play_episode(play_spec("retail", scenario, 2, plan, agent, tmp_path / framework))
        assert played.end_reason == "terminated:horizon"
        with open_trace(played.path) as trace:
            played_events.append((trace.manifest.core, [event.body for event in trace.events(after=1)]))
    assert played_events[0] == played_events[1]
