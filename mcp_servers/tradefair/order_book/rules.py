"""The rules: one seat acts per step, every order meets the book as it stands. Order book page, sections 1, 3 and 6."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from pydantic import JsonValue

from tradefair.contract import (
    Chance,
    Clock,
    Closure,
    EndReason,
    EpisodeOver,
    HarnessFailure,
    IllegalAction,
    LapseReason,
    ScenarioError,
    SeatId,
    SeatSpec,
)
from tradefair.contract.chain import HASH_SIZE, canonical
from tradefair.contract.chance import encode_key
from tradefair.order_book import views
from tradefair.order_book.answers.results import (
    CancelReceipt,
    EndingFacts,
    Filled,
    OpeningFacts,
    OrderFact,
    OrderReceipt,
    PassReceipt,
    PeriodClosed,
    PeriodFacts,
    RulesView,
    TurnPart,
)
from tradefair.order_book.engine.book import Fill, Order, Side, opposite
from tradefair.order_book.model import Message, OrderBookScenario, Shout, Streams, Trade
from tradefair.order_book.state import State
from tradefair.trading.clearing import Benchmarks, benchmarks

ROUNDS_COMPLETED: EndReason = "terminated:rounds_completed"
CLOCK_TICK = "clock_tick"
PHASE = "step"
_MOST_ATTEMPTS = 10_000


class HiddenTruth(NamedTuple):
    """What privileged seats are given."""

    market: OrderBook


class Placement(NamedTuple):
    """What became of an order: its number if it rests (None: it does not), fills, what rests, profit of the fills.

    `through`: its limit is through the value of the next unit.
    """

    order: int | None
    fills: list[Fill]
    resting: int
    profit: int
    through: bool


class OrderBook:
    """A live market; `state` is read by the views and changed here only.

    Seats are B1.. and S1.., or T1.. of an asset market. An action's function changes the book at once.
    """

    def __init__(self, scenario: OrderBookScenario, seed: int) -> None:
        self.scenario, self.seed = scenario, seed
        self._chance = Chance(seed)
        roles = scenario.roster
        self.seats: dict[SeatId, SeatSpec] = {seat: SeatSpec(seat, role) for seat, role in roles.items()}
        values, self.benchmarks, self.attempts = _schedules(scenario, self._chance)
        endowed = _endowments(scenario)
        self.state = State(
            scenario,
            roles,
            values,
            {seat: cash for seat, (cash, _) in endowed.items()},
            {seat: shares for seat, (_, shares) in endowed.items()},
            endowed,
            used=dict.fromkeys(roles, 0),
            profit=dict.fromkeys(roles, 0),
        )
        self.clock = Clock(1, PHASE, 0)
        self.terminated: EndReason | None = None
        self.read_marks: dict[SeatId, int] = {}
        self._free = scenario.clock == "free"
        self._roster = list(roles)
        self._keys = [encode_key(name) for name in roles]
        self._news = dict.fromkeys(roles, 0)
        self._history = hashlib.blake2b(digest_size=HASH_SIZE)
        self._hashed = (0, 0)
        self._order: Sequence[SeatId] = ()
        # Period 0 is none: no sweep has the same draws.
        self._ranks = {name: place for place, name in enumerate(self._sweep_order(0, 0))}
        self._open_period()

    # --- who is asked -------------------------------------------------------------------------------------------------

    def awaited(self) -> frozenset[SeatId]:
        """The seat whose step it is; none under ticks, after its act, and after the end."""
        turn = self.state.turn
        return frozenset() if turn is None or self.terminated is not None else frozenset({turn})

    def may_act(self, seat: SeatId) -> bool:
        """Whether the seat may submit, cancel or pass now."""
        return self.terminated is None and (self._free or self.state.turn == seat)

    def lapse(self, seat: SeatId, reason: LapseReason) -> str:
        """A silent seat passes. HarnessFailure for a seat that is not awaited."""
        if seat not in self.awaited():
            raise HarnessFailure(f"{seat} cannot lapse ({reason}): it is not awaited")
        self.state.turn = None
        return "passes"

    def wants_turn(self, seat: SeatId) -> bool:
        """Under ticks: whether a tick has come since the seat's last act."""
        return self.terminated is None and self._news[seat] < self.clock.revision + 1

    def turn_rank(self, seat: SeatId) -> int:
        """Under ticks: the place of a scripted seat among those that act in a tick, drawn once for the episode."""
        return self._ranks[seat]

    # --- actions ------------------------------------------------------------------------------------------------------

    def submit(
        self, seat: SeatId, side: Side, price: int, quantity: int = 1, *, rest: bool = True, guard: int | None = None
    ) -> OrderReceipt:
        """`place`, with a receipt that tells what became of the order."""
        placed = self.place(seat, side, price, quantity, rest=rest, guard=guard)
        return OrderReceipt(
            order=placed.order,
            fills=[Filled(price=fill.price, quantity=fill.quantity) for fill in placed.fills],
            resting=placed.resting,
            profit=placed.profit,
            warning="through_value" if placed.through else None,
        )

    def place(
        self, seat: SeatId, side: Side, price: int, quantity: int = 1, *, rest: bool = True, guard: int | None = None
    ) -> Placement:
        """Submit an order; it trades at once as far as it meets the book, and ends the step.

        Raises EpisodeOver, or IllegalAction: stale_round, wrong_phase, price_off_grid, quantity_above_max, wrong_side,
        no_units, insufficient_funds, insufficient_shares, through_value, too_many_orders, own_order.
        """
        state = self.state
        self._require_turn(seat, guard)
        self._check_terms(seat, side, price, quantity)
        own = state.book.of(seat)
        # With one order a seat it is the only one that rests, and the new one takes its place.
        replaced = own[0] if own and self.scenario.one_order else None
        if replaced is not None:
            own = []
            # A smaller quantity of the same order keeps its place.
            if (replaced.side, replaced.price) == (side, price) and rest and quantity <= replaced.quantity:
                return self._reduced(seat, replaced, quantity)
        self._check_backing(seat, side, price, quantity, own)
        if replaced is not None:
            self._cancelled(seat, replaced.number)
        through = _through(state.unit_value(seat), side, price)
        number, fills = state.book.submit(seat, side, price, quantity, rest=rest)
        profit = 0
        for fill in fills:
            profit += self._trade(seat, side, fill)
        self._tell(seat, "order", number, side, price, quantity, rest=rest, fills=fills)
        state.shouts.append(Shout(len(state.shouts) + 1, seat, side, price, bool(fills)))
        if fills and self.scenario.after_trade == "clear":
            state.book.clear()
        self._end_step(seat)
        resting = state.book.resting(number)
        if resting is None:
            return Placement(None, fills, 0, profit, through)
        return Placement(number, fills, resting.quantity, profit, through)

    def _reduced(self, seat: SeatId, order: Order, quantity: int) -> Placement:
        gone = order.quantity - quantity
        self.state.book.reduce(order.number, quantity)
        self._tell(seat, "reduce", order.number, order.side, order.price, gone, rest=True, fills=[])
        self._end_step(seat)
        return Placement(order.number, [], quantity, 0, False)

    def cancel(self, seat: SeatId, order: int) -> CancelReceipt:
        """Take an own order off the book; the step goes on. EpisodeOver, or IllegalAction: wrong_phase, unknown_id."""
        self._require_turn(seat, None)
        resting = self.state.book.resting(order)
        # Somebody else's order reads like one that does not exist.
        if resting is None or resting.owner != seat:
            raise IllegalAction("unknown_id", f"you have no resting order {order}", hint="view_my_orders")
        return CancelReceipt(order=order, quantity=self._cancelled(seat, order))

    def end_step(self, seat: SeatId) -> PassReceipt:
        """Pass. Raises EpisodeOver, or IllegalAction: wrong_phase."""
        self._require_turn(seat, None)
        self._end_step(seat)
        return PassReceipt(period=self.state.period, step=self.state.step)

    def _end_step(self, seat: SeatId) -> None:
        if not self._free:
            self.state.turn = None
        self._news[seat] = self.clock.revision + 1

    def _require_turn(self, seat: SeatId, guard: int | None) -> None:
        if self.terminated is not None:
            raise EpisodeOver(self.terminated)
        if guard is not None and guard != self.state.period:
            raise IllegalAction(
                "stale_round",
                f"period {guard} is not open; the open period is {self.state.period}",
                hint=f"submit_order with period={self.state.period}, or without period",
            )
        if not self.may_act(seat):
            raise IllegalAction("wrong_phase", "it is not your step", hint="call await_turn")

    def _check_terms(self, seat: SeatId, side: Side, price: int, quantity: int) -> None:
        scenario = self.scenario
        only = self.state.side_of(seat)
        if only is not None and side != only:
            raise IllegalAction("wrong_side", f"a {self.state.roles[seat]} may only {only}", hint=f"side = {only}")
        if price > scenario.price_max:
            most = scenario.price_max
            raise IllegalAction("price_off_grid", f"{price} is above price_max, {most}", hint=f"1 to {most}")
        if quantity > scenario.max_quantity:
            most = scenario.max_quantity
            raise IllegalAction(
                "quantity_above_max", f"{quantity} is more than an order may have, {most}", hint=f"1 to {most}"
            )

    def _check_units(self, seat: SeatId, side: Side, price: int, quantity: int, held: int) -> None:
        """Units of the seat's schedule; `held` are in its resting orders."""
        state = self.state
        if quantity + held > state.left(seat):
            raise IllegalAction(
                "no_units",
                f"your schedule has {state.left(seat)} units left, {held} of them in orders",
                hint="fewer units, or cancel_order first; schedules begin afresh each period",
            )
        if self.scenario.budget_constraint:
            limit = state.unit_value(seat, held + quantity - 1)
            if _through(limit, side, price):
                raise IllegalAction(
                    "through_value", f"{price} is through your value of {limit}", hint="quote within it"
                )

    def _check_backing(self, seat: SeatId, side: Side, price: int, quantity: int, own: Sequence[Order]) -> None:
        """Units, cash or shares behind the order; `own` are the seat's resting orders that stay."""
        state = self.state
        if len(own) >= self.scenario.max_orders:
            raise IllegalAction(
                "too_many_orders", f"{len(own)} of your orders rest; as many are allowed", hint="cancel one"
            )
        held = sum(order.quantity for order in own if order.side == side) if own else 0
        if not state.asset:
            self._check_units(seat, side, price, quantity, held)
        elif side == "buy":
            free = state.cash[seat] - sum(order.quantity * order.price for order in own if order.side == "buy")
            if price * quantity > free:
                raise IllegalAction(
                    "insufficient_funds",
                    f"{price * quantity} is needed; {free} of your cash is free",
                    hint="a lower price, fewer shares, or cancel_order first",
                )
        elif quantity + held > state.shares[seat]:
            raise IllegalAction(
                "insufficient_shares",
                f"{state.shares[seat] - held} of your shares are free",
                hint="fewer shares, or cancel_order first",
            )
        for order in own:
            crosses = order.side != side and (order.price <= price if side == "buy" else order.price >= price)
            if crosses and state.book.ahead(order.number) < quantity:
                raise IllegalAction(
                    "own_order", f"it would meet your own order {order.number}", hint="cancel that one first"
                )

    def _cancelled(self, seat: SeatId, number: int) -> int:
        state = self.state
        resting = state.book.resting(number)
        assert resting is not None
        side, price = resting.side, resting.price
        quantity = state.book.cancel(number)
        self._tell(seat, "cancel", number, side, price, quantity, rest=True, fills=[])
        return quantity

    def _trade(self, seat: SeatId, side: Side, fill: Fill) -> int:
        """Move goods and money of one fill; what it earned the order's owner."""
        state = self.state
        earned = [0, 0]
        sides: tuple[tuple[SeatId, Side], ...] = ((seat, side), (fill.owner, opposite(side)))
        for at, (who, turned) in enumerate(sides):
            earned[at] = state.gain(who, turned, fill.price, fill.quantity)
            sign = 1 if turned == "buy" else -1
            if state.asset:
                state.cash[who] -= sign * fill.price * fill.quantity
                state.shares[who] += sign * fill.quantity
            else:
                state.used[who] += fill.quantity
                state.profit[who] += earned[at]
        number = len(state.trades) + 1
        state.trades.append(
            Trade(number, state.period, state.step, fill.price, fill.quantity, side, seat, fill.owner, fill.order)
        )
        return earned[0]

    def _tell(
        self,
        seat: SeatId,
        act: str,
        number: int,
        side: Side,
        price: int,
        quantity: int,
        *,
        rest: bool,
        fills: Sequence[Fill],
    ) -> None:
        met = tuple((fill.order, fill.price, fill.quantity) for fill in fills) if fills else ()
        self.state.messages.append(Message(self.state.step, seat, act, number, side, price, quantity, rest, met))  # pyright: ignore[reportArgumentType]

    # --- closing ------------------------------------------------------------------------------------------------------

    def advance(self) -> Closure:
        """Close the step; the last one of a period closes the period. HarnessFailure while a seat is awaited."""
        if self.terminated is not None or self.awaited():
            raise HarnessFailure("a step closes when no seat is awaited and the episode is not over")
        state = self.state
        closed = views.step_closed(state)
        state.said, state.told = len(state.messages), len(state.trades)
        if self._next_step():
            self._move_clock()
            return Closure("phase", closed)
        dividend = self._pay_dividend()
        public = PeriodClosed(last_step=closed, summary=views.period_row(state, state.period))
        facts = PeriodFacts(
            period=state.period,
            messages=[OrderFact.model_validate(message._asdict()) for message in state.messages],
            steps=state.steps,
            asked=list(state.asked),
            dividend=dividend,
            profit=dict(state.profit),
            cash=dict(state.cash),
            shares=dict(state.shares),
            opening=self._opening() if state.period == 1 else None,
        )
        self._remember()
        self._close_period()
        return Closure("round", public, facts)

    def close_step(self) -> None:
        """`advance` without its closure, for play by rules alone."""
        state = self.state
        if self.terminated is not None or state.turn is not None:
            raise HarnessFailure("a step closes when no seat is awaited and the episode is not over")
        state.said, state.told = len(state.messages), len(state.trades)
        if self._next_step():
            self._move_clock()
        else:
            self._pay_dividend()
            self._remember()
            self._close_period()

    def _pay_dividend(self) -> int | None:
        state, scenario = self.state, self.scenario
        if not state.asset:
            return None
        kinds = scenario.dividends
        paid = kinds[int(len(kinds) * self._chance.uniform(Streams.DIVIDEND, state.period))]
        state.dividends.append(paid)
        for seat, shares in state.shares.items():
            state.cash[seat] += paid * shares
        return paid

    def _close_period(self) -> None:
        state = self.state
        state.book.clear()
        state.messages.clear()
        state.said = 0
        if state.period >= self.scenario.periods:
            self.terminated = ROUNDS_COMPLETED
            state.turn = None
            self._move_clock()
            return
        state.period += 1
        self._move_clock()
        self._open_period()

    def _move_clock(self) -> None:
        self.clock = Clock(self.state.period, PHASE, self.clock.revision + 1)

    def _open_period(self) -> None:
        state = self.state
        state.used = dict.fromkeys(self.seats, 0)
        state.step, state.turn = 0, None
        state.steps = self.scenario.steps_per_period
        state.asked.clear()
        self._next_step()

    def _next_step(self) -> bool:
        """Move on to the next step in which a seat can act; False at the end of the period."""
        state = self.state
        while state.step < state.steps:
            state.step += 1
            seat = None if self._free else self._asked(state.step)
            if seat is not None:
                acts = state.can_act(seat)
                state.asked.append(seat if acts else None)
                if not acts:
                    continue
            state.turn = seat
            return True
        return False

    def _asked(self, step: int) -> SeatId:
        """Whose step this is."""
        period, count = self.state.period, len(self.seats)
        if self.scenario.arrival == "random":
            return self._roster[int(count * self._chance.uniform(Streams.ARRIVAL, period, step))]
        sweep, place = divmod(step - 1, count)
        if place == 0 or not self._order:
            self._order = self._sweep_order(period, sweep + 1)
        return self._order[place]

    def _sweep_order(self, period: int, sweep: int) -> Sequence[SeatId]:
        seats = self._roster
        if self.scenario.arrival == "rotation":
            first = (sweep - 1) % len(seats)
            return [*seats[first:], *seats[:first]]
        drawn = self._chance.under(Streams.ARRIVAL, period, sweep).each(self._keys)
        return [seat for _, seat in sorted(zip(drawn, seats, strict=True))]

    def feed(self, source: str, payload: JsonValue) -> None:
        """Accept a tick of the free clock, at which the kernel closes a step. IllegalAction wrong_input otherwise."""
        if source != CLOCK_TICK or not self._free:
            raise IllegalAction("wrong_input", "the order book takes clock ticks, under the free clock only")

    # --- what the kernel asks -----------------------------------------------------------------------------------------

    def rules_view(self, seat: SeatId) -> RulesView:
        """The rules; equal for all seats."""
        return views.rules(self.scenario)

    def turn_view(self, seat: SeatId) -> TurnPart:
        """Step, best quotes and the last price."""
        return views.turn_part(self.state)

    def code_constants(self, seat: SeatId) -> dict[str, JsonValue]:
        """SEAT, ROLE, PRICE_MAX and PERIODS."""
        role = self.state.roles[seat]
        return {"SEAT": seat, "ROLE": role, "PRICE_MAX": self.scenario.price_max, "PERIODS": self.scenario.periods}

    def news_mark(self, seat: SeatId) -> int:
        """The number of closures: nothing else reaches a seat."""
        return self.clock.revision

    def privileged(self) -> HiddenTruth:
        """The market itself."""
        return HiddenTruth(self)

    def ending_facts(self) -> EndingFacts:
        """The final ledger."""
        state = self.state
        closed = state.period if self.terminated == ROUNDS_COMPLETED else state.period - 1
        return EndingFacts(
            periods_closed=closed,
            profit=dict(state.profit),
            cash=dict(state.cash),
            shares=dict(state.shares),
            opening=self._opening(),
        )

    def _opening(self) -> OpeningFacts:
        state, possible = self.state, self.benchmarks
        return OpeningFacts(
            values={seat: list(units) for seat, units in state.values.items()},
            endowments=dict(state.endowed),
            max_surplus=possible.max_surplus,
            q_star=possible.trades,
            p_lo=possible.p_lo,
            p_hi=possible.p_hi,
            attempts=self.attempts,
        )

    def _remember(self) -> None:
        """Enter the trades and messages of a period into the running hash."""
        state = self.state
        # Encoded as lists: a named tuple and a list have the same bytes.
        self._history.update(canonical([[*trade] for trade in state.trades[self._hashed[0] :]]))
        self._history.update(canonical([[*message] for message in state.messages]))
        self._hashed = (len(state.trades), 0)

    def digest(self) -> bytes:
        """BLAKE2b-256 of seed, schedules, ledger, the book in its one order, the open period and all before it."""
        state = self.state
        now = [
            self.seed,
            self.clock.round,
            self.clock.revision,
            state.step,
            state.turn,
            {seat: list(units) for seat, units in state.values.items()},
            state.cash,
            state.shares,
            state.used,
            state.profit,
            [[order.number, order.owner, order.side, order.price, order.quantity] for order in state.book.orders()],
            state.book.count,
            [[*message] for message in state.messages],
            [[*trade] for trade in state.trades[self._hashed[0] :]],
            state.dividends,
            self.read_marks,
            self._news,
            self.terminated,
        ]
        return hashlib.blake2b(self._history.digest() + canonical(now), digest_size=HASH_SIZE).digest()

    def check(self) -> None:
        """The conservation laws of section 6."""
        state = self.state
        bid, ask = state.book.best("buy"), state.book.best("sell")
        assert bid is None or ask is None or bid < ask
        self._check_prices()
        if state.asset:
            paid = sum(state.dividends) * sum(shares for _, shares in state.endowed.values())
            assert sum(state.cash.values()) == sum(cash for cash, _ in state.endowed.values()) + paid
            assert sum(state.shares.values()) == sum(shares for _, shares in state.endowed.values())
        for seat in self.seats:
            if state.asset:
                assert 0 <= state.reserved(seat, "buy") <= state.cash[seat]
                assert 0 <= state.reserved(seat, "sell") <= state.shares[seat]
            else:
                side = state.side_of(seat)
                assert side is not None
                assert state.used[seat] + state.reserved(seat, side) <= len(state.values[seat])
        sides = {
            side: sum(state.used[seat] for seat in self.seats if state.side_of(seat) == side)
            for side in ("buy", "sell")
        }
        assert sides["buy"] == sides["sell"]

    def _check_prices(self) -> None:
        """Each trade of the open period at the resting order's price, inside the limit of the order that came."""
        orders = {message.order: message for message in self.state.messages if message.act == "order"}
        for message in orders.values():
            for order, price, quantity in message.fills:
                resting, sign = orders[order], 1 if message.side == "buy" else -1
                assert resting.side != message.side
                assert resting.price == price
                assert quantity >= 1
                assert sign * (message.price - price) >= 0

    def perturbed(self, seat: SeatId, salt: int) -> OrderBook:
        """The same public past; other seats have other values, or other cash and shares, and what follows from them."""
        twin = copy.copy(self)
        twin.state = copy.deepcopy(self.state)
        twin.read_marks, twin._news = dict(self.read_marks), dict(self._news)
        twin._history = self._history.copy()
        chance = Chance(f"order_book.perturb:{salt}")
        for other in self.seats:
            if other != seat:
                twin._resample(other, chance)
        return twin

    def _resample(self, seat: SeatId, chance: Chance) -> None:
        state = self.state
        if state.asset:
            # More, never less: resting orders stay backed, and the seat can act where it could.
            cash, shares = (
                1 + int(most * chance.uniform(name, seat)) for name, most in (("cash", 1_000), ("shares", 9))
            )
            # As if it had been endowed with them: dividends have been paid on the shares, too.
            endowed = state.endowed[seat]
            state.endowed[seat] = (endowed[0] + cash, endowed[1] + shares)
            state.cash[seat] += cash + shares * sum(state.dividends)
            state.shares[seat] += shares
            return
        most, sign = self.scenario.price_max, 1 if state.side_of(seat) == "buy" else -1
        drawn = sorted(
            (1 + int(most * chance.uniform("unit", seat, unit)) for unit in range(len(state.values[seat]))),
            reverse=sign > 0,
        )
        units = tuple(drawn)
        if units == state.values[seat]:
            units = tuple(min(most, unit + 1) if unit < most else unit - 1 for unit in units)
        state.values[seat] = units
        state.profit[seat] += sign * (1 + int(50 * chance.uniform("profit", seat)))


def _through(value: int | None, side: Side, price: int) -> bool:
    """Whether trading at the limit would lose."""
    return value is not None and (price > value if side == "buy" else price < value)


def _endowments(scenario: OrderBookScenario) -> dict[SeatId, tuple[int, int]]:
    if scenario.kind != "asset":
        return {}
    given = scenario.endowments
    return {seat: given[at % len(given)] for at, seat in enumerate(scenario.roster)}


def _schedules(scenario: OrderBookScenario, chance: Chance) -> tuple[dict[SeatId, tuple[int, ...]], Benchmarks, int]:
    """Unit values and costs by seat, what they allow in one period, and how often they were drawn.

    ScenarioError where no draw is accepted.
    """
    if scenario.kind == "asset":
        return {}, Benchmarks(0, 0, None, None), 0
    buyers = [seat for seat, role in scenario.roster.items() if role == "buyer"]
    sellers = [seat for seat, role in scenario.roster.items() if role == "seller"]
    if scenario.values is not None and scenario.costs is not None:
        given = {**dict(zip(buyers, scenario.values, strict=True)), **dict(zip(sellers, scenario.costs, strict=True))}
        return given, possible(scenario, given), 0
    for attempt in range(_MOST_ATTEMPTS):
        drawn = {seat: _units(scenario, chance, attempt, seat, buys=seat[0] == "B") for seat in (*buyers, *sellers)}
        found = possible(scenario, drawn)
        if (
            found.trades >= scenario.min_trades
            and competitive(scenario, drawn, found, scenario.focus) >= scenario.min_potential
        ):
            return drawn, found, attempt + 1
    raise ScenarioError(
        f"{scenario.id}: no schedules with min_trades = {scenario.min_trades} and min_potential = "
        f"{scenario.min_potential} for {scenario.focus} in {_MOST_ATTEMPTS} draws; lower them"
    )


def _units(scenario: OrderBookScenario, chance: Chance, attempt: int, seat: SeatId, *, buys: bool) -> tuple[int, ...]:
    low, high = scenario.value_range if buys else scenario.cost_range
    stream = Streams.VALUE if buys else Streams.COST
    drawn = (
        low + int((high - low + 1) * chance.uniform(stream, attempt, seat, unit)) for unit in range(scenario.units)
    )
    return tuple(sorted(drawn, reverse=buys))


def possible(scenario: OrderBookScenario, values: dict[SeatId, tuple[int, ...]]) -> Benchmarks:
    """What the schedules allow in one period: every unit as a trader of its own."""
    demand = [unit for seat, units in values.items() if seat[0] == "B" for unit in units]
    supply = [unit for seat, units in values.items() if seat[0] == "S" for unit in units]
    return benchmarks(demand, supply, scenario.price_max)


def competitive(
    scenario: OrderBookScenario, values: dict[SeatId, tuple[int, ...]], found: Benchmarks, seat: SeatId
) -> float:
    """What a seat earns per period at the competitive price p*: Σ max(0, v − p*), sellers mirrored."""
    if found.p_star is None:
        return 0.0
    sign = 1 if seat[0] == "B" else -1
    return sum(max(0.0, sign * (unit - found.p_star)) for unit in values[seat])
