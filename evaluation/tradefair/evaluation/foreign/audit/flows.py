"""How values flow between a foreign agent's calls: which answers held what an argument names, over many runs.

An argument names an object where its values look like ids and mostly stood in earlier answers. Nothing here knows what
a tool means.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tradefair.evaluation.foreign.audit.run import Call, Run
from tradefair.evaluation.foreign.interchange.shapes import text
from tradefair.evaluation.read.objects import mapping, sequence

_ID = re.compile(r"(?=\S*\d)[^\s\"'(),;<>\[\]{}|]{3,60}")
_TOKEN = re.compile(r"[^\s\"'(),;<>\[\]{}|]{3,60}")
_ENDS = ".:!?*`"
_MAX_FIELDS = 200
"""Fields of an answer that are looked at."""


class Use(NamedTuple):
    """An argument of one call that holds ids. `known` are those that an answer before held, `held` by which tools.

    `shown` are the ids that a call of a tool, by its name, had shown: named in its arguments or held in its answer.
    """

    run: str
    call: Call
    argument: str
    values: tuple[str, ...]
    known: int
    shown: Mapping[str, frozenset[str]]


@dataclass
class Entity:
    """What is known of a kind of object, over all runs: the arguments that name one, how many ids, how many answered.

    `takers` are the reads that take such an argument, `holders` the reads whose answers held its ids, with how many
    uses each.
    """

    name: str
    arguments: dict[str, None] = field(default_factory=dict[str, None])
    uses: int = 0
    known: int = 0
    takers: Counter[str] = field(default_factory=Counter[str])
    holders: Counter[str] = field(default_factory=Counter[str])

    @property
    def flows(self) -> bool:
        """Whether at least half of its ids came from answers, and a read shows it."""
        return self.known * 2 >= self.uses > 0 and bool(self.looks)

    @property
    def looks(self) -> list[str]:
        """The reads that show such an object: those that take it, else the one that held it most often."""
        taken = self.takers.total()
        return [tool for tool, times in self.takers.most_common() if times * 10 >= taken] or [
            tool for tool, _ in self.holders.most_common(1)
        ]


def object_name(argument: str) -> str:
    """What an argument names: `order` for order_id and orderIds."""
    for ending in ("_ids", "_id", "Ids", "Id"):
        if argument.endswith(ending) and len(argument) > len(ending):
            return argument.removesuffix(ending)
    return argument


def ids_in(value: Any) -> Iterator[str]:
    """The ids that an argument holds: 3 to 60 characters with a digit and without a space; a list may hold several."""
    for part in sequence(value) or [value]:
        if _ID.fullmatch(name := text(part)):
            yield name


def tokens_of(value: Any) -> Iterator[str]:
    """Everything in an answer that could be an id: keys, texts and whole numbers, and the words of texts."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            waiting += [*mapping(part), *mapping(part).values()]
        elif isinstance(part, list):
            waiting += sequence(part)
        elif words := text(part):
            for token in _TOKEN.findall(words):
                yield token
                if token[-1] in _ENDS:
                    yield token.rstrip(_ENDS)


def fields_of(answer: Any) -> dict[str, str]:
    """Small scalar fields of an answer by path (`status`, `address.state`), not those in lists."""
    found: dict[str, str] = {}
    waiting: list[tuple[str, Any]] = [("", mapping(answer))]
    while waiting and len(found) < _MAX_FIELDS:
        path, value = waiting.pop()
        if isinstance(value, dict) and path.count(".") < 2:
            waiting += [
                (f"{path}.{name}".lstrip("."), part) for name, part in mapping(value).items() if "." not in name
            ]
        elif isinstance(value, str | bool | int) and len(str(value)) <= 40:
            found[path] = str(value)
    return found


def uses_of(run: Run) -> Iterator[Use]:
    """Every use of an argument that holds ids, in order."""
    shown: defaultdict[str, set[str]] = defaultdict(set)
    answered: defaultdict[str, set[str]] = defaultdict(set)
    for call in run.calls:
        given = {name: tuple(dict.fromkeys(ids_in(value))) for name, value in mapping(call.arguments).items()}
        for name, values in given.items():
            if values:
                known = sum(any(value in held for held in answered.values()) for value in values)
                before = {tool: ids.intersection(values) for tool, ids in shown.items()}
                yield Use(run.id, call, name, values, known, {t: frozenset(ids) for t, ids in before.items() if ids})
        if call.accepted:
            held = set(tokens_of(call.answer))
            # An answer that repeats what it was asked for has not brought it.
            named = {value for values in given.values() for value in values}
            answered[call.tool] |= held - named
            shown[call.tool] |= held | named


def entities_of(uses: Iterable[Use], reads: Collection[str]) -> dict[str, Entity]:
    """What is known of each kind of object; `reads` are the tools that only look."""
    found: dict[str, Entity] = {}
    for use in uses:
        entity = found.setdefault(object_name(use.argument), Entity(object_name(use.argument)))
        entity.arguments[use.argument] = None
        entity.uses += len(use.values)
        entity.known += use.known
        if use.call.tool in reads:
            entity.takers[use.call.tool] += 1
        entity.holders.update(tool for tool in use.shown if tool in reads)
    return found
