"""A tape plays a seat's accepted actions again; shadows watch it and know what they would know had they been there."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from tests.calling import blank_view

from tradefair.contract import ErrorInfo, ToolAnswer, ToolCall, TurnView
from tradefair.contract.policy import Turns
from tradefair.runner.ledger.tape import Shadow, Tape, TapePlayer, read_tapes

OK = ToolAnswer(b'{"ok":true}', None, False)


def event(seq: int, tool: str, number: int = 1, revision: int = 1, **more: Any) -> dict[str, Any]:
    head = {"seq": seq, "event": "tool_called", "round": number, "phase": "open", "revision": revision, "seat": "B1"}
    call = {"parent": None, "tool": tool, "kind": "action", "arguments": {"n": seq}, "status": "ok"}
    return {**head, **call, **more}


def opened(number: int = 1) -> TurnView:
    return blank_view(round=number, phase="open", revision=1)


def drive(turns: Turns, answers: dict[str, ToolAnswer] | None = None) -> list[str]:
    """The tools that a turn calls; it is closed at the first answer that ends it."""
    made: list[str] = []
    wanted = next(turns, None)
    while wanted is not None:
        made.append(wanted.tool)
        answer = (answers or {}).get(wanted.tool, OK)
        if answer.turn_over:
            turns.close()
            return made
        try:
            wanted = turns.send(answer)
        except StopIteration:
            wanted = None
    return made


class Wants:
    """A policy that wants these calls in every turn, and keeps what it was answered."""

    def __init__(self, *tools: str) -> None:
        self.tools = tools
        self.heard: list[ToolAnswer] = []

    def turn(self, now: TurnView) -> Turns:
        for tool in self.tools:
            self.heard.append((yield ToolCall(tool, {})))


def closed(revision: int, step: int, *, last: bool = False) -> dict[str, Any]:
    public: dict[str, Any] = {"step": step}
    head = {"seq": 90 + step, "round": 1, "phase": "open", "revision": revision, "seat": None}
    if last:
        return {**head, "event": "round_closed", "public": {"last_step": public}}
    return {**head, "event": "phase_closed", "public": public}


def at_step(step: int) -> TurnView:
    return opened().model_copy(update={"market": {"step": step}})


def test_a_market_with_steps_is_played_by_its_steps_and_not_by_the_number_of_its_turns() -> None:
    events = [
        event(1, "bid", revision=3),
        closed(3, 4),
        event(2, "raise", revision=7, arguments={}),
        closed(7, 9, last=True),
    ]
    tape = read_tapes(events)["B1"]
    assert tape.stepped
    assert tape.places == {1: (1, "open", 4), 2: (1, "open", 9)}
    player = TapePlayer(tape, [shadow := Shadow("x", Wants("raise"))])
    # In a replay the seat may be asked in a step in which it was passed over, and not in one of its own.
    assert [drive(player.turn(at_step(step))) for step in (2, 9)] == [[], ["raise"]]
    assert shadow.same


def test_only_accepted_actions_of_the_seat_itself_are_on_its_tape() -> None:
    refused: dict[str, Any] = {"status": "rejected"}
    events = [
        event(1, "look", kind="read"),
        event(2, "refused", **refused),
        event(3, "bid"),
        event(4, "inner", parent="r1.B1.1"),
        event(5, "note", kind="note"),
        event(6, "bid", seat="B2"),
        event(7, "", event="phase_closed", seat=None),
    ]
    tapes = read_tapes(events)
    assert tapes["B1"].turns == {(1, "open", 0): [ToolCall("bid", {"n": 3})]}
    assert tapes["B2"].turns == {(1, "open", 0): [ToolCall("bid", {"n": 6})]}
    # The turn of a look or a refused call is known too: a finding may cite it.
    assert set(tapes["B1"].places) == {1, 2, 3, 5}


def test_a_phase_that_asks_a_seat_twice_is_two_turns_also_where_one_lapsed() -> None:
    lapse: dict[str, Any] = {"event": "seat_lapsed"}
    events = [event(1, "bid"), event(2, "", revision=2, **lapse), event(3, "raise", revision=3), event(4, "bid", 2, 4)]
    player = TapePlayer(read_tapes(events)["B1"])
    assert [drive(player.turn(opened())) for _ in range(4)] == [["bid"], [], ["raise"], []]
    assert drive(player.turn(opened(2))) == ["bid"]


def test_a_shadow_is_answered_where_the_tape_does_the_same_and_refused_where_it_does_not() -> None:
    policy = Wants("look", "b", "c", "a")
    shadow = Shadow("x", policy)
    tape = Tape({(1, "open", 0): [ToolCall("a"), ToolCall("b"), ToolCall("d")]}, {})
    player = TapePlayer(tape, [shadow])
    looked = ToolAnswer(b'{"seen":1}', None, False)
    player.look = lambda call: looked if call.tool == "look" else None
    answers = {name: ToolAnswer(f'"{name}"'.encode(), None, False) for name in "abd"}
    # The tape's order is kept; what the shadow wants later is answered when the tape has done it.
    assert drive(player.turn(opened()), answers) == ["a", "b", "d"]
    skipped = policy.heard[2]
    assert policy.heard == [looked, answers["b"], skipped, answers["a"]]
    assert skipped.error == ErrorInfo("skipped", "this turn is played from a tape", "", False)
    # Equal: a and b. Different: its own c, the tape's d.
    assert not shadow.same


@pytest.mark.parametrize(
    ("wants", "same"),
    [(("a", "end"), True), (("end",), False), (("a",), False), (("end", "a"), False), (("a", "b", "end"), False)],
)
def test_a_shadow_does_the_same_where_it_wants_the_same_calls_in_the_same_order(
    wants: tuple[str, ...], same: bool
) -> None:
    shadow, tape = Shadow("x", Wants(*wants)), Tape({(1, "open", 0): [ToolCall("a"), ToolCall("end")]}, {})
    over = {"end": ToolAnswer(b"{}", None, True)}
    assert drive(TapePlayer(tape, [shadow]).turn(opened()), over) == ["a", "end"]
    assert shadow.same is same


def test_a_copy_of_a_player_goes_on_by_itself() -> None:
    tape = Tape({(1, "open", number): [ToolCall("abc"[number])] for number in range(3)}, {})
    player = TapePlayer(tape, [Shadow("x", Wants())])
    assert drive(player.turn(opened())) == ["a"]
    twin = deepcopy(player)
    assert twin.shadows[0].policy is not player.shadows[0].policy
    assert [drive(one.turn(opened())) for one in (twin, player, twin)] == [["b"], ["b"], ["c"]]


def test_a_shadow_that_fails_leaves_the_tape_alone() -> None:
    class Fails:
        def turn(self, now: TurnView) -> Turns:
            answer = yield ToolCall("b")
            raise KeyError(answer.data["price"])

    shadow = Shadow("x", Fails())
    player = TapePlayer(Tape({(1, "open", 0): [ToolCall("a")]}, {}), [shadow])
    assert drive(player.turn(opened())) == ["a"]
    assert isinstance(shadow.broken, KeyError)
    assert drive(player.turn(opened())) == []
