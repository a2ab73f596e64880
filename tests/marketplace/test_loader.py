from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.marketplace.conftest import BUSINESS, CUSTOMER

from tradefair.contract import ScenarioError
from tradefair.marketplace.data.loader import LIMIT_BYTES, load_folder, read_folder

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
