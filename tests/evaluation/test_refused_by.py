"""Counts of refused calls carry the name of the client that sent them: some clients check arguments themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, types

from tradefair.catalog import load_scenario, market_type
from tradefair.cli import run
from tradefair.evaluation import evaluate
from tradefair.host.episode.log import Side
from tradefair.host.episode.setup import new_episode
from tradefair.host.seats.plans import plan_seats
from tradefair.host.server.binding import build_server
from tradefair.tracestore import open_trace

NOTE = "not comparable with clients that check arguments themselves"


async def _played(folder: Path, sender: str | None, slices: object) -> Path:
    """A round of teaching in which P1 sends one claim, as a client of this name, before a good one."""
    kind, scenario = market_type("teaching"), load_scenario("teaching", "pie", {"rounds": 1})
    episode = await new_episode(kind, scenario, 1, plan_seats(kind, scenario, agents=["P1"], others="half"), folder)
    try:
        if sender is None:
            await episode.call("P1", "claim", {"slices": slices}, side=Side("http"))
            await episode.call("P1", "claim", {"slices": 5}, side=Side("http"))
        else:
            info = types.Implementation(name=sender, version="9")
            async with Client(build_server(episode, "P1"), client_info=info) as client:
                for claim in (slices, 5):
                    await client.call_tool("claim", {"slices": claim})
    finally:
        await episode.close()
    return episode.path


@pytest.mark.parametrize(
    ("sender", "named"),
    [
        ("loose", ["loose 9"]),
        (None, [""]),
        ("\x1b[2J\u202efine\nprint", ["\\x1b[2J\\u202efine print 9"]),
        ("n" * 500, ["n" * 60]),
    ],
)
async def test_the_client_of_refused_calls_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], sender: str | None, named: list[str]
) -> None:
    path = await _played(tmp_path, sender, "5")
    with open_trace(path) as trace:
        seats: Any = evaluate(trace).seats
    assert (seats["P1"].refused, seats["P1"].refused_by) == (1, named)
    assert (seats["P2"].refused, seats["P2"].refused_by) == (0, [])
    assert run(["evaluate", str(path), "--all"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert NOTE in told
    assert f"refused calls of P1 were sent by {named[0] or 'a client without a name'}: " in told


async def test_where_nothing_was_refused_no_client_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = await _played(tmp_path, "strict", 4)
    assert run(["evaluate", str(path), "--json"]) == 0
    assert "refused_by" not in json.dumps(json.loads(capsys.readouterr().out))
    assert run(["evaluate", str(path), "--all"]) == 0
    assert NOTE not in " ".join(capsys.readouterr().out.split())
