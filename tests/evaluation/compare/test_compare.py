"""Comparing two folders of traces: what is paired, what is tested, and what is said when there is too little.

Also here:
- Pairs across two scenarios on the same seeds: what talk changes, for one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from tradefair.cli import run
from tradefair.cli import run as command
from tradefair.contract import ScenarioError, SeatError, TraceError
from tradefair.evaluation.charts import PairChart
from tradefair.evaluation.compare.comparing import Options, compare_folders, parse_success
from tradefair.evaluation.compare.comparison import Comparison, Judgement, Metric, Run
from tradefair.evaluation.compare.judgement import judge
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.outcome import Outcome
from tradefair.evaluation.report.comparison_figure import figure_of
from tradefair.evaluation.statistics import mean_sd, sign_flip

stats: Any = import_module("scipy.stats")  # it brings no types

PlayInto = Callable[..., Path]
PlaySeeds = Callable[..., Path]


def metric(comparison: Comparison, name: str) -> Metric:
    return next(row for row in comparison.metrics if row.name == name)


def number(runs: Sequence[Run], name: str = "payoff") -> float:
    """The mean over trials."""
    values = [value for run in runs if (value := run.metrics[name]) is not None]
    return sum(values) / len(values)


def reasons(comparison: Comparison) -> list[str]:
    return [item.reason for item in comparison.dropped]


@pytest.mark.many
def test_two_policies_on_sixteen_paired_seeds(play_seeds: PlaySeeds) -> None:
    found = compare_folders(play_seeds("a", "truthful"), play_seeds("b", "zip"))
    payoff = metric(found, "payoff")
    assert [pair.seed for pair in found.pairs] == list(range(16))
    assert payoff.primary
    differences = [pair.differences["payoff"] for pair in found.pairs]
    assert differences == [number(pair.b) - number(pair.a) for pair in found.pairs]
    expected = stats.ttest_1samp(differences, 0.0).confidence_interval(0.95)
    assert payoff.interval == pytest.approx((expected.low, expected.high), abs=1e-6)
    assert payoff.p_method == "exact"
    assert payoff.p_holm == payoff.p
    assert payoff.wins + payoff.ties + payoff.losses == 16
    assert {item.name for item in found.differs} == {"agent", "model"}
    assert {"scenario", "opponents", "seeds", "policy key"} <= {item.name for item in found.pinned}
    assert found.conclusion == "b_better"
    first = found.verdict.sentences[0]
    assert first.startswith("B (policy:zip) earned 72.13 points more than A (policy:truthful) on the same luck, 95 %")
    assert first.endswith("over 16 pairs in seat B1 of double_auction/duel.")
    other = compare_folders(Path(found.b.name), Path(found.a.name))
    assert other.conclusion == "a_better"
    assert metric(other, "payoff").losses == payoff.wins
    # Who is A and who is B turns the letters and the interval, whose sign is that of the tables, and no other word.
    assert "95 % interval of B − A 28.04 to 116.2, p" in first
    turned = first.replace("B (", "A (", 1).replace("than A", "than B").replace("28.04 to 116.2", "-116.2 to -28.04")
    assert other.verdict.text == turned + found.verdict.text[len(first) :]


@pytest.mark.many
def test_runs_that_are_the_same_are_called_identical(play_seeds: PlaySeeds) -> None:
    found = compare_folders(play_seeds("a", "zip"), play_seeds("b", "zip"))
    assert found.conclusion == "identical"
    assert "played exactly alike: identical on all 16 pairs in seat B1" in found.verdict.text
    assert found.first_divergence is None


@pytest.mark.many
def test_the_same_policy_under_two_keys_is_no_difference_and_the_draws_that_differ_are_named(
    play_seeds: PlaySeeds,
) -> None:
    found = compare_folders(play_seeds("a", "zic"), play_seeds("b", "zic", policy_key=1))
    assert [item.name for item in found.differs] == ["policy key"]
    assert found.conclusion == "no_difference"
    assert found.verdict.text.startswith("No difference can be told: ")
    assert "the policy keys differ (A 0; B 1)" in found.notes[0]


def test_fewer_than_eight_pairs_are_exploratory_and_nothing_is_verdict_on(play_seeds: PlaySeeds) -> None:
    found = compare_folders(play_seeds("a", "truthful", range(5)), play_seeds("b", "zip", range(5)))
    assert found.conclusion == "exploratory"
    assert found.verdict.text.startswith("5 pairs are too few to test (8 are needed): B (policy:zip) earned ")
    tested = ("interval", "p", "p_holm")
    assert all(getattr(row, name) is None for row in found.metrics for name in tested)
    assert found.early_ends is not None
    assert found.early_ends.p is None


@pytest.mark.many
def test_the_supermarket_is_compared_and_its_regret_taken_from_the_references_beside(play_seeds: PlaySeeds) -> None:
    shop: dict[str, Any] = {"scenario": "retail/smoke", "seat": "manager", "overrides": {"horizon_days": 4}}
    a, b = play_seeds("a", "reorder_point", range(8), **shop), play_seeds("b", "careful_reader", range(8), **shop)
    play_seeds("a/references", "oracle", range(4), **shop)
    play_seeds("a/references", "passive", range(4), **shop)
    found = compare_folders(a, b)
    assert len(found.pairs) == 8
    assert [row.name for row in found.metrics if row.primary] == ["gain", "return_ratio"]
    gain, returned = metric(found, "gain"), metric(found, "return_ratio")
    assert gain.p is not None
    assert gain.n == 8
    # Who sold nothing has no return ratio; too few are left to test.
    assert (returned.n, returned.p) == (8 - returned.undefined, None)
    assert returned.undefined > 0
    assert any("defined on" in note for note in found.notes)
    (regret,) = found.regret
    # In four days the oracle gains nothing over who does nothing on two of the four seeds: no regret can be told there.
    assert (regret.metric, regret.n, regret.undefined, regret.missing) == ("gain", 2, 2, 4)
    assert regret.a is not None
    assert regret.b is not None
    assert [row.k for row in found.reliability] == [1, 2, 4, 8]


def test_price_closeness_is_relative_to_the_runs_of_both_sides(play_seeds: PlaySeeds) -> None:
    shop: dict[str, Any] = {"scenario": "retail/smoke", "seat": "manager", "overrides": {"horizon_days": 5}}
    found = compare_folders(
        play_seeds("a", "price_first", range(2), **shop), play_seeds("b", "giveaway", range(2), **shop)
    )
    runs = [run.metrics for pair in found.pairs for run in (*pair.a, *pair.b)]
    distances = [numbers["price_distance"] or 0.0 for numbers in runs]
    assert max(distances) > min(distances) > 0
    for numbers, distance in zip(runs, distances, strict=True):
        assert numbers["price_close"] == pytest.approx(1 - distance / max(distances))
    pair, row = found.pairs[0], metric(found, "price_close")
    assert (pair.a[0].metrics["price_close"] or 0) > (pair.b[0].metrics["price_close"] or 0) >= 0
    assert row.mean_difference == pytest.approx(sum(pair.differences["price_close"] or 0 for pair in found.pairs) / 2)
    # Against itself nothing is nearer.
    a = play_seeds("a", "price_first", range(2), **shop)
    again = compare_folders(a, a)
    assert metric(again, "price_close").mean_difference == 0


@pytest.mark.many
def test_two_managers_on_sixteen_seeds_of_the_smoke_store(play_seeds: PlaySeeds) -> None:
    shop: dict[str, Any] = {"scenario": "retail/smoke", "seat": "manager", "overrides": {}}
    found = compare_folders(play_seeds("a", "reorder_point", **shop), play_seeds("b", "careful_reader", **shop))
    assert found.verdict.text.startswith("B (policy:careful_reader) gained 1,607 currency units more than A (policy:")
    assert [row.p_method for row in found.metrics if row.primary] == ["exact", "exact"]
    assert all(row.wins == 16 for row in found.metrics if row.primary)


def test_regret_is_undefined_where_the_reference_is_no_better_than_passive(play_seeds: PlaySeeds) -> None:
    a, b = play_seeds("a", "zip", range(4)), play_seeds("b", "truthful", range(4))
    passive = play_seeds("passive", "passive", range(4))
    found = compare_folders(a, b, Options(reference=passive, passive=passive))
    (regret,) = found.regret
    assert (regret.n, regret.undefined, regret.missing, regret.a) == (0, 4, 0, None)
    found = compare_folders(a, b, Options(reference=a, passive=passive))
    assert found.regret[0].a in (0.0, None)


def test_unmatched_seeds_and_other_opponents_are_listed_with_their_reasons(
    play_seeds: PlaySeeds, play_into: PlayInto
) -> None:
    a, b = play_seeds("a", "zip", range(4)), play_seeds("b", "truthful", range(2))
    play_into("b", "truthful", 2, others="kaplan")
    play_into("b", "truthful", 3, overrides={"rounds": 4})
    play_into("b", "truthful", 9)
    found = compare_folders(a, b)
    assert [pair.seed for pair in found.pairs] == [0, 1]
    assert sorted(reasons(found)) == [
        "seed 2 in A has other opponents",
        "seed 2 in B has other opponents",
        "seed 3 in A has another scenario content",
        "seed 3 in B has another scenario content",
        "seed 9 is not in A",
    ]


def test_of_many_opponents_the_first_are_shown_and_those_that_differ_before_them(
    play_into: PlayInto, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    crowd: dict[str, Any] = {
        "scenario": "double_auction/bazaar",
        "overrides": {"n_buyers": 20, "n_sellers": 20, "acceptance": "per_seat", "rounds": 1},
    }
    for folder, seed in (("a", 0), ("b", 0), ("b", 1)):
        place = play_into(folder, "zip", seed, others="zip", **crowd).parents[1]
    # One seed is in B alone: a pair is missing, and the exit code says so.
    assert command(["compare", str(place / "a"), str(place / "b")]) == 1
    shown = capsys.readouterr().out
    assert "in all); scenario" in shown
    assert len(max(shown.splitlines(), key=len)) < 400
    play_into("b", "zip", 2, others="kaplan", **crowd)
    assert command(["compare", str(place / "a"), str(place / "b"), "--json"]) == 1
    told = next(item for item in orjson.loads(capsys.readouterr().out)["attributes"] if item["name"] == "opponents")
    assert len(told["b"]) == 2 * len(told["a"]) > 60
    assert command(["compare", str(place / "a"), str(place / "b")]) == 1
    (row,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("opponents"))
    of_a, of_b, _ = row.split("in all)")
    assert ("zip" in of_a, "kaplan" in of_a, "zip" in of_b, "kaplan" in of_b) == (True, False, False, True)


def test_harness_failures_are_dropped_and_agent_failures_count(play_seeds: PlaySeeds, play_into: PlayInto) -> None:
    a, b = play_seeds("a", "zip", range(2, 12)), play_seeds("b", "truthful", range(2, 10))
    play_into("b", "truthful", 10, stop_after=4, reason="truncated:harness_failure")
    play_into("b", "truthful", 11, stop_after=4, reason="truncated:agent_failure")
    found = compare_folders(a, b)
    assert [pair.seed for pair in found.pairs] == [*range(2, 10), 11]
    assert "harness failure: not the agent's doing" in reasons(found)
    assert "its partner in B cannot be used" in reasons(found)
    ends = found.early_ends
    assert ends is not None
    assert (ends.a, ends.b, ends.only_b) == (0, 1, 1)
    assert [(point.round, point.share) for point in ends.survival_b] == [(0, 1.0), (4, 0.888888889), (10, 0.888888889)]
    assert ends.p == 1.0


def test_a_censored_run_counts_beside_one_of_the_same_length_only(play_seeds: PlaySeeds, play_into: PlayInto) -> None:
    a, b = play_seeds("a", "zip", range(1)), play_seeds("b", "truthful", range(1))
    play_into("a", "zip", 5, stop_after=6)
    play_into("b", "truthful", 5, stop_after=6)
    play_into("a", "zip", 6)
    play_into("b", "truthful", 6, stop_after=6)
    found = compare_folders(a, b)
    assert [pair.seed for pair in found.pairs] == [0, 5]
    assert found.pairs[1].a[0].censored
    assert "censored after 6 rounds (truncated:cancelled), others went on" in reasons(found)


def test_an_unfinished_run_is_left_out_and_says_how_to_go_on(play_seeds: PlaySeeds) -> None:
    a, b = play_seeds("a", "zip", range(2)), play_seeds("b", "truthful", range(2))
    path = sorted(b.glob("*.trace"))[0]
    with closing(sqlite3.connect(path)) as database:
        database.execute("DELETE FROM events WHERE seq > 40")
        database.execute("DELETE FROM meta WHERE key = 'closed_head'")
        database.execute("UPDATE meta SET value = ? WHERE key = 'about'", (b"{}",))
        database.commit()
    found = compare_folders(a, b, Options(seats=["B1"]))
    assert len(found.pairs) == 1
    assert "unfinished: go on with tradefair play --resume" in reasons(found)
    # Played again after an interrupt: the unfinished try is in nobody's way.
    path.rename(path.with_name("interrupted.trace"))
    play_seeds("b", "truthful", range(2))
    found = compare_folders(a, b, Options(seats=["B1"]))
    assert (len(found.pairs), reasons(found)) == (2, [])


def test_a_damaged_trace_is_a_finding_and_not_compared(
    play_seeds: PlaySeeds, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = play_seeds("a", "zip", range(3)), play_seeds("b", "truthful", range(3))
    changed = sorted(b.glob("*.trace"))[0]
    with closing(sqlite3.connect(changed)) as database:
        database.execute("UPDATE events SET body = CAST(replace(CAST(body AS TEXT), ':', ': ') AS BLOB) WHERE seq = 4")
        database.commit()
    (b / "other.trace").write_bytes(b"SQLite format 3\x00 and no more")
    # Costs and times are compared too: nothing but the seal guards them.
    timed = sorted(a.glob("*.trace"))[1]
    with closing(sqlite3.connect(timed)) as database, database:
        database.execute("UPDATE events SET at_ms = 5 WHERE seq = 4")
    found = compare_folders(a, b)
    assert [pair.seed for pair in found.pairs] == [2]
    assert any(finding.startswith(str(changed)) and "has changed" in finding for finding in found.findings)
    assert any(finding.startswith(str(timed)) and "beside the chain" in finding for finding in found.findings)
    assert sum(reason.startswith("damaged:") for reason in reasons(found)) == 3
    assert command(["compare", str(a), str(b)]) == 1
    assert "1 pair is too few to test (8 are needed)" in capsys.readouterr().out


def test_a_seed_that_is_there_twice_is_refused_by_name_but_trials_under_several_keys_are_averaged(
    play_seeds: PlaySeeds, play_into: PlayInto
) -> None:
    a, b = play_seeds("a", "zic", range(3)), play_seeds("b", "zip", range(3))
    play_seeds("a", "zic", range(3), policy_key=1)
    found = compare_folders(a, b)
    pair = found.pairs[0]
    assert len({run.metrics["payoff"] for run in pair.a}) == 2
    assert pair.differences["payoff"] == pytest.approx(number(pair.b) - number(pair.a))
    assert {row.task for row in found.reliability} == {"seed"}
    twice = play_into("a", "zic", 1)
    twice.rename(twice.with_name("again.trace"))
    play_into("a", "zic", 1)
    # A copy is no trial, and another game under the same keys is no choice of ours.
    assert any("A: left out 1 (the same game once more" in note for note in compare_folders(a, b).notes)
    play_into("a", "zip", 1).rename(a / "zip.trace")
    with pytest.raises(TraceError, match=r"seed 1 of double_auction/duel is twice .* policy key 0"):
        compare_folders(a, b)


def test_markets_are_not_mixed(play_seeds: PlaySeeds, play_into: PlayInto) -> None:
    a = play_seeds("a", "zip", range(1))
    shop: dict[str, Any] = {"scenario": "retail/smoke", "seat": "manager", "overrides": {"horizon_days": 2}}
    b = play_into("b", "passive", 0, **shop).parent
    with pytest.raises(TraceError, match=r"/a holds traces of double_auction, .*/b of retail"):
        compare_folders(a, b)
    play_into("a", "passive", 0, **shop)
    with pytest.raises(TraceError, match=r"several markets \(double_auction, retail\)"):
        compare_folders(a, b)


def test_seats_that_are_not_there_and_metrics_that_are_none_are_named(play_seeds: PlaySeeds) -> None:
    a, b = play_seeds("a", "zip", range(1)), play_seeds("b", "truthful", range(1))
    with pytest.raises(SeatError, match="there is no seat 'B9'; did you mean B1"):
        compare_folders(a, b, Options(seats=["B9"]))
    with pytest.raises(ScenarioError, match="no figure 'wealth'"):
        compare_folders(a, b, Options(success=parse_success("wealth>3")))
    with pytest.raises(ScenarioError, match="METRIC>NUMBER"):
        parse_success("payoff")
    (row, *_) = compare_folders(a, b, Options(success=parse_success("payoff>1000000"))).reliability
    assert (row.a, row.b) == (0.0, 0.0)
    both = compare_folders(a, b, Options(seats=["B1", "S1"]))
    (pair,) = both.pairs
    one, other = (compare_folders(a, b, Options(seats=[seat])).pairs for seat in ("B1", "S1"))
    assert other == []  # with S1 compared, B1 is an opponent that differs
    assert pair.a[0].metrics["payoff"] != one[0].a[0].metrics["payoff"]


@pytest.mark.many
def test_the_command_prints_the_table_and_writes_the_same_json(
    play_seeds: PlaySeeds, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = play_seeds("a", "truthful", range(8)), play_seeds("b", "zip", range(8))
    monkeypatch.setenv("COLUMNS", "160")
    assert command(["compare", str(a), str(b)]) == 0
    shown = capsys.readouterr().out
    verdict, paths, *_ = shown.split("\n\n")
    told = compare_folders(a, b).verdict
    assert " ".join(verdict.split()) == told.text
    # Once, and no line of it wider than the terminal.
    assert " ".join(shown.split()).count(told.sentences[0]) == 1
    assert max(map(len, verdict.splitlines())) <= 160
    assert paths.startswith(f"A  {a}\nB  {b}\n")
    for text in ("pinned:", "8 pairs", "maximum", "minimum", "first decision that differs: seed 0", "policy:zip"):
        assert text in shown
    assert command(["compare", str(a), str(b), "--json", "-o", str(tmp_path / "out.json")]) == 0
    printed = capsys.readouterr().out
    assert printed == (tmp_path / "out.json").read_text()
    assert next(iter(orjson.loads(printed))) == "verdict"
    assert Comparison.model_validate_json(printed).verdict.kind == "comparison"
    assert command(["compare", str(a), str(tmp_path / "nowhere")]) == 2
    (tmp_path / "empty").mkdir()
    assert command(["compare", str(a), str(tmp_path / "empty")]) == 1
    assert "no trace here" in capsys.readouterr().err


@pytest.mark.many
def test_the_pairs_are_written_as_page_numbers_and_table_by_the_suffix(
    play_seeds: PlaySeeds, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = play_seeds("a", "truthful", range(8)), play_seeds("b", "zip", range(8))
    found = compare_folders(a, b)
    for name in ("pair.html", "pair.csv", "pair.tex", "pair.json"):
        assert command(["compare", str(a), str(b), "-o", str(tmp_path / name)]) == 0
        assert " ".join(capsys.readouterr().out.split()) == found.verdict.text
    _, *rows, mean = (tmp_path / "pair.csv").read_text().splitlines()
    shown = metric(found, "payoff")
    differences = sorted((pair.differences["payoff"] or 0 for pair in found.pairs), reverse=True)
    assert [float(row.split(",")[1]) for row in rows] == differences
    assert [float(cell) for cell in mean.split(",")[1:4]] == [shown.mean_difference, *(shown.interval or ())]
    assert f"{shown.mean_difference:.3f}".rstrip("0").rstrip(".") in (tmp_path / "pair.tex").read_text()
    page = (tmp_path / "pair.html").read_text()
    assert found.verdict.sentences[0].partition(" (")[0] in page
    # A page is passed on, and folders name people.
    assert str(tmp_path) not in page
    assert command(["compare", str(a), str(b), "-o", str(tmp_path / "pair.pdf")]) == 2
    assert ".html, .svg, .csv, .tex, .json" in " ".join(capsys.readouterr().err.split())


def test_a_pair_with_nothing_to_win_is_drawn_hollow(play_seeds: PlaySeeds, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = play_seeds("a", "truthful", range(4)), play_seeds("b", "zip", range(4))

    def at_stake(_: object, outcome: Outcome[Any, Any], seat: str) -> float:
        return 0.0 if outcome.seed in (1, 2) else 5.0

    monkeypatch.setattr(type(evaluator_of("double_auction")), "at_stake", at_stake)
    found = compare_folders(a, b)
    (chart,) = figure_of(found).charts
    assert isinstance(chart, PairChart)
    assert chart.muted == [False, True, True, False]
    assert "2 of the 4 seeds had nothing to win in that seat, whoever plays" in found.verdict.sentences[1]
    assert found.verdict.informative == 2


def test_nothing_to_pair_is_said_and_is_no_success(play_seeds: PlaySeeds, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = play_seeds("a", "zip", range(2)), play_seeds("b", "truthful", range(5, 7))
    assert command(["compare", str(a), str(b)]) == 1
    shown = capsys.readouterr().out
    assert "Nothing to compare: A and B have no pair; the seeds differ (A 0, 1; B 5, 6)" in " ".join(shown.split())
    assert "0 pairs, 4 traces left out" in shown


def test_other_policy_keys_are_said_to_be_other_luck(play_seeds: PlaySeeds, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = play_seeds("a", "zic", range(1)), play_seeds("b", "zip", range(1), policy_key=1)
    assert command(["compare", str(a), str(b)]) == 0
    shown = capsys.readouterr().out
    assert "1 pair, 0 traces left out" in shown
    assert "the policy keys differ (A 0; B 1): the luck of scripted opponents differs" in shown
    assert "under the policy keys 0 and 1: the luck of scripted opponents differs" in shown


def judged(gained: Sequence[float]) -> Judgement:
    """The judgement over pairs in which B gained so much more."""
    differences = [*gained]
    flip = sign_flip(differences)
    assert flip is not None
    mean, _ = mean_sd(differences)
    n = len(differences)
    numbers: dict[str, Any] = dict.fromkeys(Metric.model_fields)
    numbers |= {"name": "gain", "higher_is_better": True, "primary": True, "n": n, "undefined": 0}
    numbers |= {"mean_difference": mean, "p": flip.p, "p_holm": flip.p, "p_method": flip.method}
    numbers |= {"wins": sum(x > 0 for x in differences), "ties": differences.count(0.0), "losses": 0}
    pair: Any = SimpleNamespace(identical=False, a=[SimpleNamespace(label="x")], b=[SimpleNamespace(label="y")])
    return judge([pair] * n, [Metric(**numbers)])


def test_ties_name_the_least_p_possible() -> None:
    found = judged([0.0] * 11 + [4.0] * 5)
    assert found.conclusion == "no_difference"
    assert "gain: 11 ties: the least p possible is 0.0625" in found.notes
    found = judged([4.0] * 16)
    assert (found.conclusion, found.notes) == ("b_better", [])


ACROSS = Options(across_scenarios=True)


def _arm(play_seeds: PlaySeeds, folder: str, preset: str, seeds: range = range(2), rounds: int = 3) -> Path:
    rest: dict[str, Any] = {"scenario": f"double_auction/{preset}", "seat": "S1"}
    overrides = {"seats": {"buyer": "truthful", "seller": "cartel_sellers"}, "rounds": rounds}
    return play_seeds(folder, "cartel_sellers", seeds, overrides=overrides, **rest)


def test_the_effect_of_talk_is_paired_across_the_two_scenarios(play_seeds: PlaySeeds) -> None:
    talk, silent = _arm(play_seeds, "a", "collusion"), _arm(play_seeds, "b", "collusion_silent")
    assert compare_folders(talk, silent).pairs == []
    found = compare_folders(talk, silent, ACROSS)
    assert [(pair.seed, pair.scenario) for pair in found.pairs] == [
        (seed, "double_auction/collusion and double_auction/collusion_silent") for seed in (0, 1)
    ]
    assert found.dropped == []
    assert found.pairs[0].a[0].label == "policy:cartel_sellers in double_auction/collusion"
    values = next(item for item in found.attributes if item.name == "scenario values")
    assert (values.a[0][:24], len(values.a), len(values.b)) == ('chat = {"enabled":true,"', 1, 1)
    assert found.notes[0].startswith("the scenarios differ")
    assert "B (policy:cartel_s" in found.verdict.sentences[0]
    assert max(map(len, found.verdict.sentences)) <= 240
    assert "market_price_mean" in found.pairs[0].differences
    # The ring talks its price up: without talk the same sellers shade by 5 only.
    assert all((pair.differences["market_price_mean"] or 0) < 0 for pair in found.pairs)


def test_several_scenarios_on_one_side_are_not_guessed_into_pairs(play_seeds: PlaySeeds) -> None:
    silent = _arm(play_seeds, "b", "collusion_silent", range(1))
    _arm(play_seeds, "a", "collusion", range(1))
    mixed = _arm(play_seeds, "a", "collusion", range(1, 2), rounds=2)
    with pytest.raises(ScenarioError, match="several scenario contents"):
        compare_folders(mixed, silent, ACROSS)
    with pytest.raises(ScenarioError, match="leave them out"):
        compare_folders(silent, silent, Options(across_scenarios=True, reference=silent))


def test_the_command_pairs_across_scenarios(play_seeds: PlaySeeds, capsys: pytest.CaptureFixture[str]) -> None:
    talk, silent = _arm(play_seeds, "a", "collusion", range(1)), _arm(play_seeds, "b", "collusion_silent", range(1))
    assert run(["compare", str(talk), str(silent), "--across-scenarios"]) == 0
    assert "1 pair is too few to test" in capsys.readouterr().out
