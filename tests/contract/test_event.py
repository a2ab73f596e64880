"""Events, errors, seats and the chain."""

from __future__ import annotations

import hashlib
from typing import Any, get_args

import orjson
import pytest

from tradefair.contract import errors
from tradefair.contract.chain import canonical, digest, first_hash, next_hash, seal
from tradefair.contract.errors import IllegalAction, SeatError, TraceError, TradefairError
from tradefair.contract.kernel.event import Event, Message, ToolCalled, parse_event
from tradefair.contract.kernel.players import Seating
from tradefair.contract.scenario import check_seat_id, natural_order


def test_every_event_that_core_writes_has_a_type(play: Any) -> None:
    game = play("talk", rounds=1)
    game.call("P1", "appraise", inputs={"appraisal": 1})
    game.call("P2", "fly")
    game.keep(game.core.seat(Seating.outside(["P2"])))
    for seat in ("P1", "P2"):
        game.call(seat, "say", {"text": ""})
    game.lapse("P1")
    game.call("P2", "claim", {"slices": 3})
    parsed = [parse_event(body) for body in game.bodies]
    union = get_args(get_args(Event)[0])
    # What was said is an event of imported and recorded traces only.
    assert {type(event) for event in parsed} == set(union) - {Message}
    assert [event.seq for event in parsed] == list(range(1, len(parsed) + 1))


def test_fields_of_a_later_version_are_kept_and_unknown_events_are_an_error(play: Any) -> None:
    game = play()
    game.call("P1", "view_turn")
    event = parse_event(orjson.dumps({**game.events[1], "mood": "bright"}))
    assert isinstance(event, ToolCalled)
    assert event.model_extra == {"mood": "bright"}
    for body in (b'{"event":"stolen","seq":1}', b"[]", b"", b"\xff", orjson.dumps({**game.events[1], "seq": "x"})):
        with pytest.raises(TraceError, match=r"not an event of tradefair\.trace/2"):
            parse_event(body)


def test_the_chain_covers_bytes_order_and_predecessor() -> None:
    def head(*bodies: bytes) -> bytes:
        current = first_hash(b"core")
        for body in bodies:
            current = next_hash(current, body)
        return current

    assert first_hash(b"core") == hashlib.blake2b(b"core", digest_size=32).digest()
    heads = {head(), head(b"a"), head(b"b"), head(b"a", b"b"), head(b"b", b"a"), head(b"ab"), head(b"a", b"")}
    assert len(heads) == 7


def test_the_canonical_spelling_does_not_depend_on_the_order_of_members() -> None:
    assert canonical({"b": 1, "a": [{"d": 1, "c": 2}]}) == canonical({"a": [{"c": 2, "d": 1}], "b": 1})
    assert digest(b"x") != digest(b"y")
    about = {"a": 1}
    assert seal({**about, "seal": seal(about)}) == seal(about) != seal({"a": 2})


def test_the_tree_of_errors_is_the_one_that_the_module_draws() -> None:
    drawn = errors.__doc__ or ""
    found = {name for name, item in vars(errors).items() if isinstance(item, type) and issubclass(item, TradefairError)}
    assert all(name in drawn for name in found)
    assert issubclass(errors.EpisodeOver, IllegalAction)


def test_a_refusal_carries_the_four_fields() -> None:
    info = IllegalAction("code", "what was wrong", hint="next", retryable=False).info
    assert info._asdict() == {"code": "code", "message": "what was wrong", "hint": "next", "retryable": False}


def test_seat_ids_are_plain_and_sort_naturally() -> None:
    assert check_seat_id("B1") == "B1"
    for wrong in ("", "1B", "B 1", "B1\n", "é1", "B" * 41, "../x"):
        with pytest.raises(SeatError, match="is not a seat id"):
            check_seat_id(wrong)
    assert sorted(["S1", "B10", "B2", "B"], key=natural_order) == ["B", "B2", "B10", "S1"]
