"""Replay: every event that is not what the recorded commands lead to is named by its seq."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from tradefair.contract.errors import KEY_REUSED, Divergence, EpisodeOver
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
