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


def moved(wrong: int, of: int, *, quote: int = 10_200, shown: int = 1) -> RetailPlay:
    """Orders of day 4; `wrong` of them at a price that was last shown on day 1 and has risen."""
    days = [QUIET, QUIET, QUIET, {"quote_e4": {0: quote}}]
    old = [bought(4, 0, 10, shown=shown) for _ in range(wrong)]
    # A line without any look has no price to be stale.
    return store(days, bought=[*old, *(bought(4, 0, 10, shown=4) for _ in range(of - wrong)), bought(4, 1, 10)])


def beyond(unsold: Sequence[int], of: int, asked: int = 250) -> RetailPlay:
    """By product, days on which nothing was sold at 2.50, where 2.00 had sold; ten products."""
    rows = [Unsold(0, day, place, asked, 200) for place, days in enumerate(unsold) for day in range(1, days + 1)]
    prices = [price(place + 1, asked, product=place) for place in range(len(unsold))]
    return store([QUIET] * (of // 10), width=10, unsold=rows, prices=prices)


def covered(many: int, of: int, days: float = 40.5) -> RetailPlay:
    """Orders of ten units with as many on order; `many` of them last so many days with what is there, the rest 40."""
    lines = [line(number, cover=days / 2 if number < many else 20.0) for number in range(of)]
    # An order of a product that never sold has no days of sales, one of what is off the shelf is another fault.
    rest = [line(of), line(of + 1, cover=100.0, product=1)]
    day = {"opening_stock": {0: 10}, "on_shelf": {1: 0}}
    return store([day], lines=[*lines, *rest], bought=[bought(1, 0, 10)])


def stranded(days: int) -> RetailPlay:
    """Goods for 10.00 that lie off the shelf for so many days after their order, beside 1,000.00 in all."""
    held: Mapping[str, Any] = {"stock_cost_cents": {1: 100_000 - 1000 * days}}
    off = {"on_shelf": {0: 0}, "stock_cost_cents": {0: 1000}}
    return store([held, QUIET, *[off] * days], bought=[bought(1, 0, 10)])


def broke(closes: int, value: int = 1) -> RetailPlay:
    """All but 20.00 spent on day 1, and so many closes without money after it."""
    first = {"rent_cents": 4000, "funds_cents": 1}
    without = {"rent_cents": 4000, "funds_cents": -1, "stock_value_cents": value}
    return store([first, *[without] * closes, first], bought=[bought(1, 0, 10, 298_000)])


def bare(empty: int, of: int, **fields: Any) -> RetailPlay:
    """Fourteen days that are not judged, then one with `of` products on the shelf, `empty` of them without goods."""
    none = {"opening_stock": dict.fromkeys(range(empty), 0)}
    return store([*[none] * 14, none], width=of, **fields)


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
RETURNED_SAID = "day 1: 10 P001 from supplier_1, known returns more than twice those of supplier_2"
MOVED_SAID = "day 4: order of 10 P001 from supplier_1 at 1.0200, last shown on day 1 as 1.0000"
BEYOND_SAID = "day 1: price of P001 2.50; no sale on {} days, 2.00 is the highest that sold"
OVER_SAID = "day 1: order of 10 P001; 20 in stock or on order last {} days at the sales of the last 30"
STRANDED_SAID = "day 1: order of 10 P001, which was not on the shelf; its goods lay off the shelf for {} days"
BROKE_SAID = "day 1: order of 10 P001 for 2980.00; funds below 0 at {} closes, down to -0.01"
BARE_SAID = "day 15: no order of P001; none in stock or on order, its shelf place empty"
IDLE_SAID = "day {}: closed without an action"
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
        Play(chosen(9, 180, ignored=True), "clear", 9, 180, RETURNED_SAID, share=0.05),
        Play(chosen(10, 201, ignored=True), "clear", 10, 201, RETURNED_SAID),
        Play(chosen(10, 200, ignored=True), "raised", 10, 200, RETURNED_SAID, share=0.05),
        Play(chosen(4, 16, ignored=True), "clear", 4, 16, RETURNED_SAID, share=0.25),
        Play(chosen(5, 21, ignored=True), "clear", 5, 21, RETURNED_SAID),
        Play(chosen(5, 20, ignored=True), "raised", 5, 20, RETURNED_SAID, share=0.25),
        Play(chosen(20, 200, ignored=True), "raised", 20, 200, RETURNED_SAID),
        Play(chosen(9, 9, ignored=True), "unchecked", 9, 9, RETURNED_SAID),
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
        Play(beyond([10], 100), "raised", 1, 100, BEYOND_SAID.format(10), share=0.1),
        Play(beyond([10, 10], 100), "raised", 2, 100, BEYOND_SAID.format(10), share=0.2),
        Play(beyond([10], 100, asked=249), "clear", 0, 100),
        Play(store([QUIET], unseen="the store cannot be rebuilt"), "unchecked", 0, 0),
    ],
    "overbuying": [
        Play(covered(4, 50), "clear", 4, 50, OVER_SAID.format(40), share=0.08),
        Play(covered(5, 84), "clear", 5, 84, OVER_SAID.format(40)),
        Play(covered(6, 100, days=80), "raised", 6, 100, OVER_SAID.format(80), share=0.06),
        Play(covered(12, 100, days=80), "raised", 12, 100, OVER_SAID.format(80)),
        Play(covered(20, 100, days=40), "clear", 0, 100),
        Play(covered(9, 9), "unchecked", 9, 9, OVER_SAID.format(40)),
        Play(store([QUIET], unseen="the store cannot be rebuilt"), "unchecked", 0, 0),
    ],
    "stranded_stock": [
        Play(stranded(4), "clear", 1, 1000, STRANDED_SAID.format(4), share=0.04),
        Play(stranded(5), "raised", 1, 1000, STRANDED_SAID.format(5), share=0.05),
        Play(stranded(10), "raised", 1, 1000, STRANDED_SAID.format(10), share=0.1),
    ],
    "illiquid": [
        Play(broke(2), "clear", 1, 4, BROKE_SAID.format(2)),
        Play(broke(3), "raised", 1, 5, BROKE_SAID.format(3), share=0.6),
        Play(broke(6), "raised", 1, 8, BROKE_SAID.format(6)),
        # Without goods there is nothing that could be turned into cash.
        Play(broke(6, value=0), "clear", 0, 8),
    ],
    "empty_shelf": [
        Play(bare(2, 66), "clear", 2, 66, BARE_SAID),
        Play(bare(3, 101), "clear", 3, 101, BARE_SAID),
        Play(bare(3, 100), "raised", 3, 100, BARE_SAID, share=0.03),
        Play(bare(6, 100), "raised", 6, 100, BARE_SAID, share=0.06),
        # What is on its way closes the gap.
        Play(bare(1, 20, bought=[bought(14, 0, 1)]), "clear", 0, 20),
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
