"""Sanity of the whole field of traders, and what the oracle of sealed quotes leaves on the table (page, 13)."""

from __future__ import annotations

from collections import defaultdict
from functools import partial

import pytest
from benchmarks.double_auction_fast import play_fast
from tests.double_auction.seated import RULES

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import Chance, Draw
from tradefair.contract.kernel.core import Core
from tradefair.contract.policy import parse_policy
from tradefair.double_auction.analysis import PlayedRound, regret
from tradefair.double_auction.model import DoubleAuctionScenario, Role, role_of
from tradefair.double_auction.policies import POLICIES
from tradefair.double_auction.rules import DoubleAuction
from tradefair.host.scripted import Scripted

EPISODES = 1_500
FIELD = tuple(name for name in RULES if name != "random_legal")


def _bazaar(**overrides: int) -> DoubleAuctionScenario:
    scenario = load_scenario("double_auction", "bazaar", overrides)
    assert isinstance(scenario, DoubleAuctionScenario)
    return scenario


def _drawn(chance: Chance, episode: int, seats: tuple[str, ...]) -> dict[str, str]:
    """Traders for the seats, without replacement, from a keyed stream."""
    ranked = sorted(FIELD, key=lambda name: chance.uniform("tournament", episode, name))
    return dict(zip(seats, ranked, strict=False))


@pytest.mark.many
def test_careful_traders_earn_more_than_reckless_ones_over_fifteen_hundred_mixed_episodes() -> None:
    scenario, chance = _bazaar(), Chance("tests.field")
    shares: dict[str, list[float]] = defaultdict(list)
    for episode in range(1, EPISODES + 1):
        seated = _drawn(chance, episode, scenario.roster.seats)
        state = play_fast(scenario, episode, seated).state
        for seat, name in seated.items():
            potential = state.private.potential[seat]
            if potential:
                shares[name].append(state.payoff[seat] / (scenario.rounds * potential))
    assert set(shares) == set(FIELD)
    assert min(map(len, shares.values())) > 100
    means = {name: sum(earned) / len(earned) for name, earned in shares.items()}
    worst = max(means["zic"], means["kaplan"])
    strong = {name: means[name] for name in ("risk_aware_bazaar", "gd_bazaar", "threat_bazaar", "bayesian_bazaar")}
    assert min(strong.values()) > worst, (strong, means["zic"], means["kaplan"])


def _with_oracle(seat: str, seed: int) -> DoubleAuction:
    """Four rounds of the benchmark with the oracle among careless traders."""
    kind, scenario = market_type("double_auction"), _bazaar(rounds=4)
    names = dict.fromkeys(scenario.roster.seats, "zic") | {seat: "oracle_sealed"}
    makers = {
        other: partial(kind.policies[name].make, parse_policy(name)[1], Draw.of(seed, other))
        for other, name in names.items()
    }
    core = Core.create(kind, scenario, seed)
    scripted = Scripted(makers, privileged=frozenset({seat}))
    core.start()
    while scripted.run(core):
        pass
    assert isinstance(core.market, DoubleAuction)
    return core.market


@pytest.mark.parametrize("seat", ["B2", "S3"])
def test_the_oracle_of_sealed_quotes_regrets_nothing_but_ties(seat: str) -> None:
    """Whatever would have earned more is a quote that ties with a rival's, as the order came out, or a loss risked."""
    role: Role = role_of(seat)
    rounds = regretted = 0
    for seed in range(1, 9):
        market = _with_oracle(seat, seed)
        value = market.state.private.by_seat[seat]
        for closed in market.state.rounds:
            own = closed.bids if role == "buyer" else closed.asks
            rivals = {price for other, price in own.items() if other != seat}
            played = PlayedRound(closed.bids, closed.asks, closed.quote_order)
            rounds += 1
            actual = regret(seat, role, value, [played], 100).payoff
            inside = range(value + 1) if role == "buyer" else range(value, 101)
            better = {price for price in inside if _earned(seat, role, value, played, price) > actual}
            regretted += bool(better)
            assert better <= rivals or own[seat] in rivals
    assert rounds == 32
    assert regretted < rounds / 2


def _earned(seat: str, role: Role, value: int, played: PlayedRound, price: int) -> float:
    bids, asks = dict(played.bids), dict(played.asks)
    (bids if role == "buyer" else asks)[seat] = price
    return regret(seat, role, value, [PlayedRound(bids, asks, played.quote_order)], 100).payoff


def test_the_field_is_every_trader_that_keeps_to_its_value() -> None:
    assert len(FIELD) == len(set(FIELD)) >= 30
    assert set(FIELD) <= set(POLICIES)
