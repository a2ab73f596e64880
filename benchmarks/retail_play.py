"""Managers of retail without a trace: the bundled policies themselves, answered by the market's functions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import orjson

from tradefair.contract import Draw, IllegalAction, Policy, ToolAnswer, ToolCall
from tradefair.contract.policy import parse_policy
from tradefair.retail import MARKET
from tradefair.retail.model import SEAT, RetailScenario
from tradefair.retail.rules import Retail


class ManagerRun(NamedTuple):
    """One episode of a manager; ratios are of units sold, and of units sold or expired."""

    seed: int
    net_worth_cents: int
    units_sold: int
    days: int
    end_reason: str
    sold_products: float
    stockout_days: int
    return_ratio: float
    expired_ratio: float

    @property
    def net_worth(self) -> float:
        """Currency units at the end."""
        return self.net_worth_cents / 100


def play_manager(scenario: RetailScenario, seed: int, spelling: str) -> ManagerRun:
    """A whole episode of a policy such as `oracle(price_key=unit_sum)`, to the cent as through the tools.

    No limit on calls, no events: about a CPU second where `play_scripted` takes two.
    """
    market, manager = Retail(scenario, seed), manager_of(spelling, seed)
    sold = stockouts = returned = 0
    while market.terminated is None:
        manage_day(market, manager)
        closed = market.close_day()
        sold += len(closed.book.units) - closed.book.units.count(0)
        stockouts += bool(closed.stock_outs)
        returned += sum(closed.book.returned)
    books, days = market.books, market.day - 1
    units = max(1, books.sold_units)
    return ManagerRun(
        seed,
        market.net_worth_cents,
        books.sold_units,
        days,
        market.terminated,
        sold / days,
        stockouts,
        returned / units,
        books.expired_units / (units + books.expired_units),
    )


def manager_of(spelling: str, seed: int) -> Policy:
    """A fresh manager, as an episode of this seed has it."""
    name, params = parse_policy(spelling)
    return MARKET.policies[name].make(params, Draw.of(seed, SEAT))


def manage_day(market: Retail, manager: Any) -> list[ToolCall]:
    """Carry out a manager's calls of the open day, and end it; the caller closes it. Returns the calls."""
    if hasattr(manager, "see"):
        manager.see(market.privileged())
    turn = manager.turn(SimpleNamespace(market=market.turn_view(SEAT).model_dump(mode="json")))
    calls: list[ToolCall] = [next(turn)]
    while calls[-1].tool != "end_today":
        calls.append(turn.send(answer(market, calls[-1])))
    market.end_today()
    return calls[:-1]


def answer(market: Retail, call: ToolCall) -> ToolAnswer:
    """Carry out one call: what the tool's function says, or the refusal of the rules."""
    # A tool of the kernel; all others are the market's.
    if call.tool == "view_rules":
        return ToolAnswer(orjson.dumps({"rules": market.rules_view(SEAT).model_dump(mode="json")}), None, False)
    tool = MARKET.tools[call.tool]
    given = tool.parameters.model_validate(dict(call.arguments))
    try:
        found = tool.function(market, SEAT, **{name: getattr(given, name) for name in type(given).model_fields})
    except IllegalAction as refusal:
        return ToolAnswer(None, refusal.info, False)
    return ToolAnswer(found.model_dump_json().encode(), None, False)
