"""What pairs cannot tell: missing episodes, pairs with nothing to win, differences that few pairs carry."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.compare.conftest import PlayInto, PlaySeeds

from tradefair.cli import run as command
from tradefair.evaluation.compare.comparing import Options, compare_folders
from tradefair.evaluation.compare.comparison import Missing, Pair, Run
from tradefair.evaluation.compare.missing import bound_of, shares_of, skew_of
from tradefair.evaluation.outcome import PrimaryMetric
from tradefair.evaluation.read.accounts import Account

PAYOFF = PrimaryMetric(name="payoff", unit="points")


def pair(a: float, b: float, stake: float | None = None, seed: int = 0) -> Pair:
    said: dict[str, Any] = {
        **{
            "path": "",
            "label": "",
            "policy_key": 0,
            "head": None,
            "moves": "",
            "outcome_digest": None,
            "rounds_closed": 1,
        },
        **{"moves": "", "end_reason": None, "censored": False, "early": False, "account": Account(), "at_stake": stake},
    }
    first, second = (Run(metrics={"payoff": value}, **said) for value in (a, b))
    made: dict[str, Any] = {"identical": False, "differences": {"payoff": b - a}, "divergence": None}
    return Pair(seed=seed, scenario="", a=[first], b=[second], **made)


def test_an_episode_of_the_other_side_is_missed_and_the_exit_code_says_so(
    play_seeds: PlaySeeds, play_into: PlayInto, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = play_seeds("a", "zip", range(4)), play_seeds("b", "truthful", range(2))
    play_into("b", "truthful", 2, stop_after=3)
    found = compare_folders(a, b)
    assert (found.missing.expected, found.missing.unfinished, found.missing.absent) == (4, 0, 2)
    assert "B lacks 2 of 4 seeds (seeds 2–3)" in found.verdict.sentences[1]
    assert command(["compare", str(a), str(b)]) == 1
    assert "B lacks 2 of 4 seeds" in capsys.readouterr().out
    assert command(["compare", str(a), str(a)]) == 0


def test_the_table_of_a_sweep_registers_what_should_be_there(play_seeds: PlaySeeds, tmp_path: Path) -> None:
    a, b = play_seeds("s/a", "zip", range(2)), play_seeds("s/b", "truthful", range(2))
    with sqlite3.connect(tmp_path / "s" / "sweep.sqlite") as db:
        db.execute("CREATE TABLE episodes (path TEXT, seed INTEGER)")
        db.executemany("INSERT INTO episodes VALUES (?, ?)", [("a/0.trace", 0), ("a/7.trace", 7), ("c/9.trace", 9)])
    found = compare_folders(a, b)
    assert (found.missing.expected, found.missing.absent) == (3, 1)
    # The plan asks side A alone for it, and nothing is known of what B would have scored there.
    (gap,) = found.gaps
    assert (gap.side, gap.seeds) == ("a", [7])
    assert "A lacks 1 of 3 seeds (seed 7)" in found.verdict.text
    assert command(["compare", str(a), str(b)]) == 1


def test_missing_pairs_bound_the_mean_by_the_extremes_seen() -> None:
    pairs = [pair(0, 10), pair(0, 10)]
    bound = bound_of(pairs, PAYOFF, Missing(expected=4, unfinished=1, absent=1))
    assert bound is not None
    # Two known differences of 10, two unknown ones between −10 and +10.
    assert (bound.low, bound.high) == (0.0, 10.0)
    assert bound_of(pairs, PAYOFF, Missing(expected=2, unfinished=0, absent=0)) is None


@pytest.mark.many
def test_what_missing_pairs_could_reverse_is_not_called_better(play_seeds: PlaySeeds, tmp_path: Path) -> None:
    a, b = play_seeds("a", "passive", range(20)), play_seeds("b", "truthful", range(20))
    assert compare_folders(a, b).conclusion == "b_better"
    for trace in sorted(b.iterdir())[:8]:
        trace.unlink()
    found = compare_folders(a, b)
    (bound,) = found.bounds
    assert (found.conclusion == "b_better") is (bound.low > 0)
    assert "B lacks 8 of 20 seeds" in found.verdict.text


@pytest.mark.many
def test_dropping_unfavourable_traces_is_told_in_the_first_three_sentences_with_the_worst_case(
    play_seeds: PlaySeeds,
) -> None:
    a, b = play_seeds("a", "gd", range(12)), play_seeds("b", "zip", range(12))
    whole = compare_folders(a, b)
    assert whole.metrics[0].mean_difference is not None
    assert whole.metrics[0].mean_difference < -30
    for pair in sorted(whole.pairs, key=lambda pair: pair.differences["payoff"] or 0)[:4]:
        Path(pair.b[0].path).unlink()
    found = compare_folders(a, b)
    shown, (gap,) = found.metrics[0], found.gaps
    # What is left looks like a gain: the seeds that are gone held the losses.
    assert shown.mean_difference is not None
    assert shown.mean_difference > 5
    assert gap.worst is not None
    assert gap.worst <= whole.metrics[0].mean_difference
    told = next(sentence for sentence in found.verdict.sentences[:3] if "B lacks 4 of 12 seeds" in sentence)
    assert f"had it scored the worst seen there, it would be {-gap.worst:.4g} points behind A" in told
    # The side that has all its traces is not blamed, and the order of sides does not matter.
    turned = compare_folders(b, a)
    (other,) = turned.gaps
    assert (other.side, other.worst) == ("a", -gap.worst)
    assert "points behind B" in turned.verdict.text


def test_a_seed_of_one_scenario_does_not_stand_in_for_that_of_another(
    play_seeds: PlaySeeds, play_into: PlayInto
) -> None:
    a, b = play_seeds("a", "zip", range(3)), play_seeds("b", "truthful", range(3))
    play_into("a", "zip", 1, scenario="double_auction/smoke", overrides={})
    found = compare_folders(a, b)
    assert (found.missing.expected, found.missing.absent) == (4, 1)
    assert [(gap.side, gap.seeds) for gap in found.gaps] == [("b", [1])]


@pytest.mark.many
def test_both_sides_that_lack_seeds_are_told_in_one_sentence_and_an_unfinished_one_is_resumed(
    play_seeds: PlaySeeds,
) -> None:
    a, b = play_seeds("a", "zip", range(0, 40, 2)), play_seeds("b", "truthful", range(0, 40, 3))
    path = b / "truthful-00-0-duel.trace"
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM events WHERE seq > 40")
        db.execute("DELETE FROM meta WHERE key = 'closed_head'")
        db.execute("UPDATE meta SET value = ? WHERE key = 'about'", (b"{}",))
    found = compare_folders(a, b, Options(seats=["B1"]))
    (told,) = (sentence for sentence in found.verdict.sentences[:3] if "lacks" in sentence)
    assert "A lacks 7 of 27 seeds" in told
    assert "B lacks 14 of 27 seeds (1 unfinished)" in told
    assert len(told) <= 240
    assert any(step.command.endswith(str(path)) and "--resume" in step.command for step in found.verdict.next)


def test_shares_leave_out_pairs_with_nothing_to_win() -> None:
    shares = shares_of([pair(1, 3, 4), pair(2, 2, 8), pair(0, 0, 0)], PAYOFF)
    assert shares is not None
    assert (shares.n, shares.nothing, shares.mean_a, shares.mean_b) == (2, 1, 0.25, 0.5)
    assert (shares.mean_difference, shares.interval) == (0.25, None)
    assert shares_of([pair(1, 3)], PAYOFF) is None


def test_a_seat_with_nothing_to_win_is_told(play_seeds: PlaySeeds) -> None:
    found = compare_folders(play_seeds("a", "zip", range(12)), play_seeds("b", "truthful", range(12)))
    assert found.shares is not None
    assert found.shares.n + found.shares.nothing == 12
    assert ("had nothing to win" in found.verdict.text) is bool(found.shares.nothing)


@pytest.mark.parametrize(
    ("differences", "warned"),
    [
        ([1, 2, 3, 4, 5, 6, 7, 8], False),
        ([0, 0, 0, 0, 0, 0, 0, 100], True),
        ([-1, 1, -1, 1, -1, 1, -1, 40], True),
        ([0, 0, 0, 0, 0, 0, 0], False),
        ([5] * 8, False),
    ],
)
def test_few_pairs_that_carry_the_difference_are_a_warning(differences: list[float], warned: bool) -> None:
    assert (skew_of([pair(0, value) for value in differences], PAYOFF) is not None) is warned


def test_the_bca_interval_of_a_skewed_mean() -> None:
    # Efron & Tibshirani (1993), table 14.1 in spirit: for the exponential the interval leans to the long side.
    values = [0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.1, 1.5, 2.2, 6.0]
    skew = skew_of([pair(0, value) for value in values], PAYOFF)
    assert skew is not None
    low, high = skew.interval
    mean = sum(values) / len(values)
    assert low < mean < high
    assert high - mean > 1.5 * (mean - low)
