"""Faults that a gateway injects, by a small deterministic schedule: `429@3,500@5..6,drop@8`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from tradefair.contract.errors import ScenarioError

FAULTS: dict[str, str] = {
    "429": "refuse with status 429; the value is retry-after in seconds (0.01)",
    "500": "refuse with status 500",
    "stall": "answer late by the value in seconds; without one not before the client gives up",
    "drop": "cut the connection in the middle of the answer",
    "malformed": "reply with a call whose arguments are not JSON",
    "truncated": "reply with a call that is cut off, finish_reason length",
    "unknown_tool": "reply with a call of a tool that does not exist",
    "empty": "reply with nothing",
    "refusal": "reply with a refusal",
    "endless": "reply with a call that only looks",
}
"""Every kind of fault and what it does. The first four meet the transport, the rest stand in for the model's reply."""

TRANSPORT = frozenset({"429", "500", "stall", "drop"})
# Seconds after `=`, requests after `@`; `..` without a number after it means up to the last request.
_RULE = re.compile(r"(?P<kind>\w+)(?:=(?P<value>\d+(?:\.\d+)?))?@(?P<first>\d+)(?P<range>\.\.(?P<last>\d+)?)?")
# 429 tells the client when to come back, a stall lasts; the others have nothing to measure.
_VALUED = frozenset({"429", "stall"})


class Fault(NamedTuple):
    """One fault; `value` is in seconds, None where the schedule gives none."""

    kind: str
    value: float | None = None

    @property
    def replaces(self) -> bool:
        """Whether it stands in for the model's reply, which is then not asked for."""
        return self.kind not in TRANSPORT


class _Rule(NamedTuple):
    fault: Fault
    first: int
    last: int | None


@dataclass(frozen=True)
class Faults:
    """A schedule over the requests of one gateway, counted from 1; a client's retries count too."""

    rules: tuple[_Rule, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Faults:
        """`kind[=value]@n`, `@n..m` or `@n..` (from then on), joined by commas. Raises ScenarioError."""
        return cls(tuple(_rule(part) for part in map(str.strip, text.split(",")) if part))

    def at(self, number: int) -> Fault | None:
        """The fault of a request; the first rule that names it wins.

        None where the request goes through as it is.
        """
        for rule in self.rules:
            # `last` is None for a rule without an end.
            if rule.first <= number and (rule.last is None or number <= rule.last):
                return rule.fault
        return None


def _rule(text: str) -> _Rule:
    match = _RULE.fullmatch(text)
    # Cut, because the text comes from a command line and is quoted in the error.
    if match is None or match["kind"] not in FAULTS:
        known = ", ".join(FAULTS)
        raise ScenarioError(f"{text[:80]!r} is no fault: write kind@n, kind@n..m or kind@n.. with a kind of {known}")
    kind, first = match["kind"], int(match["first"])
    # A single request, an open range, or a closed one.
    last = first if match["range"] is None else (int(match["last"]) if match["last"] else None)
    if first < 1 or (last is not None and last < first):
        raise ScenarioError(f"{text[:80]!r}: requests are counted from 1, and a range goes upwards")
    if match["value"] is not None and kind not in _VALUED:
        raise ScenarioError(f"{text[:80]!r}: only {' and '.join(sorted(_VALUED))} take a value (seconds)")
    return _Rule(Fault(kind, None if match["value"] is None else float(match["value"])), first, last)
