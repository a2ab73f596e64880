"""What a sweep may take: its budget, its providers' limits, and what becomes of an episode whose provider fails.

The provider is a real endpoint on the loopback that answers without a call, so that every round is given up.

Also here:
- Several commands on one folder: each episode is played by one of them, and what a dead one held by the others.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.outside import Answer, endpoint
from tests.waiting import LONG

from tradefair.contract import ScenarioError
from tradefair.contract.errors import StorageUnavailable
from tradefair.evaluation.viewer.folder import Folder
from tradefair.evaluation.viewer.index import listed
from tradefair.runner.plans.budget import Account
from tradefair.runner.plans.done import TABLE, SweepTable
from tradefair.runner.plans.episodes import Workload, workload_of
from tradefair.runner.plans.lease import join_lease
from tradefair.runner.plans.plan import Budget, load_plan
from tradefair.runner.sweep.feed import Progress
from tradefair.runner.sweep.lines import told
from tradefair.runner.sweep.sweep import EXECUTORS, Executor, Sweep, SweepSpec, sweep
from tradefair.tracestore import find_traces, open_trace

TOKENS = 110
REQUESTS = 6
"""In an episode of one round: a thought in each of three phases, and a second one after a nudge."""
PLAN = """
[plan]
name = "asking"
scenarios = ["bargaining/smoke"]
seeds = 4

[grid]
rounds = [1]

[[agent]]
label = "thinker"
model = "openai:m"
base_url = "URL"
"""


@dataclass
class Provider:
    """An endpoint that thinks and never acts; the first `failures` requests get `status`."""

    status: int = 429
    failures: int = 0
    together: threading.Barrier | None = None
    requests: int = 0
    at_once: int = 0
    most_at_once: int = 0
    url: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def name(self) -> str:
        return self.url.split("/")[2]

    def answer(self) -> tuple[int, dict[str, Any]]:
        with self.lock:
            self.requests += 1
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            fails = self.requests <= self.failures
        try:
            if self.together is not None:
                self.together.wait(LONG)
        finally:
            with self.lock:
                self.at_once -= 1
        if fails:
            return self.status, {"error": {"message": "not now"}}
        message = {"role": "assistant", "content": "hm"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": TOKENS - 10, "completion_tokens": 10, "total_tokens": TOKENS}
        said = {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}
        return 200, said


@pytest.fixture
def provider() -> Iterator[Provider]:
    made = Provider()

    def answer(_: object) -> Answer:
        status, body = made.answer()
        return Answer(status, json.dumps(body))

    with endpoint(answer) as address:
        made.url = f"{address}/v1"
        yield made


@pytest.fixture
def asked(provider: Provider, tmp_path: Path) -> Callable[..., Sweep]:
    """Plays the plan (with `more` of it) into one folder."""

    def played(more: str = "", pauses: Sequence[float] = (), concurrency: int | None = None) -> Sweep:
        path = tmp_path / "asking.toml"
        path.write_text(PLAN.replace("URL", provider.url) + more.replace("PROVIDER", provider.name))
        plan, folder = sourced = load_plan(str(path))
        assert folder is not None
        out = tmp_path / "out"
        spec = SweepSpec(
            workload_of(sourced),
            out,
            concurrency=concurrency,
            budget=plan.budget,
            providers=plan.provider,
            pauses=pauses,
        )
        return sweep(spec)

    return played


def test_tokens_are_counted_and_end_a_sweep_that_goes_on_with_more(asked: Callable[..., Sweep]) -> None:
    each = REQUESTS * TOKENS
    first = asked(f"[budget]\ntokens = {each + 1}\n", concurrency=1)
    assert (first.counts.done, first.tokens, first.exit_code) == (2, 2 * each, 0)
    assert first.stopped == f"budget.tokens = {each + 1} is used up"
    assert asked(f"[budget]\ntokens = {each + 1}\n").played == 0
    more = asked(f"[budget]\ntokens = {2 * each + 1}\n", concurrency=1)
    assert (more.counts.done, more.tokens) == (3, 3 * each)


def test_a_cost_is_bounded_where_the_price_is_known(
    asked: Callable[..., Sweep], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = "[budget]\ncost_usd = 0.0007\n"
    with pytest.raises(ScenarioError, match="the price of openai:m is not known"):
        asked(limit)
    prices = tmp_path / "prices.toml"
    prices.write_text(
        'version = 1\n[[lists]]\nprovider = "p"\nas_of = "2026-11-01"\nsource = "s"\n'
        "[lists.models]\nm = { input = 1.0, output = 1.0 }\n"
    )
    monkeypatch.setenv("TRADEFAIR_PRICES", str(prices))
    done = asked(limit, concurrency=1)
    assert (done.counts.done, done.cost_usd_micro) == (2, 2 * REQUESTS * TOKENS)
    assert done.stopped == "budget.cost_usd = 0.0007 is used up"


def test_a_providers_tokens_end_what_asks_it_and_nothing_else(asked: Callable[..., Sweep]) -> None:
    policy = '[[agent]]\nmodel = "policy:conceder"\n'
    done = asked(f'{policy}[provider."PROVIDER"]\ntokens = 1\n', concurrency=1)
    assert (done.counts.total, done.counts.done, done.exit_code) == (8, 5, 0)
    assert done.stopped is not None
    assert done.stopped.endswith("tokens = 1 is used up")


def test_a_provider_is_asked_by_no_more_seats_than_it_takes(asked: Callable[..., Sweep], provider: Provider) -> None:
    asked('[provider."PROVIDER"]\nconcurrency = 1\n', concurrency=4)
    assert (provider.most_at_once, provider.requests) == (1, 4 * REQUESTS)


def test_without_a_limit_episodes_ask_at_the_same_time(asked: Callable[..., Sweep], provider: Provider) -> None:
    provider.together = threading.Barrier(4)
    assert asked(concurrency=4).counts.done == 4
    assert provider.most_at_once == 4


def test_a_limit_for_a_provider_that_nobody_asks_is_refused(asked: Callable[..., Sweep]) -> None:
    with pytest.raises(ScenarioError, match=r"api\.example: no agent of the plan asks it; they ask 127\.0\.0\.1"):
        asked('[provider."api.example"]\ntokens = 5\n')


def test_an_episode_goes_on_after_its_provider_has_failed(asked: Callable[..., Sweep], provider: Provider) -> None:
    provider.failures = 5  # the first attempt and its client's four retries
    done = asked(pauses=[0.01], concurrency=1)
    assert (done.counts.done, done.failures) == (4, [])
    assert provider.requests == 5 + 4 * REQUESTS


def test_without_retries_a_failing_provider_fails_the_episode(asked: Callable[..., Sweep], provider: Provider) -> None:
    provider.failures = 5
    done = asked(concurrency=1)
    assert (done.counts.done, done.exit_code) == (3, 3)
    ((_, problem, tries),) = done.failures
    assert "status 429: not now, after 4 retries" in problem
    assert tries == 1
    assert asked().counts.done == 4


def test_what_time_does_not_mend_is_not_tried_again(asked: Callable[..., Sweep], provider: Provider) -> None:
    provider.status, provider.failures = 400, 1
    done = asked(pauses=[LONG], concurrency=1)
    assert (done.counts.done, len(done.failures)) == (3, 1)
    assert provider.requests == 1 + 3 * REQUESTS


def test_an_account_counts_what_was_begun_and_time() -> None:
    assert Account.of({}, Budget(), {}).used_up is None
    assert Account.of({}, Budget(wall_time_s=1e-9), {}).used_up == "budget.wall_time_s = 1e-09 is used up"


def test_progress_tells_what_is_in_the_air_and_what_it_has_cost(tmp_path: Path) -> None:
    heard: list[Progress] = []
    work = workload_of(load_plan("bargaining/ten_thousand", seeds=1))
    sweep(SweepSpec(work, tmp_path, 1), heard.append)
    assert [now.played for now in heard] == list(range(1, 26))
    assert (heard[-1].counts, heard[-1].playing) == ((25, 25, 0), 0)
    assert all(now.seconds > 0 for now in heard)
    asking = heard[0]._replace(playing=3, elsewhere=2, tokens=1_000, cost_usd_micro=120_000)
    assert told(asking) == "3 playing, 2 with other commands, 1,000 tokens $0.12"


def test_a_plan_crosses_markets_scenarios_seeds_agents_and_models(tmp_path: Path) -> None:
    path = tmp_path / "wide.toml"
    path.write_text(
        '[plan]\nname = "wide"\nscenarios = ["bargaining/smoke", "bargaining/pact", "teaching/pie"]\nseeds = 5\n'
        '[[agent]]\nmodel = "policy:random_legal"\n'
        '[[agent]]\nlabel = "terse"\nmodels = ["openai:a", "openai:b"]\nbase_url = "http://127.0.0.1:1/v1"\n'
    )
    work = workload_of(load_plan(str(path)))
    assert list(work.agents) == ["policy:random_legal", "terse/openai:a", "terse/openai:b"]
    assert work.count == len({episode.digest for episode in work.episodes()}) == 3 * 5 * 3
    path.write_text(path.read_text().replace("models =", 'model = "openai:c"\nmodels ='))
    with pytest.raises(ScenarioError, match="one model, or several"):
        load_plan(str(path))


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
