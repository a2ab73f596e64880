"""The tools that every market shares."""

from __future__ import annotations

from typing import Any

import pytest

from tradefair.contract.errors import ErrorInfo, HarnessFailure
from tradefair.contract.kernel.core import full_table
from tradefair.contract.kernel.kernel_tools import KERNEL_TOOLS, MAX_NOTES, CodeResult
from tradefair.teaching import MARKET


def test_every_market_has_them_after_its_own(play: Any) -> None:
    table = list(full_table(MARKET))
    assert table == [*MARKET.tools, *KERNEL_TOOLS]
    assert set(KERNEL_TOOLS) == {
        "view_rules", "view_turn", "await_turn", "add_note", "view_notes", "remove_note", "execute_code",
    }  # fmt: skip
    assert list(play().core.tools("P1")) == [name for name in table if name not in ("say", "read_messages")]


def test_view_rules_says_what_the_seat_is_there_for(play: Any) -> None:
    rules = play(rounds=2).data("P2", "view_rules")
    assert rules["role"].startswith("You are P2")
    assert (rules["market"], rules["version"], rules["scenario"], rules["seat"]) == (
        "teaching", "3", "teaching/pie", "P2",
    )  # fmt: skip
    assert rules["rules"] == {"rounds": 2, "slices": 10, "phases": ["claim"]}


def test_view_turn_shows_clock_limits_and_the_markets_word(play: Any) -> None:
    game = play(rounds=2)
    game.call("P1", "claim", {"slices": 4})
    view = game.data("P1", "view_turn")
    assert view == {
        "seat": "P1",
        "role": "eater",
        "round": 1,
        "phase": "claim",
        "revision": 0,
        "awaited": False,
        "actions": [],
        "over": False,
        "end_reason": None,
        "still_open": False,
        "limits": [],
        "market": {"rounds_left": 2, "last": None},
    }
    game.call("P2", "claim", {"slices": 4})
    assert game.data("P1", "view_turn")["market"]["last"]["claims"] == {"P1": 4, "P2": 4}
    game.round()
    over = game.core.turn_view("P1")
    assert (over.over, over.end_reason, over.awaited) == (True, "terminated:rounds_completed", False)


def test_notes_are_a_seats_own_numbered_and_keep_their_round(play: Any) -> None:
    game = play()
    assert game.data("P1", "add_note", text="first") == {"number": 1, "round": 1, "text": "first"}
    game.round()
    assert game.data("P1", "add_note", text="second")["number"] == 2
    assert game.data("P2", "add_note", text="other")["number"] == 1
    assert game.data("P1", "remove_note", number=1)["text"] == "first"
    assert game.data("P1", "add_note", text="third")["number"] == 3
    notes = game.data("P1", "view_notes")
    assert [(note["number"], note["round"], note["text"]) for note in notes["notes"]] == [
        (2, 2, "second"),
        (3, 2, "third"),
    ]
    assert notes["room_for"] == MAX_NOTES - 2
    assert game.replayed() == len(game.bodies)


def test_notes_lie_outside_the_markets_digest_and_take_no_turn(play: Any) -> None:
    game = play()
    before = game.core.market.digest()
    answer = game.call("P1", "add_note", {"text": "x"})
    assert not answer.turn.turn_over
    assert game.core.market.digest() == before


def test_notes_have_bounds(play: Any) -> None:
    game = play()
    for text in ("", "x" * 2_001, 5, None):
        assert game.code("P1", "add_note", {"text": text}) == "invalid_arguments"
    for number in range(MAX_NOTES):
        game.data("P1", "add_note", text=f"{number}")
    assert game.code("P1", "add_note", {"text": "one more"}) == "notes_full"
    assert game.code("P1", "remove_note", {"number": 101}) == "unknown_id"
    game.data("P1", "remove_note", number=50)
    assert game.data("P1", "add_note", text="y" * 2_000)["number"] == 101
    assert game.replayed() == len(game.bodies)


def test_awaiting_in_the_pure_core_answers_at_once(play: Any) -> None:
    game = play()
    assert game.data("P1", "await_turn", timeout_s=45)["awaited"]
    for wrong in (46, -1, "1", True):
        assert game.code("P1", "await_turn", {"timeout_s": wrong}) == "invalid_arguments"


def test_code_is_run_by_a_host_and_its_result_is_recorded(play: Any) -> None:
    game = play()
    with pytest.raises(HarnessFailure):
        game.core.call("P1", "execute_code", {"code": "1"})


@pytest.mark.parametrize("fails", [False, True])
def test_what_the_host_records_is_copied_on_replay(play: Any, fails: bool) -> None:
    game = play()
    ticket = game.core.begin("P1", "execute_code", {"code": "view_my_value()"})
    inner = game.call("P1", "view_my_value", parent=ticket.call)
    result = CodeResult(output="out", value=[1], inner_calls=1)
    error = ErrorInfo("code_error", "line 1", "mend it", True)
    answer = game.keep(game.core.finish(ticket, None if fails else result, error if fails else None))
    assert (answer.call, inner.call) == ("r1.P1.1", "r1.P1.2")
    assert answer.status == ("rejected" if fails else "ok")
    assert game.call("P1", "view_my_value").call == "r1.P1.3"
    assert game.replayed() == len(game.bodies)


def test_code_can_call_no_action_note_or_code(play: Any) -> None:
    game = play()
    game.core.begin("P1", "execute_code", {"code": "1"})
    for tool in ("claim", "add_note", "remove_note"):
        answer = game.call("P1", tool, {"slices": 1}, parent="r1.P1.1")
        assert (answer.status, answer.error.code) == ("denied", "tool_unavailable")
    assert game.core.awaits("P1")
    assert game.replayed() == len(game.bodies)


def test_wrong_code_arguments_are_refused_before_anything_runs(play: Any) -> None:
    game = play()
    done = game.core.begin("P1", "execute_code", {"code": ""})
    assert game.keep(done).error.code == "invalid_arguments"
    assert game.replayed() == len(game.bodies)
