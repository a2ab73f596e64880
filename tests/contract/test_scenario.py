"""Scenarios: what is wrong in one is named with key, value and what is allowed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tradefair.catalog import load_scenario, market_names, market_type, scenario_ids
from tradefair.contract.errors import ScenarioError
from tradefair.contract.scenario import build_scenario, parse_override, with_overrides
from tradefair.files.user_files import parse_toml
from tradefair.teaching import MARKET

_PIE: dict[str, Any] = {"id": "teaching/pie"}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ({}, "id: required"),
        ({"id": "pie"}, "id = pie: .*match pattern"),
        ({"id": "teaching/Pie"}, "id = teaching/Pie"),
        ({**_PIE, "slcies": 3}, "slcies: unknown key"),
        ({**_PIE, "slices": "10"}, "slices = '10': .*a whole number"),
        ({**_PIE, "slices": 10.0}, "slices = 10.0: .*a whole number"),
        ({**_PIE, "slices": True}, "slices = True: .*a whole number"),
        ({**_PIE, "slices": 1}, "slices = 1: .*at least 2"),
        ({**_PIE, "rounds": 1_001}, "rounds = 1001: .*at most 1000"),
        ({**_PIE, "talk": "yes"}, "talk = 'yes': .*true or false"),
        ({**_PIE, "clock": "wall"}, "clock = wall: .*'turns' or 'free'"),
        ({**_PIE, "record": "none"}, "record = none: .*'full' or 'digests'"),
        ({**_PIE, "limits": [{"counts": ["sold"], "max": 1}]}, "limits.0.counts.0 = sold"),
        ({**_PIE, "limits": [{"counts": ["read"], "max": 0}]}, "limits.0.max = 0"),
        ({**_PIE, "timing": {"decision_deadline_s": 0}}, "timing.decision_deadline_s = 0: .*more than 0"),
        ({**_PIE, "timing": {"deadline": 1}}, "timing.deadline: unknown key"),
        ({**_PIE, "seats": {"P1": 1}}, "seats.P1 = 1: .*text"),
        ({**_PIE, "version": 0}, "version = 0"),
        ({**_PIE, "description": object()}, "not plain data"),
    ],
)
def test_every_mistake_names_key_value_and_what_is_allowed(content: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ScenarioError, match=f"^my.toml: .*{complaint}|^the scenario holds a value that is {complaint}"):
        build_scenario(MARKET.scenario_model, content, source="my.toml")


def test_all_mistakes_are_named_at_once() -> None:
    with pytest.raises(ScenarioError, match=r"slices = 0.*; rounds = 0.*|rounds = 0.*; slices = 0.*"):
        build_scenario(MARKET.scenario_model, {**_PIE, "slices": 0, "rounds": 0}, source="x")


def test_broken_toml_is_named_with_its_line() -> None:
    with pytest.raises(ScenarioError, match=r"my.toml: not valid TOML: .*line 2"):
        parse_toml('id = "x"\nrounds = \nslices = 2', source="my.toml")


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("rounds=10", "rounds", 10),
        (" talk = true ", "talk", True),
        ("limits=[1, 2]", "limits", [1, 2]),
        ("name=plain text", "name", "plain text"),
        ('name="quoted"', "name", "quoted"),
        ("a.b=c=d", "a.b", "c=d"),
        ("empty=", "empty", ""),
    ],
)
def test_an_override_is_a_toml_value_or_bare_text(text: str, key: str, value: Any) -> None:
    assert parse_override(text) == (key, value)


@pytest.mark.parametrize("text", ["rounds", "=3", ""])
def test_what_is_no_override_says_how_one_is_written(text: str) -> None:
    with pytest.raises(ScenarioError, match="write key=value"):
        parse_override(text)


def test_overrides_reach_into_tables_and_leave_the_original_alone() -> None:
    content = {"timing": {"a": 1}, "rounds": 3}
    merged = with_overrides(content, {"timing.b": 2, "rounds": 4, "seats.P1": "half"})
    assert merged == {"timing": {"a": 1, "b": 2}, "rounds": 4, "seats": {"P1": "half"}}
    assert content == {"timing": {"a": 1}, "rounds": 3}
    with pytest.raises(ScenarioError, match="rounds is a value, not a table"):
        with_overrides(content, {"rounds.x": 1})


def test_scenarios_are_found_by_id_by_preset_and_by_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('id = "teaching/mine"\nslices = 6\n')
    assert load_scenario("teaching", "talk") == load_scenario("teaching", "teaching/talk")
    assert load_scenario("teaching", str(path), {"rounds": 2}).model_dump()["slices"] == 6
    for missing, complaint in (("banquet", "there is no scenario 'teaching/banquet'"), ("no.toml", "cannot be read")):
        with pytest.raises(ScenarioError, match=complaint):
            load_scenario("teaching", missing)


def test_markets_are_found_by_name() -> None:
    assert {"teaching", "double_auction"} <= set(market_names())
    assert market_type("teaching") is MARKET
    with pytest.raises(ScenarioError, match=r"no market 'bazaar'; there are bargaining, .*show markets"):
        market_type("bazaar")


@pytest.mark.parametrize("name", ["teaching", "double_auction"])
def test_every_bundled_scenario_loads_under_the_id_of_its_file(name: str) -> None:
    assert scenario_ids(name)
    for scenario_id in scenario_ids(name):
        assert load_scenario(name, scenario_id).id == scenario_id


def test_a_scenario_is_a_regular_file_and_its_toml_no_trap(tmp_path: Path) -> None:
    """A stranger's file: no FIFO is waited for, no key takes time with its square."""
    os.mkfifo(tmp_path / "fifo.toml")
    (tmp_path / "long.toml").write_text(".".join(["a"] * 100_000) + " = 1")
    (tmp_path / "deep.toml").write_text("x = " + "[" * 50_000)
    for name, told in {"fifo": "a FIFO, not a file", "long": "a key of 40 parts", "deep": "not valid TOML"}.items():
        with pytest.raises(ScenarioError, match=told):
            load_scenario("teaching", str(tmp_path / f"{name}.toml"))
