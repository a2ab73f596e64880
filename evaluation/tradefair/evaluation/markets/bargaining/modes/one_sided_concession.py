"""one_sided_concession: giving way, again and again, to somebody who does not move."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from tradefair.evaluation.markets.bargaining.modes.play import Round, Side
from tradefair.evaluation.markets.bargaining.modes.verdict import Trouble, Verdict, spelled


class _Window(NamedTuple):
    """Steps `first` to `last` (excluded) of a chain of rounds with both quotes."""

    first: int
    last: int


class _Rule(NamedTuple):
    steps: int
    given: float
    positive: int


def detect(side: Side, limits: Mapping[str, float]) -> Verdict:
    """Longest windows of own concession without any of the counterpart's; none overlap."""
    chains = list(_chains(side.rounds))
    # The first round in which both quoted: 10 % of that gap, so that small steps in a wide game are none (10.2).
    opening = next((abs(_gap(chain[0])) for chain in chains), 0)
    rule = _Rule(int(limits["steps"]), max(limits["ticks"], limits["share"] * opening), int(limits["positive_steps"]))
    troubles = [
        _trouble(side, chain, window)
        for chain in chains
        for window in _windows(side, chain, _Window(0, len(chain) - 1), rule)
    ]
    return Verdict(troubles, sum(max(0, len(chain) - rule.steps) for chain in chains))


def _gap(closed: Round) -> int:
    one, other = (quote or 0 for quote in closed.quotes.values())
    return other - one


def _chains(rounds: Sequence[Round]) -> Iterator[list[Round]]:
    """Runs of consecutive rounds in which both quoted.

    A forfeit or a missing round ends a chain: a concession is a change between two quotes.
    """
    chain: list[Round] = []
    for closed in rounds:
        whole = None not in closed.quotes.values()
        if chain and (not whole or closed.number != chain[-1].number + 1):
            yield chain
            chain = []
        if whole:
            chain.append(closed)
    if chain:
        yield chain


def _windows(side: Side, chain: Sequence[Round], within: _Window, rule: _Rule) -> Iterator[_Window]:
    """The longest window that qualifies, and those before and after it.

    Of equally long windows the earliest is taken.
    """
    # From long to short: the longest window tells the whole concession, its parts would tell it several times.
    for length in range(within.last - within.first, rule.steps - 1, -1):
        for first in range(within.first, within.last - length + 1):
            window = _Window(first, first + length)
            if _qualifies(side, chain, window, rule):
                # Left, itself, right: windows come in the order of the rounds and never overlap.
                yield from _windows(side, chain, _Window(within.first, window.first), rule)
                yield window
                yield from _windows(side, chain, _Window(window.last, within.last), rule)
                return


def _qualifies(side: Side, chain: Sequence[Round], window: _Window, rule: _Rule) -> bool:
    """Three tests (10.2): enough given in all, nothing gained net from the counterpart, and enough steps of giving."""
    first, last = chain[window.first], chain[window.last]
    theirs = _quote(last, side.other) - _quote(first, side.other)
    # Net over the window: steps back and forth of either side cancel.
    if side.gives(_quote(last, side.seat), _quote(first, side.seat)) < rule.given or -side.sign * theirs > 0:
        return False
    own = [_quote(closed, side.seat) for closed in chain[window.first : window.last + 1]]
    return sum(side.gives(later, sooner) > 0 for sooner, later in pairwise(own)) >= rule.positive


def _quote(closed: Round, seat: str) -> int:
    return closed.quotes[seat] or 0


def _trouble(side: Side, chain: Sequence[Round], window: _Window) -> Trouble:
    """The cost in ticks is half of what was given so far, over the traded rounds of the window."""
    rounds = chain[window.first : window.last + 1]
    first, last = rounds[0], rounds[-1]
    given = [side.gives(_quote(closed, side.seat), _quote(first, side.seat)) for closed in rounds]
    # Only traded rounds: what was offered and not taken has cost nothing yet.
    cost = sum(max(0.0, so_far) / 2 for closed, so_far in zip(rounds, given, strict=True) if closed.traded)
    words = (
        f"rounds {first.number} to {last.number}: gave way {spelled(given[-1])} (from {first.quotes[side.seat]} to "
        f"{last.quotes[side.seat]}), the counterpart went from {first.quotes[side.other]} to {last.quotes[side.other]}"
    )
    return Trouble(first.number, last.number, cost, tuple(side.proof(*(closed.number for closed in rounds))), words)
