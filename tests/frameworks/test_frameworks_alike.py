"""Every framework plays as our react graph does: same calls, same luck, same limits, same account of itself."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple, cast

import pytest
from tests.frameworks.test_seats import Browser

from tradefair.contract import HarnessFailure, Limit, ToolCall, Turns, TurnView
from tradefair.contract.kernel.players import Limits
from tradefair.frameworks import EXTRAS
from tradefair.frameworks.models import Faults, ModelEndpoint, parse_model
from tradefair.frameworks.models.serving import open_address
from tradefair.frameworks.models.wire import read_arguments


def _extra(name: str) -> Any:
    missing = find_spec(EXTRAS[name].module) is None
    reason = f"{EXTRAS[name].module} is not installed"
    return pytest.param(name, marks=pytest.mark.skipif(missing, reason=reason))


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
        report = await made.play(framework, address.endpoint(endpoint), limits)
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
async def test_the_model_is_told_the_same_words_and_tools(teaching: Any, framework: str) -> None:
    faults = "malformed@2,unknown_tool@4,empty@6..7"
    ours = await heard(teaching, "react", faults)
    theirs = await heard(teaching, framework, faults)
    assert theirs == ours


async def heard(teaching: Any, framework: str, faults: str) -> list[Any]:
    """All that a model was told and answered while `Fumbler` played: messages and tools, each once, in plain form."""
    tape = teaching.folder / f"{framework}.jsonl"
    endpoint = teaching.around(Fumbler())
    async with (
        teaching.table("talk") as table,
        open_address(endpoint, faults=Faults.parse(faults), record=tape) as address,
    ):
        await table.play(framework, address.endpoint(endpoint))
    lines = [json.loads(line) for line in tape.read_text(encoding="utf-8").splitlines()]
    parts = {line["id"]: plain(line["body"]) for line in lines if line["kind"] == "part"}
    calls = [line for line in lines if line["kind"] == "call"]
    # Some frameworks drop replies that said nothing.
    told = [[parts[part] for part in [*call["messages"], call["tools"]]] for call in calls]
    return [[part for part in parts if part != ("assistant", "", [], None)] for parts in told]


def plain(part: Any) -> Any:
    """A message or the tools without what says nothing to a model: empty fields, strictness, spelling of arguments."""
    if isinstance(part, list):
        shown: list[dict[str, Any]] = [tool["function"] for tool in cast("list[Any]", part)]
        return [(tool["name"], tool["description"], tool["parameters"]) for tool in shown]
    message = cast("dict[str, Any]", part)
    made: list[dict[str, Any]] = [call["function"] for call in message.get("tool_calls") or ()]
    calls = [(call["name"], spelt(call["arguments"])) for call in made]
    return message["role"], message.get("content") or "", calls, message.get("tool_call_id")


def spelt(arguments: str) -> Any:
    """Arguments in a history: an object, or the text that was none, under whatever name it is resent."""
    read = read_arguments(arguments)
    assert read is not None, "an endpoint that parses the history would refuse it"
    return next(iter(read.values())) if read.keys() & {"malformed_arguments", "INVALID_JSON"} else read


@pytest.mark.parametrize("framework", [_extra("openai_agents")])
async def test_the_agents_sdk_traces_nothing_to_its_maker(teaching: Any, framework: str) -> None:
    sdk: Any = import_module("agents")
    told: list[str] = []

    def tell(name: str, *_: Any) -> None:
        told.append(name)

    names = ("on_trace_start", "on_trace_end", "on_span_start", "on_span_end", "force_flush", "shutdown")
    methods = {name: partial(tell, name) for name in names}
    sdk.add_trace_processor(type("Recorder", (sdk.TracingProcessor,), methods)())
    await play(teaching, framework, teaching.endpoint("half"), "pie")
    assert told == []


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
async def test_the_calls_of_one_reply_are_made_in_order_once_and_not_after_the_turns_end(
    teaching: Any, script: Any, framework: str
) -> None:
    calls = [("claim", '{"slices": 99}'), ("fly", "{}"), ("view_my_value", ""), ("claim", '{"slices": 1}')]
    model = script(script.says(*calls, ("claim", '{"slices": 2}')))
    async with teaching.table(rounds=1) as table, model.served() as endpoint:
        report = await table.play(framework, endpoint)
    assert [tool for tool, _ in teaching.written(table).calls] == ["claim", "fly", "view_my_value", "claim"]
    assert (report.replies, report.tool_calls, report.given_up) == (1, 5, {})


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
