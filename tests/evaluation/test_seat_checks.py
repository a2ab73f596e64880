"""Scripted seats are played again: a trace that names another policy, key or flag than played is found."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.waiting import LONG

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import SeatId
from tradefair.contract.kernel.players import seat_roles
from tradefair.evaluation.prove.verify import Check, verify_file
from tradefair.host.episode.setup import new_episode
from tradefair.host.seats.plans import plan_seats
from tradefair.tracestore import open_trace

Edit = Callable[[Path], Any]


def _played(folder: Path, market: str = "double_auction", preset: str = "smoke", **options: Any) -> Path:
    """A scripted episode; `late` and `agents` name seats."""
    kind, scenario = market_type(market), load_scenario(market, preset, options.pop("overrides", {}))
    others, agents = options.pop("others", None), options.pop("agents", None)
    plan = plan_seats(kind, scenario, agents=agents, others=others)
    # Without outside seats, stand-ins play those of agents.
    for seat in plan.agents[:] if agents is None else ():
        role = seat_roles(kind, scenario)[seat]
        plan = plan.with_policy(seat, next(spec.name for spec in kind.policies.values() if role in spec.roles))
    for seat in options.pop("late", ()):
        plan = plan.with_policy(seat, plan.seats[seat])

    async def play() -> Path:
        episode = await new_episode(kind, scenario, 3, plan, folder, **options)
        if not plan.agents:
            await episode.wait_ended()
        await episode.close()
        return episode.path

    return asyncio.run(play())


def _reseated(editor: Edit, path: Path, change: Callable[[dict[str, Any]], object]) -> Check:
    """Verify after the first event was changed, and everything that covers it made to fit."""
    edit = editor(path)
    first, *rest = edit.bodies()
    event = orjson.loads(first)
    change(event["seating"])
    edit.rewrite([orjson.dumps(event), *rest])
    return verify_file(path)


def _policies(seating: dict[str, Any], policy: str) -> None:
    for player in seating["players"].values():
        player.update(policy=policy, label=f"policy:{policy}")


def test_every_seat_of_an_honest_trace_is_reproduced(tmp_path: Path) -> None:
    check = verify_file(_played(tmp_path, agents=[], others="zip"))
    assert check.verdict == "reproduced"
    assert {seat.state for seat in check.seats.values()} == {"replayed"}
    seats = len(check.seats)
    assert check.sentence == f"{check.events} events, reproduced. {seats} of {seats} scripted seats reproduced."
    assert check.to_json()["seats"]["B1"] == {"label": "policy:zip", "state": "replayed", "why": None}


@pytest.mark.parametrize(
    ("market", "preset", "overrides"),
    [
        ("teaching", "talk", {}),
        ("bargaining", "smoke", {}),
        ("retail", "smoke", {}),
        ("supply_chain", "duel", {}),
        ("pricing", "hidden_cost", {"rounds": 5}),
        ("order_book", "smoke", {}),
        ("order_book", "live", {"periods": 1, "sweeps": 3}),
        ("marketplace", "small_demo", {}),
        ("marketplace", "small_demo", {"clock": "free", "timing.free_tick_s": LONG}),
    ],
)
def test_the_seats_of_every_market_are_reproduced(tmp_path: Path, market: str, preset: str, overrides: Any) -> None:
    check = verify_file(_played(tmp_path, market, preset, overrides=overrides))
    states = {seat.state for seat in check.seats.values()}
    assert (check.verdict, states) == ("reproduced", {"replayed"}), check.sentence


def test_a_policy_that_was_not_played_is_found_and_both_calls_are_shown(tmp_path: Path, editor: Edit) -> None:
    check = _reseated(editor, _played(tmp_path), lambda seating: _policies(seating, "zip"))
    assert (check.verdict, check.events) == ("diverged", (check.seq or 0) - 1)
    assert "does not play as in the trace" in check.sentence
    assert check.in_log != check.re_executed
    assert "unproven" in {seat.state for seat in check.seats.values()}
    seats = verify_file(tmp_path / Path(check.path).name, seats=False)
    assert (seats.verdict, seats.seats) == ("reproduced", {})
    assert seats.sentence.endswith("Scripted seats were not played again.")


@pytest.mark.parametrize("key", ["policy_key", "agent_key"])
def test_another_key_is_found_where_a_seat_draws_from_it(tmp_path: Path, editor: Edit, key: str) -> None:
    late: list[SeatId] = ["B1"] if key == "agent_key" else []
    path = _played(tmp_path, agents=[], others="random_legal", late=late)
    assert verify_file(path).verdict == "reproduced"
    assert _reseated(editor, path, lambda seating: seating.update({key: 9})).verdict == "diverged"


def test_a_flag_that_hides_what_a_policy_knows_is_found(tmp_path: Path, editor: Edit) -> None:
    kind = market_type("teaching")
    name = next((spec.name for spec in kind.policies.values() if spec.privileged), None)
    market = "teaching" if name else "double_auction"
    name = name or next(spec.name for spec in market_type(market).policies.values() if spec.privileged)
    path = _played(tmp_path, market, "pie" if market == "teaching" else "smoke", others=name)
    assert verify_file(path).verdict == "reproduced"

    def hide(seating: dict[str, Any]) -> None:
        for player in seating["players"].values():
            player["privileged"] = False

    assert _reseated(editor, path, hide).verdict == "diverged"


def test_a_lapse_in_place_of_a_policys_action_is_found(tmp_path: Path, editor: Edit) -> None:
    path = _played(tmp_path, "teaching", "pie", agents=["P1"], others="half")
    edit = editor(path)
    events = [orjson.loads(body) for body in edit.bodies()]
    acted = next(event for event in events if event.get("tool") == "claim")
    head = {name: acted[name] for name in ("round", "phase", "revision", "seat")}
    lapse = {"seq": 2, "event": "seat_lapsed", **head, "reason": "deadline", "default_action": "no_claim"}
    for seq in range(len(events), 2, -1):
        edit.run("DELETE FROM events WHERE seq = ?", seq)
    edit.rewrite([edit.bodies()[0], orjson.dumps(lapse)])
    edit.unseal()
    edit.run("DELETE FROM meta WHERE key = 'closed_head'")
    check = verify_file(path)
    assert (check.verdict, check.seq) == ("diverged", 2)
    assert (check.in_log, '"tool":"view_my_value"' in (check.re_executed or "")) == ("null", True)
    without = verify_file(path, seats=False)
    assert without.verdict == "reproduced", without.sentence


def test_a_look_that_a_scripted_seat_takes_outside_its_turn_is_found(tmp_path: Path) -> None:
    kind, scenario = market_type("double_auction"), load_scenario("double_auction", "smoke", {})
    plan = plan_seats(kind, scenario, agents=["B1"], others="zip")

    async def play() -> tuple[Path, str]:
        episode = await new_episode(kind, scenario, 3, plan, tmp_path)
        with open_trace(episode.path) as trace:
            events = list(trace.decoded())
        first = next(event for event in events if event.get("seat") == "S1")
        # What its policy begins every turn with, after it has quoted: it is awaited no more.
        await episode.call("S1", first["tool"], first["arguments"])
        await episode.close()
        return episode.path, first["tool"]

    path, tool = asyncio.run(play())
    check = verify_file(path)
    assert (check.verdict, check.seats["S1"].state, tool in (check.in_log or "")) == ("diverged", "unproven", True)
