"""What a marketplace hid from its seats: values, match sets, prices, floors, and the seat behind each handle.

The facts of an episode's end hold it. For an episode without an end it is computed again from the manifest, because
data and handles come from scenario and seed alone. Never raises: what cannot be used becomes a finding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import orjson

from tradefair.contract import Chance, ScenarioError, SeatId, TraceError
from tradefair.contract.chain import digest
from tradefair.contract.kernel.event import parts_named
from tradefair.evaluation.reading import TraceReading
from tradefair.marketplace.analysis import Match, Matches, match_sets
from tradefair.marketplace.data.data_source import catalogue_of
from tradefair.marketplace.data.written import catalogue_from
from tradefair.marketplace.engine.facts import CustomerFacts, EndingFacts
from tradefair.marketplace.engine.participants import handles, places
from tradefair.marketplace.model import BUSINESS, CUSTOMER, Catalogue, MarketplaceScenario
from tradefair.tracestore import Trace


@dataclass(frozen=True)
class Truth:
    """Seat ids of customers and businesses in registration order; a position in it is their index.

    `matches` is B_i with list prices and floors, `[customer]`; `seats` maps handles to seat ids. `catalogue` is None
    where it cannot be computed from the manifest.
    """

    customers: tuple[SeatId, ...]
    businesses: tuple[SeatId, ...]
    matches: tuple[Matches, ...]
    seats: Mapping[str, SeatId]
    catalogue: Catalogue | None

    @cached_property
    def indices(self) -> dict[SeatId, int]:
        """The index of every seat within its role."""
        return {seat: index for role in (self.customers, self.businesses) for index, seat in enumerate(role)}

    @cached_property
    def buyers(self) -> frozenset[SeatId]:
        """The customers."""
        return frozenset(self.customers)

    @cached_property
    def sellers(self) -> frozenset[SeatId]:
        """The businesses."""
        return frozenset(self.businesses)


def truth_of(
    reading: TraceReading,
    scenario: MarketplaceScenario | None,
    ending: EndingFacts | None,
    written: Catalogue | None = None,
) -> Truth | None:
    """Everything hidden; None without a manifest, or where neither facts nor manifest hold it.

    `written` is the catalogue that the trace holds; without one it is generated again from scenario and seed.
    Contradictions between the two are findings; the facts, which the rules made, take precedence.
    """
    core = reading.core
    if core is None:
        return None
    customers, businesses = (
        tuple(seat.id for seat in core.seats if seat.role == role) for role in (CUSTOMER, BUSINESS)
    )
    # Computed again even where the facts are whole: a trace that was changed by hand shows in the difference.
    again = None if scenario is None else _computed(reading, scenario, core.seed, written)
    # Seats decide all indices: with others no figure computed again would be about the right business.
    if again is not None and (again.customers, again.businesses) != (customers, businesses):
        reading.found(None, "the seats of the manifest are not those of its scenario")
        again = None
    if ending is None or reading.ending is None:
        return again
    told = _from_facts(ending, customers, businesses, again.catalogue if again else None)
    if told is None:
        reading.found(reading.ending.seq, "the facts of the end leave out seats, matches or handles")
    elif again is not None and again != told:
        reading.found(reading.ending.seq, "values, prices, floors or handles at the end are not those of the scenario")
    # What the rules said at the end first; computed again where the episode has no end.
    return told or again


def _computed(
    reading: TraceReading, scenario: MarketplaceScenario, seed: int, written: Catalogue | None
) -> Truth | None:
    try:
        catalogue = written or catalogue_of(scenario, seed)
    # The scenario is valid by its bounds, and forged content can still break the generator.
    except (ScenarioError, ValueError, ArithmeticError, LookupError) as error:
        reading.found(None, f"the manifest does not give back its customers and businesses: {error}"[:300])
        return None
    named: dict[str, SeatId] = {}
    chance = Chance(seed)
    for role, records in ((CUSTOMER, catalogue.customers), (BUSINESS, catalogue.businesses)):
        names = handles(places(chance, role, len(records)), role, alias=scenario.alias_ids)
        named |= {name: record.id for name, record in zip(names, records, strict=True)}
    return Truth(
        tuple(record.id for record in catalogue.customers),
        tuple(record.id for record in catalogue.businesses),
        match_sets(catalogue, scenario.value_multiplier_bp),
        named,
        catalogue,
    )


def written_catalogue(trace: Trace, reading: TraceReading) -> Catalogue | None:
    """The catalogue that the trace holds; None where it holds none, with a finding where it cannot be read."""
    try:
        first = next(iter(trace.events()), None)
        names = parts_named(orjson.loads(first.body)) if first is not None and first.seq == 1 else []
        bodies = [trace.blob(name) or b"" for name in names]
    except (TraceError, ValueError):
        # An event that is none, or a file that ends here: the reading has listed it already.
        return None
    # Where a part is missing or was exchanged, the generator may still give all of it.
    if not names or [digest(body) for body in bodies] != names:
        return None
    try:
        return catalogue_from(map(orjson.loads, bodies))
    except (ValueError, TypeError, LookupError, AttributeError) as fault:
        reading.found(1, f"the catalogue cannot be read: {fault}"[:300])
        return None


def _from_facts(
    ending: EndingFacts, customers: tuple[SeatId, ...], businesses: tuple[SeatId, ...], catalogue: Catalogue | None
) -> Truth | None:
    """The truth as the facts have it; None where they leave a seat or a number out."""
    seats = {*customers, *businesses}
    named = {name: seat for seat, name in ending.handles.items()}
    indices = {seat: index for index, seat in enumerate(businesses)}
    whole = (
        set(ending.customers) == set(customers)
        and set(ending.businesses) == set(businesses)
        and set(ending.handles) == seats
        # Two seats behind one handle would lose one of them.
        and len(named) == len(seats)
        and all(_sound_customer(facts, indices) for facts in ending.customers.values())
    )
    if not whole:
        return None
    factors = {seat: facts.floor_bp for seat, facts in ending.businesses.items()}
    matches = tuple(_matches(ending.customers[seat], indices, factors) for seat in customers)
    return Truth(customers, businesses, matches, named, catalogue)


def _sound_customer(facts: CustomerFacts, indices: Mapping[SeatId, int]) -> bool:
    matches = set(facts.matches)
    same = all(set(numbers) == matches for numbers in (facts.prices, facts.floors, facts.utilities))
    return same and len(matches) == len(facts.matches) and set(facts.fits) <= matches <= set(indices)


def _matches(facts: CustomerFacts, indices: Mapping[SeatId, int], factors: Mapping[SeatId, int]) -> Matches:
    found: list[Match] = []
    # Back into registration order, which `Matches` promises and ties rely on.
    for seat in sorted(facts.matches, key=indices.__getitem__):
        price, fits = facts.prices[seat], seat in facts.fits
        gross = facts.value if fits else 0
        # The facts hold the rounded floor; the factor gives back the exact one, which the first best is made of.
        found.append(Match(indices[seat], price, fits, gross - price, gross - facts.floors[seat], factors[seat]))
    return Matches(facts.value, tuple(found))
