"""Secrets are taken out before anything is written: by the name of their field, by their shape, by a user's patterns.

It works on decoded JSON, so that escapes hide nothing, and looks into texts that are JSON themselves. A secret becomes
`[redacted:9f3a…]`: equal secrets of one process stay equal, and nobody can guess them from what stands there, because
the key of the digest is never stored. A secret in free text of no known shape is not found.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable
from copy import copy
from typing import Any, NamedTuple, cast

import orjson

from tradefair.contract.errors import ScenarioError

FIELDS = ("password", "passwd", "passphrase", "secret", "token", "apikey", "privatekey", "authorization", "cookie")
"""A field is redacted where its name holds one of these, in any case and without its `_`, `-` and spaces."""

# Names that hold "token" and numbers that are no secret: budgets, usage, and progress of the protocol.
_COUNTS = ("tokens", "tokencount", "tokenlimit", "progresstoken")
_NO_LETTERS = str.maketrans("", "", "_- .")
_MARK = "[redacted:"
# A number of tokens is no secret, in a text either.
_TOKEN = r"token(?!(?:s|[_-]?count|[_-]?limit)\b(?:\\*[\"'])?[\s:=>]{1,9}\d{1,9}\b)"
_NAMES = rf"(?:password|passwd|passphrase|secret|{_TOKEN}|api[_-]?key|private[_-]?key|authorization|cookie)"
_LABELS = ("name", "key", "field", "header", "label")
_MOST_NAMES, _MAX_NAME = 10_000, 200
_DEEPEST_TEXT = 4  # JSON in a text in a text …


class _Shape(NamedTuple):
    """What a secret looks like in a text. The group that matched is the secret; without one the whole match is."""

    rule: str
    hints: tuple[str, ...]  # in lower case; without any of them the pattern cannot match
    pattern: re.Pattern[str]
    whole: bool = False


class _Name(NamedTuple):
    """A field's name as it is written, the rule that hides what it holds, and whether its numbers are counts."""

    shown: str
    rule: str | None
    counts: bool


def _shape(rule: str, hints: str, pattern: str) -> _Shape:
    return _Shape(rule, tuple(hints.split()), re.compile(pattern))


# No pattern may look at a place more often than a few times: a stranger sends the texts.
_SHAPES = (
    _shape(
        "pem", "-----begin", r"(?s)-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?:.*?-----END [A-Z0-9 ]{0,40}-----|.*)"
    ),
    _shape(
        "header", "cookie authorization", r"(?i)\b(?:set-cookie2?|cookie|(?:proxy-)?authorization)\s*:\s*([^\r\n]+)"
    ),
    _shape("option", "--", rf"(?i)(?<![\w-])--?[\w-]{{0,40}}{_NAMES}[\w-]{{0,40}}(?:\s+|=)([^\s\"',;]{{3,}})"),
    _shape("bearer", "bearer", r"(?i)\bbearer\s+([\w.~+/=-]{8,})"),
    _shape("jwt", "eyj", r"(?<![\w-])eyJ[\w-]{6,}+\.[\w-]{6,}+\.[\w-]*"),
    _shape("sk", "sk-", r"(?<![A-Za-z0-9])sk-(?=[\w-]{0,100}\d)[\w-]{10,}"),
    _shape("github", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"(?<![A-Za-z0-9])(?:gh[pousr]_|github_pat_)\w{16,}"),
    _shape("aws", "akia asia", r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Za-z])"),
    _shape("slack", "xox", r"(?<![A-Za-z0-9])xox[a-z]-[\w-]{10,}"),
    _shape(
        "issuer",
        "glpat- hf_ npm_ pypi- k_live_ k_test_",
        r"(?<![A-Za-z0-9])(?:glpat-|hf_|npm_|pypi-|[srp]k_(?:live|test)_)(?=[\w-]{0,200}[A-Z0-9])[\w-]{16,}",
    ),
    _shape("google", "aiza", r"(?<![A-Za-z0-9])AIza[\w-]{30,}"),
    _shape("address", "://", r"://[^/\s:@]*:([^/\s@]+)@"),
    _shape(
        "assigned",
        "passw passphrase secret token api private authorization cookie",
        rf"(?i){_NAMES}[\w-]{{0,40}}(?:\\*[\"'])?\s*[:=>]\s*"
        r"(?:\\*\"([^\"\\]+)|\\*'([^'\\]+)|([^\s\"'\\,;&<>(){}\[\]]{3,}))",
    ),
)


class Redactor:
    """Takes secrets out of decoded JSON; `hits` counts them by rule, which never is the text of a pattern."""

    def __init__(self, patterns: Iterable[str] = (), fields: Iterable[str] = ()) -> None:
        """`patterns`: regular expressions of a user, whose whole match goes; `fields`: parts of further field names.

        Raises ScenarioError for what is no regular expression.
        """
        self.hits: Counter[str] = Counter()
        self._key = os.urandom(32)
        self._fields = (*FIELDS, *(field.lower().translate(_NO_LETTERS) for field in fields if field.strip()))
        self._names: dict[str, _Name] = {}
        given = [_given(number, text) for number, text in enumerate(patterns, 1)]
        self._shapes = (*given, *_SHAPES)
        # The empty hint stands in every text: a pattern of a user is always tried.
        self._hints = ("",) if given else tuple(hint for shape in _SHAPES for hint in shape.hints)

    def another(self) -> Redactor:
        """One for a further trace of this process: equal secrets stay equal, hits are counted anew."""
        made = copy(self)
        made.hits = Counter()
        return made

    def clean(self, value: Any) -> Any:
        """Plain data without secrets; what holds none is given back as it is. Raises RecursionError."""
        return self._value(value, 0)

    def text(self, text: str) -> str:
        """A text of free form without secrets of a known shape."""
        lowered = text.lower()
        if not self._hinted(lowered):
            return text
        for shape in self._shapes:
            if shape.hints and not any(hint in lowered for hint in shape.hints):
                continue
            text = shape.pattern.sub(self._replacing(shape), text)
        return text

    def token(self, secret: str, rule: str) -> str:
        """What stands in the place of a secret."""
        self.hits[rule] += 1
        raw = secret.encode(errors="surrogatepass")
        return f"{_MARK}{hashlib.blake2b(raw, digest_size=8, key=self._key).hexdigest()}]"

    def _hinted(self, lowered: str) -> bool:
        # A loop: this runs for each text of each message, and most hold no hint.
        for hint in self._hints:  # noqa: SIM110
            if hint in lowered:
                return True
        return False

    def _value(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self._string(value, depth)
        if isinstance(value, dict):
            fields = cast("dict[str, Any]", value)
            hides = self._hides(fields) if "value" in fields else None
            return {
                self._known(name).shown: self._field(name, item, depth)
                if hides is None or name != "value"
                else self._hidden(item, hides, counts=False)
                for name, item in fields.items()
            }
        if isinstance(value, list):
            return [self._value(item, depth) for item in cast("list[Any]", value)]
        return value

    def _field(self, name: str, value: Any, depth: int) -> Any:
        known = self._known(name)
        return self._value(value, depth) if known.rule is None else self._hidden(value, known.rule, counts=known.counts)

    def _hides(self, fields: dict[str, Any]) -> str | None:
        """The rule by which the field `value` of {name, value} is a secret, as forms and lists of headers have them."""
        labels = (fields.get(label) for label in _LABELS)
        return next((rule for label in labels if isinstance(label, str) and (rule := self._known(label).rule)), None)

    def _hidden(self, value: Any, rule: str, *, counts: bool) -> Any:
        """Everything below a field that holds secrets."""
        if isinstance(value, dict):
            inner = cast("dict[str, Any]", value).items()
            return {self._known(name).shown: self._hidden(item, rule, counts=counts) for name, item in inner}
        if isinstance(value, list):
            return [self._hidden(item, rule, counts=counts) for item in cast("list[Any]", value)]
        if value is None or isinstance(value, bool) or value == "" or (counts and not isinstance(value, str)):
            return value
        return self.token(value if isinstance(value, str) else repr(value), rule)

    def _string(self, text: str, depth: int) -> str:
        """A text; where it is JSON itself, by its fields."""
        if depth < _DEEPEST_TEXT and text.lstrip()[:1] in ("{", "[", '"'):
            try:
                inner: Any = orjson.loads(text)
                cleaned = self._value(inner, depth + 1)
                # As it was written, where nothing had to go. Behind a key that stands there twice a secret could hide.
                return text if cleaned == inner and not self._hinted(text.lower()) else orjson.dumps(cleaned).decode()
            except (orjson.JSONDecodeError, orjson.JSONEncodeError):
                pass
        return self.text(text)

    def _known(self, name: str) -> _Name:
        known = self._names.get(name)
        if known is None:
            # Names may be data: those of a stranger must not fill the memory.
            if len(self._names) > _MOST_NAMES:
                self._names.clear()
            bare = name.lower().translate(_NO_LETTERS)
            rule = next((part for part in self._fields if part in bare), None)
            known = _Name(self.text(name), rule, any(part in bare for part in _COUNTS))
            if len(name) <= _MAX_NAME:
                self._names[name] = known
        return known

    def _replacing(self, shape: _Shape) -> Callable[[re.Match[str]], str]:
        def replaced(match: re.Match[str]) -> str:
            group = 0 if shape.whole else match.lastindex or 0
            secret, start = match[group], match.start(group) - match.start()
            # A pattern of a user may match nothing; a mark that stands already is no secret.
            if not secret or secret.startswith(_MARK):
                return match[0]
            return match[0][:start] + self.token(secret, shape.rule) + match[0][start + len(secret) :]

        return replaced


def _given(number: int, text: str) -> _Shape:
    try:
        return _Shape(f"redact {number}", (), re.compile(text), whole=True)
    except re.error as error:
        # Without the text itself, which may hold a secret.
        raise ScenarioError(f"--redact {number}: not a regular expression: {error.msg}") from None
