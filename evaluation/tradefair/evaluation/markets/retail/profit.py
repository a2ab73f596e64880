"""Where the gain of a retail episode came from, exact in cents.

gain = revenue − refunds − cost of goods sold − cost of expired − rent − ageing allowance
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import BaseModel, ConfigDict

from tradefair.evaluation.markets.retail.modes.play import RetailPlay
from tradefair.retail.model import EndingFacts, ProductColumns, product_id

_FLOWS = ("units", "returned", "expired", "revenue_cents", "refunds_cents", "cost_of_goods_cents", "expiry_cost_cents")


class _Record(BaseModel):
    """A frozen record that refuses unknown keys: its parts must add up."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class GoodsProfit(_Record):
    """One product or category, in cents, before rent: the trace holds values by product in its ending only."""

    units: int
    returned: int
    expired: int
    revenue_cents: int
    refunds_cents: int
    cost_of_goods_cents: int
    expiry_cost_cents: int
    ageing_allowance_cents: int | None
    profit_cents: int | None


class ProfitDecomposition(_Record):
    """The whole store, in cents; what the books leave unexplained is a finding about the trace."""

    revenue_cents: int
    refunds_cents: int
    cost_of_goods_cents: int
    expiry_cost_cents: int
    rent_cents: int
    ageing_allowance_cents: int
    gain_cents: int
    unexplained_cents: int
    by_category: dict[str, GoodsProfit]
    by_product: dict[str, GoodsProfit]


def decompose(play: RetailPlay) -> ProfitDecomposition | None:
    """The decomposition over the closed days; None without any, or when the scenario cannot be read."""
    if not play.days or play.scenario is None:
        return None
    last = play.days[-1].facts
    ending = play.ending
    goods = _by_product(play, ending)
    total = _total(goods.values())
    # An episode that was cut short has no ending: then the last close stands for it.
    held = sum(last.product.stock_cost_cents) if ending is None else ending.stock_cost_cents
    value = last.stock_value_cents if ending is None else ending.stock_value_cents
    worth = last.net_worth_cents if ending is None else ending.net_worth_cents
    rent = sum(day.facts.rent_cents for day in play.days)
    # Against the funds at the start, not against the first close: the first day's trade is part of the gain.
    gain = worth - play.scenario.funds_start_cents
    # The flows of all products; rent and ageing belong to the store.
    trade = total.revenue_cents - total.refunds_cents - total.cost_of_goods_cents - total.expiry_cost_cents
    return ProfitDecomposition(
        revenue_cents=total.revenue_cents,
        refunds_cents=total.refunds_cents,
        cost_of_goods_cents=total.cost_of_goods_cents,
        expiry_cost_cents=total.expiry_cost_cents,
        rent_cents=rent,
        ageing_allowance_cents=held - value,
        gain_cents=gain,
        # Computed from the parts and not from the gain, or it would be 0 by construction.
        unexplained_cents=gain - (trade - rent - (held - value)),
        by_category=_by_category(play.categories, goods),
        by_product=goods,
    )


def _by_product(play: RetailPlay, ending: EndingFacts | None) -> dict[str, GoodsProfit]:
    """One row per product over the closed days, in store order.

    Allowance and profit are None for all products while the episode has not ended.
    """
    days = [day.facts.product for day in play.days]
    sums = {name: _sums(days, name) for name in _FLOWS}
    allowances = _allowances(ending, len(play.categories))
    return {
        product_id(place): _goods({name: sums[name][place] for name in _FLOWS}, allowances[place])
        for place in range(len(play.categories))
    }


def _sums(days: Sequence[ProductColumns], name: str) -> list[int]:
    """The sum over days of one column, by product."""
    columns: list[list[int]] = [getattr(day, name) for day in days]
    return [sum(values) for values in zip(*columns, strict=True)]


def _allowances(ending: EndingFacts | None, products: int) -> Sequence[int | None]:
    """The ageing allowance by product in cents; None for all where the trace does not tell."""
    # An edited ending may be shorter or longer than the store.
    if ending is None or len(ending.product_stock_cost_cents) != products:
        return [None] * products
    pairs = zip(ending.product_stock_cost_cents, ending.product_stock_value_cents, strict=True)
    return [cost - value for cost, value in pairs]


def _goods(flows: dict[str, int], allowance: int | None) -> GoodsProfit:
    """One row from its flows; rent is the store's and is not spread over products."""
    costs = flows["refunds_cents"] + flows["cost_of_goods_cents"] + flows["expiry_cost_cents"]
    profit = None if allowance is None else flows["revenue_cents"] - costs - allowance
    return GoodsProfit.model_validate({**flows, "ageing_allowance_cents": allowance, "profit_cents": profit})


def _total(goods: Iterable[GoodsProfit]) -> GoodsProfit:
    """Sums over products; allowance and profit are None where one of them is unknown."""
    listed = list(goods)
    flows = {name: sum(getattr(item, name) for item in listed) for name in _FLOWS}
    allowances = [item.ageing_allowance_cents for item in listed]
    known = [allowance for allowance in allowances if allowance is not None]
    # A sum over some products would pass for that of all.
    return _goods(flows, sum(known) if len(known) == len(allowances) else None)


def _by_category(categories: Sequence[str], goods: dict[str, GoodsProfit]) -> dict[str, GoodsProfit]:
    """Sums by category, in the order in which the store first names each of them."""
    members: dict[str, list[GoodsProfit]] = {}
    for category, item in zip(categories, goods.values(), strict=True):
        members.setdefault(category, []).append(item)
    return {category: _total(items) for category, items in members.items()}
