"""Limits on a seat's calls: what counts, per what, and what one call more does.

Also here:
- What a seat may do now: `TurnView.actions`, and the refusal of the others before their function runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import pytest

from tradefair.contract import IllegalAction, MarketType, SeatId, ToolTable
from tradefair.contract.kernel.core import Done
from tradefair.contract.kernel.kernel_tools import CodeResult
from tradefair.contract.kernel.turns import closed
from tradefair.contract.scenario import Counted, Limit, LimitBook
from tradefair.teaching import MARKET
from tradefair.teaching.rules import Pie

Then = Literal["refuse", "lapse", "end_turn"]


def _limit(*counts: Counted, most: int, per: Literal["phase", "round"] = "round", then: Then = "refuse") -> Limit:
    return Limit(counts=counts, max=most, per=per, then=then)


def test_one_call_beyond_the_limit_is_refused_and_the_turn_stays_open(play: Any) -> None:
    game = play(limits=[_limit("read", most=2)])
    for _ in range(2):
        assert game.call("P1", "view_my_value").status == "ok"
    over = game.call("P1", "view_my_value")
    assert (over.status, over.error.code, over.turn.turn_over) == ("denied", "call_limit", False)
    assert "at most 2 calls (read) per round" in over.error.message
    assert not over.error.retryable
    assert game.call("P1", "claim", {"slices": 4}).status == "ok"
    assert game.call("P2", "view_my_value").status == "ok"
    game.call("P2", "claim", {"slices": 4})
    assert game.call("P1", "view_my_value").status == "ok"
    assert game.replayed() == len(game.bodies)


def _code(game: Any, seat: str) -> str:
    """Run code to its end as a host does; "ok", or the code of the refusal."""
    ticket = game.core.begin(seat, "execute_code", {"code": "1"})
    if isinstance(ticket, Done):
        answer = game.keep(ticket)
        assert answer is not None
        assert answer.error is not None
        return answer.error.code
    return game.keep(game.core.finish(ticket, CodeResult(output="", value=1, inner_calls=0), None)).status


@pytest.mark.parametrize(
    ("per", "expected"),
    [("round", ["ok", "ok", "call_limit", "call_limit", "ok"]), ("phase", ["ok", "ok", "ok", "call_limit", "ok"])],
)
def test_code_is_counted_in_the_window_of_its_limit(
    play: Any, per: Literal["phase", "round"], expected: list[str]
) -> None:
    game = play("talk", limits=[_limit("analysis", most=2, per=per)])
    seen = [_code(game, "P1")]
    for seat in ("P1", "P2"):
        game.call(seat, "say", {"text": ""})
    # The phase has closed, the round has not.
    seen += [_code(game, "P1") for _ in range(3)]
    game.round()
    seen.append(_code(game, "P1"))
    assert seen == expected
    assert game.replayed() == len(game.bodies)


def test_a_limit_per_phase_begins_anew_in_each_phase(play: Any) -> None:
    game = play("talk", limits=[_limit("read", most=1, per="phase")])
    assert game.call("P1", "view_my_value").status == "ok"
    refused = game.call("P1", "view_my_value")
    assert (refused.error.code, refused.error.retryable) == ("call_limit", True)
    for seat in ("P1", "P2"):
        game.call(seat, "say", {"text": ""})
    assert game.call("P1", "view_my_value").status == "ok"
    assert game.code("P1", "view_my_value") == "call_limit"


def test_a_limit_per_round_spans_its_phases(play: Any) -> None:
    game = play("talk", limits=[_limit("read", most=1)])
    game.call("P1", "view_my_value")
    for seat in ("P1", "P2"):
        game.call(seat, "say", {"text": ""})
    assert game.code("P1", "view_my_value") == "call_limit"
    game.round()
    assert game.call("P1", "view_my_value").status == "ok"


@pytest.mark.parametrize(
    ("then", "phases"), [("end_turn", ["talk"]), ("lapse", ["talk", "claim"])], ids=["the phase", "the round"]
)
def test_a_limit_can_end_the_seats_phase_or_its_round(play: Any, then: Then, phases: list[str]) -> None:
    game = play("talk", limits=[_limit("read", most=1, then=then)])
    game.call("P1", "view_my_value")
    over = game.call("P1", "view_my_value")
    assert (over.status, over.error.code, over.turn.turn_over) == ("denied", "call_limit", True)
    assert not game.core.awaits("P1")
    game.call("P2", "say", {"text": "?"})
    assert game.core.awaits("P1") == (then == "end_turn")
    if then == "end_turn":
        game.call("P1", "claim", {"slices": 5})
    game.call("P2", "claim", {"slices": 5})
    assert game.core.market.clock.round == 2
    assert game.core.awaits("P1")
    lapsed = [event for event in game.events if event["event"] == "seat_lapsed"]
    assert [(event["phase"], event["reason"]) for event in lapsed] == [(phase, "call_limit") for phase in phases]
    assert game.replayed() == len(game.bodies)


def test_a_seat_that_has_acted_and_then_breaks_a_limit_is_lapsed_in_the_later_phases(play: Any) -> None:
    game = play("talk", limits=[_limit("read", most=1, then="lapse")])
    game.call("P1", "say", {"text": "first"})
    game.call("P1", "view_my_value")
    assert game.code("P1", "view_my_value") == "call_limit"
    game.call("P2", "say", {"text": ""})
    assert game.core.market.sealed == {"P1": None}
    game.call("P2", "claim", {"slices": 5})
    assert game.core.awaits("P1")
    assert game.replayed() == len(game.bodies)


def test_both_seats_lapsed_by_limits_leave_the_rounds_to_close_by_themselves(play: Any) -> None:
    game = play("talk", limits=[_limit("read", most=1, then="lapse")])
    for seat in ("P1", "P2"):
        game.call(seat, "view_my_value")
        game.call(seat, "view_my_value")
    assert game.core.market.clock.round == 2
    assert game.core.market.rows[0].claims == {"P1": None, "P2": None}
    assert game.replayed() == len(game.bodies)


def test_refused_actions_and_invalid_arguments_count_as_rejected(play: Any) -> None:
    game = play(limits=[_limit("rejected", most=2, then="lapse")])
    assert game.code("P1", "claim", {"slices": 99}) == "too_many_slices"
    assert game.code("P1", "claim", {"slices": "9"}) == "invalid_arguments"
    over = game.call("P1", "view_my_value")
    assert (over.error.code, over.turn.turn_over) == ("call_limit", True)
    (lapsed,) = [event for event in game.events if event["event"] == "seat_lapsed"]
    assert lapsed["reason"] == "reject_limit"
    assert game.replayed() == len(game.bodies)


def test_unavailable_tools_count_as_nothing(play: Any) -> None:
    game = play(limits=[_limit("rejected", "action", "read", most=1)])
    for _ in range(3):
        assert game.code("P1", "fly") == "tool_unavailable"
    assert game.call("P1", "view_my_value").status == "ok"


def test_only_calls_that_were_carried_out_count_as_accepted(play: Any) -> None:
    game = play(limits=[_limit("accepted", most=1)])
    game.call("P1", "claim", {"slices": 99})
    game.call("P1", "claim", {"slices": "9"})
    assert game.call("P1", "claim", {"slices": 9}).status == "ok"
    assert game.code("P1", "view_history") == "call_limit"


def test_inner_calls_count_as_inner_and_as_nothing_else(play: Any) -> None:
    game = play(limits=[_limit("inner", most=2), _limit("read", most=1)])
    ticket = game.core.begin("P1", "execute_code", {"code": "1"})
    for _ in range(2):
        assert game.call("P1", "view_my_value", parent="r1.P1.1").status == "ok"
    assert game.call("P1", "view_my_value", parent="r1.P1.1").error.code == "call_limit"
    game.keep(game.core.finish(ticket, CodeResult(output="", value=1, inner_calls=3), None))
    assert game.call("P1", "view_my_value").status == "ok"
    assert game.code("P1", "view_my_value") == "call_limit"
    assert game.replayed() == len(game.bodies)


def test_kernel_tools_count_as_nothing(play: Any) -> None:
    game = play(limits=[_limit("read", "accepted", "rejected", most=1)])
    for _ in range(3):
        for tool in ("view_turn", "view_rules", "view_notes", "await_turn"):
            assert game.call("P1", tool).status == "ok"
        assert game.call("P1", "add_note", {"text": "x"}).status == "ok"
        assert game.code("P1", "add_note", {"text": ""}) == "invalid_arguments"
    assert game.call("P1", "view_my_value").status == "ok"


def test_a_read_that_is_too_large_counts_once(play: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tradefair.contract.kernel.core.MAX_RESULT_BYTES", 20)
    game = play(limits=[_limit("read", most=5), _limit("rejected", most=5), _limit("accepted", most=5)])
    assert game.code("P1", "view_my_value") == "too_many_rows"
    assert [state["used"] for state in _states(game)] == [1, 1, 0]


def test_limits_are_shown_with_what_is_used_up(play: Any) -> None:
    game = play(limits=[_limit("read", most=3), _limit("action", "analysis", most=2, per="phase", then="end_turn")])
    game.call("P1", "view_my_value")
    assert _states(game) == [
        {"counts": ["read"], "used": 1, "max": 3, "per": "round", "then": "refuse"},
        {"counts": ["action", "analysis"], "used": 0, "max": 2, "per": "phase", "then": "end_turn"},
    ]


def _states(game: Any) -> Any:
    return game.core.turn_view("P1").model_dump(mode="json")["limits"]


def test_under_a_free_clock_a_limit_refuses_and_lapses_nobody(play: Any) -> None:
    game = play(clock="free", limits=[_limit("read", most=1, then="lapse")])
    game.call("P1", "view_my_value")
    over = game.call("P1", "view_my_value")
    assert over.error.code == "call_limit"
    assert "seat_lapsed" not in game.tags


def test_the_book_keeps_seats_and_windows_apart() -> None:
    book = LimitBook((_limit("read", most=1, per="phase"),))
    book.add("P1", ("read", "accepted"), (1, "talk"))
    assert book.exceeded("P1", ("read",), (1, "talk")) is not None
    assert book.exceeded("P1", ("action",), (1, "talk")) is None
    assert book.exceeded("P2", ("read",), (1, "talk")) is None
    assert book.exceeded("P1", ("read",), (1, "claim")) is None
    assert book.exceeded("P1", ("read",), (2, "talk")) is None
    assert not LimitBook(())


@pytest.mark.parametrize("wrong", [{"counts": []}, {"counts": ["sold"]}, {"max": 0}, {"per": "day"}, {"then": "shout"}])
def test_a_limit_that_means_nothing_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        Limit.model_validate({"counts": ["read"], "max": 1, **wrong})


Play = Callable[..., Any]


def _with(name: str, **changed: Any) -> MarketType:
    """The teaching market with another declaration of one tool."""

    class Kind(type(MARKET)):
        tools = ToolTable(*{**MARKET.tools, name: replace(MARKET.tools[name], **changed)}.values())

    return Kind()


def test_a_turn_lists_what_the_seat_may_do_in_this_phase_and_nothing_once_it_has(play: Play) -> None:
    game = play("talk", rounds=1)
    seen = [game.data("P1", "view_turn")["actions"]]
    for seat, tool, arguments in (
        ("P1", "say", {"text": "hello"}),
        ("P2", "say", {"text": ""}),
        ("P1", "claim", {"slices": 5}),
        ("P2", "claim", {"slices": 5}),
    ):
        assert game.call(seat, tool, arguments).status == "ok"
        seen.append(game.core.turn_view("P1").actions)
    assert seen == [["say"], [], ["claim"], [], []]
    assert game.core.turn_view("P1").over


def test_without_talk_only_the_claim_is_an_action(play: Play) -> None:
    game = play()
    assert game.core.open_actions("P1") == game.core.open_actions("P2") == ["claim"]
    game.lapse("P2")
    assert (game.core.open_actions("P1"), game.core.open_actions("P2")) == (["claim"], [])


def test_an_end_from_outside_closes_everything(play: Play) -> None:
    game = play()
    game.keep(game.core.end("truncated:cancelled"))
    # The rules know of no end, and would still take a claim.
    assert game.core.market.awaited() == {"P1", "P2"}
    assert game.core.turn_view("P1").actions == []


def test_a_closed_action_is_refused_before_its_function_runs_and_says_what_is_open(play: Play) -> None:
    def runs(market: Pie, seat: SeatId, *, slices: int) -> Any:
        raise AssertionError("the function ran")

    game = play("talk", market=_with("claim", function=runs))
    before = game.core.market.digest()
    answer = game.call("P1", "claim", {"slices": 3})
    assert answer.status == "rejected"
    assert answer.error == (
        "wrong_phase", "claim is not open in phase talk of round 1", "open to you now: say", True,
    )  # fmt: skip
    assert game.core.market.digest() == before
    game.call("P1", "say", {"text": ""})
    assert game.call("P1", "claim", {"slices": 3}).error.hint == "no action is open to you now: call await_turn"
    # Out of turn and in its phase it is the rules that refuse: they know that the seat has acted.
    assert game.code("P1", "say", {"text": "again"}) == "already_acted"
    # Arguments come first, as ever.
    assert game.code("P1", "claim", {"slices": "all"}) == "invalid_arguments"


def test_a_closed_action_replays_and_counts_as_a_refusal(play: Play) -> None:
    from tradefair.contract.scenario import Limit

    game = play("talk", limits=[Limit(counts=("rejected",), max=1, per="round")])
    game.call("P1", "claim", {"slices": 3})
    assert game.code("P1", "claim", {"slices": 3}) == "call_limit"
    assert game.data("P1", "view_turn")["limits"][0]["used"] == 1
    assert game.replayed() == len(game.bodies)


def test_another_declaration_of_when_an_action_is_open_is_another_log(play: Play) -> None:
    always = play("talk", market=_with("claim", open=None))
    assert always.core.open_actions("P1") == ["say", "claim"]
    assert always.call("P1", "claim", {"slices": 3}).status == "ok"


def test_a_declaration_that_fails_is_our_fault_and_no_refusal(play: Play) -> None:
    def fails(market: Pie, seat: SeatId) -> bool:
        raise KeyError("a bug")

    game = play(market=_with("claim", open=fails))
    answer = game.call("P1", "claim", {"slices": 3})
    assert (answer.status, answer.error.code) == ("failed", "internal_error")


def test_under_a_free_clock_every_seat_may_act_that_has_not_left(play: Play) -> None:
    class Left(Pie):
        def has_left(self, seat: SeatId) -> bool:
            return seat == "P2"

    class Kind(type(MARKET)):
        def create(self, scenario: Any, seed: int) -> Pie:
            return Left(scenario, seed)

    assert play(clock="free").core.open_actions("P2") == ["claim"]
    core = play(clock="free", market=Kind()).core
    assert (core.open_actions("P1"), core.open_actions("P2")) == (["claim"], [])
    # Where the clock waits for seats it simply waits for this one no more.
    assert play(market=Kind()).core.open_actions("P2") == ["claim"]


def test_only_an_action_can_be_open_or_closed() -> None:
    from tradefair.contract import during, tool

    with pytest.raises(ValueError, match="only an action"):
        tool("read", title="Values", open=during("claim"))


def test_the_refusal_is_one_that_an_agent_can_act_on(play: Play) -> None:
    refusal = closed("claim", play().core.market.clock, ["say", "wave"])
    assert isinstance(refusal, IllegalAction)
    assert refusal.info.hint == "open to you now: say, wave"
