"""Values at some places of a JSON document that may be larger than memory, cut out as bytes, in one pass.

Only what brackets and quotes say is looked at on the way; orjson reads what was cut out, so that an element means what
a line means. (The C back end of ijson ends the process at a number of 5,000 digits: docs/explanation/why/importers.md.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from tradefair.files.user_files import MAX_LINE

_CHUNK = 65_536
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.S)
_TO_BRACKET = re.compile(rb'(?:[^\[\]{}"]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+[\[\]{}]', re.S)
_WHOLE = re.compile(rb'(?:[^\[\]{}"]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+', re.S)
_SCALAR = re.compile(rb"[^\s,\[\]{}\":]+")
# With the byte order mark that editors on Windows put before all.
_BETWEEN = re.compile(rb"[\s,:\xef\xbb\xbf]*+")
_OPEN, _CLOSE = b"{[", b"}]"


class CutShort(Exception):
    """The document ends in the middle."""


class NoDocument(Exception):
    """Why this cannot be read further, as a sentence."""


class Elements:
    """One pass over a document; `place` is where it is, as `messages.item` names every element of a list.

    `document` counts those that follow each other, from 1.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.place = ""
        self.document: int = 0
        self._file = file
        self._buffer = b""
        self._at = 0

    def cut(self, wanted: Iterable[str], small: int = 0) -> Iterator[tuple[str, bytes | None]]:
        """Place and bytes of each value at a place of `wanted`, in order; None for one over 16 MB, which goes by.

        Fields of the document that are scalars or objects of up to `small` bytes come, too. Documents that follow each
        other are read alike. Raises CutShort, NoDocument.
        """
        places = frozenset(wanted)
        above = {name[:end] for name in places for end in range(len(name)) if name[end] == "."} | {""} - places
        while self._next(end=True):
            self.document += 1
            yield from self._value("", places, above, small)

    def first_keys(self) -> Iterator[str]:
        """The keys of the document, or of the first element of the list that it is. Raises as `cut` does."""
        if self._next() == b"[":
            self._at += 1
        if self._next() == b"{":
            self._at += 1
            while self._next() != b"}":
                yield self._key()
                self._skip(0)

    def _value(
        self, place: str, wanted: frozenset[str], above: set[str], small: int
    ) -> Iterator[tuple[str, bytes | None]]:
        first = self._next()
        self.place = place
        if place in wanted:
            yield place, self._skip(MAX_LINE)
        elif place in above and first in (b"{", b"["):
            self._at += 1
            end, inner = (b"}", "") if first == b"{" else (b"]", "item")
            prefix = f"{place}." if place else ""
            while (found := self._next()) != end:
                if found in (b"}", b"]"):
                    raise NoDocument("brackets that do not match")
                yield from self._value(prefix + (inner or self._key()), wanted, above, small)
            self._at += 1
        else:
            field = small if place and "." not in place and first != b"[" else 0
            raw = self._skip(field)
            if raw is not None and field:
                yield place, raw

    def _key(self) -> str:
        raw = self._string()
        return raw[1:-1].decode(errors="replace")

    def _string(self) -> bytes:
        while (match := _STRING.match(self._buffer, self._at)) is None:
            if self._next() != b'"':
                raise NoDocument("a text is missing where a field is named")
            self._more(self._at)
        self._at = match.end()
        return match[0]

    def _skip(self, most: int) -> bytes | None:
        """Go behind the next value; its bytes, where they are at most `most`."""
        first = self._next()
        if first == b'"':
            raw = self._string()
            return raw if len(raw) <= most else None
        if first in (b"}", b"]"):
            raise NoDocument("a value is missing")
        if first not in (b"{", b"["):
            return self._scalar(most)
        start: int | None = self._at
        depth = 0
        while True:
            match = _TO_BRACKET.match(self._buffer, self._at)
            if match is None:
                whole = _WHOLE.match(self._buffer, self._at)
                self._at = self._at if whole is None else whole.end()
                start = self._kept(start, most)
                continue
            self._at = match.end()
            depth += 1 if self._buffer[self._at - 1] in _OPEN else -1
            if depth == 0:
                break
        return self._buffer[start : self._at] if start is not None and self._at - start <= most else None

    def _kept(self, start: int | None, most: int) -> int | None:
        """Read on; where the value begins in the buffer then, None once it is too long to be kept."""
        if start is None or self._at - start > most:
            self._more(self._at)
            return None
        self._more(start)
        return 0

    def _scalar(self, most: int) -> bytes | None:
        while (match := _SCALAR.match(self._buffer, self._at)) is None or match.end() == len(self._buffer):
            # Within a list or object a number that ends with the file may be a part of one.
            if not self._more(self._at, end=not self.place):
                match = _SCALAR.match(self._buffer, self._at)
                break
        if match is None:
            raise NoDocument("a value is missing")
        self._at = match.end()
        return match[0] if len(match[0]) <= most else None

    def _next(self, *, end: bool = False) -> bytes:
        """The next byte that means something; nothing at the `end`, else CutShort."""
        while True:
            between = _BETWEEN.match(self._buffer, self._at)
            self._at = self._at if between is None else between.end()
            if self._at < len(self._buffer):
                return self._buffer[self._at : self._at + 1]
            if not self._more(self._at, end=end):
                return b""

    def _more(self, start: int, *, end: bool = False) -> bool:
        """Read on, keeping what lies from `start` on; False at the `end`, else CutShort. Raises NoDocument."""
        kept = self._buffer[start:]
        if len(kept) > 2 * MAX_LINE:
            raise NoDocument(f"a text longer than {MAX_LINE:,} bytes")
        # As much again as is held: what is long is looked through a few times, not once a chunk.
        found = self._file.read(max(_CHUNK, len(kept)))
        self._buffer, self._at = kept + found, self._at - start
        if not found and not end:
            raise CutShort
        return bool(found)
