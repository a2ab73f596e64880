"""What the outcomes of every market have, and the records with which an evaluator declares what they are good for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar, get_args, get_origin

import orjson
from pydantic import Field

from tradefair.contract import SeatId
from tradefair.evaluation.figure import figure
from tradefair.evaluation.reading import PersonMoves, TraceReading, Unusable
from tradefair.evaluation.record import Record

ON_EVERY_SEAT = "all:"
"""Begins the label of a reference in which one policy played every seat: `all:linear_equilibrium`."""


class SeatOutcome(Record):
    """One seat's result; markets add theirs.

    `refused_by` names the MCP clients that sent its refused calls, "" for one without a name: some check arguments
    themselves and send fewer. `person_moves`: how many of its moves somebody has clicked.
    """

    role: str = figure("role", "name")
    """the seat's role, from the manifest"""
    label: str | None = figure("played by", "name")
    """what the manifest says of the seat's player, such as policy:zip

    Null: the manifest does not say
    """
    calls: int = figure("calls", "calls")
    """events tool_called of the seat, refused ones too"""
    refused: int = figure(
        "refused calls", "calls", "lower", caution="not comparable with clients that check arguments themselves"
    )
    """calls with another status than ok: not carried out, whoever was at fault"""
    lapses: dict[str, int] = figure("lapses", "times", "lower")
    """by reason, how often the seat let its turn go by

    Null: never; empty without a lapse
    """
    # Left out where no call was refused, or no MCP client is known.
    refused_by: Annotated[list[str], figure("clients of refused calls", "names")] = Field(
        default=[], exclude_if=lambda names: not names
    )
    """names and versions of the MCP clients that sent the refused calls; "" for one that gave none

    Null: never; left out where no call was refused or no MCP client is known
    """
    # Left out where there are none, as nearly everywhere.
    person_moves: Annotated[PersonMoves | None, figure("a person's moves", "moves")] = Field(
        default=None, exclude_if=lambda moves: moves is None
    )
    """accepted actions that somebody has clicked on the board, and all of the seat

    Null: left out where nobody has
    """


def refused_note(whose: str, clients: Iterable[str]) -> str:
    """Which MCP clients sent refused calls, as a sentence without its point; empty where none is known."""
    names = ", ".join(name or "a client without a name" for name in sorted(set(clients)))
    if not names:
        return ""
    return f"refused calls {whose} were sent by {names}: not comparable with clients that check arguments themselves"


class MarketOutcome(Record):
    """The whole market's result; markets add theirs."""


S = TypeVar("S", bound=SeatOutcome)
M = TypeVar("M", bound=MarketOutcome)


class Outcome(Record, Generic[S, M]):
    """An episode's result. `censored`: the rules did not end it, so that sums run over the closed rounds only."""

    market: str = figure("market", "name")
    """name of the market, from the manifest

    Null: never; empty where the manifest cannot be read
    """
    rules_version: str = figure("rules version", "version")
    """version of the rules that played the episode

    Null: never; empty where the manifest cannot be read
    """
    evaluator_version: str = figure("evaluator version", "version")
    """version of the formulas below"""
    scenario: str = figure("scenario", "name")
    """id of the scenario, from the manifest

    Null: never; empty where the manifest cannot be read
    """
    seed: int | None = figure("seed", "number")
    """the seed that fixes all luck of the market

    Null: the manifest cannot be read, or hides it (one seat's view)
    """
    rounds_closed: int = figure("closed rounds", "rounds")
    """number of events round_closed"""
    end_reason: str | None = figure("end", "name")
    """reason of the event episode_ended: terminated by the rules, or truncated

    Null: the episode is still open
    """
    censored: bool = figure("cut short", "yes or no")
    """whether the end was none that the rules made; sums then run over the closed rounds only"""
    seats: dict[SeatId, S] = figure("seats", "record")
    """by seat of the manifest, the fields under "Every seat" and those of its market

    Null: never; empty where the manifest cannot be read
    """
    market_outcome: M = figure("market outcome", "record")
    """the fields that the market adds for all seats together"""
    findings: list[Unusable] = figure("what could not be used", "list")
    """everything in the trace that the formulas left out, the first 100

    Null: never; empty in a sound trace
    """

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


class PrimaryMetric(Record):
    """A field of the seat outcome that comparisons test; `unit` in words, for people."""

    name: str
    unit: str
    # Most metrics are gains; costs and losses say so.
    higher_is_better: bool = True


class RatingRules(Record):
    """How finished episodes of a market are rated; all names are fields of its outcomes.

    `kind`: a `field` ranks all labels of an episode by a score (TrueSkill), a `duel` compares the profits of two, a
    `solo` lists labels that meet nobody by the mean of their score. `picked_by` are the seat figures by which the
    source picks one framework for each model, the first that differs decides.
    `scores` are seat fields, higher is better, the default first; a duel has one, its profit. `seat_figures` and
    `market_figures` are fields; their means are shown next to the rating, those of `leading` in the ranking itself.
    `series` are seat fields with a value per round, `conduct` ids of figures of the evaluator's stages, both for charts
    over games. `potential` names the market field of what
    both seats of a duel could have earned together. `varies` names scenario parameters that may differ within one
    leaderboard, such as the law of private values; episodes that differ in any other are rated apart. `cautions` are
    printed wherever the field of their name is. `errors` names by score the seat field with its expected error, 0 where
    it is exact: coverage and error are shown, and widen the interval of its mean.
    """

    kind: Literal["field", "duel", "solo"]
    scores: tuple[str, ...]
    seat_figures: tuple[str, ...] = ()
    leading: tuple[str, ...] = ()
    series: tuple[str, ...] = ()
    conduct: tuple[str, ...] = ()
    market_figures: tuple[str, ...] = ()
    potential: str = ""
    picked_by: tuple[str, ...] = ()
    varies: frozenset[str] = frozenset()
    cautions: Mapping[str, str] = {}
    errors: Mapping[str, str] = {}


class PlayedSeat(NamedTuple):
    """One seat of a rated game, as charts over games read it.

    `game` numbers the games of a leaderboard from 0. `numbers` has the rating's seat fields and those of
    `RatingRules.conduct`, `series` those of its series: a value per closed round, null where there is none, yes as 1.
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


def nothing(model: type[SeatOutcome] | type[MarketOutcome]) -> dict[str, Any]:
    """The fields that a market adds to an outcome, where nothing is known: null, or what its type is when empty."""
    own: dict[str, Any] = {name: field.annotation for name, field in model.model_fields.items()}
    empty = {name: None if type(None) in get_args(kind) else (get_origin(kind) or kind) for name, kind in own.items()}
    return {name: kind and kind() for name, kind in empty.items() if name not in SeatOutcome.model_fields}
