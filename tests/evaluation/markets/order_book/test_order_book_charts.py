"""Charts of the order book, against a small game whose every trade is known, and against the outcomes of shares.

Also here:
- Failure modes of the order book: a control shows each, a competent trader in the same place does not.
- Outcomes of the order book: bubbles of hand-made paths, Smith's alpha, a replayed ledger, shares of the best.
- Levels of an order book beside honest populations: figures by hand, a ring, honest fields, and what is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import orjson
import pytest
from pydantic import JsonValue
from tests.calling import seating
from tests.evaluation.playing import Player, played, played_by, store
from tests.traces import kept

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import Chance, Draw, Policy, ToolCall, Turns, TurnView
from tradefair.contract.kernel.core import Core
from tradefair.evaluation.charts import BarChart, Chart, Line, XYChart
from tradefair.evaluation.collusion import CollusionAsked
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.judge.evaluate import charts_of, evaluate, evaluate_file
from tradefair.evaluation.markets.order_book import charts as charts_module
from tradefair.evaluation.markets.order_book.collusion import levels
from tradefair.evaluation.markets.order_book.collusion.model import OrderBookCollusion
from tradefair.evaluation.markets.order_book.collusion.reading import Arms, Episode, read_episodes
from tradefair.evaluation.markets.order_book.collusion.report import order_book_report
from tradefair.evaluation.markets.order_book.modes.detectors import MODES
from tradefair.evaluation.markets.order_book.modes.play import Filled, Game, Period, Step, read_game
from tradefair.evaluation.markets.order_book.outcomes import (
    Bubble,
    OrderBookOutcome,
    OrderBookSeat,
    bubble,
    ledger_violations,
    relative_to_references,
    smiths_alpha,
)
from tradefair.evaluation.modes.diagnosis import Diagnosis, Finding
from tradefair.host.episode.setup import scripted_seats, seating_of
from tradefair.host.seats.plans import SeatPlan
from tradefair.order_book import MARKET
from tradefair.order_book.answers.results import OpeningFacts
from tradefair.runner.ledger.probe import PlayedAgain
from tradefair.tracestore import open_trace

SCHEDULES = {"buyers": 2, "sellers": 2, "values": [[140, 100], [110, 50]], "costs": [[60, 120], [90, 130]]}


def drawn(path: Path) -> dict[str, Chart]:
    with open_trace(path) as trace:
        charts, problem = charts_of(trace, evaluator_of("order_book"))
    assert problem is None
    return {chart.id: chart for chart in charts}


def line(chart: Chart, name: str) -> Line:
    assert isinstance(chart, XYChart)
    return next(line for line in chart.lines if line.name == name)


def bars(chart: Chart) -> BarChart:
    assert isinstance(chart, BarChart)
    return chart


@pytest.fixture
def charts(tmp_path: Path) -> dict[str, Chart]:
    """Two sweeps in rotation: S1 sells to B2 at its bid of 100, B1 gives up its bid of 70 and buys from S2 at 105."""
    changes: dict[str, Any] = {**SCHEDULES, "units": 2, "periods": 1, "sweeps": 2, "arrival": "rotation", "seats": {}}
    core = Core.create(MARKET, load_scenario("order_book", "smith", changes), 1)
    records = list(core.start(seating(core.market.seats, dict.fromkeys(("B2", "S1", "S2"), "zip"))).records)
    first = [("B1", "buy", 70), ("B2", "buy", 100), ("S1", "sell", 80), ("S2", "sell", 105)]
    second = [("B2", "buy", 85), ("S1", "", 0), ("S2", "", 0), ("B1", "buy", 105)]
    for seat, side, price in [*first, *second]:
        tool, arguments = ("submit_order", {"side": side, "price": price}) if side else ("pass_turn", {})
        records += core.call(seat, tool, arguments).records
    assert core.ended == "terminated:rounds_completed"
    return drawn(store(tmp_path / "game.trace", core, records))


def test_the_path_shows_own_trades_apart_and_the_range_of_best_quotes(charts: dict[str, Chart]) -> None:
    path = charts["path"]
    own, others = line(path, "B1 traded"), line(path, "trades")
    assert ((own.x, own.y), (others.x, others.y)) == (([8], [105]), ([3], [100]))
    bid, ask = line(path, "best bid"), line(path, "best ask")
    assert bid.y == [None, 70, 100, 70, 70, 85, 85, 85]
    assert ask.y == [None, None, None, None, 105, 105, 105, 105]
    assert ask.shade_to == "best bid"
    assert isinstance(path, XYChart)
    assert [(band.low, band.high) for band in path.bands] == [(100, 110)]


def test_a_dot_stands_in_the_middle_of_each_traded_unit(charts: dict[str, Chart]) -> None:
    chart = charts["supply_and_demand"]
    assert line(chart, "demand (values)").y == [140, 110, 100, 50, 50]
    assert line(chart, "supply (costs)").y == [60, 90, 120, 130, 130]
    bought, sold = line(chart, "bought"), line(chart, "sold")
    assert (bought.x, bought.y) == ([0.5, 1.5], [140, 110])
    assert (sold.x, sold.y) == ([0.5, 1.5], [60, 90])


def test_of_more_units_than_a_line_may_have_the_last_periods_are_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = played(tmp_path / "long.trace", "order_book/smith", "truthful", seed=2, periods=4, seats={})
    whole = drawn(path)["supply_and_demand"]
    # Twelve units a side: there is room for two periods.
    monkeypatch.setattr(charts_module, "MAX_POINTS", 24)
    cut = drawn(path)["supply_and_demand"]
    assert (whole.note[-22:], cut.note[-22:]) == ("of the last 4 periods.", "of the last 2 periods.")
    assert len(line(cut, "bought").x) == len(line(cut, "sold").x)
    assert 0 < len(line(cut, "bought").x) < len(line(whole, "bought").x)
    with open_trace(path) as trace:
        assert len(line(whole, "bought").x) == evaluate(trace).market_outcome.trades


def test_the_ladder_is_the_fullest_book_that_the_seat_met_with_its_own_order_marked(charts: dict[str, Chart]) -> None:
    assert [name for name in charts if name.startswith("book_")] == ["book_B1"]
    ladder = bars(charts["book_B1"])
    assert ladder.names == ["ask 105", "bid 85", "bid 70, own"]
    assert ladder.bars.values == [1, 1, 1]
    assert ladder.marks is not None
    assert ladder.marks.values == [None, None, 1]
    assert "step 8 of period 1" in ladder.note


def test_earnings_stand_beside_those_at_competitive_prices(charts: dict[str, Chart]) -> None:
    chart = bars(charts["earned"])
    assert (chart.names, chart.bars.values) == (["B1", "B2", "S1", "S2"], [35, 10, 40, 15])
    assert chart.marks is not None
    assert chart.marks.values == [35, 5, 45, 15]


def test_the_gap_and_the_holdings_of_shares_are_those_of_the_outcome(tmp_path: Path) -> None:
    path = played(tmp_path / "asset.trace", "order_book/asset_short", "zi_c", seed=4, seats={})
    charts = drawn(path)
    assert "supply_and_demand" not in charts
    price, worth = line(charts["mispricing"], "mean price"), line(charts["mispricing"], "fundamental value")
    gaps = [abs(p - v) for p, v in zip(price.y, worth.y, strict=True) if p is not None and v is not None]
    level = sum(value for value in worth.y if value is not None) / len(worth.y)
    holdings = charts["holdings"]
    assert isinstance(holdings, XYChart)
    with open_trace(path) as trace:
        outcome = evaluate(trace)
    assert sum(gaps) / len(gaps) / level == pytest.approx(outcome.market_outcome.rad)
    assert bars(charts["earned"]).bars.values == [outcome.seats[seat].gain for seat in outcome.seats]
    held = [sum(line.y[at] or 0 for line in holdings.lines) for at in range(len(worth.y) + 1)]
    assert len({*held}) == 1


@pytest.mark.parametrize("after_trade", ["keep", "clear"])
def test_the_ladder_is_the_fullest_book_that_the_seat_could_see_before_it_acted(
    tmp_path: Path, after_trade: str
) -> None:
    # Several orders a seat, each of several units: filled in part, cancelled and lapsed on the way.
    changes: dict[str, Any] = {
        "one_order": False,
        "max_quantity": 3,
        "traders": 4,
        "seats": {},
        "after_trade": after_trade,
    }
    core = Core.create(MARKET, load_scenario("order_book", "asset_short", changes), 5)
    records = list(core.start(seating(core.market.seats, dict.fromkeys(("T2", "T3", "T4"), "zi_c"))).records)
    luck = Chance(5)

    def ask(seat: str, tool: str, **arguments: Any) -> dict[str, Any]:
        done = core.call(seat, tool, arguments)
        records.extend(done.records)
        assert done.answer is not None
        return orjson.loads(done.answer.body or b"{}")

    seen: list[dict[str, tuple[int, int]]] = []
    while core.ended is None:
        (seat,) = core.market.awaited()
        step = core.seq
        book, own = ask(seat, "view_book", levels=50), ask(seat, "view_my_orders")["orders"]
        kept = {("ask" if row["side"] == "sell" else "bid", row["price"]): 0 for row in own}
        for row in own:
            kept["ask" if row["side"] == "sell" else "bid", row["price"]] += row["quantity"]
        cancels = bool(own) and luck.uniform("cancel", step) < 0.2
        if cancels:
            ask(seat, "cancel_order", order=own[0]["order"])
        side = "buy" if luck.uniform("side", step) < 0.5 else "sell"
        price, quantity = 45 + int(luck.uniform("price", step) * 11), 1 + int(luck.uniform("quantity", step) * 3)
        acted = ask(seat, "submit_order", side=side, price=price, quantity=quantity) or ask(seat, "pass_turn")
        if seat == "T1" and (cancels or "order" in acted):
            levels = [(kind, row) for kind in ("ask", "bid") for row in book[f"{kind}s"]]
            seen.append({f"{k} {r['price']}": (r["quantity"], kept.get((k, r["price"]), 0)) for k, r in levels})
    ladder = bars(drawn(store(tmp_path / "game.trace", core, records))["book_T1"])
    assert ladder.marks is not None
    marks = [int(own or 0) for own in ladder.marks.values]
    shown = {
        name.removesuffix(", own"): (units, own)
        for name, units, own in zip(ladder.names, ladder.bars.values, marks, strict=True)
    }
    fullest = max(seen, key=lambda levels: sum(units for units, _ in levels.values()))
    assert shown == fullest
    assert any(marks)
    assert len(shown) >= 2


# mode, preset, the seat under test, its policy, the others', changes of the scenario
SMITH: dict[str, Any] = {"periods": 3}
ASSET: dict[str, Any] = {"periods": 10, "traders": 6, "one_order": True}
POSITIVE: list[tuple[str, str, str, str, str, dict[str, Any]]] = [
    ("loss_trade", "smith", "B1", "loss_maker", "zip", SMITH),
    ("missed_take", "smith", "B1", "sleeper", "truthful", SMITH),
    ("dead_quote", "smith", "B1", "sleeper", "zip", SMITH),
    ("churn", "smith", "B1", "churner", "zip", SMITH),
    ("paid_up", "smith", "B1", "loss_maker", "zip", SMITH),
    ("unit_lost_late", "smith", "B2", "anchored", "zip", {}),
    ("bubble_buy", "asset", "T1", "bubble_buyer", "zi_c", ASSET),
    ("late_hold", "asset", "T1", "bubble_buyer", "zi_c", ASSET),
    ("contradicted_analysis", "smith", "B1", "contrary", "zip", SMITH),
]
SEEDS = {"unit_lost_late": 1, "late_hold": 1}
"""Where luck matters; else seed 2."""
NEGATIVE: list[tuple[str, str, str, str, str, dict[str, Any]]] = [
    ("loss_trade", "smith", "B1", "gd", "zip", SMITH),
    ("missed_take", "smith", "B1", "kaplan", "truthful", SMITH),
    ("dead_quote", "smith", "B1", "zip", "zip", SMITH),
    ("churn", "smith", "B1", "anchored", "zip", SMITH),
    ("paid_up", "smith", "B1", "kaplan", "zip", SMITH),
    ("bubble_buy", "asset", "T1", "fundamentalist", "fundamentalist", ASSET),
    ("late_hold", "asset", "T1", "hold", "zi_c", ASSET),
    ("unit_lost_late", "smith", "B1", "kaplan", "zip", SMITH),
    ("contradicted_analysis", "smith", "B1", "gd", "zip", SMITH),
]


def found(folder: Path, case: tuple[str, str, str, str, str, dict[str, Any]], seed: int = 2) -> Finding:
    mode, preset, own, policy, others, changes = case
    return diagnosis(folder, preset, own, policy, others, changes, seed).of_seat(own)[f"order_book.{mode}"]


def diagnosis(
    folder: Path, preset: str, own: str, player: Player, others: str, changes: dict[str, Any], seed: int = 2
) -> Diagnosis:
    path = played_by(folder / "game.trace", f"order_book/{preset}", {own: player}, seed, others, **changes, seats={})
    evaluation = evaluate_file(path)
    assert evaluation.diagnosis is not None, evaluation.problem
    assert evaluation.outcome is not None
    assert evaluation.outcome.findings == []
    assert evaluation.outcome.market_outcome.priority_violations == 0
    return evaluation.diagnosis


@pytest.mark.parametrize("case", POSITIVE, ids=lambda case: case[0])
def test_the_control_shows_it(tmp_path: Path, case: Any) -> None:
    finding = found(tmp_path, case, SEEDS.get(case[0], 2))
    assert finding.status in ("raised", "condition", "merged"), finding
    for told in finding.cases:
        assert len(told.because) <= 160


@pytest.mark.parametrize("case", NEGATIVE, ids=lambda case: case[0])
def test_a_competent_trader_does_not(tmp_path: Path, case: Any) -> None:
    finding = found(tmp_path, case)
    assert finding.status in ("clear", "merged") or not finding.count, finding


class Asks:
    """A bundled trader that asks for the chances of many prices before each order, and orders what it would anyway."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def turn(self, now: TurnView) -> Turns:
        turns = self._policy.turn(now)
        call, value = next(turns, None), 0
        while call is not None:
            if call.tool == "submit_order":
                own = cast("int", call.arguments["price"])
                prices: list[JsonValue] = [*sorted({max(1, value * part // 20) for part in range(8, 20)} - {own}), own]
                yield ToolCall("estimate_fill", {"side": "buy", "prices": prices})
            answer = yield call
            if call.tool == "view_my_account":
                value = answer.data["next_unit_value"] or 0
            try:
                call = turns.send(answer)
            except StopIteration:
                return


@pytest.mark.parametrize("seed", range(1, 4))
@pytest.mark.parametrize("policy", ["kaplan", "gd"])
def test_who_acts_on_chances_or_takes_what_stands_contradicts_no_estimate(
    tmp_path: Path, policy: str, seed: int
) -> None:
    asks = Asks(MARKET.policies[policy].make({}, Draw.of(seed, "B1")))
    told = diagnosis(tmp_path, "smith", "B1", asks.turn, "zip", {}, seed).of_seat("B1")
    asked = told["order_book.contradicted_analysis"]
    assert asked.of > 5
    assert asked.count == 0


def test_every_mode_has_a_control() -> None:
    assert {case[0] for case in POSITIVE} == set(MODES.rows)


def test_orders_without_a_look_at_the_book_lack_their_evidence(tmp_path: Path) -> None:
    blind = diagnosis(tmp_path, "smith", "B1", "blind", "zip", {"periods": 2}).of_seat("B1")
    assert blind["missing_evidence"].raised
    assert blind["missing_evidence"].cases[0].because.startswith("round 1: submit_order")
    sound = diagnosis(tmp_path, "smith", "B1", "gd", "zip", {"periods": 2}).of_seat("B1")
    assert [sound[name].status for name in ("missing_evidence", "refused_calls", "unit_mistake")] == ["clear"] * 3


def test_a_loss_is_told_once(tmp_path: Path) -> None:
    told = diagnosis(tmp_path, "smith", "B1", "loss_maker", "zip", SMITH).of_seat("B1")
    assert told["order_book.loss_trade"].raised
    # Every order of it goes through its value; those that traded at a loss are told by loss_trade.
    breach = told["value_breach"]
    assert breach.count > told["order_book.loss_trade"].count
    assert breach.raised
    assert not {case.seq for case in breach.cases} & {case.seq for case in told["order_book.loss_trade"].cases}


def test_a_step_that_lapsed_is_idle_where_an_order_would_have_paid(tmp_path: Path) -> None:
    told = diagnosis(tmp_path, "smith", "B1", "passive", "truthful", SMITH).of_seat("B1")["idle_drift"]
    assert told.count >= 1


# 24 a period over five periods, as of the asset preset's dividends: mean 72.
FALLING = [120.0, 96.0, 72.0, 48.0, 24.0]


def test_prices_at_the_fundamental_value_are_no_bubble() -> None:
    assert bubble(FALLING, FALLING) == Bubble(0.0, 0.0, 0.0, 0, 0)


def test_a_constant_gap_is_its_share_of_the_mean_value_and_neither_rises_nor_spreads() -> None:
    above = bubble([worth + 18 for worth in FALLING], FALLING)
    assert above == Bubble(0.25, 0.25, 0.0, 0, 0)
    assert bubble([worth - 18 for worth in FALLING], FALLING) == above._replace(rd=-0.25)


def test_prices_that_stay_while_the_value_falls_rise_against_it() -> None:
    found = bubble([72.0] * 5, FALLING)
    assert found.rad == pytest.approx((48 + 24 + 0 + 24 + 48) / 5 / 72)
    assert found.rd == pytest.approx(0.0)
    assert (found.amplitude, found.duration) == (96 / 120, 4)


def test_a_silent_period_borrows_no_price() -> None:
    # The last trade was at 96: with it the silent periods would be off by 24 and 48.
    found = bubble([120.0, 96.0, None, None, 24.0], FALLING)
    assert found == Bubble(0.0, 0.0, 0.0, 0, 2)
    assert bubble([None] * 5, FALLING) == Bubble(None, None, None, 0, 5)


def test_an_episode_that_stops_early_is_measured_by_the_values_of_all_periods() -> None:
    assert bubble([138.0, 114.0], FALLING).rad == pytest.approx(18 / 72)


def test_alpha_is_the_root_mean_square_deviation_in_percent_of_the_competitive_price() -> None:
    assert smiths_alpha([97.0, 103.0, 100.0, 104.0], 100.0) == pytest.approx(100 * (34 / 4) ** 0.5 / 100)
    assert smiths_alpha([], 100.0) is None
    assert smiths_alpha([100.0], None) is None


def _played(folder: Path, preset: str, policy: str, **changes: Any) -> Path:
    return played(folder / "game.trace", f"order_book/{preset}", policy, 4, **changes)


def _game(path: Path) -> Game:
    with open_trace(path) as trace:
        return read_game(trace)


def test_the_ledger_of_a_trace_is_that_of_its_replayed_fills(tmp_path: Path) -> None:
    game = _game(_played(tmp_path, "smith", "zi_c", periods=2))
    assert game.fills
    assert ledger_violations(game) == 0
    last = game.periods[-1]
    game.periods[-1] = last._replace(profit={**last.profit, "B1": last.profit["B1"] + 1})
    assert ledger_violations(game) == 1


def test_a_share_or_a_tick_too_many_is_a_violation(tmp_path: Path) -> None:
    game = _game(_played(tmp_path, "asset_short", "zi_c"))
    assert game.fills
    assert ledger_violations(game) == 0
    last = game.periods[-1]
    game.periods[-1] = last._replace(shares={**last.shares, "T1": last.shares["T1"] + 1})
    assert ledger_violations(game) == 1
    game.periods[-1] = last._replace(cash={**last.cash, "T2": last.cash["T2"] - 1})
    assert ledger_violations(game) == 1


def test_what_shares_pay_at_the_end_belongs_to_wealth_and_to_profit(tmp_path: Path) -> None:
    changes = {"final_value": 50, "periods": 2, "sweeps": 3}
    outcome = evaluate_file(_played(tmp_path, "asset_short", "hold", **changes)).outcome
    assert outcome is not None
    own = cast(OrderBookSeat, outcome.seats["T1"])
    paid = sum(row.dividend or 0 for row in _game(tmp_path / "game.trace").periods)
    assert own.gain == 0
    assert own.profit == 3 * (paid + 50)


def _seat(profit: int, competitive: float) -> OrderBookSeat:
    return OrderBookSeat.model_construct(profit=profit, competitive_profit=competitive, gain=None, wealth=None)


class _Only:
    def __init__(self, seat: OrderBookSeat) -> None:
        self.seats = {"B1": seat}


def _shares(profits: dict[str, int], competitive: float = 500.0) -> dict[str, float | None]:
    outcomes = {label: _Only(_seat(profit, competitive)) for label, profit in profits.items()}
    found = relative_to_references("B1", cast("dict[str, OrderBookOutcome]", outcomes))
    return {label: row["share_of_best"] for label, row in found.items()}


def test_the_best_of_all_known_references_is_one_and_the_floor_is_zero() -> None:
    known = {"agent": 250, "policy:truthful": 200, "policy:kaplan": 280, "policy:anchored": 300, "policy:passive": 0}
    shares = _shares(known)
    assert (shares["agent"], shares["policy:anchored"], shares["policy:truthful"]) == (0.5, 1.0, 0.0)


def test_references_that_lie_together_give_no_share() -> None:
    close = {"agent": 250, "policy:truthful": 200, "policy:kaplan": 204}
    assert _shares(close)["agent"] is None
    assert _shares({**close, "policy:kaplan": 205})["agent"] == 10.0


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
