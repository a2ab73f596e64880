"""The rules: one formula (engine.demand) and one ledger. Pricing page, sections 1, 5 and 6."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from tradefair.contract import Chance, HarnessFailure, IllegalAction, SealedRounds, SeatId
from tradefair.pricing import views
from tradefair.pricing.answers.results import EndingFacts, OpeningFacts, PriceReceipt, PriceRow, RoundFacts, RulesView
from tradefair.pricing.answers.results import TurnPart as Turn
from tradefair.pricing.engine.demand import units_sold
from tradefair.pricing.model import ROLE, Demand, PricingScenario, RoundRecord, Streams
from tradefair.pricing.state import State


class HiddenTruth(NamedTuple):
    """What privileged seats are given: the whole market, and the laws of `rival` seats."""

    market: Pricing
    rivals: Mapping[SeatId, str]


class Pricing(SealedRounds[int | None]):
    """A live episode; a sealed act is a price, or None of a firm that has never posted one.

    Seats are F1, F2, …; prices, costs and profits are whole minor units, and profits may be negative.
    """

    phases = ("price",)

    def __init__(self, scenario: PricingScenario, seed: int) -> None:
        super().__init__(seed, dict.fromkeys(scenario.seat_ids, ROLE), scenario.rounds)
        self.scenario = scenario
        self._chance = Chance(seed)
        demand, costs = _drawn(scenario, self._chance)
        nothing = dict.fromkeys(self.seats, 0)
        self.state = State(
            scenario, demand, dict(zip(self.seats, costs, strict=True)), dict.fromkeys(self.seats), nothing, {**nothing}
        )
        self.rivals = {seat: self._law(seat) for seat in self.seats}
        self._draw_shocks()

    # --- actions ------------------------------------------------------------------------------------------------------

    def post(self, seat: SeatId, price: int, round_guard: int | None = None) -> PriceReceipt:
        """Seal a price, 0..price_max; final. Raises EpisodeOver, or IllegalAction: stale_round, price_above_max.

        The order of the checks is that of every market: the end, the round that was meant, an earlier act, the price.
        """
        open_round = self.clock.round
        if round_guard is not None and round_guard != open_round and self.terminated is None:
            raise IllegalAction(
                "stale_round",
                f"round {round_guard} is not open; the open round is {open_round}",
                hint=f"set_price with round={open_round}, or without round",
            )
        self.require_open(seat)
        most = self.scenario.price_max
        if price > most:
            raise IllegalAction("price_above_max", f"{price} is above price_max, {most}", hint=f"post 0 to {most}")
        self.sealed[seat] = price
        return PriceReceipt(
            round=open_round, price=price, warning="below_cost" if price < self.state.cost_now(seat) else None
        )

    def default(self, seat: SeatId, phase: str) -> tuple[int | None, str]:
        """A silent firm keeps its last price; without one it stays closed."""
        kept = self.state.posted[seat]
        return kept, "stays_closed" if kept is None else "keeps_price"

    # --- closing ------------------------------------------------------------------------------------------------------

    def settle(self, acts: Mapping[SeatId, int | None]) -> tuple[PriceRow, RoundFacts]:
        """Consumers choose, firms are paid."""
        record = self._settled(acts)
        return views.price_row(self.state, record), self._facts(record)

    def close_round(self) -> RoundRecord:
        """`advance` without its closure, for play by rules alone."""
        record = self._settled(self._closing())
        self._open_next()
        return record

    def _settled(self, acts: Mapping[SeatId, int | None]) -> RoundRecord:
        state, prices = self.state, tuple(acts.values())
        outside, demand = state.outside_now(), state.demand
        units = units_sold(prices, demand.quality, demand.mu, outside, self.scenario.consumers)
        record = RoundRecord(self.clock.round, prices, units, state.cost_shocks(), state.index, outside)
        for seat, earned in zip(acts, state.profits_of(record), strict=True):
            state.profit[seat] += earned
        state.posted.update(acts)
        state.rows.append(record)
        return record

    def _open_next(self) -> None:
        super()._open_next()
        if self.terminated is None:
            self._draw_shocks()

    def _draw_shocks(self) -> None:
        """The levels of the open round: known before anybody prices, moved by nobody."""
        scenario = self.scenario
        if scenario.shock == "none":
            return
        number = self.clock.round
        if scenario.shock != "own_cost":
            self.state.index = self._level(self.state.index, number)
            return
        for seat, level in self.state.own_shocks.items():
            self.state.own_shocks[seat] = self._level(level, number, seat)

    def _level(self, level: int, *key: int | str) -> int:
        if key[0] != 1 and self._chance.uniform(Streams.SHOCK, *key) >= self.scenario.shock_percent / 100:
            return level
        half = self.scenario.shock_size // 2
        return (-2 * half, -half, 0, half, 2 * half)[int(5 * self._chance.uniform(Streams.SHOCK_LEVEL, *key))]

    # --- what the kernel asks -----------------------------------------------------------------------------------------

    def rules_view(self, seat: SeatId) -> RulesView:
        """The rules; equal for all seats."""
        return views.rules(self.state)

    def turn_view(self, seat: SeatId) -> Turn:
        """The price that stands, the last profit and the index."""
        return views.turn_part(self.state, seat)

    def code_constants(self, seat: SeatId) -> dict[str, JsonValue]:
        """SEAT, PRICE_MAX, ROUNDS and CONSUMERS."""
        scenario = self.scenario
        return {
            "SEAT": seat,
            "PRICE_MAX": scenario.price_max,
            "ROUNDS": scenario.rounds,
            "CONSUMERS": scenario.consumers,
        }

    def privileged(self) -> HiddenTruth:
        """The market itself and the laws of `rival` seats."""
        return HiddenTruth(self, self.rivals)

    def ending_facts(self) -> EndingFacts:
        """The final ledger."""
        return EndingFacts(rounds_closed=len(self.state.rows), profit=dict(self.state.profit), opening=self._opening())

    def resample(self, seat: SeatId, chance: Chance) -> None:
        """Another cost where costs are private, the profit that it makes of the same sales, another sealed price."""
        scenario = self.scenario
        if not scenario.costs_known:
            span = scenario.cost_range[1] - scenario.cost_range[0] if scenario.drawn else 200
            self.state.cost[seat] += 1 + int(max(1, span) * chance.uniform("cost", seat))
            place = list(self.seats).index(seat)
            self.state.profit[seat] = sum(self.state.profits_of(record)[place] for record in self.state.rows)
        if scenario.shock == "own_cost":
            self.state.own_shocks[seat] += 1 + int(scenario.shock_size * chance.uniform("shock", seat))
        price = self.sealed.get(seat)
        if price is not None:
            step = 1 + int(scenario.price_max * chance.uniform("price", seat))
            self.sealed[seat] = (price + step) % (scenario.price_max + 1)

    def check(self) -> None:
        """The conservation laws of section 5."""
        demand, scenario = self.state.demand, self.scenario
        earned = dict.fromkeys(self.seats, 0)
        kept: Sequence[int | None] = (None,) * scenario.firms
        for record in self.state.rows:
            assert record.units == units_sold(
                record.prices, demand.quality, demand.mu, record.outside, scenario.consumers
            )
            assert sum(record.units) <= scenario.consumers + scenario.firms
            for place, seat in enumerate(self.seats):
                earned[seat] += self.state.profits_of(record)[place]
                # A firm that has posted once never closes again.
                assert kept[place] is None or record.prices[place] is not None
            kept = record.prices
        assert earned == self.state.profit
        # What a silent firm keeps is the price of the last round.
        assert tuple(self.state.posted.values()) == tuple(kept)
        if self.state.rows:
            self._check_demand_falls(self.state.rows[-1])

    def _check_demand_falls(self, record: RoundRecord) -> None:
        """Raising one price never raises its own units."""
        demand, scenario = self.state.demand, self.scenario
        for place, price in enumerate(record.prices):
            if price is not None and price < scenario.price_max:
                raised = [*record.prices]
                raised[place] = price + 1
                units = units_sold(raised, demand.quality, demand.mu, record.outside, scenario.consumers)
                assert units[place] <= record.units[place]

    def _facts(self, record: RoundRecord) -> RoundFacts:
        seats = list(self.seats)
        costs = [cost + shock for cost, shock in zip(self.state.cost.values(), record.cost_shocks, strict=True)]
        return RoundFacts(
            prices=dict(zip(seats, record.prices, strict=True)),
            units=dict(zip(seats, record.units, strict=True)),
            costs=dict(zip(seats, costs, strict=True)),
            index=record.shock,
            outside=record.outside,
            profits=dict(zip(seats, self.state.profits_of(record), strict=True)),
            profit=dict(self.state.profit),
            opening=self._opening() if record.round == 1 else None,
        )

    def _opening(self) -> OpeningFacts:
        return OpeningFacts(
            quality=dict(zip(self.seats, self.state.demand.quality, strict=True)),
            cost=dict(self.state.cost),
            mu=self.state.demand.mu,
            outside=self.state.demand.outside,
            rivals=dict(self.rivals),
        )

    def _law(self, seat: SeatId) -> str:
        laws = self.scenario.rival_laws
        return laws[int(len(laws) * self._chance.uniform(Streams.RIVAL, seat))]


def _drawn(scenario: PricingScenario, chance: Chance) -> tuple[Demand, tuple[int, ...]]:
    """Demand and unit costs, as the scenario gives them or as the seed draws them."""
    if not scenario.drawn:
        if scenario.quality is None or scenario.cost is None:
            raise HarnessFailure(f"{scenario.id}: quality and cost are required where nothing is drawn")
        return Demand(scenario.quality, scenario.mu, scenario.outside), scenario.cost

    def between(stream: Streams, bounds: tuple[int, int], *key: SeatId) -> int:
        low, high = bounds
        return low + int((high - low + 1) * chance.uniform(stream, *key))

    quality = tuple(between(Streams.QUALITY, scenario.quality_range, seat) for seat in scenario.seat_ids)
    cost = tuple(between(Streams.COST, scenario.cost_range, seat) for seat in scenario.seat_ids)
    return Demand(quality, between(Streams.MU, scenario.mu_range), scenario.outside), cost
