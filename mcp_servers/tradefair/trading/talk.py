"""What the markets share about messages: which text may be sent, how it is counted, how much is too much."""

from __future__ import annotations

import re
import unicodedata

from tradefair.contract import IllegalAction

# Controls but newline and tab; lone surrogates; marks, embeddings, overrides and isolates of bidirectional text, with
# which a message could show its words in another order.
_NOT_PLAIN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def plain_text(text: str) -> str:
    """The text as it is; ValueError naming the place of a control, a lone surrogate or a direction mark.

    A validator for tool parameters: what such characters would do to a reader's screen, a sender has no use for.
    """
    found = _NOT_PLAIN.search(text)
    if found is not None:
        raise ValueError(
            f"character {found.start()} (U+{ord(found[0]):04X}) is not allowed: no controls but newline and tab, "
            "no lone surrogates, no direction marks"
        )
    return text


def words_of(text: str) -> int:
    """Maximal runs of non-whitespace after NFC."""
    return len(unicodedata.normalize("NFC", text).split())


def sized_words(text: str, max_words: int, max_chars: int) -> int:
    """The number of words of a message. IllegalAction `message_too_long`, naming count and cap, when it is too long."""
    words = words_of(text)
    # Both caps, because a single word may be of any length.
    if words <= max_words and len(text) <= max_chars:
        return words
    size = f"{words} words; at most {max_words}"
    if words <= max_words:
        size = f"{len(text)} characters; at most {max_chars}"
    raise IllegalAction("message_too_long", f"{size}.", hint="shorten it and call send_message again")
