"""Each trouble is provoked through a model's endpoint and named in the first sentence; what is none stays none.

Also here:
- A scripted control of a failure mode is told by it: the mode that it was written for is the first mistake.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.verdicts.page import FIELDS, bids_40
from benchmarks.verdicts.play import SETTINGS, play
from tests.evaluation.verdict.conftest import Answer, Answers, says

from tradefair.evaluation.read.accounts import SeatAccount, account
from tradefair.evaluation.verdict.troubles import Stage, trouble_of
from tradefair.evaluation.verdict.verdict import Score, SeatVerdict
from tradefair.tracestore import open_trace

CLAIM = ("claim", '{"slices": 4}')
LOOK = ("view_rules", "{}")


def always(answer: Answer) -> Answers:
    return lambda _: answer


_IDLE: dict[str, tuple[Answer, str, str]] = {
    "prose": (says("I would take half."), "never_called", "never called a tool {where}: all 9 replies were text only."),
    "empty": (says(""), "never_called", "never called a tool {where}: all 9 replies were empty."),
    "cut": (
        says("So I thi", finish="length"),
        "never_called",
        "never called a tool {where}: all 9 replies were cut at the token limit of a reply (--limit reply).",
    ),
    "bad_json": (
        says("", ("claim", '{"slices": 4')),
        "malformed",
        "wrote 12 calls {where}, all with arguments that are no JSON; none was carried out.",
    ),
    "unknown_tools": (
        says("", ("buy_low_sell_high", "{}")),
        "unknown_tools",
        "called only tools that do not exist {where} (buy_low_sell_high 12 times).",
    ),
}


@pytest.mark.parametrize(("framework", "case"), [*(("react", case) for case in _IDLE), ("openai_loop", "prose")])
async def test_a_model_that_never_acts_is_told_in_plain_words(play_model: Any, framework: str, case: str) -> None:
    answer, kind, text = _IDLE[case]
    verdict = await play_model(always(answer), framework)
    (seat,) = verdict.seats
    assert (seat.kind, seat.acted, verdict.status, verdict.exit_code) == ("model", False, "idle", 1)
    assert seat.trouble.kind == kind
    assert verdict.sentences[0] == f"{framework}/openai:tiny " + text.format(where="in seat P1 of teaching/pie, seed 1")
    assert verdict.sentences[1] == "Nothing was played; it earned 0 points in 3 rounds."
    assert verdict.sentences[2].endswith("cost unknown, " + verdict.sentences[2].rpartition("cost unknown, ")[2])
    assert "reproduced" in verdict.sentences[2]


async def test_calls_that_the_market_refuses_are_counted_by_their_code(play_model: Any) -> None:
    verdict = await play_model(always(says("", ("claim", '{"slices": 4000}'))))
    assert verdict.sentences[0] == (
        "All 12 calls of react/openai:tiny in seat P1 of teaching/pie, seed 1 were refused, all as invalid_arguments."
    )
    assert (verdict.seats[0].trouble.kind, verdict.exit_code) == ("all_refused", 1)


_FAILED: dict[str, tuple[Answer, str]] = {
    "429": (Answer(429, '{"error": {"message": "slow down"}}'), "the provider answered 429 5 times"),
    "500": (Answer(500, "{}"), "the provider answered 500 5 times"),
    "401": (Answer(401, '{"error": {"message": "no such key"}}'), "the provider answered 401 once"),
    "html": (Answer(200, "<html>Sign in</html>"), "the provider's answer was no chat completion"),
}


@pytest.mark.parametrize(("framework", "case"), [*(("react", case) for case in _FAILED), ("openai_loop", "html")])
async def test_a_provider_that_fails_is_told_with_the_way_to_go_on(play_model: Any, framework: str, case: str) -> None:
    answer, why = _FAILED[case]

    # Each round takes one reply, and the third fails.
    def answers(number: int) -> Answer:
        return answer if number > 2 else says("", CLAIM)

    verdict = await play_model(answers, framework)
    assert (verdict.status, verdict.exit_code, verdict.trouble.kind) == ("failed", 3, "provider_failed")
    assert verdict.sentences[0].startswith(f"{framework}/openai:tiny stopped in round 3 of 3: {why}; `tradefair play")
    assert verdict.next[0].command.startswith("tradefair play --resume /")
    assert verdict.sentences[1].startswith(f"{framework}/openai:tiny earned ")


async def test_one_late_reply_is_given_up_and_not_never_called(play_model: Any) -> None:
    # Three replies without a call give the second round up.
    def answers(number: int) -> Answer:
        return says("Hm.") if 2 <= number <= 4 else says("", CLAIM)

    verdict = await play_model(answers)
    assert (verdict.status, verdict.exit_code, verdict.trouble.kind) == ("played", 0, "gave_up")
    assert verdict.sentences[0].startswith("react/openai:tiny earned ")
    assert verdict.sentences[1] == "react/openai:tiny let 1 of 3 rounds pass (its replies called no tool)."
    assert verdict.seats[0].effort.replies_without_call == 3


async def test_a_model_that_only_looks_is_no_trouble_of_its_calls(play_model: Any) -> None:
    verdict = await play_model(always(says("", LOOK)))
    assert verdict.seats[0].acted
    assert verdict.trouble.kind == "gave_up"
    assert "its limit of calls was used up" in verdict.text


def test_a_script_that_never_acts_is_said_to_and_is_no_error(tmp_path: Path) -> None:
    setting = SETTINGS["teaching"]
    verdict = play(tmp_path / "script.trace", setting, {"P1": "passive"}).verdict()
    (seat,) = verdict.seats
    assert (seat.kind, seat.effort.tool_calls, seat.acted) == ("script", 0, False)
    assert (verdict.status, verdict.exit_code) == ("idle", 0)
    assert verdict.sentences[0].startswith("policy:passive never called a tool in seat P1 of teaching/pie")


def test_planners_are_asked_for_text_and_a_failure_that_was_overcome_is_none(tmp_path: Path, editor: Any) -> None:
    path = play(tmp_path / "open.trace", SETTINGS["teaching"], {"P1": "half"}, rounds=1, ends=False).path

    def noted(**note: Any) -> SeatAccount:
        body: dict[str, Any] = {
            "kind": "model_call",
            "calls": [],
            "text": "Hm.",
            "input_tokens": 1,
            "output_tokens": 1,
            **note,
        }
        editor(path).run("INSERT INTO agent_events (seat, body) VALUES ('P1', ?)", json.dumps(body))
        with open_trace(path) as trace:
            return account(trace).seats["P1"]

    assert noted(role="planner").silent == {}
    assert noted(role="actor").silent == {"text": 1}
    assert noted(kind="harness_failure", message="status 429").failure == "status 429"
    after = noted(calls=["claim"])
    assert (after.failure, after.silent, after.model_calls) == (None, {"text": 1}, 3)


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
