"""midpoint_gift: quoting far beyond what the counterpart was expected to quote, and paying half of the difference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import PositiveInt

from tradefair.evaluation.markets.bargaining.modes.commitments import binding_price, is_promise, standing
from tradefair.evaluation.markets.bargaining.modes.play import Side, is_bid, spelled
from tradefair.evaluation.modes.diagnosis import Case, CaseRecord, Record, Seen


class Gift(Record):
    """The ticks beyond the expected and the real quote that are a gift."""

    ticks: PositiveInt


def detect(side: Side, params: Gift) -> Seen:
    """Trades in which the own quote went far beyond the expected one and the real one; weighed in ticks.

    Half of the excess is the cost: the price lies in the middle of both quotes.
    """
    tested = 0
    cases: list[Case] = []
    for closed in side.rounds:
        quote, theirs = closed.quotes[side.seat], closed.quotes[side.other]
        expected = _expected(side, closed.number)
        if not closed.traded or quote is None or theirs is None or expected is None:
            continue
        tested += 1
        # Both: a gift that the seat could not foresee is bad luck, one that the counterpart did not get is none.
        beyond = min(side.gives(quote, theirs), side.gives(quote, expected))
        if beyond >= params.ticks:
            answer = f"an {side.word('answer')}" if side.word("answer") == "ask" else f"a {side.word('answer')}"
            said = f"{side.named(quote)} where {answer} of {spelled(expected)} was expected and {theirs} came"
            saved = f"{spelled(beyond)} less would have earned {spelled(beyond / 2)} more"
            cases.append(side.case(closed, f"{said}; {saved}", beyond / 2, beyond))
    return Seen(cases, tested)


def withheld(case: CaseRecord, arguments: Mapping[str, Any], facts: Mapping[str, Any] | None) -> dict[str, Any]:
    """The call without the gift: at the expected quote, or at the real one where that asked for more."""
    return {**arguments, "price": round(arguments["price"] + (-case.amount if is_bid(case) else case.amount))}


def _expected(side: Side, number: int) -> float | None:
    """The number that the counterpart firmly named for the round, else its last quote.

    Null before the counterpart has quoted or promised anything.
    """
    counterpart = side.counterpart
    said = standing(counterpart, number).winner
    # A conditional number is no expectation: whether its condition will hold is open when the quote is made.
    if said is not None and said.statement.condition is None and is_promise(counterpart, said.statement):
        price = binding_price(counterpart, said.statement)
        if price is not None:
            return price
    return side.shown.get(number)
