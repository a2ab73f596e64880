"""The filter of lists of traces: one line, the same in the viewer's address, `tradefair list` and `Traces.where`.

filter  = all ("or" all)*                      or binds weaker than standing next to each other
all     = term+
term    = "-"? (test | text)                   a minus negates
test    = key ":" value | key compare value    no blanks around ":" and the sign
compare = "=" | "<" | "<=" | ">" | ">="
value   = word | quoted | number | range       : asks texts whether they contain it, = whether they are it
range   = number? ".." number?                 both ends belong to it
text    = word | quoted                        in path, market, scenario, seat or player
quoted  = '"' any characters but '"' '"'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from tradefair.contract import ScenarioError
from tradefair.contract.errors import unknown
from tradefair.evaluation.viewer.row import Judged, Row

MAX_FILTER = 1_000
"""Characters of a filter."""

_TERM = re.compile(r'(-?)(?:([a-z]+)(:|<=|>=|=|<|>)("[^"]*"?|\S*)|"([^"]*)"?|(\S+))')
_RANGE = re.compile(r"(-?[\d.]+?)?\.\.(-?[\d.]+)?")

Values = Sequence[str] | float | None


class _Key(NamedTuple):
    """How a row answers: texts, a number, or None where it is not known; `judged`: only an evaluation tells."""

    read: Callable[[Row, Judged], Values]
    judged: bool = False
    number: bool = False


_KEYS: Mapping[str, _Key] = {
    "market": _Key(lambda row, _: [row.market]),
    "scenario": _Key(lambda row, _: [row.scenario]),
    "seed": _Key(lambda row, _: row.seed, number=True),
    "seat": _Key(lambda row, _: row.seats),
    "by": _Key(lambda row, _: row.players),
    "kind": _Key(lambda row, _: [row.kind]),
    "state": _Key(lambda row, _: [row.state]),
    "end": _Key(lambda row, _: [row.end] if row.end else None),
    "path": _Key(lambda row, _: [row.path]),
    "when": _Key(lambda row, _: [row.created or row.changed]),
    "events": _Key(lambda row, _: row.events, number=True),
    "score": _Key(lambda _, judged: judged.score, judged=True, number=True),
    "better": _Key(lambda _, judged: judged.better, judged=True, number=True),
    "reference": _Key(lambda _, judged: [judged.reference] if judged.reference else None, judged=True),
    "findings": _Key(lambda _, judged: judged.raised, judged=True, number=True),
    "others": _Key(lambda _, judged: judged.others, judged=True, number=True),
    "mode": _Key(lambda _, judged: judged.modes, judged=True),
    "calls": _Key(lambda _, judged: judged.calls, judged=True, number=True),
    "cost": _Key(lambda _, judged: _dollars(judged), judged=True, number=True),
    "check": _Key(lambda _, judged: [judged.check], judged=True),
    "status": _Key(lambda _, judged: [judged.status], judged=True),
}
KEYS = tuple(_KEYS)
"""What a filter can ask for; `cost` is in US dollars, `better` the distance to the best reference."""


class _Term(NamedTuple):
    negated: bool
    key: str | None
    compare: str
    value: str

    def match(self, row: Row) -> bool:
        return self._holds(row) != self.negated

    def _holds(self, row: Row) -> bool:
        if self.key is None:
            texts = (row.path, row.market, row.scenario, *row.seats, *row.players)
            return any(self.value in text.casefold() for text in texts)
        key = _KEYS[self.key]
        # What is not known fits no test.
        known = None if key.judged and row.judged is None else key.read(row, row.judged or _NOTHING)
        if known is None:
            return False
        if not isinstance(known, Sequence):
            return _number_fits(known, self.compare, self.value)
        return any(_text_fits(text.casefold(), self.compare, self.value) for text in known)


_NOTHING = Judged(check="")


class Filter(NamedTuple):
    """A parsed filter; `judged` says whether it asks for what takes an evaluation."""

    terms: tuple[tuple[_Term, ...], ...] = ()

    @property
    def judged(self) -> bool:
        """Whether a row that nobody has judged yet may fit once it is."""
        return any(term.key is not None and _KEYS[term.key].judged for every in self.terms for term in every)

    def names(self, key: str) -> bool:
        """Whether any test asks for this key."""
        return any(term.key == key for every in self.terms for term in every)

    def match(self, row: Row) -> bool:
        """Whether a row fits; an empty filter fits all rows."""
        return not self.terms or any(all(term.match(row) for term in every) for every in self.terms)


def parse(text: str) -> Filter:
    """The filter that a line says; see the grammar above. Raises ScenarioError for an unknown key or a wrong number."""
    if len(text) > MAX_FILTER:
        raise ScenarioError(f"a filter has at most {MAX_FILTER:,} characters, not {len(text):,}")
    every: list[list[_Term]] = [[]]
    for found in _TERM.finditer(text):
        minus, key, compare, value, quoted, word = found.groups()
        if word == "or":
            every.append([])
        elif key is not None:
            every[-1].append(_test(bool(minus), key, compare, value.strip('"').casefold()))
        else:
            every[-1].append(_Term(bool(minus), None, "", (word if quoted is None else quoted).casefold()))
    return Filter(tuple(tuple(terms) for terms in every if terms))


def _test(negated: bool, key: str, compare: str, value: str) -> _Term:
    if key not in _KEYS:
        raise ScenarioError(f'{unknown("filter key", key, KEYS)} (quotes make it text: "{key}{compare}{value}")')
    if _KEYS[key].number:
        value = value.removeprefix("$").replace("_", "")
        bounds = _bounds(value) if compare in ":=" else (_float(value),)
        if None in bounds:
            raise ScenarioError(f"{key} is a number: {key}:3, {key}:1..20 or {key}>3, not {value[:40]!r}")
    return _Term(negated, key, compare, value)


def _number_fits(known: float, compare: str, value: str) -> bool:
    low, high = _bounds(value) if compare in ":=" else (_float(value),) * 2
    if low is None or high is None:
        return False
    tests = {"<": known < low, "<=": known <= low, ">": known > low, ">=": known >= low}
    return tests.get(compare, low <= known <= high)


def _text_fits(known: str, compare: str, value: str) -> bool:
    # Order of texts is of use for dates only.
    tests = {":": value in known, "<": known < value, "<=": known <= value, ">": known > value, ">=": known >= value}
    return tests.get(compare, known == value)


def _bounds(value: str) -> tuple[float | None, float | None]:
    """Both ends of a range; a single number is both."""
    ends = _RANGE.fullmatch(value)
    if ends is None:
        return (_float(value),) * 2
    low, high = ends.groups()
    return (float("-inf") if low is None else _float(low)), (float("inf") if high is None else _float(high))


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _dollars(judged: Judged) -> float | None:
    return None if judged.cost_usd_micro is None else judged.cost_usd_micro / 1e6
