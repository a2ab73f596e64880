"""Where the gain of a retail episode came from, exact in cents.

gain = revenue − refunds − cost of goods sold − cost of expired − rent − ageing allowance
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tradefair.evaluation.figure import figure
from tradefair.evaluation.markets.retail.modes.play import RetailPlay
from tradefair.evaluation.record import Record
from tradefair.retail.model import EndingFacts, ProductColumns, product_id

_FLOWS = ("units", "returned", "expired", "revenue_cents", "refunds_cents", "cost_of_goods_cents", "expiry_cost_cents")


class GoodsProfit(Record):
    """One product or category, in cents, before rent: the trace holds values by product in its ending only."""

    units: int = figure("units", "units")
    """units sold"""
    returned: int = figure("returned", "units", "lower")
    """units returned"""
    expired: int = figure("expired", "units", "lower")
    """units expired"""
    revenue_cents: int = figure("revenue", "cents", "higher")
    """Σ of prices paid"""
    refunds_cents: int = figure("refunds", "cents", "lower")
    """Σ of refunds for returns"""
    cost_of_goods_cents: int = figure("cost of goods sold", "cents", "lower")
    """Σ of the unit costs of units sold"""
    expiry_cost_cents: int = figure("cost of expired", "cents", "lower")
    """Σ of the unit costs of units expired"""
    ageing_allowance_cents: int | None = figure("ageing allowance", "cents", "lower")
    """cost of the units held at the end − their aged value

    Null: the episode has not ended
    """
    profit_cents: int | None = figure("profit before rent", "cents", "higher")
    """revenue − refunds − cost of goods − expired − ageing allowance

    Null: the episode has not ended
    """


class ProfitDecomposition(Record):
    """The whole store, in cents; what the books leave unexplained is a finding about the trace."""

    revenue_cents: int = figure("revenue", "cents", "higher")
    """Σ of prices paid"""
    refunds_cents: int = figure("refunds", "cents", "lower")
    """Σ of refunds for returns"""
    cost_of_goods_cents: int = figure("cost of goods sold", "cents", "lower")
    """Σ of the unit costs of units sold"""
    expiry_cost_cents: int = figure("cost of expired", "cents", "lower")
    """Σ of the unit costs of units expired"""
    rent_cents: int = figure("rent", "cents", "lower")
    """Σ of daily rent"""
    ageing_allowance_cents: int = figure("ageing allowance", "cents", "lower")
    """cost of the stock held at the end − its aged value"""
    gain_cents: int = figure("gain", "cents", "higher")
    """revenue − refunds − cost of goods − expired − rent − ageing allowance"""
    unexplained_cents: int = figure("unexplained", "cents")
    """gain by the books − the sum of its parts: 0 in a sound trace"""
    by_category: dict[str, GoodsProfit] = figure("by category", "record")
    """the fields of profit.by_product, summed by category"""
    by_product: dict[str, GoodsProfit] = figure("by product", "record")
    """by product id, the fields below, before rent"""


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
