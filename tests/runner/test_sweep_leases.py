"""Several commands on one folder: each episode is played by one of them, and what a dead one held by the others."""

from __future__ import annotations

import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest

from tradefair.contract import ScenarioError
from tradefair.contract.errors import StorageUnavailable
from tradefair.evaluation.viewer.folder import Folder
from tradefair.evaluation.viewer.index import listed
from tradefair.runner.plans.done import TABLE, SweepTable
from tradefair.runner.plans.episodes import Workload, workload_of
from tradefair.runner.plans.lease import join_lease
from tradefair.runner.plans.plan import Budget, load_plan
from tradefair.runner.sweep.sweep import EXECUTORS, Executor, SweepSpec, sweep
from tradefair.tracestore import find_traces, open_trace

SEEDS = 2
EPISODES = 25 * SEEDS


def meant(seeds: int = SEEDS) -> Workload:
    return workload_of(load_plan("bargaining/ten_thousand", seeds=seeds))


def heads(out: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in find_traces(out):
        with open_trace(path) as trace:
            found[path.name] = str(trace.manifest.about["head_hash"])
    return found


@pytest.mark.many
def test_two_commands_play_one_plan_each_episode_once(tmp_path: Path) -> None:
    both, alone = tmp_path / "both", tmp_path / "alone"
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(sweep, [SweepSpec(meant(), both, 1)] * 2))
    assert sum(one.played for one in done) == EPISODES
    # Whoever ends first has waited for the other.
    assert [one.counts for one in done] == [(EPISODES, EPISODES, 0)] * 2
    sweep(SweepSpec(meant(), alone, 1))
    assert heads(both) == heads(alone)
    assert not list(both.glob("*.lease"))


def test_what_one_command_holds_no_other_plays_until_it_is_dead(tmp_path: Path) -> None:
    with SweepTable(tmp_path) as living:
        living.take_in(meant())
        with SweepTable(tmp_path) as dying:
            dying.take_in(meant())
            held = dying.claim(20)
            rest = living.claim(EPISODES)
            assert (len(rest), living.held_by_others()) == (EPISODES - 20, 20)
            assert living.claim(EPISODES) == []
            os.close(dying.lease.fd)  # as the system does when the process dies
            assert living.held_by_others() == 0
            assert living.claim(EPISODES) == held
            with pytest.raises(StorageUnavailable, match="the sweep has ended"):
                join_lease(dying.lease.path)
            dying.lease.fd = os.open(os.devnull, os.O_RDONLY)


def test_a_worker_keeps_the_lease_of_its_command_alive(tmp_path: Path) -> None:
    with SweepTable(tmp_path) as living, SweepTable(tmp_path) as dying:
        living.take_in(meant())
        dying.take_in(meant())
        dying.claim(1)
        worker = join_lease(dying.lease.path)
        os.close(dying.lease.fd)
        assert living.held_by_others() == 1
        os.close(worker)
        assert living.held_by_others() == 0
        dying.lease.fd = os.open(os.devnull, os.O_RDONLY)


def test_who_leaves_gives_back_what_was_not_played(tmp_path: Path) -> None:
    with SweepTable(tmp_path) as staying:
        staying.take_in(meant())
        with SweepTable(tmp_path) as leaving:
            leaving.take_in(meant())
            first = leaving.claim(10)
        assert staying.claim(10) == first


@pytest.mark.many
def test_another_plan_is_refused_while_a_command_plays(tmp_path: Path) -> None:
    with SweepTable(tmp_path) as playing:
        playing.take_in(meant())
        with pytest.raises(ScenarioError, match="another plan is being played here"):
            sweep(SweepSpec(meant(SEEDS + 1), tmp_path, 1))
    assert sweep(SweepSpec(meant(SEEDS + 1), tmp_path, 1)).played == EPISODES + 25


@pytest.mark.parametrize(
    "column",
    [
        "path = '../../' || path",
        "path = '/tmp/' || path",
        "path = replace(path, '/', '/../')",
        "path = 'a/b/0123456789ab.trace'",
        "path = x'00'",
        "players = '{'",
    ],
)
def test_a_row_that_no_plan_has_written_is_not_played(tmp_path: Path, column: str) -> None:
    with SweepTable(tmp_path) as table:
        table.take_in(meant())
        with closing(sqlite3.connect(tmp_path / TABLE)) as other, other:
            other.execute(f"UPDATE episodes SET {column} WHERE place = 1")
        with pytest.raises(ScenarioError, match=r"sweep\.sqlite: damaged"):
            table.claim(5)
        assert table.held_by_others() == 0
        with closing(sqlite3.connect(tmp_path / TABLE)) as other:
            assert other.execute("SELECT count(*) FROM episodes WHERE lease IS NOT NULL").fetchone() == (0,)


def test_a_table_that_cannot_be_read_is_said_so(tmp_path: Path) -> None:
    with SweepTable(tmp_path) as table:
        table.take_in(meant())
        with closing(sqlite3.connect(tmp_path / TABLE)) as other, other:
            other.execute("UPDATE episodes SET spent = '{' WHERE place = 1")
        with pytest.raises(StorageUnavailable, match=TABLE):
            table.spent()
        with closing(sqlite3.connect(tmp_path / TABLE)) as other, other:
            other.execute("ALTER TABLE episodes RENAME TO gone")
        for ask in (table.counts, table.totals, table.held_by_others, lambda: list(table.failures())):
            with pytest.raises(StorageUnavailable, match=TABLE):
                ask()
        with closing(sqlite3.connect(tmp_path / TABLE)) as other, other:
            other.execute("ALTER TABLE gone RENAME TO episodes")


def test_a_folder_of_an_earlier_version_goes_on(tmp_path: Path) -> None:
    sweep(SweepSpec(meant(1), tmp_path, 1, budget=Budget(episodes=5)))
    with closing(sqlite3.connect(tmp_path / TABLE, isolation_level=None)) as table:
        table.execute("DROP INDEX by_lease")
        for column in ("lease", "spent"):
            table.execute(f"ALTER TABLE episodes DROP COLUMN {column}")
    assert sweep(SweepSpec(meant(1), tmp_path, 1)).played == 20


@pytest.mark.many
def test_a_sweep_of_so_many_episodes_goes_on_with_the_next_ones(tmp_path: Path) -> None:
    few = SweepSpec(meant(), tmp_path, 1, budget=Budget(episodes=20))
    first = sweep(few)
    assert (first.played, first.stopped, first.exit_code) == (20, "budget.episodes = 20 is used up", 0)
    assert [sweep(few).played for _ in range(2)] == [20, 10]
    last = sweep(few)
    assert (last.counts.done, last.stopped) == (EPISODES, None)


@pytest.mark.many
def test_a_swept_folder_is_compared_and_viewed_as_it_is(tmp_path: Path) -> None:
    from tradefair.cli import run

    plan = tmp_path / "two.toml"
    plan.write_text(
        '[plan]\nname = "two"\nscenarios = ["bargaining/smoke"]\nseeds = 6\n'
        '[[agent]]\nmodel = "policy:conceder"\n[[agent]]\nmodel = "policy:truthful"\n'
    )
    out = tmp_path / "out"
    assert run(["sweep", str(plan), "--out", str(out), "--processes", "1"]) == 0
    sides = [str(out / "bargaining-smoke" / f"policy-{name}") for name in ("conceder", "truthful")]
    assert run(["compare", *sides]) == 0
    rows = [listed(place.path) for place in Folder(out).scan()]
    assert [row.problem for row in rows] == [None] * 12


@pytest.mark.process
@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed (extra: ray)")
def test_every_executor_ends_with_the_same_traces(tmp_path: Path) -> None:
    found: dict[Executor, dict[str, str]] = {}
    for executor in EXECUTORS:
        done = sweep(SweepSpec(meant(), tmp_path / executor, 2, executor=executor))
        assert (done.executor, done.counts, done.exit_code) == (executor, (EPISODES, EPISODES, 0), 0)
        found[executor] = heads(tmp_path / executor)
    assert found["local"] == found["process"] == found["ray"]
