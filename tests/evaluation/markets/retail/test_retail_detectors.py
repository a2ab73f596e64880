from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tradefair.evaluation.markets.retail.modes.rules import diagnostic_rules

from tradefair.catalog import market_type
from tradefair.evaluation.evaluate import Evaluation, evaluate_file
from tradefair.evaluation.markets.retail.modes.detectors import DETECTORS
from tradefair.evaluation.modes.diagnosis import Diagnosis, Finding
from tradefair.evaluation.modes.published import evidence_toml, published_paths
from tradefair.retail.answers.evidence import EVIDENCE_VERSION, RECENCY_DAYS

Evaluated = Callable[..., Evaluation]
MakeDay = Callable[..., Any]
PlayRetail = Callable[..., Path]
Make = Callable[[MakeDay], list[Any]]

ALL = [f"P{number:03d}" for number in range(1, 13)]
EVERYTHING = ("view_product_prices", "view_product_inventory_cost", "view_sales_profit_history")


def diagnosis_of(evaluation: Evaluation) -> Diagnosis:
    assert evaluation.diagnosis is not None, evaluation.problem
    return evaluation.diagnosis


def own_findings(diagnosis: Diagnosis) -> list[Finding]:
    """Those of the market, without the general ones."""
    return [finding for finding in diagnosis.findings if finding.id.startswith("retail.")]


def looked_at(day: Any, products: list[str]) -> Any:
    """Everything that prices and orders need."""
    for tool in (*EVERYTHING, "view_current_date_supplier_prices", "rank_suppliers_by_evidence"):
        day.call(tool, product_ids=products)
    return day


# --- what raises each detector, and the same with a little less ------------------------------------------------------


def few_products(day: MakeDay) -> list[Any]:
    return [day().price(ALL[number % 2]) for number in range(10)]


def enough_products(day: MakeDay) -> list[Any]:
    return [day().price(ALL[number]) for number in range(10)]


def blind_prices(day: MakeDay) -> list[Any]:
    return [day().price("P001").price("P002") for _ in range(10)]


def seen_prices(day: MakeDay) -> list[Any]:
    return [looked_at(day(), ALL).price("P001").price("P002") for _ in range(10)]


def from_supplier(supplier: str) -> Make:
    return lambda day: [day().order(supplier, "P001", "P002") for _ in range(10)]


def with_known_returns(supplier: str) -> Make:
    """Supplier 1 is known for 30 % returns, supplier 5 for 2 %; bought from later."""

    def _make(day: MakeDay) -> list[Any]:
        past = [day() for _ in range(60)]
        past[-1].pairs = {"units": {0: 500, 4: 500}, "returned": {0: 150, 4: 10}}
        return [*past, *(day().order(supplier, "P001") for _ in range(20))]

    return _make


def sold_at_100_then(price: float) -> Make:
    def _make(day: MakeDay) -> list[Any]:
        past = [
            day().has(price_cents={0: 100}, units={0: 20}, on_shelf={0: 1}, opening_stock={0: 50}) for _ in range(30)
        ]
        return [*past, *(day().price("P001", price) for _ in range(10))]

    return _make


def below_cost(units: int) -> Make:
    sold = {
        "units": {0: 10},
        "below_cost_units": {0: units},
        "revenue_cents": {0: 500},
        "cost_of_goods_cents": {0: 800},
    }
    return lambda day: [day().has(**sold) for _ in range(10)]


def touched_every(step: int) -> Make:
    """Twelve products, each acted on every `step` days."""
    return lambda day: [
        _all(day(), [product for place, product in enumerate(ALL) if (number - place) % step == 0])
        for number in range(30)
    ]


def _all(day: Any, products: list[str]) -> Any:
    for product in products:
        day.price(product)
    return day


def returns_looked_at(every: int) -> Make:
    def _make(day: MakeDay) -> list[Any]:
        days = [day().has(returned={0: 1}, refunds_cents={0: 100}) for _ in range(30)]
        for number in range(0, 30, every):
            days[number].call("view_product_reviews", product_ids=["P001"])
        return days

    return _make


def shelf_of(empty: int) -> Make:
    def _make(day: MakeDay) -> list[Any]:
        days = [day().has(on_shelf=dict.fromkeys(range(6), 1)) for _ in range(20)]
        for late in days[14:]:
            late.empty_shelf = ALL[:empty]
        return days

    return _make


def early_empty_shelf(day: MakeDay) -> list[Any]:
    days = shelf_of(0)(day)
    for early in days[:14]:
        early.empty_shelf = ALL[:6]
    return days


def lost(units: float) -> Make:
    return lambda day: [day().has(units={0: 80}).is_(net_lost_units=units) for _ in range(30)]


def expired(units: int) -> Make:
    return lambda day: [day().has(units={0: 96}, expired={0: units}, expiry_cost_cents={0: 50}) for _ in range(10)]


def waiting(days: int) -> Make:
    return lambda day: [day().is_(waiting_units=int(number < days)) for number in range(12)]


def stranded(days: int) -> Make:
    """A quarter of the stock's cost off the shelf, with an interruption at the end of the run."""

    def _make(day: MakeDay) -> list[Any]:
        off = {"stock_cost_cents": {0: 75, 1: 25}, "on_shelf": {0: 1}}
        return [day().has(**(off if number % (days + 1) < days else {})) for number in range(15)]

    return _make


def without_cash(closes: int, value: int = 100) -> Make:
    return lambda day: [
        day().is_(funds_cents=-1 if number % (closes + 1) < closes else 1, stock_value_cents=value)
        for number in range(12)
    ]


NEWS = {
    "news_id": "N1-1", "mode": "product", "category": None, "product_id": "P001", "side": "need", "sign": 1,
    "strength": 0.4, "days_left": 1,
}  # fmt: skip


def news(read: str | None, refs: list[str] | None = None, effect: float = 0.2) -> Make:
    def _make(day: MakeDay) -> list[Any]:
        days = [day().has(on_shelf={0: 1}, news_effect={0: effect}) for _ in range(12)]
        for moved in days:
            moved.news = [NEWS]
        if read == "view_news_detail":
            days[0].call(read, news_id="N1-1")
        elif read is not None:
            days[0].call(read, refs=refs)
        return days

    return _make


def idle(days: int) -> Make:
    return lambda day: [
        day().call("view_inventory") if number < days else day().call("set_shelf_products", product_ids=[])
        for number in range(10)
    ]


def refused(each: int) -> Make:
    return lambda day: [
        day().price("P001", 0, "invalid") if number % each == 0 else day().price("P001") for number in range(22)
    ]


RAISED: dict[str, list[Make]] = {
    "narrow_attention": [few_products],
    "missing_evidence": [blind_prices],
    "price_first_sourcing": [from_supplier("supplier_1")],
    "ignored_returns": [with_known_returns("supplier_1")],
    "price_off_optimum": [sold_at_100_then(1.25), sold_at_100_then(0.75)],
    "below_cost": [below_cost(1)],
    "no_follow_up": [touched_every(10)],
    "unresolved_events": [returns_looked_at(9)],
    "empty_shelf": [shelf_of(2)],
    "lost_sales": [lost(20)],
    "overbuying": [expired(4), waiting(3)],
    "stranded_stock": [stranded(5)],
    "illiquid": [without_cash(3)],
    "news_unread": [news(None), news("view_news_history", []), news("view_news_history", ["N9-1"])],
    "idle_days": [idle(5)],
    "rejected_actions": [refused(10)],
}
CLEAR: dict[str, list[Make]] = {
    "narrow_attention": [enough_products],
    "missing_evidence": [seen_prices],
    "price_first_sourcing": [from_supplier("supplier_5"), from_supplier("supplier_2")],
    "ignored_returns": [with_known_returns("supplier_5"), with_known_returns("supplier_2")],
    "price_off_optimum": [sold_at_100_then(1.24), sold_at_100_then(60.0)],
    "below_cost": [below_cost(0)],
    "no_follow_up": [touched_every(7)],
    "unresolved_events": [returns_looked_at(7)],
    "empty_shelf": [shelf_of(1), early_empty_shelf],
    "lost_sales": [lost(14)],
    "overbuying": [expired(3), waiting(2)],
    "stranded_stock": [stranded(4)],
    "illiquid": [without_cash(2), without_cash(3, value=0)],
    "news_unread": [
        news("view_news_detail"), news("view_today_news"), news("view_today_news", ["N1-1", "N1-2"]),
        news("view_news_history", ["N1-1.title"]), news(None, effect=0.09),
    ],
    "idle_days": [idle(4)],
    "rejected_actions": [refused(11)],
}  # fmt: skip


def _cases(table: dict[str, list[Make]]) -> list[Any]:
    return [
        pytest.param(name, make, id=f"{name}-{number}")
        for name, makes in table.items()
        for number, make in enumerate(makes)
    ]


@pytest.mark.parametrize(("name", "scene"), _cases(RAISED))
def test_a_failure_mode_is_found_and_its_events_are_cited(
    evaluated: Evaluated, day: MakeDay, name: str, scene: Make
) -> None:
    finding = diagnosis_of(evaluated(scene(day), shelf_capacity=12)).finding(f"retail.{name}")
    assert finding.raised, finding
    assert finding.events, finding
    assert finding.note is None


@pytest.mark.parametrize(("name", "scene"), _cases(CLEAR))
def test_a_little_less_is_not_found(evaluated: Evaluated, day: MakeDay, name: str, scene: Make) -> None:
    finding = diagnosis_of(evaluated(scene(day), shelf_capacity=12)).finding(f"retail.{name}")
    assert not finding.raised, finding


def test_every_detector_has_thresholds_and_both_tests() -> None:
    names = list(DETECTORS)
    assert names == list(diagnostic_rules().detectors)
    assert names == list(RAISED) == list(CLEAR)


def test_missed_best_sellers_are_narrow_attention_however_many_products_were_touched(
    evaluated: Evaluated, day: MakeDay
) -> None:
    days = [_all(day(), ALL).has(units={0: 5})] + [day().has(units={0: 5}) for _ in range(9)]
    finding = diagnosis_of(evaluated(days, shelf_capacity=12)).finding("retail.narrow_attention")
    assert (finding.raised, finding.numerator, finding.denominator) == (True, 6, 10)
    small = diagnosis_of(evaluated(days[:1] * 10, shelf_capacity=12)).finding("retail.narrow_attention")
    assert not small.raised


def test_few_products_are_no_finding_on_a_small_shelf(evaluated: Evaluated, day: MakeDay) -> None:
    assert not diagnosis_of(evaluated(few_products(day), shelf_capacity=6)).finding("retail.narrow_attention").raised


def test_nothing_is_raised_before_the_tenth_day(evaluated: Evaluated, day: MakeDay) -> None:
    short = own_findings(diagnosis_of(evaluated(from_supplier("supplier_1")(day)[:9])))
    least = dict.fromkeys(DETECTORS, 10) | {"lost_sales": 30}
    assert [(finding.raised, finding.checked, finding.note) for finding in short] == [
        (False, False, f"too short: T < {days}") for days in least.values()
    ]


def test_lost_sales_are_judged_from_a_month_on(evaluated: Evaluated, day: MakeDay) -> None:
    days = lost(20)(day)
    finding = diagnosis_of(evaluated(days[:29])).finding("retail.lost_sales")
    assert (finding.raised, finding.checked, finding.note) == (False, False, "too short: T < 30")
    assert diagnosis_of(evaluated(days)).finding("retail.lost_sales").raised


def test_overbuying_shows_the_figure_that_is_over_its_threshold(evaluated: Evaluated, day: MakeDay) -> None:
    crowded = diagnosis_of(evaluated(waiting(3)(day))).finding("retail.overbuying")
    assert (crowded.value, crowded.numerator, crowded.denominator, crowded.severity) == (0.25, 3, 12, None)
    spoiled = diagnosis_of(evaluated(expired(4)(day))).finding("retail.overbuying")
    assert (spoiled.value, spoiled.numerator, spoiled.denominator) == (0.04, 40, 1000)
    assert spoiled.parts == {"expired_ratio": 0.04, "waiting_days": 0.0}


def test_a_privileged_seat_needs_no_evidence(evaluated: Evaluated, day: MakeDay) -> None:
    found = diagnosis_of(evaluated(blind_prices(day), privileged=True))
    assert (found.finding("retail.missing_evidence").raised, found.finding("retail.missing_evidence").note) == (
        False,
        "privileged",
    )
    assert {figure.note for figure in found.stages[1].figures} == {"privileged"}
    assert diagnosis_of(evaluated(news(None)(day), privileged=True)).finding("retail.news_unread").note == "privileged"


def test_severity_is_what_the_failure_cost(evaluated: Evaluated, day: MakeDay) -> None:
    def severity(name: str, make: Make) -> float | None:
        finding: Finding = diagnosis_of(evaluated(make(day))).finding(f"retail.{name}")
        assert finding.severity_unit == "currency"
        return finding.severity

    assert severity("below_cost", below_cost(1)) == 30.0
    assert severity("overbuying", expired(4)) == 5.0
    # 10 units a day at 1 cent: excess returns are worth less than the lower quote saved, which is no cost.
    assert severity("ignored_returns", with_known_returns("supplier_1")) == 0.0
    assert severity("idle_days", idle(5)) is None


def test_at_most_fifty_events_are_cited(evaluated: Evaluated, day: MakeDay) -> None:
    days = [_all(day(), ALL) for _ in range(10)]
    found = diagnosis_of(evaluated(days))
    assert found.finding("retail.missing_evidence").denominator == 120
    assert len(found.finding("retail.missing_evidence").events) == 50


def test_the_published_evidence_map_is_the_one_of_the_tools() -> None:
    made = evidence_toml(market_type("retail"), EVIDENCE_VERSION, RECENCY_DAYS)
    assert published_paths()["retail"].read_text(encoding="utf-8") == made


# --- the controls of the specification ------------------------------------------------------------------------------

CONTROLS = [
    ("narrow_attention", "narrow_attention"),
    ("narrow_attention", "passive"),
    ("missing_evidence", "blind_buyer"),
    ("price_first_sourcing", "price_first"),
    ("ignored_returns", "price_first"),
    ("price_off_optimum", "giveaway"),
    ("below_cost", "giveaway"),
    ("no_follow_up", "no_follow_up"),
    ("unresolved_events", "bare_shelf"),
    ("empty_shelf", "bare_shelf"),
    ("lost_sales", "bare_shelf"),
    ("overbuying", "hoarder"),
    ("stranded_stock", "stockpiler"),
    ("illiquid", "stockpiler"),
    ("news_unread", "sealed_ears"),
    ("idle_days", "passive"),
    ("rejected_actions", "fumbler"),
]
SEEDS = (1, 2, 3)


@pytest.mark.slow
@pytest.mark.parametrize(("detector", "control"), CONTROLS)
def test_each_control_raises_its_detector_on_three_seeds(play_retail: PlayRetail, detector: str, control: str) -> None:
    found = [diagnosis_of(evaluate_file(play_retail(control, seed, "retail/paper"))) for seed in SEEDS]
    assert [diagnosis.finding(f"retail.{detector}").raised for diagnosis in found] == [True, True, True]


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_a_careful_reader_raises_nothing(play_retail: PlayRetail, seed: int) -> None:
    found = diagnosis_of(evaluate_file(play_retail("careful_reader", seed, "retail/paper")))
    assert [finding.id for finding in own_findings(found) if finding.raised] == []


@pytest.mark.slow
def test_missing_evidence_of_the_oracle_reads_privileged(play_retail: PlayRetail) -> None:
    found = diagnosis_of(evaluate_file(play_retail("oracle", 1, "retail/paper")))
    assert (found.finding("retail.missing_evidence").raised, found.finding("retail.missing_evidence").note) == (
        False,
        "privileged",
    )
