"""What an episode took, counted from its trace."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.evaluation.compare.conftest import PlayInto, PlaySeeds
from tests.play_specs import play_spec

from tradefair.catalog import load_scenario, market_type
from tradefair.evaluation.compare.comparing import Options, compare_folders
from tradefair.evaluation.read.accounts import Account, account
from tradefair.host.seats.plans import plan_seats
from tradefair.runner.play.agent_spec import AgentSpec
from tradefair.runner.play.episode_runner import play_episode
from tradefair.tracestore import open_trace

CALL: dict[str, Any] = {
    "kind": "model_call",
    "input_tokens": 100,
    "output_tokens": 20,
    "latency_s": 1.5,
    "finish_reason": "stop",
    "invalid_calls": 1,
    "cost_usd_micro": 700,
}


def counted(path: Path) -> Account:
    with open_trace(path) as trace:
        return account(trace)


def note(path: Path, *bodies: Any, seat: str = "B1") -> None:
    rows = [(seat, body if isinstance(body, bytes) else orjson.dumps(body)) for body in bodies]
    with closing(sqlite3.connect(path)) as database:
        database.executemany("INSERT INTO agent_events (seat, body) VALUES (?, ?)", rows)
        database.commit()


async def test_a_played_episode_is_counted_as_its_agent_counted_itself(tmp_path: Path) -> None:
    kind, scenario = market_type("double_auction"), load_scenario("double_auction", "smoke", {})
    agent = AgentSpec("react", "policy:truthful")
    played = await play_episode(
        play_spec("double_auction", scenario, 1, plan_seats(kind, scenario, agents=["B1"]), agent, tmp_path)
    )
    found, report = counted(played.path), played.reports["B1"]
    seat = found.seats["B1"]
    assert (found.rounds_closed, found.end_reason, found.censored) == (3, "terminated:rounds_completed", False)
    assert seat.calls == report.tool_calls
    assert seat.actions == 3
    assert seat.model_calls == report.replies
    assert seat.input_tokens == report.input_tokens
    assert seat.stop == "episode_over"
    assert seat.prompt == report.prompt
    assert found.seats["S1"].model_calls == 0
    assert found.seats["S1"].input_tokens is None
    assert found.wall_seconds is not None
    assert found.findings == []


def test_tokens_are_unknown_as_soon_as_one_call_does_not_say(play_into: PlayInto) -> None:
    path = play_into("a", "zip", 0)
    silent = {**CALL, "input_tokens": None, "output_tokens": None, "cost_usd_micro": None}
    note(path, CALL, silent, CALL)
    seat = counted(path).seats["B1"]
    assert (seat.model_calls, seat.input_tokens, seat.output_tokens, seat.cost_usd_micro) == (3, None, None, None)


def test_cost_is_unknown_as_soon_as_one_call_has_no_price(play_into: PlayInto) -> None:
    path = play_into("a", "zip", 0)
    note(path, CALL, CALL)
    seat = counted(path).seats["B1"]
    assert (seat.model_calls, seat.input_tokens, seat.output_tokens) == (2, 200, 40)
    assert (seat.cost_usd_micro, seat.model_seconds, seat.invalid_calls) == (1400, 3.0, 2)
    assert seat.finish_reasons == {"stop": 2}
    note(path, {**CALL, "cost_usd_micro": None}, CALL)
    assert counted(path).seats["B1"].cost_usd_micro is None
    note(path, {"kind": "round_given_up", "reason": "call_limit"}, {"kind": "plan", "text": "…"})
    assert counted(path).seats["B1"].given_up == {"call_limit": 1}


def test_notes_that_say_nothing_sensible_are_findings_and_the_calls_are_counted(play_into: PlayInto) -> None:
    for body in (b"[", b"7", b'{"kind":"model_call"}'):
        path = play_into("a", "zip", 0)
        note(path, body)
        found = counted(path)
        assert found.seats["B1"].calls > 0
        assert len(found.findings) == 1
        assert found.findings[0].startswith("notes cannot be read")
    path = play_into("a", "zip", 0)
    note(path, CALL, seat="Z9")
    assert counted(path).findings == []


@pytest.mark.parametrize("amount", ["many", -1, 2**53, 1e300, [1], True])
def test_what_is_no_amount_is_a_finding_and_makes_no_sum(play_into: PlayInto, amount: object) -> None:
    path = play_into("a", "zip", 0)
    note(path, CALL, {**CALL, "input_tokens": amount, "latency_s": amount}, CALL)
    found = counted(path)
    seat = found.seats["B1"]
    assert (seat.model_calls, seat.input_tokens, seat.output_tokens) == (3, None, 60)
    assert [finding.partition(" notes ")[2] for finding in found.findings] == [
        "no number of input_tokens, so there is no sum",
        "no number of latency_s, so there is no sum",
    ]


def test_spending_stands_beside_the_outcomes_of_a_comparison(play_seeds: PlaySeeds) -> None:
    a, b = play_seeds("a", "zip", range(2)), play_seeds("b", "truthful", range(2))
    for path in b.glob("*.trace"):
        note(path, CALL)
    # A table that asks for proof leaves out what no model can have cost.
    found = compare_folders(a, b, Options(proven=False))
    assert (found.a.model_calls, found.a.input_tokens, found.a.cost_usd) == (0.0, None, None)
    assert (found.b.model_calls, found.b.input_tokens, found.b.cost_usd) == (1.0, 100.0, 0.0007)
    assert found.a.calls is not None
