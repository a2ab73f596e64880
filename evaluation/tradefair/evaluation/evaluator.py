"""The base class of all evaluators, and the way from a market's name to its evaluator.

The base class serves a market that brings no evaluator: it knows conduct and the reason of the end. A market's own
evaluator is a subclass that declares what it knows; an attribute that is empty, or a method that is not overridden,
says "not known". It stands in `markets/<market>/evaluator.py`, holds declarations and delegation only, and is announced
in the entry-point group `tradefair.evaluators`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args, get_type_hints

from tradefair import catalog
from tradefair.contract import ScenarioError, SeatId
from tradefair.contract.kernel.event import ManifestCore
from tradefair.evaluation.charts.chart import Chart
from tradefair.evaluation.collusion import CollusionMeasures
from tradefair.evaluation.figure import Figure, declared, fields_of
from tradefair.evaluation.headline import Headline
from tradefair.evaluation.modes.diagnosis import Stage
from tradefair.evaluation.modes.insight import Insight
from tradefair.evaluation.modes.table import NO_MODES, ModeTable
from tradefair.evaluation.outcome import (
    MarketOutcome,
    Outcome,
    PlayedSeat,
    PrimaryMetric,
    RatingRules,
    SeatOutcome,
    common_seat,
)
from tradefair.evaluation.phrases import NO_PHRASES, Phrases, missing
from tradefair.evaluation.reading import read_trace
from tradefair.evaluation.table import Table
from tradefair.tracestore import Trace

Group: TypeAlias = Literal["episode", "seat", "market", "relative"]


class Evaluator:
    """What is known of one market's episodes. All names below are fields of its outcomes, unless said otherwise.

    `market` is the market's name; `version` that of the formulas: a change of any number is a new version. Columns,
    primary metrics and what roles have are taken from `figure(...)` in the models that `outcomes` returns; a class that
    names some itself is believed.
    """

    market: str
    version: str = "1"
    money: str = "points"
    """The unit of money."""
    models: Mapping[Group, type] = {"episode": Outcome, "seat": SeatOutcome, "market": MarketOutcome, "relative": dict}
    """The records whose fields are this market's figures; those of `outcomes` and `beside`."""
    beside: type = dict
    """A record with the fields that `relative` gives."""

    # Few, because Holm's correction multiplies p-values by their number.
    primary_metrics: tuple[PrimaryMetric, ...] = ()
    """Seat fields that comparisons test, few, the one that matters most first; the first is also what regret is of."""
    whole_ends: frozenset[str] = frozenset()
    """End reasons of an episode that ran its course; any other end by the rules is an early one. Empty: not known."""
    headline: Headline | None = None
    """The one figure that ranks agents, and the references that it is relative to; None: there is none."""
    rating: RatingRules | None = None
    """How finished episodes are rated; None: they are not."""
    population: str | None = None
    """The policy that plays every seat for comparison, where the mechanism itself moves the figures."""
    collusion: CollusionMeasures | None = None
    """Signs of collusion over several episodes; None: not known."""

    seat_columns: tuple[str, ...] = ()
    """Fields of the seat outcome that a terminal shows."""
    compared_columns: tuple[str, ...] = ()
    """The few seat fields that tell how well a seat did, in rows next to references."""
    closeness: Mapping[str, str] = {}
    """Seat fields that only several runs together have, by the field that they scale: 1 − it / its largest of them."""
    market_columns: tuple[str, ...] = ("efficiency",)
    """Fields of the market outcome that comparisons show; one that the outcome lacks is left out."""
    fields_of_roles: Mapping[str, frozenset[str]] = {}
    """Per role, the seat fields that only its seats have; a field that is nowhere in it belongs to all roles."""
    modes: ModeTable = NO_MODES
    """The market's own failure modes, which read what `seats` gives."""
    phrases: Phrases = NO_PHRASES
    """By role, the words of its modes' sentences and of its verdict: `load_phrases(__package__)`."""
    evidence_notes: Mapping[str, str] = {}
    """What the published evidence map says in addition to needs and tools, by its key in that file: `version` replaces
    the version of the rules, `recency_days.<category>` is the age in days up to which a look counts."""

    evidence_version: str | None = None
    """The version of what actions should rest on, where no rules of a market say it."""

    def __init_subclass__(cls) -> None:
        """Take from the models of `outcomes` what the class does not say itself."""
        super().__init_subclass__()
        if "outcomes" in vars(cls):
            cls.models = {**cls.models, **_models(cls.outcomes), "relative": cls.beside}
            for name, found in _shown(declared(cls.models["seat"]), declared(cls.models["market"])).items():
                if found and name not in vars(cls):
                    setattr(cls, name, found)

    def __init__(self, market: str = "") -> None:
        """`market`: the name, where no subclass declares it."""
        # A subclass declares its name as a class attribute, which an empty argument must not hide.
        if market:
            self.market = market

    def ran_its_course(self, end_reason: str) -> bool:
        """Whether an episode with this end was as long as it should be; True where that is not known."""
        # Without declared ends, "early" would be a guess.
        return not self.whole_ends or end_reason in self.whole_ends

    def missing_phrases(self, roles: Collection[str]) -> list[str]:
        """Complaints about placeholders in sentences of these roles that nothing fills; the conformance kit asks."""
        figures = {name for group in ("seat", "episode", "relative") for name in fields_of(self.models[group])}
        return list(missing(self.phrases, roles, self.modes, figures))

    def outcomes(self, trace: Trace) -> Outcome[Any, Any]:
        """Result of every seat and of the market; what cannot be used is listed in it, and raises nothing.

        By default calls, refusals, lapses and the reason of the end.
        """
        reading = read_trace(trace)
        seats = {seat: SeatOutcome(**common_seat(reading, seat)) for seat in reading.conduct}
        return Outcome[SeatOutcome, MarketOutcome].of(reading, self.version, seats, MarketOutcome())

    def metric(self, market: Any, seat: SeatId) -> float | None:
        """The seat's first primary metric of a finished episode, from its rules; null: only the outcome tells it.

        The same number as in `outcomes`, to the last digit: whoever plays an episode many times need not write a trace.
        """
        return None

    def seats(self, trace: Trace) -> Mapping[SeatId, Any]:
        """What the detectors of `modes` read of every seat, in the order of the manifest."""
        return {}

    def stages(self, trace: Trace) -> list[Stage]:
        """The market's own figures of conduct, by stage; what cannot be computed is null with a note."""
        return []

    def at_stake(self, outcome: Any, seat: SeatId) -> float | None:
        """What the seat could win in its primary metric; 0: nothing, whoever plays; null: not known."""
        return None

    def insight(self, trace: Trace) -> Insight:
        """Private numbers, messages, tests of "would it have paid": what the general failure modes cannot know."""
        return Insight()

    def tables(self, outcome: Any) -> Sequence[Table]:
        """Tables of an outcome for people, in addition to the common ones."""
        return ()

    def tables_beside(self, outcome: Any, population: Any | None) -> Sequence[Table]:
        """Tables with the figures of `population` on the same scenario and seed, or a note that it was not played."""
        return ()

    def world(self, core: ManifestCore) -> str:
        """What results of the scenario of a manifest are to be measured by, for under each of them; empty: nothing."""
        return ""

    def relative(self, seat: SeatId, outcomes: Mapping[str, Any]) -> Mapping[str, Mapping[str, float | None]]:
        """Per label of `outcomes`, numbers of the seat relative to the other labels on the same scenario and seed."""
        return {}

    def charts(self, trace: Trace) -> Sequence[Chart]:
        """Charts of a trace, the most telling first; none where nothing can be drawn."""
        return ()

    def board_charts(self, seats: Sequence[PlayedSeat], labels: Sequence[str], score: str) -> Sequence[Chart]:
        """Charts of a leaderboard's games, what `labels` did in all of them; `labels` as ranked, by `score`."""
        return ()


def _models(outcomes: Callable[..., Any]) -> Mapping[Group, type]:
    """The models of a seat and of the market in what `outcomes` returns; none where its annotation names none."""
    try:
        fields: Mapping[str, Any] = get_type_hints(outcomes)["return"].model_fields
    # A stranger's annotation may be missing, or name what only a type checker imports.
    except (AttributeError, KeyError, NameError, TypeError):
        return {}
    seat, whole = get_args(fields["seats"].annotation)[-1], fields["market_outcome"].annotation
    return {"seat": seat, "market": whole} if isinstance(seat, type) and isinstance(whole, type) else {}


def _shown(seat: Mapping[str, Figure], whole: Mapping[str, Figure]) -> Mapping[str, Any]:
    """Attributes of an evaluator by name, as the figures of a seat and of the market have them."""

    def on(place: str, rows: Mapping[str, Figure]) -> tuple[str, ...]:
        return tuple(name for name, row in rows.items() if place in row.on)

    first = {name: seat[name] for name in on("primary", seat)}
    roles = {row.role for row in seat.values() if row.role}
    return {
        "seat_columns": on("table", seat),
        "compared_columns": on("compare", seat),
        "market_columns": on("compare", whole),
        "primary_metrics": tuple(
            PrimaryMetric(name=name, unit=row.unit, higher_is_better=row.better == "higher")
            for name, row in first.items()
        ),
        "closeness": {name: row.scales for name, row in seat.items() if row.scales},
        "fields_of_roles": {role: frozenset(name for name in seat if seat[name].role == role) for role in roles},
    }


def evaluator_of(market: str) -> Evaluator:
    """The market's evaluator, or the base class where its package brings none.

    Raises ScenarioError for an installed evaluator that is no subclass: half of one would answer some questions with
    errors that look like faults of the trace.
    """
    found = catalog.evaluator(market)
    # A trace of any market can be evaluated, as far as the kernel's own events go.
    if found is None:
        return Evaluator(market)
    if not isinstance(found, Evaluator):
        raise ScenarioError(
            f"the evaluator of {market[:80]} is a {type(found).__name__}: "
            "it must be an instance of a subclass of tradefair.evaluation.Evaluator"
        )
    return found


def fields_for(evaluator: Evaluator, roles: Collection[str], fields: Sequence[str]) -> tuple[str, ...]:
    """Those of `fields` that say something of seats in these roles, in their order."""
    known = evaluator.fields_of_roles
    # Fields of these roles win over "only others have it": two roles may share a field.
    own = {name for role in roles for name in known.get(role, ())}
    others = {name for names in known.values() for name in names} - own
    # Without roles, or with roles that have no fields of their own, nothing can be told apart.
    return tuple(name for name in fields if name not in others) if own else tuple(fields)
