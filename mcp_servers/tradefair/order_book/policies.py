"""Scripted seats: the registry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from tradefair.contract import Draw, Params, PolicySpec
from tradefair.order_book.seats import asset, controls, traders
from tradefair.order_book.seats.desk import DeskPolicy, Trader, number, only

_GOODS = frozenset({"buyer", "seller"})
_SHARES = frozenset({"trader"})
_ALL = _GOODS | _SHARES


class _Rule(NamedTuple):
    name: str
    make: Callable[[Params, Draw], Trader]
    description: str
    roles: frozenset[str] = _GOODS
    told: bool = False
    reference: bool = False
    stand_in: bool = False


def _plain(make: Callable[[], Trader]) -> Callable[[Params, Draw], Trader]:
    def made(params: Params, draw: Draw) -> Trader:
        only(params)
        return make()

    return made


def _drawing(make: Callable[[Draw], Trader]) -> Callable[[Params, Draw], Trader]:
    def made(params: Params, draw: Draw) -> Trader:
        only(params)
        return make(draw)

    return made


def _market_maker(params: Params, draw: Draw) -> Trader:
    only(params, "width", "limit")
    return asset.MarketMaker(number(params, "width", 4, 1, 1_000), number(params, "limit", 5, 1, 1_000))


def _fundamentalist(params: Params, draw: Draw) -> Trader:
    only(params, "noise")
    return asset.Fundamentalist(draw, number(params, "noise", 8, 0, 50))


_RULES = (
    _Rule("passive", _plain(traders.Passive), "passes", _ALL, reference=True),
    _Rule("random_legal", _drawing(traders.RandomLegal), "any price; may lose", _ALL),
    _Rule("zi_c", _drawing(traders.ZeroIntelligence), "a random price that cannot lose", _ALL),
    _Rule("zi_u", _drawing(traders.Unconstrained), "a random price, whatever it loses"),
    _Rule("truthful", _plain(traders.Truthful), "its value", reference=True),
    _Rule("zip", _drawing(traders.Zip), "a margin that follows every order", reference=True, stand_in=True),
    _Rule("gd", _plain(traders.GjerstadDickhaut), "belief times profit over the last orders", reference=True),
    _Rule("aa", _drawing(traders.AdaptiveAggressive), "adaptive aggressiveness", reference=True),
    _Rule("kaplan", _plain(traders.Kaplan), "waits, and takes what is good or late", reference=True),
    _Rule("shaver", _plain(traders.Shaver), "one tick better than the best", reference=True),
    _Rule("anchored", _plain(traders.Anchored), "near the mean of the last trades", reference=True),
    _Rule("market_maker", _market_maker, "quotes both sides (width=4, limit=5)", _SHARES),
    _Rule(
        "fundamentalist",
        _fundamentalist,
        "believes the fundamental value (noise=8 %)",
        _SHARES,
        reference=True,
        stand_in=True,
    ),
    _Rule("trend_follower", _drawing(asset.TrendFollower), "expects the last change to go on", _SHARES),
    _Rule("momentum", _drawing(asset.Momentum), "expects the last trades to go on", _SHARES),
    _Rule("hold", _plain(asset.Hold), "never trades", _SHARES, reference=True),
    _Rule("loss_maker", _plain(controls.LossMaker), "control: bids through its value"),
    _Rule("churner", _plain(controls.Churner), "control: replaces its order in every step"),
    _Rule("sleeper", _plain(controls.Sleeper), "control: one quote a period, far away", _ALL),
    _Rule("bubble_buyer", _plain(controls.BubbleBuyer), "control: buys shares at any price", _SHARES),
    _Rule(
        "ring", _plain(controls.Ring), "control: asks above the competitive prices", frozenset({"seller"}), told=True
    ),
)


def _spec(rule: _Rule) -> PolicySpec:
    def make(params: Params, draw: Draw) -> DeskPolicy:
        # Made once for nothing: parameters are checked when a scenario is, not in the first step.
        rule.make(params, draw)
        return DeskPolicy(lambda: rule.make(params, draw))

    return PolicySpec(
        rule.name,
        make,
        rule.roles,
        rule.description,
        privileged=rule.told,
        reference=rule.reference,
        stand_in=rule.stand_in,
        fast=rule.make,
    )


POLICIES: Mapping[str, PolicySpec] = {
    **{rule.name: _spec(rule) for rule in _RULES},
    "blind": PolicySpec("blind", controls.blind, _GOODS, "control: quotes without a look at the book"),
    "contrary": PolicySpec(
        "contrary", controls.contrary, _GOODS, "control: orders at the price that its own analysis calls least likely"
    ),
}
