"""midpoint_gift: quoting far beyond what the counterpart was expected to quote, and paying half of the difference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tradefair.evaluation.markets.bargaining.modes.commitments import binding_price, is_promise, standing
from tradefair.evaluation.markets.bargaining.modes.play import Side
from tradefair.evaluation.markets.bargaining.modes.verdict import Trouble, Verdict, spelled


class _Expected(NamedTuple):
    price: float
    seq: int


def detect(side: Side, limits: Mapping[str, float]) -> Verdict:
    """Trades in which the own quote went far beyond the expected one and the real one.

    Half of the distance is the cost: the price lies in the middle of both quotes.
    """
    tested = 0
    troubles: list[Trouble] = []
    for closed in side.rounds:
        quote, theirs = closed.quotes[side.seat], closed.quotes[side.other]
        expected = _expected(side, closed.number)
        if not closed.traded or quote is None or theirs is None or expected is None:
            continue
        tested += 1
        beyond = side.gives(quote, theirs)
        # Both: a gift that the seat could not foresee is bad luck, one that the counterpart did not get is none.
        if beyond >= limits["ticks"] and side.gives(quote, expected.price) >= limits["ticks"]:
            words = f"round {closed.number}: quoted {quote}, expected {spelled(expected.price)}, met {theirs}"
            proof = (expected.seq, *side.proof(closed.number))
            troubles.append(Trouble(closed.number, closed.number, beyond / 2, proof, words))
    return Verdict(troubles, tested)


def _expected(side: Side, number: int) -> _Expected | None:
    """The number that the counterpart firmly named for the round, else its last quote.

    Null before the counterpart has quoted or promised anything. `seq` is the event that the expectation rests on.
    """
    counterpart = side.counterpart
    said = standing(counterpart, number).winner
    # A conditional number is no expectation: whether its condition will hold is open when the quote is made.
    if said is not None and said.statement.condition is None and is_promise(counterpart, said.statement):
        price = binding_price(counterpart, said.statement)
        if price is not None:
            return _Expected(price, said.seq)
    for closed in reversed(side.rounds):
        quote = closed.quotes[side.other]
        if closed.number < number and quote is not None:
            return _Expected(quote, closed.seq)
    return None
