from __future__ import annotations

import math
import statistics
from collections import Counter
from typing import Literal

import pytest
from tests.calling import steps_of

from tradefair.marketplace.analysis import ceilings, match_sets
from tradefair.marketplace.data.generator import generate
from tradefair.marketplace.model import Catalogue, Source, folded

DOUBLE = 20_000
Domain = Literal["restaurants", "contractors", "pet_care"]
DOMAINS: tuple[Domain, ...] = ("restaurants", "contractors", "pet_care")
AMENITIES = {"restaurants": 10, "contractors": 18, "pet_care": 14}
RATIO_DEVIATION = {"restaurants": (0.15, 0.25), "contractors": (0.07, 0.12), "pet_care": (0.10, 0.18)}
MEANS = {"restaurants": (460, 1_480), "contractors": (14_000, 53_000), "pet_care": (1_800, 9_200)}

each_domain = pytest.mark.parametrize("domain", DOMAINS)


def made(domain: Domain = "restaurants", customers: int = 10, seed: int = 1, share_group: int = 1) -> Catalogue:
    return generate(Source(domain=domain, customers=customers, share_group=share_group), seed)


@each_domain
@pytest.mark.parametrize("customers", [1, 10, 100])
def test_three_businesses_serve_an_order_two_of_them_fit_and_nobody_else_has_all_items(
    domain: Domain, customers: int
) -> None:
    catalogue = made(domain, customers)
    assert (len(catalogue.customers), len(catalogue.businesses)) == (customers, 3 * customers)
    for place, found in enumerate(match_sets(catalogue, DOUBLE)):
        assert [match.business for match in found.matches] == [3 * place, 3 * place + 1, 3 * place + 2]
        assert [match.business for match in found.fits] == [3 * place, 3 * place + 1]
        assert len({match.price for match in found.matches}) == 3


@each_domain
@pytest.mark.parametrize(("customers", "share_group"), [(1, 1), (100, 3)])
def test_generated_records_are_what_a_users_file_would_be_held_to(
    domain: Domain, customers: int, share_group: int
) -> None:
    catalogue = made(domain, customers, share_group=share_group)
    checked = Catalogue.model_validate_json(catalogue.model_dump_json())
    assert checked == catalogue
    assert checked.model_dump_json() == catalogue.model_dump_json()


@each_domain
@pytest.mark.parametrize("customers", [10, 100])
def test_orders_menus_floors_and_amenities_have_the_published_shape(domain: Domain, customers: int) -> None:
    catalogue = made(domain, customers)
    third = math.ceil(customers / 3)
    sizes = Counter(len(customer.wants) for customer in catalogue.customers)
    assert all(third - 2 <= sizes[size] <= third for size in (1, 2, 3))
    low, high = MEANS[domain]
    for customer in catalogue.customers:
        assert len(customer.amenities) in (1, 2)
        assert all(low <= want.mean_cents <= high and want.quantity == 1 for want in customer.wants)
        assert all(want.mean_cents % 100 in (0, 49, 95, 99) for want in customer.wants)
    for business in catalogue.businesses:
        assert 11 <= len(business.menu) <= 18
        assert 6_000 <= business.floor_bp <= 9_500
        assert business.floor_bp % 100 == 0
        assert business.rating_bp == 10_000
        assert len(business.amenities) == AMENITIES[domain]
        assert 1 <= len(business.offered) <= 6


@each_domain
def test_prices_scatter_around_the_means_as_the_specification_says(domain: Domain) -> None:
    catalogue = made(domain, 100)
    sets = match_sets(catalogue, DOUBLE)
    ratios = [
        match.price / customer.reference_cents
        for customer, found in zip(catalogue.customers, sets, strict=True)
        for match in found.matches
    ]
    least, most = RATIO_DEVIATION[domain]
    assert abs(statistics.fmean(ratios) - 1) <= 0.06
    assert least <= statistics.stdev(ratios) <= most
    cheapest_fits = sum(all(match.fits for match in found.cheapest) for found in sets)
    assert 50 <= cheapest_fits <= 83


@each_domain
def test_no_order_lies_within_another_and_no_name_within_another(domain: Domain) -> None:
    catalogue = made(domain, 100)
    orders = [frozenset(want.item for want in customer.wants) for customer in catalogue.customers]
    assert not any(one <= other for i, one in enumerate(orders) for j, other in enumerate(orders) if i != j)
    items = {line.item for business in catalogue.businesses for line in business.menu}
    everything = "\n".join(sorted(items))
    assert all(everything.count(item) == 1 for item in items)


@each_domain
def test_names_are_unique_and_what_is_said_of_a_business_names_no_item(domain: Domain) -> None:
    catalogue = made(domain, 100)
    items = {folded(line.item) for business in catalogue.businesses for line in business.menu}
    assert len({business.name for business in catalogue.businesses}) == 300
    assert len({business.description for business in catalogue.businesses}) > 280
    for business in catalogue.businesses:
        said = folded(f"{business.name} {business.description}")
        assert not any(item in said for item in items)


@each_domain
def test_a_request_quotes_every_item_with_its_quantity_and_names_every_amenity(domain: Domain) -> None:
    for customer in made(domain, 100).customers:
        assert all(f"'{want.item}' (1)" in customer.request for want in customer.wants)
        assert all(amenity in customer.request for amenity in customer.amenities)
        assert len(customer.request) <= 500


@each_domain
def test_a_request_is_a_worse_query_than_the_item_names(domain: Domain) -> None:
    catalogue = made(domain, 100)
    found = {(each.query, each.page_size): each.recall for each in ceilings(catalogue, match_sets(catalogue, 1), (3,))}
    names, request = found["item_names", 3], found["request_text", 3]
    assert names is not None
    assert request is not None
    assert names > 0.8
    assert request < names - 0.15


def test_a_share_group_wants_one_order_and_has_three_businesses_in_common() -> None:
    catalogue = made(customers=7, share_group=3)
    assert len(catalogue.businesses) == 9
    groups = [catalogue.customers[:3], catalogue.customers[3:6], catalogue.customers[6:]]
    for place, group in enumerate(groups):
        assert len({(customer.wants, customer.amenities) for customer in group}) == 1
        assert len({customer.request for customer in group}) == len(group)
        for found in match_sets(catalogue, DOUBLE)[3 * place : 3 * place + len(group)]:
            assert [match.business for match in found.matches] == [3 * place, 3 * place + 1, 3 * place + 2]


def test_data_is_a_function_of_source_and_seed() -> None:
    first = made(seed=4)
    others = [made(seed=seed) for seed in range(5, 10)]
    again = made(seed=4)
    assert again is not first
    assert again == first
    assert first not in others


def test_ids_sort_in_the_order_of_registration() -> None:
    catalogue = made(customers=100)
    assert catalogue.customers[99].id == "customer_0100"
    ids = [business.id for business in catalogue.businesses]
    assert ids == sorted(ids)
    assert catalogue.businesses[5].progenitor_customer == "customer_0002"


def test_four_times_the_customers_take_about_four_times_the_steps() -> None:
    def steps(customers: int) -> int:
        return steps_of(lambda: made(customers=customers))

    steps(10)
    assert steps(200) < 5 * steps(50)


@pytest.mark.many
def test_ten_thousand_customers_have_items_and_names_of_their_own() -> None:
    catalogue = made(customers=10_000)
    assert len({business.name for business in catalogue.businesses}) == 30_000
    assert catalogue.customers[-1].id == "customer_10000"
    assert all(len(found.matches) == 3 for found in match_sets(catalogue, DOUBLE))
