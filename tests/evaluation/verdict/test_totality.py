"""Whatever a trace holds, its verdict has two to five sentences that a terminal and a page can show."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.evaluation.playing import played_by

from tradefair.contract.text import clean_line
from tradefair.evaluation.judge.evaluate import Evaluation, evaluate_file
from tradefair.evaluation.ledger import Ledger, LedgerTurn
from tradefair.evaluation.modes.diagnosis import CaseRecord, Finding
from tradefair.evaluation.read.accounts import account
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

texts = st.text(st.sampled_from("aé1 .`\n\t\x1b\x07\u202e\u200b{}<&%\u4e2d🙂"), max_size=400)
numbers = st.none() | st.floats() | st.integers(-(2**70), 2**70).map(float) | st.sampled_from([0.0, 1.0, -1.0, 1e-300])
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
    score=_any(Score, value=numbers, low=numbers, high=numbers),
    share=numbers,
    ledger=st.none() | ledgers,
    headline=numbers,
    at_stake=numbers,
    between=st.just(()) | st.tuples(texts, texts),
    beside=st.lists(_any(Beside, value=numbers), max_size=5).map(tuple),
    mistake=st.none() | _any(Mistake, lost=numbers),
    trouble=st.none() | troubles,
    effort=_any(Effort, seconds=numbers.filter(lambda value: value is None or value >= 0)),
)
verdicts: Any = _any(
    Verdict,
    schema=st.just("tradefair.verdict/1"),
    trouble=st.none() | troubles,
    seats=st.lists(seats, max_size=5).map(tuple),
    seeds=st.lists(counts, max_size=2).map(tuple),
    figure=st.none() | _any(Score, value=numbers),
    reproduced=_any(Reproduced),
    next=st.lists(_any(NextStep), max_size=2).map(tuple),
    versions=st.just(dict[str, str]()),
)


def shown(verdict: Verdict) -> None:
    """The sentences can be shown, and the object survives its own JSON."""
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
    shown(worded(verdict))


@given(st.lists(verdicts, max_size=4))
def test_any_series_has_sentences(episodes: list[Verdict]) -> None:
    if len(episodes) != 1:
        shown(verdict_of_series(episodes))


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
    seat = outcome.seats["P1"].model_copy(update={"payoff": data.draw(numbers | texts), "label": data.draw(texts)})
    case = CaseRecord(seq=data.draw(counts), round=1, because=data.draw(texts))
    finding = diagnosis.findings[0].model_copy(
        update={
            "status": "raised",
            "seats": ["P1"],
            "rank": 1,
            "cases": data.draw(st.sampled_from([[], [case]])),
            "lost": data.draw(numbers),
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
        shown(
            verdict_of(
                trace, evaluation=hostile, counted=counted, references={"policy:zip": hostile.outcome or outcome}
            )
        )
