""""""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import orjson
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.marketplace.conftest import BUSINESS, CUSTOMER
from tests.waiting import LONG

from tradefair.catalog import use_data
from tradefair.cli import run as tradefair
from tradefair.contract import ScenarioError
from tradefair.contract.scenario import build_scenario
from tradefair.marketplace import MARKET
from tradefair.marketplace.analysis import match_sets
from tradefair.marketplace.data.data_source import catalogue_of, folder_of, with_data
from tradefair.marketplace.data.generator import generate
from tradefair.marketplace.data.loader import LIMIT_BYTES, load_folder, read_folder
from tradefair.marketplace.model import Business, Catalogue, Design, MarketplaceScenario, Source
from tradefair.marketplace.rules import Marketplace
from tradefair.testing import play_scripted

Folder = Callable[..., Path]
C, B = "customers/customer_0001.yaml", "businesses/b.yaml"


def test_a_data_set_becomes_exact_cents_and_basis_points(data_set: Folder) -> None:
    loaded = load_folder(str(data_set()))
    (customer,), (business,) = loaded.customers, loaded.businesses
    assert [(want.item, want.quantity, want.mean_cents) for want in customer.wants] == [
        ("Taco", 1, 350),
        ("Agua Fresca", 1, 400),
    ]
    assert (customer.reference_cents, customer.amenities) == (750, ("Patio",))
    assert (business.rating_bp, business.floor_bp, business.list_total(customer)) == (10_000, 7_800, 825)
    assert business.offered == {"patio"}


def test_records_come_in_the_order_of_their_file_names(data_set: Folder) -> None:
    folder = data_set({f"businesses/{name}.yaml": BUSINESS.replace("0001", name, 1) for name in ("z", "a", "c10")})
    assert [business.id for business in load_folder(str(folder)).businesses] == [
        "business_a",
        "business_0001",
        "business_c10",
        "business_z",
    ]


def test_what_is_not_part_of_the_format_is_ignored_and_said(data_set: Folder) -> None:
    folder = data_set(
        {C: CUSTOMER + "mood: hungry\n", "customers/notes.txt": "", "extra.md": "", "baseline_utilities.json": "{}"}
    )
    loaded = read_folder(str(folder))
    assert loaded.catalogue is not None
    assert loaded.findings == (
        f"{C}: mood: unknown key; ignored",
        "customers/notes.txt: not a .yaml file; ignored",
        "extra.md: not part of a data set; ignored",
    )


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("taco: 3.25", "taco: 3.255", "menu_features.taco = 3.255: 3.255 has more than 2 decimals"),
        ("taco: 3.25", "taco: -1", "menu_features.0.price_cents: it should be at least 0"),
        ("taco: 3.25", "taco: 1000000.01", "menu_features.0.price_cents: it should be at most 1000000"),
        ("taco: 3.25", "taco: .nan", "menu_features.taco = '.nan': must be a number"),
        ("taco: 3.25", "taco: 1e999999999", "menu_features.taco = 1e999999999: the amount is out of range"),
        ("taco: 3.25", "taco: NaN", "menu_features.taco = NaN: an amount must be finite"),
        ("taco: 3.25", "taco: '3.25'", "menu_features.taco: must be a number"),
        ("taco: 3.25", "taco: [3]", "menu_features.taco: must be a number"),
        ("taco: 3.25", "taco: 3\n  taco: 4", "taco: is there twice"),
        ("taco: 3.25", "taco: 3\n  TACO: 4", "menu_features: 'TACO' is there twice"),
        ("Patio: true", "Patio: 1", "amenity_features.Patio: must be true or false"),
        ("Patio: true", "Patio: 'true'", "amenity_features.Patio: must be true or false"),
        ("rating: 1.0", "rating: 5.1", "rating: it should be at most 5"),
        ("rating: 1.0", "", "rating: required"),
        ("rating: 1.0", "rating: ~", "rating: required"),
        ("0.78", "0", "min_price_factor: it should be at least 0.0001"),
        ("0.78", "1.01", "min_price_factor: it should be at most 1"),
        ("id: business_0001", "id: ../x", "id: String should match pattern"),
        ("id: business_0001", "id: customer_0001", "id customer_0001: used twice"),
        ("name: Casa", "name: [Casa]", "name: must be text, not a list"),
        ("name: Casa", 'name: "a\\x07b"', "name: holds the character U+0007"),
        ("name: Casa", "name: &a Casa", "line 2: anchors and aliases are not allowed"),
        ("name: Casa", "name: *a", "line 2: anchors and aliases are not allowed"),
        (
            "name: Casa",
            "name: !!python/object:os.system x",
            "line 2: the tag tag:yaml.org,2002:python/object:os.system",
        ),
        ("name: Casa", "name: {a: {b: {c: {d: 1}}}}", "line 2: nested deeper than 3 levels"),
        ("name: Casa", "name: 'Casa", "not valid YAML"),
        ("name: Casa", "? [a]\n: Casa", "a key must be text"),
        ("id: business_0001", "--- {}\n--- {}", "line 2: a second document"),
    ],
)
def test_a_malformed_business_is_named_with_its_field(data_set: Folder, old: str, new: str, complaint: str) -> None:
    assert old in BUSINESS
    loaded = read_folder(str(data_set({B: BUSINESS.replace(old, new, 1)})))
    assert loaded.catalogue is None
    assert complaint in loaded.problems[0]
    assert loaded.problems[0].startswith(B) or complaint.startswith("id customer_0001")


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("- Patio", "  Patio: true", "amenity_features: must be a list of names"),
        ("- Patio", "- Patio\n- patio", "amenity_features: 'patio' is there twice"),
        ("- Patio", "- [Patio]", "amenity_features.0: must be text, not a list"),
        ("request: Two tacos, please", "request: ''", "request: String should have at least 1 character"),
        ("  Taco: 3.5\n  Agua Fresca: 4.00\n", "", "menu_features: required"),
    ],
)
def test_a_malformed_customer_is_named_with_its_field(data_set: Folder, old: str, new: str, complaint: str) -> None:
    assert old in CUSTOMER
    loaded = read_folder(str(data_set({C: CUSTOMER.replace(old, new, 1)})))
    assert loaded.problems[0].startswith(f"{C}: {complaint}")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"\xff\xfe\x00", "is not text in UTF-8"),
        (b"a: \x00", "not valid YAML"),
        (b"- 1\n", "must be a table of fields"),
        (b"", "must be a table of fields"),
        (b"x" * (LIMIT_BYTES + 1), f"at most {LIMIT_BYTES:,} are read"),
        (b"[" * 5, "nested deeper than 3 levels"),
        (b"[" * 200_000, "nest"),
        (b"a: [" + b"1," * 200_000 + b"]", "more than 5000 values"),
    ],
)
def test_hostile_bytes_are_a_named_problem_at_once(data_set: Folder, content: bytes, complaint: str) -> None:
    loaded = read_folder(str(data_set({C: content})))
    assert len(loaded.problems) == 1
    assert loaded.problems[0].startswith(C)
    assert complaint in loaded.problems[0]


def test_no_link_leads_out_of_the_folder_and_no_device_is_opened(data_set: Folder, tmp_path_factory: Folder) -> None:
    folder = data_set()
    secret = Path(str(tmp_path_factory.mktemp("other"))) / "secret.yaml"  # type: ignore[attr-defined]
    secret.write_text(CUSTOMER)
    (folder / "customers" / "x.yaml").symlink_to(secret)
    os.mkfifo(folder / "customers" / "y.yaml")
    (folder / "customers" / "z.yaml").symlink_to(folder / "customers" / "z.yaml")
    problems = read_folder(str(folder)).problems
    assert problems[0] == "customers/x.yaml: is a link out of the data set"
    assert problems[1] == "customers/y.yaml: cannot be read: a FIFO, not a file"
    assert problems[2].startswith("customers/z.yaml: cannot be read")


def test_a_folder_that_leads_out_is_not_looked_into(data_set: Folder, tmp_path_factory: Folder) -> None:
    folder = data_set()
    elsewhere = Path(str(tmp_path_factory.mktemp("other")))  # type: ignore[attr-defined]
    (folder / "customers").rename(elsewhere / "customers")
    (elsewhere / "customers" / "secret.txt").write_text("")
    (folder / "customers").symlink_to(elsewhere / "customers")
    loaded = read_folder(str(folder))
    assert loaded.problems == ("customers: leads out of the data set",)
    assert loaded.findings == ()


def test_what_a_terminal_would_obey_is_spelt_out(data_set: Folder) -> None:
    changed = BUSINESS.replace("taco: 3.25", '"\\e[2Jtaco\\n": cheap')
    folder = data_set({"businesses/b.yaml": changed, "businesses/\x1b[31mred.txt": ""})
    (folder / os.fsdecode(b"\xff.md")).write_text("")
    loaded = read_folder(str(folder))
    assert loaded.problems == (
        "businesses/b.yaml: menu_features.\\x1b[2Jtaco = 'cheap': must be a number, such as 13.51",
    )
    assert loaded.findings == (
        "businesses/\\x1b[31mred.txt: not a .yaml file; ignored",
        "\\udcff.md: not part of a data set; ignored",
    )


def test_a_folder_that_is_no_data_set_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "customers").mkdir()
    assert read_folder(str(tmp_path)).problems == (
        "customers: holds no .yaml file",
        f"businesses: no such folder in {tmp_path.name}; a data set holds customers and businesses",
    )
    with pytest.raises(ScenarioError, match="customers: holds no"):
        load_folder(str(tmp_path))


def test_every_malformed_file_is_named_up_to_a_bound(data_set: Folder) -> None:
    problems = read_folder(str(data_set({f"customers/{number:03d}.yaml": "x" for number in range(60)}))).problems
    assert len(problems) == 51
    assert problems[-1] == "and 10 more problems"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=60), st.sampled_from(["name: Casa", "taco: 3.25", "rating: 1.0", "Patio: true", "0.78"]))
def test_any_text_in_any_place_is_read_or_named(data_set: Folder, text: str, place: str) -> None:
    content = BUSINESS.replace(place, f"{place.partition(':')[0]}: {text}").encode("utf-8", "surrogatepass")
    loaded = read_folder(str(data_set({B: content})))
    assert (loaded.catalogue is None) == bool(loaded.problems)
    assert all(problem.startswith((B, "id ")) for problem in loaded.problems)


PROGRAM = """
class _Market:
    name = "probe"
    def check_data(self, folder):
        from tradefair.marketplace.data.data_report import check_folder
        return check_folder(folder)

MARKET = _Market()
"""


@pytest.fixture
def check(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`check(folder, *options)`: the command, on a market that a stranger's package announces."""
    package = tmp_path / "site"
    info = package / "probe-1.dist-info"
    info.mkdir(parents=True)
    (package / "probe.py").write_text(PROGRAM)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: probe\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[tradefair.markets]\nprobe = probe:MARKET\n")

    def checked(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tradefair.cli", "check", "probe", "--data", str(folder)]
        return subprocess.run(
            [*command, *options],
            env={**os.environ, "PYTHONPATH": str(package)},
            capture_output=True,
            text=True,
            timeout=LONG,
            check=False,
        )

    return checked


def test_the_check_prints_the_four_baselines_of_a_published_set(
    check: Callable[..., subprocess.CompletedProcess[str]], published: Callable[[str], Path]
) -> None:
    done = check(published("mexican_3_9"), "--json")
    assert done.returncode == 0, done.stderr
    report = orjson.loads(done.stdout)
    measures = report["measures"]
    assert {name: each["expected"] for name, each in measures["baselines"].items()} == {
        "random_items": "16.83",
        "cheapest": "63.78",
        "random_items_and_amenities": "61.16",  # 61.155 exactly
        "optimal": "63.78",
    }
    assert measures["baselines"]["random_items_and_amenities"]["exact_cents"] == "12231/2"
    assert [(each["query"], each["page_size"], each["welfare"]) for each in measures["ceilings"]][:2] == [
        ("item_names", 1, "58.88"),
        ("item_names", 3, "63.78"),
    ]
    assert (report["problems"], measures["first_best"]) == ([], "70.70")


def test_a_malformed_file_is_named_and_the_exit_code_is_one(
    check: Callable[..., subprocess.CompletedProcess[str]], data_set: Callable[..., Path]
) -> None:
    done = check(data_set({"businesses/b.yaml": BUSINESS.replace("3.25", "cheap")}))
    assert done.returncode == 1
    assert "businesses/b.yaml: menu_features.taco = 'cheap': must be a number" in done.stderr


def test_a_market_without_data_of_its_own_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tradefair(["check", "teaching", "--data", str(tmp_path)]) == 2
    assert "teaching reads no data of its own" in capsys.readouterr().err


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
