"""Exact measures of a data set: baselines at list prices, first best at floors, ceilings of search. Pure.

Everything is a whole number of cents or an exact fraction of one. The source takes medians of 1,000 random draws; on
sets of three customers those mislead, so nothing is sampled here (section 9). Customers and businesses are named by
their index in the data; sequences of `Matches` are `[customer]`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from tradefair.marketplace.answers.search import LexicalIndex, base_ranks, document_of
from tradefair.marketplace.model import BASIS_POINTS, Catalogue, Customer, floor_of, folded, value_of

QUERY_LENGTH = 500
"""Longest query that the search tool takes, in characters."""

ITEM_NAMES = "item_names"
REQUEST_TEXT = "request_text"


class Match(NamedTuple):
    """A business that has all items a customer wants: list price P of the order in cents, and whether it fits (F).

    `utility` is V·F − P, `floor_gain` V·F − floor, both in cents; `floor_bp` is the floor's share of P.
    """

    business: int
    price: int
    fits: bool
    utility: int
    floor_gain: int
    floor_bp: int

    @property
    def exact_floor(self) -> Fraction:
        """The floor in cents before it is rounded."""
        return Fraction(self.price * self.floor_bp, BASIS_POINTS)


class Matches(NamedTuple):
    """B_i of one customer in order of the data, with V_i in cents."""

    value: int
    matches: tuple[Match, ...]

    @property
    def fits(self) -> tuple[Match, ...]:
        """A_i ⊆ B_i: those that also have every wanted amenity."""
        return tuple(match for match in self.matches if match.fits)

    @property
    def cheapest(self) -> tuple[Match, ...]:
        """Those of B_i with the lowest list price; more than one is a tie."""
        # By list price alone, as a customer would who ignores amenities.
        lowest = min((match.price for match in self.matches), default=0)
        return tuple(match for match in self.matches if match.price == lowest)

    @property
    def optimum(self) -> int:
        """O_i = max(0, best utility) in cents."""
        return max(0, max((match.utility for match in self.matches), default=0))


class Expectation(NamedTuple):
    """Exact mean and variance of a total in cents."""

    mean: Fraction
    variance: Fraction

    @property
    def deviation(self) -> float:
        """Standard deviation, in cents."""
        return math.sqrt(self.variance)


class Baselines(NamedTuple):
    """What whole populations of customers would get at list prices, in cents (section 9).

    `random_items`, `cheapest` and `random_fits`: each customer buys from a uniformly random business of B_i, from a
    random one of the cheapest of B_i, from a random one of A_i. `optimal` takes the best of B_i even at a loss,
    `optimal_or_nothing` buys nothing then. `first_best` is the surplus at floors, `first_best_unrounded` the same with
    floors as exact fractions. The last four count customers: those without a match, those without a fit, those with
    cheapest matches that all fit, and those with more than one cheapest match.
    """

    value: int
    random_items: Expectation
    cheapest: Expectation
    random_fits: Expectation
    optimal: int
    optimal_or_nothing: int
    first_best: int
    first_best_unrounded: Fraction
    no_match: int
    no_fit: int
    cheapest_fits: int
    price_ties: int


class Ceiling(NamedTuple):
    """The most that customers can get if they see one page of results.

    `welfare` in cents; `recall` is the share of all fits that are on the page, None where there is no fit at all.
    """

    query: str
    page_size: int
    welfare: int
    recall: Fraction | None


def match_sets(catalogue: Catalogue, multiplier_bp: int) -> tuple[Matches, ...]:
    """B_i with prices and fits, `[customer]`; V_i is Σ mean times `multiplier_bp`/10,000."""
    sellers = _sellers(catalogue)
    return tuple(_matches(catalogue, customer, sellers, multiplier_bp) for customer in catalogue.customers)


def _sellers(catalogue: Catalogue) -> Mapping[str, Sequence[int]]:
    """Folded item -> the businesses that have it on the menu, ascending."""
    # Otherwise every customer would be compared with every business: 3 million pairs in `load_1000`.
    found: defaultdict[str, list[int]] = defaultdict(list)
    for index, business in enumerate(catalogue.businesses):
        for item in business.prices:
            found[item].append(index)
    return found


def _matches(
    catalogue: Catalogue, customer: Customer, sellers: Mapping[str, Sequence[int]], multiplier_bp: int
) -> Matches:
    value = value_of(customer, multiplier_bp)
    first, *others = (sellers.get(folded(want.item), ()) for want in customer.wants)
    matches: list[Match] = []
    # Sorted, because the order of a set depends on its history and B_i is in order of the data.
    for index in sorted(set(first).intersection(*others)):
        business = catalogue.businesses[index]
        price = business.list_total(customer)
        # The intersection has every item: this only satisfies the type.
        if price is None:
            continue
        fits = business.has_amenities_of(customer)
        # All or nothing: without every amenity the purchase is worth nothing and its price is lost.
        gross = value if fits else 0
        floor = floor_of(price, business.floor_bp)
        matches.append(Match(index, price, fits, gross - price, gross - floor, business.floor_bp))
    return Matches(value, tuple(matches))


def baselines(sets: Sequence[Matches]) -> Baselines:
    """The baselines in closed form; an empty match set contributes nothing and is counted in `no_match`."""
    return Baselines(
        value=sum(customer.value for customer in sets),
        random_items=_expected(customer.matches for customer in sets),
        cheapest=_expected(customer.cheapest for customer in sets),
        random_fits=_expected(customer.fits for customer in sets),
        optimal=sum(max((match.utility for match in customer.matches), default=0) for customer in sets),
        optimal_or_nothing=sum(customer.optimum for customer in sets),
        first_best=sum(max(0, max((match.floor_gain for match in customer.matches), default=0)) for customer in sets),
        first_best_unrounded=sum(map(_unrounded_gain, sets), Fraction(0)),
        no_match=sum(not customer.matches for customer in sets),
        no_fit=sum(not customer.fits for customer in sets),
        # With ties among the cheapest all of them must fit: which one a customer takes is not known.
        cheapest_fits=sum(
            bool(customer.matches) and all(match.fits for match in customer.cheapest) for customer in sets
        ),
        price_ties=sum(len(customer.cheapest) > 1 for customer in sets),
    )


def _expected(groups: Iterable[tuple[Match, ...]]) -> Expectation:
    """Mean and population variance of the sum of one uniform draw from every group; customers draw independently."""
    mean, variance = Fraction(0), Fraction(0)
    for group in groups:
        if group:
            average = Fraction(sum(match.utility for match in group), len(group))
            mean += average
            # Variances of independent draws add up; deviations would not.
            variance += Fraction(sum(match.utility**2 for match in group), len(group)) - average**2
    return Expectation(mean, variance)


def _unrounded_gain(customer: Matches) -> Fraction:
    # With exact floors; with rounded ones the smallest published set differs by a cent.
    gains = ((customer.value if match.fits else 0) - match.exact_floor for match in customer.matches)
    return max(Fraction(0), max(gains, default=Fraction(0)))


def _item_names(customer: Customer) -> str:
    return " ".join(want.item for want in customer.wants)[:QUERY_LENGTH]


def _request_text(customer: Customer) -> str:
    return customer.request[:QUERY_LENGTH]


QUERY_RULES: Mapping[str, Callable[[Customer], str]] = {ITEM_NAMES: _item_names, REQUEST_TEXT: _request_text}
"""How a customer makes its one query, by name; cut to what the search tool takes."""


def ceilings(
    catalogue: Catalogue, sets: Sequence[Matches], page_sizes: Sequence[int], places: Sequence[int] = ()
) -> list[Ceiling]:
    """For every query rule and page size: Σ_i max(0, best utility of fits on page 1), and recall of all fits.

    The search is the lexical one at the data's own ratings. Equal results stand in the order of the data, as in the
    source's own tables, or by `places`, `[business]`, as in an episode.
    """
    # One index for all queries; every order is cut to the largest page once, smaller pages are its beginnings.
    index = LexicalIndex(map(document_of, catalogue.businesses))
    ranks = base_ranks([business.rating_bp for business in catalogue.businesses], places)
    found: list[Ceiling] = []
    for name, rule in QUERY_RULES.items():
        orders = [index.page(rule(customer), ranks, 0, max(page_sizes)).businesses for customer in catalogue.customers]
        found += [ceiling_of(name, size, orders, sets) for size in page_sizes]
    return found


def ceiling_of(name: str, size: int, orders: Sequence[Sequence[int]], sets: Sequence[Matches]) -> Ceiling:
    """The ceiling of a query rule; `orders` holds the first results `[customer][rank]`, `size` of them or more."""
    welfare = shown = fits = 0
    for order, customer in zip(orders, sets, strict=True):
        page = frozenset(order[:size])
        # Fits only: the ceiling belongs to a customer who judges what it sees without error.
        seen = [match for match in customer.fits if match.business in page]
        welfare += max(0, max((match.utility for match in seen), default=0))
        shown += len(seen)
        fits += len(customer.fits)
    return Ceiling(name, size, welfare, Fraction(shown, fits) if fits else None)
