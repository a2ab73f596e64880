"""What a reader of messages remembers over a file, all of it bounded: counts, names and steps of runs, open calls."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator

from tradefair.evaluation.foreign.interchange.items import Answer, Call, Item, Tallied

MAX_NAMES = 60_000
"""Runs that are remembered: more than an import takes of a file."""

_MAX_OPEN = 256


class Tally:
    """Records met and used, what was left out, the names of runs, and the calls that wait for an answer."""

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
