"""Replay: every event that is not what the recorded commands lead to is named by its seq.

Also here:
- What came from outside the rules is handed to Core again: each kind of it, and forgeries that must diverge.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from tradefair.contract.errors import (
    BAD_KEY,
    BUSY,
    CODE_ERRORS,
    HOST_REFUSALS,
    INTERNAL_ERROR,
    KEY_REUSED,
    NO_CODE,
    Divergence,
    EpisodeOver,
    ErrorInfo,
    HarnessFailure,
    no_service,
)
from tradefair.contract.kernel.kernel_tools import CodeResult
from tradefair.contract.kernel.replay import replay
from tradefair.contract.scenario import Limit
from tradefair.teaching import MARKET

Event = dict[str, Any]


def _game(play: Any) -> Any:
    """An episode with every kind of event and every status but failed."""
    game = play("talk", rounds=2, limits=[Limit(counts=("rejected",), max=4, per="round", then="lapse")])
    game.call("P1", "view_rules")
    game.call("P1", "say", {"text": "hello"})
    game.call("P2", "claim", {"slices": 3})
    game.call("P2", "say", {"text": 1})
    game.call("P2", "fly")
    game.call("P2", "say", {"text": ""})
    game.call("P1", "appraise", inputs={"appraisal": "fine"})
    game.call("P1", "read_messages")
    game.call("P1", "add_note", {"text": "n"})
    game.call("P1", "claim", {"slices": 4})
    game.lapse("P2")
    ticket = game.core.begin("P1", "execute_code", {"code": "1"})
    game.call("P1", "view_history", parent=ticket.call)
    game.keep(game.core.finish(ticket, CodeResult(output="", value=1, inner_calls=1), None))
    for _ in range(5):
        game.call("P2", "claim", {"slices": "many"})
    game.keep(game.core.refuse("P1", "say", {}, KEY_REUSED))
    game.call("P1", "say", {"text": ""})
    game.call("P1", "claim", {"slices": 7})
    assert game.core.ended
    assert set(game.tags) == {
        "episode_started", "tool_called", "input", "seat_lapsed", "phase_closed", "round_closed", "episode_ended",
    }  # fmt: skip
    return game


def _seq(game: Any, bodies: list[bytes]) -> int:
    with pytest.raises(Divergence) as found:
        game.replayed(bodies)
    return found.value.seq


def test_an_episode_with_every_kind_of_event_re_executes(play: Any) -> None:
    game = _game(play)
    assert game.replayed() == len(game.bodies)


def test_the_steps_tell_commands_from_consequences(play: Any) -> None:
    game = play(rounds=1)
    game.round()
    steps = list(replay(MARKET, game.manifest, game.bodies))
    assert [(step.seq, step.event["event"], step.command) for step in steps] == [
        (1, "episode_started", True),
        (2, "tool_called", True),
        (3, "tool_called", True),
        (4, "round_closed", False),
        (5, "episode_ended", False),
    ]


@pytest.mark.many
def test_a_flipped_byte_of_a_consequence_is_named_wherever_it_is(play: Any) -> None:
    game = _game(play)
    consequences = [step.seq for step in replay(MARKET, game.manifest, game.bodies) if not step.command]
    assert len(consequences) >= 5
    for seq in consequences:
        body = game.bodies[seq - 1]
        for place in range(0, len(body), 7):
            bodies = list(game.bodies)
            bodies[seq - 1] = body[:place] + bytes([body[place] ^ 1]) + body[place + 1 :]
            assert _seq(game, bodies) == seq, (seq, place)


# What a client or the host chose cannot be told from the log alone: the chain guards it (verify).
_CHOSEN = {"arguments", "reason", "payload", "source"}


@pytest.mark.many
def test_every_field_that_follows_from_the_commands_is_compared(play: Any) -> None:
    game = _game(play)
    compared = 0
    for number, event in enumerate(game.events):
        # The result of a program is copied; everything that follows from it is not.
        chosen = {"result"} if event.get("tool") == "execute_code" else set[str]()
        for field in event.keys() - _CHOSEN - chosen - {"seat", "tool"}:
            bodies = list(game.bodies)
            bodies[number] = orjson.dumps({**event, field: "other" if event[field] != "other" else 1})
            assert _seq(game, bodies) == event["seq"], (event["event"], field)
            compared += 1
    assert compared > 200


_ALTERED: list[tuple[Event, str]] = [
    ({"result": {"round": 9}}, "result is"),
    ({"extra": 1}, "extra is 1 in the log and null"),
    ({"status": "rejected"}, "status is"),
    ({"status": "denied"}, "damaged"),
    ({"status": "lucky"}, "status is"),
    ({"tool": "view_rules"}, "."),
    ({"tool": "fly"}, "kind is"),
    ({"seat": "P9"}, "no seat 'P9'"),
    ({"seat": None}, "damaged"),
    ({"arguments": {"slices": 99}}, "."),
    ({"call": "nonsense"}, "call is"),
    ({"call": 7}, "call is"),
    ({"parent": "r1.P1.1"}, "parent is|call is"),
    ({"event": "round_closed"}, "happens nowhere here"),
    ({"event": "stolen"}, "happens nowhere here"),
    ({"event": 7}, "not an event"),
]


def _altered(play: Any, body: bytes, complaint: str) -> None:
    game = play()
    game.call("P1", "claim", {"slices": 4})
    with pytest.raises(Divergence, match=complaint) as found:
        game.replayed([game.bodies[0], body])
    assert (found.value.seq, found.value.in_log) == (2, body)


@pytest.mark.parametrize(("change", "complaint"), _ALTERED)
def test_an_altered_call_is_named_with_what_differs(play: Any, change: Event, complaint: str) -> None:
    game = play()
    game.call("P1", "claim", {"slices": 4})
    _altered(play, orjson.dumps({**game.events[1], **change}), complaint)


def test_a_call_that_is_spelt_otherwise_is_named(play: Any) -> None:
    game = play()
    game.call("P1", "claim", {"slices": 4})
    event: Event = game.events[1]
    _altered(play, orjson.dumps({key: event[key] for key in event if key != "kind"}), "kind is null in the log")
    _altered(play, orjson.dumps(dict(reversed(event.items()))), "bytes differ though the content is equal")
    _altered(play, orjson.dumps([event]), "not an event")


# Equal to most readers of JSON, or to one that takes the first of two equal keys, or the last.
_WRITTEN_OTHERWISE: list[tuple[bytes, bytes]] = [
    (b'{"seq":', b' {"seq":'),
    (b'{"seq":', b'{"seq" :'),
    (b',"round":', b', "round":'),
    (b'"arguments":{', b'"arguments":{ '),
    (b',"read_through":', b' ,"read_through":'),
    (b'"round":1,', b'"round":1.0,'),
    (b'"slices":4', b'"slices":4e0'),
    (b'"slices"', b'"\\u0073lices"'),
    (b'"claim"', b'"\\u0063laim"'),
    (b'"phase":', b'"phase":"none","phase":'),
    (b'"slices":4', b'"slices":1,"slices":4'),
    (b'"status":"ok"', b'"status":"ok","status":"denied"'),
    (b'"status":"ok"', b'"status":"ok","tool":"fly"'),
    (b'"status":"ok"', b'"status":"ok","event":"stolen"'),
    (b'"read_through":null,"refs":null', b'"refs":null,"read_through":null'),
    (b'"result_size"', b'"size":1,"result_size"'),
    (b',"result":', b"}"),
]


@pytest.mark.many
@pytest.mark.parametrize(("plain", "otherwise"), _WRITTEN_OTHERWISE)
def test_an_event_that_is_written_otherwise_is_named(play: Any, plain: bytes, otherwise: bytes) -> None:
    game = _game(play)
    changed = [number for number, body in enumerate(game.bodies) if plain in body]
    assert changed
    for number in changed:
        bodies = list(game.bodies)
        bodies[number] = bodies[number].replace(plain, otherwise, 1)
        assert _seq(game, bodies) == number + 1


@pytest.mark.many
def test_what_stands_behind_an_event_is_named(play: Any) -> None:
    game = _game(play)
    for number, body in enumerate(game.bodies):
        for forged in (body + b" ", body + b"x", body[:-1], body[:-1] + b" }", body[:-1] + b',"tool":"fly"}'):
            assert _seq(game, [*game.bodies[:number], forged, *game.bodies[number + 1 :]]) == number + 1


def test_a_log_that_breaks_off_within_a_batch_is_named_and_between_batches_is_fine(play: Any) -> None:
    game = play("talk")
    for seat in ("P1", "P2"):
        game.call(seat, "say", {"text": ""})
    game.call("P1", "appraise", inputs={"appraisal": "fine"})
    complete = [1, 2, 4, 6]
    for length in range(1, len(game.bodies) + 1):
        if length in complete:
            assert game.replayed(game.bodies[:length]) == length
        else:
            with pytest.raises(Divergence, match="the log ends"):
                game.replayed(game.bodies[:length])


def test_copied_refusals_count_against_limits_as_they_did(play: Any) -> None:
    game = play(limits=[Limit(counts=("rejected",), max=2, then="lapse"), Limit(counts=("read",), max=2)])
    game.call("P1", "view_my_value")
    game.call("P1", "claim", {"slices": []})
    game.call("P1", "claim", {"slices": 99})
    game.call("P1", "claim", {"slices": 1})
    game.call("P2", "view_turn")
    assert game.tags[-3:] == ["tool_called", "seat_lapsed", "tool_called"]
    assert game.replayed() == len(game.bodies)
    # Without the first refusal the second one would have been within the limit.
    assert _seq(game, [*game.bodies[:2], *game.bodies[3:]]) == 3


def test_another_seed_diverges_where_it_first_matters(play: Any) -> None:
    game = play(seed=7)
    value = game.core.market.values["P1"]
    other = next(seed for seed in range(8, 60) if play(seed=seed).core.market.values["P1"] != value)
    game.call("P1", "claim", {"slices": 4})
    game.call("P2", "view_history")
    game.call("P1", "view_my_value")
    with pytest.raises(Divergence) as found:
        list(replay(MARKET, game.manifest.model_copy(update={"drawn_from": other}), game.bodies))
    assert found.value.seq == 4


def test_code_that_outlives_the_episode_is_not_recorded(play: Any) -> None:
    game = play(rounds=1)
    game.call("P1", "claim", {"slices": 4})
    ticket = game.core.begin("P1", "execute_code", {"code": "1"})
    game.call("P2", "claim", {"slices": 4})
    with pytest.raises(EpisodeOver):
        game.core.finish(ticket, CodeResult(output="", value=1, inner_calls=0), None)


def test_an_end_that_the_rules_did_not_reach_is_named(play: Any) -> None:
    game = play(rounds=2)
    game.round()
    game.keep(game.core.end("truncated:ttl"))
    game.replayed()
    forged = game.bodies[-1].replace(b"truncated:ttl", b"terminated:rounds_completed")
    assert _seq(game, [*game.bodies[:-1], forged]) == len(game.bodies)


LONG = {"text": "ä" * 3_000, "more": "x" * 40}


def _result(value: Any = 1, output: str = "") -> CodeResult:
    return CodeResult(output=output, value=value, inner_calls=7)


def _program(game: Any, *inner: str, seat: str = "P1", value: Any = 1) -> None:
    ticket = game.core.begin(seat, "execute_code", {"code": "1"})
    for tool in inner:
        game.call(seat, tool, parent=ticket.call)
    game.keep(game.core.finish(ticket, _result(value), None))


def _forged(game: Any, number: int, **change: Any) -> Divergence:
    """What re-execution says when event `number` is changed."""
    bodies = list(game.bodies)
    bodies[number - 1] = orjson.dumps({**game.events[number - 1], **change})
    assert bodies != game.bodies
    with pytest.raises(Divergence) as found:
        game.replayed(bodies)
    return found.value


def _copied(game: Any) -> dict[str, int]:
    assert game.replayed() == len(game.bodies)
    return {name: count for name, count in game.follower().copied.items() if count}


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [NO_CODE, KEY_REUSED, BAD_KEY, INTERNAL_ERROR])
def test_a_refusal_that_a_host_makes_is_copied(play: Any, error: ErrorInfo) -> None:
    game = play()
    tool = "execute_code" if error == NO_CODE else "claim"
    game.keep(game.core.refuse("P1", tool, {"slices": 4}, error))
    assert _copied(game) == {"refusals": 1}


def test_a_service_is_missing_only_where_a_tool_needs_it(play: Any) -> None:
    game = play("talk")
    for seat in ("P1", "P2"):
        game.call(seat, "say", {"text": ""})
    game.keep(game.core.refuse("P1", "appraise", {}, no_service("appraisal")))
    assert _copied(game) == {"refusals": 1}
    number = len(game.bodies)
    assert _forged(game, number, error=no_service("weather")._asdict()).seq == number
    with pytest.raises(HarnessFailure, match="no host denies"):
        game.core.refuse("P1", "view_rules", {}, no_service("appraisal"))


def test_a_host_can_record_no_refusal_that_is_not_in_the_table(play: Any) -> None:
    game = play()
    with pytest.raises(HarnessFailure, match="no host denies"):
        game.core.refuse("P1", "claim", {}, ErrorInfo("busy", "wait", "", True))
    with pytest.raises(HarnessFailure, match="no program ends"):
        game.core.finish(game.core.begin("P1", "execute_code", {"code": "1"}), None, KEY_REUSED)


# --- refused arguments ------------------------------------------------------------------------------------------------


def test_calls_that_cannot_be_encoded_and_calls_of_no_tool_are_refused_again(play: Any) -> None:
    game = play(limits=[Limit(counts=("read",), max=1)])
    game.call("P1", "claim", {"slices": float("nan")})
    game.call("P1", "claim", {"slices": "x" * 70_000})
    game.call("P1", "claim", {"unencodable": "text must be valid Unicode"})
    game.call("P1", "fly", LONG)
    game.call("P1", "fly", "no object")
    game.call("P1", "view_my_value")
    game.call("P1", "view_my_value", {"much": "x" * 5_000})
    assert [event["error"] and event["error"]["code"] for event in game.events[1:]] == [
        "invalid_arguments", "bad_value", "invalid_arguments", "tool_unavailable", "tool_unavailable", None,
        "call_limit",
    ]  # fmt: skip
    assert _copied(game) == {"refusals": 2}
    assert _forged(game, 2, arguments={"unencodable": "I forgot"}).seq == 2
    assert _forged(game, 2, arguments={"unencodable": "text must be valid Unicode"}).seq == 2
    assert _forged(game, 3, arguments={"unencodable": "the arguments take no bytes"}).seq == 3
    assert _forged(game, 8, status="invalid").seq == 8


# --- faults -----------------------------------------------------------------------------------------------------------


def test_a_fault_of_ours_is_copied_and_has_no_other_effect(play: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    game = play(limits=[Limit(counts=("read",), max=2)])
    broken = game.core.tools("P1")["view_my_value"]

    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("broken")

    with monkeypatch.context() as patched:
        patched.setitem(broken.__dict__, "function", fail)
        assert game.call("P1", "view_my_value").status == "failed"
    game.call("P1", "view_my_value")
    assert game.call("P1", "view_my_value").error.code == "call_limit"
    assert _copied(game) == {"faults": 1}


# --- programs ---------------------------------------------------------------------------------------------------------


def test_the_answer_of_a_program_is_copied_and_all_that_follows_from_it_is_not(play: Any) -> None:
    game = play()
    _program(game, "view_my_value", "view_rules")
    assert _copied(game) == {"programs": 1}
    assert game.events[-1]["result"]["inner_calls"] == 2
    # Nothing re-runs a program, so another answer with everything that follows from it passes, and is counted.
    other = play()
    _program(other, "view_my_value", "view_rules", value="gold")
    assert _copied(other) == {"programs": 1}


def test_a_large_answer_of_a_program_is_read_where_it_is_stored(play: Any) -> None:
    game = play()
    _program(game, value="x" * 3_000)
    assert game.events[1]["result_ref"] == game.blobs[0][0]
    assert _copied(game) == {"programs": 1}
    game.blobs.clear()
    with pytest.raises(Divergence, match="is not stored"):
        game.replayed()


@pytest.mark.parametrize("name", list(CODE_ERRORS))
def test_every_error_of_the_table_can_end_a_program(play: Any, name: str) -> None:
    game = play()
    ticket = game.core.begin("P1", "execute_code", {"code": "1"})
    if name == "lost":
        game.call("P1", "view_my_value", parent=ticket.call)
        game.keep(game.core.lose("P1"))
        assert game.events[-1]["arguments"] == {}
    else:
        error = CODE_ERRORS[name].filled(number=2.5, text="line 1: ZeroDivisionError")
        game.keep(game.core.finish(ticket, None, error))
    assert _copied(game) == {"programs": 1}
    number, error = len(game.bodies), game.events[-1]["error"]
    for change in ({"code": "code_won"}, {"retryable": not error["retryable"]}, {"more": 1}, {"message": "x" * 3_000}):
        assert _forged(game, number, error={**error, **change}).seq == number, change


def _quiet(game: Any) -> None:
    """P1 has acted and begins a program in round 1; the round closes without it."""
    game.call("P1", "claim", {"slices": 4})
    game.ticket = game.core.begin("P1", "execute_code", {"code": "1"})
    game.call("P2", "claim", {"slices": 4})
    assert game.core.market.clock.round == 2


def _busy(game: Any) -> None:
    game.keep(game.core.refuse("P1", "view_rules", {}, BUSY))


def _child(game: Any) -> None:
    game.call("P1", "view_my_value", parent=game.ticket.call)


_RUNS: dict[str, tuple[Callable[[Any], None], ...]] = {
    "nothing": (),
    "a child": (_child,),
    "busy": (_busy,),
    "busy twice": (_busy, _busy),
    "busy, a child": (_busy, _child),
    "a child, busy, a child": (_child, _busy, _child),
}


@pytest.mark.parametrize("shown", list(_RUNS))
@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("end", ["finished", "lost", "open"])
def test_a_program_is_known_in_whatever_order_the_log_shows_it(play: Any, shown: str, later: bool, end: str) -> None:
    game = play()
    if later:
        _quiet(game)
    else:
        game.call("P1", "view_rules")
        game.ticket = game.core.begin("P1", "execute_code", {"code": "1"})
    for show in _RUNS[shown]:
        show(game)
    if end == "finished":
        game.keep(game.core.finish(game.ticket, _result(), None))
        game.call("P1", "view_rules")
    elif end == "lost" and shown != "nothing":
        # As a host does that was killed: it knows the log, and nothing else.
        again = game.follower().core
        game.keep(again.lose("P1"))
        game.core = again
        game.call("P1", "view_rules")
    assert game.replayed() == len(game.bodies)
    running = end == "open" and shown != "nothing"
    assert list(game.follower().core.programs) == (["P1"] if running else [])


def test_busy_is_answered_while_a_program_runs_and_at_no_other_time(play: Any) -> None:
    game = play()
    game.call("P1", "view_rules")
    with pytest.raises(HarnessFailure, match="no host denies"):
        game.core.refuse("P1", "view_rules", {}, BUSY)
    ticket = game.core.begin("P1", "execute_code", {"code": "1"})
    with pytest.raises(HarnessFailure, match="no host denies"):
        game.core.refuse("P1", "view_rules", {}, KEY_REUSED)
    with pytest.raises(HarnessFailure, match="is running"):
        game.core.call("P1", "view_rules", {})
    _busy(game)
    game.keep(game.core.finish(ticket, _result(), None))
    assert _copied(game) == {"programs": 1, "refusals": 1}
    # Without a program there is no number for it.
    assert _forged(game, 3, call="r1.P1.2").seq == 3
    assert _forged(game, 3, call="r1.P1.4").seq == 3
    assert _forged(game, 4, call="r1.P1.3").seq == 4


def test_a_program_cannot_have_begun_where_a_limit_was_used_up(play: Any) -> None:
    game = play(limits=[Limit(counts=("analysis",), max=1)])
    _program(game)
    game.call("P1", "claim", {"slices": 4})
    game.call("P2", "claim", {"slices": 4})
    _program(game)
    last = len(game.bodies)
    assert _copied(game) == {"programs": 2}
    # Recorded in round 2 as one of round 1, which had its program.
    assert _forged(game, last, call="r1.P1.3").seq == last


# --- inputs -----------------------------------------------------------------------------------------------------------


def test_an_input_that_nothing_asked_for_diverges(play: Any) -> None:
    game = play("talk")
    for seat in ("P1", "P2"):
        game.call(seat, "say", {"text": ""})
    game.call("P1", "appraise", inputs={"appraisal": "fine"})
    assert _copied(game) == {"inputs": 1}
    given = next(event for event in game.events if event["event"] == "input")
    assert _forged(game, given["seq"], source="weather").seq == given["seq"]
    assert _forged(game, given["seq"], **{"for": "r1.P2.9"}).seq == given["seq"]
    with pytest.raises(HarnessFailure, match="needs no"):
        game.core.call("P1", "view_rules", {}, inputs={"appraisal": "fine"})


# --- the core ---------------------------------------------------------------------------------------------------------


def test_the_table_of_host_refusals_has_no_two_alike() -> None:
    assert len({error[:2] for error in HOST_REFUSALS}) == len(HOST_REFUSALS)
