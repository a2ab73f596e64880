"""The reading of talk holds on the half of the corpus that its rules were not written for, and is as it is shipped."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest
from benchmarks.talk import SHIPPED, Half, Read, Sentence, by_class, corpus, not_read, read, shipped


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
