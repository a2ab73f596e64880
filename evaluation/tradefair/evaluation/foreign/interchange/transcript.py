"""A file of records that say, call or answer something, each translated into a message that `walk` knows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tradefair.evaluation.foreign.interchange.items import Answer, Call, Item, Odd
from tradefair.evaluation.foreign.interchange.messages import At, walk
from tradefair.evaluation.foreign.interchange.shapes import count, first, nanoseconds
from tradefair.evaluation.foreign.interchange.tally import Tally
from tradefair.evaluation.read.objects import mapping


class Transcript(Tally):
    """Takes records one after another, and numbers their steps."""

    def message(self, message: Any, at: At) -> Iterator[Item]:
        """A record that is a message: all that it holds."""
        return self.used(self.said(message, at))

    def said(self, message: Any, at: At) -> Iterator[Item]:
        """All that one message holds, as the next step of its run, at the moment that it names."""
        return self.matched(walk(message, self.here(message, at), self.left_out))

    def call(self, fields: dict[str, Any], key: str, tool: str, arguments: Any, at: At) -> Iterator[Item]:
        """A call that a record makes."""
        here = self.here(fields, at)
        return self.matched([Call(here.run, here.seat, key, tool, arguments, here.step, here.at_ns)])

    def answer(self, fields: dict[str, Any], key: str, result: Any, error: Any, at: At) -> Iterator[Item]:
        """The answer that a record gives."""
        here = self.here(fields, at)
        return self.matched([Answer(here.run, key, result, error, here.step, here.at_ns)])

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
