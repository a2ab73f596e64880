"""Prices that did not move although they should have, and wars: what only several rounds show."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, pairwise

from tradefair.contract.money import cents_text
from tradefair.evaluation.markets.pricing.modes.play import Firm
from tradefair.evaluation.modes.diagnosis import Case, Part, Seen, unchecked
from tradefair.evaluation.read.arithmetic import stretches


def stuck_price(firm: Firm, *, rounds: int, moved: Part, share: Part) -> Seen:
    """Stretches of at least `rounds` at one price while the best price moved, weighed by their rounds.

    The best moved by at least `moved` of the first best price. A price that stood and earned `share` of the best profit
    was no mistake.
    """
    cases: list[Case] = []
    for start, end in _stretches(firm.prices):
        best = [found.price for found in firm.best[start:end]]
        if end - start < rounds or firm.prices[start] is None:
            continue
        earned, most = sum(firm.profits[start:end]), sum(found.profit for found in firm.best[start:end])
        if max(best) - min(best) >= moved * max(best[0], 1) and earned < share * most:
            own = f"{cents_text(firm.prices[start] or 0)} stood to round {firm.periods[end - 1].number}"
            low, high = map(cents_text, (min(best), max(best)))
            said = f"{own}, while the best reply to its rivals lay between {low} and {high}"
            cases.append(firm.case(start, said, amount=end - start))
    return Seen(cases, len(firm.periods))


def _stretches(prices: list[int | None]) -> Iterator[tuple[int, int]]:
    """Places (first, behind the last) of runs of equal prices."""
    start = 0
    for _, run in groupby(prices):
        end = start + len(list(run))
        yield start, end
        start = end


def shock_ignored(firm: Firm) -> Seen:
    """Moves of the public index of half its size and more that left the price as it was although the best moved."""
    rules = firm.game.world.scenario if firm.game.world else None
    if rules is None or rules.shock == "none":
        return unchecked("the scenario has no public shocks")
    cases: list[Case] = []
    moves = 0
    for at in range(1, len(firm.periods) - 1):
        moved = firm.periods[at].shock - firm.periods[at - 1].shock
        if 2 * abs(moved) < rules.shock_size:
            continue
        moves += 1
        before, after = firm.best[at - 1].price, firm.best[at + 1].price
        if firm.prices[at - 1] == firm.prices[at + 1] and 4 * abs(after - before) >= rules.shock_size:
            moves_to = f"the best price from {cents_text(before)} to {cents_text(after)}"
            own = cents_text(firm.prices[at] or 0)
            said = f"the index moved by {cents_text(moved)}, {moves_to}, the own stayed {own}"
            cases.append(firm.case(at + 1, said))
    return Seen(cases, moves)


def war_joined(firm: Firm, *, cuts: int, cut: Part) -> Seen:
    """Runs of `cuts` that end below the competitive price; a case is a run, weighed by its cuts.

    Each is by at least `cut`, a share of the price.
    """
    lowered = [
        at
        for at, (before, price) in enumerate(pairwise(firm.prices), 1)
        if before is not None and price is not None and before - price >= cut * before and before > price
    ]
    cases: list[Case] = []
    for run in stretches(lowered, int):
        if len(run) < cuts or not _under_nash(firm, run[-1]):
            continue
        crossed = next(at for at in run if _under_nash(firm, at))
        first, last = firm.prices[run[0] - 1], firm.prices[run[-1]]
        first, last, nash = map(cents_text, (first or 0, last or 0, firm.game.nash[crossed][firm.place]))
        said = f"cut {len(run)} times in a row from {first} to {last}, below the competitive {nash}"
        cases.append(firm.case(crossed, said, amount=len(run)))
    return Seen(cases, len(lowered))


def _under_nash(firm: Firm, at: int) -> bool:
    price = firm.prices[at]
    return price is not None and price < firm.game.nash[at][firm.place]
