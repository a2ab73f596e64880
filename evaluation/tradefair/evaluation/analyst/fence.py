"""Untrusted words in a prompt: one JSON object per line, between two marks that nothing inside can repeat.

    <<<begin messages 1f0c…>>>
    {"message": 1, "round": 1, "from": "S1", "text": "Let us hold 70."}
    <<<end messages 1f0c…>>>

A mark carries a digest of everything between the two, so that it cannot be known before the text is whole; JSON keeps
every message on its own line, and characters that show nothing or turn text around are written as escapes.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

MAX_GAME = 16_000
"""Characters of a game's transcript that are shown; of a longer one the beginning and the end."""
# 96 bits: a text that contains the digest of itself cannot be found by trying.
_MARK_BYTES = 12
# Invisible, directional and lone-surrogate characters: a reader of the log would not see what the model reads.
_HIDDEN = re.compile(
    r"[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)


class Fence(NamedTuple):
    """A fenced block and the two lines that begin and end it."""

    text: str
    begin: str
    end: str


def fence(name: str, lines: Sequence[str]) -> Fence:
    """Lines, as `line_of` makes them, under a name of ours. The same lines always give the same marks."""
    body = "\n".join(lines)
    mark = digest_of(body, _MARK_BYTES)
    begin, end = f"<<<begin {name} {mark}>>>", f"<<<end {name} {mark}>>>"
    return Fence(f"{begin}\n{body}\n{end}", begin, end)


def line_of(content: Mapping[str, Any]) -> str:
    """The content on one line of JSON; characters that no reader would see are escaped.

    Never raises for what a trace can hold: content that is nested too deeply becomes `{"unreadable": true}`.
    """
    try:
        # `ensure_ascii=False` keeps other scripts readable; what must be escaped is escaped by the list above.
        return _HIDDEN.sub(_spelt, json.dumps(content, ensure_ascii=False))
    except (RecursionError, TypeError, ValueError):
        return '{"unreadable": true}'


def digest_of(text: str, size: int = 16) -> str:
    """BLAKE2b of a text in hexadecimal digits; `size` in bytes."""
    # A trace may hold halves of characters; strict encoding would raise.
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=size).hexdigest()


def _spelt(found: re.Match[str]) -> str:
    """The JSON escape of a character, as a pair of surrogates beyond the first plane."""
    return json.dumps(found[0])[1:-1]
