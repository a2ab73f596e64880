"""`SealedRounds` on a small Cournot market: what the base promises to every market that inherits from it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from itertools import permutations
from types import SimpleNamespace
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from tradefair.contract.chance import Chance
from tradefair.contract.errors import EpisodeOver, HarnessFailure, IllegalAction
from tradefair.contract.kernel.core import Core
from tradefair.contract.market import Brief, Clock
from tradefair.contract.policy import Draw, Params, Passive, PolicySpec, ToolCall, Turns, TurnView
from tradefair.contract.scenario import Scenario, SeatId, build_scenario
from tradefair.contract.sealed import AppendOnly, SealedRounds, SealedType
from tradefair.contract.tool import Result, ToolTable, during, tool
from tradefair.testing import check_market

FIRMS = {"F2": "firm", "F10": "firm", "F1": "firm"}
"""In an order that no sort would make."""


class CournotScenario(Scenario):
    """Firms sell one good; its price falls by 1 with each unit."""

    rounds: int = Field(default=3, ge=1, le=50)
    demand: int = 40
    advice: bool = False


class Streams(StrEnum):
    COST = "cost"


class Row(Result):
    round: int
    quantities: dict[SeatId, int]
    price: int


class Truth(Result):
    costs: dict[SeatId, int]
    profit: dict[SeatId, int]


class Heard(Result):
    round: int


class Own(Result):
    cost: int
    profit: int


class Cournot(SealedRounds[int]):
    def __init__(self, scenario: CournotScenario, seed: int) -> None:
        super().__init__(seed, FIRMS, scenario.rounds, ("advise", "produce") if scenario.advice else ("produce",))
        self.scenario = scenario
        self._chance = Chance(seed)
        self.costs = {seat: 1 + int(9 * self._chance.uniform(Streams.COST, seat)) for seat in self.seats}
        self.profit = dict.fromkeys(self.seats, 0)
        self.rows = AppendOnly[Row]()
        self.advised: dict[SeatId, int] = {}
        self.settled_order: list[list[SeatId]] = []

    def settle(self, acts: Mapping[SeatId, int]) -> tuple[Row, Truth]:
        self.settled_order.append(list(acts))
        price = max(0, self.scenario.demand - sum(acts.values()))
        for seat, quantity in acts.items():
            self.profit[seat] += quantity * (price - self.costs[seat])
        self.rows.append(Row(round=self.clock.round, quantities=dict(acts), price=price))
        return self.rows[-1], Truth(costs=self.costs, profit=self.profit)

    def deliver(self, phase: str, acts: Mapping[SeatId, int]) -> Heard:
        self.advised = {phase + seat: quantity for seat, quantity in acts.items()}
        return Heard(round=self.clock.round)

    def default(self, seat: SeatId, phase: str) -> tuple[int, str]:
        return (0, "no_output") if phase == "produce" else (1, "no_advice")

    def resample(self, seat: SeatId, chance: Chance) -> None:
        cost = 1 + (self.costs[seat] + int(8 * chance.uniform("cost", seat))) % 9
        sold = sum(row.quantities[seat] for row in self.rows)
        self.profit[seat] += sold * (self.costs[seat] - cost)
        self.costs[seat] = cost
        if seat in self.sealed:
            self.sealed[seat] = (self.sealed[seat] + 1 + int(20 * chance.uniform("output", seat))) % 21

    def rules_view(self, seat: SeatId) -> Heard:
        return Heard(round=self.rounds)

    def turn_view(self, seat: SeatId) -> Heard:
        return Heard(round=len(self.rows))

    def ending_facts(self) -> Truth:
        return Truth(costs=self.costs, profit=self.profit)


@tool("read", title="Own cost", evidence=("own_cost",))
def view_my_cost(market: Cournot, seat: SeatId) -> Own:
    """Your cost per unit and your profit so far."""
    return Own(cost=market.costs[seat], profit=market.profit[seat])


@tool("action", title="Produce", open=during("produce"))
def produce(
    market: Cournot, seat: SeatId, *, quantity: Annotated[int, Field(ge=0, le=20, description="units to produce")]
) -> Heard:
    """Produce 0 to 20 units for the open round; sealed and final."""
    market.seal(seat, quantity)
    return Heard(round=market.clock.round)


class _Uniform:
    def __init__(self, draw: Draw) -> None:
        self._draw = draw

    def turn(self, now: TurnView) -> Turns:
        yield ToolCall("view_my_cost")
        yield ToolCall("produce", {"quantity": int(21 * self._draw.uniform("output", now.round))})


def _uniform(params: Params, draw: Draw) -> _Uniform:
    return _Uniform(draw)


def _passive(params: Params, draw: Draw) -> Passive:
    return Passive()


class _CournotType(SealedType):
    name = "cournot"
    version = "1"
    title = "firms choose how much to produce"
    scenario_model = CournotScenario
    tools = ToolTable(view_my_cost, produce)
    policies = {  # noqa: RUF012 - a constant table
        "random_legal": PolicySpec("random_legal", _uniform, frozenset({"firm"})),
        "passive": PolicySpec("passive", _passive, frozenset({"firm"})),
    }
    streams = Streams

    def create(self, scenario: CournotScenario, seed: int) -> Cournot:
        return Cournot(scenario, seed)

    def brief(self, scenario: CournotScenario, seat: SeatId) -> Brief:
        return Brief(f"You are firm {seat}.", "Maximise your profit.", "All firms produce at once, unseen.")

    def check(self, market: Cournot) -> None:
        sold = {seat: sum(row.quantities[seat] * row.price for row in market.rows) for seat in market.seats}
        made = {seat: sum(row.quantities[seat] for row in market.rows) for seat in market.seats}
        assert market.profit == {seat: sold[seat] - made[seat] * market.costs[seat] for seat in market.seats}


def _scenario(**settings: Any) -> CournotScenario:
    return build_scenario(CournotScenario, {"id": "cournot/plain", **settings}, source="test")


def _market(seed: int = 5, **settings: Any) -> Cournot:
    return Cournot(_scenario(**settings), seed)


def _play(market: Cournot, acts: Mapping[SeatId, int]) -> Any:
    for seat, act in acts.items():
        market.seal(seat, act)
    return market.advance()


@pytest.mark.process
def test_a_market_of_sealed_rounds_passes_the_conformance_kit() -> None:
    assert check_market(_CournotType(), scenarios=[_scenario()], seeds=(1, 2)) == []


# --- order of arrival -----------------------------------------------------------------------------------------------


@given(st.lists(st.lists(st.integers(0, 20), min_size=3, max_size=3), min_size=1, max_size=4), st.randoms())
def test_arrival_reaches_neither_closures_nor_digests(rounds: list[list[int]], arrival: Any) -> None:
    first, second = _market(rounds=5), _market(rounds=5)
    for quantities in rounds:
        acts = dict(zip(FIRMS, quantities, strict=True))
        shuffled = list(acts)
        arrival.shuffle(shuffled)
        for at, seat in enumerate(shuffled):
            first.seal(list(acts)[at], acts[list(acts)[at]])
            second.seal(seat, acts[seat])
        assert first.digest() == second.digest()
        assert first.advance() == second.advance()
        assert first.digest() == second.digest()


def test_acts_are_settled_in_seat_order() -> None:
    for order in permutations(FIRMS):
        market = _market()
        _play(market, dict.fromkeys(order, 3))
        assert market.settled_order == [list(FIRMS)]


# --- acting ---------------------------------------------------------------------------------------------------------


def test_a_seat_acts_once_per_phase() -> None:
    market = _market()
    market.seal("F1", 4)
    before = market.digest()
    with pytest.raises(IllegalAction) as refusal:
        market.seal("F1", 5)
    assert refusal.value.info == ("already_acted", "one act per phase", "call await_turn", False)
    assert (market.sealed, market.digest()) == ({"F1": 4}, before)
    assert market.awaited() == {"F2", "F10"}


def test_an_act_of_another_phase_is_refused() -> None:
    core = Core.create(_CournotType(), _scenario(advice=True), 5)
    before = core.market.digest()
    answer = core.call("F1", "produce", {"quantity": 3}).answer
    assert answer is not None
    assert answer.error == (
        "wrong_phase", "produce is not open in phase advise of round 1",
        "no action is open to you now: call await_turn", True,
    )  # fmt: skip
    assert core.market.digest() == before


def test_a_seat_that_the_market_does_not_await_is_refused() -> None:
    class Leader(Cournot):
        def awaited(self) -> frozenset[SeatId]:
            return frozenset({"F2"}) - self.sealed.keys()

    market = Leader(_scenario(), 5)
    with pytest.raises(IllegalAction, match="wrong_phase: F1 does not act now"):
        market.seal("F1", 3)
    market.seal("F2", 3)
    closure = market.advance()
    assert closure.public == Row(round=1, quantities={"F2": 3}, price=37)


def test_a_silent_seat_gets_the_default_of_the_phase() -> None:
    market = _market(advice=True)
    market.seal("F2", 9)
    assert [market.lapse(seat, "deadline") for seat in ("F1", "F10")] == ["no_advice", "no_advice"]
    assert market.sealed == {"F2": 9, "F1": 1, "F10": 1}
    market.advance()
    assert market.lapse("F1", "retired") == "no_output"
    with pytest.raises(HarnessFailure, match=r"F1 cannot lapse \(deadline\)"):
        market.lapse("F1", "deadline")


# --- the clock ------------------------------------------------------------------------------------------------------


def test_phases_deliver_and_the_last_one_settles() -> None:
    market = _market(advice=True, rounds=2)
    closure = _play(market, {"F10": 7, "F1": 8, "F2": 9})
    assert closure == ("phase", Heard(round=1), None)
    assert market.advised == {"adviseF2": 9, "adviseF10": 7, "adviseF1": 8}
    assert (market.clock, market.sealed) == (Clock(1, "produce", 1), {})
    closure = _play(market, dict.fromkeys(FIRMS, 10))
    assert (closure.kind, closure.public.price, market.clock) == ("round", 10, Clock(2, "advise", 2))
    _play(market, dict.fromkeys(FIRMS, 0))
    _play(market, dict.fromkeys(FIRMS, 0))
    assert (market.terminated, market.clock) == ("terminated:rounds_completed", Clock(2, "produce", 4))
    assert market.awaited() == frozenset()
    with pytest.raises(EpisodeOver):
        market.seal("F1", 1)


def test_a_phase_does_not_close_too_early_nor_after_the_end() -> None:
    market = _market(rounds=1)
    with pytest.raises(HarnessFailure, match="no seat is awaited"):
        market.advance()
    _play(market, dict.fromkeys(FIRMS, 0))
    with pytest.raises(HarnessFailure, match="not over"):
        market.advance()


def test_the_rules_may_end_the_episode_early() -> None:
    class Short(Cournot):
        def settle(self, acts: Mapping[SeatId, int]) -> tuple[Row, Truth]:
            self.terminated = "terminated:market_collapsed"
            return super().settle(acts)

    market = Short(_scenario(rounds=9), 5)
    _play(market, dict.fromkeys(FIRMS, 0))
    assert (market.terminated, market.clock.round) == ("terminated:market_collapsed", 1)


def test_several_phases_need_deliver() -> None:
    class Mute(Cournot):
        def deliver(self, phase: str, acts: Mapping[SeatId, int]) -> Any:
            return SealedRounds[int].deliver(self, phase, acts)

    with pytest.raises(NotImplementedError, match="Mute has several phases: write deliver for 'advise'"):
        _play(Mute(_scenario(advice=True), 5), dict.fromkeys(FIRMS, 0))


def test_defaults_towards_the_kernel() -> None:
    market = _market()
    assert (market.code_constants("F1"), market.news_mark("F1"), market.privileged()) == ({}, 0, {})
    _play(market, dict.fromkeys(FIRMS, 0))
    assert market.news_mark("F1") == 1
    with pytest.raises(IllegalAction, match="unknown_source: weather is not an input"):
        market.feed("weather", None)
    assert _CournotType().request(market, "F1", "produce", Heard(round=1)) is None


# --- the digest -----------------------------------------------------------------------------------------------------


def test_the_digest_sees_every_attribute_without_an_underscore() -> None:
    market = _market()
    _play(market, dict.fromkeys(FIRMS, 2))
    market.seal("F1", 3)
    before = market.digest()
    assert market.digest() == before
    names = [name for name in vars(market) if not name.startswith("_")]
    assert {"costs", "profit", "rows", "sealed", "read_marks", "terminated", "seed", "clock", "advised"} <= {*names}
    for name in names:
        kept = getattr(market, name)
        setattr(market, name, ["something else"])
        assert market.digest() != before, name
        setattr(market, name, kept)
    vars(market)["_chance"] = Chance(99)
    assert market.digest() == before


def test_the_digest_sees_every_act_and_the_past() -> None:
    first, second = _market(demand=0), _market(demand=0)
    seen = {first.digest()}
    for market, quantity in ((first, 1), (second, 2)):
        for seat in FIRMS:
            market.seal(seat, quantity)
            seen.add(market.digest())
    assert len(seen) == 7
    for market in (first, second):
        market.advance()
        # Equal by all that the market keeps, with another past.
        market.rows, market.profit = AppendOnly[Row](), {}
    assert first.digest() != second.digest()


@pytest.mark.parametrize(
    ("value", "other"),
    [
        ({"b", "a"}, {"a"}),
        (frozenset({3, 20, 1}), frozenset({3, 20})),
        ({2: "x"}, {2: "y"}),
        ((1, (2,)), (1, (3,))),
        (Row(round=1, quantities={}, price=3), Row(round=1, quantities={}, price=4)),
        ([Clock(1, "produce", 0)], [Clock(1, "produce", 1)]),
        ([[1], [2]], [[1, 2], []]),
    ],
)
def test_the_digest_reads_plain_data_of_any_kind(value: object, other: object) -> None:
    first, twin, second = _market(), _market(), _market()
    vars(first)["extra"], vars(twin)["extra"], vars(second)["extra"] = value, value, other
    assert first.digest() == twin.digest() != second.digest()


def test_the_digest_does_not_depend_on_the_order_of_a_set() -> None:
    first, second = _market(), _market()
    # 0 and 8 fall into the same slot of a small table, so the order of insertion shows.
    vars(first)["extra"], vars(second)["extra"] = set([0, 8]), set([8, 0])  # noqa: C405
    assert [*vars(first)["extra"]] != [*vars(second)["extra"]]
    assert first.digest() == second.digest()


def test_the_digest_names_what_it_cannot_read() -> None:
    market = _market()
    vars(market)["oracle"] = SimpleNamespace()
    with pytest.raises(HarnessFailure, match=r"Cournot\.oracle is no plain data"):
        market.digest()


def test_an_append_only_list_is_read_like_a_list_and_summed_up_in_the_digest() -> None:
    items, swapped, joined = AppendOnly[int](), AppendOnly[int](), AppendOnly[int]()
    for number in (1, 23, 4):
        items.append(number)
    for number in (23, 1, 4):
        swapped.append(number)
    for number in (12, 3, 4):
        joined.append(number)
    assert (list(items), items[-1], items[1:], len(items), 23 in items) == ([1, 23, 4], 4, [23, 4], 3, True)
    assert items.summary()[0] == 3
    assert len({items.summary()[1], swapped.summary()[1], joined.summary()[1]}) == 3


# --- perturbed ------------------------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.sampled_from(sorted(FIRMS)))
def test_perturbing_leaves_the_seat_and_the_public_past_alone(salt: int, seat: SeatId) -> None:
    market = _market()
    _play(market, dict.fromkeys(FIRMS, 2))
    for firm in ("F1", "F2"):
        market.seal(firm, 3)
    before = market.digest()
    twin = market.perturbed(seat, salt)
    assert type(twin) is Cournot
    assert (twin.clock, list(twin.rows), twin.awaited()) == (market.clock, list(market.rows), market.awaited())
    for firm in FIRMS:
        assert (twin.costs[firm] == market.costs[firm]) == (firm == seat)
        assert (twin.profit[firm] == market.profit[firm]) == (firm == seat)
        assert (twin.sealed.get(firm) == market.sealed.get(firm)) == (firm in (seat, "F10"))
    _CournotType().check(twin)
    twin.seal("F10", 1)
    twin.advance()
    assert (market.digest(), len(market.rows)) == (before, 1)


def test_objects_that_two_attributes_share_stay_shared_in_the_copy() -> None:
    market = _market()
    vars(market)["alias"] = market.costs
    twin = market.perturbed("F1", 3)
    assert vars(twin)["alias"] is twin.costs is not market.costs
