"""What the pricing market's tools answer, and what closures tell. All amounts are in minor units."""

from __future__ import annotations

from typing import Literal

from pydantic import JsonValue

from tradefair.contract import Result, SeatId

# Class docstrings and field names are part of the published tool schemas: another wording is another schema, and makes
# earlier traces foreign. Notes for developers are comments therefore.


class RulesView(Result):
    """The rules of this market."""

    firms: list[SeatId]
    rounds: int
    price_max: int
    consumers: int
    demand: str
    payoff: str
    silence: str
    published: str
    shocks: str


class TurnPart(Result):
    """The market's part of `view_turn`: the own price that stands, the last profit, the public index of the round."""

    rounds: int
    posted_price: int | None
    last_profit: int | None
    index: int


class MyFirm(Result):
    """The own firm; null where the scenario does not tell. `cost_now` is the unit cost of the open round."""

    seat: SeatId
    cost: int
    cost_now: int
    quality: int | None
    consumers: int
    price_max: int
    posted_price: int | None
    profit_so_far: int
    round: int
    rounds_left: int
    index: int
    mu: int | None
    outside: int | None
    qualities: dict[SeatId, int] | None
    costs: dict[SeatId, int] | None


class PriceRow(Result):
    """A closed round: prices by seat (null: closed), the public index, units by seat if they are public."""

    round: int
    prices: dict[SeatId, int | None]
    index: int
    units: dict[SeatId, int] | None


class Prices(Result):
    """Closed rounds, newest first; `total` counts those from the asked place on."""

    rounds: list[PriceRow]
    total: int
    next_cursor: int | None


class SaleRow(Result):
    """The own result of a closed round."""

    round: int
    price: int | None
    units: int
    cost_now: int
    profit: int


class Sales(Result):
    """Own results of closed rounds, newest first."""

    rounds: list[SaleRow]
    total: int
    next_cursor: int | None


class DemandEstimate(Result):
    """Least squares of ln(units / (consumers - units)) on the own price and the mean of rivals' prices.

    Slopes are per minor unit of price; null with fewer than 4 usable rounds or 3 distinct own prices.
    """

    rounds_used: int
    distinct_prices: int
    own_slope: float | None
    rival_slope: float | None
    intercept: float | None
    r2: float | None


class ProfitRow(Result):
    """What one price would sell and earn."""

    price: int
    units: int
    profit: int


class ProfitIf(Result):
    """The open round at several own prices, rivals' prices held fixed; `best_price` is the best of the rows."""

    rows: list[ProfitRow]
    best_price: int
    rivals: dict[SeatId, int | None]
    basis: Literal["exact", "estimate"]


class RivalRow(Result):
    """One rival over the window; changes of the round after an own cut or raise of at least 1 % are means."""

    seat: SeatId
    last: int | None
    lowest: int | None
    mean: float | None
    highest: int | None
    changes: int
    after_own_cut: float | None
    own_cuts: int
    after_own_raise: float | None
    own_raises: int


class RivalSummary(Result):
    """Rivals' prices over the last closed rounds: arithmetic, no advice."""

    rounds: int
    rivals: list[RivalRow]


class PriceReceipt(Result):
    """The price that was sealed; the same whoever was first. `below_cost`: it is below the own cost of the round."""

    round: int
    price: int
    warning: Literal["below_cost"] | None


# --- events -----------------------------------------------------------------------------------------------------------


class OpeningFacts(Result):
    """What was drawn or given; in the first round's facts."""

    quality: dict[SeatId, int]
    cost: dict[SeatId, int]
    mu: int
    outside: int
    rivals: dict[SeatId, str]


class RoundFacts(Result):
    """The truth of a round; `costs` include its shock, `profit` is cumulative."""

    prices: dict[SeatId, int | None]
    units: dict[SeatId, int]
    costs: dict[SeatId, int]
    index: int
    outside: int
    profits: dict[SeatId, int]
    profit: dict[SeatId, int]
    opening: OpeningFacts | None


class EndingFacts(Result):
    """Totals at the end."""

    rounds_closed: int
    profit: dict[SeatId, int]
    opening: OpeningFacts


Constants = dict[str, JsonValue]
