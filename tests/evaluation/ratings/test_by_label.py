"""Charts by label over many games: what is shown of many values, and what each mean is of."""

from __future__ import annotations

import pytest

from tradefair.evaluation.charts import Axis
from tradefair.evaluation.charts.by_label import MAX_DOTS, ByLabel, Words, average, number, rounds, spaced
from tradefair.evaluation.outcome import PlayedSeat
from tradefair.evaluation.read.arithmetic import middle

WORDS = Words("some", "Some", "Some numbers.", Axis(label="gain", unit="points"))


def seat(label: str, game: int, *series: float | None, score: float | None = None) -> PlayedSeat:
    return PlayedSeat(label, "buyer", game, {"score": score}, {"series": series})


def test_a_strip_shows_a_sample_by_rank_with_both_ends_and_counts_all() -> None:
    many = ByLabel([seat("a", 0, *range(10_000, 0, -1)), seat("b", 0, 5, None, 7)], ["a", "b", "absent"])
    strip = many.strip(WORDS, rounds("series"))
    assert strip.names == ["a", "b"]
    first, second = strip.strips
    assert (first.of, first.mean, len(first.values)) == (10_000, 5_000.5, MAX_DOTS // 2)
    assert (first.values[0], first.values[-1]) == (1, 10_000)
    assert first.values == sorted(first.values)
    assert (second.of, second.values) == (2, [5, 7])
    assert "2,000 values of a label at most" in strip.note
    assert "From 1 game." in strip.note
    assert "at most" not in ByLabel([seat("b", 0, 5)], ["b"]).strip(WORDS, rounds("series")).note


def test_no_chart_holds_more_dots_than_a_page_draws_at_once() -> None:
    labels = [f"l{place}" for place in range(90)]
    strip = ByLabel([seat(label, 0, *range(500)) for label in labels], labels).strip(WORDS, rounds("series"))
    assert strip.names == labels[:60]
    assert "The best 60 of 90 labels." in strip.note
    assert sum(len(known.values) for known in strip.strips) <= MAX_DOTS


def test_a_label_on_several_seats_of_a_game_counts_once_in_its_mean() -> None:
    seats = [seat("a", 0, 0), seat("a", 0, 10), seat("a", 1, 35), seat("b", 0, None)]
    chart = ByLabel(seats, ["a", "b"]).means(WORDS, average("series"))
    assert (chart.names, chart.values) == (["a"], [20])
    # Student's t of 5 and 35: the half width is 12.7062 standard errors of 15.
    assert chart.lows == [pytest.approx(20 - 190.593, abs=1e-3)]
    assert chart.highs == [pytest.approx(20 + 190.593, abs=1e-3)]
    assert ByLabel(seats[:1], ["a"]).means(WORDS, average("series")).lows == [None]


def test_the_interval_of_a_share_stays_within_0_and_1() -> None:
    seats = [seat("a", 0, 0), seat("a", 1, 1), seat("b", 0, 0.5)]
    chart = ByLabel(seats, ["a", "b"]).means(WORDS, average("series"), share=True)
    assert (chart.values, chart.lows, chart.highs) == ([0.5, 0.5], [0, None], [1, None])
    assert "cut at 0 and 1" in chart.note


def test_unknown_numbers_are_left_out() -> None:
    strip = ByLabel([seat("a", 0, score=2), seat("a", 1)], ["a"]).strip(WORDS, number("score"))
    assert strip.strips[0].values == [2]


def test_a_course_is_of_the_seats_that_have_a_value_in_the_round() -> None:
    seats = [seat("a", 0, 1, 2, None), seat("a", 1, 3, None, None), seat("a", 2, 8)]
    (line,) = ByLabel(seats, ["a"]).by_round(WORDS, "series").lines
    assert (line.name, line.x, line.y) == ("a", [1, 2, 3], [4, 2, None])
    assert ByLabel(seats, ["a"]).by_round(WORDS, "series", middle).lines[0].y == [3, 2, None]


def test_many_labels_have_a_panel_each_beside_the_course_of_all() -> None:
    labels = list("abcdefgh")
    chart = ByLabel([seat(label, 0, place) for place, label in enumerate(labels)], labels).by_round(WORDS, "series")
    assert [line.panel for line in chart.lines] == [label for label in labels for _ in range(2)]
    assert {tuple(line.y) for line in chart.lines if line.faint} == {(3.5,)}
    assert [line.y for line in chart.lines if not line.faint] == [[place] for place in range(8)]


@pytest.mark.parametrize("length", [0, 1, 4, 5, 6, 97])
def test_spaced_keeps_the_ends_and_the_order(length: int) -> None:
    kept = spaced(range(length), 5)
    assert len(kept) == min(length, 5)
    assert kept == sorted(set(kept))
    assert kept[:1] == [0][:length]
    assert kept[-1:] == [length - 1][:length]


def test_a_point_is_the_means_of_two_figures_of_a_label_that_has_both() -> None:
    seats = [seat("a", 0, 1, score=2), seat("a", 1, 3, score=4), seat("b", 0, score=5)]
    chart = ByLabel(seats, ["a", "b"]).points(WORDS, average("series"), number("score"), Axis(label="score"))
    assert [(line.name, line.x, line.y, line.mark) for line in chart.lines] == [("a", [2], [3], "dots")]
    assert (chart.x.label, chart.y.label, chart.note) == (
        "gain",
        "score",
        "Some numbers. One dot per label: means over its games. From 2 games.",
    )
