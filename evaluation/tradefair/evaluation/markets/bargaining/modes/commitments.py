"""Which of a seat's stated quotes binds it in a round: the latest that speaks of the round and whose condition held.

A statement with a condition counts where the counterpart's quote of that round met it; one that speaks of later rounds
than that in which it was made, where every quote since then did. Soft words take back what was firm, and bind nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from tradefair.bargaining.model import PRICE_MAX
from tradefair.evaluation.markets.bargaining.modes.play import Said, Side, Standing
from tradefair.trading.statements import Statement

_LOOK_BACK = 1_000
"""Statements that are weighed for one round at most; a talker who repeats itself more says nothing new."""


def binding_price(side: Side, statement: Statement) -> float | None:
    """The worst own quote that keeps the statement; null where it promises the counterpart nothing.

    "At least 50" and "50 to 52" of a buyer bind at 50, of a seller at nothing and at 52.
    """
    # A threat names a price too, but one to punish with: not carrying it out breaks no promise.
    if statement.kind != "own_quote" or statement.force == "threat":
        return None
    price = statement.x
    if statement.relation == "range":
        ends = sorted((statement.x, statement.x if statement.upper is None else statement.upper))
        # Any quote of the range keeps the word: the end that gives the counterpart least is what can be held against
        # the seat.
        price = ends[0] if side.sign > 0 else ends[1]
    elif statement.relation != "=" and (statement.relation == ">=") != (side.sign > 0):
        return None
    # No quote can keep a price off the grid.
    return price if 0 <= price <= PRICE_MAX else None


def is_promise(side: Side, statement: Statement) -> bool:
    """Whether a firm statement binds the speaker to a price, on a condition or without."""
    return statement.strength == "firm" and binding_price(side, statement) is not None


def condition_held(side: Side, statement: Statement, number: int) -> bool:
    """Whether the antecedent was met for a round; without one it always is.

    `number` is the round for which the statement speaks. `now` limits the test to the round of the message.
    """
    if statement.condition is None:
        return True
    first = statement.horizon[0]
    # A later effect needs the condition in every round before it, a present one in its own round.
    rounds = range(statement.round, number) if first > statement.round else (number,)
    if statement.condition.now:
        rounds = (statement.round,)
    quotes = [side.their_quote(number) for number in rounds]
    # A forfeited round met no condition: there was no quote to meet it.
    return all(quote is not None and statement.condition.holds(quote) for quote in quotes)


def standing(side: Side, number: int) -> Standing:
    """What the seat had said by the time it quoted in this round."""
    # Several modes ask for the same rounds, and weighing costs as many steps as there were statements.
    known = side.standings.get(number)
    if known is None:
        known = side.standings[number] = _weighed(side, number)
    return known


def promised_price(side: Side, number: int) -> float | None:
    """The price that the seat's firm words bound it to in a round; null where none did.

    Also drawn in the chart of quotes.
    """
    winner = standing(side, number).winner
    return None if winner is None or winner.statement.strength != "firm" else binding_price(side, winner.statement)


def _weighed(side: Side, number: int) -> Standing:
    """The latest statement wins. Soft ones win too, and then nothing binds."""
    winner: Said | None = None
    taken_back: list[Said] = []
    for said in islice(_speaking_of(side, number), _LOOK_BACK):
        if not condition_held(side, said.statement, number):
            continue
        if winner is None:
            winner = said
        # Two statements of one message are one intention: the later in the text takes nothing back.
        elif said.seq != winner.seq and said.statement.condition is None and _is_worse(side, winner, said):
            taken_back.append(said)
    return Standing(winner, tuple(taken_back))


def _speaking_of(side: Side, number: int) -> Iterator[Said]:
    for said in side.own_quotes:
        first, last = said.statement.horizon
        if said.statement.round <= number and first <= number <= last:
            yield said


def _is_worse(side: Side, later: Said, earlier: Said) -> bool:
    """Whether the later one offers the counterpart less than a firm earlier one did.

    By at least one tick. An end of a range that binds to nothing is read as its number.
    """
    before = binding_price(side, earlier.statement)
    after = binding_price(side, later.statement)
    # Only a firm word can be taken back.
    if before is None or earlier.statement.strength != "firm":
        return False
    return side.gives(before, later.statement.x if after is None else after) >= 1
