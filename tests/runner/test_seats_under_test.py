"""Every runner says in the trace which seats are under test: the verdict is about them and about no other seat."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import tradefair.api as tf
from tradefair.cli import run
from tradefair.contract.kernel.players import Seating
from tradefair.host.doors.hosting import Host
from tradefair.host.episode.orders import Order, checked
from tradefair.tracestore import open_trace

SMOKE = ("double_auction", "--scenario", "smoke", "--seed", "3")


def seating(path: Path) -> Seating:
    with open_trace(path) as trace:
        return trace.seating()


def under_test(folder: Path, pattern: str = "*.trace") -> set[tuple[str, ...]]:
    """What the traces of a folder say, without doubles."""
    return {seating(path).compared for path in folder.glob(pattern)}


def play(out: Path, *more: str) -> None:
    assert run(["play", *SMOKE, "--out", str(out), "--json", *more]) == 0


@pytest.mark.parametrize("framework", ["react", "policy"])
def test_play_names_the_seat_of_any_agent_and_its_references_name_the_same(framework: str, tmp_path: Path) -> None:
    agent = ["--agent", framework, "--model", "policy:conceder", "--seat", "S1"]
    play = ["play", "bargaining", "--scenario", "smoke", "--seed", "3", *agent, "--out", str(tmp_path)]
    assert run([*play, "--json"]) == 0
    assert under_test(tmp_path) == {("S1",)}
    assert under_test(tmp_path / "references") == {("S1",)}
    # The policy sits everywhere in this one, and is a reference for that one seat all the same.
    (everywhere,) = (tmp_path / "references").glob("all-*.trace")
    assert len(set(seating(everywhere).labels.values())) == 1


@pytest.mark.many
def test_several_seats_are_all_under_test_in_the_order_of_the_market(tmp_path: Path) -> None:
    play(tmp_path, "--seat", "S1", "--seat", "B1", "--agent", "policy", "--model", "policy:zip", "--no-references")
    assert under_test(tmp_path) == {("B1", "S1")}


def test_a_series_names_the_seat_of_each_episode(tmp_path: Path) -> None:
    series = ["play", "bargaining", "--scenario", "smoke", "--seeds", "2", "--seed", "3"]
    assert run([*series, "--out", str(tmp_path)]) == 0
    told = {path.stem: seating(path) for path in tmp_path.glob("*.trace")}
    assert len(told) == 2
    for seats in told.values():
        (seat,) = seats.compared
        assert seats.players[seat].agent is not None


@pytest.mark.many
def test_both_arms_of_a_fork_name_the_seat_of_the_decision(tmp_path: Path) -> None:
    play(tmp_path / "run", "--agent", "policy", "--model", "policy:zip", "--seat", "B1", "--no-references")
    (path,) = (tmp_path / "run").glob("*.trace")
    with open_trace(path) as trace:
        at = next(event["seq"] for event in trace.decoded() if event.get("tool") == "submit_quote")
    out = tmp_path / "fork"
    fork = ["fork", str(path), "--at", str(at), "--seat", "B1", "--agent", "policy", "--model", "policy:gd"]
    assert run([*fork, "--out", str(out)]) == 0
    assert under_test(out, "**/*.trace") == {("B1",)}
    withheld = tmp_path / "withheld"
    assert run(["fork", str(path), "--withhold", str(at), "--out", str(withheld)]) in (0, 1)
    # The seat under test stays, whoever's decision is withheld.
    assert under_test(withheld, "**/*.trace") == {("B1",)}


def test_an_order_of_a_host_names_the_seats_that_it_invites(tmp_path: Path) -> None:
    async def hosted() -> None:
        host = Host(tmp_path)
        try:
            host.order(checked(Order(market="double_auction", scenario="smoke", seed=3, seats=("S1",))), "one")
            await host.start("one")
        finally:
            await host.close()

    asyncio.run(hosted())
    assert under_test(tmp_path) == {("S1",)}


@pytest.mark.many
def test_a_sweep_and_a_tournament_name_the_seats_that_they_deal_out(tmp_path: Path) -> None:
    plan = ["bargaining/round_robin_small", "--seeds", "1", "--set", "rounds=1", "--processes", "1"]
    assert run(["sweep", "--rank", *plan, "--out", str(tmp_path)]) == 0
    assert under_test(tmp_path, "**/*.trace*") == {("B1", "S1")}


def test_the_python_face_names_the_seat_that_it_is_given(tmp_path: Path) -> None:
    trace = tf.play("double_auction", scenario="smoke", seed=3, seat="S1", agent="policy:zip", folder=tmp_path / "a")
    assert seating(Path(trace.path)).compared == ("S1",)
