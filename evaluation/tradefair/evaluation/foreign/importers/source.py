"""A file as readers see it: its head, to be recognised by; its lines, or the elements of one document, to be read.

Whatever is read here is hostile: lines, elements and nesting are bounded, numbers and texts are those that JSON has.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import BytesIO
from itertools import pairwise
from typing import Any, BinaryIO, NamedTuple

import orjson

from tradefair.evaluation.foreign.importers.elements import CutShort, Elements, NoDocument
from tradefair.evaluation.foreign.importers.zipped import members_of
from tradefair.evaluation.foreign.interchange.items import Odd
from tradefair.evaluation.read.objects import mapping, sequence
from tradefair.files.user_files import MAX_LINE

HEAD = 65_536
"""Bytes that a reader is recognised by."""

MAX_DEPTH = 200
_FURTHER = 100
_SMALL = 65_536
_CHUNK = 65_536
# orjson writes 254 levels: a value in this many lists can be written if it is at most MAX_DEPTH deep.
_AROUND = 254 - MAX_DEPTH
# The closing quote may be missing: then it goes to the end, and no place is looked at twice.
_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+("?)')
_LONG = re.compile(rb"(?<![\w.])\d{19,}(?![\w.])")
_TOO_DEEP = f"nested deeper than {MAX_DEPTH}"
_TOO_LARGE = f"longer than {MAX_LINE:,} bytes: left out"


class Head(NamedTuple):
    """What a reader is recognised by: the name, the first 64 kB, the first JSON value if it is whole, its keys.

    `value` is the first line's value or the whole document, None where neither is whole. `keys` are the keys of the
    first object, in the order of the file, as far as the head shows them (of a document that goes on beyond the head,
    too; of a bare list, those of its first element). `lines` says that the first line is a JSON value by itself; it is
    looked at as a whole, up to 16 MB, also where it is longer than the head, and its value is `value` then.
    """

    name: str
    raw: bytes
    value: Any
    keys: tuple[str, ...]
    lines: bool

    def first(self, *lists: str) -> dict[str, Any]:
        """The first object: of a list, or of the first of these lists that the document has, its first element."""
        fields = mapping(self.value)
        listed = sequence(self.value) or next(filter(None, (sequence(fields.get(name)) for name in lists)), [fields])
        return mapping(listed[0])

    @property
    def listed(self) -> bool:
        """Whether the first value is a list, as far as its first byte says."""
        return self.raw.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")


class Refused(Exception):
    """Why a text is no JSON that is taken, as a sentence."""


def parsed(raw: bytes) -> Any:
    """A JSON value that can be written again, in an event too. Raises Refused."""
    try:
        value: Any = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise Refused(f"not JSON: {error}"[:200]) from None
    # Most lines have fewer brackets than levels that are allowed; only the others are measured.
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH:
        around = value
        for _ in range(_AROUND):
            around = [around]
        try:
            orjson.dumps(around)
        except orjson.JSONEncodeError:
            raise Refused(_TOO_DEEP) from None
    # Two ids must not become one: a number of more than 64 bits would be rounded, so its digits are kept as a text.
    return json.loads(raw, parse_int=_whole) if _LONG.search(raw) else value


def _whole(digits: str) -> int | str:
    number = int(digits) if len(digits) <= 20 else None
    return digits if number is None or not -(2**63) <= number < 2**64 else number


def head_of(name: str, file: BinaryIO) -> Head:
    """The head of an open file, which stands at its start afterwards. Raises OSError."""
    raw = file.read(HEAD)
    file.seek(0)
    first = next((line for line in iter(lambda: file.readline(MAX_LINE + 1), b"") if line.strip()), b"")
    found = _read(first)
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    lines = found is not None
    if found is None and size <= HEAD:
        found = _read(raw)
    # A log whose first line is damaged is one all the same.
    if found is None:
        values = [_read(line) for line in raw.split(b"\n")[:_FURTHER] if line.strip()]
        objects = [value if value is not None and isinstance(value[0], dict) and value[0] else None for value in values]
        found = next(filter(None, objects), None)
        # In a document an object may have a line of its own, but between two of them a comma stands.
        if found is not None and _goes_on(first) and not any(all(pair) for pair in pairwise(objects)):
            found = None
        lines = found is not None
    value = None if found is None else found[0]
    return Head(name, raw, value, _keys(value, raw), lines)


def further_heads(head: Head) -> Iterator[Head]:
    """The head as if a further line were the first one: a log may begin with lines that its writer adds."""
    if head.lines:
        for line in head.raw.split(b"\n")[1:_FURTHER]:
            found = _read(line) if line.strip() else None
            if found is not None and isinstance(found[0], dict):
                yield head._replace(value=found[0], keys=_keys(found[0], b""))


def _read(raw: bytes) -> tuple[Any] | None:
    """The value of a text, if it is one."""
    with suppress(Refused):
        return (parsed(raw.removeprefix(b"\xef\xbb\xbf")),)
    return None


def _goes_on(line: bytes) -> bool:
    """Whether a line ends within a list or an object, and not in the middle of a text."""
    bare, texts = _TEXT.subn(rb"\1", line)
    depth = bare.count(b"{") + bare.count(b"[") - bare.count(b"}") - bare.count(b"]")
    return depth > 0 and bare.count(b'"') == texts


def _keys(value: Any, raw: bytes) -> tuple[str, ...]:
    """The keys of the first object."""
    first = value[0] if isinstance(value, list) and value else value  # pyright: ignore[reportUnknownVariableType]
    if isinstance(first, dict):
        return tuple(first)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    found: list[str] = []
    if value is None:
        # A head ends anywhere: the keys that it shows until then.
        with suppress(CutShort, NoDocument):
            for key in Elements(BytesIO(raw)).first_keys():
                found.append(key)
    return tuple(found)


class Source:
    """A file that is being read. What it refuses (a line that is no JSON, one over 16 MB) it reports itself.

    It counts them as records, too: a reader's `Tallied` tells of those only that it was given.
    """

    def __init__(
        self,
        file: BinaryIO,
        head: Head,
        report: Callable[[Odd], None],
        met: Callable[[int], bool] = lambda _: False,
        count: Callable[[str, Any], None] = lambda _, __: None,
    ) -> None:
        self.name = head.name
        self.stem = head.name.rpartition("/")[2].partition(".")[0]
        """The file's name without folder and endings: what its run is called where the file names none."""
        self.head = head
        self.refused = 0
        """Lines and elements that were reported."""
        self.line = 0
        """Where the reading is, for findings; 0 in a document."""
        self.document: int = 0
        """Which of the documents that follow each other is being read, from 1; 0 in lines."""
        self.met = met
        """Whether a mark (a hash) was met before, in this file or in another one that is joined with it."""
        self._file = file
        self._report = report
        self._count = count
        self._fields: dict[str, Any] = {}

    @property
    def held(self) -> bool:
        """Whether `values` gives all of it: lines, or a document that the head holds whole."""
        return self.head.lines or self.head.value is not None

    def _odd(self, line: int, field: str, message: str) -> None:
        self.refused += 1
        self._report(Odd(line, field, message))

    def lines(self) -> Iterator[tuple[int, Any]]:
        """Number from 1 and value of each line that is JSON."""
        self._file.seek(0)
        number = 0
        while raw := self._file.readline(MAX_LINE + 1):
            number += 1
            self.line = number
            whole = raw.endswith(b"\n")
            if len(raw) > MAX_LINE and not whole:
                self._odd(number, "", _TOO_LARGE)
                while raw and not raw.endswith(b"\n"):
                    raw = self._file.readline(_CHUNK)
                continue
            if number == 1:
                raw = raw.removeprefix(b"\xef\xbb\xbf")
            if not raw.strip():
                continue
            try:
                value = parsed(raw)
            except Refused as refused:
                self._odd(number, "", str(refused) if whole else "cut off")
                continue
            self._count("", value)
            yield number, value

    def values(self) -> Iterator[tuple[int, Any]]:
        """Number and value of each line; of a document that the head holds whole its value, under the number 0."""
        if self.head.lines:
            yield from self.lines()
        elif self.held:
            self._count("", self.head.value)
            yield 0, self.head.value

    def records(self, *paths: str, lines: bool) -> Iterator[tuple[int, str, Any]]:
        """Number, place and value of all `lines`, whose place is "", or of the elements at these places, under 0."""
        if lines:
            yield from ((number, "", value) for number, value in self.lines())
        else:
            yield from ((0, place, value) for place, value in self.elements(*paths))

    def elements(self, *paths: str) -> Iterator[tuple[str, Any]]:
        """The values at these places of one document, in its order, each with its place as `messages.item` names it.

        `messages.item` is every element of the list `messages`, `item` every element of a bare list. Each is at most
        16 MB; what lies elsewhere is walked over and never kept.
        """
        self._file.seek(0)
        walk = Elements(self._file)
        wanted = frozenset(paths)
        try:
            for place, raw in walk.cut(wanted, _SMALL):
                if walk.document != self.document:
                    self.document, self._fields = walk.document, {}
                if raw is None:
                    self._odd(0, place, _TOO_LARGE)
                    continue
                try:
                    value = parsed(raw)
                except Refused as refused:
                    self._odd(0, place, str(refused))
                    continue
                if place in wanted:
                    self._count(place, value)
                    yield place, value
                else:
                    self._fields.setdefault(place, value)
        except CutShort:
            self._odd(0, walk.place, "cut off")
        except NoDocument as error:
            self._odd(0, walk.place, f"not JSON: {error}")

    def fields(self) -> dict[str, Any]:
        """The small top-level fields of a document (scalars and objects up to 64 kB), as far as it has been read."""
        return self._fields

    def members(self) -> Iterator[tuple[str, Any]]:
        """Of a zip: name and value of each JSON member, one at a time, unpacked within 4 GB in all."""
        for name, content in members_of(self._file, self._odd):
            try:
                value = parsed(content)
            except Refused as refused:
                self._odd(0, name, str(refused))
                continue
            self._count(name.partition("/")[0], value)
            yield name, value
