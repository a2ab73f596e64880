"""Claims, citations and quotations, held against events without a model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradefair.evaluation.analyst.citations import HEADINGS, check_claims, words_in

_SHOWN = {
    "g1": {3: words_in({"text": "I&#x27;ll hold at 58, &lt;60 — “no surprises”."}), 4: words_in({"price": 58}), 9: ""},
    "g2": {3: words_in({"text": "Meet me at 60"})},
}


def _kinds(claim: str) -> list[str]:
    text = "\n".join(f"## {heading}" for heading in HEADINGS[:-1])
    checked = check_claims(f"{text}\n{claim}\n## {HEADINGS[-1]}", _SHOWN)
    assert checked.claims == 1
    return [mark.kind for mark in checked.marks]


@pytest.mark.parametrize(
    "claim",
    [
        "- It asks 58 [g1:4].",
        "It holds. [g1:3] [g2:3]",
        "1. A finding says so [g1:9].",
        '- It wrote "I\'ll hold at 58" [g1:3].',
        "- It wrote “i'll  HOLD at 58, <60,” [g1:3].",
        '- It wrote "no surprises." [g1:3]',
        '- It wrote "Meet me\n  at 60" [g2:3].'.replace("\n", ""),
        '- It asked "58" [g1:4].',
        "- Two lines of one claim\n  with the event at the end [g1:4]",
    ],
)
def test_a_claim_that_cites_what_was_shown_and_quotes_what_is_there_has_no_mark(claim: str) -> None:
    assert _kinds(claim) == []


@pytest.mark.parametrize(
    ("claim", "kinds"),
    [
        ("- It asks 58.", ["no_citation"]),
        ("- It asks 58 [g1].", ["no_citation"]),
        ("- It asks 58 (g1:4).", ["no_citation"]),
        ("- It asks 58 [g1:5].", ["no_such_event"]),
        ("- It asks 58 [g3:4].", ["no_such_event"]),
        ("- It asks 58 [g1:4] [g1:999999999999] [g9:1].", ["no_such_event", "no_such_event"]),
        ('- It wrote "hold at 59" [g1:3].', ["words_not_found"]),
        ('- It wrote "old at 58" [g1:3].', ["words_not_found"]),
        ('- It wrote "hold at 5" [g1:3].', ["words_not_found"]),
        ('- It wrote "Meet me at 60" [g1:3].', ["words_elsewhere"]),
        ('- It wrote "Meet me at 60".', ["no_citation", "words_elsewhere"]),
        ('- "58" and "59" [g1:4]', ["words_not_found"]),
    ],
)
def test_a_claim_without_support_is_marked_with_what_is_missing(claim: str, kinds: list[str]) -> None:
    assert _kinds(claim) == kinds


def test_only_under_the_last_heading_nothing_needs_to_be_cited() -> None:
    text = "\n".join(f"## {heading}\n- Seen [g1:4]." for heading in HEADINGS[:-1])
    checked = check_claims(f'{text}\n## {HEADINGS[-1]}\n- Nothing about longer games.\n- Not "a word".', _SHOWN)
    assert (checked.claims, checked.unsupported) == (12, 1)
    assert [mark.kind for mark in checked.marks] == ["words_not_found"]


def test_headings_that_are_missing_or_out_of_order_are_named() -> None:
    whole = [f"## {heading}" for heading in HEADINGS]
    assert check_claims("\n".join(whole), _SHOWN).marks == []
    details = [mark.detail for mark in check_claims("\n".join(whole[1:]), _SHOWN).marks]
    assert details == ["the heading 'In one paragraph' is missing"]
    details = [mark.detail for mark in check_claims("\n".join([*whole[1:], whole[0]]), _SHOWN).marks]
    assert details == ["the headings are in another order"]


def test_marks_stand_on_the_last_line_of_their_claim() -> None:
    checked = check_claims("# x\n\nFirst line\nsecond line\n- item\n- item [g1:4]\n\nlast", _SHOWN)
    assert [mark.line for mark in checked.marks if mark.kind == "no_citation"] == [3, 4, 7]


@given(st.text(alphabet=st.sampled_from('g1:34[]"“”-# \n58x'), max_size=80))
def test_any_text_can_be_checked_and_gives_the_same_marks_again(text: str) -> None:
    checked = check_claims(text, _SHOWN)
    assert checked == check_claims(text, _SHOWN)
    assert 0 <= checked.unsupported <= checked.claims
