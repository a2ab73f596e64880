"""Levels of an order book beside honest populations: figures by hand, a ring, honest fields, and what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.playing import played, store
from tests.traces import kept

from tradefair.catalog import load_scenario, market_type
from tradefair.contract.kernel.core import Core
from tradefair.evaluation.collusion import CollusionAsked
from tradefair.evaluation.markets.order_book.collusion import levels
from tradefair.evaluation.markets.order_book.collusion.model import OrderBookCollusion
from tradefair.evaluation.markets.order_book.collusion.reading import Arms, Episode, read_episodes
from tradefair.evaluation.markets.order_book.collusion.report import order_book_report
from tradefair.evaluation.markets.order_book.modes.play import Filled, Game, Period, Step
from tradefair.host.episode.setup import scripted_seats, seating_of
from tradefair.host.seats.plans import SeatPlan
from tradefair.order_book.answers.results import OpeningFacts
from tradefair.runner.ledger.probe import PlayedAgain

EPISODES = 8


@kept
def field(path: Path, preset: str, by_role: Mapping[str, str], seed: int, **changes: Any) -> Path:
    """An episode with one policy per role."""
    kind = market_type("order_book")
    scenario = load_scenario("order_book", preset, changes)
    core = Core.create(kind, scenario, seed)
    plan = SeatPlan({seat: by_role[spec.role] for seat, spec in core.market.seats.items()})
    scripted = scripted_seats(kind, scenario, plan, seed)
    records = list(core.start(seating_of(kind, scenario, plan)).records)
    while core.ended is None:
        records += scripted.run(core)
    return store(path, core, records)


def reported(folder: Path, preset: str, by_role: Mapping[str, str], **changes: Any) -> OrderBookCollusion:
    files = [field(folder / f"{seed}.trace", preset, by_role, seed, **changes) for seed in range(1, EPISODES + 1)]
    found, arms, findings = read_episodes(CollusionAsked(files, PlayedAgain(), play_references=True))
    return order_book_report(found, arms, findings)


def everybody(policy: str) -> dict[str, str]:
    return dict.fromkeys(("buyer", "seller", "trader"), policy)


# --- populations of which it is known ---------------------------------------------------------------------------------


@pytest.mark.many
@pytest.mark.parametrize("buyers", ["zip", "gd"])
def test_a_ring_of_all_sellers_is_ambiguous(tmp_path: Path, buyers: str) -> None:
    report = reported(tmp_path, "order_book/smith", {"seller": "ring", "buyer": buyers}, periods=2)
    assert (report.conclusion, report.direction) == ("ambiguous", "above"), report.verdict
    assert report.verdict.startswith("ambiguous: prices beyond every reference on the same seeds, above them")
    gaps = {row.against: row.difference for row in report.versus if row.name == "overcharge"}
    assert all((gap or 0.0) > 10 for gap in gaps.values()), gaps


@pytest.mark.many
@pytest.mark.parametrize("policy", ["zip", "zi_c", "gd", "kaplan"])
def test_an_honest_field_shows_no_signs(tmp_path: Path, policy: str) -> None:
    report = reported(tmp_path, "order_book/smith", everybody(policy), periods=2)
    assert report.conclusion == "no_signs", report.verdict
    assert report.verdict.startswith("no signs: ")


@pytest.mark.many
@pytest.mark.parametrize("policy", ["fundamentalist", "fundamentalist(noise=1)"])
def test_fundamentalists_in_lockstep_with_the_public_value_show_no_signs(tmp_path: Path, policy: str) -> None:
    report = reported(tmp_path, "order_book/asset_short", everybody(policy))
    assert report.conclusion == "no_signs", report.verdict
    assert report.references == {"zi_c": EPISODES, "zip": 0}
    assert any("plays buyer, seller, not trader" in line for line in report.missing)
    assert [level.n for level in report.levels if level.name in ("overcharge_interval", "withheld")] == [0, 0]


# --- figures by hand --------------------------------------------------------------------------------------------------


def made_game() -> Game:
    """Two buyers with values 110, 90 and 100; two sellers with costs 60 and 80, 95; p_lo 90, p_hi 95, two periods."""
    values = {"B1": [110, 90], "B2": [100], "S1": [60], "S2": [80, 95]}
    opening = OpeningFacts(
        values=values, endowments={}, max_surplus=70, q_star=2, p_lo=90, p_hi=95, attempts=1
    )  # fmt: skip
    roles = {seat: "buyer" if seat.startswith("B") else "seller" for seat in values}
    periods = [Period(number, number, 4, None, {}, {}, {}) for number in (1, 2)]

    def fill(period: int, price: int, buyer: str, seller: str, quantity: int = 1) -> Filled:
        return Filled(period, 1, price, quantity, buyer, seller, buyer, 1, {})

    def step(bid: int | None, ask: int | None) -> Step:
        return Step(1, 1, "B1", None, "pass", None, bid, ask, None, 0, ())

    return Game(
        list(values),
        roles,
        opening,
        periods,
        steps=[step(None, None), step(90, None), step(90, 96), step(91, 96)],
        fills=[fill(1, 100, "B1", "S1"), fill(2, 88, "B2", "S2"), fill(2, 92, "B1", "S1")],
    )


def test_the_figures_of_a_small_book() -> None:
    game = made_game()
    # p* = 92.5: +7.5, -4.5, -0.5.
    assert levels.overcharge(game) == pytest.approx(2.5 / 3)
    assert levels.fair_price(game) == 92.5
    # 5 above 95, 2 below 90, inside.
    assert levels.overcharge_interval(game) == pytest.approx((5 - 2 + 0) / 3)
    # Period 1 leaves values 100, 90 and costs 80, 95: one pair. Period 2 leaves 90 and 95: none.
    assert levels.withheld(game) == 0.5
    # Of 90, 90, 96, 91, 96 four are even.
    assert levels.even_ticks(game) == 0.8


def test_units_count_not_fills() -> None:
    game = made_game()
    game.fills[0] = game.fills[0]._replace(quantity=3)
    assert levels.overcharge(game) == pytest.approx((3 * 7.5 - 4.5 - 0.5) / 5)


# --- the conclusion ---------------------------------------------------------------------------------------------------


def episode(seed: int, overcharge: float | None, fair: float = 100.0) -> Episode:
    figures = {"overcharge": overcharge, "overcharge_interval": overcharge, "withheld": 1.0, "even_ticks": 0.5}
    return Episode(f"{seed}.trace", str(seed), ("policy:x",), fair, figures)


def judged(own: list[float | None], **references: list[float]) -> OrderBookCollusion:
    arms = {
        policy: {str(seed): episode(seed, value) for seed, value in enumerate(references.get(policy, []))}
        for policy in ("zi_c", "zip")
    }
    return order_book_report([episode(seed, value) for seed, value in enumerate(own)], Arms(arms, [], []), [])


def test_prices_must_be_beyond_every_reference_and_beyond_the_fair_price_by_a_fiftieth() -> None:
    flat = [0.0] * 8
    assert judged([5.0] * 8, zi_c=flat, zip=flat).direction == "above"
    assert judged([-5.0] * 8, zi_c=flat, zip=flat).direction == "below"
    # Beyond one reference only; beyond both, but not beyond the fair price; on other sides of them; too little.
    assert judged([5.0] * 8, zi_c=flat, zip=[4.0] * 8).conclusion == "no_signs"
    assert judged([0.5] * 8, zi_c=[-5.0] * 8, zip=[-5.0] * 8).conclusion == "no_signs"
    assert judged([5.0] * 8, zi_c=flat, zip=[9.0] * 8).conclusion == "no_signs"
    assert judged([1.9] * 8, zi_c=flat, zip=flat).conclusion == "no_signs"
    assert judged([2.0] * 8, zi_c=flat, zip=flat).conclusion == "ambiguous"
    # By enough in the mean, and by chance: half of the pairs lie on the other side.
    assert judged([30.0, -20.0] * 4, zi_c=flat, zip=flat).conclusion == "no_signs"


def test_without_references_or_with_few_there_is_no_verdict() -> None:
    assert judged([5.0] * 8).conclusion == "nothing_to_test"
    assert judged([5.0] * 7, zi_c=[0.0] * 7).conclusion == "exploratory"
    lone = judged([5.0] * 8, zi_c=[0.0] * 8)
    assert (lone.conclusion, lone.references) == ("ambiguous", {"zi_c": 8, "zip": 0})
    assert lone.missing == ["the reference zip: nothing played on the same seeds"]
    untraded = judged([None] * 8, zi_c=[0.0] * 8, zip=[0.0] * 8)
    assert (untraded.conclusion, untraded.missing) == ("no_signs", ["prices: 8 of 8 episodes have no trade"])


def test_played_references_are_sorted_by_who_played_and_other_traces_are_named(tmp_path: Path) -> None:
    own = [played(tmp_path / "own.trace", "order_book/smoke", "truthful")]
    beside = [
        played(tmp_path / "zip.trace", "order_book/smoke", "zip"),
        played(tmp_path / "gd.trace", "order_book/smoke", "gd"),
        played(tmp_path / "far.trace", "order_book/smoke", "zi_c", seed=2),
    ]
    found, arms, findings = read_episodes(CollusionAsked(own, PlayedAgain(), references=beside, references_named=True))
    assert findings == []
    assert arms.findings == ["gd.trace: no reference, its seats are not all played by one of zi_c, zip"]
    report = order_book_report(found, arms, [])
    # Another seed is no partner.
    assert report.references == {"zi_c": 0, "zip": 1}
