"""The texts of every market, which a person reads in `texts/`, and the rules that all of them keep."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate, combinations
from pathlib import Path
from typing import Any

import pytest
from benchmarks.verdicts.page import PAGE, written
from benchmarks.verdicts.play import SETTINGS
from tests.evaluation.verdict.cases import TEXTS, cases, shown

from tradefair.evaluation.ledger import Ledger
from tradefair.evaluation.verdict.amounts import dollars, in_money, number, percent
from tradefair.evaluation.verdict.verdict import Verdict

_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")

_FORBIDDEN = re.compile(
    r"\b(?:laps(?:e[sd]?|ing)|findings?|modes?|competent seats|by turns|exploratory|heads?|seal(?:s|ed)?|minor units)\b"
)
"""Words of the glossary that nobody knows who reads a first screen, and a unit that is no money."""
_WORDS = {"", "payoff", "profit", "gain", "utility"}
"""Fields that are words of English too."""


# The dear ones in the slow group; the quick ones have every sentence of the grammar.
_MARKETS = [
    pytest.param(market, marks=pytest.mark.many) if market in ("retail", "supply_chain") else market
    for market in SETTINGS
]


@pytest.mark.many
@pytest.mark.parametrize("market", _MARKETS)
def test_the_texts_of_a_market_are_those_that_somebody_has_read(market: str, tmp_path: Path) -> None:
    said = dict(cases(market, tmp_path))
    for verdict in said.values():
        kept(verdict)
        for score in (seat.score for seat in verdict.seats if "wealth_rank" in seat.score.figures):
            rank, seats = (number(score.figures[field]) for field in ("wealth_rank", "seats"))
            assert f"rank {rank} of {seats} by wealth" in score.said
        assert "by wealth" not in verdict.text or any(seat.score.figures for seat in verdict.seats)
    expected = (TEXTS / f"{market}.txt").read_text(encoding="utf-8")
    assert shown(said) == expected, "python -m tests.evaluation.verdict.cases writes them anew"


def kept(verdict: Verdict) -> None:
    """Two to five sentences of 240 characters and the world's, no word of a program, no number of its own."""
    assert 2 <= len(verdict.sentences) - bool(verdict.world) <= 5
    assert verdict.sentences[-1] == verdict.world or not verdict.world
    assert max(map(len, verdict.sentences)) <= 240
    assert verdict.text == " ".join(verdict.sentences)
    # Behind the text stand the tables of what turns lost.
    assert str(verdict).startswith(verdict.text)
    for seat in verdict.seats:
        names = {seat.score.metric, seat.mistake.mode if seat.mistake else ""} - _WORDS
        assert not [field for field in names if re.search(rf"\b{field}\b", verdict.text)]
    assert "None" not in verdict.text
    # As people read money.
    figures = [{**one.to_json(), "sentences": (), "text": ""} for one in (verdict, in_money(verdict))]
    ledgers = [seat.ledger for seat in in_money(verdict).seats if seat.ledger]
    known = {"95", *numbers([*figures]), *numbers([told for ledger in ledgers for told in _counted(ledger)])}
    assert [found for found in _NUMBER.findall(verdict.text) if found not in known] == []


def _counted(ledger: Ledger) -> Iterator[Any]:
    """A ledger and what is counted and added in it."""
    lost = [turn.lost for turn in ledger.turns if turn.lost > 0]
    yield from (ledger.model_dump(mode="json"), *range(len(lost) + 1), len(ledger.known), len(ledger.of) - 1)
    yield from () if ledger.idle is None else (ledger.idle - ledger.own,)
    ends = [*(turn.values for turn in ledger.turns), dict.fromkeys(ledger.of, ledger.own)]
    yield from (one[name] - other[name] for one, other in combinations(ends, 2) for name in ledger.of)
    for first in range(len(ledger.turns)):
        # Any stretch of turns may be named by its sum, and by what the others gained; so may the costliest turns.
        sums = [sum(turn.lost for turn in ledger.half), *accumulate(turn.lost for turn in ledger.turns[first:])]
        yield from (found for lost_ in sums for found in (lost_, lost_ - ledger.gap))


def numbers(content: Any) -> Iterator[str]:
    """Every number of a verdict in every form that a sentence may have, and those in its texts.

    But those of `said`, which is a sentence itself.
    """
    if isinstance(content, dict):
        for key, value in content.items():  # pyright: ignore
            yield from numbers(value) if key != "said" else ()
    elif isinstance(content, list):
        yield str(len(content))  # pyright: ignore
        for value in content:  # pyright: ignore
            yield from numbers(value)
    elif isinstance(content, str):
        yield from _NUMBER.findall(content)
    elif isinstance(content, int | float) and not isinstance(content, bool):
        size = abs(content)
        yield from (str(size), percent(size).removesuffix(" %"), dollars(int(size)).removeprefix("$"))
        # Of 563.9 million the figures; more of them where it is told apart from another number.
        yield from (number(size, digits).partition(" ")[0] for digits in range(4, 10))


@pytest.mark.parametrize("path", [PAGE, *sorted(TEXTS.glob("*.txt"))], ids=lambda path: path.name)
def test_no_word_stands_in_a_verdict_that_only_this_project_knows(path: Path) -> None:
    assert [bool(_FORBIDDEN.search(text)) for text in ("2 lapses", "sealed_ears")] == [True, False]
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith(("> ", "  "))]
    assert [line for line in lines if _FORBIDDEN.search(line)] == []
    assert len(lines) > 40


@pytest.mark.many
@pytest.mark.parametrize("market", ["bargaining", "marketplace"])
def test_the_page_of_fifty_has_what_is_said_today(market: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page.count("\n**") == 50
    for section in written(market):
        assert section in page, "python -m benchmarks.verdicts writes it anew"
