"""Traders with draws of a test's choice."""

from __future__ import annotations

from dataclasses import dataclass

from tradefair.contract import Draw
from tradefair.contract.policy import rule_name
from tradefair.double_auction.seats.traders import TRADERS
from tradefair.double_auction.seats.traders_identified import IDENTIFIED_TRADERS
from tradefair.double_auction.seats.traders_learning import LEARNING_TRADERS
from tradefair.trading.mirror import Trader, TraderView

RULES = {rule_name(rule): rule for rule in (*TRADERS, *LEARNING_TRADERS, *IDENTIFIED_TRADERS)}


class FixedDraw(Draw):
    """Every uniform is the same, so that a rule can be followed by hand."""

    def __init__(self, u: float) -> None:
        self._u = u

    def uniform(self, *key: int | str) -> float:
        return self._u

    def uniforms(self, *key: int | str, n: int) -> list[float]:
        return [self._u] * n


@dataclass
class Seated:
    """A trader whose views bring these draws."""

    trader: Trader
    draw: Draw

    def quote(self, view: TraderView) -> int | None:
        view.draw = self.draw
        return self.trader.quote(view)
