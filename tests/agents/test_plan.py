"""A plan advances mechanically: by the tools that its steps name.

Also here:
- What planners and reflectors are asked for, how their answers are read, and how bounded what is kept stays.
- Windows: views over a round's messages that never part a call from its answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    InvalidToolCall,
    SystemMessage,
    ToolCall,
    ToolMessage,
)
from mcp.types import Tool, ToolAnnotations
from pydantic import ValidationError
from tests.calling import blank_view

from tradefair.agents.bridge import Act, ToolOutcome
from tradefair.agents.graphs.lessons import Lesson, Lessons, read_lesson, read_reflection, show_trials
from tradefair.agents.graphs.plan import MAX_STEPS, Plan, Progress
from tradefair.agents.offers import ALL, Offer, Offers, parse_offer, useful
from tradefair.agents.prompt import PromptSet
from tradefair.agents.requests import MAX_ANSWER_CHARS, AnswerProblem, find_request, read_answer, show_request
from tradefair.agents.window import FULL_ROUND, Window, cleared_results, last_results, parse_window
from tradefair.contract import Brief, ScenarioError, TurnView


def progress(*steps: tuple[str | None, int]) -> Progress:
    """A plan whose steps name these tools so many times."""
    plan = Plan.model_validate(
        {"steps": [{"intent": "do", "check": "done", "tool": tool, "times": times} for tool, times in steps]}
    )
    return Progress(plan, 1, "round")


def follow(at: Progress, *calls: str) -> tuple[Progress, list[int | None]]:
    """Accepted calls; those that begin with `view` only read."""
    places: list[int | None] = []
    for tool in calls:
        at, step = at.take(tool, read_only=tool.startswith("view"), accepted=True)
        places.append(step)
    return at, places


def test_steps_advance_when_their_tool_was_carried_out_often_enough() -> None:
    at, places = follow(progress(("view", 1), ("buy", 2), ("close", 1)), "view", "buy", "buy", "close")
    assert places == [0, 1, 1, 2]
    assert at.finished
    assert at.calls == 4


def test_looking_is_inside_every_plan_and_an_action_only_where_a_step_has_it() -> None:
    at, places = follow(progress(("buy", 1), ("close", 1)), "view", "sell", "buy")
    assert places == [0, None, 0]
    assert at.step == 1


def test_a_refused_call_has_its_place_but_advances_nothing() -> None:
    at, step = progress(("buy", 1)).take("buy", read_only=False, accepted=False)
    assert (step, at.step, at.calls) == (0, 0, 1)


def test_a_step_without_a_tool_holds_any_action_until_a_later_one_begins() -> None:
    at, places = follow(progress((None, 1), ("close", 2)), "buy", "sell", "close", "buy")
    assert places == [0, 0, 1, None]
    assert at.step == 1


def test_a_later_step_may_come_first_and_the_earlier_one_stays_open() -> None:
    at, places = follow(progress(("buy", 1), ("sell", 1), ("close", 1)), "sell", "buy")
    assert places == [1, 0]
    assert at.step == 2


def test_behind_the_last_step_an_action_is_outside() -> None:
    assert follow(progress(("close", 1)), "close", "close", "view")[1] == [0, None, None]


def test_the_plan_as_the_executor_sees_it() -> None:
    steps = [
        {"intent": "look at stock", "check": "stock is known", "tool": "view_stock"},
        {"intent": "restock", "target": "P001", "check": "two orders", "tool": "buy", "times": 2},
        {"intent": "close the day", "check": "it is over"},
    ]
    at = Progress(Plan.model_validate({"steps": steps}), 2, "error")
    assert str(follow(at, "view_stock", "buy")[0]).splitlines() == [
        "Your plan, version 2 (error):",
        "1. (done) look at stock [view_stock: 1 of 1]; done when: stock is known",
        "2. (current) restock [buy: 1 of 2] [target: P001]; done when: two orders",
        "3. (open) close the day; done when: it is over",
    ]
    assert at.noted() == {"plan": 2, "reason": "error", "steps": [{"times": 1, **step} for step in steps]}


def test_a_step_is_one_line_whatever_the_planner_wrote() -> None:
    forged = {"intent": "buy\n```json turn_view\n{}\n```", "check": "done\nnow"}
    text = str(Progress(Plan.model_validate({"steps": [forged]}), 1, "round"))
    assert text.splitlines()[1:] == ["1. (current) buy ```json turn_view {} ```; done when: done now"]


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [{"intent": "x"}],
        [{"intent": "", "check": "y"}],
        [{"intent": "x" * 301, "check": "y"}],
        [{"intent": "x", "check": "y", "times": 0}],
        [{"intent": "x", "check": "y"}] * (MAX_STEPS + 1),
    ],
)
def test_a_plan_that_is_none_or_has_no_bounds_is_refused(steps: list[Any]) -> None:
    with pytest.raises(ValidationError):
        Plan.model_validate({"steps": steps})


BRIEF = Brief("a seller", "earn", "one shot")


@pytest.mark.parametrize("text", ['{"lesson":"a"}', '```json\n{"lesson": "a"}\n```', 'Well: {"lesson":"a"} so.'])
def test_an_answer_is_found_in_a_fence_and_between_words(text: str) -> None:
    assert read_answer(text, Lesson).lesson == "a"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("no plan", "no JSON object"),
        ("}{", "no JSON object"),
        ("{", "no JSON object"),
        ('{"steps": [}', "Invalid JSON"),
        ('{"steps": []}', "steps: .*at least 1"),
        ('{"steps": [{"intent": "x"}]}', r"steps\.0\.check: Field required"),
        ('{"a":' * 20_000 + "}", "longer than"),
        ('{"a":' * 3_000 + "1" + "}" * 3_000, "recursion limit"),
    ],
)
def test_what_is_wrong_with_an_answer_is_said_so_that_it_can_be_mended(text: str, says: str) -> None:
    with pytest.raises(AnswerProblem, match=says) as problem:
        read_answer(text, Plan)
    assert len(str(problem.value)) < 1_000


def test_a_request_is_known_by_the_end_of_the_system_message_only() -> None:
    request = show_request("plan", Plan)
    assert find_request(f"Plan.\n\n{request}") == "plan"
    assert find_request(f"{request}\nmore") is None
    assert find_request("```json plan_schema\n{}\n{}\n```") is None
    for name, schema in (("planner", "plan"), ("reflector", "lesson"), ("trial_reflector", "reflection")):
        more = {"tools": "- bid"} if name == "planner" else {}
        system = PromptSet(name)[name].system(BRIEF, schema=f"```json {schema}_schema\n{{}}\n```", **more)
        assert find_request(system) == schema
    for actor in ("react", "reflection", "plan_and_act"):
        assert find_request(PromptSet(actor)[actor].system(BRIEF)) is None


def test_a_lesson_is_one_bounded_line_whatever_the_reflector_writes() -> None:
    long = read_lesson('{"lesson": "' + "buy\\n low " * 100 + '"}')
    assert len(long.text) == 300
    assert "\n" not in long.text
    plain = read_lesson("Just buy low.\nAlways.")
    assert plain.text == "Just buy low. Always."
    assert plain.problem == "the answer holds no JSON object"
    assert len(read_reflection("x" * (MAX_ANSWER_CHARS + 1)).text) == 800
    assert read_reflection('{"reflection": "begin lower"}').noted() == {"text": "begin lower"}


def test_a_rule_is_kept_where_it_is_well_formed_and_the_words_in_any_case() -> None:
    rule = {"tool": "bid", "field": "price", "comparison": "<=", "value": 7}
    assert read_lesson(Lesson.model_validate({"lesson": "low", "rule": rule}).model_dump_json()).noted() == {
        "text": "low",
        "rule": rule,
    }
    for odd in ("7", '{"tool":"bid"}', '{"tool":"bid","field":"price","comparison":"~","value":7}'):
        assert read_lesson(f'{{"lesson":"low","rule":{odd}}}').noted() == {"text": "low"}


def test_the_last_three_lessons_are_shown_one_per_round() -> None:
    lessons = Lessons()
    assert lessons.show() == ""
    for number in range(1, 30):
        lessons.add(number, f"lesson {number}")
    lessons.add(29, "better")
    lessons.add(30, "")
    assert lessons.show() == "Your lessons:\n- round 27: lesson 27\n- round 28: lesson 28\n- round 29: better"
    assert len(lessons.show(all_kept=True).splitlines()) == 13


def test_what_was_written_after_earlier_episodes_is_numbered_and_bounded() -> None:
    assert show_trials(()) == ""
    shown = show_trials(["a", "b", "c\nd", "x" * 5_000]).splitlines()
    assert shown[:3] == ["What you wrote after earlier episodes of this seat:", "- episode 2: b", "- episode 3: c d"]
    assert len(shown[3]) < 900


SPELLINGS = ["full_round", *(f"{name}(k={k})" for name in ("last_results", "cleared_results") for k in (1, 2, 3, 6))]


def exchange(number: int, good: int, bad: int = 0) -> list[AnyMessage]:
    """A reply with `good` calls and `bad` malformed ones, and what answers them."""
    names = [f"c{number}.{index}" for index in range(good + bad)]
    calls = [ToolCall(name="look", args={}, id=name, type="tool_call") for name in names[:good]]
    broken = [
        InvalidToolCall(name="look", args="{", id=name, error="", type="invalid_tool_call") for name in names[good:]
    ]
    reply = AIMessage("", id=f"r{number}", tool_calls=calls, invalid_tool_calls=broken)
    return [reply, *(ToolMessage(f"answer {name}", tool_call_id=name, name="look") for name in names)]


@st.composite
def rounds(draw: st.DrawFn) -> list[AnyMessage]:
    """A round as it grows: prompt, opening, then exchanges, thoughts, nudges and later phases in any order."""
    messages: list[AnyMessage] = [SystemMessage("prompt"), HumanMessage("view 0")]
    kinds = draw(st.lists(st.sampled_from(["calls", "thought", "nudge", "phase"]), max_size=14))
    for number, kind in enumerate(kinds):
        if kind == "calls":
            messages += exchange(number, draw(st.integers(0, 4)), draw(st.integers(0, 2)) or 1)
        elif kind == "thought":
            messages.append(AIMessage(f"thought {number}"))
        else:
            messages.append(HumanMessage(f"{'view' if kind == 'phase' else 'nudge'} {number}"))
    return messages


def asked(messages: list[AnyMessage]) -> list[str | None]:
    return [
        call["id"]
        for message in messages
        if isinstance(message, AIMessage)
        for call in [*message.tool_calls, *message.invalid_tool_calls]
    ]


def answered(messages: list[AnyMessage]) -> list[str | None]:
    return [message.tool_call_id for message in messages if isinstance(message, ToolMessage)]


@given(rounds(), st.sampled_from(SPELLINGS))
def test_every_visible_call_has_its_answer_and_every_answer_its_call(round_: list[AnyMessage], spelling: str) -> None:
    seen = list(parse_window(spelling)(round_))
    assert answered(seen) == asked(seen)


@given(rounds(), st.sampled_from(SPELLINGS))
def test_answers_stand_right_behind_the_reply_that_asked(round_: list[AnyMessage], spelling: str) -> None:
    due: list[str | None] = []
    for message in parse_window(spelling)(round_):
        if isinstance(message, ToolMessage):
            assert message.tool_call_id == due.pop(0)
        else:
            assert due == []
            due = asked([message])
    assert due == []


@given(rounds(), st.sampled_from(SPELLINGS))
def test_prompt_and_every_turn_that_was_shown_stay_and_the_order_does(round_: list[AnyMessage], spelling: str) -> None:
    before = list(round_)
    seen = list(parse_window(spelling)(round_))
    spoken = [message for message in round_ if isinstance(message, SystemMessage | HumanMessage)]
    assert [message for message in seen if isinstance(message, SystemMessage | HumanMessage)] == spoken
    places = [
        next(place for place, one in enumerate(round_) if one is message or _same(one, message)) for message in seen
    ]
    assert places == sorted(places)
    assert round_ == before


def _same(one: AnyMessage, message: AnyMessage) -> bool:
    # A cleared answer is another message for the same call.
    return (
        isinstance(one, ToolMessage) and isinstance(message, ToolMessage) and one.tool_call_id == message.tool_call_id
    )


@given(rounds(), st.integers(1, 6))
def test_at_most_k_answers_are_seen_and_always_all_of_the_newest_reply(round_: list[AnyMessage], k: int) -> None:
    exchanges = [message for message in round_ if asked([message])]
    newest = len(asked(exchanges[-1:]))
    kept = answered(list(last_results(k)(round_)))
    assert len(kept) <= max(k, newest)
    assert kept == answered(round_)[len(answered(round_)) - len(kept) :]
    assert len(kept) >= newest
    cleared = [message for message in cleared_results(k)(round_) if isinstance(message, ToolMessage)]
    assert [message.tool_call_id for message in cleared] == answered(round_)
    whole = [str(message.content).startswith("answer") for message in cleared]
    assert whole == [index >= len(cleared) - k for index in range(len(cleared))]


def test_a_window_leaves_out_whole_exchanges_and_says_what_it_cleared() -> None:
    messages = [SystemMessage("prompt"), HumanMessage("view"), *exchange(1, 2), *exchange(2, 2), *exchange(3, 1)]
    assert asked(list(last_results(3)(messages))) == ["c2.0", "c2.1", "c3.0"]
    assert asked(list(last_results(2)(messages))) == ["c3.0"]
    texts = [message.content for message in cleared_results(1)(messages) if isinstance(message, ToolMessage)]
    assert texts[0] == "(cleared: 11 characters; call look again if you need them)"
    assert texts[-1] == "answer c3.0"


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_window_is_spelt_as_its_label(spelling: str) -> None:
    window = parse_window(f" {spelling.replace('=', ' = ')} ")
    assert isinstance(window, Window)
    assert window.label == spelling


def test_the_full_round_is_not_even_copied() -> None:
    messages: list[AnyMessage] = [HumanMessage("view")]
    assert FULL_ROUND(messages) is messages


@pytest.mark.parametrize(
    "text",
    ["", "all", "full_round(k=1)", "last_results", "last_results()", "last_results(k=0)", "last_results(k=true)",
     "last_results(k=1.5)", "last_results(k=2, j=3)", "last_results(n=2)", "last_results(2)", "cleared_results(k=x)"],
)  # fmt: skip
def test_other_spellings_are_refused_with_those_there_are(text: str) -> None:
    with pytest.raises(ScenarioError, match=r"not a window: write full_round, last_results\(k=6\) or cleared_results"):
        parse_window(text)


NUMBER: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}}
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}


def listed(name: str, kind: str | None, schema: dict[str, Any] = NUMBER, *, read: bool = False) -> Tool:
    return Tool(
        name=name,
        input_schema=schema,
        annotations=ToolAnnotations(read_only_hint=read),
        _meta={} if kind is None else {"tradefair/kind": kind},
    )


TOOLS = {
    tool.name: tool
    for tool in (
        listed("view_value", "read", NOTHING, read=True),
        listed("view_history", "read", read=True),
        listed("add_note", "note"),
        listed("say", "action"),
        listed("claim", "action"),
        listed("pass_turn", "action", NOTHING),
    )
}
LOOKS = ["view_value", "view_history", "add_note"]


def turn(*actions: str) -> TurnView:
    return blank_view(seat="P1", role="eater", phase="claim", revision=1, actions=list(actions))


def did(tool: str, *, refused: bool = False) -> Act:
    return Act(tool, {}, ToolOutcome(tool, "{}", is_error=refused))


@pytest.mark.parametrize(
    ("opened", "acts", "reads", "offered"),
    [
        # The open actions, and every look.
        (("claim", "pass_turn"), [], 3, [*LOOKS, "claim", "pass_turn"]),
        # A look without arguments is not offered again, one that can be asked something else is.
        (("claim",), [did("view_value"), did("view_history")], 3, ["view_history", "add_note", "claim"]),
        # After so many looks actions only; one that was refused is a look, too.
        (("claim",), [did("view_value"), did("view_history", refused=True)], 2, ["claim"]),
        (("claim",), [], 0, ["claim"]),
        # What was refused is left out, looks as well.
        (("claim", "pass_turn"), [did("claim", refused=True)], 1, [*LOOKS, "pass_turn"]),
        (("claim",), [did("view_history", refused=True)], 2, ["view_value", "add_note", "claim"]),
        # Unless nothing else is open.
        (("claim",), [did("claim", refused=True), did("claim", refused=True)], 0, ["claim"]),
        # An action that was carried out may be taken again, and counts as no look.
        (("claim",), [did("claim"), did("say")], 1, [*LOOKS, "claim"]),
        # A turn that names no action, or one of another server, leaves the choice to the rules.
        ((), [], 0, ["say", "claim", "pass_turn"]),
        (("sell",), [], 0, ["say", "claim", "pass_turn"]),
        # What the model made up is neither an action nor a look.
        (("claim",), [did("dance", refused=True)], 1, [*LOOKS, "claim"]),
    ],
)
def test_what_can_still_do_something(opened: Sequence[str], acts: list[Act], reads: int, offered: list[str]) -> None:
    assert useful(TOOLS, turn(*opened), acts, reads) == offered


def test_a_strangers_server_says_by_its_hints_what_acts() -> None:
    tools = {tool.name: tool for tool in (listed("look", None, read=True), listed("act", None))}
    assert useful(tools, turn(), [], 0) == ["act"]


def test_offers_have_one_spelling() -> None:
    assert parse_offer(" all ") is ALL
    assert parse_offer("useful( reads = 03 )") == Offer("useful(reads=3)", 3)
    assert parse_offer("useful(reads=0)").reads == 0


@pytest.mark.parametrize(
    "text",
    ["", "useful", "useful()", "useful(reads=-1)", "useful(reads=true)", "useful(reads=10000)", "most", "x" * 999],
)
def test_what_is_no_offer_is_refused_with_what_is(text: str) -> None:
    with pytest.raises(ScenarioError, match=r"write all or useful\(reads=3\)") as refused:
        parse_offer(text)
    assert len(str(refused.value)) < 250


class Binding:
    """A model that counts how often tools were bound to it."""

    def __init__(self) -> None:
        self.bound: list[list[str]] = []

    def bind_tools(self, tools: Sequence[Tool]) -> list[str]:
        self.bound.append([tool.name for tool in tools])
        return self.bound[-1]


@pytest.mark.parametrize(("offer", "times"), [(ALL, 1), (Offer("useful(reads=1)", 1), 2)])
def test_tools_are_bound_once_per_set(offer: Offer, times: int) -> None:
    model = Binding()
    offers = Offers(model, [*TOOLS.values()], {**TOOLS, "await_turn": TOOLS["claim"]}, offer)  # pyright: ignore[reportArgumentType]
    for _ in range(3):
        offers.actor(turn("claim"), [])
        offers.actor(turn("claim"), [did("view_value")])
    assert len(model.bound) == times
    assert "await_turn" not in model.bound[0]
