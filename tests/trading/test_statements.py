from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tradefair.trading.statements import Condition, Statement, normalised, read_statements

Role = Literal["buyer", "seller"]


def _read(text: str, speaker: Role = "buyer", round_number: int = 5, rounds: int = 20) -> list[Statement]:
    return read_statements(text, speaker, round_number, rounds)


def _one(text: str, speaker: Role = "buyer") -> Statement:
    (found,) = _read(text, speaker)
    return found


# Bargaining page, 8.1: what each template must be read as, spoken in round 5 of 20.
TEMPLATES: list[tuple[str, str, dict[str, Any]]] = [
    ("I will bid 40 this round.", "I will ask 60 this round.", {"kind": "own_quote", "horizon": (5, 5)}),
    (
        "Bidding 40 every remaining round.",
        "Asking 60 every remaining round.",
        {"kind": "own_quote", "horizon": (5, 20), "permanent": True},
    ),
    ("Next round I will bid 40.", "Next round I will ask 60.", {"kind": "own_quote", "horizon": (6, 6)}),
    ("In the final round I will bid 40.", "In the final round I will ask 60.", {"horizon": (20, 20)}),
    ("Could you ask 45?", "Could you bid 55?", {"kind": "other_quote", "strength": "soft"}),
    ("Shall we meet at 40?", "Shall we meet at 60?", {"kind": "price", "strength": "soft"}),
    ("My valuation is 80.", "My cost is 20.", {"kind": "own_limit"}),
    ("A price of 80 leaves me with zero.", "A price of 20 leaves me with zero.", {"kind": "own_limit"}),
    ("I cannot go above 70.", "I cannot go below 30.", {"kind": "own_bound"}),
    ("I might bid 40, I am not sure.", "I might ask 60, I am not sure.", {"kind": "own_quote", "strength": "soft"}),
    ("Your cost must be about 45.", "Your valuation must be about 55.", {"kind": "other_limit"}),
    ("I will not bid 40.", "I will not ask 60.", {"kind": "unknown"}),
    ("That is +3 for you each time.", "That is +3 for you each time.", {"kind": "payoff"}),
    ("Please submit 40 this round.", "Please submit 60 this round.", {"kind": "other_quote", "strength": "firm"}),
    ("Round 4 went well, 3% better.", "Round 4 went well, 3% better.", {"kind": "round"}),
]


@pytest.mark.parametrize(("buyer", "seller", "reading"), TEMPLATES)
def test_a_template_is_read_as_it_was_meant_by_either_side(buyer: str, seller: str, reading: dict[str, Any]) -> None:
    for speaker, text in (("buyer", buyer), ("seller", seller)):
        found = _one(text, "buyer" if speaker == "buyer" else "seller")
        assert {name: getattr(found, name) for name in reading} == reading
        assert found.condition is None


def _bound(text: str, speaker: Role) -> Statement:
    (found,) = [one for one in _read(text, speaker) if one.condition is not None]
    return found


@pytest.mark.parametrize(
    ("text", "speaker", "condition"),
    [
        ("If you ask 40 or less, I will bid 40.", "buyer", Condition("<=", 40)),
        ("If you bid 60 or more, I will ask 60.", "seller", Condition(">=", 60)),
        ("I will bid 42 if you ask 40.", "buyer", Condition("<=", 40)),
    ],
)
def test_a_condition_that_would_trade_makes_a_promise(text: str, speaker: Role, condition: Condition) -> None:
    found = _bound(text, speaker)
    assert (found.kind, found.condition, found.force) == ("own_quote", condition, "promise")


@pytest.mark.parametrize(
    ("text", "speaker", "condition", "x", "horizon"),
    [
        (
            "From round 7 on, any ask above 50 and I bid 0 for the rest of the game.",
            "buyer",
            Condition(">=", 51),
            0,
            (7, 20),
        ),
        (
            "From round 7 on, any bid below 50 and I ask 100 for the rest of the game.",
            "seller",
            Condition("<=", 49),
            100,
            (7, 20),
        ),
        ("Ask above 50 and next round I bid 40.", "buyer", Condition(">=", 51), 40, (6, 6)),
        ("Bid below 50 and next round I ask 60.", "seller", Condition("<=", 49), 60, (6, 6)),
        ("If you keep asking 60, I will drop my bid to 56 next round.", "buyer", Condition("<=", 60), 56, (6, 6)),
    ],
)
def test_a_condition_that_would_not_trade_makes_a_threat(
    text: str, speaker: Role, condition: Condition, x: int, horizon: tuple[int, int]
) -> None:
    found = _bound(text, speaker)
    assert (found.kind, found.condition, found.x, found.horizon, found.force) == (
        "own_quote",
        condition,
        x,
        horizon,
        "threat",
    )


def test_a_condition_about_this_time_says_so_and_a_proposal_binds_nobody() -> None:
    _, threat = _read("If you ask 60 this time, I will bid 10 for the rest of the game.")
    assert (threat.condition, threat.force) == (Condition("<=", 60, now=True), "threat")
    assert {one.strength for one in _read("How about you ask 60 and I commit to bidding 59 from now on.")} == {"soft"}
    assert [one.sentence for one in _read("I bid 40. You ask 41! So 42?")] == [0, 1, 2]


def test_take_it_or_leave_it_is_a_quote_and_a_threat() -> None:
    quote, refusal = _read("50 or no trade.")
    assert (quote.kind, quote.x, quote.condition) == ("own_quote", 50, None)
    assert (refusal.kind, refusal.condition, refusal.force) == ("no_trade", Condition(">=", 51), "threat")
    _, other = _read("50 or no trade.", "seller")
    assert other.condition == Condition("<=", 49)


def test_a_zero_profit_price_and_an_own_payoff_fix_the_limit() -> None:
    price, payoff = _read("At 60 I make 20.")
    assert (price.kind, price.x, payoff.kind, payoff.x) == ("price", 60, "payoff", 20)


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("Sticking with bid 58 for rounds 18-20.", [("own_quote", 58.0, (18, 20)), ("round", 18.0, (18, 20))]),
        ("I bid 29 last round, now 31.", [("unknown", 31.0, (5, 5))]),
        ("I will bid 31 each round.", [("own_quote", 31.0, (5, 20))]),
        ("try 45 final round", [("price", 45.0, (20, 20))]),
        ("Cost 13 plus value 29 leaves room.", [("other_limit", 13.0, (5, 5)), ("own_limit", 29.0, (5, 5))]),
        ("low 40s", []),
        ("Last round I bid 40 and you asked 50.", []),
        ("We have 5 rounds left and 3 good trades behind us.", [("count", 5.0, (5, 5)), ("count", 3.0, (5, 5))]),
        ("B1 and the 20-round game", []),
        ("I&#39;ll bid 44.", [("own_quote", 44.0, (5, 5))]),
        (
            "I'll bid 30 in rounds 19 and 20.",
            [("own_quote", 30.0, (19, 20)), ("round", 19.0, (19, 20)), ("round", 20.0, (19, 20))],
        ),
        ("Still bidding 58 as promised.", [("own_quote", 58.0, (5, 5))]),
        ("Let us aim for around 70, giving me 12.", [("price", 70.0, (5, 5)), ("payoff", 12.0, (5, 5))]),
        ("The 44 price works, 9 is too low.", [("price", 44.0, (5, 5)), ("unknown", 9.0, (5, 5))]),
    ],
)
def test_hard_cases(text: str, readings: list[tuple[str, float, tuple[int, int]]]) -> None:
    assert [(one.kind, one.x, one.horizon) for one in _read(text)] == readings


@pytest.mark.parametrize(
    "text",
    ["", "hello", "no numbers here", "Let us be reasonable!", "3% better", "2025 was good", "step 1.2.3", "50.505"],
)
def test_what_names_no_price_makes_no_statement_that_binds(text: str) -> None:
    assert not [one for one in _read(text) if one.kind in ("own_quote", "own_limit", "no_trade")]


def test_spans_lie_in_the_normalised_text() -> None:
    text = "Well — I’ll bid 41; could you ask 42?"
    plain = normalised(text)
    assert [plain[one.span[0] : one.span[1]] for one in _read(text)] == ["41", "42"]


@given(text=st.text(max_size=300), speaker=st.sampled_from(["buyer", "seller"]), round_number=st.integers(1, 20))
@settings(max_examples=150, deadline=None)
def test_no_text_raises_and_horizons_stay_in_the_game(text: str, speaker: Role, round_number: int) -> None:
    for found in read_statements(text, speaker, round_number, 20):
        assert 1 <= found.horizon[0] <= found.horizon[1] <= 20


WORDS = ["i", "will", "bid", "40", "if", "you", "ask", "above", ",", "not", "my", "value"]


@given(words=st.lists(st.sampled_from(WORDS), max_size=40))
@settings(max_examples=150, deadline=None)
def test_any_order_of_bargaining_words_is_read(words: list[str]) -> None:
    for found in _read(" ".join(words)):
        assert found.force in (None, "promise", "threat")


def test_the_length_of_a_text_costs_its_length() -> None:
    """As the number of statements: each looks a bounded way back."""
    short, long = (len(_read("if you ask 45, i will bid 40, " * count)) for count in (100, 800))
    assert (short, long) == (200, 1_600)
    assert len(_read("40 " * 2_600)) == 2_600
