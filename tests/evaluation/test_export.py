from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import orjson
import pytest

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import ScenarioError, SeatError, TraceError
from tradefair.evaluation.foreign.export import export_lines
from tradefair.host.episode.episode import Episode
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
