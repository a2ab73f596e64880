from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from tradefair.marketplace.analysis import ITEM_NAMES, REQUEST_TEXT, baselines, ceilings, match_sets
from tradefair.marketplace.data.loader import load_folder
from tradefair.marketplace.model import Catalogue, floor_of, value_of

Published = Callable[[str], Path]
ALPHA = 20_000

# Section 13, in cents: Σ V, random items, cheapest, random items + amenities, optimal, first best at floors.
REFERENCE = {
    "mexican_3_9": (11_848, Fraction(5050, 3), 6_378, Fraction(12_231, 2), 6_378, 7_069),
    "mexican_10_30": (33_064, Fraction(17_900, 3), 11_131, Fraction(17_106), 18_561, 21_880),
    "contractors_10_30": (1_156_958, Fraction(567_815, 3), 443_854, Fraction(1_163_091, 2), 609_194, 761_951),
}
DEVIATIONS = {
    "mexican_3_9": ("42.89", "2.33"),
    "mexican_10_30": ("54.91", "5.30"),
    "contractors_10_30": ("1956.08", "105.08"),
}
CEILINGS = {
    "mexican_3_9": ([5_888, 6_378, 6_378], [5_351, 6_378, 6_378]),
    "mexican_10_30": ([15_654, 18_561, 18_561], [11_963, 18_145, 18_561]),
    "contractors_10_30": ([504_274, 609_194, 609_194], [383_086, 583_165, 609_194]),
}
FITTING = {"mexican_3_9": (3, 3), "mexican_10_30": (7, 10), "contractors_10_30": (9, 10)}


@pytest.mark.parametrize("name", REFERENCE)
def test_the_baselines_of_the_published_sets_are_the_reference_values(published: Published, name: str) -> None:
    sets = match_sets(load_folder(str(published(name))), ALPHA)
    found = baselines(sets)
    value, random_items, cheapest, random_fits, optimal, first_best = REFERENCE[name]
    assert (found.value, found.random_items.mean, found.cheapest.mean) == (value, random_items, cheapest)
    assert (found.random_fits.mean, found.optimal, found.optimal_or_nothing) == (random_fits, optimal, optimal)
    assert found.first_best == first_best
    assert abs(found.first_best_unrounded - first_best) <= 1
    deviations = (found.random_items.deviation, found.random_fits.deviation)
    assert tuple(f"{each / 100:.2f}" for each in deviations) == DEVIATIONS[name]
    assert (found.cheapest_fits, len(sets)) == FITTING[name]
    assert {(len(each.matches), len(each.fits)) for each in sets} == {(3, 2)}
    assert (found.no_match, found.no_fit, found.price_ties) == (0, 0, 0)


@pytest.mark.parametrize("name", CEILINGS)
def test_the_ceilings_of_search_are_the_reference_values(published: Published, name: str) -> None:
    catalogue = load_folder(str(published(name)))
    found = ceilings(catalogue, match_sets(catalogue, ALPHA), (1, 3, 10))
    for query, expected in zip((ITEM_NAMES, REQUEST_TEXT), CEILINGS[name], strict=True):
        rows = [each for each in found if each.query == query]
        assert [each.welfare for each in rows] == expected
        recalls = [each.recall for each in rows if each.recall is not None]
        assert recalls == sorted(recalls)


def test_the_worked_example_of_the_specification(published: Published) -> None:
    first = match_sets(load_folder(str(published("mexican_3_9"))), ALPHA)[0]
    assert first.value == 2_696
    assert [(match.price, match.fits, match.utility) for match in first.matches] == [
        (1_351, True, 1_345),
        (1_376, True, 1_320),
        (1_434, False, -1_434),
    ]
    assert [match.floor_gain for match in first.fits] == [2_696 - 1_054, 2_696 - 1_115]


def test_ties_are_averaged_and_empty_sets_counted(catalogue: Callable[..., Catalogue]) -> None:
    tied = catalogue({"taco": 500}, {"Taco": 600}, {"TACO ": 600, "flan": 1}, {"taco": 700}, patios=(True, False, True))
    found = baselines(match_sets(tied, ALPHA))
    assert found.cheapest.mean == Fraction(400 - 600, 2)
    assert found.cheapest.variance == Fraction(500 * 500)
    assert (found.price_ties, found.cheapest_fits, found.optimal) == (1, 0, 400)
    nobody = baselines(match_sets(catalogue({"taco": 500}, {"flan": 600}), ALPHA))
    assert (nobody.no_match, nobody.no_fit, nobody.optimal, nobody.random_items.mean) == (1, 1, 0, 0)
    unfit = baselines(match_sets(catalogue({"taco": 500}, {"taco": 600}, patios=(False,)), ALPHA))
    assert (unfit.no_match, unfit.no_fit, unfit.optimal, unfit.optimal_or_nothing) == (0, 1, -600, 0)


def test_a_customer_who_can_only_lose_buys_nothing_in_the_sum_that_allows_it(
    catalogue: Callable[..., Catalogue],
) -> None:
    dear = baselines(match_sets(catalogue({"taco": 500}, {"taco": 1_200}, floor_bp=10_000), ALPHA))
    assert (dear.optimal, dear.optimal_or_nothing, dear.first_best) == (-200, 0, 0)


def test_values_and_floors_round_halves_up(catalogue: Callable[..., Catalogue]) -> None:
    customer = catalogue({"taco": 333, "flan": 2}, {"taco": 1}).customers[0]
    assert value_of(customer, 15_000) == 503  # 502.5
    assert value_of(customer, 14_999) == 502
    assert floor_of(1_351, 7_800) == 1_054
    assert floor_of(1, 5_000) == 1
