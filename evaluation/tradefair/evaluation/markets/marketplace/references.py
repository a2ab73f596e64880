"""What the played welfare is compared with: exact baselines at list prices, ceilings of search, maxima.

All of them are closed forms or exact optima; nothing is sampled. List prices bound what scripted sellers ask, not what
is possible: where sellers go below list, customers can beat a maximum.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal, NamedTuple

from tradefair.contract import Chance
from tradefair.contract.money import currency
from tradefair.evaluation.figure import figure
from tradefair.evaluation.markets.marketplace.assignment import best_assignment
from tradefair.evaluation.markets.marketplace.truth import Truth
from tradefair.evaluation.read.arithmetic import rounded
from tradefair.evaluation.record import Record
from tradefair.marketplace.analysis import QUERY_RULES, Baselines, Ceiling, baselines, ceiling_of
from tradefair.marketplace.answers.directory import Directory, Filters, bm25_installed
from tradefair.marketplace.engine.manipulation import house_text, shown
from tradefair.marketplace.model import BASIS_POINTS, Catalogue, MarketplaceScenario

_FILTERS = "filters"
_CEILING = {
    "item_names": "whoever searches once by item names",
    "request_text": "whoever searches once by the request",
    _FILTERS: "whoever searches once, without words, by filters on items and amenities",
}


class Reference(Record):
    """A total of all customers at list prices, in currency units, or the played one."""

    name: str = figure("name", "name")
    """what was chosen"""
    kind: Literal["played", "expectation", "maximum"] = figure("kind", "name")
    """played; expectation, exact over a random choice; or maximum, at list prices under the note's condition"""
    welfare: float = figure("welfare", "currency units")
    """total of all customers"""
    deviation: Annotated[float | None, figure("deviation", "currency units")] = None
    """standard deviation of an expectation

    Null: it is no expectation
    """
    share: Annotated[float | None, figure("share of the best purchases", "share")] = None
    """welfare / optimal

    Null: optimal is not positive
    """
    recall: Annotated[float | None, figure("fits shown", "share")] = None
    """as recall, of this search

    Null: it shows nothing
    """
    exact: str = figure("exact welfare", "cents")
    """the total in cents, a fraction where it is not whole"""
    note: str = figure("note", "text")
    """the condition"""


class Yardsticks(NamedTuple):
    """Baselines of all customers, ceilings by query rule, and the best assignment in cents, None without capacity.

    There are no ceilings without the data, or without the library that search needs. Where search takes filters there
    is one for these too: words are looked for in names and descriptions there, which rarely contain an item.
    """

    baselines: Baselines
    ceilings: dict[str, Ceiling]
    assignment: int | None


def yardsticks(truth: Truth, scenario: MarketplaceScenario | None, seed: int) -> Yardsticks:
    """Everything that the played welfare is compared with, in cents.

    `seed` is that of the episode: directory orders and planted texts follow from it.
    """
    capacity = scenario.capacity if scenario is not None else 0
    # At list prices, like every baseline: what sellers would have agreed to is not known.
    options = [{match.business: match.utility for match in customer.matches} for customer in truth.matches]
    return Yardsticks(
        baselines(truth.matches),
        {} if scenario is None or truth.catalogue is None else _ceilings(truth, scenario, truth.catalogue, seed),
        # 0 is "unlimited": then every customer can have its best, and the optimum says the same.
        best_assignment(options, capacity) if capacity else None,
    )


def _ceilings(truth: Truth, scenario: MarketplaceScenario, catalogue: Catalogue, seed: int) -> dict[str, Ceiling]:
    """By query rule, and by filters, over the first page of the scenario's own search at the first ratings."""
    # Ratings that change during the episode would make the ceiling depend on what was played.
    if scenario.search_algorithm == "bm25" and not bm25_installed():
        return {}
    ratings = [Fraction(business.rating_bp, BASIS_POINTS) for business in catalogue.businesses]
    chance = Chance(seed)
    planted = scenario.manipulation
    indexed = catalogue
    # The search of the episode saw the text; a ceiling without it would be of another search.
    if planted.index_text and planted.business_index < len(catalogue.businesses):
        indexed = shown(catalogue, house_text(planted, catalogue, chance))
    directory = Directory(scenario, indexed, truth.matches, chance, ratings)
    customers = catalogue.customers
    asked = {name: [(rule(customer), Filters()) for customer in customers] for name, rule in QUERY_RULES.items()}
    if scenario.search_algorithm == "filtered":
        asked[_FILTERS] = [
            ("", Filters([want.item for want in customer.wants], customer.amenities)) for customer in customers
        ]
    found: dict[str, Ceiling] = {}
    for name, searches in asked.items():
        # Through the directory: the scenario's own algorithm, filters and page size decide what is found.
        pages = [directory.page(index, query, 1, filters).businesses for index, (query, filters) in enumerate(searches)]
        found[name] = ceiling_of(name, scenario.search_limit, pages, truth.matches)
    return found


def in_currency(cents: Fraction | float) -> float:
    """Cents, perhaps a fraction of one, as currency units with nine decimals."""
    return currency(cents) if isinstance(cents, int) else rounded(float(cents / 100))


def share(part: Fraction | int, whole: int) -> float | None:
    """part/whole with nine decimals; None unless `whole` is positive, because shares of a loss say nothing."""
    return rounded(float(Fraction(part) / whole)) if whole > 0 else None


class _Row(NamedTuple):
    name: str
    kind: Literal["played", "expectation", "maximum"]
    cents: Fraction | int
    deviation: float | None
    note: str
    recall: Fraction | None = None


def references(played: int, known: Yardsticks, recall: Fraction | None = None) -> list[Reference]:
    """The played total in cents, with the recall of its searches, and what it is compared with.

    The rows begin with the least informed choice; later ones know more, the last ones everything.
    """
    base = known.baselines
    rows: list[_Row] = [
        _Row("played", "played", played, None, "what the customers got", recall),
        _Row("random items", "expectation", base.random_items.mean, base.random_items.deviation,
         "each buys from one of those who have all items, at random"),
        _Row("cheapest", "expectation", base.cheapest.mean, base.cheapest.deviation,
         "each buys from the cheapest who has all items, whatever the amenities; ties at random"),
        _Row("random items + amenities", "expectation", base.random_fits.mean, base.random_fits.deviation,
         "each buys from one of those who fit, at random"),
    ]  # fmt: skip
    for query, ceiling in known.ceilings.items():
        note = f"the most for {_CEILING[query]} and sees the first {ceiling.page_size}"
        rows.append(
            _Row(f"search by {query.replace('_', ' ')}", "maximum", ceiling.welfare, None, note, ceiling.recall)
        )
    if known.assignment is not None:
        rows.append(
            _Row("assignment", "maximum", known.assignment, None, "the most where businesses take so few orders")
        )
    rows += [
        _Row("optimal", "maximum", base.optimal, None, "the most if every customer buys who can"),
        _Row("optimal or nothing", "maximum", base.optimal_or_nothing, None, "the most if nobody has to buy"),
    ]
    return [
        Reference(
            name=row.name,
            kind=row.kind,
            welfare=in_currency(row.cents),
            deviation=None if row.deviation is None else in_currency(row.deviation),
            share=share(row.cents, base.optimal),
            recall=None if row.recall is None else share(row.recall, 1),
            # The float next to it is rounded; fractions of a cent are kept as text.
            exact=str(row.cents),
            note=row.note,
        )
        for row in rows
    ]
