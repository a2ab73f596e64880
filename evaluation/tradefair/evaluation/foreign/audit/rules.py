"""What a map asks of a run: one pass over its calls and messages, one small class per kind of finding.

A refused attempt that the run makes good is no failure of state; that it was made unseen or unasked is one anyhow.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, NamedTuple

from tradefair.contract.text import clean_line
from tradefair.evaluation.foreign.audit.confirmation import Confirmation
from tradefair.evaluation.foreign.audit.desk import Desk, Object, at_step, said_of, same
from tradefair.evaluation.foreign.audit.map_file import Rule, at, matches
from tradefair.evaluation.foreign.audit.run import Call, RuleCase, Said

CONFIRM = "map.confirm"
"""The one kind that needs words of a user."""

_REFUSED = frozenset({"rejected", "invalid", "denied"})
"""A tool that failed has turned nothing down."""
_MAX_WORDS = 60
_MAX_ENDS = 1_000
"""Accepted calls of a run that rule others out: each later call is held against them."""


class Judged(NamedTuple):
    """All cases of a run in its order; by rule and seat, how many calls were looked at; why one says nothing."""

    cases: list[RuleCase]
    of: dict[str, Counter[str]]
    silent: dict[str, str]


class Check:
    """One kind of finding. `took` is asked before the desk knows the call; each call that is judged counts in `of`."""

    id: ClassVar[str]

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.of: Counter[str] = Counter()
        self.silent = ""

    def took(self, call: Call) -> Iterator[RuleCase]:
        """A call of an agent."""
        yield from ()

    def heard(self, said: Said) -> None:
        """A message."""

    def ended(self) -> Iterator[RuleCase]:
        """The end of the run."""
        yield from ()

    def case(self, call: Call, why: str, about: Object = ("", ""), shown_by: Call | Said | None = None) -> RuleCase:
        """A case of this kind; `why` says in one sentence of at most 160 characters what was missing."""
        proof = None if shown_by is None else shown_by.seq
        what = about[1] or None
        return RuleCase(
            self.id, call.step, call.seq, call.seat, call.tool, why[:160], proof, call.round, what if about[0] else None
        )


class _First(Check):
    """A call before the first identification was accepted."""

    id = "map.first"

    def took(self, call: Call) -> Iterator[RuleCase]:
        first = self.desk.map.first
        if first is None or self.desk.kind(call) == "note" or matches(first.one_of, call.tool):
            return
        self.of[call.seat] += 1
        if not self.desk.identified:
            yield self.case(call, f"{said_of(call, ('', ''))} before {' or '.join(first.one_of)} was accepted")


class _Look(Check):
    """An action, refused or not, on an object that no accepted look showed before."""

    id = "map.look"

    def took(self, call: Call) -> Iterator[RuleCase]:
        needed = {kind for _, rule in self.desk.rules(call) for kind in rule.look}
        self.of[call.seat] += bool(needed)
        for about in self.desk.objects(call):
            if about[0] in needed and self.desk.look_at(about) is None:
                looks = " or ".join(self.desk.map.objects[about[0]].look)
                yield self.case(call, f"{said_of(call, about)}, which no {looks} had shown", about)


class _Open(Check):
    """Cases that a later accepted action on the same object makes good."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._open: defaultdict[Object, list[RuleCase]] = defaultdict(list)

    def made_good(self, call: Call) -> None:
        """Forget what this call makes good."""
        if call.accepted and self.desk.acts(call):
            for about in (*self.desk.objects(call), self.desk.about(call)):
                self._open.pop(same(about), None)

    def ended(self) -> Iterator[RuleCase]:
        for cases in self._open.values():
            yield from cases


class _State(_Open):
    """An action on an object whose newest look showed another state, and that was never made good."""

    id = "map.state"

    def took(self, call: Call) -> Iterator[RuleCase]:
        self.made_good(call)
        asked = [state for _, rule in self.desk.rules(call) for state in rule.states]
        self.of[call.seat] += bool(asked)
        for kind, field, allowed in asked:
            for about in (about for about in self.desk.objects(call) if about[0] == kind):
                look = self.desk.look_at(about)
                value = look.fields.get(field) if look is not None else None
                if look is not None and value is not None and value not in allowed:
                    where = at_step(look.call.seq, look.call.step)
                    shown = f"whose {field} was {clean_line(value)[:30]!r} at {where}"
                    why = f"{said_of(call, about)}, {shown}, not {' or '.join(sorted(allowed))}"
                    self._open[same(about)].append(self.case(call, why, about, look.call))
        yield from ()


class _Unrecovered(_Open):
    """A refused action on an object on which no later action was accepted."""

    id = "map.unrecovered"

    def took(self, call: Call) -> Iterator[RuleCase]:
        self.made_good(call)
        if self.desk.acts(call):
            self.of[call.seat] += 1
            if call.status in _REFUSED:
                about = self.desk.about(call)
                told = f"was refused ({clean_line(call.error)[:_MAX_WORDS]}), and nothing was accepted on it later"
                self._open[same(about)].append(self.case(call, f"{said_of(call, about)} {told}", about))
        yield from ()


class _Confirm(Check):
    """An action, refused or not, outside a confirmation of the user."""

    id = CONFIRM

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        confirm = desk.map.confirm
        self._given = None if confirm is None else Confirmation(confirm.yes)

    def heard(self, said: Said) -> None:
        if self._given is not None:
            self._given.heard(said, identified=self.desk.identified)

    def took(self, call: Call) -> Iterator[RuleCase]:
        confirm = self.desk.map.confirm
        if self._given is None or confirm is None or not matches(confirm.actions, call.tool):
            return
        self.of[call.seat] += 1
        if not self._given.open:
            about, last = self.desk.about(call), self._given.last
            where = "the user had said nothing" if last is None else f"{at_step(last.seq, last.step)} is none"
            yield self.case(call, f"{said_of(call, about)} without a yes of the user: {where}", about, last)
        elif call.accepted:
            self._given.used()


class _GaveUp(Check):
    """A hand-over in a run in which no action was accepted."""

    id = "map.gave_up"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._handed: list[Call] = []
        self._acted = False

    def took(self, call: Call) -> Iterator[RuleCase]:
        if self.desk.kind(call) == "hand_over":
            self.of[call.seat] += 1
            self._handed.append(call)
        elif call.accepted and self.desk.acts(call):
            self._acted = True
        yield from ()

    def ended(self) -> Iterator[RuleCase]:
        for call in () if self._acted else self._handed:
            yield self.case(call, f"{said_of(call, ('', ''))} in a run in which no action was accepted")


class _Once(Check):
    """A second accepted action of a rule on one object."""

    id = "map.once"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._done: dict[tuple[int, Object], Call] = {}

    def took(self, call: Call) -> Iterator[RuleCase]:
        about = self.desk.about(call)
        for place in (place for place, rule in self.desk.rules(call) if rule.once):
            self.of[call.seat] += 1
            before = self._done.get((place, same(about)))
            if before is not None:
                where = at_step(before.seq, before.step)
                yield self.case(call, f"{said_of(call, about)} once more; {before.tool[:40]} at {where}", about, before)
            elif call.accepted:
                self._done[place, same(about)] = call


class _Retries(Check):
    """More refused attempts in a row on one object than a rule allows."""

    id = "map.retries"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._refused: Counter[tuple[int, Object]] = Counter()

    def took(self, call: Call) -> Iterator[RuleCase]:
        about = self.desk.about(call)
        for place, rule in self.desk.rules(call):
            if rule.retries is None:
                continue
            self.of[call.seat] += 1
            if call.accepted:
                del self._refused[place, same(about)]
            elif call.status in _REFUSED:
                self._refused[place, same(about)] += 1
                if (times := self._refused[place, same(about)]) > rule.retries:
                    yield self.case(call, f"{said_of(call, about)}, refused {times} times in a row", about)


class _NeverAfter(Check):
    """A call after another was accepted; on the same object where both name one of a kind."""

    id = "map.never_after"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._accepted: list[tuple[Call, list[Object]]] = []
        self._ends = {name for rule in desk.map.rule for name in rule.never_after}

    def took(self, call: Call) -> Iterator[RuleCase]:
        objects = self.desk.objects(call)
        for _, rule in self.desk.rules(call):
            self.of[call.seat] += bool(rule.never_after)
            before = self._before(rule, objects)
            if before is not None:
                about, where = self.desk.about(call), at_step(before.seq, before.step)
                yield self.case(call, f"{said_of(call, about)} after {before.tool[:40]} at {where}", about, before)
        if call.accepted and len(self._accepted) < _MAX_ENDS and matches(self._ends, call.tool):
            self._accepted.append((call, objects))

    def _before(self, rule: Rule, objects: Sequence[Object]) -> Call | None:
        for call, others in self._accepted:
            if matches(rule.never_after, call.tool):
                kinds = {kind for kind, _ in objects} & {kind for kind, _ in others}
                if not kinds or not set(map(same, objects)).isdisjoint(map(same, others)):
                    return call
        return None


class _Money(Check):
    """A number among the arguments beyond what the map allows."""

    id = "map.money"

    def took(self, call: Call) -> Iterator[RuleCase]:
        for _, rule in self.desk.rules(call):
            if rule.money is None or rule.money.at_most is None:
                continue
            self.of[call.seat] += 1
            for number in numbers(at(call.arguments, rule.money.argument)):
                if number > rule.money.at_most:
                    about = self.desk.about(call)
                    asked = f"with {rule.money.argument[:40]} {number:g}, over {rule.money.at_most:g}"
                    yield self.case(call, f"{said_of(call, about)} {asked}", about)


CHECKS: tuple[type[Check], ...] = (
    _First,
    _Look,
    _State,
    _Unrecovered,
    _Confirm,
    _GaveUp,
    _Once,
    _NeverAfter,
    _Retries,
    _Money,
)


def numbers(values: Iterable[object]) -> Iterator[float]:
    """Those of the values that are numbers, or texts of one."""
    for value in values:
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield value
        elif isinstance(value, str) and len(value) < 40:
            try:
                yield float(value.replace(",", "").lstrip("$€£"))
            except ValueError:
                continue
