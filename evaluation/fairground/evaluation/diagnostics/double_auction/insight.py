"""What only this market's facts tell: quotes through the own value, rounds given away, numbers out of scale.

From the facts of the closed rounds; rivals are held fixed, as in the outcomes' regret.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

from fairground.contract.seats import SeatId
from fairground.double_auction.analysis import PlayedRound, SealedRivals, expected_payoff, flip
from fairground.double_auction.model import OpeningFacts, RoundFacts
from fairground.evaluation.diagnostics.calls import mapped
from fairground.evaluation.diagnostics.insight import Case, Counted, Insight, Scale, Secret
from fairground.evaluation.reading import Facts, TraceReading, read_trace
from fairground.tracestore import Trace

__all__ = ["double_auction_insight"]

_ABSENT = {
    "overspend": "this market has no funds: nothing is paid before a trade",
    "below_cost": "asks below the own cost are counted in value_breach",
}


def double_auction_insight(trace: Trace) -> Insight:
    """Everything that the closed rounds tell; what does not fit is left out."""
    quotes: dict[tuple[SeatId, int], int] = {}

    reading = read_trace(trace, lambda _: partial(_note_quote, quotes))
    game = _Game(reading, quotes)
    return Insight(
        id_arguments=frozenset({"trader"}),
        messages={"send_message": "message"} if game.talks else {},
        secrets={seat: [Secret("own value", value)] for seat, value in game.values.items()},
        scales=game.scales,
        idle=game.idle(),
        value_breach=game.breaches(),
        absent=_ABSENT,
    )


def _note_quote(quotes: dict[tuple[SeatId, int], int], seq: int, event: dict[str, Any]) -> None:
    number = event.get("round")
    if event.get("tool") == "submit_quote" and event.get("status") == "ok" and isinstance(number, int):
        quotes[str(event.get("seat")), number] = seq


class _Game:
    """Typed facts of the rounds, with the events of the quotes."""

    def __init__(self, reading: TraceReading, quotes: Mapping[tuple[SeatId, int], int]) -> None:
        core = reading.core
        self._events = quotes
        self._roles = {seat.id: seat.role for seat in core.seats} if core else {}
        price_max = core.scenario.get("price_max") if core else None
        self._price_max = price_max if isinstance(price_max, int) else 100
        chat = core.scenario.get("chat") if core else None
        self.talks = bool(mapped(chat).get("enabled"))
        self._rounds = [(facts, typed) for facts in reading.rounds if (typed := reading.typed(facts, RoundFacts))]
        opening = next((closed.opening for _, closed in self._rounds if closed.opening), None)
        self.values = _known_values(opening, self._roles)
        self.scales = {seat: list(self._scales(seat)) for seat in self.values}

    def _role(self, seat: SeatId) -> Literal["buyer", "seller"]:
        return "buyer" if self._roles[seat] == "buyer" else "seller"

    def _event(self, seat: SeatId, closed: RoundFacts, facts: Facts) -> int:
        """The quote where the trace holds it, else the closure."""
        return self._events.get((seat, closed.round), facts.seq)

    def breaches(self) -> Counted | None:
        """Quotes through the own value; cost: what a trade of that round lost."""
        if not self.values:
            return None
        cases: dict[SeatId, list[Case]] = {seat: [] for seat in self.values}
        of = dict.fromkeys(self.values, 0)
        for facts, closed in self._rounds:
            for seat in closed.quotes.keys() & of.keys():
                of[seat] += 1
            for seat in closed.through_value:
                if seat in cases:
                    cost = max(0, -closed.payoff.get(seat, 0))
                    cases[seat].append(Case(self._event(seat, closed, facts), cost))
        return Counted(cases, of)

    def idle(self) -> Counted | None:
        """Rounds without a quote in which some quote would have paid; cost: what the best one would have."""
        if not self.values:
            return None
        cases: dict[SeatId, list[Case]] = {seat: [] for seat in self.values}
        for facts, closed in self._rounds:
            for seat in sorted(self.values.keys() - closed.quotes.keys()):
                missed = self._best(seat, closed)
                if missed > 0:
                    cases[seat].append(Case(facts.seq, missed))
        return Counted(cases, dict.fromkeys(self.values, len(self._rounds)))

    def _best(self, seat: SeatId, closed: RoundFacts) -> float:
        """The most that a quote would have earned against the round's other quotes, in points."""
        if seat not in closed.quote_order:
            return 0.0
        role = self._role(seat)
        sides = {side: {s: p for s, p in closed.quotes.items() if self._roles.get(s) == side} for side in _SIDES}
        played = PlayedRound(sides["buyer"], sides["seller"], closed.quote_order)
        rivals = played.without(seat, role, self._price_max)
        value = flip(self.values[seat], self._price_max, role)
        return max((expected_payoff(value, price, rivals) for price in _useful(value, rivals)), default=0.0)

    def _scales(self, seat: SeatId) -> Sequence[Scale]:
        """Quotes that go through the own value, beside it: within it a small quote may be meant."""
        return [
            Scale(self._event(seat, closed, facts), closed.quotes[seat], self.values[seat])
            for facts, closed in self._rounds
            if seat in closed.through_value and seat in closed.quotes
        ]


_SIDES = ("buyer", "seller")


def _known_values(opening: OpeningFacts | None, roles: Mapping[SeatId, str]) -> dict[SeatId, int]:
    return {} if opening is None else {seat: value for seat, value in opening.values.items() if seat in roles}


def _useful(value: int, rivals: SealedRivals) -> set[int]:
    """Prices at which the outcome can change: opposite quotes, own-side quotes and one above them; within the value."""
    own = {price for side in (rivals.earlier, rivals.later) for price in side}
    return {price for price in (*rivals.opposite, *own, *(price + 1 for price in own)) if price <= value}
