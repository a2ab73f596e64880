"""What planners and reflectors are asked for, how their answers are read, and how bounded what is kept stays."""

from __future__ import annotations

import pytest

from tradefair.agents.graphs.lessons import Lesson, Lessons, read_lesson, read_reflection, show_trials
from tradefair.agents.graphs.plan import Plan
from tradefair.agents.prompt import PromptSet
from tradefair.agents.requests import MAX_ANSWER_CHARS, AnswerProblem, find_request, read_answer, show_request
from tradefair.contract import Brief

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
