"""Copies of HTTP bodies, read along: one JSON document, or a stream of server-sent events; packed or not; bounded."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator
from typing import TypeAlias

from tradefair.recording.messages import Held, Unread

Taken: TypeAlias = bytes | Unread

# Bytes that are unpacked at once: a bomb costs its sender's connection time, never memory.
_UNPACKED = 65_536
# One field `data` of an event, behind any of the three line ends, or the mark that a stream may begin with.
_DATA = re.compile(rb"(?:\A(?:\xef\xbb\xbf)?|(?<=[\r\n]))data(?:: ?([^\r\n]*))?(?=[\r\n]|\Z)")
_BEFORE_DATA = re.compile(rb"\A(?:\xef\xbb\xbf)?(?:(?!data:)[^\r\n]*[\r\n]+)*data: ?")


class Document:
    """A body that is one JSON document."""

    def __init__(self, take: Callable[[Taken], None], *, readable: bool = True) -> None:
        self._take = take
        self._held = Held() if readable else Held(limit=0)

    def feed(self, data: bytes) -> None:
        """The next bytes, unpacked."""
        self._held.add(data)

    def end(self) -> None:
        """The body is complete, or its connection is gone."""
        if self._held.size:
            self._take(self._held.take())


class EventStream:
    """A body of server-sent events: `take` gets the data of each as soon as its blank line is there.

    Chunks may be cut anywhere. Comments, ids and retry times hold no data and are passed over.
    """

    def __init__(self, take: Callable[[Taken], None]) -> None:
        self._take = take
        self._held = Held(_BEFORE_DATA)
        self._line_begins = True
        self._after_cr = False

    def feed(self, data: bytes) -> None:
        """The next bytes, unpacked."""
        if self._after_cr and data.startswith(b"\n"):
            data = data[1:]  # the second half of a line end that was cut
        if data:
            self._after_cr = data.endswith(b"\r")
        for line in data.splitlines(keepends=True):
            if self._line_begins and line[0] in b"\r\n":
                self.end()
            else:
                self._held.add(line)
            self._line_begins = line[-1] in b"\r\n"

    def end(self) -> None:
        """An event is complete. At the end of the stream, what is left: a client may take it for one."""
        event = self._held.take() if self._held.size else b""
        if not isinstance(event, Unread):
            # Its bytes go at once: while a message is written, there is one copy of it here.
            event = b"\n".join(_DATA.findall(event))
        if event:
            self._take(event)


class Packed:
    """The bytes of a gzip or deflate body, unpacked piece by piece."""

    def __init__(self, encoding: str) -> None:
        self._gzip = encoding != "deflate"
        self._unpacker: zlib._Decompress | None = None  # pyright: ignore[reportPrivateUsage]  # it has no public name

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """What `data` adds, at most 64 kB at once. Raises zlib.error."""
        if self._unpacker is None and data:
            # "deflate" is a zlib stream by its standard, and bare in some servers: a zlib stream begins with 8.
            bits = 31 if self._gzip else 15 if data[0] & 15 == 8 else -15
            self._unpacker = zlib.decompressobj(bits)
        while self._unpacker and data:
            if self._unpacker.eof:
                self._unpacker = zlib.decompressobj(31)  # a gzip file may have several members
            piece = self._unpacker.decompress(data, _UNPACKED)
            while piece:
                yield piece
                piece = self._unpacker.decompress(self._unpacker.unconsumed_tail, _UNPACKED)
            data = self._unpacker.unused_data


class Body:
    """One body as it passes. `take` gets each message of it: its bytes, or size and digest."""

    def __init__(self, media_type: str, encoding: str, take: Callable[[Taken], None]) -> None:
        self._give = take
        encoding = encoding.strip().lower()
        plain = encoding in ("", "identity")
        self._packed = Packed(encoding) if encoding in ("gzip", "x-gzip", "deflate") else None
        stream = media_type.partition(";")[0].strip().lower() == "text/event-stream"
        if stream and (plain or self._packed):
            self._reading = EventStream(take)
        else:
            self._reading = Document(take, readable=plain or self._packed is not None)

    def feed(self, data: bytes) -> None:
        """The next bytes of the body, chunk sizes and trailers removed."""
        if self._packed is None:
            self._reading.feed(data)
            return
        try:
            for piece in self._packed.pieces(data):
                self._reading.feed(piece)
        except zlib.error:
            # What follows cannot be unpacked either; it still passes.
            self._packed, self._reading = None, Document(self._give, readable=False)
            self._reading.feed(data)

    def end(self) -> None:
        """No byte follows."""
        self._reading.end()
