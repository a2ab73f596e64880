"""Whole episodes of the order book by rules and traders alone: an oracle of tests and the engine of benchmarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tradefair.contract import Draw, IllegalAction, ScenarioError, SeatId
from tradefair.contract.errors import unknown
from tradefair.contract.policy import parse_policy, with_parameters
from tradefair.order_book.model import OrderBookScenario, Shout
from tradefair.order_book.policies import POLICIES
from tradefair.order_book.rules import OrderBook
from tradefair.order_book.seats.desk import (
    Act,
    Desk,
    Heard,
    Resting,
    Source,
    Trader,
    as_heard,
    as_resting,
    fill,
    turned_back,
)


def play_fast(scenario: OrderBookScenario, seed: int, policies: Mapping[SeatId, str], policy_key: int = 0) -> OrderBook:
    """A whole episode by rules and traders alone, no tools and no events; the finished market.

    `policies` names one policy per seat; the orders are those that the same policies submit over tools. ScenarioError
    for a missing seat, an unknown policy or one that lives on tools alone.
    """
    market = OrderBook(scenario, seed)
    if missing := [seat for seat in market.seats if seat not in policies]:
        raise ScenarioError(f"no policy for {', '.join(missing)}")
    players: dict[SeatId, FastPlayer] = {}
    for seat, role in market.state.roles.items():
        name, params = parse_policy(policies[seat])
        spec = POLICIES.get(name)
        if spec is None or not hasattr(spec.rule, "act"):
            raise ScenarioError(unknown("policy", name, POLICIES, of="order_book"))
        if role not in spec.roles:
            raise ScenarioError(f"{seat} = {name}: not for a {role}")
        trader, draw = with_parameters(spec.rule, params), Draw.of(seed, seat, policy_key)
        players[seat] = FastPlayer(market, seat, trader, draw, told=spec.privileged)
    return _play(market, players)


class FastPlayer:
    """A seat of play by rules alone."""

    def __init__(self, market: OrderBook, seat: SeatId, trader: Trader, draw: Draw, *, told: bool = False) -> None:
        self.seat, self.told, self._market, self._trader = seat, told, market, trader
        self._desk = Desk(market.scenario.price_max, draw, hear=self._hear, rest=self._rest)
        self._desk.competitive = (market.benchmarks.p_lo, market.benchmarks.p_hi)
        self._role = market.state.roles[seat]
        self._top = market.scenario.price_max + 1 if self._role == "seller" else 0
        self._traded = 0
        self._news: Sequence[Shout] = ()
        self._heard = 0

    def act(self) -> None:
        """Take the step."""
        market, seat, state = self._market, self.seat, self._market.state
        scenario, asset = state.scenario, state.asset
        count, value = len(state.trades), None if asset else state.unit_value(seat)
        new: list[tuple[int, int]] = []
        if count > self._traded:
            new = [(trade.price, trade.period) for trade in state.trades[self._traded :] for _ in range(trade.quantity)]
        # As many at a time as the tool tells.
        self._news = state.shouts[self._heard : self._heard + 500]
        self._traded, self._heard = count, self._heard + len(self._news)
        source = Source(
            self._role,
            state.period,
            scenario.periods,
            state.step,
            None if scenario.arrival == "ticks" else state.steps,
            value,
            value if scenario.budget_constraint else None,
            state.free_cash(seat) if asset else 0,
            state.free_shares(seat) if asset else 0,
            scenario.fundamental(state.period) if asset else 0.0,
            state.book.best("buy"),
            state.book.best("sell"),
            new,
        )
        fill(self._desk, source)
        self._carry_out(market, self._trader.act(self._desk))

    def _hear(self) -> list[Heard]:
        seat = self.seat
        return as_heard(((row.side, row.price, row.accepted, row.seat == seat) for row in self._news), self._top)

    def _rest(self) -> list[Resting]:
        orders = self._market.state.book.of(self.seat)
        return as_resting(((own.number, own.side, own.price, own.quantity) for own in orders), self._top)

    def _carry_out(self, market: OrderBook, act: Act) -> None:
        for order in act.cancel:
            market.cancel(self.seat, order)
        if act.price is not None:
            side, price = turned_back(act, self._role, market.scenario.price_max)
            try:
                market.place(self.seat, side, price, act.quantity)
            except IllegalAction:
                pass
            else:
                return
        market.end_step(self.seat)


def _play(market: OrderBook, players: Mapping[SeatId, FastPlayer]) -> OrderBook:
    """A whole episode by rules and traders alone; the finished market. Under ticks each seat acts once a tick."""
    free = market.scenario.clock == "free"
    # As the host asks them: what is told the truth comes last.
    ticked = sorted(players, key=lambda seat: (players[seat].told, market.turn_rank(seat))) if free else []
    while market.terminated is None:
        turn = market.state.turn
        for seat in ticked if turn is None else (turn,):
            players[seat].act()
        market.close_step()
    return market
