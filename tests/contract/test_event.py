"""Events, errors, seats and the chain.

Also here:
- The one encoder of foreign events: what it writes are events of the schema, numbered as in a live log.
- Who played: bound by the chain, folded over the events that say it, read from old traces without trust.
"""

from __future__ import annotations

import hashlib
from typing import Any, get_args

import orjson
import pytest
from pydantic import ValidationError

from tradefair.catalog import load_scenario
from tradefair.contract import errors
from tradefair.contract.chain import INLINE_BYTES, canonical, digest, first_hash, next_hash, seal
from tradefair.contract.errors import (
    EpisodeOver,
    ErrorInfo,
    IllegalAction,
    ScenarioError,
    SeatError,
    TraceError,
    TradefairError,
)
from tradefair.contract.foreign import IMPORTED, MAX_EVENT, ForeignEvents, foreign_core, reduced
from tradefair.contract.kernel.core import Core
from tradefair.contract.kernel.event import Event, ManifestCore, Message, ToolCalled, parse_event
from tradefair.contract.kernel.players import (
    MAX_SEATINGS,
    AgentRecord,
    Player,
    Seating,
    outside_label,
    seats_of,
    shown_label,
)
from tradefair.contract.kernel.replay import Divergence, replay
from tradefair.contract.policy import Draw, ToolAnswer, parse_policy
from tradefair.contract.scenario import check_seat_id, natural_order
from tradefair.teaching import MARKET


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


def test_a_foreign_trace_is_of_the_schema_event_by_event() -> None:
    core = foreign_core("desk", IMPORTED, {"agent": "agent"})
    assert canonical(ManifestCore.model_validate(core).model_dump(mode="json")) == canonical(core)
    events = ForeignEvents()
    large = "x" * INLINE_BYTES
    written = [
        events.started(Seating.outside(["agent"]).model_dump(mode="json")),
        events.said("agent", "user", "text", "hello", step=1),
        events.called("agent", "look", {"id": 1}, kind="read", status="ok", result=large, step=2)[1],
        events.called("agent", "look", {"id": 1}, kind="read", status="ok", result=large, step=3)[1],
        events.round_closed(),
        events.called("agent", "act", "no json", kind=None, status="failed", step=4)[1],
        events.ended("truncated:log_ended"),
    ]
    parsed = [parse_event(event.body) for event in written]
    assert [event.seq for event in parsed] == [1, 2, 3, 4, 5, 6, 7]
    said, first, last = parsed[1], parsed[2], parsed[5]
    assert isinstance(said, Message)
    assert (said.step, said.content) == (1, "hello")
    assert isinstance(first, ToolCalled)
    assert isinstance(last, ToolCalled)
    name = digest(orjson.dumps(large))
    assert written[2].blob == (name, orjson.dumps(large))
    assert (first.result_ref, written[3].blob) == (name, None)
    assert (last.call, last.round, last.error and last.error.code) == ("r2.agent.1", 2, "no_answer")


def test_content_beyond_an_event_is_kept_as_size_and_digest() -> None:
    text = "y" * MAX_EVENT
    assert reduced("short") == "short"
    assert reduced(text) == {"size": MAX_EVENT + 2, "digest": digest(orjson.dumps(text))}


def test_a_result_that_no_blob_may_hold_stands_in_its_event() -> None:
    events = ForeignEvents()
    text = "y" * 1024 * 1024
    _, event = events.called("agent", "get", {}, kind=None, status="ok", result=text)
    stored = orjson.loads(event.body)
    assert (event.blob, stored["result_ref"], stored["result"]) == (None, None, text)
    assert stored["result_digest"] == digest(orjson.dumps(text))


def test_arguments_and_answer_that_do_not_fit_into_one_event_together_leave_the_answers_digest() -> None:
    arguments, text = {"text": "x" * 5_000_000}, "y" * 5_000_000
    _, event = ForeignEvents().called("agent", "get", arguments, kind=None, status="ok", result=text)
    stored = orjson.loads(event.body)
    assert len(event.body) < MAX_EVENT
    assert (stored["arguments"], stored["result"]) == (
        arguments,
        {"size": 5_000_002, "digest": digest(orjson.dumps(text))},
    )
    assert stored["result_digest"] == digest(orjson.dumps(stored["result"]))


def seating(label: str = "policy:half", **said: Any) -> Seating:
    players = {"P1": Player(label=label, policy="half"), "P2": Player(label="agent", policy=None)}
    return Seating(players=players, **said)


def core() -> Core:
    return Core.create(MARKET, load_scenario("teaching", "pie"), 1)


def test_two_labels_or_keys_are_two_first_events_and_one_is_one() -> None:
    bodies = [core().start(said).records[0].body for said in (seating(), seating("x"), seating(policy_key=1))]
    assert len(set(bodies)) == 3
    assert core().start(seating()).records[0].body == bodies[0]


def test_a_change_of_players_is_an_event_that_re_execution_takes_over() -> None:
    played = core()
    records = played.start(seating()).records
    change = Seating(players={"P2": Player(label="other")}, policy_key=4, origin={"resumed": True})
    records += played.seat(change).records
    assert played.seating.labels == {"P1": "policy:half", "P2": "other"}
    assert (played.seating.policy_key, played.seating.origin) == (4, {"resumed": True})
    steps = list(replay(MARKET, played.manifest, [record.body for record in records]))
    assert [step.event["event"] for step in steps] == ["episode_started", "seated"]


def test_a_later_change_that_says_nothing_of_the_origin_leaves_it() -> None:
    first = seating(compared=("P2",), commitment="c", origin={"forked_from": {}})
    later = first.later(Seating(players={"P2": Player(label="z")}, policy_key=1))
    assert (later.compared, later.commitment, later.origin) == (("P2",), "c", {"forked_from": {}})


def test_no_label_calls_a_policy_another_policy() -> None:
    for label in ("policy:half", "the one to beat", "policy"):
        assert Player(label=label, policy="half").label == label
    for label in ("policy:half", "Policy :half", "ｐolicy：half"):
        assert Player(label=outside_label(label)).label == f"({label})"
        with pytest.raises(ValidationError, match="names another policy than no policy"):
            Player(label=label)
    with pytest.raises(ValidationError, match="'policy:zip' names another policy than policy:half"):
        Player(label="policy:zip", policy="half")
    long = f"half({'1' * 300})"
    assert Player(label=shown_label(f"policy:{long}"), policy=long).policy == long


def test_a_label_holds_nothing_that_a_terminal_would_obey() -> None:
    body = core().start(seating("x\x1b[2J\u202ey")).records[0].body
    assert rb'"label":"x\\x1b[2J\\u202ey"' in body
    # Nobody who writes a trace as we do could have written this one.
    raw = body.replace(rb"x\\x1b[2J\\u202ey", "x\u202ey".encode())
    assert raw != body
    with pytest.raises(Divergence):
        list(replay(MARKET, core().manifest, [raw]))
    with pytest.raises(ValidationError):
        Player(label="\u202e" * 34)  # 204 characters as escapes


def test_seats_that_are_missing_unknown_or_in_another_order_are_refused() -> None:
    reversed_seats = Seating(players=dict(reversed(seating().players.items())))
    for wrong in (Seating.outside(["P1"]), Seating.outside(["P1", "P2", "P3"]), reversed_seats):
        with pytest.raises(SeatError, match="the seats are P1, P2"):
            core().start(wrong)
    played = core()
    played.start()
    with pytest.raises(SeatError, match="no seat 'P9'"):
        played.seat(Seating.outside(["P9"]))
    played.end("truncated:stopped")
    with pytest.raises(EpisodeOver):
        played.seat(Seating.outside(["P1"]))


@pytest.mark.parametrize("change", [b'"late":true', b'"privileged":true', b'"label":"x","extra":1'])
def test_what_core_would_not_write_again_diverges(change: bytes) -> None:
    body = core().start(seating()).records[0].body
    name = change.partition(b":")[0]
    old = {b'"late"': b'"late":false', b'"privileged"': b'"privileged":false', b'"label"': b'"label":"agent"'}[name]
    assert list(replay(MARKET, core().manifest, [body]))
    if b"extra" in change:
        with pytest.raises(Divergence, match="damaged"):
            list(replay(MARKET, core().manifest, [body.replace(old, change, 1)]))
    else:  # another head, and whether it is true is for the replay of policies
        assert body.replace(old, change, 1) != body


@pytest.mark.parametrize("endpoint", ["https://u:p@host/v1", "https://host/v1?key=1", "https://host/v1#k"])
def test_an_endpoint_with_a_secret_is_no_record(endpoint: str) -> None:
    with pytest.raises(ValidationError, match="without user, query or fragment"):
        AgentRecord(framework="react", endpoint=endpoint)


def test_the_seat_under_test_draws_by_a_key_of_its_own() -> None:
    late = Seating(players={"P1": Player(label="x", policy="half", late=True)}, policy_key=1, agent_key=2)
    early = Seating(players={"P1": Player(label="x", policy="half")}, policy_key=1, agent_key=2)
    assert late.draw(3, "P1").uniform("a") != early.draw(3, "P1").uniform("a")
    assert early.draw(3, "P1").uniform("a") == early.model_copy(update={"agent_key": 9}).draw(3, "P1").uniform("a")


def test_what_an_old_trace_says_is_read_and_not_bound() -> None:
    about = {
        "labels": {"P1": "zip", "P2": 7},
        "seats": {"P1": "half", "P2": "agent"},
        "late": ["P1"],
        "privileged": "P1",
        "policy_key": -1,
        "forked_from": {"head": "00"},
    }
    read = Seating.of_about(about, ["P1", "P2"])
    assert not read.bound
    assert read.labels == {"P1": "zip (not bound)", "P2": "agent (not bound)"}
    assert (read.scripted, read.late) == ({"P1": "half"}, {"P1"})
    assert (read.privileged, read.policy_key, read.origin) == (frozenset(), 0, {"forked_from": {"head": "00"}})
    assert Seating.of_about({}, ["P1"]).labels == {"P1": "agent (not bound)"}


def test_seats_change_hands_a_thousand_times_at_most() -> None:
    played = core()
    played.start(seating())
    change = Seating(players={"P2": Player(label="z")})
    for _ in range(MAX_SEATINGS - 1):
        played.seat(change)
    with pytest.raises(ScenarioError, match="1,000 times"):
        played.seat(change)


def test_a_market_is_made_once_to_list_its_seats(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = load_scenario("teaching", "pie")
    made: list[int] = []
    create: Any = type(MARKET).create

    def counted(self: Any, scenario: Any, seed: int) -> Any:
        made.append(seed)
        return create(self, scenario, seed)

    monkeypatch.setattr(type(MARKET), "create", counted)
    assert seats_of(MARKET, scenario) is seats_of(MARKET, scenario)
    assert list(seats_of(MARKET, scenario)) == list(create(MARKET, scenario, 5).seats)
    assert len(made) == 1
    # Another scenario is asked for itself, also one that lies where a forgotten one lay.
    for _ in range(3):
        seats_of(MARKET, scenario.model_copy())
    assert len(made) == 4


@pytest.mark.parametrize(
    ("text", "name", "params"),
    [
        ("half", "half", {}),
        ("policy:half", "half", {}),
        ("  half  ", "half", {}),
        ("half()", "half", {}),
        ("half(greed=2)", "half", {"greed": 2}),
        ("policy:shade( a = 1.5 , b = true, c=null )", "shade", {"a": 1.5, "b": True, "c": None}),
        ('say(text="two words")', "say", {"text": "two words"}),
        ("say(text=bare words)", "say", {"text": "bare words"}),
        ("x1_y(p=-3)", "x1_y", {"p": -3}),
    ],
)
def test_a_spelling_is_a_name_and_parameters(text: str, name: str, params: dict[str, Any]) -> None:
    assert parse_policy(text) == (name, params)


@pytest.mark.parametrize("text", ["", "Half", "1st", "half(", "half)x", "half greed", "policy:", "half(greed)", "a-b"])
def test_what_is_no_policy_is_the_authors_mistake(text: str) -> None:
    with pytest.raises(ScenarioError, match=r"write name|param=value"):
        parse_policy(text)


def test_draws_belong_to_seed_seat_and_policy_key() -> None:
    draws = [
        Draw.of(seed, seat, key).uniform("claim", number)
        for seed in (1, 2)
        for seat in ("P1", "P2")
        for key in (0, 1)
        for number in (1, 2)
    ]
    assert len(set(draws)) == 16
    assert Draw.of(1, "P1").uniform("claim", 1) == draws[0]
    assert all(0 < draw < 1 for draw in draws)


def test_seats_whose_names_run_together_have_draws_of_their_own() -> None:
    assert Draw.of(1, "P1", 11).uniform("x") != Draw.of(1, "P11", 1).uniform("x")
    assert Draw.of(11, "P1").uniform("x") != Draw.of(1, "P11").uniform("x")


def test_an_answer_gives_plain_data_or_nothing() -> None:
    assert ToolAnswer(b'{"a":[1]}', None, False).data == {"a": [1]}
    assert ToolAnswer(None, ErrorInfo("busy", "", "", True), False).data == {}
