"""The self-test of slogans over real traces of clones: above 1 where attention is scarce, 1 where it is not."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from benchmarks.language_value import LanguageReport, language_rows, language_values, main, report_lines
from tests.evaluation.markets.supply_chain.conftest import GATED, PAPER, A, Episode, Played, play_game

from tradefair.contract import Turns, TurnView
from tradefair.supply_chain.seats.strategies import Clone, slogan_pool

SLOGANS = [
    f"{group}.{number}" for group in ("thrifty", "ethical", "hype", "quality", "generic") for number in (1, 2, 3)
]


def clones(scenario: str, seed: int) -> Episode:
    dealt = {f"retailer_{seat + 1:02d}": f"clone(slogan={SLOGANS[(seat + 7 * seed) % 15]})" for seat in range(20)}
    return Episode(scenario, dealt, seed=seed, overrides={"rounds": 2})


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("clones")
    games = [(scenario, seed) for scenario in (GATED, PAPER) for seed in (1, 2, 3)]
    return [
        play_game(folder / f"{scenario.partition('/')[2]}-{seed}.trace", clones(scenario, seed))
        for scenario, seed in games
    ]


@pytest.fixture(scope="module")
def report(traces: list[Path]) -> LanguageReport:
    return language_values(traces)


def test_words_matter_where_attention_is_scarce_and_only_there(report: LanguageReport) -> None:
    gated, paper = report.values
    assert (gated.scenario, gated.gate, gated.episodes, gated.seats) == (GATED, "active", 3, 20)
    assert gated.value is not None
    assert gated.value > 1.2
    assert gated.measures_language
    assert (paper.scenario, paper.gate) == (PAPER, "inert")
    assert paper.value is not None
    assert paper.value < 1.1
    assert not paper.measures_language


def test_the_value_is_the_best_groups_mean_over_the_worst_with_an_interval(report: LanguageReport) -> None:
    for one in report.values:
        means = [group.mean for group in one.groups]
        assert one.value == pytest.approx(max(means) / min(means), rel=1e-5)
        assert sum(group.seats for group in one.groups) == 60
        assert one.low is not None
        assert one.high is not None
        assert 1 <= one.low <= one.high


def test_what_is_printed_says_what_it_cannot_measure(report: LanguageReport) -> None:
    printed = "\n".join(report_lines(report))
    assert printed.count("| language_value |") == 2
    assert printed.count("cannot measure") == 1
    assert printed.count("word overlap, not meaning") == 2
    # A slogan is closest to the tribe that it speaks to, and no slogan of a generic group has such a tribe.
    assert all((group.closeness or 0) > 0.1 for group in report.values[0].groups if group.group != "generic")
    assert report.values[0].groups[-1].closeness is None


def test_embedders_stand_side_by_side(report: LanguageReport) -> None:
    gated, _ = report.values
    other = gated.model_copy(update={"embedder": "wordllama/4d243a4b2dae", "tau": 0.05})
    rows = {name: cells for name, *cells in language_rows([gated, other])}
    assert rows["tau"] == ["0.07", "0.05"]
    assert rows["language_value"] == [f"{gated.value:.3f}"] * 2
    assert len(rows["closeness, hype"]) == 2
    assert "closeness, generic" not in rows


def test_other_traces_are_left_out_by_name(traces: list[Path], game: Played, tmp_path: Path) -> None:
    garbage = tmp_path / "garbage.trace"
    garbage.write_bytes(b"no trace")
    duel = game("good").path
    found = language_values([traces[0], duel, garbage])
    assert [one.episodes for one in found.values] == [1]
    assert found.values[0].low is None
    assert found.left_out[str(duel)].startswith("no self-test: the seats post different prices")
    assert str(garbage) in found.left_out
    assert any(A in finding.seats for finding in game("good").diagnosis.findings)


def test_a_clone_that_changes_its_slogan_is_no_self_test(tmp_path: Path) -> None:
    def fickle(now: TurnView) -> Turns:
        said = slogan_pool()[now.round]
        yield from Clone(said).turn(now)

    game = clones(GATED, 1)
    path = play_game(tmp_path / "x.trace", game._replace(seats={**game.seats, A: fickle}))
    assert language_values([path]).left_out == {str(path): "no self-test: a seat changes its slogan"}


def test_the_program_prints_the_report_and_says_when_there_is_none(
    traces: list[Path], game: Played, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(traces[0].parent), str(traces[0]), "--json"]) == 0
    assert [value["episodes"] for value in orjson.loads(capsys.readouterr().out)["values"]] == [3, 3]
    assert main([str(game("good").path)]) == 1
    assert "tradefair sweep supply_chain/language_value" in capsys.readouterr().out
