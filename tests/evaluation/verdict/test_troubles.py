"""Each trouble is provoked through a model's endpoint and named in the first sentence; what is none stays none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.verdicts.play import SETTINGS, play
from tests.evaluation.verdict.conftest import Answer, Answers, says

from tradefair.evaluation.read.accounts import SeatAccount, account
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
