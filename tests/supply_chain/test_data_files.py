"""Tribes and items of the user's own: files of a folder that become content of the scenario."""

from __future__ import annotations

import hashlib
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from tests.options_files import options_file
from tests.supply_chain.playing import scenario

from tradefair.catalog import load_scenario, use_data
from tradefair.cli import run
from tradefair.contract import ScenarioError
from tradefair.contract.market import ChecksData, ReadsData
from tradefair.contract.scenario import build_scenario
from tradefair.supply_chain import MARKET
from tradefair.supply_chain.data.data_source import LIMIT_BYTES, with_data
from tradefair.supply_chain.model import SupplyChainScenario
from tradefair.testing import play_scripted

BOTH = {"personas": "cats.toml", "items": "shop.toml"}
CATS = """
[[tribes]]
id = "thrifty"
weight = 0.75
sensitivity = 0.8
reservation_centre = 1.5
texts = ["A cat who counts each coin and waits for cheap fish.", "Low prices, please."]

[[tribes]]
id = "katzen"
weight = 0.25
sensitivity = 0.5
reservation_centre = 2
texts = ["Ich bin eine Katze.", "猫は魚が好き"]
"""
SHOP = """
[[items]]
id = "fish"
label = "Fresh fish"
category = "commodity"
quantity = 30
base = "9.00"

[[items]]
id = "bell"
category = "luxury"
quantity = 6
base = 120
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file of tribes and one of items."""
    place = tmp_path / "mine"
    place.mkdir()
    (place / "cats.toml").write_text(CATS, encoding="utf-8")
    (place / "shop.toml").write_text(SHOP, encoding="utf-8")
    return place


def test_tables_of_files_become_content_of_the_scenario_with_the_digests_of_the_files(folder: Path) -> None:
    named = scenario("duel", data=BOTH, rho_by_tribe={"katzen": 0.25})
    assert MARKET.lacks_data(named)
    found = MARKET.with_data(named, str(folder))
    assert not MARKET.lacks_data(found)
    assert [tribe.id for tribe in found.tribes] == ["thrifty", "katzen"]
    assert [(item.id, item.base) for item in found.items] == [("fish", "9.00"), ("bell", "120.00")]
    for name, digest in (("cats.toml", found.data.personas_sha256), ("shop.toml", found.data.items_sha256)):
        assert digest == hashlib.sha256((folder / name).read_bytes()).hexdigest()


def test_an_episode_says_whose_tribes_and_items_it_plays(folder: Path) -> None:
    found = with_data(scenario("duel", data=BOTH), str(folder))
    assert MARKET.remarks(found) == {
        "tribes": f"of cats.toml, SHA-256 {found.data.personas_sha256}",
        "items": f"of shop.toml, SHA-256 {found.data.items_sha256}",
    }
    assert MARKET.remarks(scenario("duel")) == {}


def test_what_was_loaded_is_whole_without_its_folder(folder: Path) -> None:
    found = with_data(scenario("duel", data=BOTH), str(folder))
    (folder / "cats.toml").write_text("changed")
    again = build_scenario(SupplyChainScenario, found.model_dump(mode="json"), source="manifest")
    assert again == found
    assert with_data(again, str(folder)) == again
    assert play_scripted(MARKET, again, 1, "cost_plus").head == play_scripted(MARKET, found, 1, "cost_plus").head


def test_other_tribes_are_another_market(folder: Path) -> None:
    own = with_data(scenario("duel", data={"personas": "cats.toml"}), str(folder))
    assert own.persona_digest != scenario("duel").persona_digest
    assert (
        play_scripted(MARKET, own, 1, "cost_plus").head != play_scripted(MARKET, scenario("duel"), 1, "cost_plus").head
    )


def test_a_scenario_without_files_has_the_content_that_it_always_had() -> None:
    assert "data" not in scenario("duel").model_dump(mode="json")


def test_data_is_found_below_the_folder_of_the_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRADEFAIR_DATA", "")
    use_data(folder)
    assert isinstance(MARKET, ReadsData)
    assert isinstance(MARKET, ChecksData)
    loaded = load_scenario("supply_chain", "duel", {"data.items": "shop.toml"})
    assert isinstance(loaded, SupplyChainScenario)
    assert [item.id for item in loaded.items] == ["fish", "bell"]


def test_without_its_folder_a_scenario_loads_and_says_what_to_set_when_it_is_played(tmp_path: Path) -> None:
    named = scenario("duel", data=BOTH)
    for root in ("", str(tmp_path)):
        assert with_data(named, root) == named
    told = r"data\.personas = cats\.toml, data\.items = shop\.toml: .*--data DIR.*TRADEFAIR_DATA"
    with pytest.raises(ScenarioError, match=told):
        MARKET.create(named, 1)
    with pytest.raises(ScenarioError, match=told):
        MARKET.needs(named)


def test_the_whole_is_checked_with_what_the_files_hold(folder: Path) -> None:
    with pytest.raises(ScenarioError, match=r"rho_by_tribe\.hype: no such tribe; there are thrifty, katzen"):
        with_data(scenario("duel", data=BOTH, rho_by_tribe={"hype": 0.5}), str(folder))
    with pytest.raises(ScenarioError, match=r"base = 9\.00 is no multiple of the tick 2\.00"):
        with_data(scenario("duel", data=BOTH, tick="2.00"), str(folder))


def test_a_digest_is_not_written_by_hand() -> None:
    with pytest.raises(ScenarioError, match=r"data\.personas_sha256: leave it out"):
        scenario("duel", data={"personas": "cats.toml", "personas_sha256": "0" * 64})


@pytest.mark.parametrize("name", ["../cats.toml", "/etc/x.toml", "a/cats.toml", "cats.yaml", ".toml", "a\n.toml"])
def test_a_file_is_named_inside_the_folder(name: str) -> None:
    with pytest.raises(ScenarioError, match=r"data\.personas = (?s:.*): a file of the folder of --data itself"):
        scenario("duel", data={"personas": name})


# --- hostile files --------------------------------------------------------------------------------------------------


def many(count: int) -> str:
    return "".join(
        f'[[tribes]]\nid="t{place}"\nweight=0.1\nsensitivity=1\nreservation_centre=2\ntexts=["x"]\n'
        for place in range(count)
    )


HOSTILE: dict[str, tuple[str | bytes, str]] = {
    "not TOML": ("<html>", "not valid TOML"),
    "not text": (b"\xff\xfe\x00", "not text in UTF-8"),
    "huge": ("#" * (LIMIT_BYTES + 1), f"at most {LIMIT_BYTES:,} are read"),
    "deep": ("x = " + "[" * 50_000, "not valid TOML"),
    "endless number": ("x = " + "9" * 5_000, "not valid TOML"),
    "a key without end": (".".join(["a"] * 100_000) + " = 1", "line 1: a key of 40 parts"),
    "a quoted key without end": (".".join(['"\\""'] * 40_000) + " = 1", "line 1: a key of 40 parts"),
    "thousands": (many(2_000), "2000 tribes: allowed are 1 to 20"),
    "nobody": ("tribes = []", "0 tribes: allowed are 1 to 20"),
    "twice": (many(1) * 10, "every id once"),
    "no table": ("tribes = 7", "a file of personas holds tables [[tribes]] and nothing else"),
    "another key": (many(10) + "[other]\n", "other: unknown key"),
    "no tribe": ("tribes = ['x']", "tribes.0 = 'x'"),
    "text for a number": (CATS.replace("0.75", '"0.75"'), "tribes.0.weight = '0.75': it should be a number"),
    "no number": (CATS.replace("0.75", "nan"), "tribes.0.weight = None: it should be a number"),
    "a number of thirty digits": (CATS.replace("0.75", "9" * 30), "not plain data"),
    "wrong shares": (CATS.replace("0.75", "0.5"), "the weights must sum to 1"),
    "unknown field": (CATS.replace("sensitivity", "patience"), "tribes.0.patience: unknown key"),
    "a control": (CATS.replace("each coin", "each \\u0007coin"), "(U+0007) is not allowed"),
    "a direction mark": (CATS.replace("each coin", "each \u202ecoin"), "(U+202E) is not allowed"),
    "too many texts": (CATS.replace('"Low', '"x", ' * 30 + '"Low'), "at most 20 items"),
    "a long text": (CATS.replace("each coin", "each coin" * 500), "at most 2000 characters"),
    "thousands of unknown keys": (many(1) + "\n".join(f"k{n} = 1" for n in range(9_000)), "and more"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_by_name_and_field(folder: Path, name: str) -> None:
    raw, told = HOSTILE[name]
    (folder / "cats.toml").write_bytes(raw if isinstance(raw, bytes) else raw.encode())
    with pytest.raises(ScenarioError, match=r"^cats\.toml: ") as caught:
        with_data(scenario("duel", data=BOTH), str(folder))
    message = str(caught.value)
    assert told in message
    assert message.isprintable()
    assert len(message) < 1_000
    assert MARKET.check_data(str(folder)).problems == (message,)


@pytest.mark.parametrize(
    ("replaced", "by", "told"),
    [
        ('"9.00"', "9.5", "items.0.base = 9.5"),
        ('"9.00"', '"9.001"', "items.0.base = 9.001"),
        ('"luxury"', '"gold"', "items.1.category = gold"),
        ("quantity = 6", "quantity = 0", "items.1.quantity = 0"),
        ("bell", "fish", "items: every id once"),
        ('"Fresh fish"', '"Fresh\\nfish"', "items.0.label"),
        ('"Fresh fish"', '"\\u001b[31mfish"', "(U+001B) is not allowed"),
    ],
)
def test_a_wrong_item_is_named(folder: Path, replaced: str, by: str, told: str) -> None:
    (folder / "shop.toml").write_text(SHOP.replace(replaced, by))
    with pytest.raises(ScenarioError, match=r"^shop\.toml: ") as caught:
        with_data(scenario("duel", data=BOTH), str(folder))
    assert told in str(caught.value)


def test_what_leads_out_of_the_folder_or_is_no_file_is_not_read(folder: Path) -> None:
    file = folder / "cats.toml"
    outside = folder.parent / "outside.toml"
    file.rename(outside)
    named = scenario("duel", data={"personas": "cats.toml"})
    for target, told in ((outside, "is a link out"), (file, "cannot be read"), (folder / "none", "cannot be read")):
        file.symlink_to(target)
        with pytest.raises(ScenarioError, match=rf"^cats\.toml: {told}"):
            with_data(named, str(folder))
        file.unlink()
    file.mkdir()
    with pytest.raises(ScenarioError, match=r"^cats\.toml: cannot be read: a folder, not a file"):
        with_data(named, str(folder))


# --- tradefair check -------------------------------------------------------------------------------------


def test_a_check_tells_tribes_texts_items_and_the_calibration_gap(folder: Path) -> None:
    (folder / "cat_market.toml").write_text('id = "supply_chain/cats"\n[data]\npersonas = "cats.toml"\n')
    found = MARKET.check_data(str(folder))
    assert found.problems == ()
    report: dict[str, Any] = json.loads(found.report.model_dump_json())
    (personas,), (items,) = report["personas"], report["items"]
    assert [(tribe["id"], tribe["texts"]) for tribe in personas["tribes"]] == [("thrifty", 2), ("katzen", 2)]
    assert (personas["texts"], items["units"], items["value"]) == (4, 36, "990.00")
    assert 0 < personas["calibration_gap"] < 1
    assert report["scenarios"] == ["cat_market.toml"]
    (finding,) = report["findings"]
    assert finding.startswith("cats.toml: tribes.1.texts (0, 1) of katzen: no word of the lexicon")


def test_tribes_that_no_bundled_slogan_is_made_for_have_no_calibration_gap(folder: Path) -> None:
    (folder / "cats.toml").write_text(many(10))
    report = json.loads(MARKET.check_data(str(folder)).report.model_dump_json())
    assert report["personas"][0]["calibration_gap"] is None
    assert "there is no calibration gap" in report["findings"][-1]


def test_the_bundled_tribes_are_a_file_to_start_from(folder: Path) -> None:
    bundled = files("tradefair.supply_chain") / "data" / "personas.toml"
    (folder / "cats.toml").write_text(bundled.read_text(encoding="utf-8"), encoding="utf-8")
    report = json.loads(MARKET.check_data(str(folder)).report.model_dump_json())
    assert report["problems"] == []
    assert report["personas"][0]["calibration_gap"] == 0.360263


def test_a_check_names_what_is_missing(folder: Path, tmp_path: Path) -> None:
    (folder / "cat_market.toml").write_text('id = "supply_chain/cats"\n[data]\npersonas = "dogs.toml"\n')
    (problem,) = MARKET.check_data(str(folder)).problems
    assert problem == "cat_market.toml: data: names a file that is not in this folder"
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "holds no .toml file" in MARKET.check_data(str(empty)).problems[0]


# --- commands -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["play", "serve", "host", "config"])
def test_a_command_reads_the_folder_that_it_is_given(
    folder: Path, command: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRADEFAIR_DATA", "")
    (folder / "cats.toml").write_text(CATS.replace("0.75", "2"))
    told = options_file(folder.parent, data=str(folder), set=["data.personas=cats.toml"])
    given = ["--scenario", "duel", *told]
    assert run([command, "supply_chain", *given]) == 2
    assert "cats.toml: tribes.0.weight = 2" in capfd.readouterr().err
