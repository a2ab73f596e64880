"""The one mutable record of an episode: all that the rules change, except for the clock and the sealed acts."""

from __future__ import annotations

from dataclasses import dataclass, field

from tradefair.contract import SeatId
from tradefair.contract.sealed import AppendOnly
from tradefair.pricing.model import Demand, PricingScenario, RoundRecord


@dataclass
class State:
    """Demand, costs, prices that stand, ledger and closed rounds; read by the views, changed by the rules only.

    Mappings have the order of the seats. `index` is the public shock of the open round, `own_shocks` those that only
    their firm is told; 0 where the scenario has none.
    """

    scenario: PricingScenario
    demand: Demand
    cost: dict[SeatId, int]
    posted: dict[SeatId, int | None]
    profit: dict[SeatId, int]
    own_shocks: dict[SeatId, int]
    index: int = 0
    rows: AppendOnly[RoundRecord] = field(default_factory=AppendOnly[RoundRecord])

    @property
    def round(self) -> int:
        """The open round; after the end the one that would follow."""
        return len(self.rows) + 1

    def cost_shocks(self) -> tuple[int, ...]:
        """What a unit costs each firm more than c_i in the open round, in seat order."""
        match self.scenario.shock:
            case "common_cost":
                return (self.index,) * self.scenario.firms
            case "own_cost":
                return tuple(self.own_shocks.values())
            case _:
                return (0,) * self.scenario.firms

    def cost_now(self, seat: SeatId) -> int:
        """The unit cost of the open round."""
        match self.scenario.shock:
            case "common_cost":
                return self.cost[seat] + self.index
            case "own_cost":
                return self.cost[seat] + self.own_shocks[seat]
            case _:
                return self.cost[seat]

    def outside_now(self) -> int:
        """The outside option of the open round."""
        return self.demand.outside + (self.index if self.scenario.shock == "demand" else 0)

    def profits_of(self, record: RoundRecord) -> list[int]:
        """What each firm earned in a closed round, in seat order; a closed firm 0."""
        return [
            0 if price is None else units * (price - cost - shock)
            for price, units, cost, shock in zip(
                record.prices, record.units, self.cost.values(), record.cost_shocks, strict=True
            )
        ]
