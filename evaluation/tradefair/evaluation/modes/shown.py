"""What a seat was shown so far, as far as ids and canaries go. Linear: an answer that is known is not read again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from tradefair.evaluation.modes.canary import MARK, Canary, find_canaries
from tradefair.evaluation.read.objects import mapping, sequence

_WORD = re.compile(r"[A-Za-z_]\w*(?:[:-]\w+)*", re.ASCII)
"""Words that can be ids or parts of them. Bare numbers are not kept: anything may have been counted."""
_ID = ("_id", "_ids")
# Characters that are kept of an id: an argument may hold any text.
_MAX_ID = 200
# Texts that wait at most until they are split: they take more memory than their words.
_WAITING = 256
_RECENT = 64
"""How many answers are remembered with their words, for the next seat that is given the same one."""


def text_of(value: object) -> str:
    """A decoded value as one line of JSON; empty where it cannot be written."""
    try:
        return orjson.dumps(value).decode()
    except (orjson.JSONEncodeError, RecursionError):
        return ""


class Shown:
    """Words of what was shown, to all seats (`shared`) or to one.

    A text is split into words when an id is looked for: most seats of most markets name none.
    """

    def __init__(self, shared: Shown | None = None) -> None:
        self._shared = shared
        self._words: set[str] = set()
        self._waiting: list[tuple[str, str | None]] = []
        self._known: set[str] = set()
        self._recent: dict[str, frozenset[str]] = {}

    def add(self, text: str, *, name: str | None = None, but: Iterable[str] = ()) -> Iterable[Canary]:
        """Take a text in; gives the canaries in it. `name` is its digest: the same text is read once.

        Words in `but` are the seat's own, as an error message repeats them.
        """
        if name is not None:
            # Known by its digest: a seat that reads the same page again costs nothing.
            if name in self._known:
                return ()
            self._known.add(name)
        if but:
            self._words.update(set(_WORD.findall(text)).difference(but))
        else:
            self._waiting.append((text, name))
            if len(self._waiting) == _WAITING:
                self._split()
        # JSON escapes the quotes of a value.
        return find_canaries(text.replace('\\"', '"')) if MARK in text else ()

    def _split(self) -> None:
        for text, name in self._waiting:
            self._words.update(self._words_of(text, name))
        self._waiting.clear()

    def _words_of(self, text: str, name: str | None) -> Iterable[str]:
        """The words of a text; of an answer that many seats were given, they are found once."""
        if name is None or self._shared is None:
            return _WORD.findall(text)
        recent = self._shared._recent
        words = recent.get(name)
        if words is None:
            # The oldest one goes: a dictionary keeps the order of insertion.
            if len(recent) == _RECENT:
                del recent[next(iter(recent))]
            words = recent[name] = frozenset(_WORD.findall(text))
        return words

    def know(self, names: Iterable[str]) -> None:
        """Take ids in that the seat was shown elsewhere."""
        for name in names:
            self._words.update(_WORD.findall(name))

    def holds(self, name: str) -> bool:
        """Whether an id was shown: every word of it."""
        shared = self._shared or self
        self._split()
        shared._split()
        return all(word in self._words or word in shared._words for word in _WORD.findall(name))


def named_ids(arguments: Mapping[str, Any], more: frozenset[str]) -> list[str]:
    """Texts at arguments whose name ends in `_id` or `_ids`, or is in `more`, at any depth."""
    found: list[str] = []
    # A stack, not recursion: arguments may be nested deeper than Python recurses.
    waiting: list[Any] = [arguments]
    while waiting:
        value: object = waiting.pop()
        if isinstance(value, list):
            waiting += filter(_holds_more, sequence(value))  # pyright: ignore[reportUnknownArgumentType]
            continue
        for name, inner in mapping(value).items():
            if _holds_more(inner):
                waiting.append(inner)
            if name in more or name.endswith(_ID):
                found += (text[:_MAX_ID] for text in (*sequence(inner), inner) if isinstance(text, str))
    return found


def _holds_more(value: object) -> bool:
    return isinstance(value, (dict, list))
