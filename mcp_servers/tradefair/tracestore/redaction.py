"""Secrets are taken out before anything is written: by the names of fields, by places, by shapes, by a user's patterns.

`redaction.toml` says which; docs/reference/redaction.md is made of it. It works on decoded JSON, so that escapes hide
nothing, and looks into texts that are JSON themselves. A secret becomes `[redacted:9f3a…]`: equal secrets of one
process stay equal, and nobody can guess them from what stands there, because the key of the digest is never stored.
"""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import orjson

from tradefair.contract.errors import ScenarioError

_MARK = "[redacted:"
_MOST_NAMES, _MAX_NAME = 10_000, 200
_DEEPEST_TEXT = 4  # JSON in a text in a text …
_LONG = 512  # signs without a space; what is longer is data and no credential
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+")
_WORDS = re.compile(r"(?<![a-z])[A-Z]?[a-z]{3,}(?![0-9a-z])")
_OTHERWISE = re.compile(r"\$\w+|\$\{[^}]*\}|\{\{.*\}\}|<[^<>]*>|%\w+%|[*x.•…_-]+|\[redact.*|(?i:your[\W_].*)")
_RUN = r"(?P<run>(?<![\w~+/=-])[A-Za-z0-9_+/-][\w~+/=-]{15,}+)"
_RUNS = re.compile(_RUN)
# What looks random and is none: data, public keys, digests, ids of calls and contents.
_BEFORE = re.compile(r"(?:;base64,|\bssh-[\w-]{1,20}\s|\b(?i:sha)\d{1,3}:)$")
_IDS = re.compile(r"(?:(?:call|toolu|msg|resp|chatcmpl|req|run|thread|asst|file|fc|rs)[_-]|sha\d{1,3}-|Qm\w{44}$)")
_UNKNOWN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}-----[^-]*+-----END|" + _RUN)

_NEVER = "\0"  # the field of a text in which nothing is looked for that only looks random
How = Literal["hidden", "shown", "shaped", "never", ""]
_SECRET: tuple[How, ...] = ("hidden", "shown", "shaped")


class _Shape(NamedTuple):
    """What a secret looks like in a text, or where it stands. The last group that matched is the secret, else all."""

    rule: str
    hints: tuple[str, ...]  # in lower case; without any of them the pattern cannot match
    pattern: re.Pattern[str]
    value: re.Pattern[str] | None = None  # what follows where the pattern ends with a name and a separator


class _Name(NamedTuple):
    """The rule by which a field's name decides of what it holds, how, and whether of numbers too."""

    rule: str = ""
    how: How = ""
    numbers: bool = False


class _Table(NamedTuple):
    hints: Sequence[tuple[str, _Shape]]
    fields: dict[str, How]
    words: dict[str, frozenset[str]]  # the table's other lists
    ends: Sequence[str]  # of compact names, as in `pgpassword`


def rows() -> dict[str, Any]:
    """The published table as it stands in its file: `fields`, `prefixes`, `shapes`, `places`, `harmless`."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


@cache
def _table() -> _Table:
    found = rows()
    fields: dict[str, Any] = found["fields"]
    how: dict[str, How] = {name: kind for kind in (*_SECRET, "never") for name in fields[kind]}
    hidden = sorted({name.replace(" ", "") for name in fields["hidden"]})
    how |= dict.fromkeys(hidden, "hidden")
    known = sorted(" ".join(found["prefixes"].values()).split())
    # By the first letter: no place of a text is compared with all of them.
    tree = "|".join(
        f"{re.escape(first)}(?:{'|'.join(re.escape(prefix[1:]) for prefix in sorted(prefixes, key=len, reverse=True))})"
        for first, prefixes in groupby(known, key=lambda prefix: prefix[0])
    )
    body = r"[\w~+/=%-]++(?:\.[\w~+/=%-]++)*+"
    issuers = _Shape("issuer", ("",), re.compile(rf"(?<![A-Za-z0-9])(?=[A-Za-z0-9][\w.~/-]{{14}})(?:{tree})({body})"))
    lists = {name: frozenset(words) for name, words in {**fields, **found["data"]}.items()}
    hints = [
        (hint, shape) for row in (*found["places"], *found["shapes"]) for shape in [_shape(row)] for hint in shape.hints
    ]
    stems = frozenset(name.split(" ")[-1] for name in how)
    return _Table([*hints, ("", issuers)], how, lists | {"stems": stems}, [name for name in hidden if len(name) > 5])


def _shape(row: Mapping[str, Any]) -> _Shape:
    value = re.compile(row["value"]) if "value" in row else None
    return _Shape(row["rule"], tuple(row["hint"]), re.compile(row["pattern"]), value)


def redacted(text: str, *keys: str | None) -> str:
    """The text with every key of ours replaced; endpoints quote them in their errors.

    Redact before a text is cut: half a key is not found.
    """
    for key in keys:
        # Placeholder keys of local servers (`ollama`, `none`) are shorter; without them messages would be garbled.
        if key and len(key) >= 12:
            text = text.replace(key, "[key]")
    return text


class Redactor:
    """Takes secrets out of decoded JSON; `hits` counts them by rule, which never is the text of a pattern.

    `in_all` counts those of every redactor that `another` has made, too.
    """

    def __init__(
        self,
        patterns: Iterable[str] = (),
        fields: Iterable[str] = (),
        *,
        keep: Iterable[str] = (),
        unknown: bool = False,
    ) -> None:
        """`patterns`: regular expressions of a user, whose whole match goes; `fields`: further names of secrets.

        Fields named in `keep` are none. With `unknown`, whatever looks random goes, from 24 characters on. Raises
        ScenarioError for what is no regular expression.
        """
        self.hits: Counter[str] = Counter()
        self.in_all: Counter[str] = Counter()
        self._key = os.urandom(32)
        self._unknown = unknown
        self._table = table = _table()
        self._words = table.words
        self._user = set(map(_plain, fields)) - {""}
        kept: dict[str, How] = dict.fromkeys(map(_plain, keep), "never")
        hidden: dict[str, How] = dict.fromkeys(self._user, "hidden")
        self._fields: dict[str, How] = {**table.fields, **kept, **hidden}
        self._stems = sorted(table.words["stems"] | {name.split(" ")[-1] for name in self._fields})
        self._longest = max(len(name.split()) for name in self._fields)
        self._names: dict[str, _Name] = {}
        self._given = [_given(number, text) for number, text in enumerate(patterns, 1)]

    def another(self) -> Redactor:
        """One for a further trace of this process: equal secrets stay equal, hits are counted anew."""
        made = copy(self)
        made.hits = Counter()
        return made

    def _twin(self) -> Redactor:
        made = self.another()
        made.in_all, made._unknown = Counter(), False
        return made

    @property
    def counted(self) -> str:
        """How many secrets went, by rule, as a text: `password 3, jwt 1`."""
        return ", ".join(f"{rule} {count:,}" for rule, count in self.in_all.most_common())

    def clean(self, value: Any) -> Any:
        """Plain data without secrets; what holds none is given back as it is. Raises RecursionError."""
        return self._value(value, 0)

    def text(self, text: str, *, unknown: bool = True) -> str:
        """A text of free form without secrets of a known place or shape."""
        for shape in self._given:
            text = shape.pattern.sub(self._found(shape), text)
        if len(text) < 8:
            return text
        lowered = text.lower()
        for shape in dict.fromkeys([shape for hint, shape in self._table.hints if hint in lowered]):
            text = self._named(shape, shape.value, text) if shape.value else shape.pattern.sub(self._found(shape), text)
        runs = _UNKNOWN if self._unknown and unknown else _RUNS
        return text if len(text) < 20 else runs.sub(self._run, text)

    def token(self, secret: str, rule: str) -> str:
        """What stands in the place of a secret."""
        self.hits[rule] += 1
        self.in_all[rule] += 1
        raw = secret.encode(errors="surrogatepass")
        return f"{_MARK}{hashlib.blake2b(raw, digest_size=8, key=self._key).hexdigest()}]"

    # --- data -------------------------------------------------------------------------------------------------------

    def _value(self, value: Any, depth: int, field: str = "") -> Any:
        if isinstance(value, str):
            return self._string(value, depth, field)
        if isinstance(value, dict):
            return self._object(cast("dict[str, Any]", value), depth)
        if isinstance(value, list):
            return self._list(cast("list[Any]", value), depth, field)
        return value

    def _object(self, fields: dict[str, Any], depth: int) -> dict[str, Any]:
        beside = self._beside(fields)
        return {
            self._shown(name): self._field(beside.get(name) or self._known(name), item, depth, name)
            for name, item in fields.items()
        }

    def _beside(self, fields: dict[str, Any]) -> dict[str, _Name]:
        """Fields that hold a secret because of what stands beside them: {name, value}, a private JWK, a Secret."""
        if "kty" in fields:
            return dict.fromkeys(self._words["private_of_jwk"], _Name("private key", "hidden"))
        if fields.get("kind") == "Secret":
            return dict.fromkeys(("data", "stringData"), _Name("secret", "hidden"))
        found: dict[str, _Name] = {}
        lowered = {name.lower(): name for name in fields} if 2 <= len(fields) <= 20 else {}
        for label in sorted(self._words["labels"] & lowered.keys()):
            known = self._said(fields[lowered[label]])
            if known.how in _SECRET:
                # "Password field" is the element into which a browser's tool types a text.
                values = self._words["typed" if label in ("element", "label", "field") else "values"] & lowered.keys()
                how = known.how if known.rule == "token" else "hidden"
                found |= {lowered[value]: known._replace(how=how) for value in values}
        return found

    def _said(self, name: Any) -> _Name:
        return self._known(name) if isinstance(name, str) and len(name) <= _MAX_NAME else _Name()

    def _list(self, items: list[Any], depth: int, field: str) -> list[Any]:
        kept, before = list[Any](), ""
        pair = len(items) == 2 and field not in self._words["lists"]
        for item in items:
            # What follows `--password` goes, and the second of a pair.
            known = self._said(before) if pair or before[:1] == "-" else _Name()
            if before in ("-u", "--user", "--proxy-user") and isinstance(item, str) and ":" in item[1:]:
                known = _Name("user option", "hidden")
            kept.append(self._field(known, item, depth, field))
            before = item if isinstance(item, str) else ""
        return kept

    def _field(self, known: _Name, value: Any, depth: int, name: str) -> Any:
        if known.how == "never":
            return self._value(value, depth, _NEVER)
        if not known.how or value is None or isinstance(value, bool):
            return self._value(value, depth, name)
        if isinstance(value, dict):
            return self._inside(known, cast("dict[str, Any]", value), depth, name)
        if isinstance(value, list):
            return [self._field(known, item, depth, name) for item in cast("list[Any]", value)]
        if isinstance(value, str):
            return self.token(value, known.rule) if self._goes(known, value) else self._value(value, depth, _NEVER)
        goes = known.rule in self._user or (known.numbers and abs(value) >= 100)
        return self.token(repr(value), known.rule) if goes else value

    def _inside(self, known: _Name, fields: dict[str, Any], depth: int, name: str) -> dict[str, Any]:
        if known.how != "hidden" or self._is_schema(fields):
            return self._object(fields, depth)
        return {self._shown(inner): self._field(known, item, depth, name) for inner, item in fields.items()}

    def _is_schema(self, fields: dict[str, Any]) -> bool:
        """Whether an object says what a value looks like, in JSON Schema."""
        kinds: Any = fields.get("type", [])
        typed = set(map(str, cast("list[Any]", kinds) if isinstance(kinds, list) else [kinds]))
        words = self._words
        return typed <= words["types"] and fields.keys() <= words["schema"] and bool(fields.keys() & words["says"])

    def _string(self, text: str, depth: int, field: str) -> str:
        """A text; where it is JSON itself, by its fields."""
        if depth < _DEEPEST_TEXT and text.lstrip()[:1] in ("{", "[", '"'):
            try:
                inner: Any = orjson.loads(text)
                cleaned = self._value(inner, depth + 1)
                # As it was written, where nothing had to go. Behind a key that stands there twice a secret could hide.
                if cleaned != inner or self._twin().text(text) != text:
                    return orjson.dumps(cleaned).decode()
                return text
            except (orjson.JSONDecodeError, orjson.JSONEncodeError):
                pass
        return self.text(text, unknown=field != _NEVER)

    # --- names ------------------------------------------------------------------------------------------------------

    def _known(self, name: str) -> _Name:
        known = self._names.get(name)
        if known is None:
            # Names may be data: those of a stranger must not fill the memory.
            if len(self._names) > _MOST_NAMES:
                self._names.clear()
            known = self._judged(name)
            if len(name) <= _MAX_NAME:
                self._names[name] = known
        return known

    def _shown(self, name: str) -> str:
        return name if len(name) < 14 else self.text(name)

    def _judged(self, name: str) -> _Name:
        lowered = name.lower()
        if not [stem for stem in self._stems if stem in lowered]:
            return _Name()
        words = _words_of(name[:_MAX_NAME])
        found, lists = _Name(), self._words
        parts = (words[start : start + size] for size in range(self._longest, 0, -1) for start in range(len(words)))
        for rule in dict.fromkeys(" ".join(part) for part in parts):
            how, ends = self._how(rule)
            # A page's token is none; an id only where nothing else is known of the name.
            if how and (not found.how or (found.how == "never" and found.rule in lists["last"])):
                found = _Name(ends, how, ends in lists["numbers"])
        about = words[-1:] if found.how in ("hidden", "shown") and found.rule not in self._user else []
        return found._replace(how="shaped") if lists["about"] & {*about} - {found.rule.split(" ")[-1]} else found

    def _how(self, rule: str) -> tuple[How, str]:
        """How a name of one or more words is dealt with, and by which rule; `pgpassword` ends with the name of one."""
        known = next((name for name in (rule, rule.removesuffix("s")) if name in self._fields), "")
        if not known and " " not in rule:
            known = next((end for end in self._table.ends if rule.endswith(end)), "")
        return self._fields.get(known, ""), known

    def _goes(self, known: _Name, value: str, *, bare: bool = False) -> bool:
        """Whether a text is a secret by the name that it stands under; `bare`: in a text, without quotes."""
        plain, words = value.strip(), self._words
        if known.rule in self._user:
            return bool(plain) and not plain.startswith(_MARK)
        nothing = {plain.lower()} & ((words["nothing"] | words["prose"]) if bare else words["nothing"])
        if not plain or nothing or _OTHERWISE.fullmatch(plain):
            return False
        if known.how == "shaped":
            return _is_credential(plain)
        digits = sum(map(str.isdigit, plain))
        if digits == len(plain) and not known.numbers:
            return len(plain) >= 6
        # In code: `password=password`, `session = Session()`.
        named = bare and _words_of(plain)[-1:] == known.rule.split()[-1:]
        return digits > 0 or not (named or (bare and known.how == "shown"))

    # --- texts ------------------------------------------------------------------------------------------------------

    def _run(self, match: re.Match[str]) -> str:
        """A run of signs without a space: what an unlisted issuer made, or what looks random."""
        run = match[0]
        if match["run"] is None or len(run) > _LONG:
            return run
        before = match.string[max(0, match.start() - 24) : match.start()]
        start = 0
        for part in re.split(r"[_-]", run.lower(), maxsplit=4)[:-1]:
            start += len(part) + 1
            if part in self._words["family"] and _is_random(run[start:].split("/")[0], 16):
                return run[:start] + self.token(run[start:], "family")
        if match.re is not _UNKNOWN or _IDS.match(run) or _BEFORE.search(before):
            return run
        parts = [run] if _is_random(run, 24) else re.split("([/=])", run)
        return "".join(self.token(part, "unknown") if _is_random(part, 24) else part for part in parts)

    def _named(self, place: _Shape, values: re.Pattern[str], text: str) -> str:
        """A text without what stands after the names of secrets; a value is looked for behind such names only."""
        kept, done, past = list[str](), 0, 0
        for match in place.pattern.finditer(text):
            known = self._known(match["name"])
            if known.how not in _SECRET and match["name"].lower() in self._words["stems"]:
                # "API key: …": the words before it belong to the name.
                known = self._known(
                    " ".join((*text[max(0, match.start() - 40) : match.start()].split()[-2:], match["name"]))
                )
            if known.how not in _SECRET or match.start() < past:
                continue
            value = values.match(text, match.end())
            if value is None:
                continue
            start, end = value.span(value.lastindex or 0)
            bare = text[start - 1] not in "\"'"
            if self._goes(known, secret := text[start:end], bare=bare):
                kept += (text[done:start], self.token(secret, known.rule))
                done = past = end
            elif bare:
                # Not looked at again: a run of names would be read once for each of them.
                past = end
        return "".join((*kept, text[done:])) if kept else text

    def _found(self, shape: _Shape) -> Callable[[re.Match[str]], str]:
        def replaced(match: re.Match[str]) -> str:
            given = not shape.hints
            group = 0 if given else match.lastindex or 0
            secret, start = match[group], match.start(group) - match.start()
            # A pattern of a user may match nothing; a mark that stands already is no secret.
            if not secret or secret.startswith(_MARK):
                return match[0]
            if not given and (_OTHERWISE.fullmatch(secret) or (shape.rule == "issuer" and not _is_issued(secret))):
                return match[0]
            return match[0][:start] + self.token(secret, shape.rule) + match[0][start + len(secret) :]

        return replaced


def _plain(name: str) -> str:
    return " ".join(_words_of(name))


def _words_of(name: str) -> list[str]:
    return [word.lower() for word in _PARTS.findall(name)]


def _classes(text: str) -> int:
    return sum(map(bool, (re.search(sign, text) for sign in ("[a-z]", "[A-Z]", r"\d"))))


def _wordy(text: str) -> float:
    """The share of the signs that belong to what may be words."""
    return sum(map(len, _WORDS.findall(text))) / len(text)


def _is_credential(text: str) -> bool:
    plain = len(text) >= 16 and not re.search(r"\s", text) and not re.fullmatch("0x[0-9a-fA-F]{40}", text)
    return plain and (_classes(text) > 1 or bool(re.search(r"[^\w.]", text))) and _wordy(text) < 0.7


def _is_issued(body: str) -> bool:
    return len(body) >= 14 and _classes(body) > 1 and _wordy(body) < 0.5


def _is_random(text: str, least: int) -> bool:
    """Whether a text of `least` signs and more is random: of mixed classes that change often, and few words in it."""
    bare = re.sub(r"[_~+/=-]", "", text)
    if len(bare) < least or len(text) > 1.25 * len(bare) or len(set(bare)) < 8:
        return False
    kinds = [0 if sign.isdigit() else 1 if sign.islower() else 2 for sign in bare]
    changes = sum(map(int.__ne__, kinds, kinds[1:])) / len(bare)
    if re.fullmatch("0x[0-9a-fA-F]+|[0-9a-f]+|[0-9A-F]+", bare):
        # Digests and ids look like that, and only a name before them says more.
        return least < 24
    return changes >= (0.3 if len(set(kinds)) == 3 else 0.22) and _wordy(text) < 0.4


def _given(number: int, text: str) -> _Shape:
    try:
        return _Shape(f"redact {number}", (), re.compile(text))
    except re.error as error:
        # Without the text itself, which may hold a secret.
        raise ScenarioError(f"--redact {number}: not a regular expression: {error.msg}") from None
