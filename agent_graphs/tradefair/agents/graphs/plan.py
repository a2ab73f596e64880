"""A plan of typed steps, and how far it has come: pure, mechanical, the same for every market."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

# A plan is shown after every call: its size is a cost per request.
MAX_STEPS = 8
_MARKS = ("done", "current", "open")

# Bounds of a planner's texts, for the same reason.
_Words = Annotated[str, Field(min_length=1, max_length=300)]


class PlanStep(BaseModel):
    """One step: what for, about what, by which tool and how often, and how one knows that it is done."""

    model_config = ConfigDict(frozen=True)

    intent: _Words
    check: _Words
    target: Annotated[str | None, Field(max_length=200)] = None
    tool: Annotated[str | None, Field(min_length=1, max_length=64)] = None
    times: Annotated[int, Field(ge=1, le=1000)] = 1


class Plan(BaseModel):
    """What a planner answers."""

    model_config = ConfigDict(frozen=True)

    steps: Annotated[tuple[PlanStep, ...], Field(min_length=1, max_length=MAX_STEPS)]


class Taken(NamedTuple):
    """Where one executed call has its place: its step (from 0), or None for an action outside the plan."""

    progress: Progress
    step: int | None


@dataclass(frozen=True)
class Progress:
    """A plan and how far it has come.

    `version` counts the plans of a round from 1, `step` is the current step, `done` how often each step's tool was
    carried out, `calls` the calls made since the plan was.
    """

    plan: Plan
    version: int
    reason: str
    step: int = 0
    done: tuple[int, ...] = ()
    calls: int = 0

    @property
    def finished(self) -> bool:
        """Whether every step is behind us."""
        # Not `==`: `step` is one past the last when nothing is left.
        return self.step >= len(self.plan.steps)

    def take(self, tool: str, *, read_only: bool, accepted: bool) -> Taken:
        """Give one executed call its place: the next step that names its tool, else the current one if it may be there.

        Looking is always inside a plan; an action is when its step names no tool. Only an accepted call advances steps.
        """
        step = self._place(tool, read_only)
        after = replace(self, calls=self.calls + 1)
        # A refused call has its place in the plan and completes nothing.
        if step is None or not accepted or self.plan.steps[step].tool != tool:
            return Taken(after, step)
        # One call advances one step, also where several steps name its tool.
        done = tuple(count + (index == step) for index, count in enumerate(self._done()))
        return Taken(replace(after, done=done, step=_current(self.plan.steps, done, self.step)), step)

    def noted(self) -> dict[str, Any]:
        """The plan as fields of a note."""
        steps = [step.model_dump(mode="json", exclude_none=True) for step in self.plan.steps]
        return {"plan": self.version, "reason": self.reason, "steps": steps}

    def __str__(self) -> str:
        lines = [self._line(index, step) for index, step in enumerate(self.plan.steps)]
        return "\n".join((f"Your plan, version {self.version} ({self.reason}):", *lines))

    def _line(self, index: int, step: PlanStep) -> str:
        mark = _MARKS[0 if index < self.step else 1 if index == self.step else 2]
        tool = f" [{step.tool}: {self._done()[index]} of {step.times}]" if step.tool else ""
        target = f" [target: {step.target}]" if step.target else ""
        # On one line, whatever the planner wrote.
        return " ".join(f"{index + 1}. ({mark}) {step.intent}{tool}{target}; done when: {step.check}".split())

    def _place(self, tool: str, read_only: bool) -> int | None:
        # From the current step on: a step that was passed over is not gone back to.
        for index in range(self.step, len(self.plan.steps)):
            if self.plan.steps[index].tool == tool and self._done()[index] < self.plan.steps[index].times:
                return index
        if self.finished:
            return None
        # A step without a tool allows any action: the planner did not know by which tool it is done.
        return self.step if read_only or self.plan.steps[self.step].tool is None else None

    def _done(self) -> tuple[int, ...]:
        return self.done or (0,) * len(self.plan.steps)


def _current(steps: tuple[PlanStep, ...], done: tuple[int, ...], first: int) -> int:
    """The first step from `first` on that is not behind us: done, or without a tool while a later one has begun."""
    for index in range(first, len(steps)):
        # A step without a tool cannot be counted; it is behind us once a later step has begun.
        behind = any(done[index + 1 :]) if steps[index].tool is None else done[index] >= steps[index].times
        if not behind:
            return index
    return len(steps)
