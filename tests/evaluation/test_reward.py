"""The number of a seat, and where it lies on a scale."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.evaluation.conftest import Play

from tradefair.contract import SeatError
from tradefair.contract.errors import StorageUnavailable
from tradefair.contract.kernel.core import Record
from tradefair.contract.kernel.event import ManifestCore
from tradefair.evaluation.judge.evaluate import evaluate, evaluate_file
from tradefair.evaluation.judge.reward import Reward, RewardScale, finite, reward_metric, reward_of, score_of
from tradefair.evaluation.outcome import MarketOutcome, Outcome, SeatOutcome
from tradefair.tracestore import Written, open_trace, write_trace


def reward(value: float | int | None, *, higher: bool = True) -> Reward:
    return Reward(value, "gain", "points", higher, {})


def test_it_is_the_very_number_that_evaluate_prints(play: Play) -> None:
    path = play("double_auction/smoke")
    with open_trace(path) as trace:
        outcome = evaluate(trace)
    printed = evaluate_file(path).to_json()["outcome"]["seats"]
    for seat in outcome.seats:
        found = reward_of(outcome, seat)
        assert repr(found.value) == repr(printed[seat]["payoff"])
        assert isinstance(found.value, int)
        assert (found.metric, found.unit, found.higher_is_better) == ("payoff", "points", True)
        assert found.components["surplus_share"] == printed[seat]["surplus_share"]
        assert found.components["calls"] == printed[seat]["calls"]
        assert found.components["lapses"] == 0
        # The reward stands once.
        assert "payoff" not in found.components


@pytest.mark.parametrize(
    ("market", "role", "name"),
    [
        ("double_auction", "buyer", "payoff"),
        ("bargaining", "seller", "profit"),
        ("retail", "manager", "gain"),
        ("supply_chain", "retailer", "pi"),
        ("marketplace", "customer", "utility"),
        ("marketplace", "business", "revenue"),
        ("pricing", "firm", "profit"),
        ("order_book", "buyer", "profit"),
        ("teaching", "claimant", "payoff"),
    ],
)
def test_each_role_has_one_number(market: str, role: str, name: str) -> None:
    metric = reward_metric(market, {role})
    assert metric is not None
    assert metric.name == name


def test_a_market_that_declares_no_number_has_no_reward_and_counts_calls_all_the_same() -> None:
    seat = SeatOutcome(role="guest", label=None, calls=4, refused=1, lapses={"deadline": 2, "retired": 1})
    outcome = Outcome[SeatOutcome, MarketOutcome](
        market="market_of_nobody",
        rules_version="1",
        evaluator_version="1",
        scenario="market_of_nobody/a",
        seed=1,
        rounds_closed=1,
        end_reason=None,
        censored=True,
        seats={"G1": seat},
        market_outcome=MarketOutcome(),
        findings=[],
    )
    assert reward_of(outcome, "G1") == Reward(None, "", "", True, {"calls": 4, "refused": 1, "lapses": 3})
    with pytest.raises(SeatError, match="there is no seat 'G2'"):
        reward_of(outcome, "G2")


def test_a_score_is_0_at_the_floor_and_1_at_the_top_and_never_beyond() -> None:
    scale = RewardScale(-100.0, 300.0)
    assert [score_of(reward(value), scale) for value in (-100, 300, 100, 0)] == [0, 1, 0.5, 0.25]
    assert [score_of(reward(value), scale) for value in (-300, -(10**15), 301, 10**15)] == [-0.5, -1, 1, 1]


def test_less_of_a_loss_is_a_better_score() -> None:
    scale = RewardScale(50.0, 10.0)
    assert [score_of(reward(value, higher=False), scale) for value in (50, 30, 10, 0, 70)] == [0, 0.5, 1, 1, -0.5]


def test_there_is_no_score_without_reward_or_scale_or_where_the_best_is_no_better_than_nothing() -> None:
    assert score_of(reward(None), RewardScale(0, 1)) is None
    assert score_of(reward(5), None) is None
    assert score_of(reward(5), RewardScale(3.0, 3.0)) is None
    assert score_of(reward(5), RewardScale(3.0, 2.0)) is None
    assert score_of(reward(5, higher=False), RewardScale(2.0, 3.0)) is None


def test_what_is_no_finite_number_is_no_reward() -> None:
    assert [finite(value) for value in (True, "3", None, math.nan, math.inf)] == [None] * 5
    number = 2**60 + 1
    assert finite(number) is number


@pytest.fixture
def written(play: Play) -> Path:
    return play("teaching/pie", "half")


def _core(path: Path) -> ManifestCore:
    with open_trace(path) as trace:
        return trace.manifest.core


def test_a_trace_appears_whole_or_not_at_all(written: Path) -> None:
    before = written.read_bytes()

    def broken() -> Iterator[Written]:
        yield Written(Record(1, b"{}"))
        raise RuntimeError("the source broke off")

    for place in (written, written.with_name("fresh.trace")):
        with pytest.raises(RuntimeError):
            write_trace(place, _core(written), {}, broken())
    assert [path.name for path in written.parent.iterdir()] == [written.name]
    assert written.read_bytes() == before


def test_side_data_stands_beside_the_events(written: Path, tmp_path: Path) -> None:
    path = tmp_path / "new" / "side.trace"
    manifest = write_trace(path, _core(written), {}, [Written(Record(1, b"{}"), "P1", 1_000, 250, "import")])
    assert (manifest.sealed, manifest.seal_holds, manifest.about["head_seq"]) == (True, True, 1)
    with open_trace(path) as trace:
        (row,) = trace.side()
        assert (row.seat, row.at_ms, row.latency_us, row.transport) == ("P1", 1_000, 250, "import")
        assert trace.manifest.core == _core(written)


def test_a_place_that_cannot_be_written_is_said_so(written: Path) -> None:
    with pytest.raises(StorageUnavailable, match="cannot be written"):
        write_trace(written / "below.trace", _core(written), {}, [])
