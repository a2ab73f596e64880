"""The filter of lists: one language in the viewer, on the command line and in Python."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradefair.contract import ScenarioError
from tradefair.evaluation.viewer.filter import KEYS, parse
from tradefair.evaluation.viewer.listing import ORDERS, listing_of
from tradefair.evaluation.viewer.row import Judged, Row


def row(path: str, score: float | None = None, **known: object) -> Row:
    judged = Judged(score=score, check="reproduced", raised=2, modes=["retail.idle_days"], cost_usd_micro=60_000)
    basis = {"market": "retail", "scenario": "retail/smoke", "seed": 7, "seats": ["B1"], "players": ["react/openai:x"]}
    return Row.model_validate({"path": path, "state": "ended", **basis, "judged": judged, **known})


ROWS = [
    row("a.trace", 404.0, seed=1),
    row("b.trace", -3.5, seed=20, players=["policy:zip"], state="stopped"),
    row("c c.trace", None, seed=None, market="bargaining", scenario="bargaining/pact"),
    row("d.trace", judged=None),
]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "abcd"), ("market:retail", "abd"), ("market=retail", "abd"), ("market=ret", ""), ("-market:retail", "c"),
        ("score>100", "a"), ("score>=-3.5 score<0", "b"), ("-score>100", "bcd"), ("seed:1..20", "abd"),
        ("seed:8..", "b"),
        ("seed:20", "b"), ("by:react", "acd"), ("by:policy:zip", "b"), ("zip", "b"), ('"c c"', "c"),
        ('-"c c" by:react', "ad"),
        ("state:stopped or score>100", "ab"), ("findings>=2", "abc"), ("mode:idle_days -seed:1", "bc"),
        ("cost<$0.06", ""),
        ("cost:0.06", "abc"), ("RETAIL/smoke", "abd"), ('by:"react/openai:x" market:barg', "c"),
        ("or or", "abcd"), ("-", ""),
    ],
)  # fmt: skip
def test_a_line_says_which_rows_are_wanted(text: str, found: str) -> None:
    wanted = parse(text)
    matched = "".join(line.path[0] for line in ROWS if wanted.match(line))
    assert matched == found


@pytest.mark.parametrize(
    ("text", "said"),
    [("scor>1", "did you mean score"), ("score>x", "score is a number"), ("seed:1..x", "seed is a number"),
     ("x" * 1_001, "at most 1,000")],
)  # fmt: skip
def test_what_is_wrong_is_said(text: str, said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        parse(text)
    listing = listing_of(ROWS, text)
    assert said in listing.problem
    assert listing.fitting == len(ROWS)


@given(st.text(max_size=60))
def test_any_text_is_a_filter_or_an_error(text: str) -> None:
    try:
        wanted = parse(text)
    except ScenarioError:
        return
    assert [wanted.match(line) for line in ROWS] == [parse(text).match(line) for line in ROWS]


@pytest.mark.parametrize("key", ORDERS)
@pytest.mark.parametrize("down", [True, False])
def test_what_is_not_known_comes_last(key: str, down: bool) -> None:
    empty = Row(path="z.trace", problem="damaged")
    rows = listing_of([empty, *ROWS], key=key, down=down).rows
    if key not in ("state", "when"):
        assert rows[-1] is empty
    assert rows == listing_of([*ROWS, empty], key=key, down=down).rows


def test_references_are_listed_where_they_are_asked_for() -> None:
    rows = [*ROWS, row("references/x.trace", kind="reference")]
    assert [listing_of(rows, query).total for query in ("", "kind:reference", "kind:")] == [4, 5, 5]
    assert listing_of(rows, "kind:reference").fitting == 1
    assert listing_of(rows, "").references == 1


def test_only_what_takes_an_evaluation_asks_for_one() -> None:
    told = {key for key in KEYS if parse(f"{key}:1").judged}
    judged = "reference mode rule tool check status score better findings others calls cost"
    assert told == set(judged.split())
