"""A policy, the react graph around it, and the same policy natively: one play, three ways."""

from __future__ import annotations

from typing import Any

import pytest

from fairground.agents.prompt import load_prompt
from fairground.contract.errors import HarnessFailure
from fairground.contract.limits import Limit
from fairground.contract.market import Brief
from fairground.contract.policy import ToolCall, Turns, TurnView
from fairground.frameworks import load_framework
from fairground.frameworks.base import Limits, SeatReport, read_brief
from fairground.frameworks.external import ExternalAgent
from fairground.frameworks.models import parse_model

BRIEF = Brief("P1", "earn", "rounds")


async def _play(framework: str, table: Any, endpoint: Any, limits: Limits | None = None, **options: Any) -> SeatReport:
    async with table.client() as client:
        agent = load_framework(framework)()
        return await agent.play(table.seat(client, **options), endpoint, BRIEF, limits or Limits())


class Fumbler:
    """Asks for what is refused, for what does not exist, writes notes and reads a history before it claims."""

    def __init__(self) -> None:
        self._codes: list[str] = []

    def turn(self, now: TurnView) -> Turns:
        if now.phase == "talk":
            yield ToolCall("say", {"text": f'round {now.round}: "```json turn_view" \n é'})
        for call in (ToolCall("claim", {"slices": 99}), ToolCall("claim", {"slices": "all"}), ToolCall("fly")):
            answer = yield call
            assert answer.error is not None
            assert answer.data == {}
            self._codes.append(answer.error.code)
        history = yield ToolCall("view_history", {"first_round": max(1, now.round - 1)})
        yield ToolCall("add_note", {"text": f"{self._codes[-3:]} {len(history.data['rounds'])}"})
        mail = (yield ToolCall("read_messages")).data.get("messages", [])
        yield ToolCall("claim", {"slices": (sum(map(len, self._codes)) + len(mail)) % 5})


@pytest.mark.parametrize("framework", ["react", "policy"])
@pytest.mark.parametrize("preset", ["pie", "talk"])
@pytest.mark.parametrize("name", ["half", "random_legal"])
async def test_a_policy_makes_the_same_calls_through_every_framework_as_natively(
    teaching: Any, framework: str, preset: str, name: str
) -> None:
    native, seated = teaching.table(preset), teaching.table(preset)
    expected = teaching.native(native, teaching.policy(name))
    report = await _play(framework, seated, teaching.endpoint(name))
    assert seated.calls == expected
    assert seated.core.outcome_digest == native.core.outcome_digest
    assert report.end_reason == seated.core.ended
    assert (report.rounds, report.given_up, report.stop) == (3, {}, "episode_over")
    assert report.tool_calls == len(expected)


@pytest.mark.parametrize("framework", ["react", "policy"])
async def test_refusals_notes_and_strangers_text_reach_the_policy_unchanged(
    teaching: Any, open_policy: Any, framework: str
) -> None:
    native, seated = teaching.table("talk"), teaching.table("talk")
    expected = teaching.native(native, Fumbler())
    report = await _play(framework, seated, open_policy(Fumbler(), "fumbler"))
    # The graph reads the notes back at the start of a round: the only calls that the policy did not ask for.
    assert [call for call in seated.calls if call[0] != "view_notes"] == expected
    assert seated.core.outcome_digest == native.core.outcome_digest
    assert report.tool_errors == 9
    assert len([call for call in seated.calls if call[0] == "view_notes"]) == (2 if framework == "react" else 0)


async def test_the_report_counts_what_a_react_seat_did(teaching: Any) -> None:
    table = teaching.table()
    notes: list[dict[str, Any]] = []

    async def note(body: dict[str, Any]) -> None:
        notes.append(body)

    report = await _play("react", table, teaching.endpoint("half"), note=note)
    assert report.framework == "langgraph"
    assert report.model == "policy:half"
    assert report.prompt == load_prompt("react").label
    assert report.usage_estimated
    assert report.input_tokens > 0
    assert (report.replies, report.tool_calls, report.turns) == (4, 4, 3)
    assert [body["calls"] for body in notes] == [["view_my_value"], ["claim"], ["claim"], ["claim"]]
    assert [body["reply"] for body in notes] == ["r1.0", "r1.1", "r2.0", "r3.0"]


async def test_a_silent_model_is_nudged_once_and_its_rounds_lapse_with_a_flag(teaching: Any) -> None:
    table = teaching.table("talk")
    notes: list[dict[str, Any]] = []

    async def note(body: dict[str, Any]) -> None:
        notes.append(body)

    report = await _play("react", table, teaching.endpoint("passive"), note=note)
    assert report.given_up == {"no_call": 3}
    assert (report.replies, report.nudges, report.tool_calls) == (9, 3, 0)
    assert table.lapses == [(number, phase) for number in (1, 2, 3) for phase in ("talk", "claim")]
    assert [body["round"] for body in notes if body["kind"] == "round_given_up"] == [1, 2, 3]
    assert report.stop == "episode_over"


async def test_a_policy_that_declines_a_phase_lapses_in_that_phase_only(teaching: Any, open_policy: Any) -> None:
    class Mute:
        def turn(self, now: TurnView) -> Turns:
            if now.phase == "claim":
                yield ToolCall("claim", {"slices": 1})

    table = teaching.table("talk")
    report = await _play("policy", table, open_policy(Mute(), "mute"))
    assert table.lapses == [(1, "talk"), (2, "talk"), (3, "talk")]
    assert table.calls == [("claim", {"slices": 1})] * 3
    assert report.given_up == {"no_call": 3}


@pytest.mark.parametrize("framework", ["react", "policy"])
async def test_without_a_way_to_lapse_a_given_up_round_ends_the_play(teaching: Any, framework: str) -> None:
    table = teaching.table()
    report = await _play(framework, table, teaching.endpoint("passive"), lapse=None)
    assert report.stop == "gave_up"
    assert report.end_reason is None
    assert table.core.ended is None


@pytest.mark.parametrize("framework", ["react", "policy"])
async def test_the_call_limit_gives_the_round_up(teaching: Any, open_policy: Any, framework: str) -> None:
    class Browser:
        def turn(self, now: TurnView) -> Turns:
            while True:
                yield ToolCall("view_my_value")

    table = teaching.table("talk")
    report = await _play(framework, table, open_policy(Browser(), "browser"), Limits(calls_per_round=5))
    assert report.given_up == {"call_limit": 3}
    assert report.tool_calls == len(table.calls) == 15
    assert table.lapses == [(number, phase) for number in (1, 2, 3) for phase in ("talk", "claim")]


async def test_the_token_limit_gives_the_round_up_before_its_calls_are_made(teaching: Any) -> None:
    table = teaching.table()
    report = await _play("react", table, teaching.endpoint("half"), Limits(tokens_per_round=1))
    assert report.given_up == {"token_limit": 3}
    assert table.calls == []


@pytest.mark.parametrize("framework", ["react", "policy"])
async def test_a_scenarios_own_limit_ends_the_turn_for_the_agent_too(
    teaching: Any, open_policy: Any, framework: str
) -> None:
    class Browser:
        def turn(self, now: TurnView) -> Turns:
            while True:
                yield ToolCall("view_my_value")

    limit = Limit(counts=("read",), max=2, per="round", then="lapse")
    table = teaching.table("talk", limits=(limit,))
    report = await _play(framework, table, open_policy(Browser(), "browser"))
    assert len(table.calls) == 9
    assert report.given_up == {}
    assert report.end_reason == table.core.ended


@pytest.mark.parametrize("framework", ["react", "policy"])
async def test_a_failing_server_is_the_harness_and_not_the_agent(teaching: Any, framework: str) -> None:
    table = teaching.table()
    table.fail_after = 2
    async with table.client() as client:
        with pytest.raises(HarnessFailure):
            await load_framework(framework)().play(table.seat(client), teaching.endpoint("half"), BRIEF, Limits())


class Gate:
    """Writes down who was let in and out."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def enter(self, view: TurnView) -> None:
        self.seen.append(f"enter {view.round} {view.phase}")

    async def leave(self) -> None:
        self.seen.append("leave")


@pytest.mark.parametrize("framework", ["react", "policy"])
async def test_the_gate_is_entered_before_each_turn_and_left_after_it(teaching: Any, framework: str) -> None:
    table, gate = teaching.table("talk", rounds=1), Gate()
    await _play(framework, table, teaching.endpoint("half"), gate=gate)
    assert gate.seen == ["enter 1 talk", "leave", "enter 1 claim", "leave"]


async def test_a_failure_leaves_the_gate(teaching: Any) -> None:
    table, gate = teaching.table(), Gate()
    table.fail_after = 0
    async with table.client() as client:
        with pytest.raises(HarnessFailure):
            await load_framework("react")().play(
                table.seat(client, gate=gate), teaching.endpoint("half"), BRIEF, Limits()
            )
    assert gate.seen == ["enter 1 claim", "leave"]


async def test_an_external_seat_waits_for_the_runners_word() -> None:
    async def ended() -> str:
        return "terminated:rounds_completed"

    report = await ExternalAgent(ended).play(None, None, BRIEF, Limits())
    assert (report.framework, report.end_reason) == ("external", "terminated:rounds_completed")


async def test_the_brief_of_a_remote_seat_comes_from_view_rules(teaching: Any) -> None:
    table = teaching.table()
    async with table.client() as client:
        brief = await read_brief(client)
    assert brief == table.core.market_type.brief(table.core.scenario, "P1")


async def test_a_policy_endpoint_without_its_policy_is_refused(teaching: Any) -> None:
    table = teaching.table()
    async with table.client() as client:
        for framework in ("react", "policy"):
            with pytest.raises(HarnessFailure, match="with_policy"):
                await load_framework(framework)().play(table.seat(client), parse_model("policy:half"), BRIEF, Limits())
