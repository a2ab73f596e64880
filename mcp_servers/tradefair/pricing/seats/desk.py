"""What a scripted firm decides from, filled over tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from pydantic import JsonValue

from tradefair.contract import Draw, ScenarioError, ToolCall, Turns, TurnView
from tradefair.pricing.engine import equilibrium
from tradefair.pricing.model import PricingScenario
from tradefair.pricing.rules import HiddenTruth


class Known(NamedTuple):
    """Demand and everybody's unit costs in one round, as a firm knows them or is told."""

    quality: tuple[int, ...]
    costs: tuple[int, ...]
    mu: int
    outside: int

    def nash(self) -> tuple[float, ...]:
        """The competitive prices."""
        return equilibrium.nash(self.quality, self.costs, self.mu, self.outside)

    def monopoly(self) -> tuple[float, ...]:
        """The prices of the highest joint profit."""
        return equilibrium.monopoly(self.quality, self.costs, self.mu, self.outside)


class Own(NamedTuple):
    """The own result of a closed round."""

    price: int | None
    units: int
    profit: int


class Desk:
    """What one firm knows in one round. Prices are those of all firms in seat order; null is a closed firm."""

    def __init__(self, place: int, firms: int, rounds: int, price_max: int, consumers: int, draw: Draw) -> None:
        self.place, self.firms, self.rounds = place, firms, rounds
        self.price_max, self.consumers, self.draw = price_max, consumers, draw
        self.round = 1
        self.cost = self.cost_now = self.index = 0
        self.known: Known | None = None
        self.unshocked: Known | None = None
        self.past: list[Known | None] = []
        self.prices: list[tuple[int | None, ...]] = []
        self.own: list[Own] = []
        self.law = ""
        self.hidden: HiddenTruth | None = None

    @property
    def truth(self) -> Known:
        """Demand and costs of the round. ScenarioError where nobody has told them."""
        if self.known is None:
            raise ScenarioError("this policy needs demand_known and costs_known, or to be told")
        return self.known

    def nash(self) -> float:
        """The own competitive price of the round."""
        return self.truth.nash()[self.place]

    def monopoly(self) -> float:
        """The own price of the highest joint profit in this round."""
        return self.truth.monopoly()[self.place]

    def best_reply(self) -> int:
        """The best price of the grid against the rivals' last prices; the competitive price in round 1."""
        if not self.prices:
            return round(self.nash())
        return self.reply_to(self.prices[-1])

    def reply_to(self, prices: tuple[int | None, ...]) -> int:
        """The best price of the grid while the others post `prices`."""
        known = self.truth
        return equilibrium.grid_best_reply(
            self.place, prices, known.quality, known.costs, known.mu, known.outside, self.consumers, self.price_max
        )

    def lowest_rival(self) -> int | None:
        """The lowest price that a rival posted in the last round; None in round 1 and beside closed firms."""
        last = self.prices[-1] if self.prices else ()
        return min((price for at, price in enumerate(last) if at != self.place and price is not None), default=None)


class Firm(Protocol):
    """A rule for prices: asked once a round; None posts nothing."""

    def price(self, desk: Desk) -> float | None:
        """The price of the round; the driver keeps it within 0..price_max."""
        ...


def clamped(price: float, desk: Desk) -> int:
    """Rounded half to even and kept within the grid."""
    whole = round(price)
    return whole if 0 <= whole <= desk.price_max else 0 if whole < 0 else desk.price_max


def told_where(scenario: Any) -> bool:
    """Whether a firm that needs demand and all costs must be told them: the scenario does not publish all."""
    assert isinstance(scenario, PricingScenario)
    return not (scenario.demand_known and scenario.costs_known and scenario.shock != "own_cost")


def publish(desk: Desk, quality: tuple[int, ...], costs: tuple[int, ...], mu: int, outside: int) -> None:
    """Enter what the scenario publishes of the open round: demand, and unit costs without shocks."""
    # The index moves all unit costs or the outside option: the own unit cost tells which. Of a shock to each firm's own
    # cost only the own one is known; the others are taken to be without.
    on_cost = desk.cost_now - desk.cost
    moved = tuple([cost + on_cost if desk.index or at == desk.place else cost for at, cost in enumerate(costs)])
    desk.unshocked = Known(quality, costs, mu, outside)
    desk.known = Known(quality, moved, mu, outside + desk.index - on_cost if desk.index else outside)
    _remember(desk)


class FirmPolicy:
    """Plays a rule over tools: the firm and the new rows of a round, then one price."""

    def __init__(self, firm: Firm, draw: Draw, *, sales: bool = False) -> None:
        self._firm, self._draw, self._sales = firm, draw, sales
        self._desk: Desk | None = None
        self._truth: HiddenTruth | None = None

    def see(self, truth: object) -> None:
        """Take in the market: demand and costs that the scenario does not publish."""
        assert isinstance(truth, HiddenTruth)
        self._truth = truth

    def turn(self, now: TurnView) -> Turns:
        """view_my_firm, the closed rounds since the last look, one price."""
        mine = yield ToolCall("view_my_firm")
        if mine.error is not None:
            return
        desk = self._desk = self._desk or _opened(now, mine.data, self._draw)
        closed = now.round - 1
        while len(desk.prices) < closed:
            asked = min(500, closed - len(desk.prices))
            page: dict[str, JsonValue] = {"last": asked}
            if len(desk.prices) + asked < closed:
                page["cursor"] = len(desk.prices) + asked
            rows = yield ToolCall("view_prices", page)
            if rows.error is not None:
                return
            if self._sales:
                sold = yield ToolCall("view_my_sales", page)
                if sold.error is not None:
                    return
                desk.own += [Own(row["price"], row["units"], row["profit"]) for row in reversed(sold.data["rounds"])]
            desk.prices += [tuple(row["prices"].values()) for row in reversed(rows.data["rounds"])]
        _look(desk, now.round, mine.data)
        if self._truth is not None:
            inform(desk, self._truth)
        price = self._firm.price(desk)
        if price is not None:
            yield ToolCall("set_price", {"price": clamped(price, desk)})


def _opened(now: TurnView, mine: Mapping[str, Any], draw: Draw) -> Desk:
    # The seat's number is its place; how many firms there are, the first closed round tells, and costs where known.
    place = int(now.seat[1:]) - 1
    desk = Desk(place, 0, int(str(now.market["rounds"])), mine["price_max"], mine["consumers"], draw)
    desk.cost = mine["cost"]
    return desk


def _look(desk: Desk, number: int, mine: Mapping[str, Any]) -> None:
    """What view_my_firm says of the open round."""
    desk.round, desk.cost_now, desk.index = number, mine["cost_now"], mine["index"]
    costs, qualities = mine["costs"], mine["qualities"]
    if desk.prices:
        desk.firms = len(desk.prices[-1])
    if costs is None or qualities is None:
        return
    desk.firms = len(costs)
    publish(desk, tuple(qualities.values()), tuple(costs.values()), mine["mu"], mine["outside"])


def inform(desk: Desk, truth: HiddenTruth) -> None:
    """What a firm is told, or what the rules alone know: demand and costs of the open round, the law of the seat."""
    market = truth.market
    demand, seats = market.state.demand, list(market.seats)
    costs = tuple([market.state.cost_now(seat) for seat in seats])
    desk.known = Known(demand.quality, costs, demand.mu, market.state.outside_now())
    desk.unshocked = Known(demand.quality, tuple(market.state.cost.values()), demand.mu, demand.outside)
    desk.law = truth.rivals[seats[desk.place]]
    desk.hidden = truth
    desk.firms = len(seats)
    _remember(desk)


def _remember(desk: Desk) -> None:
    """Keep what was known of each round; place n - 1 belongs to round n."""
    while len(desk.past) < desk.round:
        desk.past.append(None)
    desk.past[desk.round - 1] = desk.known
