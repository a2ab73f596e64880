"""What a run has shown and done so far, as a map reads it: objects, the newest look at each, what users have said."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from tradefair.contract.text import clean_line
from tradefair.evaluation.foreign.audit.map_file import Map, Rule, at, matches, plain_text
from tradefair.evaluation.foreign.audit.run import Call, Run

Object: TypeAlias = tuple[str, str]
"""(kind, id), as in ("order", "#W1")."""

_MAX_IDS = 200
"""Ids that one argument of a call may name."""
_MAX_ID = 200
_MAX_PLACES = 200_000
"""Places of an answer that are looked at."""
_NAME = 40
_AROUND = re.compile(r"^[\W_]+|[\W_]+$")


class Look(NamedTuple):
    """What showed an object: the call, and what its answer says of the object's fields.

    `whole` is false for an action whose answer shows none of the fields: what the object is like now is not known.
    """

    call: Call
    fields: Mapping[str, str]
    whole: bool = True


class Desk:
    """What is known before a call, filled in by `took` after it."""

    def __init__(self, of: Map, run: Run) -> None:
        self.map = of
        self._looks: dict[Object, Look] = {}
        self.identified = of.first is None
        self._named: dict[int, list[Object]] = {}
        self._kinds: dict[tuple[str, str | None], str | None] = {}
        self._rules: dict[str, list[tuple[int, Rule]]] = {}
        # Answers may name a million ids: kept are those that actions of this run are about.
        self._wanted: dict[str, set[str]] = {kind: set() for kind in of.objects}
        for call in run.calls:
            if self.acts(call):
                for kind, name in self._objects(call):
                    self._wanted[kind].add(name)

    def kind(self, call: Call) -> str | None:
        """What a call's tool does; `hand_over` too."""
        asked = (call.tool, call.kind)
        if asked not in self._kinds:
            self._kinds[asked] = self.map.kind_of(*asked)
        return self._kinds[asked]

    def rules(self, call: Call) -> list[tuple[int, Rule]]:
        """The rules for a call's tool, with their places in the file."""
        if call.tool not in self._rules:
            self._rules[call.tool] = list(self.map.rules_of(call.tool))
        return self._rules[call.tool]

    def acts(self, call: Call) -> bool:
        """Whether the call changes something, or is under a rule."""
        return self.kind(call) == "action" or bool(self.rules(call))

    def objects(self, call: Call) -> list[Object]:
        """The objects that a call names, in the order of the map."""
        if call.seq not in self._named:
            # Only the call that is being judged is asked for, by several rules.
            self._named = {call.seq: self._objects(call)}
        return self._named[call.seq]

    def about(self, call: Call) -> Object:
        """The object that a call is about: the first kind that it names; its tool where it names none."""
        return next(iter(self.objects(call)), ("", call.tool))

    def look_at(self, about: Object) -> Look | None:
        """The newest look at an object."""
        return self._looks.get(same(about))

    def took(self, call: Call) -> None:
        """The call is over: what it showed is known from here on."""
        if not call.accepted:
            return
        if self.map.first is not None and matches(self.map.first.one_of, call.tool):
            self.identified = True
        own = self.acts(call)
        for kind, spec in self.map.objects.items():
            if not (own or matches(spec.look, call.tool)):
                continue
            named = [name for of, name in self.objects(call) if of == kind]
            # An action shows what it was about; what else its answer mentions was not looked at.
            if own and not named:
                continue
            sought = set(named) or self._wanted[kind]
            # What an answer that was not kept has shown nobody can deny.
            shown = dict.fromkeys(sought) if _is_digest(call.answer) else _holders(call.answer, sought)
            for name in named or shown:
                self._see(call, (kind, name), shown.get(name), alone=len(named) == 1, own=own)

    def _see(self, call: Call, seen: Object, holder: Any, *, alone: bool, own: bool) -> None:
        fields: dict[str, str] = {}
        for field, path in self.map.objects[seen[0]].fields.items():
            # The answer about one object is its record; of several each has its own.
            found = at(call.answer, path) if alone else []
            found = found or at(holder, path)
            if found:
                fields[field] = plain_text(found[0])
        self._looks[same(seen)] = Look(call, fields, not own or bool(fields) or self._is_record(call, seen[0]))

    def _is_record(self, call: Call, kind: str) -> bool:
        return isinstance(call.answer, dict) and not self.map.objects[kind].fields

    def _objects(self, call: Call) -> list[Object]:
        found: dict[Object, None] = {}
        for kind, spec in self.map.objects.items():
            for path in spec.arguments:
                for value in at(call.arguments, path)[:_MAX_IDS]:
                    if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
                        found[kind, str(value)[:_MAX_ID]] = None
        return list(found)


def same(about: Object) -> Object:
    """Equal for spellings of one id: `#W1` and `w1`. An agent that mistypes an id and is refused has missed no look."""
    kind, name = about
    return kind, _AROUND.sub("", name).casefold() or name


def _is_digest(answer: Any) -> bool:
    return isinstance(answer, dict) and answer.keys() == {"size", "digest"}  # pyright: ignore[reportUnknownMemberType]


def _holders(answer: Any, wanted: Iterable[str]) -> dict[str, Any]:
    """By id, the outermost object of an answer that holds it as a value, or holds its record under it as a key."""
    left, found = set(wanted), dict[str, Any]()
    if isinstance(answer, str):
        return {name: answer for name in left if name in answer}
    waiting: list[Any] = [answer]
    places = 0
    # Breadth first and no recursion: an answer may be nested deeply.
    while waiting and left and places < _MAX_PLACES:
        following: list[Any] = []
        for value in waiting:
            for key, inner in _entries(value):
                places += 1
                name = inner if isinstance(inner, str) else str(inner) if isinstance(inner, int) else None
                if name in left:
                    found[name] = value
                    left.discard(name)
                if key in left:
                    found[key] = inner
                    left.discard(key)
                if isinstance(inner, dict | list):
                    following.append(inner)
        waiting = following
    return found


def _entries(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from value.items()  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    elif isinstance(value, list):
        yield from (("", inner) for inner in value)  # pyright: ignore[reportUnknownVariableType]


def said_of(call: Call, about: Object) -> str:
    """`cancel_order on order #W1`, for a sentence; names are a stranger's and cut."""
    tool = clean_line(call.tool)[:_NAME]
    return f"{tool} on {named(about)}" if about[0] else tool


def named(about: Object) -> str:
    """`order #W1`."""
    return f"{clean_line(about[0])[:20]} {clean_line(about[1])[:_NAME]}"


def at_step(seq: int, step: int | None) -> str:
    """Where something stands, as labels and people cite it."""
    return f"step {step}" if step is not None else f"#{seq}"
