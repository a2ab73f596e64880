"""plan_break: actions outside the agent's own plan, or against its own lesson. Reads mechanical fields only.

The agent's graph notes them, outside the chain: `{"kind": "plan", "round", "steps": [{"tool", "target", …}]}` and
`{"kind": "lesson", "round", "rule": {"tool", "field", "comparison", "value"}}`. An action is inside the plan when a
step of any plan of its round names its tool (or names none: then every tool is) and, where all such steps name objects
of the market as their targets, one of these stands in its arguments. A rule binds the next round's calls of its tool.
Words are never judged.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from tradefair.evaluation.modes.diagnosis import Case, Seen
from tradefair.evaluation.modes.play import SeatPlay, Step
from tradefair.evaluation.modes.shown import text_of
from tradefair.evaluation.read.objects import mapping, sequence

_ANY = ""
"""The tool of a step that names none."""
# Notes lie outside the chain and come from an agent's graph: their size is bounded.
_MAX_STEPS = 1_000
_MAX_RULES = 100
_COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}


class _Rule(NamedTuple):
    """What a lesson wants of the next round."""

    tool: str
    field: str
    comparison: str
    value: Any

    def forbids(self, step: Step) -> bool:
        said = step.arguments.get(self.field)
        try:
            return step.tool == self.tool and said is not None and not _COMPARED[self.comparison](said, self.value)
        # A lesson may compare a text with a number: it then binds nothing.
        except TypeError:
            return False


def detect(play: SeatPlay) -> Seen:
    """Accepted actions that no step of the round's plans names, or that a lesson of the round before forbids."""
    plans, rules = _plans(play), _rules(play)
    judged = [
        step
        for step in play.direct()
        if step.kind == "action"
        and step.accepted
        # Ending the turn needs no plan.
        and not step.ends_turn
        and (step.round in plans or step.round in rules)
    ]
    cases: list[Case] = []
    contrary = 0
    for step in judged:
        against = next((rule for rule in rules.get(step.round, ()) if rule.forbids(step)), None)
        if against is not None:
            contrary += 1
            wanted = f"{against.field} {against.comparison} {str(against.value)[:20]}"
            cases.append(step.case(f"against the own lesson that {wanted}"))
        elif step.round in plans and not _planned(step, plans[step.round]):
            cases.append(step.case("is no step of the own plan"))
    return Seen(cases, len(judged), {"outside plan": float(len(cases) - contrary), "against lesson": float(contrary)})


def _planned(step: Step, steps: Mapping[str, frozenset[str] | None]) -> bool:
    """Whether a step of a plan allows the tool and, where all steps with this tool name targets, one of them."""
    # A step that names no tool allows every action (docs/explanation/why/modes.md).
    if _ANY in steps or step.tool not in steps:
        return _ANY in steps
    targets = steps[step.tool]
    # As text, because an id may stand at any depth of the arguments.
    said = text_of(dict(step.arguments))
    return targets is None or any(target in said for target in targets)


def _plans(play: SeatPlay) -> dict[int, dict[str, frozenset[str] | None]]:
    """By round, the targets of each tool in any version of the plan; None: any target."""
    found: dict[int, dict[str, frozenset[str] | None]] = {}
    for note in play.notes_of("plan"):
        at = note.get("round")
        if not isinstance(at, int) or not isinstance(note.get("steps"), list):
            continue
        tools = found.setdefault(at, {})
        for tool, target in _steps(sequence(note["steps"])):
            known = tools.get(tool, frozenset[str]())
            # A target in free words is no object of the market and cannot be checked.
            is_object = target is not None and (target in play.attended or target in play.acted)
            # None, any target, wins for good: a later version of the plan cannot narrow an earlier one.
            tools[tool] = known | {str(target)} if is_object and known is not None else None
    return found


def _steps(steps: list[Any]) -> Iterator[tuple[str, str | None]]:
    """Tool and target of a plan's steps; no text where a step names none."""
    for step in map(mapping, steps[:_MAX_STEPS]):
        tool, target = step.get("tool"), step.get("target")
        yield tool if isinstance(tool, str) else _ANY, target if isinstance(target, str) and target else None


def _rules(play: SeatPlay) -> dict[int, list[_Rule]]:
    """By the round that they are for: the one after the lesson."""
    found: dict[int, list[_Rule]] = {}
    for note in play.notes_of("lesson"):
        at, rule = note.get("round"), mapping(note.get("rule"))
        tool, field, comparison = (str(rule.get(name, "")) for name in ("tool", "field", "comparison"))
        if isinstance(at, int) and comparison in _COMPARED and "value" in rule:
            # A lesson is drawn after its round, so it can bind the next one only.
            rules = found.setdefault(at + 1, [])
            if len(rules) < _MAX_RULES:
                rules.append(_Rule(tool, field, comparison, rule["value"]))
    return found
