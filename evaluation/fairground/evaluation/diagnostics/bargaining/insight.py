"""What only this market's facts tell: own limits, quotes through them, rounds given away, what others get to read."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from fairground.bargaining.model import BUYER, SELLER, RoundFacts
from fairground.contract.seats import SeatId
from fairground.evaluation.diagnostics.insight import Case, Counted, Insight, Scale, Secret
from fairground.evaluation.reading import Facts, read_trace
from fairground.tracestore import Trace

__all__ = ["bargaining_insight"]

_UNTOLD = dict.fromkeys(("idle_drift", "value_breach"), "could not be computed: no closed round tells the own limits")
_ABSENT = {
    "overspend": "this market has no funds: nothing is paid before a trade",
    "below_cost": "asks below the own cost are counted in value_breach",
}


def bargaining_insight(trace: Trace) -> Insight:
    """Everything that the closed rounds tell; what does not fit is left out."""
    quotes: dict[tuple[SeatId, int], int] = {}
    reading = read_trace(trace, lambda _: partial(_note_quote, quotes))
    rounds = [(facts, typed) for facts in reading.rounds if (typed := reading.typed(facts, RoundFacts))]
    seats = [seat for seat in (BUYER, SELLER) if seat in reading.conduct]
    if not rounds:
        return Insight(unit="ticks", messages={"send_message": "text"}, absent={**_UNTOLD, **_ABSENT})
    opening = rounds[0][1].opening
    limits = {BUYER: opening.buyer_value, SELLER: opening.seller_cost}
    game = _Game(rounds, quotes, {seat: limits[seat] for seat in seats})
    return Insight(
        unit="ticks",
        messages={"send_message": "text"},
        secrets={seat: [Secret("own limit", limits[seat])] for seat in seats},
        secret_words=("value", "valuation", "cost", "limit", "maximum", "minimum"),
        scales=game.scales(),
        idle=game.idle(),
        value_breach=game.breaches(),
        absent=_ABSENT,
    )


def _note_quote(quotes: dict[tuple[SeatId, int], int], seq: int, event: dict[str, Any]) -> None:
    number = event.get("round")
    if event.get("tool") == "submit_quote" and event.get("status") == "ok" and isinstance(number, int):
        quotes[str(event.get("seat")), number] = seq


class _Game:
    def __init__(
        self,
        rounds: list[tuple[Facts, RoundFacts]],
        quotes: Mapping[tuple[SeatId, int], int],
        limits: Mapping[SeatId, int],
    ) -> None:
        self._rounds = rounds
        self._quotes = quotes
        self._limits = limits

    def _slack(self, seat: SeatId, price: int) -> int:
        """What the seat would earn at a price."""
        limit = self._limits[seat]
        return limit - price if seat == BUYER else price - limit

    def _each(self, seat: SeatId) -> list[tuple[int, int | None, int | None, int]]:
        """(event, own quote, the counterpart's, own profit) of every round."""
        found: list[tuple[int, int | None, int | None, int]] = []
        for facts, closed in self._rounds:
            record = closed.record
            own, theirs = (record.bid, record.ask) if seat == BUYER else (record.ask, record.bid)
            profit = record.profit_buyer if seat == BUYER else record.profit_seller
            found.append((self._quotes.get((seat, record.round), facts.seq), own, theirs, profit))
        return found

    def breaches(self) -> Counted:
        """Quotes through the own limit; cost: what the round lost."""
        cases = {
            seat: [
                Case(seq, max(0, -profit))
                for seq, own, _, profit in self._each(seat)
                if own is not None and self._slack(seat, own) < 0
            ]
            for seat in self._limits
        }
        return Counted(
            cases, {seat: sum(own is not None for _, own, _, _ in self._each(seat)) for seat in self._limits}
        )

    def idle(self) -> Counted:
        """Forfeited rounds in which the counterpart's quote would have left a profit; cost: that profit."""
        cases = {
            seat: [
                Case(seq, self._slack(seat, theirs))
                for seq, own, theirs, _ in self._each(seat)
                if own is None and theirs is not None and self._slack(seat, theirs) > 0
            ]
            for seat in self._limits
        }
        return Counted(cases, dict.fromkeys(self._limits, len(self._rounds)))

    def scales(self) -> dict[SeatId, list[Scale]]:
        """Quotes through the own limit, beside it."""
        return {
            seat: [
                Scale(seq, own, limit)
                for seq, own, _, _ in self._each(seat)
                if own is not None and self._slack(seat, own) < 0
            ]
            for seat, limit in self._limits.items()
        }
