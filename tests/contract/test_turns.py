"""What a seat may do now: `TurnView.actions`, and the refusal of the others before their function runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tradefair.contract import IllegalAction, MarketType, SeatId, ToolTable
from tradefair.contract.kernel.turns import closed
from tradefair.teaching import MARKET
from tradefair.teaching.rules import Pie

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
