"""

Also here:
- Counts of refused calls carry the name of the client that sent them: some clients check arguments themselves.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import orjson
import pytest
from mcp import Client, types

from tradefair.catalog import load_scenario, market_type
from tradefair.cli import run
from tradefair.contract import ScenarioError, SeatError, TraceError
from tradefair.evaluation import evaluate
from tradefair.evaluation.foreign.export import export_lines
from tradefair.host.episode.episode import Episode
from tradefair.host.episode.log import Side
from tradefair.host.episode.setup import new_episode
from tradefair.host.seats.plans import plan_seats
from tradefair.host.server.binding import build_server
from tradefair.tracestore import open_trace

Play = Callable[..., Path]


def seat_view(path: Path, seat: str) -> list[dict[str, Any]]:
    with open_trace(path) as trace:
        return [orjson.loads(line) for line in export_lines(trace, seat=seat)]


def own_calls(path: Path, seat: str) -> list[dict[str, Any]]:
    with open_trace(path) as trace:
        return [event for event in trace.decoded() if event["event"] == "tool_called" and event["seat"] == seat]


def keys_of(value: Any) -> Iterable[str]:
    if isinstance(value, dict):
        for key, item in value.items():  # pyright: ignore[reportUnknownVariableType]
            yield str(key)  # pyright: ignore[reportUnknownArgumentType]
            yield from keys_of(item)
    elif isinstance(value, list):
        for item in value:  # pyright: ignore[reportUnknownVariableType]
            yield from keys_of(item)


def test_a_seat_view_holds_the_seats_own_calls_with_their_answers_and_nobody_elses(play: Play) -> None:
    path = play("double_auction/bazaar", seats={}, rounds=4, n_buyers=15, n_sellers=15, acceptance="per_seat")
    view = seat_view(path, "S3")
    calls = [event for event in view if event.get("event") == "tool_called"]
    recorded = own_calls(path, "S3")
    assert [call["call"] for call in calls] == [call["call"] for call in recorded]
    assert [call["result"] for call in calls] == [call["result"] for call in recorded]
    assert any(call["result_size"] > 2_048 and call["result"] for call in calls)
    assert {event["seat"] for event in view[1:]} == {"S3", None}


def test_a_seat_view_is_renumbered_and_shows_closures_without_hidden_truth(play: Play) -> None:
    view = seat_view(play("double_auction/smoke", "passive", seats={}), "B2")
    assert [event["seq"] for event in view[1:]] == list(range(1, len(view)))
    tags = [event["event"] for event in view[1:]]
    assert tags == ["episode_started", *["seat_lapsed", "round_closed"] * 3, "episode_ended"]
    hidden = {"facts", "state_digest", "seed", "quote_order", "maker", "values", "hash", "payoff", "chance"}
    assert hidden.isdisjoint(keys_of(view))
    assert view[0] == {
        "seat_view": "tradefair.seat_view/1",
        "market": "double_auction",
        "rules_version": market_type("double_auction").version,
        "scenario": "double_auction/smoke",
        "seat": "B2",
        "role": "buyer",
    }


def test_nothing_in_a_seat_view_depends_on_what_only_others_know(play_quotes: Play) -> None:
    rounds = [{"B1": 60, "B2": 55, "S1": 30, "S2": 50}, {"B1": 58, "S1": 31, "S2": 90}]
    one = play_quotes((90, 60), (20, 50), rounds, name="one")
    other = play_quotes((90, 77), (3, 64), rounds, name="other")
    assert own_calls(one, "B2") != own_calls(other, "B2")
    assert seat_view(one, "B1") == seat_view(other, "B1")


async def test_messages_inputs_and_refusals_stay_with_their_seat(tmp_path: Path) -> None:
    path = tmp_path / "talk.trace"
    kind = market_type("teaching")
    episode = await Episode.create(path, kind, load_scenario("teaching", "talk"), 3, episode_id="x")
    await episode.call("P1", "say", {"text": "for P2 only"})
    await episode.call("P2", "say", {"text": ""})
    await episode.call("P2", "read_messages", {})
    await episode.call("P2", "add_note", {"text": "P2's secret"})
    await episode.call("P2", "claim", {"slices": "x"})
    await episode.call("P1", "view_rules", {})
    await episode.close()
    first, second = (orjson.dumps(seat_view(path, seat)).decode() for seat in ("P1", "P2"))
    assert "secret" not in first
    assert "secret" in second
    assert "invalid_arguments" in second
    assert "for P2 only" in second
    assert "view_rules" not in second


def test_an_unknown_seat_or_format_is_refused_and_a_view_is_no_trace(play: Play, tmp_path: Path) -> None:
    path = play("teaching/pie", "half")
    with open_trace(path) as trace:
        with pytest.raises(SeatError, match="P1, P2"):
            list(export_lines(trace, seat="P9"))
        with pytest.raises(ScenarioError, match="jsonl"):
            list(export_lines(trace, form="xlsx"))
        view = tmp_path / "view.jsonl"
        view.write_bytes(b"\n".join(export_lines(trace, seat="P1")))
    with pytest.raises(TraceError):
        open_trace(view)


def test_what_is_damaged_is_refused_with_the_event_that_it_belongs_to(
    play: Play, editor: Callable[[Path], Any]
) -> None:
    path = play("double_auction/bazaar", seats={}, rounds=3, n_buyers=20, n_sellers=20, acceptance="per_seat")
    damaged = editor(path)
    damaged.run("UPDATE events SET blob = '{' WHERE blob IS NOT NULL")
    with pytest.raises(TraceError, match="is damaged"):
        seat_view(path, "B1")
    damaged.run("UPDATE events SET body = '[]' WHERE seq = 2")
    with pytest.raises(TraceError, match="event 2 or its result is damaged"):
        seat_view(path, "B1")


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
