"""How a quote is amended in a replay: the number that it should have had."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tradefair.evaluation.modes.calls import listed, mapped
from tradefair.evaluation.modes.diagnosis import CaseRecord

# The words of the general mode `unit_mistake`: of a case it is all that has the number.
_IN_SIGHT = re.compile(r"where (?P<number>\d{1,5}) was in sight")


def own_limit(case: CaseRecord, arguments: Mapping[str, Any], facts: Mapping[str, Any] | None) -> dict[str, Any]:
    """A quote through the own value at that value; unchanged where it did not trade, since it then cost nothing."""
    limit = next(_limits(case, arguments.get("price"), mapped(facts)), None)
    return {**arguments} if limit is None else {**arguments, "price": limit}


def _limits(case: CaseRecord, price: object, facts: Mapping[str, Any]) -> Iterator[int]:
    """The private number behind a trade: its price and the payoff tell it. The trade is known by quote and loss."""
    payoffs = mapped(facts.get("payoff"))
    for match in map(mapped, listed(facts.get("matches"))):
        for role, quote, sign in (("buyer", "bid", 1), ("seller", "ask", -1)):
            payoff = payoffs.get(match.get(role, ""))
            if match.get(quote) == price and isinstance(payoff, int) and max(0, -payoff) == case.cost:
                yield match["price"] + sign * payoff


def number_in_sight(case: CaseRecord, arguments: Mapping[str, Any], facts: Mapping[str, Any] | None) -> dict[str, Any]:
    """A quote that was off by a power of ten at the number that the seat could see."""
    found = _IN_SIGHT.search(case.because)
    return {**arguments, "price": int(found["number"])} if found else {**arguments}
