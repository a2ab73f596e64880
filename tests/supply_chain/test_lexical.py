from __future__ import annotations

import pytest

from tradefair.supply_chain.data.bundled import GENERIC, bundled_slogans, bundled_tribes
from tradefair.supply_chain.engine.lexical import (
    GROUPS,
    calibration_gap,
    cosine,
    cues,
    stem,
    stems,
    temperature_of_gap,
    vector,
)

TEXTS = {tribe["id"]: tribe["texts"] for tribe in bundled_tribes()}
FIRST = [TEXTS[tribe][0] for tribe in ("thrifty", "ethical", "hype", "quality")]


@pytest.mark.parametrize(
    ("word", "stemmed"),
    [
        ("savings", "saving"),
        ("communities", "community"),
        ("minutes", "minut"),
        ("trending", "trend"),
        ("guaranteed", "guarant"),
        ("glasses", "glass"),
        ("glass", "glass"),
        ("ties", "ties"),
    ],
)
def test_stems_are_those_of_the_page(word: str, stemmed: str) -> None:
    assert stem(word) == stemmed


@pytest.mark.parametrize(
    ("slogan", "expected"),
    [
        ("Low prices and big savings, every single day.", [0.507833, 0, 0, 0]),
        ("Fair trade, green makers, a cleaner planet.", [0, 0.490348, 0, 0.067420]),
        ("Be first: rare editions, trending now.", [0, 0, 0.526599, 0]),
        ("Crafted to last from fine materials, with care.", [0, 0, 0, 0.614370]),
        ("Premium quality at prices that make sense.", [0.261091, 0, 0, 0.179945]),
    ],
)
def test_cosines_are_those_of_the_page(slogan: str, expected: list[float]) -> None:
    assert [cosine(slogan, text) for text in FIRST] == expected


def test_calibration_gives_the_temperature_of_the_page() -> None:
    gap = calibration_gap(TEXTS)
    assert gap == 0.360263
    assert temperature_of_gap(gap) == 0.0721


def test_a_calibration_slogan_is_closest_to_its_own_tribe() -> None:
    for own, slogans in bundled_slogans().items():
        for slogan in slogans:
            means = {tribe: sum(cosine(slogan, text) for text in texts) / len(texts) for tribe, texts in TEXTS.items()}
            if own != GENERIC:
                assert sorted(means, key=means.__getitem__)[-1] == own
                assert list(means.values()).count(means[own]) == 1


def test_a_text_without_words_is_like_nothing() -> None:
    assert stems("… 7 !") == []
    assert vector("the of and") == {}
    assert cosine("the of and", FIRST[0]) == cosine("", "") == 0


def test_case_width_and_repetition_do_not_matter() -> None:
    assert stems("GREEN greens Ｇreen-GREEN") == ["green", "greens"][:1]
    assert cosine("cheap deals", "Ｃheap, CHEAP deal!") == 1


def test_cues_count_stems_by_the_tribe_they_court() -> None:
    assert cues("green fair exclusive limited quality craft cheap deal") == (8, 8, tuple(GROUPS))
    assert cues("Good things for every home.").cues == 0
