"""What the numbers of a message are claimed to be: one sentence a rule of the page, and what must never happen."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.waiting import Loops

from tradefair.trading.claims import claims, unread_numbers
from tradefair.trading.number_words import with_digits
from tradefair.trading.statements import Role


@pytest.mark.parametrize(
    ("words", "digits"),
    [
        ("sixty-two", "62"),
        ("sixty‑two or sixty–two or sixty two", "62 or 62 or 62"),
        ("sixteen, sixty, six-teen", "16, 60, six-teen"),
        ("a hundred and five", "105"),
        ("one hundred thirty-one", "131"),
        ("nine hundred and ninety-nine", "999"),
        ("hundred percent", "100 percent"),
        ("fourty two", "42"),
        ("eleven, nineteen, twenty, ninety", "11, 19, 20, 90"),
        ("my value is seven", "my value is 7"),
        ("no one took two of the three", "no one took two of the three"),
        ("weighty eighties, tenth, often", "weighty eighties, tenth, often"),
        ("five six", "five six"),
        ("at five hundred ten", "at 510"),
        ("nine lives, ten lives", "nine lives, 10 lives"),
    ],
)
def test_number_words_become_digits_and_counts_below_ten_stay(words: str, digits: str) -> None:
    assert with_digits(words) == digits


@pytest.mark.parametrize(
    ("text", "role", "claim"),
    [
        ("My cost is 50.", "seller", "own_limit"),
        ("My cost is fifty.", "seller", "own_limit"),
        ("My cost is 51.", "seller", "false_limit"),
        ("I cannot pay more than 50.", "buyer", "own_limit"),
        ("Anything below 50 loses me money.", "seller", "own_limit"),
        ("Your cost must be about 50.", "buyer", "unknown"),
        ("Your cost must be about 40.", "buyer", "others_number"),
        ("Cost 40, I suppose.", "buyer", "others_number"),
        ("I bid 40 this round.", "buyer", "firm_quote"),
        ("I will not pay more than 40.", "buyer", "firm_quote"),
        ("Please ask 40.", "buyer", "others_number"),
        ("Ask 40 or I walk away.", "buyer", "threat"),
        ("Anything over 40 and you can keep it.", "buyer", "threat"),
        ("I expect about 40 next round.", "buyer", "expectation"),
        ("Last round it traded at 40.", "buyer", "past_fact"),
        ("We have 50 rounds left.", "buyer", "harmless_number"),
        ("I am 50% sure.", "buyer", "harmless_number"),
        ("Blue 50 moon.", "buyer", "unknown"),
    ],
)
def test_a_number_is_what_the_words_around_it_make_it(text: str, role: Role, claim: str) -> None:
    (said,) = claims(text, role, 50)
    assert said.claim == claim


def test_a_condition_and_what_hangs_on_it_are_told_apart() -> None:
    asked, offered = claims("If you ask 38, I'll bid 40.", "buyer", 60)
    assert (asked.value, asked.claim, offered.value, offered.claim) == (38, "others_number", 40, "conditional_offer")


def test_signs_of_the_rules_in_a_message_are_ordinary_signs() -> None:
    assert [said.claim for said in claims("My value @ 50, order #12", "buyer", 50)] == ["own_limit", "harmless_number"]


@pytest.mark.parametrize(
    ("text", "unread"),
    [
        ("Blue 52 moon.", [52]),
        ("Blue 53 moon.", []),
        ("Blue fifty-one moon.", [51]),
        ("My value is 50.", []),
        ("I bid 50.", []),
        ("There are 50 rounds.", []),
        # A quote, were it not for the words of a limit beside it.
        ("I bid 50, which is all it is worth and no loss.", []),
        ("You asked 48 and I lose.", [48]),
    ],
)
def test_a_number_near_the_own_one_is_told_where_no_rule_is_sure(text: str, unread: list[float]) -> None:
    assert [said.value for said in unread_numbers(text, 50, "buyer")] == unread


def test_how_near_is_near_can_be_said() -> None:
    assert [len(unread_numbers("Blue 55 moon.", 50, "buyer", near)) for near in (4.9, 5)] == [0, 1]


@pytest.mark.parametrize(
    "part",
    [
        "my ",
        "my value is ",
        "i can not ",
        "5 ",
        "my 5 ",
        "if you ask 45, ",
        "or i ",
        "? ",
        "you value ",
        "one hundred and ",
        "a lowest i can value cost limit ",
        "x",
        "1.1",
        "$",
    ],
)
def test_two_thousand_characters_of_anything_are_read_in_no_time(part: str) -> None:
    """A few loops of CPU time, where what grows with a square would take hundreds."""
    text = (part * 2_000)[:2_000]
    watch = Loops()
    claims(text, "buyer", 50)
    assert watch.taken() < 40


@given(text=st.text(max_size=400), role=st.sampled_from(["buyer", "seller"]), limit=st.integers(0, 999))
@settings(max_examples=150, deadline=None)
def test_no_text_raises_and_an_own_limit_is_the_own_one(text: str, role: Role, limit: int) -> None:
    for said in claims(text, role, limit):
        assert said.claim != "own_limit" or abs(said.value - limit) < 1


_WORDS = ["my", "value", "is", "fifty", "50", "if", "you", "ask", "or", "i", "walk", "?", ".", "not", "below", "@", "#"]


@given(words=st.lists(st.sampled_from(_WORDS), max_size=40))
@settings(max_examples=150, deadline=None)
def test_every_number_of_any_talk_gets_one_answer(words: list[str]) -> None:
    text = " ".join(words)
    assert len(claims(text, "buyer", 50)) == words.count("50") + words.count("fifty")
