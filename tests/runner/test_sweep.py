"""Sweeps: each episode once, however often the command is stopped; the same traces as `play` writes, in any order.

Also here:
- Every runner says in the trace which seats are under test: the verdict is about them and about no other seat.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path

import orjson
import pytest
from tests.options_files import options_file
from tests.waiting import LONGER, until

import tradefair.api as tf
from tradefair.cli import run
from tradefair.cli import run as command
from tradefair.contract import HarnessFailure, ScenarioError
from tradefair.contract.kernel.players import Seating
from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.doors.hosting import Host
from tradefair.host.episode.orders import Order, checked
from tradefair.host.episode.setup import new_episode
from tradefair.runner.plans.done import SweepTable
from tradefair.runner.plans.episodes import EpisodeSpec, Workload, workload_of
from tradefair.runner.plans.plan import load_plan
from tradefair.runner.plans.play import SweepResult, Table
from tradefair.runner.plans.shard import run_shard
from tradefair.runner.sweep.sweep import Sweep, SweepSpec, sweep
from tradefair.tracestore import find_traces, open_trace

PLAN = """
[plan]
name = "small"
scenarios = ["bargaining/pact", "bargaining/silent"]
seeds = 2

[grid]
rounds = [4]

[seating]
kind = "round_robin"
seat_swap = true

[[agent]]
model = "policy:linear_concession"

[[agent]]
label = "random"
model = "policy:random_legal"
"""
EPISODES = 8


@pytest.fixture
def plan(tmp_path: Path) -> Callable[..., Path]:
    """A plan file."""

    def made(text: str = PLAN) -> Path:
        path = tmp_path / "small.toml"
        path.write_text(text)
        return path

    return made


def meant(path: Path, seeds: int | None = None) -> Workload:
    return workload_of(load_plan(str(path), seeds=seeds))


def swept(path: Path, out: Path, *, seeds: int | None = None, processes: int = 1) -> Sweep:
    return sweep(SweepSpec(meant(path, seeds), out, processes))


def heads(out: Path, what: str = "head_hash") -> dict[str, str]:
    """Head hash, or something else that the manifest says at the end, by name of the trace."""
    found: dict[str, str] = {}
    for path in find_traces(out):
        with open_trace(path) as trace:
            found[path.name] = str(trace.manifest.about[what])
    return found


async def test_a_scripted_episode_of_a_sweep_is_the_trace_that_a_live_one_writes(
    plan: Callable[..., Path], tmp_path: Path
) -> None:
    work = meant(plan())
    table = Table.of(work)
    some = list(work.episodes())[::3]
    await run_shard(table, _yielded(some), tmp_path / "out", lambda result: None)
    for episode in some:
        kind, scenario = table.setting(episode)
        players = table.players(episode)
        live = await new_episode(kind, scenario, episode.seed, players.seating, tmp_path / "live")
        await live.close()
        with open_trace(live.path) as one, open_trace(tmp_path / "out" / episode.path) as other:
            alike = ("software", "end_reason", "outcome_digest", "head_hash", "head_seq")
            said = [{key: trace.manifest.about[key] for key in alike} for trace in (one, other)]
            assert said[0] == said[1]
            assert list(one.events()) == list(other.events())
            assert one.closed_head() == other.closed_head()
    assert verify_file(find_traces(tmp_path / "out")[0]).sound


async def test_the_order_of_execution_changes_no_outcome(plan: Callable[..., Path], tmp_path: Path) -> None:
    work = meant(plan())
    found: list[dict[str, str | None]] = []
    for number, episodes in enumerate((list(work.episodes()), list(work.episodes())[::-1])):
        results: list[SweepResult] = []
        await run_shard(Table.of(work), _yielded(episodes), tmp_path / str(number), results.append, concurrency=3)
        found.append({result.digest: result.head_hash for result in results})
    assert found[0] == found[1]
    assert len(set(found[0].values())) == EPISODES


async def _yielded(episodes: Iterable[EpisodeSpec]) -> AsyncIterator[EpisodeSpec]:
    for episode in episodes:
        yield episode


def test_a_finished_sweep_plays_nothing_again_and_a_longer_plan_only_what_is_new(
    plan: Callable[..., Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert swept(plan(), out, seeds=1).played == EPISODES // 2
    before = {path: path.stat().st_mtime_ns for path in find_traces(out)}
    more = swept(plan(), out)
    assert (more.played, more.counts, more.exit_code) == (EPISODES // 2, (EPISODES, EPISODES, 0), 0)
    assert swept(plan(), out).played == 0
    assert {path: path.stat().st_mtime_ns for path in find_traces(out) if path in before} == before
    lost = find_traces(out)[0]
    lost.rename(lost.with_name(f".{lost.name}.1.draft"))
    assert swept(plan(), out).played == 1
    assert not list(out.rglob("*.draft"))


def test_finished_traces_that_the_table_does_not_know_of_are_taken_as_they_are(
    plan: Callable[..., Path], tmp_path: Path
) -> None:
    """As after a kill between the end of an episode and its row."""
    out = tmp_path / "out"
    first = swept(plan(), out, seeds=1)
    before = {path: path.stat().st_mtime_ns for path in find_traces(out)}
    for kept in out.glob("sweep.sqlite*"):
        kept.unlink()
    again = swept(plan(), out, seeds=1)
    assert (again.counts, again.size) == (first.counts, first.size)
    assert {path: path.stat().st_mtime_ns for path in find_traces(out)} == before


def test_a_folder_of_another_plan_is_refused(plan: Callable[..., Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    swept(plan(), out)
    with pytest.raises(ScenarioError, match="holds 8 episodes that this plan does not mean"):
        swept(plan(PLAN.replace("rounds = [4]", "rounds = [3]")), out)
    assert swept(plan(PLAN), out).played == 0


def test_an_episode_that_fails_is_named_and_played_by_the_next_run(plan: Callable[..., Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    blocked = [out / episode.path for episode in meant(plan()).episodes()][3]
    blocked.mkdir(parents=True)
    first = swept(plan(), out)
    assert (first.counts, first.played, first.exit_code) == ((EPISODES, EPISODES - 1, 1), EPISODES - 1, 3)
    ((path, problem, tries),) = first.failures
    assert (out / path, tries) == (blocked, 1)
    assert blocked.name in problem
    blocked.rmdir()
    second = swept(plan(), out)
    assert (second.counts, second.played, second.failures) == ((EPISODES, EPISODES, 0), 1, [])


def test_a_sweep_of_which_everything_fails_ends_early(plan: Callable[..., Path], tmp_path: Path) -> None:
    never = PLAN.replace("[grid]", '[grid]\ndistribution = ["uniform"]').replace("seeds = 2", "seeds = 40")
    out = tmp_path / "out"
    for episode in meant(plan(never)).episodes():
        (out / episode.path).mkdir(parents=True)
    with pytest.raises(HarnessFailure, match="25 episodes in a row failed"):
        swept(plan(never), out)
    with SweepTable(out) as table:
        assert table.counts() == (160, 0, 25)


def test_a_killed_sweep_goes_on_and_ends_with_the_same_traces(plan: Callable[..., Path], tmp_path: Path) -> None:
    _kill_and_go_on(plan(), tmp_path, processes=1, seeds=15)


def test_a_sweep_whose_workers_are_orphaned_goes_on_and_ends_with_the_same_traces(
    plan: Callable[..., Path], tmp_path: Path
) -> None:
    _kill_and_go_on(plan(), tmp_path, processes=2, seeds=20)


def _kill_and_go_on(plan: Path, tmp_path: Path, *, processes: int, seeds: int) -> None:
    out, whole = tmp_path / "out", tmp_path / "whole"
    process = _started(plan, out, processes, seeds)
    until(lambda: len(list(out.rglob("*.trace"))) > 3 * processes, "traces", LONGER, process)
    process.kill()
    process.wait(LONGER)
    left = swept(plan, out, seeds=seeds)  # orphans of the killed command finish what they play
    assert 0 < left.played <= left.counts.total
    assert left.counts == (4 * seeds, 4 * seeds, 0)
    swept(plan, whole, seeds=seeds)
    assert heads(out) == heads(whole)
    assert all(verify_file(path).sound for path in find_traces(out)[:5])


def test_a_worker_that_dies_costs_one_episode_and_ctrl_c_none(plan: Callable[..., Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = _started(plan(), out, 2, 300)  # enough to be stopped before it ends, on a busy machine too
    until(lambda: len(list(out.rglob("*.trace"))) > 5, "traces", LONGER, process)
    os.kill(_children(process.pid)[0], signal.SIGKILL)
    begun = len(list(out.rglob("*.trace")))
    until(lambda: len(list(out.rglob("*.trace"))) > begun + 40, "traces", LONGER, process)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=LONGER)
    assert process.returncode == 130
    assert "the same command goes on" in told
    with SweepTable(out) as table:
        counts = table.counts()
        assert (counts.failed, [problem for _, problem, _ in table.failures()]) == (
            1,
            ["the worker died while it was played (exit code -9)"],
        )
    assert 0 < counts.done == len(find_traces(out)) < counts.total
    assert swept(plan(), out, seeds=300).counts == (1_200, 1_200, 0)


def test_what_a_dead_worker_had_not_begun_is_played_by_the_others(plan: Callable[..., Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = _started(plan(), out, 2, 60)
    until(lambda: len(list(out.rglob("*.trace"))) > 5, "traces", LONGER, process)
    for child in _children(process.pid):
        os.kill(child, signal.SIGKILL)
    process.communicate(timeout=LONGER)
    assert process.returncode == 3
    with SweepTable(out) as table:
        assert table.counts() == (240, 238, 2)


def test_agents_of_several_frameworks_meet_over_mcp_and_a_stopped_episode_goes_on(
    plan: Callable[..., Path], tmp_path: Path
) -> None:
    mixed = PLAN.replace('label = "random"', 'framework = "react"').replace("random_legal", "conceder")
    out, whole = tmp_path / "out", tmp_path / "whole"
    process = _started(plan(mixed), out, 1, 2)
    until(lambda: any(path.stat().st_size > 20_000 for path in out.rglob("*.trace")), "traces", LONGER, process)
    process.kill()
    process.wait(LONGER)
    done = swept(plan(mixed), out)
    assert done.counts == (EPISODES, EPISODES, 0)
    swept(plan(mixed), whole)
    # Reads that were not committed are made again; what was done and what came of it is the same.
    assert heads(out, "outcome_digest") == heads(whole, "outcome_digest")
    with open_trace(find_traces(out)[0]) as trace:
        assert set(trace.seating().labels.values()) == {"react/policy:conceder", "policy:linear_concession"}
    assert all(verify_file(path).sound for path in find_traces(out))


def _started(plan: Path, out: Path, processes: int, seeds: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tradefair.cli", "sweep", str(plan), "--out", str(out)]
    options = ["--processes", str(processes), "--seeds", str(seeds)]
    return subprocess.Popen([*command, *options], text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()]


def test_a_figure_shows_which_episodes_are_done_and_the_verdict_on_them(
    plan: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, file = tmp_path / "out", tmp_path / "grid.csv"
    asked = ["sweep", str(plan()), "--out", str(out), "--executor", "local"]
    few = options_file(tmp_path, max_episodes=5)
    assert command([*asked, *few, "-o", str(tmp_path / "grid.json"), "--json"]) == 0
    written, printed = orjson.loads((tmp_path / "grid.json").read_bytes()), orjson.loads(capsys.readouterr().out)
    assert {**written, **printed} == written
    assert written["done"] == 5
    assert "over 5 episodes" in written["verdict"]["text"]
    # Run again it plays the rest; the grid says what is open where the budget ends it.
    assert command([*asked, *options_file(tmp_path, max_episodes=1), "-o", str(file)]) == 0
    rows = [line.split(",")[-2:] for line in file.read_text().splitlines()]
    assert rows[0] == ["seed", "value"]
    # Two episodes a cell, with seats swapped: one that is open keeps its cell open.
    assert rows[1:] == [["1", "done"], ["1", "done"], ["2", "done"], ["2", "open"]]
    # A longer plan is refused before it is played where the name cannot be written.
    assert command([*asked, "-o", str(tmp_path / "grid.xlsx")]) == 2


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
