"""`tau`: results of tau-bench and of its successor, simulated customers with tools of their own.

`simulations` next to `tasks` and `info`, or a list of `{task_id, trial, reward, traj, info}`. The actions that solve a
task are offered as a reference of its runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tradefair.evaluation.foreign.importers.items import Counts, Fact, Head, Item, Reader, Source
from tradefair.evaluation.foreign.interchange.messages import At, facts, used, walk
from tradefair.evaluation.foreign.interchange.shapes import first, nanoseconds, text
from tradefair.evaluation.foreign.interchange.transcript import Transcript
from tradefair.evaluation.read.objects import mapping, sequence

_SOLVED = 1 - 1e-6
"""A reward from which on a task counts as solved, as in both benchmarks."""

_USER = "user"
"""The seat of the simulated customer, where it has tools."""

_TASKS = 50_000


def sniff(head: Head) -> int:
    """Sure of a trajectory with its reward, or of simulations with their tasks."""
    keys = set(head.keys)
    if "simulations" in keys or ("traj" in keys and {"reward", "task_id"} & keys):
        return 95
    # One simulation alone: a line, or a file of its own.
    return 90 if {"messages", "reward_info"} <= keys else 0


def read(source: Source) -> Iterator[Item]:
    """One run for each simulation or trajectory."""
    results = _Results()
    many = "simulations" in source.head.keys
    # Runs as lines, a list of them, all that a command wrote about them, or one run after another over several lines.
    several = ("info", "tasks.item", "simulations.item") if many else ("item" if source.head.listed else "",)
    lines = source.head.lines and not source.head.listed and not many
    for line, place, value in source.records(*several, lines=lines):
        yield from results.element(place, mapping(value), line)
    yield results.tally.total()


class _Results:
    """What is remembered over the runs of a file: tasks and their solutions, and who played."""

    def __init__(self) -> None:
        self.tally = Transcript()
        self._info: dict[str, Any] = {}
        self._tasks: dict[str, dict[str, Any]] = {}

    def element(self, place: str, fields: dict[str, Any], line: int) -> Iterator[Item]:
        """One element of a document; what all runs share comes before them."""
        if place == "info":
            self._info = fields
        elif place == "tasks.item":
            if len(self._tasks) < _TASKS:
                self._tasks[text(fields.get("id"))] = _reference(mapping(fields.get("evaluation_criteria")))
        else:
            where = "" if line else f"{place.removesuffix('.item')}.{self.tally.records}"
            yield from self.run(fields, At("", line=line, place=where))

    def run(self, fields: dict[str, Any], at: At) -> Iterator[Item]:
        """One simulation: what it is, then its messages, those of a customer who calls tools in a seat of its own."""
        self.tally.records += 1
        messages = sequence(first(fields, "messages", "traj"))
        if not messages:
            yield at.odd("messages", "no messages in this simulation")
            return
        self.tally.understood += 1
        at = at._replace(run=self._named(fields))
        yield from self._facts(fields, at)
        customer = False
        for step, message in enumerate(messages, 1):
            spoken = mapping(message)
            acts = spoken.get("role") == "user" and bool(spoken.get("tool_calls"))
            if acts and not customer:
                customer = True
                yield Fact(at.run, _USER, "role", "user")
            moment = nanoseconds(spoken.get("timestamp"))
            here = at._replace(
                seat=_USER if acts else "", step=step, at_ns=moment, place=f"{at.place}.messages.{step - 1}".strip(".")
            )
            yield from self.tally.matched(walk(message, here, self.tally.left_out))
            yield from _spent(spoken, here)

    def _named(self, fields: dict[str, Any]) -> str:
        trial = text(fields.get("trial"))
        task = text(fields.get("task_id")) or f"run-{self.tally.records}"
        name = text(fields.get("id")) or (f"{task}-{trial}" if trial else task)
        return self.tally.named(name)

    def _facts(self, fields: dict[str, Any], at: At) -> Iterator[Item]:
        """Who played with which model, which task it was, what would solve it, and whether it was solved."""
        task = text(fields.get("task_id"))
        if task:
            yield Fact(at.run, None, "title", f"task {task}")
        who = mapping(self._info.get("agent_info"))
        yield from facts(at, agent=text(who.get("implementation")), model=text(who.get("llm")))
        info = mapping(fields.get("info"))
        reward = first({**fields, **mapping(fields.get("reward_info"))}, "reward")
        passed = reward >= _SOLVED if isinstance(reward, int | float) else None
        yield from facts(at, passed=passed, reference=self._tasks.get(task) or _reference(mapping(info.get("task"))))


def _spent(message: dict[str, Any], at: At) -> Iterator[Item]:
    """What one message cost; a customer's cost is its own."""
    if message.get("role") == "user":
        at = at._replace(seat=_USER)
    if at.seat != _USER:
        yield from used(message, at)
        yield from facts(at, usd=message.get("cost") or None)


def _reference(task: dict[str, Any]) -> dict[str, Any]:
    """{actions, outputs} that solve a task; actions of the customer are not the agent's to take."""
    actions = [
        {"tool": text(action.get("name")), "arguments": mapping(first(action, "arguments", "kwargs"))}
        for action in map(mapping, sequence(task.get("actions")))
        if action.get("requestor") != _USER
    ]
    outputs = [text(output) for output in sequence(first(task, "outputs", "communicate_info"))]
    return {"actions": actions, "outputs": outputs} if actions or outputs else {}


_COUNTS = Counts(skip=frozenset({"tasks", "info", "reward_info"}))

READER = Reader("tau", "results of tau-bench and tau2", sniff, read, unit="simulations", counts=_COUNTS)
