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

_TEXTS: Mapping[str, Callable[[Row, Judged], Sequence[str]]] = {
    "market": lambda row, _: [row.market],
    "scenario": lambda row, _: [row.scenario],
    "seat": lambda row, _: row.seats,
    "by": lambda row, _: row.players,
    "state": lambda row, _: [row.state],
    "end": lambda row, _: [row.end, row.ended] if row.end else [],
    "path": lambda row, _: [row.path],
    "when": lambda row, _: [row.created or row.changed],
    "kind": lambda row, _: [row.kind],
    "source": lambda row, _: [row.source],
    "run": lambda row, _: [row.run],
    "passed": lambda row, _: [{"passed": "true", "failed": "false", "": "unknown"}[row.passed]] if row.source else [],
    "reference": lambda _, judged: [judged.reference] if judged.reference else [],
    "mode": lambda _, judged: judged.modes,
    "rule": lambda _, judged: judged.modes,
    "tool": lambda _, judged: judged.tools,
    "check": lambda _, judged: [judged.check] if judged.check else [],
    "status": lambda _, judged: [judged.status] if judged.status else [],
}
_NUMBERS: Mapping[str, Callable[[Row, Judged], float | None]] = {
    "seed": lambda row, _: row.seed,
    "events": lambda row, _: row.events,
    "score": lambda _, judged: judged.score,
    "better": lambda _, judged: judged.better,
    "findings": lambda _, judged: judged.raised,
    "others": lambda _, judged: judged.others,
    "calls": lambda _, judged: judged.calls,
    "cost": lambda _, judged: _dollars(judged),
}
# What only an evaluation tells.
_JUDGED = frozenset(
    ["reference", "mode", "rule", "tool", "check", "status", "score", "better", "findings", "others", "calls", "cost"]
)
KEYS = (*_TEXTS, *_NUMBERS)
"""What a filter can ask for; `cost` is in US dollars, `better` the distance to the best reference.

Of foreign runs: `passed` is true, false or unknown, `rule` the same as `mode`, `tool` one that was called.
"""


class _Term(NamedTuple):
    negated: bool
    key: str | None
    compare: str
    value: str
    bounds: tuple[float, float] = (0.0, 0.0)
    """Both ends of the value of a number; of a single one it is both."""

    def match(self, row: Row) -> bool:
        return self._holds(row) != self.negated

    def _holds(self, row: Row) -> bool:
        if self.key is None:
            texts = (row.path, row.market, row.scenario, *row.seats, *row.players)
            return any(self.value in text.casefold() for text in texts)
        judged = row.judged or _NOTHING
        # What is not known fits no test.
        if self.key in _NUMBERS:
            known = _NUMBERS[self.key](row, judged)
            return known is not None and _number_fits(known, self.compare, *self.bounds)
        return any(_text_fits(text.casefold(), self.compare, self.value) for text in _TEXTS[self.key](row, judged))


_NOTHING = Judged(check="")


class Filter(NamedTuple):
    """A parsed filter; `judged` says whether it asks for what takes an evaluation."""

    terms: tuple[tuple[_Term, ...], ...] = ()

    @property
    def judged(self) -> bool:
        """Whether a row that nobody has judged yet may fit once it is."""
        return any(term.key in _JUDGED for every in self.terms for term in every)

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
    if key not in KEYS:
        raise ScenarioError(f'{unknown("filter key", key, KEYS)} (quotes make it text: "{key}{compare}{value}")')
    if key not in _NUMBERS:
        return _Term(negated, key, compare, value)
    plain = value.removeprefix("$").replace("_", "")
    ends = _RANGE.fullmatch(plain) if compare in ":=" else None
    try:
        low, high = (ends[1] or "-inf", ends[2] or "inf") if ends else (plain, plain)
        return _Term(negated, key, compare, value, (float(low), float(high)))
    except ValueError:
        raise ScenarioError(f"{key} is a number: {key}:3, {key}:1..20 or {key}>3, not {plain[:40]!r}") from None


def _number_fits(known: float, compare: str, low: float, high: float) -> bool:
    tests = {"<": known < low, "<=": known <= low, ">": known > low, ">=": known >= low}
    return tests.get(compare, low <= known <= high)


def _text_fits(known: str, compare: str, value: str) -> bool:
    # Order of texts is of use for dates only.
    tests = {":": value in known, "<": known < value, "<=": known <= value, ">": known > value, ">=": known >= value}
    return tests.get(compare, known == value)


def _dollars(judged: Judged) -> float | None:
    return None if judged.cost_usd_micro is None else judged.cost_usd_micro / 1e6
