"""Whole episodes of posted prices by rules and firms alone: an oracle of tests and the engine of long benchmarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tradefair.contract import Draw, ScenarioError, SeatId
from tradefair.contract.errors import unknown
from tradefair.contract.policy import parse_policy, with_parameters
from tradefair.pricing.model import PricingScenario, RoundRecord
from tradefair.pricing.policies import POLICIES, check_laws
from tradefair.pricing.rules import Pricing
from tradefair.pricing.seats.desk import Desk, Firm, Own, clamped, inform, publish


def play_fast(scenario: PricingScenario, seed: int, policies: Mapping[SeatId, str], policy_key: int = 0) -> Pricing:
    """A whole episode by rules and firms alone, no tools and no events; the finished market.

    `policies` names one policy per seat. The prices are those that the same policies post over tools; `policy_key`
    gives them other draws. ScenarioError for a missing seat, an unknown policy or one that lives on tools alone.
    """
    check_laws(scenario)
    market = Pricing(scenario, seed)
    if missing := [seat for seat in market.seats if seat not in policies]:
        raise ScenarioError(f"no policy for {', '.join(missing)}")
    players = [_player(market, seat, policies[seat], Draw.of(seed, seat, policy_key)) for seat in market.seats]
    return play(market, players)


def _player(market: Pricing, seat: SeatId, policy: str, draw: Draw) -> FastPlayer:
    name, params = parse_policy(policy)
    spec = POLICIES.get(name)
    # Rules without a price of their own live on tools alone and cannot be played here.
    if spec is None or not hasattr(spec.rule, "price"):
        raise ScenarioError(unknown("policy", name, POLICIES, of="pricing"))
    # What the scenario publishes every firm knows; the rest only those that are told.
    firm = with_parameters(spec.rule, params)
    return FastPlayer(market, seat, firm, draw, told=spec.knows_hidden(market.scenario))


class FastPlayer:
    """A seat of play by rules alone: its firm, and a desk with what the firm would see over tools."""

    def __init__(self, market: Pricing, seat: SeatId, firm: Firm, draw: Draw, *, told: bool) -> None:
        scenario = market.scenario
        self.seat, self._firm, self._market, self._told = seat, firm, market, told
        self._published = scenario.demand_known and scenario.costs_known
        # Without shocks every round is known as the first is.
        self._constant = scenario.shock == "none"
        place = list(market.seats).index(seat)
        self._desk = Desk(place, scenario.firms, scenario.rounds, scenario.price_max, scenario.consumers, draw)
        self._desk.cost = market.state.cost[seat]

    def act(self) -> None:
        """Post the price of the open round, or lapse."""
        desk, market = self._desk, self._market
        state = market.state
        desk.round, desk.index, desk.cost_now = market.clock.round, state.index, state.cost_now(self.seat)
        if desk.past and self._constant:
            desk.past.append(desk.known)
        elif self._told:
            inform(desk, market.privileged())
        elif self._published:
            demand = state.demand
            publish(desk, demand.quality, tuple(state.cost.values()), demand.mu, demand.outside)
        price = self._firm.price(desk)
        if price is None:
            market.lapse(self.seat, "agent_limit")
        else:
            market.sealed[self.seat] = clamped(price, desk)

    def show(self, record: RoundRecord) -> None:
        """Enter the round that has just closed."""
        desk = self._desk
        desk.prices.append(record.prices)
        price, units = record.prices[desk.place], record.units[desk.place]
        earned = 0 if price is None else units * (price - desk.cost_now)
        desk.own.append(Own(price, units, earned))


def play(market: Pricing, players: Sequence[FastPlayer]) -> Pricing:
    """A whole episode by rules and firms alone, one player per seat; the finished market."""
    while market.terminated is None:
        for player in players:
            player.act()
        record = market.close_round()
        for player in players:
            player.show(record)
    return market
