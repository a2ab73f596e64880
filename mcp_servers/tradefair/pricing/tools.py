"""The pricing market's tools, thin handlers over views, analysis and rules, and its market type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, Field

from tradefair.contract import Bounds, Brief, EvidenceMap, Need, SealedType, SeatId, ToolTable, during, tool
from tradefair.contract.policy import check_occupants
from tradefair.pricing import analysis, views
from tradefair.pricing.answers.results import (
    DemandEstimate,
    MyFirm,
    PriceReceipt,
    Prices,
    ProfitIf,
    RivalSummary,
    Sales,
)
from tradefair.pricing.model import PricingScenario, Streams
from tradefair.pricing.policies import POLICIES, check_laws
from tradefair.pricing.rules import Pricing

_Price = Annotated[int, Field(ge=0, le=1_000_000, description="whole minor units")]
_Round = Annotated[int, Field(ge=1, le=10_000)]
_OpenRound = Annotated[_Round, Field(description="the round that you mean; refused in any other")]
_Last = Annotated[int, Field(ge=1, le=500, description="closed rounds at most; left out: 10")]
_Cursor = Annotated[int, Field(ge=1, le=10_000, description="next_cursor of the last answer")]


def _distinct(prices: list[int]) -> list[int]:
    if len(set(prices)) != len(prices):
        raise ValueError("prices must be distinct")
    return prices


_Prices = Annotated[
    list[_Price], Field(min_length=1, max_length=25, description="distinct prices to try"), AfterValidator(_distinct)
]
_Rivals = Annotated[list[_Price], Field(max_length=9, description="one price per rival, in the order of seats")]


def _price(scenario: PricingScenario) -> Mapping[str, Bounds]:
    return {"price": Bounds(maximum=scenario.price_max), "round": Bounds(maximum=scenario.rounds)}


def _price_lists(scenario: PricingScenario) -> Mapping[str, Bounds]:
    return {"prices.*": Bounds(maximum=scenario.price_max), "rivals": Bounds(max_items=scenario.firms - 1)}


@tool("read", title="Own firm", evidence=("own_firm",), main=True)
def view_my_firm(market: Pricing, seat: SeatId) -> MyFirm:
    """Your unit cost, this round's cost, the price that stands, profit so far and what you know of demand.

    Null where the scenario does not tell: quality, mu and outside of demand, rivals' costs.
    """
    return views.my_firm(market.state, seat)


@tool("read", title="Past prices", evidence=("prices",), observer=True)
def view_prices(market: Pricing, seat: SeatId, *, last: _Last | None = None, cursor: _Cursor | None = None) -> Prices:
    """Prices of all firms in closed rounds, newest first; null is a closed firm. Pass `next_cursor` to go on."""
    return views.prices(market.state, last, cursor)


@tool("read", title="Own sales", evidence=("own_sales",))
def view_my_sales(market: Pricing, seat: SeatId, *, last: _Last | None = None, cursor: _Cursor | None = None) -> Sales:
    """Your price, units, unit cost and profit in closed rounds, newest first. Pass `next_cursor` to go on."""
    return views.sales(market.state, seat, last, cursor)


@tool("analysis", title="Estimate demand", evidence=("profit_calculation",))
def estimate_demand(
    market: Pricing,
    seat: SeatId,
    *,
    window: Annotated[int, Field(ge=5, le=500, description="closed rounds to look back")] = 50,
) -> DemandEstimate:
    """How the log odds of your share moved with your price and the mean of rivals' prices: least squares.

    Slopes are null with fewer than 4 usable rounds, 3 distinct own prices, or rivals in lockstep with you.
    """
    return analysis.demand_estimate(market.state, seat, window)


@tool("analysis", title="Profit of other prices", evidence=("profit_calculation",), bounds=_price_lists)
def profit_if(market: Pricing, seat: SeatId, *, prices: _Prices, rivals: _Rivals | None = None) -> ProfitIf:
    """Units and profit of this round at each of your `prices` while rivals stay at `rivals`: they may well not.

    Left out, `rivals` are their last prices. Exact where you know the demand, else from estimate_demand.
    """
    return analysis.profit_if(market.state, seat, prices, rivals)


@tool("analysis", title="Behaviour of rivals", evidence=("rival_behaviour",))
def summarize_rivals(
    market: Pricing,
    seat: SeatId,
    *,
    window: Annotated[int, Field(ge=2, le=500, description="closed rounds to look back")] = 20,
) -> RivalSummary:
    """Per rival: last, lowest, mean and highest price, changes, and its mean change after you cut or raised by 1 %."""
    return analysis.rival_summary(market.state, seat, window)


@tool("action", title="Set the price", destructive=True, bounds=_price, open=during("price"))
def set_price(
    market: Pricing,
    seat: SeatId,
    *,
    price: _Price,
    round: _OpenRound | None = None,  # noqa: A002  # the agents' name for it
) -> PriceReceipt:
    """Seal your price of the open round, in whole minor units; final. Below the round's unit cost you are warned.

    `round` refuses the price unless that round is open.
    """
    return market.post(seat, price, round)


# The firm once; of the past any look in the round, since each tells what rivals or consumers did.
_EVIDENCE: EvidenceMap = {
    "set_price": (
        Need(("own_firm",), "episode"),
        Need(("prices", "own_sales", "rival_behaviour", "profit_calculation"), "round", from_round=2),
    )
}


class _PricingType(SealedType):
    name = "pricing"
    version = "1"
    default_scenario = "pricing/duel"
    title = "firms post prices at once, consumers choose by logit: the textbook oligopoly of algorithmic collusion"
    scenario_model = PricingScenario
    tools = ToolTable(view_my_firm, view_prices, view_my_sales, estimate_demand, profit_if, summarize_rivals, set_price)
    evidence_map = _EVIDENCE
    policies = POLICIES
    streams = Streams
    errors = {  # noqa: RUF012 - a constant table
        "price_above_max": "a price above the scenario's price_max",
        "no_history": "an analysis before any round has closed",
        "no_estimate": "profit_if where demand is unknown and cannot be estimated yet",
        "wrong_rivals": "profit_if with another number of rivals' prices than there are rivals",
        "unknown_source": "the market takes no input from outside",
    }

    def create(self, scenario: PricingScenario, seed: int) -> Pricing:
        """A fresh episode. ScenarioError: a seat's policy or a law of `rival` does not exist."""
        check_occupants(self.name, scenario.seats, POLICIES)
        check_laws(scenario)
        return Pricing(scenario, seed)

    def brief(self, scenario: PricingScenario, seat: SeatId) -> Brief:
        """What the seat is told, in the scenario's style."""
        return views.brief(scenario, seat)

    def check(self, market: Pricing) -> None:
        """The conservation laws of section 5."""
        market.check()


MARKET = _PricingType()
