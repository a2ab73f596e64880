"""Policies: their spelling, their own draws, their answers."""

from __future__ import annotations

from typing import Any

import pytest

from tradefair.contract.errors import ErrorInfo, ScenarioError
from tradefair.contract.policy import Draw, ToolAnswer, parse_policy


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
