"""threat_without_follow_through: the counterpart did what was threatened against, and nothing came of it."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from pydantic import PositiveInt

from tradefair.evaluation.markets.bargaining.modes.play import Said, Side, spelled
from tradefair.evaluation.modes.diagnosis import Case, Seen
from tradefair.trading.statements import Statement


class _Test(NamedTuple):
    """Rounds in which a threat should have been carried out: in each of them, or in any."""

    rounds: tuple[int, ...]
    each: bool


def detect(side: Side, *, rounds_of_permanent: PositiveInt) -> Seen:
    """Triggered threats that were not carried out; parts: what became of the others.

    A threat is tested once, by the round that provoked it; one that is meant to stay has to be carried out in
    `rounds_of_permanent` rounds.
    """
    made = [said for said in side.said if said.statement.force == "threat" and said.statement.strength == "firm"]
    cases: list[Case] = []
    fates: Counter[str] = Counter()
    triggered: set[Said] = set()
    for closed in side.rounds:
        # The latest threat in force counts, once: a talker who repeats itself is not tested five times.
        said = _latest(made, closed.number)
        if said is None or said in triggered or not _provoked(side, said.statement, closed.number):
            continue
        triggered.add(said)
        test = _test(side, said.statement, closed.number, rounds_of_permanent)
        fate = _fate(side, said.statement, test)
        fates[fate] += 1
        if fate == "empty":
            cases.append(_case(side, said, closed.number, test))
    last = side.game.last_round
    # Void: the window came and went without provocation. Censored: the game ended before it.
    untested = [said for said in made if said not in triggered]
    parts = {
        "made": len(made),
        "tested": fates["kept"] + fates["empty"],
        "kept": fates["kept"],
        "void": sum(_window(said.statement)[0] <= last for said in untested),
        "censored": fates["censored"] + sum(_window(said.statement)[0] > last for said in untested),
    }
    return Seen(cases, int(parts["tested"]), parts)


def _window(statement: Statement) -> tuple[int, int]:
    """Rounds in which the counterpart can provoke: before the effect where only that is dated, else the horizon."""
    first, last = statement.horizon
    # "If you ask 60 now" can be provoked in the round of the message only.
    if statement.condition is not None and statement.condition.now:
        return statement.round, statement.round
    return (statement.round, first - 1) if first > statement.round and not statement.permanent else (first, last)


def _latest(made: list[Said], number: int) -> Said | None:
    """The latest firm threat that the counterpart can provoke in round `number`; None without one."""
    for said in reversed(made):
        first, last = _window(said.statement)
        if said.statement.round <= number and first <= number <= last:
            return said
    return None


def _provoked(side: Side, statement: Statement, number: int) -> bool:
    """Whether the quote met the antecedent, and is not better for the speaker than what it names."""
    quote, condition = side.their_quote(number), statement.condition
    if quote is None or condition is None:
        return False
    # A quote that meets the words but is better for the speaker than what it named provokes nothing.
    return condition.holds(quote) and side.gives(quote, condition.y) >= 0


def _test(side: Side, statement: Statement, number: int, most: int) -> _Test:
    """Empty where the game ended before the threat could be carried out.

    `most` bounds the rounds of a lasting threat.
    """
    last = side.game.last_round
    # In each of the next rounds: who threatens to do it from now on has to do it more than once.
    if statement.permanent:
        return _Test(tuple(range(number + 1, min(number + most, last) + 1)), each=True)
    if statement.horizon[0] > statement.round:
        # Quotes of a round are sealed: a provocation is seen after the round, and the answer comes in the next at the
        # earliest.
        effect = max(number + 1, statement.horizon[0])
        return _Test((effect,) if effect <= last else (), each=True)
    # Without a time word either round will do: the same one, or the one after.
    return _Test(tuple(range(number, min(number + 1, last) + 1)), each=False)


def _fate(side: Side, statement: Statement, test: _Test) -> str:
    """`censored` where no round was left, or only the one that was sealed before the provocation was seen."""
    done = [_carried_out(side, statement, number) for number in test.rounds]
    if not done:
        return "censored"
    if test.each:
        return "kept" if all(done) else "empty"
    if any(done):
        return "kept"
    # The first round was sealed before the provocation was seen: without a second one the threat cannot be judged.
    return "empty" if len(done) > 1 else "censored"


def _carried_out(side: Side, statement: Statement, number: int) -> bool:
    """A round that was not played counts as carried out: nothing speaks against it."""
    closed = side.game.rounds.get(number)
    # A threat of "no trade" came true by whatever kept the round from trading.
    if closed is None or not closed.traded:
        if statement.kind == "no_trade" or closed is None:
            return True
    elif statement.kind == "no_trade":
        return False
    quote = closed.quotes[side.seat]
    # A forfeit gives the counterpart nothing: harder than any threatened quote.
    return quote is None or side.gives(quote, statement.x) <= 0


def _case(side: Side, said: Said, number: int, test: _Test) -> Case:
    """It is about the first quote that should have carried the threat out."""
    threat = "no trade" if said.statement.kind == "no_trade" else spelled(said.statement.x)
    condition = said.statement.condition
    bound = "" if condition is None else f" from {spelled(condition.y)} on"
    met = f"{side.answered(side.their_quote(number))} in round {number}"
    # The first quote of these rounds that did not do it; a threat that was kept in one round may fail in the next.
    failed = next(tested for tested in test.rounds[not test.each :] if not _carried_out(side, said.statement, tested))
    closed = side.game.rounds[failed]
    words = f"{side.named(closed.quotes[side.seat])} after it threatened {threat}{bound}; {met}"
    return side.case(closed, words)
