"""Scripted seats: the registry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tradefair.contract import PolicySpec
from tradefair.contract.policy import scripted
from tradefair.order_book.seats import asset, controls, traders
from tradefair.order_book.seats.desk import DeskPolicy, Trader

_GOODS = frozenset({"buyer", "seller"})
_SHARES = frozenset({"trader"})
_ALL = _GOODS | _SHARES


def _trader(rule: type[Trader], roles: frozenset[str] = _GOODS, **marks: Any) -> PolicySpec:
    return scripted(rule, roles, DeskPolicy, **marks)


_SPECS = (
    _trader(traders.Passive, _ALL, reference=True),
    _trader(traders.RandomLegal, _ALL),
    _trader(traders.ZiC, _ALL),
    _trader(traders.ZiU),
    _trader(traders.Truthful, reference=True),
    _trader(traders.Zip, reference=True, stand_in=True),
    _trader(traders.Gd, reference=True),
    _trader(traders.Aa, reference=True),
    _trader(traders.Kaplan, reference=True),
    _trader(traders.Shaver, reference=True),
    _trader(traders.Anchored, reference=True),
    _trader(asset.MarketMaker, _SHARES),
    _trader(asset.Fundamentalist, _SHARES, reference=True, stand_in=True),
    _trader(asset.TrendFollower, _SHARES),
    _trader(asset.Momentum, _SHARES),
    _trader(asset.Hold, _SHARES, reference=True),
    _trader(controls.LossMaker),
    _trader(controls.Churner),
    _trader(controls.Sleeper, _ALL),
    _trader(controls.BubbleBuyer, _SHARES),
    _trader(controls.Ring, frozenset({"seller"}), privileged=True),
    scripted(controls.Blind, _GOODS),
    scripted(controls.Contrary, _GOODS),
)
POLICIES: Mapping[str, PolicySpec] = {spec.name: spec for spec in _SPECS}
