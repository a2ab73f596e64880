"""A file of records that say, call or answer something, each translated into a message that `walk` knows.

What is remembered over a file is bounded: counts, names and steps of runs, open calls.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any

from tradefair.evaluation.foreign.interchange.items import Answer, Call, Item, Odd, Tallied
from tradefair.evaluation.foreign.interchange.messages import At, walk
from tradefair.evaluation.foreign.interchange.shapes import count, first, nanoseconds
from tradefair.evaluation.read.objects import mapping

MAX_NAMES = 60_000
"""Runs that are remembered: more than an import takes of a file."""

_MAX_OPEN = 256


class Transcript:
    """Takes records one after another and numbers their steps; knows what was left out and which calls are open."""

    def __init__(self) -> None:
        self.records: int = 0
        self.understood: int = 0
        self.left_out: Counter[str] = Counter()
        self._names: Counter[str] = Counter()
        self._steps: OrderedDict[str, int] = OrderedDict()
        self._open: OrderedDict[tuple[str, str], str] = OrderedDict()

    def named(self, name: str) -> str:
        """The name of a run; a second run of this name is `name#2`."""
        if name in self._names or len(self._names) < MAX_NAMES:
            self._names[name] += 1
        return name if self._names[name] <= 1 else f"{name}#{self._names[name]}"

    def step(self, run: str) -> int:
        """The number from 1 of the next step of a run."""
        number = self._steps.pop(run, 0) + 1
        self._steps[run] = number
        if len(self._steps) > MAX_NAMES:
            self._steps.popitem(last=False)
        return number

    def matched(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items; an answer without an id belongs to the first open call of its run, of the tool that it names."""
        for item in items:
            if isinstance(item, Call):
                self._open[item.run, item.key] = item.tool
                if len(self._open) > _MAX_OPEN:
                    self._open.popitem(last=False)
            elif isinstance(item, Answer) and self._open.pop((item.run, item.key), None) is None:
                tool = item.key.removeprefix("name:")
                waiting = (key for (run, key), name in self._open.items() if run == item.run and tool in ("", name))
                key = next(waiting, None) if item.key.startswith("name:") else None
                if key is not None:
                    del self._open[item.run, key]
                    yield item._replace(key=key)
                    continue
            yield item

    def total(self) -> Tallied:
        """The item that says all of it, at the end of a file."""
        return Tallied(self.records, self.understood, tuple(self.left_out.items()))

    def message(self, message: Any, at: At) -> Iterator[Item]:
        """A record that is a message: all that it holds."""
        return self.used(self.said(message, at))

    def said(self, message: Any, at: At) -> Iterator[Item]:
        """All that one message holds, as the next step of its run, at the moment that it names."""
        return self.matched(walk(message, self.here(message, at), self.left_out))

    def call(self, fields: dict[str, Any], key: str, tool: str, arguments: Any, at: At) -> Iterator[Item]:
        """A call that a record makes."""
        return self.matched([self.here(fields, at).call(key, tool, arguments)])

    def answer(self, fields: dict[str, Any], key: str, result: Any, error: Any, at: At) -> Iterator[Item]:
        """The answer that a record gives."""
        return self.matched([self.here(fields, at).answer(key, result, error)])

    def leave(self, what: str) -> Iterator[Item]:
        """A record that is known and says nothing of calls or talk."""
        return self.used(self.left(what))

    def left(self, what: str) -> Iterator[Item]:
        """What is left out, counted by name."""
        count(self.left_out, what)
        return iter(())

    def refuse(self, odd: Odd) -> Iterator[Item]:
        """A record that is not understood."""
        return self.used((odd,))

    def here(self, fields: Any, at: At) -> At:
        """Where the next step of a run stands; `fields` may name its moment."""
        step = self.step(at.run)
        moment = nanoseconds(first(mapping(fields), "timestamp", "created_at", "time"))
        return at._replace(step=step, at_ns=moment or at.at_ns, place=at.place or f"messages.{step - 1}")

    def used(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items of one record, which is understood where none of them is odd."""
        self.records += 1
        understood = 1
        for item in items:
            understood &= not isinstance(item, Odd)
            yield item
        self.understood += understood
