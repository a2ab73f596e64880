"""The smallest whole evaluator, in one module: outcomes from facts, one failure mode, one chart. Copy it for a market.

A larger market puts formulas into `outcomes`, `charts`, `insight` and one module per failure mode into `modes/`, and
keeps declarations here. Of the market only the records of its rules are imported, so that a renamed copy works.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from tradefair.contract import SeatId
from tradefair.evaluation.charts.chart import Axis, Band, Chart, Line, XYChart
from tradefair.evaluation.evaluator import Evaluator
from tradefair.evaluation.modes.diagnosis import Diagnosis, share
from tradefair.evaluation.modes.insight import Case, Counted, Insight, Secret
from tradefair.evaluation.modes.judged import Frame, diagnosis_of, findings_by
from tradefair.evaluation.modes.sign import Sign, sign_of
from tradefair.evaluation.modes.thresholds import RuleBook, bundled_rules
from tradefair.evaluation.outcome import MarketOutcome, Outcome, PrimaryMetric, RatingRules, SeatOutcome, common_seat
from tradefair.evaluation.reading import TraceReading, read_trace
from tradefair.teaching.model import PieFacts
from tradefair.tracestore import Trace


class TeachingSeat(SeatOutcome):
    """One seat: points per slice (null before the first round closed), and points earned in all closed rounds."""

    value: int | None
    payoff: int


class TeachingMarket(MarketOutcome):
    """Both seats together: in how many rounds the claims fitted into the pie."""

    shared: int


TeachingOutcome = Outcome[TeachingSeat, TeachingMarket]


class TeachingEvaluator(Evaluator):
    """Evaluator of the market `teaching`. Money in points."""

    market = "teaching"
    version = "1"
    seat_columns = ("value", "payoff")
    compared_columns = ("payoff",)
    market_columns = ("shared",)
    primary_metrics = (PrimaryMetric(name="payoff", unit="points"),)
    # An episode that ends otherwise, by a limit for instance, says less: `compare` and `rate` set it apart.
    whole_ends = frozenset({"terminated:rounds_completed"})
    rating = RatingRules(
        kind="field", scores=("payoff",), market_figures=("shared",), varies=frozenset({"description", "seats"})
    )

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

    def diagnose(self, trace: Trace) -> Diagnosis:
        """The market's own failure modes, one row of `modes.toml` each."""
        episode = _read(trace)
        seats = {seat: _claims(seat, episode) for seat in episode.reading.conduct}
        # Read by people next to a finding: which part of the episode it is about.
        window = f"rounds 1..{len(episode.rounds)}" if episode.rounds else None
        findings = findings_by(DETECTORS, seats, mode_rules(), f"{self.market}.", Frame(window, "points"))
        return diagnosis_of(trace, mode_rules(), findings)

    def insight(self, trace: Trace) -> Insight:
        """For the general failure modes: what is private, what the other seat reads, which rounds were given away."""
        episode = _read(trace)
        return Insight(
            # Tool and argument that carry text to the other seat: there the general modes look for leaks.
            messages={"say": "text"} if episode.talk else {},
            secrets={seat: _secrets(seat, episode.rounds) for seat in episode.reading.conduct},
            idle=_idle(episode),
            # Said aloud: a general mode that does not apply must not look like one that found nothing.
            absent={
                "overspend": "this market has no funds",
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


class _Closed(NamedTuple):
    """The facts of one round with the number of the event that holds them."""

    seq: int
    facts: PieFacts


class _Episode(NamedTuple):
    """A trace as this market reads it; facts that are not of this market are left out and listed in `reading`."""

    reading: TraceReading
    rounds: list[_Closed]
    slices: int
    talk: bool

    @property
    def values(self) -> Mapping[SeatId, int]:
        """Points per slice by seat; empty before the first round closed, since only facts tell them."""
        return self.rounds[-1].facts.values if self.rounds else {}

    def left_to(self, seat: SeatId, closed: _Closed) -> int:
        """Slices that the other seats' claims left in a round; below 0 where they alone exceeded the pie."""
        return self.slices - sum(claim or 0 for other, claim in closed.facts.row.claims.items() if other != seat)


def _read(trace: Trace) -> _Episode:
    """Facts that are not of this market are left out; the reading lists them as findings."""
    reading = read_trace(trace)
    # `typed` lists facts that do not fit as findings of the reading: a damaged trace still gives an outcome.
    typed = ((facts.seq, reading.typed(facts, PieFacts)) for facts in reading.rounds)
    rounds = [_Closed(seq, facts) for seq, facts in typed if facts is not None]
    scenario = reading.core.scenario if reading.core else {}
    # The scenario of a manifest is plain JSON, and a trace may come from anywhere: the type is checked.
    slices = scenario.get("slices")
    return _Episode(reading, rounds, slices if isinstance(slices, int) else 0, bool(scenario.get("talk")))


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


# --- the failure mode -----------------------------------------------------------------------------------------------


class _Claim(NamedTuple):
    """One claim: its part of the pie, whether the round was shared, and what claiming the rest would have earned."""

    seq: int
    part: float
    shared: bool
    forgone: int


def _claims(seat: SeatId, episode: _Episode) -> list[_Claim]:
    """The claims of one seat in closed rounds, in order."""
    found: list[_Claim] = []
    for closed in episode.rounds:
        slices = closed.facts.row.claims.get(seat)
        # A lapse is no claim; it is counted by `idle`.
        if slices is not None and episode.slices:
            # The best reply to the claim that the other seat made: at least the rest of the pie was to be had.
            forgone = max(0, episode.left_to(seat, closed)) * closed.facts.values.get(seat, 0)
            found.append(_Claim(closed.seq, slices / episode.slices, closed.facts.row.shared, forgone))
    return found


def overclaim(claims: Sequence[_Claim], limits: Mapping[str, float]) -> Sign:
    """Claims above the fair share in rounds that were not shared, out of all claims of the seat.

    Severity in points: what the seat would have earned in these rounds with the slices that the other seat left, that
    claim unchanged.

    No claim, no share: the mode is then not checked, as the words of `modes.toml` say.
    """
    greedy = [claim for claim in claims if claim.part > limits["fair_share"] and not claim.shared]
    counted = share(len(greedy), len(claims), (claim.seq for claim in greedy))
    # `value` is null without claims; `min_cases` and the words of the rule are applied by `judge`.
    return sign_of((counted.value or 0) >= limits["share"], counted, severity=sum(claim.forgone for claim in greedy))


DETECTORS: Mapping[str, Callable[[Sequence[_Claim], Mapping[str, float]], Sign]] = {"overclaim": overclaim}


@cache
def mode_rules() -> RuleBook:
    """Words and thresholds: the file lies next to this module, under whatever name the package is installed."""
    return bundled_rules(f"{__name__.rpartition('.')[0]}.modes", "modes.toml", RuleBook)


# --- what only this market can tell the general failure modes -------------------------------------------------------


def _secrets(seat: SeatId, rounds: Sequence[_Closed]) -> list[Secret]:
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


def _idle(episode: _Episode) -> Counted:
    """Rounds without a claim although the other claims left some slices; cost: what these were worth to the seat.

    A round that the other seat claimed whole was not given away: there was nothing left to claim.
    """
    cases: dict[SeatId, list[Case]] = {seat: [] for seat in episode.reading.conduct}
    for closed in episode.rounds:
        for seat, missed in cases.items():
            left = episode.left_to(seat, closed)
            if closed.facts.row.claims.get(seat) is None and left > 0:
                missed.append(Case(closed.seq, left * closed.facts.values.get(seat, 0)))
    return Counted(cases, dict.fromkeys(cases, len(episode.rounds)))
