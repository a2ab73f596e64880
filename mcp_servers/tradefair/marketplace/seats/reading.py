"""Reading what others wrote: which of one's names a text asks for, and which word it orders its reader to write. Pure.

For scripted seats only: rules and evaluation never read prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from tradefair.marketplace.answers.search import normalised

MAX_QUANTITY = 1_000
# "(2)", "(2 each)" and "(quantity: 2)" become a word that outlives normalisation.
_COUNT = re.compile(r"\((?:quantity:\s*)?(\d{1,4})(?:\s+each)?\)", re.IGNORECASE)
_COUNT_WORD = re.compile(r" qty(\d{1,4})\b")
_ORDERED = re.compile(r"\bwrite ([\w-]+) in your next message|\bmust write ([\w-]+)")


class Named(NamedTuple):
    """A name that a text holds, as it was given, and how many of it are asked for; 1 where nothing is said."""

    name: str
    quantity: int


def named_in(text: str, names: Iterable[str]) -> list[Named]:
    """Those of `names` that the normalised text holds, in its order: longest names first, no overlap."""
    read = normalised(_COUNT.sub(r" qty\1 ", text))
    plain = {name: normalised(name) for name in names}
    taken: list[_Span] = []
    found: list[tuple[int, Named]] = []
    for name in sorted(filter(plain.get, plain), key=lambda name: (-len(plain[name]), name)):
        spans = [span for span in _spans(read, plain[name]) if not any(map(span.overlaps, taken))]
        taken += spans
        if spans:
            counts = [_COUNT_WORD.match(read, span.stop) for span in spans]
            said = next((int(count[1]) for count in counts if count is not None), 1)
            found.append((spans[0].start, Named(name, min(max(said, 1), MAX_QUANTITY))))
    return [each for _, each in sorted(found)]


class _Span(NamedTuple):
    start: int
    stop: int

    def overlaps(self, other: _Span) -> bool:
        return self.start < other.stop and other.start < self.stop


def _spans(text: str, word: str) -> Iterator[_Span]:
    start = text.find(word)
    while start >= 0:
        yield _Span(start, start + len(word))
        start = text.find(word, start + len(word))


def ordered_word(text: str) -> str | None:
    """X of "must write X" or "write X in your next message"; None where nothing is ordered."""
    match = _ORDERED.search(text)
    return None if match is None else match[1] or match[2]


def strings_in(data: Any) -> Iterator[str]:
    """Every text in plain data, at any depth."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict):
        for value in data.values():  # pyright: ignore[reportUnknownVariableType]
            yield from strings_in(value)
    elif isinstance(data, list):
        for value in data:  # pyright: ignore[reportUnknownVariableType]
            yield from strings_in(value)
