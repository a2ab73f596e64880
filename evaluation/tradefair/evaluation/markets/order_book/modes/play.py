"""An order book episode as outcomes and failure modes read it: steps with the book that stood, fills, what was left.

All orders are replayed here through a list that is scanned for the best order, not through the market's own book: a
fill that differs from it is a violation of priority, and none is expected.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeAlias

from tradefair.contract import SeatId
from tradefair.evaluation.modes.diagnosis import Case
from tradefair.evaluation.modes.table import Fact
from tradefair.evaluation.read.objects import mapping
from tradefair.evaluation.read.rounds import Did, Rounds, read_rounds
from tradefair.evaluation.reading import once_per_trace
from tradefair.order_book.answers.results import FillEstimate, OpeningFacts, OrderFact, PeriodFacts
from tradefair.order_book.model import OrderBookScenario
from tradefair.tracestore import Trace

_MAX_PERIODS = 100
_ESTIMATE = "estimate_fill"
# What ends a step: an order, a pass, or a lapse. An order that is taken back does not.
_ENDS = ("submit_order", "pass_turn", None)
_TOOLS = (*_ENDS, "cancel_order", _ESTIMATE)
_Done: TypeAlias = tuple[SeatId, Did]


class Filled(NamedTuple):
    """One fill: units that changed hands at a price; `order` rested, `taken_by` came last. `values` are by unit."""

    period: int
    step: int
    price: int
    quantity: int
    buyer: SeatId
    seller: SeatId
    taker: SeatId
    order: int
    values: Mapping[SeatId, tuple[int, ...]]


class Advice(NamedTuple):
    """One row of `estimate_fill`: its event, and the probability that an order at the price would trade."""

    seq: int
    side: str
    price: int
    probability: float


class Step(NamedTuple):
    """A seat's step: the book before it, its next unit's value, what it did, and the event of that.

    `advice`: what `estimate_fill` had told it in the same step before it acted.
    """

    period: int
    step: int
    seat: SeatId
    seq: int | None
    act: str
    price: int | None
    best_bid: int | None
    best_ask: int | None
    value: int | None
    unit: int
    fills: tuple[Filled, ...]
    advice: tuple[Advice, ...] = ()


class Quote(NamedTuple):
    """An order that rested: from which step to which, why it ended, and the best other price of its side then."""

    period: int
    seat: SeatId
    side: str
    order: int
    price: int
    placed: int
    ended: int
    end: str
    seq: int | None
    best: int | None
    filled: tuple[Filled, ...]


class Period(NamedTuple):
    """A closed period."""

    number: int
    seq: int
    steps: int
    dividend: int | None
    profit: Mapping[SeatId, int]
    cash: Mapping[SeatId, int]
    shares: Mapping[SeatId, int]


@dataclass
class Game:
    """A read episode; `problem` says why nothing can be judged."""

    seats: Sequence[SeatId] = ()
    roles: Mapping[SeatId, str] = field(default_factory=dict[SeatId, str])
    opening: OpeningFacts | None = None
    periods: list[Period] = field(default_factory=list[Period])
    steps: list[Step] = field(default_factory=list[Step])
    quotes: list[Quote] = field(default_factory=list[Quote])
    fills: list[Filled] = field(default_factory=list[Filled])
    spreads: list[int] = field(default_factory=list[int])
    depths: list[int] = field(default_factory=list[int])
    priority_violations: int = 0
    scenario: OrderBookScenario | None = None
    problem: str | None = None

    @property
    def asset(self) -> bool:
        """Whether shares are traded."""
        return self.scenario is not None and self.scenario.kind == "asset"

    @property
    def rules(self) -> OrderBookScenario:
        """The scenario of a game that can be judged. Raises ValueError for any other."""
        if self.scenario is None:
            raise ValueError("the scenario cannot be read")
        return self.scenario

    @cached_property
    def p_star(self) -> float | None:
        """The middle of the competitive interval; None for shares, and where nothing can gain."""
        opening = self.opening
        if opening is None or opening.p_lo is None or opening.p_hi is None:
            return None
        return (opening.p_lo + opening.p_hi) / 2

    def trader(self, seat: SeatId) -> Trader:
        """The episode as one seat lived it."""
        if seat not in self._traders:
            self._traders[seat] = Trader(self, seat)
        return self._traders[seat]

    @cached_property
    def _traders(self) -> dict[SeatId, Trader]:
        return {}


class Trader:
    """One seat's steps, quotes and fills; `sign` is 1 for a buyer and -1 for a seller."""

    def __init__(self, game: Game, seat: SeatId) -> None:
        self.game, self.seat = game, seat
        self.sign = -1 if game.roles.get(seat) == "seller" else 1
        self.steps = [step for step in game.steps if step.seat == seat]
        self.quotes = [quote for quote in game.quotes if quote.seat == seat]
        self.fills = [fill for fill in game.fills if seat in (fill.buyer, fill.seller)]

    def slack(self, value: float, price: float) -> float:
        """What trading at `price` earns on a unit of `value`."""
        return self.sign * (value - price)

    def turn(self, fill: Filled) -> int:
        """1 where the seat bought in a fill, -1 where it sold."""
        return 1 if fill.buyer == self.seat else -1

    def opposite(self, step: Step) -> int | None:
        """The best quote that the seat could have taken in a step."""
        return step.best_ask if self.sign > 0 else step.best_bid

    def inside(self, step: Step) -> float:
        """What taking the best quote would have left of a step's value; less than nothing without a unit or a quote."""
        quote = self.opposite(step)
        return -math.inf if step.value is None or quote is None else self.slack(step.value, quote)

    def traded(self, step: Step) -> bool:
        """Whether the unit of a step was traded before its period closed."""
        return step.unit < self.traded_units.get(step.period, 0)

    @cached_property
    def traded_units(self) -> dict[int, int]:
        """Units of the schedule that were traded, by period."""
        counted: dict[int, int] = {}
        for fill in self.fills:
            counted[fill.period] = counted.get(fill.period, 0) + fill.quantity
        return counted

    def event_of(self, fill: Filled) -> int | None:
        """The event of the own order in a fill: the one that took, or the one that rested."""
        if fill.taker == self.seat:
            return next((s.seq for s in self.steps if (s.period, s.step) == (fill.period, fill.step)), None)
        return next((quote.seq for quote in self.quotes if quote.order == fill.order), None)

    def case(
        self, seq: int | None, period: int, because: str, *, amount: float = 1.0, fact: Fact | None = None
    ) -> Case:
        """A case: the event that caused it, shown by the closure of its period. `fact`: None is that of its mode.

        It is about a step: a period holds many decisions, and two findings of it need not be about one of them.
        """
        closed = next((row.seq for row in self.game.periods if row.number == period), None)
        said = f"period {period}: {because}"[:160]
        step = self._steps_of.get(seq)
        about = None if step is None else f"step {step}"
        return Case(seq or closed or 1, period, said, shown_by=closed, about=about, amount=amount, fact=fact)

    def filled(self, fill: Filled, because: str) -> Case:
        """A case of the own order in a fill; it weighs the fill's units."""
        return self.case(self.event_of(fill), fill.period, because, amount=fill.quantity)

    @cached_property
    def _steps_of(self) -> dict[int | None, int]:
        """The step of each of the seat's events."""
        return {step.seq: step.step for step in self.steps if step.seq is not None}


@once_per_trace
def read_game(trace: Trace) -> Game:
    """Read an opened trace once, however many modes and figures ask; what does not fit is skipped."""
    read = read_rounds(trace, OrderBookScenario, PeriodFacts, (_ESTIMATE,))
    if read.scenario is None:
        return Game(problem=read.problem)
    game = Game(list(read.reading.conduct), dict(read.reading.roles), scenario=read.scenario)
    steps, advice = _steps(read), _advice(read)
    for row in read.closed[:_MAX_PERIODS]:
        closed = row.facts
        game.opening = game.opening or closed.opening
        if game.opening is None:
            break
        told = (closed.steps, closed.dividend, closed.profit, closed.cash, closed.shares)
        game.periods.append(Period(closed.period, row.seq, *told))
        _Replay(game, closed, steps, advice).run()
    if game.opening is None:
        game.problem = "no closed period tells schedules or endowments"
    return game


def _steps(read: Rounds[OrderBookScenario, PeriodFacts]) -> dict[tuple[int, int], list[_Done]]:
    """Accepted acts, estimates and lapses by period and step: the closure that ends a step names it."""
    done = [(seat, did) for seat, rows in read.by_seat.items() for did in rows if did.accepted and did.tool in _TOOLS]
    done.sort(key=lambda row: row[1].seq)
    found: dict[tuple[int, int], list[_Done]] = {}
    begun = 0
    for end in read.ends:
        ended = bisect_left(done, end.seq, begun, key=lambda row: row[1].seq)
        step = mapping(end.public.get("last_step", end.public)).get("step")
        if isinstance(step, int) and any(did.tool != _ESTIMATE for _, did in done[begun:ended]):
            found[end.round, step] = done[begun:ended]
        begun = ended
    return found


def _advice(read: Rounds[OrderBookScenario, PeriodFacts]) -> dict[int, list[Advice]]:
    """The rows of each estimate that tell a probability, by its event."""
    return {
        did.seq: [
            Advice(did.seq, answer.side, row.price, row.probability)
            for row in answer.rows
            if row.probability is not None and 0 <= row.probability <= 1
        ]
        for seat in read.by_seat
        for did, answer in read.answers(seat, None, _ESTIMATE, FillEstimate)
    }


@dataclass
class _Resting:
    fact: OrderFact
    left: int
    seq: int | None
    filled: list[Filled] = field(default_factory=list[Filled])


class _Replay:
    """One period's messages through a scanned list: steps, quotes, fills, violations."""

    def __init__(
        self,
        game: Game,
        closed: PeriodFacts,
        done: Mapping[tuple[int, int], list[_Done]],
        advice: Mapping[int, list[Advice]],
    ) -> None:
        assert game.opening is not None
        self._game, self._closed, self._done, self._advice = game, closed, done, advice
        self._values = game.opening.values
        self._used = dict.fromkeys(game.seats, 0)
        self._book: dict[int, _Resting] = {}
        self._clear = game.rules.after_trade == "clear"

    def run(self) -> None:
        by_step: dict[int, list[OrderFact]] = {}
        for message in self._closed.messages:
            by_step.setdefault(message.step, []).append(message)
        period = self._closed.period
        steps = sorted({*by_step, *(step for number, step in self._done if number == period)})
        for step in steps:
            self._step(step, by_step.get(step, []), self._done.get((period, step), []))
        for resting in self._book.values():
            self._close(resting, self._closed.steps + 1, "lapsed")

    def _step(self, number: int, messages: Sequence[OrderFact], done: Sequence[_Done]) -> None:
        game = self._game
        bid, ask = self._best("buy"), self._best("sell")
        if bid is not None and ask is not None:
            game.spreads.append(ask - bid)
            game.depths.append(self._depth("buy", bid) + self._depth("sell", ask))
        # Under ticks several seats act in one step.
        seats = dict.fromkeys([*(seat for seat, did in done if did.tool != _ESTIMATE), *(row.seat for row in messages)])
        for seat in (seat for seat in seats if seat in self._used):
            own = [message for message in messages if message.seat == seat]
            did = [did for who, did in done if who == seat]
            seq = next((act.seq for act in reversed(did) if act.tool in _ENDS), None)
            told = [row for look in did if seq is not None and look.seq < seq for row in self._advice.get(look.seq, ())]
            game.steps.append(self._seat_step(number, seat, own, seq)._replace(advice=tuple(told)))

    def _seat_step(self, number: int, seat: SeatId, messages: Sequence[OrderFact], seq: int | None) -> Step:
        """What one seat's messages do to the book; `seq` is the event of its act."""
        period, unit = self._closed.period, self._used[seat]
        units = self._values.get(seat, [])
        value = units[unit] if unit < len(units) else None
        before = (self._best("buy"), self._best("sell"))
        fills = [fill for message in messages for fill in self._carried_out(message, seq)]
        orders = [message for message in messages if message.act != "cancel"]
        act, price = ("order", orders[-1].price) if orders else ("pass", None)
        return Step(period, number, seat, seq, act, price, *before, value, unit, tuple(fills))

    def _carried_out(self, message: OrderFact, seq: int | None) -> list[Filled]:
        if message.act == "cancel":
            gone = self._book.pop(message.order, None)
            if gone is not None:
                self._close(gone, message.step, "cancelled")
            return []
        if message.act == "reduce":
            kept = self._book.get(message.order)
            if kept is not None:
                kept.left -= message.quantity
            return []
        return self._order(message, seq)

    def _order(self, message: OrderFact, seq: int | None) -> list[Filled]:
        game, left = self._game, message.quantity
        sign = 1 if message.side == "buy" else -1
        fills: list[Filled] = []
        expected: list[tuple[int, int, int]] = []
        while left:
            meets = [
                row
                for row in self._book.values()
                if row.fact.side != message.side and sign * (message.price - row.fact.price) >= 0
            ]
            if not meets:
                break
            front = min(meets, key=lambda row: (sign * row.fact.price, row.fact.order))
            traded = min(left, front.left)
            expected.append((front.fact.order, front.fact.price, traded))
            left -= traded
            fill = self._filled(message, front, traded)
            fills.append(fill)
            front.filled.append(fill)
            front.left -= traded
            if not front.left:
                del self._book[front.fact.order]
                self._close(front, message.step, "filled")
        game.fills += fills
        # Each fill that is missing or another counts once.
        game.priority_violations += len(set(expected) ^ {(row[0], row[1], row[2]) for row in message.fills})
        if fills and self._clear:
            for row in self._book.values():
                self._close(row, message.step, "lapsed")
            self._book.clear()
        elif left and message.rest:
            self._book[message.order] = _Resting(message, left, seq)
        return fills

    def _filled(self, message: OrderFact, front: _Resting, quantity: int) -> Filled:
        pair = (message.seat, front.fact.seat) if message.side == "buy" else (front.fact.seat, message.seat)
        values: dict[SeatId, tuple[int, ...]] = {}
        for seat in pair:
            used = self._used.get(seat, 0)
            values[seat] = tuple(self._values.get(seat, [])[used : used + quantity])
            self._used[seat] = used + quantity
        place = (self._closed.period, message.step, front.fact.price, quantity)
        return Filled(*place, *pair, message.seat, front.fact.order, values)

    def _close(self, resting: _Resting, step: int, end: str) -> None:
        fact = resting.fact
        self._game.quotes.append(
            Quote(
                self._closed.period,
                fact.seat,
                fact.side,
                fact.order,
                fact.price,
                fact.step,
                step,
                end,
                resting.seq,
                self._best(fact.side, but=fact.order),
                tuple(resting.filled),
            )
        )

    def _best(self, side: str, *, but: int = 0) -> int | None:
        prices = [row.fact.price for row in self._book.values() if row.fact.side == side and row.fact.order != but]
        return (max(prices) if side == "buy" else min(prices)) if prices else None

    def _depth(self, side: str, price: int) -> int:
        return sum(row.left for row in self._book.values() if row.fact.side == side and row.fact.price == price)
