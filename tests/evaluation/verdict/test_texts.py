"""The texts of every market, which a person reads in `texts/`, and the rules that all of them keep.

Also here:
- Whatever a trace holds, its verdict has two to five sentences that a terminal and a page can show.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import cache
from itertools import accumulate, combinations
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from benchmarks.verdicts.page import PAGE, written
from benchmarks.verdicts.play import SETTINGS
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluation.playing import played_by
from tests.evaluation.verdict.cases import FORBIDDEN, TEXTS, cases, shown

from tradefair.contract.text import clean_line
from tradefair.evaluation.judge.evaluate import Evaluation, evaluate_file
from tradefair.evaluation.ledger import Ledger, LedgerTurn
from tradefair.evaluation.modes.diagnosis import CaseRecord, Finding
from tradefair.evaluation.read.accounts import account
from tradefair.evaluation.verdict.amounts import dollars, in_money, number, percent
from tradefair.evaluation.verdict.of_trace import verdict_of, worded
from tradefair.evaluation.verdict.series import verdict_of_series
from tradefair.evaluation.verdict.verdict import (
    Beside,
    Effort,
    Mistake,
    NextStep,
    Reproduced,
    Score,
    SeatVerdict,
    Trouble,
    Verdict,
)
from tradefair.tracestore import open_trace

_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")

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
    pairs = [(seat.score.value or 0, row.value) for seat in in_money(verdict).seats for row in seat.beside]
    gaps = [abs(value - other) for value, other in pairs if other is not None]
    known = {"95", *numbers([*figures, *gaps]), *numbers([told for ledger in ledgers for told in _counted(ledger)])}
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
    assert [bool(FORBIDDEN.search(text)) for text in ("2 lapses", "sealed_ears")] == [True, False]
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith(("> ", "  "))]
    assert [line for line in lines if FORBIDDEN.search(line)] == []
    assert len(lines) > 40


@pytest.mark.many
@pytest.mark.parametrize("market", ["bargaining", "marketplace"])
def test_the_page_of_fifty_has_what_is_said_today(market: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page.count("\n**") == 50
    for section in written(market):
        assert section in page, "python -m benchmarks.verdicts writes it anew"


texts = st.text(st.sampled_from("aé1 .`\n\t\x1b\x07\u202e\u200b{}<&%\u4e2d🙂"), max_size=400)
figures_of = (
    st.none() | st.floats() | st.integers(-(2**70), 2**70).map(float) | st.sampled_from([0.0, 1.0, -1.0, 1e-300])
)
counts = st.integers(0, 10**18)
st.register_type_strategy(str, texts)
st.register_type_strategy(float, st.floats())
st.register_type_strategy(int, counts)


def _any(record: type[Any], **more: Any) -> Any:
    return st.builds(record, **more)


troubles: Any = _any(Trouble, text=texts.map("It failed: {}".format))
finite = st.floats(-1e300, 1e300)
places = st.integers(1, 10**6)
turns: Any = _any(
    LedgerTurn,
    turn=places,
    until=places,
    round=places,
    last_round=places,
    step=places,
    seqs=st.lists(counts, max_size=2).map(tuple),
    value=finite,
    after=finite,
    lost=finite,
    band=st.tuples(finite, finite),
    did=st.lists(st.tuples(texts, st.dictionaries(texts, texts, max_size=2)), max_size=3).map(tuple),
    would=st.none() | st.just((("wait", dict[str, str]()),)),
    names=st.lists(texts, max_size=2).map(tuple),
    values=st.dictionaries(texts, finite, max_size=3),
)
ledgers: Any = _any(
    Ledger,
    own=finite,
    reachable=finite,
    gap=finite,
    idle=st.none() | finite,
    of=st.lists(texts, min_size=1, max_size=4).map(tuple),
    known=st.dictionaries(texts, finite, max_size=3),
    exact=st.just(True),
    control=st.just("equal"),
    turns=st.lists(turns, max_size=4).map(tuple),
)
seats: Any = _any(
    SeatVerdict,
    score=_any(Score, value=figures_of, low=figures_of, high=figures_of),
    share=figures_of,
    ledger=st.none() | ledgers,
    headline=figures_of,
    at_stake=figures_of,
    between=st.just(()) | st.tuples(texts, texts),
    beside=st.lists(_any(Beside, value=figures_of), max_size=5).map(tuple),
    mistake=st.none() | _any(Mistake, lost=figures_of),
    trouble=st.none() | troubles,
    effort=_any(Effort, seconds=figures_of.filter(lambda value: value is None or value >= 0)),
)
verdicts: Any = _any(
    Verdict,
    schema=st.just("tradefair.verdict/1"),
    trouble=st.none() | troubles,
    seats=st.lists(seats, max_size=5).map(tuple),
    seeds=st.lists(counts, max_size=2).map(tuple),
    figure=st.none() | _any(Score, value=figures_of),
    reproduced=_any(Reproduced),
    next=st.lists(_any(NextStep), max_size=2).map(tuple),
    versions=st.just(dict[str, str]()),
)


def texts_of(verdict: Verdict) -> None:
    """The sentences can be texts_of, and the object survives its own JSON."""
    assert 2 <= len(verdict.sentences) <= 5
    for sentence in verdict.sentences:
        assert sentence == clean_line(sentence)
        assert 0 < len(sentence) <= 240
        assert "None" not in sentence
        assert "nan" not in sentence
        assert "inf " not in sentence
    verdict.to_json()
    assert "<script" not in verdict._repr_html_()  # pyright: ignore[reportPrivateUsage]


@given(verdicts)
def test_any_object_has_sentences(verdict: Verdict) -> None:
    texts_of(worded(verdict))


@given(st.lists(verdicts, max_size=4))
def test_any_series_has_sentences(episodes: list[Verdict]) -> None:
    if len(episodes) != 1:
        texts_of(verdict_of_series(episodes))


@cache
def _trace() -> tuple[Path, Evaluation]:
    path = played_by(Path(mkdtemp()) / "a.trace", "teaching/pie", {"P1": "random_legal"}, 1, "half")
    return path, evaluate_file(path)


@given(st.data())
def test_any_outcome_and_account_and_diagnosis_have_sentences(data: st.DataObject) -> None:
    path, evaluation = _trace()
    outcome, diagnosis = evaluation.outcome, evaluation.diagnosis
    assert outcome
    assert diagnosis
    seat = outcome.seats["P1"].model_copy(update={"payoff": data.draw(figures_of | texts), "label": data.draw(texts)})
    case = CaseRecord(seq=data.draw(counts), round=1, because=data.draw(texts))
    finding = diagnosis.findings[0].model_copy(
        update={
            "status": "raised",
            "seats": ["P1"],
            "rank": 1,
            "cases": data.draw(st.sampled_from([[], [case]])),
            "lost": data.draw(figures_of),
            "protocol": data.draw(st.booleans()),
        }
    )
    found: list[Finding] = [finding, *diagnosis.findings[1:]]
    hostile = evaluation._replace(
        outcome=outcome.model_copy(
            update={
                "seats": {**outcome.seats, "P1": seat},
                "scenario": data.draw(texts),
                "end_reason": data.draw(st.none() | texts),
                "seed": data.draw(st.none() | counts),
            }
        ),
        diagnosis=data.draw(st.none() | st.just(diagnosis.model_copy(update={"findings": found}))),
        path=data.draw(texts),
        unsound=data.draw(st.none() | texts),
    )
    with open_trace(path) as trace:
        counted = account(trace)
        took = {"model_calls": data.draw(counts), "calls": data.draw(counts), "refused": data.draw(counts)}
        more = {"given_up": {data.draw(texts): 1}, "given_up_rounds": data.draw(counts), "failure": data.draw(texts)}
        counted.seats["P1"] = counted.seats["P1"].model_copy(update={**took, **more, "model_seconds": math.inf})
        texts_of(
            verdict_of(
                trace, evaluation=hostile, counted=counted, references={"policy:zip": hostile.outcome or outcome}
            )
        )
