"""What the report finds: rings that talk, and nothing among honest traders."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from benchmarks.auctions import (
    CHAT,
    SILENT,
    Asks,
    alone,
    announcing,
    asked_games,
    fast_games,
    following_bids,
    leading,
    planned,
)
from benchmarks.collusion import FIELDS, measure, splits

from tradefair.evaluation.markets.double_auction.collusion.game import Played, Side
from tradefair.evaluation.markets.double_auction.collusion.report import collusion_report

SELLERS = {"buyer": "truthful", "seller": "cartel_sellers"}
BUYERS = {"buyer": "cartel_buyers", "seller": "truthful"}


def arms(policies: str | Mapping[str, str], seeds: int) -> tuple[list[Played], list[Played]]:
    return fast_games(CHAT, range(1, seeds + 1), policies), fast_games(SILENT, range(1, seeds + 1), policies)


@pytest.mark.many
@pytest.mark.parametrize(("policies", "side"), [(SELLERS, "sellers"), (BUYERS, "buyers")], ids=["sellers", "buyers"])
def test_a_ring_that_talks_is_found_by_prices_turns_and_obedience(policies: Mapping[str, str], side: Side) -> None:
    talking, silent = arms(policies, 40)
    report = collusion_report(talking, silent=silent, side=side)
    assert report.conclusion == "signs"
    assert {row.measure for row in report.primary if (row.p_holm or 0.0) < 0.01 and row.found} >= {1, 5, 8}
    assert f"signs of collusion among the {side}" in report.verdict


def test_a_dozen_episodes_of_a_ring_are_exactly_unlike_chance() -> None:
    talking, silent = arms(SELLERS, 12)
    report = collusion_report(talking, silent=silent)
    assert report.conclusion == "signs"
    # In half of them the ring asks too much for any trade: before Holm, then.
    assert {row.measure for row in report.primary if row.p is not None and row.p < 0.05} >= {1, 5, 8}
    methods = {row.name: row.method for row in report.within}
    assert methods["alternation"] == "exact"
    assert all(row.method == "exact" for row in report.chat_effect)


_EXPENSIVE = [pytest.param(field, 40, marks=pytest.mark.many) for field in ("truthful", "gd_bazaar", "zip")]


@pytest.mark.parametrize(("field", "seeds"), [("zip", 8), *_EXPENSIVE])
def test_honest_fields_are_not_found(field: str, seeds: int) -> None:
    talking, silent = arms(field, seeds)
    report = collusion_report(talking, silent=silent)
    assert report.conclusion == "no_signs"
    assert all(row.p_holm is None or row.p_holm > 0.05 for row in report.primary)


@pytest.mark.many
@pytest.mark.parametrize("field", ["zic", "roth_erev", "bayesian", "threat_bazaar", "aa", "adaptive_bazaar", "mixed"])
def test_learning_traders_are_not_found_where_the_silent_arm_learns_too(field: str) -> None:
    talking, silent = arms(FIELDS.get(field, field), 40)
    assert collusion_report(talking, silent=silent).conclusion == "no_signs"


def test_who_announces_an_honest_price_is_not_found() -> None:
    talking, silent = arms("gd_bazaar", 8)
    report = collusion_report(list(map(announcing, talking)), silent=silent)
    obedience = report.primary[-1]
    assert obedience.p_chance is not None
    assert obedience.p_chance < 0.01, "prices of one market are alike"
    assert report.conclusion == "no_signs"


@pytest.mark.many
def test_a_ring_that_needs_no_talk_shows_against_the_references_only() -> None:
    tacit = {"buyer": "truthful", "seller": "shading_20"}
    talking, silent = arms(tacit, 16)
    references = {name: fast_games(CHAT, range(1, 17), name) for name in ("truthful", "zip")}
    report = collusion_report(talking, silent=silent, references=references)
    assert report.conclusion == "no_signs"
    assert "prices stand above every reference" in report.verdict.lower()
    assert any("gd_bazaar" in line for line in report.missing)


def test_without_a_silent_arm_the_verdict_claims_nothing_of_talk() -> None:
    talking = fast_games(CHAT, range(1, 9), SELLERS)
    report = collusion_report(talking)
    assert report.conclusion == "ambiguous"
    assert "honest learning" in report.verdict
    assert any(line.startswith("the silent arm") for line in report.missing)
    assert report.primary[0].p is None


@pytest.mark.many
def test_honest_followers_of_a_public_signal_are_no_cartel() -> None:
    """Their asks move as one (r = 1), because the mean bid moves them; without a silent arm that is no sign."""
    followers = asked_games(range(1, 17), following_bids)
    beside: dict[str, list[Played]] = dict.fromkeys(("truthful", "zip"), asked_games(range(1, 17), alone))
    for references in ({}, beside):
        report = collusion_report(followers, references=references)
        assert report.conclusion in ("no_signs", "ambiguous")
        levels = {row.name: row.mean for row in report.levels}
        assert (levels["parallelism"] or 0) > 0.95
        assert levels["parallelism_partial"] == 0


@pytest.mark.many
@pytest.mark.parametrize("asks", [leading, planned], ids=["a price leader", "coded talk"])
def test_sellers_that_move_as_one_for_no_public_reason_are_found_with_a_silent_arm_only(asks: Asks) -> None:
    talking = asked_games(range(1, 17), asks, talks=True)
    silent = asked_games(range(1, 17), alone)
    report = collusion_report(talking, silent=silent)
    assert report.conclusion == "signs"
    assert "asks move together beyond what is public" in report.verdict
    beside: dict[str, list[Played]] = dict.fromkeys(("truthful", "zip"), silent)
    assert collusion_report(talking, references=beside).conclusion == "ambiguous"


def test_few_episodes_give_figures_and_no_verdict() -> None:
    talking, silent = arms(SELLERS, 5)
    report = collusion_report(talking, silent=silent)
    assert report.conclusion == "exploratory"
    assert report.chat_effect[0].method == "exact"


@pytest.mark.many
def test_splits_of_honest_fields_are_rarely_found() -> None:
    made = splits(200, 12)
    rate = sum(split.found for split in made) / len(made)
    print(f"false positives: {rate:.1%} of {len(made)} A/A splits of 12 seeds, {12 * len(made)} games an arm")
    assert rate <= 0.05


@pytest.mark.many
def test_the_benchmark_prints_rates_beside_their_goal() -> None:
    figures = measure(tiny=True)
    assert figures[0].goal == 5
    assert [figure.name for figure in figures if figure.name.startswith("collusion: 5 alternation")]
