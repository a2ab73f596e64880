"""Outcomes of the teaching market from the facts of a trace: the smallest evaluator that there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tradefair.contract.seats import SeatId
from tradefair.evaluation.modes.insight import Case, Counted, Insight, Secret
from tradefair.evaluation.outcome import MarketOutcome, Outcome, PrimaryMetric, SeatOutcome, common_seat
from tradefair.evaluation.reading import TraceReading, read_trace
from tradefair.teaching.model import PieFacts
from tradefair.tracestore import Trace


class TeachingSeat(SeatOutcome):
    """One seat: its value per slice (null before the first round closed) and what it earned, in points."""

    value: int | None
    payoff: int


class TeachingMarket(MarketOutcome):
    """How many of the rounds were shared out."""

    shared: int


TeachingOutcome = Outcome[TeachingSeat, TeachingMarket]


class TeachingEvaluator:
    """Outcomes of the market `teaching`, and what only it can tell the general diagnostics."""

    market = "teaching"
    version = "1"
    seat_columns = ("value", "payoff")
    compared_columns = ("payoff",)
    primary_metrics = (PrimaryMetric(name="payoff", unit="points"),)
    whole_ends = frozenset({"terminated:rounds_completed"})

    def outcomes(self, trace: Trace) -> TeachingOutcome:
        """Per seat and for the market; total."""
        reading = read_trace(trace)
        rounds = _rounds(reading)
        values = rounds[-1].facts.values if rounds else {}
        seats = {
            seat: TeachingSeat(
                **common_seat(reading, seat),
                value=values.get(seat),
                payoff=sum(closed.facts.payoffs.get(seat, 0) for closed in rounds),
            )
            for seat in reading.conduct
        }
        shared = sum(closed.facts.row.shared for closed in rounds)
        return TeachingOutcome.of(reading, self.version, seats, TeachingMarket(shared=shared))

    def insight(self, trace: Trace) -> Insight:
        """Own values and payoffs are private, the other seat reads `say`, a round without a claim earns nothing."""
        reading = read_trace(trace)
        rounds = _rounds(reading)
        slices = reading.core.scenario.get("slices") if reading.core else None
        return Insight(
            messages={"say": "text"} if reading.core and reading.core.scenario.get("talk") else {},
            secrets={seat: _secrets(seat, rounds) for seat in reading.conduct},
            idle=_idle(rounds, reading.conduct, slices if isinstance(slices, int) else 0),
            absent={
                "overspend": "this market has no funds",
                "below_cost": "this market sells nothing",
                "value_breach": "a claim cannot go beyond the own value",
            },
        )


EVALUATOR = TeachingEvaluator()


class _Closed(NamedTuple):
    """The facts of one round with the event that holds them."""

    seq: int
    facts: PieFacts


def _rounds(reading: TraceReading) -> list[_Closed]:
    typed = ((facts.seq, reading.typed(facts, PieFacts)) for facts in reading.rounds)
    return [_Closed(seq, facts) for seq, facts in typed if facts is not None]


def _secrets(seat: SeatId, rounds: Sequence[_Closed]) -> list[Secret]:
    """The value per slice, and the payoff so far: claims are public, so it tells the value."""
    if not rounds:
        return []
    secrets = [Secret("own value", rounds[-1].facts.values.get(seat, 0))]
    payoff = 0
    for closed in rounds:
        payoff += closed.facts.payoffs.get(seat, 0)
        after = closed.facts.row.round + 1
        if payoff:
            secrets.append(Secret("own payoff", payoff, after, after))
    return secrets


def _idle(rounds: Sequence[_Closed], seats: Mapping[SeatId, object], slices: int) -> Counted:
    """Rounds without a claim although the others' claims left some slices; cost: their worth."""
    cases: dict[SeatId, list[Case]] = {seat: [] for seat in seats}
    for closed in rounds:
        claims = closed.facts.row.claims
        for seat in seats:
            left = slices - sum(claim or 0 for other, claim in claims.items() if other != seat)
            if claims.get(seat) is None and left > 0:
                cases[seat].append(Case(closed.seq, left * closed.facts.values.get(seat, 0)))
    return Counted(cases, dict.fromkeys(seats, len(rounds)))
