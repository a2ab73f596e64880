"""Text from outside, made harmless: what a terminal would obey, or hides, becomes visible; addresses hold no secret."""

from __future__ import annotations

import re

# C0 but newline and tab, DEL, C1; Arabic letter mark, zero-width signs (the joiner stays: emoji are built with it),
# line separators, direction marks, invisible operators, byte order mark, annotations, surrogates, tags.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
# Scheme, host and path. An @ in a path names nobody.
_BARE_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^@/?#]+(/[^?#]*)?")

_PASSWORD = re.compile(r"(?<=://)[^\s/@:]*:\S*@|(?<=password=)[^\s&#'\"]*")


def clean(text: str) -> str:
    r"""The text with characters that a terminal obeys, or that nobody sees, as escapes: `\x1b`, `\u202e`.

    Newline and tab stay. Cleaning twice gives the same.
    """
    return _UNSEEN.sub(_escape, text)


def clean_line(text: str) -> str:
    """The cleaned text on one line: for text that must not be able to begin a line of its own."""
    return " ".join(clean(text).split())


def clean_json(text: str) -> str:
    r"""JSON that means the same and holds no such character raw: all of them as `\uXXXX`."""
    return _UNSEEN.sub(_json_escape, text)


def without_passwords(text: str) -> str:
    """A message without the user and password of every URL that it quotes, nor the value of an option `password`."""
    return _PASSWORD.sub("", text)


def is_bare_url(url: str) -> bool:
    """Whether a URL has no user, password, query and fragment: the parts in which keys are handed over."""
    # Separators with nothing behind them count, too: `https://@host/?` would come back changed.
    return _BARE_URL.fullmatch(url) is not None


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(match: re.Match[str]) -> str:
    # JSON counts in units of UTF-16: what lies beyond 16 bits is two of them.
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[place : place + 2].hex()}" for place in range(0, len(units), 2))
