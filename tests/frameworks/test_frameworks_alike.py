"""Every framework plays as our react graph does: same calls, same luck, same limits, same account of itself."""

from __future__ import annotations

import sys
from dataclasses import asdict
from importlib.util import find_spec
from typing import Any, NamedTuple

import pytest

from fairground.contract.errors import HarnessFailure, ScenarioError
from fairground.contract.limits import Limit
from fairground.contract.policy import ToolCall, Turns, TurnView
from fairground.frameworks import EXTRAS, load_framework
from fairground.frameworks.base import Limits
from fairground.frameworks.models import Faults, ModelEndpoint, parse_model
from fairground.frameworks.models.serving import open_address


def _extra(name: str) -> Any:
    missing = find_spec(EXTRAS[name].module) is None
    reason = f"{EXTRAS[name].module} is not installed: make test-extras"
    return pytest.param(name, marks=[pytest.mark.extra, pytest.mark.skipif(missing, reason=reason)])


each_framework = pytest.mark.parametrize("framework", ["openai_loop", *map(_extra, EXTRAS)])


class Fumbler:
    """Asks for what is refused or does not exist, reads and writes before it claims."""

    def turn(self, now: TurnView) -> Turns:
        if now.phase == "talk":
            yield ToolCall("say", {"text": f'round {now.round}: "```json turn_view" \n é'})
        for call in (ToolCall("claim", {"slices": 99}), ToolCall("claim", {"slices": "all"}), ToolCall("fly")):
            answer = yield call
            assert answer.error is not None
        history = yield ToolCall("view_history", {"first_round": max(1, now.round - 1)})
        yield ToolCall("add_note", {"text": f"{now.round} {len(history.data['rounds'])}"})
        mail = (yield ToolCall("read_messages")).data["messages"]
        yield ToolCall("claim", {"slices": len(mail)})


class Browser:
    """Never stops reading."""

    def turn(self, now: TurnView) -> Turns:
        while True:
            yield ToolCall("view_my_value")


class Done(NamedTuple):
    """What a play left behind, without what must differ: names, times, words of a framework's own."""

    head: str
    calls: list[Any]
    notes: list[dict[str, Any]]
    report: dict[str, Any]


_OWN = {"latency_s", "finish_reason", "text", "model"}


async def play(
    teaching: Any,
    framework: str,
    endpoint: ModelEndpoint,
    preset: str,
    *,
    faults: str = "",
    limits: Limits | None = None,
    rules: tuple[Limit, ...] = (),
) -> Done:
    """P1 played over HTTP to the endpoint, as to any model; `rules` are the scenario's own limits."""
    async with (
        teaching.table(preset, limits=rules) as made,
        open_address(endpoint, faults=Faults.parse(faults)) as address,
    ):
        report = await made.play(framework, address.endpoint(endpoint.label), limits)
    written = teaching.written(made)
    notes = [{key: value for key, value in note.items() if key not in _OWN} for note in written.notes]
    about = {key: value for key, value in asdict(report).items() if key != "framework"}
    return Done(written.head, written.calls, notes, about)


async def both(teaching: Any, framework: str, policy: Any, preset: str = "pie", **given: Any) -> Done:
    """The play of a framework, after it was compared with that of the react graph."""
    made = policy if callable(policy) else lambda: teaching.policy(policy)
    ours = await play(teaching, "react", teaching.around(made()), preset, **given)
    theirs = await play(teaching, framework, teaching.around(made()), preset, **given)
    assert theirs.calls == ours.calls
    assert theirs.notes == ours.notes
    assert theirs.report == ours.report
    assert theirs.head == ours.head
    return theirs


@each_framework
async def test_a_policy_plays_as_through_the_react_graph_and_as_inside_the_episode(
    teaching: Any, framework: str
) -> None:
    done = await both(teaching, framework, "random_legal", "talk")
    inside = await teaching.native(teaching.policy("random_legal"), "talk")
    assert done.head == inside.head
    assert done.report["rounds"] == 3


@each_framework
async def test_refusals_notes_strangers_text_and_unknown_tools_are_the_same_in_the_trace(
    teaching: Any, framework: str
) -> None:
    done = await both(teaching, framework, Fumbler, "talk")
    assert [tool for tool, _ in done.calls].count("fly") == 3
    assert [tool for tool, _ in done.calls].count("view_notes") == 2


@each_framework
async def test_a_silent_model_is_nudged_once_a_phase_and_each_phase_lapses(teaching: Any, framework: str) -> None:
    done = await both(teaching, framework, "passive", "talk")
    assert (done.report["given_up"], done.report["nudges"]) == ({"no_call": 6}, 6)


@each_framework
async def test_a_thought_is_followed_by_another_request_without_a_word(teaching: Any, framework: str) -> None:
    done = await both(teaching, framework, "half", faults="empty@2,empty@4")
    assert (done.report["nudges"], done.report["given_up"], done.report["replies"]) == (0, {}, 6)


@each_framework
async def test_two_thoughts_in_a_row_are_nudged(teaching: Any, framework: str) -> None:
    done = await both(teaching, framework, "half", faults="empty@2..3,empty@5..6")
    assert (done.report["nudges"], done.report["given_up"], done.report["tool_calls"]) == (2, {}, 4)


@each_framework
async def test_a_models_refusal_is_a_thought(teaching: Any, framework: str) -> None:
    done = await play(teaching, framework, teaching.endpoint("half"), "pie", faults="refusal@2,refusal@5")
    assert [tool for tool, _ in done.calls] == ["view_my_value", "claim", "claim", "claim"]
    assert (done.report["replies"], done.report["nudges"], done.report["given_up"]) == (6, 0, {})


@each_framework
async def test_malformed_arguments_and_unknown_tools_of_a_model_do_not_end_its_round(
    teaching: Any, framework: str
) -> None:
    faults = "malformed@1..4,unknown_tool@5..8,truncated@10,endless@12"
    done = await both(teaching, framework, "half", faults=faults)
    assert [tool for tool, _ in done.calls].count("no_such_tool") == 4
    assert done.report["given_up"] == {}
    assert sum(note["invalid_calls"] for note in done.notes) == 5


@each_framework
@pytest.mark.parametrize("kind", ["malformed", "unknown_tool"])
async def test_the_call_limit_ends_a_round_of_nothing_but_mistakes(teaching: Any, framework: str, kind: str) -> None:
    done = await both(teaching, framework, "half", faults=f"{kind}@1..", limits=Limits(calls_per_round=4))
    assert done.report["given_up"] == {"call_limit": 3}
    assert done.report["tool_calls"] == 12


@each_framework
async def test_the_call_limit_gives_the_round_up(teaching: Any, framework: str) -> None:
    done = await both(teaching, framework, Browser, "talk", limits=Limits(calls_per_round=5))
    assert (done.report["given_up"], len(done.calls)) == ({"call_limit": 3}, 15)


@each_framework
async def test_the_token_limit_gives_the_round_up_before_its_calls_are_made(teaching: Any, framework: str) -> None:
    done = await both(teaching, framework, "half", limits=Limits(tokens_per_round=1))
    assert (done.report["given_up"], done.calls) == ({"token_limit": 3}, [])


@each_framework
async def test_a_scenarios_own_limit_ends_the_turn(teaching: Any, framework: str) -> None:
    limit = Limit(counts=("read",), max=2, per="round", then="lapse")
    done = await both(teaching, framework, Browser, "talk", rules=(limit,))
    assert (len(done.calls), done.report["given_up"]) == (9, {})


@each_framework
async def test_a_failing_endpoint_is_asked_again_and_no_call_is_made_twice(teaching: Any, framework: str) -> None:
    done = await both(teaching, framework, "half", faults="500@1,429@3,drop@6")
    assert [tool for tool, _ in done.calls] == ["view_my_value", "claim", "claim", "claim"]


@each_framework
async def test_an_endpoint_that_stays_broken_is_a_harness_failure(teaching: Any, framework: str) -> None:
    with pytest.raises(HarnessFailure, match="500"):
        await play(teaching, framework, teaching.endpoint("half"), "pie", faults="500@2..")


@each_framework
async def test_a_failing_policy_is_a_harness_failure(teaching: Any, framework: str) -> None:
    class Broken:
        def turn(self, now: TurnView) -> Turns:
            yield ToolCall("view_my_value")
            raise HarnessFailure("the policy is broken")

    with pytest.raises(HarnessFailure, match="the policy is broken"):
        await play(teaching, framework, teaching.around(Broken()), "pie")


@each_framework
async def test_a_framework_without_its_model_is_refused(teaching: Any, framework: str) -> None:
    async with teaching.table() as table:
        with pytest.raises(HarnessFailure, match="needs a model"):
            await table.play(framework, None)
    async with teaching.table() as table:
        with pytest.raises(HarnessFailure, match="with_policy"):
            await table.play(framework, parse_model("policy:half"))


@each_framework
async def test_a_seat_without_a_way_to_lapse_ends_with_the_phase_that_was_given_up(
    teaching: Any, framework: str
) -> None:
    async with teaching.table() as table:
        report = await table.play(framework, teaching.endpoint("passive"), lapse=None)
    assert (report.stop, report.end_reason) == ("gave_up", None)


@pytest.mark.parametrize("framework", EXTRAS)
def test_a_framework_whose_package_is_missing_says_how_to_get_it(
    framework: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, EXTRAS[framework].module, raising=False)
    with pytest.raises(ScenarioError, match=rf"pip install 'fairground\[{EXTRAS[framework].name}\]'"):
        load_framework(framework)
