"""Requests and answers of HTTP/1.1, parsed on a copy while they pass."""

from __future__ import annotations

import re
from collections import deque

import httptools

from tradefair.recording.http.bodies import Body
from tradefair.recording.http.heads import Refused, RequestHead, Upstream, rewritten
from tradefair.recording.http.sessions import Asked, Sessions

_UPGRADE = re.compile(rb"(?im)^upgrade:[^\n]*\n")


class Request:
    """One request, parsed as it passes. Raises Refused."""

    def __init__(self, head: bytes, upstream: Upstream, sessions: Sessions) -> None:
        self.complete = self.passed = False
        # Dropped when its work is done: it and what it calls hold each other, and such circles are rarely looked for.
        self._parser: httptools.HttpRequestParser | None = httptools.HttpRequestParser(self)
        # Java's client offers HTTP/2 in each first request; servers of MCP go on in HTTP/1.1, with the body.
        self._parse(_UPGRADE.sub(b"", head))
        self.head: RequestHead = rewritten(head, upstream)
        self.asked = Asked(sessions, self.head)
        headers = self.head.headers
        length = headers.get("content-length", b"")
        self._left = int(length) if length.isdigit() else None
        media_type, encoding = (
            headers.get(name, b"").decode("latin-1") for name in ("content-type", "content-encoding")
        )
        self._body = Body(media_type, encoding, self.asked.asks)

    def feed(self, data: bytes) -> int:
        """Read `data`; how many bytes of it belong to this request. What follows is the next one's."""
        if self.complete:
            return 0
        if self._left is not None:
            used = min(self._left, len(data))
            self._left -= used
            self._parse(data[:used])
            return used
        # Chunks: the parser does not say where it has ended, but that is behind a line end.
        used = 0
        while used < len(data) and not self.complete:
            end = data.find(b"\n", used) + 1 or len(data)
            self._parse(data[used:end])
            used = end
        return used

    def on_body(self, data: bytes) -> None:
        """Called by the parser."""
        self._body.feed(data)

    def on_message_complete(self) -> None:
        """Called by the parser. A request without a body is complete before it is known where it goes."""
        self.complete, self._parser = True, None
        if hasattr(self, "_body"):
            self._body.end()

    def _parse(self, data: bytes) -> None:
        try:
            if self._parser is not None:
                _feed(self._parser, data)
        except (httptools.HttpParserUpgrade, httptools.HttpParserError) as error:
            raise Refused("400 Bad Request", f"this is no HTTP/1.1: {error}") from None


class Answers:
    """The server's side of a connection, parsed as it passes. `asked` are the requests without a whole answer."""

    def __init__(self) -> None:
        self.asked: deque[Asked] = deque()
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)
        self._headers: dict[str, bytes] = {}
        self._body: Body | None = None
        self._bodyless = False

    def feed(self, data: bytes) -> None:
        """Read `data` before it goes to the client. What is no HTTP/1.1 passes unread."""
        try:
            while self._parser and data:
                # The parser would wait for a body that the head of such an answer only speaks of.
                alone = self.asked and self.asked[0].method == "HEAD"
                end = (data.find(b"\n") + 1 if alone else 0) or len(data)
                _feed(self._parser, data[:end])
                data = data[end:]
                if self._bodyless:
                    self._parser, self._bodyless = httptools.HttpResponseParser(self), False
        except (httptools.HttpParserUpgrade, httptools.HttpParserError):
            self._parser = None

    def end(self) -> None:
        """The server has closed its side, which ends an answer without a length; other requests will have none."""
        if self._body is not None:
            self.on_message_complete()
        while self.asked:
            self.asked.popleft().close()

    def close(self) -> None:
        """Nothing is read any longer."""
        self._parser = None

    def on_message_begin(self) -> None:
        """Called by the parser."""
        self._headers.clear()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called by the parser."""
        self._headers[name.lower().decode("latin-1")] = value

    def on_headers_complete(self) -> None:
        """Called by the parser."""
        assert self._parser is not None
        status = self._parser.get_status_code()
        if status >= 200 and self.asked:
            asked = self.asked[0]
            asked.answered(status, self._headers)
            media_type = self._headers.get("content-type", b"").decode("latin-1")
            self._body = Body(media_type, self._headers.get("content-encoding", b"").decode("latin-1"), asked.answers)
            if asked.method == "HEAD":
                self._bodyless = True
                self.on_message_complete()

    def on_body(self, data: bytes) -> None:
        """Called by the parser."""
        if self._body is not None:
            self._body.feed(data)

    def on_message_complete(self) -> None:
        """Called by the parser. `100 Continue` comes before the answer and is none."""
        if self._body is not None:
            self._body.end()
            self._body = None
            self.asked.popleft().ended()


def _feed(parser: httptools.HttpRequestParser | httptools.HttpResponseParser, data: bytes) -> None:
    """Give `data` to `parser`; what its callbacks raise comes up as it is."""
    try:
        parser.feed_data(data)
    except httptools.HttpParserCallbackError as error:
        raise error.__context__ or error from None
