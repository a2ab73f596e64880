"""Every failure mode of retail over tiny records: just below its threshold, at it, and at twice as many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from tests.evaluation.markets.retail.stores import bought, line, price, store
from tests.evaluation.plays import Play, check_play, plays_of

from tradefair.evaluation.markets.retail.modes.detectors import MODES
from tradefair.evaluation.markets.retail.modes.play import RetailPlay, Unsold

QUIET: Mapping[str, Any] = {}


def chosen(wrong: int, of: int, best: int = 0, **wrongly: Any) -> RetailPlay:
    """Order lines: `wrong` as said, `best` to the best supplier, the rest to neither."""
    lines = [line(number, **wrongly) for number in range(wrong)]
    lines += [line(number, quality_rank=1) for number in range(wrong, wrong + best)]
    return store([QUIET], lines=[*lines, *(line(number) for number in range(len(lines), of))])


def returned(wrong: int, of: int) -> RetailPlay:
    """Of the first line ten units are sold at 2.00 and three come back; one in ten would have, for 0.05 more a unit."""
    play = chosen(wrong, of, ignored=True, instead_rate=0.1, saved=5.0)
    sold = {"units": {0: 10}, "sold_pairs": {0: 10}, "returned_pairs": {0: 3}}
    play.days = store([QUIET, QUIET, sold]).days
    play.bought = [bought(1, 0, 10)._replace(seq=100)]
    return play


def moved(wrong: int, of: int, *, quote: int = 10_200, shown: int = 1) -> RetailPlay:
    """Orders of day 4; `wrong` of them at a price that was last shown on day 1 and has risen."""
    days = [QUIET, QUIET, QUIET, {"quote_e4": {0: quote}}]
    old = [bought(4, 0, 10, shown=shown) for _ in range(wrong)]
    # A line without any look has no price to be stale.
    return store(days, bought=[*old, *(bought(4, 0, 10, shown=4) for _ in range(of - wrong)), bought(4, 1, 10)])


def beyond(unsold: Sequence[int], of: int, asked: int = 250) -> RetailPlay:
    """By product, days on which nothing was sold at 2.50, where 2.00 had sold for 3.00 a day; ten products."""
    rows = [Unsold(0, day, place, asked, 200, 300) for place, days in enumerate(unsold) for day in range(1, days + 1)]
    prices = [price(place + 1, asked, product=place) for place in range(len(unsold))]
    return store([QUIET] * (of // 10), width=10, unsold=rows, prices=prices)


def off(far: int, of: int, cents: int = 115) -> RetailPlay:
    """Prices of one day, the far ones last; only the last is ever in force."""
    prices = [price(number, 100 if number < of - far else cents) for number in range(of)]
    return store([QUIET], prices=[*prices, price(of, 9, None, product=1)])


def expired(units: Sequence[int], of: int) -> RetailPlay:
    """Order lines at 1.00 a unit, one a product, `of` units in all; so many units of each expire when they come."""
    share = of // len(units)
    lines = [bought(1, place, share) for place in range(len(units) - 1)]
    lines.append(bought(1, len(units) - 1, of - share * (len(units) - 1)))
    gone = {place: count for place, count in enumerate(units) if count}
    return store([QUIET, QUIET, {"expired": gone}], width=len(units), bought=lines)


def stranded(days: int) -> RetailPlay:
    """Ten units for 10.00 that come on day 3 and lie off the shelf for so many days, beside 1,000.00 for a day."""
    held: Mapping[str, Any] = {"stock_cost_cents": {1: 100_000}}
    return store([held, QUIET, *[{"on_shelf": {0: 0}}] * days], bought=[bought(1, 0, 10)])


def broke(closes: int, value: int = 1) -> RetailPlay:
    """All but 20.00 spent on day 1, and so many closes without money after it."""
    first = {"rent_cents": 4000, "funds_cents": 1}
    without = {"rent_cents": 4000, "funds_cents": -1, "stock_value_cents": value}
    return store([first, *[without] * closes, first], bought=[bought(1, 0, 10, 298_000)])


def short(gaps: int, sold: int, late: int = 0) -> RetailPlay:
    """Products that run out on day 10 with one unit too little, and sales of another one; a unit leaves 1.00."""
    places = range(gaps)
    day_8 = {
        "opening_stock": {**dict.fromkeys(places, 30 + late), gaps: 1000},
        "units": {**dict.fromkeys(places, 10), gaps: sold - 30 * gaps},
        "revenue_cents": dict.fromkeys(places, 6000),
        "cost_of_goods_cents": dict.fromkeys(places, 3000),
    }
    day_9 = {"opening_stock": dict.fromkeys(places, 20), "units": dict.fromkeys(places, 10)}
    day_10 = {
        "opening_stock": dict.fromkeys(places, 10),
        "units": dict.fromkeys(places, 10),
        "demand": dict.fromkeys(places, 11),
    }
    return store([*[QUIET] * 7, day_8, day_9, day_10], width=gaps + 1)


def bare(gaps: int, width: int, days: int, more: int = 0) -> RetailPlay:
    """Products without goods on day 17, wanted by half of 100 customers; `days` of `width` shelf places from day 15."""
    places = range(gaps)
    run = [
        {"opening_stock": dict.fromkeys(places, 20), "units": dict.fromkeys(places, 10)},
        {"opening_stock": dict.fromkeys(places, 10), "units": dict.fromkeys(places, 10)},
        {"opening_stock": dict.fromkeys(places, 0), "attraction": dict.fromkeys(places, 1.0)},
    ]
    rest = [{"on_shelf": dict.fromkeys(range(more, width), 0)}] if more else []
    return store([*[QUIET] * 14, *run, *[QUIET] * (days - 3), *rest], width=width)


def idle(days: Sequence[bool]) -> RetailPlay:
    return store([{"acted": not only_closed} for only_closed in days])


def news(unread: int, of: int, effect: float = 0.2) -> RetailPlay:
    item = {
        "news_id": "N1-1", "mode": "product", "category": None, "product_id": "P001", "side": "need", "sign": 1,
        "strength": 0.4, "days_left": 1,
    }  # fmt: skip
    moved: Mapping[str, Any] = {"news_effect": {0: effect}, "news": [item]}
    return store([*[moved] * unread, *[{**moved, "read": ("N1-1",)}] * (of - unread)])


CHEAP = {"price_rank": 1}
CHEAP_SAID = "day 1: 10 P001 from supplier_1, the lowest quote, quality 2.00 where 4.80 was on offer"
RETURNED_SAID = (
    "day 1: 10 P001 from supplier_1, known returns more than twice those of supplier_2; 3.50 more in refunds than saved"
)
MOVED_SAID = "day 4: order of 10 P001 from supplier_1 at 1.0200, last shown on day 1 as 1.0000"
BEYOND_SAID = "day 1: price of P001 2.50; no sale on {} days, 2.00 is the highest that sold"
OFF_SAID = "day 1: price of P001 set to 1.15; 1.00 had earned 5.00 a day, this earned 0.00 on 1 day"
OVER_SAID = OFF_SAID.replace("1 day", "0 days")
STRANDED_SAID = "day 1: order of 10 P001, which was not on the shelf; 10 for 10.00 lay off the shelf for {} days"
BROKE_SAID = "day 1: order for 2980.00 left 20.00 before a rent of 40.00; funds below 0 at {} closes, down to -0.01"
SHORT_SAID = "day 8: no order of P001; 30 in stock or on order, 31 wanted by day 10, 1 not served, worth 1.00"
BARE_SAID = "day 15: no order of P001; 20 in stock or on order, 70 wanted by day 17, the shelf empty for 1 day"
IDLE_SAID = "day {}: closed without an action; 0 shelf places empty, 0 products sold out"
NEWS_SAID = "day 1: closed without reading news that moved P001, demand by +20%, cost by +0%"

PLAYS: Mapping[str, Sequence[Play]] = {
    "price_first_sourcing": [
        Play(chosen(19, 38, **CHEAP), "clear", 19, 38, CHEAP_SAID, share=0.5),
        Play(chosen(20, 41, **CHEAP), "clear", 20, 41, CHEAP_SAID),
        Play(chosen(20, 40, best=16, **CHEAP), "raised", 20, 40, CHEAP_SAID, share=0.5),
        Play(chosen(40, 80, **CHEAP), "raised", 40, 80, CHEAP_SAID),
        # Who buys the best goods too takes the lowest quote for another reason; the best goods at it are no fault.
        Play(chosen(20, 40, best=17, **CHEAP), "clear", 0, 40),
        Play(chosen(20, 40, price_rank=1, quality_rank=1), "clear", 0, 40),
        Play(chosen(19, 19, **CHEAP), "unchecked", 19, 19, CHEAP_SAID),
        Play(store([QUIET], unseen="the store cannot be rebuilt"), "unchecked", 0, 0),
    ],
    "ignored_returns": [
        Play(returned(9, 180), "clear", 9, 180, RETURNED_SAID, share=0.05),
        Play(returned(10, 201), "clear", 10, 201, RETURNED_SAID),
        Play(returned(10, 200), "raised", 10, 200, RETURNED_SAID, cost=3.5, share=0.05),
        Play(returned(4, 16), "clear", 4, 16, RETURNED_SAID, share=0.25),
        Play(returned(5, 21), "clear", 5, 21, RETURNED_SAID),
        Play(returned(5, 20), "raised", 5, 20, RETURNED_SAID, cost=3.5, share=0.25),
        Play(returned(20, 200), "raised", 20, 200, RETURNED_SAID),
        Play(returned(9, 9), "unchecked", 9, 9, RETURNED_SAID),
        Play(chosen(20, 20, ignored=None), "unchecked", 0, 0),
        Play(store([QUIET], unseen="the store cannot be rebuilt"), "unchecked", 0, 0),
    ],
    "stale_quotes": [
        Play(moved(4, 80), "clear", 4, 80, MOVED_SAID, share=0.05),
        Play(moved(5, 101), "clear", 5, 101, MOVED_SAID),
        Play(moved(5, 100), "raised", 5, 100, MOVED_SAID, share=0.05),
        Play(moved(10, 100), "raised", 10, 100, MOVED_SAID),
        Play(moved(6, 20, quote=9_800), "raised", 6, 20, MOVED_SAID.replace("1.0200", "0.9800")),
        Play(moved(6, 20, quote=10_199), "clear", 0, 20),
        Play(moved(6, 20, shown=2), "clear", 0, 20),
    ],
    "priced_out": [
        Play(beyond([9], 90), "clear", 1, 90, BEYOND_SAID.format(9), share=0.1),
        Play(beyond([10], 110), "clear", 1, 110, BEYOND_SAID.format(10)),
        Play(beyond([10], 100), "raised", 1, 100, BEYOND_SAID.format(10), cost=30.0, share=0.1),
        Play(beyond([10, 10], 100), "raised", 2, 100, BEYOND_SAID.format(10), cost=30.0, share=0.2),
        Play(beyond([10], 100, asked=249), "clear", 0, 100),
        Play(store([QUIET], unseen="the store cannot be rebuilt"), "unchecked", 0, 0),
    ],
    "price_off_optimum": [
        Play(off(9, 225), "clear", 9, 225, OVER_SAID, share=0.04),
        Play(off(10, 251), "clear", 10, 251, OVER_SAID),
        Play(off(10, 250), "raised", 10, 250, OFF_SAID, cost=5.0, share=0.04),
        Play(off(20, 250), "raised", 20, 250, OFF_SAID),
        Play(off(10, 10, cents=85), "raised", 10, 10, OFF_SAID.replace("1.15", "0.85")),
        Play(off(10, 250, cents=114), "clear", 0, 250),
        Play(off(9, 9), "unchecked", 9, 9, OVER_SAID),
        Play(store([QUIET], unseen="the store cannot be rebuilt"), "unchecked", 0, 0),
    ],
    "overbuying": [
        Play(expired([4, 4, 4, 4, 0], 1000), "clear", 4, 1000, "day 1: order of 200 P001 for 200.00; 4 expired"),
        Play(expired([3] * 5, 1001), "clear", 5, 1001, "day 1: order of 200 P001 for 200.00; 3 expired"),
        Play(
            expired([3] * 5, 1000), "raised", 5, 1000, "day 1: order of 200 P001 for 200.00; 3 expired",
            cost=3.0, share=0.015,
        ),
        Play(expired([9], 100), "clear", 1, 100, "day 1: order of 100 P001 for 100.00; 9 expired"),
        Play(expired([10], 100), "raised", 1, 100, "day 1: order of 100 P001 for 100.00; 10 expired", 10.0, 0.1),
        Play(expired([3] * 10, 1000), "raised", 10, 1000, "day 1: order of 100 P001 for 100.00; 3 expired"),
        Play(store([QUIET]), "unchecked", 0, 0),
    ],
    "stranded_stock": [
        Play(stranded(4), "clear", 1, 1000, STRANDED_SAID.format(4), share=0.04),
        Play(stranded(5), "raised", 1, 1000, STRANDED_SAID.format(5), cost=10.0, share=0.05),
        Play(stranded(10), "raised", 1, 1000, STRANDED_SAID.format(10), cost=10.0, share=0.1),
    ],
    "illiquid": [
        Play(broke(2), "clear", 1, 4, BROKE_SAID.format(2)),
        Play(broke(3), "raised", 1, 5, BROKE_SAID.format(3), share=0.6),
        Play(broke(6), "raised", 1, 8, BROKE_SAID.format(6)),
        # Without goods there is nothing that could be turned into cash.
        Play(broke(6, value=0), "clear", 0, 8),
    ],
    "lost_sales": [
        Play(short(9, 441), "clear", 9, 450, SHORT_SAID, share=0.02),
        Play(short(10, 491), "clear", 10, 501, SHORT_SAID),
        Play(short(10, 490), "raised", 10, 500, SHORT_SAID, cost=1.0, share=0.02),
        Play(short(2, 64), "clear", 2, 66, SHORT_SAID),
        Play(short(3, 98), "clear", 3, 101, SHORT_SAID),
        Play(short(3, 97), "raised", 3, 100, SHORT_SAID, cost=1.0, share=0.03),
        Play(short(20, 980), "raised", 20, 1000, SHORT_SAID),
        # Enough lay there on the last day on which an order could have come in time: nothing was to be ordered.
        Play(short(20, 980, late=1), "clear", 0, 980),
        Play(RetailPlay("manager"), "unchecked", 0, 0),
    ],
    "empty_shelf": [
        Play(bare(2, 6, 11), "clear", 2, 66, BARE_SAID),
        Play(bare(3, 10, 10, more=1), "clear", 3, 101, BARE_SAID),
        Play(bare(3, 10, 10), "raised", 3, 100, BARE_SAID, cost=0.0, share=0.03),
        Play(bare(6, 10, 10), "raised", 6, 100, BARE_SAID, share=0.06),
        Play(RetailPlay("manager"), "unchecked", 0, 0),
    ],
    "idle_days": [
        Play(idle([True, False] * 4 + [False] * 2), "clear", 4, 10, IDLE_SAID.format(1), share=0.4),
        Play(idle([True, False] * 5), "raised", 5, 10, IDLE_SAID.format(1), share=0.5),
        Play(idle([False] * 13 + [True] * 7), "clear", 7, 20, IDLE_SAID.format(14)),
        Play(idle([False] * 12 + [True] * 8), "raised", 8, 20, IDLE_SAID.format(13), share=0.4),
        Play(idle([True] * 10), "raised", 10, 10, IDLE_SAID.format(1)),
        Play(idle([True] * 9), "unchecked", 9, 9, IDLE_SAID.format(1)),
    ],
    "news_unread": [
        Play(news(7, 10), "clear", 7, 10, NEWS_SAID),
        Play(news(8, 10), "raised", 8, 10, NEWS_SAID, share=0.8),
        Play(news(16, 20), "raised", 16, 20, NEWS_SAID),
        Play(news(9, 9), "unchecked", 9, 9, NEWS_SAID),
        Play(news(10, 10, effect=0.099), "unchecked", 0, 0),
        Play(news(10, 10, effect=-0.1), "raised", 10, 10, NEWS_SAID.replace("+20%", "-10%")),
        Play(store([QUIET], privileged=True), "unchecked", 0, 0),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("name", "play"), plays_of(MODES, PLAYS))
def test_a_mode_is_raised_from_its_threshold_on_and_says_why(name: str, play: Play) -> None:
    check_play(MODES, name, play)
