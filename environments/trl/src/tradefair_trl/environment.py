"""`environment(…)` makes the class that GRPOTrainer(environment_factory=…) takes: one method per tool of a seat.

TRL makes one instance per rollout, calls `reset` with the columns of the row, lets the model call the methods, and
asks `get_reward` once. Needs TRADEFAIR_CONTROL_URL and TRADEFAIR_CONTROL_TOKEN of a `tradefair host --tasks bundled`.
"""

import inspect
import json
import math
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal

from tradefair_client import Refused, Seat, control, create, mcp

_TYPES: dict[str, Any] = {"integer": int, "number": float, "string": str, "boolean": bool, "object": dict}
_BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
    "maxLength": "characters at most",
}
_BOUNDS |= {
    "minItems": "entries at least",
    "maxItems": "entries at most",
    "pattern": "of the form",
    "default": "default",
}
_PATIENCE = 20  # waits, of 30 seconds each, until a turn comes


def environment(
    task_or_scenario: str,
    *,
    seat: str | None = None,
    reward: Literal["score", "reward"] = "score",
    slim: bool = True,
    leave_out: Collection[str] = ("execute_code",),
) -> type:
    """The class of one seat: of a task (`train/17`), or of a scenario (`double_auction/bazaar`) with a seat.

    `reward` is the score in [-1, 1], or the raw number of the seat. With `slim` the host lists tools without their
    output schemas. A row's `task` or `seed` decides what a rollout plays; tools must be those of this class. Raises
    ValueError about a task of several seats, `tradefair_client.Refused` about what the host refuses.
    """
    order: dict[str, Any] = {"task": task_or_scenario}
    if not re.fullmatch(r"\w+/\d+", task_or_scenario):
        order = {"market": task_or_scenario.partition("/")[0], "scenario": task_or_scenario, "others": "stand_in"}
        order |= {"seats": [seat]} if seat else {}
    if slim:
        order["tools"] = "slim"
    probe = _ordered(order)
    listed = [tool for tool in mcp(probe, "tools/list")["tools"] if tool["name"] not in {*leave_out, "await_turn"}]
    control(f"/episodes/{probe.episode}", method="DELETE")
    methods: dict[str, Any] = {tool["name"]: _method(tool) for tool in listed}
    name = re.sub(r"\W+", "_", f"{task_or_scenario}_{probe.seat}")
    return type(name, (_Rollout,), {**methods, "_order": order, "_reward": reward, "__doc__": f"Seat {probe.seat}."})


class _Rollout:
    """What all classes share. TRL takes every method whose name begins with no underscore for a tool."""

    _order: Mapping[str, Any]
    _reward: str
    _seat: Seat | None = None

    def reset(self, seed: int | None = None, task: str | None = None, **row: Any) -> str:
        """Begin an episode; its rules and first turn, which TRL appends to the last user message."""
        self._leave()
        order = dict(self._order) if task is None else {"task": task, **_picked(self._order, "tools")}
        if seed is not None and "task" not in order:
            order["seed"] = seed
        self._seat = _ordered(order)
        rules = _text(self._called("view_rules"))
        return f"{rules}\n\nWhat ends your turn is answered when you are awaited again.\n{self._turn()}"

    def get_reward(self) -> float:
        """What the seat has earned, NaN where that cannot be told: TRL leaves NaN out. Ends what still runs."""
        if self._seat is None:
            return math.nan
        earned = control(f"/episodes/{self._seat.episode}/outcome?end=true")["seats"][self._seat.seat]
        self._leave()
        if self._reward == "score" and earned["score_range"] is None:
            raise ValueError(f"{type(self).__name__} has no scale of scores: environment(…, reward='reward')")
        if self._reward == "score" and earned["score"] is None:
            return 0.0  # It ended before anything counted; 0 is what doing nothing scores.
        value = earned[self._reward]
        return math.nan if value is None else float(value)

    def _leave(self) -> None:
        if self._seat is not None:
            control(f"/episodes/{self._seat.episode}", method="DELETE")
            self._seat = None

    def _called(self, tool: str, **arguments: Any) -> dict[str, Any]:
        assert self._seat is not None
        return mcp(self._seat, "tools/call", name=tool, arguments=arguments)

    def _turn(self) -> str:
        """The turn that comes next, or how the episode ended."""
        for _ in range(_PATIENCE):
            answer = self._called("await_turn", timeout_s=30)
            if not answer["structuredContent"].get("still_open"):
                break
        return _text(answer)

    def _play(self, tool: str, arguments: Mapping[str, Any]) -> str:
        if self._seat is None:
            return "the episode is over"
        try:
            answer = self._called(tool, **{name: value for name, value in arguments.items() if value is not None})
        except Refused as refused:
            if refused.args[0] != 401:
                raise
            return "the episode is over: nobody called for too long"
        ended = answer["_meta"]["tradefair/turn"]["turn_over"] and not answer["isError"]
        return f"{_text(answer)}\n{self._turn()}" if ended else _text(answer)


def _text(answer: Mapping[str, Any]) -> str:
    return answer["content"][0]["text"]


def _picked(order: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {name: order[name]} if name in order else {}


def _ordered(order: Mapping[str, Any]) -> Seat:
    """The one seat of a new episode."""
    seats = create(**order)
    if len(seats) == 1:
        return seats[0]
    for episode in {seat.episode for seat in seats}:
        control(f"/episodes/{episode}", method="DELETE")
    raise ValueError(f"{order}: {len(seats)} seats are invited; name one (seat=…), or take a task of one seat")


def _method(tool: Mapping[str, Any]) -> Callable[..., str]:
    """A plain function that transformers.utils.get_json_schema can read: types, and a docstring with `Args:`."""
    name, schema = tool["name"], tool["inputSchema"]
    needed, definitions = schema.get("required", ()), schema.get("$defs", {})
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    lines: list[str] = []
    # What has a default follows what has none.
    for field, form in sorted(schema.get("properties", {}).items(), key=lambda pair: pair[0] not in needed):
        kind = _type(form, definitions)
        default = inspect.Parameter.empty if field in needed else None
        kind = kind if field in needed else kind | None
        parameters.append(inspect.Parameter(field, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind))
        lines.append(f"    {field}: {_said(form, definitions)}")

    def method(self: _Rollout, **arguments: Any) -> str:
        return self._play(name, arguments)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = tool["description"] + ("\n\nArgs:\n" + "\n".join(lines) if lines else "")
    method.__signature__ = inspect.Signature(parameters, return_annotation=str)  # type: ignore[attr-defined]
    method.__annotations__ = {one.name: one.annotation for one in parameters[1:]} | {"return": str}
    return method


def _resolved(form: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """A form without reference and without null: the first branch of several."""
    for branch in form.get("anyOf", ()):
        if branch.get("type") != "null":
            return _resolved({**branch, **{key: form[key] for key in form if key != "anyOf"}}, definitions)
    reference = form.get("$ref", "").rpartition("/")[2]
    return {**definitions[reference], **form} if reference else dict(form)


def _type(form: Mapping[str, Any], definitions: Mapping[str, Any]) -> Any:
    form = _resolved(form, definitions)
    if "enum" in form:
        return Literal[tuple(form["enum"])]
    if form.get("type") == "array":
        return list[_type(form.get("items", {}), definitions)]
    return _TYPES.get(form.get("type", ""), Any)


def _said(form: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """The description on one line, with what Python's types cannot say: bounds, fields of objects."""
    form = _resolved(form, definitions)
    inner = _resolved(form.get("items", {}), definitions)
    fields = form.get("properties") or inner.get("properties") or {}
    parts = [f"{said} {json.dumps(form[key])}" for key, said in _BOUNDS.items() if key in form]
    parts += [f"{name} ({form.get('type', 'any')}): {_said(form, definitions)}" for name, form in fields.items()]
    text = form.get("description") or inner.get("description") or "as the rules say"
    return " ".join("; ".join([text, *parts]).split())
