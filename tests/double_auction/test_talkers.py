"""Scripted seats that talk: each does what it is named for, over tools and by rules alone.

Also here:
- Sanity of the whole field of traders, and what the oracle of sealed quotes leaves on the table (page, 13).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from benchmarks.double_auction_fast import play_fast
from tests.calling import moves
from tests.double_auction.seated import RULES
from tests.play_specs import play_spec

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import Chance, Draw, IllegalAction, ScenarioError
from tradefair.contract.kernel.core import Core
from tradefair.contract.kernel.players import Limits
from tradefair.contract.policy import parse_policy
from tradefair.double_auction.analysis import PlayedRound, regret
from tradefair.double_auction.model import DoubleAuctionScenario, Role, role_of
from tradefair.double_auction.policies import POLICIES
from tradefair.double_auction.rules import DoubleAuction
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.seats.plans import plan_seats
from tradefair.host.seats.scripted import Scripted
from tradefair.runner.play.agent_spec import AgentSpec
from tradefair.runner.play.episode_runner import Played, play_episode
from tradefair.tracestore import open_trace
from tradefair.trading.statements import read_statements

Open = Callable[..., DoubleAuction]
Play = Callable[[DoubleAuction, Mapping[str, str]], list[str]]

FIELDS = {
    "ring": {"buyer": "truthful", "seller": "cartel_sellers"},
    "rings": {"buyer": "cartel_buyers", "seller": "cartel_sellers"},
    "words": {"buyer": "leaker", "seller": "promiser"},
    "orders": {"buyer": "obeyer", "seller": "injector"},
    "noise": {"buyer": "random_legal", "seller": "cartel_sellers"},
    "mute": {"buyer": "zip", "seller": "blind"},
}


def _seats(market: DoubleAuction, field: Mapping[str, str]) -> dict[str, str]:
    return {seat: field[spec.role] for seat, spec in market.seats.items()}


@pytest.mark.parametrize("preset", ["collusion", "collusion_silent"])
@pytest.mark.parametrize("field", sorted(set(FIELDS) - {"mute"}))
def test_talkers_say_and_quote_the_same_over_tools_and_by_rules_alone(
    open_market: Open, play: Play, field: str, preset: str
) -> None:
    market = open_market(preset, 3)
    policies = _seats(market, FIELDS[field])
    play(market, policies)
    fast = play_fast(market.scenario, 3, policies)
    assert [closed.row for closed in fast.state.rounds] == [closed.row for closed in market.state.rounds]
    assert fast.state.messages == market.state.messages
    assert bool(market.state.messages) == (preset == "collusion")


def test_sellers_agree_on_the_median_and_take_turns(open_market: Open, play: Play) -> None:
    market = open_market("collusion", 3)
    play(market, _seats(market, FIELDS["ring"]))
    costs = [market.state.private.by_seat[seat] for seat in ("S1", "S2", "S3")]
    proposals = [min(100, cost + 20) for cost in costs]
    common = sorted(proposals)[1]
    ring = [seat for seat, named in zip(("S1", "S2", "S3"), proposals, strict=True) if named <= common]
    for closed in market.state.rounds:
        winner = ring[(closed.round - 1) % len(ring)]
        assert closed.asks == {seat: common - 1 if seat == winner else 100 for seat in ("S1", "S2", "S3")}
    assert {one.recipient for one in market.state.messages} == {"all_sellers"}
    assert {one.text for one in market.state.messages if one.round > 1} == {f"Ask {common}."}
    said = read_statements(f"Ask {common}.", "seller", 2, 8)
    assert [(one.kind, one.x) for one in said] == [("own_quote", common)]


def test_a_ring_earns_more_with_talk_than_without(open_market: Open) -> None:
    prices: dict[str, list[int]] = {"collusion": [], "collusion_silent": []}
    for preset, seen in prices.items():
        for seed in range(1, 9):
            scenario: Any = load_scenario("double_auction", preset)
            market = play_fast(scenario, seed, _seats(open_market(preset, seed), FIELDS["ring"]))
            seen += [match.price for closed in market.state.rounds for match in closed.matches]
    means = {preset: sum(seen) / len(seen) for preset, seen in prices.items()}
    assert means["collusion"] > means["collusion_silent"] + 5


@pytest.mark.parametrize("preset", ["collusion_public", "collusion_no_private"])
def test_a_ring_that_cannot_talk_among_itself_agrees_on_nothing(open_market: Open, preset: str) -> None:
    prices: dict[str, list[int]] = {"collusion": [], preset: []}
    for name, seen in prices.items():
        scenario: Any = load_scenario("double_auction", name)
        for seed in range(1, 9):
            market = play_fast(scenario, seed, _seats(open_market(name, seed), FIELDS["ring"]))
            assert bool(market.state.messages) == (name == "collusion")
            seen += [match.price for closed in market.state.rounds for match in closed.matches]
    means = {name: sum(seen) / len(seen) for name, seen in prices.items()}
    assert means["collusion"] > means[preset] + 5


@pytest.mark.parametrize("preset", ["collusion_public", "collusion_no_private", "collusion_silent"])
def test_arms_of_collusion_have_the_same_values_orders_and_coins(open_market: Open, preset: str) -> None:
    loaded: Any = load_scenario("double_auction", preset)
    talking: Any = load_scenario("double_auction", "collusion")
    here, there = (
        play_fast(scenario, 4, _seats(open_market("collusion", 4), {"buyer": "zip", "seller": "zip"}))
        for scenario in (loaded, talking)
    )
    assert here.state.private == there.state.private
    assert [closed.quote_order for closed in here.state.rounds] == [closed.quote_order for closed in there.state.rounds]
    assert [closed.matches for closed in here.state.rounds] == [closed.matches for closed in there.state.rounds]


def test_what_is_public_reaches_all_and_what_is_not_private_the_other_side(open_market: Open) -> None:
    allowed = {
        "collusion_public": {"all_traders": ["B1", "B2", "B3", "S2", "S3"]},
        "collusion_no_private": {"all_buyers": ["B1", "B2", "B3"], "B2": ["B2"]},
    }
    for preset, reached in allowed.items():
        for recipient in ("all_traders", "all_sellers", "all_buyers", "S2", "B2"):
            market = open_market(preset, 3)
            if recipient in reached:
                assert market.say("S1", recipient, "ask 90").delivered_to == reached[recipient]
            else:
                with pytest.raises(IllegalAction, match="recipient_not_allowed"):
                    market.say("S1", recipient, "ask 90")


def test_promises_are_broken_and_values_told(open_market: Open, play: Play) -> None:
    market = open_market("collusion", 3)
    play(market, _seats(market, FIELDS["words"]))
    values = market.state.private.by_seat
    for message in market.state.messages:
        closed = market.state.rounds[message.round - 1]
        (said,) = read_statements(message.text, market.seats[message.sender].role, message.round, 8)  # type: ignore[arg-type]
        if message.sender.startswith("B"):
            assert (said.kind, said.x) == ("own_limit", values[message.sender])
        else:
            assert (said.kind, said.strength) == ("own_quote", "firm")
            assert closed.asks[message.sender] <= said.x - 2


def test_orders_in_messages_are_followed_by_who_obeys_only(open_market: Open, play: Play) -> None:
    market = open_market("collusion", 3)
    play(market, {**_seats(market, FIELDS["orders"]), "S2": "obeyer"})
    last = market.state.rounds[-1]
    assert {last.bids[seat] for seat in ("B1", "B2", "B3")} == {0}
    assert last.asks["S2"] == 0
    assert last.asks["S1"] == min(100, market.state.private.by_seat["S1"] + 5)


def test_seats_without_words_are_silent_and_play_on(open_market: Open, play: Play) -> None:
    market = open_market("collusion", 3)
    lines = play(market, _seats(market, FIELDS["mute"]))
    assert market.state.messages == []
    assert not any(market.state.rounds_forfeited.values())
    assert not any(" read_messages " in line for line in lines)
    oracles = {**_seats(market, FIELDS["mute"]), "B1": "passive"}
    again = open_market("collusion", 3)
    assert "B1 lapses: silence" in play(again, oracles)


def test_a_ring_is_for_its_own_side(open_market: Open) -> None:
    market = open_market("collusion", 3)
    with pytest.raises(ScenarioError, match="not for a buyer"):
        play_fast(market.scenario, 3, dict.fromkeys(market.seats, "cartel_sellers"))


async def _episode(framework: str, policy: str, folder: Path, **seats: str) -> Played:
    """One episode of the collusion preset, with the agent on S1."""
    overrides = {f"seats.{role}": spelling for role, spelling in seats.items()}
    kind, scenario = market_type("double_auction"), load_scenario("double_auction", "collusion", overrides)
    agent = AgentSpec(framework, f"policy:{policy}", limits=Limits(calls_per_round=200))
    plan = plan_seats(kind, scenario)
    return await play_episode(
        play_spec(market="double_auction", scenario=scenario, seed=7, plan=plan, agent=agent, folder=folder)
    )


async def test_talk_is_read_by_the_general_diagnostics(tmp_path: Path) -> None:
    played = await _episode("policy", "leaker", tmp_path, buyer="obeyer", seller="injector")
    diagnosis = evaluate_file(played.path).diagnosis
    assert diagnosis is not None
    agent, buyer = diagnosis.of_seat("S1"), diagnosis.of_seat("B1")
    assert (agent["leak"].count, agent["leak"].of) == (8, 8)
    assert (buyer["injection_followed"].count, buyer["injection_followed"].of) == (16, 16)
    # A look at the history before the talk closed is as good as one after it.
    assert agent["stale_evidence"].count == 0


async def test_an_agent_talks_and_quotes_over_mcp_as_inside_the_episode(tmp_path: Path) -> None:
    played_as: list[list[bytes]] = []
    for framework in ("policy", "react"):
        played = await _episode(framework, "cartel_sellers", tmp_path / framework)
        assert set(played.agents) == {"S1"}
        with open_trace(played.path) as trace:
            sent = [event for event in trace.decoded() if event.get("tool") == "send_message" and event["seat"] == "S1"]
        played_as.append(moves(played.path))
        assert len(sent) == 8
        assert all(event["result"]["delivered_to"] == ["S2", "S3"] for event in sent)
        assert verify_file(str(played.path)).verdict == "reproduced"
    assert played_as[0] == played_as[1]


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
