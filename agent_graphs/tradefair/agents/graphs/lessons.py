"""What a reflector writes: one bounded lesson per round, one bounded reflection per repeated episode."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

from tradefair.agents.requests import AnswerProblem, read_answer

# Characters; lessons open every further round, so their size is a cost per round.
MAX_LESSON_CHARS = 300
# A reflection covers an episode and is read once per episode.
MAX_REFLECTION_CHARS = 800
# Shown: the prompt stays small. Kept: the reflection at the end sees more of the episode.
_SHOWN = 3
_KEPT = 12

_Name = Annotated[str, Field(min_length=1, max_length=64)]
# A rule compares with a number, a truth value or a short text, never with an object.
_Value = int | float | bool | Annotated[str, Field(max_length=200)]


class Rule(BaseModel):
    """A lesson that can be checked: when `tool` is called, its argument `field` compares so with `value`."""

    # JSON has no NaN; a rule with one could never hold.
    model_config = ConfigDict(allow_inf_nan=False)

    tool: _Name
    field: _Name
    comparison: Literal["<", "<=", "==", "!=", ">=", ">"]
    value: _Value


def _rule_or_none(value: object, read: ValidatorFunctionWrapHandler) -> Rule | None:
    # A lesson in words is worth keeping even where its rule is not well formed.
    try:
        return read(value)
    except ValidationError:
        return None


class Lesson(BaseModel):
    """One lesson in words and, where it bounds one argument of one tool, as a rule."""

    # The bound stands in the schema's text only: a longer lesson is cut, not refused.
    lesson: Annotated[str, Field(min_length=1, description=f"at most {MAX_LESSON_CHARS} characters")]
    rule: Annotated[Rule | None, WrapValidator(_rule_or_none)] = None


class TrialReflection(BaseModel):
    """What is carried from one episode to the next."""

    reflection: Annotated[str, Field(min_length=1, description=f"at most {MAX_REFLECTION_CHARS} characters")]


class Reflected(NamedTuple):
    """A text on one line, cut, its rule, and what was wrong with the answer."""

    text: str
    rule: Rule | None = None
    problem: str | None = None

    def noted(self) -> dict[str, Any]:
        """The fields of a note."""
        more: dict[str, Any] = {} if self.rule is None else {"rule": self.rule.model_dump(mode="json")}
        return {"text": self.text, **more, **({} if self.problem is None else {"problem": self.problem})}


def read_lesson(text: str) -> Reflected:
    """The lesson in a reflector's answer; an answer in plain words is taken as one."""
    try:
        answer = read_answer(text, Lesson)
    except AnswerProblem as problem:
        # Models that ignore the form still say something worth keeping; the problem is noted.
        return Reflected(_cut(text, MAX_LESSON_CHARS), problem=str(problem))
    return Reflected(_cut(answer.lesson, MAX_LESSON_CHARS), answer.rule)


def read_reflection(text: str) -> Reflected:
    """The reflection in a reflector's answer; an answer in plain words is taken as one."""
    try:
        answer = read_answer(text, TrialReflection)
    except AnswerProblem as problem:
        return Reflected(_cut(text, MAX_REFLECTION_CHARS), problem=str(problem))
    return Reflected(_cut(answer.reflection, MAX_REFLECTION_CHARS))


def show_trials(trials: Sequence[str]) -> str:
    """What was written after earlier episodes, the last three; "" where there is nothing."""
    # Numbered before the cut: the model sees which episodes these were.
    numbered = list(enumerate(trials, start=1))[-_SHOWN:]
    lines = [f"- episode {number}: {_cut(text, MAX_REFLECTION_CHARS)}" for number, text in numbered]
    return "\n".join(["What you wrote after earlier episodes of this seat:", *lines]) if lines else ""


class Lessons:
    """The lessons of one episode, one per round; the last three are shown, the last twelve kept."""

    def __init__(self) -> None:
        self._kept: deque[tuple[int, str]] = deque(maxlen=_KEPT)

    def add(self, round_number: int, text: str) -> None:
        """Keep the lesson of a round; a later one of the same round takes its place. "" is none."""
        # A round that goes on after a passed phase is reflected on twice; its later lesson knows more.
        if self._kept and self._kept[-1][0] == round_number:
            self._kept.pop()
        if text:
            self._kept.append((round_number, text))

    def show(self, *, all_kept: bool = False) -> str:
        """The last three, or all that are kept; "" where there is none."""
        shown = list(self._kept) if all_kept else list(self._kept)[-_SHOWN:]
        lines = [f"- round {number}: {text}" for number, text in shown]
        return "\n".join(["Your lessons:", *lines]) if lines else ""


def _cut(text: str, chars: int) -> str:
    # One line, or a lesson could pose as several entries of the list.
    flat = " ".join(text.split())
    return flat if len(flat) <= chars else flat[: chars - 1] + "…"
