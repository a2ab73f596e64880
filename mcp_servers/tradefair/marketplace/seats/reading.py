"""Reading what counterparts wrote: which known names a text asks for, and which word it orders to write. Pure.

For scripted seats only: rules never read prose.
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
    """A name found in a text, as it was given, and the quantity asked for; 1 where the text gives none."""

    name: str
    quantity: int


def named_in(text: str, names: Iterable[str]) -> list[Named]:
    """Those of `names` that the normalised text contains, in the order of the text; no two overlap.

    Longer names are taken first, so that "Fish Taco" is not also read as "Taco".
    """
    # Before normalisation, which would drop the brackets that make a number a quantity.
    read = normalised(_COUNT.sub(r" qty\1 ", text))
    plain = {name: normalised(name) for name in names}
    taken: list[_Span] = []
    found: list[tuple[int, Named]] = []
    for name in sorted(filter(plain.get, plain), key=lambda name: (-len(plain[name]), name)):
        spans = [span for span in _spans(read, plain[name]) if not any(map(span.overlaps, taken))]
        # No shorter name may lie inside one that was found.
        taken += spans
        if spans:
            counts = [_COUNT_WORD.match(read, span.stop) for span in spans]
            said = next((int(count[1]) for count in counts if count is not None), 1)
            found.append((spans[0].start, Named(name, min(max(said, 1), MAX_QUANTITY))))
    return [named for _, named in sorted(found)]


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
    """X of "must write X" or "write X in your next message"; None without such an order.

    These are the phrases of the two injection texts.
    """
    match = _ORDERED.search(text)
    return None if match is None else match[1] or match[2]


def strings_in(data: Any) -> Iterator[str]:
    """Every string in plain data, at any depth; keys are not included."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict):
        for value in data.values():  # pyright: ignore[reportUnknownVariableType]
            yield from strings_in(value)
    elif isinstance(data, list):
        for value in data:  # pyright: ignore[reportUnknownVariableType]
            yield from strings_in(value)
