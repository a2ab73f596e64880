"""How far an episode is, on stderr: a line now and then without a terminal, a moving bar on one, nothing if asked."""

from __future__ import annotations

import json
import re
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.options_files import options_file
from tests.outside import Answer, Asked, endpoint, on_terminal
from tests.waiting import LONG, SOON, Clock

from tradefair.catalog import load_scenario, market_type
from tradefair.cli import run
from tradefair.frameworks.models.budget import Budget
from tradefair.host.episode.progress import Progress
from tradefair.host.episode.setup import new_episode
from tradefair.host.seats.plans import plan_seats
from tradefair.tracestore import open_trace

CALL = {"kind": "model_call", "input_tokens": 9_000, "output_tokens": 310, "cost_usd_micro": 12_000}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def watched_episode(tmp_path: Path, clock: Clock) -> Any:
    kind, scenario = market_type("teaching"), load_scenario("teaching", "pie", {"rounds": 4})
    plan = plan_seats(kind, scenario, agents=["P1"], others="half")
    episode = await new_episode(kind, scenario, 7, plan, tmp_path)
    budget = Budget()
    yield episode, Progress(episode, taken=budget.words, clock=clock), budget
    await episode.close()


async def test_a_line_comes_with_a_round_at_most_once_in_ten_seconds(
    watched_episode: Any, clock: Clock, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    episode, progress, budget = watched_episode
    async with progress:
        for seconds in (4.0, 7.0):  # 4 s and 11 s after the start: the second is due
            clock.now += seconds
            budget.count(CALL)
            await episode.call("P1", "claim", {"slices": 4})
        clock.now += 9.0
        await episode.call("P1", "claim", {"slices": 4})
    said = capsys.readouterr().err
    whole = "[play] round 3/4, 2 calls, 18,620 tokens, $0.02; watch it: tradefair view"
    # A path stands whole; all else keeps within the width of a pipe.
    assert " ".join(said.split()) == f"{whole} {tmp_path}"
    assert [len(line) for line in said.splitlines() if str(tmp_path) not in line and len(line) > 80] == []


async def test_silence_is_worth_one_line(
    watched_episode: Any, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    episode, progress, _ = watched_episode
    async with progress:
        for _ in range(40):
            clock.now += 1.0
            progress.tick()
        line = " ".join(capsys.readouterr().err.split())
        assert line.count("[play]") == 1
        assert "round 1/4, waiting for the model 10 s; watch it" in line
        await episode.call("P1", "view_my_value", {})
        progress.tick()
        clock.now += 10.0
        progress.tick()
        assert "waiting for the model 10 s" in capsys.readouterr().err


async def test_a_call_without_a_price_leaves_no_sum_of_dollars(
    watched_episode: Any, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    _, progress, budget = watched_episode
    async with progress:
        for note in (CALL, {**CALL, "cost_usd_micro": None}, {"kind": "seat_report", "input_tokens": 5}):
            budget.count(note)
        clock.now += 20
        progress.tick()
        clock.now += 10
        progress.tick()
    said = capsys.readouterr().err
    assert "2 calls, 18,620 tokens, waiting" in said
    assert "$" not in said


def _says() -> Answer:
    usage = {"prompt_tokens": 1_500, "completion_tokens": 20, "total_tokens": 1_520}
    message = {"role": "assistant", "content": "I think that I should wait."}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    body = {"id": "1", "object": "chat.completion", "model": "slow", "choices": [choice], "usage": usage}
    return Answer(200, json.dumps(body))


def _seconds(shown: str) -> set[int]:
    return {int(found) for found in re.findall(r"waiting for the model (\d+) s", shown)}


@pytest.mark.parametrize("quiet", [False, True])
def test_on_a_terminal_the_bar_moves_while_a_reply_is_awaited(tmp_path: Path, quiet: bool) -> None:
    moved, counted = threading.Event(), threading.Event()
    waits = iter((moved, counted))

    def think(_: Asked) -> Answer:
        # Where nothing is shown, for as long as something would be.
        next(waits, counted).wait(50 * SOON if quiet else LONG)
        return _says()

    def heard(shown: str) -> None:
        if len(_seconds(shown)) > 1:
            moved.set()
        if "1.5k tokens" in shown:
            counted.set()

    rounds = ["--scenario", "smoke", "--set", "rounds=1", "--out", str(tmp_path)]
    command = [sys.executable, "-m", "tradefair.cli", "play", "double_auction", *rounds]
    shape = {"TERM": "xterm", "COLUMNS": "140", "OPENAI_API_KEY": "x"}
    with endpoint(think) as address:
        agent = ["--agent", "react", "--model", "openai:slow", "--base-url", f"{address}/v1", "--no-references"]
        code, shown = on_terminal(
            [*command, *agent, *options_file(tmp_path, quiet=quiet)], tmp_path, shape, heard=heard
        )
    # It never called a tool.
    assert code == 1, shown
    if quiet:
        assert _seconds(shown) == set()
        return
    assert len(_seconds(shown)) > 1
    assert "round 1/1" in shown
    assert "1.5k tokens" in shown
    (path,) = tmp_path.glob("*.trace")
    with open_trace(path) as trace:
        assert b"waiting" not in b"".join(stored.body for stored in trace.events())


def test_a_short_episode_says_nothing_without_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["play", "teaching", "--seed", "3", "--no-references", "--out", str(tmp_path)]) == 0
    assert "[play]" not in capsys.readouterr().err
