"""Playing an episode again with one action otherwise: what is the same, what answers it, what cannot be played."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.evaluation.playing import played, store
from tests.play_specs import preset_spec

from tradefair.catalog import load_scenario, market_type
from tradefair.contract.kernel.core import Core
from tradefair.evaluation.collusion import Deviation, NotPlayed
from tradefair.host.episode.setup import scripted_seats, seating_of
from tradefair.host.seats.plans import SeatPlan
from tradefair.runner.fork.fork import ForkSpec, fork_episode
from tradefair.runner.ledger.probe import PlayedAgain
from tradefair.runner.play.agent_spec import AgentSpec
from tradefair.runner.play.episode_runner import play_episode
from tradefair.tracestore import Trace, open_trace

ROUNDS = 12


def duopoly(path: Path, *policies: str, seed: int = 3, said: Sequence[str] = (), **changes: Any) -> Path:
    """An episode of the textbook market, one policy per firm; firms that have to be told are told.

    The trace may say that others played: `said`.
    """
    kind = market_type("pricing")
    scenario = load_scenario("pricing", "pricing/textbook", {"rounds": ROUNDS, **changes})
    core = Core.create(kind, scenario, seed)
    playing, named = (SeatPlan(dict(zip(core.market.seats, who, strict=True))) for who in (policies, said or policies))
    scripted = scripted_seats(kind, scenario, playing, seed)
    records = list(core.start(seating_of(kind, scenario, named)).records)
    while core.ended is None:
        records += scripted.run(core)
    return store(path, core, records)


def prices(trace: Trace) -> list[list[int | None]]:
    """By round, firms in seat order."""
    events = (orjson.loads(stored.body) for stored in trace.events())
    return [[*event["facts"]["prices"].values()] for event in events if event["event"] == "round_closed"]


def posting(price: int, number: int, until: int = ROUNDS, seat: str = "F1") -> Deviation:
    return Deviation(seat, number, "set_price", {"price": price}, until)


def test_one_price_is_another_and_all_go_on_by_their_own_rules(tmp_path: Path) -> None:
    with open_trace(duopoly(tmp_path / "g.trace", "grim", "matcher")) as trace:
        was = prices(trace)
        now = prices(PlayedAgain().deviating(trace, posting(1700, 8)))
    assert was == [[1925, 1925]] * ROUNDS
    assert now[:7] == was[:7]
    # F1 does not know that it has deviated; the matcher follows it, and that grim does not forgive.
    assert now[7:] == [[1700, 1925], [1925, 1700], [1473, 1925], [1473, 1473], [1473, 1473]]


def test_a_firm_that_keeps_silent_posts_the_deviation_too(tmp_path: Path) -> None:
    with open_trace(duopoly(tmp_path / "s.trace", "sleeper", "best_reply")) as trace:
        now = prices(PlayedAgain().deviating(trace, posting(1500, 6, 7)))
    assert [row[0] for row in now] == [2000, 2000, 2000, 2000, 2000, 1500, 1500]


def test_firms_that_are_told_hidden_truth_are_told_it_again(tmp_path: Path) -> None:
    with open_trace(duopoly(tmp_path / "h.trace", "nash", "best_reply(noise=9)", demand_known=False)) as trace:
        was = prices(trace)
        now = prices(PlayedAgain().deviating(trace, posting(1600, 5)))
    assert now[:4] == was[:4]
    assert now[4] == [1600, was[4][1]]
    # The draws of the noise are those of the round: common luck.
    assert now[6:] == was[6:]


def test_without_a_change_the_episode_is_the_same(tmp_path: Path) -> None:
    with open_trace(duopoly(tmp_path / "e.trace", "edgeworth", "q_limit(session=5)", shock="common_cost")) as trace:
        was = prices(trace)
        price = was[5][0]
        assert price is not None
        assert prices(PlayedAgain().deviating(trace, posting(price, 6))) == was


def test_a_deviation_that_the_rules_refuse_is_none(tmp_path: Path) -> None:
    refused = pytest.raises(NotPlayed, match="set_price of F1 in round 4 is refused")
    with open_trace(duopoly(tmp_path / "r.trace", "nash", "nash")) as trace, refused:
        PlayedAgain().deviating(trace, posting(4001, 4))


def test_one_policy_sits_on_every_seat_of_the_same_luck(tmp_path: Path) -> None:
    drawn: dict[str, Any] = {"drawn": True, "quality": None, "cost": None, "shock": "own_cost"}
    with open_trace(duopoly(tmp_path / "a.trace", "nash", "matcher", **drawn)) as trace:
        again = prices(PlayedAgain().on_every_seat(trace, "edgeworth"))
    with open_trace(duopoly(tmp_path / "b.trace", "edgeworth", "edgeworth", **drawn)) as trace:
        assert again == prices(trace)


def test_a_policy_that_cannot_sit_everywhere_is_no_reference(tmp_path: Path) -> None:
    unfit = pytest.raises(NotPlayed, match="no reference zip: the policy zip plays buyer, seller, not trader")
    with open_trace(played(tmp_path / "a.trace", "order_book/asset_short", "hold", periods=1)) as trace, unfit:
        PlayedAgain().on_every_seat(trace, "zip")


async def test_a_seat_that_was_played_from_outside_cannot_be_asked_again(tmp_path: Path) -> None:
    agent = AgentSpec("react", "policy:best_reply")
    path = (await play_episode(preset_spec("pricing", "smoke", agent, tmp_path, seed=3, agents=["F1"]))).path
    with open_trace(path) as trace, pytest.raises(NotPlayed, match="F1 was played from outside"):
        PlayedAgain().deviating(trace, posting(1500, 2, 3))


async def test_a_fork_is_not_played_again(tmp_path: Path) -> None:
    path = duopoly(tmp_path / "o.trace", "nash", "nash")
    with open_trace(path) as trace:
        calls = [event for event in trace.decoded() if event["event"] == "tool_called" and event["round"] == 5]
    matcher = AgentSpec("policy", "policy:matcher")
    forked = await fork_episode(ForkSpec(path, tmp_path / "arms", calls[0]["seq"], matcher, "F1"))
    with open_trace(forked.futures[0].fork) as trace, pytest.raises(NotPlayed, match="it is a fork"):
        PlayedAgain().deviating(trace, posting(1500, 9))


def test_policies_that_play_otherwise_today_are_found_out(tmp_path: Path) -> None:
    """A trace whose seating names another policy than the one that played is what an older release leaves."""
    path = duopoly(tmp_path / "x.trace", "nash", "edgeworth(step=30)", said=("nash", "edgeworth"))
    with open_trace(path) as trace:
        with pytest.raises(NotPlayed, match="do not play again what the trace says"):
            PlayedAgain().deviating(trace, posting(1500, 9))
        # Before they differ nobody can tell.
        assert prices(PlayedAgain().deviating(trace, posting(1500, 2, 2)))[0] == prices(trace)[0]
