"""The map file: what the tools of somebody's agent do, and what its actions have to rest on. Written by a person."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from tradefair.contract.errors import ScenarioError, unknown
from tradefair.contract.scenario import checked_content
from tradefair.evaluation.foreign.audit.run import FAILED_ANSWER, as_json
from tradefair.evaluation.record import Record
from tradefair.files.toml_lines import line_of
from tradefair.files.user_files import parse_toml, text_file

YES = (
    "yes", "yeah", "yep", "yup", "sure", "ok", "okay", "i confirm", "confirmed", "go ahead", "proceed", "please do",
    "do it", "that works", "works for me", "sounds good", "sounds great", "agreed", "i agree", "absolutely", "approved",
    "of course", "that's fine", "that's right", "that's correct", "that is correct",
)  # fmt: skip
"""What a user says who agrees, unless the map has words of its own."""

Names: TypeAlias = Annotated[tuple[Annotated[str, Field(min_length=1, max_length=200)], ...], Field(max_length=500)]
SomeNames: TypeAlias = Annotated[Names, Field(min_length=1)]
Plain: TypeAlias = str | bool | int | float


class Tools(Record):
    """What tools do, by name or pattern with `*`; one that no list names: what the trace says."""

    read: Names = ()
    analysis: Names = ()
    action: Names = ()
    note: Names = ()
    hand_over: Names = ()


class First(Record):
    """What is to be accepted before anything else is called."""

    one_of: SomeNames


class Thing(Record):
    """A kind of object: the arguments that name one (`lines.item_id` goes into lists), the reads that show it, and
    paths into their answers by the name of a field."""

    arguments: SomeNames
    look: Names = ()
    fields: dict[str, str] = Field(default={})


class Confirm(Record):
    """Actions that wait until the user has said yes, and the words that say it."""

    actions: SomeNames
    yes: SomeNames = YES


class Money(Record):
    """A number among the arguments, and the most that it may be. `seen` is the field (`order.total`) that shows it."""

    argument: str
    at_most: float | None = None
    seen: str | None = None


class Rule(Record):
    """What some actions have to rest on; the keys mean what docs/how-to/audit.md says of them."""

    action: SomeNames
    look: Names = ()
    state: dict[str, Plain | tuple[Plain, ...]] = Field(default={})
    money: Money | None = None
    once: bool = False
    retries: Annotated[int, Field(ge=0)] | None = None
    never_after: Names = ()

    @cached_property
    def states(self) -> tuple[tuple[str, str, frozenset[str]], ...]:
        """(object, field, values that are allowed as text)."""
        found: list[tuple[str, str, frozenset[str]]] = []
        for path, value in self.state.items():
            thing, _, field = path.partition(".")
            values = value if isinstance(value, tuple) else (value,)
            found.append((thing, field, frozenset(map(plain_text, values))))
        return tuple(found)


class Map(Record):
    """A whole map file. `objects` stand in the order of the file: an action is about the first kind that it names."""

    version: Literal[1]
    failed_answer: str = FAILED_ANSWER
    tools: Tools = Tools()
    first: First | None = None
    objects: Annotated[dict[str, Thing], Field(max_length=100)] = Field(default={})
    confirm: Confirm | None = None
    rule: Annotated[tuple[Rule, ...], Field(max_length=200)] = ()

    def kind_of(self, tool: str, kind: str | None) -> str | None:
        """read, analysis, action, note or hand_over; `kind` where no list names the tool. A name beats a pattern."""
        listed = [(name, getattr(self.tools, name)) for name in Tools.model_fields]
        exact = next((name for name, tools in listed if tool in tools), None)
        return exact or next((name for name, tools in listed if matches(tools, tool)), kind)

    def rules_of(self, tool: str) -> Iterator[tuple[int, Rule]]:
        """The rules for a tool, with their places in the file."""
        return ((place, rule) for place, rule in enumerate(self.rule) if matches(rule.action, tool))

    @cached_property
    def name(self) -> str:
        """A name of its content, for results that rest on it."""
        return f"map {blake2b(self.model_dump_json().encode(), digest_size=6).hexdigest()}"


def matches(names: Iterable[str], tool: str) -> bool:
    """Whether a tool is among names, which may hold `*`."""
    return any(name == tool or ("*" in name and _pattern(name).fullmatch(tool)) for name in names)


@lru_cache(maxsize=2_000)
def _pattern(name: str) -> re.Pattern[str]:
    """Stars are any text. Each part is taken where it stands first and never given back: names are a stranger's."""
    first, *others = [re.escape(part) for part in name.split("*")]
    middle = "".join(f"(?>.*?{part})" for part in others[:-1] if part)
    return re.compile(f"{first}{middle}.*{others[-1]}", re.DOTALL)


def plain_text(value: object) -> str:
    """A value of a field as it is compared: 1 and "1", true and "true" are the same."""
    return value if isinstance(value, str) else as_json(value)


def load_map(path: Path) -> Map:
    """The map in a file. ScenarioError names the line, what is wrong there and what is allowed."""
    return read_map(text_file(path), source=str(path))


def read_map(text: str, *, source: str) -> Map:
    """The map in a text. ScenarioError as `load_map` says."""
    content = parse_toml(text, source=source)
    found = checked_content(Map, content, source=source, line_of=lambda keys: line_of(text, keys))
    for keys, complaint in _complaints(found):
        line = line_of(text, keys)
        raise ScenarioError(f"{source}: {'' if line is None else f'line {line}: '}{'.'.join(keys)}: {complaint}")
    return found


def _complaints(found: Map) -> Iterator[tuple[list[str], str]]:
    """What fits its type and means nothing: names that the map does not have, patterns that are none."""
    try:
        re.compile(found.failed_answer)
    except re.error as error:
        yield ["failed_answer"], f"no regular expression: {error}"
    for place, rule in enumerate(found.rule):
        keys = ["rule", str(place)]
        if not rule.model_fields_set - {"action"}:
            yield [*keys, "action"], f"nothing is asked of it; rules have {', '.join([*Rule.model_fields][1:])}"
        for name in rule.look:
            if name not in found.objects:
                yield [*keys, "look"], unknown("object", name, found.objects)
            elif not found.objects[name].look:
                yield [*keys, "look"], f"objects.{name} has no look: name the reads that show one"
        for path in rule.state:
            yield from _field([*keys, "state"], path, found.objects)
        money = rule.money
        if money is not None and money.at_most is None and money.seen is None:
            yield [*keys, "money"], "at_most says how much is allowed, seen which field shows the number"
        if money is not None and money.seen is not None:
            yield from _field([*keys, "money"], money.seen, found.objects)


def _field(keys: list[str], path: str, objects: Mapping[str, Thing]) -> Iterator[tuple[list[str], str]]:
    thing, _, field = path.partition(".")
    if thing not in objects:
        yield keys, unknown("object", thing, objects)
    elif field not in objects[thing].fields:
        yield keys, unknown("field", field, objects[thing].fields)


def at(value: Any, path: str) -> list[Any]:
    """The values at a dotted path of a decoded value; lists along it are opened, and a number picks one of a list."""
    found = [value]
    for part in path.split("."):
        within: list[Any] = []
        for inner in found:
            if isinstance(inner, list) and part.isdecimal():
                within += inner[int(part) : int(part) + 1] if len(part) < 10 else []  # pyright: ignore[reportUnknownArgumentType]
                continue
            for table in inner if isinstance(inner, list) else [inner]:  # pyright: ignore[reportUnknownVariableType]
                if isinstance(table, dict) and part in table:
                    within.append(table[part])
        found = within
    return [leaf for inner in found for leaf in (inner if isinstance(inner, list) else [inner])]  # pyright: ignore[reportUnknownVariableType]
