"""What every outcome has, whatever the market, and what an evaluator is (entry-point group `tradefair.evaluators`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Generic, Literal, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel, ConfigDict

from tradefair.contract.seats import SeatId
from tradefair.evaluation.reading import TraceReading, read_trace
from tradefair.evaluation.table import Table
from tradefair.tracestore import Trace

ON_EVERY_SEAT = "all:"
"""Begins the label of a reference in which one policy played every seat: `all:linear_equilibrium`."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Finding(_Record):
    """Something in the trace that could not be used; `seq` is null when it belongs to no event."""

    seq: int | None
    message: str


class SeatOutcome(_Record):
    """One seat's result; markets add theirs. `refused` counts calls that were not carried out."""

    role: str
    label: str | None
    calls: int
    refused: int
    lapses: dict[str, int]


class MarketOutcome(_Record):
    """The whole market's result; markets add theirs."""


S = TypeVar("S", bound=SeatOutcome)
M = TypeVar("M", bound=MarketOutcome)


class Outcome(_Record, Generic[S, M]):
    """An episode's result. `censored`: the rules did not end it, so that sums run over the closed rounds only."""

    market: str
    rules_version: str
    evaluator_version: str
    scenario: str
    seed: int | None
    rounds_closed: int
    end_reason: str | None
    censored: bool
    seats: dict[SeatId, S]
    market_outcome: M
    findings: list[Finding]

    @classmethod
    def of(
        cls, reading: TraceReading, evaluator_version: str, seats: dict[SeatId, S], market_outcome: M
    ) -> Outcome[S, M]:
        """The outcome that `reading` and the market's own numbers make."""
        core = reading.core
        return cls(
            market=core.market if core else "",
            rules_version=core.rules_version if core else "",
            evaluator_version=evaluator_version,
            scenario=str(core.scenario.get("id", "")) if core else "",
            seed=core.seed if core else None,
            rounds_closed=len(reading.rounds),
            end_reason=reading.end_reason,
            censored=not (reading.end_reason or "").startswith("terminated:"),
            seats=seats,
            market_outcome=market_outcome,
            findings=[Finding(seq=seq, message=message) for seq, message in reading.findings],
        )


class Evaluator(Protocol):
    """Outcomes of one market. `outcomes` is total: an odd trace gives findings. Columns name fields for the table."""

    @property
    def market(self) -> str:
        """The market's name."""
        ...

    @property
    def version(self) -> str:
        """Version of the formulas: a change of any number is a new one."""
        ...

    @property
    def seat_columns(self) -> tuple[str, ...]:
        """Fields of the seat outcome that a terminal shows."""
        ...

    @property
    def compared_columns(self) -> tuple[str, ...]:
        """The few fields that tell how well a seat did, for rows beside references."""
        ...

    def outcomes(self, trace: Trace) -> Outcome[Any, Any]:
        """The typed outcome per seat and of the market."""
        ...


@runtime_checkable
class Tabulates(Protocol):
    """An evaluator that has more tables to show."""

    def tables(self, outcome: Any) -> Sequence[Table]:
        """Tables for people, after the common ones."""
        ...


@runtime_checkable
class Compares(Protocol):
    """An evaluator with numbers that need references beside them."""

    def relative(self, seat: SeatId, outcomes: Mapping[str, Any]) -> Mapping[str, Mapping[str, float | None]]:
        """Per label, numbers of the seat's outcome relative to the others of the same scenario and seed."""
        ...


@runtime_checkable
class ReadBeside(Evaluator, Protocol):
    """An evaluator whose figures respond to the mechanism itself: a policy on every seat shows what is its share."""

    @property
    def population(self) -> str:
        """That policy's name."""
        ...

    def tables_beside(self, outcome: Any, population: Any | None) -> Sequence[Table]:
        """Tables that have the figures of the same scenario and seed under that policy, or say that there are none."""
        ...


class PrimaryMetric(_Record):
    """A field of the seat outcome that comparisons test; `unit` in words, for people."""

    name: str
    unit: str
    higher_is_better: bool = True


@runtime_checkable
class Measures(Protocol):
    """An evaluator that says what comparisons test, few numbers, the one that matters most first."""

    @property
    def primary_metrics(self) -> tuple[PrimaryMetric, ...]:
        """Tested with a correction for their number; the first is also what regret is about."""
        ...

    @property
    def whole_ends(self) -> frozenset[str]:
        """End reasons of an episode that ran its course; any other end by the rules is an early one."""
        ...


@runtime_checkable
class MeasuresMarket(Protocol):
    """An evaluator that names numbers of its market outcome which comparisons show beside those of the seats."""

    @property
    def market_columns(self) -> tuple[str, ...]:
        """Fields of the market outcome; `efficiency` where there is one, unless this says otherwise."""
        ...


@runtime_checkable
class TellsRolesApart(Protocol):
    """An evaluator some of whose seat fields say nothing of other roles."""

    @property
    def fields_of_roles(self) -> Mapping[str, frozenset[str]]:
        """Per role, the fields that only its seats have; a field that is nowhere in it belongs to all roles."""
        ...


def fields_for(evaluator: Evaluator, roles: Collection[str], fields: Sequence[str]) -> tuple[str, ...]:
    """Those of `fields` that say something of seats in these roles."""
    known: Mapping[str, frozenset[str]] = evaluator.fields_of_roles if isinstance(evaluator, TellsRolesApart) else {}
    own = {name for role in roles for name in known.get(role, ())}
    others = {name for names in known.values() for name in names} - own
    return tuple(name for name in fields if name not in others) if own else tuple(fields)


@runtime_checkable
class Deviates(Protocol):
    """An evaluator that names the policies by which a profile's exploitability is measured."""

    @property
    def deviations(self) -> tuple[str, ...]:
        """The stated deviation set."""
        ...


class RatingRules(_Record):
    """How finished episodes of a market are rated; all names are fields of its outcomes.

    `kind`: a `field` ranks all labels of an episode by a score (TrueSkill), a `duel` compares the profits of two.
    `scores` are seat fields, higher is better, the default first; a duel has one, its profit. `seat_figures` and
    `market_figures` are fields whose means stand beside the rating. `potential` names the market field of what both
    seats of a duel could have earned together. `varies` names scenario parameters that may differ within one
    leaderboard, such as the law of private values; episodes that differ in any other are rated apart. `cautions` are
    printed wherever the field of their name is.
    """

    kind: Literal["field", "duel"]
    scores: tuple[str, ...]
    seat_figures: tuple[str, ...] = ()
    market_figures: tuple[str, ...] = ()
    potential: str = ""
    varies: frozenset[str] = frozenset()
    cautions: Mapping[str, str] = {}


@runtime_checkable
class Rates(Protocol):
    """An evaluator whose episodes can be rated: the labels that played them get leaderboards."""

    @property
    def rating(self) -> RatingRules:
        """What is ranked, and what stands beside it."""
        ...


def common_seat(reading: TraceReading, seat: SeatId) -> dict[str, Any]:
    """The fields of `SeatOutcome` for a seat of the manifest."""
    conduct = reading.conduct[seat]
    return {
        "role": reading.roles[seat],
        "label": reading.label(seat),
        "calls": conduct.calls,
        "refused": conduct.refused,
        "lapses": dict(sorted(conduct.lapses.items())),
    }


class CommonEvaluator:
    """For a market whose package brings no evaluator: conduct and end reason, no economics."""

    version = "1"
    seat_columns = ()
    compared_columns = ()

    def __init__(self, market: str) -> None:
        self.market = market

    def outcomes(self, trace: Trace) -> Outcome[SeatOutcome, MarketOutcome]:
        """Calls, lapses and how the episode ended."""
        reading = read_trace(trace)
        seats = {seat: SeatOutcome(**common_seat(reading, seat)) for seat in reading.conduct}
        return Outcome[SeatOutcome, MarketOutcome].of(reading, self.version, seats, MarketOutcome())
