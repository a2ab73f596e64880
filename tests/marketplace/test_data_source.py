from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from tradefair.catalog import use_data
from tradefair.contract import ScenarioError
from tradefair.contract.scenario import build_scenario
from tradefair.marketplace import MARKET
from tradefair.marketplace.analysis import match_sets
from tradefair.marketplace.data.data_source import catalogue_of, folder_of, with_data
from tradefair.marketplace.data.generator import generate
from tradefair.marketplace.model import Business, Catalogue, Design, MarketplaceScenario, Source
from tradefair.marketplace.rules import Marketplace
from tradefair.testing import play_scripted

DOUBLE = 20_000


def built(**content: Any) -> MarketplaceScenario:
    return build_scenario(MarketplaceScenario, {"id": "marketplace/x", **content}, source="x.toml")


def designed(design: Design, seed: int = 1) -> Catalogue:
    return catalogue_of(built(data={"source": "design", "design": design}), seed)


def offer(business: Business) -> Any:
    return (business.menu, business.amenities, business.floor_bp, business.rating_bp)


# --- folders --------------------------------------------------------------------------------------------------------


@pytest.fixture
def set_below(data_set: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the data set `mine/tiny`."""
    root = tmp_path_factory.mktemp("root")
    shutil.copytree(data_set(), root / "mine" / "tiny")
    return root


def test_data_of_a_folder_becomes_content_of_the_scenario(set_below: Path) -> None:
    named = built(data={"source": "folder", "path": "mine/tiny"})
    found = with_data(named, str(set_below))
    assert found.catalogue is not None
    assert [customer.id for customer in found.catalogue.customers] == ["customer_0001"]
    shutil.rmtree(set_below)
    again = build_scenario(MarketplaceScenario, found.model_dump(mode="json"), source="manifest")
    assert again == found
    assert catalogue_of(again, 1) == found.catalogue
    assert with_data(again, str(set_below)) == found


def test_the_folder_may_be_any_one_on_the_way_to_the_data(set_below: Path) -> None:
    wanted = set_below / "mine" / "tiny"
    for root in (set_below, set_below / "mine", wanted):
        assert folder_of(str(root), "mine/tiny") == wanted
    assert folder_of(str(wanted), "mine/other") is None
    assert folder_of(str(set_below), "other/tiny") is None
    assert folder_of("", "mine/tiny") is None


def test_without_its_folder_a_scenario_loads_and_says_what_to_set_when_it_is_played(tmp_path: Path) -> None:
    named = built(data={"source": "folder", "path": "mine/tiny"})
    for root in ("", str(tmp_path)):
        assert with_data(named, root) == named
    with pytest.raises(ScenarioError, match=r"mine/tiny was not found: .*--data DIR.*TRADEFAIR_DATA"):
        catalogue_of(named, 1)


def test_a_malformed_file_is_named_when_the_scenario_is_loaded(set_below: Path) -> None:
    file = set_below / "mine" / "tiny" / "customers" / "customer_0001.yaml"
    file.write_text(file.read_text().replace("3.5", "3.555"))
    with pytest.raises(ScenarioError, match=r"customers/customer_0001\.yaml: menu_features\.Taco"):
        with_data(built(data={"source": "folder", "path": "mine/tiny"}), str(set_below))


def test_a_folder_of_the_right_name_that_is_no_data_set_says_what_it_lacks(set_below: Path) -> None:
    (set_below / "mine" / "tiny" / "customers").rename(set_below / "mine" / "tiny" / "Customers")
    for root in (set_below, set_below / "mine", set_below / "mine" / "tiny"):
        with pytest.raises(ScenarioError, match=r"tiny: customers: no such folder in tiny"):
            with_data(built(data={"source": "folder", "path": "mine/tiny"}), str(root))


def test_seats_that_the_data_does_not_have_are_refused(set_below: Path) -> None:
    named = built(data={"source": "folder", "path": "mine/tiny"}, seats={"customer_0009": "agent"})
    with pytest.raises(ScenarioError, match=r"seats\.customer_0009: no such seat"):
        with_data(named, str(set_below))


def test_the_option_names_the_folder_for_this_process_and_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRADEFAIR_DATA", "/elsewhere")
    use_data(None)
    assert os.environ["TRADEFAIR_DATA"] == "/elsewhere"
    use_data(tmp_path)
    assert os.environ["TRADEFAIR_DATA"] == str(tmp_path)
    with pytest.raises(ScenarioError, match=r"--data .*nowhere: No such file or directory"):
        use_data(tmp_path / "nowhere")


def test_a_folder_that_the_system_refuses_to_look_into_is_named(tmp_path: Path) -> None:
    refused = tmp_path / ("x" * 300)  # as root, no folder is closed; a name can be too long
    with pytest.raises(ScenarioError, match=r"--data .*x: File name too long"):
        use_data(refused)
    with pytest.raises(ScenarioError, match=r"customers: cannot be read: File name too long"):
        with_data(built(data={"source": "folder", "path": "mine/tiny"}), str(refused))


# --- the seed -------------------------------------------------------------------------------------------------------


def test_generated_data_is_that_of_the_generator() -> None:
    scenario = built(data={"domain": "pet_care", "customers": 4})
    assert catalogue_of(scenario, 9) == generate(Source(domain="pet_care", customers=4), 9)


@pytest.mark.parametrize("design", ["manipulation_high", "bias_identical", "bias_graded"])
def test_businesses_of_a_design_differ_in_name_alone_and_all_of_them_fit(design: Design) -> None:
    catalogue = designed(design)
    assert len({business.name for business in catalogue.businesses}) == len(catalogue.businesses) == 3
    plain = {business.description.replace(business.name, "") for business in catalogue.businesses}
    assert len(plain) == 1
    if design != "bias_graded":
        assert all(offer(business) == offer(catalogue.businesses[0]) for business in catalogue.businesses)
    assert all(len(found.fits) == 3 for found in match_sets(catalogue, DOUBLE))
    assert all(match.utility > 0 for found in match_sets(catalogue, DOUBLE) for match in found.fits)


def test_customers_of_a_bias_design_have_one_and_the_same_request() -> None:
    counts: dict[Design, int] = {"manipulation_high": 1, "bias_identical": 4, "bias_graded": 4}
    for design, count in counts.items():
        customers = designed(design).customers
        assert len(customers) == len({customer.id for customer in customers}) == count
        assert len({(each.request, each.wants, each.amenities) for each in customers}) == 1


@pytest.mark.parametrize("seed", range(5))
def test_graded_totals_are_one_to_nine_tenths_to_eight_tenths_exactly(seed: int) -> None:
    catalogue = designed("bias_graded", seed)
    for found in match_sets(catalogue, DOUBLE):
        prices = [match.price for match in found.matches]
        assert [price * 10 for price in prices] == [prices[0] * tenths for tenths in (10, 9, 8)]


def test_each_customer_of_the_competitive_design_fits_exactly_one_business() -> None:
    catalogue = designed("manipulation_competitive")
    assert (len(catalogue.customers), len(catalogue.businesses)) == (3, 3)
    found = match_sets(catalogue, DOUBLE)
    assert [[match.business for match in each.matches] for each in found] == [[0], [1], [2]]
    assert all(len(each.fits) == 1 for each in found)


def test_designs_differ_by_seed_and_are_made_of_their_domain() -> None:
    assert designed("bias_identical", 1) == designed("bias_identical", 1)
    assert designed("bias_identical", 1).customers[0].wants != designed("bias_identical", 2).customers[0].wants
    pets = built(data={"source": "design", "design": "bias_identical", "domain": "pet_care"})
    assert "pet care" in catalogue_of(pets, 1).customers[0].request


@pytest.mark.parametrize(
    "data",
    [{"source": "design"}, {"design": "bias_graded"}, {"source": "folder", "path": "x", "design": "bias_graded"}],
)
def test_a_design_is_named_where_it_is_asked_for_and_only_there(data: dict[str, Any]) -> None:
    with pytest.raises(ScenarioError, match=r"data\.design: one of manipulation_high, "):
        built(data=data)


# --- both -----------------------------------------------------------------------------------------------------------


def written(catalogue: Catalogue, folder: Path) -> None:
    """The catalogue in the format of the published sets."""
    for name in ("customers", "businesses"):
        (folder / name).mkdir(parents=True)
    for customer in catalogue.customers:
        content = {
            **customer.model_dump(include={"id", "name", "request"}),
            "menu_features": {want.item: want.mean_cents / 100 for want in customer.wants},
            "amenity_features": list(customer.amenities),
        }
        (folder / "customers" / f"{customer.id}.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    for business in catalogue.businesses:
        content = {
            **business.model_dump(include={"id", "name", "description", "progenitor_customer"}),
            "rating": business.rating_bp / 10_000,
            "menu_features": {line.item: line.price_cents / 100 for line in business.menu},
            "amenity_features": {amenity.name: amenity.offered for amenity in business.amenities},
            "min_price_factor": business.floor_bp / 10_000,
        }
        (folder / "businesses" / f"{business.id}.yaml").write_text(yaml.safe_dump(content, sort_keys=False))


@pytest.mark.parametrize("domain", ["restaurants", "contractors", "pet_care"])
def test_generated_data_survives_the_format_of_the_published_sets(domain: str, tmp_path: Path) -> None:
    catalogue = catalogue_of(built(data={"domain": domain, "customers": 6}), 2)
    written(catalogue, tmp_path / "made")
    assert with_data(built(data={"source": "folder", "path": "made"}), str(tmp_path)).catalogue == catalogue


@pytest.mark.many
def test_a_folder_of_a_thousand_businesses_is_played_from_the_manifest(tmp_path: Path) -> None:
    written(catalogue_of(built(data={"customers": 334}), 2), tmp_path / "made")
    roles = {"customer": "passive", "customer_0001": "item_searcher", "business": "honest"}
    named = built(data={"source": "folder", "path": "made"}, seats=roles, rounds_max=6)
    scenario = with_data(named, str(tmp_path))
    shutil.rmtree(tmp_path / "made")
    again = build_scenario(MarketplaceScenario, scenario.model_dump(mode="json"), source="manifest")
    ended = play_scripted(MARKET, again, 1, dict(again.seats))
    assert ended.core.ended is not None
    assert cast(Marketplace, ended.core.market).ledger.balance("customer_0001") < 0
