"""

Also here:
- What the numbers of a message are claimed to be: one sentence a rule of the page, and what must never happen.
- The reading of talk holds on the half of the corpus that its rules were not written for, and is as it is shipped.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import pytest
from benchmarks.talk import SHIPPED, Half, Read, Sentence, by_class, corpus, not_read, read, shipped
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.waiting import Loops

from tradefair.trading.claims import claims, unread_numbers
from tradefair.trading.number_words import with_digits
from tradefair.trading.statements import Condition, Role, Statement, normalised, read_statements


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


@cache
def _sentences() -> tuple[Sentence, ...]:
    return tuple(corpus())


@cache
def _numbers(half: Half) -> tuple[Read, ...]:
    return tuple(read(sentence for sentence in _sentences() if sentence.half == half))


def test_the_corpus_is_large_and_no_sentence_stands_in_it_twice() -> None:
    kinds = Counter(said.template.partition("/")[0] for said in _sentences())
    later = kinds.pop("later")
    assert kinds.pop("fresh") >= 9 * 30
    assert len(kinds) == 9
    assert min(kinds.values()) >= 200
    assert later >= 100
    templates = Counter(name.partition("/")[0] for name in {said.template for said in _sentences()})
    assert all(templates[kind] >= 60 for kind in kinds)
    assert len({said.text.lower() for said in _sentences()}) == len(_sentences())


def test_harmless_sentences_hold_private_numbers_as_often_as_the_others() -> None:
    def share(harmless: bool) -> float:
        rows = [
            said for half in ("dev", "test") for said in _numbers(half) if (said.true == "harmless_number") == harmless
        ]
        return sum(said.private for said in rows) / len(rows)

    assert share(harmless=True) >= share(harmless=False)


def test_what_is_called_the_own_limit_in_the_corpus_is_it() -> None:
    for said in _sentences():
        for number in said.numbers:
            if number.claim in ("own_limit", "false_limit"):
                assert (abs(number.value - said.limit) < 1) == (number.claim == "own_limit"), said.text


@pytest.mark.parametrize("half", ["dev", "test"])
def test_every_class_is_found_and_little_else_is_taken_for_it(half: Half) -> None:
    for name, reading in by_class(_numbers(half)).items():
        assert reading.recall >= 0.9, name
        # Limits accuse a seat; the other classes only keep a number from being one.
        assert reading.precision >= (0.97 if name in ("own_limit", "false_limit", "threat") else 0.94), name


def test_sentences_written_before_the_rules_are_read_and_limits_seldom_misread() -> None:
    reading = by_class(_numbers("fresh"))
    assert reading["own_limit"].precision == 1
    assert reading["false_limit"].precision >= 0.9
    for name in ("own_limit", "false_limit", "conditional_offer", "threat", "expectation", "past_fact"):
        assert reading[name].recall >= 0.8, name
    assert min(row.recall for row in reading.values()) >= 0.7


@pytest.mark.parametrize("half", ["dev", "test", "fresh"])
def test_missed_private_numbers_are_told_and_harmless_ones_seldom(half: Half) -> None:
    counts = not_read(_numbers(half))
    private = sum(said.private and said.true != "harmless_number" for said in _numbers(half))
    # Neither read nor told: one in twenty at most, of all that could give a limit away.
    assert counts["missed"] - counts["missed_told"] <= 0.05 * private
    assert counts["harmless_told"] <= 0.15 * counts["harmless"]


def test_what_a_diagnosis_prints_is_what_the_corpus_gives() -> None:
    assert SHIPPED.read_text() == shipped()
