"""Every failure mode of the order book against tiny plays: one case too few, just enough, and twice as many.

A play is one seat's record by hand: B1 (or S1, mirrored) among four seats, p* = 100. The act of step s in period t is
event 100t + s, the closure of period t is event 100t + 99.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from tests.evaluation.plays import Play, check_play, plays_of

from tradefair.contract.scenario import build_scenario
from tradefair.evaluation.markets.order_book.insight import scales
from tradefair.evaluation.markets.order_book.modes.detectors import MODES
from tradefair.evaluation.markets.order_book.modes.play import Advice, Filled, Game, Period, Quote, Step, Trader
from tradefair.evaluation.markets.order_book.modes.units import idle_periods, value_breach
from tradefair.order_book.answers.results import OpeningFacts
from tradefair.order_book.model import OrderBookScenario

SEATS = ("B1", "B2", "S1", "S2")
NOTHING: Mapping[int, float] = {}
_SHARES: Mapping[str, Any] = {"kind": "asset", "dividends": [10], "final_value": 0}


def _scenario(periods: int) -> OrderBookScenario:
    return build_scenario(OrderBookScenario, {"id": "order_book/x", **_SHARES, "periods": periods}, source="x.toml")


class Book:
    """Writes a game down act by act; units of the seat's schedule are used up by its trades."""

    def __init__(
        self, values: Sequence[int] = (150, 130, 110), *, role: str = "buyer", periods: int = 1, asset: bool = False
    ) -> None:
        self.seat = "B1" if role == "buyer" else "S1"
        self.asset = asset
        self.values = [] if asset else list(values)
        self.game = Game(SEATS, {self.seat: "trader" if asset else role}, scenario=_scenario(10) if asset else None)
        self.game.opening = OpeningFacts(
            values={} if self.asset else {self.seat: self.values},
            endowments={self.seat: (500, 2)} if self.asset else {},
            max_surplus=0,
            q_star=0,
            p_lo=None if self.asset else 100,
            p_hi=None if self.asset else 100,
            attempts=1,
        )
        self.orders = 0
        for number in range(1, periods + 1):
            self.game.periods.append(Period(number, 100 * number + 99, 40, 10 if self.asset else None, {}, {}, {}))

    def step(
        self, period: int, step: int, act: str = "pass", price: int | None = None, told: Mapping[int, float] = NOTHING,
        **seen: int | None,
    ) -> Book:  # fmt: skip
        """The seat's step; `bid`, `ask`: the best quotes before it; `told`: chances by price, from its own estimate."""
        unit = sum(fill.quantity for fill in self.own(period))
        value = self.values[unit] if unit < len(self.values) else None
        quotes = seen.get("bid"), seen.get("ask")
        at = (period, step, self.seat, 100 * period + step)
        asked = [Advice(100 * period + step - 1, "buy" if self._buys(None) else "sell", *row) for row in told.items()]
        self.game.steps.append(Step(*at, act, price, *quotes, value, unit, (), tuple(asked)))
        return self

    def take(self, period: int, step: int, price: int, *, buys: bool | None = None, quantity: int = 1) -> Book:
        """The seat takes what rests."""
        self.step(period, step, "order", price, bid=price, ask=price)
        return self._fill(period, step, price, buys=self._buys(buys), taker=self.seat, order=0, quantity=quantity)

    def rest(
        self, period: int, step: int, price: int, to: int, end: str = "filled", *, buys: bool | None = None,
        best: int | None = None,
    ) -> Book:  # fmt: skip
        """An order that rests to step `to`; `best`: the best other price of its side at the end."""
        self.orders += 1
        side = "buy" if self._buys(buys) else "sell"
        fills: tuple[Filled, ...] = ()
        self.step(period, step, "order", price)
        if end == "filled":
            self._fill(period, to, price, buys=self._buys(buys), taker="S2", order=self.orders, quantity=1)
            fills = (self.game.fills[-1],)
        quote = Quote(
            period, self.seat, side, self.orders, price, step, to, end, 100 * period + step, best, fills
        )  # fmt: skip
        self.game.quotes.append(quote)
        return self

    def others(self, period: int, step: int, *prices: int) -> Book:
        """Trades between two others."""
        for price in prices:
            self.game.fills.append(Filled(period, step, price, 1, "B2", "S2", "S2", 900, {}))
        return self

    def own(self, period: int) -> list[Filled]:
        return [f for f in self.game.fills if f.period == period and self.seat in (f.buyer, f.seller)]

    @property
    def trader(self) -> Trader:
        return self.game.trader(self.seat)

    def _buys(self, buys: bool | None) -> bool:
        return self.seat == "B1" if buys is None else buys

    def _fill(self, period: int, step: int, price: int, *, buys: bool, taker: str, order: int, quantity: int) -> Book:
        used = sum(fill.quantity for fill in self.own(period))
        pair = (self.seat, "S2") if buys else ("B2", self.seat)
        other = taker if taker == self.seat else ("S2" if buys else "B2")
        values = {} if self.asset else {self.seat: tuple(self.values[used : used + quantity])}
        self.game.fills.append(Filled(period, step, price, quantity, *pair, other, order, values))
        return self


def shares(periods: int = 10) -> Book:
    """A market of ten periods for a share with FV 10·(11 − t), of which so many were played."""
    return Book(asset=True, periods=periods)


def play(record: Book, status: str, count: int, of: float, because: str | None = None, **more: Any) -> Play:
    return Play(record.trader, status, count, of, because, **more)


THROUGH = "period 1: traded at {} with a value of {}"
UNTAKEN = "period 1: step 1 left 135 untaken with a value of 150; the unit was never traded"
NEAR = "period 1: quoted 100 to the end while others traded at {}, with a value of {}"
SPOKE = "period 1: ordered at {}, where its own estimate expected {}, and {} at {}"
TOOK = "period 1: took {}, where the competitive price was 100"
FURTHER = "period 1: took {}, where others' last {} trades went no further than 100"
BEHIND = "period 1: order 1 at {} rested 21 behind 100 to the end"
BACK = "period 1: order 1 at 80 stood 4 steps and was taken back"
HELD = "period {}: bought {} at {} above a worth of {} and held to the end"
BOUGHT = "period 1: bought {} at 151 where a share was worth 100"


def stand(steps: int, ask: int, *, quoted: int | None = None) -> Book:
    """Steps beside an ask, passed or with an order that stays below it; one unit of 150."""
    book = Book((150,))
    for step in range(1, steps + 1):
        book.step(1, step, "pass" if quoted is None else "order", quoted, ask=ask)
    return book


def missed(periods: int, *, quoted: int = 100, traded: int = 110) -> Book:
    """Three periods of one quote each, in the first of which others trade."""
    book = Book((150,), periods=3)
    for period in range(1, 4):
        book.step(period, 1, "order", quoted)
        book.others(period, 2, *[traded] * (period <= periods))
    return book


def advised(
    times: int, price: int, told: Mapping[int, float], *, role: str = "buyer", ask: int | None = None
) -> Book:  # fmt: skip
    """So many orders after an estimate; a unit of 150, or one that costs 50."""
    book = Book((150,) if role == "buyer" else (50,), role=role)
    for step in range(1, times + 1):
        book.step(1, step, "order", price, told, ask=ask)
    return book


def spoken(against: int, followed: int) -> Book:
    """Orders against an estimate, and orders that follow it."""
    book = Book((150,))
    for step in range(1, against + followed + 1):
        book.step(1, step, "order", 140 if step <= against else 120, {120: 0.61, 140: 0.9})
    return book


def taken(*prices: int, role: str = "buyer") -> Book:
    book = Book((200,) * 9 if role == "buyer" else (20,) * 9, role=role)
    for step, price in enumerate(prices, 1):
        book.take(1, step, price)
    return book


def shares_taken(before: Sequence[int], *prices: int, buys: bool = True) -> Book:
    book = shares().others(1, 1, *before)
    for step, price in enumerate(prices, 2):
        book.take(1, step, price, buys=buys)
    return book


def dead(far: int, near: int, *, best: int | None = 100) -> Book:
    """Orders of 79 and of 80 that rest to the end."""
    book = Book()
    for step in range(1, far + near + 1):
        book.rest(1, step, 79 if step <= far else 80, 40, "lapsed", best=best)
    return book


def churned(back: int, kept: int) -> Book:
    """Orders that are taken back after four steps, a sweep of four seats, and after five."""
    book = Book()
    for step in range(1, back + kept + 1):
        book.rest(1, step, 80, step + (4 if step <= back else 5), "cancelled")
    return book


def replaced(change: int, end: str = "cancelled", role: str = "buyer") -> Book:
    """Six orders, each so many ticks from the one before."""
    book = Book((150,) if role == "buyer" else (50,), role=role)
    for step in range(1, 7):
        book.rest(1, step, 80 + change * step, step + 3, end)
    return book


PLAYS: dict[str, list[Play]] = {
    "loss_trade": [
        play(Book().take(1, 1, 150), "clear", 0, 1),
        play(Book().take(1, 1, 151), "raised", 1, 1, THROUGH.format(151, 150)),
        play(Book().take(1, 1, 151).rest(1, 2, 135, 9), "raised", 2, 2, THROUGH.format(151, 150)),
        play(taken(19, role="seller"), "raised", 1, 1, THROUGH.format(19, 20)),
        play(shares(), "unchecked", 0, 0),
    ],
    "bubble_buy": [
        play(shares().take(1, 1, 150, quantity=9), "clear", 0, 9),
        play(shares().take(1, 1, 151, quantity=2), "clear", 1, 2, BOUGHT.format(2)),
        play(shares().take(1, 1, 151, quantity=3), "raised", 1, 3, BOUGHT.format(3), share=1.0),
        play(shares().take(1, 1, 100, quantity=13).take(1, 5, 151, quantity=3), "clear", 1, 16, BOUGHT.format(3)),
        play(shares().take(1, 1, 100, quantity=12).take(1, 5, 151, quantity=3), "raised", 1, 15, BOUGHT.format(3)),
        play(shares().take(1, 1, 151, quantity=3).take(2, 5, 151, quantity=3), "raised", 2, 6, BOUGHT.format(3)),
        play(shares().take(1, 1, 200, buys=False), "unchecked", 0, 0),
        play(Book(), "unchecked", 0, 0),
    ],
    "late_hold": [
        play(shares().take(9, 1, 20), "clear", 0, 1),
        play(shares().take(9, 1, 21), "raised", 1, 1, HELD.format(9, 1, 21, 20)),
        play(shares().take(9, 1, 21, quantity=2).take(10, 2, 15), "raised", 2, 3, HELD.format(9, 2, 21, 20), share=1.0),
        # Only what was bought after the last sale; bought before the last fifth; not played to its end; cheap.
        play(shares().take(9, 1, 21).take(9, 2, 25, buys=False), "clear", 0, 1),
        play(
            shares().take(9, 1, 25).take(9, 2, 25, buys=False).take(10, 1, 15), "raised", 1, 2,
            HELD.format(10, 1, 15, 10),
        ),
        play(shares().take(8, 1, 90), "unchecked", 0, 0),
        play(shares(9).take(9, 1, 21), "unchecked", 0, 0),
        play(shares().take(9, 1, 30).take(9, 2, 20), "raised", 1, 2, HELD.format(9, 1, 30, 20), share=0.5),
    ],
    "missed_take": [
        play(stand(2, 135), "clear", 2, 2, UNTAKEN),
        play(stand(3, 135), "raised", 3, 3, UNTAKEN),
        play(stand(6, 135, quoted=120), "raised", 6, 6, UNTAKEN),
        # 14 of 150 are less than a tenth; the unit was traded in the end.
        play(stand(3, 136), "clear", 0, 3),
        play(stand(3, 135).take(1, 9, 140), "clear", 0, 4),
        play(
            Book((50,), role="seller").step(1, 1, bid=55).step(1, 2, bid=55).step(1, 3, bid=55), "raised", 3, 3,
            "period 1: step 1 left 55 untaken with a value of 50; the unit was never traded",
        ),
    ],
    "unit_lost_late": [
        play(missed(0), "clear", 0, 3),
        play(missed(1), "raised", 1, 3, NEAR.format(110, 150)),
        play(missed(2), "raised", 2, 3, NEAR.format(110, 150)),
        # Missed by more than a tenth; a trade at the own price; beyond the value; traded; trades before the quote.
        play(missed(1, quoted=98), "clear", 0, 3),
        play(missed(1, quoted=110), "clear", 0, 3),
        play(Book((105,)).step(1, 1, "order", 100).others(1, 2, 110), "clear", 0, 1),
        play(Book((150,)).step(1, 1, "order", 100).others(1, 2, 110).take(1, 5, 110), "clear", 0, 1),
        play(Book((150,)).others(1, 1, 105).step(1, 2, "order", 100), "clear", 0, 1),
        play(
            Book((50,), role="seller").step(1, 1, "order", 100).others(1, 2, 95), "raised", 1, 1, NEAR.format(95, 50)
        ),
    ],
    # 140 is expected to earn .9 of 10; 120 earns .61 of 30.
    "contradicted_analysis": [
        play(advised(2, 140, {120: 0.59, 140: 0.9}), "clear", 0, 2),
        play(advised(2, 140, {120: 0.6, 140: 0.9}), "clear", 0, 2),
        play(advised(1, 140, {120: 0.61, 140: 0.9}), "clear", 1, 1, SPOKE.format(140, "9.0", "18.3", 120)),
        play(advised(2, 140, {120: 0.61, 140: 0.9}), "raised", 2, 2, SPOKE.format(140, "9.0", "18.3", 120), share=1.0),
        play(advised(4, 140, {120: 0.61, 140: 0.9}), "raised", 4, 4, SPOKE.format(140, "9.0", "18.3", 120)),
        play(spoken(2, 18), "raised", 2, 20, SPOKE.format(140, "9.0", "18.3", 120), share=0.1),
        play(spoken(2, 19), "clear", 2, 21, SPOKE.format(140, "9.0", "18.3", 120)),
        # No row at the price of the order, nothing asked: nothing judged.
        play(advised(2, 141, {120: 0.61, 140: 0.9}), "unchecked", 0, 0),
        play(advised(2, 140, {}), "unchecked", 0, 0),
        # Expected gains of at most 2 % of the value are no reason.
        play(advised(2, 140, {120: 0.1, 140: 0.0}), "clear", 0, 2),
        play(advised(2, 140, {120: 0.11, 140: 0.0}), "raised", 2, 2, SPOKE.format(140, "0.0", "3.3", 120)),
        play(advised(2, 60, {60: 0.5, 80: 0.5}, role="seller"), "raised", 2, 2, SPOKE.format(60, "5.0", "15.0", 80)),
        # What meets a quote trades there for certain, whatever was counted; a row that does so, too.
        play(advised(2, 140, {120: 0.61, 140: 0.1}, ask=139), "clear", 0, 2),
        play(advised(2, 140, {120: 0.61, 140: 0.1}, ask=141), "raised", 2, 2, SPOKE.format(140, "1.0", "18.3", 120)),
        play(advised(2, 100, {100: 0.1, 120: 0.0}, ask=120), "raised", 2, 2, SPOKE.format(100, "5.0", "30.0", 120)),
        play(shares(), "unchecked", 0, 0),
    ],
    "paid_up": [
        play(taken(110, 110), "unchecked", 2, 2, TOOK.format(110)),
        play(taken(110, 109, 109, 109), "clear", 1, 4, TOOK.format(110)),
        play(taken(110, 109, 109), "raised", 1, 3, TOOK.format(110)),
        play(taken(110, 110, 109, 109, 109, 109), "raised", 2, 6, TOOK.format(110)),
        play(taken(90, 91, 91, role="seller"), "raised", 1, 3, TOOK.format(90)),
        play(shares_taken([100, 90, 80], 110, 100, 100), "raised", 1, 3, FURTHER.format(110, 3)),
        play(shares_taken([200, *[100] * 5], 110, 109, 109), "raised", 1, 3, FURTHER.format(110, 5)),
        play(shares_taken([100] * 3, 90, 91, 91, buys=False), "raised", 1, 3, FURTHER.format(90, 3)),
        # Two trades tell no price, and those of another period neither.
        play(shares_taken([100, 90], 110, 110, 110), "clear", 0, 3),
        play(shares().others(1, 1, 100, 100, 100).take(2, 1, 120).take(2, 2, 120).take(2, 3, 120), "clear", 0, 3),
    ],
    "dead_quote": [
        play(dead(1, 0), "unchecked", 1, 1, BEHIND.format(79)),
        play(dead(1, 2), "clear", 1, 3, BEHIND.format(79)),
        play(dead(1, 1), "raised", 1, 2, BEHIND.format(79), share=0.5),
        play(dead(2, 2), "raised", 2, 4, BEHIND.format(79)),
        # Alone on its side it is measured by the fair price.
        play(dead(2, 0, best=None), "raised", 2, 2, BEHIND.format(79)),
        # Under a sweep; taken back; filled.
        play(
            Book().rest(1, 1, 79, 4, "lapsed", best=100).rest(1, 2, 79, 40, "cancelled", best=100).rest(1, 3, 79, 40),
            "clear", 0, 3,
        ),
        play(
            Book((50,), role="seller").rest(1, 1, 121, 40, "lapsed", best=100).rest(1, 2, 121, 40, "lapsed", best=100),
            "raised", 2, 2, BEHIND.format(121),
        ),
        play(
            shares().rest(1, 1, 79, 40, "lapsed", best=100).rest(1, 2, 80, 40, "lapsed", best=100), "raised", 1, 2,
            BEHIND.format(79),
        ),
    ],
    "churn": [
        play(churned(5, 0), "unchecked", 5, 5, BACK),
        play(churned(3, 4), "clear", 3, 7, BACK),
        play(churned(3, 3), "raised", 3, 6, BACK, share=0.5),
        play(churned(6, 6), "raised", 6, 12, BACK),
        # Each is replaced by a better one, but for the last; a seller's better price is the lower one.
        play(replaced(1), "clear", 1, 6, "period 1: order 6 at 86 stood 3 steps and was taken back"),
        play(replaced(-1, role="seller"), "clear", 1, 6, "period 1: order 6 at 74 stood 3 steps and was taken back"),
        play(replaced(-1, "lapsed"), "clear", 0, 6),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("mode", "expected"), [*plays_of(MODES, PLAYS)])
def test_a_mode_is_raised_from_its_threshold_on(mode: str, expected: Play) -> None:
    check_play(MODES, mode, expected)


def test_an_order_through_the_value_is_a_breach_traded_or_not() -> None:
    book = Book(periods=2).take(1, 1, 151).rest(2, 1, 155, 9, "lapsed").step(2, 3, "order", 100)
    seen = value_breach(book.trader)
    assert [(case.seq, case.fact) for case in seen.cases] == [(101, "order"), (201, "order")]
    assert seen.of == 3
    assert [case.because for case in seen.cases] == [
        "period 1: ordered at 151 with a value of 150",
        "period 2: ordered at 155 with a value of 150",
    ]


def test_a_period_is_idle_without_an_order_although_one_would_have_gained() -> None:
    book = Book(periods=3).step(1, 1, ask=120).step(1, 2, ask=110)
    book.step(2, 1, ask=120).step(2, 2, "order", 90, ask=120).step(3, 1, ask=150)
    seen = idle_periods(book.trader)
    assert [(case.seq, case.because) for case in seen.cases] == [
        (102, "period 1: no order, although 110 stood with a value of 150")
    ]
    assert seen.of == 3


def test_an_order_that_follows_a_slip_is_not_off_because_the_slip_was() -> None:
    book = Book().step(1, 1, "order", 120).step(1, 2, "order", 12).step(1, 3, "order", 120).step(1, 4)
    found = [(scale.seq, scale.value, scale.seen, scale.about) for scale in scales(book.trader)]
    assert found == [(102, 12, 120, "step 2"), (102, 12, 150, "step 2")]


def test_an_order_for_the_quote_that_it_takes_with_a_gain_is_no_slip() -> None:
    def seen(price: int, ask: int | None) -> list[float]:
        return [scale.seen for scale in scales(Book((150,)).step(1, 1, "order", price, ask=ask).trader)]

    assert seen(15, 15) == []
    assert seen(15, 16) == seen(15, None) == [150]
    # Taken at a loss it may be one.
    assert seen(1500, 1500) == [150]


def test_the_last_fifth_of_a_short_episode_is_its_last_period() -> None:
    book = shares(4).take(3, 1, 99).take(4, 1, 98)
    book.game.scenario = _scenario(4)
    seen = MODES.detect("late_hold", book.trader)
    assert ([case.seq for case in seen.cases], seen.of) == ([401], 1)


def test_a_step_with_an_order_is_the_fact_of_that_order() -> None:
    passed, quoted = (MODES.detect("missed_take", stand(1, 135, quoted=price).trader) for price in (None, 120))
    assert [case.fact for seen in (passed, quoted) for case in seen.cases] == [None, "order"]
