"""Figures of all markets from an exported trace, by the formulas of docs/reference/figures.md; imports nothing of ours.

Each function gives {field: {seat: value}}; fields of the market have the seat "market".
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

Rows = dict[str, dict[str, Any]]


class Trace:
    """The manifest and the facts of an exported trace."""

    def __init__(self, path: Path) -> None:
        head, *lines = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
        self.core: dict[str, Any] = head["core"]
        self.roles: dict[str, str] = {seat["id"]: seat["role"] for seat in self.core["seats"]}
        self.events: list[dict[str, Any]] = [line["event"] for line in lines if isinstance(line.get("event"), dict)]
        self.rounds: list[dict[str, Any]] = [row["facts"] for row in self.events if row["event"] == "round_closed"]
        self.ending: dict[str, Any] = self.events[-1]["facts"]

    def calls(self, *, refused: bool) -> dict[str, int]:
        made = [row for row in self.events if row["event"] == "tool_called" and (not refused or row["status"] != "ok")]
        return {seat: sum(row["seat"] == seat for row in made) for seat in self.roles}


def ratio(part: float, whole: float) -> float | None:
    """A share; null of nothing."""
    return part / whole if whole else None


def of_every_market(trace: Trace) -> Rows:
    return {"calls": trace.calls(refused=False), "refused": trace.calls(refused=True), "role": dict(trace.roles)}


def teaching(trace: Trace) -> Rows:
    paid = dict.fromkeys(trace.roles, 0)
    shared = 0
    for facts in trace.rounds:
        claims = facts["row"]["claims"]
        fits = sum(claim or 0 for claim in claims.values()) <= trace.core["scenario"]["slices"]
        shared += fits
        for seat in paid:
            paid[seat] += (claims[seat] or 0) * facts["values"][seat] * fits
    return {"payoff": paid, "value": dict(trace.rounds[0]["values"]), "shared": {"market": shared}}


def double_auction(trace: Trace) -> Rows:
    rounds, opening = trace.rounds, trace.rounds[0]["opening"]
    values: dict[str, int] = opening["values"]
    buys = {seat: role == "buyer" for seat, role in trace.roles.items()}
    bought = sorted((value for seat, value in values.items() if buys[seat]), reverse=True)
    costs = sorted(value for seat, value in values.items() if not buys[seat])
    possible = sum(max(0, v - c) for v, c in zip(bought, costs, strict=False))
    matches = [match for facts in rounds for match in facts["matches"]]
    payoff = {
        seat: sum(
            (value - match["price"]) * (1 if buys[seat] else -1)
            for match in matches
            if seat in (match["buyer"], match["seller"])
        )
        for seat, value in values.items()
    }
    potential = {
        seat: max(0, value - costs[0]) if buys[seat] else max(0, bought[0] - value) for seat, value in values.items()
    }
    surplus = sum(values[match["buyer"]] - values[match["seller"]] for match in matches)
    middle = (opening["p_lo"] + opening["p_hi"]) / 2
    spread = math.sqrt(sum((match["price"] - middle) ** 2 for match in matches) / len(matches))
    fair = {seat: max(0.0, (value - middle) * (1 if buys[seat] else -1)) for seat, value in values.items()}
    apart = [(payoff[seat] / len(rounds) - fair[seat]) ** 2 for seat in values]
    return {
        "payoff": payoff,
        "potential": potential,
        "surplus_share": {seat: payoff[seat] / (len(rounds) * potential[seat]) for seat in values},
        "forfeits": {seat: sum(seat not in facts["quotes"] for facts in rounds) for seat in values},
        "efficiency": {"market": surplus / (len(rounds) * possible)},
        "smiths_alpha": {"market": 100 * spread / middle},
        "profit_dispersion": {"market": math.sqrt(sum(apart) / len(apart))},
    }


def bargaining(trace: Trace) -> Rows:
    records = [facts["record"] for facts in trace.rounds]
    value, cost = (trace.rounds[0]["opening"][name] for name in ("buyer_value", "seller_cost"))
    prices = [record["price"] for record in records if record["price"] is not None]
    bids, asks = ([record[name] for record in records if record[name] is not None] for name in ("bid", "ask"))
    profit = {"B1": sum(value - price for price in prices), "S1": sum(price - cost for price in prices)}
    best = {"B1": sum(max(0, value - ask) for ask in asks), "S1": sum(max(0, bid - cost) for bid in bids)}
    most = len(records) * max(0, value - cost)
    return {
        "profit": profit,
        "surplus_share": {seat: max(0, earned) / most for seat, earned in profit.items()},
        "hindsight_regret": {seat: best[seat] - profit[seat] for seat in profit},
        "efficiency": {"market": sum(profit.values()) / most},
        "price_position": {"market": ratio(sum((price - cost) / (value - cost) for price in prices), len(prices))},
        "trade_frequency": {"market": len(prices) / len(records)},
    }


def retail(trace: Trace) -> Rows:
    def total(name: str) -> int:
        return sum(sum(facts["product"][name]) for facts in trace.rounds)

    ending = trace.ending
    lost = sum(facts["net_lost_units"] for facts in trace.rounds)
    allowance = sum(ending["product_stock_cost_cents"]) - sum(ending["product_stock_value_cents"])
    spent = sum(map(total, ("refunds_cents", "cost_of_goods_cents", "expiry_cost_cents")))
    gain = total("revenue_cents") - spent - sum(facts["rent_cents"] for facts in trace.rounds) - allowance
    empty = sum(len(facts["empty_shelf"]) for facts in trace.rounds)
    found: dict[str, Any] = {
        "gain": gain / 100,
        "return_ratio": ratio(total("returned"), total("units")),
        "lost_sales_rate": ratio(lost, total("units") + lost),
        "empty_shelf_rate": ratio(empty, total("on_shelf")),
        "lowest_funds": min(facts["funds_cents"] for facts in trace.rounds) / 100,
    }
    return {name: {"manager": figure} for name, figure in found.items()}


def supply_chain(trace: Trace) -> Rows:
    seats = list(trace.roles)
    rows = {seat: [facts["seats"][seat] for facts in trace.rounds] for seat in seats}
    profits = {
        seat: [sum(row["revenue"]) - sum(row["cost_of_goods"]) - row["holding"] for row in rows[seat]] for seat in seats
    }
    revenue = {seat: sum(sum(row["revenue"]) for row in rows[seat]) for seat in seats}
    sold = {seat: sum(sum(row["sold"]) for row in rows[seat]) for seat in seats}
    left = {seat: sum(sum(row["units"]) for row in rows[seat]) / len(trace.rounds) for seat in seats}
    wealth = {seat: rows[seat][-1]["funds"] + sum(rows[seat][-1]["book"]) for seat in seats}
    apart = sum(abs(x - y) for x in wealth.values() for y in wealth.values())
    return {
        "pi": {seat: sum(profits[seat]) / 100 for seat in seats},
        "npm": {seat: sum(profits[seat]) / revenue[seat] for seat in seats},
        "iei": {seat: sold[seat] / (sold[seat] + left[seat]) for seat in seats},
        "wealth": {seat: wealth[seat] / 100 for seat in seats},
        "fill": {seat: sold[seat] / sum(sum(row["directed"]) for row in rows[seat]) for seat in seats},
        "wealth_gini": {"market": apart / (2 * len(seats) * sum(wealth.values()))},
    }


def marketplace(trace: Trace) -> Rows:
    made = {row["proposal"]: row for facts in trace.rounds for row in facts["proposals"]}
    paid = {row["proposal"] for facts in trace.rounds for row in facts["settlements"] if row["kind"] == "payment"}
    back = {row["proposal"] for facts in trace.rounds for row in facts["settlements"] if row["kind"] == "refund"}
    deals = [made[name] for name in sorted(paid - back)]
    customers: dict[str, Any] = trace.ending["customers"]
    own = {seat: [deal for deal in deals if deal["customer"] == seat] for seat in customers}
    utility = {
        seat: about["value"] * any(deal["fits"] for deal in own[seat]) - sum(deal["total"] for deal in own[seat])
        for seat, about in customers.items()
    }
    optimum = {seat: max([0, *about["utilities"].values()]) for seat, about in customers.items()}
    businesses = [seat for seat, role in trace.roles.items() if role == "business"]
    return {
        "utility": {seat: cents / 100 for seat, cents in utility.items()},
        "list_price_optimum": {seat: cents / 100 for seat, cents in optimum.items()},
        "achieved": {seat: utility[seat] / optimum[seat] for seat in customers},
        "loss": {seat: (optimum[seat] - utility[seat]) / 100 for seat in customers}
        | {"market": (sum(optimum.values()) - sum(utility.values())) / 100},
        "revenue": {
            seat: sum(deal["total"] for deal in deals if deal["business"] == seat) / 100 for seat in businesses
        },
        "welfare": {"market": sum(utility.values()) / 100},
    }


def pricing(trace: Trace) -> Rows:
    seats, rounds = list(trace.roles), trace.rounds
    opening = rounds[0]["opening"]
    mu, quality, cost = opening["mu"], opening["quality"], opening["cost"]

    def welfare(prices: dict[str, float], outside: float) -> float:
        weights = [math.exp((quality[seat] - price) / mu) for seat, price in prices.items()]
        return mu * math.log(sum(weights) + math.exp(outside / mu)) - outside

    # The joint optimum by bisection on mark-up · share of those who buy nothing = mu.
    low, high = 0.0, 1e5
    for _ in range(200):
        middle = (low + high) / 2
        weights = [math.exp((quality[seat] - cost[seat] - middle) / mu) for seat in seats]
        nothing = math.exp(opening["outside"] / mu) / (sum(weights) + math.exp(opening["outside"] / mu))
        low, high = (middle, high) if middle * nothing < mu else (low, middle)
    profit = {seat: sum(facts["profits"][seat] for facts in rounds) for seat in seats}
    posted = {seat: [facts["prices"][seat] for facts in rounds] for seat in seats}
    return {
        "profit": profit,
        "units": {seat: sum(facts["units"][seat] for facts in rounds) for seat in seats},
        "mean_price": {seat: sum(posted[seat]) / len(posted[seat]) for seat in seats},
        "consumer_surplus": {
            "market": sum(welfare(facts["prices"], facts["outside"]) for facts in rounds) / len(rounds)
        },
        "monopoly_prices": {"market": {seat: round(cost[seat] + low, 7) for seat in seats}},
    }


def order_book(trace: Trace) -> Rows:
    seats, rounds = list(trace.roles), trace.rounds
    opening = rounds[0]["opening"]
    buys = {seat: role == "buyer" for seat, role in trace.roles.items()}
    demand = sorted((unit for seat in seats if buys[seat] for unit in opening["values"][seat]), reverse=True)
    supply = sorted(unit for seat in seats if not buys[seat] for unit in opening["values"][seat])
    possible = sum(max(0, v - c) for v, c in zip(demand, supply, strict=False))
    profit: dict[str, int] = dict(rounds[-1]["profit"])
    fills = [fill for facts in rounds for message in facts["messages"] for fill in message["fills"]]
    units = dict.fromkeys(seats, 0)
    owners = {
        (number, message["order"]): message["seat"]
        for number, facts in enumerate(rounds)
        for message in facts["messages"]
    }
    for number, facts in enumerate(rounds):
        for message in facts["messages"]:
            for order, _, quantity in message["fills"]:
                units[message["seat"]] += quantity
                units[owners[number, order]] += quantity
    return {
        "profit": profit,
        "units": units,
        "max_surplus": {"market": possible},
        "trades": {"market": len(fills)},
        "efficiency": {"market": sum(profit.values()) / (possible * len(rounds))},
        "price_mean": {"market": sum(price * size for _, price, size in fills) / sum(size for *_, size in fills)},
    }


RECOMPUTED = {
    "pricing": pricing,
    "order_book": order_book,
    "teaching": teaching,
    "double_auction": double_auction,
    "bargaining": bargaining,
    "retail": retail,
    "supply_chain": supply_chain,
    "marketplace": marketplace,
}
