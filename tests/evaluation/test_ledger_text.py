"""A ledger in words and as a chart: places, actions, rows that fold, the line about the rest, the sum."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tradefair.evaluation.ledger import Action, Ledger, LedgerSeries, LedgerTurn, ledger_series
from tradefair.evaluation.verdict.ledger_chart import ledger_chart
from tradefair.evaluation.verdict.ledger_text import (
    actions_text,
    ledger_rows,
    ledger_table,
    lines_of,
    place_text,
    rest_text,
    series_table,
)

HOLD: tuple[Action, ...] = (("submit_quote", {"price": 40}),)


def turn(number: int, lost: float, did: tuple[Action, ...] = HOLD, **fields: Any) -> LedgerTurn:
    """A turn of round `number`; its value does not matter where its loss does."""
    given: dict[str, Any] = {
        **{"turn": number, "until": number, "round": number, "last_round": number, "phase": "quote", "step": 0},
        **{"seqs": (10 * number, 10 * number + 1), "value": 0.0, "after": -lost, "lost": lost, "band": (lost, lost)},
        **{"agreed": True, "did": did, "would": (("submit_quote", {"price": 50 + number}),), "values": {"gd": 0.0}},
    }
    return LedgerTurn.model_validate({**given, **fields})


def ledger(*turns: LedgerTurn, **fields: Any) -> Ledger:
    gap = sum(each.lost for each in turns)
    given: dict[str, Any] = {"seat": "B1", "unit": "points", "own": 0.0, "reachable": gap, "of": ("gd",), "gap": gap}
    return Ledger.model_validate({**given, "turns": turns, **fields})


def bid(price: int) -> tuple[Action, ...]:
    return (("submit_quote", {"price": price}),)


def test_the_turns_that_lost_most_come_first_and_every_other_turn_is_in_the_line_behind_them() -> None:
    made = ledger(turn(1, 2, bid(1)), turn(2, 7, bid(2)), turn(3, -1, bid(3)), turn(4, 0, bid(4)), turn(5, 3, bid(5)))
    table = ledger_table(made, most=2)
    assert table.columns == ("turn", "lost", "it did", "gd would have done", "named")
    assert table.rows == [
        ("round 2", "7", "submit_quote price 2", "submit_quote price 52", "–"),
        ("round 5", "3", "submit_quote price 5", "submit_quote price 55", "–"),
        ("1 more turn lost 2, 1 gained 1, 1 lost nothing", "", "", "", ""),
        ("sum", "11", "= 11 − 0", "", ""),
    ]


def test_turns_in_a_row_that_did_the_same_are_one_row_that_leads_to_the_costliest() -> None:
    made = ledger(turn(1, 1, bid(9)), turn(2, 2), turn(3, 5, names=("m.parking",)), turn(4, -1), turn(5, 1, bid(9)))
    (first, *_) = ledger_rows(made)
    assert first == ("rounds 2 to 4", 3, 6.0, "submit_quote price 40 (3 turns)", first.would, ("parking",), 30)
    assert first.would == "submit_quote price 53 in round 3"
    assert rest_text(made, 1) == "2 more turns lost 2"


def test_of_a_metric_that_is_better_when_low_the_sum_is_the_own_figure_less_that_of_the_policies() -> None:
    made = ledger(turn(1, 4), own=9.0, reachable=5.0, higher_is_better=False)
    assert ledger_table(made).rows[-1][:3] == ("sum", "4", "= 9 − 5")


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ({"round": 4, "last_round": 4}, {"round": 5, "last_round": 5}, "day 4"),
        ({"phase": "wholesale_1"}, {}, "day 1, wholesale 1"),
        ({"step": 25, "phase": "step"}, {"step": 26, "round": 1, "last_round": 1, "phase": "step"}, "day 1, step 25"),
        ({"step": 0, "phase": "step"}, {"step": 1, "round": 1, "last_round": 1, "phase": "step"}, "day 1, step 1"),
        ({"until": 7, "last_round": 7}, {"turn": 8, "until": 8}, "days 1 to 7"),
        ({"until": 7}, {"turn": 8, "until": 8}, "day 1, 7 turns"),
    ],
)
def test_a_place_has_a_phase_and_a_step_only_where_they_tell_turns_apart(
    first: dict[str, Any], second: dict[str, Any], said: str
) -> None:
    made = ledger(turn(1, 1, **first), turn(2, 1, **second))
    assert place_text(made, made.turns[0], word="day") == said


SAID: list[tuple[tuple[Action, ...], str]] = [
    ((), "nothing"),
    ((("wait", {}),), "wait"),
    ((("order", {"item": "P1", "units": 3, "note": None, "rush": True}),), "order item P1 units 3 rush true"),
    ((("say", {"text": "a  b\n\x1b[31mc"}),), 'say text "a b \\x1b[31mc"'),
    ((("say\n\x07", {"a\x00": "x"}),), "say \\x07 a\\x00 x"),
    ((("bid", {"lines": [{"a": 1}]}),), "bid lines a 1"),
    (tuple(("buy", {"n": n}) for n in range(5)), "buy n 0; buy n 1; buy n 2 and 2 more"),
]


@pytest.mark.parametrize(("actions", "said"), SAID)
def test_actions_in_words_are_one_line_that_no_terminal_obeys(actions: tuple[Action, ...], said: str) -> None:
    assert actions_text(actions) == said


def test_long_arguments_are_cut() -> None:
    assert len(actions_text((("say", {"text": "word " * 100}),))) <= len("say ") + 60


def test_a_stretch_names_its_tools_and_nothing_that_would_have_been_done() -> None:
    did: tuple[Action, ...] = (*HOLD, *HOLD, ("wait", {}))
    (row,) = ledger_rows(ledger(turn(1, 4, did, until=3, last_round=3, would=None)))
    assert (row.place, row.did, row.would, row.turns) == ("rounds 1 to 3", "submit_quote × 2, wait", "–", 3)


# --- a series --------------------------------------------------------------------------------------------------------


def told(series: LedgerSeries | None, most: int | None = None) -> list[Any]:
    assert series is not None
    assert math.fsum(kind.lost for kind in series.kinds) == pytest.approx(series.gap)
    return list(series_table(series, "x", most=most).rows)


def test_the_kinds_of_turns_of_a_series_share_its_mean_gap() -> None:
    named = turn(1, 8, names=("m.parking", "m.other"))
    first = ledger(named, turn(2, 2), turn(3, 0, (("wait", {}),)), own=10.0, reachable=20.0)
    second = ledger(turn(1, 4), turn(2, -1, (), phase="talk_1"), own=1.0, reachable=4.0)
    series = ledger_series([[first], [second], []])
    assert told(series) == [
        ("parking", "quote", "submit_quote", "4", "62 %", "1"),
        ("no name", "quote", "submit_quote", "3", "46 %", "2"),
        ("no name", "talk 1", "nothing", "−0.5", "−8 %", "1"),
        ("mean gap", "", "= 12 − 5.5", "6.5", "100 %", "2 of 3"),
    ]
    assert told(series, 1)[1] == ("… 2 more", "", "", "2.5", "38 %", "")


def test_a_series_without_a_gap_has_no_shares_and_one_without_ledgers_has_no_table() -> None:
    better = ledger(turn(1, -2), own=9.0, reachable=7.0)
    assert told(ledger_series([[better]])) == [
        ("no name", "quote", "submit_quote", "−2", "–", "1"),
        ("mean gap", "", "= 7 − 9", "−2", "–", "1 of 1"),
    ]
    assert ledger_series([[], []]) is None


def test_several_seats_of_an_episode_are_averaged_and_counted_once() -> None:
    series = ledger_series([[ledger(turn(1, 4)), ledger(turn(1, 2))]])
    assert told(series)[0] == ("no name", "quote", "submit_quote", "3", "100 %", "1")


# --- the chart --------------------------------------------------------------------------------------------------------


def test_the_chart_ends_at_what_the_seat_earned_and_labels_the_three_turns_that_lost_most() -> None:
    turns = [turn(number, lost) for number, lost in enumerate([1, 5, 0, -2, 4, 3], 1)]
    chart = ledger_chart(ledger(*turns))
    value, bars = chart.lines
    assert (value.x[0], value.x[-1], value.y[-1]) == (0.0, 6.0, 0.0)
    assert (value.mark, chart.accent) == ("step", value.name)
    # A bar stands where the value steps, and one below 0 is what a turn gained.
    assert (bars.x, bars.y) == (value.x[1:], [1.0, 5.0, None, -2.0, 4.0, 3.0])
    assert [label for label in bars.labels if label] == ["round 2: 5", "round 5: 4", "round 6: 3"]
    assert (chart.x.label, chart.y.unit) == ("round", "points")


@pytest.mark.parametrize(("lost", "said"), [([3, 3, 3, 3], []), ([3, 9, 3, 3], ["round 2: 9"]), ([3, 0, 3], [1, 3])])
def test_of_turns_that_lost_the_same_all_are_labelled_or_none(lost: list[int], said: list[Any]) -> None:
    chart = ledger_chart(ledger(*(turn(number, amount) for number, amount in enumerate(lost, 1))))
    labels = [label for label in chart.lines[-1].labels if label]
    assert labels == [label if isinstance(label, str) else f"round {label}: 3" for label in said]


def test_stretches_of_days_have_the_days_as_their_axis() -> None:
    turns = [turn(1, 4, until=7, last_round=7, would=None), turn(8, 2), turn(9, 1, until=20, last_round=20)]
    chart = ledger_chart(ledger(*turns), word="day")
    assert (chart.x.label, chart.lines[0].x) == ("day", [0.0, 7.0, 8.0, 20.0])
    assert chart.lines[-1].labels[0] == "days 1 to 7: 4"


def test_policies_that_agree_have_no_band() -> None:
    values = {"gd": 3.0, "zip": 3.0}
    chart = ledger_chart(ledger(turn(1, 1, values=values), of=("gd", "zip")))
    assert [line.name for line in chart.lines] == ["value", "lost"]


def test_several_policies_have_a_band_and_turns_within_a_round_their_own_axis() -> None:
    values = {"gd": 3.0, "zip": 1.0}
    turns = [turn(1, 1, values=values), turn(2, 1, round=1, last_round=1, step=1, values=values)]
    chart = ledger_chart(ledger(*turns, of=("gd", "zip")))
    assert chart.x.label == "turn"
    _, least, most, _ = chart.lines
    assert (least.y, most.y, least.shade_to) == ([1.0, 1.0, 0.0], [3.0, 3.0, 0.0], most.name)


def test_cents_are_shown_as_money_and_what_was_lost_still_adds_up() -> None:
    values = {"gd": 5_000.0}
    cents = ledger(turn(1, 1_250, values=values), turn(2, 300, values=values), unit="minor units", own=-1_000.0)
    shown = cents.in_money()
    assert (shown.unit, cents.per_unit, shown.own, shown.gap) == ("currency units", 100, -10.0, 15.5)
    first = shown.turns[0]
    assert (first.lost, first.values, first.band) == (12.5, {"gd": 50.0}, (12.5, 12.5))
    assert sum(each.lost for each in shown.turns) == shown.gap
    assert shown.in_money() is shown


def test_a_sum_takes_a_negative_figure_away_in_brackets_and_large_amounts_have_no_decimals() -> None:
    made = ledger(turn(1, 25_000.75), own=-12_000.75, reachable=13_000.0)
    assert ledger_table(made).rows[-1][:3] == ("sum", "25,001", "= 13,000 − (−12,001)")


def test_of_a_turn_the_actions_that_only_one_side_took_come_line_by_line() -> None:
    pay: Action = ("pay", {"to": "b1"})
    again: Action = ("pay", {"to": "b2"})
    end: Action = ("finish", {})
    assert lines_of((pay, again, end), (pay, end)) == ["pay to b2", "2 actions in common"]
    assert lines_of((pay, end), (pay, again, end)) == ["pay to b1", "finish"]
    assert lines_of((), (pay,)) == ["nothing"]
    many = lines_of([("buy", {"n": number}) for number in range(15)], ())
    assert (len(many), many[-1]) == (13, "and 3 more")


def test_a_seat_that_lost_nothing_has_no_bars() -> None:
    assert [line.mark for line in ledger_chart(ledger(turn(1, 0))).lines] == ["step"]
