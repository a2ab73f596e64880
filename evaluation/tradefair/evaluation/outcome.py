"""What the outcomes of every market have, and the records with which an evaluator declares what they are good for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, Field

from tradefair.contract import SeatId
from tradefair.evaluation.reading import PersonMoves, TraceReading, Unusable

ON_EVERY_SEAT = "all:"
"""Begins the label of a reference in which one policy played every seat: `all:linear_equilibrium`."""


class _Record(BaseModel):
    """A frozen record that refuses unknown keys: an outcome is compared and printed, never changed."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class SeatOutcome(_Record):
    """One seat's result; markets add theirs.

    `refused_by` names the MCP clients that sent its refused calls, "" for one without a name: some check arguments
    themselves and send fewer. `person_moves`: how many of its moves somebody has clicked.
    """

    role: str
    label: str | None
    calls: int
    refused: int
    lapses: dict[str, int]
    # Left out where no call was refused, or no MCP client is known.
    refused_by: list[str] = Field(default=[], exclude_if=lambda names: not names)
    # Left out where there are none, as nearly everywhere.
    person_moves: PersonMoves | None = Field(default=None, exclude_if=lambda moves: moves is None)


def refused_note(whose: str, clients: Iterable[str]) -> str:
    """Which MCP clients sent refused calls, as a sentence without its point; empty where none is known."""
    names = ", ".join(name or "a client without a name" for name in sorted(set(clients)))
    if not names:
        return ""
    return f"refused calls {whose} were sent by {names}: not comparable with clients that check arguments themselves"


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
    findings: list[Unusable]

    @classmethod
    def of(
        cls, reading: TraceReading, evaluator_version: str, seats: dict[SeatId, S], market_outcome: M
    ) -> Outcome[S, M]:
        """The outcome that `reading` and the market's own numbers make; `evaluator_version` is that of the formulas."""
        # A trace whose manifest cannot be read has an outcome too: it names nothing and lists what is wrong.
        core = reading.core
        return cls(
            market=core.market if core else "",
            rules_version=core.rules_version if core else "",
            evaluator_version=evaluator_version,
            scenario=str(core.scenario.get("id", "")) if core else "",
            seed=core.drawn_from if core else None,
            rounds_closed=len(reading.rounds),
            end_reason=reading.end_reason,
            # Truncated or still open: what the rules did not end says nothing of the rounds that are missing.
            censored=not (reading.end_reason or "").startswith("terminated:"),
            seats=seats,
            market_outcome=market_outcome,
            # A copy: a reading may be shared and go on to collect findings (`once_per_trace`).
            findings=list(reading.findings),
        )


AnyOutcome = TypeVar("AnyOutcome", bound=Outcome[Any, Any])


def writable(outcome: AnyOutcome) -> AnyOutcome:
    """The outcome. Raises orjson.JSONEncodeError where one of its numbers has more than 64 bits.

    Neither JSON nor tables hold such a number. Those of a trace have 64 at most, but not the sums of a forged one.
    """
    orjson.dumps(outcome.model_dump(mode="json"))
    return outcome


class PrimaryMetric(_Record):
    """A field of the seat outcome that comparisons test; `unit` in words, for people."""

    name: str
    unit: str
    # Most metrics are gains; costs and losses say so.
    higher_is_better: bool = True


class RatingRules(_Record):
    """How finished episodes of a market are rated; all names are fields of its outcomes.

    `kind`: a `field` ranks all labels of an episode by a score (TrueSkill), a `duel` compares the profits of two, a
    `solo` lists labels that meet nobody by the mean of their score. `picked_by` are the seat figures by which the
    source picks one framework for each model, the first that differs decides.
    `scores` are seat fields, higher is better, the default first; a duel has one, its profit. `seat_figures` and
    `market_figures` are fields; their means are shown next to the rating, those of `leading` in the ranking itself.
    `series` are seat fields with a value per round, for charts over games. `potential` names the market field of what
    both seats of a duel could have earned together. `varies` names scenario parameters that may differ within one
    leaderboard, such as the law of private values; episodes that differ in any other are rated apart. `cautions` are
    printed wherever the field of their name is.
    """

    kind: Literal["field", "duel", "solo"]
    scores: tuple[str, ...]
    seat_figures: tuple[str, ...] = ()
    leading: tuple[str, ...] = ()
    series: tuple[str, ...] = ()
    market_figures: tuple[str, ...] = ()
    potential: str = ""
    picked_by: tuple[str, ...] = ()
    varies: frozenset[str] = frozenset()
    cautions: Mapping[str, str] = {}


class PlayedSeat(NamedTuple):
    """One seat of a rated game, as charts over games read it.

    `game` numbers the games of a leaderboard from 0. `numbers` has the rating's seat fields, `series` those of
    `RatingRules.series`: a value per closed round, null where there is none, yes as 1.
    """

    label: str
    role: str
    game: int
    numbers: Mapping[str, float | None]
    series: Mapping[str, Sequence[float | None]]


def common_seat(reading: TraceReading, seat: SeatId) -> dict[str, Any]:
    """The fields of `SeatOutcome` for a seat of the manifest, ready for the constructor of a market's seat outcome."""
    conduct = reading.conduct[seat]
    return {
        "role": reading.roles[seat],
        "label": reading.label(seat),
        "calls": conduct.calls,
        "refused": conduct.refused,
        # Sorted, so that the order in which seats lapsed does not show in the JSON.
        "lapses": dict(sorted(conduct.lapses.items())),
        "refused_by": reading.refused_by.get(seat, []),
        "person_moves": reading.person_moves.get(seat),
    }
