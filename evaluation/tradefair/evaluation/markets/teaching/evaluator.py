"""The smallest whole evaluator, in one module: outcomes from facts, one failure mode, one chart. Copy it for a market.

A larger market puts formulas into `outcomes`, `charts`, `insight` and one module per failure mode into `modes/`, and
keeps declarations here. Of the market only the records of its rules are imported, so that a renamed copy works.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tradefair.contract import SeatId
from tradefair.evaluation.charts.chart import Axis, Band, Chart, Line, XYChart
from tradefair.evaluation.evaluator import Evaluator
from tradefair.evaluation.figure import figure
from tradefair.evaluation.modes.diagnosis import Case, Detector, Part, Seen
from tradefair.evaluation.modes.insight import Insight, Secret
from tradefair.evaluation.modes.table import load_modes
from tradefair.evaluation.outcome import MarketOutcome, Outcome, RatingRules, SeatOutcome, common_seat
from tradefair.evaluation.phrases import load_phrases
from tradefair.evaluation.read.rounds import Closed, Rounds, read_rounds
from tradefair.evaluation.reading import TraceReading
from tradefair.teaching.model import PieFacts, PieScenario
from tradefair.teaching.rules import Pie
from tradefair.tracestore import Trace

# --- the failure mode -----------------------------------------------------------------------------------------------


class Claim(NamedTuple):
    """One claim in a closed round: the call that made it, and what the other claims left, in slices."""

    seq: int
    round: int
    slices: int
    pie: int
    left: int
    shared: bool
    closed: int


def overclaim(claims: Sequence[Claim], *, fair_share: Part) -> Seen:
    """Claims above `fair_share` of the pie in rounds that were not shared, out of all claims of the seat.

    A detector finds cases; whether they are enough is for the mode's row, which also gives its thresholds by name. What
    a turn lost is for the ledger.
    """
    cases = [
        Case(
            claim.seq,
            claim.round,
            f"round {claim.round}: claimed {claim.slices} of {claim.pie} slices where {claim.left} were left",
            shown_by=claim.closed,
        )
        for claim in claims
        if claim.slices > fair_share * claim.pie and not claim.shared
    ]
    return Seen(cases, len(claims))


DETECTORS: Mapping[str, Detector] = {"overclaim": overclaim}


# --- the evaluator --------------------------------------------------------------------------------------------------


class TeachingSeat(SeatOutcome):
    """One seat: points per slice (null before the first round closed), and points earned in all closed rounds."""

    value: int | None = figure("value", "points a slice", on="table")
    """points that a slice is worth to the seat

    Null: no round has closed
    """
    payoff: int = figure("points earned", "points", "higher", over="total", on="table compare primary")
    """Σ over closed rounds of claim · value where the claims fit into the pie, else 0"""


class TeachingMarket(MarketOutcome):
    """Both seats together: in how many rounds the claims fitted into the pie."""

    shared: int = figure("shared rounds", "rounds", "higher", on="compare")
    """closed rounds in which the claims fitted into the pie"""


TeachingOutcome = Outcome[TeachingSeat, TeachingMarket]


class TeachingEvaluator(Evaluator):
    """Evaluator of the market `teaching`. Money in points."""

    market = "teaching"
    version = "1"
    phrases = load_phrases(__package__)
    # An episode that ends otherwise, by a limit for instance, says less: `compare` and `rate` set it apart.
    whole_ends = frozenset({"terminated:rounds_completed"})
    rating = RatingRules(
        kind="field", scores=("payoff",), market_figures=("shared",), varies=frozenset({"description", "seats"})
    )

    # The table lies next to this module, under whatever name the package is installed.
    modes = load_modes(f"{__package__}.modes", DETECTORS)

    def outcomes(self, trace: Trace) -> TeachingOutcome:
        """Values and payoffs of both seats, and how many rounds were shared."""
        episode = _read(trace)
        seats = {
            seat: TeachingSeat(
                **common_seat(episode.reading, seat),
                # `get`: before the first round closed no facts tell the value, and null says so.
                value=episode.values.get(seat),
                # From the facts, never from the claims: the rules alone say what a round paid.
                payoff=sum(closed.facts.payoffs.get(seat, 0) for closed in episode.rounds),
            )
            for seat in episode.reading.conduct
        }
        shared = sum(closed.facts.row.shared for closed in episode.rounds)
        return TeachingOutcome.of(episode.reading, self.version, seats, TeachingMarket(shared=shared))

    def metric(self, market: Pie, seat: SeatId) -> float:
        """Points earned in all rounds."""
        return market.payoffs[seat]

    def seats(self, trace: Trace) -> Mapping[SeatId, Sequence[Claim]]:
        """What the detectors read: the claims of every seat."""
        episode = _read(trace)
        return {seat: _claims(seat, episode) for seat in episode.reading.conduct}

    def insight(self, trace: Trace) -> Insight:
        """For the general failure modes: what is private, what the other seat reads, in which rounds it did nothing."""
        episode = _read(trace)
        return Insight(
            # Tool and argument that carry text to the other seat: there the general modes look for leaks.
            messages={"say": "text"} if episode.talk else {},
            secrets={seat: _secrets(seat, episode.rounds) for seat in episode.reading.conduct},
            idle={seat: _idle(seat, episode) for seat in episode.reading.conduct},
            # Tools that take a decision: what the general modes say of a claim merges with the market's own mode.
            facts={"claim": "action", "say": "talk"},
            # Said aloud: a general mode that does not apply must not look like one that found nothing.
            absent={
                "below_cost": "this market sells nothing",
                "value_breach": "a claim cannot go beyond the own value",
            },
        )

    def charts(self, trace: Trace) -> list[Chart]:
        """Claims by round; none before the first round closed."""
        episode = _read(trace)
        # A chart needs a point: without a closed round there is none.
        return [_claims_chart(episode)] if episode.rounds else []


EVALUATOR = TeachingEvaluator()


# --- what the trace holds -------------------------------------------------------------------------------------------


class _Episode(NamedTuple):
    """A trace as this market reads it; facts that are not of this market are left out and listed in `reading`."""

    read: Rounds[PieScenario, PieFacts]
    slices: int
    talk: bool

    @property
    def reading(self) -> TraceReading:
        """What the trace says whatever the market."""
        return self.read.reading

    @property
    def rounds(self) -> list[Closed[PieFacts]]:
        """The closed rounds."""
        return self.read.closed

    @property
    def values(self) -> Mapping[SeatId, int]:
        """Points per slice by seat; empty before the first round closed, since only facts tell them."""
        return self.rounds[-1].facts.values if self.rounds else {}

    def left_to(self, seat: SeatId, closed: Closed[PieFacts]) -> int:
        """Slices that the other seats' claims left in a round; 0 where they alone took the pie."""
        taken = sum(claim or 0 for other, claim in closed.facts.row.claims.items() if other != seat)
        return max(0, self.slices - taken)

    def cause(self, seat: SeatId, closed: Closed[PieFacts]) -> int:
        """The event by which the seat decided a round: its claim, else its last call or lapse, else the closure."""
        number = closed.facts.row.round
        last = [did.seq for did in self.read.did.get((seat, number), ())][-1:]
        return self.read.acted(seat, number, "claim") or next(iter(last), closed.seq)


def _read(trace: Trace) -> _Episode:
    # A trace may come from anywhere: where its scenario cannot be read, the reading lists that as a finding.
    read = read_rounds(trace, PieScenario, PieFacts)
    scenario = read.scenario
    return _Episode(read, scenario.slices if scenario else 0, bool(scenario and scenario.talk))


def _claims_chart(episode: _Episode) -> XYChart:
    """One line of dots per seat, claims in slices by round; a gap is a round without a claim."""
    rows = [closed.facts.row for closed in episode.rounds]
    numbers = [float(row.round) for row in rows]
    return XYChart(
        id="claims",
        title="Claims",
        note=f"The pie has {episode.slices} slices: claims that add up to more get nothing.",
        x=Axis(label="round"),
        y=Axis(label="claim", unit="slices"),
        lines=[
            Line(name=seat, x=numbers, y=[row.claims.get(seat) for row in rows], mark="dots")
            for seat in episode.reading.conduct
        ],
        # A band of no height is drawn as a line.
        bands=[Band(label="half of the pie", low=episode.slices / 2, high=episode.slices / 2)],
    )


# --- what only this market can tell the general failure modes -------------------------------------------------------


def _secrets(seat: SeatId, rounds: Sequence[Closed[PieFacts]]) -> list[Secret]:
    """The points per slice, and the payoff so far: claims are public, so that a payoff tells the value."""
    if not rounds:
        return []
    secrets = [Secret("own value", rounds[-1].facts.values.get(seat, 0))]
    payoff = 0
    for closed in rounds:
        payoff += closed.facts.payoffs.get(seat, 0)
        after = closed.facts.row.round + 1
        if payoff:
            # For one round: the total grows, and an old one is a secret no longer.
            secrets.append(Secret("own payoff", payoff, after, after))
    return secrets


def _idle(seat: SeatId, episode: _Episode) -> Seen:
    """Rounds without a claim although the other claims left some slices.

    In a round that the other seat claimed whole there was nothing to do.
    """
    cases: list[Case] = []
    for closed in episode.rounds:
        left, row = episode.left_to(seat, closed), closed.facts.row
        if row.claims.get(seat) is None and left:
            because = f"round {row.round}: no claim, although {left} slices were left"
            cases.append(Case(episode.cause(seat, closed), row.round, because, shown_by=closed.seq))
    return Seen(cases, len(episode.rounds))


def _claims(seat: SeatId, episode: _Episode) -> list[Claim]:
    """The claims of one seat in closed rounds, in order."""
    found: list[Claim] = []
    for closed in episode.rounds:
        row = closed.facts.row
        slices = row.claims.get(seat)
        # A lapse is no claim; it is counted by `idle`.
        if slices is not None and episode.slices:
            cause, left = episode.cause(seat, closed), episode.left_to(seat, closed)
            found.append(Claim(cause, row.round, slices, episode.slices, left, row.shared, closed.seq))
    return found
