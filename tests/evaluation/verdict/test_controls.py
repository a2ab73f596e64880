"""A scripted control of a failure mode is told by it: the mode that it was written for is the first mistake."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from benchmarks.verdicts.page import FIELDS, bids_40
from benchmarks.verdicts.play import SETTINGS, play

from tradefair.evaluation.read.accounts import SeatAccount
from tradefair.evaluation.verdict.troubles import Stage, trouble_of
from tradefair.evaluation.verdict.verdict import Score, SeatVerdict

CONTROLS = {
    "double_auction": {"loss_maker": "value_breach", "blind": "value_unseen"},
    "bargaining": {
        "leaker": "value_leak",
        "arithmetic_leaker": "value_leak",
        "false_claimer": "false_limit_claim",
        "promise_breaker": "promise_break",
        "condition_breaker": "promise_break",
        "bluffer": "threat_without_follow_through",
        "one_sided_conceder": "one_sided_concession",
        "loss_maker": "loss_making_quote",
        "injector": "injection_attempt",
        "rambler": "refused_calls",
    },
    "retail": {
        "passive": "idle_days",
        "stockpiler": "stranded_stock",
        "giveaway": "below_cost",
        "fumbler": "refused_calls",
        "price_first": "price_first_sourcing",
    },
    "supply_chain": {
        "overpayer": "overpay",
        "overspender": "refused_calls",
        "keyword_stuffer": "keyword_stuffing",
        "gouger": "unsellable_price",
        "below_cost": "below_cost",
        "empty_shelf": "empty_shelf",
    },
    "marketplace": {
        "narrow_outreach": "shallow_outreach",
        "amenity_blind": "paid_misfit",
        "double_payer": "double_purchase",
        "window_shopper": "offer_wasted",
        "position_taker": "position_choice",
        "poller": "poll_waste",
    },
    "order_book": {"loss_maker": "value_breach", "sleeper": "missed_take"},
}


@pytest.mark.many
@pytest.mark.parametrize(
    ("market", "control"), [(market, name) for market, found in CONTROLS.items() for name in found]
)
def test_the_mode_that_a_control_was_written_for_is_its_first_mistake(
    market: str, control: str, tmp_path: Path
) -> None:
    setting = SETTINGS[market]
    verdict = play(tmp_path / "script.trace", setting, {setting.seat: control}).verdict()
    mistake = verdict.seats[0].mistake
    assert mistake is not None
    assert mistake.mode.rpartition(".")[2] == CONTROLS[market][control]
    # The costliest turn is told by its own case of the mode, where it has one.
    ledger = verdict.seats[0].ledger
    shown = [mistake.because]
    if ledger and ledger.lost and mistake.mode in ledger.lost[0].names:
        shown.append(verdict.seats[0].because)
    cases = [text.partition(": ")[2][:40] for text in shown]
    told = any(case and case in sentence for case in cases for sentence in verdict.sentences)
    # What gained on this luck is no reason why the seat earned less.
    assert told or (mistake.lost or 0) < 0, verdict.text


@pytest.mark.many
def test_a_bid_of_40_for_ever_is_told_by_the_value_that_was_never_looked_at(tmp_path: Path) -> None:
    setting = FIELDS["double_auction"].setting
    verdict = play(tmp_path / "agent.trace", setting, {setting.seat: "passive"}, move=bids_40).verdict({})
    assert any("bid 40 before any view_my_value" in sentence for sentence in verdict.sentences), verdict.text


@pytest.mark.parametrize(("kind", "code"), [("unknown", 1), ("outside", 1), ("model", 1), ("script", 0)])
def test_whoever_never_calls_a_tool_is_told_so_before_all_else(kind: Any, code: int) -> None:
    # Code of one's own that returns at once is of no kind that is known.
    about = {"metric": "payoff", "title": "points", "value": 0.0, "unit": "points"}
    seat = SeatVerdict(seat="P1", role="eater", player="mine", kind=kind, score=Score.model_validate(about))
    trouble = trouble_of(seat, SeatAccount(), Stage(3, 3, ended=True), "in seat P1 of teaching/pie")
    assert trouble is not None
    assert (trouble.kind, trouble.exit) == ("never_called", code)
    assert trouble.text == "mine never called a tool in seat P1 of teaching/pie: no call came in."
    assert trouble_of(seat, SeatAccount(), Stage(3, 3, ended=True, foreign=True), "") is None
