"""English number words up to 999 as digits: "sixty-two", "a hundred and five", "two hundred forty"."""

from __future__ import annotations

import re

_ONES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen")
_TEENS = ("fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
_BELOW_TWENTY = {word: value for value, word in enumerate(_ONES + _TEENS, 1)}
_TENS = {
    word: value
    for value, word in zip(
        range(20, 100, 10), ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"), strict=True
    )
}
# People write both hyphens, dashes and blanks: "sixty-two", "sixty‑two", "sixty–two", "sixty two".
_JOIN = r"(?:\s?[-‐‑–—]\s?|\s)"
_UNIT, _TEN = "|".join(_ONES[:9]), "|".join([*_TENS, "fourty"])
# Longest first, or "sixty" would take the "six" of "sixteen".
_SMALL = rf"(?:(?:{_TEN})(?:{_JOIN}(?:{_UNIT})\b)?|{'|'.join(sorted(_BELOW_TWENTY, key=len, reverse=True))})"
# A one that stands alone is mostly a pronoun: "no one", "that one", "one more".
_NUMBER = re.compile(
    rf"(?<![\w.])(?:(?P<hundreds>an?|{_UNIT}){_JOIN}hundred(?:(?:{_JOIN}and{_JOIN}|{_JOIN})(?P<rest>{_SMALL}))?"
    rf"|(?P<hundred>hundred)|(?!one\b)(?P<small>{_SMALL}))(?![\w])"
)
# "If you take two" counts: below ten, only what stands where a price does is a number.
_PRICING = re.compile(
    r"\b(?:at|is|are|was|bids?|asks?|pay|offer|to|than|most|least|below|above|under|over|around|about|exactly|price|"
    r"costs?|value|limit|[=:]) $"
)


def _small(words: str | None) -> int:
    """The value of words below a hundred; 0 for none."""
    parts = re.findall(r"[a-z]+", words or "")
    # The common misspelling is read as what was meant.
    return sum(_BELOW_TWENTY.get(part) or _TENS.get(part.replace("fourty", "forty"), 0) for part in parts)


def _digits(found: re.Match[str]) -> str:
    if found["hundred"]:
        return "100"
    if found["small"]:
        value = _small(found["small"])
        priced = value >= 10 or _PRICING.search(found.string[max(0, found.start() - 9) : found.start()])
        return str(value) if priced else found[0]
    return str(_BELOW_TWENTY.get(found["hundreds"], 1) * 100 + _small(found["rest"]))


def with_digits(text: str) -> str:
    """Lower-case `text` with number words from two to 999 written as digits, counts below ten excepted."""
    return _NUMBER.sub(_digits, text)
